//! Aggregates: folds of the rows of a group.

use crate::calls::{Call, arguments_of};
use crate::lowering::{Lowering, name_of};
use crate::typed::{Type, Typed};
use crate::{SqlError, span};
use foliot_model::Item;
use foliot_plan::relation::{Fold, Folded, Formula};
use sqlparser::ast::{Expr, FunctionArg, FunctionArgExpr, FunctionArguments, OrderByExpr};

/// The fold of a name.
pub(crate) fn fold_of(name: &str) -> Option<Fold> {
    Some(match name {
        "count" => Fold::Count,
        "sum" => Fold::Sum,
        "avg" | "mean" => Fold::Mean,
        "min" => Fold::Smallest,
        "max" => Fold::Largest,
        "first" | "first_value" => Fold::Earliest,
        "last" | "last_value" => Fold::Latest,
        "stddev" | "stddev_samp" => Fold::Deviation,
        "stddev_pop" => Fold::DeviationOfAll,
        "variance" | "var" | "var_samp" => Fold::Variance,
        "var_pop" => Fold::VarianceOfAll,
        "median" | "approx_median" => Fold::Quantile(0.5),
        "percentile_cont" | "approx_percentile_cont" => Fold::Quantile(0.5),
        "bool_and" | "every" => Fold::All,
        "bool_or" => Fold::Any,
        _ => return None,
    })
}

/// Whether rows are folded anywhere in an expression.
pub(crate) fn is_in(expr: &Expr) -> bool {
    // Statements are short enough for the stack of this.
    match expr {
        Expr::Function(function) => {
            let call = Call::of(function);
            fold_of(&call.name).is_some() && function.over.is_none()
                || arguments_of(function).into_iter().any(is_in)
        }
        other => parts(other).into_iter().any(is_in),
    }
}

/// The expressions that stand in another one, which is no call.
fn parts(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::BinaryOp { left, right, .. }
        | Expr::IsDistinctFrom(left, right)
        | Expr::IsNotDistinctFrom(left, right) => vec![left, right],
        Expr::Between { expr, low, high, .. } => vec![expr, low, high],
        Expr::In { expr, target: sqlparser::ast::InTarget::List(list), .. } => {
            std::iter::once(&**expr).chain(list).collect()
        }
        Expr::Like { expr, pattern, .. } | Expr::ILike { expr, pattern, .. } => {
            vec![expr, pattern]
        }
        Expr::Case { operand, conditions, else_result, .. } => {
            let cases = conditions.iter().flat_map(|case| [&case.condition, &case.result]);
            let ends = operand.iter().chain(else_result).map(|expr| &**expr);
            cases.chain(ends).collect()
        }
        Expr::Nested(expr)
        | Expr::UnaryOp { expr, .. }
        | Expr::Cast { expr, .. }
        | Expr::Extract { expr, .. }
        | Expr::Ceil { expr, .. }
        | Expr::Floor { expr, .. }
        | Expr::Substring { expr, .. }
        | Expr::Trim { expr, .. }
        | Expr::Position { expr, .. }
        | Expr::AtTimeZone { timestamp: expr, .. }
        | Expr::IsNull(expr)
        | Expr::IsNotNull(expr)
        | Expr::IsTrue(expr)
        | Expr::IsNotTrue(expr)
        | Expr::IsFalse(expr)
        | Expr::IsNotFalse(expr)
        | Expr::IsUnknown(expr)
        | Expr::IsNotUnknown(expr) => vec![expr],
        _ => Vec::new(),
    }
}

impl Lowering<'_> {
    /// The fold that a call is; nothing where it is none.
    pub(crate) fn aggregate(
        &mut self,
        expr: &Expr,
        call: &Call<'_>,
    ) -> Result<Option<Typed>, SqlError> {
        let Some(fold) = fold_of(&call.name) else { return Ok(None) };
        if self.groups.is_none() {
            let text = match self.clause {
                "an aggregate" => "an aggregate of an aggregate: fold in a subquery first, such as \
                                   SELECT max(m) FROM (SELECT avg(x) AS m FROM t GROUP BY host) AS s"
                    .to_owned(),
                "WHERE" => "aggregates are not known to WHERE: write the condition in HAVING"
                    .to_owned(),
                clause => format!("there is no aggregate in {clause}: use a subquery"),
            };
            return span::error(expr, text);
        }
        if let Some(column) = self.count_of_rows(call, fold)? {
            return Ok(Some(column));
        }
        let arguments = call.arguments(expr)?;
        let of_first = |count: usize| match arguments.len() == count {
            true => Ok(()),
            false => span::error(expr, format!("{} takes {count} arguments", call.name)),
        };
        let mut rows = self.of_rows();
        let (mut fold, mut value, mut by) = (fold, None, Formula::Column(0));
        match fold {
            Fold::Earliest | Fold::Latest => {
                let (turned, times) = rows.times(expr, call, &arguments)?;
                by = times;
                if turned {
                    fold = if fold == Fold::Latest { Fold::Earliest } else { Fold::Latest };
                }
            }
            Fold::Quantile(_) if call.name.starts_with("p") || call.name.ends_with("cont") => {
                let (share, of) = rows.share(expr, call, &arguments)?;
                (fold, value) = (Fold::Quantile(share), Some(of));
            }
            _ => of_first(1)?,
        }
        let value = match (value, arguments.first()) {
            (Some(value), _) => value,
            (None, Some(first)) => rows.expr(first)?,
            (None, None) => return span::error(expr, format!("{} of what?", call.name)),
        };
        let (value, of) = fold_type(expr, call, fold, value)?;
        let condition = call.filter.map(|filter| rows.truth(filter)).transpose()?;
        let is_distinct = call.is_distinct;
        let folded = Folded { fold, of: value.formula, by, condition, is_distinct };
        Ok(Some(self.folded(folded, of)))
    }

    /// `count(*)`
    fn count_of_rows(&mut self, call: &Call<'_>, fold: Fold) -> Result<Option<Typed>, SqlError> {
        let is_of_rows = fold == Fold::Count
            && match &call.function.args {
                FunctionArguments::List(list) => {
                    matches!(&*list.args, [] | [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)])
                }
                _ => false,
            };
        if !is_of_rows {
            return Ok(None);
        }
        let mut rows = self.of_rows();
        let condition = call.filter.map(|filter| rows.truth(filter)).transpose()?;
        let folded = Folded {
            fold: Fold::Rows,
            of: Formula::Constant(Item::Null),
            by: Formula::Column(0),
            condition,
            is_distinct: false,
        };
        Ok(Some(self.folded(folded, Type::Integer)))
    }

    /// By which times values come first or last, and whether the order is turned round.
    fn times(
        &mut self,
        expr: &Expr,
        call: &Call<'_>,
        arguments: &[&Expr],
    ) -> Result<(bool, Formula), SqlError> {
        let (turned, times) = match (arguments, call.order_by()) {
            ([_, times], None) => (false, self.expr(times)?),
            ([_], Some([OrderByExpr { expr, options, .. }])) => {
                let is_descending = options.sort == Some(sqlparser::ast::OrderBySort::Desc);
                (is_descending, self.expr(expr)?)
            }
            ([_], None) => match self.scope.find("time") {
                Some((place, column)) => (false, Typed::new(Formula::Column(place), column.of)),
                None => {
                    let text = format!(
                        "{}(x, time): {} has no column time",
                        call.name,
                        name_of(self.scope)
                    );
                    return span::error(expr, text);
                }
            },
            _ => {
                let name = &call.name;
                let text = format!("write {name}(x, time), or {name}(x ORDER BY time)");
                return span::error(expr, text);
            }
        };
        match times.of {
            Type::Time | Type::Integer => Ok((turned, times.formula)),
            of => span::error(expr, format!("values come in an order of times, not of {of}")),
        }
    }

    /// `percentile_cont(share) WITHIN GROUP (ORDER BY x)`, or the share behind `x`.
    fn share(
        &mut self,
        expr: &Expr,
        call: &Call<'_>,
        arguments: &[&Expr],
    ) -> Result<(f64, Typed), SqlError> {
        let (share, of) = match (arguments, &*call.function.within_group) {
            ([share], [OrderByExpr { expr, .. }]) => (*share, expr),
            ([of, share, ..], []) => (*share, *of),
            _ => {
                let name = &call.name;
                let text =
                    format!("write {name}(0.95) WITHIN GROUP (ORDER BY x), or {name}(x, 0.95)");
                return span::error(expr, text);
            }
        };
        let found = self.expr(share)?;
        let number = match found.item() {
            Some(Item::Float(number)) => *number,
            Some(Item::Integer(number)) => *number as f64,
            _ => -1.0,
        };
        let is_descending =
            |by: &OrderByExpr| by.options.sort == Some(sqlparser::ast::OrderBySort::Desc);
        let number = match call.function.within_group.iter().any(is_descending) {
            true => 1.0 - number,
            false => number,
        };
        match (0.0..=1.0).contains(&number) {
            true => Ok((number, self.expr(of)?)),
            false => span::error(share, "a share of the values is a number from 0 to 1"),
        }
    }
}

/// The value that is folded, and the type of what it comes to.
pub(crate) fn fold_type(
    expr: &Expr,
    call: &Call<'_>,
    fold: Fold,
    value: Typed,
) -> Result<(Typed, Type), SqlError> {
    let wrong =
        |wanted: &str| span::error(expr, format!("{} takes {wanted}, not {}", call.name, value.of));
    let of = match fold {
        Fold::Rows | Fold::Count => Type::Integer,
        Fold::Sum if value.of.is_number() => value.of,
        Fold::Sum | Fold::Mean if value.of == Type::Interval => value.of,
        Fold::Mean if value.of == Type::Interval => value.of,
        Fold::Sum => return wrong("numbers"),
        Fold::Smallest | Fold::Largest | Fold::Earliest | Fold::Latest => value.of,
        Fold::Mean
        | Fold::Deviation
        | Fold::DeviationOfAll
        | Fold::Variance
        | Fold::VarianceOfAll
        | Fold::Quantile(_) => match value.of.is_number() {
            true => Type::Float,
            false => return wrong("numbers"),
        },
        Fold::All | Fold::Any => match value.of {
            Type::Boolean | Type::Null => Type::Boolean,
            _ => return wrong("booleans"),
        },
    };
    Ok((value, of))
}
