//! What there is: names and series, from the index alone, under the same account as samples.

use crate::{Charge, Error, Query, source};
use foliot_engine::Listed;
use foliot_model::{Selector, TimeRange};
use foliot_plan::{Listing, What};

/// See [`crate::listed`].
pub(crate) fn listed(
    query: &Query<'_>,
    listing: &Listing,
    charge: &mut Charge<'_>,
) -> Result<Vec<String>, Error> {
    let what = match &listing.what {
        What::Metrics => Listed::Metrics,
        What::Measurements => Listed::Measurements,
        What::Fields => Listed::Fields,
        What::LabelNames => Listed::LabelNames,
        What::LabelValues(name) => Listed::LabelValues(name.clone()),
    };
    let Listing { selector, prefix, offset, limit, .. } = listing;
    let wanted = (selector, &**prefix, *offset, *limit);
    source::list(query.snapshot, &what, wanted, charge, &query.meter)
}

/// See [`crate::selected`].
pub(crate) fn selected(
    query: &Query<'_>,
    selector: &Selector,
    range: TimeRange,
    charge: &mut Charge<'_>,
) -> Result<Vec<u32>, Error> {
    let sids = source::select(query.snapshot, selector, range, &query.meter)?;
    charge.add(sids.len() * size_of::<u32>())?;
    Ok(sids)
}
