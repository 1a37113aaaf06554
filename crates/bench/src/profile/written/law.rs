//! The laws of `law` under the names of files.

use serde::Deserialize;

use crate::law::{Derived, Kind, Law, Start, Stride};
use crate::profile::table::Field;

/// Digits after the point: `question` tells nothing smaller from rounding.
const DIGITS_MAX: u8 = 6;

/// Size of a bound or of a step in units of its last digit. It stays far below what a double holds.
const NUMBER_MAX: f64 = 1e14;

/// A field of a table: its name and its law.
pub(super) type Named<'a> = (&'a String, &'a WrittenLaw);

/// How a field moves.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) enum WrittenLaw {
    /// Drawn once for each series.
    Still {
        from: f64,
        to: f64,
    },
    /// Drawn once for each series among these.
    Choice(Vec<f64>),
    /// Normal steps, held between two bounds; begins anywhere between `from` and `to`.
    Walk {
        mean: f64,
        deviation: f64,
        min: f64,
        max: f64,
        from: f64,
        to: f64,
    },
    /// The same with steps of any size up to `step`, up or down.
    Drift {
        step: f64,
        min: f64,
        max: f64,
        from: f64,
        to: f64,
    },
    /// Rises by the size of a normal step.
    Counter {
        mean: f64,
        deviation: f64,
    },
    /// Falls by any size up to `step`, and jumps back to `full` at zero.
    Draining {
        step: f64,
        full: f64,
    },
    /// Stays, but is drawn anew, up to `max`, with a chance at each step.
    Redrawn {
        chance: f64,
        max: f64,
    },
    /// A saw-tooth.
    Line {
        min: f64,
        max: f64,
        cycle_s: f64,
    },
    Sine {
        min: f64,
        max: f64,
        cycle_s: f64,
    },
    /// `max` in the first half of each cycle, else `min`.
    Square {
        min: f64,
        max: f64,
        cycle_s: f64,
    },
    /// Drawn anew at each step.
    Random {
        min: f64,
        max: f64,
    },
    /// What is left of one field without another, nothing at the least.
    Rest {
        whole: String,
        part: String,
    },
    /// How many hundredths of one field another is.
    Percent {
        part: String,
        whole: String,
    },
    /// How many whole blocks of a size a field holds.
    Blocks {
        of: String,
        size: f64,
    },
}

impl WrittenLaw {
    /// The field of this name among `all` that its table names; an error where it follows from one
    /// that is not there, or that keeps no state.
    pub(super) fn field(
        &'static self,
        name: &str,
        digits: Option<u8>,
        all: &[Named<'_>],
    ) -> Result<Field, String> {
        let kind = digits.map_or(Kind::Integer, Kind::Decimal);
        let law = match self {
            WrittenLaw::Still { from, to } => Law::Still(Start::Uniform(*from, *to)),
            WrittenLaw::Choice(values) => Law::Still(Start::OneOf(values)),
            WrittenLaw::Walk { mean, deviation, min, max, from, to } => {
                let stride = Stride::Normal(*mean, *deviation);
                Law::Clamped(stride, *min, *max, Start::Uniform(*from, *to))
            }
            WrittenLaw::Drift { step, min, max, from, to } => {
                let stride = Stride::Uniform(-step, *step);
                Law::Clamped(stride, *min, *max, Start::Uniform(*from, *to))
            }
            WrittenLaw::Counter { mean, deviation } => {
                Law::Rising(Stride::Normal(*mean, *deviation))
            }
            WrittenLaw::Draining { step, full } => Law::Draining(*step, *full),
            WrittenLaw::Redrawn { chance, max } => Law::Redrawn(*chance, *max),
            WrittenLaw::Line { min, max, cycle_s } => {
                Law::Line { min: *min, max: *max, cycle_ms: cycle_s * 1000.0 }
            }
            WrittenLaw::Sine { min, max, cycle_s } => {
                Law::Sine { min: *min, max: *max, cycle_ms: cycle_s * 1000.0 }
            }
            WrittenLaw::Square { min, max, cycle_s } => {
                Law::Square { min: *min, max: *max, cycle_ms: cycle_s * 1000.0 }
            }
            WrittenLaw::Random { min, max } => Law::Random { min: *min, max: *max },
            WrittenLaw::Rest { .. } | WrittenLaw::Percent { .. } | WrittenLaw::Blocks { .. } => {
                Law::Derived(self.derived(all, all.len())?)
            }
        };
        Ok(Field::new(name, kind, law))
    }

    /// What the value follows from, through at most so many others.
    fn derived(&self, all: &[Named<'_>], most: usize) -> Result<Derived, String> {
        let of = |name: &String| {
            let most = most.checked_sub(1).ok_or("it follows from itself")?;
            let place = all.iter().position(|(other, _)| *other == name);
            let known = place.and_then(|place| Some((place, all.get(place)?.1)));
            let (place, law) = known.ok_or_else(|| format!("there is no field {name}"))?;
            match law {
                WrittenLaw::Rest { .. }
                | WrittenLaw::Percent { .. }
                | WrittenLaw::Blocks { .. } => law.derived(all, most).map(Box::new),
                WrittenLaw::Line { .. } | WrittenLaw::Sine { .. } | WrittenLaw::Square { .. } => {
                    Err(format!("{name} keeps no state that another could follow from"))
                }
                WrittenLaw::Random { .. } => {
                    Err(format!("{name} keeps no state that another could follow from"))
                }
                _ => Ok(Box::new(Derived::State(place))),
            }
        };
        Ok(match self {
            WrittenLaw::Rest { whole, part } => Derived::Rest(of(whole)?, of(part)?),
            WrittenLaw::Percent { part, whole } => {
                Derived::Percent { part: of(part)?, whole: of(whole)? }
            }
            WrittenLaw::Blocks { of: field, size } => Derived::Blocks(of(field)?, *size),
            _ => return Err("it follows from nothing".to_owned()),
        })
    }

    pub(super) fn check(&self, digits: Option<u8>) -> Result<(), String> {
        let digits = digits.unwrap_or(0);
        if digits > DIGITS_MAX {
            return Err(format!("digits = {digits}: {DIGITS_MAX} at most"));
        }
        let (bounds, numbers) = self.numbers()?;
        if bounds.0 > bounds.1 {
            return Err(format!("{} lies above {}", bounds.0, bounds.1));
        }
        let most = NUMBER_MAX / 10f64.powi(i32::from(digits));
        let is_small = |number: &f64| number.abs() <= most;
        if ![bounds.0, bounds.1].iter().chain(&numbers).all(is_small) {
            return Err(format!("numbers lie between {most} and its negative"));
        }
        Ok(())
    }

    /// The bounds of the law and what else it is made of.
    fn numbers(&self) -> Result<((f64, f64), Vec<f64>), String> {
        let within =
            |min: f64, max: f64, from: f64, to: f64| match min <= from && from <= to && to <= max {
                true => Ok((min, max)),
                false => Err("from and to lie between min and max".to_owned()),
            };
        let above = |what: &str, number: f64, least: f64| match number >= least {
            true => Ok(()),
            false => Err(format!("{what} = {number}: at least {least}")),
        };
        Ok(match self {
            WrittenLaw::Still { from, to } => ((*from, *to), Vec::new()),
            WrittenLaw::Choice(values) if values.is_empty() => {
                return Err("nothing to choose from".to_owned());
            }
            WrittenLaw::Choice(values) => ((0.0, 0.0), values.clone()),
            WrittenLaw::Walk { mean, deviation, min, max, from, to } => {
                (within(*min, *max, *from, *to)?, vec![*mean, *deviation])
            }
            WrittenLaw::Drift { step, min, max, from, to } => {
                (within(*min, *max, *from, *to)?, vec![*step])
            }
            WrittenLaw::Counter { mean, deviation } => ((0.0, 0.0), vec![*mean, *deviation]),
            WrittenLaw::Draining { step, full } => {
                above("step", *step, 0.0)?;
                ((0.0, *full), vec![*step])
            }
            WrittenLaw::Redrawn { chance, max } => {
                if !(1e-9..=1.0).contains(chance) {
                    return Err(format!("chance = {chance}: above 0, 1 at most"));
                }
                ((0.0, *max), Vec::new())
            }
            WrittenLaw::Line { min, max, cycle_s }
            | WrittenLaw::Sine { min, max, cycle_s }
            | WrittenLaw::Square { min, max, cycle_s } => {
                above("cycle_s", *cycle_s, 0.001)?;
                ((*min, *max), vec![*cycle_s])
            }
            WrittenLaw::Random { min, max } => ((*min, *max), Vec::new()),
            WrittenLaw::Rest { .. } | WrittenLaw::Percent { .. } => ((0.0, 0.0), Vec::new()),
            WrittenLaw::Blocks { size, .. } => {
                above("size", *size, 0.001)?;
                ((0.0, 0.0), vec![*size])
            }
        })
    }
}
