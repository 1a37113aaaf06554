//! Gaps: what a series contributes at an instant between two of its samples.

use crate::number::Number;
use foliot_model::NANOS_PER_MILLI;
use foliot_plan::Gap;

/// A sample of a series under way.
pub(crate) type Point = (i64, Number);

/// What a series contributes to float arithmetic at `time_ns`, between its samples `now` and
/// `next`; nothing if the gap rule says so.
pub(crate) fn float_at(now: Point, next: Option<Point>, time_ns: i64, gap: Gap) -> Option<f64> {
    if now.0 == time_ns {
        return Some(now.1.to_f64());
    }
    match (gap, next) {
        (Gap::Linear, Some(next)) => {
            Some(line((now.0, now.1.to_f64()), (next.0, next.1.to_f64()), time_ns))
        }
        (Gap::Absent | Gap::Linear, _) => None,
        (Gap::Zero, _) => Some(0.0),
        (Gap::Previous, _) => Some(now.1.to_f64()),
        (Gap::Maximum, _) => Some(f64::MAX),
        (Gap::Minimum, _) => Some(-f64::MAX),
    }
}

/// The same in integer arithmetic. A float, which the caller has ruled out, contributes nothing.
pub(crate) fn integer_at(now: Point, next: Option<Point>, time_ns: i64, gap: Gap) -> Option<i64> {
    let Number::Integer(value) = now.1 else { return None };
    if now.0 == time_ns {
        return Some(value);
    }
    match (gap, next) {
        (Gap::Linear, Some((next_ns, Number::Integer(next)))) => {
            // Exact where 64-bit arithmetic on milliseconds would overflow; else the same, because
            // truncation does not depend on the unit.
            let elapsed = i128::from(time_ns) - i128::from(now.0);
            let span = i128::from(next_ns) - i128::from(now.0);
            let rise = i128::from(next) - i128::from(value);
            Some((i128::from(value) + elapsed * rise / span) as i64)
        }
        (Gap::Absent | Gap::Linear, _) => None,
        (Gap::Zero, _) => Some(0),
        (Gap::Previous, _) => Some(value),
        (Gap::Maximum, _) => Some(i64::MAX),
        (Gap::Minimum, _) => Some(i64::MIN),
    }
}

/// The value at `time_ns` on the line between two samples. Times count in milliseconds where they
/// are whole ones, so that rounding is that of systems which know no finer unit.
pub(crate) fn line((t0, y0): (i64, f64), (t1, y1): (i64, f64), time_ns: i64) -> f64 {
    let (elapsed, span) = (time_ns.wrapping_sub(t0) as u64, t1.wrapping_sub(t0) as u64);
    let milli = NANOS_PER_MILLI as u64;
    let unit = if elapsed % milli == 0 && span % milli == 0 { milli } else { 1 };
    y0 + (elapsed / unit) as f64 * (y1 - y0) / (span / unit) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row 29: lines between integers truncate toward zero.
    #[test]
    fn integers_on_a_line_truncate() {
        let second = |s: i64| s * 1_000_000_000;
        let at = |y0, y1, s| {
            let (now, next) = ((0, Number::Integer(y0)), (second(30), Number::Integer(y1)));
            integer_at(now, Some(next), second(s), Gap::Linear)
        };
        assert_eq!((at(10, 11, 10), at(10, 11, 20)), (Some(10), Some(10)));
        assert_eq!((at(11, 9, 10), at(11, 9, 20)), (Some(11), Some(10)));
        assert_eq!(at(i64::MIN, i64::MAX, 15), Some(-1));
    }

    #[test]
    fn lines_between_floats_count_milliseconds() {
        let at = |t1, t| {
            let (now, next) = ((0, Number::Float(0.1)), (t1, Number::Float(0.4)));
            float_at(now, Some(next), t, Gap::Linear).unwrap()
        };
        let expected = 0.1 + 1000.0 * (0.4 - 0.1) / 3000.0;
        assert_eq!(at(3_000_000_000, 1_000_000_000).to_bits(), f64::to_bits(expected));
        assert_eq!(at(3, 1), 0.1 + 1.0 * (0.4 - 0.1) / 3.0);
    }

    #[test]
    fn extremes_never_win() {
        let (now, next) = ((0, Number::Float(5.0)), Some((9, Number::Float(6.0))));
        assert_eq!(float_at(now, next, 3, Gap::Maximum), Some(f64::MAX));
        assert_eq!(float_at(now, next, 3, Gap::Minimum), Some(f64::MIN));
        assert_eq!(float_at(now, next, 3, Gap::Previous), Some(5.0));
        assert_eq!(float_at(now, next, 3, Gap::Zero), Some(0.0));
        assert_eq!(float_at(now, next, 3, Gap::Absent), None);
        assert_eq!(integer_at(now, next, 0, Gap::Linear), None);
    }
}
