//! `SHOW` of what is not data: databases, policies, users, queries and the server itself.

use super::ask::{Context, Trouble};
use super::rows::{go_duration, table, text};
use super::select;
use foliot_access::{Access, Grant, User};
use foliot_model::Item;
use foliot_proto_influx::influxql::Show;
use foliot_schema::Missing;
use foliot_schema::continuous;

pub(super) fn show(context: &mut Context<'_, '_>, show: &Show) -> Result<(), Trouble> {
    match show {
        Show::Databases => databases(context),
        Show::RetentionPolicies(database) => policies(context, database.as_deref()),
        Show::Users => users(context),
        Show::Grants(user) => grants(context, user),
        Show::ContinuousQueries => continuous_queries(context),
        Show::Queries => queries(context),
        Show::Shards => shards(context),
        Show::ShardGroups => shard_groups(context),
        // Nothing is ever forwarded, so there is nothing to list.
        Show::Subscriptions => Ok(()),
        Show::Stats(module) => stats(context, module.as_deref()),
        Show::Diagnostics(module) => diagnostics(context, module.as_deref()),
        _ => select::list(context, show),
    }
}

fn databases(context: &mut Context<'_, '_>) -> Result<(), Trouble> {
    let all = context.store.listed_databases()?;
    let seen = all.iter().filter(|(name, _)| context.who.may_see(name));
    let rows = seen.map(|(name, _)| vec![text(name)]).collect();
    context.answer(&table("databases", &["name"], rows))
}

fn policies(context: &mut Context<'_, '_>, database: Option<&str>) -> Result<(), Trouble> {
    let name = context.database(database)?;
    let missing = || Trouble::Told(format!("database not found: {name}"));
    let found = context.store.databases().get(&name).ok_or_else(missing)?;
    let row = |policy: &foliot_schema::Policy| {
        vec![
            text(&policy.name),
            text(&go_duration(context.store.keep_ns(policy))),
            text(&go_duration(policy.shard_duration_ns)),
            Item::Integer(i64::from(policy.replication)),
            Item::Boolean(policy.name == found.default_policy),
        ]
    };
    let columns = ["name", "duration", "shardGroupDuration", "replicaN", "default"];
    context.answer(&table("", &columns, found.policies.iter().map(row).collect()))
}

fn users(context: &mut Context<'_, '_>) -> Result<(), Trouble> {
    let all = context.shared.gate.users(context.store.engine());
    let row = |user: &User| vec![text(&user.name), Item::Boolean(user.rights.is_admin)];
    context.answer(&table("", &["user", "admin"], all.iter().map(row).collect()))
}

fn grants(context: &mut Context<'_, '_>, name: &str) -> Result<(), Trouble> {
    let user = context.shared.gate.user(context.store.engine(), name)?;
    let row = |grant: &Grant| vec![text(&grant.database), text(grant.access.text())];
    let rows = user.rights.grants.iter().map(row).collect();
    context.answer(&table("", &["database", "privilege"], rows))
}

fn continuous_queries(context: &mut Context<'_, '_>) -> Result<(), Trouble> {
    let all = continuous::list(context.store.engine());
    for (database, _) in context.store.listed_databases()? {
        if !context.who.may_see(&database) {
            continue;
        }
        // A text may name any measurement of its database.
        let may_read = context.who.may_throughout(&database, Access::Read);
        let of_database = all.iter().filter(|found| may_read && found.database == database);
        let rows = of_database.map(|found| vec![text(&found.name), text(&found.text)]).collect();
        context.answer(&table(&database, &["name", "query"], rows))?;
    }
    Ok(())
}

fn queries(context: &mut Context<'_, '_>) -> Result<(), Trouble> {
    let row = |listed: crate::queries::Listed| {
        let micros = listed.runs_for.as_micros() as i64;
        // InfluxDB cuts durations to what a person can read.
        let duration_ns = match micros {
            0..1_000 => micros * 1_000,
            1_000..1_000_000 => micros / 1_000 * 1_000_000,
            _ => micros / 1_000_000 * 1_000_000_000,
        };
        vec![
            Item::Integer(listed.id as i64),
            text(&listed.title.text),
            text(&listed.title.database),
            text(&go_duration(duration_ns)),
            text(if listed.is_killed { "killed" } else { "running" }),
        ]
    };
    let rows = context.shared.queries.list(context.who).into_iter().map(row).collect();
    context.answer(&table("", &["qid", "query", "database", "duration", "status"], rows))
}

/// Each policy is listed as one shard over all of time: the store cuts time its own way, and what
/// asks for shards wants to know that there are some.
fn shards(context: &mut Context<'_, '_>) -> Result<(), Trouble> {
    let columns = [
        "id",
        "database",
        "retention_policy",
        "shard_group",
        "start_time",
        "end_time",
        "expiry_time",
        "owners",
    ];
    for (database, found) in context.store.listed_databases()? {
        let row = |policy: &foliot_schema::Policy| {
            let id = Item::Integer(i64::from(policy.namespace));
            let mut row = vec![id.clone(), text(&database), text(&policy.name), id];
            row.extend(all_of_time());
            row.push(text(""));
            row
        };
        context.answer(&table(&database, &columns, found.policies.iter().map(row).collect()))?;
    }
    Ok(())
}

fn shard_groups(context: &mut Context<'_, '_>) -> Result<(), Trouble> {
    let columns = ["id", "database", "retention_policy", "start_time", "end_time", "expiry_time"];
    let mut rows = Vec::new();
    for (database, found) in context.store.listed_databases()? {
        rows.extend(found.policies.iter().map(|policy| {
            let id = Item::Integer(i64::from(policy.namespace));
            let mut row = vec![id, text(&database), text(&policy.name)];
            row.extend(all_of_time());
            row
        }));
    }
    context.answer(&table("shard groups", &columns, rows))
}

fn all_of_time() -> [Item; 3] {
    let [start, end] = ["1677-09-21T00:12:43.145224194Z", "2262-04-11T23:47:16.854775806Z"];
    [text(start), text(end), text(end)]
}

/// Foliot's own figures, a table for each first word of their names.
fn stats(context: &mut Context<'_, '_>, module: Option<&str>) -> Result<(), Trouble> {
    let mut modules: Vec<(String, Vec<String>, Vec<Item>)> = Vec::new();
    context.shared.visit_figures(&mut |figure| {
        if !figure.labels.is_empty() {
            return;
        }
        let name = figure.name.strip_prefix("foliot_").unwrap_or(figure.name);
        let (first, _) = name.split_once('_').unwrap_or((name, ""));
        let at = modules.iter().position(|(module, ..)| module == first).unwrap_or_else(|| {
            modules.push((first.to_owned(), Vec::new(), Vec::new()));
            modules.len() - 1
        });
        if let Some((_, columns, items)) = modules.get_mut(at) {
            columns.push(name.to_owned());
            items.push(Item::Float(figure.value));
        }
    });
    modules.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, columns, items) in modules {
        if module.is_none_or(|wanted| wanted == name) {
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            context.answer(&table(&name, &columns, vec![items]))?;
        }
    }
    Ok(())
}

fn diagnostics(context: &mut Context<'_, '_>, module: Option<&str>) -> Result<(), Trouble> {
    let build = &context.shared.build;
    let uptime_ns = context.shared.began.elapsed().as_nanos() as i64;
    let tables = [
        table(
            "build",
            &["Branch", "Build Time", "Commit", "Version"],
            vec![vec![
                text(&build.branch),
                text(""),
                text(&build.revision),
                text(&format!("{} (Foliot {})", crate::http::INFLUX_VERSION, build.version)),
            ]],
        ),
        table("network", &["hostname"], vec![vec![text(&build.host)]]),
        table(
            "system",
            &["PID", "currentTime", "started", "uptime"],
            vec![vec![
                Item::Integer(i64::from(std::process::id())),
                Item::Time(context.now_ns),
                Item::Time(context.now_ns - uptime_ns),
                text(&go_duration(uptime_ns)),
            ]],
        ),
    ];
    for table in &tables {
        if module.is_none_or(|wanted| wanted == &*table.head.name) {
            context.answer(table)?;
        }
    }
    Ok(())
}

/// What a name does not lead to, in the words of a query's answer.
pub(in crate::http) fn missing(missing: &Missing) -> String {
    match missing {
        Missing::Database(name) => format!("database not found: {name}"),
        missing => missing.to_string(),
    }
}
