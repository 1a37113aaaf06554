use super::*;
use crate::KEY_SYNTAX;
use crate::decode::seen::{Seen, read_back};
use foliot_model::{BatchBuffers, KeySecret, NANOS_PER_MILLI};
use proptest::prelude::*;
use serde_json::{Value, json};

type Decoded = (Vec<Seen>, Vec<(u32, String)>, u32);

fn decode(body: &[u8]) -> Result<Decoded, String> {
    let mut batch = Batch::new(body, 0, &KEY_SYNTAX, KeySecret(1), BatchBuffers::default());
    let mut rejects = Vec::new();
    let points = decode_json(&mut batch, &Options::default(), &mut rejects)
        .map_err(|error| error.message)?;
    let rows = read_back(&batch, &mut rejects);
    Ok((rows, rejects.into_iter().map(|reject| (reject.line, reject.reason)).collect(), points))
}

fn number(cell: Cell) -> f64 {
    match cell.kind {
        Kind::Integer => cell.bits as i64 as f64,
        _ => cell.to_f64(),
    }
}

#[test]
fn points_become_rows() {
    let body = br#" [ {"metric":"m","timestamp":1700002800,"value":42,"tags":{"h":"a","b":"c"}} ,
        {"tags":{"h":"a"},"value":"4.2","timestamp":"1700002800250","metric":"m\u00e9","x":[{}]},
        {"metric":"m","timestamp":1700002800.9,"value":1e3,"tags":{"n":7,"t":true}}]"#;
    let (rows, refused, points) = decode(body).unwrap();
    assert_eq!((refused, points), (vec![], 3));
    let seen: Vec<_> = rows
        .iter()
        .map(|row| (row.series.as_str(), row.time_ns / NANOS_PER_MILLI, row.cell))
        .collect();
    let expected = [
        ("m,b=c,h=a", 1_700_002_800_000, Cell::integer(42)),
        ("mé,h=a", 1_700_002_800_250, Cell::decimal(42, 1).unwrap()),
        ("m,n=7,t=true", 1_700_002_800_000, Cell::decimal(1000, 0).unwrap()),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn tags_are_read_again_where_they_are_not_those_of_the_point_before() {
    let row = |tags: &str| format!(r#"{{"metric":"m","timestamp":1,"value":1,"tags":{tags}}}"#);
    let no_tags = r#"{"metric":"m","timestamp":1,"value":1}"#.to_owned();
    let (one, other) = (r#"{"h":"a","d":"x"}"#, r#"{"h":"a","d":"xy"}"#);
    let nested = r#"{"h":{"h":"a"}}"#;
    for (points, expected) in [
        (vec![row(one), row(one), row(one)], "m,d=x,h=a; m,d=x,h=a; m,d=x,h=a"),
        (vec![row(one), row(other), row(one)], "m,d=x,h=a; m,d=xy,h=a; m,d=x,h=a"),
        (vec![row(one), no_tags.clone(), row(one)], "m,d=x,h=a; m,d=x,h=a; 2: Missing tags"),
        (vec![row(one), "null".to_owned(), no_tags], "m,d=x,h=a; 2: Unexpected; 3: Missing tags"),
        (vec![row(one), row("null"), row("{}")], "m,d=x,h=a; 2: Missing tags; 3: Missing tags"),
        (vec![row(nested), row(nested)], "1: The tags must be; 2: The tags must be"),
        (
            vec![row(r#"{"h":"a b"}"#), row(r#"{"h":"a b"}"#)],
            "1: Invalid tag value; 2: Invalid tag value",
        ),
        (
            vec![row(r#"{"h":"\u0061"}"#), row(r#"{"h":"\u0061"}"#), row(r#"{"h":"\u0062"}"#)],
            "m,h=a; m,h=a; m,h=b",
        ),
        (
            vec![row(&format!(r#"{one},"tags":{other}"#)), row(one), row(other)],
            "m,d=xy,h=a; m,d=x,h=a; m,d=xy,h=a",
        ),
    ] {
        let body = format!("[{}]", points.join(" , "));
        let (rows, refused, _) = decode(body.as_bytes()).unwrap();
        let mut seen: Vec<String> = rows.into_iter().map(|row| row.series).collect();
        seen.extend(refused.into_iter().map(|(line, reason)| format!("{line}: {reason}")));
        assert_eq!(seen.len(), points.len(), "{body}");
        for (seen, expected) in seen.iter().zip(expected.split("; ")) {
            let is_same = seen == expected || expected.contains(": ") && seen.starts_with(expected);
            assert!(is_same, "{body}: {seen}");
        }
    }
}

#[test]
fn a_point_and_its_put_line_share_a_key() {
    let body = br#"{"metric":"sys.cpu","timestamp":1,"value":1,"tags":{"h":"a","dc":"x"}}"#;
    let line = b"put sys.cpu 1 1 h=a dc=x";
    let mut batch = Batch::new(line, 0, &KEY_SYNTAX, KeySecret(1), BatchBuffers::default());
    crate::decode_lines(&mut batch, &Options::default(), &mut Vec::new());
    assert_eq!(decode(body).unwrap().0[0].key_hash, batch.rows()[0].key_hash);
}

#[test]
fn bad_points_are_refused_one_by_one() {
    let good = json!({"metric": "m", "timestamp": 1, "value": 1, "tags": {"h": "a"}});
    for (part, value, reason) in [
        ("metric", json!(""), "Metric name was empty"),
        ("metric", json!(null), "Metric name was empty"),
        ("metric", json!("a b"), "Invalid metric name (\"a b\"): illegal character:  "),
        ("timestamp", json!(0), "Invalid timestamp"),
        ("timestamp", json!(-1), "Invalid timestamp"),
        ("timestamp", json!("x"), "Invalid timestamp"),
        ("value", json!(null), "Empty value"),
        ("value", json!(""), "Empty value"),
        ("value", json!("abc"), "Unable to parse value to a number"),
        ("value", json!(true), "Unable to parse value to a number"),
        ("tags", json!(null), "Missing tags"),
        ("tags", json!({}), "Missing tags"),
        ("tags", json!({"h": ""}), "Invalid tag value with key [h]: empty string"),
        ("tags", json!({"h": null}), "Invalid tag value with key [h]: null"),
        (
            "tags",
            json!({"h": "a b=c"}),
            "Invalid tag value with key [h] (\"a b=c\"): illegal character:  ",
        ),
        (
            "tags",
            json!({"h": "a:b"}),
            "Invalid tag value with key [h] (\"a:b\"): illegal character: :",
        ),
    ] {
        let mut bad = good.clone();
        bad[part] = value;
        let body = json!([bad, good]).to_string();
        let (rows, refused, points) = decode(body.as_bytes()).unwrap();
        assert_eq!((rows.len(), points), (1, 2), "{body}");
        assert_eq!(refused, [(1, reason.to_owned())]);
    }
    let (_, refused, _) = decode(b"[null]").unwrap();
    assert_eq!(refused[0].1, "Unexpected null datapoint encountered in set.");
    let body = br#"{"metric":"m","timestamp":1,"value":NaN,"tags":{"h":"a"}}"#;
    assert_eq!(decode(body).unwrap().1[0].1, "Unable to parse value to a number");
}

#[test]
fn a_part_of_a_wrong_type_costs_its_own_point_only() {
    let good = r#"{"metric":"m","timestamp":1,"value":1,"tags":{"h":"a"}}"#;
    let tags = "The tags must be an object of texts";
    for (bad, reason) in [
        (r#"7"#, "The datapoint is no object"),
        (r#"[{"metric":"m"}]"#, "The datapoint is no object"),
        (
            r#"{"metric":["m"],"timestamp":1,"value":1,"tags":{"h":"a"}}"#,
            "The metric must be a text, not an object or a list",
        ),
        (
            r#"{"metric":"m","timestamp":{},"value":1,"tags":{"h":"a"}}"#,
            "The timestamp must be a number, not an object or a list",
        ),
        (
            r#"{"metric":"m","timestamp":1,"value":[1],"tags":{"h":"a"}}"#,
            "The value must be a number, not an object or a list",
        ),
        (r#"{"metric":"m","timestamp":1,"value":1,"tags":["h","a"]}"#, tags),
        (r#"{"metric":"m","timestamp":1,"value":1,"tags":"h=a"}"#, tags),
        (r#"{"metric":"m","timestamp":1,"value":1,"tags":{"h":{"a":1}}}"#, tags),
    ] {
        let body = format!("[{good},{bad},{good}]");
        let (rows, refused, points) = decode(body.as_bytes()).unwrap();
        assert_eq!((rows.len(), points), (2, 3), "{body}");
        assert_eq!(refused, [(2, reason.to_owned())], "{body}");
    }
}

#[test]
fn bodies_of_no_use_are_refused_whole() {
    let broken = "Unable to parse the given JSON";
    for (body, message) in [
        ("", "Missing request content"),
        ("  \n", "Missing request content"),
        ("[]", "No datapoints found in content"),
        ("put m 1 1 h=a", "The JSON must start as an object or an array"),
        ("[{\"metric\":\"m\"", broken),
        ("{\"metric\":\"\\q\"}", broken),
        ("{\"metric\":{]}", broken),
        ("{\"tags\":[}", broken),
        ("[1", broken),
        ("{}{}", broken),
    ] {
        assert_eq!(decode(body.as_bytes()).unwrap_err(), message, "{body}");
    }
    assert_eq!(decode(b"{\"metric\":\"\xff\"}").unwrap_err(), broken);
}

/// The rows of a body by the standard parser: nothing when it is not JSON of the right form.
fn naive(body: &str) -> Option<Vec<(String, i64, f64)>> {
    let points: Vec<Value> = serde_json::from_str(body).ok()?;
    let mut rows = Vec::new();
    for point in &points {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let metric = text(&point["metric"]);
        let timestamp: f64 = text(&point["timestamp"]).parse().unwrap_or(0.0);
        let value: Option<f64> = text(&point["value"]).parse().ok();
        let plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || c == '.' || c == '/');
        let tags: Vec<(String, String)> = match &point["tags"] {
            Value::Object(tags) => tags.iter().map(|(k, v)| (k.clone(), text(v))).collect(),
            _ => Vec::new(),
        };
        let named = |text: &str| !text.is_empty() && plain(text);
        let tags_fit = !tags.is_empty() && tags.iter().all(|(k, v)| named(k) && named(v));
        if let (true, true, true, Some(value)) =
            (named(&metric), timestamp >= 1.0, tags_fit, value.filter(|v| v.is_finite()))
        {
            let tags: String = tags.iter().map(|(k, v)| format!(",{k}={v}")).collect();
            rows.push((metric + &tags, timestamp as i64 * 1000, value));
        }
    }
    Some(rows)
}

fn point() -> impl Strategy<Value = String> {
    let name = prop_oneof![
        "\"[a-z.é]{0,6}\"".boxed(),
        "\"[a-z]{0,2}(\\\\n|\\\\u00e9|\\\\/|\\\\\\\\)[a-z]{0,2}\"".boxed(),
        Just("null".to_owned()).boxed(),
    ];
    let number = "-?(0|[1-9][0-9]{0,8})(\\.[0-9]{1,6})?(e-?[0-9])?";
    let value = prop_oneof![number.boxed(), number.prop_map(|n| format!("\"{n}\"")).boxed()];
    let tag = (0..4_u8, name.clone()).prop_map(|(key, value)| format!("\"k{key}\" : {value}"));
    let tags = proptest::collection::btree_map(0..4_u8, tag, 0..4).prop_map(|tags| {
        let mut seen = std::collections::BTreeSet::new();
        let unique = tags.into_values().filter(|tag| seen.insert(tag[..4].to_owned()));
        format!("{{{}}}", unique.collect::<Vec<_>>().join(" , "))
    });
    let parts = (name, "[0-9]{1,9}", value, tags).prop_map(|(metric, time, value, tags)| {
        vec![
            format!("\"metric\":{metric}"),
            // A timestamp with a leading zero is not JSON.
            format!("\"timestamp\" :\t1{time}"),
            format!("\"value\": {value}"),
            format!("\"tags\":{tags}"),
            "\"other\":[1,{\"a\":\"\\\"}\"}]".to_owned(),
        ]
    });
    (parts.prop_shuffle(), 3..6_usize)
        .prop_map(|(parts, keep)| format!("{{{}}}", parts[..keep].join(",")))
}

/// Tokens of points in any order.
const NEARLY_POINTS: &str = concat!(
    r#"[\[{]([\[\]{}:,]|"(metric|value|tags|timestamp)"|"#,
    r#""a"|-?[0-9.eE]{1,5}|null){0,20}"#
);

proptest! {
    #[test]
    fn bodies_equal_the_standard_parser(points in proptest::collection::vec(point(), 1..4)) {
        let body = format!("[{}]", points.join(",\n"));
        let expected = naive(&body).unwrap();
        let (rows, refused, count) = decode(body.as_bytes()).unwrap();
        prop_assert_eq!(count as usize, rows.len() + refused.len());
        let found: Vec<_> = rows
            .iter()
            .map(|row| (row.series.clone(), row.time_ns / NANOS_PER_MILLI, number(row.cell)))
            .collect();
        prop_assert_eq!(found, expected, "{}", body);
    }

    #[test]
    fn any_bytes_are_survived(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        text in NEARLY_POINTS,
    ) {
        let _ = decode(&bytes);
        let _ = decode(text.as_bytes());
    }
}
