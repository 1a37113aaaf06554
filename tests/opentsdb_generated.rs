//! Generated questions over the grammar of `/api/query`, answered by the real binary and by the
//! naive model in `opentsdb/model.rs`.
//!
//! `FOLIOT_TEST_SEED` and `FOLIOT_TEST_CASES` ask for other questions and for more of them.

use crate::opentsdb::model::{
    Answer, Downsample, Fill, Filter, Interval, Num, Points, Question, Rate, Stored, Uids,
};
use crate::opentsdb::{H, Tsd, model};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// A generator of numbers: xorshift64* (Vigna, "An experimental exploration of Marsaglia's xorshift
/// generators, scrambled", 2016).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11
    }

    fn below(&mut self, n: i64) -> i64 {
        (self.next() % n as u64) as i64
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as i64) as usize].clone()
    }

    fn chance(&mut self, percent: i64) -> bool {
        self.below(100) < percent
    }
}

const METRICS: [&str; 3] = ["gen.ints", "gen.floats", "gen.mixed"];
const HOSTS: [&str; 6] = ["web02", "WEB01", "db1", "web01", "a", "cache"];
const CENTRES: [&str; 3] = ["nyc", "ams", "Lga"];

/// All series of a metric, in the order in which they are written.
fn make(metric: &str, random: &mut Random) -> Vec<Stored> {
    let mut all = Vec::new();
    for (number, host) in HOSTS.iter().enumerate() {
        let mut tags = Vec::new();
        if number != 4 {
            tags.push(("dc".to_owned(), CENTRES[number % 3].to_owned()));
        }
        tags.push(("host".to_owned(), (*host).to_owned()));
        let step_s = random.one(&[10, 15, 30, 60, 61, 300]);
        let mut time_ms = (H - 5000 + random.below(900)) * 1000;
        let end_ms = (H + random.one(&[-500, 1000, 3700, 9000])) * 1000;
        let mut points = Points::new();
        let mut level = random.below(1000);
        while time_ms < end_ms {
            level = match random.chance(8) {
                true => random.below(50),
                false => level + random.below(60) - 15,
            };
            let is_float = match metric {
                "gen.ints" => false,
                "gen.floats" => true,
                _ => random.chance(30),
            };
            let value = match is_float {
                true => Num::Dbl(level as f64 + random.one(&[0.0, 0.25, 0.5, 0.125])),
                false => Num::Int(level),
            };
            points.insert(time_ms, value);
            time_ms += step_s * 1000 * if random.chance(10) { 7 } else { 1 };
            time_ms += if random.chance(5) { 250 } else { 0 };
        }
        all.push(Stored { tags, points });
    }
    all
}

fn store(tsd: &Tsd, metric: &str, all: &[Stored]) {
    let mut lines = String::new();
    for series in all {
        let tags: Vec<String> = series.tags.iter().map(|(k, v)| format!("{k}={v}")).collect();
        for (time_ms, value) in &series.points {
            let value = match value {
                Num::Int(value) => value.to_string(),
                Num::Dbl(value) => format!("{value:?}"),
            };
            let time = format!("{}.{:03}", time_ms / 1000, time_ms % 1000);
            let _ = writeln!(lines, "put {metric} {time} {value} {}", tags.join(" "));
        }
    }
    assert_eq!(tsd.server.talk(lines.as_bytes()), "");
}

const AGGREGATORS: [&str; 35] = [
    "sum",
    "min",
    "max",
    "avg",
    "none",
    "median",
    "mult",
    "dev",
    "diff",
    "count",
    "zimsum",
    "mimmin",
    "mimmax",
    "first",
    "last",
    "pfsum",
    "squareSum",
    "p50",
    "p75",
    "p90",
    "p95",
    "p99",
    "p999",
    "ep50r3",
    "ep75r3",
    "ep90r3",
    "ep95r3",
    "ep99r3",
    "ep999r3",
    "ep50r7",
    "ep75r7",
    "ep90r7",
    "ep95r7",
    "ep99r7",
    "ep999r7",
];

/// A question in the model's form and in the two forms of the wire.
struct Case {
    question: Question,
    m: String,
    post: Value,
    zone: &'static str,
}

fn generate(number: i64, metric: &str, random: &mut Random) -> Case {
    // Every aggregator has its turn.
    let aggregator = AGGREGATORS[(number % 35) as usize];
    let mut options: Vec<String> = Vec::new();
    let mut post = json!({"metric": metric, "aggregator": aggregator});
    let mut zone = "UTC";
    let downsample = random.chance(55).then(|| {
        let function = loop {
            let function = random.one(&AGGREGATORS);
            // Products of long buckets leave the range of numbers.
            if !["none", "mult"].contains(&function) {
                break function;
            }
        };
        let (text, interval) = match random.below(10) {
            0 => ("0all", Interval::All),
            1 => {
                let (name, ahead) = random.one(&[
                    ("Asia/Kolkata", 19_800_000),
                    ("America/New_York", -18_000_000),
                    ("UTC", 0),
                ]);
                zone = name;
                let (text, ms) = random.one(&[("1hc", 3_600_000), ("1dc", 86_400_000)]);
                (text, Interval::Zoned { ms, ahead_ms: ahead })
            }
            _ => {
                let (text, ms) = random.one(&[
                    ("10s", 10_000),
                    ("7s", 7_000),
                    ("1m", 60_000),
                    ("90s", 90_000),
                    ("5m", 300_000),
                    ("1h", 3_600_000),
                    ("2500ms", 2_500),
                    ("7m", 420_000),
                ]);
                (text, Interval::Fixed(ms))
            }
        };
        let can_fill = matches!(interval, Interval::Fixed(60_000 | 90_000 | 300_000 | 3_600_000));
        let (suffix, fill) = match random.below(if can_fill { 7 } else { 3 }) {
            3 => ("-nan", Fill::Nan),
            4 => ("-null", Fill::Null),
            5 => ("-zero", Fill::Zero),
            2 => ("-none", Fill::None),
            _ => ("", Fill::None),
        };
        let text = format!("{text}-{function}{suffix}");
        post["downsample"] = json!(text);
        options.push(text);
        Downsample { interval, aggregator: function, fill }
    });
    let rate = random.chance(25).then(|| {
        let plain = Rate { counter: false, drops: false, max: i64::MAX, reset: 0 };
        let (text, options_json, rate) = random.one(&[
            ("rate", json!(null), plain),
            (
                "rate{counter,5000}",
                json!({"counter": true, "counterMax": 5000}),
                Rate { counter: true, max: 5000, ..plain },
            ),
            (
                "rate{counter,5000,20}",
                json!({"counter": true, "counterMax": 5000, "resetValue": 20}),
                Rate { counter: true, max: 5000, reset: 20, ..plain },
            ),
            (
                "rate{dropcounter}",
                json!({"counter": true, "dropResets": true}),
                Rate { counter: true, drops: true, ..plain },
            ),
        ]);
        post["rate"] = json!(true);
        post["rateOptions"] = options_json;
        options.push(text.to_owned());
        rate
    });
    let explicit = random.chance(10);
    if explicit {
        options.push("explicit_tags".to_owned());
        post["explicitTags"] = json!(true);
    }
    if random.chance(50) {
        options.reverse();
    }
    let mut filters = Vec::new();
    for key in ["host", "dc"] {
        if !random.chance(33) {
            continue;
        }
        let names: &[&str] = if key == "host" { &HOSTS } else { &CENTRES };
        let (a, b) = (random.one(names), random.one(names));
        let (kind, text) = match random.below(8) {
            0 => ("literal_or", a.to_owned()),
            1 => ("literal_or", format!("{a}|{b}")),
            2 => ("iliteral_or", a.to_uppercase()),
            3 => ("not_literal_or", format!("{a}|{b}")),
            4 => ("not_iliteral_or", a.to_uppercase()),
            5 => ("wildcard", "*".to_owned()),
            6 => random.one(&[
                ("wildcard", "web*".to_owned()),
                ("wildcard", "*1".to_owned()),
                ("iwildcard", "web*".to_owned()),
                ("iwildcard", "*A*".to_owned()),
                ("wildcard", "w*0*".to_owned()),
            ]),
            _ => ("regexp", random.one(&["b0", "a", "1", "y"]).to_owned()),
        };
        filters.push(Filter { key: key.to_owned(), kind, text, groups: random.chance(60) });
    }
    let braces = |groups: bool| {
        let of = filters.iter().filter(|f| f.groups == groups);
        of.map(|f| format!("{}={}({})", f.key, f.kind, f.text)).collect::<Vec<_>>().join(",")
    };
    let mut m = aggregator.to_owned();
    for option in &options {
        m = format!("{m}:{option}");
    }
    m = format!("{m}:{metric}");
    if !filters.is_empty() {
        m = format!("{m}{{{}}}{{{}}}", braces(true), braces(false));
        m = m.strip_suffix("{}").unwrap_or(&m).to_owned();
    }
    let filter_json =
        |f: &Filter| json!({"tagk": f.key, "type": f.kind, "filter": f.text, "groupBy": f.groups});
    post["filters"] = filters.iter().map(filter_json).collect();
    let start_ms = (H + random.one(&[-3600, -1800, -1200, -600, 0, 7, 600, 3599])) * 1000
        + random.one(&[0, 0, 0, 500]);
    let length_s = random.one(&[0, 30, 600, 900, 1800, 1800, 3600, 5400]);
    let end_ms = start_ms + length_s * 1000;
    let question = Question { aggregator, downsample, rate, filters, explicit, start_ms, end_ms };
    Case { question, m, post, zone }
}

/// A value as an answer prints it.
fn printed(value: Num, fill: Fill) -> Value {
    match value {
        Num::Int(value) => json!(value),
        // 1.6: what is not a number is null under that fill policy, and a text elsewhere.
        Num::Dbl(value) if value.is_nan() && fill == Fill::Null => Value::Null,
        Num::Dbl(value) if value.is_nan() => json!("NaN"),
        Num::Dbl(value) => json!(value),
    }
}

/// Values as far as two computations must agree: doubles to 1e-9 of the larger or of 1.
fn agree(got: &Value, wanted: &Value) -> bool {
    match (got, wanted) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            a == b || (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
        }
        _ => got == wanted,
    }
}

fn same(got: &Value, wanted: &Answer, fill: Fill) -> bool {
    let tags: Value = wanted
        .tags
        .iter()
        .map(|(k, v)| (k.clone(), json!(v)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let varying: BTreeSet<&str> =
        got["aggregateTags"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    let wanted_varying: BTreeSet<&str> = wanted.varying.iter().map(String::as_str).collect();
    let dps = got["dps"].as_array().unwrap();
    got["tags"] == tags
        && varying == wanted_varying
        && dps.len() == wanted.points.len()
        && dps.iter().zip(&wanted.points).all(|(pair, (time, value))| {
            pair[0] == json!(time) && agree(&pair[1], &printed(*value, fill))
        })
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn questions_of_the_whole_grammar_are_answered_as_the_rules_say() {
    let seed = setting("FOLIOT_TEST_SEED", 20_231_114);
    let cases = setting("FOLIOT_TEST_CASES", 1400) as i64;
    println!("seed {seed}");
    let mut random = Random(seed.max(1));
    let tsd = Tsd::start();
    let stored: Vec<Vec<Stored>> = METRICS.iter().map(|metric| make(metric, &mut random)).collect();
    let mut uids = Uids::default();
    for (metric, all) in METRICS.iter().zip(&stored) {
        store(&tsd, metric, all);
        // The names of one point count as written in the order of the keys.
        for (key, value) in all.iter().flat_map(|series| &series.tags) {
            for (name, list) in [(key, &mut uids.keys), (value, &mut uids.values)] {
                if !list.contains(name) {
                    list.push(name.clone());
                }
            }
        }
    }
    let (mut points, mut empty, mut failed) = (0, 0, Vec::new());
    for number in 0..cases {
        let which = random.below(3) as usize;
        let case = generate(number, METRICS[which], &mut random);
        let question = &case.question;
        let wanted = model::answer(question, &stored[which], &uids);
        // The JSON form says everything; the other one has no room for braces of its own.
        let response = if random.chance(50) {
            let body = json!({"start": question.start_ms, "end": question.end_ms,
                "timezone": case.zone, "msResolution": true, "queries": [case.post]});
            tsd.server.post("/api/query?arrays", &body.to_string())
        } else {
            let (start, end) = (question.start_ms.to_string(), question.end_ms.to_string());
            let params = [
                ("start", &*start),
                ("end", &*end),
                ("m", &*case.m),
                ("ms", ""),
                ("arrays", ""),
                ("tz", case.zone),
            ];
            tsd.get("/api/query", &params)
        };
        assert_eq!(response.status, 200, "{}: {}", case.m, response.text());
        let got: Value = serde_json::from_slice(&response.body).unwrap();
        let got = got.as_array().unwrap();
        let fill = question.downsample.as_ref().map_or(Fill::None, |spec| spec.fill);
        let count: usize = wanted.iter().map(|answer| answer.points.len()).sum();
        points += count;
        empty += i32::from(count == 0);
        let is_same = got.len() == wanted.len()
            && got.iter().zip(&wanted).all(|(got, wanted)| same(got, wanted, fill));
        if !is_same {
            failed.push(format!(
                "case {number}: {} [{}, {}] {}\n   got {}\nwanted {wanted:?}",
                case.m,
                question.start_ms,
                question.end_ms,
                case.zone,
                json!(got)
            ));
        }
    }
    println!("{cases} questions, {points} points, {empty} answers without points");
    let shown: Vec<String> =
        failed.iter().take(5).map(|text| text.chars().take(3000).collect()).collect();
    assert!(failed.is_empty(), "{} of {cases} differ:\n{}", failed.len(), shown.join("\n"));
    assert!(i64::from(empty) * 5 < cases * 2, "too many answers are empty: {empty}");
}
