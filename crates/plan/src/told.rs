//! What operators do, in words: for whoever wants to know how a question is carried out.

use crate::rows::{Buckets, Carried, Layout, Rows, Scan};
use crate::{Calendar, Fill, Fold, Function, Grouping, Reset, Series, Span, Windows};
use foliot_model::{DEFAULT_FIELD, Matcher, Name, Selector, Test};
use std::fmt::Debug;
use std::sync::Arc;

/// An operator in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// What it does, in one word or two.
    pub what: String,
    /// With what, and how.
    pub detail: String,
}

impl Told {
    /// Both, as they stand.
    pub fn new(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { what: what.into(), detail: detail.into() }
    }
}

impl Series {
    /// What the outermost operator does.
    pub fn told(&self) -> Told {
        match self {
            Self::Select { selector, .. } => Told::new("read", selected(selector)),
            Self::Window(of) => {
                let windows = match &of.windows {
                    Windows::Buckets { width_ns, .. } => format!("of each {}", span(*width_ns)),
                    Windows::Calendar { count, unit, zone } => {
                        format!("of each {count} {} in {zone}", word::<Calendar>(unit))
                    }
                    Windows::Whole(_) => "of the whole range".to_owned(),
                };
                let fill = match of.fill {
                    Fill::None => String::new(),
                    Fill::Nan => ", empty ones NaN".to_owned(),
                    Fill::Null => ", empty ones null".to_owned(),
                    Fill::Value(value) => format!(", empty ones {value}"),
                };
                Told::new(folded(of.fold), format!("{windows}{fill}"))
            }
            Self::Rate(of) => {
                let of_what = match of.reset {
                    Reset::Gauge => "",
                    Reset::Wrap { .. } => " of a counter that wraps around",
                    Reset::Drop => " of a counter, over restarts",
                };
                Told::new("rate", format!("each {}{of_what}", span(of.per_ns)))
            }
            Self::Aggregate(of) => match &of.grouping {
                Grouping::All => Told::new(folded(of.fold), "of all series"),
                Grouping::Each => Told::new("each series", "by itself"),
                Grouping::By { names, .. } => Told::new(folded(of.fold), by(names)),
            },
            Self::Clip { .. } => Told::new("cut", "to the range"),
            Self::Each(of) => Told::new("change", changed(of.function)),
            Self::Quotient(_) => Told::new("divide", "sums by counts"),
            Self::Joined(of) => Told::new("calculate", format!("with {} sets", of.inputs.len())),
            Self::Counted(of) => {
                let counts = if of.has_counts { ", counts" } else { "" };
                let what = format!("{} percentiles{counts}", of.percentiles.len());
                match &of.grouping {
                    Grouping::All => Told::new(what, "of all series"),
                    Grouping::Each => Told::new(what, "of each series"),
                    Grouping::By { names, .. } => Told::new(what, by(names)),
                }
            }
            Self::Named(of) => Told::new("name", &*of.name),
            Self::Ranked(of) => {
                let end = if of.is_top { "highest" } else { "lowest" };
                Told::new("rank", format!("the {} {end}", of.count))
            }
            Self::Union(inputs) => Told::new("together", format!("{} sets", inputs.len())),
            Self::Answer(place) => Told::new("answer", format!("of question {}", place + 1)),
        }
    }
}

impl Rows {
    /// What the outermost operator does; of rows that are stamped, what makes them.
    pub fn told(&self) -> Told {
        match self {
            Self::Scan(scan) => {
                let condition = if scan.condition.is_some() { ", rows that pass" } else { "" };
                Told::new("read", format!("{}{condition}", scanned(scan)))
            }
            Self::Nested(_) => Told::new("rows", "of an inner question"),
            Self::Merge { inputs, .. } => Told::new("merge", format!("{} inputs", inputs.len())),
            Self::Reduce(of) => {
                // Most folds read what is stored by themselves.
                let input = match &of.input {
                    Self::Scan(_) => format!("of {}", of.input.told().detail),
                    _ => String::new(),
                };
                Told::new(word(&of.function), format!("{input}{}", laid_out(&of.layout)))
            }
            Self::Stamp { input, .. } => input.told(),
            Self::Fill(of) => Told::new("fill", word(&of.with)),
            Self::Transform { function, .. } => Told::new(word(function), "of each series"),
            Self::Limit { offset, limit, .. } => {
                let limit = limit.map_or("all".to_owned(), |limit| format!("{limit} of each head"));
                let offset = if *offset > 0 { format!(" after {offset}") } else { String::new() };
                Told::new("limit", format!("{limit}{offset}"))
            }
        }
    }
}

/// The first fields that a scan reads.
fn scanned(scan: &Scan) -> String {
    const NAMED: usize = 8;
    let carried = scan.carried.iter().filter_map(|carried| match carried {
        Carried::Field(field, _) => Some(field),
        _ => None,
    });
    let fields = scan.value.iter().map(|(field, _)| field).chain(carried);
    let mut names: Vec<String> =
        fields.take(NAMED + 1).map(|field| metric(&scan.measurement, field)).collect();
    match names.len() {
        0 => names.push(scan.measurement.to_string()),
        count if count > NAMED => names.splice(NAMED.., ["…".to_owned()]).for_each(drop),
        _ => {}
    }
    names.join(", ")
}

pub(crate) fn laid_out(layout: &Layout) -> String {
    let windows = match &layout.windows {
        Some(Buckets { width_ns, .. }) => format!(" each {}", span(*width_ns)),
        None => String::new(),
    };
    let heads = match layout.group_by.is_empty() {
        true => String::new(),
        false => format!(" {}", by(&layout.group_by)),
    };
    format!("{windows}{heads}")
}

fn by(names: &[Arc<str>]) -> String {
    format!("by {}", names.join(", "))
}

fn metric(measurement: &str, field: &str) -> String {
    match field == DEFAULT_FIELD {
        true => measurement.to_owned(),
        false => format!("{measurement}.{field}"),
    }
}

fn folded(fold: Fold) -> String {
    match fold {
        Fold::Quantile { q, .. } => format!("{q} quantile"),
        fold => word(&fold),
    }
}

fn changed(function: Function) -> String {
    match function {
        Function::Scaled(factor) => format!("times {factor}"),
        Function::Absolute => "without sign".to_owned(),
        Function::Shifted(by_ns) => format!("{} later", span(by_ns)),
        Function::Coarse(to_ns) => format!("at whole {}", span(to_ns)),
        Function::Difference => "to the difference".to_owned(),
        Function::Average(Span::Samples(count)) => format!("to the mean of the last {count}"),
        Function::Average(Span::Time(of_ns)) => format!("to the mean of the last {}", span(of_ns)),
    }
}

fn selected(selector: &Selector) -> String {
    let name = |name: &Name| match &name.field {
        Test::Any => tested(&name.measurement),
        field => metric(&tested(&name.measurement), &tested(field)),
    };
    let mut names: Vec<String> = selector.names.iter().map(name).collect();
    // A name with a dot is read in two ways, which are spelled alike.
    names.dedup();
    let matcher = |matcher: &Matcher| {
        let sign = if matcher.negated { "≠" } else { "=" };
        format!("{}{sign}{}", matcher.name, tested(&matcher.test))
    };
    let matchers: Vec<String> = selector.matchers.iter().map(matcher).collect();
    let names = if names.is_empty() { "everything".to_owned() } else { names.join(" or ") };
    match matchers.is_empty() {
        true => names,
        false => format!("{names}{{{}}}", matchers.join(", ")),
    }
}

pub(crate) fn tested(test: &Test) -> String {
    match test {
        Test::Any => "*".to_owned(),
        Test::AnyOf(texts) | Test::AnyOfLower(texts) => texts.join("|"),
        Test::Wildcard { pieces, .. } => pieces.join("*"),
        Test::Regex(pattern) => format!("/{pattern}/"),
        Test::Not(test) => format!("not {}", tested(test)),
    }
}

/// A length of time in the largest unit that it is a whole number of.
pub(crate) fn span(ns: i64) -> String {
    const UNITS: [(i64, &str); 6] = [
        (86_400_000_000_000, "d"),
        (3_600_000_000_000, "h"),
        (60_000_000_000, "min"),
        (1_000_000_000, "s"),
        (1_000_000, "ms"),
        (1_000, "µs"),
    ];
    let fits = |(unit, _): &&(i64, &str)| ns != 0 && ns % unit == 0;
    match UNITS.iter().find(fits) {
        Some((unit, name)) => format!("{} {name}", ns / unit),
        None => format!("{ns} ns"),
    }
}

/// The name of a variant as words: `UpperMedian` is `upper median`.
pub(crate) fn word<T: Debug>(of: &T) -> String {
    let text = format!("{of:?}");
    let name = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let mut words = String::new();
    for (at, c) in name.char_indices() {
        if c.is_uppercase() && at > 0 {
            words.push(' ');
        }
        words.extend(c.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Aggregate, Arithmetic, Gap, Quantile, Rate, Window};
    use foliot_model::TimeRange;

    #[test]
    fn a_chain_of_operators_reads_as_what_it_does() {
        let name = |measurement: &str, field: &str| Name {
            measurement: Test::equal(measurement),
            field: Test::equal(field),
        };
        let matcher = Matcher {
            name: "host".to_owned(),
            test: Test::AnyOf(vec!["a".to_owned(), "b".to_owned()]),
            negated: false,
            accepts_absent: false,
        };
        let selector = Selector {
            namespace: 0,
            names: vec![name("sys.cpu", DEFAULT_FIELD), name("sys", "cpu")],
            matchers: vec![matcher],
            exact_labels: None,
            only: None,
        };
        let read = Series::Select { selector, range: TimeRange::ALL };
        let window = Series::Window(Box::new(Window {
            input: read.clone(),
            windows: Windows::Buckets { width_ns: 90_000_000_000, origin_ns: 0 },
            fold: Fold::UpperMedian,
            fill: Fill::Value(0.0),
            range: TimeRange::ALL,
        }));
        let rate = Rate { input: window.clone(), per_ns: 1_000_000_000, reset: Reset::Drop };
        let aggregate = Series::Aggregate(Box::new(Aggregate {
            input: Series::Rate(Box::new(rate)),
            grouping: Grouping::By { names: vec!["dc".into()], drops_absent: true },
            fold: Fold::Quantile { q: 0.95, method: Quantile::R7 },
            gap: Gap::Absent,
            arithmetic: Arithmetic::Float,
            wants_members: false,
        }));
        assert_eq!(read.told(), Told::new("read", "sys.cpu{host=a|b}"));
        assert_eq!(window.told(), Told::new("upper median", "of each 90 s, empty ones 0"));
        assert_eq!(aggregate.told(), Told::new("0.95 quantile", "by dc"));
        let Series::Aggregate(of) = aggregate else { return };
        assert_eq!(of.input.told(), Told::new("rate", "each 1 s of a counter, over restarts"));
    }
}
