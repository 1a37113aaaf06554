//! A block: up to some thousand values of one key, their times first. Each kind of value is packed
//! in a way of its own, which the first four bits of its bytes name.

use crate::bits::{Bits, Xor};
use crate::cursor::{Cursor, Wrong, unzigzag};
use foliot_model::{Samples, Value};

/// More values than a block ever has: what says more is damaged.
const VALUES_MAX: u64 = 1 << 20;

/// More bytes than the texts of a block ever have.
const TEXT_BYTES_MAX: usize = 256 << 20;

/// What ends the floats of a block: the number that Go has for what is none.
const END: u64 = 0x7ff8_0000_0000_0001;

/// For each of the sixteen ways to pack numbers into 60 bits: how many, and of how many bits. Of
/// the first two no bits are stored, and all are 1.
const PACKINGS: [(usize, u32); 16] = [
    (240, 0),
    (120, 0),
    (60, 1),
    (30, 2),
    (20, 3),
    (15, 4),
    (12, 5),
    (10, 6),
    (8, 7),
    (7, 8),
    (6, 10),
    (5, 12),
    (4, 15),
    (3, 20),
    (2, 30),
    (1, 60),
];

/// Reads a block without its checksum.
pub(super) fn read(block: &[u8], samples: &mut Samples) -> Result<(), Wrong> {
    let mut cursor = Cursor(block);
    let kind = cursor.byte()?;
    let times = times(cursor.text()?)?;
    let rest = cursor.0;
    match kind {
        0 => pair(&times, &floats(rest)?, samples, |value| Value::Float(*value)),
        1 => pair(&times, &integers(rest)?, samples, |value| Value::Integer(*value)),
        2 => pair(&times, &booleans(rest)?, samples, |value| Value::Boolean(*value)),
        3 => {
            let texts = texts(rest)?;
            pair(&times, &texts, samples, |value| Value::String(value))
        }
        4 => {
            pair(&times, &integers(rest)?, samples, |value| Value::Unsigned(value.cast_unsigned()))
        }
        kind => Err(format!("{kind} is no kind of values")),
    }
}

fn pair<T>(
    times: &[i64],
    values: &[T],
    samples: &mut Samples,
    value: impl Fn(&T) -> Value<'_>,
) -> Result<(), Wrong> {
    if times.len() != values.len() {
        return Err(format!("it has {} times and {} values", times.len(), values.len()));
    }
    for (time_ns, of) in times.iter().zip(values) {
        samples.push(*time_ns, value(of));
    }
    Ok(())
}

/// The way in which bytes are packed, the other four bits of their first byte, and the rest.
fn opened(bytes: &[u8]) -> Result<(u8, u8, Cursor<'_>), Wrong> {
    let mut cursor = Cursor(bytes);
    let first = cursor.byte()?;
    Ok((first >> 4, first & 0x0f, cursor))
}

fn unknown(packing: u8) -> Wrong {
    format!("{packing} is no known way to pack its values")
}

/// Numbers of which each is the one before it and a difference.
fn summed(first: i64, differences: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut sum = first;
    let sums = differences.map(|difference| {
        sum = sum.wrapping_add(difference);
        sum
    });
    std::iter::once(first).chain(sums).collect()
}

fn times(bytes: &[u8]) -> Result<Vec<i64>, Wrong> {
    let (packing, zeros, mut cursor) = opened(bytes)?;
    let scale = 10_i64.pow(u32::from(zeros));
    match packing {
        0 => {
            let mut raw = Vec::new();
            while !cursor.is_empty() {
                raw.push(cursor.be64()?.cast_signed());
            }
            let (first, rest) = raw.split_first().ok_or("it has no times")?;
            Ok(summed(*first, rest.iter().copied()))
        }
        1 => {
            let first = cursor.be64()?.cast_signed();
            let scaled = |step: &u64| step.cast_signed().wrapping_mul(scale);
            Ok(summed(first, unpacked(cursor)?.iter().map(scaled)))
        }
        2 => {
            let first = cursor.be64()?.cast_signed();
            let step = cursor.uvarint()?.cast_signed().wrapping_mul(scale);
            let count = counted(cursor.uvarint()?)?;
            Ok(summed(first, std::iter::repeat_n(step, count.saturating_sub(1))))
        }
        packing => Err(unknown(packing)),
    }
}

fn counted(count: u64) -> Result<usize, Wrong> {
    match count <= VALUES_MAX {
        true => Ok(count as usize),
        false => Err(format!("it says that it has {count} values")),
    }
}

/// Numbers that are packed into words of 64 bits.
fn unpacked(mut cursor: Cursor<'_>) -> Result<Vec<u64>, Wrong> {
    let mut out = Vec::new();
    while !cursor.is_empty() {
        let word = cursor.be64()?;
        let (count, bits) = PACKINGS.get((word >> 60) as usize).copied().unwrap_or_default();
        let mask = (1_u64 << bits) - 1;
        out.extend((0..count as u32).map(|index| match bits {
            0 => 1,
            bits => word >> (index * bits) & mask,
        }));
        counted(out.len() as u64)?;
    }
    Ok(out)
}

fn integers(bytes: &[u8]) -> Result<Vec<i64>, Wrong> {
    let (packing, _, mut cursor) = opened(bytes)?;
    match packing {
        0 => {
            let mut raw = Vec::new();
            while !cursor.is_empty() {
                raw.push(unzigzag(cursor.be64()?));
            }
            let (first, rest) = raw.split_first().ok_or("it has no values")?;
            Ok(summed(*first, rest.iter().copied()))
        }
        1 => {
            let first = unzigzag(cursor.be64()?);
            Ok(summed(first, unpacked(cursor)?.iter().map(|step| unzigzag(*step))))
        }
        2 => {
            let first = unzigzag(cursor.be64()?);
            let step = unzigzag(cursor.uvarint()?);
            // The first one is not among those that are counted.
            let count = counted(cursor.uvarint()?)?;
            Ok(summed(first, std::iter::repeat_n(step, count)))
        }
        packing => Err(unknown(packing)),
    }
}

fn floats(bytes: &[u8]) -> Result<Vec<f64>, Wrong> {
    let (packing, _, cursor) = opened(bytes)?;
    if packing != 1 {
        return Err(unknown(packing));
    }
    let mut bits = Bits::new(cursor.0);
    let (mut xor, mut out) = (Xor::default(), Vec::new());
    xor.value = bits.float()?;
    while xor.value.to_bits() != END {
        out.push(xor.value);
        counted(out.len() as u64)?;
        bits.xor(&mut xor)?;
    }
    Ok(out)
}

fn booleans(bytes: &[u8]) -> Result<Vec<bool>, Wrong> {
    let (packing, _, mut cursor) = opened(bytes)?;
    if packing != 1 {
        return Err(unknown(packing));
    }
    let count = counted(cursor.uvarint()?)?;
    let mut bits = Bits::new(cursor.0);
    (0..count).map(|_| bits.bits(1).map(|bit| bit == 1)).collect()
}

fn texts(bytes: &[u8]) -> Result<Vec<String>, Wrong> {
    let (packing, _, cursor) = opened(bytes)?;
    if packing != 1 {
        return Err(unknown(packing));
    }
    let plain = unsnapped(cursor.0)?;
    let (mut cursor, mut out) = (Cursor(&plain), Vec::new());
    while !cursor.is_empty() {
        out.push(String::from_utf8_lossy(cursor.text()?).into_owned());
    }
    Ok(out)
}

/// Bytes that are packed by Snappy.
pub(super) fn unsnapped(bytes: &[u8]) -> Result<Vec<u8>, Wrong> {
    let wrong = |error: snap::Error| error.to_string();
    let length = snap::raw::decompress_len(bytes).map_err(wrong)?;
    if length > TEXT_BYTES_MAX {
        return Err(format!("it says that it unpacks to {length} bytes"));
    }
    snap::raw::Decoder::new().decompress_vec(bytes).map_err(wrong)
}

#[cfg(test)]
#[allow(clippy::big_endian_bytes, reason = "the files of InfluxDB are big-endian")]
mod tests {
    use super::*;

    #[test]
    fn words_are_unpacked_from_their_low_end() {
        let words = |words: &[u64]| {
            let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
            unpacked(Cursor(&bytes))
        };
        assert_eq!(words(&[0]).unwrap(), [1; 240]);
        assert_eq!(words(&[14 << 60 | 7 << 30 | 5]).unwrap(), [5, 7]);
        assert_eq!(words(&[15 << 60 | 9, 13 << 60 | 3 << 40 | 2 << 20 | 1]).unwrap(), [9, 1, 2, 3]);
        assert!(unpacked(Cursor(&[0; 7])).is_err(), "half a word");
    }

    #[test]
    fn times_are_steps_from_the_first_one() {
        let first = 1_000_u64.to_be_bytes();
        // Steps of 3 * 10^2, five times in all.
        let steady = [&[2 << 4 | 2][..], &first, &[3, 5]].concat();
        assert_eq!(times(&steady).unwrap(), [1000, 1300, 1600, 1900, 2200]);
        let step = (14_u64 << 60 | 2 << 30 | 1).to_be_bytes();
        let packed = [&[1 << 4 | 1][..], &first, &step].concat();
        assert_eq!(times(&packed).unwrap(), [1000, 1010, 1030]);
        let raw = [&[0][..], &first, &7_u64.to_be_bytes()].concat();
        assert_eq!(times(&raw).unwrap(), [1000, 1007]);
        let many = [&[2 << 4][..], &first, &[3, 0xff, 0xff, 0xff, 0xff, 0x7f]].concat();
        assert!(times(&many).unwrap_err().contains("it says that it has"));
        assert!(times(&[]).is_err());
    }
}
