//! Counts series by what they are called, piece by piece, within the memory of a question.

use crate::query::{Failure, Work};
use foliot_engine::{Ranks, Telling};
use foliot_exec::{Error, Meter};
use foliot_model::NamespaceId;

/// Series that are counted between looks at the clock.
const SERIES_AT_ONCE: usize = 4_096;

/// Leaves series out of a piece.
pub(crate) type Narrow<'a> = dyn FnMut(&[u32], &Meter) -> Result<Vec<u32>, Error> + 'a;

/// The names that most of these series of a namespace, which ascend, are due to: at most `limit` of
/// each sort.
pub(crate) fn ranks(
    work: &Work<'_>,
    (namespace, telling): (NamespaceId, Telling),
    sids: &[u32],
    mut narrow: Option<&mut Narrow<'_>>,
    limit: usize,
) -> Result<Ranks, Failure> {
    let (meter, snapshot) = (work.meter(), work.snapshot);
    let mut counts = meter.open();
    counts.resize(snapshot.census_bytes())?;
    let mut census = snapshot.census(namespace, telling);
    for chunk in sids.chunks(SERIES_AT_ONCE) {
        meter.check(0)?;
        let counted = match &mut narrow {
            Some(narrow) => snapshot.count(&narrow(chunk, &meter)?, &mut census),
            None => snapshot.count(chunk, &mut census),
        };
        counted.map_err(Error::from)?;
        counts.resize(census.memory_bytes())?;
    }
    Ok(snapshot.ranks(census, limit))
}
