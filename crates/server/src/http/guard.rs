//! The one check before every route: whether the request comes by a name of this server and from no
//! foreign page, who sends it, and whether that one may.

use super::routes::{Right, Route, Target};
use super::{Call, FETCH_DEST, Reply, SAID_TWICE, changes, check_database, lists, store};
use crate::login;
use crate::rejects::shortened;
use crate::shared::Shared;
use foliot_access::{Access, Credentials, Need, Principal, Refusal};
use foliot_proto_influx::WriteApi;
use foliot_proto_influx::answer::error_answer;
use foliot_proto_opentsdb::{Endpoint, HttpError, Params};
use hyper::StatusCode;
use hyper::header::{self, AUTHORIZATION, HeaderMap};
use std::net::IpAddr;
use std::sync::Arc;

/// What a client that shows nothing is asked for.
const CHALLENGE: &str = "Basic realm=\"Foliot\", charset=\"UTF-8\"";

/// Where DataDog's agents show their key.
const DATADOG_KEY: &str = "dd-api-key";

/// What a page of another site is told.
pub(super) const FOREIGN: &str = "other web pages may neither write here nor load what is here";

/// Lets a request through to its route, with who sends it.
///
/// # Errors
/// The refusal, in the manner of the route's door.
pub(super) fn admit(shared: &Shared, route: &Route, call: &mut Call) -> Result<(), Reply> {
    if !is_ours(shared, &call.headers) {
        let name = call.headers.get(header::HOST).map(|name| name.as_bytes()).unwrap_or_default();
        let name = shortened(&String::from_utf8_lossy(name));
        let text = format!("this server is not known as {name:?}; http.hosts lists its names");
        return Err(Reply::text(StatusCode::MISDIRECTED_REQUEST, text).close());
    }
    let is_looking = call.method == "GET";
    let is_change = changes(route, call);
    let is_theirs = is_change || !is_looking || is_loaded(&call.headers);
    if route.right != Right::Public && !call.is_trusted && is_theirs {
        return Err(refuse(route, StatusCode::FORBIDDEN, FOREIGN).close());
    }
    if route.right != Right::Public && shared.gate.is_on() {
        call.who = identify(shared, route, call)?;
        let database = call.database(shared);
        if !may(route, &call.who, &database, is_change) {
            return Err(match call.who.is_nobody() {
                true => refused(route, Refusal::Missing),
                false => {
                    let text = lacking(route.right, &call.who, &database, is_change);
                    refuse(route, StatusCode::FORBIDDEN, &text)
                }
            });
        }
    }
    if !route.is_influx()
        && let Some(reason) = lone_policy(&call.query)
    {
        return Err(refuse(route, StatusCode::BAD_REQUEST, reason).close());
    }
    if is_change && let Err(reason) = check_database(&call.query, &call.headers) {
        return Err(refuse(route, StatusCode::BAD_REQUEST, &reason).close());
    }
    if is_change && call.query.contains('&') {
        let params = Params::parse(&call.query);
        if let Some(name) = params.twice(lists(route)) {
            let text = format!("{name}: {SAID_TWICE}");
            return Err(refuse(route, StatusCode::BAD_REQUEST, &text).close());
        }
    }
    if is_change && is_looking && !shared.config.http_changes_by_get {
        let text = "GET changes nothing here (http.changes_by_get): use POST";
        let refusal = refuse(route, StatusCode::METHOD_NOT_ALLOWED, text);
        return Err(refusal.header(header::ALLOW, "POST"));
    }
    Ok(())
}

/// What is wrong with a query string that names a policy and not whose: another database's samples
/// would be read or written than were meant.
fn lone_policy(query: &str) -> Option<&'static str> {
    let has = |name| Params::first(query, name).is_some_and(|value| !value.is_empty());
    let is_lone = query.contains("rp=") && has("rp") && !has("db");
    is_lone.then_some("rp: the database of this policy is missing: say db too")
}

/// Whether a request names this server as it is known: by an address, which no foreign page's name
/// can be turned into, by a name of this machine, or by one of `http.hosts`.
fn is_ours(shared: &Shared, headers: &HeaderMap) -> bool {
    let hosts = &shared.config.http_hosts.0;
    let Some(host) = headers.get(header::HOST) else { return true };
    let Ok(host) = host.to_str() else { return false };
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is = |known: &str| name.trim_end_matches('.').eq_ignore_ascii_case(known);
    name.parse::<IpAddr>().is_ok()
        || is("localhost")
        || is(&shared.build.host)
        || hosts.iter().any(|known| known == "*" || is(known))
}

/// Whether a page loads this into itself, as a picture or a script, instead of leading there. It
/// could not read what comes, but it would see whether and how soon something comes.
fn is_loaded(headers: &HeaderMap) -> bool {
    headers.get(&FETCH_DEST).is_some_and(|dest| dest != "document")
}

/// Who sends a request.
fn identify(shared: &Shared, route: &Route, call: &Call) -> Result<Arc<Principal>, Reply> {
    let store = match route.target {
        Target::Foliot(_) => shared.store().ok_or_else(|| super::foliot::unopened(shared))?,
        _ => store(shared)?,
    };
    let shown = credentials(route, call);
    if shown.as_ref().is_some_and(Credentials::is_without_name) {
        return Err(challenge(refuse(route, StatusCode::UNAUTHORIZED, "username required")));
    }
    match login::admit(shared, store, "http", shown.as_ref(), call.peer) {
        // What an address may do without credentials is to write.
        Ok(who) if !who.is_nobody() || route.stores() => Ok(who),
        // InfluxQL says what is to be done first.
        Ok(_) | Err(Refusal::Missing) if !shared.gate.has_administrator() => {
            Ok(Arc::new(Principal::nobody()))
        }
        Ok(_) => Err(refused(route, Refusal::Missing)),
        Err(refusal) => Err(refused(route, refusal)),
    }
}

fn refused(route: &Route, refusal: Refusal) -> Reply {
    match refusal {
        Refusal::Missing => {
            let text = match route.is_influx() {
                true => "unable to parse authentication credentials",
                false => "no credentials: send Authorization with Basic, Bearer or Token",
            };
            challenge(refuse(route, StatusCode::UNAUTHORIZED, text))
        }
        Refusal::Wrong => {
            let text = match route.is_influx() {
                true => "authorization failed",
                false => "the user, the password or the token is wrong, or the token has ended",
            };
            challenge(refuse(route, StatusCode::UNAUTHORIZED, text))
        }
        Refusal::Throttled(wait_s) => {
            let text =
                format!("too many logins from this address have failed; try again in {wait_s} s");
            refuse(route, StatusCode::TOO_MANY_REQUESTS, &text).retry_after(wait_s)
        }
        Refusal::Busy => {
            let text = "too many logins at once; try again later";
            refuse(route, StatusCode::SERVICE_UNAVAILABLE, text).retry_after(1)
        }
    }
}

fn challenge(reply: Reply) -> Reply {
    reply.header(header::WWW_AUTHENTICATE, CHALLENGE)
}

/// What a request shows: `Authorization`, InfluxDB's `u` and `p`, or the key of DataDog's agents.
fn credentials(route: &Route, call: &Call) -> Option<Credentials> {
    if route.is_influx() {
        let params = Params::parse(&call.query);
        if let (Some(user), Some(password)) = (params.get("u"), params.get("p"))
            && !user.is_empty()
            && !password.is_empty()
        {
            return Some(Credentials::of_pair(user, password));
        }
    }
    if let Some(header) = call.headers.get(AUTHORIZATION) {
        return Credentials::of_header(header.to_str().ok()?);
    }
    // DataDog's agents have a key and no other way to show it.
    let key = call.headers.get(DATADOG_KEY).filter(|_| route.is_datadog())?;
    Credentials::of_header(&format!("Bearer {}", key.to_str().ok()?))
}

/// Refuses whoever may not do what a route with this right does in the database that a form names.
///
/// # Errors
/// What is lacking, for a person.
pub(super) fn check_form(who: &Principal, access: Access, database: &str) -> Result<(), String> {
    let may = match access {
        Access::Read => who.may(Need::Read(database)),
        access => who.may_throughout(database, access),
    };
    match may {
        true => Ok(()),
        false => Err(lacking(Right::Form(access), who, database, access != Access::Read)),
    }
}

/// Whether the sender may do what the route does. Doors with languages of their own look at each
/// statement.
fn may(route: &Route, who: &Principal, database: &str, is_change: bool) -> bool {
    match (route.right, is_change) {
        (Right::Public | Right::Door, _) => true,
        (Right::Form(_), _) => !who.is_nobody(),
        (Right::Read, _) => who.may(Need::Read(database)),
        (Right::Write, _) => who.may(Need::Write(database)),
        // Samples are read within what the sender may see; names and facts belong to no
        // measurement.
        (Right::Edit, false) if route.target == Target::OpenTsdb(Endpoint::Query) => {
            who.may(Need::Read(database))
        }
        (Right::Edit | Right::Facts, false) => who.may_throughout(database, Access::Read),
        (Right::Edit | Right::Facts, true) => who.may_throughout(database, Access::Write),
        (Right::Operate, _) => who.may(Need::Operate),
        (Right::Administer, _) => who.may(Need::Administer),
    }
}

/// What whoever sends a request lacks for it, and who can give it.
fn lacking(right: Right, who: &Principal, database: &str, is_change: bool) -> String {
    let in_all = match right {
        Right::Edit | Right::Form(_) if is_change => " in all measurements",
        Right::Facts => " in all measurements",
        _ => "",
    };
    let needed = match right {
        Right::Operate => "the role operator".to_owned(),
        Right::Administer => "the role admin".to_owned(),
        Right::Write => format!("the right to write to database {database:?}"),
        Right::Edit | Right::Facts | Right::Form(_) if is_change => {
            format!("the right to write to database {database:?}{in_all}")
        }
        _ => format!("the right to read database {database:?}{in_all}"),
    };
    let name = who.name();
    let who = if name.is_empty() { "this client".to_owned() } else { format!("{name:?}") };
    let by = match right {
        Right::Operate => "(`foliot user token NAME --role operator`, or a user with that role)",
        Right::Administer => "(GRANT ALL PRIVILEGES, or a token with the role)",
        _ => "(GRANT, or a token with the role)",
    };
    format!("{who} lacks {needed}; an administrator gives it {by}")
}

/// A refusal in the manner of the route's door.
pub(super) fn refuse(route: &Route, status: StatusCode, text: &str) -> Reply {
    let api = match route.target {
        Target::InfluxWrite | Target::InfluxQuery => WriteApi::V1,
        Target::InfluxWrite3
        | Target::InfluxQuery3
        | Target::InfluxSql
        | Target::InfluxDatabase => WriteApi::V3,
        target if target.is_influx() => WriteApi::V2,
        Target::OpenTsdb(_) => {
            return Reply::json(status, HttpError::new(status.as_u16(), text).to_json());
        }
        Target::Foliot(_) => return super::foliot::refuse(status, text),
        _ => return Reply::text(status, text),
    };
    super::influx::dress(error_answer(api, status.as_u16(), text))
}
