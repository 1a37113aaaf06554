//! `/api/v1/export`: stored samples as VictoriaMetrics' lines of JSON, or of CSV.

use super::super::{Call, Reply};
use super::Endpoint;
use super::question::{Question, bad, refuse};
use crate::query::{self, Job, Title};
use crate::shared::Shared;
use foliot_access::Access;
use foliot_exec::Ran;
use foliot_model::Frame;
use foliot_plan::Series;
use foliot_plan::grid::{Stored, name};
use foliot_proto_prometheus::{CsvFormat, json_lines};
use std::sync::Arc;

/// What VictoriaMetrics says of its lines.
const LINES: &str = "application/stream+json; charset=utf-8";
const CSV: &str = "text/csv; charset=utf-8";

/// How samples are written.
enum Lines {
    /// As JSON, so many samples a line at most.
    Json(usize),
    Csv(CsvFormat),
}

impl Lines {
    fn write(&self, frame: &Frame, out: &mut Vec<u8>) {
        match self {
            Self::Json(rows_max) => json_lines(frame, *rows_max, out),
            Self::Csv(format) => format.write(frame, out),
        }
    }
}

pub(super) async fn answer(
    shared: &Arc<Shared>,
    endpoint: Endpoint,
    call: Call,
) -> Result<Reply, Reply> {
    let question = Question::read(shared, call, Access::Read).await?;
    let (lines, kind) = match (endpoint, question.given("format")) {
        (Endpoint::ExportCsv, format) => {
            let format = CsvFormat::parse(format.unwrap_or_default());
            (Lines::Csv(format.map_err(|reason| bad("format", reason))?), CSV)
        }
        (_, Some(_)) => return Err(bad("format", "lines have none but JSON's")),
        (_, None) => (Lines::Json(rows_max(&question)?), LINES),
    };
    let (stored, range) = (question.selected()?, question.range()?);
    let Question { who, path, database, reading, .. } = question;
    let title = Some(Title::new(path, database));
    let job = Job::new(who, title, move |work| {
        let mut all = Ran::default();
        for (at, one) in stored.iter().enumerate() {
            let plan = Series::Select { selector: one.selector.clone(), range };
            let before = stored.get(..at).unwrap_or_default();
            let ran = work.run(&[plan], &mut |frame, out| {
                // What several want is there once.
                if wants(one, frame) && !before.iter().any(|other| wants(other, frame)) {
                    lines.write(frame, out);
                }
                Ok(())
            })?;
            all.samples_scanned += ran.samples_scanned;
        }
        Ok(all)
    });
    let answered = query::answer(shared, kind, false, reading.then(job.that_reads(true))).await;
    answered.map_err(|failure| refuse(&failure))
}

/// How many samples a line of JSON may have.
fn rows_max(question: &Question) -> Result<usize, Reply> {
    match question.given("max_rows_per_line").map(str::parse::<usize>) {
        None | Some(Ok(0)) => Ok(usize::MAX),
        Some(Ok(rows)) => Ok(rows),
        Some(Err(_)) => Err(bad("max_rows_per_line", "it must be a number")),
    }
}

/// Whether a series is one of those selected.
fn wants(stored: &Stored, frame: &Frame) -> bool {
    let head = &frame.head;
    let name = name(&head.measurement, &head.field);
    let has_name = stored.measurements.iter().all(|one| one.matches(Some(&name)));
    has_name && stored.selector.fits(&head.measurement, &head.field, &head.labels)
}
