//! A cursor walks the rows that one connection sends, in the order it sends them. It owns the walk
//! states of its sources and nothing else that grows, except rows held back to arrive late. The
//! same cursor walked again is the oracle for what the server must hold.

use std::ops::Range;

use crate::disorder::{Disorder, Shuffle};
use crate::fleet::{ABSENT, Fleet};
use crate::random::{Draws, Purpose, permute};

/// One row: the values of one source in one table at one step.
pub(crate) struct Row<'a> {
    pub(crate) source: u64,
    pub(crate) step: u64,
    pub(crate) table: usize,
    /// Field of the first value.
    pub(crate) first_field: usize,
    /// Values in units of the fields' kinds; [`ABSENT`] where the row carries none.
    pub(crate) values: &'a [i64],
    /// Whether the very same row was sent before.
    pub(crate) again: bool,
}

/// Which part of a fleet one connection sends.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    pub(crate) sources: Range<u64>,
    pub(crate) steps: Range<u64>,
    /// Steps that one source sends in a row before the next source's turn.
    pub(crate) block: u64,
}

impl Share {
    /// The share of connection `at` among `count`: consecutive sources.
    pub(crate) fn of(fleet: &Fleet, at: u64, count: u64, steps: Range<u64>, block: u64) -> Share {
        let edge =
            |at: u64| (u128::from(fleet.shape.sources) * u128::from(at) / u128::from(count)) as u64;
        Share { sources: edge(at)..edge(at + 1), steps, block: block.max(1) }
    }
}

/// Walks the rows of a share.
pub(crate) struct Cursor<'a> {
    fleet: &'a Fleet,
    disorder: Disorder,
    share: Share,
    states: Vec<f64>,
    step: u64,
    /// The first step of the block that is being sent.
    block_step: u64,
    /// Position within the block: a row, or a single field when series are shuffled.
    at: u64,
    values: Vec<i64>,
    held: Held,
    /// Whether the row last given is to be given again.
    repeat: Option<(u64, u64, usize)>,
}

/// What the walk does next.
enum Next {
    Fresh { source: u64, table: usize, field: Option<usize> },
    Late(LateRow),
    Step,
    End,
}

struct LateRow {
    source: u64,
    step: u64,
    table: usize,
    values: Vec<i64>,
}

/// Rows that arrive late, by the step at which they arrive.
#[derive(Default)]
struct Held {
    due: std::collections::BTreeMap<u64, std::collections::VecDeque<LateRow>>,
    /// Whether the row before was a fresh one, so that late rows mix with fresh ones.
    turn: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(fleet: &'a Fleet, disorder: Disorder, share: Share) -> Cursor<'a> {
        let sources = (share.sources.end - share.sources.start) as usize;
        let mut states = vec![0.0; sources * fleet.states];
        if fleet.states > 0 {
            let own = states.chunks_exact_mut(fleet.states);
            share.sources.clone().zip(own).for_each(|(source, own)| fleet.begin(source, own));
        }
        let step = share.steps.start;
        let mut cursor = Cursor {
            fleet,
            disorder,
            share,
            states,
            step: 0,
            block_step: step,
            at: 0,
            values: Vec::new(),
            held: Held::default(),
            repeat: None,
        };
        cursor.skip_to(step);
        cursor
    }

    /// The step before which all rows were given, late ones excepted.
    pub(crate) fn complete_step(&self) -> u64 {
        self.block_step
    }

    /// The next row, or none at the end of the share.
    pub(crate) fn row(&mut self) -> Option<Row<'_>> {
        if let Some((source, step, table)) = self.repeat.take() {
            let values = self.values.as_slice();
            return Some(Row { source, step, table, first_field: 0, values, again: true });
        }
        loop {
            match self.next() {
                Next::End => return None,
                Next::Step => {}
                Next::Late(late) => {
                    self.values = late.values;
                    let LateRow { source, step, table, .. } = late;
                    let values = self.values.as_slice();
                    return Some(Row { source, step, table, first_field: 0, values, again: false });
                }
                Next::Fresh { source, table, field } => {
                    let step = self.step;
                    if self.load(source, table, field) && !self.hold(source, table) {
                        let first_field = field.unwrap_or(0);
                        let values = self.values.as_slice();
                        let row = Row { source, step, table, first_field, values, again: false };
                        return Some(row);
                    }
                }
            }
        }
    }

    /// Moves walks to the state they have before `step` without giving rows.
    fn skip_to(&mut self, step: u64) {
        let rows: Vec<usize> = (0..self.fleet.tables.len()).collect();
        while self.step < step {
            for source in self.share.sources.clone() {
                for table in &rows {
                    self.load(source, *table, None);
                }
            }
            self.step += 1;
        }
    }

    fn next(&mut self) -> Next {
        if self.block_step >= self.share.steps.end {
            // What is still held arrives after the last step.
            return self.held.any().map_or(Next::End, Next::Late);
        }
        if self.held.turn
            && let Some(late) = self.held.due(self.block_step)
        {
            return Next::Late(late);
        }
        self.held.turn = true;
        let Some((source, place)) = self.place() else {
            if let Some(late) = self.held.due(self.block_step) {
                return Next::Late(late);
            }
            self.at = 0;
            self.block_step += self.block();
            self.step = self.block_step;
            return Next::Step;
        };
        self.at += 1;
        let source = self.share.sources.start + source;
        if self.disorder.shuffle == Shuffle::Series {
            let (table, field) = self.fleet.field_at(place as usize);
            return Next::Fresh { source, table, field: Some(field) };
        }
        let tables = self.fleet.tables.len() as u64;
        self.step = self.block_step + place / tables;
        Next::Fresh { source, table: (place % tables) as usize, field: None }
    }

    /// Steps of the block that is being sent.
    fn block(&self) -> u64 {
        let left = self.share.steps.end - self.block_step;
        if self.disorder.shuffle == Shuffle::Series { 1 } else { self.share.block.min(left) }
    }

    /// The source whose turn it is and the place within its turn; none at the end of the block.
    fn place(&self) -> Option<(u64, u64)> {
        let sources = self.share.sources.end - self.share.sources.start;
        let seed = self.fleet.shape.seed;
        let key = || {
            let order = Draws::at(seed, Purpose::Order, u64::MAX, self.block_step);
            order.lane(self.share.sources.start)
        };
        if self.disorder.shuffle == Shuffle::Series {
            let fields = self.fleet.fields_per_source();
            let cells = sources * fields;
            let at = (self.at < cells).then(|| permute(self.at, cells, key()))?;
            return Some((at / fields, at % fields));
        }
        let turn = self.fleet.tables.len() as u64 * self.block();
        let (source, place) = (self.at / turn, self.at % turn);
        if source >= sources {
            return None;
        }
        match self.disorder.shuffle {
            Shuffle::Sources => Some((permute(source, sources, key()), place)),
            _ => Some((source, place)),
        }
    }

    /// Computes the values of a row; false when the source does not report it.
    fn load(&mut self, source: u64, table: usize, field: Option<usize>) -> bool {
        let Some(description) = self.fleet.tables.get(table) else { return false };
        let own = (source - self.share.sources.start) as usize * self.fleet.states;
        let own = own + description.state_at;
        match field {
            None => {
                let end = own + description.fields.len();
                let Some(states) = self.states.get_mut(own..end) else { return false };
                self.fleet.values(source, self.step, table, states, &mut self.values);
            }
            Some(field) => {
                let Some(state) = self.states.get_mut(own + field) else { return false };
                self.values.clear();
                self.values.push(self.fleet.value(source, self.step, table, field, state));
            }
        }
        if self.step < self.share.steps.start || !self.fleet.reports(source, self.step) {
            return false;
        }
        let row = source << 8 | table as u64;
        let seed = self.fleet.shape.seed;
        !self.disorder.is_gap(seed, row, self.step)
            && self.disorder.keep_fields(seed, row, self.step, &mut self.values)
    }

    /// Holds the loaded row back when it is to arrive late, and plans its repetition.
    fn hold(&mut self, source: u64, table: usize) -> bool {
        let row = source << 8 | table as u64;
        let seed = self.fleet.shape.seed;
        if self.disorder.is_repeated(seed, row, self.step) {
            self.repeat = Some((source, self.step, table));
        }
        let Some(steps) = self.disorder.late_steps(seed, row, self.step) else { return false };
        self.repeat = None;
        let late = LateRow { source, step: self.step, table, values: self.values.clone() };
        self.held.due.entry(self.step + steps).or_default().push_back(late);
        true
    }
}

impl Held {
    /// A row that is due at `step`, if any.
    fn due(&mut self, step: u64) -> Option<LateRow> {
        self.turn = false;
        let mut first = self.due.first_entry()?;
        if *first.key() > step {
            return None;
        }
        let late = first.get_mut().pop_front();
        if first.get().is_empty() {
            first.remove();
        }
        late
    }

    /// Any row still held.
    fn any(&mut self) -> Option<LateRow> {
        self.due(u64::MAX)
    }
}

/// Whether a row carries a value at this place.
pub(crate) fn is_present(value: i64) -> bool {
    value != ABSENT
}
