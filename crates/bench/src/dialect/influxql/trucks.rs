//! TSBS's questions about trucks in InfluxQL, by subqueries.

use super::conditions::{all_of, sources};
use crate::fleet::Fleet;
use crate::profile::trucks::CAPACITIES;
use crate::question::{BREAKS, Bins, Question, Told, Trucks};

/// The statements of a question.
pub(super) fn texts(fleet: &Fleet, question: &Question, asked: Trucks) -> Option<Vec<String>> {
    let table = fleet.tables.get(question.table)?;
    let [at] = question.fields.as_slice() else { return None };
    let field = &table.fields.get(*at)?.name;
    let name = table.name;
    let window = format!("time >= {}ms AND time < {}ms", question.from_ms, question.to_ms);
    let of = |more: Option<String>| {
        let conditions: Vec<String> = sources(fleet, question).into_iter().chain(more).collect();
        all_of(&conditions)
    };
    let newest = |more: Option<String>, bound: String| {
        format!(
            "SELECT f{at} FROM (SELECT last(\"{field}\") AS f{at} FROM \"{name}\"{} \
             GROUP BY \"name\") WHERE f{at} {bound} GROUP BY \"name\"",
            of(more)
        )
    };
    Some(match asked {
        Trucks::LastBelow(bound) => vec![newest(None, format!("< {bound}"))],
        // A label is text: each number it may hold is asked for by itself.
        Trucks::LastShare(share, label) => CAPACITIES
            .iter()
            .map(|whole| {
                let label = format!("\"{label}\" = '{whole}'");
                newest(Some(label), format!(">= {}", share * *whole as f64))
            })
            .collect(),
        Trucks::Mean { by, moving } => {
            let moving = moving.and_then(|at| table.fields.get(at));
            let moves = moving.map(|moving| format!(" AND \"{}\" > 1", moving.name));
            let more = Some(window + &moves.unwrap_or_default());
            let by = quoted(by);
            let of = of(more);
            vec![format!("SELECT mean(\"{field}\") AS f{at} FROM \"{name}\"{of} GROUP BY {by}")]
        }
        Trucks::Bins(Bins { by, above, told }) => {
            let by = quoted(by);
            let of = of(Some(window.clone()));
            let bins = format!(
                "SELECT mean(\"{field}\") AS v FROM \"{name}\"{of} \
                 GROUP BY time(10m), {by} fill(none)"
            );
            let passes = if above { "v > 1" } else { "v < 1" };
            let count = format!(
                "SELECT count(v) AS f{at} FROM ({bins}) WHERE {passes} AND {window} GROUP BY {by}"
            );
            match told {
                Told::Count { at_least } => vec![format!(
                    "SELECT f{at} FROM ({count}) WHERE f{at} >= {at_least} GROUP BY {by}"
                )],
                Told::PerDay => vec![format!("{count}, time(1d) fill(none)")],
                Told::Breaks => {
                    let distances = format!(
                        "SELECT elapsed(v, 10m) AS e FROM ({bins}) WHERE {passes} AND {window} \
                         GROUP BY {by}"
                    );
                    let breaks = format!(
                        "SELECT count(e) AS f{BREAKS} FROM ({distances}) WHERE e > 1 GROUP BY {by}"
                    );
                    vec![count, breaks]
                }
            }
        }
    })
}

fn quoted(labels: &[&str]) -> String {
    let labels: Vec<String> = labels.iter().map(|label| format!("\"{label}\"")).collect();
    labels.join(", ")
}
