//! VictoriaMetrics' CSV through the real binary.

use crate::harness::{Scratch, Server};

const IMPORT: &str = "/api/v1/import/csv?format=2:metric:ask,3:metric:bid,1:label:ticker,\
                      5:time:unix_s";
const ROWS: &str = "foliot_rows_total{protocol=\"csv\"}";

#[test]
fn lines_go_in_and_out_as_their_formats_say() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    // What Debian's VictoriaMetrics 1.79.5 answers of the first line.
    let text = "GOOG,1.5,2,skipped,1700000000\r\n\n\"a, b\",3,30,x,1700000001,more\n";
    assert_eq!(server.post(IMPORT, text).status, 204);
    let export = |format: &str, selector: &str| {
        let form = format!("match[]={selector}&format={format}");
        let answer = server.post("/api/v1/export/csv", &form);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.header("content-type"), "text/csv; charset=utf-8");
        let text = answer.text();
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let times = "__timestamp__:unix_s,__timestamp__:rfc3339,__timestamp__:unix_ns,__timestamp__";
    assert_eq!(
        export(&format!("__name__,ticker,host,__value__,{times}"), "{ticker!=\"\"}"),
        [
            "ask,\"a, b\",,3,1700000001,2023-11-14T22:13:21Z,1700000001000000000,1700000001000",
            "ask,GOOG,,1.5,1700000000,2023-11-14T22:13:20Z,1700000000000000000,1700000000000",
            "bid,\"a, b\",,30,1700000001,2023-11-14T22:13:21Z,1700000001000000000,1700000001000",
            "bid,GOOG,,2,1700000000,2023-11-14T22:13:20Z,1700000000000000000,1700000000000",
        ]
    );
    // What goes out comes in again.
    let path = "/api/v1/import/csv?db=other&format=1:label:ticker,2:metric:ask,3:time:unix_ms";
    let out = export("ticker,__value__,__timestamp__", "ask").join("\n");
    assert_eq!(server.post(path, &out).status, 204);
    assert_eq!(export("ticker,__value__,__timestamp__&db=other", "ask").join("\n"), out);
    assert_eq!(server.metric(ROWS), 6.0);
}

#[test]
fn bad_lines_and_formats_are_told() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let answer = server.post(IMPORT, "a,1,2,x,1\nb,y,2,x,1\nc,1,2,x,1\n");
    assert_eq!(answer.status, 400);
    let wanted = "4 samples were stored, 1 refused; the first in line 2: \"y\" is no number";
    assert!(answer.text().contains(wanted), "{}", answer.text());
    let import = |format: &str| format!("/api/v1/import/csv?format={format}");
    for (path, form, word) in [
        (import(""), "a", "column:kind:name"),
        (import("1:metric:m,2:time:custom:2006"), "1,2", "is not known"),
        ("/api/v1/export/csv".to_owned(), "match[]=ask", "names nothing"),
        ("/api/v1/export/csv".to_owned(), "format=__name__", "no match[]"),
    ] {
        let answer = server.post(&path, form);
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.text().contains(word), "{path}: {}", answer.text());
    }
    assert_eq!(server.metric(ROWS), 4.0);
}

/// What would change the samples of a body is refused: passed over, it would store others.
#[test]
fn parameters_that_change_what_is_stored_are_refused_at_every_path() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let paths = [
        "/api/v1/import/prometheus?",
        "/api/v1/import?",
        "/api/v1/import/csv?format=1:metric:v&",
        "/prometheus/api/v1/write?",
        "/opentelemetry/v1/metrics?",
    ];
    for path in paths {
        for name in ["extra_label", "timestamp"] {
            let answer = server.post(&format!("{path}{name}=tenant=a"), "1");
            assert_eq!(answer.status, 400, "{path}: {}", answer.text());
            assert!(answer.text().contains(name), "{path}: {}", answer.text());
        }
    }
}
