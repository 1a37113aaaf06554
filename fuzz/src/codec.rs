//! Blocks: any bytes decoded, and any values encoded and decoded again.

use foliot_codec::{
    BLOCK_SAMPLES_MAX, BlockValues, Cells, Decoded, Each, Scratch, Summary, decode_cells,
    decode_times, decode_values, encode_times, encode_values, unpack, varint,
};
use foliot_model::{Bucket, Histogram};

/// The first two bytes are a count, the rest is read as each thing that a block has.
pub(crate) fn decode(data: &[u8]) {
    let Some((head, bytes)) = data.split_first_chunk::<2>() else { return };
    let count = usize::from(u16::from_le_bytes(*head)) % (BLOCK_SAMPLES_MAX + 8);
    let mut times = Vec::new();
    if decode_times(bytes, count, &mut times).is_ok() {
        assert_eq!(times.len(), count);
    }
    let _ = decode_values(bytes, count, &mut Decoded::default());
    let mut cells = Cells::default();
    if decode_cells(bytes, count, &mut cells).is_ok() && count > 0 {
        assert_eq!(cells.bits.len(), count);
        encode_values(&cells.values(), &mut Scratch::default(), &mut Vec::new());
    }
    let mut rest = bytes;
    let _ = Summary::decode(&mut rest);
    let _ = unpack(bytes, count * 32);
    let mut rest = bytes;
    while varint::get_u64(&mut rest).is_ok() && !rest.is_empty() {}
}

/// The bytes are times and values, which must come back.
pub(crate) fn round(data: &[u8]) {
    let Some((head, bytes)) = data.split_first_chunk::<2>() else { return };
    let words: Vec<u64> = bytes
        .chunks_exact(8)
        .take(BLOCK_SAMPLES_MAX)
        .map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")))
        .collect();
    if words.is_empty() {
        return;
    }
    let mut times: Vec<i64> = words.iter().map(|word| *word as i64).collect();
    times.sort_unstable();
    let (mut encoded, mut back) = (Vec::new(), Vec::new());
    encode_times(&times, &mut encoded);
    decode_times(&encoded, times.len(), &mut back).expect("what was encoded is decoded");
    assert_eq!(times, back);
    round_values(&words, head[0] % 4, head[1] % 24);
}

/// Kinds 0 to 3 are numbers; a scale above 22 means IEEE bits.
fn round_values(words: &[u64], kind: u8, scale: u8) {
    let is_decimal = kind == 0 && scale <= 22;
    let bits: Vec<u64> = words
        .iter()
        .map(|word| match kind {
            0 if is_decimal => ((*word as i64) % (1 << 53)) as u64,
            3 => word % 2,
            _ => *word,
        })
        .collect();
    let scale = if is_decimal { scale } else { 255 };
    let values =
        BlockValues { kinds: Each::One(kind), scales: Each::One(scale), bits: &bits, bytes: &[] };
    let mut encoded = Vec::new();
    encode_values(&values, &mut Scratch::default(), &mut encoded);
    let mut cells = Cells::default();
    decode_cells(&encoded, bits.len(), &mut cells).expect("what was encoded is decoded");
    for (at, (bits, back)) in bits.iter().zip(&cells.bits).enumerate() {
        let same = match (is_decimal, cells.scales[at]) {
            (true, back_scale) => number(*bits, scale) == number(*back, back_scale),
            (false, 255) => bits == back,
            // A float that is a short decimal may be kept as one.
            (false, back_scale) if kind == 0 => {
                f64::from_bits(*bits).to_bits() == number(*back, back_scale)
            }
            _ => bits == back,
        };
        assert!(same, "value {at} of kind {kind}, scale {scale}: {bits:#x} came back {back:#x}");
    }
}

/// The binary64 of a decimal, by its text.
fn number(bits: u64, scale: u8) -> u64 {
    if scale > 22 {
        return bits;
    }
    let text = format!("{}e-{scale}", bits as i64);
    text.parse::<f64>().expect("a decimal").to_bits()
}

/// The bytes of a native histogram. Those that are one come back, and take no more memory than is
/// in them.
pub(crate) fn histogram(data: &[u8]) {
    let Some(read) = Histogram::read(data) else { return };
    assert!(read.memory_bytes() <= 1024 + 32 * data.len(), "memory beyond the bytes");
    let mut again = Vec::new();
    read.write(&mut again);
    let twice = Histogram::read(&again).expect("what was written is read");
    assert_eq!(format!("{twice:?}"), format!("{read:?}"));
    assert!(read.intervals().count() <= data.len());
}

pub(crate) fn histogram_seeds() -> Vec<Vec<u8>> {
    let bucket = |index: i32, count: u32| Bucket { index, count: f64::from(count) };
    let integers = Histogram {
        is_integer: true,
        schema: 3,
        zero_count: 2.0,
        count: 12.0,
        sum: 7.25,
        positive: vec![bucket(-1, 1), bucket(0, 0), bucket(9, 6)],
        negative: vec![bucket(4, 3)],
        ..Histogram::default()
    };
    let custom = Histogram {
        schema: Histogram::CUSTOM,
        count: 2.5,
        positive: vec![bucket(0, 1), bucket(2, 1)],
        bounds: [0.1, 5.0].into(),
        ..Histogram::default()
    };
    let written = |of: &Histogram| {
        let mut seed = Vec::new();
        of.write(&mut seed);
        seed
    };
    vec![written(&integers), written(&custom)]
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for kind in 0_u8..4 {
        for count in [1_u16, 7, 100, 1024] {
            let bits: Vec<u64> = (0..u64::from(count)).map(|i| i * 31 % 97).collect();
            let values = BlockValues {
                kinds: Each::One(kind),
                scales: Each::One(if kind == 0 { 1 } else { 255 }),
                bits: &bits,
                bytes: &[],
            };
            let mut seed = count.to_le_bytes().to_vec();
            encode_values(&values, &mut Scratch::default(), &mut seed);
            seeds.push(seed);
            let mut seed = count.to_le_bytes().to_vec();
            let times: Vec<i64> = (0..i64::from(count)).map(|i| i * 1_000 + i % 3).collect();
            encode_times(&times, &mut seed);
            seeds.push(seed);
        }
    }
    seeds.push([&[0, 3][..], &[1; 64]].concat());
    // Native histograms, taken apart.
    let (mut bytes, mut bits) = (Vec::new(), Vec::new());
    for histogram in histogram_seeds().iter().cycle().take(8) {
        bits.push((bytes.len() as u64) << 32 | histogram.len() as u64);
        bytes.extend_from_slice(histogram);
    }
    let (kinds, scales) = (Each::One(5), Each::One(255));
    let values = BlockValues { kinds, scales, bits: &bits, bytes: &bytes };
    let mut seed = 8u16.to_le_bytes().to_vec();
    encode_values(&values, &mut Scratch::default(), &mut seed);
    seeds.push(seed);
    seeds
}
