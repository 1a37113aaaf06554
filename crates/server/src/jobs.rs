//! Jobs: work that takes long and is no question, as files that are brought in and what a signal
//! asks for. Each is listed while it lasts and for a while after, and can be ended where it comes
//! in pieces. Questions, and changes that are asked as such, are in `queries.rs`.

use crate::metrics::now_ns;
use foliot_access::Principal;
use foliot_engine::Engine;
use foliot_lock::{Mutex, Rank};
use foliot_model::NANOS_PER_MILLI;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Jobs that are listed, those that ended included. What begins beyond that is done all the same.
const JOBS_MAX: usize = 64;

/// A job that comes in pieces is given up when none has come for so long: the page was closed, or
/// the network has gone.
const SILENT_MAX: Duration = Duration::from_secs(60);

/// How a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobState {
    Running,
    Done,
    Failed,
    Cancelled,
    /// Its pieces have ended before it did.
    Silent,
}

impl JobState {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Silent => "silent",
        }
    }
}

/// Tells how many bytes of work on the store are left.
pub(crate) type Left = fn(&Engine) -> u64;

/// A job, as it is listed.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// From the numbers of queries, so that one number means one thing to end.
    pub(crate) id: u64,
    pub(crate) kind: &'static str,
    /// What it is about, for a person.
    pub(crate) text: String,
    pub(crate) database: String,
    /// Whose it is.
    pub(crate) who: Arc<Principal>,
    pub(crate) began_ms: i64,
    pub(crate) ended_ms: Option<i64>,
    /// Bytes that are done, and that there are, of one that comes in pieces.
    pub(crate) bytes: Option<(u64, u64)>,
    /// Bytes that there were to do of work on the store, and what tells how many are left.
    pub(crate) left: Option<(u64, Left)>,
    pub(crate) state: JobState,
    /// Rows that were good, and that were refused.
    pub(crate) rows: (u64, u64),
    /// What came of it, for a person.
    pub(crate) outcome: String,
    /// When its last piece came.
    heard: Instant,
}

impl Job {
    pub(crate) fn new(id: u64, kind: &'static str, text: String, who: Arc<Principal>) -> Self {
        Self {
            id,
            kind,
            text,
            database: String::new(),
            who,
            began_ms: now_ns() / NANOS_PER_MILLI,
            ended_ms: None,
            bytes: None,
            left: None,
            state: JobState::Running,
            rows: (0, 0),
            outcome: String::new(),
            heard: Instant::now(),
        }
    }

    /// The same job, which comes in pieces that together have so many bytes.
    pub(crate) fn in_pieces(self, database: String, total_bytes: u64) -> Self {
        Self { database, bytes: Some((0, total_bytes)), ..self }
    }

    /// The same job, which is work on the store: how much there is, and what tells what is left.
    pub(crate) fn on_the_store(self, left: Option<(u64, Left)>) -> Self {
        Self { left, ..self }
    }

    /// Whether it can be ended: only between its pieces.
    pub(crate) fn may_cancel(&self) -> bool {
        self.state == JobState::Running && self.bytes.is_some()
    }

    /// Counts rows of a piece.
    pub(crate) fn count(&mut self, good: u64, refused: u64) {
        self.rows = (self.rows.0 + good, self.rows.1 + refused);
        let (good, refused) = self.rows;
        self.outcome = match refused {
            0 if good == 1 => "1 row".to_owned(),
            0 => format!("{good} rows"),
            _ => format!("{good} rows, {refused} refused"),
        };
    }

    fn end(&mut self, state: JobState) {
        (self.state, self.ended_ms) = (state, Some(now_ns() / NANOS_PER_MILLI));
    }
}

/// Cancelled jobs that are remembered when they are not listed any more: their pieces may still
/// come.
const CANCELLED_MAX: usize = 1_000;

/// Jobs, oldest first.
#[derive(Debug)]
pub(crate) struct Jobs {
    listed: Mutex<VecDeque<Job>>,
    /// Numbers and texts of those that were cancelled and are not listed any more.
    cancelled: Mutex<VecDeque<(u64, String)>>,
}

impl Default for Jobs {
    fn default() -> Self {
        Self {
            listed: Mutex::new(Rank::Table, VecDeque::new()),
            cancelled: Mutex::new(Rank::Table, VecDeque::new()),
        }
    }
}

impl Jobs {
    /// Lists a job from now on, if there is room.
    pub(crate) fn begin(&self, job: Job) {
        let mut jobs = self.listed.lock();
        if jobs.len() >= JOBS_MAX {
            end_silent(&mut jobs, SILENT_MAX);
            let over = jobs.iter().position(|job| job.state != JobState::Running);
            let Some(over) = over.and_then(|over| jobs.remove(over)) else { return };
            jobs.push_back(job);
            drop(jobs);
            return self.forget(over);
        }
        jobs.push_back(job);
    }

    /// A job is not listed any more.
    fn forget(&self, job: Job) {
        if job.state == JobState::Cancelled {
            let mut cancelled = self.cancelled.lock();
            if cancelled.len() >= CANCELLED_MAX {
                cancelled.pop_front();
            }
            cancelled.push_back((job.id, job.text));
        }
    }

    /// How a job of somebody's stands, a piece of which comes; nothing if no such job is known.
    /// After a restart another one may have its number.
    pub(crate) fn hear(&self, id: u64, text: &str, who: &Principal) -> Option<JobState> {
        if self.cancelled.lock().iter().any(|(of, about)| *of == id && about == text) {
            return Some(JobState::Cancelled);
        }
        let mut jobs = self.listed.lock();
        let is_it = |job: &&mut Job| job.id == id && job.text == text && who.oversees(&job.who);
        let job = jobs.iter_mut().find(is_it)?;
        job.heard = Instant::now();
        // Somebody was only slow.
        if job.state == JobState::Silent {
            (job.state, job.ended_ms) = (JobState::Running, None);
        }
        Some(job.state)
    }

    /// Changes a job that runs.
    pub(crate) fn note(&self, id: u64, change: impl FnOnce(&mut Job)) {
        let mut jobs = self.listed.lock();
        let job = jobs.iter_mut().find(|job| job.id == id && job.state == JobState::Running);
        if let Some(job) = job {
            job.heard = Instant::now();
            change(job);
        }
    }

    /// All pieces of a job have come.
    pub(crate) fn finish(&self, id: u64) {
        self.note(id, |job| job.end(JobState::Done));
    }

    /// A job that runs has ended.
    pub(crate) fn end(&self, id: u64, state: JobState, outcome: String) {
        self.note(id, |job| {
            job.outcome = outcome;
            job.end(state);
        });
    }

    /// Ends a job before its next piece; false when none that somebody may end has this number.
    pub(crate) fn cancel(&self, id: u64, who: &Principal) -> bool {
        let mut jobs = self.listed.lock();
        let is_it = |job: &&mut Job| job.id == id && job.may_cancel() && who.oversees(&job.who);
        jobs.iter_mut().find(is_it).map(|job| job.end(JobState::Cancelled)).is_some()
    }

    /// The jobs that somebody may see, oldest first.
    pub(crate) fn list(&self, who: &Principal) -> Vec<Job> {
        let mut jobs = self.listed.lock();
        end_silent(&mut jobs, SILENT_MAX);
        jobs.iter().filter(|job| who.oversees(&job.who)).cloned().collect()
    }
}

fn end_silent(jobs: &mut VecDeque<Job>, silent_max: Duration) {
    let is_silent = |job: &&mut Job| job.may_cancel() && job.heard.elapsed() > silent_max;
    jobs.iter_mut().filter(is_silent).for_each(|job| job.end(JobState::Silent));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn import(id: u64) -> Job {
        let who = Arc::new(Principal::anyone());
        Job { bytes: Some((0, 10)), ..Job::new(id, "import", "a.csv".to_owned(), who) }
    }

    fn states(jobs: &Jobs) -> Vec<(u64, &'static str)> {
        let listed = jobs.list(&Principal::anyone());
        listed.iter().map(|job| (job.id, job.state.name())).collect()
    }

    #[test]
    fn a_job_is_listed_until_others_need_its_place() {
        let (jobs, anyone) = (Jobs::default(), Principal::anyone());
        jobs.begin(import(1));
        jobs.begin(import(2));
        jobs.begin(Job::new(3, "merge", String::new(), Arc::new(Principal::anyone())));
        jobs.note(1, |job| job.bytes = Some((10, 10)));
        jobs.end(1, JobState::Done, "7 rows".to_owned());
        assert!(!jobs.cancel(1, &anyone), "it is over");
        assert!(!jobs.cancel(3, &anyone), "it comes in one piece");
        assert!(!jobs.cancel(2, &Principal::nobody()) && jobs.cancel(2, &anyone));
        assert_eq!(jobs.hear(2, "a.csv", &anyone), Some(JobState::Cancelled));
        assert_eq!(jobs.hear(2, "a.csv", &Principal::nobody()), None);
        assert_eq!(states(&jobs), [(1, "done"), (2, "cancelled"), (3, "running")]);
        assert!(jobs.list(&Principal::nobody()).is_empty());
        (4..4 + JOBS_MAX as u64).for_each(|id| jobs.begin(import(id)));
        assert_eq!(jobs.hear(2, "a.csv", &anyone), Some(JobState::Cancelled), "also then");
        assert_eq!(jobs.hear(4, "b.csv", &anyone), None, "of before a restart");
        let now = states(&jobs);
        assert!(now.len() == JOBS_MAX && now[0] == (3, "running") && now[1].0 == 4, "{now:?}");
    }

    #[test]
    fn a_job_whose_pieces_end_is_given_up_and_goes_on_with_the_next_one() {
        let (jobs, anyone) = (Jobs::default(), Principal::anyone());
        jobs.begin(import(1));
        end_silent(&mut jobs.listed.lock(), SILENT_MAX);
        assert_eq!(states(&jobs), [(1, "running")]);
        end_silent(&mut jobs.listed.lock(), Duration::ZERO);
        assert_eq!(states(&jobs), [(1, "silent")]);
        assert_eq!(jobs.hear(1, "a.csv", &anyone), Some(JobState::Running));
        assert_eq!(states(&jobs), [(1, "running")]);
    }
}
