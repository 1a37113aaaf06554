//! Sight: the measurements that a reader may see. A snapshot with a sight narrows every selection
//! and every listing to them, whatever the language that asks.

use foliot_model::{Name, NamespaceId, Selector, Test};
use std::collections::HashMap;

/// The measurements that may be seen, by namespace: all of them, or those that pass one of some
/// tests. Of a namespace that is not here, none.
#[derive(Clone, Debug, Default)]
pub struct Sight(pub HashMap<NamespaceId, Option<Vec<Test>>>);

/// What of a selector may be seen.
pub(crate) enum Narrowed {
    /// All that it wants.
    Whole,
    /// What this one wants.
    Part(Selector),
    /// Nothing.
    Nothing,
}

impl Sight {
    /// Narrows a selector; `measurements` lists those of a namespace that a selector wants.
    pub(crate) fn narrow<E>(
        &self,
        selector: &Selector,
        measurements: impl FnOnce(&Selector) -> Result<Vec<String>, E>,
    ) -> Result<Narrowed, E> {
        let tests = match self.0.get(&selector.namespace) {
            Some(None) => return Ok(Narrowed::Whole),
            Some(Some(tests)) => tests,
            None => return Ok(Narrowed::Nothing),
        };
        let all = Selector {
            namespace: selector.namespace,
            names: Vec::new(),
            matchers: Vec::new(),
            exact_labels: None,
            only: None,
        };
        let mut seen = measurements(&all)?;
        seen.retain(|measurement| tests.iter().any(|test| test.passes(measurement)));
        let anything = [Name { measurement: Test::Any, field: Test::Any }];
        let wanted = if selector.names.is_empty() { &anything[..] } else { &selector.names };
        let narrowed = wanted.iter().filter_map(|name| {
            let fits = seen.iter().filter(|measurement| name.measurement.passes(measurement));
            let fits: Vec<String> = fits.cloned().collect();
            let measurement = (!fits.is_empty()).then_some(Test::AnyOf(fits))?;
            Some(Name { measurement, field: name.field.clone() })
        });
        let names: Vec<Name> = narrowed.collect();
        Ok(match names.is_empty() {
            true => Narrowed::Nothing,
            false => Narrowed::Part(Selector { names, ..selector.clone() }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(names: &[&str]) -> Selector {
        let name = |name: &&str| Name { measurement: Test::equal(*name), field: Test::Any };
        Selector {
            namespace: 1,
            names: names.iter().map(name).collect(),
            matchers: Vec::new(),
            exact_labels: None,
            only: None,
        }
    }

    fn narrow(sight: &Sight, selector: &Selector) -> Narrowed {
        let stored = |_: &Selector| Ok::<_, ()>(["a", "ab", "b"].map(str::to_owned).to_vec());
        sight.narrow(selector, stored).unwrap()
    }

    #[test]
    fn a_selector_keeps_what_both_want() {
        let tests = vec![Test::wildcard("a*", false).unwrap()];
        let sight = Sight([(1, Some(tests))].into());
        let measurements = |wanted: &[&str]| match narrow(&sight, &selector(wanted)) {
            Narrowed::Part(part) => {
                part.names[0].measurement.literals().map(<[String]>::to_vec).unwrap_or_default()
            }
            Narrowed::Whole => vec!["everything".to_owned()],
            Narrowed::Nothing => Vec::new(),
        };
        assert_eq!(measurements(&[]), ["a", "ab"]);
        assert_eq!(measurements(&["b", "ab"]), ["ab"]);
        assert!(measurements(&["b"]).is_empty() && measurements(&["c"]).is_empty());
    }

    #[test]
    fn namespaces_that_are_not_named_show_nothing() {
        let wanted = selector(&["a"]);
        assert!(matches!(narrow(&Sight([(2, None)].into()), &wanted), Narrowed::Nothing));
        assert!(matches!(narrow(&Sight([(1, None)].into()), &wanted), Narrowed::Whole));
        assert!(matches!(narrow(&Sight([(1, Some(vec![]))].into()), &wanted), Narrowed::Nothing));
    }
}
