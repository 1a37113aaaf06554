//! A query of expressions as `/api/query/exp` shows it in its answer: every part is there, with
//! what was left out spelled out.

use crate::http::HttpError;
use crate::json;
use serde_json::{Value, json};

/// The query of a request's body.
///
/// # Errors
/// 400 for what is of the wrong kind.
pub(super) fn query(body: &Value) -> Result<Value, HttpError> {
    let time = body.get("time").unwrap_or(&Value::Null);
    Ok(json!({
        "name": json::text(body, "name")?,
        "time": {
            "start": json::text(time, "start")?,
            "end": json::text(time, "end")?,
            "timezone": json::text(time, "timezone")?,
            "aggregator": json::text(time, "aggregator")?,
            "rate": json::flag(time, "rate")?,
            "downsampler": part(time, "downsampler", |spec| Ok(json!({
                "interval": json::text(spec, "interval")?,
                "aggregator": json::text(spec, "aggregator")?,
                "fillPolicy": part(spec, "fillPolicy", fill)?,
            })))?,
        },
        "filters": each(body, "filters", |filter| Ok(json!({
            "id": json::text(filter, "id")?,
            "tags": each(filter, "tags", tag)?,
            "explicitTags": json::flag(filter, "explicitTags")?,
        })))?,
        "metrics": each(body, "metrics", |metric| Ok(json!({
            "metric": json::text(metric, "metric")?,
            "id": json::text(metric, "id")?,
            "filter": json::text(metric, "filter")?,
            "aggregator": json::text(metric, "aggregator")?,
            "timeOffset": json::text(metric, "timeOffset")?,
            "fillPolicy": part(metric, "fillPolicy", fill)?,
        })))?,
        "expressions": each(body, "expressions", |expression| {
            let join = expression.get("join").unwrap_or(&Value::Null);
            let includes = join.get("includeAggTags").is_none() || json::flag(join, "includeAggTags")?;
            Ok(json!({
                "id": json::text(expression, "id")?,
                "expr": json::text(expression, "expr")?,
                "join": {
                    "operator": json::text(join, "operator")?.unwrap_or_else(|| "union".to_owned()),
                    "useQueryTags": json::flag(join, "useQueryTags")?,
                    "includeAggTags": includes,
                },
                "fillPolicy": part(expression, "fillPolicy", fill)?,
            }))
        })?,
        "outputs": each(body, "outputs", |output| Ok(json!({
            "id": json::text(output, "id")?,
            "alias": json::text(output, "alias")?,
        })))?,
    }))
}

type Show = fn(&Value) -> Result<Value, HttpError>;

/// A part that may be missing.
fn part(of: &Value, name: &str, show: Show) -> Result<Value, HttpError> {
    of.get(name).filter(|value| value.is_object()).map_or(Ok(Value::Null), show)
}

/// A list that may be missing.
fn each(of: &Value, name: &str, show: Show) -> Result<Value, HttpError> {
    match of.get(name) {
        None | Some(Value::Null) => Ok(Value::Null),
        Some(_) => json::list(of, name)?.iter().map(show).collect(),
    }
}

fn tag(filter: &Value) -> Result<Value, HttpError> {
    Ok(json!({
        "tagk": json::text(filter, "tagk")?,
        "filter": json::text(filter, "filter")?,
        "group_by": json::flag(filter, "groupBy")? || json::flag(filter, "group_by")?,
        "type": json::text(filter, "type")?,
    }))
}

/// A fill policy with the number that it stands for.
fn fill(policy: &Value) -> Result<Value, HttpError> {
    let name = json::text(policy, "policy")?.map(|name| name.to_ascii_lowercase());
    let value = match (name.as_deref(), json::number(policy, "value")?) {
        (Some("zero"), _) => json!(0.0),
        (Some("scalar") | None, value) => json!(value.unwrap_or(0.0)),
        _ => json!("NaN"),
    };
    Ok(json!({"policy": name, "value": value}))
}
