//! Runs: the samples that come next in a scan, in the form in which they are cheapest to fold.
//!
//! Most blocks hold integers, or decimals of one scale, at times of equal distance. Nobody needs to
//! have such numbers as floats one by one, or such times at all, in order to know what they come
//! to.

use crate::block;
use crate::columns::Columns;
use crate::head::stream::Steady;
use foliot_codec::{Decoded, decode_times, decode_wholes, steady_times, to_floats};
use foliot_model::{Kind, SCALE_MAX, Samples, TimeRange, Values};
use std::ops::Range;

/// Samples of one series, times ascending. Its memory is reused from run to run.
#[derive(Debug, Default)]
pub struct Run {
    times: Times,
    times_ns: Vec<i64>,
    decoded: Decoded,
    wholes: Vec<i64>,
    form: Form,
    /// Which of the values are meant.
    range: Range<usize>,
    /// The samples where they have no other form.
    samples: Samples,
}

/// The times of a run.
#[derive(Clone, Copy, Debug, Default)]
enum Times {
    /// In the vector for it.
    #[default]
    Each,
    /// The first one, and the distance from each to the next.
    Steady(i64, i64),
}

/// The values of a run.
#[derive(Clone, Copy, Debug, Default)]
enum Form {
    #[default]
    Samples,
    /// Among those that were decoded.
    Decoded(Kind, u8),
    /// In the vector for them.
    Wholes(Kind, u8),
}

/// The values of a [`Run`].
#[derive(Clone, Copy, Debug)]
pub enum RunValues<'r> {
    /// Integers, or floats that are whole numbers divided by ten to the power of a scale of at most
    /// 22; the kind says which.
    Wholes {
        /// The whole numbers.
        wholes: &'r [i64],
        /// Integer or float.
        kind: Kind,
        /// The scale; 0 for integers.
        scale: u8,
    },
    /// Values of any kind.
    Samples(&'r Samples),
}

/// The times of a [`Run`].
#[derive(Clone, Copy, Debug)]
pub enum RunTimes<'r> {
    /// Each follows the one before by the same distance.
    Steady {
        /// The first one.
        first_ns: i64,
        /// The distance.
        step_ns: i64,
    },
    /// One by one.
    Each(&'r [i64]),
}

impl Run {
    /// Number of samples.
    pub fn len(&self) -> usize {
        match self.form {
            Form::Samples => self.samples.len(),
            _ => self.range.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values.
    pub fn values(&self) -> RunValues<'_> {
        match self.form {
            Form::Samples => RunValues::Samples(&self.samples),
            Form::Decoded(kind, scale) => {
                let wholes = self.decoded.wholes().get(self.range.clone()).unwrap_or_default();
                RunValues::Wholes { wholes, kind, scale }
            }
            Form::Wholes(kind, scale) => {
                let wholes = self.wholes.get(self.range.clone()).unwrap_or_default();
                RunValues::Wholes { wholes, kind, scale }
            }
        }
    }

    /// Appends the values as floats, if they are whole numbers or decimals.
    pub fn append_floats(&self, out: &mut Vec<f64>) {
        if let RunValues::Wholes { wholes, scale, .. } = self.values() {
            to_floats(wholes, scale, out);
        }
    }

    /// The times.
    pub fn times(&self) -> RunTimes<'_> {
        match (self.form, self.times) {
            (Form::Samples, Times::Each) => RunTimes::Each(&self.samples.times_ns),
            (_, Times::Steady(first_ns, step_ns)) => {
                let before_ns = step_ns.wrapping_mul(self.range.start as i64);
                RunTimes::Steady { first_ns: first_ns.wrapping_add(before_ns), step_ns }
            }
            (_, Times::Each) => {
                RunTimes::Each(self.times_ns.get(self.range.clone()).unwrap_or_default())
            }
        }
    }

    /// The time of the sample numbered `index`.
    pub fn time_ns(&self, index: usize) -> Option<i64> {
        match (self.form, self.times) {
            (Form::Samples, _) => self.samples.times_ns.get(index).copied(),
            (_, Times::Steady(first_ns, step_ns)) => {
                Some(first_ns.wrapping_add(step_ns.wrapping_mul((self.range.start + index) as i64)))
            }
            (_, Times::Each) => self.times_ns.get(self.range.start + index).copied(),
        }
    }

    /// The number of the first sample that is not before `time_ns`, looked for from number `from`
    /// on, which is near.
    pub fn position(&self, from: usize, time_ns: i64) -> usize {
        let times_ns = match (self.form, self.times) {
            (_, Times::Steady(first_ns, step_ns)) if !matches!(self.form, Form::Samples) => {
                let at = steady_position((first_ns, step_ns), time_ns);
                return at.saturating_sub(self.range.start).clamp(from.min(self.len()), self.len());
            }
            (Form::Samples, _) => self.samples.times_ns.get(from..),
            _ => self.times_ns.get(self.range.start + from..self.range.end),
        };
        from + near_position(times_ns.unwrap_or_default(), time_ns)
    }

    pub(crate) fn clear(&mut self) {
        self.form = Form::Samples;
        self.times = Times::Each;
        self.samples.clear();
    }

    /// Where samples are put that have no other form.
    pub(crate) fn samples(&mut self) -> &mut Samples {
        &mut self.samples
    }

    /// Takes in a block's samples in `range`.
    ///
    /// # Errors
    /// What is wrong with the bytes; where they came from the caller knows.
    pub(crate) fn decode(
        &mut self,
        times: &[u8],
        values: &[u8],
        count: usize,
        range: TimeRange,
    ) -> Result<(), String> {
        self.clear();
        self.range = match steady_times(times) {
            Some((first_ns, step_ns)) if step_ns > 0 && count > 0 => {
                self.times = Times::Steady(first_ns, step_ns);
                steady_range((first_ns, step_ns), count, range)
            }
            _ => {
                self.times_ns.clear();
                decode_times(times, count, &mut self.times_ns).map_err(|e| e.to_string())?;
                let start = self.times_ns.partition_point(|&time| time < range.start_ns);
                start..self.times_ns.partition_point(|&time| time <= range.end_ns).max(start)
            }
        };
        let wholes = decode_wholes(values, count, &mut self.decoded).map_err(|e| e.to_string())?;
        if let Some(wholes) = wholes {
            let kind = Kind::from_code(wholes.kind).unwrap_or(Kind::Integer);
            self.form = Form::Decoded(kind, wholes.scale);
            return Ok(());
        }
        if let Times::Steady(first_ns, step_ns) = self.times {
            self.lay_steady_times((first_ns, step_ns));
        } else {
            let times_ns = self.times_ns.get(self.range.clone()).unwrap_or_default();
            self.samples.times_ns.extend_from_slice(times_ns);
        }
        block::append_values(&self.decoded, self.range.clone(), &mut self.samples.values);
        Ok(())
    }

    /// Takes in a stream's samples in `range`.
    pub(crate) fn take_steady(&mut self, steady: &Steady, range: TimeRange) {
        self.clear();
        let (first_ns, step_ns) = steady.times();
        self.times = Times::Steady(first_ns, step_ns);
        self.range = steady_range((first_ns, step_ns), steady.len(), range);
        let kind_scale = steady.kind_scale();
        self.wholes.clear();
        steady.wholes(&mut self.wholes);
        if kind_scale.is_raw() {
            let bits = self.wholes.get(self.range.clone()).unwrap_or_default();
            let floats = bits.iter().map(|bits| f64::from_bits(*bits as u64)).collect();
            self.samples.values = Values::Float(floats);
            return self.lay_steady_times((first_ns, step_ns));
        }
        let scale = if kind_scale.kind() == Kind::Float { kind_scale.scale() } else { 0 };
        self.form = Form::Wholes(kind_scale.kind(), scale);
    }

    /// Lays out the times of samples that have no other form.
    fn lay_steady_times(&mut self, (first_ns, step_ns): (i64, i64)) {
        let time_ns = |at: usize| first_ns.wrapping_add(step_ns.wrapping_mul(at as i64));
        self.samples.times_ns.extend(self.range.clone().map(time_ns));
    }

    /// Takes in the samples of `columns` numbered `range`.
    pub(crate) fn take_columns(&mut self, columns: &Columns, range: Range<usize>) {
        self.clear();
        let kind_scales = columns.kind_scales.get(range.clone()).unwrap_or_default();
        let first = kind_scales.first().copied().unwrap_or_default();
        let is_uniform = kind_scales.iter().all(|kind_scale| *kind_scale == first);
        let scale = match first.kind() {
            Kind::Integer => Some(0),
            Kind::Float => Some(first.scale()).filter(|scale| *scale <= SCALE_MAX),
            _ => None,
        };
        let Some(scale) = scale.filter(|_| is_uniform) else {
            return columns.copy_to(range, &mut self.samples);
        };
        self.form = Form::Wholes(first.kind(), scale);
        self.times_ns.clear();
        self.times_ns.extend_from_slice(columns.times_ns.get(range.clone()).unwrap_or_default());
        self.wholes.clear();
        let bits = columns.bits.get(range.clone()).unwrap_or_default();
        self.wholes.extend(bits.iter().map(|bits| *bits as i64));
        self.range = 0..range.len();
    }
}

/// Which of so many times that begin with the first and go on by the step lie in `range`.
pub(crate) fn steady_range(times: (i64, i64), count: usize, range: TimeRange) -> Range<usize> {
    let start = steady_position(times, range.start_ns).min(count);
    let end = range.end_ns.checked_add(1);
    let end = end.map_or(count, |end| steady_position(times, end)).min(count);
    start..end.max(start)
}

/// How many of the times that begin with the first and go on by the step, which is above 0, come
/// before `time_ns`.
fn steady_position((first_ns, step_ns): (i64, i64), time_ns: i64) -> usize {
    match time_ns > first_ns {
        false => 0,
        true => {
            let past = time_ns.wrapping_sub(first_ns) as u64;
            usize::try_from(past.div_ceil(step_ns.unsigned_abs().max(1))).unwrap_or(usize::MAX)
        }
    }
}

/// How many of these times come before `time_ns`. Most windows are short beside what is read at a
/// time, and found from their beginning.
fn near_position(times_ns: &[i64], time_ns: i64) -> usize {
    let mut most = 8;
    while times_ns.get(most).is_some_and(|&found_ns| found_ns < time_ns) {
        most *= 2;
    }
    let near = times_ns.get(..most).unwrap_or(times_ns);
    near.partition_point(|&found_ns| found_ns < time_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Builder, Decoder};
    use crate::head::stream::{Decoded, KindScale};
    use foliot_model::Value;
    use proptest::prelude::*;

    /// All samples of a run, one by one.
    fn samples_of(run: &Run) -> Samples {
        let mut samples = Samples::default();
        for at in 0..run.len() {
            let time_ns = run.time_ns(at).unwrap();
            match run.values() {
                RunValues::Samples(all) => samples.push(time_ns, all.values.get(at).unwrap()),
                RunValues::Wholes { wholes, kind: Kind::Integer, .. } => {
                    samples.push(time_ns, Value::Integer(wholes[at]));
                }
                RunValues::Wholes { wholes, scale, .. } => {
                    let value: f64 = format!("{}e-{scale}", wholes[at]).parse().unwrap();
                    samples.push(time_ns, Value::Float(value));
                }
            }
        }
        assert_eq!(run.time_ns(run.len()).filter(|_| matches!(run.form, Form::Samples)), None);
        samples
    }

    fn times_of(run: &Run) -> Vec<i64> {
        match run.times() {
            RunTimes::Each(times_ns) => times_ns.to_vec(),
            RunTimes::Steady { first_ns, step_ns } => {
                (0..run.len() as i64).map(|at| first_ns + at * step_ns).collect()
            }
        }
    }

    /// What is the same for samples: times, kinds, and bits.
    fn told(samples: &Samples) -> Vec<String> {
        samples.iter().map(|(time_ns, value)| format!("{time_ns} {value:?}")).collect()
    }

    fn sample() -> impl Strategy<Value = (i64, u8, u64)> {
        (prop_oneof![4 => Just(1i64), 1 => 1i64..50], 0u8..12, any::<u64>())
    }

    proptest! {
        /// Blocks and columns, cut at any times, are what the decoder makes of them.
        #[test]
        fn a_run_has_the_samples_of_its_block(
            samples in prop::collection::vec(sample(), 1..80),
            kinds in prop_oneof![Just(1u8), Just(2), Just(12)],
            steady: bool,
            (from, to) in (-5i64..120, -5i64..200),
        ) {
            let mut builder = Builder::default();
            let mut time_ns = 0;
            for (step, kind, bits) in samples {
                time_ns += if steady { 3 } else { step };
                let (kind_scale, bits) = match kind % kinds {
                    0 => (KindScale::new(Kind::Integer, 0), bits >> 3),
                    1 => (KindScale::new(Kind::Float, 2), bits % 1_000),
                    2 => (KindScale::new(Kind::Float, foliot_model::RAW_SCALE), bits >> 2),
                    3 => (KindScale::new(Kind::Boolean, 0), bits % 2),
                    _ => (KindScale::new(Kind::Float, 0), bits % 9),
                };
                builder.columns.push(Decoded { time_ns, kind_scale, bits }, &[]);
            }
            let range = TimeRange::new(from, to);
            let block = builder.blocks().remove(0);
            let (times, values, count) = (block.times(), block.values(), block.count as usize);
            let mut expected = Samples::default();
            Decoder::default().decode(times, values, count, range, &mut expected).unwrap();
            let mut run = Run::default();
            run.decode(times, values, count, range).unwrap();
            prop_assert_eq!(told(&samples_of(&run)), told(&expected));
            prop_assert_eq!(times_of(&run), expected.times_ns.clone());
            let mut floats = Vec::new();
            run.append_floats(&mut floats);
            if let RunValues::Wholes { .. } = run.values() {
                let wanted = expected.iter().map(|(_, value)| value.as_f64().unwrap().to_bits());
                prop_assert!(wanted.eq(floats.into_iter().map(f64::to_bits)));
            }
            for time_ns in -3..210 {
                let position = expected.times_ns.partition_point(|found_ns| *found_ns < time_ns);
                prop_assert_eq!(run.position(0, time_ns), position);
                let half = position / 2;
                prop_assert_eq!(run.position(half, time_ns), position);
            }
            run.take_columns(&builder.columns, builder.columns.indices(range));
            prop_assert_eq!(told(&samples_of(&run)), told(&expected));
        }
    }
}
