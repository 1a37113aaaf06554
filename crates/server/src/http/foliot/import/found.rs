//! What a dry run of an import sees.

use crate::http::foliot::catalogue::{kind_name, metric};
use foliot_model::{Batch, Cell, KeyError, KeyParts, NANOS_PER_MILLI, Reject, Span};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Metrics, and labels, that are listed.
const NAMES_MAX: usize = 100;

/// What a dry run sees.
#[derive(Default)]
pub(super) struct Found {
    /// Metrics with their kinds and how many samples they have.
    metrics: BTreeMap<String, (&'static str, u64)>,
    labels: BTreeSet<String>,
    /// Samples of the rows that are good.
    pub(super) samples: usize,
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    /// Metrics and labels there are more.
    more: u64,
}

impl Found {
    /// Looks at the rows of a batch. Those whose keys cannot be read become rejects.
    pub(super) fn look_at(&mut self, batch: &Batch<'_>, rejects: &mut Vec<Reject>) {
        let mut parts = KeyParts::default();
        for row in batch.rows() {
            parts.clear();
            let (head, tail) = (batch.slice(row.key_head), batch.slice(row.key_tail));
            let read = (batch.syntax().parse)(head, tail, &mut parts);
            if let Err(KeyError { field, reason }) = read.and_then(|()| parts.canonicalize()) {
                rejects.push(Reject { line: row.line, field: field.into(), reason });
                continue;
            }
            let measurement = String::from_utf8_lossy(parts.measurement()).into_owned();
            let Some(shape) = batch.shape(row.shape) else { continue };
            let cells = batch.cells(row, shape.fields_count);
            let metric_of = |span: &Span| {
                let mut name = Vec::new();
                (batch.syntax().parse_field)(batch.slice(*span), &mut name)?;
                Ok(metric(&measurement, &String::from_utf8_lossy(&name)))
            };
            let metrics: Result<Vec<String>, KeyError> =
                batch.fields(shape).iter().map(metric_of).collect();
            let metrics = match metrics {
                Ok(metrics) => metrics,
                Err(KeyError { field, reason }) => {
                    rejects.push(Reject { line: row.line, field: field.into(), reason });
                    continue;
                }
            };
            for (metric, cell) in metrics.into_iter().zip(cells) {
                self.samples += 1;
                self.sample(metric, cell, row.time_ns);
            }
            for (name, _) in parts.labels() {
                self.label(&String::from_utf8_lossy(name));
            }
        }
    }

    fn label(&mut self, name: &str) {
        if !self.labels.contains(name) {
            match self.labels.len() < NAMES_MAX {
                true => drop(self.labels.insert(name.to_owned())),
                false => self.more += 1,
            }
        }
    }

    fn sample(&mut self, metric: String, cell: &Cell, time_ns: i64) {
        self.start_ns = Some(self.start_ns.map_or(time_ns, |start| start.min(time_ns)));
        self.end_ns = Some(self.end_ns.map_or(time_ns, |end| end.max(time_ns)));
        let is_full = self.metrics.len() >= NAMES_MAX;
        let kind = kind_name(cell.kind);
        match self.metrics.get_mut(&metric) {
            Some((known, count)) => {
                *count += 1;
                if *known != kind {
                    *known = "mixed";
                }
            }
            None if is_full => self.more += 1,
            None => drop(self.metrics.insert(metric, (kind, 1))),
        }
    }

    pub(super) fn show(&self) -> Value {
        let metrics = self
            .metrics
            .iter()
            .map(|(name, (kind, samples))| json!({"name": name, "kind": kind, "samples": samples}));
        let millis = |ns: Option<i64>| ns.map(|ns| ns.div_euclid(NANOS_PER_MILLI));
        json!({
            "metrics": metrics.collect::<Vec<_>>(),
            "labels": self.labels,
            "start_ms": millis(self.start_ns),
            "end_ms": millis(self.end_ns),
            "is_whole": self.more == 0,
        })
    }
}
