//! What there is to ask for: measurements, their fields and kinds, their labels.

use crate::Error;
use foliot_engine::{Listed, Snapshot};
use foliot_model::{Kind, Name, NamespaceId, Selector, TableShape, Test, TimeRange};
use std::sync::Arc;

/// Series looked at to tell of which kind a field is.
const SERIES_TRIED: usize = 64;

fn selector(namespace: NamespaceId, measurement: Test, field: Test) -> Selector {
    let names = vec![Name { measurement, field }];
    Selector { namespace, names, matchers: Vec::new(), exact_labels: None, only: None }
}

/// See [`crate::shapes`].
pub(crate) fn shapes(
    snapshot: &Snapshot,
    namespace: NamespaceId,
    measurements: &Test,
    kind_of: &dyn Fn(&str, &str) -> Option<Kind>,
) -> Result<Vec<TableShape>, Error> {
    let names = match measurements {
        Test::AnyOf(names) if names.len() == 1 => names.clone(),
        _ => {
            let all = selector(namespace, measurements.clone(), Test::Any);
            snapshot.list(&Listed::Measurements, &all, "", 0, usize::MAX)?
        }
    };
    let mut shapes = Vec::with_capacity(names.len());
    for name in names {
        let one = selector(namespace, Test::equal(&*name), Test::Any);
        let mut fields: Vec<(Arc<str>, Kind)> = Vec::new();
        let stored = snapshot.list(&Listed::Fields, &one, "", 0, usize::MAX)?;
        if stored.is_empty() {
            // There is no such measurement.
            continue;
        }
        for field in stored {
            let kind = match kind_of(&name, &field) {
                Some(kind) => Some(kind),
                None => stored_kind(snapshot, namespace, &name, &field)?,
            };
            fields.extend(kind.map(|kind| (field.into(), kind)));
        }
        shapes.push(TableShape { namespace, measurement: name.into(), fields });
    }
    Ok(shapes)
}

/// The kind of the latest samples of some series of a field. Numbers of several kinds are floats.
fn stored_kind(
    snapshot: &Snapshot,
    namespace: NamespaceId,
    measurement: &str,
    field: &str,
) -> Result<Option<Kind>, Error> {
    let of_field = selector(namespace, Test::equal(measurement), Test::equal(field));
    let mut found: Option<Kind> = None;
    for sid in snapshot.select(&of_field, TimeRange::ALL)?.into_iter().take(SERIES_TRIED) {
        let Some(last) = snapshot.last(sid)? else { continue };
        let Some(kind) = last.values.get(0).map(|value| value.kind()) else { continue };
        let is_number = |kind| matches!(kind, Kind::Float | Kind::Integer | Kind::Unsigned);
        found = Some(match found {
            Some(other) if other != kind && is_number(other) && is_number(kind) => Kind::Float,
            Some(other) => other,
            None => kind,
        });
    }
    Ok(found)
}

/// See [`crate::labels`].
pub(crate) fn labels(snapshot: &Snapshot, shape: &TableShape) -> Result<Vec<Arc<str>>, Error> {
    let all = selector(shape.namespace, Test::equal(&*shape.measurement), Test::Any);
    let names = snapshot.list(&Listed::LabelNames, &all, "", 0, usize::MAX)?;
    Ok(names.into_iter().map(Arc::from).collect())
}
