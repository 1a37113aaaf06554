//! Users of the InfluxDB door: names, hashed passwords and grants, kept as facts of the catalog.
//!
//! Who is asked for a password, and what grants allow, is the door's matter.
//!
//! ```text
//! user   name -> 1 if admin u8 | hash length u32 | hash | grants: right u8, length u32, database
//! ```

use argon2::password_hash::{Error as HashError, PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Argon2, PasswordHash};
use foliot_engine::{Engine, Error};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

const USER_KIND: &str = "user";

/// What a user may do in a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Grant {
    Nothing = 0,
    Read = 1,
    Write = 2,
    All = 3,
}

impl Grant {
    const fn of_code(code: u8) -> Self {
        match code {
            1 => Self::Read,
            2 => Self::Write,
            3 => Self::All,
            _ => Self::Nothing,
        }
    }

    /// As InfluxDB spells it.
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Nothing => "NO PRIVILEGES",
            Self::Read => "READ",
            Self::Write => "WRITE",
            Self::All => "ALL PRIVILEGES",
        }
    }
}

/// A user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) is_admin: bool,
    /// The password's hash in PHC form, salt and parameters included.
    hash: String,
    pub(crate) grants: Vec<(String, Grant)>,
}

impl User {
    /// Whether the user has this right in a database.
    pub(crate) fn may(&self, wanted: Grant, database: &str) -> bool {
        let held = self.grants.iter().find(|(found, _)| found == database);
        held.is_some_and(|(_, held)| *held as u8 & wanted as u8 == wanted as u8)
    }
}

/// All users.
#[derive(Debug, Default)]
pub(crate) struct Users {
    changing: Mutex<()>,
    believed: Mutex<Believed>,
}

/// Passwords that were found right: checking one by its hash takes tens of milliseconds, which not
/// every request can pay. Remembered are numbers made with a secret of this process.
#[derive(Debug, Default)]
struct Believed {
    secret: RandomState,
    numbers: HashSet<u64>,
}

/// Numbers of right passwords that are remembered.
const BELIEVED_MAX: usize = 10_000;

/// Why a change of users was refused, in InfluxDB's words.
#[derive(Debug)]
pub(crate) enum Refused {
    NotFound,
    Exists,
    NoName,
    /// Hashing or storing failed.
    Failed(String),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NotFound => "user not found",
            Self::Exists => "user already exists",
            Self::NoName => "username required",
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

impl Users {
    /// All users by name.
    pub(crate) fn list(engine: &Engine) -> Vec<User> {
        let facts = engine.catalog_list(USER_KIND);
        facts.into_iter().filter_map(|(name, fact)| decode(name, &fact)).collect()
    }

    pub(crate) fn get(engine: &Engine, name: &str) -> Result<User, Refused> {
        let fact = engine.catalog_get(USER_KIND, name).ok_or(Refused::NotFound)?;
        decode(name.to_owned(), &fact).ok_or(Refused::NotFound)
    }

    /// The user of this name, if the password is right.
    pub(crate) fn authenticate(&self, engine: &Engine, name: &str, password: &str) -> Option<User> {
        let user = Self::get(engine, name).ok()?;
        let number = self.believed.lock().secret.hash_one((name, &user.hash, password));
        if self.believed.lock().numbers.contains(&number) {
            return Some(user);
        }
        if !verifies(&user.hash, password) {
            return None;
        }
        let mut believed = self.believed.lock();
        if believed.numbers.len() >= BELIEVED_MAX {
            believed.numbers.clear();
        }
        believed.numbers.insert(number);
        Some(user)
    }

    /// Creates a user. Creating the same one again is no error.
    pub(crate) fn create(
        &self,
        engine: &Engine,
        name: &str,
        password: &str,
        is_admin: bool,
    ) -> Result<(), Refused> {
        if name.is_empty() {
            return Err(Refused::NoName);
        }
        let _one_at_a_time = self.changing.lock();
        if let Ok(user) = Self::get(engine, name) {
            let is_same = user.is_admin == is_admin && verifies(&user.hash, password);
            return if is_same { Ok(()) } else { Err(Refused::Exists) };
        }
        let hash = hash(password)?;
        put(engine, &User { name: name.to_owned(), is_admin, hash, grants: Vec::new() })
    }

    pub(crate) fn set_password(
        &self,
        engine: &Engine,
        name: &str,
        password: &str,
    ) -> Result<(), Refused> {
        let hash = hash(password)?;
        self.change(engine, name, |user| user.hash = hash)
    }

    pub(crate) fn set_admin(
        &self,
        engine: &Engine,
        name: &str,
        is_admin: bool,
    ) -> Result<(), Refused> {
        self.change(engine, name, |user| user.is_admin = is_admin)
    }

    pub(crate) fn grant(
        &self,
        engine: &Engine,
        name: &str,
        database: &str,
        grant: Grant,
    ) -> Result<(), Refused> {
        self.change(engine, name, |user| {
            user.grants.retain(|(found, _)| found != database);
            user.grants.push((database.to_owned(), grant));
            user.grants.sort();
        })
    }

    pub(crate) fn revoke(
        &self,
        engine: &Engine,
        name: &str,
        database: &str,
        revoked: Grant,
    ) -> Result<(), Refused> {
        let held = Self::get(engine, name)?.grants.into_iter().find(|(found, _)| found == database);
        let held = held.map_or(Grant::Nothing, |(_, grant)| grant);
        self.grant(engine, name, database, Grant::of_code(held as u8 & !(revoked as u8)))
    }

    pub(crate) fn remove(&self, engine: &Engine, name: &str) -> Result<(), Refused> {
        let _one_at_a_time = self.changing.lock();
        Self::get(engine, name)?;
        engine.catalog_delete(USER_KIND, name)?;
        Ok(())
    }

    fn change(
        &self,
        engine: &Engine,
        name: &str,
        change: impl FnOnce(&mut User),
    ) -> Result<(), Refused> {
        let _one_at_a_time = self.changing.lock();
        let mut user = Self::get(engine, name)?;
        change(&mut user);
        put(engine, &user)
    }
}

impl PartialOrd for Grant {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Grant {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (*self as u8).cmp(&(*other as u8))
    }
}

/// The hash of a password under a fresh salt: Argon2id (RFC 9106) with its library's parameters.
fn hash(password: &str) -> Result<String, Refused> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Refused::Failed(format!("no randomness for a salt: {error}")))?;
    let salt = SaltString::encode_b64(&bytes)?;
    Ok(Argon2::default().hash_password(password.as_bytes(), &salt)?.to_string())
}

fn verifies(hash: &str, password: &str) -> bool {
    let parsed = PasswordHash::new(hash);
    parsed
        .is_ok_and(|parsed| Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok())
}

fn put(engine: &Engine, user: &User) -> Result<(), Refused> {
    let mut fact = vec![u8::from(user.is_admin)];
    let mut push = |text: &str| {
        fact.extend_from_slice(&(text.len() as u32).to_le_bytes());
        fact.extend_from_slice(text.as_bytes());
    };
    push(&user.hash);
    for (database, grant) in &user.grants {
        fact.push(*grant as u8);
        fact.extend_from_slice(&(database.len() as u32).to_le_bytes());
        fact.extend_from_slice(database.as_bytes());
    }
    engine.catalog_put(USER_KIND, &user.name, &fact)?;
    Ok(())
}

fn decode(name: String, fact: &[u8]) -> Option<User> {
    let (is_admin, mut rest) = fact.split_first()?;
    let hash = take_text(&mut rest)?;
    let mut grants = Vec::new();
    while let Some((code, after)) = rest.split_first() {
        rest = after;
        grants.push((take_text(&mut rest)?, Grant::of_code(*code)));
    }
    Some(User { name, is_admin: *is_admin == 1, hash, grants })
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    let (length, after) = rest.split_first_chunk()?;
    let (text, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    *rest = after;
    String::from_utf8(text.to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_kept_as_salted_hashes() {
        let (one, two) = (hash("secret").unwrap(), hash("secret").unwrap());
        assert_ne!(one, two);
        assert!(one.starts_with("$argon2id$") && !one.contains("secret"));
        assert!(verifies(&one, "secret") && verifies(&two, "secret"));
        assert!(!verifies(&one, "Secret") && !verifies("rubbish", "secret"));
    }
}
