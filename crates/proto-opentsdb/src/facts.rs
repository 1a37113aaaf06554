//! Requests about names, series and the facts that people keep about them.

use crate::http::{Endpoint, HttpError, HttpRequest, Params, tail};
use crate::lang::check_change;
use crate::view::{Answer, View};
use crate::{annotation, last, search, tree, uid};

/// Answers a request that needs nothing but a look at the store: everything but writes, queries
/// and what is the same for all stores.
///
/// # Errors
/// What OpenTSDB answers to a request that does not parse or asks for what is not there.
pub fn answer(
    endpoint: Endpoint,
    request: &HttpRequest<'_>,
    view: &View<'_>,
) -> Result<Answer, HttpError> {
    let jsonp = match Params::first(request.query, "jsonp") {
        Some(_) => Params::parse(request.query).jsonp()?,
        None => None,
    };
    let tail = tail(request);
    if endpoint.changes(request) {
        check_change(endpoint, &tail, request)?;
    }
    let answer = match endpoint {
        Endpoint::Last => last::answer(request, view),
        Endpoint::Search => search::answer(request, &tail, view),
        Endpoint::Uid => uid::answer(request, &tail, view),
        Endpoint::Tree => tree::answer(request, &tail, view),
        Endpoint::Annotation => annotation::answer(request, &tail, view),
        _ => Err(HttpError::new(404, "Endpoint not found")),
    };
    Ok(answer?.wrapped(jsonp.as_deref()))
}
