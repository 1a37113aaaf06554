//! `/q?ascii`: a line per sample, for check scripts.

use super::{metric_name, write_value};
use crate::http::HttpError;
use crate::lang::Request;
use foliot_model::{Frame, NANOS_PER_SECOND, Value, push_integer};

/// Writes `metric <seconds> <value> k=v …` for each sample. NaN is left out.
#[derive(Debug)]
pub struct LineEncoder<'a> {
    request: &'a Request,
}

impl<'a> LineEncoder<'a> {
    /// An encoder of the answer to `request`.
    pub fn new(request: &'a Request) -> Self {
        Self { request }
    }

    /// Appends a frame's lines.
    ///
    /// # Errors
    /// When a value is infinite.
    pub fn frame(&self, frame: &Frame, out: &mut Vec<u8>) -> Result<(), HttpError> {
        let question = self.request.question(frame.head.question);
        let metric = metric_name(&frame.head, question);
        let label = |label: &foliot_model::Label| format!(" {}={}", label.name, label.value);
        let tags: String = frame.head.labels.iter().map(label).collect();
        for (time_ns, value) in frame.samples.iter() {
            let is_number = value.as_f64().is_some_and(|number| !number.is_nan());
            if !is_number || matches!(value, Value::Histogram(_)) {
                continue;
            }
            out.extend_from_slice(metric.as_bytes());
            out.push(b' ');
            push_integer(time_ns.div_euclid(NANOS_PER_SECOND), out);
            out.push(b' ');
            write_value(value, false, out)?;
            out.extend_from_slice(tags.as_bytes());
            out.push(b'\n');
        }
        Ok(())
    }
}
