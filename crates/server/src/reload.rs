//! Settings that are read again while the server runs, on SIGHUP.
//!
//! Most settings decide what is made at the start: listeners, memory, the store. These stay as they
//! are until the next start, and the log names those of them that have changed.

use crate::config::{Config, KEYS};
use crate::logging;

/// Keys that take effect at once. The certificate's files are read again by [`crate::tls`].
const RELOADED: [&str; 2] = ["log.level", "log.format"];

/// Compares what was `read` again with the settings in use, and obeys what can be obeyed.
pub(crate) fn reload(in_use: &mut Config, read: Result<Config, String>) {
    let read = read.and_then(|read| read.check().map(|()| read));
    let read = match read {
        Ok(read) => read,
        Err(why) => return log::error!("SIGHUP: the settings stay as they are: {why}"),
    };
    let changed = KEYS.iter().filter(|key| (key.show)(in_use) != (key.show)(&read));
    let (now, later): (Vec<&str>, Vec<&str>) =
        changed.map(|key| key.name).partition(|name| RELOADED.contains(name));
    in_use.log_level = read.log_level;
    in_use.log_format = read.log_format;
    if !now.is_empty() {
        logging::start(in_use.log_level, in_use.log_format);
    }
    // Secrets are shown alike, whatever they are.
    let has_secret = in_use.mqtt_password != read.mqtt_password;
    let later: Vec<&str> = later.into_iter().chain(has_secret.then_some("mqtt.password")).collect();
    log::info!("SIGHUP: {}", told(&now, &later));
}

fn told(now: &[&str], later: &[&str]) -> String {
    match (now, later) {
        ([], []) => "no setting has changed".to_owned(),
        (now, []) => format!("changed: {}", now.join(", ")),
        ([], later) => format!("changed at the next start only: {}", later.join(", ")),
        (now, later) => {
            format!("changed: {}; at the next start only: {}", now.join(", "), later.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_that_is_reloaded_exists() {
        for name in RELOADED {
            assert!(KEYS.iter().any(|key| key.name == name), "{name}");
        }
    }

    #[test]
    fn what_is_told() {
        assert_eq!(told(&[], &[]), "no setting has changed");
        assert_eq!(told(&["log.level"], &[]), "changed: log.level");
        assert_eq!(told(&[], &["a", "b"]), "changed at the next start only: a, b");
        assert_eq!(told(&["log.level"], &["a"]), "changed: log.level; at the next start only: a");
    }
}
