//! The sink inside this process, to measure what the client alone can do.

use super::description::{Ack, Adapter, Can, Door, Post, Style, Target, Way};
use crate::encode::{Format, Precision};

static ADAPTER: Adapter = Adapter {
    name: "null",
    met: "itself",
    ack: Ack::Memory,
    syncs: "never: it keeps nothing",
    version: |_| None,
    prepare: |_, _| Ok(()),
    flush: &[],
    // No site: the two targets below are all that it has.
    doors: &[],
};

static LINES: Door = Door {
    name: "null",
    help: "Nothing: a sink inside this process that answers 204 to line protocol",
    style: Style::Rows,
    format: Format::Lines,
    precision: Precision::Ns,
    way: Post::to("/write"),
    language: None,
    can: &[Can::Late, Can::Fields, Can::Again, Can::Replace, Can::ShowAtOnce],
    batch_min: 1,
};

static PUTS: Door = Door {
    name: "null-put",
    help: "The same sink for plain TCP streams of puts",
    style: Style::Put,
    format: Format::Puts,
    precision: Precision::S,
    way: Way::Stream,
    language: None,
    can: &[Can::Late, Can::Fields, Can::Again, Can::Replace, Can::Close],
    batch_min: 1,
};

/// For lines, and for puts.
pub(super) fn targets() -> [Target; 2] {
    [&LINES, &PUTS].map(|door| Target { adapter: &ADAPTER, door })
}
