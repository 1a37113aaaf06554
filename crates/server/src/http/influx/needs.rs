//! What statements and writes need, and InfluxDB's words for who lacks it.

use foliot_access::{Access, Need, Principal};
use foliot_proto_influx::influxql::{Clauses, Select, Show, Source, Statement};

/// What a statement wants to do.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Administer,
    Operate,
    /// This in the database, or in that of the request.
    Access(Access, Option<String>),
    /// This in all measurements of the database, or of that of the request.
    Throughout(Access, Option<String>),
}

impl Wanted {
    /// Whether somebody may do it; `database` is that of the request.
    fn is_allowed(&self, who: &Principal, database: &str) -> bool {
        match self {
            Self::Administer => who.may(Need::Administer),
            Self::Operate => who.may(Need::Operate),
            Self::Throughout(access, named) => {
                who.may_throughout(named.as_deref().unwrap_or(database), *access)
            }
            Self::Access(access, named) => {
                let database = named.as_deref().unwrap_or(database);
                match access {
                    Access::Write => who.may(Need::Write(database)),
                    _ => who.may(Need::Read(database)),
                }
            }
        }
    }

    /// What is missing, in InfluxDB's words.
    fn missing(&self, database: &str) -> String {
        match self {
            Self::Administer | Self::Operate => "requires admin privilege".to_owned(),
            Self::Throughout(access, named) | Self::Access(access, named) => {
                let database = named.as_deref().unwrap_or(database);
                format!("requires {} on {database}", access.text())
            }
        }
    }
}

/// Whether somebody may have the statements carried out.
///
/// # Errors
/// With InfluxDB's sentence when not.
pub(crate) fn may_ask(
    who: &Principal,
    statements: &[Statement],
    database: Option<&str>,
) -> Result<(), String> {
    if who.is_nobody() {
        return Err(
            "error authorizing query: create admin user first or disable authentication".to_owned()
        );
    }
    let database = database.unwrap_or_default();
    for statement in statements {
        let lacking = needs(statement).into_iter().find(|need| !need.is_allowed(who, database));
        let Some(lacking) = lacking else { continue };
        let (name, missing) = (who.name(), lacking.missing(database));
        return Err(format!(
            "error authorizing query: {name} not authorized to execute statement '{statement}', \
             {missing}"
        ));
    }
    Ok(())
}

/// Whether somebody may read a database.
///
/// # Errors
/// With InfluxDB's sentence when not.
pub(in crate::http) fn may_read(who: &Principal, database: &str) -> Result<(), String> {
    let wanted = Wanted::Access(Access::Read, None);
    match wanted.is_allowed(who, database) {
        true => Ok(()),
        false => {
            let (name, missing) = (who.name(), wanted.missing(database));
            Err(format!("error authorizing query: {name} not authorized, {missing}"))
        }
    }
}

/// Whether somebody may write lines, or take samples away throughout a database.
///
/// # Errors
/// With InfluxDB's sentence when not.
pub(super) fn may_write(who: &Principal, database: &str) -> Result<(), String> {
    match who.may(Need::Write(database)) {
        true => Ok(()),
        false if who.is_nobody() => {
            Err(format!("user is required to write to database {database:?}"))
        }
        false => Err(format!(
            "{:?} user is not authorized to write to database {database:?}",
            who.name()
        )),
    }
}

/// What a statement wants, as InfluxQL's own table has it.
fn needs(statement: &Statement) -> Vec<Wanted> {
    match statement {
        Statement::Select(select) | Statement::Explain { select, .. } => needs_of_select(select),
        // Who may not take it away need not know how much there is.
        Statement::Preview(statement) => needs(statement),
        Statement::Delete(_) | Statement::DropSeries(_) => {
            vec![Wanted::Throughout(Access::Write, None)]
        }
        // Whoever asks may end what it may see: its own, or as an operator all.
        Statement::KillQuery { .. } => Vec::new(),
        Statement::DropRetentionPolicy { database, .. }
        | Statement::DropContinuousQuery { database, .. } => {
            vec![Wanted::Throughout(Access::Write, Some(database.clone()))]
        }
        Statement::CreateContinuousQuery(query) => {
            // It reads and writes what its statement says, of its own database where that is open.
            let mut needs = vec![Wanted::Access(Access::Read, None)];
            needs.extend(needs_of_select(&query.select));
            for need in &mut needs {
                if let Wanted::Access(_, database) = need {
                    database.get_or_insert_with(|| query.database.clone());
                }
            }
            needs
        }
        Statement::Show(show) => needs_of_show(show),
        _ => vec![Wanted::Administer],
    }
}

fn needs_of_select(select: &Select) -> Vec<Wanted> {
    let mut needs = Vec::new();
    for source in &select.sources {
        match source {
            Source::Measurement(measurement) => {
                needs.push(Wanted::Access(Access::Read, measurement.database.clone()));
            }
            Source::Subquery(inner) => needs.extend(needs_of_select(inner)),
        }
    }
    let target = select.target.iter();
    needs.extend(target.map(|target| Wanted::Access(Access::Write, target.database.clone())));
    needs
}

fn needs_of_show(show: &Show) -> Vec<Wanted> {
    let read = |database: Option<&String>| vec![Wanted::Access(Access::Read, database.cloned())];
    let read_all = |clauses: &Clauses, more: Option<&String>| {
        let mut needs = read(clauses.database.as_ref());
        needs.extend(more.map(|database| Wanted::Access(Access::Read, Some(database.clone()))));
        for source in &clauses.sources {
            if let Source::Measurement(measurement) = source
                && let Some(database) = &measurement.database
            {
                needs.push(Wanted::Access(Access::Read, Some(database.clone())));
            }
        }
        needs
    };
    match show {
        // What is listed depends on what the guest may see.
        Show::Databases | Show::Queries => Vec::new(),
        Show::ContinuousQueries => read(None),
        Show::RetentionPolicies(database) => read(database.as_ref()),
        Show::Measurements { with, clauses } => {
            read_all(clauses, with.as_ref().and_then(|with| with.database.as_ref()))
        }
        Show::Series(clauses)
        | Show::FieldKeys(clauses)
        | Show::TagKeys { clauses, .. }
        | Show::TagValues { clauses, .. }
        | Show::Cardinality { clauses, .. } => read_all(clauses, None),
        Show::Users | Show::Grants(_) | Show::Shards | Show::ShardGroups | Show::Subscriptions => {
            vec![Wanted::Administer]
        }
        Show::Stats(_) | Show::Diagnostics(_) => vec![Wanted::Operate],
    }
}
