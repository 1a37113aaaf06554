//! Conditions, offsets and listings of InfluxQL, as InfluxDB 1.6.7 answers.

use crate::harness::influx::{answer, write};
use crate::harness::{Scratch, Server};

/// What InfluxDB 1.6.7 answered to the same statements over the same points.
#[test]
fn conditions_offsets_and_listings_are_as_recorded() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    answer(&server, "CREATE DATABASE d");
    write(
        &server,
        "m,h=a v=1,b=true,s=\"x\" 1\nm,h=a v=2,b=false,s=\"y\" 2\nm,h=a v=3 3\nm,h=b v=4 4\n\
         n,g=1 v=7 8",
    );
    let of_m = |columns: &str, values: &str| {
        format!("\"series\":[{{\"name\":\"m\",\"columns\":[{columns}],\"values\":{values}}}]")
    };
    let v = |values: &str| of_m("\"time\",\"v\"", values);
    let names = |values: &str| {
        format!(
            "\"series\":[{{\"name\":\"measurements\",\"columns\":[\"name\"],\"values\":{values}}}]"
        )
    };
    for (statement, expected) in [
        ("SELECT v FROM m WHERE b = false", v("[[2,2]]")),
        ("SELECT v FROM m WHERE b != true", v("[[2,2]]")),
        ("SELECT v FROM m WHERE s != 'x'", v("[[2,2]]")),
        ("SELECT v FROM m WHERE s = ''", String::new()),
        ("SELECT v FROM m WHERE v > 2 OR b = false", v("[[2,2],[3,3],[4,4]]")),
        ("SELECT v FROM m, n WHERE b = false", v("[[2,2]]")),
        ("SELECT v FROM /m|n/ WHERE b != true", v("[[2,2]]")),
        ("SELECT v FROM (SELECT v, b FROM m) WHERE b = false", v("[[2,2],[3,3],[4,4]]")),
        ("SELECT count(v) FROM m WHERE b = false", of_m("\"time\",\"count\"", "[[0,1]]")),
        ("SELECT v FROM m GROUP BY h SOFFSET 1", String::new()),
        ("SELECT mean(v) FROM m GROUP BY h SOFFSET 1", String::new()),
        ("SHOW MEASUREMENTS WHERE h != 'a'", String::new()),
        ("SHOW MEASUREMENTS WHERE h != 'c'", names("[[\"m\"]]")),
        ("SHOW MEASUREMENTS WHERE zz = ''", String::new()),
        (
            "SHOW SERIES EXACT CARDINALITY GROUP BY g",
            "\"series\":[{\"name\":\"m\",\"tags\":{\"g\":\"\"},\"columns\":[\"count\"],\
             \"values\":[[2]]},{\"name\":\"n\",\"tags\":{\"g\":\"1\"},\"columns\":[\"count\"],\
             \"values\":[[1]]}]"
                .to_owned(),
        ),
        (
            "SHOW SERIES FROM autogen.m",
            "\"series\":[{\"columns\":[\"key\"],\"values\":[[\"m,h=a\"],[\"m,h=b\"]]}]".to_owned(),
        ),
        ("SHOW SERIES FROM nope.m", "\"error\":\"retention policy not found: nope\"".to_owned()),
    ] {
        assert_eq!(answer(&server, statement), expected, "{statement}");
    }
    let csv = server.request("GET", "/query?q=SELEC&db=d", &[("Accept", "application/csv")], b"");
    assert_eq!(csv.status, 400);
    assert_eq!(csv.header("content-type"), "text/csv");
    assert!(csv.text().starts_with("error\n\"error parsing query: found SELEC,"), "{}", csv.text());
    server.stop();
}

/// What InfluxDB 1.6.7 answered: tags beside tags and fields, where they are absent.
#[test]
fn an_absent_tag_is_equal_to_no_name() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    answer(&server, "CREATE DATABASE d");
    write(
        &server,
        "g,k=x,m=x v=1 1\ng,k=x,m=y v=2 2\ng,k=x v=3 3\ng,m=x v=4 4\ng v=5 5\n\
         g,k=y,m=x v=6,s=\"x\" 6\ng s=\"y\",v=7 7\ng s=\"\",v=8 8",
    );
    for (condition, expected) in [
        ("k = m", &[1][..]),
        ("k != m", &[2, 3, 4, 5, 6, 7, 8]),
        ("k = nope", &[]),
        ("k != nope", &[1, 2, 3, 4, 5, 6, 7, 8]),
        ("k = k", &[1, 2, 3, 6]),
        ("k != k", &[4, 5, 7, 8]),
        ("k = m OR v = 5", &[1, 5]),
        ("m = s", &[6]),
        ("s != k", &[6]),
        ("nope = s", &[]),
        ("nope != s", &[]),
        ("k = '' AND s = ''", &[8]),
    ] {
        let statement = format!("SELECT v FROM g WHERE {condition}");
        let rows: Vec<String> = expected.iter().map(|at| format!("[{at},{at}]")).collect();
        let series = format!(
            "\"series\":[{{\"name\":\"g\",\"columns\":[\"time\",\"v\"],\"values\":[{}]}}]",
            rows.join(",")
        );
        let expected = if rows.is_empty() { String::new() } else { series };
        assert_eq!(answer(&server, &statement), expected, "{statement}");
    }
    server.stop();
}
