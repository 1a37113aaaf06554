//! iotdb-benchmark (github.com/thulab/iot-benchmark, `Function.java` and `function.xml`): sensors
//! follow lines, sines, squares, random draws and constants in the proportions 6:9:9:86:58 that
//! its parameter file names. Formulas are the original's; draws are ours, because the original's
//! depend on how its threads happen to interleave.

use crate::fleet::{Field, Label, Shape, Table};
use crate::law::{Kind, Law, Start};
use crate::random::{Draws, Purpose};

/// The original computes this many rows once and repeats them for every device for ever.
pub(crate) const ROWS_REPEATED: u64 = 100;

/// (min, max, cycle in ms) as shipped.
const LINES: [(f64, f64, f64); 9] = [
    (17366.5, 17376.5, 350e3),
    (33909.6, 33919.6, 350e3),
    (35051.0, 35061.0, 350e3),
    (35051.0, 35061.0, 350e3),
    (6000.0, 6001.0, 420e3),
    (6000.0, 6001.0, 420e3),
    (33909.7, 34704.8, 7e6),
    (33501.0, 33695.1, 7e6),
    (33847.4, 34041.5, 7e6),
];
const SINES: [(f64, f64, f64); 6] = [
    (3.54113, 6.59887, 1754e3),
    (3.54113, 6.59887, 1754e3),
    (3.59392, 6.65208, 1757e3),
    (3.59392, 6.65208, 1757e3),
    (3.26297, 6.53903, 1802e3),
    (3.46022, 6.34178, 1799e3),
];
const SQUARES: [(f64, f64, f64); 9] = [
    (2.0, 5.0, 182e3),
    (0.0, 2.0, 3360e3),
    (0.0, 6.0, 320e3),
    (1473.54, 1483.42, 4200e3),
    (25.93, 36.74, 210e3),
    (0.0, 0.99, 320e3),
    (781.54, 787.74, 1120e3),
    (781.54, 787.74, 1120e3),
    (781.54, 787.74, 1120e3),
];
const RANDOMS: [(f64, f64); 7] = [
    (-55.0, 1540.0),
    (0.0, 11.89),
    (969.61, 1005.93),
    (49.95, 50.02),
    (0.0, 87.8),
    (-176.66, 176.08),
    (-0.03, 9.26e8),
];
const CONSTANTS: [f64; 8] = [0.0, 0.0, 0.0, 0.0, 6.7, 3.1, 1500.0, 112151208.0];

/// Shares of the five families: sine, line, square, random, constant.
const SHARES: [u64; 5] = [6, 9, 9, 86, 58];

/// The one table: measurements `g_0` and on, sensors `s_0` and on.
pub(super) fn table(shape: &Shape) -> Table {
    let repeating = shape.profile == super::Profile::IotdbRepeating;
    let kind = Kind::Decimal(if repeating { 0 } else { 2 });
    let fields = (0..shape.fields)
        .map(|at| Field::new(&format!("s_{at}"), kind, law(shape.seed, at as u64)))
        .collect();
    Table { name: "g_", groups: 20, source_label: "device", fields, state_at: 0 }
}

/// Devices carry their number.
pub(super) fn labels(source: u64, out: &mut Vec<Label>) {
    out.push(Label::numbered("device", "d_", source));
}

/// The law of one sensor, drawn by the shares of the families.
pub(super) fn law(seed: u64, sensor: u64) -> Law {
    let mut draws = Draws::at(seed, Purpose::Laws, sensor, 0);
    let mut ticket = draws.below(SHARES.iter().sum());
    let family = SHARES.iter().position(|share| {
        let inside = ticket < *share;
        ticket = ticket.saturating_sub(*share);
        inside
    });
    let member = |count: usize, draws: &mut Draws| draws.below(count as u64) as usize;
    let periodic = |table: &[(f64, f64, f64)], draws: &mut Draws| {
        table.get(member(table.len(), draws)).copied().unwrap_or((0.0, 1.0, 1000.0))
    };
    match family {
        Some(0) => {
            let (min, max, cycle_ms) = periodic(&SINES, &mut draws);
            Law::Sine { min, max, cycle_ms }
        }
        Some(1) => {
            let (min, max, cycle_ms) = periodic(&LINES, &mut draws);
            Law::Line { min, max, cycle_ms }
        }
        Some(2) => {
            let (min, max, cycle_ms) = periodic(&SQUARES, &mut draws);
            Law::Square { min, max, cycle_ms }
        }
        Some(3) => {
            let at = member(RANDOMS.len(), &mut draws);
            let (min, max) = RANDOMS.get(at).copied().unwrap_or_default();
            Law::Random { min, max }
        }
        _ => {
            let at = member(CONSTANTS.len(), &mut draws);
            Law::Still(Start::At(CONSTANTS.get(at).copied().unwrap_or_default()))
        }
    }
}
