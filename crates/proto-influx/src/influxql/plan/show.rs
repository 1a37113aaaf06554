//! `SHOW` of what is stored, and conditions on series.

use super::calculate::calculate;
use super::condition::{TIME_MAX_NS, TIME_MIN_NS, split};
use super::fold::Known;
use super::{Context, PlanError, measurement_test, regex};
use crate::influxql::ast::{Clauses, Counted, Expr, KeyTest, Measurement, Name, Show, Source};
use foliot_model::{Item, Kind, NamespaceId, Table, TableHead, TableShape, Test, TimeRange};
use foliot_plan::rows::{NameTable, Names, SourceName, SourceTest};
use jiff::tz::TimeZone;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A planned `SHOW`.
#[derive(Clone, Debug)]
pub enum Shown {
    /// The answer, which took no more than planning.
    Tables(Vec<Table>),
    /// What is to be listed.
    Names(Box<NameTable>),
}

/// Plans the listings of measurements, series, fields and tags, and their counts; nothing for the
/// others, which are not about what is stored. `namespaces` are those of the database that `ON` or
/// the request names.
///
/// # Errors
/// When a condition makes no sense, or a source does not exist.
pub fn plan_show(
    show: &Show,
    namespaces: &[NamespaceId],
    context: &Context<'_>,
) -> Result<Option<Shown>, PlanError> {
    let table = |clauses: &Clauses, what, title: Option<&str>, columns: &[&str]| {
        name_table(clauses, what, title, columns, namespaces, context)
            .map(|table| Some(Shown::Names(Box::new(table))))
    };
    match show {
        Show::Measurements { with, clauses } => {
            let mut clauses = clauses.clone();
            clauses.sources = with.iter().cloned().map(Source::Measurement).collect();
            refuse_time(&clauses, "SHOW MEASUREMENTS")?;
            table(&clauses, Names::MeasurementsAsWhole, Some("measurements"), &["name"])
        }
        Show::Series(clauses) => table(clauses, Names::Series, Some(""), &["key"]),
        Show::FieldKeys(clauses) => fields(clauses, false, context).map(Some),
        Show::TagKeys { with, clauses } => {
            let test = with.as_ref().map_or(Ok(Test::Any), key_test)?;
            table(clauses, Names::LabelNames(test), None, &["tagKey"])
        }
        Show::TagValues { with, clauses } => {
            table(clauses, Names::LabelValues(key_test(with)?), None, &["key", "value"])
        }
        Show::Cardinality { of, exact, clauses } => {
            count(of, *exact, clauses, namespaces, context).map(Some)
        }
        _ => Ok(None),
    }
}

fn count(
    of: &Counted,
    exact: bool,
    clauses: &Clauses,
    namespaces: &[NamespaceId],
    context: &Context<'_>,
) -> Result<Shown, PlanError> {
    let named = match of {
        Counted::Measurements => Some("SHOW MEASUREMENT EXACT CARDINALITY"),
        Counted::Series => Some("SHOW SERIES EXACT CARDINALITY"),
        Counted::TagKeys => Some("SHOW TAG KEY EXACT CARDINALITY"),
        Counted::FieldKeys => Some("SHOW FIELD KEY CARDINALITY"),
        Counted::TagValues(_) => None,
    };
    named.map_or(Ok(()), |named| refuse_time(clauses, named))?;
    let is_plain = !exact && clauses.sources.is_empty() && clauses.condition.is_none();
    let estimate = ["cardinality estimation"];
    let (what, title, columns): (Names, Option<&str>, &[&str]) = match of {
        Counted::Measurements if is_plain => (Names::Measurements, Some(""), &estimate),
        Counted::Series if is_plain => (Names::Series, Some(""), &estimate),
        Counted::Measurements => (Names::Measurements, Some(""), &["count"]),
        Counted::Series => (Names::Series, None, &["count"]),
        Counted::TagKeys => (Names::LabelNames(Test::Any), None, &["count"]),
        Counted::TagValues(test) => (Names::LabelValues(key_test(test)?), None, &["count"]),
        Counted::FieldKeys => return fields(clauses, true, context),
    };
    let table = name_table(clauses, what, title, columns, namespaces, context)?;
    Ok(Shown::Names(Box::new(NameTable { is_count: true, ..table })))
}

/// Some listings are of all times, and say so.
fn refuse_time(clauses: &Clauses, statement: &str) -> Result<(), PlanError> {
    match clauses.condition.as_ref().is_some_and(names_time) {
        true => Err(PlanError::new(format!("{statement} doesn't support time in WHERE clause"))),
        false => Ok(()),
    }
}

fn names_time(expr: &Expr) -> bool {
    match expr {
        Expr::Var { name, .. } => name == "time",
        Expr::Binary { left, right, .. } => names_time(left) || names_time(right),
        Expr::Paren(inner) => names_time(inner),
        _ => false,
    }
}

fn name_table(
    clauses: &Clauses,
    what: Names,
    title: Option<&str>,
    columns: &[&str],
    namespaces: &[NamespaceId],
    context: &Context<'_>,
) -> Result<NameTable, PlanError> {
    let condition = clauses.condition.as_ref();
    let test = |sources: &[Source], namespace: NamespaceId| {
        series_condition(sources, condition, namespace, context.now_ns).map(|(test, _)| test)
    };
    let mut of = Vec::new();
    let mut elsewhere = Vec::new();
    for source in &clauses.sources {
        if let Some(namespaces) = named_namespaces(source, clauses, context)? {
            for namespace in namespaces {
                of.push(test(std::slice::from_ref(source), namespace)?);
            }
        } else {
            elsewhere.push(source.clone());
        }
    }
    if clauses.sources.is_empty() || !elsewhere.is_empty() {
        for namespace in namespaces {
            of.push(test(&elsewhere, *namespace)?);
        }
    }
    let names = clauses.dimensions.iter().filter_map(|dimension| match dimension {
        Expr::Var { name, .. } => Some(Arc::from(name.as_str())),
        _ => None,
    });
    let group_by: BTreeSet<Arc<str>> = names.collect();
    Ok(NameTable {
        of,
        what,
        is_count: false,
        title: title.map(Arc::from),
        group_by: group_by.into_iter().collect(),
        columns: columns.iter().map(|name| Arc::from(*name)).collect(),
        offset: clauses.offset,
        limit: (clauses.limit > 0).then_some(clauses.limit),
    })
}

/// Where a source lies that names its database or policy; nothing if it names neither.
fn named_namespaces(
    source: &Source,
    clauses: &Clauses,
    context: &Context<'_>,
) -> Result<Option<BTreeSet<NamespaceId>>, PlanError> {
    let Source::Measurement(measurement) = source else { return Ok(None) };
    if measurement.database.is_none() && measurement.policy.is_none() {
        return Ok(None);
    }
    let database = measurement.database.clone().or_else(|| clauses.database.clone());
    let measurement = Measurement { database, ..measurement.clone() };
    let shapes = (context.shapes)(&measurement, &Test::Any).map_err(PlanError::new)?;
    Ok(Some(shapes.iter().map(|shape| shape.namespace).collect()))
}

/// The sources that the clauses `FROM` and `WHERE` of a listing or deletion want, and the range of
/// time they name. Names in the condition are those of tags.
///
/// # Errors
/// When the condition makes no sense.
pub fn series_condition(
    sources: &[Source],
    condition: Option<&Expr>,
    namespace: NamespaceId,
    now_ns: i64,
) -> Result<(SourceTest, TimeRange), PlanError> {
    let known = Known { now_ns: Some(now_ns), zone: TimeZone::UTC, math: true };
    let (rest, bounds) = split(condition.cloned(), &known)?;
    let mut slots = Vec::new();
    let condition = match &rest {
        None => None,
        Some(rest) => Some(calculate(&as_tags(rest), true, &mut |expr| {
            let Expr::Var { name, .. } = expr else { return Ok(None) };
            slots.push(match name.as_str() {
                "_name" => SourceName::Measurement,
                name => SourceName::Label(name.into()),
            });
            Ok(Some(slots.len() - 1))
        })?),
    };
    let range =
        TimeRange::new(bounds.min_ns.unwrap_or(TIME_MIN_NS), bounds.max_ns.unwrap_or(TIME_MAX_NS));
    let measurements = measurements(sources)?;
    Ok((SourceTest { namespace, measurements, condition, slots }, range))
}

/// The same expression with every name marked as that of a tag.
fn as_tags(expr: &Expr) -> Expr {
    use crate::influxql::ast::Cast;
    match expr {
        Expr::Var { name, .. } => Expr::Var { name: name.clone(), cast: Some(Cast::Tag) },
        Expr::Binary { op, left, right } => {
            Expr::Binary { op: *op, left: Box::new(as_tags(left)), right: Box::new(as_tags(right)) }
        }
        Expr::Paren(inner) => Expr::Paren(Box::new(as_tags(inner))),
        other => other.clone(),
    }
}

fn measurements(sources: &[Source]) -> Result<Test, PlanError> {
    let names = sources.iter().filter_map(|source| match source {
        Source::Measurement(measurement) => Some(&measurement.name),
        Source::Subquery(_) => None,
    });
    let names: Vec<&Name> = names.collect();
    match names.as_slice() {
        [] => Ok(Test::Any),
        [one] => measurement_test(one),
        many => {
            let mut texts = Vec::new();
            let mut patterns = Vec::new();
            for name in many {
                match name {
                    Name::Is(name) => texts.push(name.clone()),
                    Name::Matches(pattern) => patterns.push(pattern.clone()),
                }
            }
            if patterns.is_empty() {
                return Ok(Test::AnyOf(texts));
            }
            patterns.extend(texts.iter().map(|text| format!("^{}$", escape(text))));
            let any: Vec<String> =
                patterns.iter().map(|pattern| format!("(?:{pattern})")).collect();
            regex(&any.join("|"))
        }
    }
}

/// A text as a regular expression that only it fits.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_punctuation() {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn key_test(test: &KeyTest) -> Result<Test, PlanError> {
    Ok(match test {
        KeyTest::Equal(name) => Test::equal(name.as_str()),
        KeyTest::In(names) => Test::AnyOf(names.clone()),
        KeyTest::Matches(pattern) => regex(pattern)?,
        KeyTest::NotEqual(name) => Test::Not(Box::new(Test::equal(name.as_str()))),
        KeyTest::NotMatches(pattern) => Test::Not(Box::new(regex(pattern)?)),
    })
}

/// `SHOW FIELD KEYS`, or how many there are.
fn fields(clauses: &Clauses, is_count: bool, context: &Context<'_>) -> Result<Shown, PlanError> {
    let all = Measurement {
        database: clauses.database.clone(),
        policy: None,
        name: Name::Matches(String::new()),
    };
    let sources: Vec<Measurement> = match clauses.sources.is_empty() {
        true => vec![all],
        false => clauses
            .sources
            .iter()
            .filter_map(|source| match source {
                Source::Measurement(measurement) => {
                    let mut measurement = measurement.clone();
                    measurement.database =
                        measurement.database.or_else(|| clauses.database.clone());
                    Some(measurement)
                }
                Source::Subquery(_) => None,
            })
            .collect(),
    };
    let mut shapes: BTreeMap<Arc<str>, TableShape> = BTreeMap::new();
    for source in &sources {
        for shape in (context.shapes)(source, &Test::Any).map_err(PlanError::new)? {
            // The policies of a database may know different fields of one measurement.
            match shapes.entry(shape.measurement.clone()) {
                Entry::Vacant(place) => {
                    place.insert(shape);
                }
                Entry::Occupied(mut place) => {
                    let known = place.get_mut();
                    for (name, kind) in shape.fields {
                        if known.kind(&name).is_none() {
                            known.fields.push((name, kind));
                            known.fields.sort();
                        }
                    }
                }
            }
        }
    }
    let names: &[&str] = if is_count { &["count"] } else { &["fieldKey", "fieldType"] };
    let columns: Arc<[Arc<str>]> = names.iter().map(|name| Arc::from(*name)).collect();
    let table = |(name, shape): (Arc<str>, TableShape)| {
        let items = match is_count {
            true => vec![Item::Integer(i64::try_from(shape.fields.len()).unwrap_or(i64::MAX))],
            false => field_items(&shape, clauses),
        };
        let head = TableHead { name, labels: Vec::new(), columns: columns.clone() };
        Table::of_rows(Arc::new(head), items, true)
    };
    let tables = shapes.into_iter().map(table).filter(|table| table.row_count() > 0);
    Ok(Shown::Tables(tables.collect()))
}

fn field_items(shape: &TableShape, clauses: &Clauses) -> Vec<Item> {
    let offset = usize::try_from(clauses.offset).unwrap_or(usize::MAX);
    let limit = usize::try_from(clauses.limit).unwrap_or(usize::MAX);
    let limit = if limit == 0 { usize::MAX } else { limit };
    let wanted = shape.fields.iter().skip(offset).take(limit);
    let items = wanted.flat_map(|(name, kind)| {
        let kind = match kind {
            Kind::Float => "float",
            Kind::Integer => "integer",
            Kind::Unsigned => "unsigned",
            Kind::Boolean => "boolean",
            Kind::String | Kind::Histogram => "string",
        };
        [Item::String(name.clone()), Item::String(kind.into())]
    });
    items.collect()
}
