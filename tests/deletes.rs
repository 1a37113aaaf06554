//! Deletes of Foliot's own API that are about several metrics, or compare labels.

use crate::harness::api::{ROOT, described, get, write};
use crate::harness::{Scratch, Server, foliot};
use serde_json::{Value, json};

/// Three metrics in three rooms and one without a room: what each series has is its number of
/// samples.
const SERIES: [(&str, usize); 7] = [
    ("air,room=r1 temp=1", 2),
    ("air,room=r2 temp=1", 3),
    ("air,room=r10 temp=1", 1),
    ("air,room=r2,by=x damp=1", 4),
    ("soil,room=r2 ph=1", 5),
    ("soil,room=R2 ph=1", 1),
    ("soil,by=x ph=1", 2),
];

fn started(dir: &Scratch) -> Server {
    let server = Server::start(dir.path(), &[]);
    let lines = SERIES
        .iter()
        .flat_map(|(line, samples)| (1..=*samples).map(move |second| format!("{line} {second}\n")));
    write(&server, &lines.collect::<String>());
    server
}

fn delete(server: &Server, body: &Value, status: u16) -> Value {
    let path = format!("{ROOT}/delete");
    described("POST", &path, &server.post(&path, &body.to_string()), status)
}

fn counts(answer: &Value) -> (u64, u64) {
    (answer["series"].as_u64().unwrap(), answer["samples"].as_u64().unwrap())
}

/// What a preview counts, which must be what its metrics come to.
fn previewed(server: &Server, mut body: Value) -> (u64, u64) {
    body["is_preview"] = json!(true);
    let told = delete(server, &body, 200);
    let metrics = told["metrics"].as_array().unwrap();
    assert_eq!(metrics.len() as u64, told["metrics_total"].as_u64().unwrap(), "{told}");
    for of in ["series", "samples", "bytes"] {
        let sum: u64 = metrics.iter().map(|metric| metric[of].as_u64().unwrap()).sum();
        assert_eq!(json!(sum), told[of], "{told}");
    }
    counts(&told)
}

/// Samples of everything, by metric.
fn left(server: &Server) -> Vec<(String, u64)> {
    let names = get(server, "catalogue?of=metrics&without=foliot.")["names"].clone();
    let names = names.as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned());
    let samples = |name: &str| get(server, &format!("metric?metric={name}"))["samples"].clone();
    names.map(|name| (name.clone(), samples(&name).as_u64().unwrap())).collect()
}

fn audit(dir: &Scratch) -> Vec<Value> {
    let text = std::fs::read_to_string(dir.path().join("audit.log")).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn labels_are_compared_in_every_way_over_all_metrics() {
    let dir = Scratch::new();
    let server = started(&dir);
    for (body, expected) in [
        (json!({"labels": {"room": "r2"}}), (3, 12)),
        (json!({"labels": {"room": "r2", "by": "x"}}), (1, 4)),
        (json!({"labels": {"room": "none"}}), (0, 0)),
        (json!({"filters": {"room": "r2"}}), (3, 12)),
        (json!({"filters": {"room": "r1|r2"}}), (4, 14)),
        (json!({"filters": {"room": "r1*"}}), (2, 3)),
        (json!({"filters": {"room": "r2*"}}), (4, 13)),
        (json!({"filters": {"room": "wildcard(r2*)"}}), (3, 12)),
        (json!({"filters": {"room": "not_literal_or(r2)"}}), (3, 4)),
        (json!({"filters": {"room": "not_literal_or(r1|r10)", "by": "*"}}), (1, 4)),
        (json!({"filters": {"room": "regexp(^r1)"}}), (2, 3)),
        (json!({"filters": {"room": "regexp(^(r1|R2)$)"}}), (2, 3)),
        (json!({"filters": {"room": "not_regexp(^r)"}}), (1, 1)),
        (json!({"filters": {"room": "not_regexp(2)", "by": "x"}}), (0, 0)),
        (json!({"labels": {"by": "x"}, "filters": {"room": "*"}}), (1, 4)),
        (json!({"labels": {"room": "r2"}, "start_ms": 2000, "end_ms": 3000}), (3, 6)),
        (json!({"metrics": "air*", "labels": {"room": "r2"}}), (2, 7)),
        (json!({"metrics": "soil.ph|air.damp", "labels": {"room": "r2"}}), (2, 9)),
        (json!({"metrics": "not_literal_or(soil.ph)", "labels": {"room": "r2"}}), (2, 7)),
        (json!({"metrics": "regexp(^none)", "labels": {"room": "r2"}}), (0, 0)),
        (json!({"metric": "air.temp", "filters": {"room": "r1|r2"}}), (2, 5)),
        (json!({"metric": "air.temp", "filters": {"room": "*"}}), (3, 6)),
    ] {
        assert_eq!(previewed(&server, body.clone()), expected, "{body}");
    }
    let told = delete(&server, &json!({"labels": {"room": "r2"}, "is_preview": true}), 200);
    let names: Vec<&Value> =
        told["metrics"].as_array().unwrap().iter().map(|metric| &metric["name"]).collect();
    assert_eq!(names, ["soil.ph", "air.damp", "air.temp"], "those that lose most stand first");
    assert_eq!(audit(&dir), [] as [Value; 0]);
    server.stop();
}

#[test]
fn a_delete_takes_what_its_preview_counted_and_the_audit_log_says_how_it_was_asked_for() {
    let dir = Scratch::new();
    let server = started(&dir);
    let gone = json!({"labels": {"room": "r2"}});
    assert_eq!(counts(&delete(&server, &gone, 200)), (3, 12));
    assert_eq!(counts(&delete(&server, &gone, 200)), (0, 0));
    assert_eq!(left(&server), [("air.temp".to_owned(), 3), ("soil.ph".to_owned(), 3)]);
    let some = json!({"metrics": "air*", "filters": {"room": "r1|r10"}, "end_ms": 1000});
    assert_eq!(previewed(&server, some.clone()), (2, 2));
    assert_eq!(counts(&delete(&server, &some, 200)), (2, 2));
    let others = json!({"filters": {"room": "not_literal_or(r1)"}});
    assert_eq!(counts(&delete(&server, &others, 200)), (1, 1));
    assert_eq!(left(&server), [("air.temp".to_owned(), 1), ("soil.ph".to_owned(), 2)]);
    let said = audit(&dir);
    let said: Vec<_> = said.iter().map(|act| (&act["selector"], &act["asked"])).collect();
    let asked = |text: &str| json!(text);
    assert_eq!(said.len(), 3, "what takes nothing has no line: {said:?}");
    assert_eq!(said[0], (&json!("* {room=\"r2\"}"), &Value::Null));
    assert_eq!(said[1].1, &asked(r#"{"filters":{"room":"r1|r10"},"metrics":"air*"}"#));
    assert_eq!(said[2].0, &json!("* {room!=\"r1\"}"));
    assert_eq!(said[2].1, &asked(r#"{"filters":{"room":"not_literal_or(r1)"}}"#));
    let listed = get(&server, "audit?limit=1");
    assert_eq!(listed["acts"][0]["asked"], *said[2].1);
    server.stop();
}

#[test]
fn what_could_take_everything_is_refused() {
    let dir = Scratch::new();
    let server = started(&dir);
    for body in [
        json!({}),
        json!({"labels": {}}),
        json!({"filters": {}}),
        json!({"metrics": "*"}),
        json!({"metrics": "air*"}),
        json!({"metrics": "", "labels": {"room": "r2"}}),
        json!({"metric": "", "labels": {"room": "r2"}}),
        json!({"metric": null, "labels": {"room": "r2"}}),
        json!({"metric": "air.temp", "metrics": "air*", "labels": {"room": "r2"}}),
        json!({"metrics": "regexp(()", "labels": {"room": "r2"}}),
        json!({"filters": {"room": "*"}}),
        json!({"filters": {"room": "**"}}),
        json!({"filters": {"room": "regexp(.*)"}}),
        json!({"filters": {"room": "regexp(^)"}}),
        json!({"filters": {"room": "regexp(^.*$)"}}),
        json!({"filters": {"room": "not_literal_or(||)"}}),
        // A value that no series has would leave all of them.
        json!({"filters": {"room": "not_literal_or(r22)"}}),
        json!({"filters": {"roomm": "not_literal_or(r2)"}}),
        json!({"filters": {"room": "not_regexp(^x)"}}),
        json!({"filters": {"room": ""}}),
        json!({"filters": {"room": 1}}),
        json!({"filters": {"": "r2"}}),
        json!({"filters": {"room": "regexp(r2"}}),
        json!({"filters": {"room": "much(r2)"}}),
        json!({"filters": "{room=r2}"}),
        json!({"filter": {"room": "r2"}}),
        json!({"filters": (0..40).map(|n| (format!("l{n}"), json!("regexp(a)"))).collect::<serde_json::Map<_, _>>()}),
    ] {
        delete(&server, &body, 400);
    }
    assert_eq!(left(&server).iter().map(|(_, samples)| samples).sum::<u64>(), 18);
    assert_eq!(audit(&dir), [] as [Value; 0]);
    server.stop();
}

#[test]
fn names_and_values_may_have_all_letters() {
    let dir = Scratch::new();
    let server = started(&dir);
    write(
        &server,
        "odd\\,{m},la\\=b\\ el=a|b v=1 1\nodd\\,{m},la\\=b\\ el=a v=1 1\nodd,s=x*\\,{y}(z) v=1 1",
    );
    assert_eq!(previewed(&server, json!({"labels": {"la=b el": "a|b"}})), (1, 1));
    assert_eq!(previewed(&server, json!({"filters": {"la=b el": "a|b"}})), (1, 1));
    assert_eq!(previewed(&server, json!({"filters": {"la=b el": "regexp(^a\\|b$)"}})), (1, 1));
    assert_eq!(previewed(&server, json!({"labels": {"s": "x*,{y}(z)"}})), (1, 1));
    assert_eq!(previewed(&server, json!({"labels": {"s": "x*"}})), (0, 0));
    assert_eq!(counts(&delete(&server, &json!({"labels": {"s": "x*,{y}(z)"}}), 200)), (1, 1));
    let odd = json!({"metrics": "odd,{m}*", "filters": {"la=b el": "a"}});
    assert_eq!(counts(&delete(&server, &odd, 200)), (1, 1));
    assert_eq!(previewed(&server, json!({"filters": {"la=b el": "a*"}})), (1, 1));
    server.stop();
}

#[test]
fn of_many_metrics_the_first_are_told_and_how_many_there_are() {
    let dir = Scratch::new();
    let server = started(&dir);
    let lines: String = (0..50).map(|n| format!("m{n:02},gone=yes v=1 1\n")).collect();
    write(&server, &(lines + "m30,gone=yes v=2 2"));
    let body = json!({"labels": {"gone": "yes"}, "is_preview": true});
    let told = delete(&server, &body, 200);
    assert_eq!((counts(&told), &told["metrics_total"]), ((50, 51), &json!(50)));
    let names: Vec<_> =
        told["metrics"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!((names.len(), names[0], names[1]), (20, &json!("m30.v"), &json!("m00.v")));
    assert_eq!(counts(&delete(&server, &json!({"labels": {"gone": "yes"}}), 200)), (50, 51));
    assert_eq!(left(&server).len(), 3);
    server.stop();
}

/// Who may delete in some measurements only may not say that all are meant.
#[test]
fn who_has_not_all_measurements_may_neither_count_nor_delete() {
    let dir = Scratch::new();
    let token = |more: &[&str]| {
        let mut command = foliot();
        command.args(["user", "token", "t", "--data-dir"]).arg(dir.path()).args(more);
        format!("Bearer {}", String::from_utf8(command.output().unwrap().stdout).unwrap().trim())
    };
    let scoped = token(&["--role", "write", "--measurements", "air"]);
    let (reader, writer) = (token(&["--role", "read"]), token(&["--role", "write"]));
    let server = Server::start(dir.path(), &["--access"]);
    let as_who = |who: &str, path: &str, body: &str| {
        server.request("POST", path, &[("Authorization", who)], body.as_bytes()).status
    };
    assert_eq!(as_who(&writer, "/write?db=default", "air,room=r2 temp=1 1"), 204);
    let path = format!("{ROOT}/delete");
    for is_preview in [true, false] {
        let body = json!({"labels": {"room": "r2"}, "is_preview": is_preview}).to_string();
        assert_eq!([&scoped, &reader].map(|who| as_who(who, &path, &body)), [403, 403]);
        assert_eq!(as_who(&writer, &path, &body), 200);
    }
    server.stop();
}
