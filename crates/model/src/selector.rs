//! Which stored series are wanted.

use crate::{Matcher, NamespaceId, Test};

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
