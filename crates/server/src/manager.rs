//! What the service manager hears: that the server is ready, that it is alive, and that it stops.
//! It listens where `NOTIFY_SOCKET` says, as systemd does for units of `Type=notify`
//! (sd_notify(3)); without one nobody is told.

use crate::loops::Places;
use sd_notify::NotifyState;
use std::future;
use std::time::Duration;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// The store has recovered and requests are answered.
pub(crate) fn say_ready() {
    say(NotifyState::Ready);
}

/// The server stops.
pub(crate) fn say_stopping() {
    say(NotifyState::Stopping);
}

/// Tells the manager's watchdog that each loop still takes work, twice as often as it wants to hear
/// that. Never returns.
pub(crate) async fn feed_watchdog(loops: &Places) {
    let Some(mut beat) = sd_notify::watchdog_enabled().and_then(beat) else {
        return future::pending().await;
    };
    loop {
        beat.tick().await;
        // A task that never runs is a beat that never comes.
        loops.all_move().await;
        say(NotifyState::Watchdog);
    }
}

fn beat(wanted: Duration) -> Option<Interval> {
    let mut beat = interval(Some(wanted / 2).filter(|period| !period.is_zero())?);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Some(beat)
}

fn say(state: NotifyState<'_>) {
    if let Err(error) = sd_notify::notify(&[state]) {
        log::warn!("the service manager cannot be told: {error}");
    }
}
