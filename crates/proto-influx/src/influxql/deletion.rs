//! What `DELETE` and `DROP SERIES` delete: conditions on tags and time, as selectors.

use super::ast::{Deletion, Expr, Measurement, Name, Op, Source};
use super::plan::time_range;
use foliot_model::{Matcher, NamespaceId, Selector, Test, TimeRange};

/// Alternatives that a condition may have: each becomes a delete of its own.
const ALTERNATIVES_MAX: usize = 100;

/// One delete: series, and which of their samples.
#[derive(Clone, Debug)]
pub struct Deleted {
    /// Which series; without names it means all measurements of the namespace.
    pub selector: Selector,
    /// Which samples.
    pub range: TimeRange,
}

/// The series and times that a deletion names, in one namespace. Together the selectors stand for
/// the condition's alternatives.
///
/// # Errors
/// With InfluxDB's sentence, when the condition is about fields or cannot be understood.
pub fn deletions(
    deletion: &Deletion,
    namespace: NamespaceId,
    now_ns: i64,
    is_field: &dyn Fn(&str) -> bool,
) -> Result<Vec<Deleted>, String> {
    let names = names(&deletion.sources)?;
    let alternatives = match &deletion.condition {
        None => vec![Alternative::default()],
        Some(condition) => alternatives(condition, now_ns, is_field)?,
    };
    let selector = |alternative: Alternative| Deleted {
        range: alternative.range,
        selector: Selector {
            namespace,
            names: names.clone(),
            matchers: alternative.matchers,
            exact_labels: None,
            only: None,
        },
    };
    Ok(alternatives.into_iter().map(selector).collect())
}

fn names(sources: &[Source]) -> Result<Vec<foliot_model::Name>, String> {
    let name = |source: &Source| {
        let Source::Measurement(Measurement { name, .. }) = source else {
            return Err("subqueries cannot be deleted from".to_owned());
        };
        let measurement = match name {
            Name::Is(name) => Test::equal(name.clone()),
            Name::Matches(regex) => Test::regex(regex).map_err(|error| error.to_string())?,
        };
        Ok(foliot_model::Name { measurement, field: Test::Any })
    };
    sources.iter().map(name).collect()
}

/// Conditions that hold together.
#[derive(Clone, Debug)]
struct Alternative {
    matchers: Vec<Matcher>,
    range: TimeRange,
}

impl Default for Alternative {
    fn default() -> Self {
        Self { matchers: Vec::new(), range: TimeRange::ALL }
    }
}

fn alternatives(
    condition: &Expr,
    now_ns: i64,
    is_field: &dyn Fn(&str) -> bool,
) -> Result<Vec<Alternative>, String> {
    match condition {
        Expr::Paren(inner) => alternatives(inner, now_ns, is_field),
        Expr::Binary { op: Op::Or, left, right } => {
            let mut all = alternatives(left, now_ns, is_field)?;
            all.append(&mut alternatives(right, now_ns, is_field)?);
            bound(all)
        }
        Expr::Binary { op: Op::And, left, right } => {
            let left = alternatives(left, now_ns, is_field)?;
            let right = alternatives(right, now_ns, is_field)?;
            let both = |a: &Alternative, b: &Alternative| {
                let matchers = [a.matchers.as_slice(), &b.matchers].concat();
                Alternative { matchers, range: a.range.intersect(&b.range) }
            };
            let joined = left.iter().flat_map(|a| right.iter().map(move |b| both(a, b)));
            bound(joined.take(ALTERNATIVES_MAX + 1).collect())
        }
        Expr::Binary { op, left, right } => {
            test(*op, left, right, now_ns, is_field).map(|it| vec![it])
        }
        _ => Err(format!("invalid expression in a deletion: {condition}")),
    }
}

fn bound(all: Vec<Alternative>) -> Result<Vec<Alternative>, String> {
    match all.len() > ALTERNATIVES_MAX {
        true => Err(format!("the condition has more than {ALTERNATIVES_MAX} alternatives")),
        false => Ok(all),
    }
}

fn test(
    op: Op,
    left: &Expr,
    right: &Expr,
    now_ns: i64,
    is_field: &dyn Fn(&str) -> bool,
) -> Result<Alternative, String> {
    let (name, op, value) = match (left, right) {
        (Expr::Var { name, .. }, value) => (name, op, value),
        (value, Expr::Var { name, .. }) => (name, mirrored(op), value),
        _ => return Err(format!("invalid expression in a deletion: {left} {} {right}", op.text())),
    };
    if name.eq_ignore_ascii_case("time") {
        let range = time_range(op, value, now_ns).map_err(|error| error.to_string())?;
        return Ok(Alternative { matchers: Vec::new(), range });
    }
    if is_field(name) {
        return Err("fields not supported in WHERE clause during deletion".to_owned());
    }
    let (test, accepts_absent) = match value {
        Expr::String(text) => (Test::equal(text.clone()), text.is_empty()),
        Expr::Regex(regex) => {
            let test = Test::regex(regex).map_err(|error| error.to_string())?;
            let accepts_absent = test.passes("");
            (test, accepts_absent)
        }
        // No tag has a value that is no string.
        _ => return Ok(Alternative { matchers: Vec::new(), range: TimeRange::new(0, -1) }),
    };
    let negated = match op {
        Op::Equal | Op::Matches => false,
        Op::NotEqual | Op::NotMatches => true,
        _ => return Err(format!("tags cannot be compared with {}", op.text())),
    };
    let accepts_absent = accepts_absent != negated;
    let matchers = vec![Matcher { name: name.clone(), test, negated, accepts_absent }];
    Ok(Alternative { matchers, range: TimeRange::ALL })
}

/// The operator with its sides exchanged.
const fn mirrored(op: Op) -> Op {
    match op {
        Op::Less => Op::Greater,
        Op::LessOrEqual => Op::GreaterOrEqual,
        Op::Greater => Op::Less,
        Op::GreaterOrEqual => Op::LessOrEqual,
        op => op,
    }
}

#[cfg(test)]
mod tests {
    use super::super::ast::{Parameters, Statement};
    use super::super::parse;
    use super::*;

    fn deleted(text: &str) -> Result<Vec<Deleted>, String> {
        let statement = parse(text, &Parameters::new()).unwrap().remove(0);
        let (Statement::Delete(deletion) | Statement::DropSeries(deletion)) = statement else {
            panic!("{text}");
        };
        deletions(&deletion, 7, 1_000, &|name| name == "v")
    }

    #[test]
    fn conditions_become_selectors_and_ranges() {
        let all = deleted("DELETE FROM a, /b.*/ WHERE time < 5 AND h = 'x' AND h2 !~ /y/").unwrap();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].range, TimeRange::new(i64::MIN, 4));
        assert_eq!(all[0].selector.names.len(), 2);
        assert!(all[0].selector.names[1].measurement.passes("xbx"));
        let matchers = &all[0].selector.matchers;
        assert_eq!((matchers[0].name.as_str(), matchers[0].accepts_absent), ("h", false));
        assert!(matchers[1].negated && matchers[1].accepts_absent);
        let all = deleted("DROP SERIES WHERE (h = 'x' OR h = 'y') AND k = ''").unwrap();
        assert_eq!(all.len(), 2);
        assert!(all[1].selector.matchers[1].accepts_absent);
        let times = deleted("DELETE WHERE time >= now() - 10u AND 20u >= time").unwrap();
        assert_eq!(times[0].range, TimeRange::new(1_000 - 10_000, 20_000));
        let date = deleted("DELETE WHERE time = '2000-01-01T00:00:00Z'").unwrap();
        assert_eq!(date[0].range.start_ns, 946_684_800_000_000_000);
        let date = deleted("DELETE WHERE time > '2000-01-01 00:00:01.5'").unwrap();
        assert_eq!(date[0].range.start_ns, 946_684_801_500_000_001);
        assert_eq!(
            deleted("DELETE WHERE time < '2000-01-01'").unwrap()[0].range.end_ns,
            946_684_799_999_999_999
        );
    }

    #[test]
    fn what_cannot_be_deleted_is_named() {
        assert_eq!(
            deleted("DELETE WHERE v > 1").unwrap_err(),
            "fields not supported in WHERE clause during deletion"
        );
        for (time, error) in [
            ("soon", "invalid operation: time and *influxql.StringLiteral are not compatible"),
            ("2000-01-01 23:59:60", "invalid timestamp string"),
            ("2000-01-01T00:00Z", "invalid timestamp string"),
            ("2000-01-01T24:00:00Z", "invalid timestamp string"),
            ("9999-12-31", "time 9999-12-31T00:00:00Z overflows time literal"),
        ] {
            let refused = deleted(&format!("DELETE WHERE time < '{time}'"));
            assert_eq!(refused.unwrap_err(), error, "{time}");
        }
        assert!(deleted("DELETE WHERE h < 'x'").unwrap_err().contains("with <"));
    }
}
