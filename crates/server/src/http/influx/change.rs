//! Statements that change databases, policies, users and continuous queries, or delete samples.

use super::ask::{Context, Trouble};
use super::doomed::{Doomed, current, doomed};
use super::list::missing;
use crate::query::Stopped;
use crate::store::Store;
use foliot_access::{Access, Gate, Refused, Rights};
use foliot_engine::{Caller, Error};
use foliot_exec::Meter;
use foliot_proto_influx::influxql::{self, PolicyOptions, Privilege, Right, Statement};
use foliot_schema::continuous::ContinuousQuery;
use foliot_schema::{DEFAULT_POLICY, Database, Policy, Wanted};

const HOUR_NS: i64 = 3600 * 1_000_000_000;
const DAY_NS: i64 = 24 * HOUR_NS;

/// The shortest time that a policy may keep samples.
pub(super) const DURATION_NS_MIN: i64 = HOUR_NS;

pub(super) fn change(context: &mut Context<'_, '_>, statement: &Statement) -> Result<(), Trouble> {
    perform(context, statement)?;
    if let Statement::KillQuery { .. } = statement {
        return Ok(());
    }
    // What was changed is in the log; it is answered when that is as safe as a write would be.
    let written = context.store.engine().written();
    let safe = context.work.confirm(written, context.shared.config.wal_ack);
    safe.map_err(|failure| Trouble::Told(failure.message))
}

fn perform(context: &mut Context<'_, '_>, statement: &Statement) -> Result<(), Trouble> {
    let (store, shared) = (context.store, context.shared);
    let (engine, databases) = (store.engine(), store.databases());
    match statement {
        Statement::CreateDatabase { name, policy } => {
            create_database(context, name, policy.as_ref())
        }
        Statement::DropDatabase(name) => {
            let (meter, kinds) = (context.work.meter(), store.kinds());
            let goes_on = || meter.check(0).is_ok();
            let dropped =
                databases.drop_database(engine, name, kinds, &context.asker.caller(), &goes_on);
            stoppable(&meter, dropped)?;
            Ok(forget_database(store, &shared.gate, name, &context.asker.caller())?)
        }
        Statement::CreateRetentionPolicy { database, options } => {
            create_policy(context, database, options)
        }
        Statement::AlterRetentionPolicy { database, options } => {
            alter_policy(context, database, options)
        }
        Statement::DropRetentionPolicy { database, name } => {
            let (meter, kinds) = (context.work.meter(), store.kinds());
            let caller = &context.asker.caller();
            let goes_on = || meter.check(0).is_ok();
            let dropped = databases.drop_policy(engine, database, name, kinds, caller, &goes_on);
            stoppable(&meter, dropped)
        }
        Statement::CreateContinuousQuery(query) => create_continuous(context, query),
        Statement::DropContinuousQuery { database, name } => {
            Ok(store.continuous().remove(engine, database, name)?)
        }
        Statement::CreateUser { name, password, is_admin } => {
            let rights = Rights { is_admin: *is_admin, ..Rights::default() };
            Ok(shared.gate.create_user(engine, name, password, rights, &context.asker.caller())?)
        }
        Statement::DropUser(name) => {
            Ok(shared.gate.remove_user(engine, name, &context.asker.caller())?)
        }
        Statement::SetPassword { user, password } => {
            Ok(shared.gate.set_password(engine, user, password, &context.asker.caller())?)
        }
        Statement::Grant(right) => grant(context, right, true),
        Statement::Revoke(right) => grant(context, right, false),
        Statement::KillQuery { id, .. } => match shared.queries.kill(*id, context.who) {
            true => Ok(()),
            false => Err(format!("no such query id: {id}").into()),
        },
        Statement::Delete(_) | Statement::DropSeries(_) | Statement::DropMeasurement(_) => {
            take_away(context, statement)
        }
        Statement::DropShard(_) => {
            Err("shards cannot be dropped one by one: use DELETE with a time".into())
        }
        Statement::CreateSubscription { .. } | Statement::DropSubscription { .. } => {
            Err("subscriptions are not supported: let Telegraf or another relay write twice".into())
        }
        Statement::Select(_)
        | Statement::Explain { .. }
        | Statement::Preview(_)
        | Statement::Show(_) => Ok(()),
    }
}

/// Removes what was kept of a database beside its samples: who may do what in it, and what runs
/// there by itself.
pub(super) fn forget_database(
    store: &Store,
    gate: &Gate,
    name: &str,
    caller: &Caller,
) -> Result<(), Refused> {
    gate.forget_database(store.engine(), name, caller)?;
    Ok(store.continuous().remove_all(store.engine(), name)?)
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
    let wanted = options.map(policy_of);
    if let Some(wanted) = &wanted {
        check_durations(wanted.duration_ns, wanted.shard_duration_ns)?;
    }
    change_policy(context, name, |found| {
        let found = found.filter(|found| found.is_made);
        let has_default = |wanted: &Policy| {
            let default = found.and_then(|found| found.policy(None));
            default.is_some_and(|default| is_same(default, wanted))
        };
        match (found, wanted) {
            (Some(_), Some(wanted)) if !has_default(&wanted) => {
                Err("retention policy conflicts with an existing policy".into())
            }
            (Some(_), _) => Ok(None),
            (None, wanted) => {
                let policy = wanted.unwrap_or_else(|| policy_of(&PolicyOptions::default()));
                Ok(Some((policy, true)))
            }
        }
    })
}

/// Makes of a database what `decide` says, while nothing else changes it.
fn change_policy(
    context: &Context<'_, '_>,
    database: &str,
    decide: impl FnOnce(Option<&Database>) -> Result<Wanted, Trouble>,
) -> Result<(), Trouble> {
    let (engine, databases) = (context.store.engine(), context.store.databases());
    databases.change(engine, database, &context.asker.caller(), decide).map(drop)
}

fn no_database(name: &str) -> Trouble {
    format!("database not found: {name}").into()
}

/// A database that must exist.
pub(super) fn database(context: &Context<'_, '_>, name: &str) -> Result<Database, Trouble> {
    let found = context.store.databases().get(name);
    found.ok_or_else(|| no_database(name))
}

fn create_policy(
    context: &mut Context<'_, '_>,
    name: &str,
    options: &PolicyOptions,
) -> Result<(), Trouble> {
    let policy = policy_of(options);
    change_policy(context, name, |found| {
        let found = found.ok_or_else(|| no_database(name))?;
        check_durations(policy.duration_ns, policy.shard_duration_ns)?;
        let existing = found.policy(Some(&policy.name));
        if existing.is_some_and(|existing| !is_same(existing, &policy)) {
            return Err("retention policy already exists".into());
        }
        Ok(Some((policy, options.is_default)))
    })
}

fn alter_policy(
    context: &mut Context<'_, '_>,
    name: &str,
    options: &PolicyOptions,
) -> Result<(), Trouble> {
    change_policy(context, name, |found| {
        let found = found.ok_or_else(|| no_database(name))?;
        let policy = options.name.as_deref().unwrap_or_default();
        let missing = || Trouble::Told(format!("retention policy not found: {policy}"));
        let policy = found.policy(Some(policy)).ok_or_else(missing)?;
        Ok(Some((altered(policy, options)?, options.is_default)))
    })
}

/// What options make of a policy.
///
/// # Errors
/// When its durations do not fit.
pub(super) fn altered(policy: &Policy, options: &PolicyOptions) -> Result<Policy, Trouble> {
    let duration_ns = options.duration_ns.unwrap_or(policy.duration_ns);
    let shard_duration_ns = options.shard_duration_ns.unwrap_or(policy.shard_duration_ns);
    let shard_duration_ns = fitting_shard_duration(shard_duration_ns, duration_ns);
    check_durations(duration_ns, shard_duration_ns)?;
    let replication = options.replication.unwrap_or(policy.replication);
    Ok(Policy { duration_ns, shard_duration_ns, replication, ..policy.clone() })
}

fn grant(context: &mut Context<'_, '_>, right: &Right, is_given: bool) -> Result<(), Trouble> {
    let (engine, gate) = (context.store.engine(), &context.shared.gate);
    let caller = &context.asker.caller();
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

/// Takes away what a statement names: samples, series or a measurement, in all policies of the
/// request's database.
fn take_away(context: &mut Context<'_, '_>, statement: &Statement) -> Result<(), Trouble> {
    let engine = context.store.engine();
    let meter = context.work.meter();
    let goes_on = || meter.check(0).is_ok();
    for policy in &current(context)?.policies {
        match doomed(context, statement, policy)? {
            Doomed::Samples(selected) => {
                for (selector, range) in &selected {
                    stoppable(
                        &meter,
                        engine.delete_with_names_while(
                            selector,
                            *range,
                            &context.asker.caller(),
                            &goes_on,
                        ),
                    )?;
                }
            }
            Doomed::Series(selected) => {
                for selector in &selected {
                    stoppable(
                        &meter,
                        engine.drop_series_while(selector, &context.asker.caller(), &goes_on),
                    )?;
                }
            }
            Doomed::All(_) | Doomed::Expired(..) => {}
        }
        if let Statement::DropMeasurement(name) = statement {
            context.store.kinds().forget(engine, policy.namespace, name)?;
        }
    }
    Ok(())
}

/// What became of work that somebody may have stopped: why, the meter says in better words.
fn stoppable<T>(meter: &Meter, outcome: Result<T, Error>) -> Result<T, Trouble> {
    match outcome {
        Err(Error::Stopped) => Err(match meter.check(0) {
            Err(error) => Trouble::of(Stopped::Query(error)),
            Ok(()) => Error::Stopped.into(),
        }),
        outcome => Ok(outcome?),
    }
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
        owner: context.who.owner(),
        text: query.completed(&policy),
    };
    Ok(context.store.continuous().create(context.store.engine(), &stored)?)
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
