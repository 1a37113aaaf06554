//! A wind farm: the model behind it is ours, in place of the unpublished one of the TS-Benchmark
//! talks (github.com/dbiir/TS-Benchmark). 26 physical sensors per turbine follow one simulated
//! wind, the rest follow iotdb-benchmark's families, which come from the same kind of machine.
//!
//! 1. Farm factor: ARMA(2,1) on a 10 min grid, as a truncated moving average over counter-based
//!    noise, so that any time can be computed alone; linear between grid points.
//! 2. Turbulence of a turbine: AR(1) at the reporting interval, the same way.
//! 3. Wind speed: the Weibull quantile (k = 2, c = 8 m/s) of the weighted sum, times a diurnal
//!    factor of 15 %; turbines further down the wind see the farm factor later.
//! 4. Power of a 1 500 kW machine: nothing below 3 m/s, cubic to 11, rated to 25, cut out above.
//!    Everything else follows from wind and power.

use std::f64::consts::TAU;
use std::sync::LazyLock;

use super::table::{Field, Label, Table};
use super::worlds::IOTDB;
use crate::law::{Kind, Law, Start};
use crate::random::{Draws, Normal, Purpose};

/// Turbines of one farm.
const TURBINES_PER_FARM: u64 = 50;

/// Grid of the farm factor.
const GRID_MS: i64 = 600_000;

/// Terms of the moving averages; these keep 99.99 % of the variance.
const FARM_TERMS: usize = 96;
const TURBULENCE_TERMS: usize = 64;

/// Grid points that a row needs: now and the past twenty minutes.
const GRID_POINTS: usize = 4;

const RATED_KW: f64 = 1500.0;
const VOLTAGE: f64 = 690.0;

/// (name, digits after the point) of the physical sensors.
const SENSORS: [(&str, u8); 26] = [
    ("wind_speed", 2),
    ("wind_direction", 1),
    ("power", 1),
    ("pitch", 2),
    ("rotor_speed", 2),
    ("generator_speed", 1),
    ("torque", 2),
    ("voltage", 1),
    ("current", 1),
    ("reactive_power", 1),
    ("frequency", 3),
    ("power_factor", 3),
    ("nacelle_direction", 1),
    ("ambient_temperature", 1),
    ("humidity", 1),
    ("pressure", 2),
    ("bearing_front_temperature", 1),
    ("bearing_rear_temperature", 1),
    ("gearbox_temperature", 1),
    ("gear_oil_temperature", 1),
    ("winding_temperature", 1),
    ("nacelle_temperature", 1),
    ("cabinet_temperature", 1),
    ("vibration_x", 3),
    ("vibration_y", 3),
    ("tower_sway", 3),
];

/// The one table: measurement `turbine`.
pub(super) fn table(seed: u64, fields: usize) -> Table {
    let physical = SENSORS
        .iter()
        .map(|(name, digits)| Field::new(name, Kind::Decimal(*digits), Law::Still(Start::At(0.0))));
    let others = (SENSORS.len()..fields).map(|sensor| {
        let name = format!("s{}", sensor + 1);
        let none = || Field::new(&name, Kind::Decimal(2), Law::Still(Start::At(0.0)));
        IOTDB.like_numbered(seed, sensor as u64, &name).unwrap_or_else(|_| none())
    });
    let fields = physical.take(fields).chain(others).collect();
    Table { name: "turbine", groups: 0, source_label: "device", fields, state_at: 0 }
}

/// Farm and turbine.
pub(super) fn labels(source: u64, out: &mut Vec<Label>) {
    out.push(Label::numbered("farm", "f", source / TURBINES_PER_FARM));
    out.push(Label::numbered("device", "d", source));
}

/// Writes the physical sensors over the first values of a row.
pub(crate) fn physics(seed: u64, source: u64, step: u64, time_ms: i64, out: &mut [i64]) {
    let weather = Weather::of(seed, source, step, time_ms);
    let sensors = weather.sensors();
    for ((value, (_, digits)), sensor) in out.iter_mut().zip(SENSORS).zip(sensors) {
        *value = (sensor * 10f64.powi(i32::from(digits))) as i64;
    }
}

/// What a turbine experiences at one moment.
struct Weather {
    draws: Draws,
    time_ms: i64,
    /// Metres per second.
    speed: f64,
    /// Kilowatts now, 10 and 20 minutes ago.
    power: [f64; 3],
}

/// Weights of the moving average that equals ARMA(2,1) with phi = (1.32, -0.35), theta = -0.25,
/// scaled to unit variance (Box and Jenkins, "Time Series Analysis", chapter 3.4).
static FARM_WEIGHTS: LazyLock<[f64; FARM_TERMS]> = LazyLock::new(|| {
    let mut weights = [0.0; FARM_TERMS];
    let (mut before, mut last) = (0.0, 0.0);
    for (at, weight) in weights.iter_mut().enumerate() {
        *weight = match at {
            0 => 1.0,
            1 => 1.32 - 0.25,
            _ => 1.32 * last - 0.35 * before,
        };
        (before, last) = (last, *weight);
    }
    normalised(weights)
});

/// The same for AR(1) with phi = 0.92.
static TURBULENCE_WEIGHTS: LazyLock<[f64; TURBULENCE_TERMS]> =
    LazyLock::new(|| normalised(std::array::from_fn(|at| 0.92f64.powi(at as i32))));

fn normalised<const N: usize>(weights: [f64; N]) -> [f64; N] {
    let norm = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    weights.map(|weight| weight / norm)
}

impl Weather {
    fn of(seed: u64, source: u64, step: u64, time_ms: i64) -> Weather {
        let farm = source / TURBINES_PER_FARM;
        // Ten rows of five turbines; a front takes a minute from row to row.
        let lag_ms = (source % TURBINES_PER_FARM) as i64 / 5 * 60_000;
        let seen_ms = time_ms - lag_ms;
        let grid = farm_factors(seed, farm, seen_ms.div_euclid(GRID_MS));
        let within = seen_ms.rem_euclid(GRID_MS) as f64 / GRID_MS as f64;
        let gust = turbulence(seed, source, step);
        let hour = (time_ms.rem_euclid(86_400_000)) as f64 / 86_400_000.0;
        let diurnal = 1.0 + 0.15 * (TAU * hour).sin();
        // Grid points come newest first: the one after now, then those before.
        let mut speeds = grid.windows(2).map(|pair| match pair {
            [newer, older] => {
                let factor = older + (newer - older) * within;
                weibull(normal_share(0.95 * factor + 0.31 * gust)) * diurnal
            }
            _ => 0.0,
        });
        let speeds: [f64; 3] = std::array::from_fn(|_| speeds.next().unwrap_or_default());
        let draws = Draws::at(seed, Purpose::Values, source << 8, step);
        let [speed, ..] = speeds;
        Weather { draws, time_ms, speed, power: speeds.map(power_kw) }
    }

    /// Values of the physical sensors in their order.
    fn sensors(&self) -> [f64; SENSORS.len()] {
        let noise = |lane: u64| Normal::table().draw(self.draws.lane(1000 + lane));
        let [power, earlier, earliest] = self.power;
        let load = (0.5 * power + 0.3 * earlier + 0.2 * earliest) / RATED_KW;
        let day = (self.time_ms as f64 / 86_400_000.0).rem_euclid(365.25);
        let hour = day.fract();
        let ambient = 9.0 - 11.0 * (TAU * day / 365.25).cos() - 4.0 * (TAU * hour).cos();
        let ambient = ambient + 0.3 * noise(0);
        let direction = (220.0 + 60.0 * (TAU * day / 5.3).sin() + 4.0 * noise(1)).rem_euclid(360.0);
        let pitch = match power {
            power if power >= RATED_KW => 2.0 * (self.speed - 11.0),
            power if power > 0.0 => 0.0,
            _ => 87.8,
        };
        let rotor = if power > 0.0 { (1.9 * self.speed).clamp(9.0, 17.3) } else { 0.0 };
        let voltage = VOLTAGE + 1.5 * noise(2);
        let factor = 0.98 + 0.002 * noise(3).clamp(-3.0, 3.0);
        let current = power * 1000.0 / (3f64.sqrt() * voltage * factor);
        let torque = if rotor > 0.0 { power / (rotor * TAU / 60.0) } else { 0.0 };
        let warm = |gain: f64, lane: u64| ambient + gain * load + 0.2 * noise(lane);
        let shake = |gain: f64, lane: u64| gain * (self.speed / 12.0) * noise(lane);
        [
            self.speed,
            direction,
            power,
            pitch,
            rotor,
            rotor * 104.2,
            torque,
            voltage,
            current,
            power * 0.2,
            50.0 + 0.01 * noise(4).clamp(-3.0, 3.0),
            factor,
            (direction + 2.0 * noise(5)).rem_euclid(360.0),
            ambient,
            (70.0 - 1.6 * (ambient - 9.0) + 2.0 * noise(6)).clamp(5.0, 100.0),
            987.0 + 12.0 * (TAU * day / 7.9).sin() + 0.1 * noise(7),
            warm(32.0, 8),
            warm(28.0, 9),
            warm(45.0, 10),
            warm(38.0, 11),
            warm(70.0, 12),
            warm(12.0, 13),
            warm(9.0, 14),
            shake(0.08, 15),
            shake(0.06, 16),
            shake(0.03, 17),
        ]
    }
}

/// Farm factors at the grid point after `point` and at those before it, newest first.
fn farm_factors(seed: u64, farm: u64, point: i64) -> [f64; GRID_POINTS] {
    let newest = point + 1;
    let mut noise = [0.0; FARM_TERMS + GRID_POINTS];
    for (back, noise) in noise.iter_mut().enumerate() {
        let at = (newest - back as i64) as u64;
        let draws = Draws::at(seed, Purpose::Weather, farm, at);
        *noise = Normal::table().draw(draws.lane(0));
    }
    std::array::from_fn(|back| {
        let past = noise.iter().skip(back);
        FARM_WEIGHTS.iter().zip(past).map(|(weight, noise)| weight * noise).sum()
    })
}

fn turbulence(seed: u64, source: u64, step: u64) -> f64 {
    let weights = TURBULENCE_WEIGHTS.iter().enumerate();
    let term = |(back, weight): (usize, &f64)| {
        let at = step.wrapping_sub(back as u64);
        let draws = Draws::at(seed, Purpose::Weather, u64::MAX - source, at);
        weight * Normal::table().draw(draws.lane(0))
    };
    weights.map(term).sum()
}

/// Share of the standard normal distribution below `z`, absolute error below 7.5e-8.
///
/// Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.2.17.
fn normal_share(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.2316419 * z.abs());
    let terms = [1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.319381530];
    let series = terms.iter().fold(0.0, |sum, term| (sum + term) * t);
    let tail = (-z * z / 2.0).exp() / TAU.sqrt() * series;
    if z > 0.0 { 1.0 - tail } else { tail }
}

/// Weibull quantile with k = 2, c = 8 m/s.
fn weibull(share: f64) -> f64 {
    8.0 * (-(1.0 - share.min(1.0 - 1e-12)).ln()).sqrt()
}

fn power_kw(speed: f64) -> f64 {
    match speed {
        speed if !(3.0..25.0).contains(&speed) => 0.0,
        speed if speed >= 11.0 => RATED_KW,
        speed => RATED_KW * (speed.powi(3) - 27.0) / (1331.0 - 27.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_farm_factor_has_the_autocorrelation_of_its_model() {
        let series: Vec<f64> = (0..30_000).map(|at| farm_factors(7, 1, at)[0]).collect();
        let mean = series.iter().sum::<f64>() / series.len() as f64;
        let covariance = |lag: usize| {
            let pairs = series.iter().zip(series.iter().skip(lag));
            pairs.map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / (series.len() - lag) as f64
        };
        let variance = covariance(0);
        assert!((variance - 1.0).abs() < 0.08, "{variance}");
        for (lag, expected) in [(1, 0.965), (3, 0.882), (6, 0.763)] {
            let found = covariance(lag) / variance;
            assert!((found - expected).abs() < 0.02, "lag {lag}: {found}");
        }
    }

    #[test]
    fn wind_is_weibull_and_power_stays_within_the_rating() {
        let mut speeds = Vec::new();
        for source in [0, 60] {
            for step in 0..4000 {
                let time_ms = 1_767_225_600_000 + step as i64 * 1_800_000;
                let weather = Weather::of(123, source, step * 257, time_ms);
                assert!(weather.power.iter().all(|power| (0.0..=RATED_KW).contains(power)));
                speeds.push(weather.speed);
            }
        }
        let count = speeds.len() as f64;
        let mean = speeds.iter().sum::<f64>() / count;
        let square = speeds.iter().map(|speed| speed * speed).sum::<f64>() / count;
        // Moments of Weibull with k = 2: mean c sqrt(pi)/2, mean square c squared.
        assert!((mean / 7.0898 - 1.0).abs() < 0.05, "{mean}");
        assert!((square / 64.0 / (1.0 + 0.0225 / 2.0) - 1.0).abs() < 0.1, "{square}");
    }
}
