//! The table of `docs/server.md` that says how large a thing may be: as large is taken, larger by
//! one is refused.

use crate::harness::{Scratch, Server};
use crate::root;
use std::iter::repeat_n;

/// Makes a request with a thing so large: path and body.
type Make = fn(usize) -> (String, String);

const WRITE: &str = "/write?db=default";

const CASES: [(&str, usize, Make); 10] = [
    ("name of a measurement, a field or a label | 1 024 bytes", 1024, |n| {
        (WRITE.to_owned(), format!("{},a=b v=1", "m".repeat(n)))
    }),
    ("value of a label | 4 096 bytes", 4096, |n| {
        (WRITE.to_owned(), format!("m,a={} v=1", "b".repeat(n)))
    }),
    ("labels of a series | `limits.labels` (64)", 64, |n| {
        let labels: String = (0..n).map(|i| format!(",l{i:03}=x")).collect();
        (WRITE.to_owned(), format!("m{labels} v=1"))
    }),
    ("fields of a line | 16 384", 16_384, |n| {
        let fields: Vec<_> = (0..n).map(|i| format!("f{i}=1")).collect();
        (WRITE.to_owned(), format!("fields,a=b {}", fields.join(",")))
    }),
    ("text as a value | 65 536 bytes", 65_536, |n| {
        (WRITE.to_owned(), format!("text,a=b s=\"{}\"", "x".repeat(n)))
    }),
    ("questions of one OpenTSDB request | 1 000", 1000, |n| {
        let questions: Vec<_> = repeat_n(r#"{"metric":"m.v","aggregator":"sum"}"#, n).collect();
        let body = format!(r#"{{"start":"1h-ago","queries":[{}]}}"#, questions.join(","));
        ("/api/query".to_owned(), body)
    }),
    ("regular expressions of one OpenTSDB question | 32", 32, |n| {
        let filter =
            |i| format!(r#"{{"type":"regexp","tagk":"a","filter":"x{i}","groupBy":false}}"#);
        let filters: Vec<_> = (0..n).map(filter).collect();
        let question = r#"{"metric":"m.v","aggregator":"sum","filters":"#;
        let body =
            format!(r#"{{"start":"1h-ago","queries":[{question}[{}]}}]}}"#, filters.join(","));
        ("/api/query".to_owned(), body)
    }),
    ("functions in one another at `/api/query/gexp` | 32", 32, |n| {
        let (open, close) = ("absolute(".repeat(n), ")".repeat(n));
        (format!("/api/query/gexp?start=1h-ago&exp={open}sum:m.v{close}"), String::new())
    }),
    ("operators of an InfluxQL request, all its statements together | 2 000", 2000, |n| {
        // The first comparison is an operator as well, and each further one is two with its `OR`.
        let (more, sum) = ((n - 1) / 2, if n % 2 == 0 { "%2B1" } else { "" });
        let statement =
            format!("SELECT%20v%20FROM%20m%20WHERE%20v=1{sum}{}", "%20OR%20v=1".repeat(more));
        (format!("/query?db=default&q={statement}"), String::new())
    }),
    ("operators of an InfluxQL expression on one another", 200, |n| {
        let statement = format!("SELECT%20v{}%20FROM%20m", "%2B1".repeat(n));
        (format!("/query?db=default&q={statement}"), String::new())
    }),
];

pub(crate) fn limits_hold() {
    let page = std::fs::read_to_string(root().join("docs/server.md")).unwrap();
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let status = |(path, body): (String, String)| match body.is_empty() {
        true => server.get(&path).status,
        false => server.post(&path, &body).status,
    };
    assert_eq!(status((WRITE.to_owned(), "m,a=b v=1".to_owned())), 204);
    for (row, most, make) in CASES {
        assert!(page.contains(&format!("\n| {row}")), "{row} is not on the page");
        let taken = status(make(most));
        assert!(matches!(taken, 200 | 204), "{row}: {taken} for as much");
        assert_eq!(status(make(most + 1)), 400, "{row}: more");
    }
    server.stop();
}
