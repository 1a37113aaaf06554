use super::*;
use crate::LINE_SYNTAX;
use foliot_model::{KeyParts, KeySecret, Kind};

/// What a request decodes to, in plain text: one line per row, then one per reject.
fn decode(text: &str) -> Vec<String> {
    decode_with(text, Settings { now_ns: 99, ..Settings::default() })
}

fn decode_with(text: &str, settings: Settings) -> Vec<String> {
    decode_by(&mut Decoder::default(), text, settings)
}

fn decode_by(decoder: &mut Decoder, text: &str, settings: Settings) -> Vec<String> {
    let mut batch = Batch::new(text.as_bytes(), 0, &LINE_SYNTAX, KeySecret(1), Default::default());
    let mut rejects: Vec<Reject> = Vec::new();
    decoder.decode(&mut batch, settings, &mut rejects);
    let (mut out, mut parts) = (Vec::new(), KeyParts::default());
    for row in batch.rows() {
        // The store parses a key when it is new; a bad one stays new for ever.
        parts.clear();
        if let Err(error) = (LINE_SYNTAX.parse)(b"", batch.slice(row.key_tail), &mut parts) {
            rejects.push(Reject {
                line: row.line,
                field: error.field.into(),
                reason: error.reason,
            });
            continue;
        }
        let shape = batch.shape(row.shape).unwrap();
        let names = batch.fields(shape).iter().map(|&name| plain(batch.slice(name)));
        let cells = batch.cells(row, shape.fields_count).iter().map(|cell| match cell.kind {
            Kind::Float => format!("{:?}", cell.to_f64()),
            Kind::Integer => format!("{}i", cell.bits as i64),
            Kind::Unsigned => format!("{}u", cell.bits),
            Kind::Boolean => (cell.bits != 0).to_string(),
            Kind::String | Kind::Histogram => format!("{:?}", plain(batch.slice(cell.span()))),
        });
        let fields: Vec<_> =
            names.zip(cells).map(|(name, cell)| format!("{name}={cell}")).collect();
        let key = plain(batch.slice(row.key_tail));
        out.push(format!("{}: {key} {} {}", row.line, fields.join(","), row.time_ns));
    }
    out.extend(rejects.iter().map(|r| format!("{}! {}: {}", r.line, r.field, r.reason)));
    out
}

fn plain(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn lines_become_rows() {
    for (line, row) in [
        ("m v=1 5", "1: m v=1.0 5"),
        (
            "m,host=a,b=c v=1i,w=2u,x=t,y=\"s\",z=-1.5e3 -5",
            "1: m,host=a,b=c v=1i,w=2u,x=true,y=\"s\",z=-1500.0 -5",
        ),
        ("m v=1", "1: m v=1.0 99"),
        ("m v=1 ", "1: m v=1.0 99"),
        ("\t m  v=1   5  \n", "1: m v=1.0 5"),
        ("m \0\tv=1 \t5", "1: m v=1.0 5"),
        ("m v=1 5\r\n", "1: m v=1.0 5"),
        ("m v=1\r", "1: m v=1.0 99"),
        ("m v=true\r\n", "1: m v=true 99"),
        (r"m\ x,t\,=a\ b v\ \=w=1 5", r"1: m\ x,t\,=a\ b v\ \=w=1.0 5"),
        (r#"m v="" 5"#, r#"1: m v="" 5"#),
        (r#"m v="a \"b\" c\\ \x, =" 5"#, r#"1: m v="a \"b\" c\\ \\x, =" 5"#),
        ("m v=\"a\nb\" 5", "1: m v=\"a\\nb\" 5"),
        ("m a\"b=1 5", "1: m a\"b=1.0 5"),
        ("# c\n\n \r\nm v=1 5", "4: m v=1.0 5"),
        ("# \"\nm v=1 5", "2: m v=1.0 5"),
        ("m v=1 5\n#", "1: m v=1.0 5"),
        ("m\\\nn v=1 5", "1: m\\\nn v=1.0 5"),
    ] {
        assert_eq!(decode(line), [row], "{line:?}");
    }
}

#[test]
fn exact_lines_hold_any_text_and_number() {
    let text = concat!(
        r#"\hm,time=a\sb v=NaN,a=Infinity,b=-Infinity,c=-0,d=7u,e="x\q\n,\b é" 5"#,
        "\n",
        r#"m v="a\x" 6"#,
        "\n",
        r"m f\s\e=1i,g=18446744073709551615u 7",
        "\nm v=nan 8\nm v=Infinity8 9",
    );
    let syntax = &crate::EXACT_LINE_SYNTAX;
    let mut batch = Batch::new(text.as_bytes(), 0, syntax, KeySecret(1), Default::default());
    let mut rejects: Vec<Reject> = Vec::new();
    Decoder::default().decode(&mut batch, Settings::default(), &mut rejects);
    let lines: Vec<u32> = rejects.iter().map(|reject| reject.line).collect();
    assert_eq!(lines, [2, 4, 5], "{rejects:?}");
    let [first, second] = batch.rows() else { panic!("{:?}", batch.rows()) };
    let cells = batch.cells(first, 6);
    assert!(cells[0].to_f64().is_nan());
    assert_eq!([cells[1].to_f64(), cells[2].to_f64()], [f64::INFINITY, f64::NEG_INFINITY]);
    assert_eq!(cells[3].to_f64().to_bits(), (-0.0f64).to_bits());
    assert_eq!((cells[4].kind, cells[4].bits), (Kind::Unsigned, 7));
    assert_eq!(batch.slice(cells[5].span()), "x\"\n,\\ é".as_bytes());
    assert_eq!((second.line, batch.cells(second, 2)[1].bits), (3, u64::MAX));
    let shape = batch.shape(second.shape).unwrap();
    let mut name = Vec::new();
    (syntax.parse_field)(batch.slice(batch.fields(shape)[0]), &mut name).unwrap();
    assert_eq!(name, b"f =");
    // Lines of InfluxDB hold no such numbers.
    assert!(decode("m v=NaN 5")[0].starts_with("1! v: "));
}

#[test]
fn the_last_of_equal_fields_wins_and_time_is_dropped() {
    for (line, row) in [
        ("m v=1,v=2i 5", "1: m v=2i 5"),
        ("m a=1,v=1,b=2,v=3,a=4,v=5 5", "1: m a=4.0,v=5.0,b=2.0 5"),
        ("m time=1,v=2 5", "1: m v=2.0 5"),
        ("m v=2,time=\"x\",w=3 5", "1: m v=2.0,w=3.0 5"),
        ("m time=1,time=2,v=3,v=4 5", "1: m v=4.0 5"),
        (
            "m time=1 5",
            "1! field: invalid field name: input field \"time\" on measurement \"m\" is invalid",
        ),
    ] {
        assert_eq!(decode(line), [row], "{line:?}");
        // The second time, the names are known.
        let rows = decode(&format!("{line}\n{line}"));
        assert_eq!(rows[1], row.replacen('1', "2", 1), "{line:?}");
    }
}

#[test]
fn bad_lines_are_refused_in_influxdbs_words() {
    for (line, fault) in [
        ("m", "field: missing fields"),
        ("m,a=b", "field: missing fields"),
        (",a=b v=1", "measurement: missing measurement"),
        ("m, v=1", "tag: missing tag key"),
        ("m,a v=1", "tag: missing tag value"),
        ("m,a", "tag: missing tag value"),
        ("m,a=b=c v=x", "tag: invalid tag format"),
        ("m,a=1,a=2 v=x", "tag: duplicate tags"),
        ("m ", "field: invalid field format"),
        ("m v", "field: invalid field format"),
        ("m v w=1", "field: invalid field format"),
        ("m v=1,", "field: invalid field format"),
        ("m v=1, 5", "field: invalid field format"),
        ("m v=1,,w=2", "field: invalid field format"),
        ("m =1", "field: missing field key"),
        ("m v=1,=2", "field: missing field key"),
        ("m v=", "v: missing field value"),
        ("m v=,w=1", "v: missing field value"),
        ("m v= 5", "v: missing field value"),
        ("m v=1x 5", "v: invalid number"),
        ("m v=NaN", "v: invalid number"),
        ("m v=+1", "v: invalid boolean"),
        ("m v=tru", "v: invalid boolean"),
        ("m v=1,w=x", "w: invalid boolean"),
        ("m v=\"a", "v: unbalanced quotes"),
        ("m v=\"a\"b 5", "field: invalid field format"),
        ("m v=1 x", "timestamp: bad timestamp"),
        ("m v=1 1.5", "timestamp: bad timestamp"),
        ("m v=1 5 6", "line: point is invalid"),
        ("m v=1 -", "timestamp: strconv.ParseInt: parsing \"-\": invalid syntax"),
        (
            "m v=1 9223372036854775807",
            "timestamp: time outside range -9223372036854775806 - 9223372036854775806",
        ),
        (
            "m v=-9223372036854775809i 5",
            "v: unable to parse integer -9223372036854775809: strconv.ParseInt: parsing \
             \"-9223372036854775809\": value out of range",
        ),
    ] {
        // Lines before and behind are kept, whatever stands between them.
        if line.contains('"') {
            assert_eq!(decode(line), [format!("1! {fault}")], "{line}");
        } else {
            let expected = ["1: m v=1.0 1", "3: m v=2.0 2", &format!("2! {fault}")];
            assert_eq!(decode(&format!("m v=1 1\n{line}\nm v=2 2\n")), expected, "{line}");
        }
    }
}

/// Names are kept from request to request, and nothing else is.
/// A timestamp like the one before is not read again, and must be like it to its end.
#[test]
fn timestamps_are_like_the_ones_before_to_their_ends_or_not_at_all() {
    let times =
        ["12", "12", "123", "12", "12 ", "1", "-12", "-12", "", "12", "12\r", "12x", "12", "12"];
    let text: String = times.iter().map(|time| format!("m v=1 {time}\n")).collect();
    let rows = [12, 12, 123, 12, 12, 1, -12, -12, 99, 12, 12].into_iter().zip(1..);
    let rows = rows.chain([(12, 13), (12, 14)]);
    let mut expected: Vec<_> = rows.map(|(time, line)| format!("{line}: m v=1.0 {time}")).collect();
    expected.push("12! timestamp: bad timestamp".to_owned());
    assert_eq!(decode(&text), expected);
}

#[test]
fn a_line_has_as_many_fields_as_a_row_may() {
    let line = |names: &dyn Fn(usize) -> usize, count: usize| {
        let fields: Vec<_> = (0..count).map(|at| format!("f{}=1i", names(at))).collect();
        format!("wide {} 5\ngood v=1i 5\n", fields.join(","))
    };
    let (good, bad) = ("2: good v=1i 5", "1! field: more than 16384 fields in one row");
    let mut decoder = Decoder::default();
    let mut check = |text: &str, expected: &[&str]| {
        let found = decode_by(&mut decoder, text, Settings::default());
        let heads: Vec<_> = found.iter().map(|row| row.get(..43).unwrap_or(row)).collect();
        assert_eq!(heads, expected);
        // The names of what lies behind were not learnt.
        assert!(decoder.memory_bytes() < 8 << 20, "{}", decoder.memory_bytes());
    };
    check(&line(&|at| at, FIELDS_MAX), &["1: wide f0=1i,f1=1i,f2=1i,f3=1i,f4=1i,f5=1i", good]);
    for names in [&(|at| at) as &dyn Fn(usize) -> usize, &|at| at % 7] {
        check(&line(names, FIELDS_MAX + 1), &[good, bad]);
        check(&line(names, 50 * FIELDS_MAX), &[good, bad]);
    }
}

#[test]
fn a_decoder_that_has_read_others_reads_each_request_as_a_new_one_does() {
    let long = "n".repeat(40);
    let many = |from: usize, to: usize| {
        let fields: Vec<String> = (from..to).map(|field| format!("f{field}={field}i")).collect();
        format!("m {} 5", fields.join(","))
    };
    // A key and a name that are too long together, and the same key with shorter names.
    let key = format!("m,t={}", "k".repeat(KEY_BYTES_MAX - 100));
    let requests = [
        "m a=1,b=2 5".to_owned(),
        "m b=1,a=2 5\nm a=1,b=2 6".to_owned(),
        "n a=3,b=4,c=5 5".to_owned(),
        "m a=1 5\nm a=1,a=2 6".to_owned(),
        "m a=1,a=2 5\nm a=7,time=4,b=1 6".to_owned(),
        "m time=3 5".to_owned(),
        "m a=1,b=x 5\nm a=1,b 6\nm a=1,b=\"t\" 7".to_owned(),
        format!("m {long}=1,{long}b=2 5"),
        format!("m {long}b=1,{long}=2 5"),
        format!("{key} {}=1 5\n{key} a=1 6", "x".repeat(200)),
        format!("{key} a=1,b=2 5"),
        many(0, 20),
        many(10, 30),
        // More names than are kept, and one more request behind them.
        (0..30).map(|row| many(row * 20, row * 20 + 20) + "\n").collect(),
        "m a=1,b=2 5".to_owned(),
    ];
    let settings = Settings { now_ns: 99, ..Settings::default() };
    let mut decoder = Decoder::default();
    for round in 0..2 {
        for request in &requests {
            let read = decode_by(&mut decoder, request, settings);
            let head: String = request.chars().take(60).collect();
            assert_eq!(read, decode(request), "round {round}: {head}");
        }
    }
}
