//! Continuous queries: what the statement that makes one says beyond its text.

use super::ast::{ContinuousQuery, Expr, Op, Select, Source, Statement};
use foliot_model::TimeRange;

impl ContinuousQuery {
    /// The statement as it is stored: sources and target with their databases, and with `policy`
    /// where the statement leaves the policy of its database open.
    pub fn completed(&self, policy: &str) -> String {
        let mut query = self.clone();
        if let Some(target) = &mut query.select.target {
            complete(&mut target.database, &mut target.policy, &self.database, policy);
        }
        complete_sources(&mut query.select, &self.database, policy);
        Statement::CreateContinuousQuery(query).to_string()
    }

    /// Width and offset of the query's windows, in nanoseconds.
    ///
    /// # Errors
    /// With InfluxDB's sentence when it groups by no time.
    pub fn window_ns(&self) -> Result<(i64, i64), String> {
        let time = self.select.dimensions.iter().find_map(|dimension| match dimension {
            Expr::Call { name, args } if name == "time" => Some(args),
            _ => None,
        });
        let duration = |expr: Option<&Expr>| match expr {
            Some(Expr::Duration(duration_ns)) => Some(*duration_ns),
            _ => None,
        };
        let args = time.map_or(&[][..], Vec::as_slice);
        match duration(args.first()).filter(|width_ns| *width_ns > 0) {
            Some(width_ns) => Ok((width_ns, duration(args.get(1)).unwrap_or(0))),
            None => Err("must be a SELECT INTO clause with GROUP BY time(...)".to_owned()),
        }
    }

    /// The selection for one run, over `range` only.
    pub fn select_within(&self, range: TimeRange) -> Select {
        let mut select = self.select.clone();
        select.condition = Some(within(select.condition.take(), range));
        select
    }
}

fn complete_sources(select: &mut Select, database: &str, policy: &str) {
    for source in &mut select.sources {
        match source {
            Source::Measurement(named) => {
                complete(&mut named.database, &mut named.policy, database, policy);
            }
            Source::Subquery(inner) => complete_sources(inner, database, policy),
        }
    }
}

fn complete(
    database: &mut Option<String>,
    policy: &mut Option<String>,
    default_database: &str,
    default_policy: &str,
) {
    if database.is_none() {
        *database = Some(default_database.to_owned());
        policy.get_or_insert_with(|| default_policy.to_owned());
    }
}

/// A condition that also holds time within a range.
fn within(condition: Option<Expr>, range: TimeRange) -> Expr {
    let bound = |op, time_ns| Expr::Binary {
        op,
        left: Box::new(Expr::Var { name: "time".to_owned(), cast: None }),
        right: Box::new(Expr::Integer(time_ns)),
    };
    let both =
        |left, right| Expr::Binary { op: Op::And, left: Box::new(left), right: Box::new(right) };
    let times =
        both(bound(Op::GreaterOrEqual, range.start_ns), bound(Op::LessOrEqual, range.end_ns));
    match condition {
        Some(condition) => both(Expr::Paren(Box::new(condition)), times),
        None => times,
    }
}
