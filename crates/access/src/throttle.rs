//! Failed logins, by the address they come from: each address has some, and gets one back every few
//! seconds. An address without any left is refused before anything is hashed.

use crate::networks::prefix;
use std::collections::HashMap;
use std::net::IpAddr;

/// Failures that an address may have at once.
const FAILURES_MAX: f64 = 10.0;

/// How long it takes until one of them is forgotten, in nanoseconds.
const FAILURE_NS: i64 = 6_000_000_000;

/// Addresses that are remembered; when there are more, those whose failures are forgotten go, and
/// if none are, all.
const ADDRESSES_MAX: usize = 10_000;

/// Bits of an IPv6 address that tell who has it: a host has all addresses of its network.
const V6_BITS: u8 = 64;

/// Failures of addresses.
#[derive(Debug, Default)]
pub(crate) struct Throttle {
    failures: HashMap<IpAddr, Failures>,
}

/// So many at this instant; they grow fewer.
#[derive(Clone, Copy, Debug)]
struct Failures {
    count: f64,
    at_ns: i64,
}

impl Failures {
    fn left(self, now_ns: i64) -> f64 {
        let forgotten = now_ns.saturating_sub(self.at_ns).max(0) as f64 / FAILURE_NS as f64;
        (self.count - forgotten).max(0.0)
    }
}

impl Throttle {
    /// Seconds until an address may try again, if it may not now.
    pub(crate) fn wait_s(&self, from: IpAddr, now_ns: i64) -> Option<u32> {
        let failures = self.failures.get(&of(from))?.left(now_ns);
        let over = failures - (FAILURES_MAX - 1.0);
        (over > 0.0).then(|| (over * FAILURE_NS as f64 / 1e9).ceil() as u32)
    }

    /// An address has shown something wrong.
    pub(crate) fn fail(&mut self, from: IpAddr, now_ns: i64) {
        if self.failures.len() >= ADDRESSES_MAX {
            self.failures.retain(|_, failures| failures.left(now_ns) > 0.0);
        }
        if self.failures.len() >= ADDRESSES_MAX {
            self.failures.clear();
        }
        let failures =
            self.failures.entry(of(from)).or_insert(Failures { count: 0.0, at_ns: now_ns });
        *failures = Failures { count: failures.left(now_ns) + 1.0, at_ns: now_ns };
    }
}

fn of(from: IpAddr) -> IpAddr {
    match from.to_canonical() {
        v6 @ IpAddr::V6(_) => prefix(v6, V6_BITS),
        v4 => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_fails_too_often_waits_and_others_do_not() {
        let mut throttle = Throttle::default();
        let [bad, good]: [IpAddr; 2] = ["192.0.2.1", "192.0.2.2"].map(|text| text.parse().unwrap());
        for _ in 0..10 {
            assert_eq!(throttle.wait_s(bad, 0), None);
            throttle.fail(bad, 0);
        }
        assert_eq!(throttle.wait_s(bad, 0), Some(6));
        assert_eq!(throttle.wait_s(good, 0), None);
        assert_eq!(throttle.wait_s(bad, FAILURE_NS), None);
        throttle.fail(bad, FAILURE_NS);
        assert_eq!(throttle.wait_s(bad, FAILURE_NS), Some(6));
        assert_eq!(throttle.wait_s(bad, 100 * FAILURE_NS), None);
    }

    #[test]
    fn hosts_of_one_network_are_one_and_memory_is_bounded() {
        let mut throttle = Throttle::default();
        for host in 0..10u128 {
            throttle.fail(IpAddr::V6((0x2001_0db8_u128 << 96 | host).into()), 0);
        }
        assert!(throttle.wait_s("2001:db8::ffff".parse().unwrap(), 0).is_some());
        assert!(throttle.wait_s("2001:db8:0:1::1".parse().unwrap(), 0).is_none());
        for host in 0..3 * ADDRESSES_MAX as u32 {
            throttle.fail(IpAddr::V4(host.into()), 0);
        }
        assert!(throttle.failures.len() <= ADDRESSES_MAX);
    }
}
