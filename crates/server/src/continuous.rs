//! Runs continuous queries when they are due.

use crate::http::{may_ask, run_into};
use crate::query::Title;
use crate::shared::Shared;
use foliot_exec::{Cancel, Meter};
use foliot_model::excerpt;
use foliot_proto_influx::influxql::{Parameters, Statement, parse};
use foliot_schema::continuous::{ContinuousQuery, Timing, list};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How often it is looked whether a query is due.
const PERIOD: Duration = Duration::from_secs(1);

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
    last: HashMap<(String, String), i64>,
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
            let Ok(window_ns) = query.window_ns() else { continue };
            let name = key_of(&stored);
            let now_ns = crate::metrics::now_ns();
            let timing = Timing { window_ns, every_ns: query.every_ns, for_ns: query.for_ns };
            let Some((run_ns, range)) = timing.due(now_ns, self.last.get(&name).copied()) else {
                continue;
            };
            self.last.insert(name, run_ns);
            if range.is_empty() {
                continue;
            }
            let select = query.select_within(range);
            // What its owner may no longer do, the query does not do either.
            let who = shared.gate.acting_for(store.engine(), &stored.owner, now_ns);
            let statement = [Statement::Select(select.clone())];
            let may = match who.is_nobody() {
                true => {
                    Err("the user or token that made it is gone, or nobody was asked then: make \
                             it anew"
                        .to_owned())
                }
                false => may_ask(&who, &statement, Some(&query.database)),
            };
            let run = || {
                let meter = Meter::new(shared.query_limits, Cancel::default());
                let title = Title::new(select.to_string(), query.database.clone());
                let title = Title { is_change: true, ..title };
                let _entry = shared.queries.enter(who.clone(), title, meter.clone());
                let about = (&*who, query.database.as_str());
                run_into(shared, store, about, &select, (now_ns, meter))
            };
            match may.and_then(|()| run()) {
                Ok(written) => log::debug!("continuous query {}: {written} points", stored.name),
                Err(error) => log::error!(
                    "continuous query {} on {} failed: {}",
                    stored.name,
                    stored.database,
                    excerpt(&error)
                ),
            }
        }
    }
}

fn key_of(stored: &ContinuousQuery) -> (String, String) {
    (stored.database.clone(), stored.name.clone())
}
