use super::*;
use crate::rules::{Kind, read_rules};

const S: i64 = 1000;

struct Fixture {
    rule: Alerting,
    alerts: Alerts,
    limit: Option<u64>,
}

impl Fixture {
    fn new(more: &str) -> Self {
        let text = format!("groups:\n- name: g\n  rules:\n  - alert: A\n    expr: m > 0\n{more}");
        let group = read_rules(&text, "r.yml").unwrap().0.remove(0);
        let Kind::Alerting(rule) = group.rules[0].kind.clone() else { panic!() };
        let mut fixture = Self { rule, alerts: Alerts::default(), limit: None };
        fixture.alerts.restore(&fixture.rule.clone(), 0, 0, &[]);
        fixture
    }

    /// Evaluates with these values of `m` by the label `x`.
    fn step(&mut self, at_ms: i64, values: &[(&str, f64)]) -> Result<(), String> {
        let row = |(x, value): &(&str, f64)| Row {
            labels: [("__name__", "m"), ("x", x)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            value: *value,
        };
        let rows: Vec<Row> = values.iter().map(row).collect();
        let (none, mut query) = (LabelSet::new(), |_: &str| Ok(Vec::new()));
        let settings = Settings {
            name: "A",
            rule: &self.rule,
            limit: self.limit,
            external_labels: &none,
            external_url: "",
        };
        self.alerts.step(&settings, Step { at_ms, rows: &rows, query: &mut query })
    }

    fn stages(&self) -> Vec<(&str, &str)> {
        let shown = |alert: &'_ Alert| (alert.labels.get("x").unwrap().clone(), alert.stage.name());
        let shown: Vec<(String, &str)> = self.alerts.iter().map(shown).collect();
        shown.into_iter().map(|(x, stage)| (&*x.leak(), stage)).collect()
    }

    fn due(&mut self, at_ms: i64) -> usize {
        self.alerts.due(at_ms, 60 * S, 10 * S).len()
    }
}

#[test]
fn an_alert_waits_fires_and_is_resolved() {
    let mut fixture = Fixture::new("    for: 1m\n");
    fixture.step(0, &[("1", 5.0)]).unwrap();
    assert_eq!(fixture.stages(), [("1", "pending")]);
    assert_eq!(fixture.due(0), 0);
    fixture.step(59 * S, &[("1", 6.0), ("2", 1.0)]).unwrap();
    assert_eq!(fixture.stages(), [("1", "pending"), ("2", "pending")]);
    fixture.step(60 * S, &[("1", 7.0)]).unwrap();
    assert_eq!(fixture.stages(), [("1", "firing")], "a pending one is forgotten at once");
    assert_eq!(fixture.due(60 * S), 1);
    assert_eq!(fixture.due(120 * S), 0, "it was told a minute ago");
    assert_eq!(fixture.due(121 * S), 1);
    fixture.step(130 * S, &[]).unwrap();
    assert_eq!(fixture.stages(), [("1", "inactive")]);
    let due = fixture.alerts.due(130 * S, 60 * S, 10 * S);
    assert_eq!(due[0].resolved_ms, Some(130 * S), "it is told at once that it is over");
    fixture.step(130 * S + 15 * 60 * S, &[]).unwrap();
    assert_eq!(fixture.stages().len(), 1);
    fixture.step(131 * S + 15 * 60 * S, &[]).unwrap();
    assert_eq!(fixture.stages().len(), 0, "after a quarter of an hour nobody hears of it");
}

#[test]
fn without_for_it_fires_at_once_and_comes_back_as_new() {
    let mut fixture = Fixture::new("");
    fixture.step(0, &[("1", 1.0)]).unwrap();
    assert_eq!(fixture.stages(), [("1", "firing")]);
    fixture.step(10 * S, &[]).unwrap();
    fixture.step(20 * S, &[("1", 1.0)]).unwrap();
    let alert = fixture.alerts.iter().next().unwrap();
    assert_eq!((alert.active_ms, alert.resolved_ms), (20 * S, None));
}

#[test]
fn it_may_fire_for_longer_than_it_is_so() {
    let mut fixture = Fixture::new("    keep_firing_for: 30s\n");
    fixture.step(0, &[("1", 1.0)]).unwrap();
    fixture.step(10 * S, &[]).unwrap();
    fixture.step(39 * S, &[]).unwrap();
    assert_eq!(fixture.stages(), [("1", "firing")]);
    fixture.step(35 * S, &[("1", 1.0)]).unwrap();
    fixture.step(50 * S, &[]).unwrap();
    fixture.step(79 * S, &[]).unwrap();
    assert_eq!(fixture.stages(), [("1", "firing")], "it counts anew");
    fixture.step(80 * S, &[]).unwrap();
    assert_eq!(fixture.stages(), [("1", "inactive")]);
}

#[test]
fn labels_and_annotations_are_templates() {
    let mut fixture = Fixture::new(
        "    labels: {grade: 'g{{ $labels.x }}', x: ''}\n    annotations: {a: '{{ $value }}', b: \
         '{{ first (query \"q\") }}'}\n",
    );
    fixture.step(0, &[("1", 2.5)]).unwrap();
    let alert = fixture.alerts.iter().next().unwrap();
    let shown: Vec<String> = alert.labels.iter().map(|(n, v)| format!("{n}={v}")).collect();
    assert_eq!(shown, ["alertname=A", "grade=g1"]);
    assert_eq!(alert.annotations.get("a").unwrap(), "2.5");
    assert!(alert.annotations.get("b").unwrap().starts_with("<error expanding template: first: "));
}

#[test]
fn the_same_labels_twice_and_too_many_are_refused() {
    let mut fixture = Fixture::new("    labels: {x: same}\n");
    let error = fixture.step(0, &[("1", 1.0), ("2", 1.0)]).unwrap_err();
    assert!(error.contains("same labelset"));
    let mut fixture = Fixture::new("");
    fixture.limit = Some(1);
    fixture.step(0, &[("1", 1.0)]).unwrap();
    assert!(fixture.step(S, &[("1", 1.0), ("2", 1.0)]).unwrap_err().contains("limit"));
    assert_eq!(fixture.stages().len(), 0);
}

#[test]
fn a_restart_takes_over_since_when_it_was_so() {
    let (min, grace) = (60 * S, 10 * 60 * S);
    let labels: LabelSet = [("__name__", FOR_STATE), ("alertname", "A"), ("x", "1")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    // It is so for 25 minutes; the server was away from minute 30 to 40.
    for (since_min, wanted_min, why) in [
        (0, 0, "it fired before: it fires at once"),
        (10, 40 + 10 - 25, "it would have fired soon: it waits for the grace"),
        (20, 30, "what it had waited counts"),
    ] {
        let mut fixture = Fixture::new("    for: 25m\n");
        fixture.alerts = Alerts::default();
        fixture.step(40 * min, &[("1", 1.0)]).unwrap();
        let mut out = Samples::default();
        fixture.alerts.push(40 * min, &mut out);
        assert!(out.is_empty(), "what was before must not be hidden");
        let states = [(labels.clone(), since_min * min, 30 * min)];
        fixture.alerts.restore(&fixture.rule.clone(), 40 * min, grace, &states);
        assert_eq!(fixture.alerts.iter().next().unwrap().active_ms, wanted_min * min, "{why}");
        fixture.alerts.push(40 * min, &mut out);
        assert_eq!(out.len(), 2);
    }
    let mut fixture = Fixture::new("    for: 25m\n");
    fixture.step(40 * min, &[("2", 1.0)]).unwrap();
    fixture.alerts.restore(&fixture.rule.clone(), 40 * min, grace, &[(labels, 0, 30 * min)]);
    assert_eq!(fixture.alerts.iter().next().unwrap().active_ms, 40 * min, "another alert");
}

#[test]
fn a_notification_is_of_version_2() {
    let mut fixture = Fixture::new("    annotations: {a: b}\n");
    fixture.step(1_700_000_000_000, &[("1", 1.0)]).unwrap();
    let due = fixture.alerts.due(1_700_000_000_000, 60 * S, 10 * S);
    let told = due[0].notification(&due[0].labels, "http://g");
    let wanted = r#"{"annotations":{"a":"b"},"endsAt":"2023-11-14T22:17:20Z","generatorURL":"http://g","labels":{"alertname":"A","x":"1"},"startsAt":"2023-11-14T22:13:20Z"}"#;
    assert_eq!(told.to_string(), wanted);
}
