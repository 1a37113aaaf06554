//! Rights: what somebody may do, and in which databases and measurements.

use crate::fact::{put_text, take_text};

/// What may be done with samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Access {
    /// Nothing.
    Nothing = 0,
    /// They may be read.
    Read = 1,
    /// They may be written, and taken away.
    Write = 2,
    /// Both.
    All = 3,
}

impl Access {
    pub(crate) const fn of_code(code: u8) -> Self {
        match code & 3 {
            1 => Self::Read,
            2 => Self::Write,
            3 => Self::All,
            _ => Self::Nothing,
        }
    }

    /// Whether all of `wanted` is in this.
    pub const fn includes(self, wanted: Self) -> bool {
        self as u8 & wanted as u8 == wanted as u8
    }

    /// This without `revoked`.
    pub const fn without(self, revoked: Self) -> Self {
        Self::of_code(self as u8 & !(revoked as u8))
    }

    /// As InfluxDB spells it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Nothing => "NO PRIVILEGES",
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::All => "ALL PRIVILEGES",
        }
    }
}

/// What all databases, and all measurements, are called in a grant.
pub(crate) const ALL: &str = "*";

/// A right in a database.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// The database's name, or `*` for all.
    pub database: String,
    /// The measurements, where `*` stands for any text.
    pub measurements: String,
    /// What may be done there.
    pub access: Access,
}

impl Grant {
    /// A right in all measurements of a database.
    pub fn on(database: &str, access: Access) -> Self {
        Self { database: database.to_owned(), measurements: ALL.to_owned(), access }
    }

    /// Whether it says something about a database.
    pub(crate) fn covers(&self, database: &str) -> bool {
        self.database == ALL || self.database == database
    }
}

/// Everything that somebody may do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// Everything, everywhere.
    pub is_admin: bool,
    /// Settings, logs, figures and running queries may be looked at, queries ended.
    pub is_operator: bool,
    /// Rights in databases.
    pub grants: Vec<Grant>,
}

impl Rights {
    /// All rights there are.
    pub fn all() -> Self {
        Self { is_admin: true, is_operator: true, grants: Vec::new() }
    }

    /// Takes what they say of a database by its name; false where that is nothing.
    pub(crate) fn leave(&mut self, database: &str) -> bool {
        let before = self.grants.len();
        self.grants.retain(|grant| grant.database == ALL || grant.database != database);
        self.grants.len() < before
    }

    /// Appends them to a fact: `1 admin, 2 operator u8 | count u32 | access u8, database,
    /// measurements`, texts with their length.
    pub(crate) fn put(&self, fact: &mut Vec<u8>) {
        fact.push(u8::from(self.is_admin) | u8::from(self.is_operator) << 1);
        fact.extend_from_slice(&(self.grants.len() as u32).to_le_bytes());
        for grant in &self.grants {
            fact.push(grant.access as u8);
            put_text(&grant.database, fact);
            put_text(&grant.measurements, fact);
        }
    }

    pub(crate) fn take(rest: &mut &[u8]) -> Option<Self> {
        let (roles, after) = rest.split_first()?;
        let (count, after) = after.split_first_chunk()?;
        *rest = after;
        let mut grants = Vec::new();
        for _ in 0..u32::from_le_bytes(*count) {
            let (code, after) = rest.split_first()?;
            *rest = after;
            let database = take_text(rest)?;
            let measurements = take_text(rest)?;
            grants.push(Grant { database, measurements, access: Access::of_code(*code) });
        }
        Some(Self { is_admin: roles & 1 != 0, is_operator: roles & 2 != 0, grants })
    }
}
