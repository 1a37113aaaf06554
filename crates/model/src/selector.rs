//! Which stored series are wanted.

use crate::{Labels, Matcher, NamespaceId, Test};

/// One way to satisfy a wanted name: a test on the measurement and one on the field.
///
/// Names of one language can be read in several ways: OpenTSDB's `sys.cpu.user` is the measurement
/// `sys.cpu.user` with the default field, or `sys.cpu` with the field `user`. The door lists the
/// readings; a series is wanted when one of them fits.
#[derive(Clone, Debug)]
pub struct Name {
    /// Test on the measurement.
    pub measurement: Test,
    /// Test on the field.
    pub field: Test,
}

/// Series by name and labels.
#[derive(Clone, Debug)]
pub struct Selector {
    /// Where to look.
    pub namespace: NamespaceId,
    /// Readings of the wanted name, see [`Name`].
    pub names: Vec<Name>,
    /// Conditions on labels; all must hold.
    pub matchers: Vec<Matcher>,
    /// When given, a series must have exactly these label names (OpenTSDB's explicit tags).
    pub exact_labels: Option<Vec<String>>,
    /// When given, only series with these ids are wanted (OpenTSDB's TSUIDs).
    pub only: Option<Vec<u32>>,
}

impl Selector {
    /// Whether a series of these names is wanted, as far as names tell.
    pub fn fits(&self, measurement: &str, field: &str, labels: &Labels) -> bool {
        let value = |name: &str| labels.get(name).map(|value| &**value);
        let is_named =
            |name: &Name| name.measurement.passes(measurement) && name.field.passes(field);
        let has_exactly = |names: &Vec<String>| {
            names.len() == labels.len() && names.iter().all(|name| value(name).is_some())
        };
        (self.names.is_empty() || self.names.iter().any(is_named))
            && self.matchers.iter().all(|matcher| matcher.matches(value(&matcher.name)))
            && self.exact_labels.as_ref().is_none_or(has_exactly)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Label;

    #[test]
    fn series_fit_by_all_of_their_names() {
        let labels = |pairs: &[(&str, &str)]| {
            let label = |(name, value): &(&str, &str)| Label {
                name: (*name).into(),
                value: (*value).into(),
            };
            Labels::new(pairs.iter().map(label).collect())
        };
        let matcher = Matcher {
            name: "h".to_owned(),
            test: Test::equal("a"),
            negated: false,
            accepts_absent: false,
        };
        let mut selector = Selector {
            namespace: 0,
            names: vec![Name { measurement: Test::equal("m"), field: Test::Any }],
            matchers: vec![matcher],
            exact_labels: None,
            only: None,
        };
        let both = labels(&[("dc", "x"), ("h", "a")]);
        assert!(selector.fits("m", "f", &both));
        assert!(!selector.fits("n", "f", &both));
        assert!(!selector.fits("m", "f", &labels(&[("h", "b")])));
        assert!(!selector.fits("m", "f", &labels(&[])));
        selector.exact_labels = Some(vec!["h".to_owned()]);
        assert!(!selector.fits("m", "f", &both));
        assert!(selector.fits("m", "f", &labels(&[("h", "a")])));
    }
}
