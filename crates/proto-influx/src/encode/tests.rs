use super::*;
use foliot_model::{Item, TableHead};
use std::sync::Arc;

fn head(name: &str, labels: &[(&str, &str)], columns: &[&str]) -> Arc<TableHead> {
    let labels = labels.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let columns = columns.iter().map(|name| Arc::from(*name)).collect();
    Arc::new(TableHead { name: name.into(), labels, columns })
}

fn table(head: &Arc<TableHead>, items: Vec<Item>, is_last: bool) -> Table {
    Table::of_rows(head.clone(), items, is_last)
}

/// Two statements: a table in two pieces and one of another group, then an error.
fn answer(style: Style) -> Vec<u8> {
    let mut encoder = Encoder::new(style);
    let mut out = Vec::new();
    encoder.begin(0);
    let a = head("m", &[("t", "x y")], &["time", "v"]);
    let b = head("m", &[("t", "")], &["time", "v"]);
    let row = |time_ns, item| vec![Item::Time(time_ns), item];
    let two = [row(1_000_000, Item::Float(0.5)), row(2_000_000, Item::Null)].concat();
    encoder.table(&table(&a, two, false), &mut out);
    encoder.table(&table(&a, row(3_000_000, Item::Integer(-7)), true), &mut out);
    encoder.table(&table(&b, row(4_000_000, Item::String("q\"".into())), true), &mut out);
    encoder.end(None, &mut out);
    encoder.begin(1);
    encoder.fail("bad <thing>", &mut out);
    encoder.finish(&mut out);
    out
}

fn text(style: Style) -> String {
    String::from_utf8(answer(style)).unwrap()
}

#[test]
fn json_joins_the_pieces_of_a_table() {
    assert_eq!(
        text(Style::default()),
        "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"m\",\"tags\":{\"t\":\"x y\"},\
         \"columns\":[\"time\",\"v\"],\"values\":[[\"1970-01-01T00:00:00.001Z\",0.5],\
         [\"1970-01-01T00:00:00.002Z\",null],[\"1970-01-01T00:00:00.003Z\",-7]]},\
         {\"name\":\"m\",\"tags\":{\"t\":\"\"},\"columns\":[\"time\",\"v\"],\
         \"values\":[[\"1970-01-01T00:00:00.004Z\",\"q\\\"\"]]}]},\
         {\"statement_id\":1,\"error\":\"bad \\u003cthing\\u003e\"}]}\n"
    );
}

#[test]
fn chunks_are_answers_of_their_own() {
    let style = Style { chunk_rows: Some(2), epoch: Epoch::parse("ms"), ..Style::default() };
    let x = "{\"results\":[{\"statement_id\":0,\"series\":[{\"name\":\"m\",\
             \"tags\":{\"t\":\"x y\"},\"columns\":[\"time\",\"v\"],";
    let y = x.replace("x y", "");
    assert_eq!(
        text(style),
        format!(
            "{x}\"values\":[[1,0.5],[2,null]],\"partial\":true}}],\"partial\":true}}]}}\n\
             {x}\"values\":[[3,-7]]}}],\"partial\":true}}]}}\n\
             {y}\"values\":[[4,\"q\\\"\"]]}}]}}]}}\n\
             {{\"results\":[{{\"statement_id\":1,\"error\":\"bad \\u003cthing\\u003e\"}}]}}\n"
        )
    );
}

#[test]
fn pretty_json_is_indented_by_four() {
    let mut encoder = Encoder::new(Style { format: Format::PrettyJson, ..Style::default() });
    let mut out = Vec::new();
    encoder.begin(0);
    let names = head("databases", &[], &["name"]);
    encoder.table(&table(&names, vec![Item::String("a".into())], true), &mut out);
    encoder.end(Some("old"), &mut out);
    encoder.begin(1);
    encoder.end(None, &mut out);
    encoder.finish(&mut out);
    let expected = r#"{
    "results": [
        {
            "statement_id": 0,
            "series": [
                {
                    "name": "databases",
                    "columns": [
                        "name"
                    ],
                    "values": [
                        [
                            "a"
                        ]
                    ]
                }
            ],
            "messages": [
                {
                    "level": "warning",
                    "text": "old"
                }
            ]
        },
        {
            "statement_id": 1
        }
    ]
}
"#;
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}

#[test]
fn csv_has_a_block_for_each_statement() {
    assert_eq!(
        text(Style { format: Format::Csv, ..Style::default() }),
        "name,tags,time,v\nm,t=x\\ y,1000000,0.5\nm,t=x\\ y,2000000,\nm,t=x\\ y,3000000,-7\n\
         m,,4000000,\"q\"\"\"\n"
    );
}

#[test]
fn csv_has_words_for_infinite_numbers_and_none_for_what_is_no_number() {
    // Go writes numbers so, and InfluxDB turns NaN into null.
    let mut encoder = Encoder::new(Style { format: Format::Csv, ..Style::default() });
    let mut out = Vec::new();
    encoder.begin(0);
    let columns = head("m", &[("a", ""), ("b", "x")], &["p", "q", "r"]);
    let items = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(Item::Float).to_vec();
    encoder.table(&table(&columns, items, true), &mut out);
    encoder.finish(&mut out);
    assert_eq!(String::from_utf8(out).unwrap(), "name,tags,p,q,r\nm,b=x,+Inf,-Inf,\n");
}

#[test]
fn msgpack_counts_before_it_writes() {
    let mut encoder = Encoder::new(Style { format: Format::Msgpack, ..Style::default() });
    let mut out = Vec::new();
    encoder.begin(0);
    let one = head("m", &[], &["time", "v"]);
    let items = vec![Item::Time(1_500_000_000), Item::Float(1.0)];
    encoder.table(&table(&one, items, true), &mut out);
    encoder.end(None, &mut out);
    encoder.finish(&mut out);
    let mut expected =
        b"\x81\xa7results\x91\x82\xacstatement_id\x00\xa6series\x91\x83\xa4name\xa1m\
        \xa7columns\x92\xa4time\xa1v\xa6values\x91\x92\xc7\x0c\x05"
            .to_vec();
    expected.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 1, 0x1d, 0xcd, 0x65, 0]);
    expected.extend_from_slice(&[0xcb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(out, expected);
}

#[test]
fn long_tables_are_marked_as_influxdb_marks_them() {
    let mut encoder = Encoder::new(Style::default());
    let mut out = Vec::new();
    encoder.begin(0);
    let one = head("m", &[], &["v"]);
    encoder.table(&table(&one, vec![Item::Integer(1); CHUNK_ROWS + 1], true), &mut out);
    encoder.end(None, &mut out);
    encoder.finish(&mut out);
    assert!(out.ends_with(b"[1]],\"partial\":true}]}]}\n"));
}

/// As InfluxDB 1.6.7 answers a statement that it cannot parse.
#[test]
fn refusals_come_in_the_format_of_the_answer() {
    let told = |format| String::from_utf8_lossy(&refusal(format, "no \"q\"")).into_owned();
    assert_eq!(told(Format::Json), "{\"error\":\"no \\\"q\\\"\"}\n");
    assert_eq!(told(Format::PrettyJson), "{\n    \"error\": \"no \\\"q\\\"\"\n}\n");
    assert_eq!(told(Format::Csv), "error\n\"no \"\"q\"\"\"\n");
    assert_eq!(refusal(Format::Msgpack, "no"), b"\x81\xa5error\xa2no");
}
