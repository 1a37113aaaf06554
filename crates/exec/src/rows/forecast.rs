//! Forecasts by trend and season, fitted by the simplex method.
//!
//! The model is the damped multiplicative one of Holt and Winters. Its parameters (four weights, a
//! level, a trend, the season) are those with the least squared error that J. A. Nelder and R.
//! Mead, "A simplex method for function minimization", 1965, find from sixteen starting points.

use crate::Error;
use crate::limits::{Meter, Turns};
use foliot_plan::rows::Forecast;

/// Where the search for the best parameters ends.
const EPSILON: f64 = 1e-4;
/// Starting points of each weight.
const GUESSES: [f64; 2] = [0.3, 0.7];
const STEPS_MAX: usize = 1000;
/// What a step of the model takes at most: its value, what a run makes of it, and the answer's time
/// and value.
const STEP_BYTES: usize = 32;

/// The forecast, as times and values.
pub(super) fn forecast(
    plan: &Forecast,
    points: &[(i64, f64)],
    meter: &Meter,
) -> Result<Vec<(i64, f64)>, Error> {
    let season = usize::try_from(plan.season).unwrap_or(usize::MAX);
    let is_seasonal = season >= 2;
    let (Some(&(first_ns, first)), Some(&(last_ns, _))) = (points.first(), points.last()) else {
        return Ok(Vec::new());
    };
    if points.len() < 2 || is_seasonal && points.len() < season || plan.count == 0 {
        return Ok(Vec::new());
    }
    let round = |time_ns: i64| {
        let up = i64::from(time_ns % plan.width_ns > plan.width_ns / 2);
        (time_ns / plan.width_ns + up).saturating_mul(plan.width_ns)
    };
    let span = (round(last_ns) - round(first_ns)) / plan.width_ns;
    if span <= 0 {
        return Ok(Vec::new());
    }
    let count = usize::try_from(plan.count).unwrap_or(usize::MAX);
    let steps = usize::try_from(span).unwrap_or(usize::MAX).saturating_add(1);
    let mut charge = meter.open();
    charge.resize(steps.saturating_add(count).saturating_mul(STEP_BYTES))?;
    let mut turns = Turns::default();
    let mut values = Vec::with_capacity(steps);
    values.push(first);
    let mut time_ns = round(first_ns);
    for &(at_ns, value) in points.get(1..).unwrap_or_default() {
        let rounded = round(at_ns);
        if rounded <= time_ns {
            continue;
        }
        time_ns += plan.width_ns;
        while rounded != time_ns {
            turns.turn(meter)?;
            values.push(f64::NAN);
            time_ns += plan.width_ns;
        }
        values.push(value);
    }
    let mut model = Model { values, is_seasonal };
    let start = model.start(season);
    let best = model.fit(start, meter)?;
    let forecast = model.run(count, best, meter)?;
    let skipped = if plan.with_fit { 0 } else { model.values.len() };
    let origin_ns = if plan.with_fit { first_ns } else { last_ns + plan.width_ns };
    let results = forecast.into_iter().skip(skipped).zip(0i64..);
    let stamped = results.map(|(value, at)| (origin_ns + at * plan.width_ns, value));
    Ok(stamped.filter(|(_, value)| !value.is_nan()).collect())
}

struct Model {
    /// Values at equal distances; NaN where there is none.
    values: Vec<f64>,
    is_seasonal: bool,
}

impl Model {
    fn value(&self, at: usize) -> f64 {
        self.values.get(at).copied().unwrap_or(f64::NAN)
    }

    /// Level, trend and season as a first glance has them, behind room for the weights.
    fn start(&self, season: usize) -> Vec<f64> {
        let mut start = vec![0.0; 4];
        if !self.is_seasonal {
            let (first, second) = (self.value(0), self.value(1));
            let trend = if second.is_nan() { 0.0 } else { 0.5 * (second - first) };
            start.extend([0.5 * first, trend]);
            return start;
        }
        let (mut level, mut trend, length) = (0.0, 0.0, season as f64);
        for at in 0..season {
            let (value, next) = (self.value(at), self.value(season + at));
            if !value.is_nan() {
                level += (1.0 / length) * value;
            }
            if !value.is_nan() && !next.is_nan() {
                trend += 1.0 / (length * length) * (next - value);
            }
        }
        start.extend([level, trend]);
        let share = |value: f64| if value.is_nan() { 0.0 } else { value / level };
        start.extend((0..season).map(|at| share(self.value(at))));
        start
    }

    fn fit(&mut self, mut start: Vec<f64>, meter: &Meter) -> Result<Vec<f64>, Error> {
        let mut best: Option<(f64, Vec<f64>)> = None;
        for number in 0..16usize {
            for (place, weight) in start.iter_mut().take(4).enumerate() {
                *weight = if number >> (3 - place) & 1 == 0 { GUESSES[0] } else { GUESSES[1] };
            }
            meter.check(self.values.len())?;
            let error = |parameters: &mut [f64]| self.error(parameters, meter);
            let mut charge = meter.open();
            charge.resize(simplex_bytes(start.len()))?;
            let (error, parameters) = minimise(&start, error, meter)?;
            if best.as_ref().is_none_or(|(least, _)| error < *least) {
                best = Some((error, parameters));
            }
        }
        Ok(best.map_or(start, |(_, parameters)| parameters))
    }

    /// The squared error of the model's values. Every look at it is work of its own, as long as
    /// there are values.
    fn error(&self, parameters: &mut [f64], meter: &Meter) -> Result<f64, Error> {
        meter.check(0)?;
        let mut constrained = parameters.to_vec();
        let modelled = self.run_in(0, &mut constrained, meter)?;
        parameters.copy_from_slice(&constrained);
        let mut error = 0.0;
        for (value, modelled) in self.values.iter().zip(modelled) {
            if value.is_nan() {
                continue;
            }
            if modelled.is_nan() {
                return Ok(f64::INFINITY);
            }
            error += (modelled - value) * (modelled - value);
        }
        Ok(error)
    }

    fn run(
        &self,
        ahead: usize,
        mut parameters: Vec<f64>,
        meter: &Meter,
    ) -> Result<Vec<f64>, Error> {
        self.run_in(ahead, &mut parameters, meter)
    }

    /// The model's values, and `ahead` more. Parameters are cut to their range, and seasons are
    /// left as the run has changed them: the search goes on from there.
    fn run_in(
        &self,
        ahead: usize,
        parameters: &mut [f64],
        meter: &Meter,
    ) -> Result<Vec<f64>, Error> {
        let none = || Ok(Vec::new());
        let Some((head, seasons)) = parameters.split_at_mut_checked(6) else { return none() };
        let &mut [ref mut weights @ .., level, trend] = head else { return none() };
        weights.iter_mut().for_each(|weight| *weight = weight.clamp(0.0, 1.0));
        let &mut [alpha, beta, gamma, phi] = weights else { return none() };
        let (mut level, mut trend, mut damping) = (level, trend, phi);
        let mut value = self.value(0);
        let mut offset = seasons.len().saturating_sub(1);
        let count = self.values.len() + ahead;
        let mut out = Vec::with_capacity(count);
        out.push(value);
        // A run may have millions of steps: windows of a nanosecond make them of two points.
        let mut turns = Turns::default();
        for step in 1..count {
            turns.turn(meter)?;
            let (mut season, mut season_ahead) = (1.0, 1.0);
            let length = seasons.len();
            if self.is_seasonal && length > 0 {
                let at = |place: usize| seasons.get(place % length).copied().unwrap_or(1.0);
                // Steps count from 1; adding a whole season keeps places above zero.
                season = at(step + offset);
                season_ahead = at(step + step % length + offset);
            }
            let before = level + phi * trend;
            let next_level = alpha * (value / season) + (1.0 - alpha) * before;
            let next_trend = beta * (next_level - level) + (1.0 - beta) * phi * trend;
            let next_season = gamma * (value / before) + (1.0 - gamma) * season;
            value = (next_level + damping * next_trend) * season_ahead;
            (level, trend) = (next_level, next_trend);
            damping += power(phi, step);
            if self.is_seasonal && length > 0 {
                if let Some(place) = seasons.get_mut((step + offset) % length) {
                    *place = next_season;
                }
                offset += 1;
            }
            out.push(value);
        }
        Ok(out)
    }
}

/// `base` to a whole number by squaring: the search follows the last bit of every result, so how
/// that is rounded must not depend on a library.
fn power(mut base: f64, mut exponent: usize) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

/// What the search over so many parameters holds: a corner more than parameters, and some to try.
fn simplex_bytes(parameters: usize) -> usize {
    let corner = parameters.saturating_mul(size_of::<f64>()).saturating_add(32);
    corner.saturating_mul(parameters.saturating_add(8))
}

/// Finds parameters near `start` for which `error` is least.
fn minimise(
    start: &[f64],
    error: impl Fn(&mut [f64]) -> Result<f64, Error>,
    meter: &Meter,
) -> Result<(f64, Vec<f64>), Error> {
    let n = start.len();
    let (count, root) = (n as f64, (n as f64 + 1.0).sqrt());
    let far = (root - 1.0 + count) / (count * std::f64::consts::SQRT_2);
    let near = (root - 1.0) / (count * std::f64::consts::SQRT_2);
    let corner = |corner: usize| -> Vec<f64> {
        let shifted = start.iter().enumerate().map(|(at, value)| match corner {
            0 => *value,
            _ if corner - 1 == at => far + value,
            _ => near + value,
        });
        shifted.collect()
    };
    let mut corners: Vec<(f64, Vec<f64>)> = Vec::with_capacity(n + 1);
    for number in 0..=n {
        let mut corner = corner(number);
        corners.push((error(&mut corner)?, corner));
    }
    for _ in 0..STEPS_MAX {
        step(&mut corners, &error, meter)?;
        let mean = corners.iter().map(|(error, _)| error).sum::<f64>() / (count + 1.0);
        let spread: f64 =
            corners.iter().map(|(error, _)| (error - mean) * (error - mean) / count).sum();
        if spread.sqrt() < EPSILON {
            break;
        }
    }
    let least = position(&corners, |a, b| a < b);
    let best = corners.swap_remove(least).1;
    Ok((error(&mut best.clone())?, best))
}

/// The first corner whose error no other one is better than.
fn position(corners: &[(f64, Vec<f64>)], is_better: impl Fn(f64, f64) -> bool) -> usize {
    let mut best = (0, corners.first().map_or(f64::NAN, |(error, _)| *error));
    for (at, (error, _)) in corners.iter().enumerate() {
        if is_better(*error, best.1) {
            best = (at, *error);
        }
    }
    best.0
}

/// Replaces the worst corner, or draws all of them toward the best one.
fn step(
    corners: &mut [(f64, Vec<f64>)],
    error: &impl Fn(&mut [f64]) -> Result<f64, Error>,
    meter: &Meter,
) -> Result<(), Error> {
    let worst = position(corners, |a, b| a > b);
    let best = position(corners, |a, b| a < b);
    let error_at = |corners: &[(f64, Vec<f64>)], at: usize| corners.get(at).map_or(0.0, |c| c.0);
    let (worst_error, best_error) = (error_at(corners, worst), error_at(corners, best));
    let mut second = (best, best_error);
    for (at, (error, _)) in corners.iter().enumerate() {
        if *error > second.1 && *error < worst_error {
            second = (at, *error);
        }
    }
    let n = corners.len() - 1;
    let worst_corner = corners.get(worst).map(|(_, corner)| corner.clone()).unwrap_or_default();
    let others = || corners.iter().enumerate().filter(|(at, _)| *at != worst);
    // With a season of thousands each axis is a walk through thousands of corners.
    let mut turns = Turns::default();
    let centre = (0..n).map(|axis| {
        turns.turn(meter)?;
        let values = others().filter_map(|(_, (_, corner))| corner.get(axis));
        Ok(values.sum::<f64>() / n as f64)
    });
    let centre = centre.collect::<Result<Vec<f64>, Error>>()?;
    let along = |scale: f64, from: &[f64]| -> Vec<f64> {
        centre.iter().zip(from).map(|(centre, from)| centre + scale * (from - centre)).collect()
    };
    let mut reflected = along(-1.0, &worst_corner);
    let reflected_error = error(&mut reflected)?;
    if reflected_error < second.1 {
        let mut chosen = (reflected_error, reflected.clone());
        if reflected_error < best_error {
            let mut expanded = along(2.0, &reflected);
            let expanded_error = error(&mut expanded)?;
            if expanded_error < reflected_error {
                chosen = (expanded_error, expanded);
            }
        }
        set(corners, worst, chosen);
        return Ok(());
    }
    let from = if reflected_error < worst_error { &reflected } else { &worst_corner };
    let mut contracted = along(0.5, from);
    let contracted_error = error(&mut contracted)?;
    if contracted_error < worst_error {
        set(corners, worst, (contracted_error, contracted));
        return Ok(());
    }
    let best_corner = corners.get(best).map(|(_, corner)| corner.clone()).unwrap_or_default();
    for (at, (_, corner)) in corners.iter_mut().enumerate() {
        turns.turn(meter)?;
        if at != best {
            let halves = corner.iter_mut().zip(&best_corner);
            halves.for_each(|(value, best)| *value = best + (*value - best) / 2.0);
        }
    }
    for at in [worst, second.0] {
        if let Some((value, corner)) = corners.get_mut(at) {
            *value = error(corner)?;
        }
    }
    Ok(())
}

fn set(corners: &mut [(f64, Vec<f64>)], at: usize, corner: (f64, Vec<f64>)) {
    corners.get_mut(at).into_iter().for_each(|place| *place = corner.clone());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cancel, Limits};

    #[test]
    fn the_simplex_finds_the_bottom_of_a_valley() {
        // H. H. Rosenbrock, "An automatic method for finding the greatest or least value of a
        // function", 1960: the least value is 0 at (1, 1).
        let valley = |p: &mut [f64]| {
            let [x, y] = p else { return Ok(f64::NAN) };
            Ok(100.0 * (*y - *x * *x).powi(2) + (1.0 - *x).powi(2))
        };
        let meter = Meter::new(Limits::default(), Cancel::default());
        let (error, found) = minimise(&[-1.2, 1.0], valley, &meter).unwrap();
        assert!(error < 1e-3, "{error} at {found:?}");
    }

    #[test]
    fn a_search_takes_from_the_account() {
        let points: Vec<(i64, f64)> = (0..5000).map(|at| (at, (at % 7) as f64)).collect();
        let plan = Forecast { count: 10, season: 4000, with_fit: false, width_ns: 1 };
        let seconds = std::time::Duration::from_millis(50);
        let slow = Meter::new(Limits { seconds, ..Limits::default() }, Cancel::default());
        let found = forecast(&plan, &points, &slow);
        assert!(matches!(found, Err(Error::Deadline { .. })), "{found:?}");
        assert!(slow.memory_peak_bytes() > 4000 * 4000 * 8);
        let small =
            Meter::new(Limits { memory_bytes: 1 << 20, ..Limits::default() }, Cancel::default());
        let found = forecast(&plan, &points, &small);
        assert!(matches!(found, Err(Error::Memory { .. })), "{found:?}");
    }

    /// Two points and windows of a nanosecond are a run of forty million steps, which takes far
    /// longer than anybody who gave up waits. The clock is the oracle.
    #[test]
    fn a_long_run_ends_soon_when_it_is_stopped() {
        let points = [(0, 1.0), (40_000_000, 2.0)];
        let plan = Forecast { count: 1, season: 0, with_fit: false, width_ns: 1 };
        let cancel = Cancel::default();
        let limits = Limits { memory_bytes: 4 << 30, ..Limits::default() };
        let meter = Meter::new(limits, cancel.clone());
        let gave_up = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(100));
            cancel.cancel();
            std::time::Instant::now()
        });
        let found = forecast(&plan, &points, &meter);
        let ended = std::time::Instant::now();
        assert!(matches!(found, Err(Error::Cancelled)), "{found:?}");
        let late = ended.saturating_duration_since(gave_up.join().unwrap());
        assert!(late < std::time::Duration::from_millis(500), "{late:?}");
    }

    #[test]
    fn a_line_goes_on() {
        let meter = Meter::new(Limits::default(), Cancel::default());
        let points: Vec<(i64, f64)> = (0..20).map(|at| (at * 10, 100.0 + at as f64)).collect();
        let plan = Forecast { count: 3, season: 0, with_fit: false, width_ns: 10 };
        let found = forecast(&plan, &points, &meter).unwrap();
        assert_eq!(found.iter().map(|(time_ns, _)| *time_ns).collect::<Vec<_>>(), [200, 210, 220]);
        assert!(found.iter().all(|(_, value)| (value - 121.0).abs() < 5.0), "{found:?}");
        let with_fit = Forecast { with_fit: true, ..plan };
        assert_eq!(forecast(&with_fit, &points, &meter).unwrap().len(), 23);
        assert!(forecast(&plan, &points[..1], &meter).unwrap().is_empty());
    }
}
