//! Bytes written by hand from `docs/format/block.md`, and what they must always mean.

use crate::tests::{Block, Cell, Output, outputs};
use crate::{Decoded, decode_values};

#[track_caller]
fn means(bytes: &[u8], cells: &[Cell]) {
    let mut decoded = Decoded::default();
    decode_values(bytes, cells.len(), &mut decoded).unwrap();
    let expected: Vec<Output> = cells.iter().map(Cell::output).collect();
    assert_eq!(outputs(&decoded, cells.len()), expected);
}

/// The bytes mean the values, and are those that the encoder writes for them.
#[track_caller]
fn is(bytes: &[u8], cells: &[Cell]) {
    means(bytes, cells);
    assert_eq!(Block::of(cells).encode().0, bytes);
}

fn integers<const N: usize>(values: [i64; N]) -> Vec<Cell> {
    values.map(Cell::Integer).to_vec()
}

#[test]
fn constant() {
    is(&[0x01, 84], &integers([42, 42, 42]));
    is(&[0x00, 1, 0xae, 3], &[Cell::Decimal(215, 1)]);
    is(&[0x03, 2], &[Cell::Boolean(true), Cell::Boolean(true)]);
}

#[test]
fn linear() {
    is(&[0x09, 20, 20], &integers([10, 20, 30]));
}

#[test]
fn frame() {
    let booleans = [true, false, true, true, false, true].map(Cell::Boolean);
    is(&[0x13, 0, 1, 0b101101], &booleans);
}

#[test]
fn frame_with_shift_and_patch() {
    means(&[0x11, 0, 0x81, 4, 0b101, 1, 2, 6], &integers([16, 0, 112]));
}

#[test]
fn delta() {
    means(&[0x19, 10, 1, 3, 0x18, 0x0a], &integers([5, 7, 6, 10]));
}

#[test]
fn delta_of_deltas() {
    means(&[0x21, 0, 20, 1, 2, 0xa0, 0], &integers([0, 10, 21, 33, 44]));
}

#[test]
fn trend() {
    let decimals = [101, 102, 108, 109].map(|m| Cell::Decimal(m, 2));
    means(&[0x28, 2, 0xc8, 1, 0x80, 40, 2, 0xb1], &decimals);
}

#[test]
fn runs() {
    means(&[0x31, 3, 2, 2, 6, 2, 3, 4, 0x09, 0x0b], &integers([7, 7, 7, -2, -2, 9]));
}

#[test]
fn dictionary() {
    let unsigned = [5, u64::MAX, 5, 1000].map(Cell::Unsigned);
    means(&[0x3a, 3, 1, 12, 0xc6, 15, 2, 0x91], &unsigned);
}

#[test]
fn float_bits() {
    let bytes = [6, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xf8, 0x7f];
    means(&bytes, &[Cell::Float(1.5), Cell::Float(1.5)]);
    // 0xBFF0... with all but the sign flipped is 0xC00F_FFFF..., folded 0x7FE0_..._0001.
    let bytes = [6, 0x81, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0xf0, 0x7f];
    means(&bytes, &[Cell::Float(-1.0)]);
}

#[test]
fn others_and_exceptions() {
    let cells = [Cell::Float(5.0), Cell::Integer(5), Cell::Bytes(4, b"up".to_vec())];
    means(&[0xc0, 1, 100, 2, 0, 1, 0b010, 1, 2, 4, 2, b'u', b'p'], &cells);
}

#[test]
fn an_exception_of_each_kind() {
    let head = [0x81, 0, 6];
    let float = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80];
    let others = [0, 6, 1, 6, 0, 1, 9, 0, 2, 7, 0, 3, 1, 0, 5, 1, 0xff];
    let cells = [
        Cell::Float(-0.0),
        Cell::Decimal(3, 1),
        Cell::Integer(-5),
        Cell::Unsigned(7),
        Cell::Boolean(true),
        Cell::Bytes(5, vec![0xff]),
        Cell::Integer(0),
    ];
    means(&[&head[..], &float, &others].concat(), &cells);
}

#[test]
fn texts() {
    let cells = ["a", "bc", "a"].map(|text| Cell::Bytes(4, text.as_bytes().to_vec()));
    is(&[0x14, 2, 1, 2, 2, 0, 1, 0b010, b'a', b'b', b'c'], &cells);
}

#[test]
fn wide_groups() {
    // 256 values of one bit: a group of eight lanes, one word each. Only value 8 * 5 + 2 is set.
    let mut bytes = vec![0x11, 0, 1];
    bytes.extend((0..8).flat_map(|lane| [if lane == 2 { 1 << 5 } else { 0 }, 0, 0, 0]));
    let cells: Vec<Cell> = (0..256).map(|i| Cell::Integer(i64::from(i == 42))).collect();
    means(&bytes, &cells);
}
