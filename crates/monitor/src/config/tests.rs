use super::*;

fn read(text: &str) -> Result<(Config, Vec<String>), Vec<String>> {
    let lines = |findings: Vec<Finding>| findings.iter().map(Finding::to_string).collect();
    let variable = |name: &str| (name == "REGION").then(|| "eu".to_owned());
    match Config::read(text, "p.yml", &variable) {
        Ok((config, notes)) => Ok((config, lines(notes))),
        Err(errors) => Err(lines(errors)),
    }
}

/// The example of Prometheus' getting started.
#[test]
fn the_usual_file_is_read() {
    let text = "# my global config\nglobal:\n  scrape_interval: 15s # Set the scrape interval.\n  \
        evaluation_interval: 15s\n  external_labels:\n    monitor: 'codelab-$REGION-${REGION}-$$'\n\
        alerting:\n  alertmanagers:\n    - static_configs:\n        - targets:\n          \
        # - alertmanager:9093\nrule_files:\n  # - \"first_rules.yml\"\n\
        scrape_configs:\n  - job_name: \"prometheus\"\n    static_configs:\n      \
        - targets: [\"localhost:9090\"]\n        labels:\n          app: \"prometheus\"\n";
    let (config, notes) = read(text).unwrap();
    assert_eq!(notes, Vec::<String>::new());
    assert_eq!(config.global.scrape_interval_ms, 15_000);
    assert_eq!(config.global.scrape_timeout_ms, 10_000);
    assert_eq!(config.global.external_labels.get("monitor").unwrap(), "codelab-eu-eu-$");
    let [job] = &config.jobs[..] else { panic!("{config:?}") };
    assert_eq!((job.name.as_str(), job.interval_ms), ("prometheus", 15_000));
    assert_eq!(job.discovery.groups[0].targets, ["localhost:9090"]);
    assert_eq!(config.alertmanagers.len(), 1);
}

#[test]
fn a_timeout_is_not_longer_than_its_interval() {
    let text = "global: {scrape_interval: 5s}\nscrape_configs:\n- job_name: a\n  scrape_interval: \
                2s\n- job_name: b\n  scrape_timeout: 1s\n";
    let (config, _) = read(text).unwrap();
    let times: Vec<(u64, u64)> =
        config.jobs.iter().map(|job| (job.interval_ms, job.timeout_ms)).collect();
    assert_eq!(times, [(2_000, 2_000), (5_000, 1_000)]);
}

#[test]
fn everything_that_is_wrong_is_told_with_line_and_key() {
    let text = "global:\n  scrape_interval: soon\nscrape_configs:\n- job_name: a\n  scheme: gopher\n  \
        static_configs:\n  - targets: [x]\n    lables: {}\n- job_name: a\n  kubernetes_sd_configs: \
        []\n  oauth2: {client_id: x}\n  body_size_limit: many\nscrap_configs: []\n";
    let wanted = [
        "p.yml:2: global.scrape_interval: \"soon\" is not a length of time such as 15s, 5m or 1h30m",
        "p.yml:5: scrape_configs[0].scheme: \"gopher\" is neither http nor https",
        "p.yml:8: scrape_configs[0].static_configs[0].lables: lables is not a key that Prometheus \
         has here",
        "p.yml:9: scrape_configs[1]: job_name \"a\" is given twice",
        "p.yml:10: scrape_configs[1].kubernetes_sd_configs: cannot be done here: targets are found \
         by static_configs, file_sd_configs, http_sd_configs and dns_sd_configs",
        "p.yml:11: scrape_configs[1].oauth2: cannot be done here: use authorization",
        "p.yml:12: scrape_configs[1].body_size_limit: \"many\" is not a number of bytes such as 10MB",
        "p.yml:13: scrap_configs: scrap_configs is not a key that Prometheus has here",
    ];
    assert_eq!(read(text).unwrap_err(), wanted);
    assert!(read("a: [").unwrap_err()[0].starts_with("p.yml:"));
    assert!(read("- a").unwrap_err()[0].contains("keys with values are needed"));
}

#[test]
fn patterns_of_files_are_those_that_prometheus_takes() {
    let text = "rule_files:\n- 'rules/*/a.yml'\n- 'r[.yml'\n- 'r[].yml'\n\
        scrape_config_files: ['jobs/*/b.yml']\n";
    let wanted = [
        "p.yml:2: rule_files[0]: \"rules/*/a.yml\" has a * before its last /: only the file's name \
         may have one",
        "p.yml:3: rule_files[1]: \"r[.yml\" has a [ without letters and a ] behind it",
        "p.yml:4: rule_files[2]: \"r[].yml\" has a [ without letters and a ] behind it",
        "p.yml:5: scrape_config_files[0]: \"jobs/*/b.yml\" has a * before its last /: only the \
         file's name may have one",
    ];
    assert_eq!(read(text).unwrap_err(), wanted);
    let (config, _) = read("rule_files: ['r/a***b*.yml', 'r?/[a-c]*.yml']").unwrap();
    assert_eq!(config.rule_files, ["r/a*b*.yml", "r?/[a-c]*.yml"]);
}

#[test]
fn what_has_no_effect_is_said() {
    let text = "remote_write:\n- url: http://x\nscrape_configs:\n- job_name: a\n  enable_http2: \
                true\n  scrape_protocols: [PrometheusProto, PrometheusText0.0.4]\n";
    let (config, notes) = read(text).unwrap();
    assert_eq!(config.jobs[0].protocols, [Protocol::Protobuf, Protocol::Text]);
    assert_eq!(
        read("global: {}\n---\nnothing: x\n").unwrap().1,
        ["p.yml:2: this and what follows has no effect: the first document counts"]
    );
    let keys: Vec<&str> = notes.iter().map(|note| note.split(": ").nth(1).unwrap()).collect();
    assert_eq!(keys, ["remote_write", "scrape_configs[0].enable_http2"]);
}

#[test]
fn native_histograms_are_asked_for_where_they_are_wanted() {
    use Protocol::{OpenMetrics, Protobuf, Text};
    let text = "global: {scrape_native_histograms: true}\nscrape_configs:\n- job_name: a\n- job_name: \
                b\n  scrape_native_histograms: false\n- job_name: c\n  scrape_protocols: \
                [OpenMetricsText1.0.0]\n  always_scrape_classic_histograms: true\n";
    let (config, notes) = read(text).unwrap();
    let of = |at: usize| (config.jobs[at].protocols.clone(), config.jobs[at].histograms);
    let (native, classic) = (true, false);
    assert_eq!(of(0), (vec![Protobuf, OpenMetrics, Text], Histograms { native, classic }));
    assert_eq!(of(1), (vec![OpenMetrics, Text], Histograms { native: false, classic }));
    assert_eq!(of(2), (vec![OpenMetrics], Histograms { native, classic: true }));
    assert_eq!(notes, [""; 0]);
}

#[test]
fn secrets_are_read_and_not_shown() {
    let text = "scrape_configs:\n- job_name: a\n  basic_auth: {username: u, password: hidden}\n\
                - job_name: b\n  authorization: {credentials_file: token}\n";
    let (mut config, _) = read(text).unwrap();
    assert!(config.shown.contains("password: <secret>"), "{}", config.shown);
    assert!(!config.shown.contains("hidden") && !format!("{config:?}").contains("hidden"));
    config.resolve(&|file| format!("/etc/{file}"));
    let authorization = config.jobs[1].client.authorization.clone().unwrap();
    assert_eq!(authorization.credentials, Confidential::File("/etc/token".to_owned()));
    assert_eq!(authorization.scheme, "Bearer");
    let both = "scrape_configs:\n- job_name: a\n  basic_auth: {username: u}\n  authorization: \
                {credentials: c}\n";
    assert!(read(both).unwrap_err()[0].contains("exclude each other"));
}

#[test]
fn groups_are_read_from_yaml_and_json() {
    let json = r#"[{"targets": ["a:1", "b:1"], "labels": {"env": "x"}}, {"targets": []}]"#;
    let groups = read_groups(json, "f.json", true).unwrap();
    assert_eq!(groups[0].targets, ["a:1", "b:1"]);
    assert_eq!(groups.len(), 2);
    let yaml = "- targets:\n  - a:1\n  labels:\n    port: 80\n";
    let groups = read_groups(yaml, "f.yml", false).unwrap();
    assert_eq!(groups[0].labels.get("port").unwrap(), "80");
    for (json, wanted) in [
        (r#"[{"labels": {"a": 1}}]"#, "f:1: [0].labels.a: a text in quotes is needed here"),
        ("[{\"targets\": [\"a\",\ntrue]}]", "f:2: [0].targets[1]: a text in quotes is needed here"),
        ("[null]", "f:1: [0]: a group is missing here"),
        ("[\n{targets: [a]}]", "f:2: this is no JSON: "),
        ("[]\n---\n[]", "f:2: this is no JSON: "),
    ] {
        let error = read_groups(json, "f", true).unwrap_err();
        assert!(error.starts_with(wanted), "{json}: {error}");
    }
    assert!(read_groups("[{target: [a]}]", "f.yml", false).unwrap_err().starts_with("f.yml:1: "));
    assert!(read_groups("- null\n", "f.yml", false).is_err());
    assert!(read_groups(r#"[{"targets": null, "labels": {"a": null}}]"#, "f", true).is_ok());
}

#[test]
fn what_prometheus_refuses_of_a_job_is_refused() {
    for (job, wanted) in [
        ("scrape_protocols: []", "scrape_protocols: must name a protocol"),
        (
            "scrape_protocols: [PrometheusProto, PrometheusText0.0.4, PrometheusProto]",
            "scrape_protocols[2]: \"PrometheusProto\" is given twice",
        ),
        ("http_headers: {host: {values: [x]}}", "http_headers.host: this header cannot be set"),
        ("http_headers: {User-Agent: {}}", "http_headers.User-Agent: this header cannot be set"),
        ("static_configs: [null]", "static_configs[0]: a group is missing here"),
        ("static_configs:\n  -", "static_configs[0]: a group is missing here"),
        ("file_sd_configs: [{files: []}]", "file_sd_configs[0].files: must name a file"),
        ("file_sd_configs: [null]", "file_sd_configs[0]: files is missing"),
        (
            "file_sd_configs: [{files: ['a/*/b.yml']}]",
            "file_sd_configs[0].files[0]: \"a/*/b.yml\" has a * before its last /",
        ),
        (
            "file_sd_configs: [{files: [a.yml, b.Json]}]",
            "file_sd_configs[0].files[1]: \"b.Json\" must end in .json, .yml or .yaml",
        ),
        ("body_size_limit: 10", "body_size_limit: \"10\" is not a number of bytes such as 10MB"),
        (
            "metric_name_validation_scheme: utf-8",
            "metric_name_validation_scheme: \"utf-8\" is none of legacy, utf8",
        ),
        ("metric_name_escaping_scheme: dot", "metric_name_escaping_scheme: \"dot\" is none of"),
    ] {
        let errors = read(&format!("scrape_configs:\n- job_name: a\n  {job}\n")).unwrap_err();
        let [error] = &errors[..] else { panic!("{job}: {errors:?}") };
        let (place, what) = error.split_once(": scrape_configs[0].").unwrap();
        assert!(place == "p.yml:3" || place == "p.yml:4", "{error}");
        assert!(what.starts_with(wanted), "{job}: {error}");
    }
    let global = read("global: {scrape_protocols: [], metric_name_validation_scheme: x}\n");
    assert_eq!(global.unwrap_err().len(), 2);
    let job = "scrape_configs:\n- job_name: a\n  metric_name_validation_scheme: legacy\n  \
               file_sd_configs: [{files: ['a**.yml', 'b/c*.JSON']}]\n";
    let (config, notes) = read(job).unwrap();
    assert_eq!(config.jobs[0].discovery.files[0].patterns, ["a*.yml", "b/c*.JSON"]);
    assert_eq!(notes.len(), 1);
}

#[test]
fn limits_of_0_are_those_that_hold_for_all() {
    let text = "global: {sample_limit: 5, body_size_limit: 1KB, label_limit: 0}\nscrape_configs:\n\
                - job_name: a\n  sample_limit: 0\n  body_size_limit: 0\n  label_limit: 0\n";
    let limits = read(text).unwrap().0.jobs[0].limits;
    assert_eq!((limits.samples, limits.body_bytes, limits.labels), (Some(5), Some(1024), None));
}

#[test]
fn times_of_0_are_those_that_go_without_saying() {
    let text = "global: {scrape_interval: 0s, scrape_timeout: 0s, evaluation_interval: 0s}\n\
                scrape_configs:\n- job_name: a\n  scrape_interval: 0s\n  scrape_timeout: 0s\n";
    let (config, _) = read(text).unwrap();
    let global = &config.global;
    assert_eq!((global.scrape_interval_ms, global.scrape_timeout_ms), (60_000, 10_000));
    assert_eq!(global.evaluation_interval_ms, 60_000);
    assert_eq!((config.jobs[0].interval_ms, config.jobs[0].timeout_ms), (60_000, 10_000));
}
