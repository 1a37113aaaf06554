//! Answers: results sorted by their tags, every number a double.

use super::query::shows_field;
use super::{FIELD_TAG, Inquiry};
use crate::budget::Budget;
use crate::http::HttpError;
use foliot_model::{Frame, NANOS_PER_MILLI, NANOS_PER_SECOND, SeriesHead, Value};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

/// What a result weighs beside its points, by estimate: some tags.
const FINDING_BYTES: u64 = 1 << 10;

/// Looking up what a series is called costs as much as so many steps over points.
const STEPS_PER_NAME: usize = 16;

/// The tags of a stored series with the tag that names its field, by its id.
pub type Tags<'a> = Box<dyn FnMut(u32) -> BTreeMap<String, String> + 'a>;

/// Makes an answer of frames. Results are shown in the order of their tags, so that they are kept
/// until the last one is there.
pub struct Assembly<'a> {
    inquiry: &'a Inquiry,
    /// For each plan, the question that it belongs to.
    questions: &'a [usize],
    tags_of: Tags<'a>,
    open: Option<Finding>,
    done: Vec<Finding>,
    budget: &'a Budget<'a>,
}

/// One result.
struct Finding {
    question: usize,
    /// With the tag of every field, also of those that do not show it: it counts in the order.
    tags: Vec<(String, String)>,
    varying: Vec<String>,
    dps: Vec<u8>,
    count: usize,
}

impl<'a> Assembly<'a> {
    /// An answer that is kept in memory taken from `budget`. `questions` says to which question
    /// each plan belongs.
    pub fn new(
        inquiry: &'a Inquiry,
        questions: &'a [usize],
        tags_of: Tags<'a>,
        budget: &'a Budget<'a>,
    ) -> Self {
        Self { inquiry, questions, tags_of, open: None, done: Vec::new(), budget }
    }

    /// Takes a frame.
    ///
    /// # Errors
    /// What the budget refuses.
    pub fn frame(&mut self, frame: &Frame) -> Result<(), HttpError> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin(&frame.head)?,
        };
        let before = open.dps.len();
        let unit_ns = if self.inquiry.in_ms { NANOS_PER_MILLI } else { NANOS_PER_SECOND };
        for (time_ns, value) in frame.samples.iter() {
            let number = match value {
                Value::String(_) | Value::Histogram(_) => None,
                value => value.as_f64(),
            };
            if let Some(number) = number {
                open.push(time_ns.div_euclid(unit_ns), number);
            }
        }
        self.budget.take((open.dps.len() - before) as u64)?;
        match frame.is_last {
            true => self.close(open),
            false => self.open = Some(open),
        }
        Ok(())
    }

    /// Appends the whole answer.
    pub fn finish(mut self, out: &mut Vec<u8>) {
        self.done.sort_by(|a, b| (a.question, &a.tags).cmp(&(b.question, &b.tags)));
        out.push(b'[');
        for (index, result) in self.done.iter().enumerate() {
            out.extend_from_slice(if index > 0 { b"," } else { b"" });
            let metric = self.inquiry.questions.get(result.question).map(|asked| &asked.metric);
            result.write(metric.map_or("", String::as_str), out);
        }
        out.push(b']');
    }

    fn begin(&mut self, head: &SeriesHead) -> Result<Finding, HttpError> {
        self.budget.take(FINDING_BYTES)?;
        let mut members = head.members.iter();
        let mut tags = members.next().map(|&sid| (self.tags_of)(sid)).unwrap_or_default();
        let mut varying = BTreeSet::new();
        for &sid in members {
            self.budget.steps(STEPS_PER_NAME)?;
            let other = (self.tags_of)(sid);
            // What is shown must be common to all of them: with one value a tag, with several an
            // aggregated tag.
            varying.retain(|name| other.contains_key(name));
            tags.retain(|name, value| match other.get(name) {
                Some(same) if same == value => true,
                Some(_) => {
                    varying.insert(name.clone());
                    false
                }
                None => false,
            });
        }
        Ok(Finding {
            question: self.questions.get(head.question).copied().unwrap_or_default(),
            tags: tags.into_iter().collect(),
            varying: varying.into_iter().collect(),
            dps: Vec::new(),
            count: 0,
        })
    }

    fn close(&mut self, result: Finding) {
        if result.count == 0 {
            return self.budget.give(FINDING_BYTES);
        }
        self.done.push(result);
    }
}

impl std::fmt::Debug for Assembly<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assembly").field("results", &self.done.len()).finish_non_exhaustive()
    }
}

/// A series without a field is shown without the tag.
fn is_shown(name: &str, value: &str) -> bool {
    name != FIELD_TAG || shows_field(value)
}

impl Finding {
    fn push(&mut self, time: i64, number: f64) {
        self.dps.extend_from_slice(if self.count > 0 { b",\"" } else { b"\"" });
        // Writing to memory cannot fail.
        let _ = write!(self.dps, "{time}\":");
        write_number(number, &mut self.dps);
        self.count += 1;
    }

    fn write(&self, metric: &str, out: &mut Vec<u8>) {
        let shown = self.tags.iter().filter(|(name, value)| is_shown(name, value));
        let pair = |(name, value): &(String, String)| format!("{}:{}", json!(name), json!(value));
        let tags: Vec<String> = shown.map(pair).collect();
        let head = format!(
            "{{\"metric\":{},\"tags\":{{{}}},\"aggregateTags\":{},\"dps\":{{",
            json!(metric),
            tags.join(","),
            json!(self.varying)
        );
        out.extend_from_slice(head.as_bytes());
        out.extend_from_slice(&self.dps);
        out.extend_from_slice(b"}}");
    }
}

/// Writes a double as TickTock does: sixteen digits behind the point, without zeros at the end but
/// the first.
fn write_number(number: f64, out: &mut Vec<u8>) {
    if number.is_nan() {
        return out.extend_from_slice(b"\"NaN\"");
    }
    if number.is_infinite() {
        return out.extend_from_slice(b"\"Inf\"");
    }
    // Writing to memory cannot fail.
    let _ = write!(out, "{number:.16}");
    while let [.., before, b'0'] = &out[..]
        && *before != b'.'
    {
        out.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_point_and_no_zeros_behind() {
        for (number, text) in [
            (100.0, "100.0"),
            (0.5, "0.5"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1e20, "100000000000000000000.0"),
            (1.0 / 3.0, "0.3333333333333333"),
            (1e-17, "0.0"),
            (f64::NAN, "\"NaN\""),
            (f64::NEG_INFINITY, "\"Inf\""),
        ] {
            let mut out = Vec::new();
            write_number(number, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), text);
        }
    }
}
