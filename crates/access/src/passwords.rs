//! Passwords: Argon2id (RFC 9106), no more of it at once than memory and processors bear.

use crate::users::Refused;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, SaltString};
use argon2::{Argon2, PasswordHash};
use foliot_lock::{Condvar, Mutex, Rank};
use std::sync::OnceLock;

/// Hashes made at once; each takes 19 MiB.
const RUNNING_MAX: usize = 2;

/// Hashes that may wait for their turn, half a second or so; beyond it logins are put off.
const WAITING_MAX: usize = 16;

/// Makes and compares hashes, in turn.
#[derive(Debug)]
pub(crate) struct Hasher {
    state: Mutex<State>,
    is_free: Condvar,
    /// A hash that fits no password: for users that are not there, so that these take as long.
    nobody: OnceLock<String>,
}

impl Default for Hasher {
    fn default() -> Self {
        Self {
            state: Mutex::new(Rank::Table, State::default()),
            is_free: Condvar::new(),
            nobody: OnceLock::new(),
        }
    }
}

#[derive(Debug, Default)]
struct State {
    running: usize,
    waiting: usize,
}

/// There are too many logins at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy;

impl Hasher {
    /// The hash of a password under a fresh salt, in PHC form.
    pub(crate) fn hash(&self, password: &str) -> Result<String, Refused> {
        let busy = |Busy| Refused::Failed("too many logins at once; try again".to_owned());
        let _turn = self.enter().map_err(busy)?;
        let salt = SaltString::encode_b64(&random::<16>()?)?;
        Ok(Argon2::default().hash_password(password.as_bytes(), &salt)?.to_string())
    }

    /// Whether a password is right. Without a hash it is not, after the same time.
    pub(crate) fn verify(&self, hash: Option<&str>, password: &str) -> Result<bool, Busy> {
        let _turn = self.enter()?;
        let is_right = verifies(hash.unwrap_or_else(|| self.nobody()), password);
        Ok(is_right && hash.is_some())
    }

    fn nobody(&self) -> &str {
        self.nobody.get_or_init(|| {
            let salt = SaltString::encode_b64(&[0; 16]);
            let hash =
                salt.and_then(|salt| Ok(Argon2::default().hash_password(b"", &salt)?.to_string()));
            hash.unwrap_or_default()
        })
    }

    fn enter(&self) -> Result<Turn<'_>, Busy> {
        let mut state = self.state.lock();
        if state.waiting >= WAITING_MAX {
            return Err(Busy);
        }
        state.waiting += 1;
        while state.running >= RUNNING_MAX {
            self.is_free.wait(&mut state);
        }
        state.waiting -= 1;
        state.running += 1;
        Ok(Turn(self))
    }
}

/// A hash is being made.
struct Turn<'h>(&'h Hasher);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.state.lock().running -= 1;
        self.0.is_free.notify_one();
    }
}

fn verifies(hash: &str, password: &str) -> bool {
    let parsed = PasswordHash::new(hash);
    parsed
        .is_ok_and(|parsed| Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok())
}

/// Bytes that nobody can guess.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], Refused> {
    let mut bytes = [0; N];
    let filled = getrandom::fill(&mut bytes);
    filled.map_err(|error| Refused::Failed(format!("the system has no randomness: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn passwords_are_kept_as_salted_hashes() {
        let hasher = Hasher::default();
        let (one, two) = (hasher.hash("secret").unwrap(), hasher.hash("secret").unwrap());
        assert_ne!(one, two);
        assert!(one.starts_with("$argon2id$") && !one.contains("secret"));
        let is_right = |hash: &str, password: &str| hasher.verify(Some(hash), password).unwrap();
        assert!(is_right(&one, "secret") && is_right(&two, "secret"));
        assert!(!is_right(&one, "Secret") && !is_right("rubbish", "secret"));
        assert!(!hasher.verify(None, "").unwrap(), "nobody has no password");
    }

    #[test]
    fn a_storm_of_logins_hashes_few_at_once_and_is_put_off() {
        let hasher = Hasher::default();
        let (put_off, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..100 {
                scope.spawn(|| match hasher.verify(None, "x") {
                    Ok(_) => drop(most.fetch_max(hasher.state.lock().running, Ordering::Relaxed)),
                    Err(Busy) => drop(put_off.fetch_add(1, Ordering::Relaxed)),
                });
            }
        });
        assert!(most.into_inner() <= RUNNING_MAX);
        assert!(put_off.into_inner() <= 100 - RUNNING_MAX);
        let state = hasher.state.lock();
        assert_eq!((state.running, state.waiting), (0, 0));
    }

    #[test]
    fn a_user_that_is_not_there_is_hashed_for_all_the_same() {
        let hasher = Hasher::default();
        let parsed = hasher.nobody().to_owned();
        let own = hasher.hash("x").unwrap();
        let parameters = |hash: &str| hash.split('$').take(4).collect::<Vec<_>>().join("$");
        assert_eq!(parameters(&parsed), parameters(&own), "the same work");
    }
}
