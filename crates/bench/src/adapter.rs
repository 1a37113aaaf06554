//! Adapters: the servers that the tool can measure, one file each behind one description. Whoever
//! adds a server adds its file and its line in [`ADAPTERS`].

use clap::builder::PossibleValue;

use crate::dialect::Language;

mod description;
mod druid;
mod foliot;
mod influx;
mod influx_v2;
mod iotdb;
mod opentsdb;
mod postgres;
mod prometheus;
mod questdb;
mod sink;
mod ticktock;
mod timescaledb;
mod told;
mod victoriametrics;

pub(crate) use description::{Ack, Adapter, Can, Carrier, Coding, Style, Target, Way};

/// Every server.
pub(crate) static ADAPTERS: [&Adapter; 12] = [
    &foliot::ADAPTER,
    &victoriametrics::ADAPTER,
    &prometheus::ADAPTER,
    &influx::ADAPTER,
    &influx_v2::ADAPTER,
    &opentsdb::ADAPTER,
    &ticktock::ADAPTER,
    &questdb::ADAPTER,
    &postgres::ADAPTER,
    &timescaledb::ADAPTER,
    &iotdb::ADAPTER,
    &druid::ADAPTER,
];

/// The sink inside this process: for lines, and for plain streams of puts.
pub(crate) fn sinks() -> [Target; 2] {
    sink::targets()
}

/// The door of this name.
pub(crate) fn target(name: &str) -> Option<Target> {
    targets().find(|target| target.door.name == name)
}

/// The language of this name.
pub(crate) fn language(name: &str) -> Option<&'static Language> {
    targets().filter_map(|target| target.door.language).find(|language| language.name == name)
}

/// Every door, with its explanation.
pub(crate) fn target_names() -> Vec<PossibleValue> {
    targets().map(|target| PossibleValue::new(target.door.name).help(target.door.help)).collect()
}

/// Every language, with its explanation.
pub(crate) fn language_names() -> Vec<PossibleValue> {
    let mut names: Vec<(&str, &str)> = targets()
        .filter_map(|target| target.door.language)
        .map(|language| (language.name, language.help))
        .collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().map(|(name, help)| PossibleValue::new(name).help(help)).collect()
}

fn targets() -> impl Iterator<Item = Target> {
    let of = |adapter: &&'static Adapter| {
        let adapter = *adapter;
        adapter.doors.iter().map(move |door| Target { adapter, door })
    };
    ADAPTERS.iter().flat_map(of).chain(sink::targets())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_distinct_and_styles_too() {
        let doors: Vec<&str> = targets().map(|target| target.door.name).collect();
        assert_eq!(doors.iter().collect::<BTreeSet<_>>().len(), doors.len(), "{doors:?}");
        let servers: BTreeSet<&str> = ADAPTERS.iter().map(|adapter| adapter.name).collect();
        assert_eq!(servers.len(), ADAPTERS.len());
        for adapter in ADAPTERS {
            for (at, door) in adapter.doors.iter().enumerate() {
                let twice = adapter.doors.iter().skip(at + 1).any(|d| d.style == door.style);
                assert!(!twice, "{}: two doors of a style", door.name);
                assert!(door.language.is_some() && !door.help.is_empty(), "{}", door.name);
            }
            assert!(!adapter.met.is_empty() && !adapter.syncs.is_empty(), "{}", adapter.name);
        }
        assert!(target("influx").is_some() && target("unheard-of").is_none());
        assert!(language("promql-dotted").is_some());
    }
}
