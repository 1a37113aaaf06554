//! Histograms of families: native, classic, or both in one message.

use super::{Histograms, Out, Type, exemplar};
use crate::exemplars::Exemplar;
use crate::histogram::{Message, Side};
use crate::scraped::Measured;
use crate::wire::{Fields, Value, unzigzag};
use foliot_model::{Histogram, Resets};

const NEGATIVE: Side = Side { spans: 9, deltas: 10, counts: 11 };
const POSITIVE: Side = Side { spans: 12, deltas: 13, counts: 14 };

/// A bucket of a classic one: its bound, how many are in it and below, and one of them.
type Bucket = (f64, f64, Option<Exemplar>);

/// What a message says.
#[derive(Default)]
struct Read {
    native: Message,
    is_native: bool,
    buckets: Vec<Bucket>,
    exemplars: Vec<Exemplar>,
}

/// Exposes what is wanted of a histogram.
pub(super) fn expose(
    bytes: &[u8],
    fields: Fields<'_>,
    (kind, wanted): (Type, Histograms),
    out: &mut Out<'_, '_>,
) -> Result<(), String> {
    let Read { mut native, is_native, buckets, exemplars } = read(bytes, fields, out)?;
    let count = if native.is_float { native.floats.0 } else { native.integers.0 as f64 };
    let sum = native.sum;
    let is_taken = is_native && wanted.native;
    if is_taken {
        if kind == Type::GaugeHistogram {
            native.resets = Resets::Gauge as u64;
        }
        let histogram = native.histogram().map_err(|fault| fault.to_string())?;
        let of_buckets = || buckets.iter().filter_map(|(_, _, exemplar)| exemplar.clone());
        let own = if exemplars.is_empty() { of_buckets().collect() } else { exemplars };
        // Which bucket they are of their value says, but not when they were: as in Prometheus.
        let own = own.into_iter().filter(|one: &Exemplar| one.time_ms.is_some()).collect();
        out.put_measured("", None, Measured::Histogram(&histogram), own)?;
    }
    if is_taken && (!wanted.classic || buckets.is_empty()) {
        return Ok(());
    }
    out.put("_count", None, count, Vec::new())?;
    out.put("_sum", None, sum, Vec::new())?;
    let has_last = buckets.last().is_some_and(|(bound, ..)| *bound == f64::INFINITY);
    let last = (!has_last).then_some((f64::INFINITY, count, None));
    for (bound, count, exemplar) in buckets.into_iter().chain(last) {
        out.put("_bucket", Some(("le", bound)), count, exemplar.into_iter().collect())?;
    }
    Ok(())
}

fn read(bytes: &[u8], mut fields: Fields<'_>, out: &Out<'_, '_>) -> Result<Read, String> {
    let mut read = Read::default();
    let native = &mut read.native;
    while let Some(field) = fields.next()? {
        match (field.number, field.value) {
            (1, Value::Varint(count)) => native.integers.0 = count,
            (4, Value::Fixed64(bits)) => native.floats.0 = f64::from_bits(bits),
            (2, Value::Fixed64(bits)) => native.sum = f64::from_bits(bits),
            (5, Value::Varint(value)) => native.schema = unzigzag(value) as i32,
            (6, Value::Fixed64(bits)) => native.zero_threshold = f64::from_bits(bits),
            (7, Value::Varint(count)) => native.integers.1 = count,
            (8, Value::Fixed64(bits)) => native.floats.1 = f64::from_bits(bits),
            (1 | 2 | 4..=8, _) => return Err(field.mistyped().into()),
            (3, _) => {
                out.check(read.buckets.len() + 4)?;
                if read.buckets.len() == Histogram::BUCKETS_MAX {
                    return Err("it has too many buckets".to_owned());
                }
                let (start, end) = field.range()?;
                read.buckets.push(bucket(bytes, Fields::new(bytes, start, end))?);
            }
            (16, _) => read.exemplars.push(exemplar(bytes, &field)?),
            _ => {
                read.is_native |= [NEGATIVE.spans, POSITIVE.spans].contains(&field.number);
                native.negative.read(bytes, &field, &NEGATIVE)?;
                native.positive.read(bytes, &field, &POSITIVE)?;
            }
        }
    }
    // A count of floats is said beside one of integers, and goes before it where it is above 0.
    native.is_float = native.floats.0 > 0.0 || native.floats.1 > 0.0;
    let zeros = native.zero_threshold > 0.0 || native.integers.1 > 0 || native.floats.1 > 0.0;
    read.is_native |= zeros;
    Ok(read)
}

fn bucket(bytes: &[u8], mut fields: Fields<'_>) -> Result<Bucket, String> {
    let (mut bound, mut count, mut float, mut shown) = (0.0, 0, 0.0, None);
    while let Some(field) = fields.next()? {
        match (field.number, field.value) {
            (1, Value::Varint(value)) => count = value,
            (2, Value::Fixed64(bits)) => bound = f64::from_bits(bits),
            (3, _) => shown = Some(exemplar(bytes, &field)?),
            (4, Value::Fixed64(bits)) => float = f64::from_bits(bits),
            (1 | 2 | 4, _) => return Err(field.mistyped().into()),
            _ => {}
        }
    }
    Ok((bound, if float > 0.0 { float } else { count as f64 }, shown))
}
