//! What browsers and people ask of OpenTSDB's HTTP side beside questions: pages of other origins,
//! the log, figures of the process.

use crate::harness::Response;
use crate::opentsdb::{H, Tsd, message};
use serde_json::{Value, json};

fn json_of(response: &Response) -> Value {
    serde_json::from_slice(&response.body)
        .unwrap_or_else(|_| panic!("no JSON in {}", response.text()))
}

/// A request as a browser sends it for a page of `origin`.
fn from_page(tsd: &Tsd, method: &str, path: &str, origin: &str, body: &str) -> Response {
    let headers: &[(&str, &str)] = &[("Origin", origin)];
    let headers = if origin.is_empty() { &[] } else { headers };
    tsd.server.request(method, path, headers, body.as_bytes())
}

const DEFAULT_HEADERS: &str = "Authorization, Content-Type, Accept, Origin, User-Agent, DNT, \
    Cache-Control, X-Mx-ReqToken, Keep-Alive, X-Requested-With, If-Modified-Since";

fn check_allowed(response: &Response, origin: &str) {
    assert_eq!(response.header("access-control-allow-origin"), origin);
    assert_eq!(response.header("access-control-allow-methods"), "GET, POST, PUT, DELETE");
    assert_eq!(response.header("access-control-allow-headers"), DEFAULT_HEADERS);
    assert_eq!(response.header("vary"), "Origin");
}

#[test]
fn without_cors_domains_no_page_is_asked_in() {
    let tsd = Tsd::start();
    let origin = "https://dash.example";
    let asked = from_page(&tsd, "OPTIONS", "/api/query", origin, "");
    assert_eq!((asked.status, message(&asked).as_str()), (405, "Method not allowed"));
    let read = from_page(&tsd, "GET", "/api/version", origin, "");
    assert_eq!((read.status, read.header("access-control-allow-origin")), (200, ""));
    let point = json!({"metric": "m", "timestamp": H, "value": 1, "tags": {"h": "a"}}).to_string();
    assert_eq!(from_page(&tsd, "POST", "/api/put", origin, &point).status, 403);
}

#[test]
fn named_domains_are_let_in_and_others_are_told() {
    let domains = "http.cors_domains=https://dash.example, http://other.example:3000";
    let tsd = Tsd::start_with(&["--set", domains]);
    let point = json!({"metric": "m", "timestamp": H, "value": 1, "tags": {"h": "a"}}).to_string();
    // Domains are compared without case, and echoed as the browser wrote them.
    for origin in ["https://dash.example", "HTTP://OTHER.example:3000"] {
        let asked = from_page(&tsd, "OPTIONS", "/api/put", origin, "");
        assert_eq!((asked.status, asked.body.len()), (200, 0));
        check_allowed(&asked, origin);
        let written = from_page(&tsd, "POST", "/api/put", origin, &point);
        assert_eq!(written.status, 204, "{}", written.text());
        check_allowed(&written, origin);
        // Errors, too, are for the page to read.
        let missing = from_page(&tsd, "GET", "/api/nosuch", origin, "");
        assert_eq!(missing.status, 404);
        check_allowed(&missing, origin);
    }
    for (method, path) in [("GET", "/api/version"), ("POST", "/api/put"), ("OPTIONS", "/api/put")] {
        let refused = from_page(&tsd, method, path, "https://evil.example", &point);
        assert_eq!((refused.status, refused.header("access-control-allow-origin")), (403, ""));
        let error = &json_of(&refused)["error"];
        assert_eq!(error["message"], "CORS domain not allowed");
        assert_eq!(error["details"], "The domain [https://evil.example] is not permitted access");
    }
    let asked = from_page(&tsd, "OPTIONS", "/api/put", "", "");
    assert_eq!((asked.status, message(&asked).as_str()), (405, "Method not allowed"));
    // No page: as ever, and nothing of all this in the answer.
    let plain = from_page(&tsd, "POST", "/api/put", "", &point);
    assert_eq!((plain.status, plain.header("access-control-allow-origin")), (204, ""));
}

#[test]
fn a_star_lets_all_pages_in() {
    let set = ["--set", "http.cors_domains=*", "--set", "http.cors_headers=X-One, X-Two"];
    let tsd = Tsd::start_with(&set);
    let asked = from_page(&tsd, "OPTIONS", "/api/query", "https://any.example", "");
    assert_eq!(asked.header("access-control-allow-origin"), "https://any.example");
    assert_eq!(asked.header("access-control-allow-headers"), "X-One, X-Two");
}

#[test]
fn the_log_is_shown_and_its_level_changes() {
    let tsd = Tsd::start();
    let set = tsd.server.get("/logs?level=debug&logger=ROOT");
    assert_eq!(set.text(), "Set the log level to DEBUG on 1 logger.\n");
    // A question that fails is told at that level.
    let fail = |metric: &str| {
        let asked = tsd.server.get(&format!("/api/query?start=1&m=sum:{metric}"));
        assert_eq!(asked.status, 400);
    };
    let newest = || tsd.server.get("/logs").text().lines().next().unwrap_or_default().to_owned();
    fail("first");
    fail("second");
    let line = newest();
    let words: Vec<&str> = line.split('\t').collect();
    assert_eq!(words.len(), 5, "{line}");
    assert!(words[0].parse::<i64>().unwrap() > H && words[1] == "DEBUG", "{line}");
    assert!(words[3].starts_with("foliot") && words[4].contains("'second'"), "{line}");
    assert_eq!(json_of(&tsd.server.get("/logs?json"))[0], line.as_str());
    assert_eq!(message(&tsd.server.get("/logs?level=loud")), "Invalid level: loud");
    let other = message(&tsd.server.get("/logs?level=info&logger=net.opentsdb"));
    assert_eq!(other, "Invalid logger: net.opentsdb");
    let page = from_page(&tsd, "GET", "/logs?level=off", "https://evil.example", "");
    assert_eq!(page.status, 403);
    fail("third");
    assert!(newest().contains("'third'"));
    tsd.server.get("/logs?level=INFO");
    fail("fourth");
    assert!(newest().contains("'third'"));
}

#[test]
fn figures_have_the_shapes_of_the_peers() {
    let tsd = Tsd::start();
    tsd.series("m", "h=a", &[(0, 1)]);
    let stats = json_of(&tsd.server.get("/api/stats"));
    let rows = stats.as_array().unwrap().iter().find(|figure| {
        figure["metric"] == "foliot.rows.total" && figure["tags"]["protocol"] == "telnet"
    });
    let rows = rows.unwrap_or_else(|| panic!("{stats}"));
    assert_eq!(rows["value"], "1");
    assert!(rows["tags"]["host"].is_string() && rows["timestamp"].as_i64() > Some(H));
    let lines = json_of(&tsd.server.get("/stats?json"));
    let text = tsd.server.get("/stats").text();
    let name = |line: &str| line.split(' ').next().unwrap().to_owned();
    let names: Vec<String> = text.lines().map(name).collect();
    for line in lines.as_array().unwrap() {
        let line = line.as_str().unwrap();
        assert!(names.contains(&name(line)) && line.contains(" host="), "{line}");
    }

    let machine = json_of(&tsd.server.get("/api/v1/stats/jvm"));
    assert!(machine["runtime"]["startTime"].as_i64() > Some(H * 1000), "{machine}");
    assert_eq!(machine["runtime"]["vmName"], "Foliot");
    assert!(machine["memory"]["heapMemoryUsage"]["used"].as_u64() > Some(1 << 20), "{machine}");
    assert!(machine["os"]["systemLoadAverage"].is_f64(), "{machine}");
    assert_eq!((&machine["gc"], &machine["pools"]), (&json!({}), &json!({})));

    let threads = json_of(&tsd.server.get("/api/stats/threads"));
    let threads = threads.as_array().unwrap();
    let states = ["RUNNABLE", "BLOCKED", "WAITING", "TERMINATED"];
    assert!(threads.len() > 2, "{threads:?}");
    for thread in threads {
        assert!(states.contains(&thread["state"].as_str().unwrap()), "{thread}");
        assert!(thread["threadID"].is_u64() && thread["priority"].is_i64(), "{thread}");
        assert_eq!((&thread["interrupted"], &thread["stack"]), (&json!(false), &json!([])));
    }
    assert!(threads.iter().any(|thread| thread["name"] == "foliot"), "{threads:?}");
    assert_eq!(json_of(&tsd.server.get("/api/stats/region_clients")), json!([]));
    let queries = json_of(&tsd.server.get("/api/stats/query"));
    assert_eq!(queries, json!({"running": [], "completed": []}));
    assert_eq!(message(&tsd.server.get("/api/stats/nosuch")), "Endpoint not found");
}

#[test]
fn queries_that_ended_are_told() {
    let tsd = Tsd::start();
    tsd.series("m", "h=a", &[(0, 1), (10, 2)]);
    tsd.ask("sum:m", 0, 60);
    tsd.server.get("/api/query?start=1&m=sum:nosuch");
    tsd.ask("sum:m", 0, 60);
    let told = json_of(&tsd.server.get("/api/stats/query"));
    let [refused, twice] = &told["completed"].as_array().unwrap()[..] else { panic!("{told}") };
    assert_eq!(refused["httpResponse"], json!({"code": 400, "reasonPhrase": "Bad Request"}));
    assert_eq!((&refused["executed"], &refused["sentToClient"]), (&json!(1), &json!(false)));
    assert_eq!(refused["exception"], "No such name for 'metrics': 'nosuch'");
    assert_eq!(twice["httpResponse"], json!({"code": 200, "reasonPhrase": "OK"}));
    assert_eq!((&twice["executed"], &twice["exception"]), (&json!(2), &Value::Null));
    assert_eq!(
        (&twice["remote"], &twice["stats"]["emittedDPs"]),
        (&json!("127.0.0.1"), &json!(2.0))
    );
    assert!(twice["query"].as_str().unwrap().contains("m=sum%3Am"), "{twice}");
    assert!(twice["queryCompletedTimestamp"].as_i64() >= twice["queryStartTimestamp"].as_i64());
    assert_eq!(told["running"], json!([]));
}

#[test]
fn graphs_are_lines_figures_or_pictures() {
    let tsd = Tsd::start();
    tsd.series("m", "h=a dc=x", &[(0, 1), (60, 3), (120, 2)]);
    tsd.series("m", "h=b dc=x", &[(0, 2), (60, 2)]);
    let ask = |more: &str| tsd.server.get(&format!("/q?start={H}&end={}&{more}", H + 600));
    let figures = ask("m=sum:m&m=none:m&json");
    assert_eq!(figures.header("content-type"), "application/json; charset=UTF-8");
    let figures = json_of(&figures);
    // Three of the sum, three and two of the series; each question read five.
    assert_eq!((&figures["plotted"], &figures["points"]), (&json!(8), &json!(10)), "{figures}");
    assert_eq!(figures["etags"], json!([["h"], []]));
    assert!(figures["timing"].is_u64());

    let size = |picture: &Response| {
        assert_eq!((picture.status, picture.header("content-type")), (200, "image/png"));
        assert_eq!(picture.body[..8], *b"\x89PNG\r\n\x1a\n");
        let number = |at: usize| {
            picture.body[at..at + 4].iter().fold(0, |all, &byte| all * 256 + u32::from(byte))
        };
        (number(16), number(20))
    };
    let plain = ask("m=sum:m&png");
    assert_eq!(size(&plain), (1024, 768));
    let small = ask("m=sum:m&png&wxh=300x200");
    assert_eq!(size(&small), (300, 200));
    // What is asked and how it is to look make a difference; nothing else does.
    assert_eq!(ask("m=sum:m&png&wxh=300x200&nocache").body, small.body);
    for other in ["m=max:m", "m=sum:m&yrange=[0:9]", "m=sum:m&nokey", "m=sum:m&title=T"] {
        assert_ne!(ask(&format!("{other}&png&wxh=300x200")).body, small.body, "{other}");
    }
    let page = ask("m=sum:m");
    assert_eq!(page.status, 302);
    assert_eq!(page.header("location"), format!("/#start={H}&end={}&m=sum:m", H + 600));
    // The browser keeps the fragment of a link such as /q#start=.. where the answer has none.
    assert_eq!(tsd.server.get("/q").header("location"), "/");
}

/// Parameters reached a command line in OpenTSDB (CVE-2020-35476, CVE-2023-25826).
#[test]
fn graphs_that_make_no_sense_are_refused() {
    let tsd = Tsd::start();
    tsd.series("m", "h=a", &[(0, 1)]);
    for (more, text) in [
        ("m=sum:m&wxh=1x1", "Invalid wxh parameter: 1x1"),
        ("m=sum:m&wxh=100000x100000", "Invalid wxh parameter: 100000x100000"),
        (
            "m=sum:m&yrange=[33:system('touch%20/tmp/poc.txt')]",
            "'yrange' was invalid. Must be in the format [min:max].",
        ),
        ("m=sum:m&key=%60touch%60", "'key' was invalid: `touch`"),
        ("m=sum:m&style=%60id%60", "'style' was invalid: `id`"),
        ("m=sum:m&fgcolor=%60id%60", "'fgcolor' was invalid. Must be a hex value e.g. 'xFFFFFF'"),
        ("m=sum:m&o=&o=", "2 `o' parameters, but 1 `m' parameters."),
        ("m=sum:nosuch", "No such name for 'metrics': 'nosuch'"),
        ("m=summe:m", "No such aggregation function: summe"),
        ("", "Missing sub queries"),
    ] {
        let answer = tsd.server.get(&format!("/q?start={H}&png&{more}"));
        assert_eq!((answer.status, message(&answer).as_str()), (400, text), "{more}");
    }
    let start = tsd.server.get("/q?m=sum:m&png");
    assert_eq!(
        (start.status, message(&start).as_str()),
        (400, "Missing parameter <code>start</code>")
    );
}
