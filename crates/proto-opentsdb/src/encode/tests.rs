use super::*;
use crate::{HttpRequest, Params};
use foliot_model::{Labels, Samples};
use proptest::prelude::*;

const H: i64 = 1_700_002_800;

fn request(query: &str) -> Request {
    let query = format!("start={H}&m=sum:x{query}");
    let request = HttpRequest { method: "GET", path: "/api/query", query: &query, body: b"" };
    Request::parse(&request, H * 1000).unwrap()
}

fn head(question: usize, labels: &[(&str, &str)], varying: &[&str]) -> Arc<SeriesHead> {
    Arc::new(SeriesHead {
        question,
        measurement: "x".into(),
        field: "value".into(),
        labels: labels.iter().copied().collect::<Labels>(),
        varying: varying.iter().map(|&name| name.into()).collect(),
        members: vec![2, 1],
        ..SeriesHead::default()
    })
}

fn frame(head: &Arc<SeriesHead>, samples: &[(i64, Value<'_>)], is_last: bool) -> Frame {
    let mut column = Samples::default();
    for &(ms, value) in samples {
        column.push((H * 1000 + ms) * NANOS_PER_MILLI, value);
    }
    Frame { head: Arc::clone(head), samples: column, is_last }
}

fn encode(request: &Request, frames: &[Frame], summary: &[(&str, f64)]) -> String {
    let tsuid = |sid| Some(Tsuid { measurement: 1, field: None, tags: vec![(1, 10 - sid)] });
    let budget = Budget::new(&|_| Ok(()));
    let mut encoder = Encoder::new(request, Box::new(tsuid), &budget);
    let mut out = Vec::new();
    for frame in frames {
        encoder.frame(frame, &mut out).unwrap();
    }
    encoder.finish(summary, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn nothing_found_is_an_empty_array() {
    assert_eq!(encode(&request(""), &[], &[]), "[]");
    assert_eq!(encode(&request("&jsonp=cb"), &[], &[]), "cb([])");
    let empty = frame(&head(0, &[], &[]), &[], true);
    let text = encode(&request(""), &[empty], &[]);
    assert_eq!(text, r#"[{"metric":"x","tags":{},"aggregateTags":[],"dps":{}}]"#);
}

#[test]
fn series_are_written_in_the_peers_order_of_keys() {
    let head = head(0, &[("dc", "x"), ("h", "a\"b")], &["k", "o"]);
    let samples = [
        (0, Value::Integer(42)),
        (1000, Value::Float(3.0)),
        (2000, Value::Float(f64::NAN)),
        (3000, Value::Boolean(true)),
        (4000, Value::Unsigned(u64::MAX)),
        (5000, Value::String("on")),
    ];
    let text = encode(&request(""), &[frame(&head, &samples, true)], &[]);
    let expected = concat!(
        r#"[{"metric":"x","tags":{"dc":"x","h":"a\"b"},"aggregateTags":["k","o"],"dps":{"#,
        r#""1700002800":42,"1700002801":3.0,"1700002802":"NaN","1700002803":1,"#,
        r#""1700002804":18446744073709551615,"1700002805":"on"}}]"#
    );
    assert_eq!(text, expected);
    let text =
        encode(&request("&show_tsuids&show_stats"), &[frame(&head, &samples[..1], true)], &[]);
    assert!(text.ends_with(concat!(
        r#""tsuids":["000001000001000008","000001000001000009"],"#,
        r#""dps":{"1700002800":42},"stats":{"emittedDPs":1}}]"#
    )));
    let text = encode(&request("&show_query"), &[frame(&head, &[], true)], &[]);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value[0]["query"]["index"], 0);
    assert_eq!(value[0]["query"]["aggregator"], "sum");
}

#[test]
fn milliseconds_and_arrays() {
    let head = head(0, &[], &[]);
    let samples = [(100, Value::Integer(1)), (900, Value::Integer(2))];
    let dps = |query: &str| {
        let text = encode(&request(query), &[frame(&head, &samples, true)], &[]);
        text.split_once("\"dps\":").unwrap().1.to_owned()
    };
    assert_eq!(dps(""), r#"{"1700002800":1,"1700002800":2}}]"#);
    assert_eq!(dps("&ms"), r#"{"1700002800100":1,"1700002800900":2}}]"#);
    assert_eq!(dps("&arrays"), "[[1700002800,1],[1700002800,2]]}]");
    assert_eq!(dps("&arrays&ms&jsonp=cb"), "[[1700002800100,1],[1700002800900,2]]}])");
}

#[test]
fn missing_values_are_null_only_where_the_query_fills_with_null() {
    let request = |fill: &str| {
        let query = format!("start={H}&m=sum:1m-sum-{fill}:x");
        let request = HttpRequest { method: "GET", path: "/q", query: &query, body: b"" };
        Request::parse(&request, H * 1000).unwrap()
    };
    let nan = [frame(&head(0, &[], &[]), &[(0, Value::Float(f64::NAN))], true)];
    assert!(encode(&request("null"), &nan, &[]).contains(":null}"));
    assert!(encode(&request("nan"), &nan, &[]).contains(":\"NaN\"}"));
}

#[test]
fn a_series_may_come_in_several_frames() {
    let (one, two) = (head(0, &[("h", "a")], &[]), head(0, &[("h", "b")], &[]));
    let frames = [
        frame(&one, &[(0, Value::Integer(1))], false),
        frame(&one, &[(1000, Value::Float(1.5))], true),
        frame(&two, &[(0, Value::Integer(2))], true),
    ];
    let expected = concat!(
        r#"[{"metric":"x","tags":{"h":"a"},"aggregateTags":[],"#,
        r#""dps":{"1700002800":1,"1700002801":1.5}},"#,
        r#"{"metric":"x","tags":{"h":"b"},"aggregateTags":[],"dps":{"1700002800":2}}]"#
    );
    assert_eq!(encode(&request(""), &frames, &[]), expected);
}

#[test]
fn the_summary_comes_last() {
    let text = encode(&request("&show_summary"), &[], &[("emittedDPs", 7.0)]);
    assert_eq!(text, r#"[{"statsSummary":{"emittedDPs":7.0}}]"#);
    let one = frame(&head(0, &[], &[]), &[], true);
    let text = encode(&request("&show_summary"), &[one], &[]);
    assert!(text.ends_with(r#""dps":{}},{"statsSummary":{}}]"#));
}

#[test]
fn infinity_ends_the_answer() {
    let request = request("");
    let budget = Budget::new(&|_| Ok(()));
    let mut encoder = Encoder::new(&request, Box::new(|_| None), &budget);
    let bad = frame(&head(0, &[], &[]), &[(0, Value::Float(f64::INFINITY))], true);
    let error = encoder.frame(&bad, &mut Vec::new()).unwrap_err();
    assert!(error.message.starts_with("Got Infinity"));
}

#[test]
fn lines_for_check_scripts() {
    let query = format!("start={H}&m=sum:x&ascii");
    let request = Request::parse_graph(&Params::parse(&query), H * 1000).unwrap();
    let plans = request.plans(0, &mut |_, _| Vec::new());
    assert!(matches!(plans[0], foliot_plan::Series::Aggregate(_)), "not clipped");
    let head = head(0, &[("dc", "x"), ("h", "a")], &[]);
    let samples =
        [(0, Value::Integer(42)), (1000, Value::Float(f64::NAN)), (2000, Value::Float(1e10))];
    let mut out = Vec::new();
    LineEncoder::new(&request).frame(&frame(&head, &samples, true), &mut out).unwrap();
    let text = "x 1700002800 42 dc=x h=a\nx 1700002802 1.0E10 dc=x h=a\n";
    assert_eq!(String::from_utf8(out).unwrap(), text);
}

#[test]
fn series_asked_for_by_id_are_called_as_stored() {
    let query = format!("start={H}&tsuid=sum:000001");
    let http = HttpRequest { method: "GET", path: "/api/query", query: &query, body: b"" };
    let request = Request::parse(&http, H * 1000).unwrap();
    let mut stored = (*head(0, &[], &[])).clone();
    let text = encode(&request, &[frame(&Arc::new(stored.clone()), &[], true)], &[]);
    assert!(text.starts_with(r#"[{"metric":"x","#));
    stored.field = "user".into();
    let text = encode(&request, &[frame(&Arc::new(stored), &[], true)], &[]);
    assert!(text.starts_with(r#"[{"metric":"x.user","#));
}

proptest! {
    #[test]
    fn answers_are_json_whatever_the_names_and_values(
        name in "\\PC{0,8}",
        values in proptest::collection::vec((0..1_000_000_i64, any::<f64>(), any::<i64>()), 0..9),
        arrays: bool,
    ) {
        let request = request(if arrays { "&arrays&ms" } else { "&ms" });
        let head = head(0, &[("k", &name)], &[&name]);
        let mut samples = Vec::new();
        for (index, (gap, float, integer)) in values.into_iter().enumerate() {
            let ms = index as i64 * 1_000_000 + gap;
            let float = if float.is_infinite() { 0.5 } else { float };
            let value = if gap % 2 == 0 { Value::Float(float) } else { Value::Integer(integer) };
            samples.push((ms, value));
        }
        let text = encode(&request, &[frame(&head, &samples, true)], &[]);
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(parsed[0]["tags"]["k"].as_str(), Some(&*name));
        for (index, (ms, value)) in samples.iter().enumerate() {
            let found = match arrays {
                true => &parsed[0]["dps"][index][1],
                false => &parsed[0]["dps"][(H * 1000 + ms).to_string()],
            };
            match value {
                Value::Integer(integer) => prop_assert_eq!(found.as_i64(), Some(*integer)),
                Value::Float(float) if float.is_nan() => prop_assert_eq!(found, "NaN"),
                // The parser is off by a bit now and then; `double.rs` proves that texts are exact.
                Value::Float(float) => {
                    let error = (found.as_f64().unwrap() - float).abs();
                    prop_assert!(error <= float.abs() * 1e-15 + f64::MIN_POSITIVE, "{} {}", found, float);
                }
                _ => unreachable!(),
            }
        }
    }
}

proptest! {
    #[test]
    fn texts_are_written_as_json_has_them(
        letters in prop::collection::vec(
            prop_oneof![any::<char>(), Just('"'), Just('\\'), Just('\u{1f}'), Just(' '), Just('a')],
            0..30,
        ),
    ) {
        let text: String = letters.into_iter().collect();
        let mut out = Vec::new();
        write_text(&text, &mut out);
        prop_assert_eq!(String::from_utf8(out), Ok(serde_json::Value::from(text).to_string()));
    }

    #[test]
    fn a_text_is_plain_whatever_stands_beside_a_letter(text in "[a-z\u{80}-\u{ff}~ ]{0,20}") {
        prop_assert!(is_plain(text.as_bytes()));
    }
}
