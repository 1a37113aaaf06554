//! The alerts of one rule, from evaluation to evaluation.
//!
//! What an expression's answer names is an alert. It is pending until it has been so for as long
//! as the rule says, then it fires; when it is not so any more it is resolved, and whom it was told
//! hears of that for a while. The states and their times are those of Prometheus
//! (`rules/alerting.go`).

use crate::relabel::{LabelSet, set};
use crate::rules::Alerting;
use crate::template::{Data, Row, Template};
use foliot_proto_prometheus::{Samples, pack_labels};
use std::collections::BTreeMap;

/// How long an alert that is resolved is still told, in milliseconds.
const RESOLVED_MS: i64 = 15 * 60 * 1000;

/// How often what is told holds for as long as until it is told again.
const VALID_FACTOR: i64 = 4;

const NAME: &str = "__name__";
const ALERT_NAME: &str = "alertname";

/// How far an alert has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// It was, and is not any more.
    Inactive,
    /// It is, but not for long enough.
    Pending,
    /// It is told.
    Firing,
}

impl Stage {
    /// As Prometheus calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inactive => "inactive",
            Self::Pending => "pending",
            Self::Firing => "firing",
        }
    }
}

/// Something that is wrong. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq)]
pub struct Alert {
    /// What tells it from others.
    pub labels: LabelSet,
    /// What is told beside.
    pub annotations: LabelSet,
    /// What the expression came to.
    pub value: f64,
    /// How far it has come.
    pub stage: Stage,
    /// Since when it is so.
    pub active_ms: i64,
    /// Since when it fires.
    pub fired_ms: Option<i64>,
    /// Since when it is not so any more.
    pub resolved_ms: Option<i64>,
    /// When it was told last, and until when that holds.
    pub sent_ms: Option<i64>,
    /// Until when what is told holds.
    pub valid_ms: i64,
    /// Since when it fires although it is not so any more.
    pub keep_since_ms: Option<i64>,
}

/// What all alerts of a rule have in common.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The rule's name.
    pub name: &'a str,
    /// The rule.
    pub rule: &'a Alerting,
    /// Alerts that there may be.
    pub limit: Option<u64>,
    /// Labels that all that is told gets.
    pub external_labels: &'a LabelSet,
    /// Where this server is reached.
    pub external_url: &'a str,
}

/// One evaluation.
pub struct Step<'a> {
    /// The time that it is for.
    pub at_ms: i64,
    /// What the expression came to.
    pub rows: &'a [Row],
    /// Answers expressions that templates ask.
    pub query: &'a mut dyn FnMut(&str) -> Result<Vec<Row>, String>,
}

/// The alerts of one rule.
#[derive(Clone, Debug, Default)]
pub struct Alerts {
    active: BTreeMap<LabelSet, Alert>,
    /// Whether what was before a restart has been looked for; until then nothing is written, which
    /// would hide it.
    is_restored: bool,
}

impl Alerts {
    /// Evaluates the rule once.
    ///
    /// # Errors
    /// When two alerts have the same labels, or there are too many; then there are none.
    pub fn step(&mut self, settings: &Settings<'_>, mut step: Step<'_>) -> Result<(), String> {
        let at_ms = step.at_ms;
        let found = found(settings, &mut step)?;
        for (labels, alert) in &found {
            match self.active.get_mut(labels) {
                Some(known) if known.stage != Stage::Inactive => {
                    known.value = alert.value;
                    known.annotations.clone_from(&alert.annotations);
                }
                _ => drop(self.active.insert(labels.clone(), alert.clone())),
            }
        }
        let rule = settings.rule;
        self.active.retain(|labels, alert| match found.contains_key(labels) {
            true => {
                alert.keep_since_ms = None;
                alert.advance(at_ms, rule);
                true
            }
            false => alert.recede(at_ms, rule),
        });
        let is_on = |alert: &&Alert| alert.stage != Stage::Inactive;
        let count = self.active.values().filter(is_on).count() as u64;
        match settings.limit {
            Some(limit) if count > limit => {
                self.active.clear();
                Err(format!("{count} alerts are more than the limit of the group: {limit}"))
            }
            _ => Ok(()),
        }
    }

    /// All of them, also those that are resolved.
    pub fn iter(&self) -> impl Iterator<Item = &Alert> {
        self.active.values()
    }

    /// The furthest stage that one of them has come to.
    pub fn stage(&self) -> Stage {
        self.iter().map(|alert| alert.stage).max().unwrap_or(Stage::Inactive)
    }

    /// Adds the series that say which alerts there are: `ALERTS`, and `ALERTS_FOR_STATE`, which is
    /// read after a restart.
    pub fn push(&self, at_ms: i64, out: &mut Samples) {
        if !self.is_restored {
            return;
        }
        for alert in self.iter().filter(|alert| alert.stage != Stage::Inactive) {
            let mut labels = alert.labels.clone();
            labels.insert(NAME.to_owned(), FOR_STATE.to_owned());
            out.push(&packed(&labels), alert.active_ms.div_euclid(1000) as f64, at_ms);
            labels.insert(NAME.to_owned(), "ALERTS".to_owned());
            labels.insert("alertstate".to_owned(), alert.stage.name().to_owned());
            out.push(&packed(&labels), 1.0, at_ms);
        }
    }

    /// Alerts that are due to be told, which are noted as told: those that fire and were not told
    /// within `resend_ms`, and those that are resolved since.
    pub fn due(&mut self, at_ms: i64, resend_ms: i64, interval_ms: i64) -> Vec<Alert> {
        let mut due = Vec::new();
        for alert in self.active.values_mut() {
            let is_news = alert.resolved_ms > alert.sent_ms;
            let is_old = alert.sent_ms.is_none_or(|sent_ms| sent_ms + resend_ms < at_ms);
            if alert.stage != Stage::Pending && (is_news || is_old) {
                alert.sent_ms = Some(at_ms);
                alert.valid_ms = at_ms + VALID_FACTOR * resend_ms.max(interval_ms);
                due.push(alert.clone());
            }
        }
        due
    }

    /// Whether what was before a restart has been looked for.
    pub fn is_restored(&self) -> bool {
        self.is_restored
    }

    /// Takes over since when alerts were so before a restart. `states` has their labels (with the
    /// name of the series), since when, and when that was seen last; `grace_ms` is how long a
    /// pending one waits at least, so that what went away meanwhile is noticed.
    pub fn restore(
        &mut self,
        rule: &Alerting,
        at_ms: i64,
        grace_ms: i64,
        states: &[(LabelSet, i64, i64)],
    ) {
        self.is_restored = true;
        let for_ms = rule.for_ms as i64;
        if for_ms == 0 || for_ms < grace_ms {
            // It fires before long anyway.
            return;
        }
        for alert in self.active.values_mut().filter(|alert| alert.stage == Stage::Pending) {
            let is_its = |labels: &LabelSet| {
                let own = labels.iter().filter(|(name, _)| *name != NAME);
                own.eq(alert.labels.iter())
            };
            let known = states.iter().find(|(labels, ..)| is_its(labels));
            let Some(&(_, since_ms, down_ms)) = known else { continue };
            let left_ms = for_ms - (down_ms - since_ms);
            alert.active_ms = if left_ms <= 0 {
                since_ms
            } else if left_ms < grace_ms {
                at_ms + grace_ms - for_ms
            } else {
                since_ms + (at_ms - down_ms)
            };
        }
    }
}

/// The series that says since when alerts are so.
pub const FOR_STATE: &str = "ALERTS_FOR_STATE";

fn packed(labels: &LabelSet) -> Vec<u8> {
    pack_labels(labels.iter().map(|(name, value)| (name.as_str(), value.as_str())))
}

/// What an evaluation finds to be so.
fn found(
    settings: &Settings<'_>,
    step: &mut Step<'_>,
) -> Result<BTreeMap<LabelSet, Alert>, String> {
    let mut found = BTreeMap::new();
    for row in step.rows {
        let data = Data {
            labels: &row.labels,
            external_labels: settings.external_labels,
            external_url: settings.external_url,
            value: row.value,
            now_ms: step.at_ms,
        };
        let mut expand = |template: &Template| {
            let expanded = template.expand(&data, step.query);
            expanded.unwrap_or_else(|reason| format!("<error expanding template: {reason}>"))
        };
        let mut labels = row.labels.clone();
        labels.remove(NAME);
        for (name, template) in &settings.rule.labels {
            set(&mut labels, name.clone(), expand(template));
        }
        set(&mut labels, ALERT_NAME.to_owned(), settings.name.to_owned());
        let annotations = settings.rule.annotations.iter();
        let annotations = annotations.map(|(name, text)| (name.clone(), expand(text))).collect();
        let alert = Alert {
            labels: labels.clone(),
            annotations,
            value: row.value,
            stage: Stage::Pending,
            active_ms: step.at_ms,
            fired_ms: None,
            resolved_ms: None,
            sent_ms: None,
            valid_ms: 0,
            keep_since_ms: None,
        };
        if found.insert(labels, alert).is_some() {
            let text = "vector contains metrics with the same labelset after applying alert labels";
            return Err(text.to_owned());
        }
    }
    Ok(found)
}

impl Alert {
    /// It is so.
    fn advance(&mut self, at_ms: i64, rule: &Alerting) {
        if self.stage == Stage::Pending && at_ms - self.active_ms >= rule.for_ms as i64 {
            self.stage = Stage::Firing;
            self.fired_ms = Some(at_ms);
        }
    }

    /// It is not so any more; says whether it is still remembered.
    fn recede(&mut self, at_ms: i64, rule: &Alerting) -> bool {
        let mut is_kept = false;
        if self.stage == Stage::Firing && rule.keep_firing_ms > 0 {
            let since_ms = *self.keep_since_ms.get_or_insert(at_ms);
            is_kept = at_ms - since_ms < rule.keep_firing_ms as i64;
        }
        let is_old = self.resolved_ms.is_some_and(|resolved| at_ms - resolved > RESOLVED_MS);
        if self.stage == Stage::Pending || is_old {
            return false;
        }
        if self.stage != Stage::Inactive && !is_kept {
            self.stage = Stage::Inactive;
            self.resolved_ms = Some(at_ms);
        }
        true
    }

    /// What an Alertmanager is told: labels with those that all get, when it began and ends, and
    /// where to look; as in its version 2 of its API.
    pub fn notification(&self, labels: &LabelSet, generator: &str) -> serde_json::Value {
        let date = |ms: i64| {
            let time = jiff::Timestamp::from_millisecond(ms).unwrap_or_default();
            serde_json::Value::from(time.to_string())
        };
        serde_json::json!({
            "labels": labels,
            "annotations": self.annotations,
            "startsAt": date(self.fired_ms.unwrap_or(self.active_ms)),
            "endsAt": date(self.resolved_ms.unwrap_or(self.valid_ms)),
            "generatorURL": generator,
        })
    }
}

#[cfg(test)]
mod tests;
