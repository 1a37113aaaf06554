//! Measurements with those of their fields that a door wants by the one name that it makes of both.

use foliot_engine::{Error, Listed, Snapshot};
use foliot_model::{Name, Selector, Test};
use std::sync::Arc;

/// The names of what is selected as far as `wants` says yes to a measurement and a field; ends with
/// [`Error::Stopped`] when `goes_on` says no. A selector without names would want all of them, so
/// that nothing found must not become one.
pub(super) fn fitting(
    snapshot: &Snapshot,
    selector: &Selector,
    wants: &dyn Fn(&str, &str) -> bool,
    goes_on: &dyn Fn() -> bool,
) -> Result<Vec<Name>, Error> {
    let list = |what, names| {
        let selector = Selector { names, ..selector.clone() };
        snapshot.list_while(&what, &selector, "", (0, usize::MAX), &|_| goes_on())
    };
    let mut names = Vec::new();
    for measurement in list(Listed::Measurements, selector.names.clone())? {
        let measurement: Arc<str> = measurement.into();
        let of = |field| Name { measurement: Test::equal(&*measurement), field };
        let mut fields = list(Listed::Fields, vec![of(Test::Any)])?;
        fields.retain(|field| wants(&measurement, field));
        names.extend((!fields.is_empty()).then(|| of(Test::AnyOf(fields))));
    }
    Ok(names)
}
