//! The runs of one cell: the same measurement, repeated. What they found is told as a median with
//! its range, and whether anything may be concluded from it is decided here and nowhere else.

/// Runs that a cell needs before anything is concluded from it.
pub(crate) const RUNS_MIN: usize = 5;

/// A run that lasted less, and cost the server less than [`CPU_TICKS_MIN`], is too short to judge
/// by.
const MEASURED_S_MIN: f64 = 10.0;

/// Processor time is counted in ticks of ten milliseconds: of two hundred, one is half a percent.
const CPU_TICKS_MIN: u64 = 200;
const TICK_MS: u64 = 10;

/// Says so where a run was too short for a verdict.
pub(crate) fn too_short(measured_s: f64, server_cpu_ms: u64) -> Option<String> {
    let ticks = server_cpu_ms / TICK_MS;
    (measured_s < MEASURED_S_MIN && ticks < CPU_TICKS_MIN)
        .then(|| format!("too short: {measured_s:.2} s, {ticks} ticks of processor time"))
}

/// A run that may end early lasts so long at least, so that a pause of the server is not all of it.
const EARLY_S_MIN: f64 = 3.0;

/// A tenth more than a verdict wants, because costs are read again when the last reply is there.
const EARLY_TICKS_MIN: u64 = CPU_TICKS_MIN + CPU_TICKS_MIN / 10;

/// Whether a run that may end early can end.
pub(crate) fn is_enough(measured_s: f64, server_cpu_ms: u64) -> bool {
    measured_s >= EARLY_S_MIN && server_cpu_ms / TICK_MS >= EARLY_TICKS_MIN
}

/// What a single run can say about itself.
pub(crate) trait Measured {
    /// Why nothing may be concluded from the run; none when it is valid.
    fn void(&self) -> Option<String>;
}

/// The runs of one cell, in the order in which they were made.
#[derive(Clone, Debug)]
pub(crate) struct Runs<R>(Vec<R>);

/// A figure of a valid cell. Plots and sentences take nothing else, and only [`Runs::sound`] makes
/// one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sound(Figure);

/// What the runs of a cell found for one quantity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) most: f64,
}

impl Sound {
    /// The median.
    pub(crate) fn value(self) -> f64 {
        self.0.median
    }

    /// What the least and the greatest of the runs found.
    pub(crate) fn range(self) -> (f64, f64) {
        (self.0.least, self.0.most)
    }
}

impl<R: Measured> Runs<R> {
    pub(crate) fn new(runs: Vec<R>) -> Runs<R> {
        Runs(runs)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &R> {
        self.0.iter()
    }

    /// Why nothing may be concluded from the cell; none when it is valid.
    pub(crate) fn void(&self) -> Option<String> {
        let voids: Vec<String> = self.iter().filter_map(R::void).collect();
        let (count, bad) = (self.0.len(), voids.len());
        match voids.into_iter().next() {
            Some(why) if count == 1 => Some(why),
            Some(why) => Some(format!("{bad} of {count} runs: {why}")),
            None if count < RUNS_MIN => Some(format!("{count} of at least {RUNS_MIN} runs")),
            None => None,
        }
    }

    /// A quantity over all runs; none where a run withholds it.
    pub(crate) fn figure(&self, of: impl Fn(&R) -> Option<f64>) -> Option<Figure> {
        let values: Option<Vec<f64>> = self.iter().map(of).collect();
        let mut values = values?;
        values.sort_unstable_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let middle = |at: usize| values.get(at).copied().unwrap_or(most);
        let count = values.len();
        // Of an even number of runs, half way between the two in the middle.
        let median = f64::midpoint(middle((count - 1) / 2), middle(count / 2));
        Some(Figure { least, median, most })
    }

    /// A quantity where the cell is valid.
    pub(crate) fn sound(&self, of: impl Fn(&R) -> Option<f64>) -> Option<Sound> {
        if self.void().is_some() {
            return None;
        }
        self.figure(of).map(Sound)
    }

    /// A quantity for a table: the median, and its range where runs differ; a stroke where it is
    /// withheld.
    pub(crate) fn cell(
        &self,
        of: impl Fn(&R) -> Option<f64>,
        show: impl Fn(f64) -> String,
    ) -> String {
        let Some(Figure { least, median, most }) = self.figure(of) else { return "-".to_owned() };
        let (least, most) = (show(least), show(most));
        match least == most {
            true => most,
            false => format!("{} ({least} to {most})", show(median)),
        }
    }
}

/// A figure of a cell that was never run.
#[cfg(test)]
pub(crate) fn sound_for_tests(least: f64, median: f64, most: f64) -> Sound {
    Sound(Figure { least, median, most })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Run(f64, Option<&'static str>);

    impl Measured for Run {
        fn void(&self) -> Option<String> {
            self.1.map(str::to_owned)
        }
    }

    fn runs(values: &[f64]) -> Runs<Run> {
        Runs::new(values.iter().map(|value| Run(*value, None)).collect())
    }

    #[test]
    fn a_run_that_ends_early_is_one_that_counts() {
        assert!(!is_enough(EARLY_S_MIN - 0.1, 60_000), "a pause may have been all of it");
        assert!(!is_enough(EARLY_S_MIN, EARLY_TICKS_MIN * TICK_MS - 1));
        assert!(is_enough(EARLY_S_MIN, EARLY_TICKS_MIN * TICK_MS));
        assert_eq!(too_short(EARLY_S_MIN, CPU_TICKS_MIN * TICK_MS), None);
    }

    #[test]
    fn medians_stand_with_their_range() {
        let five = runs(&[5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!(five.cell(|run| Some(run.0), |v| format!("{v}")), "3 (1 to 5)");
        let four = runs(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!(four.figure(|run| Some(run.0)).unwrap().median, 2.5);
        assert_eq!(runs(&[7.0]).cell(|run| Some(run.0), |v| format!("{v}")), "7");
        assert_eq!(five.cell(|run| Some(run.0).filter(|v| *v > 1.0), |v| format!("{v}")), "-");
    }

    #[test]
    fn nothing_is_concluded_from_few_runs_or_from_one_that_is_void() {
        let five = [1.0; 5];
        assert_eq!(runs(&five).sound(|run| Some(run.0)), Some(sound_for_tests(1.0, 1.0, 1.0)));
        assert_eq!(runs(&five[1..]).sound(|run| Some(run.0)), None);
        assert_eq!(runs(&five[1..]).void().unwrap(), "4 of at least 5 runs");
        let mut with_one = runs(&five);
        with_one.0[3].1 = Some("client-limited");
        assert_eq!(with_one.sound(|run| Some(run.0)), None);
        assert_eq!(with_one.void().unwrap(), "1 of 5 runs: client-limited");
    }
}
