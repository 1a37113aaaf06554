use super::*;
use crate::config::Config;
use crate::target::Targets;
use foliot_model::Batch;
use std::sync::Arc;

struct Fixture {
    job: Arc<Job>,
    target: Target,
    cache: Cache,
    room_bytes: usize,
}

impl Fixture {
    fn new(more: &str) -> Self {
        let text = format!(
            "scrape_configs:\n- job_name: j\n  static_configs: [{{targets: ['h:1']}}]\n  {more}\n"
        );
        let (config, _) = Config::read(&text, "p.yml", &|_| None).unwrap();
        let job = config.jobs[0].clone();
        let groups = [("s".to_owned(), job.discovery.groups[0].clone())];
        let target = Targets::of_job(&job, &groups).active.remove(0);
        Self { job, target, cache: Cache::default(), room_bytes: 1 << 20 }
    }

    /// What a text comes to: its samples, series by labels without those of the target.
    fn take(&mut self, text: &str, at_ms: i64) -> Result<(Counts, Vec<String>), String> {
        self.take_as(text.as_bytes(), Format::Text, at_ms)
    }

    fn take_as(&mut self, text: &[u8], format: Format, at_ms: i64) -> Result<Came, String> {
        let mut out = Samples::default();
        let about = (&*self.job, &self.target);
        let room_bytes = self.room_bytes;
        let may_hold = &mut |bytes: usize| bytes <= room_bytes;
        let most = Most { samples: 1000, may_hold };
        let taken = self.cache.take(about, (text, format), most, at_ms, &mut out);
        taken.map(|counts| (counts, shown(&out))).map_err(|(_, reason)| reason)
    }

    /// The same target, of which nothing is known.
    fn afresh(&self) -> Self {
        let (job, target) = (self.job.clone(), self.target.clone());
        Self { job, target, cache: Cache::default(), room_bytes: self.room_bytes }
    }
}

/// What a scrape came to, and its samples.
type Came = (Counts, Vec<String>);

#[test]
fn what_is_remembered_finds_room_before_it_grows() {
    let mut fixture = Fixture::new("");
    let lines = |count: usize| (0..count).map(|n| format!("m{n} 1\n")).collect::<String>();
    fixture.take(&lines(100), 10).unwrap();
    let bytes = fixture.cache.bytes();
    assert!((100 * 60..100 * 200).contains(&bytes), "{bytes}");
    fixture.room_bytes = bytes / 2;
    fixture.take(&lines(100), 20).unwrap();
    let error = fixture.take(&lines(900), 30).unwrap_err();
    assert!(error.contains("limits.scrape_bytes"), "{error}");
    fixture.cache.forget_lines();
    fixture.cache.end(30, &mut Samples::default());
    assert_eq!(fixture.cache.bytes(), 0);
    fixture.room_bytes = 1 << 20;
    fixture.take(&lines(900), 40).unwrap();
    assert!(fixture.cache.bytes() > bytes);
}

/// Samples by their packed labels, read by hand: each label is a message of two texts.
fn shown(samples: &Samples) -> Vec<String> {
    let mut lines: Vec<String> = samples
        .iter()
        .map(|(key, value, at_ms)| {
            let (mut rest, mut text) = (&*key, String::new());
            while let [_, length, behind @ ..] = rest {
                let (label, after) = behind.split_at(usize::from(*length));
                let name_end = 2 + usize::from(label[1]);
                let name = String::from_utf8_lossy(&label[2..name_end]);
                let value = String::from_utf8_lossy(&label[name_end + 2..]);
                match &*name {
                    "job" | "instance" => {}
                    "__name__" => text.insert_str(0, &value),
                    name => text.push_str(&format!(",{name}={value}")),
                }
                rest = after;
            }
            let value =
                if value.to_bits() == STALE.to_bits() { "stale".into() } else { value.to_string() };
            format!("{text} {value} {at_ms}")
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn what_vanishes_is_over_and_what_comes_back_is_new() {
    let mut fixture = Fixture::new("");
    let (counts, samples) = fixture.take("a 1\nb{x=\"1\"} 2\n", 10).unwrap();
    assert_eq!(samples, ["a 1 10", "b,x=1 2 10"]);
    assert_eq!((counts.scraped, counts.kept, counts.added), (2, 2, 2));
    let (counts, samples) = fixture.take("a 3\n", 20).unwrap();
    assert_eq!(samples, ["a 3 20", "b,x=1 stale 20"]);
    assert_eq!((counts.scraped, counts.added), (1, 0));
    let (counts, samples) = fixture.take("b{x=\"1\"} 4\n", 30).unwrap();
    assert_eq!(samples, ["a stale 30", "b,x=1 4 30"]);
    assert_eq!(counts.added, 1);
    let mut out = Samples::default();
    fixture.cache.end(40, &mut out);
    assert_eq!(shown(&out), ["b,x=1 stale 40"]);
}

#[test]
fn a_bad_text_counts_for_nothing_and_ends_all() {
    let mut fixture = Fixture::new("");
    fixture.take("a 1\nb 1\n", 10).unwrap();
    assert!(fixture.take("a 2\nc 1\n<html>\n", 20).unwrap_err().contains("line 3"));
    let mut out = Samples::default();
    fixture.cache.end(20, &mut out);
    assert_eq!(shown(&out), ["a stale 20", "b stale 20"], "c was never stored");
}

#[test]
fn rules_and_limits_hold_for_series() {
    let rules = "metric_relabel_configs:\n  - {source_labels: [__name__], regex: 'go_.*', action: \
                 drop}\n  - {source_labels: [__name__], regex: 'x(.*)', target_label: __name__, \
                 replacement: 'y$1'}\n  sample_limit: 2\n  label_limit: 5\n  \
                 label_name_length_limit: 10\n  label_value_length_limit: 8";
    let mut fixture = Fixture::new(rules);
    let (counts, samples) = fixture.take("go_gc 1\nx1 2\na 3\n", 10).unwrap();
    assert_eq!(samples, ["a 3 10", "y1 2 10"]);
    assert_eq!((counts.scraped, counts.kept), (3, 2));
    for (text, word) in [
        ("a 1\nb 1\nc 1", "sample_limit"),
        ("a{b=\"1\",c=\"1\",d=\"1\"} 1", "label_limit"),
        ("a{bbbbbbbbbbb=\"1\"} 1", "label_name_length_limit"),
        ("a{b=\"123456789\"} 1", "label_value_length_limit"),
        ("a{b=\"1\",b=\"2\"} 1", "given twice"),
        ("{b=\"1\"} 1", "no name"),
    ] {
        let error = fixture.take(text, 20).unwrap_err();
        assert!(error.contains(word), "{text}: {error}");
    }
}

#[test]
fn a_scrape_that_fails_adds_no_series() {
    let mut fixture = Fixture::new("sample_limit: 2");
    let about = (&*fixture.job, &fixture.target);
    for (text, scraped) in [("a 1\nb 1\nc 1\n", 3), ("a 1\nb 1\n?\n", 2)] {
        for at_ms in [10, 20] {
            let most = Most { samples: 1000, may_hold: &mut |_| true };
            let (text, mut out) = ((text.as_bytes(), Format::Text), Samples::default());
            let (counts, _) = fixture.cache.take(about, text, most, at_ms, &mut out).unwrap_err();
            assert_eq!((counts.scraped, counts.added), (scraped, 0), "{counts:?}");
        }
    }
    assert_eq!(fixture.take("a 1\n", 30).unwrap().0.added, 1);
}

#[test]
fn there_is_a_limit_that_no_job_has_to_set() {
    let lines = |count: usize| (0..count).map(|n| format!("m{n} 1\n")).collect::<String>();
    let mut fixture = Fixture::new("");
    assert_eq!(fixture.take(&lines(1000), 10).unwrap().0.kept, 1000);
    assert!(fixture.take(&lines(1001), 20).unwrap_err().contains(SAMPLES_MAX));
}

#[test]
fn times_of_a_target_count_unless_told_otherwise_and_end_nothing() {
    let mut fixture = Fixture::new("");
    assert_eq!(fixture.take("a 1 5\nb 2\n", 10).unwrap().1, ["a 1 5", "b 2 10"]);
    assert_eq!(fixture.take("", 20).unwrap().1, ["b stale 20"]);
    let mut fixture = Fixture::new("honor_timestamps: false");
    assert_eq!(fixture.take("a 1 5\n", 10).unwrap().1, ["a 1 10"]);
    let mut fixture = Fixture::new("track_timestamps_staleness: true");
    fixture.take("a 1 5\n", 10).unwrap();
    assert_eq!(fixture.take("", 20).unwrap().1, ["a stale 20"]);
}

#[test]
fn what_is_dated_more_than_ten_minutes_ahead_is_dropped() {
    let mut fixture = Fixture::new("");
    let (counts, samples) = fixture.take("a 1 600010\nb 2 600011\nc 3 -9\n", 10).unwrap();
    assert_eq!((counts.kept, counts.ahead, counts.added), (3, 1, 0));
    assert_eq!(samples, ["a 1 600010", "c 3 -9"]);
    let mut fixture = Fixture::new("honor_timestamps: false");
    assert_eq!(fixture.take("b 2 600011\n", 10).unwrap().1, ["b 2 10"]);
}

#[test]
fn the_first_of_two_samples_counts() {
    let mut fixture = Fixture::new("");
    let (counts, samples) = fixture.take("a{x=\"1\"} 1\na{ x=\"1\" } 2\n", 10).unwrap();
    assert_eq!((counts.duplicates, samples), (1, vec!["a,x=1 1 10".to_owned()]));
}

#[test]
fn labels_of_the_target_stand_where_they_belong() {
    let more = "honor_labels: true\n  relabel_configs:\n  - {target_label: env, replacement: prod}";
    let mut fixture = Fixture::new(more);
    // Before, between and behind those of the target; and some that go before the target's.
    let text = "a{Zone=\"z\",fox=\"f\",zoo=\"o\"} 1\nb 2\nc{env=\"test\"} 3\nd{job=\"\"} 4\n";
    let wanted = [
        r#"{Zone="z",__name__="a",env="prod",fox="f",instance="h:1",job="j",zoo="o"}"#,
        r#"{__name__="b",env="prod",instance="h:1",job="j"}"#,
        r#"{__name__="c",env="test",instance="h:1",job="j"}"#,
        r#"{__name__="d",env="prod",instance="h:1"}"#,
    ];
    let wanted = wanted.map(|text| {
        let inner =
            text.trim_matches(['{', '}']).split(',').map(|pair| pair.split_once('=').unwrap());
        foliot_proto_prometheus::pack_labels(
            inner.map(|(name, value)| (name, value.trim_matches('"'))),
        )
    });
    // What is remembered comes out the same, also when series in front of it are forgotten, and
    // when lines are read anew.
    for (text, count) in [(text, 0), (text, 0), (&text[text.find("b 2").unwrap()..], 1)] {
        let mut out = Samples::default();
        if count == 0 {
            fixture.cache.forget_lines();
        }
        let most = Most { samples: 1000, may_hold: &mut |_| true };
        let about = (&*fixture.job, &fixture.target);
        fixture.cache.take(about, (text.as_bytes(), Format::Text), most, 10, &mut out).unwrap();
        let (over, keys): (Vec<_>, Vec<_>) = out.iter().partition(|(_, value, _)| value.is_nan());
        let spelled = |rows: Vec<(std::borrow::Cow<'_, [u8]>, f64, i64)>| {
            rows.into_iter().map(|(key, ..)| key.into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(spelled(keys), wanted[count..]);
        assert_eq!(spelled(over), wanted[..count]);
    }
}

#[test]
fn series_that_are_there_stay_when_rules_change() {
    let mut fixture = Fixture::new("");
    fixture.take("a 1\nb 1\n", 10).unwrap();
    fixture.cache.forget_lines();
    let (counts, samples) = fixture.take("a 2\n", 20).unwrap();
    assert_eq!((counts.added, samples), (0, vec!["a 2 20".to_owned(), "b stale 20".to_owned()]));
    // A target with other series at each scrape holds no more than two scrapes of it.
    let text = |from: usize| (from..from + 100).map(|n| format!("m{n} 1\n")).collect::<String>();
    fixture.take(&text(0), 30).unwrap();
    let bytes = fixture.cache.bytes();
    for at in 1..20 {
        let (counts, samples) = fixture.take(&text(at * 100), 30 + at as i64).unwrap();
        assert_eq!((counts.added, samples.len()), (100, 200));
        assert!(fixture.cache.bytes() < bytes * 5 / 4, "{at}: {}", fixture.cache.bytes());
    }
}

/// What comes of a target whose lines were seen before is what comes of one that is new.
#[test]
fn lines_that_move_vanish_and_come_back_are_known() {
    let lines: Vec<String> =
        (0..40).map(|n| format!("m{}{{x=\"{n}\"}}", n % 3)).chain(["m1".to_owned()]).collect();
    let mut fixture = Fixture::new("");
    let mut random = 7u64;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % below
    };
    for at_ms in 0..200 {
        // Mostly all of them in order, without some, with two that changed places.
        let mut shown = lines.clone();
        let (from, to) = (next(40), next(40));
        match next(4) {
            0 => shown.swap(from, to),
            1 => drop(shown.drain(from.min(to)..from.max(to))),
            2 => shown.reverse(),
            _ => {}
        }
        let text = shown.iter().map(|line| {
            let comment = if next(8) == 0 { "# HELP m1 it\n" } else { "" };
            let time = if next(8) == 0 { " 5" } else { "" };
            format!("{comment}{line} {}{time}\n", next(1000) as f64 / 8.0)
        });
        let text: String = text.collect();
        let mut fresh = Fixture::new("");
        let wanted = fresh.take(&text, at_ms).unwrap().1;
        let (counts, samples) = fixture.take(&text, at_ms).unwrap();
        let samples: Vec<String> =
            samples.into_iter().filter(|sample| !sample.contains("stale")).collect();
        assert_eq!(samples, wanted, "{text}");
        assert_eq!(counts.scraped, shown.len() as u64);
    }
}

/// Takes a page of a target that is known and of one that is not: both come to the same, but for
/// what is over.
fn compare(known: &mut Fixture, page: &[u8], format: Format, at_ms: i64) {
    let told = || String::from_utf8_lossy(page).into_owned();
    let mut fresh = known.afresh();
    let wanted = fresh.take_as(page, format, at_ms);
    let found = known.take_as(page, format, at_ms);
    let samples = |came: Result<Came, String>| {
        came.map(|(counts, mut samples)| {
            samples.retain(|sample| !sample.contains(" stale "));
            let Counts { scraped, kept, exemplars, duplicates, .. } = counts;
            (samples, [scraped, kept, exemplars, duplicates])
        })
    };
    let (wanted, found) = (samples(wanted), samples(found));
    let is_good = wanted.is_ok();
    assert_eq!(found, wanted, "{}", told());
    // What is said of metrics now is known; what was said of them before may be, too.
    let known: BTreeMap<_, _> = known.cache.metadata().collect();
    for (name, about) in fresh.cache.metadata().filter(|_| is_good) {
        let now = known.get(name).unwrap_or_else(|| panic!("{name}: {}", told()));
        let parts = |of: &Metadata| [of.kind.clone(), of.help.clone(), of.unit.clone()];
        for (now, wanted) in parts(now).into_iter().zip(parts(about)) {
            assert!(wanted.is_empty() || now == wanted, "{name}: {now:?} {}", told());
        }
    }
}

const PAGE: &str = "# HELP a_total what\\nit is\r\n# TYPE a_total counter\r\na_total{x=\"1\"} 7\r\n\
    # a remark\n# TYPE b gauge\nb{x=\"1\",y=\"\u{fc}\"} 123456789.5\nb{x=\"2\"} NaN\n\
    b{x=\"3\"} 1e3 5\n\
    # TYPE c histogram\nc_bucket{le=\"1\"} 12\nc_bucket{le=\"+Inf\"} -0\nc_sum 0.25\nc_count 99\n\
    d 1\nd2 2\n";

/// As [`PAGE`], with exemplars, a unit and an end.
fn open_metrics_page() -> String {
    let page = PAGE.replace("\r", "").replace("} 12\n", "} 12 # {id=\"x\"} 0.5\n");
    page.replace("# a remark", "# UNIT a_total seconds") + "# EOF\n"
}

#[test]
fn a_page_that_differs_in_one_byte_is_read_as_a_new_one() {
    for (page, format) in
        [(PAGE.to_owned(), Format::Text), (open_metrics_page(), Format::OpenMetrics)]
    {
        let mut fixture = Fixture::new("");
        let mut at_ms = 1_000;
        for at in 0..page.len() {
            let mut others = vec![page.as_bytes()[..at].to_vec(), page.clone().into_bytes()];
            others[1].remove(at);
            for byte in *b" \n\"#}=9\xff" {
                let mut other = page.clone().into_bytes();
                other[at] = byte;
                others.push(other.clone());
                other[at] = page.as_bytes()[at];
                other.insert(at, byte);
                others.push(other);
            }
            for other in others {
                at_ms += 10;
                fixture.take_as(page.as_bytes(), format, at_ms).unwrap();
                compare(&mut fixture, &other, format, at_ms + 5);
            }
        }
    }
}

#[test]
fn pages_whose_lines_and_comments_move_are_read_as_new_ones() {
    let mut random = 7u64;
    let mut next = move |below: usize| {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (random >> 33) as usize % below
    };
    for (page, format) in
        [(PAGE.to_owned(), Format::Text), (open_metrics_page(), Format::OpenMetrics)]
    {
        let mut fixture = Fixture::new("");
        for at_ms in 0..600 {
            let mut lines: Vec<String> = page.lines().map(str::to_owned).collect();
            // Nothing stands behind the end.
            let count = lines.len() - 1;
            for _ in 0..next(4) {
                let (from, to) = (next(count), next(count));
                match next(7) {
                    0 => lines.swap(from, to),
                    1 => lines[from] = lines[to].clone(),
                    2 => lines[from].clear(),
                    3 => lines[from] = format!("# HELP a_total {to}"),
                    4 => lines[from] = format!("# {to}\n{}", lines[from]),
                    5 => lines[from] += "\r",
                    _ => lines[from] = format!("new{to} {from}"),
                }
            }
            let page = lines.join("\n") + "\n";
            compare(&mut fixture, page.as_bytes(), format, at_ms);
        }
    }
}

/// Comments that were shown once are forgotten, as lines are.
#[test]
fn comments_of_other_scrapes_are_not_kept() {
    let mut fixture = Fixture::new("");
    let text = |at: usize| format!("# scrape {at}\na 1\n# HELP b {at}\nb 1\n");
    fixture.take(&text(0), 0).unwrap();
    let bytes = fixture.cache.bytes();
    for at in 1..50 {
        let (counts, samples) = fixture.take(&text(at), at as i64).unwrap();
        assert_eq!((counts.added, samples.len()), (0, 2));
        assert_eq!(fixture.cache.bytes(), bytes);
        let help = fixture.cache.metadata().map(|(_, about)| about.help.clone());
        assert_eq!(help.collect::<Vec<_>>(), [at.to_string()]);
    }
    // New ones find room before they are remembered.
    fixture.room_bytes = bytes;
    fixture.cache.forget_lines();
    assert!(fixture.take("# new\na 1\n", 99).unwrap_err().contains("limits.scrape_bytes"));
}

#[test]
fn a_target_is_told_to_a_store_that_hashes_otherwise() {
    use foliot_model::{KeyHasher, KeySecret};
    use foliot_proto_prometheus::KEY_SYNTAX;
    let mut fixture = Fixture::new("");
    for namespace in [1, 1, 2] {
        let hasher = KeyHasher::new(KeySecret(5), namespace, &KEY_SYNTAX);
        let mut out = Samples::hashed_by(hasher);
        let most = Most { samples: 1000, may_hold: &mut |_| true };
        let (about, text) = ((&*fixture.job, &fixture.target), (&b"a 1\nb 2\n"[..], Format::Text));
        let counts = fixture.cache.take(about, text, most, 10, &mut out).unwrap();
        assert_eq!(counts.added > 0, fixture.cache.scrapes == 1);
        let empty = Default::default();
        let mut batch = Batch::new(out.bytes(), namespace, &KEY_SYNTAX, KeySecret(5), empty);
        out.decode(0, &mut batch, &mut Vec::new());
        let hashes = batch.rows().iter().map(|row| row.key_hash);
        let wanted = out.iter().map(|(key, ..)| hasher.key(b"", &key));
        assert_eq!(hashes.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
        let tables = batch.rows().iter().filter(|row| row.key_head.length > 0).count();
        assert_eq!(tables, 2, "no key is spelled");
    }
}

#[test]
fn what_metrics_are_is_remembered_for_a_while() {
    let mut fixture = Fixture::new("");
    fixture.take("# HELP a one\\nline\n# TYPE a counter\na 1\n", 0).unwrap();
    let (name, about) = fixture.cache.metadata().next().unwrap();
    assert_eq!((name, about.kind.as_str(), about.help.as_str()), ("a", "counter", "one\nline"));
    let same = "# HELP a one\\nline\n# TYPE a counter\na 1\n";
    (0..2 * METADATA_SCRAPES).for_each(|at| drop(fixture.take(same, at as i64)));
    assert!(fixture.take("# TYPE a thing\na 1\n", 0).unwrap_err().contains("line 1"));
    fixture.take(same, 0).unwrap();
    (0..METADATA_SCRAPES).for_each(|at| drop(fixture.take("", at as i64)));
    assert_eq!(fixture.cache.metadata().count(), 1);
    fixture.take("", 99).unwrap();
    assert_eq!(fixture.cache.metadata().count(), 0);
}

#[test]
fn a_report_has_the_labels_of_its_target() {
    let fixture = Fixture::new("");
    let (report, mut out) = (Report::new(&fixture.target), Samples::default());
    let counts = Counts { scraped: 5, kept: 4, added: 3, ..Counts::default() };
    report.push(true, 0.25, &counts, 7, &mut out);
    let wanted = [
        "scrape_duration_seconds 0.25 7",
        "scrape_samples_post_metric_relabeling 4 7",
        "scrape_samples_scraped 5 7",
        "scrape_series_added 3 7",
        "up 1 7",
    ];
    assert_eq!(shown(&out), wanted);
}
