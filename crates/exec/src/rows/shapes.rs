//! What there is to ask for: measurements, their fields and kinds, their labels.

use crate::Error;
use foliot_engine::{Listed, Snapshot};
use foliot_model::{Kind, Name, NamespaceId, Selector, TableShape, Test};
use std::sync::Arc;

fn selector(namespace: NamespaceId, measurement: Test, field: Test) -> Selector {
    let names = vec![Name { measurement, field }];
    Selector { namespace, names, matchers: Vec::new(), exact_labels: None, only: None }
}

/// See [`crate::shapes`].
pub(crate) fn shapes(
    snapshot: &Snapshot,
    namespace: NamespaceId,
    measurements: &Test,
    kind_of: &dyn Fn(&str, &str) -> Kind,
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
        let stored = snapshot.list(&Listed::Fields, &one, "", 0, usize::MAX)?;
        if stored.is_empty() {
            // There is no such measurement.
            continue;
        }
        let with_kind = |field: String| (Arc::from(&*field), kind_of(&name, &field));
        let fields = stored.into_iter().map(with_kind).collect();
        shapes.push(TableShape { namespace, measurement: name.into(), fields });
    }
    Ok(shapes)
}

/// See [`crate::labels`].
pub(crate) fn labels(snapshot: &Snapshot, shape: &TableShape) -> Result<Vec<Arc<str>>, Error> {
    let all = selector(shape.namespace, Test::equal(&*shape.measurement), Test::Any);
    let names = snapshot.list(&Listed::LabelNames, &all, "", 0, usize::MAX)?;
    Ok(names.into_iter().map(Arc::from).collect())
}
