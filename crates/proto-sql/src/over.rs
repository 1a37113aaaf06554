//! OVER: what is told of a row by those around it.

use crate::aggregate::{fold_of, fold_type};
use crate::calls::Call;
use crate::expression::of_one_type;
use crate::lowering::Lowering;
use crate::select::ordered;
use crate::typed::{Type, Typed};
use crate::{SqlError, refused, span};
use foliot_model::Item;
use foliot_plan::relation::{Beside, Fold, Formula, Frame, Neighbours, Order, Relation, Windowed};
use sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, WindowFrame, WindowFrameBound,
    WindowFrameUnits, WindowSpec, WindowType,
};

/// Windows that differ in a SELECT: for each the rows are held and put in order once more.
const WINDOWS_MAX: usize = 8;

/// A partition and an order, which several functions may share.
type Window = (Vec<Formula>, Vec<Order>);

/// What rows of FROM, or groups of them, have beside their own columns.
#[derive(Clone, Debug, Default)]
pub(crate) struct Windows {
    /// How many columns of their own they have.
    width: usize,
    windows: Vec<Window>,
    /// Of which window each is told, in the order in which it was first asked for.
    told: Vec<(usize, Beside)>,
}

impl Windows {
    /// Beside so many columns nothing is told yet.
    pub(crate) fn beside(width: usize) -> Self {
        Self { width, ..Self::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// The column that something is told in; nothing where there are too many windows.
    fn place(&mut self, window: Window, beside: Beside) -> Option<Formula> {
        let known = self.windows.iter().position(|known| *known == window);
        let at = known.unwrap_or(self.windows.len());
        if known.is_none() {
            self.windows.push(window);
        }
        let told = (at, beside);
        let place = self.told.iter().position(|known| *known == told);
        let place = place.unwrap_or(self.told.len());
        if place == self.told.len() {
            self.told.push(told);
        }
        (self.windows.len() <= WINDOWS_MAX).then_some(Formula::Column(self.width + place))
    }

    /// The rows with all that is told of them.
    pub(crate) fn over(self, mut relation: Relation) -> Relation {
        let mut places = Vec::with_capacity(self.told.len());
        let count = self.windows.len();
        for (at, (partition, order)) in self.windows.into_iter().enumerate() {
            let own = self.told.iter().enumerate().filter(|(_, (window, _))| *window == at);
            let (own, told): (Vec<usize>, Vec<Beside>) =
                own.map(|(place, (_, beside))| (place, beside.clone())).unzip();
            places.extend(own);
            let windowed = Windowed { input: relation, partition, order, told };
            relation = Relation::Windowed(Box::new(windowed));
        }
        if count < 2 {
            return relation;
        }
        // They stand window by window, and are wanted as they were asked for.
        let mut columns: Vec<Formula> = (0..self.width).map(Formula::Column).collect();
        for place in 0..places.len() {
            let at = places.iter().position(|told| *told == place).unwrap_or_default();
            columns.push(Formula::Column(self.width + at));
        }
        Relation::Calculated { input: Box::new(relation), columns }
    }
}

impl Lowering<'_> {
    /// The column in which a function tells of rows by those around them.
    pub(crate) fn over(
        &mut self,
        expr: &Expr,
        (function, window): (&Function, &WindowType),
    ) -> Result<Typed, SqlError> {
        let Some(mut windows) = self.windows.take() else {
            return Err(refused::window(expr, self.clause));
        };
        // What stands in a window knows no other one.
        let clause = std::mem::replace(&mut self.clause, "a window");
        let lowered = self.beside(expr, (function, window));
        self.clause = clause;
        let placed = lowered.map(|(window, beside, of)| (windows.place(window, beside), of));
        self.windows = Some(windows);
        match placed? {
            (Some(formula), of) => Ok(Typed::new(formula, of)),
            (None, _) => {
                let text = format!(
                    "a SELECT has at most {WINDOWS_MAX} windows that differ: use a subquery"
                );
                span::error(expr, text)
            }
        }
    }

    /// The window of a function, what it tells, and the type of that.
    fn beside(
        &mut self,
        expr: &Expr,
        (function, window): (&Function, &WindowType),
    ) -> Result<(Window, Beside, Type), SqlError> {
        let call = Call::of(function);
        let is_plain = !call.is_distinct
            && call.filter.is_none()
            && call.order_by().is_none()
            && function.within_group.is_empty()
            && function.null_treatment.is_none();
        if !is_plain {
            let text = "over a window there is neither DISTINCT nor FILTER, IGNORE NULLS or an \
                        ORDER BY in the parentheses: write CASE WHEN ... THEN x END for some rows";
            return span::error(expr, text);
        }
        let spec = match window {
            WindowType::WindowSpec(spec) if spec.window_name.is_none() => spec,
            _ => {
                let text = "write the window itself behind OVER: (PARTITION BY ... ORDER BY ...)";
                return span::error(expr, text);
            }
        };
        let partition = spec.partition_by.iter().map(|by| self.expr(by).map(|typed| typed.formula));
        let partition = partition.collect::<Result<Vec<Formula>, SqlError>>()?;
        let order = spec.order_by.iter().map(|each| -> Result<Order, SqlError> {
            let by = self.expr(&each.expr)?.formula;
            Ok(Order { by, ..ordered(each, 0)? })
        });
        let order = order.collect::<Result<Vec<Order>, SqlError>>()?;
        let frame = self.frame(expr, spec)?;
        let (beside, of) = self.told(expr, &call, frame)?;
        Ok(((partition, order), beside, of))
    }

    /// What is told of each row, and its type.
    fn told(
        &mut self,
        expr: &Expr,
        call: &Call<'_>,
        frame: Frame,
    ) -> Result<(Beside, Type), SqlError> {
        let null = || Formula::Constant(Item::Null);
        let of_nothing = |what| Beside { what, of: null(), otherwise: null() };
        if is_of_rows(call) {
            let what = Neighbours::Folded(Fold::Rows, frame);
            return Ok((of_nothing(what), Type::Integer));
        }
        let arguments = call.arguments(expr)?;
        let value = |what, of: Typed| (Beside { what, of: of.formula, otherwise: null() }, of.of);
        Ok(match (&*call.name, &*arguments) {
            ("row_number", []) => (of_nothing(Neighbours::Number), Type::Integer),
            ("rank", []) => (of_nothing(Neighbours::Rank), Type::Integer),
            ("dense_rank", []) => (of_nothing(Neighbours::DenseRank), Type::Integer),
            ("lag" | "lead", [of, rest @ ..]) if rest.len() <= 2 => {
                return self.shifted(expr, &call.name, (of, rest));
            }
            ("first_value", [of]) => value(Neighbours::First(frame), self.expr(of)?),
            ("last_value", [of]) => value(Neighbours::Last(frame), self.expr(of)?),
            (name, [of]) if let Some(fold) = fold_of(name).filter(is_running) => {
                let of = self.expr(of)?;
                let (of, told) = fold_type(expr, call, fold, of)?;
                (value(Neighbours::Folded(fold, frame), of).0, told)
            }
            (name, _) => return Err(refused::over(expr, name)),
        })
    }

    /// `lag(x, rows, otherwise)`
    fn shifted(
        &mut self,
        expr: &Expr,
        name: &str,
        (of, rest): (&Expr, &[&Expr]),
    ) -> Result<(Beside, Type), SqlError> {
        let of = self.expr(of)?;
        let by = match rest.first() {
            None => 1,
            Some(by) => match self.expr(by)?.item() {
                Some(Item::Integer(by)) => *by,
                _ => return span::error(by, format!("{name} takes a whole number of rows")),
            },
        };
        let by = if name == "lag" { by.saturating_neg() } else { by };
        let otherwise = rest.get(1).map(|otherwise| self.expr(otherwise)).transpose()?;
        let otherwise = otherwise.unwrap_or_else(Typed::null);
        let (mut values, told) = of_one_type(expr, name, vec![of, otherwise])?;
        let otherwise = values.pop().unwrap_or(Formula::Constant(Item::Null));
        let of = values.pop().unwrap_or(Formula::Constant(Item::Null));
        Ok((Beside { what: Neighbours::Shifted(by), of, otherwise }, told))
    }

    /// The rows that a fold looks at: up to the last peer, unless others are said.
    fn frame(&mut self, expr: &Expr, spec: &WindowSpec) -> Result<Frame, SqlError> {
        let Some(frame) = &spec.window_frame else { return Ok(Frame::Peers) };
        let WindowFrame { units, start_bound, end_bound } = frame;
        let here = WindowFrameBound::CurrentRow;
        let end = end_bound.as_ref().unwrap_or(&here);
        match (units, start_bound, end) {
            (
                WindowFrameUnits::Range,
                WindowFrameBound::Preceding(None),
                WindowFrameBound::CurrentRow,
            ) => Ok(Frame::Peers),
            (_, WindowFrameBound::Preceding(None), WindowFrameBound::Following(None)) => {
                Ok(Frame::Rows(None, None))
            }
            (WindowFrameUnits::Rows, from, to) => {
                let from = match from {
                    WindowFrameBound::Preceding(None) => None,
                    bound => Some(self.bound(expr, bound)?),
                };
                let to = match to {
                    WindowFrameBound::Following(None) => None,
                    bound => Some(self.bound(expr, bound)?),
                };
                Ok(Frame::Rows(from, to))
            }
            _ => span::error(expr, FRAMES),
        }
    }

    /// How many rows behind a row a frame begins or ends.
    fn bound(&mut self, expr: &Expr, bound: &WindowFrameBound) -> Result<i64, SqlError> {
        let (number, sign) = match bound {
            WindowFrameBound::CurrentRow => return Ok(0),
            WindowFrameBound::Preceding(Some(number)) => (number, -1),
            WindowFrameBound::Following(Some(number)) => (number, 1),
            _ => return span::error(expr, FRAMES),
        };
        match self.expr(number)?.item() {
            Some(Item::Integer(number)) if *number >= 0 => Ok(sign * number),
            _ => span::error(number, "a frame goes over a whole number of rows, not below 0"),
        }
    }
}

/// What frames there are.
const FRAMES: &str = "a frame goes over rows, from its first to its last: write ROWS BETWEEN 5 \
                      PRECEDING AND CURRENT ROW, or group by time_bucket first for a length of time";

/// Whether a fold is told of frames.
fn is_running(fold: &Fold) -> bool {
    matches!(fold, Fold::Count | Fold::Sum | Fold::Mean | Fold::Smallest | Fold::Largest)
}

/// `count(*)`
fn is_of_rows(call: &Call<'_>) -> bool {
    let FunctionArguments::List(list) = &call.function.args else { return false };
    call.name == "count"
        && matches!(&*list.args, [] | [FunctionArg::Unnamed(FunctionArgExpr::Wildcard)])
}
