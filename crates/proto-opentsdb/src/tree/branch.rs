//! Branches and leaves, and the numbers that name them.

use crate::http::HttpError;
use crate::view::Stored;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// A branch with all that hangs on it.
#[derive(Debug)]
pub(super) struct Branch {
    tree_id: u32,
    name: String,
    /// Names from the root to this branch, this one included.
    path: Vec<String>,
    /// By lower-cased name: the order in which they are shown.
    branches: BTreeMap<(String, String), Branch>,
    leaves: BTreeMap<(String, String), Stored>,
}

impl Branch {
    /// An empty tree.
    pub(super) fn root(tree_id: u32) -> Self {
        Self::new(tree_id, vec!["ROOT".to_owned()])
    }

    fn new(tree_id: u32, path: Vec<String>) -> Self {
        let name = path.last().cloned().unwrap_or_default();
        Self { tree_id, name, path, branches: BTreeMap::new(), leaves: BTreeMap::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.branches.is_empty() && self.leaves.is_empty()
    }

    /// Hangs a series at the end of a path; the TSUID of whoever is there already, if that is
    /// another series.
    pub(super) fn place(&mut self, path: &[String], series: &Stored) -> Option<String> {
        let (name, rest) = path.split_first()?;
        let key = (name.to_lowercase(), name.clone());
        if rest.is_empty() {
            let there = self.leaves.entry(key).or_insert_with(|| series.clone());
            return (there.tsuid != series.tsuid).then(|| there.tsuid.to_string());
        }
        let child = self.branches.entry(key).or_insert_with(|| {
            let mut path = self.path.clone();
            path.push(name.clone());
            Self::new(self.tree_id, path)
        });
        child.place(rest, series)
    }

    /// The branch below whose name has this number.
    pub(super) fn child(&self, hash: u32) -> Option<&Self> {
        self.branches.values().find(|branch| java_hash(&branch.name) == hash)
    }

    /// The branch as answers show it; with what hangs directly on it when it is the one asked for.
    pub(super) fn to_json(&self, is_asked: bool) -> Value {
        let branches = self.branches.values().map(|branch| branch.to_json(false)).collect();
        self.shown(if is_asked { branches } else { Vec::new() }, is_asked)
    }

    /// The branch with everything below it.
    pub(super) fn to_deep_json(&self) -> Value {
        self.shown(self.branches.values().map(Self::to_deep_json).collect(), true)
    }

    fn shown(&self, branches: Vec<Value>, has_leaves: bool) -> Value {
        let leaf = |(key, series): (&(String, String), &Stored)| {
            let tags =
                series.tags.iter().map(|tag| (tag.name.to_string(), Value::from(&*tag.value)));
            json!({
                "metric": series.metric,
                "tags": Value::Object(tags.collect::<Map<_, _>>()),
                "tsuid": series.tsuid.to_string(),
                "displayName": key.1,
            })
        };
        let leaves: Vec<Value> = self.leaves.iter().filter(|_| has_leaves).map(leaf).collect();
        let path: Map<String, Value> = self
            .path
            .iter()
            .enumerate()
            .map(|(depth, name)| (depth.to_string(), name.clone().into()))
            .collect();
        let (leaf_count, branch_count) = (leaves.len(), branches.len());
        let or_null = |list: Vec<Value>| match list.is_empty() {
            true => Value::Null,
            false => Value::Array(list),
        };
        json!({
            "treeId": self.tree_id,
            "branchId": self.id(),
            "displayName": self.name,
            "path": path,
            "depth": self.path.len() - 1,
            "branches": or_null(branches),
            "leaves": or_null(leaves),
            "numBranches": branch_count,
            "numLeaves": leaf_count,
        })
    }

    fn id(&self) -> String {
        let mut id = format!("{:04X}", self.tree_id);
        for name in self.path.iter().skip(1) {
            // Writing to a text cannot fail.
            let _ = write!(id, "{:08X}", java_hash(name));
        }
        id
    }
}

/// Java's `String.hashCode`, which numbers branches.
fn java_hash(text: &str) -> u32 {
    let add = |hash: u32, unit: u16| hash.wrapping_mul(31).wrapping_add(u32::from(unit));
    text.encode_utf16().fold(0, add)
}

/// Reads the number of a tree and those of names below its root.
pub(super) fn parse_branch_id(text: &str) -> Result<(u32, Vec<u32>), HttpError> {
    let bad = || HttpError::bad_request(format!("Invalid branch ID: '{text}'"));
    if !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(bad());
    }
    let number = |digits: Option<&str>| {
        digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()).ok_or_else(bad)
    };
    let tree = number(text.get(..4))?;
    let mut hashes = Vec::new();
    let mut rest = text.get(4..).unwrap_or_default();
    while !rest.is_empty() {
        hashes.push(number(rest.get(..8))?);
        rest = rest.get(8..).unwrap_or_default();
    }
    Ok((tree, hashes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_javas() {
        assert_eq!(java_hash("sys"), 0x1_BECD);
        assert_eq!(java_hash("cpu"), 0x1_81A8);
        let id = parse_branch_id("00010001BECD000181A8").unwrap();
        assert_eq!(id, (1, vec![0x1_BECD, 0x1_81A8]));
        for text in ["", "00", "0001000", "zzzz"] {
            assert!(parse_branch_id(text).is_err(), "{text}");
        }
    }
}
