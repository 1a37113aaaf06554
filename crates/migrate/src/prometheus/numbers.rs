//! Chunks of numbers: times as differences of differences, values as the bits that change.
//!
//! The layouts are Prometheus' (`tsdb/docs/format/chunks.md`; that of the newer form stands in
//! `tsdb/chunkenc/xor2.go`).

use super::chunk::{Point, Starts};
use crate::bits::{Bits, Xor};
use crate::cursor::Wrong;
use foliot_proto_prometheus::STALE;

/// Hands out the samples of a chunk of the form that all versions write.
pub(super) fn read(
    mut bits: Bits<'_>,
    samples: u16,
    each: &mut dyn FnMut(i64, Point) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    let (mut time_ms, mut step_ms, mut value) = (0i64, 0i64, Xor::default());
    for index in 0..samples {
        match index {
            0 => (time_ms, value.value) = (bits.varint()?, bits.float()?),
            1 => {
                step_ms = bits.uvarint()? as i64;
                time_ms = time_ms.wrapping_add(step_ms);
                bits.xor(&mut value)?;
            }
            _ => {
                step_ms = step_ms.wrapping_add(bits.time()?);
                time_ms = time_ms.wrapping_add(step_ms);
                bits.xor(&mut value)?;
            }
        }
        each(time_ms, Point::Number(value.value))?;
    }
    Ok(())
}

/// The same of the form of newer servers, which may tell starts. A mark of staleness takes a few
/// bits there, and the next value follows the one before it.
pub(super) fn read_started(
    mut bits: Bits<'_>,
    samples: u16,
    starts: Starts,
    each: &mut dyn FnMut(i64, Point) -> Result<(), Wrong>,
) -> Result<(), Wrong> {
    let (mut time_ms, mut step_ms, mut before) = (0i64, 0i64, Xor::default());
    for index in 0..samples {
        let value = match index {
            0 => {
                let value;
                (time_ms, value) = (bits.varint()?, bits.float()?);
                if value.to_bits() != STALE.to_bits() {
                    before.value = value;
                }
                value
            }
            1 => {
                step_ms = bits.uvarint()? as i64;
                next_value(&mut bits, &mut before)?
            }
            _ => next(&mut bits, &mut step_ms, &mut before)?,
        };
        if index > 0 {
            time_ms = time_ms.wrapping_add(step_ms);
        }
        starts.pass(index, &mut bits)?;
        each(time_ms, Point::Number(value))?;
    }
    Ok(())
}

/// Reads how the step changes, and the value, which begin with ones that count what they are.
fn next(bits: &mut Bits<'_>, step_ms: &mut i64, before: &mut Xor) -> Result<f64, Wrong> {
    let mut ones = 0;
    while ones < 5 && bits.bits(1)? == 1 {
        ones += 1;
    }
    let change_ms = match ones {
        0 => return Ok(before.value),
        1 => return bits.xor_changed(before).map(|()| before.value),
        2 => bits.signed_of(13)?,
        3 => bits.signed_of(20)?,
        4 => bits.signed_of(64)?,
        _ => return Ok(STALE),
    };
    *step_ms = step_ms.wrapping_add(change_ms);
    next_value(bits, before)
}

/// A value where the step changes: the same, of the same bits, of others, or a mark.
fn next_value(bits: &mut Bits<'_>, before: &mut Xor) -> Result<f64, Wrong> {
    if bits.bits(1)? == 1 {
        match bits.bits(1)? {
            0 => bits.xor_there(before)?,
            _ if bits.bits(1)? == 0 => bits.xor_elsewhere(before)?,
            _ => return Ok(STALE),
        }
    }
    Ok(before.value)
}
