//! What is asked: each language parsed, planned, carried out over a small store, and answered.

use crate::store::{NOW_MS, ask};
use foliot_engine::{Listed, SymbolKind};
use foliot_exec::Query;
use foliot_model::{Kind, TableShape, Test, TimeRange};
use foliot_plan::Series;
use foliot_proto_influx::encode::{Encoder as InfluxEncoder, Epoch, Format, Style};
use foliot_proto_influx::influxql::{
    self, Context, Measurement, Name, Parameters, Shown, Statement, deletions, plan_explain,
    plan_select, plan_show,
};
use foliot_proto_influx::parse_predicate;
use foliot_proto_opentsdb::{
    Budget, Change, Encoder, Endpoint, Form, Formula, Graph, HttpError, HttpRequest, LastSample,
    LineEncoder, Request, RequiredName, Stored, Suggest, Tsuid, UidKind, View, answer, route,
    ticktock, value_text,
};
use foliot_proto_prometheus::{Asked, Dialect, Expression, SeriesAnswer, Span};
use foliot_proto_sql as sql;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// Most bytes of an answer that is collected before it is written.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

fn may_hold(bytes: u64) -> Result<(), HttpError> {
    match bytes > ANSWER_BYTES_MAX {
        true => Err(HttpError::new(413, "too much")),
        false => Ok(()),
    }
}

fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data).ok()
}

/// What is printed of a statement is a statement that prints the same.
pub(crate) fn influxql(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let Ok(statements) = influxql::parse(text, &Parameters::new()) else { return };
    for statement in &statements {
        let printed = statement.to_string();
        let again = influxql::parse(&printed, &Parameters::new());
        let again = again.unwrap_or_else(|error| panic!("{printed:?} was printed: {error}"));
        assert_eq!(again.len(), 1, "{printed:?}");
        assert_eq!(again[0].to_string(), printed);
    }
    ask(|query| statements.iter().for_each(|statement| carry_out(query, statement)));
}

fn kind_of(_: &str, field: &str) -> Kind {
    match field {
        "n" => Kind::Integer,
        "up" => Kind::Boolean,
        "note" => Kind::String,
        _ => Kind::Float,
    }
}

fn carry_out(query: &Query<'_>, statement: &Statement) {
    let shapes = |measurement: &Measurement, fields: &Test| -> Result<Vec<TableShape>, String> {
        let test = match &measurement.name {
            Name::Is(name) => Test::equal(name.clone()),
            Name::Matches(regex) => Test::regex(regex).map_err(|error| error.to_string())?,
        };
        let mut charge = query.meter.open();
        foliot_exec::shapes(query, 0, (&test, fields), &kind_of, &mut charge)
            .map_err(|error| error.to_string())
    };
    let context = Context {
        now_ns: NOW_MS * 1_000_000,
        shapes: &shapes,
        labels: &|shape| {
            foliot_exec::labels(query, shape, &mut query.meter.open()).unwrap_or_default()
        },
        selects: &|scan| foliot_exec::selects(query, scan).map_err(|error| error.to_string()),
        buckets_max: 10_000,
        sources_max: 100,
        admit: &|_| Ok(()),
    };
    let (format, epoch, chunk_rows) = (Format::Msgpack, Epoch::parse("ms"), Some(7));
    let mut encoder = InfluxEncoder::new(Style { format, epoch, chunk_rows });
    let mut out = Vec::new();
    encoder.begin(0);
    match statement {
        Statement::Select(select) => {
            let _ = plan_explain(select, &context);
            let Ok(selection) = plan_select(select, &context) else { return };
            let _ = foliot_exec::select(query, &selection.plan, &mut |table| {
                encoder.table(&table, &mut out);
                ControlFlow::Continue(())
            });
        }
        Statement::Show(show) => {
            if let Ok(Some(Shown::Names(plan))) = plan_show(show, &[0], &context) {
                let _ = foliot_exec::names(query, &plan, &mut |table| {
                    encoder.table(&table, &mut out);
                    ControlFlow::Continue(())
                });
            }
        }
        Statement::Delete(deletion) | Statement::DropSeries(deletion) => {
            let _ = deletions(deletion, 0, NOW_MS * 1_000_000, &|name| name == "usage");
        }
        _ => {}
    }
    encoder.end(None, &mut out);
    encoder.finish(&mut out);
}

/// Every statement that is read is planned, and carried out if it can be.
pub(crate) fn sql(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let Ok(statement) = sql::Statement::parse(text) else { return };
    ask(|query| {
        let told = |error: foliot_exec::Error| sql::SqlError::new(error.to_string());
        let catalogue = sql::Catalogue {
            now_ns: NOW_MS * 1_000_000,
            database: "d",
            shape: &|table| {
                let tests = (&Test::equal(table), &Test::Any);
                let mut charge = query.meter.open();
                let shapes = foliot_exec::shapes(query, 0, tests, &kind_of, &mut charge);
                Ok(shapes.map_err(told)?.pop())
            },
            labels: &|shape| {
                foliot_exec::labels(query, shape, &mut query.meter.open()).map_err(told)
            },
            tables: &|| Ok(vec!["cpu".into()]),
            sources_max: Some(100),
        };
        let parameters = [("x".to_owned(), sql::Parameter::Integer(1))].into();
        let Ok(planned) = statement.plan(&catalogue, &parameters) else { return };
        let mut rows = 0;
        let _ = foliot_exec::answer(query, &planned.answer, &mut |table| {
            assert_eq!(table.columns.len(), planned.types.len().max(1));
            rows += table.row_count();
            ControlFlow::Continue(())
        });
    });
}

/// The condition of a delete through InfluxDB 2's API, and the series that pass it.
pub(crate) fn predicate(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let Ok(selector) = parse_predicate(text, 0) else { return };
    ask(|query| drop(query.snapshot.select(&selector, TimeRange::ALL)));
}

/// Every expression is printed, and whatever it comes to is answered as JSON.
pub(crate) fn promql(data: &[u8]) {
    let experimental = Dialect::Experimental { step_ms: 15_000, range_ms: 150_000 };
    for dialect in [Dialect::Plain, experimental] {
        promql_as(data, dialect);
    }
}

fn promql_as(data: &[u8], dialect: Dialect) {
    let Some(text) = text(data) else { return };
    let Ok(expression) = Expression::parse_as(text, dialect) else { return };
    let _ = (expression.format(), expression.tree());
    let step_ms = 15_000;
    let start_ms = NOW_MS - 10 * step_ms;
    let span = Span { start_ms, end_ms: NOW_MS, step_ms, lookback_ms: 300_000, is_range: true };
    let Ok(Asked::Grid(plan)) = expression.ask(0, &span) else { return };
    ask(|query| {
        let mut out = Vec::new();
        let mut answer = SeriesAnswer::matrix(span.steps(), usize::MAX);
        if let Ok(gridded) = foliot_exec::grid(query, &plan, &span.steps()) {
            for row in &gridded.rows {
                answer.row(&row.labels, (row.values.iter(), &row.histograms), &mut out);
            }
            answer.finish(&gridded.notes, text, &mut out);
            let answered: Result<serde_json::Value, _> = serde_json::from_slice(&out);
            assert!(answered.is_ok(), "{}", String::from_utf8_lossy(&out));
        }
    });
}

fn http<'a>(method: &'a str, path: &'a str, query: &'a str, body: &'a [u8]) -> HttpRequest<'a> {
    HttpRequest { method, path, query, body }
}

fn plans(request: &Request) -> Vec<Series> {
    request.plans(0, &mut |_, _| vec![0, 1])
}

fn answer_json(request: &Request) {
    ask(|query| {
        let budget = Budget::new(&may_hold);
        let (mut out, plans) = (Vec::new(), plans(request));
        let mut encoder = Encoder::new(request, Box::new(|_| None), &budget);
        let ran =
            foliot_exec::run(query, &plans, &mut |frame| match encoder.frame(&frame, &mut out) {
                Ok(()) if out.len() as u64 <= ANSWER_BYTES_MAX => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            });
        if ran.is_ok() {
            let _ = encoder.finish(&[("totalTime", 1.0)], &mut out);
        }
    });
}

pub(crate) fn opentsdb_get(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let request = http("GET", "/api/query", text, b"");
    let _ = Suggest::parse(&request);
    if let Ok(request) = Request::parse(&request, NOW_MS) {
        answer_json(&request);
    }
}

pub(crate) fn opentsdb_post(data: &[u8]) {
    if let Ok(request) = Request::parse(&http("POST", "/api/query", "", data), NOW_MS) {
        answer_json(&request);
    }
}

pub(crate) fn opentsdb_exp(data: &[u8]) {
    formula(Endpoint::Expressions, &http("POST", "/api/query/exp", "", data));
}

pub(crate) fn opentsdb_gexp(data: &[u8]) {
    let Some(text) = text(data) else { return };
    formula(Endpoint::Functions, &http("GET", "/api/query/gexp", text, b""));
}

fn formula(endpoint: Endpoint, request: &HttpRequest<'_>) {
    let Ok(formula) = Formula::parse(endpoint, request, NOW_MS) else { return };
    ask(|query| {
        let budget = Budget::new(&may_hold);
        let asked: Vec<Series> = formula.questions().into_iter().flat_map(plans).collect();
        let mut answer = formula.answer(&budget);
        let ran = foliot_exec::run(query, &formula.plans(asked), &mut |frame| match answer
            .frame(&frame)
        {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
        if ran.is_ok() {
            let _ = answer.finish(&mut Vec::new());
        }
    });
}

/// `/q`: lines, figures and pictures.
pub(crate) fn opentsdb_graph(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let Ok(Some(graph)) = Graph::parse(&http("GET", "/q", text, b""), NOW_MS) else { return };
    ask(|query| {
        let budget = Budget::new(&may_hold);
        let plans = plans(&graph.request);
        let mut collected = graph.collect();
        let (mut out, lines) = (Vec::new(), LineEncoder::new(&graph.request));
        let ran = foliot_exec::run(query, &plans, &mut |frame| {
            let _ = lines.frame(&frame, &mut out);
            match collected.push(&frame, &budget) {
                Ok(()) if out.len() as u64 <= ANSWER_BYTES_MAX => ControlFlow::Continue(()),
                _ => ControlFlow::Break(()),
            }
        });
        if ran.is_ok() && graph.form != Form::Lines {
            graph.figures(&collected, 0, 1);
            let _ = graph.draw(&collected, &mut out);
        }
    });
}

/// Searches, numbers of names, trees, annotations. Requests one after the other, each ended by a
/// line `###`, see what those before them changed: `METHOD path?query`, a line end, a body.
pub(crate) fn opentsdb_facts(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let facts = RefCell::new(BTreeMap::new());
    ask(|query| {
        for request in text.split("###\n").take(8) {
            let (line, body) = request.split_once('\n').unwrap_or((request, ""));
            let Some((method, target)) = line.split_once(' ') else { continue };
            let (path, parameters) = target.split_once('?').unwrap_or((target, ""));
            let request = http(method, path, parameters, body.as_bytes());
            let Ok(endpoint) = route(&request) else { continue };
            let answered = with_view(query, &facts, |view| answer(endpoint, &request, view));
            for change in answered.into_iter().flat_map(|answer| answer.changes) {
                change_fact(&facts, &change);
            }
        }
    });
}

/// Facts by kind and key.
type Facts = RefCell<BTreeMap<(String, String), Vec<u8>>>;

fn change_fact(facts: &Facts, change: &Change) {
    let key = (change.kind.to_owned(), change.key.clone());
    match &change.bytes {
        Some(bytes) => drop(facts.borrow_mut().insert(key, bytes.clone())),
        None => drop(facts.borrow_mut().remove(&key)),
    }
}

const fn symbol_kind(kind: UidKind) -> SymbolKind {
    match kind {
        UidKind::Metric => SymbolKind::Measurement,
        UidKind::TagKey => SymbolKind::LabelName,
        UidKind::TagValue => SymbolKind::LabelValue,
    }
}

/// Lends the store as the server does, but that names get no numbers and nothing is renamed.
fn with_view<T>(query: &Query<'_>, facts: &Facts, asks: impl FnOnce(&View<'_>) -> T) -> T {
    let snapshot = query.snapshot;
    let failed = |error: foliot_engine::Error| HttpError::new(500, error.to_string());
    let uid = |kind, name: &str| snapshot.symbol_id(symbol_kind(kind), name).map_err(failed);
    let in_use = |kind, name: &str| Ok(uid(kind, name)?.is_some());
    asks(&View {
        now_ms: NOW_MS,
        namespace: 0,
        fact: &|kind, key| Ok(facts.borrow().get(&(kind.to_owned(), key.to_owned())).cloned()),
        facts: &|kind, prefix| {
            let facts = facts.borrow();
            let is_wanted = |of: &str, key: &str| of == kind && key.starts_with(prefix);
            let wanted = facts.iter().filter(|((of, key), _)| is_wanted(of, key));
            Ok(wanted.map(|((_, key), bytes)| (key.clone(), bytes.clone())).collect())
        },
        uid: &uid,
        name: &|(kind, id)| {
            let name = snapshot.symbol_name(symbol_kind(kind), id).map_err(failed)?;
            Ok(name.map(|name| name.to_string()))
        },
        assign: &uid,
        in_use: &in_use,
        keep: &|_| Ok(()),
        note: &|change| {
            change_fact(facts, change);
            Ok(())
        },
        rename: &|_| Ok(()),
        unknown_is_empty: false,
        exists: &|name| match name {
            RequiredName::Metric(name) => in_use(UidKind::Metric, name),
            RequiredName::TagKey(name) => in_use(UidKind::TagKey, name),
            RequiredName::TagValue(name) => in_use(UidKind::TagValue, name),
        },
        select: &|selector| snapshot.select(selector, TimeRange::ALL).map_err(failed),
        tag_names: &|selector| {
            snapshot.list(&Listed::LabelNames, selector, "", 0, usize::MAX).map_err(failed)
        },
        stored: &|sid| stored(query, sid).map_err(failed),
        resolve: &|_| Ok(vec![0, 1]),
        last: &|sid| {
            let samples = snapshot.last(sid).map_err(failed)?;
            let last = samples.as_ref().and_then(|samples| samples.iter().last());
            Ok(last.map(|(time_ns, value)| LastSample { time_ns, text: value_text(value) }))
        },
    })
}

fn stored(query: &Query<'_>, sid: u32) -> Result<Option<Stored>, foliot_engine::Error> {
    let Some(identity) = query.snapshot.identity(sid)? else { return Ok(None) };
    let tags = identity.labels.iter();
    let tags = tags.map(|tag| (tag.name.to_string(), tag.value.to_string())).collect();
    let metric = identity.measurement.to_string();
    let Ok(tsuid) = Tsuid::parse("000001000001000001") else { return Ok(None) };
    Ok(Some(Stored { sid, metric, tags, tsuid }))
}

/// Questions and lookups of TickTock's port.
pub(crate) fn ticktock_query(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let asked = match text.starts_with('{') {
        true => ticktock::Inquiry::parse_post(data, NOW_MS),
        false => ticktock::Inquiry::parse_get(text, NOW_MS),
    };
    let _ = ticktock::Lookup::parse(text);
    let Ok(inquiry) = asked else { return };
    let fields = ["usage", "n", "up", "idle"].map(str::to_owned);
    ask(|query| {
        let (mut plans, mut questions) = (Vec::new(), Vec::new());
        for (number, question) in inquiry.questions.iter().enumerate() {
            for group in question.field_groups(&fields) {
                plans.push(question.plan(&inquiry, 0, &group));
                questions.push(number);
            }
        }
        let tags = Box::new(|_| BTreeMap::from([("host".to_owned(), "h0".to_owned())]));
        let budget = Budget::new(&may_hold);
        let mut assembly = ticktock::Assembly::new(&inquiry, &questions, tags, &budget);
        let ran = foliot_exec::run(query, &plans, &mut |frame| match assembly.frame(&frame) {
            Ok(()) => ControlFlow::Continue(()),
            Err(_) => ControlFlow::Break(()),
        });
        if ran.is_ok() {
            assembly.finish(&mut Vec::new());
        }
    });
}
