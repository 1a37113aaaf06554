//! PromQL over awkward samples: with gaps, NaN, marks of staleness, resets, and values that are
//! equal. What is expected is reckoned from the definitions in Prometheus' documentation, sample by
//! sample, by nothing that the server has.

use crate::harness::remote::{STALE, T, push, series};
use crate::harness::{Scratch, Server, influx};
use serde_json::Value as Json;

/// A second after [`T`], and a value.
type Sample = (f64, f64);

/// One a minute, with gaps, two NaN, and two marks of staleness.
fn gauge() -> Vec<Sample> {
    let value = |minute: i64| match minute {
        20 | 41 => f64::NAN,
        27 | 48 => STALE,
        _ => ((minute * 37) % 23 - 7) as f64 + 0.5 * (minute % 3) as f64,
    };
    let there = (0..60).filter(|minute| !matches!(minute % 7, 3 | 4) || *minute == 48);
    there.map(|minute| (minute as f64 * 60.0, value(minute))).collect()
}

/// Whole numbers that begin anew, with an outage.
fn counter() -> Vec<Sample> {
    let there = (0..60).filter(|minute| !(10..16).contains(minute));
    there.map(|minute| (minute as f64 * 60.0, ((minute * 5) % 83) as f64)).collect()
}

/// What a function is told of: its samples, the time, and how long its range is.
struct Range {
    samples: Vec<Sample>,
    at: f64,
    length: f64,
}

impl Range {
    /// The samples behind the start of the range, up to its end; marks are none.
    fn of(all: &[Sample], at: f64, length: f64) -> Self {
        let is_in = |(time, value): &&Sample| {
            *time > at - length && *time <= at && value.to_bits() != STALE.to_bits()
        };
        Self { samples: all.iter().filter(is_in).copied().collect(), at, length }
    }

    fn values(&self) -> Vec<f64> {
        self.samples.iter().map(|(_, value)| *value).collect()
    }

    /// Something of all values, if there is one.
    fn some(&self, of: impl Fn(&[f64]) -> f64) -> Option<f64> {
        let values = self.values();
        (!values.is_empty()).then(|| of(&values))
    }

    /// Something of each two successive values, counted.
    fn pairs(&self, holds: impl Fn(f64, f64) -> bool) -> Option<f64> {
        self.some(|values| values.windows(2).filter(|pair| holds(pair[0], pair[1])).count() as f64)
    }

    /// Slope of the line through all samples, and its value at the time.
    fn line(&self) -> Option<(f64, f64)> {
        if self.samples.len() < 2 {
            return None;
        }
        let count = self.samples.len() as f64;
        let x = |(time, _): &Sample| time - self.at;
        let mean_x = self.samples.iter().map(x).sum::<f64>() / count;
        let mean_y = self.values().iter().sum::<f64>() / count;
        let with = |sample: &Sample| (x(sample) - mean_x) * (sample.1 - mean_y);
        let square = |sample: &Sample| (x(sample) - mean_x).powi(2);
        let slope = self.samples.iter().map(with).sum::<f64>()
            / self.samples.iter().map(square).sum::<f64>();
        // A line through values that are alike is level.
        let slope = if self.values().iter().all(|y| *y == self.samples[0].1) { 0.0 } else { slope };
        Some((slope, mean_y - slope * mean_x))
    }

    /// The change from the first sample to the last, extended to the ends of the range where these
    /// are near, and for counters no further than to where they were zero.
    fn change(&self, is_counter: bool) -> Option<f64> {
        let [first, .., last] = *self.samples.as_slice() else { return None };
        let mut change = last.1 - first.1;
        if is_counter {
            let drops = self.values();
            let drops = drops.windows(2).filter(|pair| pair[1] < pair[0]);
            change += drops.map(|pair| pair[0]).sum::<f64>();
        }
        let sampled = last.0 - first.0;
        let apart = sampled / (self.samples.len() - 1) as f64;
        let (mut before, mut behind) = (first.0 - (self.at - self.length), self.at - last.0);
        if before >= apart * 1.1 {
            before = apart / 2.0;
        }
        if is_counter && change > 0.0 && first.1 >= 0.0 {
            before = before.min(sampled * (first.1 / change));
        }
        if behind >= apart * 1.1 {
            behind = apart / 2.0;
        }
        Some(change * (sampled + before + behind) / sampled)
    }

    fn last_two(&self) -> Option<(Sample, Sample)> {
        let [.., before, last] = *self.samples.as_slice() else { return None };
        Some((before, last))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / values.len() as f64
}

/// NaN is below all numbers where values are ranked.
fn quantile(share: f64, values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| b.is_nan().cmp(&a.is_nan()).then(a.total_cmp(b)));
    let rank = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[rank.floor() as usize], sorted[rank.ceil() as usize]);
    low * (1.0 - rank.fract()) + high * rank.fract()
}

/// A question about a range, and what it comes to.
type Case = (&'static str, fn(&Range) -> Option<f64>);

/// `s` stands for the series, `r` for the range.
const OVER_RANGES: &[Case] = &[
    ("sum_over_time(s[r])", |it| it.some(|values| values.iter().sum())),
    ("avg_over_time(s[r])", |it| it.some(mean)),
    ("count_over_time(s[r])", |it| it.some(|values| values.len() as f64)),
    ("last_over_time(s[r])", |it| it.some(|values| values[values.len() - 1])),
    ("present_over_time(s[r])", |it| it.some(|_| 1.0)),
    // A NaN is passed over where there is any number.
    ("min_over_time(s[r])", |it| it.some(|values| values.iter().copied().fold(f64::NAN, f64::min))),
    ("max_over_time(s[r])", |it| it.some(|values| values.iter().copied().fold(f64::NAN, f64::max))),
    ("stdvar_over_time(s[r])", |it| it.some(variance)),
    ("stddev_over_time(s[r])", |it| it.some(|values| variance(values).sqrt())),
    ("quantile_over_time(0.3, s[r])", |it| it.some(|values| quantile(0.3, values))),
    ("quantile_over_time(1, s[r])", |it| it.some(|values| quantile(1.0, values))),
    ("changes(s[r])", |it| it.pairs(|a, b| a != b && !(a.is_nan() && b.is_nan()))),
    ("resets(s[r])", |it| it.pairs(|a, b| b < a)),
    ("deriv(s[r])", |it| Some(it.line()?.0)),
    ("predict_linear(s[r], 90)", |it| it.line().map(|(slope, now)| now + slope * 90.0)),
    ("delta(s[r])", |it| it.change(false)),
    ("increase(s[r])", |it| it.change(true)),
    ("rate(s[r])", |it| Some(it.change(true)? / it.length)),
    ("idelta(s[r])", |it| it.last_two().map(|(before, last)| last.1 - before.1)),
    ("irate(s[r])", |it| {
        let (before, last) = it.last_two()?;
        let change = if last.1 < before.1 { last.1 } else { last.1 - before.1 };
        Some(change / (last.0 - before.0))
    }),
    ("absent_over_time(s[r])", |it| it.samples.is_empty().then_some(1.0)),
    ("sum_over_time(s[r]) / count_over_time(s[r])", |it| it.some(mean)),
    ("max_over_time(s[r]) > min_over_time(s[r])", |it| {
        let least = it.some(|values| values.iter().copied().fold(f64::NAN, f64::min))?;
        let most = it.some(|values| values.iter().copied().fold(f64::NAN, f64::max))?;
        (most > least).then_some(most)
    }),
    ("abs(sum_over_time(s[r])) ^ 0.5", |it| {
        it.some(|values| values.iter().sum::<f64>().abs().sqrt())
    }),
];

/// Questions about the sample of an instant, and what they come to; `s` stands for the series.
type Single = (&'static str, fn(f64) -> Option<f64>);

const OF_INSTANTS: &[Single] = &[
    ("s", Some),
    ("-s", |v| Some(-v)),
    ("s > 3", |v| (v > 3.0).then_some(v)),
    ("s != 3", |v| (v != 3.0).then_some(v)),
    ("s <= bool 3", |v| Some(f64::from(u8::from(v <= 3.0)))),
    ("s % 4", |v| Some(v % 4.0)),
    ("s / 0", |v| Some(v / 0.0)),
    ("abs(s)", |v| Some(v.abs())),
    ("ceil(s)", |v| Some(v.ceil())),
    ("floor(s)", |v| Some(v.floor())),
    ("round(s, 4)", |v| Some((v / 4.0 + 0.5).floor() * 4.0)),
    ("sgn(s)", |v| Some(if v.is_nan() || v == 0.0 { v } else { v.signum() })),
    ("sqrt(s)", |v| Some(v.sqrt())),
    ("clamp(s, -2, 5)", |v| Some(if v.is_nan() { v } else { v.clamp(-2.0, 5.0) })),
    ("exp(s)", |v| Some(v.exp())),
    ("ln(s)", |v| Some(v.ln())),
    ("absent(s)", |_| None),
    ("scalar(s)", Some),
];

/// A number as an answer has it; nothing where there is none.
fn told(answer: &Json) -> Option<f64> {
    let data = &answer["data"];
    let text = match data["resultType"].as_str()? {
        "scalar" => data["result"][1].as_str()?,
        _ => data["result"].as_array()?.first()?["value"][1].as_str()?,
    };
    Some(match text {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        text => text.parse().unwrap(),
    })
}

fn are_alike(found: Option<f64>, expected: Option<f64>) -> bool {
    match (found, expected) {
        (Some(a), Some(b)) => {
            a == b
                || a.is_nan() && b.is_nan()
                || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
        }
        (None, None) => true,
        _ => false,
    }
}

/// Asks for what a question comes to at a second, and holds it against what is expected.
fn check(server: &Server, question: &str, at: f64, expected: Option<f64>, wrong: &mut Vec<String>) {
    let time = T as f64 / 1000.0 + at;
    let query = influx::encoded(question);
    let path = format!("/prometheus/api/v1/query?time={time}&query={query}");
    let answer: Json = serde_json::from_slice(&server.get(&path).body).unwrap();
    assert_eq!(answer["status"], "success", "{question}: {answer}");
    let found = told(&answer);
    if !are_alike(found, expected) {
        wrong.push(format!("{question} at {at} s is {found:?}, not {expected:?}"));
    }
}

#[test]
fn awkward_samples_come_to_what_the_definitions_say() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let all = [("gauge", gauge()), ("counter", counter())];
    for (name, samples) in &all {
        let samples: Vec<(i64, f64)> =
            samples.iter().map(|(at, value)| (T + (at * 1000.0) as i64, *value)).collect();
        let body = series(&[("__name__", name)], &samples);
        assert_eq!(push(&server, "/api/v1/write", &[], &body).status, 204);
    }
    let mut wrong = Vec::new();
    let minutes = [0.0, 0.5, 5.0, 9.0, 13.0, 17.0, 20.0, 23.5, 27.0, 41.0, 45.0, 48.0, 59.0, 63.5];
    for at in minutes.map(|minute| minute * 60.0) {
        for (name, samples) in &all {
            for (text, length) in [("4m", 240.0), ("11m", 660.0)] {
                let range = Range::of(samples, at, length);
                for (question, means) in OVER_RANGES {
                    let question = question.replace("s[r]", &format!("{name}[{text}]"));
                    check(&server, &question, at, means(&range), &mut wrong);
                }
            }
            // The newest of five minutes counts, unless it says that the series is over.
            let newest = samples.iter().rfind(|(time, _)| *time > at - 300.0 && *time <= at);
            let newest = newest.map(|(_, value)| *value).filter(|v| v.to_bits() != STALE.to_bits());
            for (question, means) in OF_INSTANTS {
                let expected = match (*question, newest) {
                    ("absent(s)", None) => Some(1.0),
                    ("scalar(s)", None) => Some(f64::NAN),
                    (_, newest) => newest.and_then(means),
                };
                let question = match question.contains("(s") {
                    true => question.replace("(s", &format!("({name}")),
                    false => question.replacen('s', name, 1),
                };
                check(&server, &question, at, expected, &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    server.stop();
}

/// Of series that are alike the first by their labels are the best, at each instant the same.
#[test]
fn ties_are_broken_alike_each_time() {
    let dir = Scratch::new();
    let server = Server::start(dir.path(), &[]);
    let names: Vec<String> = (10..40).map(|number| format!("h{number}")).collect();
    let body: Vec<u8> = names
        .iter()
        .flat_map(|name| {
            series(&[("__name__", "m"), ("host", name.as_str())], &[(T, 7.0), (T + 60_000, 7.0)])
        })
        .collect();
    assert_eq!(push(&server, "/api/v1/write", &[], &body).status, 204);
    let hosts = |query: &str| {
        let path = format!(
            "/prometheus/api/v1/query?time={}&query={}",
            T / 1000 + 60,
            influx::encoded(query)
        );
        let answer: Json = serde_json::from_slice(&server.get(&path).body).unwrap();
        let found = answer["data"]["result"].as_array().unwrap().clone();
        let host = |row: &Json| row["metric"]["host"].as_str().unwrap().to_owned();
        found.iter().map(host).collect::<Vec<String>>()
    };
    for query in ["topk(20, m)", "bottomk(20, m)"] {
        let first = hosts(query);
        assert_eq!(first.len(), 20, "{query}");
        for _ in 0..3 {
            assert_eq!(hosts(query), first, "{query}");
        }
    }
    server.stop();
}
