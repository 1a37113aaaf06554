//! InfluxDB 3's `/api/v3/query_sql`: a statement of SQL, answered as rows that stand for
//! themselves.

use super::ask::{encode, refuse};
use super::needs::may_read;
use super::version3::{bad, request};
use crate::http::sql::Sql;
use crate::http::{Call, Reply, accepts_gzip, store};
use crate::metrics::now_ns;
use crate::query::{self, Failure, Job, Language, Question, Title};
use crate::shared::Shared;
use foliot_proto_influx::QueryRequest;
use foliot_proto_influx::encode::Encoder;
use foliot_proto_influx::influxql;
use foliot_proto_sql::{Parameter, Parameters, Statement};
use hyper::StatusCode;
use std::sync::Arc;

pub(super) async fn query(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    store(shared)?;
    let (who, gzip) = (call.who.clone(), accepts_gzip(&call.headers));
    let (reading, request) = request(shared, call).await?;
    let format = request.style.format;
    let refused = |failure: Failure| refuse(format, failure.status, &failure.message);
    let database = request.database.clone().ok_or_else(|| bad("database name required"))?;
    let forbidden = |message: String| refuse(format, StatusCode::FORBIDDEN, &message);
    may_read(&who, &database).map_err(forbidden)?;
    let parameters = parameters(&request)?;
    let statement = reading.read(|| Statement::parse(&request.text));
    let statement = statement.map_err(|error| refused(error.into()))?;
    // What is said beside a text would be lacking where that is asked again.
    let question = || Question::new(Language::Sql, vec![request.text.clone()]);
    let question = parameters.is_empty().then(question);
    let title = Title::new(&request.text, database.clone()).asking(question);
    let policy = request.policy.clone();
    let sql = Sql { statement, parameters, database, policy, now_ns: now_ns() };
    let style = request.style;
    let shared_by_job = shared.clone();
    let job = Job::new(who, Some(title), move |work| {
        let (mut encoder, meter) = (Encoder::new(style), work.meter());
        let ran = sql.run(&shared_by_job, work, &mut |_| {}, &mut |table, out| {
            encode(&mut encoder, table, &meter, out)
        })?;
        encoder.finish(work.out());
        Ok(ran)
    });
    let job = reading.then(job.that_reads(true));
    query::answer(shared, format.content_type(), gzip, job).await.map_err(refused)
}

/// The values of `$name`s, as SQL has them.
fn parameters(request: &QueryRequest) -> Result<Parameters, Reply> {
    let parameter = |value: &influxql::Parameter| {
        Ok(match value {
            influxql::Parameter::Integer(number) => Parameter::Integer(*number),
            influxql::Parameter::Unsigned(number) => Parameter::Unsigned(*number),
            influxql::Parameter::Number(number) => Parameter::Float(*number),
            influxql::Parameter::String(text) => Parameter::Text(text.clone()),
            influxql::Parameter::Boolean(truth) => Parameter::Boolean(*truth),
            influxql::Parameter::Duration(nanos) => Parameter::Interval(*nanos),
            _ => return Err(bad("params: SQL takes numbers, texts, booleans and durations")),
        })
    };
    let each = request.parameters.iter();
    each.map(|(name, value)| Ok((name.clone(), parameter(value)?))).collect()
}
