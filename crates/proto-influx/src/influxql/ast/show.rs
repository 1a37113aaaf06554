//! Listings as the grammar has them.

use super::{Expr, Measurement, Order, Source};

/// `SHOW …`
#[derive(Clone, Debug, PartialEq)]
pub enum Show {
    /// `SHOW DATABASES`
    Databases,
    /// `SHOW USERS`
    Users,
    /// `SHOW GRANTS FOR user`
    Grants(String),
    /// `SHOW QUERIES`
    Queries,
    /// `SHOW SHARDS`
    Shards,
    /// `SHOW SHARD GROUPS`
    ShardGroups,
    /// `SHOW SUBSCRIPTIONS`
    Subscriptions,
    /// `SHOW CONTINUOUS QUERIES`
    ContinuousQueries,
    /// `SHOW STATS [FOR 'module']`
    Stats(Option<String>),
    /// `SHOW DIAGNOSTICS [FOR 'module']`
    Diagnostics(Option<String>),
    /// `SHOW RETENTION POLICIES [ON database]`
    RetentionPolicies(Option<String>),
    /// `SHOW MEASUREMENTS … [WITH MEASUREMENT …] …`
    Measurements {
        /// Which of them.
        with: Option<Measurement>,
        /// The other clauses.
        clauses: Clauses,
    },
    /// `SHOW SERIES …`
    Series(Clauses),
    /// `SHOW FIELD KEYS …`
    FieldKeys(Clauses),
    /// `SHOW TAG KEYS … [WITH KEY …] …`
    TagKeys {
        /// Which of them.
        with: Option<KeyTest>,
        /// The other clauses.
        clauses: Clauses,
    },
    /// `SHOW TAG VALUES … WITH KEY … …`
    TagValues {
        /// Of which tags.
        with: KeyTest,
        /// The other clauses.
        clauses: Clauses,
    },
    /// `SHOW … [EXACT] CARDINALITY …`
    Cardinality {
        /// What is counted.
        of: Counted,
        /// Whether an estimate is not enough.
        exact: bool,
        /// The other clauses.
        clauses: Clauses,
    },
}

/// What `SHOW … CARDINALITY` counts.
#[derive(Clone, Debug, PartialEq)]
pub enum Counted {
    /// Measurements.
    Measurements,
    /// Series.
    Series,
    /// Names of fields.
    FieldKeys,
    /// Names of tags.
    TagKeys,
    /// Values of these tags.
    TagValues(KeyTest),
}

/// A condition on names of tags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyTest {
    /// `WITH KEY = name`
    Equal(String),
    /// `WITH KEY != name`
    NotEqual(String),
    /// `WITH KEY =~ /…/`
    Matches(String),
    /// `WITH KEY !~ /…/`
    NotMatches(String),
    /// `WITH KEY IN (…)`
    In(Vec<String>),
}

/// Clauses that the listings share; each listing allows some of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clauses {
    /// `ON`
    pub database: Option<String>,
    /// `FROM`
    pub sources: Vec<Source>,
    /// `WHERE`
    pub condition: Option<Expr>,
    /// `GROUP BY`
    pub dimensions: Vec<Expr>,
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
}
