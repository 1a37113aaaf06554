//! Write requests: what the query string of a write says, in each API's own words.

use crate::precision::Precision;
use std::borrow::Cow;
use std::fmt;

/// The database of requests that need not name one.
const DEFAULT_DATABASE: &str = "default";

/// The APIs that take line protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteApi {
    /// InfluxDB 1: `/write`.
    V1,
    /// InfluxDB 2: `/api/v2/write`.
    V2,
    /// InfluxDB 3: `/api/v3/write_lp`.
    V3,
    /// TickTock: `/api/write`, which names no database and guesses the unit of timestamps.
    TickTock,
}

/// What a write request asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRequest {
    /// Database to write to.
    pub database: String,
    /// Retention policy; none means the database's default one.
    pub policy: Option<String>,
    /// Unit of the timestamps.
    pub precision: Precision,
    /// Whether good lines are stored although others are bad. When not, nothing may be written once
    /// decoding has refused a line.
    pub accepts_partial: bool,
    /// Whether the client does not want to wait until its lines are durable.
    pub no_sync: bool,
}

impl WriteRequest {
    /// Reads the query string (what stands behind `?`, still percent-encoded). Parameters that the
    /// API does not know are ignored, as all InfluxDB versions do. `usual` is the database, and the
    /// policy, of a request that names none, where it need not name one.
    ///
    /// # Errors
    /// When the database is missing, or a value cannot be understood; see [`WriteError`].
    pub fn parse(
        api: WriteApi,
        query: &str,
        usual: Option<(&str, Option<&str>)>,
    ) -> Result<Self, WriteError> {
        let pairs = decode_query(query)?;
        let get = |name: &str| {
            let found = pairs.iter().find(|(key, _)| key == name);
            found.map(|(_, value)| &**value).filter(|value| !value.is_empty())
        };
        let (database, policy) = match (api, get("bucket"), get("db"), usual) {
            (WriteApi::V2, None, _, Some(usual)) => usual,
            (WriteApi::V2, bucket, ..) => split_bucket(bucket.unwrap_or_default())?,
            (_, _, Some(database), _) => (database, get("rp")),
            (WriteApi::TickTock, ..) => (DEFAULT_DATABASE, get("rp")),
            (WriteApi::V1 | WriteApi::V3, _, None, Some(usual)) => usual,
            (WriteApi::V1 | WriteApi::V3, ..) => return Err(WriteError::NoDatabase),
        };
        let flag = |name: &'static str, default| match get(name) {
            None => Ok(default),
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            Some(value) => Err(WriteError::BadFlag { name, value: value.to_owned() }),
        };
        let is_v3 = api == WriteApi::V3;
        Ok(Self {
            database: database.to_owned(),
            policy: policy.map(str::to_owned),
            precision: precision(api, get("precision"))?,
            accepts_partial: !is_v3 || flag("accept_partial", true)?,
            no_sync: is_v3 && flag("no_sync", false)?,
        })
    }
}

/// Database and policy of a bucket `database/policy`.
fn split_bucket(bucket: &str) -> Result<(&str, Option<&str>), WriteError> {
    match bucket.split_once('/') {
        None if bucket.is_empty() => Err(WriteError::NoBucket),
        None => Ok((bucket, None)),
        Some(("", _)) => Err(WriteError::BucketWithoutDatabase(bucket.to_owned())),
        Some((database, policy)) => Ok((database, Some(policy).filter(|name| !name.is_empty()))),
    }
}

fn precision(api: WriteApi, value: Option<&str>) -> Result<Precision, WriteError> {
    let Some(value) = value else {
        return Ok(match api {
            WriteApi::V1 | WriteApi::V2 => Precision::Nanosecond,
            WriteApi::V3 | WriteApi::TickTock => Precision::Auto,
        });
    };
    let is_long = api == WriteApi::V3;
    let has_minutes = matches!(api, WriteApi::V1 | WriteApi::TickTock);
    Ok(match value {
        "n" | "ns" => Precision::Nanosecond,
        "u" | "us" | "µ" | "µs" => Precision::Microsecond,
        "ms" => Precision::Millisecond,
        "s" => Precision::Second,
        "m" if has_minutes => Precision::Minute,
        "h" if has_minutes => Precision::Hour,
        "auto" if is_long => Precision::Auto,
        "nanosecond" if is_long => Precision::Nanosecond,
        "microsecond" if is_long => Precision::Microsecond,
        "millisecond" if is_long => Precision::Millisecond,
        "second" if is_long => Precision::Second,
        _ => return Err(WriteError::BadPrecision { api, value: value.to_owned() }),
    })
}

/// A name and a value of a query string.
pub(crate) type Pair<'q> = (Cow<'q, str>, Cow<'q, str>);

/// Splits a query string and undoes its percent-encoding.
pub(crate) fn decode_query(query: &str) -> Result<Vec<Pair<'_>>, WriteError> {
    let mut pairs = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let decode = |text| decode_percent(text).ok_or(WriteError::BadEncoding);
        pairs.push((decode(name)?, decode(value)?));
    }
    Ok(pairs)
}

fn decode_percent(text: &str) -> Option<Cow<'_, str>> {
    if !text.bytes().any(|byte| matches!(byte, b'+' | b'%')) {
        return Some(Cow::Borrowed(text));
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(out).ok().map(Cow::Owned)
}

/// Why a write request was not understood. All are the client's fault (status 400).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteError {
    /// No `db`.
    NoDatabase,
    /// No `bucket`.
    NoBucket,
    /// A bucket that begins with a slash.
    BucketWithoutDatabase(String),
    /// A precision that the API does not know.
    BadPrecision {
        /// The API, which decides what may be given.
        api: WriteApi,
        /// What was given.
        value: String,
    },
    /// A parameter that is neither `true` nor `false`.
    BadFlag {
        /// The parameter.
        name: &'static str,
        /// What was given.
        value: String,
    },
    /// The query string's percent-encoding is broken, or hides bytes that are not UTF-8.
    BadEncoding,
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDatabase => f.write_str("database is required: db=DATABASE"),
            Self::NoBucket => f.write_str(
                "bucket is required: bucket=DATABASE or bucket=DATABASE/RETENTION-POLICY",
            ),
            Self::BucketWithoutDatabase(bucket) => {
                write!(f, "bucket name {bucket:?} is in db/rp form but has an empty database")
            }
            Self::BadPrecision { api, value } => {
                let allowed = match api {
                    WriteApi::V1 | WriteApi::TickTock => "n, ns, u, ms, s, m or h",
                    WriteApi::V2 => "ns, us, ms or s",
                    WriteApi::V3 => "auto, nanosecond, microsecond, millisecond or second",
                };
                write!(f, "invalid precision {value:?} (use {allowed})")
            }
            Self::BadFlag { name, value } => {
                write!(f, "invalid {name} {value:?} (use true or false)")
            }
            Self::BadEncoding => f.write_str("the query string is not valid percent-encoded UTF-8"),
        }
    }
}

impl std::error::Error for WriteError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(api: WriteApi, query: &str) -> WriteRequest {
        WriteRequest::parse(api, query, None).unwrap()
    }

    #[test]
    fn each_api_names_the_database_its_own_way() {
        for (api, query, database, policy) in [
            (WriteApi::V1, "db=a", "a", None),
            (WriteApi::V1, "db=a+b&rp=c%2Fd", "a b", Some("c/d")),
            (WriteApi::V1, "rp=&db=%C3%A4", "ä", None),
            (WriteApi::V2, "bucket=a&org=ignored", "a", None),
            (WriteApi::V2, "bucket=a/", "a", None),
            (WriteApi::V2, "bucket=a%2Fb", "a", Some("b")),
            (WriteApi::V3, "db=a", "a", None),
            (WriteApi::TickTock, "", "default", None),
        ] {
            let request = parse(api, query);
            assert_eq!((request.database.as_str(), request.policy.as_deref()), (database, policy));
        }
    }

    #[test]
    fn precision_is_spelt_as_each_api_spells_it() {
        for (api, query, expected) in [
            (WriteApi::V1, "db=a", Precision::Nanosecond),
            (WriteApi::V1, "db=a&precision=u", Precision::Microsecond),
            (WriteApi::V1, "db=a&precision=%C2%B5", Precision::Microsecond),
            (WriteApi::V1, "db=a&precision=h", Precision::Hour),
            (WriteApi::V2, "bucket=a&precision=ms", Precision::Millisecond),
            (WriteApi::V3, "db=a", Precision::Auto),
            (WriteApi::V3, "db=a&precision=second", Precision::Second),
            (WriteApi::TickTock, "", Precision::Auto),
        ] {
            assert_eq!(parse(api, query).precision, expected, "{query}");
        }
    }

    #[test]
    fn flags_are_of_v3() {
        let request = parse(WriteApi::V3, "db=a&accept_partial=false&no_sync=true");
        assert!(!request.accepts_partial && request.no_sync);
        let request = parse(WriteApi::V1, "db=a&accept_partial=false&no_sync=true");
        assert!(request.accepts_partial && !request.no_sync);
    }

    #[test]
    fn errors_say_what_to_do() {
        for (api, query, expected) in [
            (WriteApi::V1, "", "database is required: db=DATABASE"),
            (WriteApi::V1, "db=", "database is required: db=DATABASE"),
            (
                WriteApi::V1,
                "db=a&precision=x",
                "invalid precision \"x\" (use n, ns, u, ms, s, m or h)",
            ),
            (WriteApi::V2, "bucket=a&precision=h", "invalid precision \"h\" (use ns, us, ms or s)"),
            (
                WriteApi::V2,
                "bucket=/b",
                "bucket name \"/b\" is in db/rp form but has an empty database",
            ),
            (WriteApi::V3, "db=a&no_sync=1", "invalid no_sync \"1\" (use true or false)"),
            (WriteApi::V1, "db=%f", "the query string is not valid percent-encoded UTF-8"),
            (WriteApi::V1, "db=%ff", "the query string is not valid percent-encoded UTF-8"),
        ] {
            assert_eq!(WriteRequest::parse(api, query, None).unwrap_err().to_string(), expected);
        }
    }

    #[test]
    fn a_request_that_need_not_name_a_database_has_the_usual_one() {
        let usual = Some(("d", Some("p")));
        for api in [WriteApi::V1, WriteApi::V2, WriteApi::V3] {
            for (query, database, policy) in [
                ("", "d", Some("p")),
                ("db=&bucket=", "d", Some("p")),
                ("db=a&bucket=a", "a", None),
            ] {
                let request = WriteRequest::parse(api, query, usual).unwrap();
                assert_eq!((&*request.database, request.policy.as_deref()), (database, policy));
            }
        }
    }
}
