//! An independent and deliberately naive reading of OpenTSDB's rules for queries: whole series in
//! maps, one rule after the other, each with the paragraph that states it.
//!
//! Paragraphs are those of the facts that this door was built from: 2.4 aggregators, 2.5 merging,
//! 2.6 grouping and tags, 2.7 windows, 2.8 downsampling, 2.9 rates; 1.6 answers and 1.7 filters.
//! Nothing here is shared with the program under test.

use std::collections::{BTreeMap, BTreeSet};

/// A value: kinds are kept, because answers print them differently (2.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Num {
    Int(i64),
    Dbl(f64),
}

impl Num {
    fn f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Dbl(value) => value,
        }
    }

    fn is_int(self) -> bool {
        matches!(self, Self::Int(_))
    }
}

pub(crate) type Points = BTreeMap<i64, Num>;

/// A stored series; the test keeps them in the order in which names were first written.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    pub(crate) tags: Vec<(String, String)>,
    pub(crate) points: Points,
}

impl Stored {
    fn tag(&self, key: &str) -> Option<&str> {
        self.tags.iter().find(|(k, _)| k == key).map(|(_, v)| v.as_str())
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Filter {
    pub(crate) key: String,
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    pub(crate) groups: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fill {
    None,
    Nan,
    Null,
    Zero,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Interval {
    /// `0all`
    All,
    /// Milliseconds.
    Fixed(i64),
    /// Days or hours of a zone that is so many milliseconds ahead of UTC while there is data.
    Zoned { ms: i64, ahead_ms: i64 },
}

#[derive(Clone, Debug)]
pub(crate) struct Downsample {
    pub(crate) interval: Interval,
    pub(crate) aggregator: &'static str,
    pub(crate) fill: Fill,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    pub(crate) counter: bool,
    pub(crate) drops: bool,
    pub(crate) max: i64,
    pub(crate) reset: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) aggregator: &'static str,
    pub(crate) downsample: Option<Downsample>,
    pub(crate) rate: Option<Rate>,
    pub(crate) filters: Vec<Filter>,
    pub(crate) explicit: bool,
    pub(crate) start_ms: i64,
    pub(crate) end_ms: i64,
}

/// One answered series.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) tags: BTreeMap<String, String>,
    pub(crate) varying: BTreeSet<String>,
    pub(crate) points: Vec<(i64, Num)>,
}

/// In which order names were first written: their UIDs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uids {
    pub(crate) keys: Vec<String>,
    pub(crate) values: Vec<String>,
}

impl Uids {
    fn key(&self, name: &str) -> usize {
        self.keys.iter().position(|known| known == name).unwrap()
    }

    fn value(&self, name: &str) -> usize {
        self.values.iter().position(|known| known == name).unwrap()
    }
}

/// 1.7: whether a filter takes a value.
fn takes(filter: &Filter, value: &str) -> bool {
    let lower = value.to_lowercase();
    let listed = |value: &str| filter.text.split('|').any(|item| item == value);
    let listed_lower = || filter.text.split('|').any(|item| item.to_lowercase() == lower);
    match filter.kind {
        "literal_or" => listed(value),
        "iliteral_or" => listed_lower(),
        "not_literal_or" => !listed(value),
        "not_iliteral_or" => !listed_lower(),
        "wildcard" => globs(&filter.text, value),
        "iwildcard" => globs(&filter.text.to_lowercase(), &lower),
        // Only plain texts are generated: found anywhere.
        "regexp" => value.contains(&filter.text),
        kind => panic!("no rule for {kind}"),
    }
}

/// 1.7: an asterisk stands for any text.
fn globs(pattern: &str, value: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == value,
        Some((head, rest)) => value.strip_prefix(head).is_some_and(|tail| {
            (0..=tail.len()).any(|at| tail.is_char_boundary(at) && globs(rest, &tail[at..]))
        }),
    }
}

/// 1.7: every filtered key must be there; `explicitTags` wants exactly the filtered ones, if any.
fn selected(question: &Question, series: &Stored) -> bool {
    let passes =
        |filter: &Filter| series.tag(&filter.key).is_some_and(|value| takes(filter, value));
    let keys: BTreeSet<&str> = question.filters.iter().map(|f| f.key.as_str()).collect();
    let own: BTreeSet<&str> = series.tags.iter().map(|(key, _)| key.as_str()).collect();
    question.filters.iter().all(passes) && (!is_exact(question) || keys == own)
}

fn is_exact(question: &Question) -> bool {
    question.explicit && !question.filters.is_empty()
}

const HOUR_MS: i64 = 3_600_000;

/// 2.7: the samples looked at, `[from, to)` in milliseconds.
fn scan(question: &Question) -> (i64, i64) {
    let interval_ms = match question.downsample.as_ref().map(|d| d.interval) {
        None | Some(Interval::All) => 0,
        Some(Interval::Fixed(ms) | Interval::Zoned { ms, .. }) => ms,
    };
    let mut from_s = question.start_ms / 1000;
    let mut to_s = question.end_ms / 1000 + 1;
    if interval_ms > 0 {
        from_s -= (from_s * 1000 % interval_ms) / 1000;
        to_s += (interval_ms - to_s * 1000 % interval_ms) / 1000;
        to_s = (to_s + 3599) / 3600 * 3600;
    } else {
        to_s = (to_s / 3600 + 1) * 3600;
    }
    // Recorded from OpenTSDB 2.4.1: with exact tags one more row is read.
    if is_exact(question) {
        to_s += 3600;
    }
    let from_ms = from_s * 1000 / HOUR_MS * HOUR_MS;
    (from_ms, to_s * 1000)
}

/// 2.8: buckets of one series; always doubles.
fn downsample(question: &Question, spec: &Downsample, points: &Points) -> Points {
    let bucket = |time: i64| match spec.interval {
        Interval::All => question.start_ms,
        Interval::Fixed(ms) => time - time % ms,
        Interval::Zoned { ms, ahead_ms } => (time + ahead_ms) / ms * ms - ahead_ms,
    };
    let mut buckets: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    for (&time, value) in points {
        // `0all` leaves its end out.
        let is_out = time < question.start_ms || time >= question.end_ms;
        if !(matches!(spec.interval, Interval::All) && is_out) {
            buckets.entry(bucket(time)).or_default().push(value.f64());
        }
    }
    let mut out: Points = buckets
        .iter()
        .map(|(&time, values)| (time, Num::Dbl(double_of(spec.aggregator, values))))
        .collect();
    // 2.7: the scan begins at a full hour, and a bucket that began before it is left out.
    let (from, to) = scan(question);
    out.retain(|&time, _| matches!(spec.interval, Interval::All) || (from..to).contains(&time));
    if let (Interval::Fixed(ms), false) = (spec.interval, spec.fill == Fill::None) {
        let empty = match spec.fill {
            Fill::Zero => Num::Dbl(0.0),
            _ => Num::Dbl(f64::NAN),
        };
        let mut time = (from + ms - 1) / ms * ms;
        while time < to {
            out.entry(time).or_insert(empty);
            time += ms;
        }
    }
    out
}

/// 2.9: rates; the point carries the later time.
fn rates(rate: Rate, points: &Points) -> Points {
    let mut out = Points::new();
    let mut earlier: Option<(i64, Num)> = None;
    for (&time, &value) in points {
        if let Some((before, previous)) = earlier {
            let seconds = (time - before) as f64 / 1000.0;
            let fell = match (previous, value) {
                (Num::Int(a), Num::Int(b)) => b < a,
                _ => value.f64() < previous.f64(),
            };
            let difference = match (previous, value) {
                (Num::Int(a), Num::Int(b)) => b.wrapping_sub(a) as f64,
                _ => value.f64() - previous.f64(),
            };
            if !(rate.counter && fell) {
                out.insert(time, Num::Dbl(difference / seconds));
            } else if !rate.drops {
                let wrapped = match (previous, value) {
                    (Num::Int(a), Num::Int(b)) => (rate.max - a).wrapping_add(b) as f64,
                    _ => rate.max as f64 - previous.f64() + value.f64(),
                };
                let per_second = wrapped / seconds;
                let is_reset = rate.reset > 0 && per_second > rate.reset as f64;
                out.insert(time, Num::Dbl(if is_reset { 0.0 } else { per_second }));
            }
        }
        earlier = Some((time, value));
    }
    out
}

/// 2.4: what fills a gap.
fn gap_of(aggregator: &str) -> &'static str {
    match aggregator {
        "zimsum" | "count" | "first" | "last" | "squareSum" => "zero",
        "pfsum" => "previous",
        "mimmin" => "max",
        "mimmax" => "min",
        _ => "line",
    }
}

/// 2.5: what comes of a group at one time, if any series takes part then.
fn merged(aggregator: &str, is_rate: bool, group: &[&Points], time: i64) -> Option<Num> {
    struct Part {
        at: Option<(i64, Num)>,
        next: Option<(i64, Num)>,
    }
    let parts: Vec<Part> = group
        .iter()
        .map(|points| {
            let is_over = points.last_key_value().is_none_or(|(&last, _)| last < time);
            let at = points.range(..=time).next_back().map(|(&t, &v)| (t, v));
            let next = points.range(time + 1..).next().map(|(&t, &v)| (t, v));
            Part { at: at.filter(|_| !is_over), next }
        })
        .collect();
    let known = parts.iter().flat_map(|part| [part.at, part.next]).flatten();
    let is_int = !is_rate && known.into_iter().all(|(_, value)| value.is_int());
    let gap = gap_of(aggregator);
    let mut ints = Vec::new();
    let mut doubles = Vec::new();
    for part in &parts {
        let Some((t0, v0)) = part.at else { continue };
        let is_exact = t0 == time || is_rate;
        match (v0, part.next) {
            (Num::Int(y0), _) if is_int && is_exact => ints.push(y0),
            (Num::Int(y0), Some((t1, Num::Int(y1)))) if is_int => ints.push(match gap {
                "line" => y0 + (time - t0) * (y1 - y0) / (t1 - t0),
                "zero" => 0,
                "previous" => y0,
                "max" => i64::MAX,
                _ => i64::MIN,
            }),
            (_, Some((t1, y1))) if !is_exact => {
                let (y0, y1) = (v0.f64(), y1.f64());
                doubles.push(match gap {
                    "line" => y0 + (time - t0) as f64 * (y1 - y0) / (t1 - t0) as f64,
                    "zero" => 0.0,
                    "previous" => y0,
                    "max" => f64::MAX,
                    _ => -f64::MAX,
                });
            }
            _ => doubles.push(v0.f64()),
        }
    }
    match (is_int, ints.is_empty() && doubles.is_empty()) {
        (_, true) => None,
        (true, _) => Some(Num::Int(integer_of(aggregator, &ints))),
        (false, _) => {
            let value = double_of(aggregator, &doubles);
            Some(Num::Dbl(value))
        }
    }
}

/// 2.4, the integer column.
fn integer_of(aggregator: &str, values: &[i64]) -> i64 {
    let n = values.len();
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    match aggregator {
        "sum" | "zimsum" | "pfsum" => values.iter().fold(0, |a, b| a.wrapping_add(*b)),
        "min" | "mimmin" => sorted[0],
        "max" | "mimmax" => sorted[n - 1],
        "avg" => values.iter().sum::<i64>() / n as i64,
        "median" => sorted[n / 2],
        "mult" => values.iter().fold(1, |a, b| a.wrapping_mul(*b)),
        "dev" => deviation(&values.iter().map(|v| *v as f64).collect::<Vec<_>>()) as i64,
        "diff" => {
            if n == 1 {
                0
            } else {
                values[n - 1] - values[0]
            }
        }
        "count" => n as i64,
        "first" | "none" => values[0],
        "last" => values[n - 1],
        "squareSum" => values.iter().map(|v| v * v).sum(),
        name => {
            let sorted: Vec<f64> = sorted.iter().map(|v| *v as f64).collect();
            percentile(name, &sorted, true) as i64
        }
    }
}

/// 2.4, the double column.
fn double_of(aggregator: &str, values: &[f64]) -> f64 {
    let real: Vec<f64> = values.iter().copied().filter(|value| !value.is_nan()).collect();
    let mut sorted = real.clone();
    sorted.sort_by(f64::total_cmp);
    match aggregator {
        "count" => return real.len() as f64,
        "mult" => return values.iter().product(),
        "first" | "none" => return values[0],
        "last" => return values[values.len() - 1],
        _ if real.is_empty() => return f64::NAN,
        _ => {}
    }
    let n = real.len();
    match aggregator {
        "sum" | "zimsum" | "pfsum" => real.iter().sum(),
        "min" | "mimmin" => sorted[0],
        "max" | "mimmax" => sorted[n - 1],
        "avg" => real.iter().sum::<f64>() / n as f64,
        "median" => sorted[n / 2],
        "dev" => deviation(&real),
        "diff" => {
            // What is not a number is skipped at the front only.
            let front = values.iter().position(|value| !value.is_nan()).unwrap();
            let rest = &values[front..];
            if rest.len() == 1 { 0.0 } else { rest[rest.len() - 1] - rest[0] }
        }
        "squareSum" => real.iter().map(|v| v * v).sum(),
        name => percentile(name, &sorted, false),
    }
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / values.len() as f64).sqrt()
}

/// 2.4: percentiles by their names; doubles know the LEGACY rule only.
fn percentile(name: &str, sorted: &[f64], is_int: bool) -> f64 {
    let digits = name.trim_start_matches(['e', 'p']);
    let (digits, rule) = digits.split_once('r').unwrap_or((digits, ""));
    let p: f64 = format!("0.{digits}").parse().unwrap();
    let n = sorted.len() as f64;
    let at = |position: f64| sorted[(position as usize).clamp(1, sorted.len()) - 1];
    let position = match rule {
        "3" if is_int => return at((n * p).round_ties_even()),
        "7" if is_int => 1.0 + (n - 1.0) * p,
        _ => p * (n + 1.0),
    };
    match position {
        position if position < 1.0 => sorted[0],
        position if position >= n => sorted[sorted.len() - 1],
        position => {
            let below = at(position.floor());
            below + (position - position.floor()) * (at(position.floor() + 1.0) - below)
        }
    }
}

/// 2.6: tags of a group, and the keys on which its series differ.
fn tags_of(members: &[&Stored]) -> (BTreeMap<String, String>, BTreeSet<String>) {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (key, value) in members.iter().flat_map(|series| &series.tags) {
        values.entry(key).or_default().insert(value);
    }
    let mut tags = BTreeMap::new();
    let mut varying = BTreeSet::new();
    for (key, values) in values {
        match values.len() {
            1 => {
                let value = (*values.first().unwrap()).to_owned();
                tags.insert(key.to_owned(), value);
            }
            _ => {
                varying.insert(key.to_owned());
            }
        }
    }
    (tags, varying)
}

/// A group's key, and its series with their points.
type Group<'g, 's> = (Vec<usize>, Vec<&'g (&'s Stored, Points)>);

/// The answer to a question: 2.7 gives the samples, 2.8 and 2.9 each series, 2.6 the groups, 2.5
/// the merging; then 2.7 again cuts to the query.
pub(crate) fn answer(question: &Question, stored: &[Stored], uids: &Uids) -> Vec<Answer> {
    let (from, to) = scan(question);
    let mut series: Vec<(&Stored, Points)> = Vec::new();
    for one in stored.iter().filter(|one| selected(question, one)) {
        // A calendar's last bucket is complete (2.8), wherever it ends.
        let to = match question.downsample.as_ref().map(|spec| spec.interval) {
            Some(Interval::Zoned { .. }) => i64::MAX,
            _ => to,
        };
        let points: Points = one.points.range(from..to).map(|(&t, &v)| (t, v)).collect();
        if points.is_empty() {
            continue;
        }
        let mut points = match &question.downsample {
            Some(spec) => downsample(question, spec, &points),
            None => points,
        };
        if let Some(rate) = question.rate {
            points = rates(rate, &points);
        }
        series.push((one, points));
    }
    // 2.6: series in the order of their TSUIDs.
    let tsuid = |one: &Stored| {
        let pair = |(key, value): &(String, String)| (uids.key(key), uids.value(value));
        let mut pairs: Vec<(usize, usize)> = one.tags.iter().map(pair).collect();
        pairs.sort_unstable();
        pairs
    };
    series.sort_by_key(|(one, _)| tsuid(one));
    let mut group_keys: Vec<&str> =
        question.filters.iter().filter(|f| f.groups).map(|f| f.key.as_str()).collect();
    group_keys.sort_by_key(|key| uids.key(key));
    group_keys.dedup();
    let mut groups: Vec<Group<'_, '_>> = Vec::new();
    for (number, one) in series.iter().enumerate() {
        let key: Vec<usize> = match question.aggregator {
            "none" => vec![number],
            _ => group_keys.iter().map(|key| uids.value(one.0.tag(key).unwrap())).collect(),
        };
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(one),
            None => groups.push((key, vec![one])),
        }
    }
    groups.sort_by(|a, b| a.0.cmp(&b.0));
    let finish = |members: &Vec<&(&Stored, Points)>| {
        let points: Vec<&Points> = members.iter().map(|(_, points)| points).collect();
        let times: BTreeSet<i64> = points.iter().flat_map(|p| p.keys().copied()).collect();
        let in_query = |time: &i64| (question.start_ms..=question.end_ms).contains(time);
        let value = |time: i64| {
            let value = merged(question.aggregator, question.rate.is_some(), &points, time)?;
            Some((time, value))
        };
        let (tags, varying) = tags_of(&members.iter().map(|(one, _)| *one).collect::<Vec<_>>());
        Answer {
            tags,
            varying,
            points: times.into_iter().filter(in_query).filter_map(value).collect(),
        }
    };
    groups.iter().map(|(_, members)| finish(members)).collect()
}
