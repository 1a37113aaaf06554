//! A fleet: who reports what, when, with which values. Everything is a function of (seed, source,
//! step); a fleet holds tables and laws, never data. It knows no wire format and no order of
//! delivery.

use crate::law::Kind;
use crate::profile::{Label, Profile, Table, wind};
use crate::random::{Draws, Normal, Purpose};

/// Stands for a field that a row does not carry.
pub(crate) const ABSENT: i64 = i64::MIN;

/// What shapes a fleet; everything the command line may choose.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    /// Which world the data come from.
    pub(crate) profile: Profile,
    /// Same seed, same bytes.
    pub(crate) seed: u64,
    /// Number of sources: hosts, devices, trucks, turbines.
    pub(crate) sources: u64,
    /// Number of fields of a source, where the profile leaves the choice.
    pub(crate) fields: usize,
    /// Time of step 0, milliseconds since 1970.
    pub(crate) start_ms: i64,
    /// Time between two steps, milliseconds.
    pub(crate) interval_ms: i64,
}

/// A fleet of sources that report step by step.
pub(crate) struct Fleet {
    pub(crate) shape: Shape,
    /// What one source reports at each step: one row per table.
    pub(crate) tables: Vec<Table>,
    /// Walk states of one source, all tables together.
    pub(crate) states: usize,
}

impl Fleet {
    pub(crate) fn new(shape: Shape) -> Fleet {
        let mut tables = shape.profile.tables(shape.seed, shape.fields);
        let mut states = 0;
        for table in &mut tables {
            table.state_at = states;
            states += table.fields.len();
        }
        Fleet { shape, tables, states }
    }

    /// Series of the whole fleet at one moment.
    pub(crate) fn series(&self) -> u64 {
        self.shape.sources * self.fields_per_source()
    }

    /// Values that one source reports at each step.
    pub(crate) fn fields_per_source(&self) -> u64 {
        self.tables.iter().map(|table| table.fields.len() as u64).sum()
    }

    /// The time of `step`, milliseconds since 1970.
    pub(crate) fn time_ms(&self, step: u64) -> i64 {
        self.shape.start_ms + self.shape.interval_ms * step as i64
    }

    /// Writes the states of `source` before its first step.
    pub(crate) fn begin(&self, source: u64, states: &mut [f64]) {
        let mut draws = Draws::at(self.shape.seed, Purpose::Start, source, 0);
        let fields = self.tables.iter().flat_map(|table| &table.fields);
        for (field, state) in fields.zip(states) {
            *state = field.law.begin(draws.bits());
        }
    }

    /// Whether `source` reports at `step` at all.
    pub(crate) fn reports(&self, source: u64, step: u64) -> bool {
        self.shape.profile.reports(self.shape.seed, source, step)
    }

    /// Moves `source` to `step` and writes its values of `table`, in units of each field's kind.
    ///
    /// Steps are asked for one after the other: a walk moves once per call. `states` are those of
    /// the table.
    pub(crate) fn values(
        &self,
        source: u64,
        step: u64,
        table: usize,
        states: &mut [f64],
        out: &mut Vec<i64>,
    ) {
        out.clear();
        let Some(description) = self.tables.get(table) else { return };
        let draws = self.draws(source, step, table);
        let time_ms = self.value_time_ms(step);
        let normal = Normal::table();
        if step > 0 {
            for (lane, (field, state)) in description.fields.iter().zip(&mut *states).enumerate() {
                *state = field.law.advance(*state, draws.lane(lane as u64), normal);
            }
        }
        let lanes = description.fields.iter().zip(&*states).enumerate();
        out.extend(lanes.map(|(lane, (field, own))| {
            let bits = draws.lane(lane as u64);
            held(field.kind, field.law.value(*own, states, time_ms, bits))
        }));
        if self.shape.profile == Profile::Wind {
            wind::physics(self.shape.seed, source, step, time_ms, out);
        }
    }

    /// As [`Fleet::values`] for a single field; `state` is that field's.
    pub(crate) fn value(
        &self,
        source: u64,
        step: u64,
        table: usize,
        lane: usize,
        state: &mut f64,
    ) -> i64 {
        let field = self.tables.get(table).and_then(|table| table.fields.get(lane));
        let Some(field) = field else { return ABSENT };
        let draws = self.draws(source, step, table);
        if step > 0 {
            *state = field.law.advance(*state, draws.lane(lane as u64), Normal::table());
        }
        let bits = draws.lane(lane as u64);
        let value = field.law.value(*state, &[], self.value_time_ms(step), bits);
        held(field.kind, value)
    }

    /// Whether single fields can be asked for on their own, in any order within a step.
    pub(crate) fn separable(&self) -> bool {
        let derives = self.tables.iter().flat_map(|t| &t.fields).any(|field| field.law.derives());
        !derives && self.shape.profile != Profile::Wind
    }

    /// The table and the field at `place` among all fields of a source.
    pub(crate) fn field_at(&self, mut place: usize) -> (usize, usize) {
        for (at, table) in self.tables.iter().enumerate() {
            if place < table.fields.len() {
                return (at, place);
            }
            place -= table.fields.len();
        }
        (0, 0)
    }

    /// Whether a source keeps its labels from step to step.
    pub(crate) fn has_fixed_labels(&self) -> bool {
        self.shape.profile.has_fixed_labels()
    }

    /// Writes the labels of `source` in `table` at `step`, in the order the profile names them.
    pub(crate) fn labels(&self, source: u64, step: u64, table: usize, out: &mut Vec<Label>) {
        out.clear();
        let Shape { profile, seed, sources, .. } = self.shape;
        profile.labels(seed, sources, source, step, table, out);
    }

    /// Names of a table's labels; every source has the same.
    pub(crate) fn label_names(&self, table: usize) -> Vec<&'static str> {
        let mut labels = Vec::new();
        self.labels(0, 0, table, &mut labels);
        labels.iter().map(|label| label.key).collect()
    }

    fn draws(&self, source: u64, step: u64, table: usize) -> Draws {
        let (source, step) = match self.shape.profile.repeats_steps() {
            Some(steps) => (0, step % steps),
            None => (source, step),
        };
        Draws::at(self.shape.seed, Purpose::Values, source << 8 | table as u64, step)
    }

    fn value_time_ms(&self, step: u64) -> i64 {
        self.time_ms(self.shape.profile.repeats_steps().map_or(step, |steps| step % steps))
    }
}

/// Cuts `value` to the digits of `kind`.
#[inline]
fn held(kind: Kind, value: f64) -> i64 {
    match kind {
        Kind::Integer => value as i64,
        Kind::Decimal(_) => (value * kind.unit() as f64) as i64,
    }
}
