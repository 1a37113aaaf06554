//! Whole files: what comes in, what is refused, and that what goes out comes in again.

use super::{File, Precision, Spelled, export_to, import};
use crate::export::{Pace, Wanted};
use crate::import::{Fault, Import, Place, Progress, Target};
use crate::{Error, Source, Told};
use foliot_disk::SimDisk;
use foliot_engine::{Config, Engine};
use foliot_model::{Kind, Name, Selector, Test, TimeRange, Value};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

const ROW_BYTES_MAX: u64 = 1 << 20;

fn engine() -> Engine {
    let config = Config { background: false, ..Config::default() };
    Engine::open(Arc::new(SimDisk::new(1)), Path::new("data"), config).unwrap()
}

fn open(text: &[u8], told: &Told, spelled: Spelled, row_bytes_max: u64) -> Result<File, Error> {
    let source = Source::new(Cursor::new(text.to_vec()), "x.csv", None).unwrap();
    File::of(source, told, spelled, row_bytes_max)
}

/// What a text comes to in a store, and what was said of it.
fn bring(
    target: Target<'_>,
    text: &[u8],
    told: &Told,
    spelled: Spelled,
) -> Result<(Progress, Vec<Fault>), String> {
    let mut file = open(text, told, spelled, ROW_BYTES_MAX).map_err(|error| error.to_string())?;
    let mut report = |_: &Progress| {};
    let mut taking = Import::new(target, Place::default(), &mut report);
    import(&mut file, &mut taking).map_err(|error| error.to_string())?;
    taking.finish().map_err(|error| error.to_string())
}

fn everything(engine: &Engine) -> Selector {
    Selector {
        namespace: engine.namespace("default", "autogen").unwrap(),
        names: vec![Name { measurement: Test::Any, field: Test::Any }],
        matchers: Vec::new(),
        exact_labels: None,
        only: None,
    }
}

/// What tells a sample: measurement, labels, field and time.
type Key = (String, BTreeMap<String, String>, String, i64);

/// The samples of a store, each value as its kind and bits or text.
fn samples(engine: &Engine) -> BTreeMap<Key, (Kind, String)> {
    let mut all = BTreeMap::new();
    let range = TimeRange::new(i64::MIN, i64::MAX);
    let (snapshot, selector, pace) = (engine.snapshot(), everything(engine), Pace::default());
    let wanted = Wanted { snapshot: &snapshot, selector: &selector, range, pace: &pace };
    crate::export(&wanted, &mut |identity, samples| {
        let labels = identity.labels.iter();
        let labels: BTreeMap<String, String> =
            labels.map(|label| (label.name.to_string(), label.value.to_string())).collect();
        for (time, value) in samples.iter() {
            let (measurement, field) = (&identity.measurement, &identity.field);
            let key = (measurement.to_string(), labels.clone(), field.to_string(), time);
            all.insert(key, (value.kind(), bits(value)));
        }
        Ok(())
    })
    .unwrap();
    all
}

fn bits(value: Value<'_>) -> String {
    match value {
        Value::Float(number) => format!("{:016x}", number.to_bits()),
        Value::Integer(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Boolean(value) => value.to_string(),
        Value::String(text) => text.to_owned(),
        Value::Histogram(_) => "histogram".to_owned(),
    }
}

fn exported(engine: &Engine) -> Vec<u8> {
    let mut text = Vec::new();
    let range = TimeRange::new(i64::MIN, i64::MAX);
    let (snapshot, selector, pace) = (engine.snapshot(), everything(engine), Pace::default());
    let wanted = Wanted { snapshot: &snapshot, selector: &selector, range, pace: &pace };
    export_to(&mut text, &wanted, 1_000).unwrap();
    let (done, total) = pace.series();
    assert_eq!(done, total, "all of them are done");
    text
}

/// A text as what comes in: a line for each sample.
fn lines(text: &str, told: &Told, spelled: Spelled) -> Result<Vec<String>, String> {
    let engine = engine();
    let (_, faults) = bring(Target::Store(&engine), text.as_bytes(), told, spelled)?;
    let faults = faults.into_iter().map(|fault| format!("{}: {}", fault.line, fault.reason));
    let stored = match engine.namespace("default", "autogen") {
        Some(_) => samples(&engine),
        None => BTreeMap::new(),
    };
    let stored = stored.into_iter().map(|((measurement, labels, field, time), (kind, value))| {
        let labels: String =
            labels.iter().map(|(name, value)| format!(",{name}={value}")).collect();
        format!("{measurement}{labels} {field}={kind:?}({value}) {time}")
    });
    Ok(stored.chain(faults).collect())
}

fn told(measurement: &str) -> Told {
    Told { measurement: Some(measurement.to_owned()), ..Told::default() }
}

const ONE: &str = "3ff0000000000000";

#[test]
fn texts_are_labels_and_numbers_are_floats() {
    let text = "at,room,temp,on,big,huge,note\r\n\
                2026-01-01T00:00:00Z, hall ,1,TRUE,9007199254740993,18446744073709551615,\"a\nb\"\r\n\
                2026-01-01 01:00:00.5+01:00,,,,,,x\r\n";
    let told = Told { texts: vec!["note".to_owned()], ..told("air") };
    let at = 1_767_225_600_000_000_000_i64;
    let expected = [
        format!("air note=String(x) {}", at + 500_000_000),
        format!("air,room=hall big=Integer(9007199254740993) {at}"),
        format!("air,room=hall huge=Unsigned(18446744073709551615) {at}"),
        format!("air,room=hall note=String(a\nb) {at}"),
        format!("air,room=hall on=Boolean(true) {at}"),
        format!("air,room=hall temp=Float({ONE}) {at}"),
    ];
    assert_eq!(lines(text, &told, Spelled::default()).unwrap(), expected);
}

#[test]
fn rows_that_do_not_fit_are_refused_by_line_and_column() {
    let text = "time,room,temp,on\n\
                2026-01-01,a,1,true\n\
                2026-01-01,\"a\n\",2,true\n\
                2026-01-01,b,n/a,true\n\
                2026-01-01,c,3\n\
                2026-01-01,d,1,false,5\n\
                yesterday,e,1,true\n\
                ,f,1,true\n\
                2026-01-01,g,,\n\
                2026-01-01,h,1,maybe\n\
                2026-01-01,i,NaN,true\n";
    let all = lines(text, &told("m"), Spelled::default()).unwrap();
    let refused: Vec<&str> =
        all.iter().filter(|line| !line.starts_with("m,")).map(|line| &**line).collect();
    assert_eq!(
        refused,
        [
            "5: temp: \"n/a\" is no number, as the first rows have them; --label temp or --text \
             temp takes the column as texts",
            "6: has 3 cells, and the header 4; a cell that holds what divides cells is written in \
             quotes",
            "7: has 5 cells, and the header 4; a cell that holds what divides cells is written in \
             quotes",
            "8: time: \"yesterday\" is no time: write it as 2026-01-31T10:00:00Z, as 2026-01-31 \
             10:00:00 in UTC, or as a number since 1970",
            "9: time: there is none",
            "10: no field has a value",
            "11: on: \"maybe\" is neither true nor false, as the first rows have them; --label on \
             or --text on takes the column as texts",
        ]
    );
    assert!(
        all.iter().all(|line| !line.contains("room=h")),
        "a row is stored whole or not: {all:?}"
    );
    assert_eq!(all.iter().filter(|line| line.starts_with("m,room=i")).count(), 1, "{all:?}");
}

#[test]
fn numbers_are_times_by_their_size_or_as_it_is_told() {
    let lines_of = |text: &str, told: &Told, precision| {
        lines(text, told, Spelled { precision, ..Spelled::default() })
    };
    let value = |time: &str| format!("m v=Float({ONE}) {time}");
    for (times, expected) in [
        ("1767225600", "1767225600000000000"),
        ("1767225600.123456789", "1767225600123456789"),
        ("1767225600123", "1767225600123000000"),
        ("1767225600123456", "1767225600123456000"),
        ("1767225600123456789", "1767225600123456789"),
        ("1767225600123.5", "1767225600123500000"),
    ] {
        let text = format!("time,v\n{times},1\n");
        assert_eq!(lines_of(&text, &told("m"), None).unwrap(), [value(expected)], "{times}");
    }
    let small = "t,v\n-5,1\n";
    let named = Told { time: Some("t".to_owned()), ..told("m") };
    let told_ms = Some(Precision::Milliseconds);
    assert_eq!(lines_of(small, &named, None).unwrap(), [value("-5000000000")]);
    assert_eq!(lines_of(small, &named, told_ms).unwrap(), [value("-5000000")]);
    let said = lines_of(small, &told("m"), None).unwrap_err();
    assert!(said.contains("--time COLUMN; the columns are t, v"), "{said}");
    // Later numbers are of the same precision, however large they are.
    let text = "time,v\n1767225600000,1\n1767225600001000000,1\n2026-01-01,1\n";
    let all = lines_of(text, &told("m"), None).unwrap();
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all.last().unwrap().contains("is too far away for nanoseconds"), "{all:?}");
}

#[test]
fn what_divides_cells_is_said_by_the_file_or_told() {
    let expected = [format!("m,a=x;y v=Float({ONE}) 1767225600000000000")];
    for (text, separator) in [
        ("sep=;\r\ntime;a;v\r\n2026-01-01;\"x;y\";1", None),
        ("\u{feff}\"sep=;\"\ntime;a;v\n2026-01-01;\"x;y\";1\n", None),
        ("\u{feff}time;a;v\r2026-01-01;\"x;y\";1\r", Some(b';')),
        ("time\ta\tv\n2026-01-01\tx;y\t1\n", Some(b'\t')),
        ("\n\ntime,a,v\n\n2026-01-01,x;y,1\n \n", None),
    ] {
        let spelled = Spelled { separator, ..Spelled::default() };
        assert_eq!(lines(text, &told("m"), spelled).unwrap(), expected, "{text:?}");
    }
}

#[test]
fn what_is_not_clear_is_said_with_what_to_do() {
    for (text, expected) in [
        ("", "it is empty: there is no header in it"),
        ("time;v\n1;2\n", "one column: if ';' divides cells, say so with --separator ';'"),
        ("time\tv\n1\t2\n", "if tab divides cells, say so with --separator tab"),
        ("time\n1\n", "one column, and one of times and one of values are needed"),
        ("time,v,v\n2026-01-01,1,2\n", "two columns are called \"v\": give one of them another"),
        ("2026-01-01T00:00:00Z,a,1\n", "line 1 is no header, since \"2026-01-01T00:00:00Z\""),
        ("1767225600,a,1\n1767225601,a,1\n", "line 1 is no header, since \"1767225600\" is no"),
        ("1,2\n3,4\n", "line 1 is no header"),
        ("a,v\nx,1\n", "no column holds times"),
        ("time,v\nx,1\n", "no column holds times"),
        ("time,a\n2026-01-01,x\n", "no column holds numbers: name a column of texts with --text"),
        ("time,v,end\n2026-01-01,1,2026-01-02\n", "--without end leaves it out"),
        (
            "from,v,till\n2026-01-01,1,2026-01-02\n",
            "\"from\" and \"till\" hold timestamps: say which",
        ),
        ("time,v\n2026-01-01,\"1,5\"\n", "\"v\" has numbers with commas, as \"1,5\""),
        ("\"time,v\n2026-01-01,1\n", "line 1: opens a quote that nothing closes"),
    ] {
        let said = lines(text, &told("m"), Spelled::default()).unwrap_err();
        assert!(said.contains(expected), "{text:?}: {said}");
    }
    let said = lines("time,v\n2026-01-01,1\n", &Told::default(), Spelled::default()).unwrap_err();
    assert!(said.contains("give it with --measurement NAME"), "{said}");
    let text = "time,v\n2026-01-01,1\n";
    for (flag, told) in [
        ("--time", Told { time: Some("x".to_owned()), ..told("m") }),
        ("--text", Told { texts: vec!["x".to_owned()], ..told("m") }),
        ("--label", Told { labels: vec!["x".to_owned()], ..told("m") }),
        ("--without", Told { without: vec!["x".to_owned()], ..told("m") }),
    ] {
        let said = lines(text, &told, Spelled::default()).unwrap_err();
        assert_eq!(said, format!("{flag} x: the columns are time, v"));
    }
    let told = Told { time: Some("v".to_owned()), ..told("m") };
    let said = lines("time,v\n2026-01-01,a\n", &told, Spelled::default()).unwrap_err();
    assert!(said.contains("column \"v\" holds no timestamps"), "{said}");
    for text in [&b"\xff\xfet\0i\0m\0e\0"[..], b"\xfe\xff\0t\0i", b"t\0i\0m\0e\0,\0v\0"] {
        let error = open(text, &Told::default(), Spelled::default(), 100).unwrap_err();
        assert!(error.to_string().contains("iconv -f UTF-16 -t UTF-8"), "{error}");
    }
    let error = open(b"t\xe9me,v\n", &Told::default(), Spelled::default(), 100).unwrap_err();
    assert!(error.to_string().contains("iconv -f ISO-8859-1"), "{error}");
}

#[test]
fn columns_are_what_is_told_of_them() {
    let text = ",time,room,temp,spare,none\n0,2026-01-01,101,1,z,\n1,2026-01-02,lobby,1,z,\n";
    let told =
        Told { labels: vec!["room".to_owned()], without: vec!["spare".to_owned()], ..told("m") };
    let expected = [
        format!("m,room=101 temp=Float({ONE}) 1767225600000000000"),
        format!("m,room=lobby temp=Float({ONE}) 1767312000000000000"),
    ];
    assert_eq!(lines(text, &told, Spelled::default()).unwrap(), expected);
}

#[test]
fn answers_come_in_as_they_were_printed() {
    let expected = [format!("cpu,host=a usage=Float({ONE}) 1767225600000000000")];
    for text in [
        "name,host,time,usage\r\ncpu,a,2026-01-01T00:00:00Z,1\r\n",
        "time,name,field,host,value\n2026-01-01T00:00:00Z,cpu,usage,a,1\n",
        "time,measurement,field,host,value\n2026-01-01T00:00:00Z,cpu,usage,a,1\n",
    ] {
        assert_eq!(lines(text, &Told::default(), Spelled::default()).unwrap(), expected, "{text}");
    }
    // Without values to name, what is called a field is a label.
    let text = "time,field,temp\n2026-01-01,north,1\n";
    let expected_field = [format!("farm,field=north temp=Float({ONE}) 1767225600000000000")];
    assert_eq!(lines(text, &told("farm"), Spelled::default()).unwrap(), expected_field);
    // Where a measurement is told a column of names is one of labels.
    let text = "name,time,usage\r\na,2026-01-01T00:00:00Z,1\r\n";
    let expected = [format!("cpu,name=a usage=Float({ONE}) 1767225600000000000")];
    assert_eq!(lines(text, &told("cpu"), Spelled::default()).unwrap(), expected);
    // Series of other labels have a table of their own, which this is not.
    for rows in [1, 2_000] {
        let rows = "cpu,2026-01-01T00:00:00Z,1\r\n".repeat(rows);
        let text = format!("name,time,usage\r\n{rows}\r\nname,time,cores\r\ncpu,2026-01-02,1\r\n");
        let all = lines(&text, &Told::default(), Spelled::default()).unwrap();
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all.last().unwrap().contains("another table begins here"), "{all:?}");
    }
}

/// What *Download* of the page saves.
#[test]
fn files_of_the_page_keep_their_kinds() {
    let text = "time_ns,name,field,bed,label_value,value,kind\n\
                1,soil,ph,north,v,6,float\n\
                2,soil,code,north,,0123,string\n\
                3,soil,code,,,,string\n\
                4,soil,code,,,\"'=1+1\",string\n\
                5,soil,n,,,-0,float\n\
                6,soil,n,,,NaN,float\n\
                7,soil,n,,,7,unsigned\n\
                8,soil,,,,true,boolean\n\
                9,soil,n,,,,\n";
    let expected = [
        "soil code=String() 3",
        "soil code=String(=1+1) 4",
        "soil n=Float(8000000000000000) 5",
        "soil n=Float(7ff8000000000000) 6",
        "soil n=Unsigned(7) 7",
        "soil value=Boolean(true) 8",
        "soil,bed=north code=String(0123) 2",
        "soil,bed=north,value=v ph=Float(4018000000000000) 1",
        "10: no field has a value",
    ];
    assert_eq!(lines(text, &Told::default(), Spelled::default()).unwrap(), expected);
    let text = "time_ms,name,field,value,kind\n5,soil,ph,x,integer\n5,soil,ph,1,histogram\n\
                5,soil,ph,1,\n5,soil,ph,1,flaot\n5,soil,ph,1,integer\n";
    let expected = [
        "soil ph=Integer(1) 5000000",
        "2: ph: \"x\" is no value of the kind \"integer\", as its row says",
        "3: ph: is a histogram, which CSV does not hold",
        "4: ph: has no kind, and others have",
        "5: ph: is said to be \"flaot\", which is none of float, integer, unsigned, boolean, string, \
         histogram",
    ];
    assert_eq!(lines(text, &Told::default(), Spelled::default()).unwrap(), expected);
    // A column of that name alone makes nobody's file one of these.
    let text = "time,measurement,field,kind,value\n2026-01-01,m,v,indoor,1\n";
    let expected = [format!("m,kind=indoor v=Float({ONE}) 1767225600000000000")];
    assert_eq!(lines(text, &Told::default(), Spelled::default()).unwrap(), expected);
}

#[test]
fn a_row_takes_no_more_than_it_may() {
    let long = "x".repeat(5_000);
    let text = format!("time,a,v\n2026-01-01,{long},1\n2026-01-01,b,1\n2026-01-01,\"c,1\n");
    let mut file = open(text.as_bytes(), &told("m"), Spelled::default(), 4_500).unwrap();
    let mut report = |_: &Progress| {};
    let mut taking = Import::new(Target::Nowhere, Place::default(), &mut report);
    import(&mut file, &mut taking).unwrap();
    let (progress, faults) = taking.finish().unwrap();
    assert_eq!((progress.stored, progress.refused), (1, 2), "{faults:?}");
    assert!(faults[0].reason.contains("more than 4500 bytes (limits.csv_row_bytes)"), "{faults:?}");
    assert_eq!((faults[0].line, faults[1].line), (2, 4));
    assert!(faults[1].reason.contains("a quote that nothing closes"), "{faults:?}");
    let wide = format!("time,a,v\n2026-01-01{}\n2026-01-01,b,1\n", ",".repeat(20_000));
    let (progress, faults) =
        bring(Target::Nowhere, wide.as_bytes(), &told("m"), Spelled::default()).unwrap();
    assert_eq!((progress.stored, progress.refused), (1, 1), "{faults:?}");
    assert!(faults[0].reason.contains("more than 16384 cells"), "{faults:?}");
}

/// Pieces of which texts are made that some reader or writer might take for something else.
const PIECES: [&str; 22] = [
    "a", "=", "+", "-", "@", "'", "\t", "\r", "\n", "\"", ",", " ", "\\", "\0", "é", "#", "1",
    "label_", "time", "value", "kind", "\u{feff}",
];

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..6).prop_map(|all| all.concat())
}

fn name() -> impl Strategy<Value = String> {
    text().prop_filter("a name", |text| !text.is_empty())
}

/// A value, and what a field is called that has values of its sort.
fn value() -> impl Strategy<Value = (&'static str, Kind, String)> {
    let float = |number: f64| ("n", Kind::Float, format!("{:016x}", number.to_bits()));
    prop_oneof![
        any::<f64>().prop_filter("a number", |number| !number.is_nan()).prop_map(float),
        prop::sample::select(vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.0, 0.0, 5e-324])
            .prop_map(float),
        any::<i64>().prop_map(|number| ("n", Kind::Integer, number.to_string())),
        any::<u64>().prop_map(|number| ("n", Kind::Unsigned, number.to_string())),
        any::<bool>().prop_map(|value| ("b", Kind::Boolean, value.to_string())),
        text().prop_map(|text| ("s", Kind::String, text)),
    ]
}

/// Exact lines, spelled by this test's own rules (docs/api.md).
fn exact(all: &BTreeMap<Key, (Kind, String)>) -> Vec<String> {
    let letters = |text: &str| {
        let letter = |sign: char| match sign {
            '\\' => "\\b".to_owned(),
            ',' => "\\c".to_owned(),
            '=' => "\\e".to_owned(),
            '#' => "\\h".to_owned(),
            '\n' => "\\n".to_owned(),
            '"' => "\\q".to_owned(),
            '\r' => "\\r".to_owned(),
            ' ' => "\\s".to_owned(),
            '\t' => "\\t".to_owned(),
            '\0' => "\\z".to_owned(),
            other => other.to_string(),
        };
        text.chars().map(letter).collect::<String>()
    };
    let line = |((measurement, labels, field, time), (kind, value)): (&Key, &(Kind, String))| {
        let labels: String = labels
            .iter()
            .map(|(name, value)| format!(",{}={}", letters(name), letters(value)))
            .collect();
        let value = match kind {
            Kind::Float => {
                let number = f64::from_bits(u64::from_str_radix(value, 16).unwrap());
                match number.is_infinite() {
                    true if number > 0.0 => "Infinity".to_owned(),
                    true => "-Infinity".to_owned(),
                    false => format!("{number}"),
                }
            }
            Kind::Integer => format!("{value}i"),
            Kind::Unsigned => format!("{value}u"),
            Kind::String => format!("\"{}\"", letters(value)),
            _ => value.clone(),
        };
        format!("{}{labels} {}={value} {time}", letters(measurement), letters(field))
    };
    all.iter().map(line).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_goes_out_comes_in_the_same(
        rows in prop::collection::vec(
            (name(), prop::collection::btree_map(name(), name(), 0..4), name(), -5_i64..5, value()),
            1..30,
        ),
        scale in prop::sample::select(vec![1_i64, 999_999_937, 1_800_000_000_000_000_000]),
    ) {
        let mut expected = BTreeMap::new();
        for (measurement, labels, field, time, (sort, kind, value)) in rows {
            // A field has numbers, texts or neither.
            let key = (measurement, labels, format!("{field}{sort}"), time * scale);
            expected.insert(key, (kind, value));
        }
        let first = engine();
        let mut report = |_: &Progress| {};
        let mut taking = Import::new(Target::Store(&first), Place::default(), &mut report);
        for line in exact(&expected) {
            taking.exact(1, line.as_bytes()).unwrap();
        }
        let (_, faults) = taking.finish().unwrap();
        prop_assert_eq!(faults, []);
        prop_assert_eq!(&samples(&first), &expected);
        let text = exported(&first);
        let second = engine();
        let (progress, faults) =
            bring(Target::Store(&second), &text, &Told::default(), Spelled::default()).unwrap();
        prop_assert_eq!(faults, [], "{}", String::from_utf8_lossy(&text));
        prop_assert_eq!(progress.stored, expected.len() as u64);
        prop_assert_eq!(&samples(&second), &expected);
        prop_assert_eq!(exported(&second).len(), text.len());
    }

    #[test]
    fn no_bytes_end_the_reading(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = bring(Target::Nowhere, &bytes, &told("m"), Spelled::default());
    }

    #[test]
    fn no_signs_end_the_reading(
        cells in prop::collection::vec(
            prop::sample::select(vec![
                "time", "time_ns", "name", "measurement", "field", "kind", "value", "float", "v",
                ",", ",", ",", ",", "\n", "\n", "\r\n", "\r", "\n\n", "\"", "\"\"", "1", "-1.5e3",
                "2026-01-01", "2026-01-01T00:00:00Z", "1767225600", "string", "true", "x", " ",
                "\u{feff}", "sep=;", "é", "'=", "99999999999999999999", "NaN", "-", "1e400",
                "2026-01-01T24:00:00+99:99", "-9223372036854775808", ";",
            ]),
            0..80,
        ),
        bytes_max in 0_u64..64,
    ) {
        let text = cells.concat();
        for told in [Told::default(), told("m")] {
            let Ok(mut file) = open(text.as_bytes(), &told, Spelled::default(), bytes_max) else {
                continue;
            };
            let mut report = |_: &Progress| {};
            let mut taking = Import::new(Target::Nowhere, Place::default(), &mut report);
            import(&mut file, &mut taking).unwrap();
            let (progress, faults) = taking.finish().unwrap();
            prop_assert_eq!(progress.refused == 0, faults.is_empty());
        }
    }
}
