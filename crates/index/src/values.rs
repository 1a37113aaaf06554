//! Values: the pairs of one label, and reading their strings.

use crate::entries::Reader;
use crate::limits::BIG_PAIRS_MIN;
use crate::names::{Names, SymbolKind, triple_of};

impl Names {
    /// Whether a label has so many values that it pays to remember what was found out about them.
    pub(crate) fn is_big(&self, namespace: u32, label: u32) -> bool {
        self.pairs_of_label.count(namespace, label) >= BIG_PAIRS_MIN
    }

    /// The pairs of a label from a number on, ascending.
    pub(crate) fn pairs_from(
        &self,
        namespace: u32,
        label: u32,
        first: u32,
    ) -> Box<dyn Iterator<Item = u32> + '_> {
        if first == 0 {
            return Box::new(self.pairs_of_label.members(namespace, label));
        }
        let entries = self.pairs().entries();
        let mut pairs = entries.reader();
        Box::new((first..entries.len()).filter(move |&pair| {
            let triple = pairs.get(pair).and_then(triple_of);
            triple.is_some_and(|[n, l, _]| (n, l) == (namespace, label))
        }))
    }

    /// The label value of a pair.
    pub(crate) fn value(&self, pair: u32) -> &str {
        let [_, _, value] = self.pair(pair).unwrap_or_default();
        self.symbol(SymbolKind::LabelValue, value)
    }

    /// Reads the values of pairs, cheaply those that were added one after the other.
    pub(crate) fn values(&self) -> Values<'_> {
        let symbols = self.symbols(SymbolKind::LabelValue).entries();
        Values { pairs: self.pairs().entries().reader(), symbols: symbols.reader() }
    }
}

/// See [`Names::values`].
pub(crate) struct Values<'a> {
    pairs: Reader<'a>,
    symbols: Reader<'a>,
}

impl<'a> Values<'a> {
    /// The label value of a pair.
    #[inline]
    pub(crate) fn of(&mut self, pair: u32) -> &'a str {
        let value = self.pairs.get(pair).and_then(triple_of).map_or(0, |[_, _, value]| value);
        let bytes = self.symbols.get(value).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}
