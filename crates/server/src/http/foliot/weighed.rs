//! What samples take, counted for a question.

use crate::http::status_of;
use crate::query::{Failure, Work};
use foliot_engine::{Deleted, Error};
use foliot_exec::Query;
use foliot_model::{Selector, TimeRange};

/// How many series and samples a selector has in a range, and how many bytes these take. What the
/// series weigh in memory meanwhile counts for the question.
pub(super) fn weighed(
    work: &Work<'_>,
    selector: &Selector,
    range: TimeRange,
) -> Result<Deleted, Failure> {
    let meter = work.meter();
    let query = Query { snapshot: work.snapshot, meter: meter.clone() };
    let mut charge = meter.open();
    let sids = foliot_exec::selected(&query, selector, range, &mut charge)?;
    let goes_on = || meter.check(0).is_ok();
    let found = work.snapshot.weigh_each(&sids, range, &goes_on, &mut |_, _| ());
    if matches!(found, Err(Error::Stopped)) {
        // Why it was stopped the meter says in better words.
        meter.check(0)?;
    }
    found.map_err(|error| Failure::new(status_of(&error), error.to_string()))
}
