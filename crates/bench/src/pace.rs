//! When requests are due. A closed loop has no plan: the next request follows the last reply. An
//! open loop has one that does not wait for the server, so that a stalled server is charged with
//! every request it delays.

use std::time::Duration;

use serde::Serialize;

use crate::random::{Draws, Purpose, unit};

/// How requests follow each other on one connection.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Pace {
    /// As soon as the last reply is there, after a pause of so many milliseconds.
    Closed { think_ms: u64 },
    /// At a fixed distance; connections take turns.
    Fixed { requests_per_second: f64 },
    /// At random distances with this mean rate, independent on each connection.
    Poisson { requests_per_second: f64 },
    /// One request per source and interval, each source at a phase of its own.
    Phased { interval_ms: u64 },
}

/// The plan of one connection.
pub(crate) struct Plan {
    pace: Pace,
    connection: u64,
    connections: u64,
    /// Sources of this connection.
    sources: u64,
    draws: Draws,
    request: u64,
    /// Where the Poisson process stands, in seconds.
    at_seconds: f64,
}

impl Plan {
    pub(crate) fn new(pace: Pace, seed: u64, at: u64, connections: u64, sources: u64) -> Plan {
        let draws = Draws::at(seed, Purpose::Schedule, at, connections);
        let sources = sources.max(1);
        Plan { pace, connection: at, connections, sources, draws, request: 0, at_seconds: 0.0 }
    }

    /// When the next request is due, counted from the start of the load; none in a closed loop.
    pub(crate) fn due(&mut self) -> Option<Duration> {
        let request = self.request;
        self.request += 1;
        match self.pace {
            Pace::Closed { .. } => None,
            Pace::Fixed { requests_per_second } => {
                let place = request * self.connections + self.connection;
                Some(Duration::from_secs_f64(place as f64 / requests_per_second))
            }
            Pace::Poisson { requests_per_second } => {
                let mean = self.connections as f64 / requests_per_second;
                self.at_seconds += self.draws.exponential() * mean;
                Some(Duration::from_secs_f64(self.at_seconds))
            }
            Pace::Phased { interval_ms } => {
                // One phase in each of equal slots: sorted without being stored.
                let (round, source) = (request / self.sources, request % self.sources);
                let phase = (source as f64 + unit(self.draws.lane(source))) / self.sources as f64;
                let at_ms = (round as f64 + phase) * interval_ms as f64;
                Some(Duration::from_secs_f64(at_ms / 1000.0))
            }
        }
    }

    /// The pause after a reply.
    pub(crate) fn think(&self) -> Duration {
        match self.pace {
            Pace::Closed { think_ms } => Duration::from_millis(think_ms),
            _ => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dues(pace: Pace, count: usize) -> Vec<f64> {
        let mut plan = Plan::new(pace, 1, 1, 4, 10);
        (0..count).map(|_| plan.due().unwrap().as_secs_f64()).collect()
    }

    #[test]
    fn connections_take_turns_at_a_fixed_rate() {
        let dues = dues(Pace::Fixed { requests_per_second: 100.0 }, 3);
        for (due, expected) in dues.iter().zip([0.01, 0.05, 0.09]) {
            assert!((due - expected).abs() < 1e-9);
        }
    }

    #[test]
    fn poisson_keeps_its_mean_rate() {
        let dues = dues(Pace::Poisson { requests_per_second: 400.0 }, 40_000);
        let rate = dues.len() as f64 / dues[dues.len() - 1];
        assert!((rate - 100.0).abs() < 2.0, "{rate}");
    }

    #[test]
    fn phases_rise_and_return_each_interval() {
        let dues = dues(Pace::Phased { interval_ms: 1000 }, 30);
        assert!(dues.is_sorted());
        for (at, due) in dues.iter().enumerate().skip(10) {
            assert!((due - dues[at - 10] - 1.0).abs() < 1e-9);
        }
    }
}
