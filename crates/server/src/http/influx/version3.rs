//! InfluxDB 3's API beside writing: questions in InfluxQL and SQL, whose answers are rows that
//! stand for themselves, and its databases.

use super::ask::{Asked, QUERY_BYTES_MAX, carry_out, changes, read, refuse};
use super::{influx_headers, sql};
use crate::http::routes::Target;
use crate::http::{
    Call, NOTHING_CHANGED, Reply, SAID_TWICE, accepts_gzip, body, is_preview, not_read, store,
    unknown_param,
};
use crate::query::{Reading, Weight};
use crate::shared::Shared;
use foliot_proto_influx::QueryRequest;
use foliot_proto_influx::encode::{Format, Shape, Style};
use foliot_proto_influx::influxql::{Parameters, PolicyOptions, Statement, parse_duration};
use foliot_proto_opentsdb::{Params, parse_once};
use hyper::{HeaderMap, StatusCode, header};
use serde_json::{Value, json};
use std::sync::Arc;

/// What a body that makes a database may say.
const MEMBERS: [&str; 2] = ["db", "retention_period"];

/// How errors are written, and the answers to changes, which have no rows.
const NO_ROWS: Format = Format::Rows(Shape::JsonLines);

pub(super) async fn answer(shared: &Arc<Shared>, target: Target, call: Call) -> Reply {
    let answered = match (target, &*call.method) {
        (Target::InfluxQuery3, _) => query(shared, call).await,
        (Target::InfluxSql, _) => sql::query(shared, call).await,
        (_, "GET") => list(shared, call).await,
        (_, method) => match may_change(&call) {
            Ok(()) if method == "POST" => create(shared, call).await,
            Ok(()) => remove(shared, call).await,
            Err(reply) => Err(reply),
        },
    };
    influx_headers(answered.unwrap_or_else(|reply| reply))
}

pub(super) fn bad(message: &str) -> Reply {
    refuse(NO_ROWS, StatusCode::BAD_REQUEST, message)
}

pub(super) fn accept_of(headers: &HeaderMap) -> String {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.unwrap_or_default().to_owned()
}

/// Reads what a question says beside its text, and takes what reading that takes.
pub(super) async fn request(
    shared: &Arc<Shared>,
    call: Call,
) -> Result<(Reading, QueryRequest), Reply> {
    let accept = accept_of(&call.headers);
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    if text.bytes.len() > QUERY_BYTES_MAX {
        let message = format!("the query is longer than {QUERY_BYTES_MAX} bytes");
        return Err(refuse(NO_ROWS, StatusCode::PAYLOAD_TOO_LARGE, &message));
    }
    let reading = Reading::of(shared, &call.who, &[call.query.as_bytes(), &text.bytes]).await;
    let reading = reading.map_err(|failure| refuse(NO_ROWS, failure.status, &failure.message))?;
    let request = QueryRequest::parse_3(&call.query, &text.bytes, &accept);
    Ok((reading, request.map_err(|error| bad(&error.to_string()))?))
}

async fn query(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    store(shared)?;
    let gzip = accepts_gzip(&call.headers);
    let (who, asker) = (call.who.clone(), call.asker("influx v3"));
    let (reading, request) = request(shared, call).await?;
    let statements = read(shared, &reading, &request)?;
    if statements.len() != 1 {
        return Err(bad("this takes one statement at a time; /query takes several"));
    }
    if statements.iter().any(changes) {
        return Err(bad("nothing is changed here: POST /query takes statements that do"));
    }
    let asked = Asked { shared: shared.clone(), request, asker, who, is_get: false };
    carry_out(asked, statements, reading, gzip).await
}

async fn list(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    store(shared)?;
    let asked = format!("q=SHOW+DATABASES&{}", call.query);
    let request = QueryRequest::parse_3(&asked, b"", &accept_of(&call.headers));
    let request = request.map_err(|error| bad(&error.to_string()))?;
    let (who, asker) = (call.who.clone(), call.asker("influx v3"));
    let reading = Reading::default();
    let statements = read(shared, &reading, &request)?;
    let asked = Asked { shared: shared.clone(), request, asker, who, is_get: false };
    carry_out(asked, statements, reading, accepts_gzip(&call.headers)).await
}

fn may_change(call: &Call) -> Result<(), Reply> {
    let refuse = |text: &str| Err(refuse(NO_ROWS, StatusCode::FORBIDDEN, text));
    if !call.who.is_administrator() {
        return refuse("requires admin privilege");
    }
    if !call.is_trusted {
        return refuse("scripts of other web pages may not change anything here");
    }
    Ok(())
}

async fn create(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let params = Params::parse(&call.query);
    check_params(&params, &[])?;
    let (who, asker) = (call.who.clone(), call.asker("influx v3"));
    let text = body::read(shared, &call.headers, call.body, Vec::new()).await?;
    let _weight = Weight::of_json(shared, &text.bytes)
        .await
        .map_err(|failure| refuse(NO_ROWS, failure.status, &failure.message))?;
    if is_preview(&params, &text.bytes).map_err(|why| bad(&why))? {
        return Err(bad("there is no dry run of this, and nothing is changed"));
    }
    let (name, keep_ns) = wanted(&text.bytes).map_err(|why| bad(&why))?;
    let known = store(shared)?.databases().get(&name);
    if known.is_some_and(|known| known.is_made) {
        let text = format!("there is a database {name} already");
        return Err(refuse(NO_ROWS, StatusCode::CONFLICT, &text));
    }
    let policy =
        keep_ns.map(|keep_ns| PolicyOptions { duration_ns: Some(keep_ns), ..Default::default() });
    let statement = Statement::CreateDatabase { name, policy };
    let request = request_of(&statement);
    let asked = Asked { shared: shared.clone(), request, asker, who, is_get: false };
    carry_out(asked, [statement].into(), Reading::default(), false).await
}

async fn remove(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let params = Params::parse(&call.query);
    check_params(&params, &["db", "hard_delete_at"])?;
    if is_preview(&params, &[]).map_err(|why| bad(&why))? {
        return Err(bad("there is no dry run of this, and nothing is changed"));
    }
    if params.get("hard_delete_at").is_some_and(|at| at != "now") {
        return Err(bad("hard_delete_at: a database goes at once here, which is `now`"));
    }
    let name = params.get("db").filter(|name| !name.is_empty());
    let name = name.ok_or_else(|| bad("db: the name of the database is missing"))?;
    if store(shared)?.databases().get(name).is_none() {
        let text = format!("database not found: {name}");
        return Err(refuse(NO_ROWS, StatusCode::NOT_FOUND, &text));
    }
    let statement = Statement::DropDatabase(name.to_owned());
    let request = request_of(&statement);
    let (who, asker) = (call.who.clone(), call.asker("influx v3"));
    let asked = Asked { shared: shared.clone(), request, asker, who, is_get: false };
    let reply = carry_out(asked, [statement].into(), Reading::default(), false).await?;
    // The place of writes that name no database cannot go: it is empty, and is not listed.
    let stays = reply.status == StatusCode::OK && store(shared)?.databases().get(name).is_some();
    let said = json!({"message": format!(
        "what was in {name} is gone; the next write that names no database makes it again"
    )});
    Ok(if stays { Reply::json(StatusCode::OK, said.to_string()) } else { reply })
}

/// A request of a statement that was not read from a text.
fn request_of(statement: &Statement) -> QueryRequest {
    QueryRequest {
        text: statement.to_string(),
        database: None,
        policy: None,
        style: Style { format: NO_ROWS, ..Style::default() },
        parameters: Parameters::default(),
        is_async: false,
    }
}

/// Refuses parameters of a change that are not known or said twice.
fn check_params(params: &Params, known: &[&str]) -> Result<(), Reply> {
    if let Some(name) = params.twice(&[]) {
        return Err(bad(&format!("{name}: {SAID_TWICE}")));
    }
    let known = [known, &["u", "p"]].concat();
    match unknown_param(params, &known) {
        None => Ok(()),
        Some(name) => Err(bad(&format!("{name}: {NOTHING_CHANGED}"))),
    }
}

/// The name of the database that a body wants, and how long its samples are kept.
fn wanted(text: &[u8]) -> Result<(String, Option<i64>), String> {
    let body = parse_once(text).map_err(|error| not_read(&error))?;
    let members = body.as_object().ok_or("the body must be an object")?;
    if let Some(name) = members.keys().find(|name| !MEMBERS.contains(&name.as_str())) {
        return Err(format!("{name} is none of {}", MEMBERS.join(", ")));
    }
    let text = |name: &str| match members.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(&**text)),
        Some(_) => Err(format!("{name} must be text")),
    };
    let name = text("db")?.filter(|name| !name.is_empty());
    let name = name.ok_or("db: the name of the database is missing")?;
    let keep_ns = match text("retention_period")? {
        None | Some("none") => None,
        Some(period) => match parse_duration(period) {
            Ok(keep_ns) if keep_ns > 0 => Some(keep_ns),
            _ => return Err(format!("retention_period: {period:?} is no time such as 30d")),
        },
    };
    Ok((name.to_owned(), keep_ns))
}
