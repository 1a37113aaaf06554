//! What statements and requests take away: selected in one place, so that a preview tells what the
//! act would take.

use super::ask::{Context, Trouble};
use super::rows::{table, text};
use foliot_engine::{Deleted, Engine, Error, Listed};
use foliot_model::{Item, Name, NamespaceId, Selector, Test, TimeRange};
use foliot_proto_influx::influxql::{Deletion, Statement, deletions};
use foliot_schema::{Database, Policy};
use std::time::Duration;

/// What is taken away of one policy.
pub(super) enum Doomed {
    /// Samples of these series in these times.
    Samples(Vec<(Selector, TimeRange)>),
    /// These series.
    Series(Vec<Selector>),
    /// All of a namespace.
    All(NamespaceId),
    /// What is older than this.
    Expired(NamespaceId, Duration),
}

impl Doomed {
    /// What would go; an error when `goes_on` says no meanwhile.
    ///
    /// # Errors
    /// When the store cannot tell.
    pub(super) fn preview(
        &self,
        engine: &Engine,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Deleted, Error> {
        match self {
            Self::Samples(doomed) => engine.preview_delete(doomed, goes_on),
            Self::Series(doomed) => engine.preview_drop_series(doomed, goes_on),
            Self::All(namespace) => engine.preview_drop_namespace(*namespace, goes_on),
            Self::Expired(namespace, keep) => engine.preview_retention(*namespace, *keep, goes_on),
        }
    }
}

/// `EXPLAIN` of a statement that takes samples away: a row for each policy that it concerns.
pub(super) fn preview(context: &mut Context<'_, '_>, statement: &Statement) -> Result<(), Trouble> {
    let (database, concerned) = concerned(context, statement)?;
    let mut rows = Vec::new();
    for policy in &concerned {
        let doomed = doomed(context, statement, policy)?;
        let meter = context.work.meter();
        let counted = doomed.preview(context.store.engine(), &|| meter.check(0).is_ok());
        // Why it was stopped the meter says in better words.
        meter.check(0)?;
        let Deleted { series, samples, bytes } = counted?;
        let count = |count: u64| Item::Integer(count as i64);
        rows.push(vec![text(&policy.name), count(series), count(samples), count(bytes)]);
    }
    context.answer(&table(&database, &["policy", "series", "samples", "bytes"], rows))
}

/// The database that a statement concerns, and its policies from which something would go.
fn concerned(
    context: &Context<'_, '_>,
    statement: &Statement,
) -> Result<(String, Vec<Policy>), Trouble> {
    let (database, policy) = match statement {
        Statement::DropDatabase(name) => (name.as_str(), None),
        Statement::DropRetentionPolicy { database, name } => (database.as_str(), Some(name)),
        Statement::AlterRetentionPolicy { database, options } => {
            (database.as_str(), options.name.as_ref())
        }
        _ => (context.database.unwrap_or_default(), None),
    };
    let mut policies = super::change::database(context, database)?.policies;
    if let Some(name) = policy {
        policies.retain(|policy| policy.name == *name);
    }
    Ok((database.to_owned(), policies))
}

/// What a statement takes away of a policy.
///
/// # Errors
/// When its condition cannot be understood, or the store cannot tell.
pub(super) fn doomed(
    context: &Context<'_, '_>,
    statement: &Statement,
    policy: &Policy,
) -> Result<Doomed, Trouble> {
    let namespace = policy.namespace;
    Ok(match statement {
        Statement::Delete(deletion) => Doomed::Samples(selected(context, deletion, namespace)?),
        Statement::DropSeries(deletion) => {
            let selected = selected(context, deletion, namespace)?;
            if selected.iter().any(|(_, range)| *range != TimeRange::ALL) {
                return Err("DROP SERIES doesn't support time in WHERE clause".into());
            }
            Doomed::Series(selected.into_iter().map(|(selector, _)| selector).collect())
        }
        Statement::DropMeasurement(name) => {
            let measurement = Name { measurement: Test::equal(name.clone()), field: Test::Any };
            Doomed::Series(vec![everything(namespace, vec![measurement])])
        }
        Statement::AlterRetentionPolicy { options, .. } => {
            let keep_ns = super::change::altered(policy, options)?.duration_ns;
            match u64::try_from(keep_ns).ok().filter(|keep_ns| *keep_ns > 0) {
                Some(keep_ns) => Doomed::Expired(namespace, Duration::from_nanos(keep_ns)),
                None => Doomed::Samples(Vec::new()),
            }
        }
        _ => Doomed::All(namespace),
    })
}

fn selected(
    context: &Context<'_, '_>,
    deletion: &Deletion,
    namespace: NamespaceId,
) -> Result<Vec<(Selector, TimeRange)>, Trouble> {
    let engine = context.store.engine();
    let is_field = |name: &str| is_field(engine, namespace, name);
    let mut selected = Vec::new();
    for mut deleted in deletions(deletion, namespace, context.now_ns, &is_field)? {
        if named_measurements(engine, &mut deleted.selector)? {
            selected.push((deleted.selector, deleted.range));
        }
    }
    Ok(selected)
}

/// The database that deletes mean, which must be named by the request.
pub(super) fn current(context: &Context<'_, '_>) -> Result<Database, Trouble> {
    super::change::database(context, context.database.unwrap_or_default())
}

fn everything(namespace: NamespaceId, names: Vec<Name>) -> Selector {
    Selector { namespace, names, matchers: Vec::new(), exact_labels: None, only: None }
}

/// Gives a selector that names no measurement the names of all: the engine wants a delete of
/// everything to be meant. False when there is nothing to delete.
pub(super) fn named_measurements(engine: &Engine, selector: &mut Selector) -> Result<bool, Error> {
    let is_named = |name: &Name| !matches!(name.measurement, Test::Any);
    if selector.names.iter().any(is_named) {
        return Ok(true);
    }
    let field = selector.names.first().map_or(Test::Any, |name| name.field.clone());
    let all = everything(selector.namespace, Vec::new());
    let names = engine.snapshot().list(&Listed::Measurements, &all, "", 0, usize::MAX)?;
    let is_something = !names.is_empty();
    selector.names = vec![Name { measurement: Test::AnyOf(names), field }];
    Ok(is_something)
}

fn is_field(engine: &Engine, namespace: NamespaceId, name: &str) -> bool {
    let field = Name { measurement: Test::Any, field: Test::equal(name) };
    let selector = everything(namespace, vec![field]);
    let found = engine.snapshot().list(&Listed::Fields, &selector, "", 0, 1);
    found.is_ok_and(|found| !found.is_empty())
}
