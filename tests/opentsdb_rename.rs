//! `/api/uid/rename`: answers under the new name are those that the old one gave, whatever is
//! stored, and whatever happens on the way.

use crate::harness::{Over, Scratch, Server, read_response, request};
use crate::opentsdb::{H, Tsd, escape};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{BufReader, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

fn get(tsd: &Tsd, path: &str) -> (u16, Value) {
    tsd.json("GET", path, &Value::Null)
}

fn done() -> (u16, Value) {
    (200, json!({"result": "true"}))
}

/// Two series with floats, integers, late points, a histogram and what people wrote about them.
fn described() -> Tsd {
    let tsd = Tsd::start();
    tsd.series("m", "h=a dc=x", &[(0, "1.5"), (20, "3"), (10, "-2.25")]);
    tsd.series("m", "h=b dc=x", &[(0, "7"), (20, "9")]);
    tsd.telnet(&[&format!("histogram m.lat {H} 0,10=4:10,20=6 h=a dc=x")]);
    let write = |path: &str, body: Value| assert_eq!(tsd.json("POST", path, &body).0, 200);
    let note = json!({"tsuid": tsuid(&tsd, "m"), "startTime": H + 5, "description": "d"});
    write("/api/annotation", note);
    write("/api/uid/uidmeta", json!({"uid": "000001", "type": "metric", "displayName": "M"}));
    write("/api/uid/tsmeta", json!({"tsuid": tsuid(&tsd, "m"), "units": "B"}));
    tsd
}

/// The TSUID of the series that is not host `b`'s, whatever tag and value say so by now.
fn tsuid(tsd: &Tsd, metric: &str) -> String {
    let all = tsd.json("GET", &format!("/api/search/lookup?m={metric}"), &Value::Null).1;
    let is_a = |found: &&Value| found["tags"].as_object().unwrap().values().all(|tag| tag != "b");
    let found = all["results"].as_array().unwrap().iter().find(is_a).unwrap();
    found["tsuid"].as_str().unwrap().to_owned()
}

/// What is answered about a metric, with `old` written as `new` wherever it is a name.
fn told(tsd: &Tsd, metric: &str, old: &str, new: &str) -> Vec<String> {
    let mut told = [
        tsd.ask(&format!("none:{metric}"), 0, 60),
        tsd.ask(&format!("sum:10s-avg:{metric}"), 0, 60),
        get(tsd, &format!("/api/query/last?timeseries={metric}&resolve")).1,
        get(tsd, "/api/suggest?type=metrics").1,
        get(tsd, "/api/suggest?type=tagk").1,
        get(tsd, "/api/suggest?type=tagv").1,
        get(tsd, &format!("/api/uid/tsmeta?tsuid={}", tsuid(tsd, metric))).1["units"].take(),
    ];
    // Numbers are others than before, and so may be the order that they make.
    for answer in &mut told[..3] {
        for series in answer.as_array_mut().unwrap() {
            for noted in [&["tsuid"][..], &["annotations", "0", "tsuid"]] {
                let pointer = format!("/{}", noted.join("/"));
                series.pointer_mut(&pointer).map(Value::take);
            }
        }
    }
    let name =
        |value: &Value| value.to_string().replace(&format!("\"{old}\""), &format!("\"{new}\""));
    let sorted = |value: &Value| {
        let mut all: Vec<String> = value.as_array().into_iter().flatten().map(name).collect();
        all.sort();
        if all.is_empty() { name(value) } else { all.join("\n") }
    };
    told.iter().map(sorted).collect()
}

#[test]
fn metrics_and_tags_get_other_names_and_their_own_ones_back() {
    let tsd = described();
    let rename = |what: &str| get(&tsd, &format!("/api/uid/rename?{what}"));
    let refused = |m: &str| tsd.refusal("/api/query", &[("start", "1"), ("m", m)], 400);

    let before = told(&tsd, "m", "m", "n");
    assert!(before[0].contains("annotations") && before[6].contains('B'), "{before:?}");
    assert_eq!(rename("metric=m&name=n"), done());
    assert_eq!(told(&tsd, "n", "m", "n"), before);
    assert_eq!(refused("sum:m"), "No such name for 'metrics': 'm'");
    let meta = |uid: &str| get(&tsd, &format!("/api/uid/uidmeta?uid={uid}&type=metric"));
    assert_eq!(meta("000001").0, 404);
    let uid = tsuid(&tsd, "n")[..6].to_owned();
    assert_eq!((&meta(&uid).1["name"], &meta(&uid).1["displayName"]), (&json!("n"), &json!("M")));

    let histogram = |metric: &str| {
        tsd.ask(&format!("sum:percentiles[50]:{metric}"), 0, 60)[0]["dps"].to_string()
    };
    let before = histogram("m.lat");
    assert_eq!(rename("metric=m.lat&name=latency"), done());
    assert_eq!(histogram("latency"), before);

    let before = told(&tsd, "n", "h", "host");
    assert_eq!(rename("tagk=h&name=host"), done());
    assert_eq!(told(&tsd, "n", "h", "host"), before);
    assert_eq!(refused("sum:n{h=*}"), "No such name for 'tagk': 'h'");

    let before = told(&tsd, "n", "a", "alpha");
    let posted = tsd.json("POST", "/api/uid/rename", &json!({"tagv": "a", "name": "alpha"}));
    assert_eq!(posted, done());
    assert_eq!(told(&tsd, "n", "a", "alpha"), before);
    assert_eq!(refused("sum:n{host=a}"), "No such name for 'tagv': 'a'");

    // And back again; the numbers of long ago come back with the names.
    for back in ["tagv=alpha&name=a", "tagk=host&name=h", "metric=n&name=m"] {
        assert_eq!(rename(back), done());
    }
    assert_eq!(told(&tsd, "m", "", ""), told(&described(), "m", "m.lat", "latency"));
    assert_eq!(meta("000001").1["displayName"], "M");
    assert_eq!(tsuid(&tsd, "m"), tsuid(&described(), "m"));
}

#[test]
fn refusals_have_the_peers_words() {
    let tsd = Tsd::start();
    tsd.series("m", "h=a", &[(0, 1)]);
    tsd.series("n", "h=b", &[(0, 1)]);
    assert_eq!(get(&tsd, "/api/uid/assign?metric=o").0, 200);
    for (what, error) in [
        ("metric=x&name=y", "Name(\"x\") does not exist"),
        ("tagk=x&name=y", "Name(\"x\") does not exist"),
        ("tagv=x&name=y", "Name(\"x\") does not exist"),
        (
            "metric=m&name=n",
            "When trying rename(\"m\", \"n\") on UniqueId(tsdb-uid, metrics, 3): new name already \
             assigned ID=[0, 0, 2]",
        ),
        (
            "metric=m&name=o",
            "When trying rename(\"m\", \"o\") on UniqueId(tsdb-uid, metrics, 3): new name already \
             assigned ID=[0, 0, 3]",
        ),
        (
            "tagv=a&name=b",
            "When trying rename(\"a\", \"b\") on UniqueId(tsdb-uid, tagv, 3): new name already \
             assigned ID=[0, 0, 2]",
        ),
        (
            "tagk=h&name=h",
            "When trying rename(\"h\", \"h\") on UniqueId(tsdb-uid, tagk, 3): new name already \
             assigned ID=[0, 0, 1]",
        ),
        ("metric=m&name=a%20b", "Invalid metric (\"a b\"): illegal character:  "),
        ("tagv=a%20b&name=c", "Invalid tagv (\"a b\"): illegal character:  "),
    ] {
        let answer = get(&tsd, &format!("/api/uid/rename?{what}"));
        assert_eq!(answer, (400, json!({"result": "false", "error": error})), "{what}");
    }
    let post = |body: Value| tsd.json("POST", "/api/uid/rename", &body);
    let unknown = json!({"result": "false", "error": "Unknown type name"});
    assert_eq!(post(json!({"foo": "a", "name": "b"})), (400, unknown));
    for missing in ["metric=m", "name=n", "", "metric=&name=n"] {
        let message = tsd.refusal(&format!("/api/uid/rename?{missing}"), &[], 400);
        assert_eq!(message, "Missing necessary values to rename UID", "{missing}");
    }
    assert_eq!(tsd.json("DELETE", "/api/uid/rename", &Value::Null).0, 405);
    // A page of somebody else's cannot have it done by a link.
    let link = "/api/uid/rename?metric=m&name=z";
    let foreign = tsd.server.request("GET", link, &[("sec-fetch-site", "cross-site")], b"");
    assert_eq!(foreign.status, 403);
    tsd.expect("sum:m", 0, 9, &[(0, json!(1))]);
}

#[test]
fn what_has_only_a_name_is_renamed_and_free_names_are_given_again() {
    let tsd = Tsd::start();
    assert_eq!(get(&tsd, "/api/uid/assign?metric=a").1["metric"]["a"], "000001");
    assert_eq!(get(&tsd, "/api/uid/rename?metric=a&name=b"), done());
    let again = get(&tsd, "/api/uid/rename?metric=a&name=c").1;
    assert_eq!(again["error"], "Name(\"a\") does not exist");
    assert_eq!(get(&tsd, "/api/uid/assign?metric=b").0, 400);
    assert_eq!(get(&tsd, "/api/uid/assign?metric=a").0, 200);
    assert_eq!(get(&tsd, "/api/uid/assign?metric=a").0, 400);
    // Points give a name a meaning again, too.
    assert_eq!(get(&tsd, "/api/uid/rename?metric=b&name=c"), done());
    tsd.series("b", "h=a", &[(0, 1)]);
    let taken = get(&tsd, "/api/uid/rename?metric=a&name=b").1;
    assert!(taken["error"].as_str().unwrap().contains("new name already assigned"), "{taken}");
}

#[test]
fn fields_of_influx_lines_become_metrics_of_their_own() {
    let tsd = Tsd::start();
    let line = format!("cpu,h=a usage=5i,idle=2.5 {}000000000", H);
    assert_eq!(tsd.server.post("/write?db=default", &line).status, 204);
    tsd.expect("sum:cpu.usage", 0, 9, &[(0, json!(5))]);
    assert_eq!(get(&tsd, "/api/uid/rename?metric=cpu.usage&name=load.one"), done());
    tsd.expect("sum:load.one", 0, 9, &[(0, json!(5))]);
    tsd.expect("sum:cpu.idle", 0, 9, &[(0, json!(2.5))]);
    let ask = |statement: &str| {
        tsd.server.get(&format!("/query?db=default&q={}", escape(statement))).text()
    };
    assert!(ask("SELECT * FROM \"load.one\"").contains(r#""columns":["time","h","value"]"#));
    assert!(ask("SHOW FIELD KEYS FROM \"load.one\"").contains(r#"["value","integer"]"#));
    assert!(!ask("SHOW FIELD KEYS FROM cpu").contains("usage"));
    let wrong = format!("load.one,h=a value=true {}000000000", H + 1);
    assert_eq!(tsd.server.post("/write?db=default", &wrong).status, 400);
}

/// Writes are held off only for instants, each of which drops so many series: there is an answer
/// between any two, also for who writes to the very metric.
#[test]
fn writers_go_on_beside_a_rename_of_many_series() {
    const SERIES: usize = 20_000;
    const AT_ONCE: usize = 1024;
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--http-changes-by-get", "--set", "wal.ack=os"]);
    let line = |host: usize, at: i64| format!("old,h={host} value={at}i {}000000000\n", H + at);
    let body: String = (0..SERIES).map(|host| line(host, 0)).collect();
    assert_eq!(server.post("/write?db=default", &body).status, 204);
    let is_over = AtomicBool::new(false);
    // Writes that had an answer before the rename had its.
    let answered = [AtomicUsize::new(0), AtomicUsize::new(0)];
    scope(|scope| {
        let over = Over(&is_over);
        for (number, answered) in answered.iter().enumerate() {
            let (server, is_over) = (&server, &is_over);
            scope.spawn(move || {
                for at in 1.. {
                    let body: String = match number {
                        0 => (0..10).map(|n| line((at as usize * 997 + n) % SERIES, at)).collect(),
                        _ => format!("beside value={at}i {}000000000\n", H + at),
                    };
                    assert_eq!(server.post("/write?db=default", &body).status, 204);
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    answered.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let renamed = server.get("/api/uid/rename?metric=old&name=new");
        assert_eq!(renamed.status, 200, "{}", renamed.text());
        drop(over);
    });
    for answered in &answered {
        let answered = answered.load(Ordering::Relaxed);
        assert!(answered > SERIES / AT_ONCE, "{answered} writes were answered meanwhile");
    }
    // What came later has the old name. Each writer had one more answer, to a write that it began
    // meanwhile.
    let count = |metric: &str| -> u64 {
        let statement = escape(&format!("SELECT count(value) FROM {metric}"));
        let answer = server.get(&format!("/query?db=default&q={statement}"));
        let answer: Value = serde_json::from_slice(&answer.body).unwrap();
        answer["results"][0]["series"][0]["values"][0][1].as_u64().unwrap_or(0)
    };
    let all = count("old") + count("new") + count("beside");
    let [to_old, beside] = answered.each_ref().map(|count| count.load(Ordering::Relaxed) + 1);
    assert_eq!(all as usize, SERIES + 10 * to_old + beside);
    assert!(count("new") as usize >= SERIES);
    server.stop();
}

#[test]
fn a_kill_in_the_middle_loses_nothing_and_asking_again_ends_it() {
    const SERIES: i64 = 300;
    const POINTS: i64 = 600;
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &["--http-changes-by-get"]);
    for host in 0..SERIES {
        let mut lines = String::new();
        for at in 0..POINTS {
            writeln!(lines, "put n0 {} {} h={host}", H + at, host * at).unwrap();
        }
        assert_eq!(server.talk(lines.as_bytes()), "");
    }
    server.stop();
    let ask = |server: &Server, m: &str| -> Value {
        let end = H + POINTS;
        let answer = server.get(&format!("/api/query?start={H}&end={end}&m={m}"));
        serde_json::from_slice(&answer.body).unwrap()
    };
    let dps = |server: &Server, metric: &str| {
        let count = ask(server, &format!("count:{metric}"));
        let sum = ask(server, &format!("sum:{metric}"));
        [count[0]["dps"].clone(), sum[0]["dps"].clone()]
    };
    let mut expected = None;
    let mut cut_short = 0;
    for round in 0..8 {
        let path = format!("/api/uid/rename?metric=n{round}&name=n{}", round + 1);
        let server = Server::start(dir.path(), &["--http-changes-by-get"]);
        let expected = &*expected.get_or_insert_with(|| dps(&server, &format!("n{round}")));
        assert_eq!(expected[0].as_object().unwrap().len(), POINTS as usize);
        let mut socket = server.connect();
        scope(|scope| {
            let asking = scope.spawn(|| {
                // The kill may come before the request.
                socket.write_all(&request("GET", &path, &[], b"")).ok()?;
                read_response(&mut BufReader::new(socket))
            });
            sleep(Duration::from_millis(15 * round));
            server.kill();
            cut_short += u32::from(asking.join().unwrap().is_none());
        });
        let server = Server::start(dir.path(), &["--http-changes-by-get"]);
        // It may have been done just before the kill, or not have begun.
        let answer = server.get(&path);
        let is_done = answer.status == 200 || answer.text().contains("does not exist");
        assert!(is_done, "{}", answer.text());
        assert!(dps(&server, &format!("n{}", round + 1)) == *expected, "round {round}");
        let old = server.get(&format!("/api/query?start=1&m=sum:n{round}"));
        assert_eq!(old.status, 400, "{}", old.text());
        server.stop();
    }
    assert!(cut_short > 0, "no rename was cut short");
}
