//! `/api/v1/export`: stored samples as VictoriaMetrics' lines of JSON.

use super::super::{Call, Reply};
use super::question::{Question, bad, refuse};
use crate::query::{self, Job, Title};
use crate::shared::Shared;
use foliot_access::Access;
use foliot_exec::Ran;
use foliot_model::Frame;
use foliot_plan::Series;
use foliot_plan::grid::{Stored, name};
use foliot_proto_prometheus::json_lines;
use std::sync::Arc;

/// What VictoriaMetrics says of its lines.
const LINES: &str = "application/stream+json; charset=utf-8";

pub(super) async fn answer(shared: &Arc<Shared>, call: Call) -> Result<Reply, Reply> {
    let question = Question::read(shared, call, Access::Read).await?;
    if question.given("format").is_some() {
        return Err(bad("format", "lines have none but JSON's"));
    }
    let rows_max = match question.given("max_rows_per_line").map(str::parse::<usize>) {
        None | Some(Ok(0)) => usize::MAX,
        Some(Ok(rows)) => rows,
        Some(Err(_)) => return Err(bad("max_rows_per_line", "it must be a number")),
    };
    let (stored, range) = (question.selected()?, question.range()?);
    let Question { who, path, database, reading, .. } = question;
    let title = Some(Title::new(&path, database));
    let job = Job::new(who, title, move |work| {
        let mut all = Ran::default();
        for (at, one) in stored.iter().enumerate() {
            let plan = Series::Select { selector: one.selector.clone(), range };
            let before = stored.get(..at).unwrap_or_default();
            let ran = work.run(&[plan], &mut |frame, out| {
                // What several want is there once.
                if wants(one, frame) && !before.iter().any(|other| wants(other, frame)) {
                    json_lines(frame, rows_max, out);
                }
                Ok(())
            })?;
            all.samples_scanned += ran.samples_scanned;
        }
        Ok(all)
    });
    let answered = query::answer(shared, LINES, false, reading.then(job.that_reads(true))).await;
    answered.map_err(|failure| refuse(&failure))
}

/// Whether a series is one of those selected.
fn wants(stored: &Stored, frame: &Frame) -> bool {
    let head = &frame.head;
    let name = name(&head.measurement, &head.field);
    let has_name = stored.measurements.iter().all(|one| one.matches(Some(&name)));
    has_name && stored.selector.fits(&head.measurement, &head.field, &head.labels)
}
