//! Pages, series by series.

use super::*;
use crate::block::Decoder;
use foliot_model::{Kind, Samples};
use proptest::prelude::*;

/// Chunks of neighbours lie side by side: bytes put beyond the end of one would be in another.
#[test]
fn numbers_that_move_far_stay_in_their_chunks() {
    let (mut page, mut builder) = (PageData::default(), Builder::default());
    let mut expected = [const { Vec::new() }; 3];
    let mut random = 88_172_645_463_325_252_u64;
    for step in 0..100 {
        for (local, expected) in expected.iter_mut().enumerate() {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let kind_scale = KindScale::new(Kind::Float, (random % 3) as u8);
            let bits = random >> (random % 57);
            let sample = Decoded { time_ns: step * 5_000_000_000, kind_scale, bits };
            page.append(local, sample, b"", 60, &mut builder);
            expected.push(sample);
        }
    }
    for (local, expected) in expected.iter().enumerate() {
        assert_eq!(stream_of(&page, local), *expected);
    }
}

/// All that copies hold, the older one first.
fn laid_out(copies: &[&SeriesCopy]) -> Vec<Decoded> {
    let (mut decoder, mut samples) = (Decoder::default(), Samples::default());
    let mut all = Columns::default();
    for copy in copies {
        copy.lay_out(&mut decoder, &mut samples, &mut all).unwrap();
    }
    all.sort_newest_wins();
    (0..all.len()).filter_map(|at| all.get(at)).collect()
}

proptest! {
    /// Samples in order, late, again and again, up to where streams are sealed and sorted: a
    /// copy and what came since are the next copy, newer values above older ones.
    #[test]
    fn a_copy_and_what_came_since_are_the_next_copy(
        pieces in prop::collection::vec((0i64..3, 1i64..700, 1i64..40), 1..12),
    ) {
        let (mut page, mut builder) = (PageData::default(), Builder::default());
        let copy_of = |page: &PageData| {
            let mut copy = SeriesCopy::default();
            page.copy(3, TimeRange::ALL, &mut copy);
            copy
        };
        let mut before = copy_of(&page);
        let (mut newest, mut value) = (0, 0);
        for (how, count, back) in pieces {
            for step in 0..count {
                let time = match how {
                    0 => newest + 1,
                    1 => newest - step % back,
                    _ => newest - back * step,
                };
                newest = newest.max(time);
                value += 1;
                let kind_scale = KindScale::new(Kind::Integer, 0);
                let time_ns = time * 1_000_000_000;
                let sample = Decoded { time_ns, kind_scale, bits: value };
                page.append(3, sample, b"", 7, &mut builder);
            }
            let now = copy_of(&page);
            let since = now.since(&before);
            prop_assert_eq!(laid_out(&[&before, &since]), laid_out(&[&now]));
            prop_assert!(now.since(&now).is_empty());
            before = now;
        }
    }
}

#[test]
fn what_goes_on_regularly_is_not_copied_again() {
    let (mut page, mut builder) = (PageData::default(), Builder::default());
    let mut copies = [SeriesCopy::default(), SeriesCopy::default()];
    for (seconds, copy) in [0..400, 400..407].into_iter().zip(&mut copies) {
        for second in seconds {
            let kind_scale = KindScale::new(Kind::Float, 0);
            let sample = Decoded { time_ns: second * 1_000_000_000, kind_scale, bits: 5 };
            page.append(0, sample, b"", 7, &mut builder);
        }
        page.copy(0, TimeRange::ALL, copy);
    }
    assert_eq!(laid_out(&[&copies[1].since(&copies[0])]).len(), 7);
}

fn stream_of(page: &PageData, local: usize) -> Vec<Decoded> {
    let mut bytes = Vec::new();
    page.copy_stream(local, &mut bytes);
    let mut reader = stream::Reader::new(&bytes);
    std::iter::from_fn(|| reader.next()).collect()
}

/// Rows whose fields jump, change their kind or miss a step now and then, at the end of a page:
/// what goes on regularly is put at once, and what does not, one by one.
#[test]
fn a_row_is_taken_as_far_as_its_series_go_on() {
    const FIELDS: usize = 5;
    let first = PAGE_SERIES - FIELDS;
    let (mut page, mut builder) = (PageData::default(), Builder::default());
    let mut expected = [const { Vec::new() }; FIELDS];
    let mut random = 88_172_645_463_325_252_u64;
    let (mut time_ns, mut together) = (0, 0);
    for _ in 0..300 {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        time_ns += 1_000_000_000 * if random.is_multiple_of(20) { 3 } else { 1 };
        let cells: Vec<Cell> = (0..FIELDS)
            .map(|field| match (random >> (8 * field)) as u8 {
                byte @ 0..5 => Cell::integer(i64::from(byte) << 30),
                byte @ 5..10 => Cell::float(f64::from(byte)),
                byte => Cell::integer(i64::from(byte % 64)),
            })
            .collect();
        let mut at = 0;
        while at < FIELDS {
            let rest = &cells[at..];
            let taken = page.append_regular(first + at, time_ns, rest);
            assert!(taken <= rest.len());
            (at, together) = (at + taken, together + taken);
            if let Some(cell) = cells.get(at) {
                let kind_scale = KindScale::new(cell.kind, cell.scale);
                let sample = Decoded { time_ns, kind_scale, bits: cell.bits };
                page.append(first + at, sample, b"", 60, &mut builder);
                at += 1;
            }
        }
        for (expected, cell) in expected.iter_mut().zip(&cells) {
            let kind_scale = KindScale::new(cell.kind, cell.scale);
            expected.push(Decoded { time_ns, kind_scale, bits: cell.bits });
        }
    }
    assert!(together > 300 * FIELDS / 2, "{together} of them were put together");
    for (field, expected) in expected.iter().enumerate() {
        assert_eq!(stream_of(&page, first + field), *expected);
    }
    assert_eq!(page.append_regular(PAGE_SERIES, time_ns, &[Cell::integer(1)]), 0);
}

const FIELDS: usize = 3;

/// Puts a row as the write path does: together as far as its series go on, and else one by one.
fn put_together(page: &mut PageData, time_ns: i64, cells: &[Cell], builder: &mut Builder) {
    let mut at = 0;
    while at < cells.len() {
        at += page.append_regular(at, time_ns, &cells[at..]);
        let rest = &cells[at..];
        put_one_by_one(page, at, time_ns, &rest[..rest.len().min(1)], builder);
        at += 1;
    }
}

fn put_one_by_one(
    page: &mut PageData,
    first: usize,
    time_ns: i64,
    cells: &[Cell],
    builder: &mut Builder,
) {
    for (field, cell) in cells.iter().enumerate() {
        let kind_scale = KindScale::new(cell.kind, cell.scale);
        let sample = Decoded { time_ns, kind_scale, bits: cell.bits };
        page.append(first + field, sample, b"", 60, builder);
    }
}

proptest! {
    /// Whatever came of the series before: jumps, gaps, late samples, deletes, flushes.
    #[test]
    fn rows_put_together_are_their_samples_put_one_by_one(
        pieces in prop::collection::vec((0u8..12, 1i64..400, 0..FIELDS), 1..14),
    ) {
        let (mut together, mut apart) = (PageData::default(), PageData::default());
        let mut builder = Builder::default();
        let (mut second, mut values) = (0, [7i64; FIELDS]);
        for (how, count, field) in pieces {
            let mut rows = Vec::new();
            match how {
                0 => values[field] += 1000 * count,
                1 => rows.push(second - count % 50),
                2 => rows.push(second),
                3 => second += count,
                4 => {
                    together.doubt_last(field, TimeRange::ALL);
                    apart.doubt_last(field, TimeRange::ALL);
                }
                5 => {
                    together.clear_stream(field);
                    apart.clear_stream(field);
                }
                6 => drop((together.freeze(), apart.freeze())),
                _ => {
                    rows.extend(second + 1..=second + count);
                    second += count;
                }
            }
            for row in rows {
                values.iter_mut().zip(1..).for_each(|(value, by)| *value += (row + by) % 5 - 2);
                let cells = values.map(Cell::integer);
                put_together(&mut together, row * 1_000_000_000, &cells, &mut builder);
                put_one_by_one(&mut apart, 0, row * 1_000_000_000, &cells, &mut builder);
            }
            for field in 0..FIELDS {
                prop_assert_eq!(stream_of(&together, field), stream_of(&apart, field));
                prop_assert_eq!(together.last_number(field), apart.last_number(field));
                let (one, other) = (together.arrived(field), apart.arrived(field));
                prop_assert_eq!((one.samples, one.late), (other.samples, other.late));
                let mut copies = [SeriesCopy::default(), SeriesCopy::default()];
                together.copy(field, TimeRange::ALL, &mut copies[0]);
                apart.copy(field, TimeRange::ALL, &mut copies[1]);
                prop_assert_eq!(laid_out(&[&copies[0]]), laid_out(&[&copies[1]]));
            }
        }
    }
}
