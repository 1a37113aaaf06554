//! What is said beside an answer, in the words of Prometheus 3 (`util/annotations`).

use crate::answer::CUT;
use crate::promql::{ParseError, sign};
use foliot_model::NANOS_PER_MILLI;
use foliot_plan::grid::{Mended, Note, Notes, Place, Union, general};
use jiff::Timestamp;
use serde_json::json;

/// Warnings, and as many infos, that an answer has at most; the rest is counted.
const SHOWN_MAX: usize = 10;

/// How the names of counters end.
const COUNTERS: [&str; 4] = ["_total", "_sum", "_count", "_bucket"];

const HELP: &str =
    "https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile";

/// The end of an answer: its `warnings` and `infos`, where there are any. `text` is the question of
/// which `notes` were made, and `is_cut` says whether a limit has kept something of the answer
/// away.
pub(crate) fn annotations(notes: &Notes, text: &str, is_cut: bool) -> String {
    if notes.met.is_empty() && notes.mended.is_empty() && !is_cut {
        return String::new();
    }
    let cut = is_cut.then(|| CUT.to_owned());
    let warnings = shown(cut.into_iter().chain(warnings(notes, text)), "warning");
    let infos = shown(infos(notes, text), "info");
    let named = [("warnings", warnings), ("infos", infos)].into_iter();
    let there = named.filter(|(_, texts)| !texts.is_empty());
    there.map(|(name, texts)| format!(",\"{name}\":{}", json!(texts))).collect()
}

/// Everything that is said beside an answer, warnings first. `text` is the question of which
/// `notes` were made.
pub fn said(notes: &Notes, text: &str) -> Vec<String> {
    let warnings = shown(warnings(notes, text), "warning");
    warnings.into_iter().chain(shown(infos(notes, text), "info")).collect()
}

fn warnings(notes: &Notes, text: &str) -> impl Iterator<Item = String> {
    let met = notes.met.iter().filter_map(|(note, place)| Some((warning(note)?, *place)));
    met.map(move |(what, place)| format!("PromQL warning: {what} ({})", at(text, place)))
}

fn infos(notes: &Notes, text: &str) -> impl Iterator<Item = String> {
    let met = notes.met.iter().filter_map(|(note, place)| Some((info(note)?, *place)));
    let met = met.map(move |(what, place)| format!("PromQL info: {what} ({})", at(text, place)));
    met.chain(notes.mended.iter().map(|(name, mended)| held_level(name, mended, text)))
}

/// What an answer may be wrong by.
fn warning(note: &Note) -> Option<String> {
    Some(match note {
        Note::Share(bits) => {
            let share = general(f64::from_bits(*bits), None);
            format!("quantile value should be between 0 and 1, got {share}")
        }
        Note::Ratio(bits) => {
            let ratio = f64::from_bits(*bits);
            let (got, to) = (general(ratio, None), general(ratio.signum(), None));
            format!("ratio value should be between -1 and 1, got {got}, capping to {to}")
        }
        Note::Bound { text, measurement } => format!(
            "bucket label \"le\" is missing or has a malformed value of {text:?}{}",
            of(measurement)
        ),
        Note::Mixed(name) => {
            format!("encountered a mix of histograms and floats for metric name {name:?}")
        }
        Note::MixedGroup => "encountered a mix of histograms and floats for aggregation".to_owned(),
        Note::Twofold(name) => {
            format!("vector contains a mix of classic and native histograms{}", of(name))
        }
        Note::NoCounter(name) => {
            format!("this native histogram metric is not a counter: {name:?}")
        }
        Note::NoGauge(name) => format!("this native histogram metric is not a gauge: {name:?}"),
        Note::Schemas(name) => format!(
            "vector contains a mix of histograms with exponential and custom buckets schemas for \
             metric name {name:?}"
        ),
        Note::Layouts(operator) => {
            let sign = sign(*operator);
            format!("incompatible bucket layout encountered for binary operator {sign}")
        }
        Note::Torn(union) => {
            format!("conflicting counter resets during histogram {}", word(*union))
        }
        Note::Unsorted => {
            "sort is ineffective for range queries since results are always ordered by labels"
                .to_owned()
        }
        _ => return None,
    })
}

/// What may be meant otherwise.
fn info(note: &Note) -> Option<String> {
    const NAN: &str = "has NaN observations";
    Some(match note {
        Note::Counter(name) if !COUNTERS.iter().any(|end| name.ends_with(end)) => {
            let ends = COUNTERS.join("/");
            format!("metric might not be a counter, name does not end in {ends}: {name:?}")
        }
        Note::Types { left, operator, right } => {
            let [left, right] =
                [left, right].map(|is_one| if *is_one { "histogram" } else { "float" });
            let sign = sign(*operator);
            format!(
                "incompatible sample types encountered for binary operator {sign:?}: {left} {sign} \
                 {right}"
            )
        }
        Note::Ignored(aggregation) => format!("ignored histogram in {aggregation} aggregation"),
        Note::IgnoredInRange(name) => format!(
            "ignored histograms in a range containing both floats and histograms for metric name \
             {name:?}"
        ),
        Note::QuantileIsNan(name) => {
            format!("input to histogram_quantile {NAN}, result is NaN{}", of(name))
        }
        Note::QuantileIsSkewed(name) => {
            format!("input to histogram_quantile {NAN}, result is skewed higher{}", of(name))
        }
        Note::FractionLeavesOut(name) => format!(
            "input to histogram_fraction {NAN}, which are excluded from all fractions{}",
            of(name)
        ),
        Note::Reconciled(union) => {
            format!("mismatched custom buckets were reconciled during {}", word(*union))
        }
        _ => return None,
    })
}

fn word(union: Union) -> &'static str {
    match union {
        Union::Addition => "addition",
        Union::Subtraction => "subtraction",
        Union::Aggregation => "aggregation",
    }
}

/// Whose something is, where that is known.
fn of(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" for metric name {name:?}") }
}

fn held_level(name: &str, mended: &Mended, text: &str) -> String {
    let [first, last] = [mended.first_ns, mended.last_ns].map(|ns| {
        let second = ns.div_euclid(1000 * NANOS_PER_MILLI);
        Timestamp::from_second(second).map_or_else(|_| second.to_string(), |at| at.to_string())
    });
    let [low, high] = [mended.bound_min, mended.bound_max].map(|bound| general(bound, None));
    format!(
        "PromQL info: input to histogram_quantile needed to be fixed for monotonicity (see \
         {HELP}){}, from buckets {low} to {high}, with a max diff of {}, over {} samples from \
         {first} to {last} ({})",
        of(name),
        general(mended.fall_max, Some(2)),
        mended.count,
        at(text, mended.place)
    )
}

/// The first of some texts, and how many there are more.
fn shown(texts: impl Iterator<Item = String>, kind: &str) -> Vec<String> {
    let mut texts = texts;
    let mut shown: Vec<String> = texts.by_ref().take(SHOWN_MAX).collect();
    let more = texts.count();
    if more > 0 {
        shown.push(format!("{more} more {kind} annotations omitted"));
    }
    shown
}

/// Line and column of a place.
fn at(text: &str, place: Place) -> String {
    let (line, column) = ParseError::line_and_column(text, place);
    format!("{line}:{column}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_counted() {
        let mut notes = Notes::default();
        for number in 0..13 {
            notes.met.insert(Note::Counter(format!("m{number:02}").into()), 7);
        }
        notes.met.insert(Note::Counter("m_total".into()), 7);
        notes.met.insert(Note::Share(2.0f64.to_bits()), 2);
        let text = annotations(&notes, "\n x", true);
        assert!(
            text.starts_with(&format!(",\"warnings\":[\"{CUT}\",\"PromQL warning: ")),
            "{text}"
        );
        assert!(text.contains("got 2 (2:2)\"],\"infos\":["), "{text}");
        assert!(text.contains("\"m09\\\" (") && !text.contains("m10"), "{text}");
        assert!(text.ends_with("\"3 more info annotations omitted\"]"), "{text}");
        assert_eq!(annotations(&Notes::default(), "", false), "");
    }
}
