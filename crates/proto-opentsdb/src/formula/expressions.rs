//! `/api/query/exp`: named questions, joined by their tags, and arithmetic over them.
//!
//! Every series is asked for as usual. An expression joins the series of its inputs by equal tags
//! (`union`: any of them is enough; `intersection`: all must have it), and is worked out at every
//! time that any of them has. What is missing then counts as the input's fill policy says, 0 unless
//! it says something.
//!
//! Differs from OpenTSDB on purpose: requests that do not parse are answered 400; a question may be
//! asked twice under two names; expressions may come out as whole numbers.

use super::{Budget, arithmetic, check_count, check_finite, shown};
use crate::encode::{write_double, write_text};
use crate::http::{HttpError, HttpRequest, Params};
use crate::json;
use crate::lang::time::parse_time;
use crate::lang::{Part, Request};
use foliot_model::{Frame, NANOS_PER_MILLI, SeriesHead};
use foliot_plan::{Input, Joined, Series};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// A query of expressions.
#[derive(Debug)]
pub(super) struct ExpressionQuery {
    /// The query, to be shown.
    shown: Value,
    frame: Request,
    metrics: Vec<Metric>,
    /// Each after those that it uses.
    expressions: Vec<Expression>,
    outputs: Vec<Output>,
}

/// A named question.
#[derive(Debug)]
struct Metric {
    id: String,
    question: Request,
    /// Names of the tags that its filters are about.
    filtered: Vec<Arc<str>>,
    fill: f64,
}

/// A named expression.
#[derive(Debug)]
struct Expression {
    id: String,
    arithmetic: arithmetic::Expression,
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
        check_names(&metrics, &expressions)?;
        let expressions = ordered(&metrics, expressions)?;
        Ok(Self { shown, frame, metrics, expressions, outputs })
    }

    /// What is to be asked first, in this order.
    pub(super) fn questions(&self) -> Vec<&Request> {
        self.metrics.iter().map(|metric| &metric.question).collect()
    }

    /// The place of a question or an expression among all.
    fn place(&self, id: &str) -> Option<usize> {
        let ids = self.metrics.iter().map(|metric| &metric.id);
        ids.chain(self.expressions.iter().map(|expression| &expression.id)).position(|of| of == id)
    }

    /// What is asked, and what the expressions make of the answers.
    pub(super) fn plans(&self, mut asked: Vec<Series>) -> Vec<Series> {
        asked.extend(self.expressions.iter().map(|expression| self.plan(expression)));
        asked
    }

    fn plan(&self, expression: &Expression) -> Series {
        let input = |name: &String| {
            let place = self.place(name)?;
            // What an expression has no value for is none.
            let (fill, filtered) = match self.metrics.get(place) {
                Some(metric) => (metric.fill, metric.filtered.clone()),
                None => (f64::NAN, Vec::new()),
            };
            let labels = expression.uses_query_tags.then_some(filtered);
            Some(Input { series: Series::Answer(place), fill, labels })
        };
        Series::Joined(Box::new(Joined {
            inputs: expression.arithmetic.names.iter().filter_map(input).collect(),
            by_varying: expression.includes_varying,
            needs_all: expression.is_intersection,
            at_all_times: true,
            term: expression.arithmetic.term.clone(),
        }))
    }

    /// An answer to be made of frames.
    pub(super) fn answer<'a>(&'a self, budget: &'a Budget<'a>) -> ExpressionAnswer<'a> {
        let metrics = self.metrics.iter().map(|metric| (&metric.id, true));
        let all = metrics.chain(self.expressions.iter().map(|of| (&of.id, false)));
        let table = |(id, is_metric): (&String, bool)| {
            let is_shown = self.outputs.iter().any(|output| output.id == *id);
            Table { is_metric, is_shown, count: 0, is_open: false, rows: Vec::new() }
        };
        ExpressionAnswer { query: self, budget, tables: all.map(table).collect() }
    }
}

/// Names must be given once, and expressions may only use names that are, and not themselves.
fn check_names(metrics: &[Metric], expressions: &[Expression]) -> Result<(), HttpError> {
    let mut ids = HashSet::new();
    for metric in metrics {
        if !ids.insert(metric.id.as_str()) {
            return Err(refuse(format!("duplicated metric id: {}", metric.id)));
        }
    }
    for expression in expressions {
        if !ids.insert(expression.id.as_str()) {
            let id = &expression.id;
            return Err(refuse(format!("Duplicated variable or expression id: {id}")));
        }
    }
    for expression in expressions {
        let names = &expression.arithmetic.names;
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
    Ok(())
}

/// The expressions in an order in which each comes after those it uses.
fn ordered(metrics: &[Metric], mut left: Vec<Expression>) -> Result<Vec<Expression>, HttpError> {
    let mut done: HashSet<String> = metrics.iter().map(|metric| metric.id.clone()).collect();
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let is_ready = |e: &Expression| e.arithmetic.names.iter().all(|name| done.contains(name));
        let (ready, rest): (Vec<_>, Vec<_>) = left.into_iter().partition(is_ready);
        if let (true, Some(stuck)) = (ready.is_empty(), rest.first()) {
            return Err(refuse(format!("Circular reference found: {}", stuck.id)));
        }
        done.extend(ready.iter().map(|expression| expression.id.clone()));
        ordered.extend(ready);
        left = rest;
    }
    Ok(ordered)
}

/// An answer, which shows series side by side, time by time.
#[derive(Debug)]
pub(super) struct ExpressionAnswer<'a> {
    query: &'a ExpressionQuery,
    budget: &'a Budget<'a>,
    /// By the places of questions and expressions.
    tables: Vec<Table>,
}

/// The series of a question or an expression.
#[derive(Debug)]
struct Table {
    is_metric: bool,
    is_shown: bool,
    /// How many series there are.
    count: usize,
    is_open: bool,
    /// Those that are shown.
    rows: Vec<Row>,
}

/// One series of a table.
#[derive(Debug)]
struct Row {
    head: Arc<SeriesHead>,
    /// By time in milliseconds.
    points: Vec<(i64, f64)>,
}

/// What the names of a series weigh, in points, by estimate.
const SERIES_POINTS: usize = 16;

impl ExpressionAnswer<'_> {
    pub(super) fn frame(&mut self, frame: &Frame) -> Result<(), HttpError> {
        let Some(table) = self.tables.get_mut(frame.head.question) else { return Ok(()) };
        if table.is_metric {
            check_finite(frame)?;
        }
        let is_new = !std::mem::replace(&mut table.is_open, !frame.is_last);
        table.count += usize::from(is_new);
        if !table.is_shown {
            return Ok(());
        }
        self.budget.take_for::<(i64, f64)>(frame.samples.len() + SERIES_POINTS)?;
        if is_new {
            table.rows.push(Row { head: Arc::clone(&frame.head), points: Vec::new() });
        }
        if let Some(row) = table.rows.last_mut() {
            let points = frame.samples.iter().filter_map(|(time_ns, value)| {
                Some((time_ns.div_euclid(NANOS_PER_MILLI), value.as_f64()?))
            });
            row.points.extend(points);
        }
        Ok(())
    }

    pub(super) fn finish(self, out: &mut Vec<u8>) -> Result<(), HttpError> {
        let query = self.query;
        let table = |id: &str| query.place(id).and_then(|place| self.tables.get(place));
        let has_series = |id: &str| table(id).is_some_and(|table| table.count > 0);
        for expression in query.expressions.iter().filter(|of| of.is_intersection) {
            let has_inputs = expression.arithmetic.names.iter().any(|name| has_series(name));
            if has_inputs && !has_series(&expression.id) {
                return Err(refuse(format!("No intersections found: {}", expression.id)));
            }
        }
        out.extend_from_slice(b"{\"outputs\":[");
        let mut is_first = true;
        for output in &query.outputs {
            let Some(table) = table(&output.id) else { continue };
            out.extend_from_slice(if is_first { b"" } else { b"," });
            is_first = false;
            // OpenTSDB shows all samples it looked at for a question, but cuts expressions.
            let range = match table.is_metric {
                true => i64::MIN..=i64::MAX,
                false => query.frame.start_ms..=query.frame.end_ms,
            };
            write_table(output, table, &range, self.budget, out)?;
        }
        out.extend_from_slice(b"],\"query\":");
        out.extend_from_slice(query.shown.to_string().as_bytes());
        out.push(b'}');
        Ok(())
    }
}

fn write_table(
    output: &Output,
    table: &Table,
    range: &std::ops::RangeInclusive<i64>,
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
    let times = table.times(range, budget)?;
    // How many points of each series are done with.
    let mut done = vec![0; table.rows.len()];
    for (index, time) in times.iter().enumerate() {
        out.extend_from_slice(if index > 0 { b",[" } else { b"[" });
        out.extend_from_slice(time.to_string().as_bytes());
        let before = out.len();
        for (row, done) in table.rows.iter().zip(&mut done) {
            budget.step()?;
            out.push(b',');
            // A question's own gaps are shown as its fill policy would fill them.
            write_value(row.take(*time, done).unwrap_or(0.0), out);
        }
        out.push(b']');
        budget.take((out.len() - before) as u64)?;
    }
    write_about(table, &times, out);
    Ok(())
}

fn write_value(value: f64, out: &mut Vec<u8>) {
    match value {
        value if value.is_finite() => write_double(value, out),
        value if value.is_nan() => out.extend_from_slice(b"\"NaN\""),
        value if value > 0.0 => out.extend_from_slice(b"\"Infinity\""),
        _ => out.extend_from_slice(b"\"-Infinity\""),
    }
}

/// Writes what is to be said of a table beside its values.
fn write_about(table: &Table, times: &[i64], out: &mut Vec<u8>) {
    let (first, last) = (times.first().copied(), times.last().copied());
    let (first, last) = match table.is_metric {
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
        let mut metrics: Vec<&str> = first.head.measurements.iter().map(|name| &**name).collect();
        if metrics.is_empty() {
            metrics.push(&first.head.measurement);
        }
        let mut list = vec![json!({"index": 0, "metrics": ["timestamp"]})];
        for (index, row) in table.rows.iter().enumerate() {
            let tags = row.head.labels.iter().map(|label| (&*label.name, &*label.value));
            let varying: Vec<&str> = row.head.varying.iter().map(|name| &**name).collect();
            list.push(json!({
                "index": index + 1,
                "metrics": metrics,
                "commonTags": tags.collect::<BTreeMap<_, _>>(),
                "aggregatedTags": varying,
            }));
        }
        out.extend_from_slice(format!(",\"meta\":{}", Value::Array(list)).as_bytes());
    }
    out.push(b'}');
}

impl Table {
    /// All times of its series that lie in a range, ascending.
    fn times(
        &self,
        range: &std::ops::RangeInclusive<i64>,
        budget: &Budget<'_>,
    ) -> Result<Vec<i64>, HttpError> {
        let mut all: Vec<i64> = Vec::new();
        for row in &self.rows {
            budget.steps(row.points.len())?;
            let times = row.points.iter().map(|(time, _)| *time);
            if !all.iter().copied().eq(times.clone()) {
                budget.take_for::<i64>(row.points.len())?;
                all.extend(times);
                // Two runs in order, which this sort merges.
                all.sort();
                all.dedup();
            }
        }
        all.retain(|time| range.contains(time));
        Ok(all)
    }
}

impl Row {
    /// Its value at a time, of several the last, where all times before it are `done` with.
    fn take(&self, time: i64, done: &mut usize) -> Option<f64> {
        let mut found = None;
        while let Some((at, value)) = self.points.get(*done)
            && *at <= time
        {
            found = (*at == time).then_some(*value);
            *done += 1;
        }
        found
    }
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
        let mut filtered: Vec<Arc<str>> = Vec::new();
        for tag in tags {
            filtered.extend(json::text(tag, "tagk")?.map(Arc::from));
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
        let arithmetic = arithmetic::Expression::parse(&text).map_err(refuse)?;
        let join = value.get("join").filter(|join| join.is_object());
        let mut expression = Expression {
            id,
            arithmetic,
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
