//! Groups: what belongs to a symbol in a namespace.

use crate::dictionary::Dictionary;
use crate::names::{Key, Refusal, SHARDS_FEW};
use crate::postings::{Ids, Postings};
use std::collections::BTreeMap;

/// Members by (namespace, symbol): the pairs of a label name, the columns of a measurement.
#[derive(Debug)]
pub(crate) struct Groups {
    keys: Dictionary,
    members: Postings,
    of_namespace: BTreeMap<u32, Vec<u32>>,
}

impl Groups {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            keys: Dictionary::new(seed, SHARDS_FEW),
            members: Postings::default(),
            of_namespace: BTreeMap::new(),
        }
    }

    pub(crate) fn add(&mut self, namespace: u32, symbol: u32, member: u32) -> Result<(), Refusal> {
        let key = Key::of(&[namespace, symbol]);
        let hash = self.keys.hash(&key);
        let group = match self.keys.find_hashed(hash, &key) {
            Some(group) => group,
            None => {
                let group = self.keys.push_hashed(hash, &key).ok_or(Refusal::Full)?;
                self.members.open();
                self.of_namespace.entry(namespace).or_default().push(symbol);
                group
            }
        };
        self.members.add(group, member);
        Ok(())
    }

    fn group(&self, namespace: u32, symbol: u32) -> u32 {
        self.keys.find(&Key::of(&[namespace, symbol])).unwrap_or(u32::MAX)
    }

    /// The members of a symbol in a namespace, ascending.
    pub(crate) fn members(&self, namespace: u32, symbol: u32) -> Ids<'_> {
        self.members.iter(self.group(namespace, symbol))
    }

    /// How many members a symbol has in a namespace.
    pub(crate) fn count(&self, namespace: u32, symbol: u32) -> u64 {
        self.members.count(self.group(namespace, symbol)).into()
    }

    /// The symbols that have members in a namespace, each once.
    pub(crate) fn symbols(&self, namespace: u32) -> &[u32] {
        self.of_namespace.get(&namespace).map_or(&[], Vec::as_slice)
    }

    /// Memory held, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        let lists: usize = self.of_namespace.values().map(Vec::capacity).sum();
        self.keys.memory_bytes() + self.members.memory_bytes() + lists * 4
    }
}
