//! Texts that are records of integers, field by field: what follows one another in a series differs
//! little, field for field.
//!
//! A *record* is a text that begins with [`MARK`] and goes on with varints, each as short as it can
//! be: how many fields there are, the fields, and then values under keys, which ascend. Native
//! histograms are that: their buckets are values under keys. Records of as many fields that follow
//! one another make a run, in which each field and each key has a column.
//!
//! ```text
//! record  = 0xb1, fields varint, fields * varint, (gap varint, value varint)*
//! records = 0 varint, run*                                 as many records as the block has values
//! run     = records varint, fields varint, keys varint, keys * gap varint, fields * column,
//!           keys * (some u8, [column], column)             which records have the key, its values
//! some    = 0 all | 1 the first column says which | 2 those whose value is not 0
//! column  = layout u8, ints
//! ```
//!
//! A gap is the first key, or how many numbers lie between a key and the one before.

use crate::ints::{self, IntsScratch, Layout};
use crate::values::BlockValues;
use crate::varint::{get_u64, len_u64, put_u64};
use crate::{BLOCK_SAMPLES_MAX, CodecError};

/// How a record begins.
pub(crate) const MARK: u8 = 0xb1;

/// Which records have a key: all, those that a column says, or those whose value is not 0.
const ALL: u8 = 0;
const SAID: u8 = 1;
const VALUES: u8 = 2;

/// Columns of a run: a block of such records, all the same and so of a few kilobytes, becomes
/// 40 MiB at most.
const COLUMNS_MAX: usize = 1024;

/// Memory lent to the encoder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    /// Fields of all records, end to end.
    fields: Vec<i64>,
    /// Keys and values of all records, end to end.
    pairs: Vec<(u64, i64)>,
    /// Of each record how many fields it has, and how many pairs.
    counts: Vec<(usize, usize)>,
    keys: Vec<u64>,
    column: Vec<i64>,
}

/// A run: of each record how many fields and how many pairs it has, and the pairs.
type Pairs<'r> = (&'r [(usize, usize)], &'r [(u64, i64)]);

/// Appends all values, if each of them is a record and that is shorter than they are themselves.
pub(crate) fn encode(
    values: &BlockValues<'_>,
    scratch: &mut Records,
    ints: &mut IntsScratch,
    out: &mut Vec<u8>,
) -> bool {
    scratch.clear();
    let mut plain_len = 0;
    for &span in values.bits {
        let text = values.slice(span);
        plain_len += text.len();
        if scratch.take(text).is_none() {
            return false;
        }
    }
    let start = out.len();
    put_u64(out, 0);
    let Records { fields, pairs, counts, keys, column } = scratch;
    let (mut fields, mut pairs) = (fields.as_slice(), pairs.as_slice());
    for run in counts.chunk_by(|(a, _), (b, _)| a == b) {
        let width = run.first().map_or(0, |(fields, _)| *fields);
        let own_fields = split(&mut fields, width * run.len());
        let own_pairs = split(&mut pairs, run.iter().map(|(_, pairs)| *pairs).sum());
        keys.clear();
        keys.extend(own_pairs.iter().map(|(key, _)| *key));
        keys.sort_unstable();
        keys.dedup();
        if width + keys.len() > COLUMNS_MAX {
            out.truncate(start);
            return false;
        }
        [run.len(), width, keys.len()].into_iter().for_each(|count| put_u64(out, count as u64));
        put_gaps(keys, |gap| put_u64(out, gap));
        for field in 0..width {
            column.clear();
            column.extend(own_fields.iter().skip(field).step_by(width));
            put_column(column, ints, out);
        }
        put_keys(keys, (run, own_pairs), column, ints, out);
    }
    let is_shorter = out.len() - start < plain_len;
    if !is_shorter {
        out.truncate(start);
    }
    is_shorter
}

fn split<'s, T>(rest: &mut &'s [T], count: usize) -> &'s [T] {
    let (own, behind) = rest.split_at_checked(count).unwrap_or((rest, &[]));
    *rest = behind;
    own
}

fn put_gaps(keys: &[u64], mut put: impl FnMut(u64)) {
    let mut next = 0u64;
    for key in keys {
        put(key.wrapping_sub(next));
        next = key.wrapping_add(1);
    }
}

fn put_column(column: &[i64], ints: &mut IntsScratch, out: &mut Vec<u8>) {
    let at = out.len();
    out.push(0);
    let layout = ints::encode(column, ints, out);
    out.get_mut(at).into_iter().for_each(|code| *code = layout as u8);
}

/// Writes which records have each key, and with which values. Where a record has it not, the value
/// is 0.
fn put_keys(
    keys: &[u64],
    (run, pairs): Pairs<'_>,
    column: &mut Vec<i64>,
    ints: &mut IntsScratch,
    out: &mut Vec<u8>,
) {
    // The pairs of a record ascend, and so do the keys: each record goes on where it stood.
    let mut places = Vec::with_capacity(run.len());
    let mut end = 0;
    for (_, count) in run {
        places.push(end..end + count);
        end += count;
    }
    let mut present = Vec::with_capacity(run.len());
    for key in keys {
        column.clear();
        present.clear();
        for place in &mut places {
            let pair =
                pairs.get(place.start).filter(|(own, _)| place.start < place.end && own == key);
            place.start += usize::from(pair.is_some());
            present.push(i64::from(pair.is_some()));
            column.push(pair.map_or(0, |(_, value)| *value));
        }
        let are_values =
            || present.iter().zip(&*column).all(|(is, value)| (*is == 1) == (*value != 0));
        match () {
            () if present.iter().all(|is_there| *is_there == 1) => out.push(ALL),
            () if are_values() => out.push(VALUES),
            () => {
                out.push(SAID);
                put_column(&present, ints, out);
            }
        }
        put_column(column, ints, out);
    }
}

impl Records {
    fn clear(&mut self) {
        self.fields.clear();
        self.pairs.clear();
        self.counts.clear();
    }

    /// Takes a record apart; nothing if the text is none.
    fn take(&mut self, text: &[u8]) -> Option<()> {
        let mut rest = text.strip_prefix(&[MARK])?;
        let mut number = || {
            let len = rest.len();
            let number = get_u64(&mut rest).ok()?;
            (len_u64(number) == len - rest.len()).then_some((number, rest.is_empty()))
        };
        let (count, mut is_end) = number()?;
        let fields = usize::try_from(count).ok().filter(|count| *count <= COLUMNS_MAX)?;
        for _ in 0..fields {
            let (field, is_last) = number()?;
            self.fields.push(field as i64);
            is_end = is_last;
        }
        let (before, mut next) = (self.pairs.len(), Some(0u64));
        while !is_end {
            let ((gap, _), (value, is_last)) = (number()?, number()?);
            let key = next?.checked_add(gap)?;
            self.pairs.push((key, value as i64));
            (next, is_end) = (key.checked_add(1), is_last);
        }
        self.counts.push((fields, self.pairs.len() - before));
        Some(())
    }
}

/// Takes `count` records off the front of `bytes`, whose first number is behind: their spans go to
/// `spans`, they themselves to `text`.
pub(crate) fn decode(
    bytes: &mut &[u8],
    count: usize,
    spans: &mut Vec<u64>,
    text: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let (mut left, mut run) = (count, Run::default());
    while left > 0 {
        let records = usize::try_from(get_u64(bytes)?).unwrap_or(usize::MAX);
        if !(1..=left.min(BLOCK_SAMPLES_MAX)).contains(&records) {
            return Err(CodecError::Invalid("number of records"));
        }
        left -= records;
        run.read(bytes, records)?;
        for record in 0..records {
            let start = text.len();
            run.write(record, records, text);
            spans.push((start as u64) << 32 | (text.len() - start) as u64);
        }
    }
    Ok(())
}

/// Columns of a run, end to end.
#[derive(Default)]
struct Run {
    keys: Vec<u64>,
    fields: Vec<i64>,
    present: Vec<i64>,
    values: Vec<i64>,
    column: Vec<i64>,
}

impl Run {
    fn read(&mut self, bytes: &mut &[u8], records: usize) -> Result<(), CodecError> {
        let width = usize::try_from(get_u64(bytes)?).unwrap_or(usize::MAX);
        let keys = usize::try_from(get_u64(bytes)?).unwrap_or(usize::MAX);
        // A column takes two bytes at least.
        if width.saturating_add(keys) > COLUMNS_MAX.min(bytes.len() / 2) {
            return Err(CodecError::Invalid("number of columns"));
        }
        for columns in [&mut self.fields, &mut self.present, &mut self.values] {
            columns.clear();
        }
        self.keys.clear();
        let mut next = Some(0u64);
        for _ in 0..keys {
            let gap = get_u64(bytes)?;
            let key = next.and_then(|next| next.checked_add(gap));
            let key = key.ok_or(CodecError::Invalid("key of a record"))?;
            self.keys.push(key);
            next = key.checked_add(1);
        }
        self.column.resize(records, 0);
        let Self { fields, present, values, column, .. } = self;
        for _ in 0..width {
            get_column(bytes, column)?;
            fields.extend_from_slice(column);
        }
        for _ in 0..keys {
            let some = *bytes.split_off_first().ok_or(CodecError::Truncated("keys"))?;
            match some {
                ALL | VALUES => column.fill(1),
                SAID => get_column(bytes, column)?,
                _ => return Err(CodecError::Invalid("mark of a key")),
            }
            present.extend_from_slice(column);
            get_column(bytes, column)?;
            if some == VALUES {
                let there = present.iter_mut().rev().zip(column.iter().rev());
                there.for_each(|(is_there, value)| *is_there = i64::from(*value != 0));
            }
            values.extend_from_slice(column);
        }
        Ok(())
    }

    /// Appends one of the records.
    fn write(&self, record: usize, records: usize, out: &mut Vec<u8>) {
        out.push(MARK);
        put_u64(out, (self.fields.len() / records) as u64);
        fn of(columns: &[i64], record: usize, records: usize) -> impl Iterator<Item = i64> {
            columns.iter().copied().skip(record).step_by(records)
        }
        of(&self.fields, record, records).for_each(|field| put_u64(out, field as u64));
        let mut next = 0u64;
        let present = of(&self.present, record, records);
        let columns = present.zip(of(&self.values, record, records));
        for (key, (present, value)) in self.keys.iter().zip(columns) {
            if present != 0 {
                put_u64(out, key.wrapping_sub(next));
                put_u64(out, value as u64);
                next = key.wrapping_add(1);
            }
        }
    }
}

fn get_column(bytes: &mut &[u8], column: &mut [i64]) -> Result<(), CodecError> {
    let code = *bytes.split_off_first().ok_or(CodecError::Truncated("columns"))?;
    ints::decode(Layout::from_code(code), bytes, column)
}

#[cfg(test)]
mod tests {
    use crate::tests::{Cell, check};

    /// A record of fields, and of gaps and values.
    fn record(fields: &[u64], pairs: &[(u64, u64)]) -> Cell {
        let mut text = vec![super::MARK];
        let mut put = |number| crate::varint::put_u64(&mut text, number);
        put(fields.len() as u64);
        fields.iter().for_each(|field| put(*field));
        pairs.iter().for_each(|(gap, value)| [*gap, *value].into_iter().for_each(&mut put));
        Cell::Bytes(5, text)
    }

    #[test]
    fn counters_in_records_take_what_their_steps_take() {
        let pairs = |i: u64| {
            let value = move |key: u64| 1_000_000 * key + i * 7 + (i * key) % 5;
            // Now and then there is a key more.
            (0..30 + i / 40).map(move |key| (0, value(key))).collect::<Vec<_>>()
        };
        let records: Vec<Cell> = (0..240).map(|i| record(&[i, 7], &pairs(i))).collect();
        // Three bits each, where each is three bytes long, and one for its key.
        assert!(check(&records) < 240 * 30 / 2);
    }

    #[test]
    fn records_come_back_whatever_they_have() {
        let fields = |i: u64| (0..1 + i / 40).map(|f| f << (i % 60)).collect::<Vec<_>>();
        let pairs = |i: u64| (0..i % 7).map(|at| ((i * at) % 3, i + at)).collect::<Vec<_>>();
        let mixed: Vec<Cell> = (0..100).map(|i| record(&fields(i), &pairs(i))).collect();
        check(&mixed);
        check(&[record(&[u64::MAX, 0], &[(u64::MAX, 1)]), record(&[0, u64::MAX], &[])]);
        check(&[record(&[], &[]), record(&[], &[(0, 0)]), record(&[], &[(3, 0), (0, 9)])]);
    }

    #[test]
    fn what_only_looks_like_records_comes_back_too() {
        let strangers = [
            vec![super::MARK],
            vec![super::MARK, 0x80, 0],
            vec![super::MARK, 0x80],
            vec![super::MARK, 1],
            vec![super::MARK, 0, 5],
            vec![super::MARK, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1, 0, 1],
            vec![],
        ];
        for stranger in strangers {
            let good = |value| record(&[1, value], &[(2, value)]);
            check(&[good(2), good(3), Cell::Bytes(5, stranger), good(4)]);
        }
        check(&[record(&[1, 2], &[]), Cell::Float(1.0), record(&[1, 3], &[])]);
        check(&[record(&[3; 2000], &[]), record(&[3; 2000], &[])]);
        check(&[record(&[], &[(1, 3); 2000]), record(&[], &[(1, 3); 2000])]);
    }

    #[test]
    fn records_that_promise_too_much_are_refused() {
        let decode = |bytes: &[u8]| {
            let (mut spans, mut text) = (Vec::new(), Vec::new());
            super::decode(&mut &*bytes, 3, &mut spans, &mut text).map(|()| text)
        };
        // Three records of one field, 1, and of the value 2 under the key 4.
        let good = [3, 1, 1, 4, 0, 2, 0, 0, 4];
        assert_eq!(decode(&good).unwrap(), [super::MARK, 1, 1, 4, 2].repeat(3));
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        let cases: [&[u8]; 9] = [
            &[4, 1, 0, 0, 2],
            &[0, 1, 0, 0, 2],
            &[3, 9, 9, 0, 2],
            &[2, 1, 0, 0, 2],
            &[3, 1, 0, 0],
            &[3],
            &[3, 0, 1, 4, 3, 0, 2, 0, 2],
            &[&[3, 0, 2][..], &huge, &[0, 0, 0, 2, 0, 0, 2]].concat(),
            &[&[3][..], &huge, &huge].concat(),
        ];
        for bad in cases {
            assert!(decode(bad).is_err(), "{bad:?}");
        }
    }
}
