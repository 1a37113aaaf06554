//! Users: names, hashed passwords and rights, kept as facts of the catalog.
//!
//! ```text
//! user   name -> hash length u32 | hash | rights
//! ```

use crate::fact::{put_text, take_text};
use crate::rights::{Access, Grant, Rights};
use argon2::password_hash::Error as HashError;
use foliot_engine::{Engine, Error};

const KIND: &str = "user";

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The name.
    pub name: String,
    /// What the user may do.
    pub rights: Rights,
    /// The password's hash in PHC form, salt and parameters included.
    pub(crate) hash: String,
}

impl User {
    /// What the user may do in a database as a whole.
    pub fn access(&self, database: &str) -> Access {
        let held = self.rights.grants.iter().find(|grant| is_on(grant, database));
        held.map_or(Access::Nothing, |grant| grant.access)
    }

    /// Gives the user this right, and no other, in a database as a whole.
    pub(crate) fn set_access(&mut self, database: &str, access: Access) {
        let grants = &mut self.rights.grants;
        grants.retain(|grant| !is_on(grant, database));
        grants.push(Grant::on(database, access));
        grants.sort();
    }
}

fn is_on(grant: &Grant, database: &str) -> bool {
    grant.database == database && grant.measurements == crate::rights::ALL
}

/// Why a change of users or tokens was refused, in InfluxDB's words.
#[derive(Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is no such user.
    NotFound,
    /// There is such a user already.
    Exists,
    /// A user must have a name.
    NoName,
    /// A user's name has control characters.
    BadName,
    /// A new password must have so many characters.
    ShortPassword(usize),
    /// Nobody else may do everything.
    LastAdministrator,
    /// There are so many of what the setting limits.
    Enough(u64, &'static str),
    /// Hashing or storing failed.
    Failed(String),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ShortPassword(least) => {
                return write!(
                    f,
                    "a password must have at least {least} characters \
                     (access.password_length_min)"
                );
            }
            Self::Enough(most, setting) => {
                return write!(
                    f,
                    "as many as {setting} allows ({most}) are there already: remove some, or raise \
                     it"
                );
            }
            Self::NotFound => "user not found",
            Self::Exists => "user already exists",
            Self::NoName => "username required",
            Self::BadName => "a user's name has no control characters",
            Self::LastAdministrator => {
                "this is the last administrator: make another one first, with CREATE USER … WITH \
                 PASSWORD … WITH ALL PRIVILEGES or `foliot user add NAME --role admin`"
            }
            Self::Failed(reason) => reason,
        })
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<HashError> for Refused {
    fn from(error: HashError) -> Self {
        Self::Failed(format!("the password cannot be hashed: {error}"))
    }
}

/// All users by name.
pub(crate) fn list(engine: &Engine) -> Vec<User> {
    let facts = engine.catalog_list(KIND);
    facts.into_iter().filter_map(|(name, fact)| decode(name, &fact)).collect()
}

pub(crate) fn get(engine: &Engine, name: &str) -> Option<User> {
    decode(name.to_owned(), &engine.catalog_get(KIND, name)?)
}

pub(crate) fn put(engine: &Engine, user: &User) -> Result<(), Refused> {
    let mut fact = Vec::new();
    put_text(&user.hash, &mut fact);
    user.rights.put(&mut fact);
    engine.catalog_put(KIND, &user.name, &fact)?;
    Ok(())
}

pub(crate) fn remove(engine: &Engine, name: &str) -> Result<(), Refused> {
    get(engine, name).ok_or(Refused::NotFound)?;
    engine.catalog_delete(KIND, name)?;
    Ok(())
}

/// Takes from all users what they may do in a database; `about` hears the name of each before.
pub(crate) fn leave(
    engine: &Engine,
    database: &str,
    about: impl Fn(&str) -> Result<(), Refused>,
) -> Result<(), Refused> {
    for mut user in list(engine) {
        if user.rights.leave(database) {
            about(&user.name)?;
            put(engine, &user)?;
        }
    }
    Ok(())
}

fn decode(name: String, mut fact: &[u8]) -> Option<User> {
    let hash = take_text(&mut fact)?;
    let rights = Rights::take(&mut fact)?;
    Some(User { name, rights, hash })
}
