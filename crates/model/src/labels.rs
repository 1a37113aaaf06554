//! Labels: the name-value pairs that say who reports a series.

use std::sync::Arc;

/// One label. Strings are shared: an answer over many series repeats few of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label {
    /// Name, never empty.
    pub name: Arc<str>,
    /// Value, never empty: an empty value means that the label is absent.
    pub value: Arc<str>,
}

/// A set of labels, sorted by name, each name once. Clones share it: the series of a source have
/// the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Labels(Arc<[Label]>);

impl Labels {
    /// The set of `labels`; the last one wins where a name occurs twice.
    pub fn new(mut labels: Vec<Label>) -> Self {
        if !labels.is_sorted_by(|a, b| a.name < b.name) {
            labels.reverse();
            labels.sort_by(|a, b| a.name.cmp(&b.name));
            labels.dedup_by(|b, a| a.name == b.name);
        }
        Self(labels.into())
    }

    /// These with another one, instead of one that is called so.
    pub fn with(&self, label: Label) -> Self {
        let (before, rest) = self.0.split_at(self.0.partition_point(|own| own.name < label.name));
        let after = match rest.split_first() {
            Some((own, after)) if own.name == label.name => after,
            _ => rest,
        };
        Self(before.iter().chain([&label]).chain(after).cloned().collect())
    }

    /// The value of the label called `name`.
    pub fn get(&self, name: &str) -> Option<&Arc<str>> {
        let at = self.0.binary_search_by(|label| (*label.name).cmp(name)).ok()?;
        self.0.get(at).map(|label| &label.value)
    }

    /// All labels by name.
    pub fn iter(&self) -> std::slice::Iter<'_, Label> {
        self.0.iter()
    }

    /// Number of labels.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no label.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<Vec<Label>> for Labels {
    fn from(labels: Vec<Label>) -> Self {
        Self::new(labels)
    }
}

impl<'a> IntoIterator for &'a Labels {
    type Item = &'a Label;
    type IntoIter = std::slice::Iter<'a, Label>;
    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl<N: Into<Arc<str>>, V: Into<Arc<str>>> FromIterator<(N, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        let label = |(name, value): (N, V)| Label { name: name.into(), value: value.into() };
        Self::new(pairs.into_iter().map(label).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_and_last_wins() {
        let labels: Labels = [("b", "1"), ("a", "2"), ("b", "3")].into_iter().collect();
        assert_eq!(labels.len(), 2);
        assert_eq!(labels.get("b").map(|v| &**v), Some("3"));
        assert_eq!(labels.get("c"), None);
    }

    #[test]
    fn another_one_comes_to_its_place_or_instead_of_its_like() {
        let labels: Labels = [("b", "1"), ("d", "2")].into_iter().collect();
        for name in ["a", "b", "c", "d", "e"] {
            let label = Label { name: name.into(), value: "3".into() };
            let all = labels.iter().cloned().chain([label.clone()]);
            assert_eq!(labels.with(label), Labels::new(all.collect()));
        }
    }
}
