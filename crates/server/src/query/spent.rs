//! Where the time of a request went: into the steps of its plans, into what was printed of them, or
//! into all else.

use std::time::{Duration, Instant};

/// What carrying plans out took so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spent {
    /// Carrying out, without what was printed meanwhile.
    pub(crate) steps: Duration,
    /// Printing what came of it, and sending that.
    pub(crate) printing: Duration,
}

/// A plan that is being carried out.
pub(super) struct Carried {
    began: Instant,
    printing_before: Duration,
}

impl Spent {
    pub(super) fn begin(&self) -> Carried {
        Carried { began: Instant::now(), printing_before: self.printing }
    }

    /// Prints something.
    pub(super) fn print<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let began = Instant::now();
        let printed = work();
        self.printing += began.elapsed();
        printed
    }

    /// The plan was carried out, whatever came of it.
    pub(super) fn end(&mut self, carried: Carried) {
        let printing = self.printing - carried.printing_before;
        self.steps += carried.began.elapsed().saturating_sub(printing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_on_the_way_is_no_step() {
        let pause = Duration::from_millis(20);
        let mut spent = Spent::default();
        spent.print(|| std::thread::sleep(pause));
        let began = Instant::now();
        let carried = spent.begin();
        spent.print(|| std::thread::sleep(pause));
        spent.end(carried);
        assert!(spent.printing >= 2 * pause, "{spent:?}");
        assert!(spent.steps <= began.elapsed() - pause, "{spent:?}");
    }
}
