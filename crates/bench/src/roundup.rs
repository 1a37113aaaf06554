//! The round-up: what each published document claims, beside what was measured here of its own
//! servers and of Foliot, with an answer, losses first. The documents' figures are data, in a TOML
//! file; ours are read from reports. A cell without a valid measurement says so and claims nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;

use crate::report::{Measurement, Report, Section, Table};

mod answer;
mod told;

use answer::Answer;
use told::{Found, NOT_MEASURED, OWN, Told};

/// The five documents that the experiments repeat.
const DOCUMENTS: &str = include_str!("roundup/documents.toml");

const COLUMNS: [&str; 6] =
    ["the document says", "its figure", "unit", "its servers, here", "Foliot, here", "answer"];

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "document")]
    documents: Vec<Document>,
}

/// A published document.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    title: String,
    /// The experiment that repeats it: the first word of a report's title.
    experiment: String,
    /// Its servers, as rows of reports name them, besides the word for durability.
    servers: Vec<String>,
    /// What sets its machine apart from any other.
    machine: String,
    #[serde(rename = "claim")]
    claims: Vec<Claim>,
}

/// One of its figures, and where a report has ours.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    says: String,
    figure: String,
    unit: String,
    /// Name of the table.
    table: String,
    /// Column of the figure.
    column: String,
    /// What other naming columns than the server's must say.
    #[serde(default, rename = "where")]
    at: BTreeMap<String, String>,
    /// Of a server's valid rows take the one with the greatest number in this column.
    greatest: Option<String>,
    /// Whether less is better.
    #[serde(default)]
    less: bool,
}

/// Writes the round-up of reports, by the documents of a file or the five that the binary knows.
pub(crate) fn roundup(
    reports: &[(String, Report)],
    documents: Option<&Path>,
) -> io::Result<Report> {
    let file = match documents {
        None => toml::from_str::<File>(DOCUMENTS).map_err(io::Error::other)?,
        Some(path) => {
            let at = |error: String| io::Error::other(format!("{}: {error}", path.display()));
            let text = fs::read_to_string(path).map_err(|error| at(error.to_string()))?;
            toml::from_str(&text).map_err(|error| at(error.to_string()))?
        }
    };
    let mut by_experiment: BTreeMap<&str, (&str, &Report)> = BTreeMap::new();
    for (path, report) in reports {
        let experiment = report.title.split(':').next().unwrap_or_default();
        if let Some((other, _)) = by_experiment.insert(experiment, (path, report)) {
            return Err(io::Error::other(format!("{other} and {path} are both {experiment}")));
        }
    }
    let mut out = Report::new("Round-up: what the documents claim and what was measured");
    out.subject = OWN.to_owned();
    out.judge_by(reports.iter().map(|(_, report)| report));
    for document in &file.documents {
        let report = by_experiment.get(document.experiment.as_str()).map(|(_, report)| *report);
        out.sections.push(document.section(report));
    }
    Ok(out)
}

impl Document {
    fn section(&self, report: Option<&Report>) -> Section {
        let mut section = Section { heading: self.title.clone(), ..Section::default() };
        let mut rows: Vec<(Answer, Vec<String>)> = Vec::new();
        for claim in &self.claims {
            let told = match report {
                Some(report) => claim.told(report),
                None => Told::nothing(format!("no report of {}", self.experiment)),
            };
            let answer = Answer::of(&told, claim.less);
            rows.push((answer.clone(), self.cells(claim, &told, &answer)));
        }
        // Losses first, what nobody knows last; a stable sort keeps the file's order among equals.
        rows.sort_by(|a, b| a.0.rank().total_cmp(&b.0.rank()));
        let answers: Vec<&Answer> = rows.iter().map(|(answer, _)| answer).collect();
        section.say(Answer::summary(&answers));
        section.say(format!(
            "The document's figures are of {}; never compare them with ours across machines.",
            self.machine
        ));
        if let Some(report) = report {
            let of = |name: &str| report.machine.iter().find(|(key, _)| key == name);
            let facts =
                ["date", "commit", "processor", "cores", "kernel"].into_iter().filter_map(of);
            let facts: Vec<String> = facts.map(|(key, value)| format!("{key} {value}")).collect();
            section.say(format!("Ours: {}. {}", report.command, facts.join(", ")));
        }
        let mut table =
            Table::new(&format!("Round-up: {}", self.experiment), &COLUMNS[..1], &COLUMNS[1..]);
        rows.into_iter().for_each(|(_, cells)| table.row(cells));
        section.tables.push(table);
        section
    }

    fn cells(&self, claim: &Claim, told: &Told, answer: &Answer) -> Vec<String> {
        let of = |server: &str| {
            let own: Vec<String> = told
                .found
                .iter()
                .filter(|found| found.server == server)
                .map(|found| format!("{} ({})", found.value.text, found.ack))
                .collect();
            if own.is_empty() { NOT_MEASURED.to_owned() } else { own.join(", ") }
        };
        let theirs: Vec<String> =
            self.servers.iter().map(|server| format!("{server}: {}", of(server))).collect();
        vec![
            claim.says.clone(),
            claim.figure.clone(),
            claim.unit.clone(),
            theirs.join("; "),
            of(OWN),
            answer.sentence(),
        ]
    }
}

impl Claim {
    /// What a report's rows say of this claim, server by server; only valid ones count.
    fn told(&self, report: &Report) -> Told {
        let mut tables = report.sections.iter().flat_map(|section| &section.tables);
        let Some(table) = tables.find(|table| table.name == self.table) else {
            return Told::nothing(format!("the report has no table \"{}\"", self.table));
        };
        let mut columns = [Some(&self.column), self.greatest.as_ref()].into_iter().flatten();
        if let Some(column) = columns.find(|column| !table.columns.contains(column)) {
            return Told::nothing(format!("the table has no column \"{column}\""));
        }
        let mut told = Told::default();
        let mut best: BTreeMap<(String, String), (f64, Measurement)> = BTreeMap::new();
        for row in table.rows.iter().filter(|row| row.source.is_none()) {
            let Some((server, rest)) = self.named(table, &row.cells) else { continue };
            if !self.at.iter().all(|(column, wanted)| rest.get(column) == Some(wanted)) {
                continue;
            }
            let (server, ack) = split_ack(&server);
            if let Some(why) = &row.void {
                told.open.insert(server, format!("no verdict: {why}"));
                continue;
            }
            let at = |column: &str| {
                let place = table.columns.iter().position(|other| other == column)?;
                Measurement::read(row.cells.get(place)?)
            };
            let size = match self.greatest.as_deref() {
                Some(column) => at(column).map(|size| size.median),
                None => Some(0.0),
            };
            let (Some(value), Some(size)) = (at(&self.column), size) else {
                told.open.insert(server, "withheld".to_owned());
                continue;
            };
            let best = best.entry((server, ack)).or_insert_with(|| (size, value.clone()));
            if size > best.0 {
                *best = (size, value);
            }
        }
        let best = best.into_iter();
        told.found = best.map(|((server, ack), (_, value))| Found { server, ack, value }).collect();
        told
    }

    /// The server of a row and what its other naming cells say; none where no server names it.
    fn named(&self, table: &Table, cells: &[String]) -> Option<(String, BTreeMap<String, String>)> {
        let (mut server, mut rest) = (None, BTreeMap::new());
        for (column, cell) in table.columns.iter().zip(cells).take(table.keys) {
            // Some tables name a row by one cell of several words: the server is the first.
            match column.split_once(", ").filter(|(first, _)| *first == "server") {
                Some((_, others)) => {
                    let (name, said) = cell.split_once(", ")?;
                    server = Some(name.to_owned());
                    rest.insert(others.to_owned(), said.to_owned());
                }
                None if column == "server" => server = Some(cell.clone()),
                None => drop(rest.insert(column.clone(), cell.clone())),
            }
        }
        Some((server?, rest))
    }
}

/// `foliot (durable)` as name and word for durability.
fn split_ack(name: &str) -> (String, String) {
    let parts = name.strip_suffix(')').and_then(|name| name.rsplit_once(" ("));
    let (server, ack) = parts.unwrap_or((name, "ack unknown"));
    (server.to_owned(), ack.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_of_the_binary_are_read() {
        let file: File = toml::from_str(DOCUMENTS).unwrap();
        assert_eq!(file.documents.len(), 5);
        let all = roundup(&[], None).unwrap();
        for section in &all.sections {
            for row in &section.tables[0].rows {
                assert_eq!(row.cells[4], NOT_MEASURED);
                assert!(row.cells[5].starts_with("not measured: no report of"), "{:?}", row.cells);
            }
        }
    }

    #[test]
    fn servers_and_their_durability_are_told_apart() {
        let split = |name| split_ack(name);
        assert_eq!(split("foliot (os)"), ("foliot".into(), "os".into()));
        assert_eq!(split("x"), ("x".into(), "ack unknown".into()));
    }
}
