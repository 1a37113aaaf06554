//! Axes: from values to pixels, and where their ticks are.

use crate::http::{HttpError, Params};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// A vertical axis as asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Axis {
    min: Option<f64>,
    max: Option<f64>,
    pub(super) label: String,
    is_log: bool,
}

impl Axis {
    /// Reads the parameters of the axis called `name`: `y` or `y2`.
    pub(super) fn parse(params: &Params, name: &str) -> Result<Self, HttpError> {
        let (min, max) = match params.get(&format!("{name}range")) {
            None => (None, None),
            Some(text) => range(text).ok_or_else(|| {
                let message =
                    format!("'{name}range' was invalid. Must be in the format [min:max].");
                HttpError::bad_request(message)
            })?,
        };
        let label = super::text(params, &format!("{name}label"));
        Ok(Self { min, max, label, is_log: params.has(&format!("{name}log")) })
    }

    /// The scale that shows `values` on `pixels`, of which the first is at the bottom.
    pub(super) fn scale(&self, values: impl Iterator<Item = f64>, bottom: f64, top: f64) -> Scale {
        let seen = |value: &f64| value.is_finite() && (!self.is_log || *value > 0.0);
        let (low, high) =
            values.filter(seen).fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            });
        let (low, high) = if low > high { (0.0, 1.0) } else { (low, high) };
        let (low, high) = (self.min.unwrap_or(low), self.max.unwrap_or(high));
        // A line of equal values is in the middle.
        let room = if high > low { 0.0 } else { (low.abs() * 0.1).max(1.0) };
        let (mut low, mut high) = (low.min(high) - room, low.max(high) + room);
        if self.is_log {
            high = high.max(f64::MIN_POSITIVE);
            low = if low > 0.0 { low.log10() } else { high.log10() - 1.0 };
            high = high.log10();
            if low >= high {
                high = low + 1.0;
            }
        } else {
            // Ends at ticks, unless an end was asked for.
            let step = step(high - low, TICKS);
            low = self.min.map_or((low / step).floor() * step, |_| low);
            high = self.max.map_or((high / step).ceil() * step, |_| high);
        }
        Scale { low, high, start: bottom, end: top, is_log: self.is_log }
    }
}

/// About so many ticks does a vertical axis have.
const TICKS: f64 = 8.0;

/// Reads `[min:max]`, each of which may be missing or `*`.
fn range(text: &str) -> Option<(Option<f64>, Option<f64>)> {
    let (min, max) = text.strip_prefix('[')?.strip_suffix(']')?.split_once(':')?;
    let end = |text: &str| match text.trim() {
        "" | "*" => Some(None),
        text => text.parse().ok().filter(|end: &f64| end.is_finite()).map(Some),
    };
    Some((end(min)?, end(max)?))
}

/// The round step (1, 2 or 5 times a power of ten) that divides `length` into at most `count`.
fn step(length: f64, count: f64) -> f64 {
    let rough = (length / count).max(f64::MIN_POSITIVE);
    let power = 10_f64.powf(rough.log10().floor());
    let times = [1.0, 2.0, 5.0, 10.0].into_iter().find(|times| times * power >= rough);
    times.unwrap_or(10.0) * power
}

/// From values to pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) start: f64,
    pub(super) end: f64,
    pub(super) is_log: bool,
}

impl Scale {
    /// Where a value is, also beyond the ends; nothing for one that has no place.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let value = match self.is_log {
            true if value > 0.0 => value.log10(),
            true => return None,
            false => value,
        };
        let share = (value - self.low) / (self.high - self.low);
        let place = self.start + share * (self.end - self.start);
        place.is_finite().then_some(place)
    }

    /// Places of ticks and what stands there.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let step = if self.is_log { 1.0 } else { step(self.high - self.low, TICKS) };
        let first = (self.low / step).ceil();
        let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
        let tick = |index: u32| {
            let value = (first + f64::from(index)) * step;
            let share = (value - self.low) / (self.high - self.low);
            let text = match (self.is_log, value.abs()) {
                (true, _) => format!("1e{value:.0}"),
                (_, size) if size >= 1e7 || (size < 1e-4 && size > 0.0) => format!("{value:.2e}"),
                _ => format!("{value:.decimals$}"),
            };
            let is_inside = share < 1.0 + 1e-9;
            is_inside.then_some((self.start + share * (self.end - self.start), text))
        };
        // Steps make far fewer than this; it bounds what rounding could do.
        (0..100).map_while(tick).collect()
    }
}

/// Steps of the axis of time, in seconds.
const TIME_STEPS_S: [i64; 26] = [
    1,
    2,
    5,
    10,
    15,
    30,
    60,
    120,
    300,
    600,
    900,
    1800,
    3600,
    7200,
    10_800,
    21_600,
    43_200,
    86_400,
    172_800,
    604_800,
    1_209_600,
    2_592_000,
    7_776_000,
    15_552_000,
    31_536_000,
    315_360_000,
];

/// Instants between two others, at most `count` of them, with what a clock in `zone` shows there.
pub(super) fn times(start_ms: i64, end_ms: i64, count: i64, zone: &TimeZone) -> Vec<(i64, String)> {
    let length_s = (end_ms - start_ms) / 1000;
    let fits = |step: &&i64| length_s / **step <= count.max(1);
    let step_s = TIME_STEPS_S.iter().find(fits).copied().unwrap_or(i64::MAX / 1000);
    let format = match step_s {
        ..60 => "%H:%M:%S",
        60..86_400 => "%H:%M",
        _ => "%Y/%m/%d",
    };
    // Ticks are at round times of the zone, as it is at the start.
    let local =
        |time_s: i64| Timestamp::from_second(time_s).ok().map(|at| at.to_zoned(zone.clone()));
    let shift_s = local(start_ms / 1000).map_or(0, |at| i64::from(at.offset().seconds()));
    let first_s = (start_ms / 1000 + shift_s).div_euclid(step_s) * step_s - shift_s;
    let tick = |index: i64| {
        let time_s = first_s.checked_add(index.checked_mul(step_s)?)?;
        let at = local(time_s)?;
        let is_midnight = step_s < 86_400 && at.hour() == 0 && at.minute() == 0 && at.second() == 0;
        let text = at.strftime(if is_midnight { "%m/%d" } else { format }).to_string();
        Some((time_s.checked_mul(1000)?, text))
    };
    let ticks = (0..count + 3).map_while(tick);
    ticks.filter(|(time_ms, _)| (start_ms..=end_ms).contains(time_ms)).collect()
}
