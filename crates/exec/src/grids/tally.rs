//! How many values there are of each, or within each range of VictoriaMetrics' histograms: a series
//! for each, under a label that says which.

use super::gapped::Gapped;
use super::row::GridRow;
use super::{OnRow, Walk};
use crate::Error;
use crate::limits::Charge;
use foliot_model::{Label, Labels};
use foliot_plan::grid::Steps;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

/// The label of a range, `1.000e+00...1.136e+00`.
pub(super) const RANGE: &str = "vmrange";

/// A tenfold is that many ranges. The first begins at 10^-9, and the last ends at 10^18.
const RANGES_PER_TENFOLD: i32 = 18;
const LOWEST_EXPONENT: i32 = -9;
const HIGHEST_EXPONENT: i32 = 18;
const RANGES: usize = ((HIGHEST_EXPONENT - LOWEST_EXPONENT) * RANGES_PER_TENFOLD) as usize;

/// What is called the range below all others, each of these, and the one above them.
static RANGE_TEXTS: LazyLock<Vec<Arc<str>>> = LazyLock::new(|| {
    let factor = 10f64.powf(1.0 / f64::from(RANGES_PER_TENFOLD));
    let mut bound = 10f64.powi(LOWEST_EXPONENT);
    let mut texts: Vec<Arc<str>> = vec![format!("0...{}", bound_text(bound)).into()];
    for _ in 0..RANGES {
        let from = bound_text(bound);
        bound *= factor;
        texts.push(format!("{from}...{}", bound_text(bound)).into());
    }
    texts.push(format!("{}...+Inf", bound_text(bound)).into());
    texts
});

/// A bound with four digits, as Go's `%.3e` writes it.
fn bound_text(bound: f64) -> String {
    let text = format!("{bound:.3e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// What the range is called in which a value lies; one that is no number or below zero lies in
/// none. The end of a range is in it, its beginning is not.
pub(super) fn range_of(value: f64) -> Option<Arc<str>> {
    if value.is_nan() || value < 0.0 {
        return None;
    }
    let at = (log10(value) - f64::from(LOWEST_EXPONENT)) * f64::from(RANGES_PER_TENFOLD);
    let number = match at {
        at if at < 0.0 => 0,
        at if at >= RANGES as f64 => RANGES + 1,
        // Powers of ten, whose logarithms are whole, end a range.
        at if at == at.trunc() && at > 0.0 => at as usize,
        at => at as usize + 1,
    };
    RANGE_TEXTS.get(number).cloned()
}

/// The logarithm as Go calculates it, of which the last digit decides where a bound lies.
fn log10(value: f64) -> f64 {
    const EXPONENT_BITS: u64 = 0x7ff << 52;
    const EXPONENT_OF_HALF: u64 = 0x3fe << 52;
    if !value.is_normal() {
        return value.log10();
    }
    let exponent = ((value.to_bits() & EXPONENT_BITS) >> 52) as i32 - 0x3fe;
    let part = f64::from_bits(value.to_bits() & !EXPONENT_BITS | EXPONENT_OF_HALF);
    let log2 = match part == 0.5 {
        true => f64::from(exponent - 1),
        false => f64::from(exponent) + part.ln() * std::f64::consts::LOG2_E,
    };
    log2 * std::f64::consts::LOG10_2
}

/// Series of counts by what a label says.
pub(super) struct Tally<'q> {
    name: Arc<str>,
    counts: Vec<(Arc<str>, Gapped)>,
    places: HashMap<Arc<str>, usize>,
    steps_count: usize,
    charge: Charge<'q>,
}

impl<'q> Tally<'q> {
    /// Of the label of this name, at so many instants.
    pub(super) fn new(walk: &Walk<'q>, name: &Arc<str>, steps: &Steps) -> Self {
        Self {
            name: name.clone(),
            counts: Vec::new(),
            places: HashMap::new(),
            steps_count: steps.count,
            charge: walk.meter.open(),
        }
    }

    /// Counts one at an instant.
    pub(super) fn add(&mut self, value: Arc<str>, index: usize) -> Result<(), Error> {
        let place = match self.places.get(&value) {
            Some(place) => *place,
            None => {
                let row = GridRow::numbers(Labels::default(), vec![None; self.steps_count]);
                self.charge.add(row.bytes() + value.len())?;
                self.counts.push((value.clone(), row.values));
                self.places.insert(value, self.counts.len() - 1);
                self.counts.len() - 1
            }
        };
        if let Some((_, counts)) = self.counts.get_mut(place) {
            counts.put(index, Some(counts.get(index).unwrap_or(0.0) + 1.0));
        }
        Ok(())
    }

    /// Passes the series on, which have these labels besides.
    pub(super) fn finish(
        self,
        labels: &Labels,
        walk: &Walk<'_>,
        each: OnRow<'_>,
    ) -> Result<(), Error> {
        let Self { name, counts, charge, .. } = self;
        drop(charge);
        for (value, counts) in counts {
            // A label without a value is none.
            let own = (!value.is_empty()).then(|| Label { name: name.clone(), value });
            let others = labels.iter().filter(|label| label.name != name).cloned();
            let labels = Labels::new(others.chain(own).collect());
            walk.pass(GridRow::numbers(labels, counts), each)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By `metrics.Histogram` of VictoriaMetrics, whose bounds are 10^(n/18).
    #[test]
    fn values_lie_in_ranges_that_end_with_them() {
        for (value, wanted) in [
            (0.0, "0...1.000e-09"),
            (-0.0, "0...1.000e-09"),
            (1e-300, "0...1.000e-09"),
            (9.99e-10, "0...1.000e-09"),
            (1.1e-9, "1.000e-09...1.136e-09"),
            (0.99, "8.799e-01...1.000e+00"),
            (1.0, "8.799e-01...1.000e+00"),
            (1.01, "1.000e+00...1.136e+00"),
            (2.0, "1.896e+00...2.154e+00"),
            (100.0, "8.799e+01...1.000e+02"),
            (123.456, "1.136e+02...1.292e+02"),
            (9.9e17, "8.799e+17...1.000e+18"),
            (1e19, "1.000e+18...+Inf"),
            (f64::INFINITY, "1.000e+18...+Inf"),
        ] {
            assert_eq!(range_of(value).as_deref(), Some(wanted), "{value}");
        }
        assert_eq!(range_of(-1e-9), None);
        assert_eq!(range_of(f64::NAN), None);
    }
}
