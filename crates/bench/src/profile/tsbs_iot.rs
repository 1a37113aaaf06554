//! TSBS iot (github.com/timescale/tsbs, use case `iot`): trucks that report where they are and how
//! they feel. The original's lost and delayed batches are modifiers here: `--late`, `--gaps`.

use crate::fleet::{Field, Label, Shape, Table};
use crate::law::{Kind, Law, Start, Stride};
use crate::random::{Draws, Purpose};

use super::one_of;

/// Values of the label `fleet`.
pub(crate) const FLEETS: [&str; 4] = ["East", "West", "North", "South"];
const DRIVERS: [&str; 6] = ["Derek", "Rodney", "Albert", "Andy", "Seth", "Trish"];
const VERSIONS: [&str; 4] = ["v1.0", "v1.5", "v2.0", "v2.3"];

/// (model, load capacity, fuel capacity, nominal fuel consumption)
const MODELS: [(&str, u64, u64, u64); 3] =
    [("F-150", 2000, 200, 15), ("G-2000", 5000, 300, 19), ("H-2", 1500, 150, 12)];

/// Values of the label `load_capacity`.
pub(crate) const CAPACITIES: [u64; 3] = [MODELS[0].1, MODELS[1].1, MODELS[2].1];

/// Readings and diagnostics.
pub(super) fn tables() -> Vec<Table> {
    let table = |name, fields| Table { name, groups: 0, source_label: "name", fields, state_at: 0 };
    let walk =
        |step: f64, min, max, start| Law::Clamped(Stride::Uniform(-step, step), min, max, start);
    let zero = Start::At(0.0);
    let decimal = |name, digits, law| Field::new(name, Kind::Decimal(digits), law);
    let readings = vec![
        decimal("latitude", 5, walk(0.005, -90.0, 90.0, Start::Uniform(-90.0, 90.0))),
        decimal("longitude", 5, walk(0.005, -180.0, 180.0, Start::Uniform(-180.0, 180.0))),
        decimal("elevation", 0, walk(10.0, 0.0, 5000.0, Start::Uniform(0.0, 500.0))),
        decimal("velocity", 0, walk(10.0, 0.0, 100.0, zero)),
        decimal("heading", 0, walk(5.0, 0.0, 360.0, Start::Uniform(0.0, 360.0))),
        decimal("grade", 0, walk(5.0, 0.0, 100.0, zero)),
        decimal("fuel_consumption", 1, walk(5.0, 0.0, 50.0, Start::At(25.0))),
    ];
    let status = Law::Clamped(Stride::Normal(0.0, 1.0), 0.0, 5.0, zero);
    let diagnostics = vec![
        decimal("fuel_state", 1, Law::Draining(0.001, 1.0)),
        decimal("current_load", 0, Law::Redrawn(0.05, 5000.0)),
        Field::new("status", Kind::Integer, status),
    ];
    vec![table("readings", readings), table("diagnostics", diagnostics)]
}

/// The eight labels of a truck.
pub(super) fn labels(shape: &Shape, source: u64, out: &mut Vec<Label>) {
    let mut draws = Draws::at(shape.seed, Purpose::Labels, source, 0);
    let (model, load, fuel, nominal) = one_of(&MODELS, &mut draws);
    out.extend([
        Label::numbered("name", "truck_", source),
        Label::word("fleet", one_of(&FLEETS, &mut draws)),
        Label::word("driver", one_of(&DRIVERS, &mut draws)),
        Label::word("model", model),
        Label::word("device_version", one_of(&VERSIONS, &mut draws)),
        Label::numbered("load_capacity", "", load),
        Label::numbered("fuel_capacity", "", fuel),
        Label::numbered("nominal_fuel_consumption", "", nominal),
    ]);
}
