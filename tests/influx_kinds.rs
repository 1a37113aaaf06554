//! Kinds of fields: which one a field has, who decides it, and what functions make of it, through
//! the real binary.

use crate::harness::influx::{answer, ask, write};
use crate::harness::{Scratch, Server};

#[test]
fn a_field_keeps_its_kind() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "m,h=a v=1,i=1i 1\nn v=1i 1");
    let conflict = |lines: &str| {
        let response = server.post("/write?db=d", lines);
        assert_eq!(response.status, 400);
        let text = response.text();
        assert!(response.header("x-influxdb-error").starts_with("partial write: field type"));
        text
    };
    assert_eq!(
        conflict("m,h=a v=1i 2\nm,h=b v=2 2\nm v=\"x\" 2"),
        "{\"error\":\"partial write: field type conflict: input field \\\"v\\\" on measurement \
         \\\"m\\\" is type integer, already exists as type float (line 1) dropped=2\"}\n"
    );
    assert!(answer(&server, "SELECT v FROM m WHERE time = 2").contains("[[2,2]]"));
    // The kind outlives a restart, and the first line of a batch decides for the others.
    server.stop();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.post("/write?db=d", "n v=1.5 2").status, 400);
    assert_eq!(server.post("/write?db=d", "o v=1i 1\no v=1 2").status, 400);
    assert!(answer(&server, "SELECT v FROM o").contains("[[1,1]]"));
    assert_eq!(
        server.talk(b"n v=1i 2\nn v=true 3\n"),
        "line 2: field type conflict: input field \"v\" on \
        measurement \"n\" is type boolean, already exists as type integer\n"
    );
    // A measurement that is dropped decides anew, and other databases have their own.
    assert_eq!(answer(&server, "DROP MEASUREMENT n"), "");
    write(&server, "n v=1.5 2");
    assert_eq!(server.post("/write?db=e", "m v=1i 2").status, 204);
    server.stop();
}

/// What InfluxDB 1.6.7 answers to the same: the integers of one series wrap around, and so do those
/// of a subquery; those of several series do not.
#[test]
fn means_of_integers_wrap_around_within_a_series_only() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let great = 9_000_000_000_000_000_000i64;
    for series in ["a", "b", "c"] {
        write(&server, &format!("m,h={series} v={great}i 1"));
    }
    write(&server, &format!("n,h=a v={great}i 1\nn,h=a v={great}i 2\nn,h=a v={great}i 3"));
    write(&server, &format!("y,h=a v=-{great}i 1\ny,h=a v=-{great}i 2\ny,h=b v=-{great}i 2"));
    write(&server, "y,h=b v=5i 9");
    for (statement, expected) in [
        ("SELECT mean(v) FROM m", vec![9e18]),
        ("SELECT mean(v) FROM m WHERE time < 60 GROUP BY time(1m)", vec![9e18]),
        ("SELECT mean(v) FROM m GROUP BY h", vec![9e18, 9e18, 9e18]),
        ("SELECT mean(v) FROM m WHERE v > 0", vec![9e18]),
        ("SELECT mean(v) + 1 FROM m", vec![9e18]),
        ("SELECT mean(v) FROM n", vec![2_851_085_308_763_482_600.0]),
        ("SELECT mean(v) FROM m, n", vec![9e18, 2_851_085_308_763_482_600.0]),
        ("SELECT mean(v) FROM y", vec![-2_138_313_981_572_612_000.0]),
        ("SELECT mean(v) FROM (SELECT v FROM m)", vec![2_851_085_308_763_482_600.0]),
    ] {
        let told = answer(&server, statement);
        let told: serde_json::Value = serde_json::from_str(&format!("{{{told}}}")).unwrap();
        let series = told["series"].as_array().unwrap().iter();
        let means: Vec<f64> = series.map(|one| one["values"][0][1].as_f64().unwrap()).collect();
        assert_eq!(means.len(), expected.len(), "{statement}: {means:?}");
        for (mean, expected) in means.iter().zip(&expected) {
            assert!((mean / expected - 1.0).abs() < 1e-12, "{statement}: {mean}, not {expected}");
        }
    }
    server.stop();
}

/// As InfluxDB 1.6.7, which learns by the series that it opens that a function takes no text.
#[test]
fn functions_of_numbers_refuse_text_only_where_there_are_series_to_read() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "t,h=a s=\"x\",b=true,f=1 1000\nt,h=b s=\"y\",b=false,f=2 2000");
    for (statement, told) in [
        ("SELECT max(s) FROM t", Some("max iterator type: *query.stringInterruptIterator")),
        ("SELECT min(s) FROM t WHERE h = 'zz'", None),
        ("SELECT max(s), count(f) FROM t WHERE h = 'zz'", None),
        ("SELECT sum(b) FROM t WHERE h = 'zz'", None),
        ("SELECT sum(b) FROM t", Some("sum iterator type: *query.booleanInterruptIterator")),
        ("SELECT mean(s) FROM t WHERE h = 'zz' AND time < 1m GROUP BY time(1s)", None),
        ("SELECT derivative(s) FROM t WHERE h = 'zz'", None),
        ("SELECT max(s) FROM t WHERE time > now()", None),
        // Other rows of the same week, and conditions on rows, are looked at.
        ("SELECT max(s) FROM t WHERE time > 5000", Some("max iterator type")),
        ("SELECT max(s) FROM t WHERE f > 10", Some("max iterator type")),
        ("SELECT max(s) FROM (SELECT s FROM t WHERE h = 'zz')", Some("max iterator type")),
        ("SELECT max(none) FROM t", None),
        ("SELECT max(s) FROM none", None),
    ] {
        let answered = answer(&server, statement);
        match told {
            Some(told) => assert!(answered.contains(told), "{statement}: {answered}"),
            None => assert_eq!(answered, "", "{statement}"),
        }
    }
    server.stop();
}

#[test]
fn put_lines_are_floats_whatever_they_wrote_last_and_however_many_of_their_series_are_empty() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let put = |points: &[String]| {
        let body = format!("[{}]", points.join(","));
        assert_eq!(server.post("/api/put?db=d", &body).status, 204);
    };
    let point = |host: usize, time_s: usize, value: &str| {
        format!(
            "{{\"metric\":\"m\",\"timestamp\":{time_s},\"value\":{value},\"tags\":{{\"h\":\"{host}\"}}}}"
        )
    };
    put(&(0..100).map(|host| point(host, 1000, "1.5")).collect::<Vec<_>>());
    put(&[point(99, 1001, "2")]);
    assert!(answer(&server, "DELETE FROM m WHERE h =~ /^[0-8].?$/").is_empty());
    let values = answer(&server, "SELECT value FROM m WHERE h = '99'");
    assert!(values.contains("[[1000000000000,1.5],[1001000000000,2]]"), "{values}");
    let fields = answer(&server, "SHOW FIELD KEYS FROM m");
    assert!(fields.contains("[\"value\",\"float\"]"), "{fields}");
    // The field has its kind, so lines with another one are refused.
    let refused = server.post("/write?db=d", "m,h=99 value=3i 1002000000000");
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("already exists as type float"), "{}", refused.text());
    server.stop();
}

/// Lines that a store refuses for reasons of its own decide nothing about those to come.
#[test]
fn a_line_that_is_refused_decides_no_kind() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--retention", "1h", "--set", "limits.labels=2"]);
    assert_eq!(answer(&server, "CREATE DATABASE d"), "");
    write(&server, "m known=1i");
    let long = "x".repeat(70_000);
    for (at, refused) in [
        "m v=\"t\" 1000000000".to_owned(),
        "m,=x v=\"t\"".to_owned(),
        "m,a v=\"t\"".to_owned(),
        "m,a=1,a=2 v=\"t\"".to_owned(),
        "m,a=1,b=2,c=3 v=\"t\"".to_owned(),
        format!("m,a={long} v=\"t\""),
        "m v=\"t\",known=1.5".to_owned(),
        "m v=\"t\" 1000000000\nm,a=1,b=2,c=3 v=true\nm v=\"u\",known=\"t\"".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        for path in
            ["/write?db=d", "/api/v2/write?bucket=d", "/api/foliot/v1/import?format=influx&db=d"]
        {
            let answer = server.post(path, refused);
            assert_ne!(answer.status, 204, "{at} {path} {}", answer.text());
            assert!(!answer.text().contains("\"rows\":1"), "{at} {path} {}", answer.text());
        }
    }
    // All or nothing: the good line goes with the others.
    let whole = "/api/v3/write_lp?db=d&accept_partial=false";
    for lines in ["m v=\"t\"\nm known=1.5", "m v=\"t\"\nm v=\"t", "m v=\"t\"\nm v=1i"] {
        assert_eq!(server.post(whole, lines).status, 400, "{lines}");
    }
    let keys = answer(&server, "SHOW FIELD KEYS FROM m");
    assert!(keys.contains("known") && !keys.contains("\"v\""), "{keys}");
    assert_eq!(server.metric("foliot_series"), 1.0, "nor is there a series");
    write(&server, "m v=1i");
    let keys = answer(&server, "SHOW FIELD KEYS FROM m");
    assert!(keys.contains("[\"v\",\"integer\"]"), "{keys}");
    // Kinds that hold are those of a restart, too.
    drop(server);
    let server = Server::start(dir.path(), &["--retention", "1h"]);
    assert_eq!(server.post("/write?db=d", "m v=\"t\"").status, 400);
    write(&server, "m v=2i");
    server.stop();
}

/// Writers that disagree: one kind holds, for all of them, whatever else happens meanwhile.
#[test]
fn writers_that_disagree_about_a_field_agree_on_one_kind() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "head.bytes=1MiB"]);
    assert_eq!(answer(&server, "CREATE DATABASE d"), "");
    let values = ["1i", "1.5", "true", "\"t\""];
    let taken: Vec<Vec<bool>> = std::thread::scope(|scope| {
        let writer = |value: &'static str| {
            let server = &server;
            scope.spawn(move || {
                let line = |at: u32| format!("m{at},w={} v={value} {}", value.len(), at + 1);
                (0..60).map(|at| server.post("/write?db=d", &line(at)).status == 204).collect()
            })
        };
        let writers: Vec<_> = values.into_iter().map(writer).collect();
        for at in 0..20 {
            let drop = format!("DELETE FROM m{}", at + 100);
            assert_eq!(ask(&server, &drop, "").status, 200);
        }
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    for at in 0..60 {
        let winners = taken.iter().filter(|taken| taken[at]).count();
        assert_eq!(winners, 1, "measurement m{at}");
        let keys = answer(&server, &format!("SHOW FIELD KEYS FROM m{at}"));
        let kind = ["integer", "float", "boolean", "string"];
        let winner = taken.iter().position(|taken| taken[at]).unwrap();
        assert!(keys.contains(&format!("[\"v\",\"{}\"]", kind[winner])), "{keys}");
    }
    server.stop();
}

/// Writers of two kinds while the measurement is dropped, again and again: what is left has the
/// kind that its field has.
#[test]
fn a_measurement_that_is_dropped_under_its_writers_has_one_kind() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--set", "head.bytes=1MiB"]);
    assert_eq!(answer(&server, "CREATE DATABASE d"), "");
    let mut mixed = Vec::new();
    for round in 0..40 {
        std::thread::scope(|scope| {
            for (value, writer) in [("1i", 0), ("\"t\"", 1), ("1i", 2), ("\"t\"", 3)] {
                let server = &server;
                scope.spawn(move || {
                    for at in 0..6 {
                        let line = format!("m,w={writer}.{at} v={value} {}", at + 1);
                        let status = server.post("/write?db=d", &line).status;
                        assert!(matches!(status, 204 | 400), "{status}");
                    }
                });
            }
            for _ in 0..4 {
                assert_eq!(ask(&server, "DROP MEASUREMENT m", "").status, 200);
            }
        });
        let told = server.get("/api/foliot/v1/metric?db=d&metric=m.v").text();
        let kinds = told.split_once("\"kinds\":[").unwrap().1.split_once(']').unwrap().0;
        let keys = answer(&server, "SHOW FIELD KEYS FROM m");
        if !kinds.is_empty() && (kinds.contains(',') || !keys.contains(&format!(",{kinds}]"))) {
            mixed.push(format!("round {round}: {kinds}, declared {keys}"));
        }
        assert_eq!(ask(&server, "DROP MEASUREMENT m", "").status, 200);
    }
    assert_eq!(mixed, [""; 0]);
    server.stop();
}
