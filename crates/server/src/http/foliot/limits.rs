//! `limits`: how many series a metric may have before new ones are refused.

use super::{alone, bad, body_of, confirm, listed, place, refuse};
use crate::aside::aside;
use crate::http::{Call, NO_ROOM_FOR_NAMES, Reply};
use crate::shared::Shared;
use foliot_engine::{Engine, SeriesLimit};
use foliot_model::NamespaceId;
use foliot_proto_opentsdb::Params;
use hyper::StatusCode;
use serde_json::{Value, json};
use std::sync::Arc;

/// Limits of one database and policy: whoever asks for them gets all.
pub(crate) const LIMITS_MAX: usize = 1_000;

/// Bytes of a metric's name; each dot in it may divide measurement and field.
const NAME_BYTES_MAX: usize = 1 << 10;

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let (_, namespace) = place(shared, &call)?;
    match &*call.method {
        "POST" => set(shared, namespace, call).await,
        "DELETE" => take(shared, namespace, &call).await,
        _ => list(shared, namespace, &call).await,
    }
}

async fn list(shared: &Arc<Shared>, namespace: NamespaceId, call: &Call) -> Result<Reply, Reply> {
    listed(shared, call, "limits", move |store, work| {
        work.write(b"{\"limits\":[")?;
        let mut between = "";
        for limit in store.engine().series_limits(namespace) {
            let told = told(store.engine(), namespace, &limit);
            work.write(format!("{between}{told}").as_bytes())?;
            between = ",";
        }
        work.write(b"]}")
    })
    .await
}

/// A limit, and how many series count for it now.
fn told(engine: &Engine, namespace: NamespaceId, limit: &SeriesLimit) -> Value {
    json!({
        "metric": limit.metric,
        "series": engine.metric_series(namespace, &limit.metric),
        "series_max": limit.series_max,
    })
}

async fn set(shared: &Arc<Shared>, namespace: NamespaceId, call: Call) -> Result<Reply, Reply> {
    let by = call.who.name().to_owned();
    let body = body_of(shared, call, &["metric", "series_max"]).await?;
    let metric = metric(body.get("metric").and_then(Value::as_str).unwrap_or_default())?;
    let series_max = body.get("series_max").and_then(Value::as_u64);
    let series_max = series_max.ok_or_else(|| bad("series_max: must be a whole number from 0"))?;
    let store = super::store(shared)?;
    let engine = store.engine();
    let limit = SeriesLimit { metric: metric.to_owned(), series_max };
    let written = {
        // What is counted must not become more meanwhile.
        let _alone = alone(shared).await?;
        let limits = engine.series_limits(namespace);
        if limits.len() >= LIMITS_MAX && limits.iter().all(|other| other.metric != metric) {
            let text = format!("{LIMITS_MAX} limits are set already: take some away first");
            return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &text));
        }
        if !engine.has_room_for_names(1) {
            return Err(refuse(StatusCode::SERVICE_UNAVAILABLE, NO_ROOM_FOR_NAMES));
        }
        // Others who change settings may be at the disk.
        aside(|| engine.limit_series(namespace, metric, series_max))
    };
    confirm(shared, store, written).await?;
    log::info!("metric {metric:?} may have {series_max} series, by {by:?}");
    Ok(Reply::json(StatusCode::OK, told(engine, namespace, &limit).to_string()))
}

async fn take(shared: &Shared, namespace: NamespaceId, call: &Call) -> Result<Reply, Reply> {
    let params = Params::parse(&call.query);
    let metric = metric(params.get("metric").unwrap_or_default())?;
    let store = super::store(shared)?;
    let written = {
        let _alone = alone(shared).await?;
        if store.engine().series_limits(namespace).iter().all(|limit| limit.metric != metric) {
            let text = format!("metric “{metric}” has no limit; it may be taken away already");
            return Err(refuse(StatusCode::NOT_FOUND, &text));
        }
        aside(|| store.engine().unlimit_series(namespace, metric))
    };
    confirm(shared, store, written).await?;
    log::info!("metric {metric:?} may have any number of series, by {:?}", call.who.name());
    Ok(Reply::json(StatusCode::OK, json!({"deleted": metric}).to_string()))
}

fn metric(name: &str) -> Result<&str, Reply> {
    match (1..=NAME_BYTES_MAX).contains(&name.len()) {
        true => Ok(name),
        false => Err(bad(&format!("metric: must have from 1 to {NAME_BYTES_MAX} bytes"))),
    }
}
