//! What is said beside an answer, in the words of Prometheus 3 (`util/annotations`).

use crate::answer::CUT;
use crate::promql::ParseError;
use foliot_model::NANOS_PER_MILLI;
use foliot_plan::grid::{Mended, Notes, Place};
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
    let warning = |what: String, place| format!("PromQL warning: {what} ({})", at(text, place));
    let shares = notes.shares.iter().map(move |(bits, place)| {
        let share = general(f64::from_bits(*bits), None);
        warning(format!("quantile value should be between 0 and 1, got {share}"), *place)
    });
    let bounds = notes.bounds.iter().map(move |(bound, place)| {
        let what = format!("bucket label \"le\" is missing or has a malformed value of {bound:?}");
        warning(what, *place)
    });
    let unsorted = notes.unsorted.map(|place| {
        let what =
            "sort is ineffective for range queries since results are always ordered by labels";
        warning(what.to_owned(), place)
    });
    shares.chain(bounds).chain(unsorted)
}

fn infos(notes: &Notes, text: &str) -> impl Iterator<Item = String> {
    let is_other = |name: &str| !COUNTERS.iter().any(|end| name.ends_with(end));
    let counters = notes.counters.iter().filter(move |(name, _)| is_other(name));
    let counters = counters.map(move |(name, place)| {
        let ends = COUNTERS.join("/");
        let what = format!("metric might not be a counter, name does not end in {ends}: {name:?}");
        format!("PromQL info: {what} ({})", at(text, *place))
    });
    counters.chain(notes.mended.map(|mended| held_level(&mended, text)))
}

fn held_level(of: &Mended, text: &str) -> String {
    let [first, last] = [of.first_ns, of.last_ns].map(|ns| {
        let second = ns.div_euclid(1000 * NANOS_PER_MILLI);
        Timestamp::from_second(second).map_or_else(|_| second.to_string(), |at| at.to_string())
    });
    let [low, high] = [of.bound_min, of.bound_max].map(|bound| general(bound, None));
    format!(
        "PromQL info: input to histogram_quantile needed to be fixed for monotonicity (see {HELP}), \
         from buckets {low} to {high}, with a max diff of {}, over {} samples from {first} to \
         {last} ({})",
        general(of.fall_max, Some(2)),
        of.count,
        at(text, of.place)
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

/// A number with so many digits, or as many as it needs, as Go's `%g` writes it.
fn general(value: f64, digits: Option<usize>) -> String {
    let spelled = match digits {
        Some(digits) => format!("{value:.*e}", digits.saturating_sub(1)),
        None => format!("{value:e}"),
    };
    let parts = spelled.split_once('e');
    let Some((mantissa, exponent)) = parts.filter(|_| value.is_finite()) else {
        return crate::answer::number(value);
    };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..digits.map_or(6, |digits| digits as i32)).contains(&exponent) {
        let rounded: f64 = spelled.parse().unwrap_or(value);
        return rounded.to_string();
    }
    let mantissa = match mantissa.contains('.') {
        true => mantissa.trim_end_matches('0').trim_end_matches('.'),
        false => mantissa,
    };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_go_writes_them() {
        for (value, digits, wanted) in [
            (1.1, None, "1.1"),
            (-0.5, None, "-0.5"),
            (100_000.0, None, "100000"),
            (1_000_000.0, None, "1e+06"),
            (1_234_567.0, None, "1.234567e+06"),
            (0.0001, None, "0.0001"),
            (0.000_015, None, "1.5e-05"),
            (f64::NAN, None, "NaN"),
            (f64::INFINITY, None, "+Inf"),
            (5.0, Some(2), "5"),
            (15.4, Some(2), "15"),
            (99.9, Some(2), "1e+02"),
            (123.0, Some(2), "1.2e+02"),
            (0.0126, Some(2), "0.013"),
        ] {
            assert_eq!(general(value, digits), wanted);
        }
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let mut notes = Notes::default();
        for number in 0..13 {
            notes.counters.insert(format!("m{number:02}").into(), 7);
        }
        notes.counters.insert("m_total".into(), 7);
        notes.shares.insert(2.0f64.to_bits(), 2);
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
