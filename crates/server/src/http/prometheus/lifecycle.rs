//! What Prometheus' users ask for beside samples: its page, its file read again, its chores.

use super::super::{Call, Reply};
use super::Endpoint;
use super::question::refuse;
use crate::aside::aside;
use crate::query::Failure;
use crate::shared::Shared;
use hyper::StatusCode;
use hyper::header;

pub(super) fn answer(shared: &Shared, endpoint: Endpoint, call: &Call) -> Result<Reply, Reply> {
    match endpoint {
        Endpoint::Graph => {
            let address = page(&call.path, &call.query);
            Ok(Reply::empty(StatusCode::FOUND).header(header::LOCATION, &address))
        }
        Endpoint::Reload => reload(shared),
        Endpoint::Snapshot => {
            let text = format!(
                "snapshots are not made over HTTP: `foliot backup --data-dir {} DIR` copies the \
                 store while it runs, into a new directory under DIR",
                shared.config.data_dir.display()
            );
            Err(refuse(&Failure::new(StatusCode::SERVICE_UNAVAILABLE, text)))
        }
        // Merges do that.
        _ => Ok(Reply::empty(StatusCode::NO_CONTENT)),
    }
}

fn reload(shared: &Shared) -> Result<Reply, Reply> {
    let path = &shared.config.prometheus_config.0;
    let read = match path.is_empty() {
        true => Err("prometheus.config names no file".to_owned()),
        false => aside(|| shared.monitor.reload(path)),
    };
    let failed = |reason| {
        let text = format!("failed to reload config: {reason}");
        Reply::text(StatusCode::INTERNAL_SERVER_ERROR, text)
    };
    read.map(|()| Reply::empty(StatusCode::OK)).map_err(failed)
}

/// The address of Foliot's page that shows what one of Prometheus' or VictoriaMetrics' does: the
/// page reads `g0.expr` and what stands beside it.
pub(in crate::http) fn page(path: &str, query: &str) -> String {
    match (path.trim_end_matches('/').ends_with("/vmui"), query) {
        // Its question is in the fragment, which only the browser has: one of its own would take
        // that one's place.
        (true, _) => "/".to_owned(),
        (_, "") => "/#/explore".to_owned(),
        _ => format!("/#/explore?{query}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_other_pages_lead_to_the_same_question() {
        for (path, query, address) in [
            ("/graph", "", "/#/explore"),
            ("/graph", "g0.expr=a%2Bb&g0.tab=1", "/#/explore?g0.expr=a%2Bb&g0.tab=1"),
            ("/query", "g0.expr=up", "/#/explore?g0.expr=up"),
            ("/vmui/", "", "/"),
        ] {
            assert_eq!(page(path, query), address);
        }
    }
}
