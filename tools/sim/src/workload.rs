//! The workload: random batches over a pool of series, as bytes and as the facts they state.

use crate::oracle::{Change, Clock, Fact, Key, Series, State};
use crate::random::Random;
use crate::world::lock;
use foliot_model::{
    Batch, BatchBuffers, Cell, KeyError, KeyParts, KeySecret, KeySyntax, Kind, Matcher,
    NULL_FLOAT_BITS, Name, NamespaceId, Selector, Span, Test, TimeRange, Value,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Databases and policies; the first exists from the start.
pub(crate) const NAMESPACES: [(&str, &str); 4] =
    [("default", "autogen"), ("default", "month"), ("metrics", "autogen"), ("größe", "a b")];
/// Kinds of catalog rows.
pub(crate) const CATALOG_KINDS: [&str; 2] = ["sim-note", "sim-user"];
pub(crate) const MEASUREMENTS: [&str; 3] = ["cpu", "disk.io", "wärme"];
/// A measurement of more series than a delete cuts from memory at once.
const WIDE: &str = "wide";
const WIDE_SERIES: usize = 1100;
/// Weeks of one write, more than a flush may have parts open.
const YEARS_WEEKS: usize = 600;
const WEEK_NS: i64 = 7 * 24 * 3600 * 1_000_000_000;
/// Bytes of each text of a bulky write, and how many it has at most.
const BULK_BYTES: usize = 6000;
const BULK_ROWS: usize = 60;
const FIELDS: [&str; 6] = ["value", "count", "up", "state", "total", "sketch"];
/// Sources reach from a few that always report to many that are seen once.
const SOURCES: usize = 24;

/// What the clients of a round write and delete: much at many times, or little at few, so that what
/// they do meets all the time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pool {
    sources: usize,
    measurements: usize,
    /// Times are multiples of it.
    step_ns: i64,
}

impl Pool {
    /// One source, whose few instants are written, overwritten and deleted all the time.
    pub(crate) fn duel() -> Self {
        Self { sources: 1, measurements: 1, step_ns: 86_400_000_000_000 }
    }

    pub(crate) fn draw(random: &mut Random) -> Self {
        if random.percent(75) {
            return Self { sources: SOURCES, measurements: MEASUREMENTS.len(), step_ns: 1 };
        }
        Self {
            sources: random.skewed(1, 4),
            measurements: random.skewed(1, MEASUREMENTS.len()),
            step_ns: *random.pick(&[1, 60, 86_400]) * 1_000_000_000,
        }
    }

    fn draw_measurement(self, random: &mut Random) -> &'static str {
        random.pick::<&str>(&MEASUREMENTS[..self.measurements])
    }

    fn draw_source(self, random: &mut Random) -> usize {
        random.skewed(0, self.sources - 1)
    }

    fn draw_time(self, random: &mut Random, clock_ns: i64) -> i64 {
        let time_ns = draw_time(random, clock_ns);
        time_ns.saturating_sub(time_ns.rem_euclid(self.step_ns))
    }
}

/// Two spellings of keys, so that one series meets several hashes.
static SYNTAXES: [KeySyntax; 2] = [
    KeySyntax { id: 240, name: "whole", parse: parse_key, parse_field: copy },
    KeySyntax { id: 241, name: "split", parse: parse_key, parse_field: copy },
];

/// What names a series: namespace of the workload, measurement, field, labels by name.
pub(crate) type SeriesName = (usize, String, String, Vec<(String, String)>);

/// Numbers for series names, the same for all clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    /// How long namespaces keep samples that were told nothing else.
    pub(crate) default_keep: Option<Duration>,
    pub(crate) numbers: Arc<Mutex<BTreeMap<SeriesName, u32>>>,
}

impl Names {
    fn number(&self, name: SeriesName) -> Series {
        let mut numbers = lock(&self.numbers);
        let (namespace, fits, next) = (name.0, fits(&name), numbers.len() as u32);
        Series { namespace, fits, number: *numbers.entry(name).or_insert(next) }
    }

    /// The same series under another measurement.
    pub(crate) fn renamed(&self, series: Series, measurement: &str) -> Option<Series> {
        let found = {
            let numbers = lock(&self.numbers);
            let found = numbers.iter().find(|(_, number)| **number == series.number);
            found.map(|(name, _)| name.clone())
        };
        let (namespace, _, field, labels) = found?;
        Some(self.number((namespace, measurement.to_owned(), field, labels)))
    }

    /// All series of a namespace that were ever named.
    pub(crate) fn of(&self, slot: usize) -> Vec<Series> {
        let numbers = lock(&self.numbers);
        let own = numbers.iter().filter(|(name, _)| name.0 == slot);
        let series = |(name, number): (&SeriesName, &u32)| Series {
            namespace: slot,
            fits: fits(name),
            number: *number,
        };
        own.map(series).collect()
    }

    /// The names of the series whose numbers a text mentions, for a person.
    pub(crate) fn explain(&self, text: &str) -> String {
        let numbers = lock(&self.numbers);
        let is_mentioned = |number: u32| text.contains(&format!("number: {number} }}"));
        let mentioned = numbers.iter().filter(|(_, number)| is_mentioned(**number)).take(8);
        mentioned.map(|(name, number)| format!("\n  series {number} is {name:?}")).collect()
    }

    /// The number of a series that was sent at some time.
    pub(crate) fn find(&self, name: &SeriesName) -> Option<Series> {
        let numbers = lock(&self.numbers);
        let series = |&number| Series { namespace: name.0, fits: fits(name), number };
        numbers.get(name).map(series)
    }
}

/// Patterns of rules of retention: a measurement and labels, as the store is told.
pub(crate) const PATTERNS: [(&str, &[(&str, &str)]); 4] =
    [("cpu", &[]), ("*", &[("host", "h1*")]), ("disk.io", &[("rack", "*")]), ("w*", &[])];

/// Which of them a series fits, a bit for each.
fn fits(name: &SeriesName) -> u8 {
    let (_, measurement, _, labels) = name;
    let has = |label: &str, start: &str| {
        labels.iter().any(|(name, value)| name == label && value.starts_with(start))
    };
    let each = [
        measurement == "cpu",
        has("host", "h1"),
        measurement == "disk.io" && has("rack", ""),
        measurement.starts_with('w'),
    ];
    (0..).zip(each).map(|(bit, fits)| u8::from(fits) << bit).sum()
}

/// What is to be deleted.
#[derive(Debug)]
pub(crate) struct Target {
    namespace: usize,
    pub(crate) measurement: &'static str,
    field: Option<&'static str>,
    host: Option<String>,
    pub(crate) range: TimeRange,
}

impl Target {
    /// Draws what is to be deleted of a namespace, often around `clock_ns`.
    pub(crate) fn draw(random: &mut Random, pool: Pool, namespace: usize, clock_ns: i64) -> Self {
        let range = match random.below(10) {
            0 => TimeRange::ALL,
            1..4 => {
                let time_ns = pool.draw_time(random, clock_ns);
                TimeRange::new(time_ns, time_ns)
            }
            _ => {
                let from_ns = pool.draw_time(random, clock_ns);
                let length_ns = random.skewed(1, 100_000) as i64 * 1_000_000_000;
                TimeRange::new(from_ns, from_ns.saturating_add(length_ns))
            }
        };
        let host = random.percent(70).then(|| format!("h{}", pool.draw_source(random)));
        let field = random.percent(40).then(|| *random.pick(&FIELDS));
        let measurement = pool.draw_measurement(random);
        Self { namespace, measurement, field, host, range }
    }

    /// All of the series that are too many to be cut at once.
    pub(crate) fn wide(self) -> Self {
        Self { measurement: WIDE, field: None, host: None, ..self }
    }

    pub(crate) fn selector(&self, namespace: NamespaceId) -> Selector {
        let is_host = |host: &String| Matcher {
            name: "host".to_owned(),
            test: Test::equal(host.clone()),
            negated: false,
            accepts_absent: false,
        };
        let field = self.field.map_or(Test::Any, Test::equal);
        Selector {
            namespace,
            names: vec![Name { measurement: Test::equal(self.measurement), field }],
            matchers: self.host.iter().map(is_host).collect(),
            exact_labels: None,
            only: None,
        }
    }

    /// The series that it means, sent or not: others may send them meanwhile.
    pub(crate) fn series(&self, names: &Names) -> Vec<Series> {
        let is_host = |labels: &Vec<(String, String)>| {
            let wanted = self.host.as_ref().map(|host| ("host".to_owned(), host.clone()));
            wanted.is_none_or(|wanted| labels.contains(&wanted))
        };
        let wide = (0..WIDE_SERIES).map(wide_labels_of);
        let mut sources: Vec<_> = match self.measurement {
            WIDE => wide.filter(is_host).collect(),
            _ => (0..SOURCES).map(labels_of).filter(is_host).collect(),
        };
        sources.sort();
        sources.dedup();
        let is_wide = self.measurement == WIDE;
        let known = if is_wide { &FIELDS[..1] } else { &FIELDS[..] };
        let fields = known.iter().filter(|&&field| self.field.is_none_or(|meant| meant == field));
        fields
            .flat_map(|field| sources.iter().map(move |labels| (field, labels)))
            .map(|(&field, labels)| {
                let measurement = self.measurement.to_owned();
                names.number((self.namespace, measurement, field.to_owned(), labels.clone()))
            })
            .collect()
    }
}

/// A write: the request and what it states, row by row.
pub(crate) struct Write {
    namespace: usize,
    syntax: &'static KeySyntax,
    bytes: Vec<u8>,
    shapes: Vec<Vec<Span>>,
    rows: Vec<DraftRow>,
}

struct DraftRow {
    key: [Span; 2],
    shape: usize,
    cells: Vec<Cell>,
    time_ns: i64,
    changes: Vec<Change>,
}

impl Write {
    /// Draws a write to the workload's namespace number `namespace`. `clock_ns` is about when it is
    /// sent; most rows carry that time, some are late, some from the end of the world.
    pub(crate) fn draw(
        random: &mut Random,
        names: &Names,
        pool: Pool,
        namespace: usize,
        clock_ns: i64,
    ) -> Self {
        let mut write = Self::empty(random, namespace);
        let rows = if random.percent(3) { 400 } else { random.skewed(1, 30) };
        let mut fields = draw_fields(random);
        write.push_shape(&fields);
        for index in 0..rows {
            if random.percent(15) {
                fields = draw_fields(random);
                write.push_shape(&fields);
            }
            let time_ns = pool.draw_time(random, clock_ns + index as i64 * 1_000_000);
            let measurement = pool.draw_measurement(random);
            let labels = labels_of(pool.draw_source(random));
            write.push_row(random, names, &fields, time_ns, measurement, labels);
        }
        write
    }

    /// One row for each of more series than a delete cuts from memory at once.
    pub(crate) fn draw_wide(
        random: &mut Random,
        names: &Names,
        namespace: usize,
        clock_ns: i64,
    ) -> Self {
        let mut write = Self::empty(random, namespace);
        write.push_shape(&[0]);
        for source in 0..WIDE_SERIES {
            let labels = wide_labels_of(source);
            write.push_row(random, names, &[0], clock_ns, WIDE, labels);
        }
        write
    }

    /// One series, with a sample in each of more weeks than a flush may have parts open.
    pub(crate) fn draw_years(
        random: &mut Random,
        names: &Names,
        namespace: usize,
        clock_ns: i64,
    ) -> Self {
        let mut write = Self::empty(random, namespace);
        write.push_shape(&[0]);
        for week in 0..YEARS_WEEKS {
            let time_ns = clock_ns.saturating_sub(week as i64 * WEEK_NS);
            write.push_row(random, names, &[0], time_ns, MEASUREMENTS[0], labels_of(0));
        }
        write
    }

    /// Long texts, which fill a disk.
    pub(crate) fn draw_bulk(
        random: &mut Random,
        names: &Names,
        namespace: usize,
        clock_ns: i64,
    ) -> Self {
        let mut write = Self::empty(random, namespace);
        let text = FIELDS.iter().position(|field| *field == "state").unwrap_or_default();
        write.push_shape(&[text]);
        for row in 0..1 + random.below(BULK_ROWS) {
            let letter = |_| b'a' + random.below(26) as u8;
            let bytes: Vec<u8> = (0..BULK_BYTES).map(letter).collect();
            let labels = labels_of(random.below(SOURCES));
            let key = write.push_key(random, MEASUREMENTS[0], &labels);
            let cells = vec![Cell::bytes(Kind::String, write.push_bytes(&bytes))];
            let time_ns = clock_ns + row as i64 * 1_000_000;
            let name = (namespace, MEASUREMENTS[0].to_owned(), FIELDS[text].to_owned(), labels);
            let place = Key::Sample(names.number(name), time_ns);
            let changes = vec![Change::Set(place, Fact::Value(Kind::String, 0, bytes))];
            write.rows.push(DraftRow { key, shape: 0, cells, time_ns, changes });
        }
        write
    }

    fn empty(random: &mut Random, namespace: usize) -> Self {
        Self {
            namespace,
            syntax: random.pick(&SYNTAXES),
            bytes: Vec::new(),
            shapes: Vec::new(),
            rows: Vec::new(),
        }
    }

    fn push_bytes(&mut self, bytes: &[u8]) -> Span {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        Span::new(start, self.bytes.len())
    }

    fn push_shape(&mut self, fields: &[usize]) {
        let spans = fields.iter().map(|&field| self.push_bytes(FIELDS[field].as_bytes())).collect();
        self.shapes.push(spans);
    }

    fn push_row(
        &mut self,
        random: &mut Random,
        names: &Names,
        fields: &[usize],
        time_ns: i64,
        measurement: &str,
        labels: Vec<(String, String)>,
    ) {
        let key = self.push_key(random, measurement, &labels);
        let mut cells = Vec::new();
        let mut changes = Vec::new();
        for &field in fields {
            let (cell, fact) = self.draw_value(random, field);
            cells.push(cell);
            let field = FIELDS[field].to_owned();
            let name = (self.namespace, measurement.to_owned(), field, labels.clone());
            changes.push(Change::Set(Key::Sample(names.number(name), time_ns), fact));
        }
        let shape = self.shapes.len() - 1;
        self.rows.push(DraftRow { key, shape, cells, time_ns, changes });
    }

    fn push_key(
        &mut self,
        random: &mut Random,
        measurement: &str,
        labels: &[(String, String)],
    ) -> [Span; 2] {
        let mut order: Vec<usize> = (0..labels.len()).collect();
        if random.percent(20) {
            order.reverse();
        }
        let pieces: Vec<String> =
            order.iter().map(|&at| format!("{}={}", labels[at].0, labels[at].1)).collect();
        let tail = pieces.join(",");
        match self.syntax.id {
            240 => {
                let whole = [measurement, &*tail].join(",");
                [Span::default(), self.push_bytes(whole.as_bytes())]
            }
            _ => [self.push_bytes(measurement.as_bytes()), self.push_bytes(tail.as_bytes())],
        }
    }

    fn draw_value(&mut self, random: &mut Random, field: usize) -> (Cell, Fact) {
        const KINDS: [Kind; 6] = [
            Kind::Float,
            Kind::Integer,
            Kind::Boolean,
            Kind::String,
            Kind::Unsigned,
            Kind::Histogram,
        ];
        let kind = if random.percent(4) { *random.pick(&KINDS) } else { KINDS[field] };
        let cell = match kind {
            Kind::Float if random.percent(70) => {
                let mantissa = random.below(200_000) as i64 - 100_000;
                Cell::decimal(mantissa, random.below(6) as u8).unwrap_or(Cell::float(0.0))
            }
            Kind::Float => match random.next() {
                NULL_FLOAT_BITS => Cell::float(0.0),
                bits => Cell::float(f64::from_bits(bits)),
            },
            Kind::Integer => Cell::integer(draw_bits(random) as i64),
            Kind::Unsigned => Cell::unsigned(draw_bits(random)),
            Kind::Boolean => Cell::boolean(random.percent(50)),
            Kind::String | Kind::Histogram => {
                let length = if random.percent(2) { 5000 } else { random.below(20) };
                let letter = |_| b'a' + random.below(26) as u8;
                let bytes: Vec<u8> = (0..length).map(letter).collect();
                let span = self.push_bytes(&bytes);
                return (Cell::bytes(kind, span), Fact::Value(kind, 0, bytes));
            }
        };
        let bits = if kind == Kind::Float { cell.to_f64().to_bits() } else { cell.bits };
        (cell, Fact::Value(kind, bits, Vec::new()))
    }

    /// The batch that a door would make of it.
    pub(crate) fn batch(
        &self,
        namespace: NamespaceId,
        secret: KeySecret,
        buffers: BatchBuffers,
    ) -> Batch<'_> {
        let mut batch = Batch::new(&self.bytes, namespace, self.syntax, secret, buffers);
        let shapes: Vec<u32> = self.shapes.iter().map(|spans| batch.push_shape(spans)).collect();
        for (index, row) in self.rows.iter().enumerate() {
            row.cells.iter().for_each(|&cell| batch.push_cell(cell));
            let is_whole =
                batch.push_row(row.key, row.time_ns, shapes[row.shape], index as u32 + 1);
            debug_assert!(is_whole, "BUG: a row with more or fewer cells than its shape");
        }
        batch
    }

    /// What it states, without the rows of the lines `refused`, which are ascending.
    pub(crate) fn changes(&self, refused: &[u32]) -> Vec<Change> {
        let lines = (1u32..).zip(&self.rows);
        let kept = lines.filter(|(line, _)| refused.binary_search(line).is_err());
        kept.flat_map(|(_, row)| row.changes.iter().cloned()).collect()
    }

    /// The lines of rows that are surely too old, and of those that may be.
    pub(crate) fn lines_too_old(&self, clock: Clock, state: &State) -> (Vec<u32>, Vec<u32>) {
        let (mut surely, mut possibly) = (Vec::new(), Vec::new());
        for (line, row) in (1u32..).zip(&self.rows) {
            let Some(Change::Set(Key::Sample(series, _), _)) = row.changes.first() else {
                continue;
            };
            let (surely_ns, possibly_ns) = clock.floors(state, *series);
            surely.extend((row.time_ns < surely_ns).then_some(line));
            possibly.extend((row.time_ns < possibly_ns || clock.is_capped).then_some(line));
        }
        (surely, possibly)
    }
}

/// The fact that a value states.
pub(crate) fn fact(value: Value<'_>) -> Fact {
    let plain = |bits| Fact::Value(value.kind(), bits, Vec::new());
    match value {
        Value::Float(float) => plain(float.to_bits()),
        Value::Integer(integer) => plain(integer as u64),
        Value::Unsigned(unsigned) => plain(unsigned),
        Value::Boolean(boolean) => plain(u64::from(boolean)),
        Value::String(text) => Fact::Value(Kind::String, 0, text.as_bytes().to_vec()),
        Value::Histogram(bytes) => Fact::Value(Kind::Histogram, 0, bytes.to_vec()),
    }
}

fn draw_fields(random: &mut Random) -> Vec<usize> {
    let mut fields: Vec<usize> = (0..FIELDS.len()).filter(|_| random.percent(30)).collect();
    if fields.is_empty() {
        fields.push(random.below(FIELDS.len()));
    }
    fields
}

fn labels_of(source: usize) -> Vec<(String, String)> {
    let mut labels = vec![("host".to_owned(), format!("h{source}"))];
    if source.is_multiple_of(3) {
        labels.push(("rack".to_owned(), format!("r{}", source % 5)));
    }
    if source.is_multiple_of(7) {
        labels.clear();
    }
    labels
}

fn wide_labels_of(source: usize) -> Vec<(String, String)> {
    vec![("host".to_owned(), format!("w{source}"))]
}

fn draw_time(random: &mut Random, clock_ns: i64) -> i64 {
    match random.below(1000) {
        0..750 => clock_ns,
        // Late, and often where there is a sample already.
        750..850 => clock_ns - random.skewed(1, 100) as i64 * 1_000_000,
        850..950 => clock_ns - random.skewed(1, 40) as i64 * 1_000_000_000,
        // Weeks away: each of these costs a part of its own.
        950..980 => clock_ns - random.below(20 * 86_400) as i64 * 1_000_000_000,
        980..994 => clock_ns + random.below(20 * 86_400) as i64 * 1_000_000_000,
        994..997 => random.next() as i64,
        _ => *random.pick(&[i64::MIN, i64::MIN + 1, -1, 0, i64::MAX]),
    }
}

fn draw_bits(random: &mut Random) -> u64 {
    match random.below(10) {
        0 => random.next(),
        1 => *random.pick(&[0, 1, u64::MAX, 1 << 63, (1 << 63) - 1]),
        _ => random.below(1000) as u64,
    }
}

fn copy(raw: &[u8], out: &mut Vec<u8>) -> Result<(), KeyError> {
    out.extend_from_slice(raw);
    Ok(())
}

/// Reads `measurement,name=value,…`, or the same with the measurement in `head`.
fn parse_key(head: &[u8], tail: &[u8], parts: &mut KeyParts) -> Result<(), KeyError> {
    let mut pieces = tail.split(|&byte| byte == b',').filter(|piece| !piece.is_empty());
    let measurement = match head {
        [] => pieces.next().unwrap_or_default(),
        head => head,
    };
    parts.set_measurement(|out| out.extend_from_slice(measurement));
    for piece in pieces {
        let at = piece.iter().position(|&byte| byte == b'=').unwrap_or(piece.len());
        let (name, value) = piece.split_at(at);
        parts.push_label(
            |out| out.extend_from_slice(name),
            |out| out.extend_from_slice(value.get(1..).unwrap_or_default()),
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_hold_what_the_facts_say() {
        let mut random = Random::new(5);
        let names = Names::default();
        for _ in 0..200 {
            let pool = Pool::draw(&mut random);
            let write = Write::draw(&mut random, &names, pool, 1, 1_000_000_000);
            let batch = write.batch(3, KeySecret(1), BatchBuffers::default());
            assert_eq!(batch.rows().len(), write.rows.len());
            assert_eq!(batch.samples(), write.changes(&[]).len());
        }
        assert!(lock(&names.numbers).len() > 50);
    }

    #[test]
    fn both_spellings_name_the_same_series() {
        let read = |head: &[u8], tail: &[u8]| {
            let mut parts = KeyParts::default();
            parse_key(head, tail, &mut parts).unwrap();
            parts.canonicalize().unwrap();
            let labels: Vec<_> =
                parts.labels().map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
            (parts.measurement().to_vec(), labels)
        };
        assert_eq!(read(b"", b"m,b=2,a=1"), read(b"m", b"a=1,b=2"));
        assert_eq!(read(b"", b"m"), read(b"m", b""));
    }
}
