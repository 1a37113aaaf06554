//! Laws: how the value of one field moves from step to step. A law is data; it knows nothing of
//! measurements, labels or wire formats. Walks keep eight bytes of state per series, the other
//! laws are functions of time and a draw.

use crate::random::{Normal, unit};

/// How a field turns into a number of fixed decimals, so that sums stay exact integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A whole number.
    Integer,
    /// A decimal fraction with this many digits after the point; cut off, not rounded.
    Decimal(u8),
}

impl Kind {
    /// Digits after the point of the held number.
    pub(crate) fn scale(self) -> u8 {
        match self {
            Kind::Decimal(scale) => scale,
            Kind::Integer => 0,
        }
    }

    /// Units of the held number in one whole.
    pub(crate) fn unit(self) -> i64 {
        10i64.pow(u32::from(self.scale()))
    }
}

/// One step of a walk.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stride {
    /// Normal with this mean; deviation 1 unless said otherwise.
    Normal(f64, f64),
    /// Uniform between the two bounds.
    Uniform(f64, f64),
}

impl Stride {
    #[inline]
    fn take(self, bits: u64, table: &Normal) -> f64 {
        match self {
            Stride::Normal(mean, deviation) => mean + deviation * table.draw(bits),
            Stride::Uniform(low, high) => low + (high - low) * unit(bits),
        }
    }
}

/// Where a walk begins.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// Everywhere the same.
    At(f64),
    /// Uniform between the two bounds, per series.
    Uniform(f64, f64),
    /// One of these, per series.
    OneOf(&'static [f64]),
}

/// How a field moves. Times are milliseconds since 1970.
#[derive(Clone, Debug)]
pub(crate) enum Law {
    /// Stays where it began.
    Still(Start),
    /// A walk held between two bounds: it stops at a bound until a step leads back.
    Clamped(Stride, f64, f64, Start),
    /// A counter: the size of each step is added.
    Rising(Stride),
    /// Falls by a uniform step below the first number and jumps back to the second at zero.
    Draining(f64, f64),
    /// Keeps its value; redrawn uniformly up to the second number with the first as probability.
    Redrawn(f64, f64),
    /// Computed from the states of the fields of the same row.
    Derived(Derived),
    /// Saw-tooth from `min` to `max` over `cycle_ms`.
    Line { min: f64, max: f64, cycle_ms: f64 },
    /// Sine from `min` to `max` over `cycle_ms`.
    Sine { min: f64, max: f64, cycle_ms: f64 },
    /// `max` in the first half of `cycle_ms`, else `min`.
    Square { min: f64, max: f64, cycle_ms: f64 },
    /// Uniform between `min` and `max` at each step.
    Random { min: f64, max: f64 },
}

/// A value that follows from others of its row.
#[derive(Clone, Debug)]
pub(crate) enum Derived {
    /// The state of the field at this place.
    State(usize),
    /// What is left of a whole without a part, nothing at the least.
    Rest(Box<Derived>, Box<Derived>),
    /// How many hundredths of a whole a part is.
    Percent { part: Box<Derived>, whole: Box<Derived> },
    /// How many whole blocks of a size something holds.
    Blocks(Box<Derived>, f64),
}

impl Derived {
    /// The value where `states` are those of the row.
    fn value(&self, states: &[f64]) -> f64 {
        match self {
            Derived::State(place) => states.get(*place).copied().unwrap_or_default(),
            Derived::Rest(whole, part) => (whole.value(states) - part.value(states)).max(0.0),
            Derived::Percent { part, whole } => {
                100.0 * part.value(states) / whole.value(states).max(1.0)
            }
            Derived::Blocks(of, size) => (of.value(states) / size).trunc(),
        }
    }
}

impl Law {
    /// The state of a series before its first step.
    pub(crate) fn begin(&self, bits: u64) -> f64 {
        let start = match *self {
            Law::Still(start) | Law::Clamped(_, _, _, start) => start,
            Law::Draining(_, full) => Start::At(full),
            Law::Redrawn(_, max) => Start::Uniform(0.0, max),
            _ => Start::At(0.0),
        };
        match start {
            Start::At(value) => value,
            Start::Uniform(low, high) => low + (high - low) * unit(bits),
            Start::OneOf(values) => {
                let at = (unit(bits) * values.len() as f64) as usize;
                values.get(at).copied().unwrap_or_default()
            }
        }
    }

    /// The state one step later.
    #[inline]
    pub(crate) fn advance(&self, state: f64, bits: u64, table: &Normal) -> f64 {
        match *self {
            Law::Clamped(stride, min, max, _) => (state + stride.take(bits, table)).clamp(min, max),
            Law::Rising(stride) => state + stride.take(bits, table).abs(),
            Law::Draining(step, full) => {
                let left = state - step * unit(bits);
                if left <= 0.0 { full } else { left }
            }
            Law::Redrawn(chance, max) => {
                let drawn = unit(bits);
                if drawn < chance { drawn / chance * max } else { state }
            }
            _ => state,
        }
    }

    /// Whether the value depends on the states of other fields.
    pub(crate) fn derives(&self) -> bool {
        matches!(self, Law::Derived(_))
    }

    /// The value at `time_ms` where `states` are those of the row and `own` this field's.
    #[inline]
    pub(crate) fn value(&self, own: f64, states: &[f64], time_ms: i64, bits: u64) -> f64 {
        match *self {
            Law::Derived(ref derived) => derived.value(states),
            Law::Line { min, max, cycle_ms } => {
                min + (max - min) * ((time_ms as f64).rem_euclid(cycle_ms) / cycle_ms)
            }
            Law::Sine { min, max, cycle_ms } => {
                let half = (max - min) / 2.0;
                let turn = (time_ms as f64).rem_euclid(cycle_ms) / cycle_ms;
                min + half + half * (std::f64::consts::TAU * turn).sin()
            }
            Law::Square { min, max, cycle_ms } => {
                let first_half = (time_ms as f64).rem_euclid(cycle_ms) < cycle_ms / 2.0;
                if first_half { max } else { min }
            }
            Law::Random { min, max } => min + (max - min) * unit(bits),
            _ => own,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periodic_laws_follow_their_formulas() {
        let line = Law::Line { min: 10.0, max: 20.0, cycle_ms: 1000.0 };
        assert_eq!(line.value(0.0, &[], 250, 0), 12.5);
        assert_eq!(line.value(0.0, &[], 1250, 0), 12.5);
        let square = Law::Square { min: 2.0, max: 5.0, cycle_ms: 100.0 };
        assert_eq!(square.value(0.0, &[], 49, 0), 5.0);
        assert_eq!(square.value(0.0, &[], 50, 0), 2.0);
        let sine = Law::Sine { min: 0.0, max: 4.0, cycle_ms: 400.0 };
        assert!((sine.value(0.0, &[], 100, 0) - 4.0).abs() < 1e-12);
        assert!((sine.value(0.0, &[], 300, 0) - 0.0).abs() < 1e-12);
    }

    #[test]
    fn clamped_walks_stop_at_their_bounds() {
        let law = Law::Clamped(Stride::Normal(0.0, 1.0), 0.0, 100.0, Start::At(0.2));
        let (lowest, highest, table) = (0, u64::MAX, Normal::table());
        assert_eq!(law.advance(0.2, lowest, table), 0.0);
        assert_eq!(law.advance(99.9, highest, table), 100.0);
        assert_eq!(law.advance(50.0, 1 << 63, table), 50.0);
    }
}
