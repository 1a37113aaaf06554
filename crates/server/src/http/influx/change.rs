//! Statements that change databases, policies, users and continuous queries, or delete samples.

use super::ask::{Context, Trouble};
use super::list::missing;
use foliot_access::{Access, Rights};
use foliot_engine::{Engine, Error, Listed};
use foliot_model::{Name, NamespaceId, Selector, Test};
use foliot_proto_influx::influxql::{
    self, Deletion, PolicyOptions, Privilege, Right, Statement, deletions,
};
use foliot_schema::continuous::{self, ContinuousQuery};
use foliot_schema::{DEFAULT_POLICY, Database, Policy};

const HOUR_NS: i64 = 3600 * 1_000_000_000;
const DAY_NS: i64 = 24 * HOUR_NS;

/// The shortest time that a policy may keep samples.
const DURATION_NS_MIN: i64 = HOUR_NS;

pub(super) fn change(context: &mut Context<'_, '_>, statement: &Statement) -> Result<(), Trouble> {
    perform(context, statement)?;
    // What was changed is in the log; it is answered when that is as safe as a write would be.
    let engine = context.store.engine();
    engine.wait(engine.written(), context.shared.config.wal_ack)?;
    Ok(())
}

fn perform(context: &mut Context<'_, '_>, statement: &Statement) -> Result<(), Trouble> {
    let (store, shared) = (context.store, context.shared);
    let (engine, databases) = (store.engine(), store.databases());
    match statement {
        Statement::CreateDatabase { name, policy } => {
            create_database(context, name, policy.as_ref())
        }
        Statement::DropDatabase(name) => {
            continuous::remove_all(engine, name)?;
            Ok(databases.drop_database(engine, name, store.kinds(), context.caller)?)
        }
        Statement::CreateRetentionPolicy { database, options } => {
            create_policy(context, database, options)
        }
        Statement::AlterRetentionPolicy { database, options } => {
            alter_policy(context, database, options)
        }
        Statement::DropRetentionPolicy { database, name } => {
            let kinds = store.kinds();
            Ok(databases.drop_policy(engine, database, name, kinds, context.caller)?)
        }
        Statement::CreateContinuousQuery(query) => create_continuous(context, query),
        Statement::DropContinuousQuery { database, name } => {
            Ok(continuous::remove(engine, database, name)?)
        }
        Statement::CreateUser { name, password, is_admin } => {
            let rights = Rights { is_admin: *is_admin, ..Rights::default() };
            Ok(shared.gate.create_user(engine, name, password, rights, context.caller)?)
        }
        Statement::DropUser(name) => Ok(shared.gate.remove_user(engine, name, context.caller)?),
        Statement::SetPassword { user, password } => {
            Ok(shared.gate.set_password(engine, user, password, context.caller)?)
        }
        Statement::Grant(right) => grant(context, right, true),
        Statement::Revoke(right) => grant(context, right, false),
        Statement::KillQuery { id, .. } => match shared.queries.kill(*id) {
            true => Ok(()),
            false => Err(format!("no such query id: {id}").into()),
        },
        Statement::Delete(deletion) => delete(context, deletion, false),
        Statement::DropSeries(deletion) => delete(context, deletion, true),
        Statement::DropMeasurement(name) => drop_measurement(context, name),
        Statement::DropShard(_) => {
            Err("shards cannot be dropped one by one: use DELETE with a time".into())
        }
        Statement::CreateSubscription { .. } | Statement::DropSubscription { .. } => {
            Err("subscriptions are not supported: let Telegraf or another relay write twice".into())
        }
        Statement::Select(_) | Statement::Explain { .. } | Statement::Show(_) => Ok(()),
    }
}

/// What a shard of a policy covers when nothing is said, as InfluxDB chooses it.
const fn shard_duration(duration_ns: i64) -> i64 {
    match duration_ns {
        0 => 7 * DAY_NS,
        _ if duration_ns < 2 * DAY_NS => HOUR_NS,
        _ if duration_ns <= 180 * DAY_NS => DAY_NS,
        _ => 7 * DAY_NS,
    }
}

/// What a shard covers when `wanted_ns` is asked for: at least an hour.
const fn fitting_shard_duration(wanted_ns: i64, duration_ns: i64) -> i64 {
    match wanted_ns {
        0 => shard_duration(duration_ns),
        1..HOUR_NS => HOUR_NS,
        wanted_ns => wanted_ns,
    }
}

fn check_durations(duration_ns: i64, shard_duration_ns: i64) -> Result<(), Trouble> {
    if duration_ns != 0 && duration_ns < DURATION_NS_MIN {
        return Err("retention policy duration must be at least 1h0m0s".into());
    }
    if duration_ns != 0 && duration_ns < shard_duration_ns {
        return Err("retention policy duration must be greater than the shard duration".into());
    }
    Ok(())
}

/// Refuses names of databases and policies that InfluxDB would not make folders of.
fn check_name(name: &str) -> Result<(), Trouble> {
    match name.is_empty() || name.contains(['/', '\\', '\0']) || matches!(name, "." | "..") {
        true => Err("invalid name".into()),
        false => Ok(()),
    }
}

/// The policy that options describe.
pub(super) fn policy_of(options: &PolicyOptions) -> Policy {
    let duration_ns = options.duration_ns.unwrap_or(0);
    Policy {
        name: options.name.clone().unwrap_or_else(|| DEFAULT_POLICY.to_owned()),
        namespace: 0,
        duration_ns,
        shard_duration_ns: fitting_shard_duration(
            options.shard_duration_ns.unwrap_or(0),
            duration_ns,
        ),
        replication: options.replication.unwrap_or(1),
    }
}

/// Whether two policies are the same, wherever their samples are.
fn is_same(one: &Policy, other: &Policy) -> bool {
    Policy { namespace: 0, ..one.clone() } == Policy { namespace: 0, ..other.clone() }
}

fn create_database(
    context: &mut Context<'_, '_>,
    name: &str,
    options: Option<&PolicyOptions>,
) -> Result<(), Trouble> {
    check_name(name)?;
    let (engine, databases) = (context.store.engine(), context.store.databases());
    let wanted = options.map(policy_of);
    if let Some(wanted) = &wanted {
        check_name(&wanted.name)?;
        check_durations(wanted.duration_ns, wanted.shard_duration_ns)?;
    }
    let found = databases.get(name).filter(|found| found.is_made);
    let has_default = |wanted: &Policy| {
        let default = found.as_ref().and_then(|found| found.policy(None));
        default.is_some_and(|default| is_same(default, wanted))
    };
    match (&found, wanted) {
        (Some(_), Some(wanted)) if !has_default(&wanted) => {
            Err("retention policy conflicts with an existing policy".into())
        }
        (Some(_), _) => Ok(()),
        (None, wanted) => {
            let policy = wanted.unwrap_or_else(|| policy_of(&PolicyOptions::default()));
            databases.set_policy(engine, name, policy, true, context.caller)?;
            Ok(())
        }
    }
}

fn database(context: &Context<'_, '_>, name: &str) -> Result<Database, Trouble> {
    let found = context.store.databases().get(name);
    found.ok_or_else(|| format!("database not found: {name}").into())
}

fn create_policy(
    context: &mut Context<'_, '_>,
    name: &str,
    options: &PolicyOptions,
) -> Result<(), Trouble> {
    let found = database(context, name)?;
    let policy = policy_of(options);
    check_name(&policy.name)?;
    check_durations(policy.duration_ns, policy.shard_duration_ns)?;
    if let Some(existing) = found.policy(Some(&policy.name))
        && !is_same(existing, &policy)
    {
        return Err("retention policy already exists".into());
    }
    let (engine, databases) = (context.store.engine(), context.store.databases());
    databases.set_policy(engine, name, policy, options.is_default, context.caller)?;
    Ok(())
}

fn alter_policy(
    context: &mut Context<'_, '_>,
    name: &str,
    options: &PolicyOptions,
) -> Result<(), Trouble> {
    let found = database(context, name)?;
    let policy = options.name.as_deref().unwrap_or_default();
    let missing = || Trouble::Told(format!("retention policy not found: {policy}"));
    let mut policy = found.policy(Some(policy)).cloned().ok_or_else(missing)?;
    let duration_ns = options.duration_ns.unwrap_or(policy.duration_ns);
    let shard_duration_ns = options.shard_duration_ns.unwrap_or(policy.shard_duration_ns);
    policy.duration_ns = duration_ns;
    policy.shard_duration_ns = fitting_shard_duration(shard_duration_ns, duration_ns);
    policy.replication = options.replication.unwrap_or(policy.replication);
    check_durations(policy.duration_ns, policy.shard_duration_ns)?;
    let (engine, databases) = (context.store.engine(), context.store.databases());
    databases.set_policy(engine, name, policy, options.is_default, context.caller)?;
    Ok(())
}

fn grant(context: &mut Context<'_, '_>, right: &Right, is_given: bool) -> Result<(), Trouble> {
    let (engine, gate, caller) = (context.store.engine(), &context.shared.gate, context.caller);
    let privilege = match right.privilege {
        Privilege::Read => Access::Read,
        Privilege::Write => Access::Write,
        Privilege::All => Access::All,
    };
    let Some(name) = &right.database else {
        return Ok(gate.set_admin(engine, &right.user, is_given, caller)?);
    };
    database(context, name)?;
    match is_given {
        true => Ok(gate.grant(engine, &right.user, name, privilege, caller)?),
        false => Ok(gate.revoke(engine, &right.user, name, privilege, caller)?),
    }
}

/// The database that deletes mean, which must be named by the request.
fn current(context: &Context<'_, '_>) -> Result<Database, Trouble> {
    database(context, context.database.unwrap_or_default())
}

fn delete(
    context: &mut Context<'_, '_>,
    deletion: &Deletion,
    is_of_series: bool,
) -> Result<(), Trouble> {
    let found = current(context)?;
    let engine = context.store.engine();
    for policy in &found.policies {
        let namespace = policy.namespace;
        let is_field = |name: &str| is_field(engine, namespace, name);
        for mut deleted in deletions(deletion, namespace, context.now_ns, &is_field)? {
            if is_of_series && deleted.range != foliot_model::TimeRange::ALL {
                return Err("DROP SERIES doesn't support time in WHERE clause".into());
            }
            if !named_measurements(engine, &mut deleted.selector)? {
                continue;
            }
            match is_of_series {
                true => engine.drop_series(&deleted.selector, context.caller).map(drop)?,
                false => {
                    engine.delete(&deleted.selector, deleted.range, context.caller).map(drop)?
                }
            }
        }
    }
    Ok(())
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

fn drop_measurement(context: &mut Context<'_, '_>, name: &str) -> Result<(), Trouble> {
    let found = current(context)?;
    let engine = context.store.engine();
    for policy in &found.policies {
        let measurement = Name { measurement: Test::equal(name), field: Test::Any };
        let selector = everything(policy.namespace, vec![measurement]);
        engine.drop_series(&selector, context.caller)?;
        context.store.kinds().forget(engine, policy.namespace, name)?;
    }
    Ok(())
}

fn create_continuous(
    context: &Context<'_, '_>,
    query: &influxql::ContinuousQuery,
) -> Result<(), Trouble> {
    let policy = database(context, &query.database)?.default_policy;
    check_target(context, query)?;
    query.window_ns()?;
    let stored = ContinuousQuery {
        database: query.database.clone(),
        name: query.name.clone(),
        owner: context.who.user_name().to_owned(),
        text: query.completed(&policy),
    };
    Ok(continuous::create(context.store.engine(), &stored)?)
}

/// A continuous query must write to a database that exists.
fn check_target(
    context: &Context<'_, '_>,
    query: &influxql::ContinuousQuery,
) -> Result<(), Trouble> {
    let Some(target) = &query.select.target else { return Ok(()) };
    let name = target.database.as_deref().unwrap_or(&query.database);
    let found = context.store.databases().find(name, target.policy.as_deref());
    found.map(drop).map_err(|error| missing(&error).into())
}
