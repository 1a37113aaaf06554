//! Themes: what some rounds are about, to reach what a round about everything seldom does.

use super::client::Action;
use super::{Round, fail};
use crate::random::Random;
use crate::workload::Pool;
use foliot_disk::{Disk, SimDisk};
use foliot_engine::Config;
use std::path::Path;

/// Files that a store may have open at once. As many parts are kept open as the engine's limits
/// say, as many written by a flush and read by a merge, and some more: far fewer than 512.
const OPEN_FILES_MAX: usize = 400;
/// Bytes of a disk that is soon full.
const SMALL_DISK_BYTES: usize = 9 << 20;
/// What the log leaves free of it: what it writes between two looks, a megabyte and a request, and
/// as much again for the part that this becomes.
const SMALL_RESERVE_BYTES: u64 = 3 << 20;

/// What a round is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Theme {
    Everything,
    /// More series than a delete cuts from memory at once.
    Wide,
    /// Samples of more weeks than there may be files open.
    Years,
    /// A disk that the log alone fills: a flush must always give its room back.
    SmallDisk,
    /// Several clients at one series, whose few samples are overwritten and deleted while others
    /// read them.
    Duel,
}

impl Theme {
    pub(super) fn draw(random: &mut Random) -> Self {
        match random.below(1000) {
            0..40 => Self::Wide,
            40..50 => Self::Years,
            50..65 => Self::SmallDisk,
            65..145 => Self::Duel,
            _ => Self::Everything,
        }
    }

    /// Bounds of the machine.
    pub(super) fn bound(self, disk: &SimDisk, random: &mut Random) {
        // A copy is opened beside its store, where another process would.
        let stores = if self.has_copies() { 2 } else { 1 };
        disk.limit_open_files(stores * OPEN_FILES_MAX);
        if self == Self::SmallDisk {
            disk.resize((SMALL_DISK_BYTES + random.below(SMALL_DISK_BYTES)) as u64);
        }
    }

    pub(super) fn config(self, config: Config) -> Config {
        match self {
            Self::SmallDisk => Config {
                // Work on parts takes room of its own, and another client more than it was told.
                background: false,
                head_bytes_max: 1 << 28,
                wal_reserve_bytes: SMALL_RESERVE_BYTES,
                ..config
            },
            _ => config,
        }
    }

    pub(super) fn pool(self, random: &mut Random) -> Pool {
        match self {
            Self::Duel => Pool::duel(),
            _ => Pool::draw(random),
        }
    }

    pub(super) fn clients(self, random: &mut Random) -> usize {
        match self {
            Self::SmallDisk => 1,
            Self::Duel => random.skewed(3, 4),
            _ => *random.pick(&[1, 1, 1, 2, 3, 4]),
        }
    }

    /// How much a client does at once, at most.
    pub(super) fn actions_max(self) -> usize {
        if self == Self::SmallDisk { 80 } else { 16 }
    }

    /// How often what is done.
    pub(super) fn weights(self, random: &mut Random) -> Vec<(Action, usize)> {
        let weights = super::client::draw_weights(random);
        let chosen: &[(Action, usize)] = match self {
            Self::SmallDisk => &[
                (Action::Write, 40),
                (Action::Delete, 2),
                (Action::Flush, 1),
                (Action::Maintain, 1),
                (Action::Wait, 8),
            ],
            Self::Duel => &[
                // What is deleted had been written over what a flush took.
                (Action::Write, 8),
                (Action::Delete, 6),
                (Action::Flush, 5),
                (Action::Maintain, 1),
                (Action::Probe, 30),
            ],
            // A copy of such a store is another process, with files of its own.
            Self::Years => return weights.into_iter().filter(|(it, _)| !it.is_backup()).collect(),
            _ => return weights,
        };
        chosen.to_vec()
    }

    /// Whether there is room, and there are files, for copies beside the store.
    pub(super) fn has_copies(self) -> bool {
        !matches!(self, Self::SmallDisk | Self::Years)
    }
}

impl Round {
    /// Fails the round when a store wanted more files open than a process may have.
    pub(super) fn check_open_files(&self) {
        if self.machine.disk().wants_files() {
            fail(format!("more than {OPEN_FILES_MAX} files of a store are open at once"));
        }
    }

    /// Leaves a file that no manifest names, as work does that failed and could not remove it.
    pub(super) fn leave_file(&self) {
        let disk = self.machine.disk();
        let number_of = |name: &String| {
            let number = name.strip_prefix("part-")?.strip_suffix(".part")?;
            number.parse::<u64>().ok()
        };
        let names = disk.list(Path::new(super::DIR)).unwrap_or_default();
        let Some(last) = names.iter().filter_map(number_of).max() else { return };
        let name = format!("part-{:010}.part", last + 1 + self.draw(|random| random.next() % 40));
        let left = disk.create(&Path::new(super::DIR).join(&name)).map(drop);
        self.say(format_args!("leave {name}: {left:?}"));
    }
}
