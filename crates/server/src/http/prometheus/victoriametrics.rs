//! What VictoriaMetrics tells of itself, where that means something here.

use super::super::{Call, Reply};
use super::Endpoint;
use super::question::bad;
use crate::costs::Cost;
use crate::shared::Shared;
use foliot_proto_opentsdb::Params;
use hyper::StatusCode;
use serde_json::{Value, json};
use std::cmp::Reverse;

/// Questions in each list when it is not said how many, as VictoriaMetrics has it.
const TOP_USUAL: usize = 20;

/// Paths that VictoriaMetrics has and Foliot has not, by what they begin with, and what is there
/// instead.
const LACKING: [(&str, &str); 16] = [
    ("/api/v1/import/native", "its native format is not read; /api/v1/import takes lines of JSON"),
    (
        "/api/v1/export/native",
        "its native format is not written; /api/v1/export writes lines of JSON",
    ),
    ("/api/v1/admin/status/metric_names_stats", "it is not counted which names are asked for"),
    ("/api/v1/status/metric_names_stats", "it is not counted which names are asked for"),
    ("/internal/resetRollupResultCache", "there is no such cache"),
    ("/snapshot", "foliot backup copies a store while it runs"),
    ("/vmalert", "rules are those of prometheus.config; /api/v1/rules tells them"),
    ("/targets", "/api/v1/targets tells them"),
    ("/service-discovery", "/api/v1/targets tells what was found"),
    ("/config", "/api/v1/status/config tells it"),
    ("/flags", "/api/foliot/v1/settings tells the settings"),
    ("/datadog", "of DataDog's paths there are /datadog/api/v1/series, v2/series and v1/validate"),
    ("/newrelic", "New Relic's agents are not understood"),
    ("/render", "Graphite's questions are not answered: ask in MetricsQL"),
    ("/graphite", "Graphite's questions are not answered: ask in MetricsQL"),
    ("/tags", "Graphite's questions are not answered: ask in MetricsQL"),
];

/// What is to be said of a path where nothing is; nothing where VictoriaMetrics has nothing either.
pub(in crate::http) fn lacking(path: &str) -> Option<&'static str> {
    const CLUSTER: &str = "this is one server: leave out /insert/0 or /select/0";
    let bare = path.strip_prefix("/prometheus").unwrap_or(path);
    let is_below = |begin: &str| {
        bare.strip_prefix(begin).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if is_below("/insert") || is_below("/select") {
        return Some(CLUSTER);
    }
    LACKING.iter().find(|(begin, _)| is_below(begin)).map(|(_, instead)| *instead)
}

pub(super) fn answer(shared: &Shared, endpoint: Endpoint, call: &Call) -> Result<Reply, Reply> {
    match endpoint {
        Endpoint::ActiveQueries => {
            let running = shared.queries.list(&call.who).into_iter().map(|query| {
                json!({
                    "id": query.id.to_string(),
                    "duration": format!("{:.3}s", query.runs_for.as_secs_f64()),
                    "query": query.title.text,
                    "database": query.title.database,
                    "owner": query.owner,
                })
            });
            let data: Vec<Value> = running.collect();
            let body = json!({"status": "ok", "data": data}).to_string();
            Ok(Reply::json(StatusCode::OK, body))
        }
        Endpoint::TopQueries => top(shared, call),
        // What was written is seen at once, and merges happen by themselves.
        _ => Ok(Reply::empty(StatusCode::OK)),
    }
}

fn top(shared: &Shared, call: &Call) -> Result<Reply, Reply> {
    let params = Params::parse(&call.query);
    let count = match params.get("topN").filter(|text| !text.is_empty()) {
        None => TOP_USUAL,
        Some(text) => text.parse().map_err(|_| bad("topN", "it must be a number"))?,
    };
    let (mut costs, _) = shared.queries.costs().list(&call.who, None);
    // Changes wait for their turn as questions do, but nobody asked them.
    costs.retain(|cost| !cost.title.is_change && !cost.title.by_itself);
    let seconds = |cost: &Cost| cost.tally.took.as_secs_f64();
    let mean = |cost: &Cost| seconds(cost) / cost.tally.count.max(1) as f64;
    let list = |costs: &[Cost], field: &str, of: &dyn Fn(&Cost) -> Value| -> Vec<Value> {
        let rows = costs.iter().take(count);
        rows.map(|cost| {
            json!({"query": cost.title.text, "timeRangeSeconds": 0, "count": cost.tally.count, field: of(cost)})
        })
        .collect()
    };
    let by_sum = list(&costs, "sumDurationSeconds", &|cost| seconds(cost).into());
    costs.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
    let by_mean = list(&costs, "avgDurationSeconds", &|cost| mean(cost).into());
    costs.sort_by_key(|cost| Reverse(cost.tally.count));
    let by_count = list(&costs, "count", &|cost| cost.tally.count.into());
    let body = json!({
        "topN": count.to_string(),
        "topByCount": by_count,
        "topByAvgDuration": by_mean,
        "topBySumDuration": by_sum,
    });
    Ok(Reply::json(StatusCode::OK, body.to_string()))
}
