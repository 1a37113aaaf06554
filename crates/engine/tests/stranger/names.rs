//! `docs/format/index.md` and `segment.md`: from ids to names.

use crate::bytes::{Bytes, preamble};
use std::collections::BTreeMap;

/// What a series is called: namespace, measurement, labels, field.
pub type Name = (u32, String, Vec<(String, String)>, String);

/// All series of a store, and their retention classes where those are not 0.
#[derive(Default)]
pub struct Names {
    pub names: BTreeMap<u32, Name>,
    pub classes: BTreeMap<u32, u32>,
}

/// One epoch's registry, from records.
#[derive(Default)]
pub struct Registry {
    symbols: [Vec<String>; 4],
    /// Namespace, places of name and value.
    pairs: Vec<[u32; 3]>,
    columns: Vec<[u32; 3]>,
    sources: Vec<Vec<u32>>,
}

const MEASUREMENT: usize = 0;
const FIELD: usize = 1;
const LABEL_NAME: usize = 2;
const LABEL_VALUE: usize = 3;

/// Adds things numbered from `first` on; those known already are skipped.
fn add<T>(list: &mut Vec<T>, first: usize, things: Vec<T>) {
    assert!(first <= list.len(), "a gap");
    let known = list.len() - first;
    list.extend(things.into_iter().skip(known));
}

impl Registry {
    fn symbol(&self, kind: usize, place: u32) -> String {
        self.symbols[kind][place as usize - 1].clone()
    }

    /// Reads a stretch of records; `registries` are those of the epochs.
    pub fn read(registries: &mut BTreeMap<u64, Self>, bytes: &[u8], all: &mut Names) {
        let mut bytes = Bytes(bytes);
        assert_eq!(bytes.u8(), 1, "a stretch begins with its epoch");
        let epoch = bytes.varint();
        bytes.varints(5);
        let registry = registries.entry(epoch).or_default();
        while !bytes.is_empty() {
            let tag = bytes.u8();
            registry.record(tag, &mut bytes, all);
        }
    }

    fn record(&mut self, tag: u8, bytes: &mut Bytes<'_>, all: &mut Names) {
        match tag {
            2 => {
                let kind = usize::from(bytes.u8());
                let (first, count) = (bytes.varint() as usize, bytes.varint());
                let symbols = (0..count).map(|_| bytes.text()).collect();
                add(&mut self.symbols[kind], first - 1, symbols);
            }
            3 | 4 => {
                let namespace = bytes.varint() as u32;
                let (first, count) = (bytes.varint() as usize, bytes.varint());
                let (mut a, mut b) = (0, 0);
                let things = (0..count).map(|_| {
                    a += bytes.zigzag();
                    b += bytes.zigzag();
                    [namespace, a as u32, b as u32]
                });
                let things = things.collect();
                add(if tag == 3 { &mut self.pairs } else { &mut self.columns }, first, things);
            }
            5 => {
                let _namespace = bytes.varint();
                let (first, count) = (bytes.varint() as usize, bytes.varint());
                let sources = (0..count).map(|_| {
                    let mut pair = 0;
                    let next = |pair: &mut u32, by: u64| {
                        *pair += by as u32;
                        *pair
                    };
                    (0..bytes.varint()).map(|_| next(&mut pair, bytes.varint())).collect()
                });
                let sources = sources.collect();
                add(&mut self.sources, first, sources);
            }
            6 => self.series(bytes, all),
            7 => {
                let (first, count) = (bytes.varint() as u32, bytes.varint() as u32);
                let class = bytes.varint() as u32;
                all.classes.extend((first..first + count).map(|sid| (sid, class)));
            }
            8 => {
                bytes.u8();
                let count = bytes.varint();
                bytes.varints(2 * count);
            }
            _ => panic!("record {tag}"),
        }
    }

    fn series(&self, bytes: &mut Bytes<'_>, all: &mut Names) {
        let (mut sid, first_source) = (bytes.varint() as u32, bytes.varint() as usize);
        let (sources, columns) = (bytes.varint() as usize, bytes.varint());
        let mut column = 0;
        let columns: Vec<usize> = (0..columns)
            .map(|_| {
                column += bytes.zigzag();
                column as usize
            })
            .collect();
        for source in first_source..first_source + sources {
            for &column in &columns {
                all.names.insert(sid, self.name(source, column));
                sid += 1;
            }
        }
    }

    fn name(&self, source: usize, column: usize) -> Name {
        let [namespace, measurement, field] = self.columns[column];
        let label = |&pair: &u32| {
            let [_, name, value] = self.pairs[pair as usize];
            (self.symbol(LABEL_NAME, name), self.symbol(LABEL_VALUE, value))
        };
        let mut labels: Vec<_> = self.sources[source].iter().map(label).collect();
        labels.sort();
        let (measurement, field) =
            (self.symbol(MEASUREMENT, measurement), self.symbol(FIELD, field));
        (namespace, measurement, labels, field)
    }
}

/// Reads an index file.
pub fn read_index(logical: &[u8], registries: &mut BTreeMap<u64, Registry>, all: &mut Names) {
    let mut bytes = Bytes(logical);
    preamble(&mut bytes, b"Fidx");
    bytes.take(8 + 4 + 4);
    loop {
        match bytes.u32() as usize {
            0 => break,
            length => Registry::read(registries, bytes.take(length), all),
        }
    }
    assert!(bytes.is_empty());
}

/// A segment's tables, whose positions count from behind its header.
struct Segment<'s>(&'s [u8]);

impl<'s> Segment<'s> {
    fn array<const N: usize>(&self, footer: &mut Bytes<'_>) -> Vec<[u32; N]> {
        let (position, entries) = (footer.varint() as usize, footer.varint());
        let mut bytes = Bytes(&self.0[position..]);
        (0..entries).map(|_| [0; N].map(|_: u32| bytes.u32())).collect()
    }

    fn rows(&self, footer: &mut Bytes<'_>) -> Vec<&'s [u8]> {
        let (position, count) = (footer.varint() as usize, footer.varint() as usize);
        let mut positions = Bytes(&self.0[position..]);
        let mut rows = Vec::new();
        for _ in 0..count.div_ceil(16) {
            let mut group = Bytes(&self.0[positions.u64() as usize..]);
            let in_group = 16.min(count - rows.len());
            let lengths: Vec<usize> = (0..in_group).map(|_| group.varint() as usize).collect();
            rows.extend(lengths.into_iter().map(|length| group.take(length)));
        }
        rows
    }
}

/// Reads the index of a closed epoch.
pub fn read_segment(logical: &[u8], all: &mut Names) {
    let mut header = Bytes(logical);
    preamble(&mut header, b"Fseg");
    let tables = Segment(&logical[16..]);
    let length = Bytes(&logical[logical.len() - 4..]).u32() as usize;
    let mut footer = Bytes(&logical[logical.len() - 4 - length..logical.len() - 4]);
    let (_epoch, first) = (footer.varint(), footer.varint() as u32);
    footer.varints(4);
    let end = footer.varint() as u32;
    let symbols: Vec<Vec<String>> = (0..4).map(|_| symbols(&tables.rows(&mut footer))).collect();
    (0..4).for_each(|_| drop(tables.array::<1>(&mut footer)));
    let (labels, values) = (tables.array::<4>(&mut footer), tables.array::<1>(&mut footer));
    let (columns, classes) = (tables.array::<3>(&mut footer), tables.array::<3>(&mut footer));
    let (_of_pairs, _of_columns) = (tables.rows(&mut footer), tables.rows(&mut footer));
    let sources = tables.rows(&mut footer);
    let pair = |pair: u32| {
        let of = labels.iter().find(|[_, _, start, end]| (*start..*end).contains(&pair)).unwrap();
        let value = values[pair as usize][0];
        (symbols[LABEL_NAME][of[1] as usize].clone(), symbols[LABEL_VALUE][value as usize].clone())
    };
    let mut found = 0;
    for source in sources {
        let mut row = Bytes(source);
        row.take(16);
        let namespace = row.varint() as u32;
        let mut at = 0;
        let mut labels = Vec::new();
        for _ in 0..row.varint() {
            at += row.varint() as u32;
            labels.push(pair(at));
        }
        labels.sort();
        let (mut column, mut sid) = (0, first);
        for _ in 0..row.varint() {
            column += row.zigzag();
            sid += row.varint() as u32;
            let [_, measurement, field] = columns[column as usize];
            let measurement = symbols[MEASUREMENT][measurement as usize].clone();
            let field = symbols[FIELD][field as usize].clone();
            all.names.insert(sid, (namespace, measurement, labels.clone(), field));
            found += 1;
        }
        assert!(row.is_empty());
    }
    assert_eq!(found, end - first, "every series has a source");
    for [first, end, class] in classes {
        all.classes.extend((first..end).map(|sid| (sid, class)));
    }
}

/// Symbols by place.
fn symbols(rows: &[&[u8]]) -> Vec<String> {
    let mut name = Vec::new();
    let mut each = |(place, row): (usize, &&[u8])| {
        let mut row = Bytes(row);
        row.varint();
        let shared = row.varint() as usize;
        assert!(place % 16 > 0 || shared == 0);
        name.truncate(shared);
        name.extend_from_slice(row.0);
        String::from_utf8(name.clone()).unwrap()
    };
    rows.iter().enumerate().map(&mut each).collect()
}
