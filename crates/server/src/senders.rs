//! Who sends what: rows, samples and new series by protocol and address, for whoever looks for the
//! one that sends too much.
//!
//! A connection's task knows its peer, so that whatever it stores is counted for that address; it
//! is counted once for each batch, which is what one request or one read of a connection brought.

use crate::metrics::Way;
use foliot_lock::{Mutex, Rank};
use std::collections::HashMap;
use std::future::Future;
use std::net::IpAddr;

/// Senders that are told apart. Each takes about 100 bytes, and a list of more is read by nobody.
pub(crate) const SENDERS_MAX: usize = 1_024;

/// Senders that are forgotten together when there are more: to look for them all is then paid for
/// by so many new ones, whoever forges addresses.
const FORGOTTEN: usize = SENDERS_MAX / 4;

tokio::task_local! {
    /// Whose bytes this task works on.
    static PEER: IpAddr;
    /// Under which topic of MQTT came what is worked on.
    static TOPIC: String;
}

/// Serves what is heard from an address.
pub(crate) fn heard_from<F: Future>(
    address: IpAddr,
    serving: F,
) -> impl Future<Output = F::Output> {
    PEER.scope(address, serving)
}

/// The same for work that is done at once.
pub(crate) fn taken_from<T>(address: IpAddr, work: impl FnOnce() -> T) -> T {
    PEER.sync_scope(address, work)
}

/// Does work on what came under a topic of MQTT, whose sender only the broker knows.
pub(crate) fn under_topic<T>(topic: &str, work: impl FnOnce() -> T) -> T {
    TOPIC.sync_scope(topic.to_owned(), work)
}

/// Whence came what is worked on, behind what is said of it: an address, or a topic of MQTT.
pub(crate) fn origin() -> String {
    let topic = || TOPIC.try_with(|topic| format!(" under '{topic}'")).unwrap_or_default();
    peer().map_or_else(topic, |peer| format!(" from {peer}"))
}

/// The topic of MQTT under which came what is worked on.
pub(crate) fn topic() -> Option<String> {
    TOPIC.try_with(Clone::clone).ok()
}

/// Whose bytes are worked on: nobody's where this server itself makes them.
pub(crate) fn peer() -> Option<IpAddr> {
    PEER.try_with(|address| address.to_canonical()).ok()
}

/// Whose rows they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum From {
    /// An address; of IPv6 the first 64 bits.
    Address(IpAddr),
    /// This server itself: what it measures, scrapes, computes and fetches.
    Itself,
    /// Senders that were not told apart any more.
    Others,
}

impl From {
    /// Who this task works for.
    pub(crate) fn here() -> Self {
        let peer = PEER.try_with(|address| Self::Address(crate::listen::network(*address)));
        peer.unwrap_or(Self::Itself)
    }

    /// What it is called, and its address if it has one.
    pub(crate) fn told(self) -> (&'static str, Option<String>) {
        match self {
            Self::Address(address) => ("address", Some(address.to_string())),
            Self::Itself => ("itself", None),
            Self::Others => ("others", None),
        }
    }
}

/// What came from somebody since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) rows: u64,
    pub(crate) samples: u64,
    pub(crate) bytes: u64,
    pub(crate) refused: u64,
    pub(crate) new_series: u64,
    pub(crate) last_ns: i64,
}

impl Sent {
    fn add(&mut self, more: &Self) {
        self.rows += more.rows;
        self.samples += more.samples;
        self.bytes += more.bytes;
        self.refused += more.refused;
        self.new_series += more.new_series;
        self.last_ns = self.last_ns.max(more.last_ns);
    }
}

type Key = (&'static str, From);

/// What came from whom.
#[derive(Debug)]
pub(crate) struct Senders(Mutex<HashMap<Key, Sent>>);

impl Default for Senders {
    fn default() -> Self {
        Self(Mutex::new(Rank::Table, HashMap::new()))
    }
}

impl Senders {
    /// Counts what the peer of this task sent.
    pub(crate) fn count(&self, way: Way, sent: &Sent) {
        self.count_from((way.name(), From::here()), sent);
    }

    fn count_from(&self, key: Key, sent: &Sent) {
        let mut known = self.0.lock();
        if let Some(before) = known.get_mut(&key) {
            return before.add(sent);
        }
        if known.len() >= SENDERS_MAX {
            forget(&mut known);
        }
        known.entry(key).or_default().add(sent);
    }

    /// All of them, by protocol and address.
    pub(crate) fn list(&self) -> Vec<(&'static str, From, Sent)> {
        self.0.lock().iter().map(|((way, from), sent)| (*way, *from, *sent)).collect()
    }
}

/// Counts those that have been silent longest with the others of their protocols.
fn forget(known: &mut HashMap<Key, Sent>) {
    let addresses = known.iter().filter(|((_, from), _)| matches!(from, From::Address(_)));
    let mut silent: Vec<(i64, Key)> = addresses.map(|(key, sent)| (sent.last_ns, *key)).collect();
    if silent.len() > FORGOTTEN {
        silent.select_nth_unstable_by_key(FORGOTTEN, |(last_ns, _)| *last_ns);
        silent.truncate(FORGOTTEN);
    }
    for (_, key) in silent {
        if let Some(sent) = known.remove(&key) {
            known.entry((key.0, From::Others)).or_default().add(&sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(samples: u64, last_ns: i64) -> Sent {
        Sent { rows: samples, samples, bytes: 10, refused: 1, new_series: 2, last_ns }
    }

    #[test]
    fn there_is_room_for_so_many_and_nothing_is_lost_of_others() {
        let senders = Senders::default();
        let key = |at: u32| ("telnet", From::Address(IpAddr::from(at.to_le_bytes())));
        for at in 0..5_000 {
            senders.count_from(key(at), &sent(3, i64::from(at)));
        }
        senders.count_from(("host", From::Itself), &sent(1, 1));
        let listed = senders.list();
        let told = SENDERS_MAX - FORGOTTEN..=SENDERS_MAX + 2;
        assert!(told.contains(&listed.len()), "{}", listed.len());
        let samples = |wanted: &dyn Fn(&From) -> bool| -> u64 {
            let of_them = listed.iter().filter(|(_, from, _)| wanted(from));
            of_them.map(|(.., sent)| sent.samples).sum()
        };
        assert_eq!(samples(&|_| true), 15_001);
        assert!(samples(&|from| *from == From::Others) >= 3 * (5_000 - SENDERS_MAX as u64));
        let is_there = |at: u32| listed.iter().any(|(_, from, _)| *from == key(at).1);
        // All of those that spoke last are told apart, and none before.
        let kept = (0..5_000).filter(|at| is_there(*at)).count() as u32;
        assert!((5_000 - kept..5_000).all(is_there), "{kept} of the newest are told apart");
    }

    #[test]
    fn new_senders_without_end_cost_no_more_than_known_ones() {
        let key = |at: u32| ("udp", From::Address(IpAddr::from(at.to_le_bytes())));
        let senders = Senders::default();
        (0..SENDERS_MAX as u32).for_each(|at| senders.count_from(key(at), &sent(1, at.into())));
        // How often all are looked through, told by how their number falls.
        let (mut before, mut looked) = (senders.list().len(), 0);
        for at in 10_000..30_000 {
            senders.count_from(key(at), &sent(1, at.into()));
            let now = senders.0.lock().len();
            looked += u32::from(now < before);
            before = now;
        }
        assert!(looked <= 20_000 / FORGOTTEN as u32 + 1, "looked through all {looked} times");
    }

    #[tokio::test]
    async fn what_a_connection_stores_is_counted_for_its_address() {
        let senders = Senders::default();
        let six: IpAddr = "2001:db8::1:2:3:4".parse().unwrap();
        heard_from(six, async { senders.count(Way::Put, &sent(5, 7)) }).await;
        taken_from("::ffff:10.0.0.1".parse().unwrap(), || senders.count(Way::Udp, &sent(1, 8)));
        senders.count(Way::Host, &sent(2, 9));
        let mut listed = senders.list();
        listed.sort_by_key(|(.., sent)| sent.last_ns);
        let told: Vec<_> = listed.iter().map(|(way, from, _)| (*way, *from)).collect();
        let address = |text: &str| From::Address(text.parse().unwrap());
        assert_eq!(
            told,
            [("put", address("2001:db8::")), ("udp", address("10.0.0.1")), ("host", From::Itself)]
        );
    }
}
