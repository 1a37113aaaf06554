//! Indicators of the technical analysis of prices.
//!
//! Definitions are those of TA-Lib as InfluxDB 1.8 documents them; averages that are begun
//! exponentially weigh the first values evenly.

use foliot_plan::rows::{Period, Smooth, Warmup};
use std::collections::VecDeque;

/// An indicator under way.
#[derive(Debug)]
pub(super) struct Smoother {
    indicator: Indicator,
    hold: u64,
    count: u64,
}

#[derive(Debug)]
enum Indicator {
    /// One to three averages, each of the one before.
    Averages([Average; 3], usize),
    TripleDerivative([Average; 3], f64),
    RelativeStrength(Strength),
    Efficiency(Efficiency),
    Adaptive(Efficiency, f64),
    Momentum(Momentum),
    SmoothMomentum(Strength),
}

impl Smoother {
    pub(super) fn new(smooth: Smooth) -> Self {
        let average = |period: &Period| Average::new(period.count, period.warmup);
        let three = |period: &Period| [average(period), average(period), average(period)];
        let is_exponential = |period: &Period| period.warmup == Warmup::Exponential;
        let needed = |period: &Period, chained: u64| match is_exponential(period) {
            true => period.count - 1,
            false => (period.count - 1) * chained,
        };
        let (indicator, period, needed) = match smooth {
            Smooth::Exponential(p) => (Indicator::Averages(three(&p), 1), p, needed(&p, 1)),
            Smooth::DoubleExponential(p) => (Indicator::Averages(three(&p), 2), p, needed(&p, 2)),
            Smooth::TripleExponential(p) => (Indicator::Averages(three(&p), 3), p, needed(&p, 3)),
            Smooth::TripleDerivative(p) => {
                (Indicator::TripleDerivative(three(&p), 0.0), p, needed(&p, 3) + 1)
            }
            Smooth::RelativeStrength(p) => {
                (Indicator::RelativeStrength(Strength::new(&p)), p, p.count)
            }
            Smooth::Efficiency(p) => (Indicator::Efficiency(Efficiency::new(p.count)), p, p.count),
            Smooth::Adaptive(p) => (Indicator::Adaptive(Efficiency::new(p.count), 0.0), p, p.count),
            Smooth::Momentum(p) if p.warmup == Warmup::None => {
                (Indicator::Momentum(Momentum::new(p.count)), p, p.count.saturating_sub(1))
            }
            Smooth::Momentum(p) => (Indicator::SmoothMomentum(Strength::new(&p)), p, p.count),
        };
        Self { indicator, hold: period.hold.unwrap_or(needed), count: 0 }
    }

    /// Adds a value, and returns what the indicator says then.
    pub(super) fn add(&mut self, value: f64) -> Option<f64> {
        let result = self.indicator.add(value);
        self.count += 1;
        let drops_infinite = matches!(
            self.indicator,
            Indicator::TripleDerivative(..) | Indicator::Efficiency(_) | Indicator::Adaptive(..)
        );
        let is_dropped = self.count <= self.hold || drops_infinite && result.is_infinite();
        (!is_dropped).then_some(result)
    }
}

impl Indicator {
    fn add(&mut self, value: f64) -> f64 {
        match self {
            Self::Averages([first, second, third], depth) => {
                let one = first.add(value);
                if *depth == 1 {
                    return one;
                }
                let two = if first.is_usable() { second.add(one) } else { one };
                if *depth == 2 {
                    return 2.0 * one - two;
                }
                let three = if second.is_usable() { third.add(two) } else { two };
                3.0 * one - 3.0 * two + three
            }
            Self::TripleDerivative([first, second, third], last) => {
                let mut value = first.add(value);
                if first.is_usable() {
                    value = second.add(value);
                    if second.is_usable() {
                        value = third.add(value);
                    }
                }
                let rate = (value / *last - 1.0) * 100.0;
                *last = value;
                rate
            }
            Self::RelativeStrength(strength) => {
                let (up, down) = strength.add(value);
                100.0 - 100.0 / (1.0 + up / down)
            }
            Self::SmoothMomentum(strength) => {
                let (up, down) = strength.add(value);
                100.0 * ((up - down) / (up + down))
            }
            Self::Efficiency(efficiency) => efficiency.add(value),
            Self::Adaptive(efficiency, last) => {
                if !efficiency.is_warm() {
                    *last = efficiency.newest();
                }
                let (fast, slow) = (2.0 / 3.0, 2.0 / 31.0);
                let weight = (efficiency.add(value) * (fast - slow) + slow).powi(2);
                *last += weight * (value - *last);
                *last
            }
            Self::Momentum(momentum) => momentum.add(value),
        }
    }
}

/// An exponential moving average.
#[derive(Clone, Debug)]
struct Average {
    period: u64,
    weight: f64,
    warmup: Warmup,
    last: f64,
    count: u64,
}

impl Average {
    fn new(period: u64, warmup: Warmup) -> Self {
        Self { period, weight: 2.0 / (period + 1) as f64, warmup, last: 0.0, count: 0 }
    }

    /// Whether what it says is good enough for an average of averages.
    fn is_usable(&self) -> bool {
        self.count == self.period || self.warmup != Warmup::Simple
    }

    fn add(&mut self, value: f64) -> f64 {
        let (count, last) = (self.count as f64, self.last);
        self.last = match (self.count, self.warmup) {
            (0, _) => value,
            (n, Warmup::Simple) if n < self.period => (last * count + value) / (count + 1.0),
            (n, _) if n < self.period => (value - last) * (2.0 / (count + 2.0)) + last,
            _ => (value - last) * self.weight + last,
        };
        self.count = (self.count + 1).min(self.period);
        self.last
    }
}

/// Averages of rises and of falls.
#[derive(Debug)]
struct Strength {
    up: Average,
    down: Average,
    last: f64,
}

impl Strength {
    fn new(period: &Period) -> Self {
        let weight = 1.0 / period.count as f64;
        let average = Average { weight, ..Average::new(period.count + 1, period.warmup) };
        Self { up: average.clone(), down: average, last: 0.0 }
    }

    fn add(&mut self, value: f64) -> (f64, f64) {
        let up = self.up.add((value - self.last).max(0.0));
        let down = self.down.add((self.last - value).max(0.0));
        self.last = value;
        (up, down)
    }
}

/// How straight the way of the last values was. Before them, values were 0.
#[derive(Debug)]
struct Efficiency {
    /// Values and the steps to them, oldest first.
    points: VecDeque<(f64, f64)>,
    noise: f64,
    count: u64,
}

impl Efficiency {
    fn new(period: u64) -> Self {
        let period = usize::try_from(period).unwrap_or(usize::MAX).min(1 << 20);
        Self { points: VecDeque::from(vec![(0.0, 0.0); period]), noise: 0.0, count: 0 }
    }

    fn is_warm(&self) -> bool {
        self.count == self.points.len() as u64 + 1
    }

    fn newest(&self) -> f64 {
        self.points.back().map_or(0.0, |(value, _)| *value)
    }

    fn add(&mut self, value: f64) -> f64 {
        let step = (value - self.newest()).abs();
        let (oldest, oldest_step) = self.points.pop_front().unwrap_or_default();
        let signal = (value - oldest).abs();
        self.noise -= oldest_step;
        self.noise += step;
        self.points.push_back((value, step));
        self.count = (self.count + 1).min(self.points.len() as u64 + 1);
        if signal == 0.0 || self.noise == 0.0 { 0.0 } else { signal / self.noise }
    }
}

/// Rises against falls among the last values.
#[derive(Debug)]
struct Momentum {
    steps: VecDeque<f64>,
    last: Option<f64>,
    up: f64,
    down: f64,
}

impl Momentum {
    fn new(period: u64) -> Self {
        let period = usize::try_from(period).unwrap_or(usize::MAX).clamp(2, 1 << 20);
        let steps = VecDeque::from(vec![0.0; period - 1]);
        Self { steps, last: None, up: 0.0, down: 0.0 }
    }

    fn add(&mut self, value: f64) -> f64 {
        let step = self.last.map_or(0.0, |last| value - last);
        self.last = Some(value);
        self.up += step.max(0.0);
        self.down += (-step).max(0.0);
        let result = match self.up != 0.0 || self.down != 0.0 {
            true => 100.0 * ((self.up - self.down) / (self.up + self.down)),
            false => 0.0,
        };
        let oldest = self.steps.pop_front().unwrap_or_default();
        self.up -= oldest.max(0.0);
        self.down -= (-oldest).max(0.0);
        self.steps.push_back(step);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up to 15 and down again, as the published tables of TA-Lib have it.
    fn hill() -> Vec<f64> {
        (1..=15).chain((1..15).rev()).map(f64::from).collect()
    }

    fn run(smooth: Smooth, values: &[f64]) -> Vec<f64> {
        let mut smoother = Smoother::new(smooth);
        values.iter().filter_map(|value| smoother.add(*value)).collect()
    }

    fn period(count: u64, warmup: Warmup) -> Period {
        Period { count, hold: None, warmup }
    }

    fn is_close(found: &[f64], expected: &[f64]) -> bool {
        let pairs = found.iter().zip(expected);
        found.len() >= expected.len() && pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-9)
    }

    #[test]
    fn averages_agree_with_ta_lib() {
        let found = run(Smooth::Exponential(period(10, Warmup::Simple)), &hill());
        let expected = [5.5, 6.5, 7.5, 8.5, 9.5, 10.5, 11.136_363_636_363_637];
        assert!(is_close(&found, &expected), "{found:?}");
        assert_eq!(found.len(), 20);
        let found = run(Smooth::DoubleExponential(period(10, Warmup::Simple)), &hill());
        assert!(is_close(&found, &[13.568_840_926_166_246, 12.701_748_119_313_985]), "{found:?}");
        let found = run(Smooth::TripleExponential(period(4, Warmup::Simple)), &hill());
        let expected = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 14.431_999_999_999_995];
        assert!(is_close(&found, &expected), "{found:?}");
    }

    #[test]
    fn rates_agree_with_ta_lib() {
        let found = run(Smooth::TripleDerivative(period(4, Warmup::Simple)), &hill());
        assert!(is_close(&found, &[18.181_818_181_818_187, 15.384_615_384_615_374]), "{found:?}");
        let found = run(Smooth::RelativeStrength(period(10, Warmup::Simple)), &hill());
        let expected = [100.0, 100.0, 100.0, 100.0, 100.0, 90.0, 81.0];
        assert!(is_close(&found, &expected), "{found:?}");
    }

    #[test]
    fn ratios_and_momenta() {
        let prices = [20.0, 21.0, 22.0, 23.0, 22.0, 21.0];
        let found = run(Smooth::Efficiency(period(3, Warmup::Exponential)), &prices);
        assert!(is_close(&found, &[1.0, 1.0 / 3.0, 1.0 / 3.0]), "{found:?}");
        let found = run(Smooth::Adaptive(period(10, Warmup::Exponential)), &hill());
        assert!(is_close(&found, &[10.444_444_444_444_445, 11.135_802_469_135_802]), "{found:?}");
        let found = run(Smooth::Momentum(period(10, Warmup::None)), &hill());
        assert!(is_close(&found[1..], &[100.0, 100.0, 100.0, 100.0, 100.0, 80.0, 60.0]));
        let found = run(Smooth::Momentum(period(10, Warmup::Simple)), &hill());
        assert!(is_close(
            &found,
            &[100.0, 100.0, 100.0, 100.0, 100.0, 80.0, 61.999_999_999_999_986]
        ));
    }
}
