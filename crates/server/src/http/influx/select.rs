//! `SELECT`, `EXPLAIN` and listings of what is stored: planned by the door, carried out by `exec`.

use super::ask::{Context, Trouble, encode};
use super::into::Into;
use super::list::missing;
use super::rows::{table, text};
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::Principal;
use foliot_engine::Snapshot;
use foliot_exec::{Charge, Meter, Query};
use foliot_model::{Item, NamespaceId, TableShape, Test};
use foliot_proto_influx::influxql::{
    self, Clauses, Measurement, Name, PlanError, Select, Selection, Show, Shown, Target,
    plan_explain, plan_select, plan_show,
};
use foliot_schema::Kinds;
use jiff::tz::TimeZone;
use std::cell::RefCell;
use std::ops::ControlFlow;

/// What a planned column weighs, by estimate: its names, its fold and what it reads; and a label
/// that is grouped by, which stands in the statement and in each scan.
const COLUMN_BYTES: usize = 256;

pub(super) fn select(context: &mut Context<'_, '_>, select: &Select) -> Result<(), Trouble> {
    let newer;
    let snapshot = match context.is_first {
        true => context.work.snapshot,
        false => {
            newer = context.store.snapshot(context.who);
            &newer
        }
    };
    let planner = Planner::new(context, snapshot);
    let selection = planner.plan(select)?;
    if let Some(target) = &selection.target {
        let query = Query { snapshot, meter: context.work.meter() };
        let database = context.database.unwrap_or_default();
        let written = write_into(
            context.shared,
            context.store,
            (context.who, database),
            target,
            &selection,
            &query,
        )?;
        let row = vec![Item::Time(0), Item::Integer(written as i64)];
        return context.answer(&table("result", &["time", "written"], vec![row]));
    }
    let zone = selection.zone.as_deref().and_then(|name| TimeZone::get(name).ok());
    if let Some(zone) = zone {
        context.encoder.set_zone(zone);
    }
    run(context, snapshot, &selection)
}

/// Carries a selection out and answers with its tables.
fn run(
    context: &mut Context<'_, '_>,
    snapshot: &Snapshot,
    selection: &Selection,
) -> Result<(), Trouble> {
    let meter = context.work.meter();
    let encoder = &mut *context.encoder;
    let ran = context
        .work
        .select(snapshot, &selection.plan, &mut |table, out| encode(encoder, table, &meter, out));
    context.ran = ran.map_err(Trouble::of)?;
    Ok(())
}

pub(super) fn explain(
    context: &mut Context<'_, '_>,
    select: &Select,
    analyze: bool,
) -> Result<(), Trouble> {
    let snapshot = context.store.snapshot(context.who);
    let planner = Planner::new(context, &snapshot);
    let lines = planner.ask(|asked| plan_explain(select, asked))?;
    if !analyze {
        let rows = lines.iter().map(|line| vec![text(line)]).collect();
        return context.answer(&table("", &["QUERY PLAN"], rows));
    }
    let began = std::time::Instant::now();
    let planned = planner.plan(select)?;
    let planned_in = began.elapsed();
    let ran = context.work.select(&snapshot, &planned.plan, &mut |_, _| Ok(()));
    let ran = ran.map_err(Trouble::of)?;
    let figures = [
        format!("planning_time: {planned_in:?}"),
        format!("total_time: {:?}", began.elapsed()),
        format!("tables: {}", ran.series),
        format!("series_read: {}", ran.series_selected),
        format!("samples_read: {}", ran.samples_scanned),
        format!("memory_peak_bytes: {}", ran.memory_peak_bytes),
    ];
    let rows = figures.iter().map(|line| vec![text(line)]).collect();
    context.answer(&table("", &["EXPLAIN ANALYZE"], rows))
}

/// `SHOW` of measurements, series, fields, tags, and how many of them there are. These are asked of
/// a database, whatever its policies.
pub(super) fn list(context: &mut Context<'_, '_>, show: &Show) -> Result<(), Trouble> {
    let named = clauses(show).and_then(|clauses| clauses.database.as_deref());
    let name = context.database(named)?;
    let Some(found) = context.store.databases().get(&name) else {
        // InfluxDB does not mind here, and here only.
        return match show {
            Show::Measurements { .. } => Ok(()),
            _ => Err(format!("database not found: {name}").into()),
        };
    };
    let namespaces = found.policies.iter().map(|policy| policy.namespace).collect::<Vec<_>>();
    let snapshot = context.store.snapshot(context.who);
    let planner = Planner { database: Some(name.clone()), ..Planner::new(context, &snapshot) };
    let namespaces = used(context.store, &snapshot, &namespaces)?;
    match planner.ask(|asked| plan_show(show, &namespaces, asked))? {
        Some(Shown::Tables(tables)) => tables.iter().try_for_each(|table| context.answer(table)),
        Some(Shown::Names(plan)) => {
            let query = Query { snapshot: &snapshot, meter: context.work.meter() };
            let mut answered = Ok(());
            foliot_exec::names(&query, &plan, &mut |table| {
                answered = context.answer(&table);
                match answered {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(_) => ControlFlow::Break(()),
                }
            })?;
            answered
        }
        None => Err("this listing is not supported".into()),
    }
}

/// The namespaces that hold anything; the first one when none does.
fn used(
    store: &Store,
    snapshot: &Snapshot,
    namespaces: &[NamespaceId],
) -> Result<Vec<NamespaceId>, Trouble> {
    let mut used = Vec::new();
    for namespace in namespaces {
        if store.holds_anything(snapshot, *namespace)? {
            used.push(*namespace);
        }
    }
    if used.is_empty() {
        used.extend(namespaces.first());
    }
    Ok(used)
}

fn clauses(show: &Show) -> Option<&Clauses> {
    match show {
        Show::Measurements { clauses, .. }
        | Show::Series(clauses)
        | Show::FieldKeys(clauses)
        | Show::TagKeys { clauses, .. }
        | Show::TagValues { clauses, .. }
        | Show::Cardinality { clauses, .. } => Some(clauses),
        _ => None,
    }
}

/// Runs a `SELECT … INTO` that nobody waits for, with somebody's rights; returns how many points
/// were written.
pub(crate) fn run_into(
    shared: &Shared,
    store: &Store,
    (who, database): (&Principal, &str),
    select: &Select,
    (now_ns, meter): (i64, Meter),
) -> Result<u64, String> {
    let snapshot = store.snapshot(who);
    let planner = Planner {
        shared,
        store,
        snapshot: &snapshot,
        meter: meter.clone(),
        database: Some(database.to_owned()),
        policy: None,
        now_ns,
    };
    let selection = planner.plan(select)?;
    let target = selection.target.as_ref().ok_or("the statement has no INTO")?;
    let query = Query { snapshot: &snapshot, meter };
    write_into(shared, store, (who, database), target, &selection, &query)
}

fn write_into(
    shared: &Shared,
    store: &Store,
    (who, database): (&Principal, &str),
    target: &Target,
    selection: &Selection,
    query: &Query<'_>,
) -> Result<u64, String> {
    let into = Into::new(shared, store, target, &selection.target_tags, database, who);
    let mut into = into.map_err(|error| missing(&error))?;
    let mut failed = None;
    let ran = foliot_exec::select(query, &selection.plan, &mut |table| match into.table(&table) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    });
    ran.inspect_err(|error| shared.metrics.limits.add_sources(error))
        .map_err(|error| error.to_string())?;
    match failed {
        Some(error) => Err(error),
        None => into.finish(),
    }
}

/// Plans a `SELECT` for an answer that another API writes down.
///
/// # Errors
/// In InfluxDB's words, when the statement makes no sense or names what does not exist.
pub(in crate::http) fn plan_for(
    shared: &Shared,
    (snapshot, meter): (&Snapshot, Meter),
    (database, policy): (&str, Option<&str>),
    select: &Select,
    now_ns: i64,
) -> Result<Selection, String> {
    let store = shared.store().ok_or("the store is being opened")?;
    let (database, policy) = (Some(database.to_owned()), policy.map(str::to_owned));
    let planner = Planner { shared, store, snapshot, meter, database, policy, now_ns };
    planner.plan(select)
}

/// What planning asks about the store.
struct Planner<'a> {
    shared: &'a Shared,
    store: &'a Store,
    snapshot: &'a Snapshot,
    meter: Meter,
    database: Option<String>,
    policy: Option<String>,
    now_ns: i64,
}

impl<'a> Planner<'a> {
    fn new(context: &Context<'a, '_>, snapshot: &'a Snapshot) -> Self {
        Self {
            shared: context.shared,
            store: context.store,
            snapshot,
            meter: context.work.meter(),
            database: context.database.map(str::to_owned),
            policy: context.policy.map(str::to_owned),
            now_ns: context.now_ns,
        }
    }

    fn plan(&self, select: &Select) -> Result<Selection, String> {
        self.ask(|context| plan_select(select, context))
    }

    /// Calls what plans, with what it may ask. The names that it is told are charged to the request
    /// as long as it plans.
    fn ask<T>(
        &self,
        plans: impl FnOnce(&influxql::Context<'_>) -> Result<T, PlanError>,
    ) -> Result<T, String> {
        let query = Query { snapshot: self.snapshot, meter: self.meter.clone() };
        let charge = RefCell::new(query.meter.open());
        // Where labels could not be told; planning goes on without them, in vain.
        let failed = RefCell::new(None);
        let planned = plans(&influxql::Context {
            now_ns: self.now_ns,
            shapes: &|measurement, fields| {
                self.shapes((measurement, fields), &query, &mut charge.borrow_mut())
            },
            labels: &|shape| {
                let labels = foliot_exec::labels(&query, shape, &mut charge.borrow_mut());
                let kept = labels.and_then(|labels| {
                    query.meter.keep(labels.len().saturating_mul(COLUMN_BYTES))?;
                    Ok(labels)
                });
                kept.unwrap_or_else(|error| {
                    *failed.borrow_mut() = Some(error.to_string());
                    Vec::new()
                })
            },
            selects: &|scan| foliot_exec::selects(&query, scan).map_err(|error| error.to_string()),
            buckets_max: self.shared.config.influx_buckets_max,
            sources_max: self.shared.config.influx_series_max,
            admit: &|columns| {
                let bytes = columns.saturating_mul(COLUMN_BYTES);
                query
                    .meter
                    .check(0)
                    .and_then(|()| query.meter.keep(bytes))
                    .map_err(|e| e.to_string())
            },
        });
        match failed.into_inner() {
            Some(error) => Err(error),
            None => planned.map_err(|error| {
                let met = error.limit();
                met.into_iter().for_each(|limit| self.shared.metrics.limits.add_named(limit));
                error.to_string()
            }),
        }
    }

    fn shapes(
        &self,
        (measurement, fields): (&Measurement, &Test),
        query: &Query<'_>,
        charge: &mut Charge<'_>,
    ) -> Result<Vec<TableShape>, String> {
        let named = measurement.database.as_deref();
        let database = named.or(self.database.as_deref()).filter(|name| !name.is_empty());
        let database = database.ok_or("database name required")?;
        let policy = match (&measurement.policy, named) {
            (Some(policy), _) => Some(policy.as_str()),
            (None, Some(_)) => None,
            (None, None) => self.policy.as_deref(),
        };
        let found = self.store.databases().find(database, policy);
        let namespace = found.map_err(|error| missing(&error))?;
        let test = match &measurement.name {
            Name::Is(name) => Test::equal(name.clone()),
            Name::Matches(regex) => Test::regex(regex).map_err(|error| error.to_string())?,
        };
        let engine = self.store.engine();
        let kind =
            |measurement: &str, field: &str| Kinds::of(engine, namespace, measurement, field);
        foliot_exec::shapes(query, namespace, (&test, fields), &kind, charge)
            .map_err(|error| error.to_string())
    }
}
