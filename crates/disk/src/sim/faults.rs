//! Faults: which planned failure an operation meets.

use std::io::{self, ErrorKind};

/// What can go wrong, and which operations it can hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The power fails during a mutating operation (append, create, rename, remove, truncate, a new
    /// directory, a sync): this operation and all later ones of any sort fail.
    Crash,
    /// A sync of a file or directory fails. As on Linux a file's unsynced bytes are given up: they
    /// can still be read, but whether they survive a power cut is chance, even when a later sync
    /// succeeds. Names stay as they were: not durable until a sync succeeds.
    SyncError,
    /// The disk is full for that many appends, creations and renames, starting with the one hit; an
    /// append leaves a prefix of its bytes. Then space returns.
    NoSpace {
        /// How many operations fail.
        operations: u64,
    },
    /// One read of a file fails.
    ReadError,
    /// One rename fails and changes nothing.
    RenameError,
    /// One removal fails and changes nothing.
    RemoveError,
    /// The process has no descriptor left for that many files to be opened, created or listed,
    /// starting with the one hit. Then some are free again.
    NoDescriptors {
        /// How many operations fail.
        operations: u64,
    },
}

impl FaultKind {
    fn hits(self, operation: Operation) -> bool {
        use Operation::{Append, Create, Look, Open, Read, Remove, Rename, Sync};
        match self {
            Self::Crash => !matches!(operation, Look | Open | Read),
            Self::SyncError => operation == Sync,
            Self::NoSpace { .. } => matches!(operation, Append | Create | Rename),
            Self::ReadError => operation == Read,
            Self::RenameError => operation == Rename,
            Self::RemoveError => operation == Remove,
            Self::NoDescriptors { .. } => matches!(operation, Create | Open),
        }
    }

    pub(super) fn error(self) -> io::Error {
        match self {
            Self::Crash => io::Error::other("simulated: the power is off"),
            Self::SyncError => io::Error::other("simulated: sync failed"),
            Self::NoSpace { .. } => {
                io::Error::new(ErrorKind::StorageFull, "simulated: no space left on device")
            }
            Self::ReadError => io::Error::other("simulated: read failed"),
            Self::RenameError => io::Error::other("simulated: rename failed"),
            Self::RemoveError => io::Error::other("simulated: removal failed"),
            Self::NoDescriptors { .. } => io::Error::other("simulated: too many open files"),
        }
    }
}

/// The sorts of operations, as far as faults tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Append,
    Create,
    Rename,
    Remove,
    /// Truncate, a second name, a new directory.
    Name,
    Sync,
    Read,
    /// Takes a descriptor and changes nothing: open, list.
    Open,
    /// Reads no bytes and changes nothing: lock, free space.
    Look,
}

impl Operation {
    /// Whether a directory may need another block for it.
    pub(super) fn takes_space(self) -> bool {
        matches!(self, Self::Create | Self::Rename)
    }
}

/// What happens to an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Done,
    Fault(FaultKind),
}

/// Planned faults and those in force.
#[derive(Debug, Default)]
pub(super) struct Faults {
    planned: Vec<(u64, FaultKind)>,
    /// Faults that last, and for how many operations more.
    lasting: Vec<(FaultKind, u64)>,
    operations: u64,
    strikes: u64,
    dead: bool,
}

impl Faults {
    pub(super) fn plan(&mut self, n: u64, kind: FaultKind) {
        self.planned.push((n.max(1), kind));
    }

    pub(super) fn heal(&mut self) {
        self.planned.clear();
        self.lasting.clear();
    }

    pub(super) fn cut_power(&mut self) {
        self.dead = true;
    }

    pub(super) fn is_dead(&self) -> bool {
        self.dead
    }

    pub(super) fn is_full(&self) -> bool {
        let is_full = |(kind, left): &(FaultKind, u64)| {
            matches!(kind, FaultKind::NoSpace { .. }) && *left > 0
        };
        self.lasting.iter().any(is_full)
    }

    pub(super) fn operations(&self) -> u64 {
        self.operations
    }

    pub(super) fn strikes(&self) -> u64 {
        self.strikes
    }

    /// Counts a refusal that was not planned.
    pub(super) fn strike(&mut self) {
        self.strikes += 1;
    }

    /// Counts an operation and says what happens to it; an error when the power is already off.
    pub(super) fn meet(&mut self, operation: Operation) -> io::Result<Verdict> {
        if self.dead {
            return Err(FaultKind::Crash.error());
        }
        if FaultKind::Crash.hits(operation) {
            self.operations += 1;
        }
        let mut struck = None;
        self.planned.retain_mut(|(countdown, kind)| {
            *countdown -= u64::from(kind.hits(operation));
            if *countdown == 0 && struck != Some(FaultKind::Crash) {
                struck = Some(*kind);
            }
            *countdown > 0
        });
        match struck {
            Some(FaultKind::Crash) => self.dead = true,
            Some(
                kind
                @ (FaultKind::NoSpace { operations } | FaultKind::NoDescriptors { operations }),
            ) => self.lasting.push((kind, operations)),
            _ => {}
        }
        if !self.dead
            && let Some((kind, left)) =
                self.lasting.iter_mut().find(|(kind, _)| kind.hits(operation))
        {
            *left = left.saturating_sub(1);
            struck = Some(*kind);
            self.lasting.retain(|(_, left)| *left > 0);
        }
        self.strikes += u64::from(struck.is_some());
        Ok(struck.map_or(Verdict::Done, Verdict::Fault))
    }
}
