use super::*;
use crate::KEY_SYNTAX;
use crate::wire::{push_bytes, push_varint};
use foliot_model::{Bucket, Histogram, KeySecret, Resets};

/// Times of samples, their bits, and the numbers of their series; reasons of rejects by series.
type Seen = (Vec<(u32, i64, u64)>, Vec<(u32, String)>, usize);

/// Histograms by their times, and reasons of rejects by series.
type Histograms = (Vec<(i64, Histogram)>, Vec<(u32, String)>);

fn message(number: u8, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push_bytes(number, body, &mut out);
    out
}

fn sample(value: f64, time_ms: i64) -> Vec<u8> {
    let mut body = vec![1 << 3 | 1];
    body.extend_from_slice(&value.to_le_bytes());
    body.push(2 << 3);
    push_varint(time_ms as u64, &mut body);
    message(2, &body)
}

fn label(name: &str, value: &str) -> Vec<u8> {
    let parts = [message(1, name.as_bytes()), message(2, value.as_bytes())];
    message(1, &parts.concat())
}

fn decode(version: Version, bytes: &[u8]) -> Result<Seen, Malformed> {
    let mut request = WriteRequest::parse(version, bytes)?;
    let (mut seen, mut pieces) = ((Vec::new(), Vec::new()), 0);
    let mut more = true;
    while more {
        let mut batch = Batch::new(bytes, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
        let mut rejects = Vec::new();
        more = request.decode(&mut batch, (&mut rejects, &mut Exemplars::default()));
        pieces += 1;
        for row in batch.rows() {
            seen.0.push((row.line, row.time_ns, batch.cells(row, 1)[0].to_f64().to_bits()));
        }
        seen.1.extend(rejects.into_iter().map(|reject| (reject.line, reject.reason)));
    }
    Ok((seen.0, seen.1, pieces))
}

fn keys(version: Version, bytes: &[u8]) -> Vec<u128> {
    let mut batch = Batch::new(bytes, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
    let mut request = WriteRequest::parse(version, bytes).unwrap();
    request.decode(&mut batch, (&mut Vec::new(), &mut Exemplars::default()));
    batch.rows().iter().map(|row| row.key_hash).collect()
}

#[test]
fn samples_keep_their_bits_and_times() {
    let stale = f64::from_bits(0x7ff0_0000_0000_0002);
    let values = [1.0, 1.5, -0.0, 0.0, f64::INFINITY, stale, 9_007_199_254_740_993.0, f64::NAN];
    let samples: Vec<u8> =
        values.iter().enumerate().flat_map(|(at, value)| sample(*value, at as i64 - 2)).collect();
    let series = message(1, &[label("__name__", "m"), samples].concat());
    let (rows, rejects, _) = decode(Version::V1, &series).unwrap();
    let wanted: Vec<_> = values
        .iter()
        .enumerate()
        .map(|(at, value)| (1, (at as i64 - 2) * 1_000_000, value.to_bits()))
        .collect();
    assert_eq!((rows, rejects), (wanted, Vec::new()));
}

#[test]
fn a_series_has_one_key_however_it_is_written() {
    let (name, job) = (label("__name__", "up"), label("job", "a"));
    let first = [name.clone(), job.clone(), sample(1.0, 1)].concat();
    let apart = [name, sample(1.0, 1), job].concat();
    let v1 = [message(1, &first), message(1, &apart)].concat();
    let symbols = ["", "__name__", "up", "job", "a"];
    let table: Vec<u8> = symbols.iter().flat_map(|text| message(4, text.as_bytes())).collect();
    let packed = message(5, &[message(1, &[1, 2, 3, 4]), sample(1.0, 1)].concat());
    let single =
        message(5, &[b"\x08\x01\x08\x02\x08\x03\x08\x04".to_vec(), sample(1.0, 1)].concat());
    // The table may stand behind the series.
    let v2 = [packed, table, single].concat();
    let (v1, v2) = (keys(Version::V1, &v1), keys(Version::V2, &v2));
    assert_eq!((v1.len(), v2.len()), (2, 2));
    assert!(v1.iter().chain(&v2).all(|key| *key == v1[0]), "{v1:?} {v2:?}");
}

#[test]
fn what_cannot_be_stored_is_told_by_its_series() {
    let series = |parts: &[Vec<u8>]| message(1, &parts.concat());
    let name = label("__name__", "m");
    let good = series(&[name.clone(), sample(1.0, 1)]);
    let late = series(&[name.clone(), sample(1.0, i64::MAX), sample(2.0, 2)]);
    // A histogram of one observation around zero, and a count of none.
    let histogram = series(&[name, message(4, b"\x30\x01"), message(3, b""), sample(3.0, 3)]);
    let bytes = [good, late, histogram].concat();
    let (rows, rejects, _) = decode(Version::V1, &bytes).unwrap();
    assert_eq!(
        rows.iter().map(|row| (row.0, row.1)).collect::<Vec<_>>(),
        [(1, 1_000_000), (2, 2_000_000), (3, 3_000_000)]
    );
    assert_eq!(rejects.iter().map(|reject| reject.0).collect::<Vec<_>>(), [2, 3]);
    assert!(rejects[0].1.contains("9223372036854775807"), "{rejects:?}");
    assert!(rejects[1].1.contains("1 observations are in the buckets"), "{rejects:?}");
    let counts = WriteRequest::parse(Version::V1, &bytes).unwrap().counts();
    assert_eq!(
        counts,
        Counts { series: 3, samples: 4, histograms: 1, exemplars: 1, descriptions: 0 }
    );
}

/// Integers: 2 observations, of 1.5 and 3, in buckets 1 and 2 of schema 0, and one around zero.
/// Spelled by hand from the fields of `prometheus.Histogram`.
fn integers(count: u8) -> Vec<u8> {
    let mut body = vec![1 << 3, count, 3 << 3 | 1];
    body.extend_from_slice(&4.5f64.to_le_bytes());
    // Schema 0, which is left out; threshold and count around zero.
    body.extend_from_slice(&[5 << 3 | 1]);
    body.extend_from_slice(&0.001f64.to_le_bytes());
    body.extend_from_slice(&[6 << 3, 1]);
    // One span: from bucket 1 on, two of them; 1, and no more.
    body.extend_from_slice(&[11 << 3 | 2, 4, 1 << 3, 2, 2 << 3, 2, 12 << 3 | 2, 2, 2, 0]);
    body.extend_from_slice(&[14 << 3, 2, 15 << 3, 7]);
    body
}

fn histograms(version: Version, bytes: &[u8]) -> Histograms {
    let mut batch = Batch::new(bytes, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
    let mut rejects = Vec::new();
    WriteRequest::parse(version, bytes)
        .unwrap()
        .decode(&mut batch, (&mut rejects, &mut Exemplars::default()));
    let read = |row: &foliot_model::Row| {
        let cell = batch.cells(row, 1)[0];
        assert_eq!(cell.kind, Kind::Histogram);
        (row.time_ns, Histogram::read(batch.slice(cell.span())).unwrap())
    };
    let found = batch.rows().iter().map(read).collect();
    (found, rejects.into_iter().map(|reject| (reject.line, reject.reason)).collect())
}

#[test]
fn histograms_of_both_versions_are_the_same() {
    let of_first = message(1, &[label("__name__", "m"), message(4, &integers(3))].concat());
    let table: Vec<u8> =
        ["", "__name__", "m"].iter().flat_map(|text| message(4, text.as_bytes())).collect();
    let of_second =
        [table, message(5, &[message(1, &[1, 2]), message(3, &integers(3))].concat())].concat();
    let (found, rejects) = histograms(Version::V1, &of_first);
    assert_eq!(rejects, []);
    let bucket = |index, count| Bucket { index, count };
    let wanted = Histogram {
        resets: Resets::NotReset,
        is_integer: true,
        zero_threshold: 0.001,
        zero_count: 1.0,
        count: 3.0,
        sum: 4.5,
        positive: vec![bucket(1, 1.0), bucket(2, 1.0)],
        ..Histogram::default()
    };
    assert_eq!(found, [(7_000_000, wanted.clone())]);
    assert_eq!(histograms(Version::V2, &of_second), (found, rejects));
    // What is read back is the same message, but for the order of its fields.
    let mut again = Vec::new();
    crate::histogram::push_histogram(&wanted, 7, &mut again);
    let series = message(1, &[label("__name__", "m"), message(4, &again)].concat());
    assert_eq!(histograms(Version::V1, &series).0, [(7_000_000, wanted)]);
}

#[test]
fn a_bad_histogram_is_refused_and_its_neighbours_are_kept() {
    let custom = |bounds: [f64; 2]| {
        let mut body = vec![2 << 3 | 1];
        body.extend_from_slice(&1.5f64.to_le_bytes());
        // Schema -53, one span of three buckets from the first on, floats.
        body.extend_from_slice(&[4 << 3, 105, 11 << 3 | 2, 2, 2 << 3, 3, 13 << 3 | 2, 24]);
        for count in [0.5, 0.0, 1.0f64] {
            body.extend_from_slice(&count.to_le_bytes());
        }
        body.extend_from_slice(&[15 << 3, 7, 0x82, 1, 16]);
        bounds.iter().for_each(|bound| body.extend_from_slice(&bound.to_le_bytes()));
        body
    };
    let parts = [integers(2), custom([1.0, 2.0]), custom([2.0, 1.0]), integers(3)];
    let body: Vec<u8> = parts.iter().flat_map(|part| message(4, part)).collect();
    let (found, rejects) =
        histograms(Version::V1, &message(1, &[label("__name__", "m"), body].concat()));
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].1.bounds[..], [1.0, 2.0]);
    assert_eq!(found[0].1.positive.len(), 3);
    let reasons: Vec<_> = rejects.iter().map(|(line, reason)| (*line, reason.as_str())).collect();
    let wanted = [
        (1, "3 observations are in the buckets of the histogram, and its count is 2"),
        (1, "custom bounds of a histogram must ascend"),
    ];
    assert_eq!(reasons, wanted);
    // What is no message at all is malformed: a count that is bytes, a sum that is a varint.
    for bad in [&[1 << 3 | 2, 0][..], &[3 << 3, 1], &[11 << 3, 1], &[13 << 3 | 2, 1, 0]] {
        let series = message(1, &message(4, bad));
        assert!(WriteRequest::parse(Version::V1, &series).is_err(), "{bad:?}");
    }
}

#[test]
fn references_to_no_symbol_are_told_by_their_series() {
    let long = "x".repeat(40_000);
    let table: Vec<u8> =
        ["", "__name__", "m", &long].iter().flat_map(|text| message(4, text.as_bytes())).collect();
    let series = |references: &[u8]| message(5, &[message(1, references), sample(1.0, 1)].concat());
    let bytes =
        [table, series(&[1, 9]), series(&[1, 2, 3]), series(&[1, 2, 3, 3]), series(&[1, 2])]
            .concat();
    let (rows, rejects, _) = decode(Version::V2, &bytes).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].0, 4);
    let reasons: Vec<_> = rejects.iter().map(|(line, reason)| (*line, reason.as_str())).collect();
    assert_eq!(
        reasons,
        [
            (1, "symbol 9 is none of the 4 of the request"),
            (2, "a label's name has no value"),
            (3, "the labels of a series take more than 65536 bytes"),
        ]
    );
}

#[test]
fn malformed_requests_are_refused_whole() {
    let good = message(1, &[label("__name__", "m"), sample(1.0, 1)].concat());
    for bad in [
        &b"\x0a\x05\x0a\x01"[..],
        b"\x0a\x02\x12\x09",
        // A sample whose value is a varint, and a series that is one.
        b"\x0a\x04\x12\x02\x08\x01",
        b"\x08\x01",
        b"hello",
    ] {
        let bytes = [&good[..], bad].concat();
        assert!(WriteRequest::parse(Version::V1, &bytes).is_err(), "{bad:x?}");
    }
    let error = WriteRequest::parse(Version::V2, &message(4, b"x")).unwrap_err();
    assert!(error.to_string().contains("first symbol"), "{error}");
}

#[test]
fn a_request_of_any_size_comes_in_pieces() {
    let samples = sample(1.0, 1).repeat(PIECE_ROWS_MAX + 10);
    let big = message(1, &[label("__name__", "m"), samples].concat());
    let small = message(1, &[label("__name__", "n"), sample(2.0, 2)].concat());
    let (rows, rejects, pieces) = decode(Version::V1, &[big, small].concat()).unwrap();
    assert_eq!((rows.len(), rejects.len(), pieces), (PIECE_ROWS_MAX + 11, 0, 2));
    assert_eq!(rows.last(), Some(&(2, 2_000_000, 2f64.to_bits())));
    // A reference of a byte can stand for a long text; the keys of a piece are bounded too.
    let long = "x".repeat(50_000);
    let table: Vec<u8> =
        ["", "__name__", &long].iter().flat_map(|text| message(4, text.as_bytes())).collect();
    let series = message(5, &[message(1, &[1, 2]), sample(1.0, 1)].concat()).repeat(200);
    let (rows, _, pieces) = decode(Version::V2, &[table, series].concat()).unwrap();
    assert_eq!((rows.len(), pieces), (200, 3));
}

#[test]
fn content_types_name_a_version() {
    let of = |text| Version::of_content_type(Some(text));
    assert_eq!(Version::of_content_type(None), Some(Version::V1));
    assert_eq!(of("application/x-protobuf"), Some(Version::V1));
    assert_eq!(of("application/x-protobuf;proto=prometheus.WriteRequest"), Some(Version::V1));
    let second = "application/x-protobuf; proto=\"io.prometheus.write.v2.Request\"";
    assert_eq!(of(second), Some(Version::V2));
    assert_eq!(of("application/x-protobuf;proto=x"), None);
    assert_eq!(of("application/json"), None);
}

/// What a random request has and what must become of it: its bytes, its rows as (series, time,
/// bits, labels), and the series of its refusals.
type Drawn = (Vec<u8>, Vec<(u32, i64, u64, Vec<u8>)>, Vec<u32>);

/// A request whose first `plain` series are labels and one sample, and whose others are mostly not.
fn draw_request(plain: u64, draw: &mut dyn FnMut(u64) -> u64) -> Drawn {
    let (mut bytes, mut rows, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    for line in 1..=plain as u32 + 8 {
        let is_free = u64::from(line) > plain;
        let mut one_label = |at: u64| {
            // No UTF-8, and lengths of two and of three bytes, now and then.
            let length = if draw(20) == 0 { 20_000 } else { [0, 1, 30, 200][draw(4) as usize] };
            let value = vec![b"x\xff"[draw(2) as usize]; length];
            let name = format!("n{at}");
            message(1, &[message(1, name.as_bytes()), message(2, &value)].concat())
        };
        let labels: Vec<_> = (0..u64::from(line) % 5).map(&mut one_label).collect();
        let count = if is_free { draw(4) } else { 1 };
        let mut samples = Vec::new();
        for _ in 0..count {
            let time_ms = match is_free.then(|| draw(6)) {
                None | Some(0..3) => 1_700_000_000_000 + draw(1 << 20) as i64,
                Some(3) => draw(400) as i64 - 200,
                Some(4) => (1 << 42) + draw(9) as i64 - 4,
                Some(_) => i64::MAX - draw(9) as i64,
            };
            let value = [1.0, -0.0, f64::NAN, 0.1, f64::from_bits(0x7ff0_0000_0000_0002)];
            let value = value[draw(5) as usize];
            samples.extend(sample(value, time_ms));
            match time_ms.checked_mul(1_000_000) {
                Some(time_ns) => rows.push((line, time_ns, value.to_bits(), labels.concat())),
                None => refused.push(line),
            }
        }
        let (first, others) = labels.split_at(labels.len().min(1));
        let unknown = message(9, b"?");
        let form = if is_free { draw(4) } else { 0 };
        let body = match form {
            0 => [labels.concat(), samples],
            1 => [samples, labels.concat()],
            2 => [[first.concat(), samples].concat(), others.concat()],
            _ => [labels.concat(), [samples, unknown].concat()],
        };
        bytes.extend(message(1, &body.concat()));
        if is_free && draw(3) == 0 {
            // Metadata.
            bytes.extend(message(3, b"\x08\x01"));
        }
    }
    (bytes, rows, refused)
}

#[test]
fn series_of_any_form_become_what_they_say() {
    let mut state = 11u64;
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for round in 0..400 {
        let (bytes, wanted, refused) = draw_request(round % 7, &mut draw);
        let mut request = WriteRequest::parse(Version::V1, &bytes).unwrap();
        let mut batch = Batch::new(&bytes, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
        let mut rejects = Vec::new();
        request.decode(&mut batch, (&mut rejects, &mut Exemplars::default()));
        let row = |row: &foliot_model::Row| {
            let bits = batch.cells(row, 1)[0].to_f64().to_bits();
            assert_eq!(batch.hasher().key(b"", batch.slice(row.key_tail)), row.key_hash);
            (row.line, row.time_ns, bits, batch.slice(row.key_tail).to_vec())
        };
        let found: Vec<_> = batch.rows().iter().map(row).collect();
        assert_eq!(found, wanted, "round {round}");
        assert_eq!(rejects.iter().map(|reject| reject.line).collect::<Vec<_>>(), refused);
        let counts = request.counts();
        let wanted = (round % 7 + 8, (wanted.len() + refused.len()) as u64);
        assert_eq!((counts.series, counts.samples), wanted);
    }
}

/// What is read by its lengths becomes what it says, unless the batch says that it has no keys:
/// that is so where a series in front has another form than its length and its end tell.
#[test]
fn series_by_their_lengths_become_what_they_say_or_have_no_keys() {
    let mut state = 12u64;
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut without_keys = 0;
    for round in 0..400 {
        let (bytes, wanted, refused) = draw_request(round % 7, &mut draw);
        let mut request = WriteRequest::parse_by_lengths(&bytes).unwrap();
        let mut batch = Batch::new(&bytes, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
        let mut rejects = Vec::new();
        request.decode(&mut batch, (&mut rejects, &mut Exemplars::default()));
        if !batch.rows().iter().all(|row| batch.has_key(row)) {
            without_keys += 1;
            continue;
        }
        let row = |row: &foliot_model::Row| {
            let bits = batch.cells(row, 1)[0].to_f64().to_bits();
            (row.line, row.time_ns, bits, batch.slice(row.key_tail).to_vec())
        };
        let found: Vec<_> = batch.rows().iter().map(row).collect();
        assert_eq!(found, wanted, "round {round}");
        assert_eq!(rejects.iter().map(|reject| reject.line).collect::<Vec<_>>(), refused);
        let counts = request.counts();
        let wanted = (round % 7 + 8, (wanted.len() + refused.len()) as u64);
        assert_eq!((counts.series, counts.samples), wanted);
    }
    assert!((20..380).contains(&without_keys), "{without_keys} of 400");
}

/// Bytes that end like a sample, and are none: part of a label, one of two samples, one behind a
/// histogram.
#[test]
fn what_ends_like_a_sample_has_no_key() {
    let (name, time_ms) = (label("__name__", "m"), 1_700_000_000_000);
    let end = sample(1.5, time_ms);
    let hidden = message(1, &[message(1, b"a"), message(2, &[b"b", &end[..]].concat())].concat());
    for body in [
        [name.clone(), hidden].concat(),
        [name.clone(), end.clone(), end.clone()].concat(),
        [name.clone(), message(4, b"\x30\x01"), end.clone()].concat(),
        [end.clone(), name, end].concat(),
    ] {
        let bytes = message(1, &body);
        let mut request = WriteRequest::parse_by_lengths(&bytes).unwrap();
        let mut batch = Batch::new(&bytes, 0, &KEY_SYNTAX, KeySecret(1), Default::default());
        request.decode(&mut batch, (&mut Vec::new(), &mut Exemplars::default()));
        assert!(batch.has_unread_keys() && !batch.has_key(&batch.rows()[0]), "{body:?}");
    }
}

#[test]
fn a_request_that_is_cut_is_none() {
    let one = |value: &str, time_ms| {
        message(1, &[label("__name__", "m"), label("a", value), sample(1.5, time_ms)].concat())
    };
    let series = [one("b", 1_700_000_000_000), one(&"c".repeat(99), 1 << 41), one("d", 7)];
    let whole = series.concat();
    let ends: Vec<usize> = (0..=3).map(|count| series[..count].concat().len()).collect();
    for cut in 0..=whole.len() {
        let parsed = WriteRequest::parse(Version::V1, &whole[..cut]);
        assert_eq!(parsed.is_ok(), ends.contains(&cut), "{cut} of {}", whole.len());
    }
}

#[test]
fn plain_series_beyond_a_piece_are_in_the_next() {
    let count = PIECE_ROWS_MAX + 3;
    let one = message(1, &[label("__name__", "m"), sample(1.0, 1_700_000_000_000)].concat());
    let (rows, rejects, pieces) = decode(Version::V1, &one.repeat(count)).unwrap();
    assert_eq!((rows.len(), rejects.len(), pieces), (count, 0, 2));
    assert!(rows.iter().zip(1..).all(|(row, line)| row.0 == line));
}
