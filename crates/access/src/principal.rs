//! Principals: whoever a request comes from, and whether it may do what it wants.

use crate::rights::{ALL, Access, Rights};
use foliot_model::Test;

/// What a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need<'a> {
    /// To read in this database.
    Read(&'a str),
    /// To write to this database, or to take samples away.
    Write(&'a str),
    /// To see settings, logs and running queries.
    Operate,
    /// To make databases, users and tokens, and whatever else concerns everybody.
    Administer,
}

/// What the id of a token that owns something stands behind: users' names have no control
/// characters.
pub(crate) const TOKEN_MARK: char = '\u{1}';

/// The measurements of a database that somebody may read or write.
#[derive(Clone, Debug)]
pub enum Measurements {
    /// All of them.
    All,
    /// Those that pass one of these tests; none when there is no test.
    Passing(Vec<Test>),
}

impl Measurements {
    /// Whether a measurement is among them.
    pub fn include(&self, measurement: &str) -> bool {
        match self {
            Self::All => true,
            Self::Passing(tests) => tests.iter().any(|test| test.passes(measurement)),
        }
    }
}

/// What a principal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Nobody is asked.
    Anyone,
    /// Whoever shows nothing.
    Nobody,
    User,
    Token,
}

/// Whoever a request comes from.
#[derive(Clone, Debug)]
pub struct Principal {
    kind: Kind,
    name: String,
    /// A token's id: several may have one name.
    id: String,
    rights: Rights,
    /// When a token ends, in nanoseconds.
    pub(crate) expires_ns: i64,
}

impl Principal {
    /// Whoever it is, while nobody is asked.
    pub fn anyone() -> Self {
        Self::new(Kind::Anyone, String::new(), Rights::all())
    }

    /// Whoever shows no credentials.
    pub fn nobody() -> Self {
        Self::new(Kind::Nobody, String::new(), Rights::default())
    }

    /// Whoever shows no credentials, from an address that may write to a database without.
    pub fn writer_to(database: &str) -> Self {
        let grants = vec![crate::Grant::on(database, Access::Write)];
        let rights = Rights { grants, ..Rights::default() };
        Self::new(Kind::Nobody, String::new(), rights)
    }

    pub(crate) fn user(name: String, rights: Rights) -> Self {
        Self::new(Kind::User, name, rights)
    }

    pub(crate) fn token(name: String, id: String, rights: Rights, expires_ns: i64) -> Self {
        Self { id, expires_ns, ..Self::new(Kind::Token, name, rights) }
    }

    fn new(kind: Kind, name: String, rights: Rights) -> Self {
        Self { kind, name, id: String::new(), rights, expires_ns: i64::MAX }
    }

    /// Its name; empty for those that have none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whose rights it has, for work that goes on without it: a user's name, or a token's id behind
    /// [`TOKEN_MARK`]; empty while nobody is asked.
    pub fn owner(&self) -> String {
        match self.kind {
            Kind::Anyone | Kind::Nobody => String::new(),
            Kind::User => self.name.clone(),
            Kind::Token => format!("{TOKEN_MARK}{}", self.id),
        }
    }

    /// Whether it may see, and end, what `other` asked: its own queries, or as an operator all.
    pub fn oversees(&self, other: &Self) -> bool {
        let who = |one: &Self| (one.kind, one.name.clone(), one.id.clone());
        self.may(Need::Operate) || (self.kind != Kind::Nobody && who(self) == who(other))
    }

    /// Whether it showed nothing although it was asked.
    pub fn is_nobody(&self) -> bool {
        self.kind == Kind::Nobody
    }

    /// Whether its token has ended.
    pub fn has_ended(&self, now_ns: i64) -> bool {
        self.expires_ns <= now_ns
    }

    /// Whether it may do everything.
    pub fn is_administrator(&self) -> bool {
        self.rights.is_admin
    }

    /// Whether it may do what a request needs.
    pub fn may(&self, need: Need<'_>) -> bool {
        match need {
            _ if self.rights.is_admin => true,
            Need::Read(database) => self.has(database, Access::Read),
            Need::Write(database) => self.has(database, Access::Write),
            Need::Operate => self.rights.is_operator,
            Need::Administer => false,
        }
    }

    /// Whether it may know that a database exists.
    pub fn may_see(&self, database: &str) -> bool {
        self.may(Need::Read(database)) || self.may(Need::Write(database))
    }

    /// Whether it may do something in all measurements of a database: facts that belong to no
    /// measurement need that.
    pub fn may_throughout(&self, database: &str, access: Access) -> bool {
        let fits = |grant: &&crate::Grant| {
            grant.covers(database) && grant.measurements == ALL && grant.access.includes(access)
        };
        self.rights.is_admin || self.rights.grants.iter().any(|grant| fits(&grant))
    }

    /// The measurements of a database in which it may do something.
    pub fn measurements(&self, database: &str, access: Access) -> Measurements {
        if self.may_throughout(database, access) {
            return Measurements::All;
        }
        let fits = |grant: &&crate::Grant| grant.covers(database) && grant.access.includes(access);
        let test = |grant: &crate::Grant| match Test::wildcard(&grant.measurements, false) {
            Ok(test) => test,
            // It has no asterisk.
            Err(_) => Test::equal(&*grant.measurements),
        };
        Measurements::Passing(self.rights.grants.iter().filter(fits).map(test).collect())
    }

    fn has(&self, database: &str, access: Access) -> bool {
        let fits = |grant: &crate::Grant| grant.covers(database) && grant.access.includes(access);
        self.rights.grants.iter().any(fits)
    }
}
