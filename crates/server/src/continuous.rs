//! Continuous queries: `SELECT … INTO` statements that run by themselves when a window of their
//! `GROUP BY time` has passed. They are facts of the catalog, kept as their own text.
//!
//! ```text
//! continuous query   database NUL name -> the statement, UTF-8
//! ```
//!
//! Which windows a run covers follows InfluxDB: those that ended since the run before, or as far
//! back as `RESAMPLE FOR` says, and every `RESAMPLE EVERY` the unfinished ones too.

use crate::http::run_into;
use crate::shared::Shared;
use foliot_engine::{Engine, Error};
use foliot_model::TimeRange;
use foliot_proto_influx::influxql::{
    ContinuousQuery, Expr, Op, Parameters, Select, Source, Statement, parse,
};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

const KIND: &str = "continuous query";

/// How often it is looked whether a query is due.
const PERIOD: Duration = Duration::from_secs(1);

/// A continuous query as it is stored.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) database: String,
    pub(crate) name: String,
    /// The whole statement that created it.
    pub(crate) text: String,
}

/// All continuous queries, by database and name.
pub(crate) fn list(engine: &Engine) -> Vec<Stored> {
    let stored = |(key, text): (String, Vec<u8>)| {
        let (database, name) = key.split_once('\0')?;
        let text = String::from_utf8(text).ok()?;
        Some(Stored { database: database.to_owned(), name: name.to_owned(), text })
    };
    engine.catalog_list(KIND).into_iter().filter_map(stored).collect()
}

/// Stores a continuous query, whose names mean `policy` of its database where they say nothing.
/// Storing the same one again is no error.
///
/// # Errors
/// With InfluxDB's sentence when another one has the name.
pub(crate) fn create(engine: &Engine, query: &ContinuousQuery, policy: &str) -> Result<(), String> {
    window(query)?;
    let (key, text) = (key(&query.database, &query.name), statement(query, policy));
    match engine.catalog_get(KIND, &key) {
        Some(found) if found == text.as_bytes() => Ok(()),
        Some(_) => Err("continuous query already exists".to_owned()),
        None => {
            let put = engine.catalog_put(KIND, &key, text.as_bytes());
            put.map(drop).map_err(|error| error.to_string())
        }
    }
}

/// Removes a continuous query; nothing happens when there is none.
pub(crate) fn remove(engine: &Engine, database: &str, name: &str) -> Result<(), Error> {
    let key = key(database, name);
    match engine.catalog_get(KIND, &key) {
        Some(_) => engine.catalog_delete(KIND, &key).map(drop),
        None => Ok(()),
    }
}

/// Removes all continuous queries of a database.
pub(crate) fn remove_all(engine: &Engine, database: &str) -> Result<(), Error> {
    let of_database = list(engine).into_iter().filter(|stored| stored.database == database);
    of_database.into_iter().try_for_each(|stored| remove(engine, database, &stored.name))
}

fn key(database: &str, name: &str) -> String {
    format!("{database}\0{name}")
}

/// The statement as it is stored: sources and target with their databases and policies.
fn statement(query: &ContinuousQuery, policy: &str) -> String {
    let mut query = query.clone();
    if let Some(target) = &mut query.select.target {
        complete(&mut target.database, &mut target.policy, &query.database, policy);
    }
    complete_sources(&mut query.select, &query.database, policy);
    Statement::CreateContinuousQuery(query).to_string()
}

fn complete_sources(select: &mut Select, database: &str, policy: &str) {
    for source in &mut select.sources {
        match source {
            Source::Measurement(named) => {
                complete(&mut named.database, &mut named.policy, database, policy);
            }
            Source::Subquery(inner) => complete_sources(inner, database, policy),
        }
    }
}

fn complete(
    database: &mut Option<String>,
    policy: &mut Option<String>,
    default_database: &str,
    default_policy: &str,
) {
    if database.is_none() {
        *database = Some(default_database.to_owned());
        policy.get_or_insert_with(|| default_policy.to_owned());
    }
}

/// The window of a query: width and offset in nanoseconds.
fn window(query: &ContinuousQuery) -> Result<(i64, i64), String> {
    let time = query.select.dimensions.iter().find_map(|dimension| match dimension {
        Expr::Call { name, args } if name == "time" => Some(args),
        _ => None,
    });
    let duration = |expr: Option<&Expr>| match expr {
        Some(Expr::Duration(duration_ns)) => Some(*duration_ns),
        _ => None,
    };
    let args = time.map_or(&[][..], Vec::as_slice);
    match duration(args.first()).filter(|width_ns| *width_ns > 0) {
        Some(width_ns) => Ok((width_ns, duration(args.get(1)).unwrap_or(0))),
        None => Err("must be a SELECT INTO clause with GROUP BY time(...)".to_owned()),
    }
}

/// Runs what is due, until the server stops.
pub(crate) async fn serve(shared: Arc<Shared>) {
    if shared.wait_for_store().await.is_none() {
        return;
    }
    let mut runs = Runs::default();
    loop {
        tokio::select! {
            () = tokio::time::sleep(PERIOD) => {}
            () = shared.stopping() => return,
        }
        let shared = shared.clone();
        let round = tokio::task::spawn_blocking(move || {
            runs.run(&shared);
            runs
        });
        match round.await {
            Ok(back) => runs = back,
            Err(error) => {
                log::error!("continuous queries ended: {error}");
                return;
            }
        }
    }
}

/// When each query ran last, in nanoseconds.
#[derive(Debug, Default)]
struct Runs {
    last: HashMap<String, i64>,
}

impl Runs {
    fn run(&mut self, shared: &Arc<Shared>) {
        let Some(store) = shared.store() else { return };
        let all = list(store.engine());
        self.last.retain(|name, _| all.iter().any(|stored| key_of(stored) == *name));
        for stored in all {
            let parsed = parse(&stored.text, &Parameters::new()).unwrap_or_default();
            let Some(Statement::CreateContinuousQuery(query)) = parsed.into_iter().next() else {
                continue;
            };
            let Ok(width) = window(&query) else { continue };
            let name = key_of(&stored);
            let now_ns = crate::metrics::now_ns();
            let timing = Timing { width, every_ns: query.every_ns, for_ns: query.for_ns };
            let Some((run_ns, range)) = timing.due(now_ns, self.last.get(&name).copied()) else {
                continue;
            };
            self.last.insert(name, run_ns);
            if range.is_empty() {
                continue;
            }
            let mut select = query.select.clone();
            select.condition = Some(within(select.condition.take(), range));
            match run_into(shared, store, &query.database, &select, now_ns) {
                Ok(written) => log::debug!("continuous query {}: {written} points", stored.name),
                Err(error) => log::error!(
                    "continuous query {} on {} failed: {error}",
                    stored.name,
                    stored.database
                ),
            }
        }
    }
}

fn key_of(stored: &Stored) -> String {
    key(&stored.database, &stored.name)
}

/// A condition that also holds time within a range.
fn within(condition: Option<Expr>, range: TimeRange) -> Expr {
    let bound = |op, time_ns| Expr::Binary {
        op,
        left: Box::new(Expr::Var { name: "time".to_owned(), cast: None }),
        right: Box::new(Expr::Integer(time_ns)),
    };
    let both =
        |left, right| Expr::Binary { op: Op::And, left: Box::new(left), right: Box::new(right) };
    let times =
        both(bound(Op::GreaterOrEqual, range.start_ns), bound(Op::LessOrEqual, range.end_ns));
    match condition {
        Some(condition) => both(Expr::Paren(Box::new(condition)), times),
        None => times,
    }
}

/// When a query runs and over which times.
#[derive(Clone, Copy, Debug)]
struct Timing {
    /// Width and offset of the windows.
    width: (i64, i64),
    every_ns: Option<i64>,
    for_ns: Option<i64>,
}

impl Timing {
    /// If the query is to run at `now_ns`: the instant of the run, and the times it covers, which
    /// may be none.
    fn due(&self, now_ns: i64, last_ns: Option<i64>) -> Option<(i64, TimeRange)> {
        let (width_ns, offset_ns) = self.width;
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
        let timing = Timing { width: (5 * MINUTE, 0), every_ns: None, for_ns: None };
        let at = 100 * MINUTE + 7;
        assert_eq!(due(timing, at, Some(95 * MINUTE)), Some((95 * MINUTE, 100 * MINUTE)));
        assert_eq!(due(timing, at + MINUTE, Some(100 * MINUTE)), None);
    }

    #[test]
    fn resampling_looks_back_and_ahead() {
        let timing =
            Timing { width: (5 * MINUTE, 0), every_ns: Some(MINUTE), for_ns: Some(15 * MINUTE) };
        let at = 102 * MINUTE;
        // The window that has begun is calculated too, each minute anew.
        assert_eq!(due(timing, at, Some(101 * MINUTE)), Some((90 * MINUTE, 105 * MINUTE)));
        let rare = Timing { every_ns: Some(10 * MINUTE), for_ns: None, ..timing };
        assert_eq!(due(rare, 110 * MINUTE, Some(100 * MINUTE)), Some((100 * MINUTE, 110 * MINUTE)));
    }

    #[test]
    fn offsets_shift_the_windows() {
        let timing = Timing { width: (5 * MINUTE, 2 * MINUTE), every_ns: None, for_ns: None };
        let range = due(timing, 100 * MINUTE + 7, Some(95 * MINUTE));
        assert_eq!(range, Some((92 * MINUTE, 97 * MINUTE)));
    }
}
