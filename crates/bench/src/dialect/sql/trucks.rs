//! TSBS's questions about trucks in PostgreSQL's SQL.

use super::super::{Request, names};
use super::TIME;
use crate::fleet::Fleet;
use crate::question::{BIN_MS, BREAKS, Bins, DAY_MS, Question, Told, Trucks};

/// The statements of a question; each says under which field its rows go.
pub(crate) fn requests(fleet: &Fleet, question: &Question, asked: Trucks) -> Option<Vec<Request>> {
    let table = fleet.tables.get(question.table)?;
    let [at] = question.fields.as_slice() else { return None };
    let (field, name) = (&table.fields.get(*at)?.name, table.name);
    let only = names(fleet, question)
        .map(|(label, names)| format!(" AND \"{label}\" IN ('{}')", names.join("','")))
        .unwrap_or_default();
    let (from, to) = (question.from_ms, question.to_ms);
    let window = format!("\"{TIME}\" >= {from} AND \"{TIME}\" < {to}{only}");
    let newest = |bound: String, more: &str| {
        format!(
            "SELECT s, t, v FROM (SELECT DISTINCT ON (\"name\") \"name\" AS s, \"{TIME}\" AS t, \
             \"{field}\" AS v{more} FROM \"{name}\" WHERE \"{field}\" IS NOT NULL{only} \
             ORDER BY \"name\", \"{TIME}\" DESC) AS newest WHERE v {bound}"
        )
    };
    Some(match asked {
        Trucks::LastBelow(bound) => vec![request(*at, newest(format!("< {bound}"), ""))],
        Trucks::LastShare(share, label) => {
            let more = format!(", \"{label}\" AS whole");
            let bound = format!(">= {share} * CAST(whole AS double precision)");
            vec![request(*at, newest(bound, &more))]
        }
        Trucks::Mean { by, moving } => {
            let moving = moving.and_then(|at| table.fields.get(at));
            let moves = moving.map(|moving| format!(" AND \"{}\" > 1", moving.name));
            let moves = moves.unwrap_or_default();
            let key = key(by);
            let text = format!(
                "SELECT {key} AS s, 0 AS t, avg(\"{field}\") FROM \"{name}\" \
                 WHERE {window}{moves} GROUP BY 1 HAVING count(\"{field}\") > 0"
            );
            vec![request(*at, text)]
        }
        Trucks::Bins(asked) => bins(name, field, *at, &window, asked),
    })
}

fn bins(name: &str, field: &str, at: usize, window: &str, asked: Bins) -> Vec<Request> {
    let Bins { by, above, told } = asked;
    let key = key(by);
    let passes = if above { "> 1" } else { "< 1" };
    let bins = format!(
        "WITH bins AS (SELECT {key} AS s, \"{TIME}\" - \"{TIME}\" % {BIN_MS} AS b \
         FROM \"{name}\" WHERE {window} GROUP BY 1, 2 HAVING avg(\"{field}\") {passes})"
    );
    let count =
        |more: &str| format!("{bins} SELECT s, 0 AS t, count(*) FROM bins GROUP BY 1{more}");
    match told {
        Told::Count { at_least } => {
            vec![request(at, count(&format!(" HAVING count(*) >= {at_least}")))]
        }
        Told::PerDay => {
            let day = format!("b - b % {DAY_MS}");
            let text =
                format!("{bins} SELECT s, {day} AS t, count(*) FROM bins GROUP BY 1, 2 ORDER BY 2");
            vec![request(at, text)]
        }
        Told::Breaks => {
            let breaks = format!(
                "{bins} SELECT s, 0 AS t, count(*) FROM (SELECT s, b, lag(b) OVER \
                 (PARTITION BY s ORDER BY b) AS before FROM bins) AS pairs \
                 WHERE b - before > {BIN_MS} GROUP BY 1"
            );
            vec![request(at, count("")), request(BREAKS, breaks)]
        }
    }
}

fn request(field: usize, text: String) -> Request {
    Request { path: String::new(), body: Some(text), field, shift_ms: 0 }
}

fn key(by: &[&str]) -> String {
    let labels: Vec<String> = by.iter().map(|label| format!("\"{label}\"")).collect();
    format!("concat_ws('/', {})", labels.join(", "))
}
