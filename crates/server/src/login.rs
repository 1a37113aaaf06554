//! The one check of who asks, for each request and each connection, whatever its protocol.

use crate::aside::aside;
use crate::metrics::now_ns;
use crate::shared::Shared;
use crate::store::Store;
use foliot_access::{Access, Credentials, Measurements, Need, Principal, Refusal};
use foliot_engine::Caller;
use std::net::SocketAddr;
use std::sync::Arc;

/// How often a failed login is a line of the audit log, at most, in nanoseconds. The lines are
/// synced, so that there must not be one for each guess.
const FAILURE_LINE_NS: i64 = 1_000_000_000;

/// Who shows these credentials, or none, from this address.
///
/// # Errors
/// When they are not to be believed.
pub(crate) fn admit(
    shared: &Shared,
    store: &Store,
    door: &'static str,
    credentials: Option<&Credentials>,
    peer: Option<SocketAddr>,
) -> Result<Arc<Principal>, Refusal> {
    let gate = &shared.gate;
    let address = peer.map(|peer| peer.ip());
    let look = || gate.admit(store.engine(), credentials, address, now_ns());
    // Checking a password takes its time.
    let outcome = match gate.is_quick(credentials) {
        true => look(),
        false => aside(look),
    };
    match outcome {
        Err(Refusal::Missing) => by_address(shared, peer),
        Err(refusal @ (Refusal::Wrong | Refusal::Throttled(_))) => {
            let whom = credentials.map(Credentials::told).unwrap_or_default();
            note_failure(shared, store, door, peer, &whom);
            Err(refusal)
        }
        outcome => outcome,
    }
}

/// Who writes from an address without credentials: whoever may from there.
///
/// # Errors
/// When nobody may.
pub(crate) fn by_address(
    shared: &Shared,
    peer: Option<SocketAddr>,
) -> Result<Arc<Principal>, Refusal> {
    if !shared.gate.is_on() {
        return Ok(shared.gate.anyone());
    }
    let may = peer.is_some_and(|peer| shared.config.access_write_from.0.contain(peer.ip()));
    may.then(|| shared.open_writer.clone()).ok_or(Refusal::Missing)
}

/// Tells that somebody is not believed to be `whom`.
fn note_failure(
    shared: &Shared,
    store: &Store,
    door: &'static str,
    peer: Option<SocketAddr>,
    whom: &str,
) {
    let now_ns = now_ns();
    {
        let mut last_ns = shared.failed_login_ns.lock();
        if now_ns.saturating_sub(*last_ns) < FAILURE_LINE_NS {
            return;
        }
        *last_ns = now_ns;
    }
    let from = peer.map(|peer| peer.ip().to_string()).unwrap_or_default();
    let figures = shared.gate.figures();
    log::warn!(
        "a login as {whom:?} by {door} from {from} failed ({} failed and {} put off so far)",
        figures.failed,
        figures.put_off
    );
    let caller = Caller { door, from, ..Caller::default() };
    let line = || store.engine().audit_access("failed login", whom, &caller);
    if let Err(error) = aside(line) {
        log::error!("a failed login is not in the audit log: {error}");
    }
}

/// A connection's sender, who says once who it is.
#[derive(Debug)]
pub(crate) struct Login {
    /// What was shown; nothing when the address suffices.
    credentials: Option<Credentials>,
    who: Arc<Principal>,
    /// The measurements of `listen.database` that may be written.
    scope: Measurements,
    /// When it was checked, in generations of the gate.
    generation: u64,
}

impl Login {
    /// A sender who needs no credentials, because of its address.
    pub(crate) fn by_address(shared: &Shared, peer: Option<SocketAddr>) -> Option<Self> {
        let generation = shared.gate.generation();
        Self::of(shared, None, by_address(shared, peer).ok()?, generation)
    }

    /// A sender of OpenTSDB's line `auth`, behind which a token stands, or a user and a password.
    ///
    /// # Errors
    /// Why the sender is not let in; nothing for lines and credentials that are wrong, of which
    /// OpenTSDB says no more.
    pub(crate) fn by_line(
        shared: &Shared,
        store: &Store,
        line: &[u8],
        peer: Option<SocketAddr>,
    ) -> Result<Self, String> {
        let text = std::str::from_utf8(line).unwrap_or_default().trim();
        let words = text.strip_prefix("auth ").ok_or_else(String::new)?.trim();
        let credentials = match words.split_once(' ') {
            Some((user, password)) => Credentials::of_pair(user, password.trim()),
            None => Credentials::Token(words.to_owned()),
        };
        let generation = shared.gate.generation();
        let who = admit(shared, store, "telnet", Some(&credentials), peer);
        let who = who.map_err(|refusal| match refusal {
            Refusal::Throttled(wait_s) => {
                format!("too many logins from this address have failed, again in {wait_s} s")
            }
            Refusal::Busy => "too many logins at once, try again later".to_owned(),
            Refusal::Missing | Refusal::Wrong => String::new(),
        })?;
        let name = &shared.config.listen_database.database;
        Self::of(shared, Some(credentials), who, generation)
            .ok_or_else(|| format!("no right to write to {name:?} (listen.database)"))
    }

    /// Nothing for a sender who may not write.
    fn of(
        shared: &Shared,
        credentials: Option<Credentials>,
        who: Arc<Principal>,
        generation: u64,
    ) -> Option<Self> {
        let database = &shared.config.listen_database.database;
        let scope = who.measurements(database, Access::Write);
        let login = Self { credentials, scope, generation, who };
        login.who.may(Need::Write(database)).then_some(login)
    }

    /// Whether the sender may go on: looks again when users or tokens have changed, or the token
    /// has ended.
    pub(crate) fn goes_on(
        &mut self,
        shared: &Shared,
        store: &Store,
        peer: Option<SocketAddr>,
    ) -> bool {
        let generation = shared.gate.generation();
        let Some(credentials) = &self.credentials else { return true };
        if self.generation == generation && !self.who.has_ended(now_ns()) {
            return true;
        }
        let who = admit(shared, store, "telnet", Some(credentials), peer).ok();
        let again = who.and_then(|who| Self::of(shared, self.credentials.clone(), who, generation));
        again.map(|again| *self = again).is_some()
    }

    /// The measurements of `listen.database` that may be written.
    pub(crate) fn scope(&self) -> &Measurements {
        &self.scope
    }

    /// Whether the sender may do what a request needs.
    pub(crate) fn may(&self, need: Need<'_>) -> bool {
        self.who.may(need)
    }
}
