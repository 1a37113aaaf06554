//! Statements as the grammar has them.

mod expr;
mod show;

pub use expr::{Cast, Expr, Op};
pub use show::{Clauses, Counted, KeyTest, Show};
use std::collections::BTreeMap;

/// Values for the `$name`s of a query.
pub type Parameters = BTreeMap<String, Parameter>;

/// The value that a `$name` stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// A whole number.
    Integer(i64),
    /// A whole number beyond those; InfluxQL reads it as one with a fraction.
    Unsigned(u64),
    /// A number with a fraction.
    Number(f64),
    /// A string.
    String(String),
    /// True or false.
    Boolean(bool),
    /// A regular expression, without slashes.
    Regex(String),
    /// A name, not quoted.
    Identifier(String),
    /// A duration in nanoseconds.
    Duration(i64),
}

/// One statement of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// `SELECT …`
    Select(Select),
    /// `EXPLAIN [ANALYZE] SELECT …`
    Explain {
        /// Whether the query is run and measured.
        analyze: bool,
        /// The query.
        select: Select,
    },
    /// `EXPLAIN` of a statement that takes samples away: what it would take.
    Preview(Box<Statement>),
    /// `DELETE [FROM …] [WHERE …]`
    Delete(Deletion),
    /// `DROP SERIES [FROM …] [WHERE …]`
    DropSeries(Deletion),
    /// `DROP MEASUREMENT name`
    DropMeasurement(String),
    /// `SHOW …`
    Show(Show),
    /// `CREATE DATABASE name [WITH …]`
    CreateDatabase {
        /// Name.
        name: String,
        /// What its first retention policy is like, when that is said.
        policy: Option<PolicyOptions>,
    },
    /// `DROP DATABASE name`
    DropDatabase(String),
    /// `CREATE RETENTION POLICY name ON database …`
    CreateRetentionPolicy {
        /// Database.
        database: String,
        /// Its name and properties.
        options: PolicyOptions,
    },
    /// `ALTER RETENTION POLICY name ON database …`
    AlterRetentionPolicy {
        /// Database.
        database: String,
        /// Its name and the properties to change.
        options: PolicyOptions,
    },
    /// `DROP RETENTION POLICY name ON database`
    DropRetentionPolicy {
        /// Database.
        database: String,
        /// Name.
        name: String,
    },
    /// `CREATE CONTINUOUS QUERY …`
    CreateContinuousQuery(ContinuousQuery),
    /// `DROP CONTINUOUS QUERY name ON database`
    DropContinuousQuery {
        /// Database.
        database: String,
        /// Name.
        name: String,
    },
    /// `CREATE SUBSCRIPTION …`
    CreateSubscription {
        /// Database.
        database: String,
        /// Retention policy.
        policy: String,
        /// Name.
        name: String,
        /// Whether every destination gets all lines (`ALL`), or each line goes to one (`ANY`).
        to_all: bool,
        /// Addresses.
        destinations: Vec<String>,
    },
    /// `DROP SUBSCRIPTION …`
    DropSubscription {
        /// Database.
        database: String,
        /// Retention policy.
        policy: String,
        /// Name.
        name: String,
    },
    /// `CREATE USER name WITH PASSWORD 'password' [WITH ALL PRIVILEGES]`
    CreateUser {
        /// Name.
        name: String,
        /// Password.
        password: String,
        /// Whether the user may do everything.
        is_admin: bool,
    },
    /// `DROP USER name`
    DropUser(String),
    /// `SET PASSWORD FOR name = 'password'`
    SetPassword {
        /// Name.
        user: String,
        /// Password.
        password: String,
    },
    /// `GRANT …`
    Grant(Right),
    /// `REVOKE …`
    Revoke(Right),
    /// `DROP SHARD id`
    DropShard(u64),
    /// `KILL QUERY id [ON host]`
    KillQuery {
        /// Number of the query.
        id: u64,
        /// Where it runs.
        host: Option<String>,
    },
}

/// `SELECT …`
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Select {
    /// What is asked for.
    pub fields: Vec<Field>,
    /// Where the answer is written.
    pub target: Option<Target>,
    /// Where it comes from.
    pub sources: Vec<Source>,
    /// `WHERE`
    pub condition: Option<Expr>,
    /// `GROUP BY`
    pub dimensions: Vec<Expr>,
    /// `fill(…)`
    pub fill: Fill,
    /// `ORDER BY`
    pub order: Option<Order>,
    /// `LIMIT`; 0 means none.
    pub limit: u64,
    /// `OFFSET`
    pub offset: u64,
    /// `SLIMIT`; 0 means none.
    pub series_limit: u64,
    /// `SOFFSET`
    pub series_offset: u64,
    /// `tz('…')`, as it was written.
    pub timezone: Option<String>,
}

/// One column of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// How it is calculated.
    pub expr: Expr,
    /// `AS`
    pub alias: Option<String>,
}

/// Where `SELECT … INTO` writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// Database; none means the current one.
    pub database: Option<String>,
    /// Retention policy; none means the default one.
    pub policy: Option<String>,
    /// Measurement; none (`:MEASUREMENT`) means that of the source.
    pub measurement: Option<String>,
}

/// Where a `SELECT` reads.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Measurements by name.
    Measurement(Measurement),
    /// The answer of another `SELECT`.
    Subquery(Box<Select>),
}

/// Measurements by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Measurement {
    /// Database; none means the current one.
    pub database: Option<String>,
    /// Retention policy; none means the default one.
    pub policy: Option<String>,
    /// Which measurements.
    pub name: Name,
}

/// A name, or all names that a regular expression fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// Exactly this.
    Is(String),
    /// A regular expression, without slashes.
    Matches(String),
}

/// What stands for windows without a value.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Fill {
    /// A null.
    #[default]
    Null,
    /// Nothing: the window is left out.
    None,
    /// The value of the window before.
    Previous,
    /// The value on the line between the neighbours.
    Linear,
    /// This whole number.
    Integer(i64),
    /// This number.
    Number(f64),
}

/// Order of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Oldest first.
    Ascending,
    /// Newest first.
    Descending,
}

/// What is deleted: at least one of the two is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deletion {
    /// `FROM`
    pub sources: Vec<Source>,
    /// `WHERE`
    pub condition: Option<Expr>,
}

/// What is said about a retention policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PolicyOptions {
    /// Name.
    pub name: Option<String>,
    /// How long samples are kept, in nanoseconds; 0 (`INF`) means for ever.
    pub duration_ns: Option<i64>,
    /// How many copies are kept.
    pub replication: Option<u32>,
    /// How much time one shard covers, in nanoseconds.
    pub shard_duration_ns: Option<i64>,
    /// Whether it becomes the database's default.
    pub is_default: bool,
}

/// `CREATE CONTINUOUS QUERY name ON database [RESAMPLE …] BEGIN SELECT … END`
#[derive(Clone, Debug, PartialEq)]
pub struct ContinuousQuery {
    /// Name.
    pub name: String,
    /// Database.
    pub database: String,
    /// How often it runs, in nanoseconds.
    pub every_ns: Option<i64>,
    /// How far back it looks, in nanoseconds.
    pub for_ns: Option<i64>,
    /// What it runs.
    pub select: Select,
}

/// A right that is granted or revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Right {
    /// What may be done.
    pub privilege: Privilege,
    /// In which database; none means everywhere, which goes with all privileges only.
    pub database: Option<String>,
    /// By whom.
    pub user: String,
}

/// What a user may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privilege {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Read and write.
    All,
}
