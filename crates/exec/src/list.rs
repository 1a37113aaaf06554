//! Listings: names in use, and whole series.

use crate::{Error, Query, source};
use foliot_engine::{Identity, Listed};
use foliot_model::TimeRange;
use foliot_plan::{Listing, What};

/// What a series' name weighs while series are sorted, by estimate: ten labels.
const NAME_BYTES: usize = 480;

/// One item of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListedItem {
    /// A name or a value.
    Name(String),
    /// A series, for [`What::Series`].
    Series {
        /// Its id.
        id: u32,
        /// What it is called.
        identity: Identity,
    },
}

/// See [`crate::list`].
pub(crate) fn list(query: &Query<'_>, listing: &Listing) -> Result<Vec<ListedItem>, Error> {
    let listed = match &listing.what {
        What::Metrics => Listed::Metrics,
        What::Measurements => Listed::Measurements,
        What::Fields => Listed::Fields,
        What::LabelNames => Listed::LabelNames,
        What::LabelValues(name) => Listed::LabelValues(name.clone()),
        What::Series => return list_series(query, listing),
    };
    let Listing { selector, prefix, offset, limit, .. } = listing;
    let wanted = (selector, &**prefix, *offset, *limit);
    let mut charge = query.meter.open();
    let names = source::list(query.snapshot, &listed, wanted, &mut charge, &query.meter)?;
    Ok(names.into_iter().map(ListedItem::Name).collect())
}

/// Series by measurement, field and labels. The prefix is one of the measurement.
fn list_series(query: &Query<'_>, listing: &Listing) -> Result<Vec<ListedItem>, Error> {
    let meter = query.meter.of_run();
    let sids = source::select(query.snapshot, &listing.selector, TimeRange::ALL, &meter)?;
    let mut charge = meter.open();
    charge.resize(sids.len() * NAME_BYTES)?;
    let mut series: Vec<(u32, Identity)> = Vec::with_capacity(sids.len());
    query.snapshot.identities(&sids, &mut |id, identity| {
        if identity.measurement.starts_with(&listing.prefix) {
            series.push((id, identity));
        }
    })?;
    meter.check(0)?;
    series.sort_unstable_by(|(a_id, a), (b_id, b)| {
        let names = a.measurement.cmp(&b.measurement).then_with(|| a.field.cmp(&b.field));
        names.then_with(|| a.labels.cmp(&b.labels)).then(a_id.cmp(b_id))
    });
    let wanted = series.into_iter().skip(listing.offset).take(listing.limit);
    Ok(wanted.map(|(id, identity)| ListedItem::Series { id, identity }).collect())
}
