//! Scraping through the real binary: a configuration of Prometheus, and targets that change.

use crate::harness;
use crate::harness::target::{Answer, Target};
use crate::harness::{PATIENCE, Scratch, Server, foliot};
use rustix::process::Signal;
use serde_json::Value;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A server that obeys a configuration.
fn start(dir: &Scratch, config: &str, more: &[&str]) -> Server {
    let file = write(dir, "prometheus.yml", config);
    let mut flags = vec!["--prometheus-config", file.to_str().unwrap()];
    flags.extend(more);
    Server::start(&dir.path().join("data"), &flags)
}

fn write(dir: &Scratch, name: &str, text: &str) -> PathBuf {
    let path = dir.path().join(name);
    // As an editor does: whoever reads sees the old text or the new one.
    let new = dir.path().join(format!("{name}.new"));
    std::fs::write(&new, text).unwrap();
    std::fs::rename(&new, &path).unwrap();
    path
}

/// A job with a target and further keys.
fn job(name: &str, target: &Target, more: &str) -> String {
    format!(
        "- job_name: {name}\n  scrape_interval: 100ms\n  static_configs: [{{targets: \
         ['{}']}}]\n{more}",
        target.address
    )
}

fn config(jobs: &[String]) -> String {
    format!("scrape_configs:\n{}", jobs.concat())
}

fn ask(server: &Server, path: &str) -> Value {
    let answer = server.get(&format!("/prometheus/api/v1/{path}"));
    let json: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(json["status"], "success", "{path}: {json}");
    json["data"].clone()
}

/// The values of a series in order, marks of staleness as `stale`, as remote read tells them: by
/// the bits of the export of the page's samples they could not be told from other NaN.
fn values(server: &Server, selector: &str) -> Vec<String> {
    let query = selector.replace('"', "%22").replace('{', "%7B").replace('}', "%7D");
    let text = server.get(&format!("/api/v1/export?match[]={query}")).text();
    let mut found: Vec<(i64, String)> = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let times = line["timestamps"].as_array().unwrap().iter();
        for (time, value) in times.zip(line["values"].as_array().unwrap()) {
            let shown = if value.is_null() { "stale".to_owned() } else { value.to_string() };
            found.push((time.as_i64().unwrap(), shown));
        }
    }
    found.sort();
    found.dedup_by(|b, a| a.1 == b.1);
    found.into_iter().map(|(_, value)| value).collect()
}

/// Waits until something holds.
fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn query(server: &Server, text: &str) -> Vec<(String, String)> {
    let text: String = text.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let data = ask(server, &format!("query?query={text}"));
    let row =
        |row: &Value| (row["metric"].to_string(), row["value"][1].as_str().unwrap().to_owned());
    data["result"].as_array().unwrap().iter().map(row).collect()
}

fn health(server: &Server) -> Vec<(String, String, String)> {
    let targets = ask(server, "targets");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let targets = targets["activeTargets"].as_array().unwrap().iter();
    let mut found: Vec<_> = targets
        .map(|it| (text(&it["scrapePool"]), text(&it["health"]), text(&it["lastError"])))
        .collect();
    found.sort();
    found
}

#[test]
fn a_target_is_scraped_and_what_vanishes_is_over() {
    let (dir, target) = (Scratch::new(), Target::start());
    target.set("/metrics", Answer::text("# HELP a one\n# TYPE a counter\na 1\nb{job=\"own\"} 5\n"));
    let more = ["--prometheus-external-url", "https://here.example:8443"];
    let server = start(&dir, &config(&[job("j", &target, "")]), &more);
    until("a is there", || values(&server, "a") == ["1"]);
    assert_eq!(query(&server, "up{job=\"j\"}")[0].1, "1");
    assert_eq!(query(&server, "scrape_samples_scraped")[0].1, "2");
    assert_eq!(query(&server, "b{exported_job=\"own\"}")[0].1, "5");
    let asked = &target.asked()[0];
    let accept = "application/openmetrics-text;version=1.0.0;q=0.3,text/plain;version=0.0.4;q=0.2,\
                  */*;q=0.1";
    assert_eq!(asked.headers.get("accept").unwrap(), accept);
    assert_eq!(asked.headers.get("x-prometheus-scrape-timeout-seconds").unwrap(), "0.1");
    assert_eq!(ask(&server, "metadata")["a"][0]["type"], "counter");
    let about = ask(&server, "targets/metadata?match_target=%7Bjob=%22j%22%7D&metric=a");
    assert_eq!((&about[0]["help"], &about[0]["target"]["job"]), (&"one".into(), &"j".into()));
    assert!(about[0]["metric"].is_null(), "{about}");
    // From elsewhere this machine has another name.
    let url = ask(&server, "targets")["activeTargets"][0]["globalUrl"].as_str().unwrap().to_owned();
    let port = target.address.port();
    assert_eq!(url, format!("http://here.example:{port}/metrics"));
    assert_eq!(ask(&server, "scrape_pools")["scrapePools"][0], "j");

    target.set("/metrics", Answer::text("b{job=\"own\"} 6\n"));
    until("a is over", || values(&server, "a") == ["1", "stale"]);
    assert_eq!(query(&server, "a"), []);
    target.set("/metrics", Answer::text("a 2\n"));
    until("a is back", || values(&server, "a") == ["1", "stale", "2"]);
    until("b is over", || values(&server, "b") == ["5", "6", "stale"]);
    server.stop();
}

#[test]
fn a_target_that_fails_is_down_and_says_why() {
    let (dir, target) = (Scratch::new(), Target::start());
    let good = "m 1\n";
    for path in ["/bad", "/html", "/status", "/slow", "/long", "/bomb", "/open", "/many"] {
        target.set(path, Answer::text(good));
    }
    let path =
        |name: &str, more: &str| job(name, &target, &format!("  metrics_path: /{name}\n{more}"));
    let jobs = [
        path("bad", ""),
        path("html", ""),
        path("status", ""),
        path("slow", ""),
        path("long", "  body_size_limit: 1KB\n"),
        path("bomb", ""),
        path("open", ""),
        path("many", "  sample_limit: 2\n"),
    ];
    let server = start(
        &dir,
        &config(&jobs),
        &["--limits-scrape-body-bytes", "100KB", "--limits-scrape-samples", "10"],
    );
    until("all are up", || health(&server).iter().all(|(_, health, _)| health == "up"));
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(&b"# a comment that is long and of no use\n".repeat(1 << 20)).unwrap();
    let bomb = packer.finish().unwrap();
    target.set("/bad", Answer::text("m 1\nm{a=\"b} 2\n"));
    target.set("/html", Answer::of("text/html", b"<html></html>"));
    target.set("/status", Answer { status: 500, ..Answer::text(good) });
    target.set("/slow", Answer { wait: Duration::from_millis(400), ..Answer::text(good) });
    target.set("/long", Answer::text(&"m 1\n".repeat(300)));
    target.set("/bomb", Answer::of("text/plain", &bomb).header("Content-Encoding", "gzip"));
    let open = Answer::of("application/openmetrics-text; version=1.0.0", b"m 1\n");
    target.set("/open", open);
    target.set("/many", Answer::text("m 1\nn 2\no 3\n"));
    until("all are down", || health(&server).iter().all(|(_, health, _)| health == "down"));
    let words = [
        ("bad", "line 2: the labels of"),
        ("bomb", "longer than 100000 bytes"),
        ("html", "no format of metrics"),
        ("long", "longer than 1024 bytes"),
        ("many", "sample_limit"),
        ("open", "without # EOF"),
        ("slow", "scrape_timeout"),
        ("status", "server returned HTTP status 500"),
    ];
    for ((pool, _, error), (name, word)) in health(&server).iter().zip(words) {
        assert_eq!(pool, name);
        assert!(error.contains(word), "{name}: {error}");
        let selector = format!("m{{job=\"{name}\"}}");
        until(name, || values(&server, &selector) == ["1", "stale"]);
        assert_eq!(query(&server, &format!("up{{job=\"{name}\"}}"))[0].1, "0", "{name}");
    }
    assert_eq!(query(&server, "scrape_samples_post_metric_relabeling{job=\"many\"}")[0].1, "3");
    assert!(server.metric("foliot_scrapes_failed_total") >= 8.0);
    let met = server.metric("foliot_limits_met_total{limit=\"limits.scrape_body_bytes\"}");
    assert!(met >= 2.0);
    target.set("/html", Answer::text(&"m 1\n".repeat(11)));
    let met = "foliot_limits_met_total{limit=\"limits.scrape_samples\"}";
    until("it has too many samples", || server.metric(met) >= 1.0);
    target.set("/bad", Answer::text(good));
    until("it is up again", || values(&server, "m{job=\"bad\"}") == ["1", "stale", "1"]);
    server.stop();
}

#[test]
fn answers_may_be_packed_and_open_metrics_and_credentials_are_sent() {
    let (dir, target, other) = (Scratch::new(), Target::start(), Target::start());
    let text = "# TYPE r counter\n# UNIT r seconds\nr_seconds_total 3 # {t=\"x\"} 1\n\
                r_seconds_created 1.7e9\nold 4 1.5\n# EOF\n";
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text.as_bytes()).unwrap();
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    let packed = packer.finish().unwrap();
    target.set("/metrics?a=b", Answer::of(kind, &packed).header("Content-Encoding", "gzip"));
    target.set("/metrics", Answer { status: 302, ..Answer::default() }.header("Location", "/new"));
    target.set("/new", Answer::text("moved 1\n"));
    let away = format!("http://{}/away", other.address);
    target.set("/far", Answer { status: 302, ..Answer::default() }.header("Location", &away));
    other.set("/away", Answer::text("far 1\n"));
    write(&dir, "token", "secret-of-a-file\n");
    let jobs = [
        job("basic", &target, "  params: {a: [b]}\n  basic_auth: {username: u, password: p}\n"),
        job("bearer", &target, "  authorization: {credentials_file: token}\n"),
        job("far", &target, "  metrics_path: /far\n  bearer_token: mine\n"),
    ];
    let server = start(&dir, &config(&jobs), &[]);
    until("it is there", || values(&server, "r_seconds_total") == ["3"]);
    assert_eq!(values(&server, "r_seconds_created"), ["1700000000"]);
    until("what is elsewhere is there", || values(&server, "moved") == ["1"]);
    until("what is far is there", || values(&server, "far") == ["1"]);
    let sent = |word: &str| {
        let is_sent = |asked: &harness::target::Asked| {
            asked.headers.get("authorization").is_some_and(|header| header == word)
        };
        assert!(target.asked().iter().any(is_sent), "{word}");
    };
    sent("Basic dTpw");
    sent("Bearer secret-of-a-file");
    sent("Bearer mine");
    let leaked =
        other.asked().into_iter().find(|asked| asked.headers.contains_key("authorization"));
    assert!(leaked.is_none(), "{leaked:?}");
    let shown = ask(&server, "status/config")["yaml"].as_str().unwrap().to_owned();
    assert!(shown.contains("password: <secret>"), "{shown}");
    server.stop();
}

#[test]
fn targets_are_found_in_files_and_at_servers_and_relabelled() {
    let (dir, target) = (Scratch::new(), Target::start());
    target.set("/metrics", Answer::text("m{l=\"x\"} 1\ngo_x 1\n"));
    let address = target.address.to_string();
    let list = |labels: &str| format!(r#"[{{"targets": ["{address}"], "labels": {{{labels}}}}}]"#);
    target.set("/sd", Answer::of("application/json", list(r#""via":"http""#).as_bytes()));
    write(&dir, "one.json", &list(r#""via":"file""#));
    let rules = "  relabel_configs:\n  - {source_labels: [via], target_label: env, replacement: \
                 'e-$1'}\n  - {source_labels: [__meta_filepath], regex: '.*two.*', action: drop}\n  \
                 metric_relabel_configs:\n  - {source_labels: [__name__], regex: 'go_.*', action: \
                 drop}\n";
    let text = format!(
        "scrape_configs:\n- job_name: j\n  scrape_interval: 100ms\n  file_sd_configs: [{{files: \
         ['*.json']}}]\n  http_sd_configs: [{{url: 'http://{address}/sd', refresh_interval: \
         100ms}}]\n{rules}"
    );
    let server = start(&dir, &text, &[]);
    until("both are scraped", || {
        values(&server, "m{env=\"e-file\"}") == ["1"]
            && values(&server, "m{env=\"e-http\"}") == ["1"]
    });
    assert_eq!(values(&server, "go_x"), Vec::<String>::new());
    write(&dir, "two.json", &list(r#""via":"second""#));
    until("one is dropped", || ask(&server, "targets")["droppedTargetCounts"]["j"] == 1);
    let dropped = ask(&server, "targets?state=dropped");
    assert_eq!(dropped["activeTargets"].as_array().unwrap().len(), 0);
    assert_eq!(dropped["droppedTargets"][0]["discoveredLabels"]["via"], "second");
    write(&dir, "one.json", "[]");
    until("it is over", || values(&server, "m{env=\"e-file\"}") == ["1", "stale"]);
    until("its report is over", || values(&server, "up{env=\"e-file\"}") == ["1", "stale"]);
    // A bad list changes nothing.
    target.set("/sd", Answer::of("application/json", b"{"));
    server.wait_for_metric("foliot_scrape_discovery_failures_total", 1.0);
    assert_eq!(ask(&server, "targets")["activeTargets"].as_array().unwrap().len(), 1);
    server.stop();
}

#[test]
fn a_file_that_is_read_again_changes_what_it_changes() {
    let (dir, target) = (Scratch::new(), Target::start());
    target.set("/metrics", Answer::text("m 1\nn 1\n"));
    let both = [job("stays", &target, ""), job("goes", &target, "")];
    let server = start(&dir, &config(&both), &[]);
    until("both are scraped", || {
        let is_there = |job: &str| values(&server, &format!("m{{job=\"{job}\"}}")) == ["1"];
        is_there("stays") && is_there("goes")
    });
    // A bad file changes nothing.
    write(&dir, "prometheus.yml", "scrape_configs: [{job_nam: x}]\n");
    server.signal(Signal::HUP);
    server.wait_for_metric("foliot_scrape_reloads_failed_total", 1.0);
    assert_eq!(health(&server).len(), 2);
    assert_eq!(ask(&server, "status/runtimeinfo")["reloadConfigSuccess"], false);
    let notices = ask(&server, "notifications");
    assert_eq!(notices[0]["text"], "Configuration reload has failed.");
    assert!(notices[0]["date"].as_str().unwrap().starts_with("20"), "{notices}");
    let drops = "  metric_relabel_configs: [{source_labels: [__name__], regex: n, action: drop}]\n";
    write(&dir, "prometheus.yml", &config(&[job("stays", &target, drops)]));
    server.signal(Signal::HUP);
    until("one is gone", || health(&server).len() == 1);
    until("what is dropped is over", || {
        values(&server, "n{job=\"stays\"}") == ["1", "stale"]
            && values(&server, "m{job=\"goes\"}") == ["1", "stale"]
    });
    assert_eq!(values(&server, "m{job=\"stays\"}"), ["1"], "it was never over");
    assert_eq!(ask(&server, "status/runtimeinfo")["reloadConfigSuccess"], true);
    assert_eq!(ask(&server, "notifications"), serde_json::json!([]));
    server.stop();
}

#[test]
fn a_server_that_stops_ends_no_series() {
    let (dir, target) = (Scratch::new(), Target::start());
    target.set("/metrics", Answer::text("m 1\n"));
    let text = config(&[job("j", &target, "")]);
    let server = start(&dir, &text, &[]);
    until("it is scraped", || values(&server, "m") == ["1"]);
    server.stop();
    let server = start(&dir, "scrape_configs: []\n", &[]);
    assert_eq!(values(&server, "m"), ["1"]);
    server.stop();
}

#[test]
fn too_many_targets_are_told() {
    let (dir, target) = (Scratch::new(), Target::start());
    target.set("/metrics", Answer::text("m 1\n"));
    let address = |host: &str| format!("{host}:{}", target.address.port());
    let hosts = ["127.0.0.1", "127.0.0.2", "localhost"].map(address).join("', '");
    let job = |name: &str, more: &str| {
        format!(
            "- job_name: {name}\n  scrape_interval: 100ms\n  static_configs: [{{targets: \
             ['{hosts}']}}]\n{more}"
        )
    };
    let jobs = [job("limited", "  target_limit: 2\n"), job("other", "")];
    let server = start(&dir, &config(&jobs), &["--limits-scrape-targets", "5"]);
    until("those of one job are down", || {
        let health = health(&server);
        let mut limited = health.iter().filter(|(job, ..)| job == "limited");
        health.len() == 5 && limited.all(|(_, _, error)| error.contains("target_limit"))
    });
    server.wait_for_metric("foliot_limits_met_total{limit=\"limits.scrape_targets\"}", 1.0);
    assert_eq!(values(&server, "m{job=\"limited\"}"), Vec::<String>::new());
    server.stop();
}

fn check(file: &Path) -> (bool, String) {
    let output = foliot().args(["config", "check", "--prometheus"]).arg(file).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn a_configuration_is_checked_without_a_server() {
    let dir = Scratch::new();
    write(&dir, "r.yml", "groups: [{name: g, rules: [{record: a, expr: 'sum(up)'}]}]\n");
    let file = write(&dir, "p.yml", "rule_files: ['r*.yml']\nremote_write: [{url: 'http://x'}]\n");
    let (is_good, said) = check(&file);
    assert!(is_good && said.contains("is good: 0 jobs, 1 group of rules"), "{said}");
    assert!(said.contains("p.yml:2: remote_write: has no effect here"), "{said}");
    write(&dir, "r2.yml", "groups:\n- name: g\n  rules:\n  - record: a\n    expr: 'sum('\n");
    let (is_good, said) = check(&file);
    assert!(!is_good && said.contains("r2.yml:5: groups[0].rules[0].expr: "), "{said}");
    write(&dir, "r2.yml", "groups:\n- name: h\n  rules:\n  - record: 'a{b}'\n    expr: up\n");
    let (is_good, said) = check(&file);
    assert!(!is_good && said.contains("r2.yml:4: groups[0].rules[0].record: \"a{b}\""), "{said}");
    let file = write(&dir, "p.yml", "rule_files:\n- 'r*/*.yml'\n- 'r[.yml'\n");
    let (is_good, said) = check(&file);
    assert!(!is_good && said.contains("p.yml:2: rule_files[0]: \"r*/*.yml\" has a *"), "{said}");
    assert!(said.contains("p.yml:3: rule_files[1]: \"r[.yml\" has a ["), "{said}");
    let file = write(&dir, "p.yml", "scrape_configs:\n- job_name: a\n  scrap_interval: 1s\n");
    let (is_good, said) = check(&file);
    assert!(!is_good && said.contains("p.yml:3: scrape_configs[0].scrap_interval: "), "{said}");
    // Nor does a server start with it.
    let mut command = foliot();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir.path().join("d"));
    let output = command.arg("--prometheus-config").arg(&file).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("p.yml:3: "));
}

#[test]
fn jobs_may_stand_in_files_of_their_own() {
    let (dir, target) = (Scratch::new(), Target::start());
    target.set("/metrics", Answer::text("m 1\n"));
    std::fs::create_dir(dir.path().join("jobs")).unwrap();
    let files = "  file_sd_configs: [{files: [found.json]}]\n";
    let found =
        format!("[{{\"targets\": [\"{}\"], \"labels\": {{\"at\": \"found\"}}}}]", target.address);
    write(&dir, "jobs/found.json", &found);
    write(&dir, "jobs/one.yml", &config(&[job("one", &target, "")]));
    let two = "- job_name: two\n  scrape_interval: 100ms\n";
    write(&dir, "jobs/two.yml", &config(&[format!("{two}{files}")]));
    let own = config(&[job("own", &target, "")]);
    let text = format!("scrape_config_files: ['jobs/*.yml']\n{own}");
    let server = start(&dir, &text, &[]);
    let jobs = || {
        let mut up: Vec<_> = health(&server).into_iter().map(|(job, up, _)| (job, up)).collect();
        up.sort();
        up
    };
    let wanted = ["one", "own", "two"].map(|job| (job.to_owned(), "up".to_owned()));
    until("jobs of all files are up", || jobs() == wanted);
    // Files that they name are beside them.
    until("the file beside a file is read", || values(&server, "m{at=\"found\"}") == ["1"]);
    server.stop();
    // What is wrong is told with file and line; names are given once in all.
    let file = dir.path().join("prometheus.yml");
    assert!(check(&file).1.contains("is good: 3 jobs"), "{}", check(&file).1);
    write(&dir, "jobs/two.yml", "scrape_configs:\n- job_name: own\nglobal: {}\n");
    let (is_good, said) = check(&file);
    assert!(
        !is_good && said.contains("two.yml:2: scrape_configs[0]: job_name \"own\" is given twice"),
        "{said}"
    );
    assert!(
        said.contains("two.yml:3: global: global is not a key that Prometheus has here"),
        "{said}"
    );
    let file = write(&dir, "p.yml", "scrape_config_files: [gone.yml]\n");
    let (is_good, said) = check(&file);
    assert!(!is_good && said.contains("scrape_config_files: there is no file"), "{said}");
}

/// A file on a disk that does not answer, or one of many megabytes, holds up neither others nor the
/// stop.
#[test]
fn a_file_that_cannot_be_read_holds_up_no_stop() {
    let (dir, target) = (Scratch::new(), Target::start());
    target.set("/metrics", Answer::text("m 1\n"));
    let server = start(&dir, &config(&[job("j", &target, "")]), &[]);
    let file = dir.path().join("prometheus.yml");
    std::fs::remove_file(&file).unwrap();
    // Whoever opens this waits for somebody who writes, and nobody does.
    let made = std::process::Command::new("mkfifo").arg(&file).status().unwrap();
    assert!(made.success());
    (0..50).for_each(|_| server.signal(Signal::HUP));
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(server.get("/-/ready").status, 200);
    server.stop();
}
