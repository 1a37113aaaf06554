//! Which metrics a question is about, by numbers: names may be long, and of some only a hash is
//! kept.

use foliot_model::{NamespaceId, Selector, Test};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Names of one question that are noted; one that names more is about all of them alike.
pub(crate) const NAMES_MAX: usize = 32;

/// A measurement with one of its fields, or with all of them, as questions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AskedName(u64);

impl AskedName {
    /// A field of a measurement; all of them where none is named.
    pub fn new(namespace: NamespaceId, measurement: &str, field: Option<&str>) -> Self {
        let seed = xxh3_64_with_seed(measurement.as_bytes(), u64::from(namespace));
        // A field without a name is another one than none.
        Self(field.map_or(seed, |field| xxh3_64_with_seed(field.as_bytes(), !seed)))
    }

    /// The names that a selector says word for word. One with patterns says none.
    pub fn of(selector: &Selector) -> impl Iterator<Item = Self> {
        let namespace = selector.namespace;
        let said = selector.names.iter().flat_map(|name| {
            let measurements = match &name.measurement {
                Test::AnyOf(names) => names.as_slice(),
                _ => &[],
            };
            measurements.iter().map(|measurement| (measurement, &name.field))
        });
        said.flat_map(move |(measurement, field)| {
            let (one, all) = match field {
                Test::AnyOf(fields) => (fields.as_slice(), None),
                _ => ([].as_slice(), Some(Self::new(namespace, measurement, None))),
            };
            let one = one.iter().map(move |field| Self::new(namespace, measurement, Some(field)));
            one.chain(all)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foliot_model::Name;

    #[test]
    fn a_selector_says_its_names_unless_it_has_patterns() {
        let of = |measurement: Test, field: Test| {
            let selector = Selector {
                namespace: 3,
                names: vec![Name { measurement, field }],
                matchers: Vec::new(),
                exact_labels: None,
                only: None,
            };
            AskedName::of(&selector).collect::<Vec<_>>()
        };
        let is = |name: &str| Test::AnyOf(vec![name.to_owned()]);
        assert_eq!(of(is("m"), is("f")), [AskedName::new(3, "m", Some("f"))]);
        assert_eq!(of(is("m"), Test::Any), [AskedName::new(3, "m", None)]);
        assert_eq!(of(Test::Any, is("f")), []);
        assert_ne!(AskedName::new(3, "m", Some("f")), AskedName::new(4, "m", Some("f")));
    }
}
