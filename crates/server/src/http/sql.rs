//! SQL: statements planned by their door over what is stored, whichever API asks.

use crate::query::{Each, Failure, Stopped, Work};
use crate::shared::Shared;
use foliot_exec::{Charge, Query, Ran, StepTook};
use foliot_model::{Item, NamespaceId, Table, TableHead, TableShape, Test};
use foliot_plan::relation::Answer;
use foliot_plan::{Listing, What};
use foliot_proto_sql::{Catalogue, Parameters, Planned, SqlError, Statement, Type};
use foliot_schema::Kinds;
use hyper::StatusCode;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a column weighs while a statement is planned, by estimate.
const COLUMN_BYTES: usize = 256;

/// A statement, and of what it is asked.
pub(super) struct Sql {
    pub(super) statement: Statement,
    pub(super) parameters: Parameters,
    pub(super) database: String,
    pub(super) policy: Option<String>,
    pub(super) now_ns: i64,
}

impl From<SqlError> for Failure {
    fn from(error: SqlError) -> Self {
        let position = error.position();
        Self { position, ..Self::new(StatusCode::BAD_REQUEST, error.to_string()) }
    }
}

impl Sql {
    /// Plans the statement over what is stored now.
    ///
    /// # Errors
    /// Where it names what is not there, or makes no sense.
    pub(super) fn plan(&self, shared: &Shared, work: &Work<'_>) -> Result<Planned, Failure> {
        let store = shared.store().ok_or_else(|| {
            Failure::new(StatusCode::SERVICE_UNAVAILABLE, "the store is being opened")
        })?;
        let found = store.databases().find(&self.database, self.policy.as_deref());
        let namespace = found.map_err(|missing| {
            Failure::new(StatusCode::NOT_FOUND, super::influx::missing(&missing))
        })?;
        let query = Query { snapshot: work.snapshot, meter: work.meter() };
        let names = Names { query: &query, namespace, charge: RefCell::new(query.meter.open()) };
        let kind = |measurement: &str, field: &str| {
            Kinds::of(store.engine(), namespace, measurement, field)
        };
        let sources_max = shared.config.influx_series_max;
        let catalogue = Catalogue {
            now_ns: self.now_ns,
            database: &self.database,
            shape: &|table| names.shape(table, &kind),
            labels: &|shape| names.labels(shape),
            tables: &|| names.tables(),
            sources_max: (sources_max > 0).then_some(sources_max),
        };
        let planned = self.statement.plan(&catalogue, &self.parameters);
        planned.or_else(|error| {
            work.refuse_at_limit(&error.to_string())?;
            Err(error.into())
        })
    }

    /// Carries the statement out: `each` is called with its table, piece by piece.
    ///
    /// # Errors
    /// What stopped it, or what `each` refused.
    pub(super) fn run(
        &self,
        shared: &Shared,
        work: &mut Work<'_>,
        on_types: &mut dyn FnMut(&[Type]),
        each: &mut Each<'_>,
    ) -> Result<Ran, Failure> {
        let began = Instant::now();
        let planned = self.plan(shared, work)?;
        let planning = began.elapsed();
        let stopped = |stopped| match stopped {
            Stopped::Query(error) => Failure::from(error),
            Stopped::Reader(failure) => failure,
        };
        if !self.statement.explains() {
            on_types(&planned.types);
            return work.answer(&planned.answer, each).map_err(stopped);
        }
        on_types(&[Type::Text]);
        let mut ran = Ran::default();
        if self.statement.analyzes() {
            work.meter().explain();
            ran = work.answer(&planned.answer, &mut |_, _| Ok(())).map_err(stopped)?;
        }
        let mut lines = lines(&planned.answer, work);
        if self.statement.analyzes() {
            lines.push(format!("planning: {:.3} ms", ms(planning)));
            lines.push(format!("all steps: {:.3} ms", ms(work.spent().steps)));
        }
        let columns = [Arc::from("plan")].into();
        let head = TableHead { name: "".into(), labels: Vec::new(), columns };
        let items = lines.into_iter().map(|line| Item::String(line.into()));
        work.put(&Table::of_rows(Arc::new(head), items, true), each)?;
        Ok(ran)
    }
}

/// How a statement is carried out, a step a line; with what each took where that is known.
fn lines(answer: &Answer, work: &Work<'_>) -> Vec<String> {
    let indented = |depth: usize, what: &str, detail: &str| {
        format!("{}{what} {detail}", "  ".repeat(depth)).trim_end().to_owned()
    };
    let took = work.meter().explained();
    match took.is_empty() {
        true => {
            let steps = answer.relation.steps();
            steps.iter().map(|(depth, told)| indented(*depth, &told.what, &told.detail)).collect()
        }
        false => {
            let line = |step: &StepTook| {
                let line = indented(step.depth, &step.told.what, &step.told.detail);
                format!("{line} ({})", took_by(step))
            };
            took.iter().map(line).collect()
        }
    }
}

/// What a step took: `1.500 ms, 0.500 ms by itself, 4 rows in, 2 rows out, 8 samples read`.
fn took_by(step: &StepTook) -> String {
    let StepTook { time, own, rows_in, rows, samples, .. } = step;
    let rows = [(*rows_in, "in"), (*rows, "out")];
    let rows =
        rows.into_iter().filter_map(|(rows, whither)| Some(format!("{} rows {whither}, ", rows?)));
    let rows: String = rows.collect();
    format!("{:.3} ms, {:.3} ms by itself, {rows}{samples} samples read", ms(*time), ms(*own))
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// What planning asks about names. They are charged to the request as long as it plans.
struct Names<'a> {
    query: &'a Query<'a>,
    namespace: NamespaceId,
    charge: RefCell<Charge<'a>>,
}

impl Names<'_> {
    fn shape(
        &self,
        table: &str,
        kind: &dyn Fn(&str, &str) -> foliot_model::Kind,
    ) -> Result<Option<TableShape>, SqlError> {
        let tests = (&Test::equal(table), &Test::Any);
        let mut charge = self.charge.borrow_mut();
        let shapes = foliot_exec::shapes(self.query, self.namespace, tests, kind, &mut charge);
        let shape = shapes.map_err(told)?.pop();
        let columns = shape.as_ref().map_or(0, |shape| shape.fields.len());
        self.query.meter.keep(columns.saturating_mul(COLUMN_BYTES)).map_err(told)?;
        Ok(shape)
    }

    fn labels(&self, shape: &TableShape) -> Result<Vec<Arc<str>>, SqlError> {
        let labels = foliot_exec::labels(self.query, shape, &mut self.charge.borrow_mut());
        let labels = labels.map_err(told)?;
        self.query.meter.keep(labels.len().saturating_mul(COLUMN_BYTES)).map_err(told)?;
        Ok(labels)
    }

    fn tables(&self) -> Result<Vec<Arc<str>>, SqlError> {
        let listing = Listing {
            what: What::Measurements,
            selector: foliot_model::Selector {
                namespace: self.namespace,
                names: Vec::new(),
                matchers: Vec::new(),
                exact_labels: None,
                only: None,
            },
            prefix: String::new(),
            offset: 0,
            limit: usize::MAX,
        };
        let names = foliot_exec::listed(self.query, &listing, &mut self.charge.borrow_mut());
        let names = names.map_err(told)?;
        self.query.meter.keep(names.len().saturating_mul(COLUMN_BYTES)).map_err(told)?;
        Ok(names.into_iter().map(Arc::from).collect())
    }
}

fn told(error: foliot_exec::Error) -> SqlError {
    SqlError::new(error.to_string())
}
