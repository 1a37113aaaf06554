use super::*;
use crate::wire::{push_bytes, push_double, push_varint};
use crate::{KEY_SYNTAX, shown_key};
use foliot_model::{Histogram, KeySecret, Resets};

fn message(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match number {
        // A tag of two bytes.
        16.. => {
            push_varint(u64::from(number) << 3 | 2, &mut out);
            push_varint(body.len() as u64, &mut out);
            out.extend_from_slice(body);
        }
        number => push_bytes(number, body, &mut out),
    }
    out
}

fn double(number: u8, value: f64) -> Vec<u8> {
    let mut out = Vec::new();
    push_double(number, value, &mut out);
    out
}

fn varint(number: u8, value: u64) -> Vec<u8> {
    let mut out = vec![number << 3];
    push_varint(value, &mut out);
    out
}

fn label(name: &str, value: &str) -> Vec<u8> {
    message(1, &[message(1, name.as_bytes()), message(2, value.as_bytes())].concat())
}

/// A family, behind its length.
fn family(name: &str, kind: u64, metrics: &[Vec<u8>]) -> Vec<u8> {
    let metrics: Vec<u8> = metrics.iter().flat_map(|metric| message(4, metric)).collect();
    let body = [message(1, name.as_bytes()), varint(3, kind), metrics].concat();
    let mut out = Vec::new();
    push_varint(body.len() as u64, &mut out);
    out.extend(body);
    out
}

fn shown(exemplars: &[Exemplar]) -> String {
    let one = |it: &Exemplar| format!(" # {} {} {:?}", shown_key(&it.labels), it.value, it.time_ms);
    exemplars.iter().map(one).collect()
}

const ALL: Histograms = Histograms { native: true, classic: true };

fn read(bytes: &[u8], histograms: Histograms) -> Result<Vec<String>, String> {
    let (mut families, mut out) = (Families::new(bytes, histograms), Vec::new());
    while families.step(&mut |said| {
        out.push(match said {
            Exposed::Sample { series, value, time_ms, exemplars } => {
                let value = match value {
                    Measured::Number(value) => value.to_f64().to_string(),
                    Measured::Histogram(of) => format!("native {} {}", of.count, of.sum),
                };
                let (series, time) = (shown_key(series.bytes()), time_ms);
                format!("{series} {value} {time:?}{}", shown(&exemplars))
            }
            said => format!("{said:?}"),
        });
        Ok(())
    })? {}
    Ok(out)
}

fn exemplar(id: &str, value: f64, seconds: Option<u64>) -> Vec<u8> {
    let time =
        seconds.map(|seconds| message(3, &[varint(1, seconds), varint(2, 500_000_000)].concat()));
    [label("id", id), double(2, value), time.unwrap_or_default()].concat()
}

#[test]
fn each_kind_of_family_is_read() {
    let counter = [double(1, 3.0), message(2, &exemplar("x", 0.5, Some(7)))].concat();
    let quantile = |at: f64, value: f64| message(3, &[double(1, at), double(2, value)].concat());
    let summary = [varint(1, 5), double(2, 2.5), quantile(0.5, 1.0), quantile(1.0, f64::NAN)];
    let described = {
        let body = [message(1, b"d"), message(2, b"what\nit is"), varint(3, 3), message(5, b"s")];
        let body = body.concat();
        [&[body.len() as u8][..], &body].concat()
    };
    let bytes = [
        family("a_total", 0, &[[label("l", "v"), message(3, &counter)].concat()]),
        family("b", 1, &[message(2, &double(1, -0.0)), [message(2, b""), varint(6, 9)].concat()]),
        family("c", 2, &[message(4, &summary.concat())]),
        described,
        family("e", 3, &[message(5, &double(1, 4.0))]),
    ];
    let wanted = [
        "Kind(\"a_total\", \"counter\")",
        "a_total{l=\"v\"} 3 None # {id=\"x\"} 0.5 Some(7500)",
        "Kind(\"b\", \"gauge\")",
        "b{} -0 None",
        "b{} 0 Some(9)",
        "Kind(\"c\", \"summary\")",
        "c_count{} 5 None",
        "c_sum{} 2.5 None",
        "c{quantile=\"0.5\"} 1 None",
        "c{quantile=\"1.0\"} NaN None",
        "Kind(\"d\", \"unknown\")",
        "Help(\"d\", \"what\\nit is\")",
        "Unit(\"d\", \"s\")",
        "Kind(\"e\", \"unknown\")",
        "e{} 4 None",
    ];
    assert_eq!(read(&bytes.concat(), ALL).unwrap(), wanted);
}

/// A histogram of 3 observations, classic and native: 2 in bucket 1 of schema 0, 1 around zero.
fn both() -> Vec<u8> {
    let bucket = |bound: f64, count: u64, more: &[u8]| {
        message(3, &[varint(1, count), double(2, bound), more.to_vec()].concat())
    };
    let shown = |id: &str, seconds| message(3, &exemplar(id, 1.5, seconds));
    let span = message(12, &[varint(1, 2), varint(2, 1)].concat());
    let parts = [
        varint(1, 3),
        double(2, 4.5),
        bucket(0.5, 1, &shown("x", None)),
        bucket(2e6, 3, &shown("y", Some(1))),
        varint(5, 0),
        double(6, 0.001),
        varint(7, 1),
        span,
        message(13, &[4]),
    ];
    parts.concat()
}

#[test]
fn a_histogram_is_native_classic_or_both() {
    let bytes = family("h", 4, &[message(7, &both())]);
    let native = "h{} native 3 4.5 None # {id=\"y\"} 1.5 Some(1500)";
    let classic = [
        "h_count{} 3 None",
        "h_sum{} 4.5 None",
        "h_bucket{le=\"0.5\"} 1 None # {id=\"x\"} 1.5 None",
        "h_bucket{le=\"2e+06\"} 3 None # {id=\"y\"} 1.5 Some(1500)",
        "h_bucket{le=\"+Inf\"} 3 None",
    ];
    let of = |native, classic| read(&bytes, Histograms { native, classic }).unwrap().split_off(1);
    assert_eq!(of(true, false), [native]);
    assert_eq!(of(false, false), classic);
    assert_eq!(of(false, true), classic);
    assert_eq!(of(true, true), [&[native][..], &classic].concat());
    // One of no observations is told from a classic one by an empty span.
    let empty = family("h", 4, &[message(7, &message(12, b""))]);
    assert_eq!(read(&empty, ALL).unwrap()[1..], ["h{} native 0 0 None"]);
    let empty = family("h", 4, &[message(7, b"")]);
    assert_eq!(read(&empty, ALL).unwrap().len(), 4, "kind, count, sum and the last bucket");
    // Its own exemplars go before those of its buckets, if they have times.
    let own =
        [both(), message(16, &exemplar("z", 1.0, Some(2))), message(16, &exemplar("w", 1.0, None))];
    let own = family("h", 4, &[message(7, &own.concat())]);
    let wanted = "h{} native 3 4.5 None # {id=\"z\"} 1 Some(2500)";
    assert_eq!(read(&own, Histograms { native: true, classic: false }).unwrap()[1..], [wanted]);
}

#[test]
fn floats_and_gauges_become_the_same_histograms() {
    // Counts of floats, of a gauge: 0.5 in bucket 0 and 1.5 in bucket 2.
    let counts: Vec<u8> = [0.5f64, 0.0, 1.5].iter().flat_map(|count| count.to_le_bytes()).collect();
    let parts =
        [double(4, 2.0), message(12, &[varint(1, 0), varint(2, 3)].concat()), message(14, &counts)];
    let bytes = family("h", 5, &[message(7, &parts.concat())]);
    let mut seen = Vec::new();
    let mut families = Families::new(&bytes, ALL);
    while families
        .step(&mut |said| {
            if let Exposed::Sample { value: Measured::Histogram(of), .. } = said {
                seen.push(of.clone());
            }
            Ok(())
        })
        .unwrap()
    {}
    let [Histogram { resets, is_integer, count, positive, .. }] = &seen[..] else {
        panic!("{seen:?}")
    };
    assert_eq!((*resets, *is_integer, *count), (Resets::Gauge, false, 2.0));
    let buckets: Vec<_> = positive.iter().map(|bucket| bucket.count).collect();
    assert_eq!(buckets.iter().sum::<f64>(), 2.0);
}

#[test]
fn bounds_are_spelled_as_in_open_metrics() {
    for (bound, text) in [
        (1.0, "1.0"),
        (0.0, "0.0"),
        (-2.5, "-2.5"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (100_000.0, "100000.0"),
        (1e6, "1e+06"),
        (1.25e9, "1.25e+09"),
        (1e100, "1e+100"),
        (f64::INFINITY, "+Inf"),
    ] {
        assert_eq!(bound_text(bound), text);
    }
}

#[test]
fn messages_that_are_none_say_why() {
    let good = family("m", 1, &[message(2, &double(1, 1.0))]);
    let cut = &good[..good.len() - 1];
    let many = |count: usize| {
        let bucket = message(3, &double(2, 1.0)).repeat(count);
        family("h", 4, &[[label("a", &"x".repeat(1000)), message(7, &bucket)].concat()])
    };
    let bad_native = [varint(1, 1), message(12, &[varint(1, 0), varint(2, 1)].concat())].concat();
    for (bytes, word) in [
        (cut.to_vec(), "is cut"),
        (family("", 1, &[]), "has no name"),
        (family("m", 9, &[]), "9 is no type"),
        (family("m", 0, &[message(2, &double(1, 1.0))]), "a counter has no value"),
        (family("m", 1, &[message(2, &varint(1, 1))]), "wrong wire type"),
        (family("\u{fffd}", 1, &[message(1, &message(1, b"\xff"))]), "no UTF-8"),
        (many(10_000), "too many buckets"),
        (family("h", 4, &[message(7, &bad_native)]), "metric \"h\""),
        (b"\xff".to_vec(), ""),
    ] {
        let error = read(&[good.clone(), bytes].concat(), ALL).unwrap_err();
        assert!(error.contains(word), "{word}: {error}");
    }
    assert_eq!(read(b"", ALL).unwrap(), [""; 0]);
    let error = read(&family("m", 1, &[message(2, b"")]), ALL);
    assert_eq!(error.unwrap().len(), 2);
}

#[test]
fn what_is_pushed_becomes_batches() {
    let bytes = [
        family(
            "m",
            1,
            &[message(2, &double(1, 1.5)), [message(2, b""), varint(6, i64::MAX as u64)].concat()],
        ),
        family("h", 4, &[message(7, &both())]),
    ];
    let bytes = bytes.concat();
    let histograms = Histograms { native: true, classic: false };
    assert_eq!(Families::new(&bytes, histograms).check(), Ok(1));
    let mut batch = Batch::new(&bytes, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
    let (mut rejects, mut exemplars) = (Vec::new(), crate::Exemplars::default());
    let mut families = Families::new(&bytes, histograms);
    assert!(!families.decode(&mut batch, 7, (&mut rejects, &mut exemplars)));
    let keys: Vec<_> = batch
        .rows()
        .iter()
        .map(|row| (shown_key(batch.slice(row.key_tail)), row.time_ns))
        .collect();
    assert_eq!(keys, [("m{}".to_owned(), 7_000_000), ("h{}".to_owned(), 7_000_000)]);
    assert_eq!((rejects.len(), rejects[0].line), (1, 2));
    assert_eq!(exemplars.iter().next().unwrap().time_ms, 1500);
}
