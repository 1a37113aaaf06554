//! Means over values of which the oldest go.

use std::collections::VecDeque;

/// The values of a window that moves on, with the mean of those that are numbers: in steps that do
/// not grow with the window, and without taking anything off a sum, which would not come out even.
///
/// Two stacks make the queue. Older values lie on one that knows the sums from each of them on;
/// newer ones are summed as they come, and go over when the older ones are used up.
#[derive(Debug, Default)]
pub(crate) struct Sliding {
    /// Sums and counts from a value on, the oldest last.
    older: Vec<(f64, u32)>,
    newer: Vec<f64>,
    sum: (f64, u32),
    times_ns: VecDeque<i64>,
}

impl Sliding {
    pub(crate) fn len(&self) -> usize {
        self.times_ns.len()
    }

    /// Memory outside the struct that a value takes.
    pub(crate) const BYTES_PER_VALUE: usize = 32;

    /// When the oldest value was.
    pub(crate) fn oldest_ns(&self) -> Option<i64> {
        self.times_ns.front().copied()
    }

    pub(crate) fn push(&mut self, time_ns: i64, value: f64) {
        self.times_ns.push_back(time_ns);
        self.newer.push(value);
        self.sum = plus(self.sum, value);
    }

    /// Drops the oldest value.
    pub(crate) fn pop(&mut self) {
        if self.older.is_empty() {
            let mut sum = (0.0, 0);
            for value in self.newer.drain(..).rev() {
                sum = plus(sum, value);
                self.older.push(sum);
            }
            self.sum = (0.0, 0);
        }
        self.older.pop();
        self.times_ns.pop_front();
    }

    /// The mean of the values that are numbers; 0 of none.
    pub(crate) fn mean(&self) -> f64 {
        let (sum, count) = self.older.last().copied().unwrap_or_default();
        let (sum, count) = (sum + self.sum.0, count + self.sum.1);
        if count == 0 { 0.0 } else { sum / f64::from(count) }
    }
}

fn plus((sum, count): (f64, u32), value: f64) -> (f64, u32) {
    if value.is_nan() { (sum, count) } else { (sum + value, count + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By definition: the mean of the numbers in each window, one window after the other.
    fn by_definition(values: &[f64], count: usize) -> Vec<f64> {
        let mean = |end: usize| {
            let window = &values[(end + 1).saturating_sub(count)..=end];
            let numbers: Vec<f64> = window.iter().copied().filter(|v| !v.is_nan()).collect();
            match numbers.len() {
                0 => 0.0,
                len => numbers.iter().sum::<f64>() / len as f64,
            }
        };
        (0..values.len()).map(mean).collect()
    }

    #[test]
    fn moving_averages_are_what_their_definition_says() {
        let value = |n: i64| if n % 11 == 3 { f64::NAN } else { (n * n % 97 - 40) as f64 };
        let values: Vec<f64> = (0..300).map(value).collect();
        for count in [1, 2, 3, 7, 64, 299, 300, 301] {
            let (mut sliding, expected) = (Sliding::default(), by_definition(&values, count));
            for (index, value) in values.iter().enumerate() {
                sliding.push(index as i64, *value);
                if sliding.len() > count {
                    sliding.pop();
                }
                assert_eq!(sliding.oldest_ns(), Some((index + 1).saturating_sub(count) as i64));
                assert!((sliding.mean() - expected[index]).abs() < 1e-9, "{count} at {index}");
            }
        }
    }

    /// Summed window by window these are 10^12 additions.
    #[test]
    fn a_window_as_long_as_the_answer_costs_a_step_for_each_value() {
        let mut sliding = Sliding::default();
        for index in 0..1 << 21 {
            sliding.push(index, 1.0);
            if sliding.len() > 1 << 20 {
                sliding.pop();
            }
            assert_eq!(sliding.mean(), 1.0);
        }
    }
}
