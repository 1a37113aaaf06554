//! What the page keeps and shows beside questions, through Foliot's own API: saved things, notes,
//! imports, figures of a metric, retention, settings, the log. Every answer is held against
//! `docs/openapi.json`.

use crate::harness;
use crate::harness::api::{ROOT, delete, described, get, post, write};
use crate::harness::{PATIENCE, Scratch, Server};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::io::Write;
use std::time::{Duration, Instant};

fn import(server: &Server, params: &str, text: &str, status: u16) -> Value {
    let path = format!("{ROOT}/import?{params}");
    described("POST", &path, &server.post(&path, text), status)
}

/// The members of a list, by one of their fields.
fn column(list: &Value, name: &str) -> Vec<Value> {
    list.as_array().unwrap().iter().map(|row| row[name].clone()).collect()
}

#[test]
fn what_is_saved_survives_a_restart_and_is_kept_by_database() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let query = json!({"name": " Beds ", "address": "#/explore?start=1h-ago&m=avg:a"});
    assert_eq!(post(&server, "saved", &query, 200)["kind"], "query");
    let panels = json!([{"title": "<b>", "address": "#/explore?p=up"}]);
    let board = json!({"name": "Board", "panels": panels});
    post(&server, "saved", &board, 200);
    let replaced = json!({"name": "Beds", "address": "#/explore?m=avg:b"});
    post(&server, "saved", &replaced, 200);
    assert_eq!(server.post("/query?q=CREATE+DATABASE+other", "").status, 200);
    assert_eq!(get(&server, "saved?db=other")["saved"], json!([]));
    server.stop();
    let server = Server::start(dir.path(), &[]);
    let saved = get(&server, "saved")["saved"].clone();
    assert_eq!(column(&saved, "name"), ["Beds", "Board"]);
    assert_eq!(saved[0]["address"], "#/explore?m=avg:b");
    assert_eq!((&saved[1]["kind"], &saved[1]["panels"]), (&json!("dashboard"), &panels));
    assert_eq!(delete(&server, "saved?name=Beds", 200)["deleted"], "Beds");
    delete(&server, "saved?name=Beds", 404);
    assert_eq!(column(&get(&server, "saved")["saved"], "name"), ["Board"]);
    for bad in [
        json!({}),
        json!({"name": "x"}),
        json!({"name": "", "address": "#/explore?"}),
        json!({"name": "a\u{7}", "address": "#/explore?"}),
        json!({"name": "x".repeat(101), "address": "#/explore?"}),
        json!({"name": "x", "address": "javascript:alert(1)"}),
        json!({"name": "x", "address": format!("#/explore?{}", "m".repeat(20_000))}),
        json!({"name": "x", "address": "#/explore?", "panels": panels}),
        json!({"name": "x", "panels": []}),
        json!({"name": "x", "panels": [{"title": "", "address": "#/explore?"}]}),
        json!({"name": "x", "address": "#/explore?", "sneaked": 1}),
    ] {
        post(&server, "saved", &bad, 400);
    }
    assert_eq!(get(&server, "saved")["saved"].as_array().unwrap().len(), 1);
    server.stop();
}

#[test]
fn a_metric_is_limited_to_some_series_and_that_is_told() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "soil,bed=a ph=7,wet=1 1767225600\nsoil,bed=b ph=7 1767225600");
    let told = |lines: &str| server.talk(lines.as_bytes());
    assert_eq!(told("put a.b 1767225600 1 host=x\n"), "");
    let limit = |metric: &str, series_max: u64, status| {
        post(&server, "limits", &json!({"metric": metric, "series_max": series_max}), status)
    };
    let set = limit("soil.ph", 2, 200);
    assert_eq!(set, json!({"metric": "soil.ph", "series": 2, "series_max": 2}));
    limit("a.b", 1, 200);
    let too_many = server.post("/write?db=default", "soil,bed=c ph=8,new=1 1\nsoil,bed=b wet=1 2");
    assert!(too_many.status == 400 && too_many.text().contains("(line 1)"), "{}", too_many.text());
    assert!(too_many.text().contains("2 series are there and no more than 2 may be"));
    let fields = get(&server, "catalogue?of=fields&measurement=soil")["fields"].clone();
    assert_eq!(column(&fields, "name"), ["ph", "wet"], "what is refused fixes no kind");
    let refused = told("put a.b 1767225600 1 host=y\nput a.b 1767225601 2 host=x\n");
    assert_eq!(refused.matches("no more than 1 may be").count(), 1, "{refused}");
    let status = get(&server, "status");
    assert_eq!(status["rejects"][0]["reason"], "limit");
    server.kill();
    let server = Server::start(dir.path(), &[]);
    let limits = get(&server, "limits")["limits"].clone();
    assert_eq!(column(&limits, "metric"), ["a.b", "soil.ph"]);
    assert_eq!(column(&limits, "series"), [1, 2]);
    assert_eq!(server.post("/write?db=default", "soil,bed=c ph=8 3").status, 400);
    assert_eq!(delete(&server, "limits?metric=soil.ph", 200)["deleted"], "soil.ph");
    delete(&server, "limits?metric=soil.ph", 404);
    write(&server, "soil,bed=c ph=8 3");
    let post = |body: Value, status| post(&server, "limits", &body, status);
    let ahead = post(json!({"metric": "none.such", "series_max": 1}), 200);
    assert_eq!(ahead["series"], 0, "a metric may be limited before it is there");
    write(&server, "none,h=a such=1 1");
    assert_eq!(server.post("/write?db=default", "none,h=b such=1 1").status, 400);
    assert_eq!(server.post("/write?db=default", "none.such,h=b value=1 1").status, 204);
    assert_eq!(server.post("/write?db=default", "none.such,h=c value=1 1").status, 400);
    for bad in [
        json!({}),
        json!({"metric": "soil.ph"}),
        json!({"metric": "soil.ph", "series_max": -1}),
        json!({"metric": "soil.ph", "series_max": "7"}),
        json!({"metric": "", "series_max": 1}),
        json!({"metric": ".".repeat(5000), "series_max": 1}),
        json!({"metric": "soil.ph", "series_max": 1, "for": "a day"}),
    ] {
        post(bad, 400);
    }
    server.stop();
}

#[test]
fn who_saves_over_somebody_elses_change_is_told() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let board = |title: &str, was: Value| {
        let panels = json!([{"title": title, "address": "#/explore?m=a"}]);
        json!({"name": "b", "panels": panels, "was_changed_ms": was})
    };
    let first = post(&server, "saved", &board("one", Value::Null), 200)["changed_ms"].clone();
    std::thread::sleep(std::time::Duration::from_millis(2));
    let second = post(&server, "saved", &board("two", first.clone()), 200)["changed_ms"].clone();
    let refused = post(&server, "saved", &board("three", first), 409);
    assert!(refused["error"]["message"].as_str().unwrap().contains("somebody else"), "{refused}");
    assert_eq!(get(&server, "saved")["saved"][0]["panels"][0]["title"], "two");
    // What is to be new takes nobody's place, and what was changed is not deleted.
    let refused = post(&server, "saved", &board("new", json!(0)), 409);
    assert!(refused["error"]["message"].as_str().unwrap().contains("already"), "{refused}");
    delete(&server, "saved?name=b&was_changed_ms=1", 409);
    delete(&server, "saved?name=b&was_changed_ms=soon", 400);
    assert_eq!(get(&server, "saved")["saved"][0]["panels"][0]["title"], "two");
    delete(&server, &format!("saved?name=b&was_changed_ms={second}"), 200);
    post(&server, "saved", &board("four", second), 409);
    post(&server, "saved", &board("five", json!("x")), 400);
    assert_eq!(get(&server, "saved")["saved"], json!([]));
    post(&server, "saved", &board("six", json!(0)), 200);
    // A name is told as it stands, whatever is in it.
    let named = |was: i64| json!({"name": r#"a "b" \ é"#, "address": "#/explore?m=a", "was_changed_ms": was});
    post(&server, "saved", &named(0), 200);
    for was in [0, 1] {
        let refused = post(&server, "saved", &named(was), 409);
        let said = refused["error"]["message"].as_str().unwrap();
        assert!(said.starts_with(r#"“a "b" \ é” "#), "{said}");
    }
    server.stop();
}

#[test]
fn what_is_saved_has_an_end() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let panel = json!({"title": "t", "address": format!("#/explore?{}", "m".repeat(16_000))});
    let board = |at: usize| json!({"name": format!("b{at}"), "panels": vec![&panel; 40]});
    // Six of them have 4 MiB less a little.
    for at in 0..6 {
        post(&server, "saved", &board(at), 200);
    }
    post(&server, "saved", &board(6), 413);
    post(&server, "saved", &board(5), 200);
    delete(&server, "saved?name=b0", 200);
    post(&server, "saved", &board(6), 200);
    server.stop();
    let server = Server::start(dir.path(), &["--set", "limits.registry_bytes=1MiB"]);
    delete(&server, "saved?name=b1", 200);
    post(&server, "saved", &board(1), 503);
    server.stop();
}

#[test]
fn notes_are_those_of_opentsdb() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let at = 1_767_225_600_000_i64;
    let note = json!({"start_ms": at, "end_ms": at + 1500, "text": "deploy", "details": "v2"});
    assert_eq!(post(&server, "annotations", &note, 200), note);
    let instant = json!({"start_ms": at + 60_000, "text": "<i>", "details": ""});
    assert_eq!(post(&server, "annotations", &instant, 200)["end_ms"], Value::Null);
    let early = json!({"start_ms": 5_000, "text": "early"});
    assert_eq!(post(&server, "annotations", &early, 200)["start_ms"], 5_000);
    let listed =
        |params: &str| get(&server, &format!("annotations?{params}"))["annotations"].clone();
    assert_eq!(column(&listed(""), "text"), ["early", "deploy", "<i>"]);
    let narrow = format!("start_ms={at}&end_ms={}", at + 30_000);
    assert_eq!(column(&listed(&narrow), "text"), ["deploy"]);
    // Notes over ranges are there wherever they overlap.
    for inside in [(at - 500, at + 500), (at + 500, at + 700), (at + 1_000, at + 9_000)] {
        let narrow = format!("start_ms={}&end_ms={}", inside.0, inside.1);
        assert_eq!(column(&listed(&narrow), "text"), ["deploy"], "{inside:?}");
    }
    let until = format!("start_ms={}&end_ms={}", at + 1_501, at + 9_000);
    assert_eq!(column(&listed(&until), "text"), [] as [&str; 0]);
    // Of more than are wanted those are listed that begin last.
    let two = get(&server, "annotations?limit=2");
    assert_eq!(
        (column(&two["annotations"], "text"), &two["is_whole"]),
        (vec!["deploy".into(), "<i>".into()], &json!(false))
    );
    assert_eq!(get(&server, "annotations?limit=3")["is_whole"], true);
    for bad in ["limit=0", "limit=10001", "limit=x", "start_ms=x", "start_ms=-1"] {
        let answer = server.get(&format!("/api/foliot/v1/annotations?{bad}"));
        assert_eq!(answer.status, 400, "{bad}: {}", answer.text());
    }
    // A text that looks like a note's own words is none.
    let sly = json!({"start_ms": at - 90_000, "end_ms": at + 5_000, "text": "\"endTime\":0,", "details": ""});
    post(&server, "annotations", &sly, 200);
    assert_eq!(column(&listed(&narrow), "end_ms"), [json!(at + 5_000), json!(at + 1500)]);
    delete(&server, &format!("annotations?start_ms={}", at - 90_000), 200);
    // A note of one series is none about everything.
    let own = format!(
        "{{\"startTime\":{},\"tsuid\":\"000001000001000001\",\"description\":\"own\"}}",
        at + 100
    );
    assert_eq!(server.post("/api/annotation", &own).status, 200);
    assert_eq!(column(&listed(&narrow), "text"), ["deploy"]);
    // To look at the head of an answer changes nothing.
    let head = format!("/api/foliot/v1/annotations?start_ms={at}&end_ms={}", at + 900_000);
    assert_eq!(server.request("HEAD", &head, &[], b"").status, 200);
    let backward = format!("{ROOT}/annotations?start_ms={}&end_ms={at}", at + 1);
    described("GET", &backward, &server.get(&backward), 400);
    let theirs = "/api/annotation?start_time=7&end_time=9";
    assert_eq!(server.request("HEAD", theirs, &[], b"").status, 404);
    assert_eq!(listed(&narrow)[0]["end_ms"], at + 1500);
    assert_eq!(column(&listed(""), "text"), ["early", "deploy", "<i>"]);
    // What is left out of a note that is written again is gone.
    let again =
        json!({"start_ms": at + 60_000, "end_ms": at + 61_000, "text": "x", "details": "d"});
    assert_eq!(post(&server, "annotations", &again, 200), again);
    assert_eq!(post(&server, "annotations", &instant, 200)["end_ms"], Value::Null);
    assert_eq!(listed("")[2]["details"], "");
    let theirs = server.get(&format!("/api/annotation?start_time={}", at / 1000));
    assert!(theirs.text().contains("\"description\":\"deploy\""), "{}", theirs.text());
    delete(&server, &format!("annotations?start_ms={at}"), 200);
    assert_eq!(column(&listed(""), "text"), ["early", "<i>"]);
    delete(&server, "annotations", 400);
    for bad in [
        json!({}),
        json!({"start_ms": at}),
        json!({"start_ms": at, "text": "  "}),
        json!({"start_ms": "x", "text": "x"}),
        json!({"start_ms": at, "end_ms": at - 1, "text": "x"}),
        json!({"start_ms": at, "text": "x", "note": 1}),
    ] {
        post(&server, "annotations", &bad, 400);
    }
    server.stop();
}

#[test]
fn an_import_is_looked_at_before_it_is_stored() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    write(&server, "soil,bed=n depth=1i 600");
    let lines = "soil,bed=n ph=6.5,wet=0.3 600\n# a comment\nsoil,bed=s ph=broken 600\n\
                 soil,bed=s depth=1.5 601\nsoil,bed=s ph=7 660\n";
    let tried = import(&server, "format=influx&precision=s&dry_run=true&first_line=11", lines, 200);
    assert_eq!((&tried["rows"], &tried["refused"]), (&json!(2), &json!(2)), "{tried}");
    assert_eq!(
        (&tried["samples"], &tried["found"]["metrics"][0]["name"]),
        (&json!(3), &json!("soil.ph"))
    );
    assert_eq!(column(&tried["faults"], "line"), [13, 14]);
    assert_eq!(tried["faults"][0]["text"], "soil,bed=s ph=broken 600");
    assert_eq!(column(&tried["faults"], "field"), ["ph", "depth"]);
    assert!(tried["faults"][1]["message"].as_str().unwrap().contains("integer"), "{tried}");
    let found = &tried["found"];
    assert_eq!(column(&found["metrics"], "name"), ["soil.ph", "soil.wet"], "what would be stored");
    assert_eq!(found["metrics"][0]["samples"], 2);
    assert_eq!((&found["labels"], &found["is_whole"]), (&json!(["bed"]), &json!(true)));
    assert_eq!((&found["start_ms"], &found["end_ms"]), (&json!(600_000), &json!(660_000)));
    assert_eq!(get(&server, "catalogue?of=metrics")["names"], json!(["soil.depth"]));
    let stored = import(&server, "format=influx&precision=s", lines, 200);
    assert_eq!((&stored["rows"], &stored["refused"]), (&json!(2), &json!(2)), "{stored}");
    assert_eq!(column(&stored["faults"], "line"), [3, 4]);
    assert_eq!(column(&stored["faults"], "field"), ["ph", "depth"]);
    let metrics = json!(["soil.depth", "soil.ph", "soil.wet"]);
    assert_eq!(get(&server, "catalogue?of=metrics")["names"], metrics);

    // What a line decides holds for those behind it.
    let lines = "leaf,bed=n wet=1 600\nleaf,bed=n wet=\"very\",dry=1 660\nleaf,bed=n wet=2 720\n\
                 soil,bed=n depth=2i 720\n";
    let tried = import(&server, "format=influx&precision=s&dry_run=true", lines, 200);
    assert_eq!((&tried["rows"], &tried["refused"]), (&json!(3), &json!(1)), "{tried}");
    assert_eq!(
        (&tried["faults"][0]["line"], &tried["faults"][0]["field"]),
        (&json!(2), &json!("wet"))
    );
    assert_eq!(column(&tried["found"]["metrics"], "name"), ["leaf.wet", "soil.depth"]);
    assert_eq!(get(&server, "catalogue?of=metrics&search=leaf")["names"], json!([]));
    let stored = import(&server, "format=influx&precision=s", lines, 200);
    assert_eq!((&stored["rows"], &stored["refused"]), (&json!(3), &json!(1)), "{stored}");

    // Of a line that is refused nothing is decided, in a dry run and in an import.
    let lines = "bud,bed=n wet=\"very\",depth=1i 600\nbud,=x dry=\"t\" 600\nleaf,bed=n wet=\"very\",rim=1 \
                 660\nbud dry=1,depth=2.5 720\nleaf rim=2i 720\nbud wet=1 780\n";
    for dry in ["true", "false"] {
        let found =
            import(&server, &format!("format=influx&precision=s&dry_run={dry}"), lines, 200);
        assert_eq!((&found["rows"], &found["refused"]), (&json!(2), &json!(4)), "{found}");
        assert_eq!(column(&found["faults"], "line"), [2, 3, 4, 6], "{found}");
        assert_eq!(column(&found["faults"], "field"), ["tag", "wet", "depth", "wet"], "{found}");
    }

    // Put lines keep a kind for each sample.
    write(&server, "sys.a value=1i 600");
    let puts = "put sys.a 600 1.5 h=x\n";
    let tried = import(&server, "format=opentsdb&dry_run=true", puts, 200);
    assert_eq!((&tried["rows"], &tried["refused"]), (&json!(1), &json!(0)), "{tried}");
    assert_eq!(import(&server, "format=opentsdb", puts, 200)["rows"], 1);

    let puts = "put sys.a 600 1 h=x\nsys.b 600 2 h=x\nsys.c 600\n";
    let tried = import(&server, "format=opentsdb&dry_run=1&first_line=7", puts, 200);
    assert_eq!((&tried["rows"], &tried["refused"]), (&json!(2), &json!(1)), "{tried}");
    assert_eq!(
        (&tried["faults"][0]["line"], &tried["faults"][0]["text"]),
        (&json!(9), &json!("sys.c 600"))
    );
    assert_eq!(import(&server, "format=opentsdb", puts, 200)["samples"], 2);
    let text = "# TYPE up gauge\nup{job=\"a\"} 1 600000\nup{job= 1\n";
    let tried = import(&server, "format=prometheus&dry_run=true", text, 200);
    assert_eq!((&tried["rows"], &tried["faults"][0]["line"]), (&json!(1), &json!(3)), "{tried}");
    assert_eq!(tried["found"]["metrics"], json!([{"name": "up", "kind": "float", "samples": 1}]));
    assert_eq!(import(&server, "format=prometheus", text, 200)["rows"], 1);
    assert_eq!(get(&server, "catalogue?of=metrics&search=up")["names"], json!(["up"]));
    for bad in [
        "",
        "format=xml",
        "format=influx&precision=d",
        "format=influx&first_line=0",
        "format=influx&first_line=4294967295",
    ] {
        import(&server, bad, lines, 400);
    }
    import(&server, "format=influx&db=none&dry_run=true", lines, 404);
    for how in [
        "format=influx",
        "format=prometheus&dry_run=true",
        "format=opentsdb&total_bytes=0&done_bytes=0",
    ] {
        let refused = import(&server, how, "\n", 400);
        assert_eq!(refused["error"]["message"], "the file is empty: there are no lines in it");
    }
    // Of a file in pieces one may be empty.
    import(&server, "format=influx&total_bytes=9&done_bytes=5", "\n", 200);
    for odd in ["banana", "0", "2", "no"] {
        let refused = import(&server, &format!("format=influx&dry_run={odd}"), lines, 400);
        let said = refused["error"]["message"].as_str().unwrap();
        assert!(said.starts_with("dry_run in the URL: must be true or false"), "{odd}: {said}");
    }
    server.stop();
}

#[test]
fn samples_that_are_read_and_brought_in_again_are_what_they_were() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.post("/query?q=CREATE+DATABASE+again", "").status, 200);
    let lines = concat!(
        r#"so\sil,bed=a\nb\b,time=\c ph=-Infinity,n=18446744073709551615u,ok=true,note="x\q\n" 1795870000000000001"#,
        "\nmixed value=7i 1\nmixed value=0.5 2\nmixed value=NaN 3",
    );
    for params in ["format=exact&dry_run=true&db=again", "format=exact&db=again"] {
        let brought = import(&server, params, lines, 200);
        assert_eq!((&brought["rows"], &brought["refused"]), (&json!(4), &json!(0)), "{brought}");
    }
    // Names of fields are looked at before anything is stored, too.
    let bad = "wrong F\\x=1 1\nwrong v=1,F\\xa=1 2\nwrong v=1 3";
    for params in ["format=exact&dry_run=true&db=again", "format=exact&db=again"] {
        let brought = import(&server, params, bad, 200);
        let counted = (&brought["rows"], &brought["refused"], &brought["samples"]);
        assert_eq!(counted, (&json!(1), &json!(2), &json!(1)), "{params}: {brought}");
    }
    let asked = |text: &str, start_ms: i64, end_ms: i64| {
        let body = json!({
            "language": "promql", "text": text, "start_ms": start_ms, "end_ms": end_ms,
            "unit": "ns", "makers": true, "exact": true,
        });
        post(&server, "query?db=again", &body, 200)["series"].clone()
    };
    let mixed = &asked("mixed[$range]", -5, 10)[0];
    assert_eq!(mixed["values"], json!([7, 0.5, "NaN"]));
    assert_eq!(mixed["kinds"], json!(["integer", "float", "float"]));
    assert_eq!(mixed["stored"], json!({"measurement": "mixed", "field": "value"}));
    let found = asked(r#"{bed=~".+"}[$range]"#, 1_795_869_999_000, 1_795_870_000_001);
    let mut fields: Vec<_> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            assert_eq!(one["labels"], json!({"bed": "a\nb\\", "time": ","}));
            assert_eq!(
                (&one["stored"]["measurement"], &one["times"]),
                (&json!("so il"), &json!(["1795870000000000001"]))
            );
            (
                one["stored"]["field"].as_str().unwrap().to_owned(),
                one["kind"].clone(),
                one["values"][0].clone(),
            )
        })
        .collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    let of = |field: &str, kind: &str, value: Value| (field.to_owned(), json!(kind), value);
    assert_eq!(
        fields,
        [
            of("n", "unsigned", json!("18446744073709551615")),
            of("note", "string", json!("x\"\n")),
            of("ok", "boolean", json!(true)),
            of("ph", "float", json!("-Infinity")),
        ]
    );
}

#[test]
fn a_metric_is_told_in_figures() {
    let dir = Scratch::new();
    let rules = ["--set", "retention.rules=cpu{host=a}=20000d"];
    let server = Server::start(dir.path(), &rules);
    write(
        &server,
        "cpu,host=a u=1i 1700000600\ncpu,host=a u=2i 1700000700\ncpu,host=b u=3i 1700000500",
    );
    let told = get(&server, "metric?metric=cpu.u");
    assert_eq!((&told["series"], &told["samples"]), (&json!(2), &json!(3)), "{told}");
    assert_eq!(
        (&told["first_ms"], &told["last_ms"]),
        (&json!(1_700_000_500_000_i64), &json!(1_700_000_700_000_i64))
    );
    assert_eq!((&told["kinds"], &told["plain_bytes"]), (&json!(["integer"]), &json!(48)));
    assert_eq!(column(&told["kept"], "keeps"), ["forever", "20000d"]);
    assert_eq!(told["kept"][1]["rule"], "cpu{host=a}=20000d");
    assert_eq!(get(&server, "metric?measurement=none")["samples"], 0);
    let path = format!("{ROOT}/metric");
    described("GET", &path, &server.get(&path), 400);
    server.stop();
}

#[test]
fn late_samples_of_a_metric_are_counted_since_the_start() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let arrived = |metric: &str| {
        let told = get(&server, &format!("metric?metric={metric}"));
        let count = |name: &str| told["arrived"][name].as_u64().unwrap();
        (count("samples"), count("late"))
    };
    let send = |metric: &str, host: &str, seconds: &[u64]| {
        let line = |second: &u64| format!("{metric},host={host} v=1 {}", 1_700_000_000 + second);
        write(&server, &seconds.iter().map(line).collect::<Vec<_>>().join("\n"));
    };
    send("tide", "a", &[10, 20, 30, 30, 40]);
    send("tide", "b", &[900]);
    assert_eq!(arrived("tide.v"), (6, 0), "each series has a newest sample of its own");
    send("tide", "a", &[15, 39, 41]);
    send("calm", "a", &[50]);
    assert_eq!((arrived("tide.v"), arrived("calm.v")), ((9, 2), (1, 0)));
    server.signal(Signal::USR1);
    server.wait_for_metric("foliot_flushes_total", 1.0);
    assert_eq!(arrived("tide.v"), (9, 2), "what was flushed had come");
    send("tide", "a", &[42, 5]);
    assert_eq!(arrived("tide.v"), (11, 3));
    server.stop();
    let server = Server::start(dir.path(), &[]);
    let told = get(&server, "metric?metric=tide.v");
    assert_eq!(told["samples"], 10);
    assert!(told["arrived"]["samples"].as_u64() < Some(10), "of before the start: {told}");
    server.stop();
}

#[test]
fn samples_of_rows_that_are_refused_are_not_counted() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let told = |text: &str| {
        let answer = import(&server, "format=influx&precision=s", text, 200);
        ["rows", "refused", "samples"].map(|name| answer[name].as_u64().unwrap())
    };
    assert_eq!(told("xx,h=a load=1,other=2i 1\nxx,h=a load=2 2"), [2, 0, 3]);
    // By their kinds, and by their text.
    assert_eq!(told("xx,h=a load=true,other=1i 3\nxx,h=a load=3 4\nxx load=x 5"), [1, 2, 1]);
    assert_eq!(told("xx,h=a load=true 6"), [0, 1, 0]);
    server.stop();
}

#[test]
fn an_import_in_pieces_is_a_job_that_can_be_ended() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let piece = |job: &str, done: u64, text: &str, status| {
        let params = format!("format=influx&file=a%3Cb.lp&total_bytes=90&done_bytes={done}{job}");
        import(&server, &params, text, status)
    };
    let jobs = || get(&server, "jobs")["jobs"].clone();
    assert_eq!(jobs(), json!([]));
    assert_eq!(import(&server, "format=influx", "bulk v=0 1", 200).get("job"), None);
    assert_eq!(jobs(), json!([]), "what comes whole is no job");
    let first = piece("", 30, "bulk v=1 2\nbulk v=x 3", 200)["job"].as_u64().unwrap();
    let job = jobs()[0].clone();
    assert_eq!(
        (&job["id"], &job["kind"], &job["text"]),
        (&json!(first), &json!("import"), &json!("a<b.lp"))
    );
    assert_eq!((&job["state"], &job["may_cancel"]), (&json!("running"), &json!(true)), "{job}");
    assert_eq!(job["progress"], json!({"done": 30, "total": 90, "unit": "bytes"}));
    assert_eq!(
        (&job["outcome"], &job["database"]),
        (&json!("1 rows, 1 refused"), &json!("default"))
    );
    let of_first = format!("&job={first}");
    assert_eq!(piece(&of_first, 60, "bulk v=2 4", 200)["job"], first);
    assert_eq!(piece(&of_first, 90, "bulk v=3 5", 200)["job"], first);
    let job = jobs()[0].clone();
    assert_eq!((&job["state"], &job["may_cancel"]), (&json!("done"), &json!(false)), "{job}");
    assert_eq!((&job["outcome"], job["ended_ms"].is_u64()), (&json!("3 rows, 1 refused"), true));
    post(&server, "jobs/cancel", &json!({"id": first}), 404);

    let second = piece("", 30, "bulk v=4 6", 200)["job"].clone();
    assert_eq!(jobs()[0]["id"], second, "what runs stands first");
    assert_eq!(post(&server, "jobs/cancel", &json!({"id": second}), 200)["cancelled"], second);
    let refused = piece(&format!("&job={second}"), 60, "bulk v=5 7", 409);
    assert!(refused["error"]["message"].as_str().unwrap().contains("was cancelled"), "{refused}");
    let cancelled = &jobs()[0];
    assert_eq!((&cancelled["id"], &cancelled["state"]), (&second, &json!("cancelled")));
    let path = format!("{ROOT}/query");
    let body = json!({"language": "influxql", "text": "SELECT v FROM bulk"});
    let kept = described("POST", &path, &server.post(&path, &body.to_string()), 200);
    assert_eq!(kept["series"][0]["values"], json!([0.0, 1.0, 2.0, 3.0, 4.0]));

    // A number that nobody knows, as after a restart, begins another job.
    assert_ne!(piece("&job=999", 60, "bulk v=6 8", 200)["job"], 999);
    for bad in [
        "done_bytes=9",
        "done_bytes=9&total_bytes=8",
        "job=1",
        "job=x",
        "done_bytes=-1&total_bytes=8",
    ] {
        import(&server, &format!("format=influx&{bad}"), "bulk v=7 9", 400);
    }
    server.signal(Signal::USR2);
    let began = Instant::now();
    let is_merged = || {
        jobs()
            .as_array()
            .unwrap()
            .iter()
            .any(|job| job["kind"] == "merge" && job["state"] == "done")
    };
    while !is_merged() {
        assert!(began.elapsed() < PATIENCE, "the merge is not told: {}", jobs());
        std::thread::sleep(Duration::from_millis(10));
    }
    server.stop();
}

#[test]
fn a_change_that_runs_is_a_job() {
    let dir = Scratch::new();
    let flags = ["--limits-query-seconds", "600", "--set", "opentsdb.allow_delete=true"];
    let server = Server::start(dir.path(), &flags);
    let lines: Vec<String> = (0..400).map(|host| format!("m,h=h{host} v=1 3600")).collect();
    write(&server, &lines.join("\n"));
    // Much is made up of little; who asks for it does not read the answer, so that it goes on.
    let body = json!({"start": 0, "end": 10_800, "delete": true, "queries": [{"aggregator": "sum",
        "metric": "m.v", "downsample": "1s-avg-zero", "tags": {"h": "*"}}]});
    let mut reader = server.connect();
    let request = harness::request("POST", "/api/query", &[], body.to_string().as_bytes());
    reader.write_all(&request).unwrap();
    let began = Instant::now();
    let jobs = || get(&server, "jobs")["jobs"].clone();
    while jobs() == json!([]) {
        assert!(began.elapsed() < PATIENCE, "the delete is not listed");
        std::thread::sleep(Duration::from_millis(10));
    }
    let job = jobs()[0].clone();
    assert_eq!((&job["kind"], &job["may_cancel"]), (&json!("change"), &json!(true)), "{job}");
    assert_eq!(job["progress"]["unit"], "samples");
    assert_eq!(get(&server, "queries")["queries"][0]["id"], job["id"], "by the same number");
    post(&server, "jobs/cancel", &json!({"id": job["id"]}), 200);
    drop(reader);
    while jobs() != json!([]) {
        assert!(began.elapsed() < PATIENCE, "the delete goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
    server.stop();
}

#[test]
fn a_rule_is_tried_before_it_is_set() {
    let dir = Scratch::new();
    let rules = ["--set", "retention.rules=audit=forever; cpu*{env=dev}=20000d"];
    let server = Server::start(dir.path(), &rules);
    write(
        &server,
        "cpu,env=dev,host=a u=1,v=1 1700000600\ncpu,env=dev,host=b u=1 1700000600\ncpu,env=live u=1 1700000600",
    );
    let listed = get(&server, "retention");
    assert_eq!(listed["rules"], json!(["audit=forever", "cpu*{env=dev}=20000d"]));
    assert_eq!(
        (&listed["keeps"], &listed["databases"][0]["name"]),
        (&json!("forever"), &json!("default"))
    );
    let tried = |body: Value| post(&server, "retention/test", &body, 200);
    let dev = tried(json!({"measurement": "cpu", "labels": {"env": "dev"}}));
    assert_eq!((&dev["number"], &dev["keeps"]), (&json!(2), &json!("20000d")), "{dev}");
    assert_eq!(
        (&dev["series"], &dev["samples"], &dev["expired_samples"]),
        (&json!(3), &json!(3), &json!(0))
    );
    let shorter = json!({"measurement": "cpu", "labels": {"env": "dev"}, "rules": "cpu=1d"});
    let shorter = tried(shorter);
    assert_eq!(
        (&shorter["rule"], &shorter["expired_samples"]),
        (&json!("cpu=1d"), &json!(3)),
        "{shorter}"
    );
    let live = tried(json!({"measurement": "cpu", "labels": {"env": "live"}}));
    assert_eq!(
        (&live["rule"], &live["keeps"], &live["samples"]),
        (&Value::Null, &json!("forever"), &json!(1))
    );
    assert_eq!(live["expires_before_ms"], Value::Null);
    for bad in [
        json!({}),
        json!({"measurement": "cpu", "labels": []}),
        json!({"measurement": "cpu", "labels": {"env": 1}}),
        json!({"measurement": "cpu", "rules": "cpu=soon"}),
        json!({"measurement": "cpu", "rule": "cpu=1d"}),
    ] {
        post(&server, "retention/test", &bad, 400);
    }
    // Of a measurement alone, each series is judged by its own labels.
    let whole = tried(
        json!({"measurement": "cpu", "rules": "audit=1d; cpu{env=live}=1d; cpu{host=a}=30000d"}),
    );
    assert_eq!(
        (&whole["rule"], &whole["samples"], &whole["expired_samples"]),
        (&Value::Null, &json!(4), &json!(1))
    );
    let group = |rule: Value,
                 number: Value,
                 keeps: &str,
                 series: u64,
                 samples: u64,
                 expired: u64| {
        json!({"rule": rule, "number": number, "keeps": keeps, "series": series, "samples": samples, "expired_samples": expired})
    };
    let groups = json!([
        group(Value::Null, Value::Null, "forever", 1, 1, 0),
        group(json!("cpu{env=live}=1d"), json!(2), "1d", 1, 1, 1),
        group(json!("cpu{host=a}=30000d"), json!(3), "30000d", 2, 2, 0),
    ]);
    assert_eq!(whole["by_rule"], groups, "{whole}");
    // It was only tried.
    assert_eq!(get(&server, "metric?metric=cpu.u")["samples"], 3);
    server.stop();
}

#[test]
fn settings_are_told_with_their_origins_and_the_log_with_its_newest_line_first() {
    let dir = Scratch::new();
    let secret = "mqtt.password=hushhush";
    let server = Server::start(dir.path(), &["--limits-queries", "3", "--set", secret]);
    let settings = get(&server, "settings")["settings"].clone();
    let one = |name: &str| {
        settings.as_array().unwrap().iter().find(|row| row["name"] == name).unwrap().clone()
    };
    let queries = one("limits.queries");
    assert_eq!((&queries["value"], &queries["is_default"]), (&json!("3"), &json!(false)));
    assert_eq!(queries["origin"], "--limits-queries");
    assert!(!queries["help"].as_str().unwrap().is_empty());
    assert_eq!(one("merge.parts")["is_default"], true);
    assert!(!settings.to_string().contains("hushhush"), "{settings}");
    assert_eq!(server.post("/logs?level=warn", "").status, 200);
    assert_eq!(server.post("/write?db=default", "cpu u=broken").status, 400);
    let lines = get(&server, "logs?limit=1")["lines"].clone();
    assert_eq!(column(&lines, "level"), ["warn"]);
    assert!(lines[0]["message"].as_str().unwrap().contains("refused"), "{lines}");
    let path = format!("{ROOT}/logs?limit=0");
    described("GET", &path, &server.get(&path), 400);
    let moments = get(&server, "history")["moments"].clone();
    assert_eq!(moments.as_array().unwrap().len(), 1, "{moments}");
    server.stop();
}
