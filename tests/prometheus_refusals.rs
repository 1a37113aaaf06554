//! What Prometheus' and VictoriaMetrics' users send by mistake, and what exactly they are told.

use crate::harness::{Scratch, Server};

/// Sends each and compares what is said.
fn told(server: &Server, method: &str, cases: &[(&str, &[u8], u16, &str)]) {
    for (path, body, status, wanted) in cases {
        let answer = server.request(method, path, &[], body);
        let said = (answer.status, answer.text());
        assert_eq!(said, (*status, (*wanted).to_owned()), "{path} {}", body.escape_ascii());
    }
}

#[test]
fn bad_lines_are_told_and_cost_no_others() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (at, (line, reason)) in [
        ("m one", "\"one\" is no number"),
        ("m", "a value is missing"),
        ("m{a=\"b\" 1", "a comma or } must follow a label"),
        ("m{a=b} 1", "a label's value must stand in quotes"),
        ("m 1 soon", "timestamp \"soon\" is no number of milliseconds"),
        ("m 1 2 3", "\"3\" stands behind the timestamp"),
        ("m 1 99999999999999999", "timestamp 99999999999999999 cannot be stored"),
        ("m{a=\"1\",a=\"2\"} 1", "duplicate tag: a"),
        ("{a=\"1\"} 1", "a series has no name (__name__)"),
    ]
    .into_iter()
    .enumerate()
    {
        let text = format!("good{at} 1\n{line}\ngood{at} 2 1700000000000\n");
        let answer = server.request("POST", "/api/v1/import/prometheus", &[], text.as_bytes());
        let head = "2 samples were stored, 1 refused; the first in line 2: ";
        assert_eq!((answer.status, answer.text()), (400, format!("{head}{reason}\n")), "{line}");
    }
    assert_eq!(server.metric("foliot_rows_total{protocol=\"exposition\"}"), 18.0);
    let one = "0 samples were stored, 1 refused; the first in line 1: ";
    told(
        &server,
        "POST",
        &[
            ("/api/v1/import", b"no\n", 400, &format!("{one}the line must be an object\n")),
            (
                "/api/v1/import",
                b"{\"metric\":{\"__name__\":\"m\"},\"values\":[1]}\n",
                400,
                &format!("{one}1 values have 0 timestamps\n"),
            ),
            (
                "/api/v1/import/csv?format=1:metric:a",
                b"x\n",
                400,
                &format!("{one}\"x\" is no number\n"),
            ),
            ("/api/v1/import/csv", b"x\n", 400, "format: \"\" must be column:kind:name\n"),
            (
                "/api/v1/import/prometheus?extra_label=a=b",
                b"m 1\n",
                400,
                "extra_label: to change what is stored by a parameter is not supported\n",
            ),
            ("/api/v1/write", b"no", 400, "the compressed body is damaged: invalid data\n"),
            (
                "/v1/metrics",
                b"no",
                400,
                "the request is none of OTLP's for metrics: wire type 6 at byte 0\n",
            ),
        ],
    );
}

#[test]
fn bad_questions_are_told() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    for (path, status, kind, error) in [
        (
            "query?query=sum(",
            400,
            "bad_data",
            "invalid parameter \"query\": 1:5: parse error: unexpected end of input in expression, expected expression",
        ),
        (
            "query?query=rate(up)",
            400,
            "bad_data",
            "invalid parameter \"query\": 1:6: parse error: expected type range vector in call to function \"rate\", got instant vector",
        ),
        (
            "query",
            400,
            "bad_data",
            "invalid parameter \"query\": 1:1: parse error: no expression found in input: it is said by the parameter query",
        ),
        (
            "query?query=1&time=soon",
            400,
            "bad_data",
            "invalid parameter \"time\": invalid time value for 'time': cannot parse \"soon\" to a valid timestamp",
        ),
        (
            "query?query=up&lookback_delta=x",
            400,
            "bad_data",
            "error parsing lookback delta duration: cannot parse \"x\" to a valid duration",
        ),
        (
            "query?query=up&timeout=1e309",
            400,
            "bad_data",
            "invalid parameter \"timeout\": cannot parse \"1e309\" to a valid duration",
        ),
        (
            "query?query=up&timeout=1e10",
            400,
            "bad_data",
            "invalid parameter \"timeout\": cannot parse \"1e10\" to a valid duration. It overflows int64",
        ),
        ("query?query=up&timeout=0", 503, "timeout", "query timed out in query execution"),
        (
            "query_range?query=1&start=1&end=2&step=0.0005",
            422,
            "execution",
            "a step of less than a millisecond leads nowhere",
        ),
        (
            "query?query=up&limit=x",
            400,
            "bad_data",
            "invalid parameter \"limit\": strconv.Atoi: parsing \"x\": invalid syntax",
        ),
        (
            "query_range?query=1&start=1&end=2&step=x",
            400,
            "bad_data",
            "invalid parameter \"step\": cannot parse \"x\" to a valid duration",
        ),
        // What functions find wrong is told when they would run.
        (
            "query?query=label_replace(up,%22a%22,%22%22,%22b%22,%22(%22)",
            422,
            "execution",
            "invalid regular expression in label_replace(): (: error parsing regexp: missing closing ): `^(?s:()$`",
        ),
        (
            "query?query=label_replace(up,%22%22,%22%22,%22b%22,%22%22)",
            422,
            "execution",
            "invalid destination label name in label_replace(): ",
        ),
        (
            "query?query=label_join(up,%22a%22,%22-%22,%22%22)",
            422,
            "execution",
            "invalid source label name in label_join(): ",
        ),
        ("query?query=count_values(%22%22,up)", 422, "execution", "invalid label name \"\""),
        (
            "query?query=up{a=~%22[a--]%22}",
            400,
            "bad_data",
            "invalid parameter \"query\": 1:4: parse error: error parsing regexp: invalid character class range: `a--`",
        ),
        ("series", 400, "bad_data", "no match[] parameter provided"),
        (
            "labels?match[]=up(",
            400,
            "bad_data",
            "1:3: parse error: unexpected character: '(' in series selector, expected end of input",
        ),
        (
            "query_exemplars?query=up(",
            400,
            "bad_data",
            "invalid parameter \"query\": 1:1: parse error: unknown function with name \"up\"",
        ),
    ] {
        let answer = server.get(&format!("/prometheus/api/v1/{path}"));
        let json: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
        let wanted = serde_json::json!({"status": "error", "errorType": kind, "error": error});
        assert_eq!((answer.status, json), (status, wanted), "{path}");
    }
    told(
        &server,
        "POST",
        &[(
            "/prometheus/api/v1/admin/tsdb/delete_series?match[]=up",
            b"",
            503,
            "{\"error\":\"deleting is not enabled: set opentsdb.allow_delete\",\"errorType\":\"unavailable\",\"status\":\"error\"}",
        )],
    );
    told(&server, "DELETE", &[("/prometheus/api/v1/query", b"", 405, "allowed here: GET, POST\n")]);
}
