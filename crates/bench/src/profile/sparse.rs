//! Sparse: many sources, each of which reports at one step in ten, at steps of its own.

use crate::fleet::{Field, Label, Shape, Table};
use crate::law::{Kind, Law, Start, Stride};
use crate::random::{Draws, Purpose};

/// One step in this many carries a row.
const STEPS_BETWEEN: u64 = 10;

/// The one table: measurement `meter`.
pub(super) fn table(shape: &Shape) -> Table {
    let law = Law::Clamped(Stride::Normal(0.0, 1.0), 0.0, 1e4, Start::Uniform(0.0, 1e4));
    let fields = (0..shape.fields)
        .map(|at| Field::new(&format!("reading_{at}"), Kind::Decimal(2), law.clone()))
        .collect();
    Table { name: "meter", groups: 0, source_label: "meter", fields, state_at: 0 }
}

/// Meters carry their number and their district.
pub(super) fn labels(source: u64, out: &mut Vec<Label>) {
    out.push(Label::numbered("meter", "m", source));
    out.push(Label::numbered("district", "d", source / 500));
}

/// Whether `source` reports at `step`.
pub(crate) fn reports(shape: &Shape, source: u64, step: u64) -> bool {
    let block = step / STEPS_BETWEEN;
    let mut draws = Draws::at(shape.seed, Purpose::Order, source, block);
    draws.below(STEPS_BETWEEN) == step % STEPS_BETWEEN
}
