//! The gate: the one check of who asks, before every door.
//!
//! What was found right is remembered under a number made with a secret of this process, because
//! hashing a password takes tens of milliseconds. Everything is forgotten when a user or a token
//! changes, so that what is revoked ends with the next request.

use crate::credentials::Credentials;
use crate::passwords::{Busy, Hasher};
use crate::principal::{Principal, TOKEN_MARK};
use crate::rights::{Access, Rights};
use crate::throttle::Throttle;
use crate::tokens::{self, NewToken, Token};
use crate::users::{self, Refused, User};
use foliot_engine::{Caller, Engine};
use foliot_lock::{Mutex, Rank, RwLock};
use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Credentials that are remembered.
const REMEMBERED_MAX: usize = 10_000;

/// Why somebody is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing was shown.
    Missing,
    /// What was shown is wrong, or has ended.
    Wrong,
    /// The address has shown wrong things too often: again in so many seconds.
    Throttled(u32),
    /// There are too many logins at once.
    Busy,
}

/// What the gate has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Logins that failed.
    pub failed: u64,
    /// Logins that were put off, by address or because there were too many at once.
    pub put_off: u64,
    /// Users that were not made because there were enough.
    pub users_refused: u64,
    /// Tokens that were not made because there were enough.
    pub tokens_refused: u64,
}

/// The check before every door.
#[derive(Debug)]
pub struct Gate {
    is_on: bool,
    hasher: Hasher,
    throttle: Mutex<Throttle>,
    /// Users and tokens change one after another.
    changing: Mutex<()>,
    remembered: RwLock<Remembered>,
    /// Whether anybody may do everything.
    has_administrator: AtomicBool,
    /// The hash of the token that may do everything as long as nobody else may.
    first: Mutex<Option<String>>,
    generation: AtomicU64,
    failed: AtomicU64,
    put_off: AtomicU64,
    users_refused: AtomicU64,
    tokens_refused: AtomicU64,
    anyone: Arc<Principal>,
    password_length_min: usize,
    users_max: u64,
    tokens_max: u64,
}

/// Who showed which credentials, by the number of these.
#[derive(Debug, Default)]
struct Remembered {
    secrets: [RandomState; 2],
    principals: HashMap<u128, Arc<Principal>>,
    /// How often everything was forgotten: what was checked before must not be remembered after.
    forgotten: u64,
}

impl Remembered {
    fn number(&self, credentials: &Credentials) -> u128 {
        let [one, two] = &self.secrets;
        u128::from(one.hash_one(credentials)) << 64 | u128::from(two.hash_one(credentials))
    }
}

impl Gate {
    /// A gate that asks nobody, or everybody.
    pub fn new(is_on: bool) -> Self {
        Self {
            is_on,
            hasher: Hasher::default(),
            throttle: Mutex::new(Rank::Table, Throttle::default()),
            changing: Mutex::new(Rank::Users, ()),
            remembered: RwLock::new(Rank::Table, Remembered::default()),
            has_administrator: AtomicBool::new(false),
            first: Mutex::new(Rank::Table, None),
            generation: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            put_off: AtomicU64::new(0),
            users_refused: AtomicU64::new(0),
            tokens_refused: AtomicU64::new(0),
            anyone: Arc::new(Principal::anyone()),
            password_length_min: 0,
            users_max: u64::MAX,
            tokens_max: u64::MAX,
        }
    }

    /// The same, which takes new passwords of so many characters or more.
    #[must_use]
    pub fn with_passwords_from(self, password_length_min: usize) -> Self {
        Self { password_length_min, ..self }
    }

    /// The same, with so many users and tokens at most (`limits.users`, `limits.tokens`). Those
    /// that are there stay.
    #[must_use]
    pub fn with_most(self, users_max: u64, tokens_max: u64) -> Self {
        Self { users_max, tokens_max, ..self }
    }

    /// The hash of a new password.
    fn hash(&self, password: &str) -> Result<String, Refused> {
        match password.chars().count() < self.password_length_min {
            true => Err(Refused::ShortPassword(self.password_length_min)),
            false => self.hasher.hash(password),
        }
    }

    /// Whether anybody is asked.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whoever it is, while nobody is asked.
    pub fn anyone(&self) -> Arc<Principal> {
        self.anyone.clone()
    }

    /// Looks whether there is an administrator. If everybody is asked and there is none, makes a
    /// token that may do everything until there is one, and tells its text.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn open(&self, engine: &Engine) -> Result<Option<String>, Refused> {
        self.forget(engine);
        if !self.is_on || self.has_administrator() {
            return Ok(None);
        }
        let text = tokens::text()?;
        *self.first.lock() = Some(tokens::hash(&text));
        Ok(Some(text))
    }

    /// Whether anybody may do everything.
    pub fn has_administrator(&self) -> bool {
        self.has_administrator.load(Ordering::Acquire)
    }

    /// A number that changes when users or tokens do: whoever was admitted before is to be admitted
    /// again.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// What was counted.
    pub fn figures(&self) -> Figures {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Figures {
            failed: count(&self.failed),
            put_off: count(&self.put_off),
            users_refused: count(&self.users_refused),
            tokens_refused: count(&self.tokens_refused),
        }
    }

    /// Whether [`Gate::admit`] would answer at once: a password that is not remembered takes tens
    /// of milliseconds.
    pub fn is_quick(&self, credentials: Option<&Credentials>) -> bool {
        let Some(credentials @ Credentials::Password { .. }) = credentials else { return true };
        let remembered = self.remembered.read();
        !self.is_on || remembered.principals.contains_key(&remembered.number(credentials))
    }

    /// Who shows these credentials from this address.
    ///
    /// # Errors
    /// When they are not to be believed.
    pub fn admit(
        &self,
        engine: &Engine,
        credentials: Option<&Credentials>,
        from: Option<IpAddr>,
        now_ns: i64,
    ) -> Result<Arc<Principal>, Refusal> {
        if !self.is_on {
            return Ok(self.anyone());
        }
        let credentials = credentials.ok_or(Refusal::Missing)?;
        let (number, forgotten) = {
            let remembered = self.remembered.read();
            let number = remembered.number(credentials);
            match remembered.principals.get(&number) {
                Some(found) if found.expires_ns > now_ns => return Ok(found.clone()),
                _ => (number, remembered.forgotten),
            }
        };
        // What knows no address is on this machine.
        let from = from.unwrap_or(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));
        // Nobody guesses a token of 256 bits, and looking for one costs little: a client with one
        // that has ended must not keep out others at its address.
        let may_be_guessed = matches!(credentials, Credentials::Password { .. });
        let wait_s = self.throttle.lock().wait_s(from, now_ns).filter(|_| may_be_guessed);
        if let Some(wait_s) = wait_s {
            self.put_off.fetch_add(1, Ordering::Relaxed);
            return Err(Refusal::Throttled(wait_s));
        }
        let found = self.find(engine, credentials, now_ns).map_err(|Busy| {
            self.put_off.fetch_add(1, Ordering::Relaxed);
            Refusal::Busy
        })?;
        let Some((principal, is_kept)) = found else {
            self.failed.fetch_add(1, Ordering::Relaxed);
            if may_be_guessed {
                self.throttle.lock().fail(from, now_ns);
            }
            return Err(Refusal::Wrong);
        };
        let principal = Arc::new(principal);
        let mut remembered = self.remembered.write();
        if is_kept && remembered.forgotten == forgotten {
            if remembered.principals.len() >= REMEMBERED_MAX {
                remembered.principals.clear();
            }
            remembered.principals.insert(number, principal.clone());
        }
        Ok(principal)
    }

    /// Who it is, and whether that may be remembered.
    fn find(
        &self,
        engine: &Engine,
        credentials: &Credentials,
        now_ns: i64,
    ) -> Result<Option<(Principal, bool)>, Busy> {
        match credentials {
            Credentials::Password { user, password } => {
                let user = users::get(engine, user);
                let hash = user.as_ref().map(|user| user.hash.as_str());
                let is_right = self.hasher.verify(hash, password)?;
                let user = user.filter(|_| is_right);
                Ok(user.map(|user| (Principal::user(user.name, user.rights), true)))
            }
            Credentials::Token(text) => {
                let is_first = self.first.lock().as_ref() == Some(&tokens::hash(text));
                if let Some(first) = self.first().filter(|_| is_first) {
                    return Ok(Some((first, false)));
                }
                let token = tokens::get(engine, text).filter(|token| token.expires_ns > now_ns);
                Ok(token.map(|token| (token.acting(), true)))
            }
        }
    }

    /// What a [`Principal::owner`] may do now, for work that goes on without it: one that is gone
    /// may do nothing. Whoever was not asked may do everything, until everybody is asked.
    pub fn acting_for(&self, engine: &Engine, owner: &str, now_ns: i64) -> Arc<Principal> {
        if !self.is_on {
            return self.anyone();
        }
        let acting = match owner.strip_prefix(TOKEN_MARK) {
            Some("") => self.first.lock().as_ref().and_then(|_| self.first()),
            Some(id) => {
                let token = tokens::with_id(engine, id).filter(|token| token.expires_ns > now_ns);
                token.map(Token::acting)
            }
            None => users::get(engine, owner).map(|user| Principal::user(user.name, user.rights)),
        };
        Arc::new(acting.unwrap_or_else(Principal::nobody))
    }

    /// The first token, as long as it may do everything.
    fn first(&self) -> Option<Principal> {
        let first = || Principal::token("first".to_owned(), String::new(), Rights::all(), i64::MAX);
        (!self.has_administrator()).then(first)
    }

    /// Forgets who showed what, because users or tokens have changed.
    fn forget(&self, engine: &Engine) {
        let is_admin = |rights: &Rights| rights.is_admin;
        let has = users::list(engine).iter().any(|user| is_admin(&user.rights))
            || tokens::list(engine).iter().any(|token| is_admin(&token.rights));
        self.has_administrator.store(has, Ordering::Release);
        let mut remembered = self.remembered.write();
        remembered.principals.clear();
        remembered.forgotten += 1;
        self.generation.store(remembered.forgotten, Ordering::Release);
    }

    /// All users by name.
    pub fn users(&self, engine: &Engine) -> Vec<User> {
        users::list(engine)
    }

    /// A user.
    ///
    /// # Errors
    /// When there is none of this name.
    pub fn user(&self, engine: &Engine, name: &str) -> Result<User, Refused> {
        users::get(engine, name).ok_or(Refused::NotFound)
    }

    /// Makes a user. Making the same one again is no error.
    ///
    /// # Errors
    /// When there is another one of this name, and when the store cannot take it.
    pub fn create_user(
        &self,
        engine: &Engine,
        name: &str,
        password: &str,
        rights: Rights,
        caller: &Caller,
    ) -> Result<(), Refused> {
        if name.is_empty() {
            return Err(Refused::NoName);
        }
        // Whoever reads a list of names must see them as they are.
        if name.contains(char::is_control) {
            return Err(Refused::BadName);
        }
        let _one_at_a_time = self.changing.lock();
        if let Some(user) = users::get(engine, name) {
            let is_right = self.hasher.verify(Some(&user.hash), password).unwrap_or(false);
            let is_same = is_right && user.rights.is_admin == rights.is_admin;
            return if is_same { Ok(()) } else { Err(Refused::Exists) };
        }
        if users::list(engine).len() as u64 >= self.users_max {
            self.users_refused.fetch_add(1, Ordering::Relaxed);
            return Err(Refused::Enough(self.users_max, "limits.users"));
        }
        let hash = self.hash(password)?;
        engine.audit_access("create user", name, caller)?;
        let done = users::put(engine, &User { name: name.to_owned(), rights, hash });
        self.forget(engine);
        done
    }

    /// Gives a user another password.
    ///
    /// # Errors
    /// When there is no such user, and when the store cannot take it.
    pub fn set_password(
        &self,
        engine: &Engine,
        name: &str,
        password: &str,
        caller: &Caller,
    ) -> Result<(), Refused> {
        let hash = self.hash(password)?;
        self.change(engine, name, ("set password", caller), |user| user.hash = hash)
    }

    /// Makes a user one that may do everything, or no longer.
    ///
    /// # Errors
    /// When there is no such user, it is the last administrator, and when the store cannot take it.
    pub fn set_admin(
        &self,
        engine: &Engine,
        name: &str,
        is_admin: bool,
        caller: &Caller,
    ) -> Result<(), Refused> {
        let what = if is_admin { "grant all privileges" } else { "revoke all privileges" };
        let _one_at_a_time = self.changing.lock();
        if !is_admin {
            keep_an_administrator(engine, name)?;
        }
        self.change_alone(engine, name, (what, caller), |user| user.rights.is_admin = is_admin)
    }

    /// Gives a user a right in a database, instead of the one before.
    ///
    /// # Errors
    /// When there is no such user, and when the store cannot take it.
    pub fn grant(
        &self,
        engine: &Engine,
        name: &str,
        database: &str,
        access: Access,
        caller: &Caller,
    ) -> Result<(), Refused> {
        self.change(engine, name, ("grant", caller), |user| user.set_access(database, access))
    }

    /// Takes a right in a database from a user.
    ///
    /// # Errors
    /// When there is no such user, and when the store cannot take it.
    pub fn revoke(
        &self,
        engine: &Engine,
        name: &str,
        database: &str,
        revoked: Access,
        caller: &Caller,
    ) -> Result<(), Refused> {
        self.change(engine, name, ("revoke", caller), |user| {
            user.set_access(database, user.access(database).without(revoked));
        })
    }

    /// Takes all rights in a database that is gone: whoever makes one of its name decides anew who
    /// may do what there.
    ///
    /// # Errors
    /// When the store cannot take it.
    pub fn forget_database(
        &self,
        engine: &Engine,
        database: &str,
        caller: &Caller,
    ) -> Result<(), Refused> {
        let _one_at_a_time = self.changing.lock();
        let about = |whose: &str| Ok(engine.audit_access("revoke", whose, caller)?);
        let done = users::leave(engine, database, about)
            .and_then(|()| tokens::leave(engine, database, about));
        self.forget(engine);
        done
    }

    /// Removes a user.
    ///
    /// # Errors
    /// When there is no such user, it is the last administrator, and when the store cannot take it.
    pub fn remove_user(&self, engine: &Engine, name: &str, caller: &Caller) -> Result<(), Refused> {
        let _one_at_a_time = self.changing.lock();
        users::get(engine, name).ok_or(Refused::NotFound)?;
        keep_an_administrator(engine, name)?;
        engine.audit_access("drop user", name, caller)?;
        let done = users::remove(engine, name);
        self.forget(engine);
        done
    }

    /// All tokens, without their texts.
    pub fn tokens(&self, engine: &Engine) -> Vec<Token> {
        tokens::list(engine)
    }

    /// The token with this text.
    pub fn token(&self, engine: &Engine, text: &str) -> Option<Token> {
        tokens::get(engine, text)
    }

    /// Makes a token and tells its text, for the only time.
    ///
    /// # Errors
    /// When the store cannot take it.
    pub fn create_token(
        &self,
        engine: &Engine,
        new: NewToken,
        now_ns: i64,
        caller: &Caller,
    ) -> Result<String, Refused> {
        let _one_at_a_time = self.changing.lock();
        if tokens::list(engine).len() as u64 >= self.tokens_max {
            self.tokens_refused.fetch_add(1, Ordering::Relaxed);
            return Err(Refused::Enough(self.tokens_max, "limits.tokens"));
        }
        engine.audit_access("create token", &new.name, caller)?;
        let text = tokens::create(engine, new, now_ns);
        self.forget(engine);
        text
    }

    /// Ends the token with this id; false when there is none.
    ///
    /// # Errors
    /// When it is the last administrator, and when the store cannot take it.
    pub fn revoke_token(
        &self,
        engine: &Engine,
        id: &str,
        caller: &Caller,
    ) -> Result<bool, Refused> {
        let _one_at_a_time = self.changing.lock();
        if !tokens::list(engine).iter().any(|token| token.id == id) {
            return Ok(false);
        }
        keep_an_administrator(engine, id)?;
        engine.audit_access("revoke token", id, caller)?;
        let done = tokens::revoke(engine, id);
        self.forget(engine);
        done
    }

    fn change(
        &self,
        engine: &Engine,
        name: &str,
        (what, caller): (&str, &Caller),
        change: impl FnOnce(&mut User),
    ) -> Result<(), Refused> {
        let _one_at_a_time = self.changing.lock();
        self.change_alone(engine, name, (what, caller), change)
    }

    /// The same, for who holds `changing`.
    fn change_alone(
        &self,
        engine: &Engine,
        name: &str,
        (what, caller): (&str, &Caller),
        change: impl FnOnce(&mut User),
    ) -> Result<(), Refused> {
        let mut user = users::get(engine, name).ok_or(Refused::NotFound)?;
        change(&mut user);
        engine.audit_access(what, name, caller)?;
        let done = users::put(engine, &user);
        self.forget(engine);
        done
    }
}

/// Refuses to let the last one go who may do everything: a user, or a token without an end, by its
/// name or id. One with an end would leave nobody soon.
fn keep_an_administrator(engine: &Engine, name: &str) -> Result<(), Refused> {
    let users = users::list(engine).into_iter();
    let users = users.filter(|user| user.rights.is_admin).map(|user| user.name);
    let tokens = tokens::list(engine).into_iter();
    let tokens = tokens.filter(|token| token.rights.is_admin && token.expires_ns == i64::MAX);
    let lasting: Vec<String> = users.chain(tokens.map(|token| token.id)).collect();
    match lasting.as_slice() {
        [last] if last == name => Err(Refused::LastAdministrator),
        _ => Ok(()),
    }
}
