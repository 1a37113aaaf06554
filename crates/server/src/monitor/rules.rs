//! Follows groups of rules: each is evaluated when it is due, rule after rule for one time, as a
//! query with all limits of queries.

use super::notifier::Notice;
use super::{Loaded, now_ms, sleep_until};
use crate::aside::aside;
use crate::ingest;
use crate::metrics::Way;
use crate::query::{Failure, Language, Question, Title, collect};
use crate::shared::Shared;
use foliot_lock::{Mutex, Rank};
use foliot_monitor::{
    Alert, Alerts, FOR_STATE, Kind, LabelSet, Row, Rule, RuleGroup, Schedule, Settings, Stage,
    Step, fnv,
};
use foliot_proto_prometheus::{Asked, Expression, STALE, Samples, Span, number, pack_labels};
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Handle;
use tokio::sync::watch;

const NAME: &str = "__name__";

/// How long a sample counts when no later one follows it: Prometheus' default.
const LOOKBACK_MS: i64 = 5 * 60 * 1000;

/// What a group is told.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) loaded: Arc<Loaded>,
    pub(super) group: Arc<RuleGroup>,
    /// The group is gone.
    pub(super) is_over: bool,
}

/// A group, for whoever asks.
#[derive(Debug)]
pub(crate) struct State {
    now: Mutex<Seen>,
}

/// How a group went last.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) group: Arc<RuleGroup>,
    pub(crate) interval_ms: u64,
    pub(crate) at_ms: i64,
    pub(crate) seconds: f64,
    pub(crate) rules: Vec<SeenRule>,
}

/// How a rule went last.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenRule {
    /// Nothing: it was not evaluated yet.
    pub(crate) is_good: Option<bool>,
    pub(crate) error: String,
    pub(crate) at_ms: i64,
    pub(crate) seconds: f64,
    pub(crate) alerts: Arc<Vec<Alert>>,
}

impl State {
    pub(super) fn new(order: &Order) -> Self {
        Self { now: Mutex::new(Rank::Table, Seen::new(order)) }
    }

    pub(crate) fn seen(&self) -> Seen {
        self.now.lock().clone()
    }
}

impl Seen {
    fn new(order: &Order) -> Self {
        let rules = vec![SeenRule::default(); order.group.rules.len()];
        let (group, interval_ms) = (order.group.clone(), order.interval_ms());
        Self { group, interval_ms, at_ms: 0, seconds: 0.0, rules }
    }
}

impl Order {
    /// Time between two evaluations.
    fn interval_ms(&self) -> u64 {
        let otherwise = self.loaded.config.global.evaluation_interval_ms;
        self.group.interval_ms.unwrap_or(otherwise).max(1)
    }
}

/// Follows a group until it is gone or the server stops.
pub(super) async fn serve(
    shared: Arc<Shared>,
    mut orders: watch::Receiver<Order>,
    state: Arc<State>,
) {
    let order = orders.borrow_and_update().clone();
    let mut follower = Follower::new(shared.clone(), order, state);
    let mut due_ms = follower.schedule().after(now_ms());
    loop {
        tokio::select! {
            () = sleep_until(due_ms) => {
                // Late or not, an evaluation is for the time at which it was due.
                follower.evaluate(due_ms).await;
                let (next_ms, missed) = follower.schedule().next(due_ms, now_ms());
                shared.monitor.figures.evaluations_missed.add(missed);
                due_ms = next_ms;
            }
            changed = orders.changed() => {
                let order = orders.borrow_and_update().clone();
                if order.is_over || changed.is_err() {
                    return follower.end();
                }
                let before = follower.schedule();
                follower.obey(order);
                if follower.schedule() != before {
                    due_ms = follower.schedule().after(now_ms());
                }
            }
            () = shared.stopping() => return,
        }
    }
}

struct Follower {
    shared: Arc<Shared>,
    order: Order,
    state: Arc<State>,
    alerts: Vec<Alerts>,
    /// Series that each rule came to last.
    before: Vec<HashSet<Vec<u8>>>,
    is_restored: bool,
}

impl Follower {
    fn new(shared: Arc<Shared>, order: Order, state: Arc<State>) -> Self {
        let count = order.group.rules.len();
        let (alerts, before) = (vec![Alerts::default(); count], vec![HashSet::new(); count]);
        Self { shared, order, state, alerts, before, is_restored: false }
    }

    /// When the group is due, on every server at the same times.
    fn schedule(&self) -> Schedule {
        let key = self.order.group.key();
        Schedule::new(self.order.interval_ms(), fnv([key.as_str()].into_iter()))
    }

    /// The configuration was read again. Rules of the same kind, name and labels keep what they
    /// had; what others came to is over.
    fn obey(&mut self, order: Order) {
        let is_same = order.group.is_like(&self.order.group);
        let before = std::mem::replace(&mut self.order, order);
        let mut now = Seen::new(&self.order);
        if is_same {
            now = Seen { interval_ms: now.interval_ms, ..self.state.seen() };
        } else {
            let known = before.group.rules.iter().map(identity);
            let kept = std::mem::take(&mut self.alerts).into_iter();
            let kept = kept.zip(std::mem::take(&mut self.before));
            let mut known: Vec<_> = known.zip(kept).collect();
            for rule in &self.order.group.rules {
                let at = known.iter().position(|(known, _)| *known == identity(rule));
                let (alerts, before) = at.map(|at| known.swap_remove(at).1).unwrap_or_default();
                self.alerts.push(alerts);
                self.before.push(before);
            }
            self.is_restored = false;
            let over = known.into_iter().flat_map(|(_, (_, before))| before);
            self.mark_over(&over.collect::<Vec<_>>());
        }
        *self.state.now.lock() = now;
    }

    /// Says that a rule begins to fail, and that it does no longer; not each time.
    fn tell(&self, index: usize, outcome: &Result<(), String>) {
        let was_good = self.state.now.lock().rules.get(index).and_then(|seen| seen.is_good);
        let group = &self.order.group;
        let name = group.rules.get(index).map_or("", |rule| &*rule.name);
        match (was_good, outcome) {
            (Some(false), Ok(())) => log::info!("rule {name} of {} is well again", group.key()),
            (Some(false), Err(_)) | (_, Ok(())) => {}
            (_, Err(reason)) => log::warn!(
                "rule {name} of {} fails: {reason}; foliot_rules_failed_total counts how often, and \
                 its end is told",
                group.key()
            ),
        }
    }

    async fn evaluate(&mut self, at_ms: i64) {
        let began = Instant::now();
        let group = self.order.group.clone();
        self.shared.monitor.figures.evaluations.add(1);
        for (index, rule) in group.rules.iter().enumerate() {
            let began = Instant::now();
            let outcome = self.rule(index, rule, at_ms).await;
            self.shared.monitor.figures.rules.add(1);
            if outcome.is_err() {
                self.shared.monitor.figures.rules_failed.add(1);
            }
            self.tell(index, &outcome);
            let alerts = self.alerts.get(index).map(|alerts| alerts.iter().cloned().collect());
            let seen = SeenRule {
                is_good: Some(outcome.is_ok()),
                error: outcome.err().unwrap_or_default(),
                at_ms: now_ms(),
                seconds: began.elapsed().as_secs_f64(),
                alerts: Arc::new(alerts.unwrap_or_default()),
            };
            if let Some(place) = self.state.now.lock().rules.get_mut(index) {
                *place = seen;
            }
            if self.shared.is_stopping() {
                return;
            }
        }
        if !self.is_restored {
            self.restore(at_ms).await;
        }
        let mut now = self.state.now.lock();
        now.at_ms = now_ms();
        now.seconds = began.elapsed().as_secs_f64();
        self.shared.monitor.figures.rule_nanos.add(began.elapsed().as_nanos() as u64);
    }

    async fn rule(&mut self, index: usize, rule: &Rule, at_ms: i64) -> Result<(), String> {
        let offset_ms = self.order.group.query_offset_ms;
        let offset_ms = offset_ms.unwrap_or(self.order.loaded.config.global.rule_query_offset_ms);
        let asked_ms = at_ms - offset_ms as i64;
        let rows = ask(&self.shared, &rule.text, &rule.expression, asked_ms, LOOKBACK_MS).await?;
        let mut samples = Samples::default();
        match &rule.kind {
            Kind::Recording => self.record(rule, rows, asked_ms, &mut samples)?,
            Kind::Alerting(_) => {
                aside(|| self.alert(index, rule, &rows, at_ms, asked_ms))?;
                if let Some(alerts) = self.alerts.get(index) {
                    alerts.push(asked_ms, &mut samples);
                }
            }
        }
        let now: HashSet<Vec<u8>> = samples.iter().map(|(key, ..)| key.into_owned()).collect();
        if let Some(before) = self.before.get_mut(index) {
            let over = before.iter().filter(|key| !now.contains(*key));
            over.for_each(|key| samples.push(key, STALE, asked_ms));
            *before = now;
        }
        aside(|| ingest::samples(&self.shared, Way::Rules, &samples)).map(drop)
    }

    /// Makes series of an answer.
    fn record(
        &self,
        rule: &Rule,
        rows: Vec<Row>,
        at_ms: i64,
        samples: &mut Samples,
    ) -> Result<(), String> {
        let mut seen = HashSet::new();
        for row in rows {
            let mut labels = row.labels;
            labels.insert(NAME.to_owned(), rule.name.clone());
            labels.extend(rule.labels.clone());
            labels.retain(|_, value| !value.is_empty());
            let pairs = labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
            let key = pack_labels(pairs);
            if !seen.insert(key.clone()) {
                let text = "vector contains metrics with the same labelset after applying rule \
                            labels";
                return Err(text.to_owned());
            }
            samples.push(&key, row.value, at_ms);
        }
        match self.order.group.limit {
            Some(limit) if seen.len() as u64 > limit => {
                let count = seen.len();
                Err(format!("{count} series are more than the limit of the group: {limit}"))
            }
            _ => Ok(()),
        }
    }

    /// Steps the alerts of a rule, and tells those that are due.
    fn alert(
        &mut self,
        index: usize,
        rule: &Rule,
        rows: &[Row],
        at_ms: i64,
        asked_ms: i64,
    ) -> Result<(), String> {
        let (Kind::Alerting(alerting), Some(alerts)) = (&rule.kind, self.alerts.get_mut(index))
        else {
            return Ok(());
        };
        let shared = &self.shared;
        let external_url = shared.monitor.external_url(shared);
        let external_labels = &self.order.loaded.config.global.external_labels;
        let settings = Settings {
            name: &rule.name,
            rule: alerting,
            limit: self.order.group.limit,
            external_labels,
            external_url: &external_url,
        };
        let mut query = |text: &str| {
            let expression = Expression::parse(text).map_err(|error| error.to_string())?;
            let asked = ask(shared, text, &expression, asked_ms, LOOKBACK_MS);
            let rows = Handle::current().block_on(asked)?;
            Ok(rows.into_iter().map(with_text).collect())
        };
        alerts.step(&settings, Step { at_ms, rows, query: &mut query })?;
        let resend_ms = shared.config.prometheus_resend_delay.as_millis() as i64;
        let due = alerts.due(at_ms, resend_ms, self.order.interval_ms() as i64);
        if !due.is_empty() {
            let generator = super::generator(&external_url, &rule.text);
            shared.monitor.notify(due.into_iter().map(|alert| Notice::new(alert, &generator)));
        }
        Ok(())
    }

    /// Takes over since when alerts were so before the server was started.
    async fn restore(&mut self, at_ms: i64) {
        let config = &self.shared.config;
        let back_ms = config.prometheus_for_outage_tolerance.as_millis() as i64;
        let grace_ms = config.prometheus_for_grace_period.as_millis() as i64;
        let group = self.order.group.clone();
        for (rule, alerts) in group.rules.iter().zip(&mut self.alerts) {
            let Kind::Alerting(alerting) = &rule.kind else { continue };
            if alerts.is_restored() {
                continue;
            }
            let is_needed = alerts.stage() == Stage::Pending;
            let states = match is_needed {
                true => states(&self.shared, &rule.name, at_ms, back_ms).await,
                false => Ok(Vec::new()),
            };
            match states {
                Ok(states) => alerts.restore(alerting, at_ms, grace_ms, &states),
                Err(reason) => {
                    log::warn!("since when {} is so cannot be restored: {reason}", rule.name);
                    alerts.restore(alerting, at_ms, grace_ms, &[]);
                }
            }
        }
        self.is_restored = true;
    }

    /// The group is gone: what its rules came to is over.
    fn end(&mut self) {
        let over: Vec<Vec<u8>> = self.before.drain(..).flatten().collect();
        self.mark_over(&over);
    }

    fn mark_over(&self, keys: &[Vec<u8>]) {
        let (mut samples, at_ms) = (Samples::default(), now_ms());
        keys.iter().for_each(|key| samples.push(key, STALE, at_ms));
        let stored = aside(|| ingest::samples(&self.shared, Way::Rules, &samples));
        if let Err(reason) = stored {
            let key = self.order.group.key();
            log::warn!("series of {key} are not marked as over: {reason}");
        }
    }
}

/// What tells a rule from others of its group.
fn identity(rule: &Rule) -> (bool, String, BTreeMap<String, String>) {
    (matches!(rule.kind, Kind::Recording), rule.name.clone(), rule.labels.clone())
}

/// Since when alerts of a name were so, and when that was seen last, in milliseconds.
async fn states(
    shared: &Arc<Shared>,
    name: &str,
    at_ms: i64,
    back_ms: i64,
) -> Result<Vec<(LabelSet, i64, i64)>, String> {
    let name = name.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    let selector = format!("{FOR_STATE}{{alertname=\"{name}\"}}");
    let mut asked = Vec::new();
    for text in [selector.clone(), format!("timestamp({selector})")] {
        let expression = Expression::parse(&text).map_err(|error| error.to_string())?;
        asked.push(ask(shared, &text, &expression, at_ms, back_ms).await?);
    }
    let [since, seen] = <[Vec<Row>; 2]>::try_from(asked).unwrap_or_default();
    let ms = |seconds: f64| (seconds * 1000.0) as i64;
    let found = since.into_iter().filter_map(|row| {
        let mut labels = row.labels;
        labels.remove(NAME);
        let is_same = |seen: &&Row| {
            let others = seen.labels.iter().filter(|(name, _)| *name != NAME);
            others.eq(labels.iter())
        };
        let seen_ms = ms(seen.iter().find(is_same)?.value);
        Some((labels, ms(row.value), seen_ms))
    });
    Ok(found.collect())
}

/// A row with its value as text, which templates may ask for.
fn with_text(mut row: Row) -> Row {
    row.labels.insert("__value__".to_owned(), number(row.value));
    row
}

/// Answers an expression for one time, with the rights of the operator and the limits of queries.
async fn ask(
    shared: &Arc<Shared>,
    text: &str,
    expression: &Expression,
    at_ms: i64,
    lookback_ms: i64,
) -> Result<Vec<Row>, String> {
    let store = shared.store().ok_or("the store is not open")?;
    let namespace = store.default_namespace().map_err(|missing| missing.to_string())?;
    let span = Span { start_ms: at_ms, end_ms: at_ms, step_ms: 1, lookback_ms, is_range: false };
    let Asked::Grid(grid) = expression.ask(namespace, &span)? else {
        return Err("this expression has no series".to_owned());
    };
    let database = shared.config.listen_database.database.clone();
    let question = Question::new(Language::PromQl, vec![text.to_owned()]).over(at_ms, at_ms);
    let title = Title::new(format!("rule {text}"), database).asking(question);
    let who = shared.gate.anyone();
    let collected = collect(shared, who, title, grid, span.steps()).await;
    let rows = collected.map_err(|Failure { message, .. }| message)?;
    let row = |(labels, value): (foliot_model::Labels, f64)| Row {
        labels: labels.iter().map(|it| (it.name.to_string(), it.value.to_string())).collect(),
        value,
    };
    Ok(rows.into_iter().map(row).collect())
}
