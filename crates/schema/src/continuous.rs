//! Continuous queries: statements that run by themselves when a window of their time has passed.
//! Here is what is stored of them and when they are due; the door that speaks their language reads
//! the text.
//!
//! ```text
//! continuous query   database NUL name -> owner NUL statement, both UTF-8
//! ```
//!
//! Which windows a run covers follows InfluxDB: those that ended since the run before, or as far
//! back as `RESAMPLE FOR` says, and every `RESAMPLE EVERY` the unfinished ones too.

use foliot_engine::{Engine, Error};
use foliot_lock::{Mutex, Rank};
use foliot_model::TimeRange;
use std::sync::atomic::{AtomicU64, Ordering};

const KIND: &str = "continuous query";

/// A continuous query as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinuousQuery {
    /// The database it belongs to.
    pub database: String,
    /// Its name there.
    pub name: String,
    /// The user or token with whose rights it runs; empty when it was made while nobody was asked.
    pub owner: String,
    /// The whole statement that created it.
    pub text: String,
}

/// All continuous queries, by database and name.
pub fn list(engine: &Engine) -> Vec<ContinuousQuery> {
    let stored = |(key, fact): (String, Vec<u8>)| {
        let (database, name) = key.split_once('\0')?;
        let fact = String::from_utf8(fact).ok()?;
        let (owner, text) = fact.split_once('\0')?;
        Some(ContinuousQuery {
            database: database.to_owned(),
            name: name.to_owned(),
            owner: owner.to_owned(),
            text: text.to_owned(),
        })
    };
    engine.catalog_list(KIND).into_iter().filter_map(stored).collect()
}

/// Changes of continuous queries, one after another: what is looked at before a change is so until
/// it is made.
#[derive(Debug)]
pub struct ContinuousQueries {
    /// How many there may be (`limits.continuous_queries`); those that are there stay.
    most: u64,
    changing: Mutex<()>,
    refused: AtomicU64,
}

impl ContinuousQueries {
    /// Changes that leave `most` of them at most.
    pub const fn new(most: u64) -> Self {
        let changing = Mutex::new(Rank::Databases, ());
        Self { most, changing, refused: AtomicU64::new(0) }
    }

    /// How often one was refused because there were enough.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Stores a continuous query. Storing the same one again is no error.
    ///
    /// # Errors
    /// With InfluxDB's sentence when another one has the name, and when there are enough.
    pub fn create(&self, engine: &Engine, query: &ContinuousQuery) -> Result<(), String> {
        let _one_at_a_time = self.changing.lock();
        let key = key(&query.database, &query.name);
        let is_same = |fact: &[u8]| {
            let text = fact.splitn(2, |byte| *byte == 0).nth(1);
            text == Some(query.text.as_bytes())
        };
        match engine.catalog_get(KIND, &key) {
            Some(found) if is_same(&found) => Ok(()),
            Some(_) => Err("continuous query already exists".to_owned()),
            None if engine.catalog_list(KIND).len() as u64 >= self.most => {
                self.refused.fetch_add(1, Ordering::Relaxed);
                Err(format!(
                    "as many continuous queries as limits.continuous_queries allows ({}) are there \
                     already: drop some, or raise it",
                    self.most
                ))
            }
            None => {
                let fact = format!("{}\0{}", query.owner, query.text);
                let put = engine.catalog_put(KIND, &key, fact.as_bytes());
                put.map(drop).map_err(|error| error.to_string())
            }
        }
    }

    /// Removes a continuous query; nothing happens when there is none.
    ///
    /// # Errors
    /// When the store cannot take it.
    pub fn remove(&self, engine: &Engine, database: &str, name: &str) -> Result<(), Error> {
        let _one_at_a_time = self.changing.lock();
        remove(engine, database, name)
    }

    /// Removes all continuous queries of a database.
    ///
    /// # Errors
    /// When the store cannot take it.
    pub fn remove_all(&self, engine: &Engine, database: &str) -> Result<(), Error> {
        let _one_at_a_time = self.changing.lock();
        let of_database = list(engine).into_iter().filter(|stored| stored.database == database);
        of_database.into_iter().try_for_each(|stored| remove(engine, database, &stored.name))
    }
}

fn remove(engine: &Engine, database: &str, name: &str) -> Result<(), Error> {
    let key = key(database, name);
    match engine.catalog_get(KIND, &key) {
        Some(_) => engine.catalog_delete(KIND, &key).map(drop),
        None => Ok(()),
    }
}

fn key(database: &str, name: &str) -> String {
    format!("{database}\0{name}")
}

/// When a query runs and over which times.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// Width and offset of the windows, in nanoseconds.
    pub window_ns: (i64, i64),
    /// How often it runs; none: once for each window.
    pub every_ns: Option<i64>,
    /// How far back a run looks; none: as far as the window that has passed.
    pub for_ns: Option<i64>,
}

impl Timing {
    /// If the query is to run at `now_ns`: the instant of the run, and the times it covers, which
    /// may be none.
    pub fn due(&self, now_ns: i64, last_ns: Option<i64>) -> Option<(i64, TimeRange)> {
        let (width_ns, offset_ns) = self.window_ns;
        let every_ns = self.every_ns.unwrap_or(width_ns).max(1);
        // Runs and windows begin at multiples of their length, shifted by the offset.
        let floor =
            |time_ns: i64, step_ns: i64| time_ns - (time_ns - offset_ns).rem_euclid(step_ns);
        let run_ns = match last_ns {
            None => floor(now_ns, every_ns),
            Some(last_ns) => floor(last_ns, every_ns) + every_ns,
        };
        if run_ns > now_ns {
            return None;
        }
        let for_ns = self.for_ns.unwrap_or(width_ns.max(every_ns));
        let early_ns = width_ns.min(every_ns);
        let start_ns = floor(run_ns + width_ns - for_ns - 1, width_ns);
        let end_ns = floor(now_ns + width_ns - early_ns, width_ns);
        Some((floor(now_ns, every_ns), TimeRange::new(start_ns, end_ns - 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: i64 = 60 * 1_000_000_000;

    fn due(timing: Timing, now: i64, last: Option<i64>) -> Option<(i64, i64)> {
        let (_, range) = timing.due(now, last)?;
        Some((range.start_ns, range.end_ns + 1))
    }

    #[test]
    fn a_run_covers_the_window_that_has_passed() {
        let timing = Timing { window_ns: (5 * MINUTE, 0), every_ns: None, for_ns: None };
        let at = 100 * MINUTE + 7;
        assert_eq!(due(timing, at, Some(95 * MINUTE)), Some((95 * MINUTE, 100 * MINUTE)));
        assert_eq!(due(timing, at + MINUTE, Some(100 * MINUTE)), None);
    }

    #[test]
    fn resampling_looks_back_and_ahead() {
        let timing = Timing {
            window_ns: (5 * MINUTE, 0),
            every_ns: Some(MINUTE),
            for_ns: Some(15 * MINUTE),
        };
        let at = 102 * MINUTE;
        // The window that has begun is calculated too, each minute anew.
        assert_eq!(due(timing, at, Some(101 * MINUTE)), Some((90 * MINUTE, 105 * MINUTE)));
        let rare = Timing { every_ns: Some(10 * MINUTE), for_ns: None, ..timing };
        assert_eq!(due(rare, 110 * MINUTE, Some(100 * MINUTE)), Some((100 * MINUTE, 110 * MINUTE)));
    }

    #[test]
    fn offsets_shift_the_windows() {
        let timing = Timing { window_ns: (5 * MINUTE, 2 * MINUTE), every_ns: None, for_ns: None };
        let range = due(timing, 100 * MINUTE + 7, Some(95 * MINUTE));
        assert_eq!(range, Some((92 * MINUTE, 97 * MINUTE)));
    }
}
