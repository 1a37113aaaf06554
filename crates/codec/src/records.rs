//! Texts that are records of integers, field by field: what follows one another in a series differs
//! little, field for field.
//!
//! A *record* is a text that begins with [`MARK`] and goes on with varints, each as short as it can
//! be; native histograms are that. Records of as many fields that follow one another make a run.
//!
//! ```text
//! records = 0 varint, run*                                 as many records as the block has values
//! run     = records varint, fields varint, fields * (layout u8, ints)
//! ```

use crate::ints::{self, IntsScratch, Layout};
use crate::values::BlockValues;
use crate::varint::{get_u64, put_u64};
use crate::{BLOCK_SAMPLES_MAX, CodecError};

/// How a record begins.
pub(crate) const MARK: u8 = 0xb1;

/// Fields of a record that is taken apart: a block of such records, all the same and so of a few
/// kilobytes, becomes 20 MiB at most.
const FIELDS_MAX: usize = 1024;

/// Memory lent to the encoder.
#[derive(Clone, Debug, Default)]
pub(crate) struct Records {
    /// Fields of all records, end to end.
    fields: Vec<i64>,
    /// How many fields each record has.
    counts: Vec<usize>,
    column: Vec<i64>,
}

/// Appends all values, if each of them is a record and that is shorter than they are themselves.
pub(crate) fn encode(
    values: &BlockValues<'_>,
    scratch: &mut Records,
    ints: &mut IntsScratch,
    out: &mut Vec<u8>,
) -> bool {
    let Records { fields, counts, column } = scratch;
    fields.clear();
    counts.clear();
    let mut plain_len = 0;
    for &span in values.bits {
        let text = values.slice(span);
        plain_len += text.len();
        match take_fields(text, fields) {
            Some(count) => counts.push(count),
            None => return false,
        }
    }
    let start = out.len();
    put_u64(out, 0);
    let mut rest = fields.as_slice();
    for run in counts.chunk_by(|a, b| a == b) {
        let width = run.first().copied().unwrap_or_default();
        put_u64(out, run.len() as u64);
        put_u64(out, width as u64);
        let (own, behind) = rest.split_at_checked(width * run.len()).unwrap_or((rest, &[]));
        rest = behind;
        for field in 0..width {
            column.clear();
            column.extend(own.iter().skip(field).step_by(width));
            let at = out.len();
            out.push(0);
            let layout = ints::encode(column, ints, out);
            out.get_mut(at).into_iter().for_each(|code| *code = layout as u8);
        }
    }
    let is_shorter = out.len() - start < plain_len;
    if !is_shorter {
        out.truncate(start);
    }
    is_shorter
}

/// Adds the fields of a record and counts them; nothing if the text is none.
fn take_fields(text: &[u8], fields: &mut Vec<i64>) -> Option<usize> {
    let (before, mut rest) = (fields.len(), text.strip_prefix(&[MARK])?);
    let rest = &mut rest;
    while !rest.is_empty() {
        let len = rest.len();
        let field = get_u64(rest).ok()?;
        let is_shortest = crate::varint::len_u64(field) == len - rest.len();
        if !is_shortest || fields.len() - before == FIELDS_MAX {
            return None;
        }
        fields.push(field as i64);
    }
    Some(fields.len() - before).filter(|count| *count > 0)
}

/// Takes `count` records off the front of `bytes`, whose first number is behind: their spans go to
/// `spans`, they themselves to `text`.
pub(crate) fn decode(
    bytes: &mut &[u8],
    count: usize,
    spans: &mut Vec<u64>,
    text: &mut Vec<u8>,
) -> Result<(), CodecError> {
    let (mut left, mut fields, mut column) = (count, Vec::new(), Vec::new());
    while left > 0 {
        let records = usize::try_from(get_u64(bytes)?).unwrap_or(usize::MAX);
        let width = usize::try_from(get_u64(bytes)?).unwrap_or(usize::MAX);
        if !(1..=left.min(BLOCK_SAMPLES_MAX)).contains(&records) {
            return Err(CodecError::Invalid("number of records"));
        }
        // A field takes two bytes at least.
        if !(1..=FIELDS_MAX.min(bytes.len() / 2)).contains(&width) {
            return Err(CodecError::Invalid("number of fields"));
        }
        left -= records;
        fields.clear();
        column.resize(records, 0);
        for _ in 0..width {
            let code = *bytes.split_off_first().ok_or(CodecError::Truncated("fields"))?;
            ints::decode(Layout::from_code(code), bytes, &mut column)?;
            fields.extend_from_slice(&column);
        }
        for record in 0..records {
            let start = text.len();
            text.push(MARK);
            for field in fields.iter().skip(record).step_by(records) {
                put_u64(text, *field as u64);
            }
            spans.push((start as u64) << 32 | (text.len() - start) as u64);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::tests::{Cell, check};

    fn record(fields: &[u64]) -> Cell {
        let mut text = vec![super::MARK];
        fields.iter().for_each(|field| crate::varint::put_u64(&mut text, *field));
        Cell::Bytes(5, text)
    }

    #[test]
    fn counters_in_records_take_what_their_steps_take() {
        let records: Vec<Cell> = (0..240u64)
            .map(|i| {
                let fields = (0..30).map(|field| 1_000_000 * field + i * 7 + (i * field) % 5);
                record(&fields.collect::<Vec<_>>())
            })
            .collect();
        // Three bits each, where each is three bytes long.
        assert!(check(&records) < 240 * 30 / 2);
    }

    #[test]
    fn records_come_back_whatever_their_width() {
        let width = |i: u64| 1 + (i / 7 % 5) * 3;
        let mixed: Vec<Cell> = (0..100u64)
            .map(|i| record(&(0..width(i)).map(|f| f << (i % 60)).collect::<Vec<_>>()))
            .collect();
        check(&mixed);
        check(&[record(&[u64::MAX, 0]), record(&[0, u64::MAX])]);
    }

    #[test]
    fn what_only_looks_like_records_comes_back_too() {
        let strangers = [
            vec![super::MARK],
            vec![super::MARK, 0x80, 0],
            vec![super::MARK, 0x80],
            vec![super::MARK, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2],
            vec![],
        ];
        for stranger in strangers {
            check(&[record(&[1, 2]), record(&[1, 3]), Cell::Bytes(5, stranger), record(&[1, 4])]);
        }
        check(&[record(&[1, 2]), Cell::Float(1.0), record(&[1, 3])]);
        check(&[record(&vec![3; 2000]), record(&vec![3; 2000])]);
    }

    #[test]
    fn records_that_promise_too_much_are_refused() {
        let decode = |bytes: &[u8]| {
            let (mut spans, mut text) = (Vec::new(), Vec::new());
            super::decode(&mut &*bytes, 3, &mut spans, &mut text).map(|()| text)
        };
        assert_eq!(
            decode(&[3, 1, 0, 2]).unwrap(),
            [super::MARK, 1, super::MARK, 1, super::MARK, 1]
        );
        for bad in [
            &[4, 1, 0, 2][..],
            &[0, 1, 0, 2],
            &[3, 0, 0, 2],
            &[3, 2, 0, 2],
            &[2, 1, 0, 2],
            &[3, 1, 0],
            &[3],
        ] {
            assert!(decode(bad).is_err(), "{bad:?}");
        }
    }
}
