//! Steady streams: numbers of one kind and scale at equal distances that move little from one to
//! the next, as those of nearly all series do. They are read without being laid out one by one.

use super::{KindScale, Reader, Tail, unit_ns, unzigzag};
use crate::columns::Columns;
use foliot_model::{Kind, SCALE_MAX, TimeRange};

/// A stream that is steady from its first sample to its last.
#[derive(Debug)]
pub(crate) struct Steady {
    bytes: Vec<u8>,
    /// Where the codes of one byte begin, one for each sample but the first two.
    codes_at: usize,
    first_ns: i64,
    step_ns: i64,
    kind_scale: KindScale,
    /// The bits of the first two samples.
    bits: [u64; 2],
}

impl Steady {
    /// A stream that is steady and longer than a sample, or its bytes again.
    pub(crate) fn of(bytes: Vec<u8>) -> Result<Self, Vec<u8>> {
        let mut reader = Reader::new(&bytes);
        let (Some(first), Some(second)) = (reader.next(), reader.next()) else { return Err(bytes) };
        let (rest, Tail { step, unit, .. }) = reader.stands();
        let step_ns = i64::from(step) * unit_ns(unit);
        let kind_scale = first.kind_scale;
        let is_number = match kind_scale.kind() {
            Kind::Integer => true,
            Kind::Float => kind_scale.scale() <= SCALE_MAX,
            _ => false,
        };
        let are_alike = second.kind_scale == kind_scale
            && step_ns > 0
            && first.time_ns.checked_add(step_ns) == Some(second.time_ns);
        let end_ns = step_ns.checked_mul(rest.len() as i64 + 1);
        let ends = end_ns.and_then(|length_ns| first.time_ns.checked_add(length_ns)).is_some();
        // What is no code of one byte begins with the highest bit.
        if !is_number || !are_alike || !ends || !rest.is_ascii() {
            return Err(bytes);
        }
        let (codes_at, first_ns) = (bytes.len() - rest.len(), first.time_ns);
        let bits = [first.bits, second.bits];
        Ok(Self { bytes, codes_at, first_ns, step_ns, kind_scale, bits })
    }

    fn codes(&self) -> &[u8] {
        self.bytes.get(self.codes_at..).unwrap_or_default()
    }

    /// Number of samples.
    pub(crate) fn len(&self) -> usize {
        self.bits.len() + self.codes().len()
    }

    /// The first and the last time.
    pub(crate) fn range(&self) -> TimeRange {
        let steps = self.len().saturating_sub(1) as i64;
        let end_ns = self.first_ns.wrapping_add(self.step_ns.wrapping_mul(steps));
        TimeRange::new(self.first_ns, end_ns)
    }

    /// The first time, and the distance from each to the next.
    pub(crate) fn times(&self) -> (i64, i64) {
        (self.first_ns, self.step_ns)
    }

    /// The kind and scale of all values.
    pub(crate) fn kind_scale(&self) -> KindScale {
        self.kind_scale
    }

    /// Appends the values as whole numbers.
    pub(crate) fn wholes(&self, out: &mut Vec<i64>) {
        out.reserve(self.len());
        let [first, second] = self.bits;
        out.extend([first as i64, second as i64]);
        let mut whole = second as i64;
        out.extend(self.codes().iter().map(|code| {
            whole = whole.wrapping_add(unzigzag(u64::from(*code)));
            whole
        }));
    }

    /// The samples one by one.
    pub(crate) fn columns(&self) -> Columns {
        let (mut columns, mut wholes) = (Columns::default(), Vec::new());
        self.wholes(&mut wholes);
        columns.bits = wholes.into_iter().map(|whole| whole as u64).collect();
        columns.kind_scales = vec![self.kind_scale; self.len()];
        let time_ns = |at: usize| self.first_ns.wrapping_add(self.step_ns.wrapping_mul(at as i64));
        columns.times_ns = (0..self.len()).map(time_ns).collect();
        columns
    }
}
