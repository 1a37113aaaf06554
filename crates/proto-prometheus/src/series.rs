//! Series with their samples, as messages of remote write 1.0 and of remote read: both have
//! `prometheus.TimeSeries`.

use crate::histogram::push_histogram;
use crate::wire::{push_bytes, push_double, push_varint};
use foliot_model::Histogram;

/// Fields of a request, of a series and of a sample.
const SERIES: u8 = 1;
const SAMPLE: u8 = 2;
const HISTOGRAM: u8 = 4;
const VALUE: u8 = 1;
const TIME: u8 = 2;

/// Appends a value at a time in milliseconds to the samples of a series.
pub fn push_number_sample(value: f64, time_ms: i64, out: &mut Vec<u8>) {
    let mut sample = Vec::with_capacity(20);
    push_double(VALUE, value, &mut sample);
    sample.push(TIME << 3);
    push_varint(time_ms as u64, &mut sample);
    push_bytes(SAMPLE, &sample, out);
}

/// Appends a native histogram at a time in milliseconds to the samples of a series.
pub fn push_histogram_sample(histogram: &Histogram, time_ms: i64, out: &mut Vec<u8>) {
    let mut sample = Vec::new();
    push_histogram(histogram, time_ms, &mut sample);
    push_bytes(HISTOGRAM, &sample, out);
}

/// Appends a series to a request of remote write 1.0: its labels as [`crate::pack_labels`] spells
/// them, and samples as the functions above do.
pub fn push_series(key: &[u8], samples: &[u8], out: &mut Vec<u8>) {
    out.push(SERIES << 3 | 2);
    push_varint((key.len() + samples.len()) as u64, out);
    out.extend_from_slice(key);
    out.extend_from_slice(samples);
}
