//! `docs/format/block.md`: times and values of one series.

use crate::bytes::Bytes;
use crate::formula::Value;
use std::collections::BTreeSet;

/// What was met, to prove that the golden directory has some of everything.
pub type Met = BTreeSet<String>;

/// `bits(w)` of k values.
fn bits(bytes: &mut Bytes<'_>, width: usize, count: usize) -> Vec<u64> {
    if width == 0 {
        return vec![0; count];
    }
    let mut values = Vec::with_capacity(count);
    let grouped = if width <= 32 { count / 256 * 256 } else { 0 };
    for _ in 0..grouped / 256 {
        let group = bytes.take(32 * width);
        for value in 0..256 {
            let (row, lane) = (value / 8, value % 8);
            let bit = |at: usize| {
                let (word, bit) = (at / 32 * 8 + lane, at % 32);
                u64::from(group[word * 4 + bit / 8] >> (bit % 8) & 1)
            };
            values.push((0..width).map(|at| bit(row * width + at) << at).sum());
        }
    }
    let rest = count - grouped;
    let string = bytes.take((rest * width).div_ceil(8));
    let bit = |at: usize| u64::from(string[at / 8] >> (at % 8) & 1);
    values.extend(
        (0..rest).map(|value| -> u64 { (0..width).map(|at| bit(value * width + at) << at).sum() }),
    );
    values
}

/// Packed integers.
fn packed(bytes: &mut Bytes<'_>, count: usize, met: &mut Met) -> Vec<i64> {
    let head = bytes.u8();
    if head < 0x80 {
        return bits(bytes, head.into(), count).into_iter().map(|low| low as i64).collect();
    }
    let width = head - 0x80;
    let shift = bytes.u8();
    let mut values = bits(bytes, width.into(), count);
    let patches = bytes.varint();
    if patches > 0 {
        met.insert("patches".into());
    }
    if shift > 0 {
        met.insert("shift".into());
    }
    let mut at = 0;
    for patch in 0..patches {
        at += bytes.varint() as usize + usize::from(patch > 0);
        values[at] |= (bytes.zigzag() as u64) << width;
    }
    values.into_iter().map(|value| (value << shift) as i64).collect()
}

/// `ints` of a layout.
fn ints(bytes: &mut Bytes<'_>, layout: u8, n: usize, met: &mut Met) -> Vec<i64> {
    met.insert(format!("layout {layout}"));
    let mut values = Vec::with_capacity(n);
    match layout {
        0 => values.resize(n, bytes.zigzag()),
        1 => {
            let (first, step) = (bytes.zigzag(), bytes.zigzag());
            values.extend((0..n).map(|i| first.wrapping_add((i as i64).wrapping_mul(step))));
        }
        2 => {
            let base = bytes.zigzag();
            values.extend(packed(bytes, n, met).into_iter().map(|p| base.wrapping_add(p)));
        }
        3 => {
            let (first, base) = (bytes.zigzag(), bytes.zigzag());
            let p = packed(bytes, n, met);
            values.push(first);
            for p in &p[1..] {
                values.push(values[values.len() - 1].wrapping_add(base).wrapping_add(*p));
            }
        }
        4 => {
            let (first, mut step, base) = (bytes.zigzag(), bytes.zigzag(), bytes.zigzag());
            let p = packed(bytes, n, met);
            values.extend([first, first.wrapping_add(step)]);
            for p in p.get(2..).unwrap_or_default() {
                step = step.wrapping_add(base).wrapping_add(*p);
                values.push(values[values.len() - 1].wrapping_add(step));
            }
            values.truncate(n);
        }
        5 => {
            let (base, slope) = (bytes.zigzag(), bytes.zigzag());
            let p = packed(bytes, n, met);
            let trend = |i: usize| base.wrapping_add(slope.wrapping_mul(i as i64) >> 10);
            values.extend(p.iter().enumerate().map(|(i, p)| trend(i).wrapping_add(*p)));
        }
        6 => {
            let (runs, base) = (bytes.varint() as usize, bytes.zigzag());
            let lengths = packed(bytes, runs, met);
            let layout = bytes.u8();
            let each = ints(bytes, layout, runs, met);
            for (length, value) in lengths.into_iter().zip(each) {
                values.extend(std::iter::repeat_n(value, (base + length) as usize));
            }
        }
        7 => {
            let mut entry = 0i64;
            let mut next = |bytes: &mut Bytes<'_>| {
                entry = entry.wrapping_add(bytes.zigzag());
                entry
            };
            let entries: Vec<i64> = (0..bytes.u8()).map(|_| next(bytes)).collect();
            values.extend(packed(bytes, n, met).into_iter().map(|p| entries[p as usize]));
        }
        _ => panic!("layout {layout}"),
    }
    assert_eq!(values.len(), n);
    values
}

/// The times of `n` samples, in nanoseconds.
pub fn times(mut bytes: Bytes<'_>, n: usize, met: &mut Met) -> Vec<i64> {
    let head = bytes.u8();
    let unit = [1, 1_000, 1_000_000, 1_000_000_000][usize::from(head >> 3 & 3)];
    met.insert(format!("unit {unit}"));
    let (start, divisor) = match head & 0x20 {
        0 => (0, 1),
        _ => {
            met.insert("start and divisor".into());
            (bytes.zigzag(), bytes.varint() as i64)
        }
    };
    let ints = ints(&mut bytes, head & 7, n, met);
    assert!(bytes.is_empty());
    ints.into_iter().map(|v| unit * (start + divisor * v)).collect()
}

fn decimal(mantissa: i64, scale: u8) -> Value {
    Value::Float(format!("{mantissa}e-{scale}").parse::<f64>().unwrap().to_bits())
}

/// The values of `n` samples.
pub fn values(mut bytes: Bytes<'_>, n: usize, met: &mut Met) -> Vec<Value> {
    let head = bytes.u8();
    let (domain, layout) = (head & 7, head >> 3 & 7);
    met.insert(format!("domain {domain}"));
    let scale = if domain == 0 { bytes.u8() } else { 0 };
    let mut values: Vec<Value> = match domain {
        4 | 5 => texts(&mut bytes, layout, domain, n, met),
        _ => {
            let body = ints(&mut bytes, layout, n, met);
            body.into_iter().map(|v| number(domain, scale, v)).collect()
        }
    };
    if head & 0x40 != 0 {
        met.insert("others".into());
        let layout = bytes.u8();
        for (value, mark) in values.iter_mut().zip(ints(&mut bytes, layout, n, met)) {
            if mark != 0 {
                let Value::Float(float) = value else { panic!("{value:?}") };
                *value = Value::Integer(f64::from_bits(*float) as i64);
            }
        }
    }
    if head & 0x80 != 0 {
        exceptions(&mut bytes, &mut values, met);
    }
    assert!(bytes.is_empty());
    values
}

fn number(domain: u8, scale: u8, v: i64) -> Value {
    match domain {
        0 => decimal(v, scale),
        1 => Value::Integer(v),
        2 => Value::Unsigned(v as u64),
        3 => Value::Boolean(v != 0),
        6 if v < 0 => Value::Float((v ^ i64::MAX) as u64),
        6 => Value::Float(v as u64),
        _ => panic!("domain {domain}"),
    }
}

fn texts(bytes: &mut Bytes<'_>, layout: u8, domain: u8, n: usize, met: &mut Met) -> Vec<Value> {
    let distinct = bytes.varint() as usize;
    if distinct == 0 {
        return records(bytes, n, met);
    }
    let of_lengths = bytes.u8();
    let lengths = ints(bytes, of_lengths, distinct, met);
    let indexes = ints(bytes, layout, n, met);
    let texts: Vec<&[u8]> = lengths.into_iter().map(|length| bytes.take(length as usize)).collect();
    let text = |index: i64| match domain {
        4 => Value::String(String::from_utf8(texts[index as usize].to_vec()).unwrap()),
        _ => Value::Histogram(texts[index as usize].to_vec()),
    };
    indexes.into_iter().map(text).collect()
}

fn records(bytes: &mut Bytes<'_>, n: usize, met: &mut Met) -> Vec<Value> {
    met.insert("records".into());
    let mut values = Vec::new();
    while values.len() < n {
        let records = bytes.varint() as usize;
        let (fields, keys) = (bytes.varint(), bytes.varint());
        let gaps: Vec<u64> = (0..keys).map(|_| bytes.varint()).collect();
        let mut column = |bytes: &mut Bytes<'_>| {
            let layout = bytes.u8();
            ints(bytes, layout, records, met)
        };
        let mut texts = vec![vec![0xb1u8]; records];
        texts.iter_mut().for_each(|text| put(fields, text));
        for _ in 0..fields {
            for (text, field) in texts.iter_mut().zip(column(bytes)) {
                put(field as u64, text);
            }
        }
        // The key that each record would have next.
        let (mut nexts, mut key) = (vec![0u64; records], 0);
        for gap in gaps {
            key += gap;
            let some = bytes.u8();
            let has = if some == 1 { column(bytes) } else { vec![1; records] };
            let of_key = has.into_iter().zip(column(bytes));
            let of_key = of_key.map(|(has, value)| match some {
                2 => (i64::from(value != 0), value),
                _ => (has, value),
            });
            for ((text, next), (has, value)) in texts.iter_mut().zip(&mut nexts).zip(of_key) {
                if has == 1 {
                    put(key - *next, text);
                    put(value as u64, text);
                    *next = key + 1;
                }
            }
            key += 1;
        }
        values.extend(texts.into_iter().map(Value::Histogram));
    }
    values
}

fn put(mut number: u64, text: &mut Vec<u8>) {
    while number >= 0x80 {
        text.push(number as u8 | 0x80);
        number >>= 7;
    }
    text.push(number as u8);
}

fn exceptions(bytes: &mut Bytes<'_>, values: &mut [Value], met: &mut Met) {
    let mut at = 0;
    for exception in 0..bytes.varint() {
        at += bytes.varint() as usize + usize::from(exception > 0);
        let tag = bytes.u8();
        met.insert(format!("exception {tag}"));
        values[at] = match tag {
            0 => Value::Float(bytes.u64()),
            1 => Value::Integer(bytes.zigzag()),
            2 => Value::Unsigned(bytes.varint()),
            3 => Value::Boolean(bytes.u8() == 1),
            4 => Value::String(bytes.text()),
            5 => {
                let length = bytes.varint() as usize;
                Value::Histogram(bytes.take(length).to_vec())
            }
            6 => {
                let scale = bytes.u8();
                decimal(bytes.zigzag(), scale)
            }
            _ => panic!("tag {tag}"),
        };
    }
}

/// Passes over a summary; its kinds.
pub fn summary(bytes: &mut Bytes<'_>) -> u8 {
    let flags = bytes.u8();
    if flags & 0x40 != 0 {
        match bytes.u8() {
            0xff => bytes.0 = &bytes.0[48..],
            _ => bytes.varints(6),
        }
    }
    flags & 0x3f
}
