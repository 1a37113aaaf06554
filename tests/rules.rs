//! Recording and alerting rules through the real binary.

use crate::harness::target::{Answer, Target};
use crate::harness::{PATIENCE, Scratch, Server};
use rustix::process::Signal;
use serde_json::Value;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const NONE: &str = "scrape_configs: []\n";

struct Fixture {
    dir: Scratch,
    manager: Target,
}

impl Fixture {
    fn new() -> Self {
        let manager = Target::start();
        manager.set("/am/api/v2/alerts", Answer::of("application/json", b"{}"));
        Self { dir: Scratch::new(), manager }
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// Files of a configuration whose only group has these rules.
    fn rules(&self, rules: &str) -> String {
        self.write("r.yml", &format!("groups:\n- name: g\n  interval: 100ms\n{rules}"));
        let managers = format!(
            "alerting:\n  alert_relabel_configs: [{{regex: gone, action: labeldrop}}]\n  \
             alertmanagers: [{{path_prefix: /am, static_configs: [{{targets: ['{}']}}]}}]\n",
            self.manager.address
        );
        let global = "global: {external_labels: {region: eu}}\n";
        self.write("p.yml", &format!("{global}{managers}rule_files: ['r*.yml']\n{NONE}"))
    }

    fn start(&self, rules: &str, more: &[&str]) -> Server {
        let file = self.rules(rules);
        let mut flags = vec!["--prometheus-config", &file];
        flags.extend(more);
        Server::start(&self.dir.path().join("data"), &flags)
    }
}

fn ask(server: &Server, path: &str) -> Value {
    let answer = server.get(&format!("/prometheus/api/v1/{path}"));
    let json: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(json["status"], "success", "{path}: {json}");
    json["data"].clone()
}

fn query(server: &Server, text: &str) -> Vec<(Value, String)> {
    let text: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let data = ask(server, &format!("query?query={text}"));
    let row = |row: &Value| (row["metric"].clone(), row["value"][1].as_str().unwrap().to_owned());
    data["result"].as_array().unwrap().iter().map(row).collect()
}

fn put(server: &Server, text: &str) {
    assert_eq!(server.post("/api/v1/import/prometheus", text).status, 204);
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn answers_of_recording_rules_become_series_that_end() {
    let fixture = Fixture::new();
    let server = fixture.start(
        "  labels: {team: t, kind: x}\n  rules:\n  - record: job:m:sum\n    expr: sum by (job) (m) > \
         0\n    labels: {kind: y}\n  - {record: twice, expr: 'job:m:sum * 2'}\n  - {record: same, \
         expr: 'm', labels: {job: j, i: k}}\n",
        &[],
    );
    put(&server, "m{job=\"a\",i=\"1\"} 1\nm{job=\"a\",i=\"2\"} 2\n");
    until("it is there", || query(&server, "job:m:sum").len() == 1);
    let (labels, value) = &query(&server, "job:m:sum")[0];
    let wanted = r#"{"__name__":"job:m:sum","job":"a","kind":"y","team":"t"}"#;
    assert_eq!((labels.to_string().as_str(), value.as_str()), (wanted, "3"));
    until("a rule sees the ones before it", || {
        query(&server, "twice").iter().any(|(_, value)| value == "6")
    });
    let rules = ask(&server, "rules?type=record&rule_name[]=same")["groups"][0]["rules"].clone();
    assert_eq!(rules.as_array().unwrap().len(), 1);
    until("what is the same twice fails", || {
        let rules = ask(&server, "rules?rule_name[]=same");
        let rule = rules["groups"][0]["rules"][0].clone();
        rule["health"] == "err" && rule["lastError"].to_string().contains("same labelset")
    });
    put(&server, "m{job=\"a\",i=\"1\"} -1\nm{job=\"a\",i=\"2\"} -1\n");
    until("it is over", || query(&server, "job:m:sum").is_empty());
    let text = server.get("/api/v1/export?match[]=job:m:sum").text();
    assert!(text.contains("null"), "its end is marked: {text}");
    assert!(server.metric("foliot_rules_failed_total") >= 1.0);
    server.stop();
}

#[test]
fn an_alert_is_told_and_resolved() {
    let fixture = Fixture::new();
    let server = fixture.start(
        "  rules:\n  - alert: Hot\n    expr: temp > 30\n    for: 200ms\n    labels: {grade: '{{ if \
         gt $value 50.0 }}high{{ else }}low{{ end }}', gone: x}\n    annotations: {summary: '{{ \
         $labels.room }} has {{ $value | humanize }} of {{ with query \"count(temp)\" }}{{ . | \
         first | value }}{{ end }} in {{ $externalLabels.region }}'}\n",
        &["--prometheus-external-url", "http://here/", "--prometheus-resend-delay", "1s"],
    );
    put(&server, "temp{room=\"a\"} 51.5\ntemp{room=\"b\"} 20\n");
    let told = fixture.manager.wait_for("an alert", |asked| asked.body.contains("Hot"));
    assert_eq!(told.path, "/am/api/v2/alerts");
    let told: Value = serde_json::from_str(&told.body).unwrap();
    let labels = r#"{"alertname":"Hot","grade":"high","region":"eu","room":"a"}"#;
    assert_eq!(told[0]["labels"].to_string(), labels);
    assert_eq!(told[0]["annotations"]["summary"], "a has 51.5 of 2 in eu");
    let generator = "http://here/prometheus/graph?g0.expr=temp+%3E+30&g0.tab=1";
    assert_eq!(told[0]["generatorURL"], generator);
    let alert = ask(&server, "alerts")["alerts"][0].clone();
    assert_eq!((&alert["state"], &alert["value"]), (&"firing".into(), &"5.15e+01".into()));
    let rules = ask(&server, "rules?type=alert");
    let rule = rules["groups"][0]["rules"][0].clone();
    assert_eq!((&rule["state"], &rule["duration"]), (&"firing".into(), &0.2.into()));
    assert_eq!(rule["alerts"].as_array().unwrap().len(), 1);
    let rules = ask(&server, "rules?type=alert&exclude_alerts=true");
    assert_eq!(rules["groups"][0]["rules"][0]["alerts"].as_array().unwrap().len(), 0);
    assert_eq!(ask(&server, "rules?type=record")["groups"].as_array().unwrap().len(), 0);
    let managers = ask(&server, "alertmanagers");
    let url = format!("http://{}/am/api/v2/alerts", fixture.manager.address);
    assert_eq!(managers["activeAlertmanagers"][0]["url"], url);
    until("the series say so", || {
        query(&server, "ALERTS{alertstate=\"firing\"}").iter().any(|(_, value)| value == "1")
    });
    assert_eq!(query(&server, "ALERTS{alertstate=\"pending\"}"), []);
    assert_eq!(query(&server, "ALERTS_FOR_STATE{alertname=\"Hot\",room=\"a\"}").len(), 1);
    // It is told again and again, and at last that it is over.
    until("it is told again", || fixture.manager.asked().len() >= 2);
    let told_before = fixture.manager.asked().len();
    put(&server, "temp{room=\"a\"} 1\n");
    let now_ms = now_ms();
    // One that fires is told to last for seconds.
    let is_resolved = |body: &str| {
        let alerts: Value = serde_json::from_str(body).unwrap();
        date_ms(&alerts[0]["endsAt"]) < now_ms + 1000
    };
    until("the end is told", || {
        fixture.manager.asked().iter().skip(told_before).any(|asked| is_resolved(&asked.body))
    });
    until("the series are over", || query(&server, "ALERTS").is_empty());
    assert_eq!(ask(&server, "alerts")["alerts"].as_array().unwrap().len(), 0);
    assert!(server.metric("foliot_alerts_sent_total") >= 3.0);
    server.stop();
}

fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_millis() as i64
}

/// Milliseconds of a date as Prometheus tells it: of this century, in UTC.
fn date_ms(date: &Value) -> i64 {
    let text = date.as_str().unwrap();
    let number = |range: std::ops::Range<usize>| text[range].parse::<i64>().unwrap();
    let (year, month, day) = (number(0..4), number(5..7), number(8..10));
    // Days since 1970 (Hinnant's algorithm).
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (y / 400, y % 400);
    let day_of_era = of_era * 365 + of_era / 4 - of_era / 100 + (153 * m + 2) / 5 + day - 1;
    let days = era * 146_097 + day_of_era - 719_468;
    let seconds = days * 86_400 + number(11..13) * 3600 + number(14..16) * 60 + number(17..19);
    let part = text[19..].trim_start_matches('.').trim_end_matches('Z');
    let ms = format!("{part:0<3}")[..3].parse::<i64>().unwrap();
    seconds * 1000 + ms
}

#[test]
fn a_restart_keeps_since_when_an_alert_is_so() {
    const MINUTE: i64 = 60_000;
    let fixture = Fixture::new();
    let data = fixture.dir.path().join("data");
    // What a server has left that went away a minute ago.
    let server = Server::start(&data, &[]);
    let down_ms = now_ms() - MINUTE;
    let left = |name: &str, since_ms: i64| {
        let since = (down_ms - since_ms) / 1000;
        format!("ALERTS_FOR_STATE{{alertname=\"{name}\",x=\"1\"}} {since} {down_ms}\n")
    };
    put(&server, &left("Waits", 50 * MINUTE));
    put(&server, &left("Fires", 70 * MINUTE));
    put(&server, "m{x=\"1\"} 1\n");
    server.stop();
    let alert = |name: &str| format!("  - {{alert: {name}, expr: 'm > 0', for: 1h}}\n");
    let rules = ["Waits", "Fires", "Begins"].map(alert).concat();
    let grace = ["--prometheus-for-grace-period", "0s"];
    let server = fixture.start(&format!("  rules:\n{rules}"), &grace);
    until("one fires", || {
        query(&server, "ALERTS{alertname=\"Fires\",alertstate=\"firing\"}").len() == 1
    });
    let alerts = ask(&server, "alerts")["alerts"].clone();
    let of = |name: &str| {
        let mut all = alerts.as_array().unwrap().iter();
        let alert = all.find(|alert| alert["labels"]["alertname"] == name).unwrap();
        let ago = (now_ms() - date_ms(&alert["activeAt"])) as f64 / MINUTE as f64;
        (alert["state"].as_str().unwrap().to_owned(), ago.round())
    };
    // The minute that the server was away does not count.
    assert_eq!(of("Waits"), ("pending".to_owned(), 50.0));
    assert_eq!(of("Fires"), ("firing".to_owned(), 71.0));
    assert_eq!(of("Begins"), ("pending".to_owned(), 0.0));
    server.stop();
}

#[test]
fn rules_are_read_again() {
    let fixture = Fixture::new();
    let server = fixture
        .start("  rules:\n  - {record: one, expr: '1'}\n  - {record: two, expr: '2'}\n", &[]);
    until("both are there", || {
        query(&server, "two").len() == 1 && query(&server, "one").len() == 1
    });
    fixture.rules("  rules:\n  - {record: two, expr: '3'}\n");
    server.signal(Signal::HUP);
    until("one is over", || query(&server, "one").is_empty());
    until("two is new", || query(&server, "two").iter().any(|(_, value)| value == "3"));
    let text = server.get("/api/v1/export?match[]=two").text();
    assert!(!text.contains("null"), "it was never over: {text}");
    fixture.rules("  rules:\n  - {record: two, expr: '3('}\n");
    server.signal(Signal::HUP);
    server.wait_for_metric("foliot_scrape_reloads_failed_total", 1.0);
    assert_eq!(ask(&server, "rules")["groups"][0]["rules"][0]["query"], "3");
    std::fs::remove_file(fixture.dir.path().join("r.yml")).unwrap();
    server.signal(Signal::HUP);
    until("all is over", || query(&server, "two").is_empty());
    server.stop();
}

#[test]
fn a_question_above_a_limit_fails_and_a_group_has_one_of_its_own() {
    let fixture = Fixture::new();
    let server = fixture.start(
        "  limit: 1\n  rules:\n  - {record: many, expr: 'm'}\n  - {alert: Many, expr: 'm'}\n",
        &[],
    );
    put(&server, "m{a=\"1\"} 1\nm{a=\"2\"} 1\n");
    until("both fail", || {
        let rules = ask(&server, "rules")["groups"][0]["rules"].clone();
        let rules = rules.as_array().unwrap().clone();
        rules.iter().all(|rule| rule["lastError"].to_string().contains("limit of the group"))
    });
    assert_eq!(query(&server, "many"), []);
    server.stop();
}
