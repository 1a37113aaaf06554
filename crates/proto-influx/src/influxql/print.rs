//! Statements as text, in one spelling: parsing the text gives the statement again.
//!
//! Passwords are not shown: texts end up in logs and in answers.

use super::ast::*;
use super::format_duration;
use super::scan::{is_name_char, reserved};
use std::fmt::{self, Display, Formatter};

/// Writes a name, in double quotes where it needs them.
fn quote_name(name: &str) -> String {
    let is_plain = name.chars().all(is_name_char)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && reserved(name).is_none();
    match is_plain {
        true => name.to_owned(),
        false => format!("\"{}\"", escape(name, '"')),
    }
}

/// Writes names with dots between them; names that are left out stay empty.
pub(super) fn quote_names(names: &[String]) -> String {
    let quote = |name: &String| if name.is_empty() { String::new() } else { quote_name(name) };
    names.iter().map(quote).collect::<Vec<_>>().join(".")
}

fn quote_string(text: &str) -> String {
    format!("'{}'", escape(text, '\''))
}

fn escape(text: &str, quote: char) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\\' => escaped.push_str("\\\\"),
            _ if c == quote => escaped.extend(['\\', c]),
            _ => escaped.push(c),
        }
    }
    escaped
}

fn slash(pattern: &str) -> String {
    format!("/{}/", pattern.replace('/', "\\/"))
}

/// Items with commas between them.
struct List<'a, T>(&'a [T]);

impl<T: Display> Display for List<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        self.0.iter().try_for_each(|item| {
            write!(f, "{separator}{item}")?;
            separator = ", ";
            Ok(())
        })
    }
}

/// A word and what follows it, if anything does.
fn clause(f: &mut Formatter<'_>, word: &str, item: Option<impl Display>) -> fmt::Result {
    item.map_or(Ok(()), |item| write!(f, " {word} {item}"))
}

/// A word and the list that follows it, if it has items.
fn list_clause<T: Display>(f: &mut Formatter<'_>, word: &str, items: &[T]) -> fmt::Result {
    clause(f, word, Some(List(items)).filter(|_| !items.is_empty()))
}

/// A word and the number that follows it, unless that is 0.
fn count_clause(f: &mut Formatter<'_>, word: &str, count: u64) -> fmt::Result {
    clause(f, word, Some(count).filter(|count| *count > 0))
}

/// A word and the duration that follows it.
fn duration_clause(f: &mut Formatter<'_>, word: &str, duration_ns: Option<i64>) -> fmt::Result {
    clause(f, word, duration_ns.map(format_duration))
}

fn name_clause(f: &mut Formatter<'_>, word: &str, name: Option<&str>) -> fmt::Result {
    clause(f, word, name.map(quote_name))
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let on = |name: &str, database: &str| {
            format!("{} ON {}", quote_name(name), quote_name(database))
        };
        match self {
            Self::Select(select) => select.fmt(f),
            Self::Preview(statement) => write!(f, "EXPLAIN {statement}"),
            Self::Explain { analyze, select } => {
                write!(f, "EXPLAIN {}{select}", if *analyze { "ANALYZE " } else { "" })
            }
            Self::Delete(deletion) => write!(f, "DELETE{deletion}"),
            Self::DropSeries(deletion) => write!(f, "DROP SERIES{deletion}"),
            Self::DropMeasurement(name) => write!(f, "DROP MEASUREMENT {}", quote_name(name)),
            Self::Show(show) => show.fmt(f),
            Self::CreateDatabase { name, policy } => {
                write!(f, "CREATE DATABASE {}", quote_name(name))?;
                let Some(policy) = policy else { return Ok(()) };
                write!(f, " WITH{policy}")?;
                name_clause(f, "NAME", policy.name.as_deref())
            }
            Self::DropDatabase(name) => write!(f, "DROP DATABASE {}", quote_name(name)),
            Self::CreateRetentionPolicy { database, options } => {
                let name = options.name.as_deref().unwrap_or_default();
                write!(f, "CREATE RETENTION POLICY {}{options}", on(name, database))
            }
            Self::AlterRetentionPolicy { database, options } => {
                let name = options.name.as_deref().unwrap_or_default();
                write!(f, "ALTER RETENTION POLICY {}{options}", on(name, database))
            }
            Self::DropRetentionPolicy { database, name } => {
                write!(f, "DROP RETENTION POLICY {}", on(name, database))
            }
            Self::CreateContinuousQuery(query) => query.fmt(f),
            Self::DropContinuousQuery { database, name } => {
                write!(f, "DROP CONTINUOUS QUERY {}", on(name, database))
            }
            Self::CreateSubscription { database, policy, name, to_all, destinations } => {
                let destinations: Vec<_> =
                    destinations.iter().map(|text| quote_string(text)).collect();
                let (on, policy) = (on(name, database), quote_name(policy));
                let mode = if *to_all { "ALL" } else { "ANY" };
                write!(f, "CREATE SUBSCRIPTION {on}.{policy} DESTINATIONS {mode} ")?;
                List(&destinations).fmt(f)
            }
            Self::DropSubscription { database, policy, name } => {
                write!(f, "DROP SUBSCRIPTION {}.{}", on(name, database), quote_name(policy))
            }
            Self::CreateUser { name, is_admin, .. } => {
                let rights = if *is_admin { " WITH ALL PRIVILEGES" } else { "" };
                write!(f, "CREATE USER {} WITH PASSWORD '[REDACTED]'{rights}", quote_name(name))
            }
            Self::DropUser(name) => write!(f, "DROP USER {}", quote_name(name)),
            Self::SetPassword { user, .. } => {
                write!(f, "SET PASSWORD FOR {} = '[REDACTED]'", quote_name(user))
            }
            Self::Grant(right) => write_right(f, "GRANT", right, "TO"),
            Self::Revoke(right) => write_right(f, "REVOKE", right, "FROM"),
            Self::DropShard(id) => write!(f, "DROP SHARD {id}"),
            Self::KillQuery { id, host } => {
                write!(f, "KILL QUERY {id}")?;
                name_clause(f, "ON", host.as_deref())
            }
        }
    }
}

fn write_right(f: &mut Formatter<'_>, verb: &str, right: &Right, word: &str) -> fmt::Result {
    let privilege = match right.privilege {
        Privilege::Read => "READ",
        Privilege::Write => "WRITE",
        Privilege::All => "ALL PRIVILEGES",
    };
    write!(f, "{verb} {privilege}")?;
    name_clause(f, "ON", right.database.as_deref())?;
    name_clause(f, word, Some(&right.user))
}

impl Display for Select {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "SELECT {}", List(&self.fields))?;
        clause(f, "INTO", self.target.as_ref())?;
        list_clause(f, "FROM", &self.sources)?;
        clause(f, "WHERE", self.condition.as_ref())?;
        list_clause(f, "GROUP BY", &self.dimensions)?;
        match self.fill {
            Fill::Null => {}
            Fill::None => f.write_str(" fill(none)")?,
            Fill::Previous => f.write_str(" fill(previous)")?,
            Fill::Linear => f.write_str(" fill(linear)")?,
            Fill::Integer(value) => write!(f, " fill({value})")?,
            Fill::Number(value) => write!(f, " fill({})", Expr::Number(value))?,
        }
        clause(f, "ORDER BY", self.order)?;
        count_clause(f, "LIMIT", self.limit)?;
        count_clause(f, "OFFSET", self.offset)?;
        count_clause(f, "SLIMIT", self.series_limit)?;
        count_clause(f, "SOFFSET", self.series_offset)?;
        match &self.timezone {
            Some(name) => write!(f, " TZ({})", quote_string(name)),
            None => Ok(()),
        }
    }
}

impl Display for Field {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.expr.fmt(f)?;
        name_clause(f, "AS", self.alias.as_deref())
    }
}

/// Writes what stands before a measurement's name.
fn write_place(f: &mut Formatter<'_>, database: Option<&str>, policy: Option<&str>) -> fmt::Result {
    if let Some(database) = database {
        write!(f, "{}.", quote_name(database))?;
    }
    match policy {
        Some(policy) => write!(f, "{}.", quote_name(policy)),
        None if database.is_some() => f.write_str("."),
        None => Ok(()),
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_place(f, self.database.as_deref(), self.policy.as_deref())?;
        match &self.measurement {
            Some(name) => f.write_str(&quote_name(name)),
            None => f.write_str(":MEASUREMENT"),
        }
    }
}

impl Display for Source {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Measurement(measurement) => measurement.fmt(f),
            Self::Subquery(select) => write!(f, "({select})"),
        }
    }
}

impl Display for Measurement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_place(f, self.database.as_deref(), self.policy.as_deref())?;
        match &self.name {
            Name::Is(name) => f.write_str(&quote_name(name)),
            Name::Matches(pattern) => f.write_str(&slash(pattern)),
        }
    }
}

impl Display for Order {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ascending => "time ASC",
            Self::Descending => "time DESC",
        })
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary { op, left, right } => write!(f, "{left} {} {right}", op.text()),
            Self::Paren(inner) => write!(f, "({inner})"),
            Self::Call { name, args } => write!(f, "{name}({})", List(args)),
            Self::Var { name, cast } => {
                f.write_str(&quote_name(name))?;
                cast.map_or(Ok(()), |cast| write!(f, "::{}", cast.text()))
            }
            Self::Wildcard(cast) => {
                f.write_str("*")?;
                cast.map_or(Ok(()), |cast| write!(f, "::{}", cast.text()))
            }
            Self::Distinct(name) => write!(f, "DISTINCT {}", quote_name(name)),
            Self::Integer(value) => value.fmt(f),
            Self::Unsigned(value) => value.fmt(f),
            // Display writes all digits and no exponent, which the grammar does not have.
            Self::Number(value) if value.fract() == 0.0 => write!(f, "{value}.0"),
            Self::Number(value) => value.fmt(f),
            Self::String(text) => f.write_str(&quote_string(text)),
            Self::Boolean(value) => value.fmt(f),
            Self::Duration(duration_ns) => f.write_str(&format_duration(*duration_ns)),
            Self::Regex(pattern) => f.write_str(&slash(pattern)),
            Self::Time(time_ns) => time_ns.fmt(f),
        }
    }
}

impl Cast {
    /// The type as it is written.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Float => "float",
            Self::Integer => "integer",
            Self::Unsigned => "unsigned",
            Self::String => "string",
            Self::Boolean => "boolean",
            Self::Field => "field",
            Self::Tag => "tag",
        }
    }
}

impl Display for Deletion {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        list_clause(f, "FROM", &self.sources)?;
        clause(f, "WHERE", self.condition.as_ref())
    }
}

impl Display for Show {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let module = |module: &Option<String>| module.as_deref().map(quote_string);
        match self {
            Self::Databases => f.write_str("SHOW DATABASES"),
            Self::Users => f.write_str("SHOW USERS"),
            Self::Grants(user) => write!(f, "SHOW GRANTS FOR {}", quote_name(user)),
            Self::Queries => f.write_str("SHOW QUERIES"),
            Self::Shards => f.write_str("SHOW SHARDS"),
            Self::ShardGroups => f.write_str("SHOW SHARD GROUPS"),
            Self::Subscriptions => f.write_str("SHOW SUBSCRIPTIONS"),
            Self::ContinuousQueries => f.write_str("SHOW CONTINUOUS QUERIES"),
            Self::Stats(name) => {
                f.write_str("SHOW STATS")?;
                clause(f, "FOR", module(name))
            }
            Self::Diagnostics(name) => {
                f.write_str("SHOW DIAGNOSTICS")?;
                clause(f, "FOR", module(name))
            }
            Self::RetentionPolicies(database) => {
                f.write_str("SHOW RETENTION POLICIES")?;
                name_clause(f, "ON", database.as_deref())
            }
            Self::Measurements { with, clauses } => {
                f.write_str("SHOW MEASUREMENTS")?;
                clauses.write_places(f)?;
                if let Some(with) = with {
                    let op = if matches!(with.name, Name::Is(_)) { "=" } else { "=~" };
                    write!(f, " WITH MEASUREMENT {op} {with}")?;
                }
                clauses.write_rest(f)
            }
            Self::Series(clauses) => clauses.write(f, "SHOW SERIES", None),
            Self::FieldKeys(clauses) => clauses.write(f, "SHOW FIELD KEYS", None),
            Self::TagKeys { with, clauses } => clauses.write(f, "SHOW TAG KEYS", with.as_ref()),
            Self::TagValues { with, clauses } => clauses.write(f, "SHOW TAG VALUES", Some(with)),
            Self::Cardinality { of, exact, clauses } => {
                let (what, with) = match of {
                    Counted::Measurements => ("MEASUREMENT", None),
                    Counted::Series => ("SERIES", None),
                    Counted::FieldKeys => ("FIELD KEY", None),
                    Counted::TagKeys => ("TAG KEY", None),
                    Counted::TagValues(with) => ("TAG VALUES", Some(with)),
                };
                let exact = if *exact { "EXACT " } else { "" };
                clauses.write(f, &format!("SHOW {what} {exact}CARDINALITY"), with)
            }
        }
    }
}

impl Clauses {
    fn write(&self, f: &mut Formatter<'_>, verb: &str, with: Option<&KeyTest>) -> fmt::Result {
        f.write_str(verb)?;
        self.write_places(f)?;
        clause(f, "WITH KEY", with)?;
        self.write_rest(f)
    }

    fn write_places(&self, f: &mut Formatter<'_>) -> fmt::Result {
        name_clause(f, "ON", self.database.as_deref())?;
        list_clause(f, "FROM", &self.sources)
    }

    fn write_rest(&self, f: &mut Formatter<'_>) -> fmt::Result {
        clause(f, "WHERE", self.condition.as_ref())?;
        list_clause(f, "GROUP BY", &self.dimensions)?;
        clause(f, "ORDER BY", self.order)?;
        count_clause(f, "LIMIT", self.limit)?;
        count_clause(f, "OFFSET", self.offset)?;
        count_clause(f, "SLIMIT", self.series_limit)?;
        count_clause(f, "SOFFSET", self.series_offset)
    }
}

impl Display for KeyTest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Equal(name) => write!(f, "= {}", quote_name(name)),
            Self::NotEqual(name) => write!(f, "!= {}", quote_name(name)),
            Self::Matches(pattern) => write!(f, "=~ {}", slash(pattern)),
            Self::NotMatches(pattern) => write!(f, "!~ {}", slash(pattern)),
            Self::In(names) => {
                let names: Vec<_> = names.iter().map(|name| quote_name(name)).collect();
                write!(f, "IN ({})", List(&names))
            }
        }
    }
}

impl Display for PolicyOptions {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        duration_clause(f, "DURATION", self.duration_ns)?;
        clause(f, "REPLICATION", self.replication)?;
        duration_clause(f, "SHARD DURATION", self.shard_duration_ns)?;
        f.write_str(if self.is_default { " DEFAULT" } else { "" })
    }
}

impl Display for ContinuousQuery {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (name, database) = (quote_name(&self.name), quote_name(&self.database));
        write!(f, "CREATE CONTINUOUS QUERY {name} ON {database}")?;
        if self.every_ns.is_some() || self.for_ns.is_some() {
            f.write_str(" RESAMPLE")?;
        }
        duration_clause(f, "EVERY", self.every_ns)?;
        duration_clause(f, "FOR", self.for_ns)?;
        write!(f, " BEGIN {} END", self.select)
    }
}
