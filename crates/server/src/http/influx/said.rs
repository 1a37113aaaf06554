//! What the bodies of InfluxDB 2's API say that change something. A member that is misspelt, or of
//! another type, must not become another wish: a token that never ends, or one for everything.

use super::buckets::refuse;
use crate::http::body::{self, Text};
use crate::http::{Asked, Reply, not_read};
use crate::query::Weight;
use crate::shared::Shared;
use foliot_proto_opentsdb::parse_once;
use hyper::{HeaderMap, StatusCode};
use serde_json::{Map, Value};

/// The members of an object, each of which is known.
pub(super) struct Said<'a>(&'a Map<String, Value>);

fn bad(message: &str) -> Reply {
    refuse(StatusCode::BAD_REQUEST, message)
}

/// Longest body of a change.
const BODY_BYTES_MAX: usize = 1 << 20;

/// The body of a request that is no write, and memory for what is made of it.
pub(super) async fn body_of(
    shared: &Shared,
    headers: &HeaderMap,
    body: Asked,
) -> Result<(Text, Weight), Reply> {
    let text = body::read(shared, headers, body, Vec::new()).await?;
    if text.bytes.len() > BODY_BYTES_MAX {
        let message = format!("the request is longer than {BODY_BYTES_MAX} bytes");
        return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &message));
    }
    let weight = Weight::of_json(shared, &text.bytes).await;
    let weight = weight.map_err(|failure| refuse(failure.status, &failure.message))?;
    Ok((text, weight))
}

/// Reads a body, which says nothing twice.
pub(super) fn parse(text: &[u8]) -> Result<Value, Reply> {
    parse_once(text).map_err(|error| bad(&not_read(&error)))
}

impl<'a> Said<'a> {
    /// The members of `value`, which is called `what`.
    pub(super) fn of(value: &'a Value, what: &str, known: &[&str]) -> Result<Self, Reply> {
        let members = value.as_object().ok_or_else(|| bad(&format!("{what} must be an object")))?;
        match members.keys().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(bad(&format!("{name} is none of {}", known.join(", ")))),
            None => Ok(Self(members)),
        }
    }

    fn member<T>(
        &self,
        name: &str,
        what: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Reply> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match read(value) {
                None => Err(bad(&format!("{name} must be {what}"))),
                read => Ok(read),
            },
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&'a str>, Reply> {
        self.member(name, "text", Value::as_str)
    }

    /// Seconds, in nanoseconds.
    pub(super) fn seconds_ns(&self, name: &str) -> Result<Option<i64>, Reply> {
        let whole = |value: &Value| value.as_i64().filter(|seconds| *seconds >= 0);
        let seconds = self.member(name, "a whole number of seconds", whole)?;
        Ok(seconds.map(|seconds| seconds.saturating_mul(1_000_000_000)))
    }

    pub(super) fn list(&self, name: &str) -> Result<&'a [Value], Reply> {
        let list = self.member(name, "a list", Value::as_array)?;
        Ok(list.map_or(&[], Vec::as_slice))
    }

    pub(super) fn value(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name)
    }

    pub(super) fn is_given(&self, name: &str) -> bool {
        self.0.get(name).is_some_and(|value| !value.is_null())
    }

    /// Refuses a member that is given and says something else than what is.
    pub(super) fn check(&self, name: &str, is: &str) -> Result<(), Reply> {
        match self.text(name)?.is_none_or(|said| said == is) {
            true => Ok(()),
            false => Err(bad(&format!("{name} can only be {is:?} here"))),
        }
    }
}
