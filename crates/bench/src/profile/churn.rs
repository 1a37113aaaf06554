//! Churn: a cluster whose containers are replaced. A source is a slot; the container in it lives
//! for 240 steps (one hour at 15 s) and its successor gets a new name, so the number of series
//! ever seen grows while the number that reports stays the same. Slots change at different steps.

use crate::fleet::{Field, Label, Shape, Table};
use crate::law::{Kind, Law, Start, Stride};
use crate::random::{Draws, Purpose};

/// Steps that a container lives.
const LIFETIME_STEPS: u64 = 240;

const NAMES: [&str; 5] =
    ["cpu_seconds", "memory_bytes", "network_bytes", "requests", "latency_seconds"];

/// The one table: measurement `container`.
pub(super) fn table(shape: &Shape) -> Table {
    let laws = [
        (Kind::Decimal(3), Law::Rising(Stride::Normal(0.5, 0.2))),
        (
            Kind::Integer,
            Law::Clamped(Stride::Normal(0.0, 4096.0), 0.0, 8e9, Start::Uniform(1e7, 1e9)),
        ),
        (Kind::Integer, Law::Rising(Stride::Normal(1500.0, 400.0))),
        (Kind::Integer, Law::Rising(Stride::Normal(20.0, 5.0))),
        (Kind::Decimal(4), Law::Random { min: 0.001, max: 0.25 }),
    ];
    let fields = (0..shape.fields)
        .zip(NAMES.iter().zip(&laws).cycle())
        .map(|(at, (name, (kind, law)))| {
            let turn = at / NAMES.len();
            let name = if turn == 0 { (*name).to_owned() } else { format!("{name}_{turn}") };
            Field { name, kind: *kind, law: law.clone() }
        })
        .collect();
    Table { name: "container", groups: 0, source_label: "pod", fields, state_at: 0 }
}

/// Slot, node and the name of the container that is in the slot at `step`.
pub(super) fn labels(shape: &Shape, source: u64, step: u64, out: &mut Vec<Label>) {
    let mut draws = Draws::at(shape.seed, Purpose::Labels, source, 0);
    let generation = (step + draws.below(LIFETIME_STEPS)) / LIFETIME_STEPS;
    out.extend([
        Label::numbered("pod", "pod-", generation * shape.sources + source),
        Label::numbered("node", "node-", source / 30),
        Label::numbered("app", "app-", draws.below(200)),
        Label::word("cluster", "main"),
    ]);
}
