//! What the page shows of scraping, rules, senders and help texts, through Foliot's own API. Every
//! answer is held against `docs/openapi.json`.

use crate::harness::api::{ROOT, described, get, post};
use crate::harness::target::{Answer, Target};
use crate::harness::{PATIENCE, Scratch, Server};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn write(dir: &Scratch, name: &str, text: &str) -> String {
    let path = dir.path().join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// The answer that fits, once it comes.
fn until(server: &Server, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
    let began = Instant::now();
    loop {
        let answer = get(server, what);
        if fits(&answer) {
            return answer;
        }
        assert!(began.elapsed() < PATIENCE, "{what}: {answer}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn targets_are_told_with_what_became_of_them() {
    let (dir, target) = (Scratch::new(), Target::start());
    target.set(
        "/metrics",
        Answer::text(
            "# HELP jobs_total What was done.\n# TYPE jobs_total counter\njobs_total 4\n\
             # HELP wait_seconds How long.\n# TYPE wait_seconds summary\nwait_seconds_sum 1\n\
             gone 1\n",
        ),
    );
    let config = format!(
        "scrape_configs:\n- job_name: shop\n  scrape_interval: 100ms\n  static_configs: [{{targets: \
         ['{0}'], labels: {{zone: '<b>'}}}}]\n  metric_relabel_configs: [{{source_labels: \
         [__name__], regex: gone, action: drop}}]\n- job_name: broken\n  scrape_interval: 100ms\n  \
         metrics_path: /nothing\n  static_configs: [{{targets: ['{0}', 'left:9']}}]\n  \
         relabel_configs: [{{source_labels: [__address__], regex: 'left.*', action: drop}}]\n",
        target.address
    );
    let file = write(&dir, "p.yml", &config);
    let server = Server::start(&dir.path().join("data"), &["--prometheus-config", &file]);
    let all = until(&server, "targets", |all| {
        let jobs = &all["jobs"];
        jobs[0]["targets"]["down"] == 1 && jobs[1]["targets"]["up"] == 1
    });
    assert_eq!(all["config"]["is_good"], true);
    assert_eq!(all["jobs"][0]["targets"]["dropped"], 1);
    let list = all["targets"].as_array().unwrap();
    let one = |job: &str, state: &str| {
        list.iter().find(|it| it["job"] == job && it["state"] == state).unwrap()
    };
    let up = one("shop", "up");
    assert_eq!((&up["samples_scraped"], &up["samples_kept"]), (&json!(3), &json!(2)));
    assert_eq!(up["labels"]["zone"], "<b>");
    assert_eq!(up["discovered"]["__metrics_path__"], "/metrics");
    assert_eq!((&up["interval_ms"], &up["error"]), (&json!(100), &json!("")));
    assert!(one("broken", "down")["error"].as_str().unwrap().contains("404"));
    assert_eq!(one("broken", "dropped")["discovered"]["__address__"], "left:9");
    let count = |what: &str| get(&server, what)["targets"].as_array().unwrap().len();
    assert_eq!(count("targets?state=down"), 1);
    assert_eq!(count("targets?search=ZONE%3D%3Cb"), 1);
    assert_eq!(count("targets?search=status%20404"), 1);
    assert_eq!((count("targets?job=shop"), count("targets?job=none")), (1, 0));
    let some = get(&server, "targets?limit=1");
    assert_eq!((&some["is_whole"], some["targets"].as_array().unwrap().len()), (&json!(false), 1));
    let path = format!("{ROOT}/targets?state=odd");
    described("GET", &path, &server.get(&path), 400);
    // What targets say of their metrics is told beside the names.
    let names = until(&server, "catalogue?of=metrics&help=true", |it| {
        it["names"].to_string().contains("jobs_total")
    });
    let about = json!({"kind": "counter", "help": "What was done.", "unit": ""});
    assert_eq!(names["help"]["jobs_total"], about);
    assert_eq!(names["help"]["wait_seconds_sum"]["help"], "How long.");
    assert!(names["help"].get("up").is_none());
    assert!(get(&server, "catalogue?of=metrics").get("help").is_none());
    assert_eq!(get(&server, "metric?metric=jobs_total")["help"], about);
    assert_eq!(get(&server, "metric?metric=up")["help"], Value::Null);
    server.stop();
}

#[test]
fn relabelling_is_tried_rule_by_rule() {
    let dir = Scratch::new();
    let config = "scrape_configs:\n- job_name: shop\n  relabel_configs:\n  - {source_labels: \
         [__address__], regex: '(.*):.*', target_label: host}\n  metric_relabel_configs:\n  - \
         {regex: 'le', action: labeldrop}\n";
    let file = write(&dir, "p.yml", config);
    let server = Server::start(&dir.path().join("data"), &["--prometheus-config", &file]);
    let tried = |body: Value| post(&server, "relabel", &body, 200);
    let rules = "# as in a file\nrelabel_configs:\n- source_labels: [__address__]\n  regex: '(.*):.*'\n  \
                 target_label: host\n- source_labels: [env]\n  regex: live\n  action: keep\n- \
                 {target_label: zone, replacement: \"say \\\"a\\\\b\\\"\"}\n";
    let address = json!({"__address__": "web1:9100", "env": "live", "none": ""});
    let live = tried(json!({"labels": address, "rules": rules}));
    let kept =
        json!({"env": "live", "host": "web1", "instance": "web1:9100", "zone": "say \"a\\b\""});
    assert_eq!((&live["is_kept"], &live["labels"]), (&json!(true), &kept));
    assert_eq!(live["steps"].as_array().unwrap().len(), 3);
    assert_eq!(live["steps"][0]["labels"]["__address__"], "web1:9100");
    assert!(live["steps"][0]["labels"].get("zone").is_none());
    // Rules as they are told are rules that do the same.
    let told: Vec<&str> =
        live["rules"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
    assert_eq!(
        told[0],
        "{action: replace, source_labels: [\"__address__\"], regex: \"(.*):.*\", target_label: \"host\"}"
    );
    let again = format!("[{}]", told.join(", "));
    assert_eq!(tried(json!({"labels": address, "rules": again})), live);
    // As Prometheus reads them, texts may have tags and blanks may be tabs.
    let tagged = rules.replace("live\n", "!!str live\t# so\n").replace("keep\n", "!mine keep\n");
    assert_ne!(tagged, rules);
    assert_eq!(tried(json!({"labels": address, "rules": tagged})), live);
    let dev = tried(json!({"labels": {"__address__": "web1:9100", "env": "dev"}, "rules": rules}));
    assert_eq!((&dev["is_kept"], &dev["labels"]), (&json!(false), &Value::Null));
    assert_eq!(
        dev["steps"][1],
        json!({"number": 2, "is_kept": false, "labels": {"__address__": "web1:9100", "env": "dev", "host": "web1"}})
    );
    assert_eq!(dev["steps"].as_array().unwrap().len(), 2, "nothing follows a rule that drops");
    // A job's own rules, of both kinds. What is hidden goes from targets only.
    let of_job = |of: &str| {
        tried(json!({"job": "shop", "of": of, "labels": {"__address__": "a:1", "le": "5"}}))["labels"].clone()
    };
    assert_eq!(of_job("targets"), json!({"host": "a", "instance": "a:1", "le": "5"}));
    assert_eq!(of_job("samples"), json!({"__address__": "a:1"}));
    let doubling = "- {source_labels: [a], target_label: a, replacement: '$1$1'}\n".repeat(90);
    // A few lines that stand for 1 330 values, ten times.
    let aliases = ["x", "*a", "*b"].map(|item| [item; 10].join(", "));
    let aliases = format!(
        "a: &a [{}]\nb: &b [{}]\nc: &c [{}]\nd: [*c, *c, *c, *c, *c, *c, *c, *c]\n",
        aliases[0], aliases[1], aliases[2]
    );
    for (body, said) in [
        (json!({"rules": "- {action: keep}"}), "labels: must be an object"),
        (json!({"labels": {"a": 1}, "rules": "[]"}), "labels: each must have a text"),
        (json!({"labels": {}}), "rules: which rules"),
        (json!({"labels": {}, "rules": "[]", "job": "shop"}), "one of them"),
        (json!({"labels": {}, "job": "none"}), "none is named"),
        (json!({"labels": {}, "rules": "[]", "of": "series"}), "targets or samples"),
        (json!({"labels": {}, "rules": "- regex: x\n- regex: '('"}), "rules:2: [1].regex: "),
        (json!({"labels": {}, "rules": "scrape_configs: []"}), "rules:1: scrape_configs"),
        (json!({"labels": {}, "rules": "- regex: x\n-\tregex: y"}), "rules:2: a tab stands"),
        (
            json!({"labels": {}, "rules": "- {modulus: !!str 8, action: hashmod, target_label: a}"}),
            "the text \"8\" is not a whole number",
        ),
        (json!({"labels": {}, "rules": "- regex: !!int x"}), "as a !!int"),
        (
            json!({"labels": {}, "rules": "- {action: labeldrop}\n".repeat(101)}),
            "more than 100 rules",
        ),
        (json!({"labels": {}, "rules": "#".repeat(17_000)}), "longer than 16384 bytes"),
        (json!({"labels": {}, "rules": aliases}), "more than 10000 values"),
        (json!({"labels": {"a": "b".repeat(9_000)}, "rules": "[]"}), "longer than 8192 bytes"),
        (json!({"labels": {"a": "b"}, "rules": doubling}), "rule 13 makes labels longer"),
    ] {
        let refused = post(&server, "relabel", &body, 400);
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(said), "{message}");
    }
    server.stop();
}

#[test]
fn rules_and_alerts_are_told_by_group() {
    let dir = Scratch::new();
    write(
        &dir,
        "r.yml",
        "groups:\n- name: g\n  interval: 100ms\n  rules:\n  - {record: one, expr: vector(1), labels: {a: b}}\n  \
         - {alert: High, expr: vector(5) > 3, labels: {severity: page}, annotations: {summary: 'is {{ $value }}'}}\n  \
         - {alert: Later, expr: vector(1), for: 1h}\n  - {record: many, expr: 'two + on () two'}\n",
    );
    let file = write(&dir, "p.yml", "rule_files: ['r.yml']\n");
    let flags = ["--prometheus-config", &file, "--set", "opentsdb.allow_delete=true"];
    let server = Server::start(&dir.path().join("data"), &flags);
    assert_eq!(server.post("/logs?level=info", "").status, 200);
    assert_eq!(
        server.post("/api/v1/import/prometheus", "two{a=\"1\"} 1\ntwo{a=\"2\"} 2\n").status,
        204
    );
    let told = until(&server, "rules", |told| told["groups"][0]["rules"][3]["health"] == "bad");
    let group = &told["groups"][0];
    assert_eq!((&group["name"], &group["interval_ms"]), (&json!("g"), &json!(100)));
    let rules = &group["rules"];
    assert_eq!((&rules[0]["text"], &rules[0]["health"]), (&json!("vector(1)"), &json!("good")));
    assert_eq!((&rules[0]["alerting"], &rules[0]["labels"]), (&Value::Null, &json!({"a": "b"})));
    assert_eq!(
        (&rules[1]["alerting"]["firing"], &rules[2]["alerting"]["pending"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(rules[2]["alerting"]["for_ms"], 3_600_000);
    assert!(rules[3]["error"].as_str().unwrap().contains("many"), "{}", rules[3]["error"]);
    // It fails ten times a second, and is told once; so is its end.
    let failed = server.metric("foliot_rules_failed_total");
    while server.metric("foliot_rules_failed_total") < failed + 3.0 {
        std::thread::sleep(Duration::from_millis(50));
    }
    let told = |words: &str| {
        let lines = get(&server, "logs?limit=1000")["lines"].clone();
        lines
            .as_array()
            .unwrap()
            .iter()
            .filter(|line| line["message"].as_str().unwrap().contains(words))
            .count()
    };
    assert_eq!((told("rule many of"), told("is well again")), (1, 0));
    let gone =
        server.request("POST", "/prometheus/api/v1/admin/tsdb/delete_series?match[]=two", &[], b"");
    assert_eq!(gone.status, 204, "{}", gone.text());
    until(&server, "rules", |told| told["groups"][0]["rules"][3]["health"] == "good");
    assert_eq!((told("rule many of"), told("is well again")), (2, 1));
    let alerts = get(&server, "alerts");
    assert_eq!(alerts["alerts"][0]["rule"], "High");
    assert_eq!(alerts["alerts"][0]["annotations"], json!({"summary": "is 5"}));
    assert_eq!(
        (&alerts["alerts"][0]["value"], &alerts["alerts"][1]["stage"]),
        (&json!(5.0), &json!("pending"))
    );
    assert_eq!(alerts["alertmanagers"], json!([]));
    assert_eq!(get(&server, "alerts?limit=1")["is_whole"], false);
    server.stop();
    // Without a configuration there is nothing, and that is said.
    let server = Server::start(&dir.path().join("other"), &[]);
    assert_eq!(
        get(&server, "rules"),
        json!({"config": {"file": null, "read_ms": null, "is_good": true}, "groups": []})
    );
    assert_eq!(get(&server, "targets")["jobs"], json!([]));
    server.stop();
}

#[test]
fn who_is_not_told_of_alerts_is_told_with_the_reason() {
    let dir = Scratch::new();
    let (rules, config) = (dir.path().join("rules.yml"), dir.path().join("prometheus.yml"));
    let rule = "groups: [{name: g, interval: 100ms, rules: [{alert: A, expr: vector(1)}]}]\n";
    std::fs::write(&rules, rule).unwrap();
    let text = format!(
        "rule_files: ['{}']\n\
         alerting: {{alertmanagers: [{{static_configs: [{{targets: ['127.0.0.1:1']}}]}}]}}\n",
        rules.display()
    );
    std::fs::write(&config, text).unwrap();
    let flags = ["--prometheus-config", config.to_str().unwrap()];
    let server = Server::start(&dir.path().join("data"), &flags);
    let url = "http://127.0.0.1:1/api/v2/alerts";
    let told = until(&server, "alerts", |told| told["alertmanagers_failed"][url].is_string());
    assert_eq!(told["alertmanagers"], json!([url]));
    server.stop();
}

#[test]
fn senders_are_told_by_protocol_and_address() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    assert_eq!(get(&server, "senders")["senders"], json!([]));
    server.talk(b"put a.b 1700000000 1 h=x\nput a.b 1700000001 1 h=x\nput a.b nothing 1 h=x\n");
    assert_eq!(
        server.post("/write?db=default", "m,h=1 v=1,w=2 1\nm,h=2 v=1 1\nm,h=3 v=1 1\n").status,
        204
    );
    let told = until(&server, "senders", |it| it["total"] == 2 && it["senders"][1]["rows"] == 2);
    let first = &told["senders"][0];
    assert_eq!(
        (&first["protocol"], &first["address"]),
        (&json!("influx_http"), &json!("127.0.0.1"))
    );
    assert_eq!(
        (&first["rows"], &first["samples"], &first["new_series"]),
        (&json!(3), &json!(4), &json!(4))
    );
    let second = &told["senders"][1];
    assert_eq!(
        (&second["protocol"], &second["refused"], &second["new_series"]),
        (&json!("telnet"), &json!(1), &json!(1))
    );
    assert_eq!(get(&server, "senders?by=refused&limit=1")["senders"][0]["protocol"], "telnet");
    // What is there already makes no series.
    assert_eq!(server.post("/write?db=default", "m,h=1 v=2 2\n").status, 204);
    assert_eq!(get(&server, "senders?by=series")["senders"][0]["new_series"], 4);
    let path = format!("{ROOT}/senders?by=name");
    described("GET", &path, &server.get(&path), 400);
    server.stop();
}

#[test]
fn each_step_of_a_question_is_told_with_what_it_took() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let lines: String = (0..4).map(|at| format!("jobs_total{{q=\"{at}\"}} {at} 1700000000000\njobs_total{{q=\"{at}\"}} 9 1700000030000\n")).collect();
    assert_eq!(server.post("/api/v1/import/prometheus", &lines).status, 204);
    let ask = |explain: bool| {
        let body = json!({"language": "promql", "text": "sum((rate(jobs_total[1m]))) > bool (1)", "explain": explain,
            "start_ms": 1_700_000_000_000_i64, "end_ms": 1_700_000_060_000_i64, "step_ms": 15_000});
        post(&server, "query", &body, 200)
    };
    let answer = ask(true);
    let tree = &answer["tree"];
    let sum = &tree["lhs"];
    let rate = &sum["expr"]["expr"];
    assert_eq!(
        (&tree["type"], &sum["op"], &rate["type"]),
        (&json!("binaryExpr"), &json!("sum"), &json!("call"))
    );
    let series = |node: &Value| node["took"]["series"].clone();
    assert_eq!((series(tree), series(sum), series(rate)), (json!(1), json!(1), json!(4)));
    assert_eq!(rate["took"]["samples"], 8, "{rate}");
    assert_eq!(
        (&tree["took"]["samples"], &answer["figures"]["samples_read"]),
        (&json!(8), &json!(8))
    );
    assert_eq!(tree["rhs"]["expr"]["took"]["samples"], 0);
    // What is read stands apart from what is made of it.
    let read = &rate["args"][0];
    assert_eq!((&read["type"], series(read)), (&json!("matrixSelector"), json!(4)));
    assert_eq!(read["took"]["samples"], 8, "{read}");
    let ms = |node: &Value| node["took"]["ms"].as_f64().unwrap();
    assert!(ms(tree) >= ms(sum) && ms(sum) >= ms(rate), "{tree}");
    assert!(ms(rate) >= ms(read), "{tree}");
    let plain = ask(false);
    assert!(plain.get("tree").is_none());
    assert_eq!(plain["series"], answer["series"]);
    server.stop();
}
