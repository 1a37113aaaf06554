//! Files of rules: groups of expressions that are evaluated again and again, whose answers become
//! series (recording rules) or alerts.

use crate::length::read_length;
use crate::reading::{Finding, Findings, Keys, Reader};
use crate::template::Template;
use foliot_proto_prometheus::{Expression, Type};
use std::collections::{BTreeMap, BTreeSet};

/// Rules that are evaluated one after the other, for one time.
#[derive(Clone, Debug)]
pub struct RuleGroup {
    /// The file that it stands in.
    pub file: String,
    /// Its name, once in a file.
    pub name: String,
    /// Time between two evaluations, in milliseconds, where it has one of its own.
    pub interval_ms: Option<u64>,
    /// How far in the past it looks, in milliseconds, where it says so.
    pub query_offset_ms: Option<u64>,
    /// Series or alerts that one of its rules may come to.
    pub limit: Option<u64>,
    /// The rules.
    pub rules: Vec<Rule>,
}

/// A rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What the answer is called: a series' or an alert's name.
    pub name: String,
    /// The expression, as it was written.
    pub text: String,
    /// The expression.
    pub expression: Expression,
    /// Labels that the answer gets; those of alerts are templates.
    pub labels: BTreeMap<String, String>,
    /// What becomes of the answer.
    pub kind: Kind,
}

/// What becomes of a rule's answer.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Series.
    Recording,
    /// Alerts.
    Alerting(Alerting),
}

/// What alerting rules have beside.
#[derive(Clone, Debug)]
pub struct Alerting {
    /// How long something must be so before it is told, in milliseconds.
    pub for_ms: u64,
    /// How long it is told after it is not so any more, in milliseconds.
    pub keep_firing_ms: u64,
    /// Labels, as templates.
    pub labels: Vec<(String, Template)>,
    /// What is told beside the labels: names and templates.
    pub annotations: Vec<(String, Template)>,
    /// The templates as they were written.
    pub annotation_texts: BTreeMap<String, String>,
}

impl RuleGroup {
    /// What tells it from all others.
    pub fn key(&self) -> String {
        format!("{};{}", self.file, self.name)
    }

    /// Whether it is the same as another, so that its states stay.
    pub fn is_like(&self, other: &Self) -> bool {
        format!("{self:?}") == format!("{other:?}")
    }
}

/// Reads a file of rules; `file` names it.
///
/// # Errors
/// All that is wrong.
pub fn read_rules(text: &str, file: &str) -> Result<(Vec<RuleGroup>, Vec<Finding>), Vec<Finding>> {
    let findings = Findings::new(file);
    let mut groups: Vec<RuleGroup> = Vec::new();
    if let Some(node) = findings.parse(text) {
        let mut keys = Reader::new(&node, &findings).keys();
        let mut names = BTreeSet::new();
        for reader in keys.take("groups").iter().flat_map(Reader::list) {
            let group = read_group(&reader, file);
            if !names.insert(group.name.clone()) {
                reader.error(format!("group {:?} is given twice", group.name));
            }
            groups.push(group);
        }
        keys.end();
    }
    findings.end().map(|notes| (groups, notes))
}

fn read_group(reader: &Reader<'_>, file: &str) -> RuleGroup {
    let mut keys = reader.keys();
    let name = keys.need("name").and_then(|it| it.read(filled)).unwrap_or_default();
    let length = |reader: Option<Reader<'_>>| reader.and_then(|it| it.read(read_length));
    let interval_ms = length(keys.take("interval")).filter(|ms| *ms > 0);
    let query_offset_ms = length(keys.take("query_offset"));
    let limit = keys.take("limit").and_then(|it| it.count());
    let common = keys.take("labels").map(|it| it.labels()).unwrap_or_default();
    let rules = keys.take("rules");
    let rules = rules.iter().flat_map(Reader::list);
    let rules = rules.filter_map(|reader| read_rule(&reader, &common)).collect();
    keys.end();
    RuleGroup { file: file.to_owned(), name, interval_ms, query_offset_ms, limit, rules }
}

fn read_rule(reader: &Reader<'_>, common: &BTreeMap<String, String>) -> Option<Rule> {
    let mut keys = reader.keys();
    let (record, alert) = (keys.take("record"), keys.take("alert"));
    let is_recording = record.is_some();
    let name = match (record, alert) {
        (Some(name), None) => name.read(record_name).unwrap_or_default(),
        (None, Some(name)) => name.read(filled).unwrap_or_default(),
        (Some(_), Some(_)) => {
            reader.error("a rule has either record or alert, not both");
            String::new()
        }
        (None, None) => {
            reader.error("a rule needs record or alert");
            String::new()
        }
    };
    let expression = keys.need("expr").and_then(|reader| {
        let read = reader.read(Expression::parse)?;
        if !matches!(read.kind(), Type::Scalar | Type::Vector) {
            reader.error(format!("a rule cannot be a {}", read.kind()));
        }
        Some((reader.text(), read))
    });
    let mut labels = common.clone();
    let given = keys.take("labels");
    labels.extend(given.as_ref().map(Reader::labels).unwrap_or_default());
    let kind = match is_recording {
        true => {
            for key in ["for", "keep_firing_for", "annotations"] {
                if let Some(reader) = keys.take(key) {
                    reader.error("a recording rule has none");
                }
            }
            Kind::Recording
        }
        false => Kind::Alerting(read_alerting(&mut keys, &labels, given.as_ref())),
    };
    keys.end();
    let (text, expression) = expression?;
    Some(Rule { name, text, expression, labels, kind })
}

/// The name of the series that a rule comes to. An expression in its place is a common slip.
fn record_name(text: &str) -> Result<String, String> {
    match text.contains(['{', '}']) {
        true => Err(format!("{text:?} has braces, which no such name has: should it be in expr?")),
        false => filled(text),
    }
}

/// A name, which says something.
fn filled(text: &str) -> Result<String, String> {
    if text.is_empty() { Err("must not be empty".to_owned()) } else { Ok(text.to_owned()) }
}

fn read_alerting(
    keys: &mut Keys<'_>,
    labels: &BTreeMap<String, String>,
    given: Option<&Reader<'_>>,
) -> Alerting {
    let length = |reader: Option<Reader<'_>>| {
        reader.and_then(|reader| reader.read(read_length)).unwrap_or_default()
    };
    let whole = keys.whole().clone();
    let template = |reader: &Reader<'_>, name: &str, text: &str| match Template::parse(text) {
        Ok(template) => Some((name.to_owned(), template)),
        Err(reason) => {
            reader.error(format!("template of {name}: {reason}"));
            None
        }
    };
    let at = given.unwrap_or(&whole);
    let labels = labels.iter().filter_map(|(name, text)| template(at, name, text)).collect();
    let annotations = keys.take("annotations");
    let texts = annotations.as_ref().map(|reader| reader.labels()).unwrap_or_default();
    let at = annotations.as_ref().unwrap_or(&whole);
    let annotations = texts.iter().filter_map(|(name, text)| template(at, name, text)).collect();
    Alerting {
        for_ms: length(keys.take("for")),
        keep_firing_ms: length(keys.take("keep_firing_for")),
        labels,
        annotations,
        annotation_texts: texts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read() {
        let text = "groups:\n- name: g\n  interval: 30s\n  limit: 5\n  query_offset: 1m\n  labels: \
            {team: a, kind: x}\n  rules:\n  - record: job:up:sum\n    expr: sum by (job) (up)\n    \
            labels: {kind: y}\n  - alert: Down\n    expr: up == 0\n    for: 5m\n    \
            keep_firing_for: 1m\n    annotations: {summary: '{{ $labels.instance }} is down'}\n";
        let (groups, notes) = read_rules(text, "r.yml").unwrap();
        assert!(notes.is_empty());
        let [group] = &groups[..] else { panic!("{groups:?}") };
        assert_eq!((group.interval_ms, group.limit), (Some(30_000), Some(5)));
        assert_eq!(group.key(), "r.yml;g");
        let [record, alert] = &group.rules[..] else { panic!("{group:?}") };
        assert_eq!(record.labels.get("kind").unwrap(), "y");
        assert_eq!(record.labels.get("team").unwrap(), "a");
        let Kind::Alerting(alerting) = &alert.kind else { panic!("{alert:?}") };
        assert_eq!((alerting.for_ms, alerting.keep_firing_ms), (300_000, 60_000));
        assert!(group.is_like(&read_rules(text, "r.yml").unwrap().0[0]));
    }

    #[test]
    fn what_is_wrong_is_told_with_line_and_key() {
        for (rule, wanted) in [
            ("{record: a}", "r.yml:4: groups[0].rules[0]: expr is missing"),
            ("{expr: up}", "needs record or alert"),
            ("{record: a, alert: b, expr: up}", "not both"),
            ("{record: a, expr: 'sum('}", "groups[0].rules[0].expr: "),
            ("{record: a, expr: 'up[5m]'}", "cannot be a range vector"),
            ("{record: a, expr: up, for: 5m}", "a recording rule has none"),
            ("{alert: a, expr: up, annotations: {s: '{{ $labels.'}}", "template of s: "),
            (
                "{alert: a, expr: up, labels: {s: '{{ $foo }}'}}",
                "r.yml:4: groups[0].rules[0].labels: template of s: there is no variable $foo",
            ),
            ("{alert: a, expr: up, for: long}", "not a length of time"),
            ("{alert: a, exp: up}", "exp is not a key"),
            (
                "{record: 'sum(up{job=\"a\"})', expr: up}",
                "r.yml:4: groups[0].rules[0].record: \"sum(up{job=\\\"a\\\"})\" has braces",
            ),
            ("{record: 'a}', expr: up}", "groups[0].rules[0].record: \"a}\" has braces"),
            ("{record: '', expr: up}", "groups[0].rules[0].record: must not be empty"),
            ("{alert: '', expr: up}", "groups[0].rules[0].alert: must not be empty"),
        ] {
            let text = format!("groups:\n- name: g\n  rules:\n  - {rule}\n");
            let errors = read_rules(&text, "r.yml").unwrap_err();
            assert!(errors.iter().any(|it| it.to_string().contains(wanted)), "{rule}: {errors:?}");
        }
        let twice = "groups:\n- name: g\n- name: g\n";
        assert!(read_rules(twice, "r.yml").unwrap_err()[0].what.contains("twice"));
        let nameless = read_rules("groups:\n- name: ''\n", "r.yml").unwrap_err();
        assert_eq!(nameless[0].to_string(), "r.yml:2: groups[0].name: must not be empty");
        // No number above 0 is no limit.
        let limit_of = |limit: &str| {
            let text = format!("groups: [{{name: g, limit: {limit}}}]");
            read_rules(&text, "r.yml").map(|(groups, _)| groups[0].limit)
        };
        assert_eq!(
            [limit_of("-1"), limit_of("0"), limit_of("5")],
            [Ok(None), Ok(None), Ok(Some(5))]
        );
        assert!(limit_of("'-1'").is_err() && limit_of("-1.5").is_ok() && limit_of("x").is_err());
        // Braces of an alert's name are letters like others.
        let alert = "groups: [{name: g, rules: [{alert: 'a{b}', expr: up}]}]";
        assert!(read_rules(alert, "r.yml").is_ok());
    }
}
