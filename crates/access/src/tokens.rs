//! Tokens: 256 random bits that stand for rights. Only their hash is kept, so that whoever reads
//! the store cannot use them.
//!
//! ```text
//! token   BLAKE2b-256 of the text, in hexadecimal -> name | created i64 | expires i64 | rights
//! ```
//!
//! Times are in nanoseconds since 1970. The hash needs neither salt nor time: nobody guesses 256
//! random bits.

use crate::fact::{put_text, take_i64, take_text};
use crate::passwords::random;
use crate::principal::Principal;
use crate::rights::Rights;
use crate::users::Refused;
use blake2::digest::consts::U32;
use blake2::{Blake2b, Digest};
use foliot_engine::Engine;
use std::fmt::Write;

const KIND: &str = "token";

/// What every token begins with: scanners for leaked secrets know it by that.
pub(crate) const PREFIX: &str = "foliot_";

/// What a token is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// A name for people; several tokens may have one.
    pub name: String,
    /// When it ends, in nanoseconds since 1970; none: never.
    pub expires_ns: Option<i64>,
    /// What it allows.
    pub rights: Rights,
}

/// A token as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// The beginning of its hash, by which it is revoked.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When it was made, in nanoseconds since 1970.
    pub created_ns: i64,
    /// When it ends; [`i64::MAX`]: never.
    pub expires_ns: i64,
    /// What it allows.
    pub rights: Rights,
}

impl Token {
    /// Whoever shows it.
    pub(crate) fn acting(self) -> Principal {
        let Self { id, name, rights, expires_ns, .. } = self;
        Principal::token(name, id, rights, expires_ns)
    }
}

/// Characters of the hash that are a token's id.
const ID_CHARACTERS: usize = 16;

/// A fresh token's text.
pub(crate) fn text() -> Result<String, Refused> {
    Ok(PREFIX.to_owned() + &hexadecimal(&random::<32>()?))
}

pub(crate) fn hash(text: &str) -> String {
    hexadecimal(&Blake2b::<U32>::digest(text.as_bytes()))
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        // Writing to memory cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}

/// Keeps a token, and tells its text, for the only time.
pub(crate) fn create(engine: &Engine, new: NewToken, now_ns: i64) -> Result<String, Refused> {
    let text = text()?;
    let NewToken { name, expires_ns, rights } = new;
    let expires_ns = expires_ns.unwrap_or(i64::MAX);
    let token = Token { id: String::new(), name, created_ns: now_ns, expires_ns, rights };
    put(engine, &hash(&text), &token)?;
    Ok(text)
}

fn put(engine: &Engine, hash: &str, token: &Token) -> Result<(), Refused> {
    let mut fact = Vec::new();
    put_text(&token.name, &mut fact);
    fact.extend_from_slice(&token.created_ns.to_le_bytes());
    fact.extend_from_slice(&token.expires_ns.to_le_bytes());
    token.rights.put(&mut fact);
    engine.catalog_put(KIND, hash, &fact)?;
    Ok(())
}

/// The token with this id.
pub(crate) fn with_id(engine: &Engine, id: &str) -> Option<Token> {
    let found = engine.catalog_list_from(KIND, id);
    found.iter().find_map(|(hash, fact)| decode(hash, fact)).filter(|token| token.id == id)
}

/// Takes from all tokens what they may do in a database; `about` hears the id of each before.
pub(crate) fn leave(
    engine: &Engine,
    database: &str,
    about: impl Fn(&str) -> Result<(), Refused>,
) -> Result<(), Refused> {
    for (hash, fact) in engine.catalog_list(KIND) {
        let Some(mut token) = decode(&hash, &fact) else { continue };
        if token.rights.leave(database) {
            about(&token.id)?;
            put(engine, &hash, &token)?;
        }
    }
    Ok(())
}

/// All tokens, by id.
pub(crate) fn list(engine: &Engine) -> Vec<Token> {
    let facts = engine.catalog_list(KIND);
    facts.into_iter().filter_map(|(hash, fact)| decode(&hash, &fact)).collect()
}

/// The token with this text. It is found by its hash, so that the time it takes tells nothing.
pub(crate) fn get(engine: &Engine, text: &str) -> Option<Token> {
    let hash = hash(text);
    decode(&hash, &engine.catalog_get(KIND, &hash)?)
}

/// Removes the tokens with this id; false when there are none.
pub(crate) fn revoke(engine: &Engine, id: &str) -> Result<bool, Refused> {
    if id.len() < ID_CHARACTERS {
        return Ok(false);
    }
    let found = engine.catalog_list_from(KIND, id);
    for (hash, _) in &found {
        engine.catalog_delete(KIND, hash)?;
    }
    Ok(!found.is_empty())
}

fn decode(hash: &str, mut fact: &[u8]) -> Option<Token> {
    let name = take_text(&mut fact)?;
    let created_ns = take_i64(&mut fact)?;
    let expires_ns = take_i64(&mut fact)?;
    let rights = Rights::take(&mut fact)?;
    let id = hash.get(..ID_CHARACTERS)?.to_owned();
    Some(Token { id, name, created_ns, expires_ns, rights })
}
