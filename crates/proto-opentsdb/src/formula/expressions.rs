//! `/api/query/exp`: named questions, joined by their tags, and arithmetic over them.
//!
//! Every series is asked for as usual. An expression joins the series of its inputs by equal tags
//! (`union`: any of them is enough; `intersection`: all must have it), and is worked out at every
//! time that any of them has. What is missing then counts as the input's fill policy says, 0 unless
//! it says something.
//!
//! Differs from OpenTSDB on purpose: requests that do not parse are answered 400; a question may be
//! asked twice under two names; expressions may come out as whole numbers.

use super::arithmetic::Term;
use super::shown;
use super::{Answered, Budget, Collected, Number, UidOf, check_count};
use crate::UidKind;
use crate::encode::{write_double, write_text};
use crate::http::{HttpError, HttpRequest, Params};
use crate::json;
use crate::lang::time::parse_time;
use crate::lang::{Part, Request};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// A query of expressions.
#[derive(Debug)]
pub(super) struct ExpressionQuery {
    /// The query, to be shown.
    shown: Value,
    frame: Request,
    metrics: Vec<Metric>,
    expressions: Vec<Expression>,
    outputs: Vec<Output>,
}

/// A named question.
#[derive(Debug)]
struct Metric {
    id: String,
    question: Request,
    /// Names of the tags that its filters are about.
    filtered: BTreeSet<String>,
    fill: f64,
}

/// A named expression.
#[derive(Debug)]
struct Expression {
    id: String,
    term: Term,
    is_intersection: bool,
    uses_query_tags: bool,
    includes_varying: bool,
}

#[derive(Debug)]
struct Output {
    id: String,
    alias: Option<String>,
}

fn refuse(message: impl Into<String>) -> HttpError {
    HttpError::bad_request(message)
}

impl ExpressionQuery {
    /// Reads a request.
    ///
    /// # Errors
    /// 400 for what does not parse or does not fit together.
    pub(super) fn parse(request: &HttpRequest<'_>, now_ms: i64) -> Result<Self, HttpError> {
        let params = Params::parse(request.query);
        let body = json::parse_object(request.body)?;
        let time = body.get("time").filter(|time| time.is_object());
        let time = time.ok_or_else(|| refuse("missing time"))?;
        let start = json::text(time, "start")?.ok_or_else(|| refuse("missing or empty start"))?;
        let zone = json::text(time, "timezone")?;
        let end = json::text(time, "end")?;
        let frame = Request::between(&params, &start, end.as_deref(), zone.as_deref(), now_ms)?;
        let metrics = metrics(&body, time, &frame)?;
        let expressions = expressions(&body)?;
        let outputs = outputs(&body, &metrics, &expressions)?;
        let shown = shown::query(&body)?;
        let query = Self { shown, frame, metrics, expressions, outputs };
        query.check_names()?;
        Ok(query)
    }

    /// What is to be asked first, in this order.
    pub(super) fn questions(&self) -> Vec<&Request> {
        self.metrics.iter().map(|metric| &metric.question).collect()
    }

    /// Names must be given once, and expressions may only use names that are, and not themselves.
    fn check_names(&self) -> Result<(), HttpError> {
        let mut ids = HashSet::new();
        for metric in &self.metrics {
            if !ids.insert(metric.id.as_str()) {
                return Err(refuse(format!("duplicated metric id: {}", metric.id)));
            }
        }
        for expression in &self.expressions {
            if !ids.insert(expression.id.as_str()) {
                let id = &expression.id;
                return Err(refuse(format!("Duplicated variable or expression id: {id}")));
            }
        }
        for expression in &self.expressions {
            let names = expression.term.names();
            if names.is_empty() {
                let message = "The expression didn't appear to have any variables";
                return Err(refuse(message));
            }
            if names.contains(&expression.id) {
                let id = &expression.id;
                return Err(refuse(format!("Self referencing expression found: {id}")));
            }
            if let Some(name) = names.iter().find(|name| !ids.contains(name.as_str())) {
                let id = &expression.id;
                return Err(refuse(format!("Expression [{id}] was missing input {name}")));
            }
        }
        self.order().map(|_| ())
    }

    /// The expressions in an order in which each comes after those it uses.
    fn order(&self) -> Result<Vec<&Expression>, HttpError> {
        let mut done: HashSet<&str> = self.metrics.iter().map(|m| m.id.as_str()).collect();
        let mut left: Vec<&Expression> = self.expressions.iter().collect();
        let mut ordered = Vec::new();
        while !left.is_empty() {
            let is_ready =
                |e: &&Expression| e.term.names().iter().all(|name| done.contains(name.as_str()));
            let (ready, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(is_ready);
            if let (true, Some(stuck)) = (ready.is_empty(), rest.first()) {
                return Err(refuse(format!("Circular reference found: {}", stuck.id)));
            }
            done.extend(ready.iter().map(|expression| expression.id.as_str()));
            ordered.extend(ready);
            left = rest;
        }
        Ok(ordered)
    }

    /// Works the expressions out and writes the answer.
    ///
    /// # Errors
    /// 400 when an intersection is empty, and what the budget refuses.
    pub(super) fn finish(
        &self,
        collected: Collected,
        uid_of: &UidOf<'_>,
        budget: &Budget<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), HttpError> {
        let mut tables: HashMap<&str, Table> = HashMap::new();
        for (metric, answers) in self.metrics.iter().zip(collected.answers) {
            tables.insert(&metric.id, Table::of(metric, answers, budget)?);
        }
        for expression in self.order()? {
            let table = expression.evaluate(&tables, uid_of, budget)?;
            tables.insert(&expression.id, table);
        }
        out.extend_from_slice(b"{\"outputs\":[");
        let is_metric = |id: &str| self.metrics.iter().any(|metric| metric.id == id);
        let mut is_first = true;
        for output in &self.outputs {
            let Some(table) = tables.get(output.id.as_str()) else { continue };
            out.extend_from_slice(if is_first { b"" } else { b"," });
            is_first = false;
            // OpenTSDB shows all samples it looked at for a question, but cuts expressions.
            let range = match is_metric(&output.id) {
                true => i64::MIN..=i64::MAX,
                false => self.frame.start_ms..=self.frame.end_ms,
            };
            write_table(output, table, &range, is_metric(&output.id), budget, out)?;
        }
        out.extend_from_slice(b"],\"query\":");
        out.extend_from_slice(self.shown.to_string().as_bytes());
        out.push(b'}');
        Ok(())
    }
}

/// The series of a question or an expression side by side.
#[derive(Clone, Debug)]
struct Table {
    rows: Vec<Row>,
    /// What a missing value counts as for whoever uses this.
    fill: f64,
    filtered: BTreeSet<String>,
}

/// One series of a table.
#[derive(Clone, Debug, Default)]
struct Row {
    metrics: BTreeSet<String>,
    tags: BTreeMap<String, String>,
    varying: BTreeSet<String>,
    /// By time.
    points: Points,
}

type Points = Vec<(i64, f64)>;

fn value_at(points: &Points, time: i64) -> Option<f64> {
    let at = points.binary_search_by_key(&time, |(time, _)| *time).ok()?;
    points.get(at).map(|(_, value)| *value)
}

impl Table {
    fn of(metric: &Metric, answers: Vec<Answered>, budget: &Budget<'_>) -> Result<Self, HttpError> {
        let mut rows = Vec::with_capacity(answers.len());
        // A series without points joins nothing.
        for series in answers.into_iter().filter(|series| !series.points.is_empty()) {
            budget.step()?;
            budget.take_for::<(i64, f64)>(series.points.len())?;
            let points = series.points.iter().map(|(time, v)| (*time, Number::to_f64(*v)));
            let mut points: Points = points.collect();
            // Of points of one millisecond the last counts.
            points.reverse();
            points.sort_by_key(|(time, _)| *time);
            points.dedup_by_key(|(time, _)| *time);
            rows.push(Row {
                metrics: BTreeSet::from([series.metric]),
                tags: series.tags,
                varying: series.varying,
                points,
            });
        }
        Ok(Self { rows, fill: metric.fill, filtered: metric.filtered.clone() })
    }

    fn times(&self, budget: &Budget<'_>) -> Result<Vec<i64>, HttpError> {
        times(self.rows.iter(), budget)
    }
}

/// All times of some rows, ascending.
fn times<'r>(
    rows: impl Iterator<Item = &'r Row>,
    budget: &Budget<'_>,
) -> Result<Vec<i64>, HttpError> {
    let mut all: Vec<i64> = Vec::new();
    for row in rows {
        budget.steps(all.len() + row.points.len())?;
        let is_known = all.len() == row.points.len()
            && all.iter().zip(&row.points).all(|(known, (time, _))| known == time);
        if !is_known {
            budget.take_for::<i64>(row.points.len())?;
            all.extend(row.points.iter().map(|(time, _)| *time));
            // Two runs in order, which this sort merges.
            all.sort();
            all.dedup();
        }
    }
    Ok(all)
}

/// What series are joined by: numbers of tags' names and values, and of names that vary.
type Key = (Vec<(Option<u32>, Option<u32>)>, Vec<Option<u32>>);

impl Expression {
    fn evaluate(
        &self,
        tables: &HashMap<&str, Table>,
        uid_of: &UidOf<'_>,
        budget: &Budget<'_>,
    ) -> Result<Table, HttpError> {
        let names = self.term.names().iter();
        let inputs: Vec<&Table> = names.filter_map(|name| tables.get(name.as_str())).collect();
        let mut joined: BTreeMap<Key, Vec<Option<&Row>>> = BTreeMap::new();
        for (place, input) in inputs.iter().enumerate() {
            for row in &input.rows {
                budget.step()?;
                let key = self.key(row, &input.filtered, uid_of);
                let group = joined.entry(key).or_insert_with(|| vec![None; inputs.len()]);
                if let Some(slot) = group.get_mut(place) {
                    *slot = Some(row);
                }
            }
        }
        if self.is_intersection && !joined.is_empty() {
            joined.retain(|_, group| group.iter().all(Option::is_some));
            if joined.is_empty() {
                return Err(refuse(format!("No intersections found: {}", self.id)));
            }
        }
        let times = times(joined.values().flatten().flatten().copied(), budget)?;
        let mut stack = Vec::new();
        let mut rows = Vec::with_capacity(joined.len());
        for group in joined.values() {
            budget.take_for::<(i64, f64)>(times.len())?;
            let known: Vec<&Row> = group.iter().copied().flatten().collect();
            let mut points = Vec::with_capacity(times.len());
            for &time in &times {
                budget.step()?;
                let value_of = |place: usize| {
                    let fill = inputs.get(place).map_or(0.0, |input| input.fill);
                    match group.get(place).copied().flatten() {
                        // Series that a union lacks are zero whatever the policy.
                        None => 0.0,
                        Some(row) => {
                            let value = value_at(&row.points, time);
                            value.filter(|value| !value.is_nan()).unwrap_or(fill)
                        }
                    }
                };
                points.push((time, self.term.value(&mut stack, &value_of)));
            }
            rows.push(Row {
                metrics: known.iter().flat_map(|row| row.metrics.iter().cloned()).collect(),
                tags: known.first().map(|row| row.tags.clone()).unwrap_or_default(),
                varying: known.iter().flat_map(|row| row.varying.iter().cloned()).collect(),
                points,
            });
        }
        Ok(Table { rows, fill: f64::NAN, filtered: BTreeSet::new() })
    }

    /// What a series is joined by. Series without tags of one value are all the same.
    fn key(&self, row: &Row, filtered: &BTreeSet<String>, uid_of: &UidOf<'_>) -> Key {
        if row.tags.is_empty() {
            return Key::default();
        }
        let is_part = |key: &str| !self.uses_query_tags || filtered.contains(key);
        let tags =
            row.tags.iter().filter(|(key, _)| is_part(key)).map(|(key, value)| {
                (uid_of(UidKind::TagKey, key), uid_of(UidKind::TagValue, value))
            });
        let mut tags: Vec<_> = tags.collect();
        tags.sort_unstable();
        let varying = row.varying.iter().filter(|_| self.includes_varying);
        let mut varying: Vec<_> = varying.map(|key| uid_of(UidKind::TagKey, key)).collect();
        varying.sort_unstable();
        (tags, varying)
    }
}

fn write_table(
    output: &Output,
    table: &Table,
    range: &std::ops::RangeInclusive<i64>,
    is_metric: bool,
    budget: &Budget<'_>,
    out: &mut Vec<u8>,
) -> Result<(), HttpError> {
    out.extend_from_slice(b"{\"id\":");
    write_text(&output.id, out);
    if let Some(alias) = &output.alias {
        out.extend_from_slice(b",\"alias\":");
        write_text(alias, out);
    }
    out.extend_from_slice(b",\"dps\":[");
    let times = table.times(budget)?.into_iter();
    let times: Vec<i64> = times.filter(|time| range.contains(time)).collect();
    for (index, time) in times.iter().enumerate() {
        out.extend_from_slice(if index > 0 { b",[" } else { b"[" });
        out.extend_from_slice(time.to_string().as_bytes());
        let before = out.len();
        for row in &table.rows {
            budget.step()?;
            out.push(b',');
            // A question's own gaps are shown as its fill policy would fill them.
            let value = value_at(&row.points, *time).unwrap_or(0.0);
            match value {
                value if value.is_finite() => write_double(value, out),
                value if value.is_nan() => out.extend_from_slice(b"\"NaN\""),
                value if value > 0.0 => out.extend_from_slice(b"\"Infinity\""),
                _ => out.extend_from_slice(b"\"-Infinity\""),
            }
        }
        out.push(b']');
        budget.take((out.len() - before) as u64)?;
    }
    let (first, last) = (times.first().copied(), times.last().copied());
    let (first, last) = match is_metric {
        true => (first.unwrap_or(i64::MAX), last.unwrap_or(0)),
        // OpenTSDB notes the last time only from the second one on.
        false => (first.unwrap_or(0), last.filter(|_| times.len() > 1).unwrap_or(0)),
    };
    let meta = json!({
        "firstTimestamp": first,
        "lastTimestamp": last,
        "setCount": times.len(),
        "series": table.rows.len(),
    });
    out.extend_from_slice(format!("],\"dpsMeta\":{meta}").as_bytes());
    if let Some(first) = table.rows.first() {
        let mut list = vec![json!({"index": 0, "metrics": ["timestamp"]})];
        for (index, row) in table.rows.iter().enumerate() {
            list.push(json!({
                "index": index + 1,
                "metrics": first.metrics,
                "commonTags": row.tags,
                "aggregatedTags": row.varying,
            }));
        }
        out.extend_from_slice(format!(",\"meta\":{}", Value::Array(list)).as_bytes());
    }
    out.push(b'}');
    Ok(())
}

fn check_id(id: Option<String>) -> Result<String, HttpError> {
    let id = id.ok_or_else(|| refuse("missing or empty id"))?;
    if let Some(c) = id.chars().find(|c| !c.is_alphanumeric()) {
        return Err(refuse(format!("Invalid id (\"{id}\"): illegal character: {c}")));
    }
    match id.len() == 1 && id.starts_with(|c: char| c.is_ascii_digit()) {
        true => Err(refuse("The ID cannot be an integer")),
        false => Ok(id),
    }
}

fn metrics(body: &Value, time: &Value, frame: &Request) -> Result<Vec<Metric>, HttpError> {
    let list = json::list(body, "metrics")?;
    check_count(list.len())?;
    if list.is_empty() {
        return Err(refuse("missing or empty metrics"));
    }
    let mut filters: HashMap<String, &Value> = HashMap::new();
    for filter in json::list(body, "filters")? {
        let id = check_id(json::text(filter, "id")?)?;
        if filters.insert(id.clone(), filter).is_some() {
            return Err(refuse(format!("duplicated filter id: {id}")));
        }
    }
    let default = json::text(time, "aggregator")?;
    let default = default.ok_or_else(|| refuse("Missing or empty aggregator"))?;
    let downsample = match time.get("downsampler").filter(|value| value.is_object()) {
        None => None,
        Some(spec) => {
            let interval = json::text(spec, "interval")?;
            let interval = interval.ok_or_else(|| refuse("Missing or empty interval"))?;
            let function = json::text(spec, "aggregator")?;
            let function = function.ok_or_else(|| refuse("Missing or empty aggregator"))?;
            Some(format!("{interval}-{function}"))
        }
    };
    let rates = json::flag(time, "rate")?;
    let read = |value: &Value| {
        let id = check_id(json::text(value, "id")?)?;
        let name = json::text(value, "metric")?;
        let name = name.ok_or_else(|| refuse("missing or empty metric"))?;
        let offset = json::text(value, "timeOffset")?;
        if let Some(offset) = offset {
            parse_time(&offset, &jiff::tz::TimeZone::UTC, frame.end_ms)?;
        }
        let filter = match json::text(value, "filter")? {
            None => None,
            Some(wanted) => Some(*filters.get(&wanted).ok_or_else(|| {
                refuse(format!("unrecognized filter id {wanted} in metric {id}"))
            })?),
        };
        let aggregator = json::text(value, "aggregator")?.unwrap_or_else(|| default.clone());
        let (tags, is_explicit) = match filter {
            None => (&[][..], false),
            Some(filter) => (json::list(filter, "tags")?, json::flag(filter, "explicitTags")?),
        };
        let part = Part {
            metric: &name,
            aggregator: &aggregator,
            downsample: downsample.as_deref(),
            rates,
            filters: tags,
            is_explicit,
        };
        let mut filtered = BTreeSet::new();
        for tag in tags {
            filtered.extend(json::text(tag, "tagk")?);
        }
        Ok(Metric { id, question: frame.with(&part)?, filtered, fill: fill(value)? })
    };
    list.iter().map(read).collect()
}

/// What a missing value of a metric counts as.
fn fill(metric: &Value) -> Result<f64, HttpError> {
    let Some(policy) = metric.get("fillPolicy").filter(|value| value.is_object()) else {
        return Ok(0.0);
    };
    let value = json::number(policy, "value")?;
    Ok(match json::text(policy, "policy")?.map(|name| name.to_ascii_lowercase()).as_deref() {
        None => value.unwrap_or(0.0),
        Some("nan" | "null" | "none") => f64::NAN,
        Some("zero") => 0.0,
        Some("scalar") => value.unwrap_or(0.0),
        Some(other) => return Err(refuse(format!("Unrecognized fill policy: {other}"))),
    })
}

fn expressions(body: &Value) -> Result<Vec<Expression>, HttpError> {
    let read = |value: &Value| {
        let id = check_id(json::text(value, "id")?)?;
        let text = json::text(value, "expr")?.ok_or_else(|| refuse("missing or empty expr"))?;
        let term = Term::parse(&text).map_err(refuse)?;
        let join = value.get("join").filter(|join| join.is_object());
        let mut expression = Expression {
            id,
            term,
            is_intersection: false,
            uses_query_tags: false,
            includes_varying: true,
        };
        if let Some(join) = join {
            let operator = json::text(join, "operator")?.unwrap_or_default();
            expression.is_intersection = match operator.to_ascii_lowercase().as_str() {
                "union" => false,
                "intersection" => true,
                other => return Err(refuse(format!("Unrecognized set operator: {other}"))),
            };
            expression.uses_query_tags = json::flag(join, "useQueryTags")?;
            expression.includes_varying =
                join.get("includeAggTags").is_none() || json::flag(join, "includeAggTags")?;
        }
        Ok(expression)
    };
    let list = json::list(body, "expressions")?;
    check_count(list.len())?;
    list.iter().map(read).collect()
}

fn outputs(
    body: &Value,
    metrics: &[Metric],
    expressions: &[Expression],
) -> Result<Vec<Output>, HttpError> {
    let read = |value: &Value| {
        Ok(Output { id: check_id(json::text(value, "id")?)?, alias: json::text(value, "alias")? })
    };
    check_count(json::list(body, "outputs")?.len())?;
    let list: Vec<Output> =
        json::list(body, "outputs")?.iter().map(read).collect::<Result<_, HttpError>>()?;
    let plain = |id: &String| Output { id: id.clone(), alias: None };
    Ok(match (list.is_empty(), expressions.is_empty()) {
        (false, _) => list,
        (true, false) => expressions.iter().map(|expression| plain(&expression.id)).collect(),
        (true, true) => metrics.iter().map(|metric| plain(&metric.id)).collect(),
    })
}
