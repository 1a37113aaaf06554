use super::*;
use crate::config::Config;

fn job(text: &str) -> Job {
    let text = format!("scrape_configs:\n- job_name: j\n  {text}\n");
    let (config, _) = Config::read(&text, "p.yml", &|_| None).unwrap();
    (*config.jobs[0]).clone()
}

fn targets(text: &str) -> Targets {
    let job = job(text);
    let groups = job.discovery.groups.iter().map(|group| ("s".to_owned(), group.clone()));
    Targets::of_job(&job, &groups.collect::<Vec<_>>())
}

#[test]
fn a_target_gets_its_labels_and_url() {
    let found = targets(
        "params: {module: [http_2xx, x], q: ['a b']}\n  scheme: https\n  metrics_path: probe\n  \
         static_configs: [{targets: ['h:1'], labels: {env: prod, __meta_x: y}}]",
    );
    let [target] = &found.active[..] else { panic!("{found:?}") };
    assert_eq!(target.url, "https://h:1/probe?module=http_2xx&module=x&q=a+b");
    let shown: Vec<String> = target.labels.iter().map(|(n, v)| format!("{n}={v}")).collect();
    assert_eq!(shown, ["env=prod", "instance=h:1", "job=j"]);
    assert_eq!(target.discovered.get("__param_module").unwrap(), "http_2xx");
    assert_eq!(target.discovered.get("__scrape_interval__").unwrap(), "1m");
    assert_eq!((target.interval_ms, target.timeout_ms), (60_000, 10_000));
}

#[test]
fn a_path_has_no_query() {
    for (path, wanted) in [
        ("/om?z=1", "http://h:1/om%3Fz=1?q=x"),
        ("'a b/%20#(ü)'", "http://h:1/a%20b/%2520%23%28%C3%BC%29?q=x"),
        ("/-_.~$&+,:;=@/*", "http://h:1/-_.~$&+,:;=@/%2A?q=x"),
    ] {
        let found = targets(&format!(
            "params: {{q: [x]}}\n  metrics_path: {path}\n  static_configs: [{{targets: ['h:1']}}]"
        ));
        assert_eq!(found.active[0].url, wanted);
    }
}

/// The rules of the blackbox exporter's documentation.
#[test]
fn rules_may_send_a_scrape_elsewhere() {
    let found = targets(
        "metrics_path: /probe\n  params: {module: [http_2xx]}\n  static_configs: \
         [{targets: ['prometheus.io', 'gone']}]\n  relabel_configs:\n  \
         - {source_labels: [__address__], target_label: __param_target}\n  \
         - {source_labels: [__param_target], target_label: instance}\n  \
         - {source_labels: [instance], regex: gone, action: drop}\n  \
         - {target_label: __address__, replacement: '127.0.0.1:9115'}\n  \
         - {target_label: __scrape_interval__, replacement: 5s}\n  \
         - {target_label: __scrape_timeout__, replacement: 2s}",
    );
    let [target] = &found.active[..] else { panic!("{found:?}") };
    assert_eq!(target.url, "http://127.0.0.1:9115/probe?module=http_2xx&target=prometheus.io");
    assert_eq!(target.labels.get("instance").unwrap(), "prometheus.io");
    assert_eq!((target.interval_ms, target.timeout_ms), (5_000, 2_000));
    assert_eq!((found.dropped_count, found.dropped.len()), (1, 1));
}

#[test]
fn what_cannot_be_scraped_is_told_and_what_is_found_twice_counts_once() {
    let found = targets(
        "static_configs: [{targets: ['a:1', 'a:1', '', 'a b:1']}, {targets: ['c:1'], labels: \
         {__scrape_timeout__: 2h}}, {targets: ['d:1'], labels: {__scrape_interval__: soon}}]",
    );
    assert_eq!(found.active.len(), 1);
    assert_eq!(found.errors.len(), 4, "{:?}", found.errors);
    assert!(found.errors.iter().all(|error| error.starts_with("a target of s: ")));
}

#[test]
fn labels_of_targets_and_series_meet_as_prometheus_has_it() {
    let set = |pairs: &[(&str, &str)]| -> LabelSet {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let target = set(&[("job", "j"), ("instance", "i")]);
    let mut labels = set(&[("__name__", "m"), ("job", "own"), ("exported_job", "older")]);
    with_target(&mut labels, &target, false);
    let wanted = set(&[
        ("__name__", "m"),
        ("exported_exported_job", "own"),
        ("exported_job", "older"),
        ("instance", "i"),
        ("job", "j"),
    ]);
    assert_eq!(labels, wanted);
    let mut labels = set(&[("__name__", "m"), ("job", "own"), ("instance", "")]);
    with_target(&mut labels, &target, true);
    assert!(of_series(&[], &mut labels));
    assert_eq!(labels, set(&[("__name__", "m"), ("job", "own")]), "an empty one keeps it away");
}

#[test]
fn targets_spread_over_the_interval() {
    let addresses: Vec<String> = (0..1000).map(|n| format!("'10.0.0.{}:{n}'", n % 250)).collect();
    let found = targets(&format!("static_configs: [{{targets: [{}]}}]", addresses.join(",")));
    let mut quarters = [0; 4];
    for target in &found.active {
        let offset = target.schedule(7).after(-1);
        assert!(offset < 60_000 && offset == target.schedule(7).after(-1));
        quarters[(offset / 15_000) as usize] += 1;
    }
    assert_eq!(quarters.iter().sum::<i32>(), 1000);
    assert!(quarters.iter().all(|count| (200..300).contains(count)), "{quarters:?}");
}
