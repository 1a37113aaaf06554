//! Names: which file a path means, now and after a power cut.

use super::content::Content;
use super::fate::{Fate, Mood};
use foliot_lock::{Mutex, Rank};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Node = Arc<Mutex<Content>>;
type Map = BTreeMap<PathBuf, Node>;

/// What the paths mean: a map that is surely on the medium, the log of changes since, and the map
/// with all of them applied, which is what the running machine sees.
#[derive(Default)]
pub(super) struct Names {
    durable: Map,
    log: Vec<Entry>,
    current: Map,
}

/// A change and what keeps it from being durable.
struct Entry {
    change: Change,
    /// Directories that must still be synced.
    unsynced: Vec<PathBuf>,
}

/// One change of names. It refers to the file itself, so that it means the same whichever of the
/// changes before it survived.
enum Change {
    Put { path: PathBuf, node: Node },
    Remove { path: PathBuf, node: Node },
    Rename { from: PathBuf, to: PathBuf, node: Node },
}

impl Names {
    pub(super) fn get(&self, path: &Path) -> Option<&Node> {
        self.current.get(path)
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.current.keys()
    }

    /// All files and their bytes.
    pub(super) fn files(&self) -> Vec<(PathBuf, Arc<Vec<u8>>)> {
        let files = self.current.iter();
        files.map(|(path, node)| (path.clone(), node.lock().bytes())).collect()
    }

    /// Bytes in all files.
    pub(super) fn bytes(&self) -> u64 {
        self.current.values().map(|node| node.lock().len()).sum()
    }

    pub(super) fn put(&mut self, path: &Path, node: Node) {
        self.record(Change::Put { path: path.to_owned(), node });
    }

    /// Removes a name; false when there is none.
    pub(super) fn remove(&mut self, path: &Path) -> bool {
        let Some(node) = self.current.get(path).cloned() else { return false };
        self.record(Change::Remove { path: path.to_owned(), node });
        true
    }

    /// Renames a file; false when there is none.
    pub(super) fn rename(&mut self, from: &Path, to: &Path) -> bool {
        let Some(node) = self.current.get(from).cloned() else { return false };
        self.record(Change::Rename { from: from.to_owned(), to: to.to_owned(), node });
        true
    }

    fn record(&mut self, change: Change) {
        change.apply(&mut self.current);
        let unsynced = change.dirs();
        self.log.push(Entry { change, unsynced });
    }

    /// Makes the changes in `dir` durable.
    pub(super) fn sync(&mut self, dir: &Path) {
        for entry in &mut self.log {
            entry.unsynced.retain(|unsynced| unsynced != dir);
        }
        let done = self.log.iter().take_while(|entry| entry.unsynced.is_empty()).count();
        for entry in self.log.drain(..done) {
            entry.change.apply(&mut self.durable);
        }
    }

    /// What the machine finds when it comes up again. The surviving changes apply in their order.
    pub(super) fn crash(&self, mood: Mood, fate: &mut Fate) -> Self {
        let mut map = self.durable.clone();
        for entry in &self.log {
            let survives = entry.unsynced.is_empty()
                || match mood {
                    Mood::Harsh => false,
                    Mood::Kind => true,
                    Mood::Mixed => fate.percent(50),
                };
            if survives {
                entry.change.apply(&mut map);
            }
        }
        for node in map.values_mut() {
            let survivor = node.lock().crash(mood, fate);
            *node = Arc::new(Mutex::new(Rank::Content, survivor));
        }
        Self { durable: map.clone(), log: Vec::new(), current: map }
    }
}

impl Change {
    /// The directories that it touches.
    fn dirs(&self) -> Vec<PathBuf> {
        let dir = |path: &PathBuf| path.parent().unwrap_or(Path::new("")).to_owned();
        match self {
            Self::Put { path, .. } | Self::Remove { path, .. } => vec![dir(path)],
            Self::Rename { from, to, .. } if dir(from) == dir(to) => vec![dir(to)],
            Self::Rename { from, to, .. } => vec![dir(from), dir(to)],
        }
    }

    fn apply(&self, map: &mut Map) {
        let mut take = |path: &PathBuf, node: &Node| {
            if map.get(path).is_some_and(|found| Arc::ptr_eq(found, node)) {
                map.remove(path);
            }
        };
        match self {
            Self::Put { path, node } => {
                map.insert(path.clone(), Arc::clone(node));
            }
            Self::Remove { path, node } => take(path, node),
            Self::Rename { from, to, node } => {
                take(from, node);
                map.insert(to.clone(), Arc::clone(node));
            }
        }
    }
}
