//! Decoding against a naive writer, against another parser, and against noise.

#![allow(clippy::unwrap_used, reason = "what a test cannot unwrap has failed")]

use foliot_model::{Batch, KeyParts, KeySecret, Kind, Reject};
use foliot_proto_influx::{Decoder, LINE_SYNTAX, Session, Settings};
use influxdb_line_protocol::{FieldValue, parse_lines};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq)]
enum Value {
    Float(u64),
    Integer(i64),
    Unsigned(u64),
    Boolean(bool),
    Text(String),
}

#[derive(Clone, Debug, PartialEq)]
struct Point {
    measurement: String,
    tags: BTreeMap<String, String>,
    fields: BTreeMap<String, Value>,
    time_ns: i64,
}

const NOW_NS: i64 = 77;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Decodes as the store would: keys that cannot be parsed are rejects.
fn decode(lines: &[u8]) -> (Vec<Point>, Vec<Reject>) {
    let mut batch = Batch::new(lines, 0, &LINE_SYNTAX, KeySecret(1), Default::default());
    let (mut points, mut rejects) = (Vec::new(), Vec::new());
    let settings = Settings { now_ns: NOW_NS, ..Settings::default() };
    let decoded = Decoder::default().decode(&mut batch, settings, &mut rejects);
    assert_eq!(decoded.bytes, lines.len());
    assert!(decoded.refused >= rejects.len());
    let mut parts = KeyParts::default();
    for row in batch.rows() {
        parts.clear();
        let key = [batch.slice(row.key_head), batch.slice(row.key_tail)];
        if let Err(error) =
            (LINE_SYNTAX.parse)(key[0], key[1], &mut parts).and_then(|()| parts.canonicalize())
        {
            rejects.push(Reject {
                line: row.line,
                field: error.field.into(),
                reason: error.reason,
            });
            continue;
        }
        let shape = batch.shape(row.shape).unwrap();
        let names = batch.fields(shape).iter().map(|&name| {
            let mut plain = Vec::new();
            (LINE_SYNTAX.parse_field)(batch.slice(name), &mut plain).unwrap();
            text(&plain)
        });
        let values = batch.cells(row, shape.fields_count).iter().map(|cell| match cell.kind {
            Kind::Float => Value::Float(cell.to_f64().to_bits()),
            Kind::Integer => Value::Integer(cell.bits as i64),
            Kind::Unsigned => Value::Unsigned(cell.bits),
            Kind::Boolean => Value::Boolean(cell.bits == 1),
            Kind::String | Kind::Histogram => Value::Text(text(batch.slice(cell.span()))),
        });
        points.push(Point {
            measurement: text(parts.measurement()),
            tags: parts.labels().map(|(name, value)| (text(name), text(value))).collect(),
            fields: names.zip(values).collect(),
            time_ns: row.time_ns,
        });
    }
    (points, rejects)
}

/// Writes a point as the documentation of line protocol says.
fn write(point: &Point) -> String {
    let escape = |text: &str, special: &str| -> String {
        let escaped = |c: char| if special.contains(c) { format!("\\{c}") } else { c.to_string() };
        text.chars().map(escaped).collect()
    };
    let mut line = escape(&point.measurement, ", ");
    for (name, value) in &point.tags {
        line += &format!(",{}={}", escape(name, ", ="), escape(value, ", ="));
    }
    let fields = point.fields.iter().map(|(name, value)| {
        let value = match value {
            Value::Float(bits) => format!("{}", f64::from_bits(*bits)),
            Value::Integer(value) => format!("{value}i"),
            Value::Unsigned(value) => format!("{value}u"),
            Value::Boolean(value) => value.to_string(),
            Value::Text(text) => format!("\"{}\"", escape(text, "\"\\")),
        };
        format!("{}={value}", escape(name, ", ="))
    });
    let fields: Vec<_> = fields.collect();
    format!("{line} {} {}", fields.join(","), point.time_ns)
}

/// Names: a backslash only where it cannot be taken for an escape.
fn name() -> impl Strategy<Value = String> {
    const PIECES: &[&str] =
        &["a", "b", "cpu", "é", ",", " ", "=", "\"", "\\n", ".", "/", "time_", "-"];
    vec(proptest::sample::select(PIECES), 1..6).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Value> {
    let finite = any::<f64>().prop_filter("finite", |value| value.is_finite());
    prop_oneof![
        finite.prop_map(|value| Value::Float(value.to_bits())),
        (-1000i32..1000).prop_map(|n| Value::Float((f64::from(n) / 100.0).to_bits())),
        any::<i64>().prop_map(Value::Integer),
        (0i64..100).prop_map(Value::Integer),
        any::<u64>().prop_map(Value::Unsigned),
        any::<bool>().prop_map(Value::Boolean),
        vec(any::<char>(), 0..8).prop_map(|chars| Value::Text(chars.iter().collect())),
    ]
}

fn point() -> impl Strategy<Value = Point> {
    let times = -(i64::MAX - 1)..i64::MAX;
    (name(), btree_map(name(), name(), 0..4), btree_map(name(), value(), 1..6), times).prop_map(
        |(measurement, tags, fields, time_ns)| Point { measurement, tags, fields, time_ns },
    )
}

/// Pieces of lines that mean something and are plain.
const PLAIN_PIECES: &[&str] = &[
    "m",
    "a",
    "m,h=x",
    ",",
    "=",
    " ",
    "\"",
    "1",
    "2.5",
    "i",
    "u",
    "-",
    "t",
    "false",
    ",a=b",
    " v=1",
    " v=1i 5",
    "#",
    "x y",
    ",w=\"s\"",
    ",w=\"a,b= c\"",
    " v=-7i",
    "+",
];

/// Pieces that need care.
const ODD_PIECES: &[&str] =
    &["\n", "\n", "time", "\\", "\\ ", "\\,", "\\=", "\\\"", "e3", "\r", "\t", ".", "\0"];

/// Lines that are nearly right: pieces in any order, up to one in three an odd one.
fn noise(odd: &'static [&'static str]) -> impl Strategy<Value = String> {
    let plain = || proptest::sample::select(PLAIN_PIECES).boxed();
    let odd = if odd.is_empty() { plain() } else { proptest::sample::select(odd).boxed() };
    vec(prop_oneof![plain(), plain(), odd], 1..16).prop_map(|pieces| pieces.concat())
}

/// What the other parser makes of one line; nothing when it refuses it, or when InfluxDB 1 does.
fn parse_elsewhere(line: &str) -> Option<Point> {
    // Only InfluxDB 1 lets a line end in blanks.
    let mut lines: Vec<_> = parse_lines(line.trim_end_matches(' ')).collect();
    let parsed = lines.pop().filter(|_| lines.is_empty())?.ok()?;
    let tags = parsed.series.tag_set.iter().flatten();
    let names: Vec<_> = tags.clone().map(|(name, _)| name.to_string()).collect();
    let is_twice = |name: &String| names.iter().filter(|other| *other == name).count() > 1;
    let has_comma = |name: &String| name.contains(',');
    let mut field_names = parsed.field_set.iter().map(|(name, _)| name.to_string());
    // InfluxDB 1 refuses tags that occur twice, a plain comma in a name, and a plain equals sign in
    // the value of a tag but as its first character.
    if names.iter().any(|name| is_twice(name) || has_comma(name))
        || field_names.any(|name| has_comma(&name))
        || tags.clone().any(|(_, value)| value.chars().skip(1).any(|c| c == '='))
    {
        return None;
    }
    let fields = parsed.field_set.iter().map(|(name, value)| {
        let value = match value {
            FieldValue::I64(value) => Value::Integer(*value),
            FieldValue::U64(value) => Value::Unsigned(*value),
            FieldValue::F64(value) => Value::Float(value.to_bits()),
            FieldValue::Boolean(value) => Value::Boolean(*value),
            FieldValue::String(text) => Value::Text(text.to_string()),
        };
        (name.to_string(), value)
    });
    Some(Point {
        measurement: parsed.series.measurement.to_string(),
        tags: tags.map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        fields: fields.collect(),
        time_ns: parsed.timestamp.unwrap_or(NOW_NS),
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_written_is_read(points in vec(point(), 1..8)) {
        let lines: Vec<_> = points.iter().map(write).collect();
        let (read, rejects) = decode(lines.join("\n").as_bytes());
        prop_assert_eq!(rejects, []);
        prop_assert_eq!(read, points);
    }

    #[test]
    fn plain_lines_are_read_as_elsewhere(line in noise(&[])) {
        // The other parser lets the fields end in a comma.
        let line = line.replace(", ", " ").trim_end_matches([',', ' ']).to_owned();
        let (points, _) = decode(line.as_bytes());
        let expected = parse_elsewhere(&line);
        prop_assert_eq!(points.first(), expected.as_ref(), "{}", line);
    }

    #[test]
    fn good_lines_survive_bad_neighbours(noise in noise(ODD_PIECES), point in point()) {
        // An open quote or a last backslash may take the next line with it, as in InfluxDB.
        let noise = noise.replace(['"', '\\'], "");
        let line = write(&point);
        let (points, _) = decode(format!("{line}\n{noise}\n{line}").as_bytes());
        prop_assert_eq!(points.first(), Some(&point));
        prop_assert_eq!(points.last(), Some(&point));
    }

    #[test]
    fn any_bytes_are_read_to_their_end(bytes in vec(any::<u8>(), 0..200)) {
        decode(&bytes.iter().map(|byte| byte & 0x7f).collect::<Vec<_>>());
    }

    #[test]
    fn nearly_lines_are_read_in_pieces_as_in_whole(noise in noise(ODD_PIECES), size in 1usize..20) {
        let decode_pieces = |size: usize| {
            let mut session = Session::new(1 << 20);
            let (mut decoder, mut rejects) = (Decoder::default(), Vec::new());
            let mut rows = Vec::new();
            for piece in noise.as_bytes().chunks(size).chain([&b"\n"[..]]) {
                session.push(piece);
                let settings = session.settings(Default::default(), NOW_NS);
                let mut batch = Batch::new(
                    session.bytes(), 0, &LINE_SYNTAX, KeySecret(1), Default::default(),
                );
                let decoded = decoder.decode(&mut batch, settings, &mut rejects);
                rows.extend(batch.rows().iter().map(|row| {
                    (row.line, text(batch.slice(row.key_tail)), row.time_ns)
                }));
                session.advance(decoded, &mut rejects);
            }
            rejects.extend(session.finish());
            (rows, rejects)
        };
        prop_assert_eq!(decode_pieces(size), decode_pieces(noise.len()));
    }
}

#[test]
fn limits_hold() {
    let refuse = |line: String| decode(line.as_bytes()).1.pop().map(|reject| reject.reason);
    let string = |length| format!("m s=\"{}\" 1", "x".repeat(length));
    assert_eq!(refuse(string(65_536)), None);
    assert!(refuse(string(65_537)).unwrap().contains("65536"));
    let key = |length: usize| format!("m,t={} v=1 1", "x".repeat(length - 4));
    assert_eq!(refuse(key(65_530)), None);
    assert!(refuse(key(65_531)).unwrap().contains("65535"));
    let lines = "m v=1 1\nm v=!\n".repeat(1000);
    let (points, rejects) = decode(lines.as_bytes());
    assert_eq!((points.len(), rejects.len()), (1000, 100));
}

#[test]
fn a_row_may_have_thousands_of_fields() {
    let fields: Vec<_> = (0..16_000).map(|n| format!("f{n}={n}i")).collect();
    let line = format!("m {},f7=0i,time=1 5", fields.join(","));
    let (read, rejects) = decode(format!("{line}\n{line}").as_bytes());
    assert!(rejects.is_empty());
    for point in &read {
        assert_eq!((point.fields.len(), point.time_ns), (16_000, 5));
        assert_eq!(point.fields.get("f7"), Some(&Value::Integer(0)));
        assert_eq!(point.fields.get("f15999"), Some(&Value::Integer(15_999)));
    }
    assert_eq!(read.len(), 2);
}

#[test]
fn rows_of_many_shapes_keep_their_fields() {
    // Enough names behind one another, and in one place, that the tree of names forgets some.
    let field = |n: usize| (format!("f{n}"), Value::Integer(n as i64));
    let point = |fields: BTreeMap<String, Value>, n: usize| Point {
        measurement: "m".to_owned(),
        tags: BTreeMap::new(),
        fields,
        time_ns: n as i64,
    };
    let mut points: Vec<_> =
        (0..70_000).map(|n| point([field(n % 50_000)].into_iter().collect(), n)).collect();
    points.push(point((0..5_000).map(field).collect(), 1));
    points.push(point((0..5_000).step_by(2).map(field).collect(), 2));
    let lines: Vec<_> = points.iter().map(write).collect();
    let (read, rejects) = decode(lines.join("\n").as_bytes());
    assert!(rejects.is_empty());
    assert!(read == points);
}
