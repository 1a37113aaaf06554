//! TSBS cpu-only (github.com/timescale/tsbs, use case `cpu-only`): ten whole numbers per host,
//! each a walk with normal steps held between 0 and 100, and ten labels per host.

use crate::fleet::{Field, Label, Shape, Table};
use crate::law::{Kind, Law, Start, Stride};
use crate::random::{Draws, Purpose};

const FIELDS: [&str; 10] = [
    "usage_user",
    "usage_system",
    "usage_idle",
    "usage_nice",
    "usage_iowait",
    "usage_irq",
    "usage_softirq",
    "usage_steal",
    "usage_guest",
    "usage_guest_nice",
];

const REGIONS: [(&str, &[&str]); 9] = [
    ("us-east-1", &["us-east-1a", "us-east-1b", "us-east-1c", "us-east-1e"]),
    ("us-west-1", &["us-west-1a", "us-west-1b"]),
    ("us-west-2", &["us-west-2a", "us-west-2b", "us-west-2c"]),
    ("eu-west-1", &["eu-west-1a", "eu-west-1b", "eu-west-1c"]),
    ("eu-central-1", &["eu-central-1a", "eu-central-1b"]),
    ("ap-southeast-1", &["ap-southeast-1a", "ap-southeast-1b"]),
    ("ap-southeast-2", &["ap-southeast-2a", "ap-southeast-2b"]),
    ("ap-northeast-1", &["ap-northeast-1a", "ap-northeast-1c"]),
    ("sa-east-1", &["sa-east-1a", "sa-east-1b", "sa-east-1c"]),
];
const SYSTEMS: [&str; 3] = ["Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10"];
const MACHINES: [&str; 2] = ["x64", "x86"];
const TEAMS: [&str; 4] = ["SF", "NYC", "LON", "CHI"];
const ENVIRONMENTS: [&str; 3] = ["production", "staging", "test"];

/// The one table: measurement `cpu`.
pub(super) fn table() -> Table {
    let law = Law::Clamped(Stride::Normal(0.0, 1.0), 0.0, 100.0, Start::Uniform(0.0, 100.0));
    let fields = FIELDS.iter().map(|name| Field::new(name, Kind::Integer, law.clone())).collect();
    Table { name: "cpu", groups: 0, source_label: "hostname", fields, state_at: 0 }
}

/// The ten labels of a host.
pub(super) fn labels(shape: &Shape, source: u64, out: &mut Vec<Label>) {
    let mut draws = Draws::at(shape.seed, Purpose::Labels, source, 0);
    let (region, datacenters) = one_of(&REGIONS, &mut draws);
    out.extend([
        Label::numbered("hostname", "host_", source),
        Label::word("region", region),
        Label::word("datacenter", one_of(datacenters, &mut draws)),
        Label::numbered("rack", "", draws.below(100)),
        Label::word("os", one_of(&SYSTEMS, &mut draws)),
        Label::word("arch", one_of(&MACHINES, &mut draws)),
        Label::word("team", one_of(&TEAMS, &mut draws)),
        Label::numbered("service", "", draws.below(20)),
        Label::numbered("service_version", "", draws.below(2)),
        Label::word("service_environment", one_of(&ENVIRONMENTS, &mut draws)),
    ]);
}

/// One of `choices`, which must not be empty.
pub(super) fn one_of<T: Copy + Default>(choices: &[T], draws: &mut Draws) -> T {
    choices.get(draws.below(choices.len() as u64) as usize).copied().unwrap_or_default()
}
