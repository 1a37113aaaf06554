//! Round trips of whole blocks; the oracle is the values that went in.

use proptest::prelude::*;

use super::*;

/// One value as it goes in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Decimal(i64, u8),
    Float(f64),
    Integer(i64),
    Unsigned(u64),
    Boolean(bool),
    Bytes(u8, Vec<u8>),
}

/// What must come out: a kind, and IEEE bits, an integer or bytes.
pub(crate) type Output = (u8, u64, Vec<u8>);

impl Cell {
    pub(crate) fn output(&self) -> Output {
        match self {
            // The definition of a decimal, by the correctly rounding parser of the standard
            // library.
            Self::Decimal(m, scale) => {
                let value: f64 = format!("{m}e-{scale}").parse().unwrap();
                (0, value.to_bits(), vec![])
            }
            Self::Float(value) => (0, value.to_bits(), vec![]),
            Self::Integer(value) => (1, *value as u64, vec![]),
            Self::Unsigned(value) => (2, *value, vec![]),
            Self::Boolean(value) => (3, u64::from(*value), vec![]),
            Self::Bytes(kind, bytes) => (*kind, 0, bytes.clone()),
        }
    }
}

#[derive(Default)]
pub(crate) struct Block {
    kinds: Vec<u8>,
    scales: Vec<u8>,
    bits: Vec<u64>,
    bytes: Vec<u8>,
}

impl Block {
    pub(crate) fn of(cells: &[Cell]) -> Self {
        let mut block = Self::default();
        for cell in cells {
            let (kind, scale, bits) = match cell {
                Cell::Decimal(m, scale) => (0, *scale, *m as u64),
                Cell::Float(value) => (0, 255, value.to_bits()),
                Cell::Bytes(kind, bytes) => {
                    let span = (block.bytes.len() as u64) << 32 | bytes.len() as u64;
                    block.bytes.extend_from_slice(bytes);
                    (*kind, 0, span)
                }
                other => (other.output().0, 0, other.output().1),
            };
            block.kinds.push(kind);
            block.scales.push(scale);
            block.bits.push(bits);
        }
        block
    }

    pub(crate) fn encode(&self) -> (Vec<u8>, Summary) {
        self.encode_with(&mut Scratch::default())
    }

    pub(crate) fn encode_with(&self, scratch: &mut Scratch) -> (Vec<u8>, Summary) {
        let values = BlockValues {
            kinds: Each::Every(&self.kinds),
            scales: Each::Every(&self.scales),
            bits: &self.bits,
            bytes: &self.bytes,
        };
        let mut out = Vec::new();
        let summary = encode_values(&values, scratch, &mut out);
        (out, summary)
    }
}

pub(crate) fn outputs(decoded: &Decoded, count: usize) -> Vec<Output> {
    let one = |index: usize| match decoded.kind {
        Some(0) => (0, decoded.floats[index].to_bits(), vec![]),
        Some(1) => (1, decoded.integers[index] as u64, vec![]),
        Some(2) => (2, decoded.unsigned[index], vec![]),
        Some(3) => (3, u64::from(decoded.booleans[index]), vec![]),
        Some(kind) => (kind, 0, decoded.slice(decoded.bits[index]).to_vec()),
        None => match decoded.kinds[index] {
            kind @ 0..=3 => (kind, decoded.bits[index], vec![]),
            kind => (kind, 0, decoded.slice(decoded.bits[index]).to_vec()),
        },
    };
    (0..count).map(one).collect()
}

pub(crate) fn check(cells: &[Cell]) -> usize {
    let (bytes, summary) = Block::of(cells).encode();
    let mut decoded = Decoded::default();
    decode_values(&bytes, cells.len(), &mut decoded).unwrap();
    let expected: Vec<Output> = cells.iter().map(Cell::output).collect();
    let found = outputs(&decoded, cells.len());
    for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_eq!(found, expected, "value {index} of {}", cells.len());
    }
    check_rewrite(&bytes, &expected);
    let (symbols, same) = Block::of(cells).encode_with(&mut Scratch::for_packing());
    decode_values(&symbols, cells.len(), &mut decoded).unwrap();
    assert_eq!(outputs(&decoded, cells.len()), expected, "for packing");
    check_summary(&expected, &same);
    let uniform = expected.windows(2).all(|pair| pair[0].0 == pair[1].0);
    assert_eq!(decoded.kind.is_some(), uniform && !cells.is_empty());
    check_summary(&expected, &summary);
    bytes.len()
}

/// Two copies of a block, decoded one behind the other and encoded again, must still be the values.
fn check_rewrite(bytes: &[u8], expected: &[Output]) {
    let mut cells = Cells::default();
    decode_cells(bytes, expected.len(), &mut cells).unwrap();
    assert!(decode_cells(&[0xff], 1, &mut cells).is_err());
    decode_cells(bytes, expected.len(), &mut cells).unwrap();
    let values = cells.values();
    assert_eq!(values.bits.len(), 2 * expected.len());
    let Each::Every(kinds) = values.kinds else { panic!("kinds of each") };
    let Each::Every(scales) = values.scales else { panic!("scales of each") };
    for half in [0..expected.len(), expected.len()..2 * expected.len()] {
        let part = BlockValues {
            kinds: Each::Every(&kinds[half.clone()]),
            scales: Each::Every(&scales[half.clone()]),
            bits: &values.bits[half],
            bytes: values.bytes,
        };
        let mut again = Vec::new();
        encode_values(&part, &mut Scratch::default(), &mut again);
        let mut decoded = Decoded::default();
        decode_values(&again, expected.len(), &mut decoded).unwrap();
        assert_eq!(outputs(&decoded, expected.len()), expected);
    }
}

fn check_summary(outputs: &[Output], summary: &Summary) {
    let mut bytes = Vec::new();
    summary.encode(&mut bytes);
    let mut rest = bytes.as_slice();
    let back = Summary::decode(&mut rest).unwrap();
    assert!(rest.is_empty());
    assert_eq!(summary.numeric, back.numeric);
    let kinds = outputs.iter().fold(0u8, |kinds, output| kinds | 1 << output.0);
    assert_eq!((summary.kinds, back.kinds), (kinds, kinds));
    let floats: Vec<f64> = outputs
        .iter()
        .filter(|output| output.0 < 4)
        .map(|&(kind, bits, _)| match kind {
            0 => f64::from_bits(bits),
            1 => bits as i64 as f64,
            _ => bits as f64,
        })
        .collect();
    let numeric = floats.len() == outputs.len() && floats.iter().all(|v| !v.is_infinite());
    assert_eq!(summary.numeric, numeric);
    if !numeric || floats.is_empty() {
        return;
    }
    let numbers: Vec<f64> = floats.iter().copied().filter(|v| !v.is_nan()).collect();
    assert_eq!(summary.has_nan, numbers.len() < floats.len());
    let steps = |pair: &[f64]| if pair[1] >= pair[0] { pair[1] - pair[0] } else { pair[1] };
    let sizes: f64 = numbers.iter().map(|v| v.abs()).sum();
    let min = numbers.iter().copied().fold(f64::NAN, f64::min);
    let max = numbers.iter().copied().fold(f64::NAN, f64::max);
    let sum: f64 = numbers.iter().sum();
    let increase: f64 = numbers.windows(2).map(steps).sum();
    let (first, last) = (floats[0], floats[floats.len() - 1]);
    for summary in [summary, &back] {
        let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
        assert!(same(summary.min(), min) && same(summary.max(), max), "{summary:?}");
        assert!(same(summary.first(), first) && same(summary.last(), last), "{summary:?}");
        if sizes < 1e300 {
            assert!((summary.sum() - sum).abs() <= 1e-12 * sizes, "{summary:?} {sum}");
            assert!((summary.increase() - increase).abs() <= 3e-12 * sizes, "{summary:?}");
        }
    }
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => any::<f64>(),
        4 => (-1_000_000i64..1_000_000).prop_map(|m| m as f64 / 100.0),
        1 => Just(-0.0),
        1 => Just(f64::INFINITY),
        1 => any::<u64>().prop_map(f64::from_bits),
    ]
}

fn cell() -> impl Strategy<Value = Cell> {
    let mantissa = -(1i64 << 53)..=1i64 << 53;
    prop_oneof![
        (mantissa, 0u8..=22).prop_map(|(m, scale)| Cell::Decimal(m, scale)),
        float().prop_map(Cell::Float),
        any::<i64>().prop_map(Cell::Integer),
        any::<u64>().prop_map(Cell::Unsigned),
        any::<bool>().prop_map(Cell::Boolean),
        (4u8..=5, prop::collection::vec(any::<u8>(), 0..20))
            .prop_map(|(kind, bytes)| Cell::Bytes(kind, bytes)),
    ]
}

/// Number of patterns that [`regular`] knows.
const PATTERNS: u8 = 10;

/// The value numbered `i` of a series with a habit.
fn regular(pattern: u8, a: i64, b: i64, i: i64) -> Cell {
    match pattern {
        0 => Cell::Decimal(a % 1000 + i * (b % 50) % 17, (a & 3) as u8),
        1 => Cell::Integer(a.wrapping_add(b.wrapping_mul(i / 9))),
        2 => Cell::Unsigned(u64::MAX - (a as u32 as u64) * (i * i % 31) as u64),
        3 => Cell::Float(a as f64 / 1e7 * i as f64),
        4 => Cell::Float(i as f64 / 8.0),
        5 => Cell::Boolean(i % 7 == 0),
        6 => Cell::Bytes(4, vec![b'a' + (i / 5 % 3) as u8; 3]),
        7 if i % 5 == 0 => Cell::Integer(i),
        7 => Cell::Decimal(i * 10 + 3, 1),
        8 => Cell::Integer([a, b, 0, a ^ b][(i * i % 4) as usize]),
        _ => Cell::Float(f64::from((i as f32).sqrt())),
    }
}

/// Mostly one thing, with a share of strangers.
fn cells() -> impl Strategy<Value = Vec<Cell>> {
    let strangers = prop::collection::vec((0usize..1024, cell()), 0..40);
    let parts = (0..PATTERNS, any::<i64>(), any::<i64>(), 0i64..=1024, strangers);
    parts.prop_map(|(pattern, a, b, count, strangers)| {
        let mut cells: Vec<Cell> = (0..count).map(|i| regular(pattern, a, b, i)).collect();
        for (place, stranger) in strangers {
            if let Some(cell) = cells.get_mut(place) {
                *cell = stranger;
            }
        }
        cells
    })
}

proptest! {
    #[test]
    fn hostile_mixes_come_back(cells in prop::collection::vec(cell(), 0..60)) {
        check(&cells);
    }

    #[test]
    fn mostly_regular_values_come_back(cells in cells()) {
        check(&cells);
    }
}

#[test]
fn mantissas_beyond_the_contract_are_not_mistaken_for_bits() {
    let mantissa = (1i64 << 60) + 1;
    let bits = [mantissa as u64, 5];
    let values = BlockValues { kinds: Each::One(0), scales: Each::One(3), bits: &bits, bytes: &[] };
    let mut out = Vec::new();
    encode_values(&values, &mut Scratch::default(), &mut out);
    let mut decoded = Decoded::default();
    decode_values(&out, 2, &mut decoded).unwrap();
    assert_eq!(decoded.floats, [mantissa as f64 / 1e3, 0.005]);
}

/// Decoding must end, without panic, whatever the bytes; this is what the caller sees of it.
fn decode_anything(bytes: &[u8], count: usize) {
    let mut decoded = Decoded::default();
    if decode_values(bytes, count, &mut decoded).is_ok() {
        assert_eq!(outputs(&decoded, count).len(), count);
        assert!(decoded.bytes.len() <= bytes.len());
    }
    let mut cells = Cells::default();
    let result = decode_cells(bytes, count, &mut cells);
    assert_eq!(cells.bits.len(), if result.is_ok() { count } else { 0 });
    let mut times = Vec::new();
    match decode_times(bytes, count, &mut times) {
        Ok(()) => assert_eq!(times.len(), count),
        Err(_) => assert!(times.is_empty()),
    }
    let _ = Summary::decode(&mut &*bytes);
}

#[test]
fn every_truncation_and_bit_flip_is_survived() {
    for pattern in 0..PATTERNS {
        let mut cells: Vec<Cell> = (0..97).map(|i| regular(pattern, 0x1234_5678, 77, i)).collect();
        cells[31] = Cell::Float(f64::NAN);
        cells[32] = Cell::Bytes(5, b"histogram".to_vec());
        let (mut bytes, summary) = Block::of(&cells).encode();
        for length in 0..bytes.len() {
            let mut decoded = Decoded::default();
            let result = decode_values(&bytes[..length], cells.len(), &mut decoded);
            assert!(result.is_err(), "pattern {pattern} cut to {length}");
        }
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            decode_anything(&bytes, cells.len());
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        bytes.clear();
        summary.encode(&mut bytes);
        for length in 0..bytes.len() {
            assert!(Summary::decode(&mut &bytes[..length]).is_err());
        }
    }
}

#[test]
fn one_stranger_costs_bytes_only_for_itself() {
    let strangers = [
        (Cell::Float(f64::NAN), 12),
        (Cell::Float(-0.0), 12),
        (Cell::Decimal(31_415_926_535, 10), 12),
        (Cell::Decimal(1 << 53, 0), 32),
        (Cell::Integer(i64::MIN), 14),
        (Cell::Unsigned(u64::MAX), 14),
        (Cell::Boolean(true), 5),
        (Cell::Bytes(4, b"up".to_vec()), 8),
    ];
    let usual = |i: i64| Cell::Decimal(500 + i * i % 64, 1);
    let mut cells: Vec<Cell> = (0..1024).map(usual).collect();
    let plain = check(&cells);
    for (stranger, price) in strangers {
        cells[400] = stranger.clone();
        let size = check(&cells);
        assert!(size <= plain + price, "{stranger:?}: {size} instead of {plain}");
    }
    let mut integers: Vec<Cell> = (0..1024).map(|i| Cell::Integer(i * i % 100)).collect();
    let plain = check(&integers);
    integers[7] = Cell::Decimal(25, 1);
    assert!(check(&integers) <= plain + 8);
    integers[8] = Cell::Integer(i64::MAX);
    assert!(check(&integers) <= plain + 8 + 14);
}

#[test]
fn short_blocks_stay_short() {
    assert!(check(&[Cell::Integer(100)]) <= 4);
    assert!(check(&[Cell::Decimal(215, 1)]) <= 4);
    assert!(check(&[Cell::Boolean(true)]) <= 4);
    let few: Vec<Cell> = [1000, 1003, 1001, 1007, 1004].map(Cell::Integer).to_vec();
    assert!(check(&few) <= 8, "{}", check(&few));
    assert_eq!(check(&[]), 0);
}

#[test]
fn whole_numbers_among_decimals_are_cheap() {
    let cell = |i: i64| match i * i * 31 % 100 {
        m if m % 10 == 0 => Cell::Integer(m / 10),
        m => Cell::Decimal(m, 1),
    };
    let mixed = check(&(0..1024).map(cell).collect::<Vec<_>>());
    let plain = |i: i64| Cell::Decimal(i * i * 31 % 100, 1);
    let plain = check(&(0..1024).map(plain).collect::<Vec<_>>());
    assert!(mixed <= plain + 140, "{mixed} against {plain}");
}

#[test]
fn lengths_around_the_groups_come_back() {
    for count in [1, 2, 3, 5, 6, 7, 255, 256, 257, 511, 512, 513, 767, 1023, 1024] {
        for pattern in 0..PATTERNS {
            let cells: Vec<Cell> =
                (0..count).map(|i| regular(pattern, -87_654_321, 1_234_567, i)).collect();
            check(&cells);
        }
    }
}

#[test]
fn a_count_that_is_not_the_encoded_one_is_survived() {
    let cells: Vec<Cell> = (0..300).map(|i| regular(0, 5, 7, i)).collect();
    let (bytes, _) = Block::of(&cells).encode();
    for count in [0, 1, 299, 301, 1024, 1025, usize::MAX] {
        let mut decoded = Decoded::default();
        let result = decode_values(&bytes, count, &mut decoded);
        assert!(result.is_err() || count == 0, "{count}");
    }
}

proptest! {
    #[test]
    fn random_bytes_are_survived(
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        count in 0usize..=1024,
    ) {
        decode_anything(&bytes, count);
    }

    #[test]
    fn random_bytes_under_each_head_are_survived(
        head in any::<u8>(),
        small in prop::collection::vec(0u8..8, 0..12),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
        count in 0usize..40,
    ) {
        decode_anything(&[&[head], &*small, &*bytes].concat(), count);
    }
}

/// Whole numbers that walk like loads of processors, a block of them.
fn walk(random: &mut u64) -> Vec<Cell> {
    let mut next = || {
        *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *random >> 40
    };
    let mut value = (next() % 100) as i64;
    // Four coins fall nearly as a normal distribution does.
    let mut step = move || i64::from((next() % 16).count_ones()) - 2;
    let walked = std::iter::repeat_with(move || {
        value += step();
        Cell::Integer(value)
    });
    walked.take(360).collect()
}

#[test]
fn walks_are_packed_to_what_their_steps_tell() {
    let mut random = 7;
    let (mut bits, mut symbols, mut scratch) = (Vec::new(), Vec::new(), Scratch::for_packing());
    for _ in 0..80 {
        let block = Block::of(&walk(&mut random));
        bits.extend(block.encode().0);
        symbols.extend(block.encode_with(&mut scratch).0);
    }
    let packed = |bytes: &[u8]| {
        let mut out = Vec::new();
        assert!(Packer::default().pack(bytes, &mut out));
        out.len()
    };
    // Four coins tell 2.03 bits: 1, 4, 6, 4 and 1 of 16 ways.
    let least = 80 * 360 * 203 / 800;
    let (bits, symbols) = (packed(&bits), packed(&symbols));
    assert!(symbols < least * 110 / 100, "{symbols} bytes, {least} at least");
    assert!(symbols < bits * 85 / 100, "{symbols} bytes, {bits} of bits");
}

#[test]
fn what_has_no_likely_symbols_takes_no_more_for_packing() {
    let mut random = 11u64;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        random >> 11
    };
    for bits in [10, 20, 33, 50] {
        let cells: Vec<_> =
            (0..1000).map(|_| Cell::Integer((next() >> (53 - bits)) as i64)).collect();
        let floats: Vec<_> = (0..1000).map(|_| Cell::Float(next() as f64 / 3.0)).collect();
        for cells in [cells, floats] {
            let block = Block::of(&cells);
            let symbols = block.encode_with(&mut Scratch::for_packing()).0;
            assert!(
                symbols.len() <= block.encode().0.len(),
                "{} bytes of {bits} bits",
                symbols.len()
            );
        }
    }
}
