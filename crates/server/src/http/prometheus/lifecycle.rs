//! What Prometheus' users ask for beside samples: its page, its file read again, its chores.

use super::super::{Call, Reply};
use super::Endpoint;
use super::question::refuse;
use crate::aside::aside;
use crate::query::Failure;
use crate::shared::Shared;
use foliot_monitor::escaped;
use foliot_proto_opentsdb::Params;
use hyper::StatusCode;
use hyper::header;

/// Expressions that an address of Prometheus' page may have.
const PANELS_MAX: usize = 20;

pub(super) fn answer(shared: &Shared, endpoint: Endpoint, call: &Call) -> Result<Reply, Reply> {
    match endpoint {
        Endpoint::Graph => {
            let address = page(&Params::parse(&call.query));
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

/// The address of Foliot's page that shows what one of Prometheus' does: `g0.expr`, `g1.expr` and
/// so on, the range of the first, and whether it is a table.
fn page(params: &Params) -> String {
    let of = |index: usize, name: &str| params.get(&format!("g{index}.{name}"));
    let expressions = (0..PANELS_MAX).filter_map(|index| of(index, "expr"));
    let expressions = expressions.filter(|text| !text.is_empty());
    let expressions: String = expressions.map(|text| format!("&p={}", escaped(text))).collect();
    if expressions.is_empty() {
        return "/#/explore".to_owned();
    }
    let is_length = |text: &&str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let range = of(0, "range_input").filter(|text| !text.is_empty()).filter(is_length);
    let view = if of(0, "tab") == Some("1") { "&view=table" } else { "" };
    format!("/#/explore?start={}-ago{view}{expressions}", range.unwrap_or("1h"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_prometheus_page_lead_to_the_same_question() {
        for (query, address) in [
            ("", "/#/explore"),
            ("g0.expr=", "/#/explore"),
            ("g0.expr=up&g0.tab=0&g0.range_input=2h", "/#/explore?start=2h-ago&p=up"),
            (
                "g0.expr=a%2Bb&g0.tab=1&g1.expr=c&g0.range_input=%0d%0a",
                "/#/explore?start=1h-ago&view=table&p=a%2Bb&p=c",
            ),
        ] {
            assert_eq!(page(&Params::parse(query)), address);
        }
    }
}
