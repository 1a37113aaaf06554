//! What there is to ask for: measurements, their fields and kinds, their labels.

use crate::{Charge, Error, Query, source};
use foliot_engine::Listed;
use foliot_model::{Kind, Name, NamespaceId, Selector, TableShape, Test};
use std::sync::Arc;

fn selector(namespace: NamespaceId, measurement: Test, field: Test) -> Selector {
    let names = vec![Name { measurement, field }];
    Selector { namespace, names, matchers: Vec::new(), exact_labels: None, only: None }
}

/// See [`crate::shapes`].
pub(crate) fn shapes(
    query: &Query<'_>,
    namespace: NamespaceId,
    (measurements, fields): (&Test, &Test),
    kind_of: &dyn Fn(&str, &str) -> Kind,
    charge: &mut Charge<'_>,
) -> Result<Vec<TableShape>, Error> {
    let mut list = |what: &Listed, selector: &Selector| {
        let wanted = (selector, "", 0, usize::MAX);
        source::list(query.snapshot, what, wanted, charge, &query.meter)
    };
    let listed;
    let names = match measurements {
        Test::AnyOf(names) if names.len() == 1 => names,
        _ => {
            let all = selector(namespace, measurements.clone(), Test::Any);
            listed = list(&Listed::Measurements, &all)?;
            &listed
        }
    };
    let mut shapes = Vec::with_capacity(names.len());
    for name in names {
        let one = |fields| selector(namespace, Test::equal(name.as_str()), fields);
        let mut stored = list(&Listed::Fields, &one(fields.clone()))?;
        if stored.is_empty() && *fields != Test::Any {
            // A measurement without these fields is one all the same.
            stored = list(&Listed::Fields, &one(Test::Any))?;
        }
        if stored.is_empty() {
            // There is no such measurement.
            continue;
        }
        let with_kind = |field: String| (Arc::from(&*field), kind_of(name, &field));
        let fields = stored.into_iter().map(with_kind).collect();
        shapes.push(TableShape { namespace, measurement: name.as_str().into(), fields });
    }
    Ok(shapes)
}

/// See [`crate::labels`].
pub(crate) fn labels(
    query: &Query<'_>,
    shape: &TableShape,
    charge: &mut Charge<'_>,
) -> Result<Vec<Arc<str>>, Error> {
    let all = selector(shape.namespace, Test::equal(&*shape.measurement), Test::Any);
    let wanted = (&all, "", 0, usize::MAX);
    let what = &Listed::LabelNames;
    let names = source::list(query.snapshot, what, wanted, charge, &query.meter)?;
    Ok(names.into_iter().map(Arc::from).collect())
}
