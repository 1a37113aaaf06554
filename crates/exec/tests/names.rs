//! Tables of names over a real store, whatever is asked of its labels: compared with a plain loop.

use crate::harness::{open, write};
use foliot_exec::{Cancel, Limits, Meter, Query, names, series};
use foliot_model::{Cell, Item, Test};
use foliot_plan::rows::{Calculate, NameTable, Names, Operator, SourceName, SourceTest};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;

/// Measurement and labels of a source.
type Source = (&'static str, BTreeMap<&'static str, String>);

fn sources() -> Vec<Source> {
    let mut all = Vec::new();
    for host in 0..60 {
        for measurement in ["cpu", "disk"] {
            let mut labels = BTreeMap::from([("h", format!("host_{host}"))]);
            labels.insert("rack", (host % 5).to_string());
            if host % 7 != 0 {
                labels.insert("dc", if host % 2 == 0 { "eu" } else { "us" }.to_owned());
            }
            if measurement == "disk" && host < 20 {
                labels.insert("path", "/".to_owned());
            }
            if measurement == "cpu" || host % 3 == 0 {
                all.push((measurement, labels));
            }
        }
    }
    all
}

fn slot(name: &str) -> Calculate {
    Calculate::Slot(["h", "rack", "dc", "path"].iter().position(|other| *other == name).unwrap())
}

fn both(operator: Operator, left: Calculate, right: Calculate) -> Calculate {
    Calculate::Binary { operator, left: left.into(), right: right.into() }
}

fn compared(operator: Operator, label: &str, value: &str) -> Calculate {
    both(operator, slot(label), Calculate::Constant(Item::String(value.into())))
}

fn matches(label: &str, expression: &str, negated: bool) -> Calculate {
    let (text, test) = (Box::new(slot(label)), Test::regex(expression).unwrap());
    Calculate::Passes { text, test, negated }
}

/// A condition, and the same in plain Rust; an absent label is the empty text.
type Condition = (Calculate, fn(&dyn Fn(&str) -> String) -> bool);

fn conditions() -> Vec<Condition> {
    use Operator::{And, Equal, NotEqual, Or};
    let in_eu = || compared(Equal, "dc", "eu");
    vec![
        (in_eu(), |of| of("dc") == "eu"),
        (compared(NotEqual, "dc", "eu"), |of| of("dc") != "eu"),
        (compared(Equal, "dc", ""), |of| of("dc").is_empty()),
        (compared(NotEqual, "path", ""), |of| !of("path").is_empty()),
        (compared(Equal, "h", "host_17"), |of| of("h") == "host_17"),
        (compared(Equal, "h", "nobody"), |_| false),
        (matches("h", "^host_1", false), |of| of("h").starts_with("host_1")),
        (matches("h", "^(host_1|host_22)$", false), |of| {
            ["host_1", "host_22"].contains(&&*of("h"))
        }),
        (matches("h", "9$", true), |of| !of("h").ends_with('9')),
        (matches("dc", "^$|us", false), |of| of("dc").is_empty() || of("dc").contains("us")),
        (both(And, in_eu(), compared(Equal, "rack", "3")), |of| {
            of("dc") == "eu" && of("rack") == "3"
        }),
        (both(Or, in_eu(), compared(Equal, "dc", "")), |of| of("dc") != "us"),
        (both(Or, in_eu(), compared(Equal, "rack", "3")), |of| {
            of("dc") == "eu" || of("rack") == "3"
        }),
        (
            both(
                And,
                matches("h", "^host_2", false),
                both(Or, in_eu(), compared(Equal, "rack", "1")),
            ),
            { |of| of("h").starts_with("host_2") && (of("dc") == "eu" || of("rack") == "1") },
        ),
    ]
}

type Row = (String, Option<String>);

/// What a listing shows of a source.
fn shown(what: &Names, (measurement, labels): &Source) -> Vec<Row> {
    let labels_of =
        |test: &Test| labels.iter().filter(|(name, _)| test.passes(name)).collect::<Vec<_>>();
    match what {
        Names::Measurements | Names::MeasurementsAsWhole => {
            vec![((*measurement).to_owned(), None)]
        }
        Names::Series => {
            let pairs = labels.iter().map(|(name, value)| format!(",{name}={value}"));
            vec![(format!("{measurement}{}", pairs.collect::<String>()), None)]
        }
        Names::LabelNames(test) => {
            labels_of(test).into_iter().map(|(name, _)| ((*name).to_owned(), None)).collect()
        }
        Names::LabelValues(test) => {
            let row = |(name, value): (&&str, &String)| ((*name).to_owned(), Some(value.clone()));
            labels_of(test).into_iter().map(row).collect()
        }
    }
}

#[test]
fn names_under_conditions() {
    let engine = open();
    let sources = sources();
    for (measurement, labels) in &sources {
        let pairs = labels.iter().map(|(name, value)| format!(",{name}={value}"));
        let key = format!("{measurement}{}", pairs.collect::<String>());
        for field in ["x", "y"] {
            write(&engine, &key, field, &[(0, Cell::integer(1))]);
        }
    }
    let snapshot = engine.snapshot();
    let query =
        Query { snapshot: &snapshot, meter: Meter::new(Limits::default(), Cancel::default()) };
    let slots = ["h", "rack", "dc", "path"].map(|name| SourceName::Label(name.into())).to_vec();
    let whats = || {
        let some = Test::AnyOf(vec!["rack".into(), "dc".into()]);
        [
            Names::Measurements,
            Names::Series,
            Names::LabelNames(Test::Any),
            Names::LabelValues(Test::equal("h")),
            Names::LabelValues(some),
            Names::LabelValues(Test::regex("^(dc|path)$").unwrap()),
        ]
    };
    let everything: Condition = (Calculate::Constant(Item::Boolean(true)), |_| true);
    for (condition, holds) in conditions().into_iter().chain([everything]) {
        for measurement in [Test::Any, Test::equal("disk")] {
            let test = SourceTest {
                namespace: 0,
                measurements: measurement.clone(),
                condition: Some(condition.clone()),
                slots: slots.clone(),
            };
            let wanted: Vec<&Source> = sources
                .iter()
                .filter(|(of, labels)| {
                    let value = |name: &str| labels.get(name).cloned().unwrap_or_default();
                    measurement.passes(of) && holds(&value)
                })
                .collect();
            assert_eq!(series(&query, &test).unwrap().len(), 2 * wanted.len(), "{condition:?}");
            for what in whats() {
                for (title, offset, limit, is_count) in [
                    (None, 0, None, false),
                    (Some("all"), 0, None, true),
                    (None, 3, Some(4), false),
                    (Some("all"), 1, Some(2), false),
                ] {
                    let plan = NameTable {
                        of: vec![test.clone()],
                        what: what.clone(),
                        is_count,
                        title: title.map(Into::into),
                        group_by: [].into(),
                        columns: [].into(),
                        offset,
                        limit,
                    };
                    let expected = expected(&plan, &wanted);
                    assert_eq!(answered(&query, &plan), expected, "{plan:?}");
                }
            }
        }
    }
}

/// Rows of each table: the first and the last column of each.
fn expected(plan: &NameTable, wanted: &[&Source]) -> BTreeMap<String, Vec<Item>> {
    let mut tables: BTreeMap<String, BTreeSet<Row>> = BTreeMap::new();
    for source in wanted {
        let title = plan.title.as_deref().unwrap_or(source.0).to_owned();
        tables.entry(title).or_default().extend(shown(&plan.what, source));
    }
    let items = |rows: BTreeSet<Row>| -> Vec<Item> {
        if plan.is_count {
            return vec![Item::Integer(rows.len() as i64)];
        }
        let limit = plan.limit.map_or(usize::MAX, |limit| limit as usize);
        let rows = rows.into_iter().skip(plan.offset as usize).take(limit);
        let texts = rows.flat_map(|(name, value)| [Some(name), value]).flatten();
        texts.map(|text| Item::String(text.into())).collect()
    };
    tables.retain(|_, rows| !rows.is_empty());
    let tables = tables.into_iter().map(|(title, rows)| (title, items(rows)));
    tables.filter(|(_, items)| !items.is_empty()).collect()
}

fn answered(query: &Query<'_>, plan: &NameTable) -> BTreeMap<String, Vec<Item>> {
    let mut tables: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    names(query, plan, &mut |table| {
        tables.entry(table.head.name.to_string()).or_default().extend(table.rows().flatten());
        ControlFlow::Continue(())
    })
    .unwrap();
    tables
}

/// As InfluxDB 1.6.7 lists measurements: of those that have the tag, whatever other series lack it.
#[test]
fn measurements_meet_conditions_as_a_whole() {
    use Operator::{And, Equal, NotEqual, Or};
    let engine = open();
    for key in ["m,h=a", "m,h=b", "n,rack=1", "o,h=c"] {
        write(&engine, key, "x", &[(0, Cell::integer(1))]);
    }
    let snapshot = engine.snapshot();
    let query =
        Query { snapshot: &snapshot, meter: Meter::new(Limits::default(), Cancel::default()) };
    let slots = ["h", "rack", "dc", "path"].map(|name| SourceName::Label(name.into())).to_vec();
    for (condition, expected) in [
        (compared(Equal, "h", "a"), "m"),
        (compared(NotEqual, "h", "a"), "o"),
        (compared(NotEqual, "h", "zz"), "m o"),
        (matches("h", "a", true), "o"),
        (matches("h", "[ac]", false), "m o"),
        (compared(Equal, "dc", ""), ""),
        (compared(NotEqual, "dc", "x"), ""),
        (matches("dc", ".*", false), ""),
        (compared(Equal, "rack", ""), ""),
        (both(Or, compared(Equal, "h", "c"), compared(Equal, "rack", "1")), "n o"),
        (both(And, compared(Equal, "h", "a"), compared(Equal, "h", "b")), "m"),
    ] {
        let (measurements, asked) = (Test::Any, format!("{condition:?}"));
        let condition = Some(condition);
        let test = SourceTest { namespace: 0, measurements, condition, slots: slots.clone() };
        let plan = NameTable {
            of: vec![test],
            what: Names::MeasurementsAsWhole,
            is_count: false,
            title: Some("all".into()),
            group_by: [].into(),
            columns: [].into(),
            offset: 0,
            limit: None,
        };
        let items = answered(&query, &plan).remove("all").unwrap_or_default();
        let texts: Vec<String> = items
            .into_iter()
            .map(|item| match item {
                Item::String(text) => text.to_string(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(texts.join(" "), expected, "{asked}");
    }
}

#[test]
fn names_are_counted_by_labels() {
    let engine = open();
    for key in ["m,h=a,rack=1", "m,h=b,rack=1", "m,h=c", "n,rack=2"] {
        write(&engine, key, "x", &[(0, Cell::integer(1))]);
    }
    let snapshot = engine.snapshot();
    let query =
        Query { snapshot: &snapshot, meter: Meter::new(Limits::default(), Cancel::default()) };
    let of =
        SourceTest { namespace: 0, measurements: Test::Any, condition: None, slots: Vec::new() };
    let counts = |what: Names| {
        let plan = NameTable {
            of: vec![of.clone()],
            what,
            is_count: true,
            title: None,
            group_by: ["rack".into()].into(),
            columns: [].into(),
            offset: 0,
            limit: None,
        };
        let mut tables = Vec::new();
        names(&query, &plan, &mut |table| {
            let (_, rack) = &table.head.labels[0];
            tables.push(format!("{} {rack}: {:?}", table.head.name, table.columns[0].get(0)));
            ControlFlow::Continue(())
        })
        .unwrap();
        tables.join(", ")
    };
    let expected = "m : Integer(1), m 1: Integer(2), n 2: Integer(1)";
    assert_eq!(counts(Names::Series), expected);
    let hosts = Names::LabelValues(Test::equal("h"));
    assert_eq!(counts(hosts), "m : Integer(1), m 1: Integer(2)");
}
