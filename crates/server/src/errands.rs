//! Errands: work on the store that a signal asks for. Of each kind one is done at a time, and one
//! more after it for all who asked meanwhile: so however often it is asked for, a stop finds at
//! most one under way and none waiting.

use crate::jobs::{Job, JobState, Left};
use crate::shared::Shared;
use foliot_access::Principal;
use foliot_engine::{Engine, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A kind of work.
#[derive(Debug)]
pub(crate) struct Errand {
    what: &'static str,
    work: fn(&Engine) -> Result<(), Error>,
    /// How many bytes are left to do, where that can be told.
    left: Option<Left>,
    asked: Asked,
}

impl Errand {
    pub(crate) fn new(
        what: &'static str,
        work: fn(&Engine) -> Result<(), Error>,
        left: Option<Left>,
    ) -> Arc<Self> {
        Arc::new(Self { what, work, left, asked: Asked::default() })
    }

    /// Has it done, if nobody else does, by a thread that may wait.
    pub(crate) fn ask(self: &Arc<Self>, shared: &Arc<Shared>) {
        if !self.asked.is_first() {
            return;
        }
        let (errand, shared) = (self.clone(), shared.clone());
        tokio::task::spawn_blocking(move || errand.asked.answer(&mut || errand.run(&shared)));
    }

    fn run(&self, shared: &Shared) {
        let what = self.what;
        let id = shared.queries.number();
        let asker = Arc::new(Principal::nobody());
        let job = Job::new(id, what, "asked for by a signal".to_owned(), asker);
        let left = self.left.zip(shared.store());
        let left = left.map(|(left, store)| (left(store.engine()), left));
        shared.jobs.begin(job.on_the_store(left));
        let outcome = match shared.is_stopping() {
            true => Some(Err(Error::Closed)),
            false => shared.store().map(|store| (self.work)(store.engine())),
        };
        let (state, said) = match &outcome {
            Some(Ok(())) => (JobState::Done, String::new()),
            Some(Err(error)) => (JobState::Failed, error.to_string()),
            None => (JobState::Failed, "the store is not open yet".to_owned()),
        };
        shared.jobs.end(id, state, said);
        match outcome {
            Some(Ok(())) => log::info!("{what} on request: done"),
            Some(Err(Error::Closed)) => {
                log::info!("{what} on request: left undone, the server stops; nothing is lost");
            }
            Some(Err(error)) => log::error!("cannot {what}: {error}"),
            None => log::warn!("nothing to {what}: the store is not open yet"),
        }
    }
}

/// How many asked for something and were not answered.
#[derive(Debug, Default)]
struct Asked(AtomicU64);

impl Asked {
    /// Counts one who asks; says whether nobody is busy answering.
    fn is_first(&self) -> bool {
        self.0.fetch_add(1, Ordering::AcqRel) == 0
    }

    /// Does the work until nobody waits who asked before it began.
    fn answer(&self, work: &mut dyn FnMut()) {
        loop {
            let asked = self.0.load(Ordering::Acquire);
            work();
            if self.0.fetch_sub(asked, Ordering::AcqRel) == asked {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_meanwhile_is_answered_by_one_more() {
        let asked = Asked::default();
        assert!(asked.is_first());
        let mut done = 0;
        asked.answer(&mut || {
            done += 1;
            if done == 1 {
                assert!((0..200).all(|_| !asked.is_first()));
            }
        });
        assert_eq!(done, 2);
        assert!(asked.is_first(), "and the next is done at once");
    }
}
