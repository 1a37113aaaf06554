//! `docs/format/wal.md`, `catalog.md` and `deletes.md`: what is not in parts, and what is no more.

use crate::bytes::{Bytes, preamble};
use crate::formula::Value;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// One delete.
pub struct Delete {
    pub before: u64,
    pub times: RangeInclusive<i64>,
    pub is_drop: bool,
    pub series: Vec<u32>,
}

impl Delete {
    pub fn read(bytes: &mut Bytes<'_>) -> Self {
        let (_namespace, before) = (bytes.varint(), bytes.varint());
        let times = bytes.zigzag()..=bytes.zigzag();
        let is_drop = bytes.u8() == 1;
        let _deleted_at = bytes.zigzag();
        Self { before, times, is_drop, series: series(bytes) }
    }
}

/// A set of ids.
fn series(bytes: &mut Bytes<'_>) -> Vec<u32> {
    let (mut all, mut last) = (Vec::new(), 0);
    for _ in 0..bytes.varint() {
        let first = last + bytes.varint() as u32;
        last = first + bytes.varint() as u32;
        all.extend(first..=last);
    }
    all
}

/// Reads a file of deletes: them, and all ids ever dropped.
pub fn read_deletes(logical: &[u8]) -> (Vec<Delete>, Vec<u32>) {
    let mut bytes = Bytes(logical);
    preamble(&mut bytes, b"Ftmb");
    bytes.take(8);
    let deletes = (0..bytes.u32()).map(|_| Delete::read(&mut bytes)).collect();
    let dropped = series(&mut bytes);
    assert!(bytes.is_empty());
    (deletes, dropped)
}

pub type Catalog = BTreeMap<(String, String), Vec<u8>>;

fn change(bytes: &mut Bytes<'_>, catalog: &mut Catalog) {
    let is_put = bytes.u8() == 1;
    let key = (bytes.text(), bytes.text());
    let length = bytes.varint() as usize;
    let fact = bytes.take(length).to_vec();
    match is_put {
        true => catalog.insert(key, fact),
        false => catalog.remove(&key),
    };
}

pub fn read_catalog(logical: &[u8]) -> Catalog {
    let mut bytes = Bytes(logical);
    preamble(&mut bytes, b"Fcat");
    bytes.take(8);
    let mut catalog = Catalog::new();
    (0..bytes.u64()).for_each(|_| change(&mut bytes, &mut catalog));
    assert!(bytes.is_empty());
    catalog
}

/// What frames hold.
pub enum Frame<'f> {
    Rows(Vec<(u32, i64, Value)>),
    Register(&'f [u8]),
    Delete(Delete),
}

/// Reads frames at or after an lsn from a segment, up to where it ends; changes of the catalog are
/// made.
pub fn read<'f>(
    file: &'f [u8],
    start_lsn: u64,
    catalog: &mut Catalog,
    each: &mut dyn FnMut(Frame<'f>),
) {
    let mut bytes = Bytes(file);
    assert_eq!((bytes.take(4), bytes.u16(), bytes.u16()), (&b"Fwal"[..], 2, 0));
    let store_id = bytes.take(8);
    let (mut lsn, incarnation) = (bytes.u64(), bytes.u64());
    assert_eq!(bytes.u32(), 0);
    assert_eq!(bytes.u32(), crc32fast::hash(&file[..36]));
    let mut singles = BTreeMap::new();
    while bytes.0.len() >= 40 {
        let mut header = Bytes(bytes.take(40));
        let (magic, crc, covered) = (header.take(4), header.u32(), header.0);
        let (at, durable, of) = (header.u64(), header.u64(), header.u64());
        let (length, kind) = (header.u32() as usize, header.u8());
        assert_eq!((magic, at, of, header.0), (&b"Ffrm"[..], lsn, incarnation, &[0; 3][..]));
        assert!(durable <= lsn);
        let body = bytes.take(length);
        let crc_of_body = crc32fast::hash(body).to_le_bytes();
        assert_eq!(crc32fast::hash(&[store_id, covered, &crc_of_body].concat()), crc);
        lsn += 40 + length as u64;
        if at < start_lsn {
            continue;
        }
        if (2..=4).contains(&kind) {
            singles.insert(at, (kind, body));
        }
        match kind {
            1 => each(Frame::Rows(rows(Bytes(body)))),
            2 => each(Frame::Register(body)),
            3 => change(&mut Bytes(body), catalog),
            4 => each(Frame::Delete(Delete::read(&mut Bytes(body)))),
            5 => {
                let mut tail = Bytes(&body[length - 9..]);
                let (of, kind) = (tail.u64(), tail.u8());
                // What was flushed may be repeated behind the flush.
                if of >= start_lsn {
                    assert_eq!(singles.remove(&of), Some((kind, &body[..length - 9])));
                }
            }
            6 => assert!(body.iter().all(|byte| *byte == 0)),
            _ => panic!("frame {kind}"),
        }
    }
    assert!(singles.is_empty(), "all changes but samples stand in the wal twice");
}

fn rows(mut bytes: Bytes<'_>) -> Vec<(u32, i64, Value)> {
    let _epoch = bytes.varint();
    let (mut count, mut sid, mut time_ns, mut kind_scale) = (0, 0i64, 0i64, 0);
    let mut samples = Vec::new();
    for _ in 0..bytes.varint() {
        let flags = bytes.u8();
        if flags & 1 != 0 {
            count = bytes.varint();
        }
        sid += bytes.zigzag();
        let mut sids = vec![sid];
        for _ in 1..count {
            let last = sids[sids.len() - 1];
            sids.push(last + if flags & 2 != 0 { bytes.zigzag() } else { 1 });
        }
        if flags & 4 != 0 {
            time_ns = time_ns.wrapping_add(bytes.zigzag());
        }
        if flags & 8 != 0 {
            kind_scale = bytes.u8();
        }
        for sid in sids {
            let of_value = if flags & 16 != 0 { bytes.u8() } else { kind_scale };
            samples.push((sid as u32, time_ns, value(&mut bytes, of_value)));
        }
    }
    assert!(bytes.is_empty());
    samples
}

fn value(bytes: &mut Bytes<'_>, kind_scale: u8) -> Value {
    match (kind_scale >> 5, kind_scale & 31) {
        (0, 31) => Value::Float(bytes.u64()),
        (0, scale) => {
            let text = format!("{}e-{scale}", bytes.zigzag());
            Value::Float(text.parse::<f64>().unwrap().to_bits())
        }
        (1, _) => Value::Integer(bytes.zigzag()),
        (2, _) => Value::Unsigned(bytes.zigzag() as u64),
        (3, _) => Value::Boolean(bytes.zigzag() == 1),
        (4, _) => Value::String(bytes.text()),
        (5, _) => {
            let length = bytes.varint() as usize;
            Value::Histogram(bytes.take(length).to_vec())
        }
        (kind, _) => panic!("kind {kind}"),
    }
}
