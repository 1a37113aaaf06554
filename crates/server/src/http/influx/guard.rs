//! Who asks, and what they may: users and grants as InfluxDB 1.8 asks for them, where `influx.auth`
//! says so.
//!
//! A request is of nobody as long as no administrator exists; all that nobody may do is create one.

use super::dress;
use crate::http::{Call, Reply};
use crate::shared::Shared;
use crate::store::Store;
use crate::users::{Grant, User, Users};
use foliot_proto_influx::WriteApi;
use foliot_proto_influx::answer::error_answer;
use foliot_proto_influx::influxql::{Clauses, Select, Show, Source, Statement};
use foliot_proto_opentsdb::Params;
use hyper::StatusCode;
use hyper::header::{AUTHORIZATION, HeaderName};

/// Who sent a request.
#[derive(Debug)]
pub(super) enum Guest {
    /// Nobody is asked.
    Anyone,
    /// There are no administrators yet.
    Nobody,
    User(User),
}

/// What a statement wants to do.
#[derive(Debug, PartialEq, Eq)]
enum Need {
    Administrator,
    /// This in the database, or in that of the request.
    Right(Grant, Option<String>),
}

impl Guest {
    /// Looks at who sent a request: `u` and `p`, `Authorization: Basic`, or `Token user:password`.
    ///
    /// # Errors
    /// With status 401, when that is not to be believed.
    pub(super) fn of(
        shared: &Shared,
        store: &Store,
        api: WriteApi,
        call: &Call,
    ) -> Result<Self, Reply> {
        if !shared.config.influx_auth {
            return Ok(Self::Anyone);
        }
        if !Users::list(store.engine()).iter().any(|user| user.is_admin) {
            return Ok(Self::Nobody);
        }
        let refuse = |message: &str| {
            dress(error_answer(api, StatusCode::UNAUTHORIZED.as_u16(), message))
                .header(HeaderName::from_static("www-authenticate"), "Basic realm=\"InfluxDB\"")
        };
        let (name, password) = credentials(call).map_err(refuse)?;
        if name.is_empty() {
            return Err(refuse("username required"));
        }
        // Checking a password takes its time.
        let check = || shared.users.authenticate(store.engine(), &name, &password);
        match tokio::task::block_in_place(check) {
            Some(user) => Ok(Self::User(user)),
            None => Err(refuse("authorization failed")),
        }
    }

    /// Whether the statements may be carried out.
    ///
    /// # Errors
    /// With InfluxDB's sentence when not.
    pub(super) fn may_ask(
        &self,
        statements: &[Statement],
        database: Option<&str>,
    ) -> Result<(), String> {
        let user = match self {
            Self::Anyone => return Ok(()),
            Self::Nobody => {
                let first = statements.first();
                return match first {
                    Some(Statement::CreateUser { is_admin: true, .. }) => Ok(()),
                    _ => Err("error authorizing query: create admin user first or disable \
                              authentication"
                        .to_owned()),
                };
            }
            Self::User(user) => user,
        };
        for statement in statements {
            for need in needs(statement) {
                let missing = match &need {
                    _ if user.is_admin => continue,
                    Need::Administrator => "requires admin privilege".to_owned(),
                    Need::Right(grant, named) => {
                        let database = named.as_deref().or(database).unwrap_or_default();
                        if user.may(*grant, database) {
                            continue;
                        }
                        format!("requires {} on {database}", grant.text())
                    }
                };
                let name = &user.name;
                return Err(format!(
                    "error authorizing query: {name} not authorized to execute statement \
                     '{statement}', {missing}"
                ));
            }
        }
        Ok(())
    }

    /// Whether lines may be written.
    ///
    /// # Errors
    /// With InfluxDB's sentence when not.
    pub(super) fn may_write(&self, database: &str) -> Result<(), String> {
        match self {
            Self::Anyone => Ok(()),
            Self::Nobody => Err(format!("user is required to write to database {database:?}")),
            Self::User(user) if user.is_admin || user.may(Grant::Write, database) => Ok(()),
            Self::User(user) => {
                let name = &user.name;
                Err(format!("{name:?} user is not authorized to write to database {database:?}"))
            }
        }
    }

    /// Whether the guest may do everything.
    pub(super) fn is_administrator(&self) -> bool {
        match self {
            Self::Anyone => true,
            Self::Nobody => false,
            Self::User(user) => user.is_admin,
        }
    }

    /// Whether the guest may know that a database exists.
    pub(super) fn may_see(&self, database: &str) -> bool {
        match self {
            Self::User(user) if !user.is_admin => {
                user.may(Grant::Read, database) || user.may(Grant::Write, database)
            }
            _ => true,
        }
    }
}

/// User and password of a request.
fn credentials(call: &Call) -> Result<(String, String), &'static str> {
    const UNREADABLE: &str = "unable to parse authentication credentials";
    let params = Params::parse(&call.query);
    if let (Some(user), Some(password)) = (params.get("u"), params.get("p"))
        && !user.is_empty()
        && !password.is_empty()
    {
        return Ok((user.to_owned(), password.to_owned()));
    }
    let header = call.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let (kind, text) = header.and_then(|text| text.split_once(' ')).ok_or(UNREADABLE)?;
    let decoded;
    let pair = match kind {
        "Token" => text,
        "Bearer" => return Err("bearer auth disabled"),
        _ if kind.eq_ignore_ascii_case("basic") => {
            decoded = base64(text).and_then(|bytes| String::from_utf8(bytes).ok());
            decoded.as_deref().ok_or(UNREADABLE)?
        }
        _ => return Err(UNREADABLE),
    };
    let (user, password) = pair.split_once(':').ok_or(UNREADABLE)?;
    Ok((user.to_owned(), password.to_owned()))
}

/// Bytes written in base64 (RFC 4648, section 4).
fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0u32, 0u32);
    for c in text.trim_end_matches('=').bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        held = held << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((held >> bits) as u8);
            held &= (1 << bits) - 1;
        }
    }
    Some(bytes)
}

/// What a statement wants, as InfluxQL's own table has it.
fn needs(statement: &Statement) -> Vec<Need> {
    let write = |database: Option<&String>| vec![Need::Right(Grant::Write, database.cloned())];
    match statement {
        Statement::Select(select) | Statement::Explain { select, .. } => needs_of_select(select),
        Statement::Delete(_) | Statement::DropSeries(_) => write(None),
        Statement::DropRetentionPolicy { database, .. }
        | Statement::DropContinuousQuery { database, .. } => write(Some(database)),
        Statement::CreateContinuousQuery(query) => {
            let mut needs = vec![Need::Right(Grant::Read, Some(query.database.clone()))];
            needs.extend(query.select.target.iter().map(|target| {
                let database = target.database.clone().or_else(|| Some(query.database.clone()));
                Need::Right(Grant::Write, database)
            }));
            needs
        }
        Statement::Show(show) => needs_of_show(show),
        _ => vec![Need::Administrator],
    }
}

fn needs_of_select(select: &Select) -> Vec<Need> {
    let mut needs = Vec::new();
    for source in &select.sources {
        match source {
            Source::Measurement(measurement) => {
                needs.push(Need::Right(Grant::Read, measurement.database.clone()));
            }
            Source::Subquery(inner) => needs.extend(needs_of_select(inner)),
        }
    }
    let target = select.target.iter();
    needs.extend(target.map(|target| Need::Right(Grant::Write, target.database.clone())));
    needs
}

fn needs_of_show(show: &Show) -> Vec<Need> {
    let read = |database: Option<&String>| vec![Need::Right(Grant::Read, database.cloned())];
    let read_all = |clauses: &Clauses, more: Option<&String>| {
        let mut needs = read(clauses.database.as_ref());
        needs.extend(more.map(|database| Need::Right(Grant::Read, Some(database.clone()))));
        for source in &clauses.sources {
            if let Source::Measurement(measurement) = source
                && let Some(database) = &measurement.database
            {
                needs.push(Need::Right(Grant::Read, Some(database.clone())));
            }
        }
        needs
    };
    match show {
        // What is listed depends on what the guest may see.
        Show::Databases => Vec::new(),
        Show::Queries | Show::ContinuousQueries => read(None),
        Show::RetentionPolicies(database) => read(database.as_ref()),
        Show::Measurements { with, clauses } => {
            read_all(clauses, with.as_ref().and_then(|with| with.database.as_ref()))
        }
        Show::Series(clauses)
        | Show::FieldKeys(clauses)
        | Show::TagKeys { clauses, .. }
        | Show::TagValues { clauses, .. }
        | Show::Cardinality { clauses, .. } => read_all(clauses, None),
        Show::Users
        | Show::Grants(_)
        | Show::Shards
        | Show::ShardGroups
        | Show::Subscriptions
        | Show::Stats(_)
        | Show::Diagnostics(_) => vec![Need::Administrator],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        // RFC 4648, section 10.
        for (text, bytes) in
            [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYmFy", "foobar")]
        {
            assert_eq!(base64(text).unwrap(), bytes.as_bytes(), "{text}");
        }
        assert_eq!(base64("Zm9v!"), None);
    }
}
