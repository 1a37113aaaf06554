//! Expressions to questions.

use super::functions::Callable;
use super::{
    At, Binary, Dialect, Expression, Meeting, Node, Selected, Shifted, Type, VectorSelector,
};
use foliot_model::{NANOS_PER_MILLI, NamespaceId, Pattern, TimeRange};
use foliot_plan::Series;
use foliot_plan::grid::{
    self, Calculation, Described, Each, Figure, Fill, Function, Grid, GridAggregate, GroupFold,
    HistogramFigure, Histograms, Instants, Labels, Many, Matching, Math, NewValue, Operator, Over,
    Place, RangeFold, Relabel, Samples, Shift, Sides, Stamp, Steps, Stored,
};

/// Bits of the NaN that marks a series as over.
pub(crate) const STALE: u64 = 0x7ff0_0000_0000_0002;

/// The step of a subquery that says none, in milliseconds: Prometheus' evaluation interval.
const STEP_MS: i64 = 60_000;

/// Which instants are asked about.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The first one, in milliseconds.
    pub start_ms: i64,
    /// None is later.
    pub end_ms: i64,
    /// Time between two, in milliseconds; more than 0.
    pub step_ms: i64,
    /// How long a sample counts when no later one follows it.
    pub lookback_ms: i64,
    /// Whether a range was asked about, and not one instant.
    pub is_range: bool,
}

impl Span {
    /// The instant that stands behind `@`, in milliseconds.
    fn of(&self, at: At) -> i64 {
        match at {
            At::Ms(ms) => ms,
            At::Start => self.start_ms,
            At::End => self.end_ms,
        }
    }

    /// The instants.
    pub fn steps(&self) -> Steps {
        let step_ms = self.step_ms.max(1);
        let last = self.end_ms.saturating_sub(self.start_ms).div_euclid(step_ms);
        Steps {
            start_ns: ns(self.start_ms),
            step_ns: ns(step_ms),
            count: usize::try_from(last.saturating_add(1)).unwrap_or_default(),
        }
    }
}

/// What is asked of the store.
#[derive(Clone, Debug)]
pub enum Asked {
    /// Nothing: the answer is a text.
    Text(String),
    /// The samples of series, as they are stored.
    Samples(Box<SamplesAsked>),
    /// Values at instants.
    Grid(Grid),
}

/// The samples of series.
#[derive(Clone, Debug)]
pub struct SamplesAsked {
    /// Whose samples; measurements are looked at by [`SamplesAsked::has_name`] besides.
    pub plan: Series,
    selected: Selected,
}

impl SamplesAsked {
    /// Samples of what a selector wants, behind the first instant and up to the last.
    pub(crate) fn new(
        namespace: NamespaceId,
        selector: VectorSelector,
        (start_ns, end_ns): (i64, i64),
    ) -> Self {
        let range = TimeRange::new(start_ns.saturating_add(1), end_ns);
        let plan = Series::Select { selector: selector.selector(namespace), range };
        Self { plan, selected: Selected { selector, shift: Shifted::default() } }
    }

    /// Whether a metric of this name is wanted.
    pub fn has_name(&self, name: &str) -> bool {
        self.selected.selector.names().iter().all(|matcher| matcher.matches(Some(name)))
    }
}

fn ns(ms: i64) -> i64 {
    ms.saturating_mul(NANOS_PER_MILLI)
}

impl Expression {
    /// The question that this is, of a database.
    ///
    /// # Errors
    /// When a text in it is no regular expression.
    pub fn ask(&self, namespace: NamespaceId, span: &Span) -> Result<Asked, String> {
        let (buckets, is_measured) = (Buckets::Kept, false);
        self.ask_by(&Lowering { namespace, span, buckets, is_measured })
    }

    /// The instants of a subquery that is asked by itself, which lie in its range: there may be
    /// none. Nothing of any other expression.
    pub fn instants(&self, span: &Span) -> Option<Span> {
        let Node::Subquery { range_ms, step_ms, shift, .. } = &self.what else { return None };
        let at_ms = shift.at.map_or(span.end_ms, |at| span.of(at));
        let end_ms = at_ms.saturating_sub(shift.offset_ms.unwrap_or(0));
        let step_ms = step_ms.unwrap_or(STEP_MS);
        let before_ms = end_ms.saturating_sub(*range_ms);
        let start_ms = before_ms.div_euclid(step_ms).saturating_add(1).saturating_mul(step_ms);
        Some(Span { start_ms, end_ms, step_ms, is_range: true, ..*span })
    }

    /// The same; what each step takes is measured, for [`Expression::explained`].
    ///
    /// # Errors
    /// As [`Expression::ask`].
    pub fn ask_measured(&self, namespace: NamespaceId, span: &Span) -> Result<Asked, String> {
        let (buckets, is_measured) = (Buckets::Kept, true);
        self.ask_by(&Lowering { namespace, span, buckets, is_measured })
    }

    fn ask_by(&self, lowering: &Lowering<'_>) -> Result<Asked, String> {
        let Lowering { namespace, span, .. } = *lowering;
        match (&self.what, self.kind) {
            (Node::Text(text), _) => Ok(Asked::Text(text.clone())),
            (Node::Range(selected, range_ms), _) => {
                let shift = lowering.shift(&selected.shift);
                let end_ns = shift.at_ns.unwrap_or(ns(span.end_ms)).saturating_sub(shift.offset_ns);
                let range = (end_ns.saturating_sub(ns(*range_ms)), end_ns);
                let asked = SamplesAsked::new(namespace, selected.selector.clone(), range);
                Ok(Asked::Samples(Box::new(asked)))
            }
            (what, _) => {
                let grid = match what {
                    Node::Subquery { input, .. } => lowering.with_buckets().grid(input)?,
                    _ => lowering.grid(self)?,
                };
                Ok(Asked::Grid(match self.dialect {
                    Dialect::Plain => grid,
                    Dialect::Experimental { .. } => Grid::NamedLate(Box::new(grid)),
                }))
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Lowering<'s> {
    namespace: NamespaceId,
    span: &'s Span,
    buckets: Buckets,
    is_measured: bool,
}

/// Whether buckets of histograms are wanted, by what stands around a selector.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Buckets {
    /// Nothing says that they are not.
    Kept,
    /// Only counts and sums are.
    Skipped,
    /// Something asks for them.
    Wanted,
}

impl Lowering<'_> {
    fn shift(&self, shift: &Shifted) -> Shift {
        let at_ms = shift.at.map(|at| self.span.of(at));
        Shift { at_ns: at_ms.map(ns), offset_ns: ns(shift.offset_ms.unwrap_or(0)) }
    }

    fn stored(&self, selected: &Selected) -> Stored {
        let shift = self.shift(&selected.shift);
        let skips_buckets = self.buckets == Buckets::Skipped;
        Stored { shift, skips_buckets, ..selected.selector.stored(self.namespace) }
    }

    /// The same within something that needs the buckets of histograms.
    fn with_buckets(&self) -> Self {
        Self { buckets: Buckets::Wanted, ..*self }
    }

    /// The same within something that needs their counts and sums only.
    fn without_buckets(&self) -> Self {
        match self.buckets {
            Buckets::Wanted => *self,
            Buckets::Kept | Buckets::Skipped => Self { buckets: Buckets::Skipped, ..*self },
        }
    }

    fn instants(&self, selected: &Selected, stamps: bool) -> Grid {
        let stored = self.stored(selected);
        let lookback_ns = ns(self.span.lookback_ms);
        Grid::Instants(Instants { stored, lookback_ns, stale_bits: STALE, stamps })
    }

    fn grid(&self, of: &Expression) -> Result<Grid, String> {
        let grid = self.bare_grid(of)?;
        Ok(match self.is_measured {
            true => Grid::Measured { step: of.step(), input: Box::new(grid) },
            false => grid,
        })
    }

    fn bare_grid(&self, of: &Expression) -> Result<Grid, String> {
        match &of.what {
            Node::Number(number) | Node::Length(number) => Ok(Grid::Number(*number)),
            Node::Series(selected) => Ok(self.instants(selected, false)),
            Node::Signed(input) => self.grid(input),
            Node::Negated(input) => each(self.grid(input)?, Function::Math(Math::Negated)),
            Node::Binary(binary) => self.binary(binary),
            Node::Aggregate { name, by, parameter, input } => {
                let (input, input_place) = (self.grid(input)?, input.place);
                let fold = self.group_fold(name, parameter.as_deref())?;
                let place = parameter.as_ref().map_or(of.place, |parameter| parameter.place);
                let picks = matches!(fold, GroupFold::Top(_) | GroupFold::Bottom(_));
                let histograms_place = if picks { of.place } else { input_place };
                let by = by.clone();
                let aggregate = GridAggregate { input, by, fold, place, histograms_place };
                Ok(Grid::Aggregate(Box::new(aggregate)))
            }
            Node::Call { function, arguments } => self.call(function, arguments, of.place),
            Node::Text(_) | Node::Range(..) | Node::Subquery { .. } => {
                Err(format!("unexpected {}", of.kind))
            }
        }
    }

    fn binary(&self, of: &Binary) -> Result<Grid, String> {
        let within = match of.operator {
            Operator::Trim { .. } => self.with_buckets(),
            _ => *self,
        };
        let (left, right) = (within.grid(&of.left)?, within.grid(&of.right)?);
        let sides = match (of.left.kind, of.right.kind) {
            (Type::Scalar, Type::Scalar) => Sides::Scalars,
            (Type::Scalar, _) => Sides::LeftScalar,
            (_, Type::Scalar) => Sides::RightScalar,
            _ => {
                let all = Meeting {
                    by: Labels::Without(Vec::new()),
                    many: Many::None,
                    include: Vec::new(),
                    fill: Fill::default(),
                };
                let Meeting { by, many, include, fill } = of.matching.clone().unwrap_or(all);
                let is_set = matches!(of.operator, Operator::And | Operator::Or | Operator::Unless);
                let many = if is_set { Many::Both } else { many };
                Sides::Vectors(Matching { by, many, include, fill })
            }
        };
        let (operator, place) = (of.operator, of.left.opens);
        Ok(Grid::Binary(Box::new(grid::Binary { left, right, operator, sides, place })))
    }

    fn group_fold(&self, name: &str, parameter: Option<&Expression>) -> Result<GroupFold, String> {
        let number = || match parameter {
            Some(parameter) => self.grid(parameter),
            None => Ok(Grid::Number(f64::NAN)),
        };
        if let Some(fold) = plain_fold(name) {
            return Ok(fold);
        }
        Ok(match name {
            "quantile" => GroupFold::Quantile(number()?),
            "topk" => GroupFold::Top(number()?),
            "bottomk" => GroupFold::Bottom(number()?),
            "limitk" => GroupFold::Some(number()?),
            "limit_ratio" => GroupFold::Part(number()?),
            "count_values" => match parameter.and_then(text) {
                Some("") | None => return Err("invalid label name \"\"".to_owned()),
                Some(name) => GroupFold::CountValues(name.into()),
            },
            name => return Err(format!("unknown aggregation {name:?}")),
        })
    }

    fn over(&self, of: &Expression, fold: RangeFold) -> Result<Grid, String> {
        self.over_at(of, fold, of.place)
    }

    fn over_at(&self, of: &Expression, fold: RangeFold, place: Place) -> Result<Grid, String> {
        let (samples, range_ms) = match &of.what {
            Node::Range(selected, range_ms) => {
                (Samples::Stored(self.stored(selected), STALE), *range_ms)
            }
            Node::Subquery { input, range_ms, step_ms, shift } => {
                let step_ns = ns(step_ms.unwrap_or(STEP_MS));
                let (input, shift) = (self.with_buckets().grid(input)?, self.shift(shift));
                (Samples::Grid { input, step_ns, shift }, *range_ms)
            }
            _ => return Err(format!("unexpected {}", of.kind)),
        };
        let is_read = self.is_measured && matches!(samples, Samples::Stored(..));
        let (range_ns, loose, read) = (ns(range_ms), None, is_read.then(|| of.step()));
        Ok(Grid::Over(Box::new(Over { samples, range_ns, fold, loose, place, read })))
    }

    fn call(
        &self,
        function: &Callable,
        arguments: &[Expression],
        place: Place,
    ) -> Result<Grid, String> {
        if let Some(math) = math(function.name) {
            let input = match arguments {
                [] => Grid::Time,
                [input, ..] => self.grid(input)?,
            };
            return each(input, Function::Math(math));
        }
        if let (Some(figure), [input]) = (figure(function.name), arguments) {
            let within = match figure {
                Figure::Count | Figure::Sum | Figure::Average => self.without_buckets(),
                Figure::Deviation | Figure::Variance => *self,
            };
            return each(within.grid(input)?, Function::Of(figure));
        }
        if let Some(seconds) = self.of_span(function.name) {
            return Ok(Grid::Number(seconds));
        }
        match (function.name, arguments) {
            ("time", _) => Ok(Grid::Time),
            ("pi", _) => Ok(Grid::Number(std::f64::consts::PI)),
            ("vector", [input]) => self.grid(input),
            ("scalar", [input]) => Ok(Grid::Scalar(Box::new(self.grid(input)?))),
            ("timestamp", [input]) => match &input.what {
                Node::Series(selected) => Ok(self.instants(selected, true)),
                _ => each(self.grid(input)?, Function::Instant),
            },
            ("round", [input, rest @ ..]) => {
                let to = rest.first().map_or(Ok(Grid::Number(1.0)), |to| self.grid(to))?;
                each(self.grid(input)?, Function::Rounded(to))
            }
            ("clamp", [input, low, high]) => {
                let bounds = Function::Clamped(self.grid(low)?, self.grid(high)?);
                each(self.grid(input)?, bounds)
            }
            ("clamp_min", [input, low]) => {
                let bounds = Function::Clamped(self.grid(low)?, Grid::Number(f64::INFINITY));
                each(self.grid(input)?, bounds)
            }
            ("clamp_max", [input, high]) => {
                let bounds = Function::Clamped(Grid::Number(f64::NEG_INFINITY), self.grid(high)?);
                each(self.grid(input)?, bounds)
            }
            ("label_replace" | "label_join", [input, rest @ ..]) => {
                self.relabel(function.name, input, rest)
            }
            _ => self.call_of_series(function, arguments, place),
        }
    }

    /// What looks at series as a whole, or at the question.
    fn call_of_series(
        &self,
        function: &Callable,
        arguments: &[Expression],
        place: Place,
    ) -> Result<Grid, String> {
        match (function.name, arguments) {
            ("min_of" | "max_of", [left, right]) => {
                let is_lower = function.name == "min_of";
                let calculation = if is_lower { Calculation::Lower } else { Calculation::Higher };
                let (operator, place) = (Operator::Calculate(calculation), place);
                let (left, right, sides) = (self.grid(left)?, self.grid(right)?, Sides::Scalars);
                Ok(Grid::Binary(Box::new(grid::Binary { left, right, operator, sides, place })))
            }
            ("sort" | "sort_desc", [input]) => Ok(Grid::Sorted {
                input: Box::new(self.grid(input)?),
                descending: function.name == "sort_desc",
                place,
            }),
            ("sort_by_label" | "sort_by_label_desc", [input, names @ ..]) => {
                let names: Option<Vec<_>> =
                    names.iter().map(|of| text(of).map(Into::into)).collect();
                Ok(Grid::SortedByLabels {
                    input: Box::new(self.grid(input)?),
                    descending: function.name == "sort_by_label_desc",
                    labels: names.ok_or_else(|| wrong(function.name))?,
                    place,
                })
            }
            ("info", [input, facts @ ..]) => self.described(input, facts.first()),
            ("absent", [input]) => {
                let labels = match &input.what {
                    Node::Series(selected) => selected.selector.known_labels(),
                    _ => Vec::new(),
                };
                Ok(Grid::Absent { input: Box::new(self.grid(input)?), labels })
            }
            ("absent_over_time", [input]) => {
                let labels = match &input.what {
                    Node::Range(selected, _) => selected.selector.known_labels(),
                    _ => Vec::new(),
                };
                // Names stay, so that series of several names can be told apart.
                let input = Box::new(self.over(input, RangeFold::Last)?);
                Ok(Grid::Absent { input, labels })
            }
            _ => self.call_of_ranges(function, arguments),
        }
    }

    fn call_of_ranges(
        &self,
        function: &Callable,
        arguments: &[Expression],
    ) -> Result<Grid, String> {
        match (function.name, arguments) {
            ("predict_linear", [input, seconds]) => {
                self.over(input, RangeFold::Predicted(self.grid(seconds)?))
            }
            ("quantile_over_time", [share, input]) => {
                self.over_at(input, RangeFold::Quantile(self.grid(share)?), share.place)
            }
            ("histogram_quantile", [share, input]) => {
                let figure = HistogramFigure::Quantile(self.grid(share)?, share.place);
                self.histograms(figure, input)
            }
            ("histogram_quantiles", [input, label, shares @ ..]) => {
                let label = text(label).ok_or_else(|| wrong(function.name))?.into();
                let shares = shares.iter().map(|share| Ok((self.grid(share)?, share.place)));
                let shares = shares.collect::<Result<_, String>>()?;
                self.histograms(HistogramFigure::Quantiles { label, shares }, input)
            }
            ("histogram_fraction", [lower, upper, input]) => {
                let figure = HistogramFigure::Fraction(self.grid(lower)?, self.grid(upper)?);
                self.histograms(figure, input)
            }
            ("double_exponential_smoothing", [input, weight, trend]) => {
                self.over(input, RangeFold::Smoothed(self.grid(weight)?, self.grid(trend)?))
            }
            (name, [input]) => match range_fold(name) {
                Some(fold) => self.over(input, fold),
                None => Err(wrong(name)),
            },
            (name, _) => Err(wrong(name)),
        }
    }

    fn described(&self, input: &Expression, facts: Option<&Expression>) -> Result<Grid, String> {
        let selector = match facts.map(|facts| &facts.what) {
            Some(Node::Series(selected)) => selected.selector.clone(),
            _ => VectorSelector::any(),
        };
        let selector = selector.of_facts()?;
        let (names, labels) = (selector.names().to_vec(), selector.labels().to_vec());
        let shift = first_shift(input).unwrap_or_default();
        let selected = Selected { selector, shift };
        let Grid::Instants(facts) = self.instants(&selected, true) else {
            return Err(wrong("info"));
        };
        let input = self.grid(input)?;
        Ok(Grid::Described(Box::new(Described { input, facts, names, labels })))
    }

    fn histograms(&self, figure: HistogramFigure, input: &Expression) -> Result<Grid, String> {
        let (grid, place) = (self.with_buckets().grid(input)?, input.place);
        Ok(Grid::Histograms(Box::new(Histograms { figure, input: grid, bounds: None, place })))
    }

    /// What functions say of the instants that are asked about, in seconds.
    fn of_span(&self, function: &str) -> Option<f64> {
        let Span { start_ms, end_ms, step_ms, .. } = *self.span;
        let ms = match function {
            "start" => start_ms,
            "end" => end_ms,
            "range" => end_ms.saturating_sub(start_ms),
            "step" if start_ms == end_ms => 0,
            "step" => step_ms,
            _ => return None,
        };
        Some(ms as f64 / 1000.0)
    }

    fn relabel(
        &self,
        function: &str,
        input: &Expression,
        texts: &[Expression],
    ) -> Result<Grid, String> {
        let texts: Option<Vec<&str>> = texts.iter().map(text).collect();
        let (target, value) = match (function, texts.as_deref()) {
            ("label_replace", Some([target, template, source, pattern])) => {
                let whole = Pattern::new(&format!("^(?s:{pattern})$"));
                let pattern = whole.and_then(Pattern::for_groups).map_err(|error| {
                    format!("invalid regular expression in label_replace(): {pattern}: {error}")
                })?;
                let (source, template) = ((*source).into(), (*template).into());
                (*target, NewValue::Replaced { source, pattern, template })
            }
            ("label_join", Some([_, _, sources @ ..])) if sources.contains(&"") => {
                return Err("invalid source label name in label_join(): ".to_owned());
            }
            ("label_join", Some([target, separator, sources @ ..])) => {
                let sources = sources.iter().map(|source| (*source).into()).collect();
                (*target, NewValue::Joined { sources, separator: (*separator).into() })
            }
            _ => return Err(wrong(function)),
        };
        if target.is_empty() {
            return Err(format!("invalid destination label name in {function}(): {target}"));
        }
        let input = self.grid(input)?;
        Ok(Grid::Relabel(Box::new(Relabel { input, target: target.into(), value })))
    }
}

/// When the first series of an expression are looked at.
fn first_shift(of: &Expression) -> Option<Shifted> {
    match &of.what {
        Node::Series(selected) | Node::Range(selected, _) => Some(selected.shift),
        Node::Subquery { input, shift, .. } => {
            let inner = first_shift(input)?;
            if inner.at.is_some() {
                return Some(inner);
            }
            let of = |shift: &Shifted| shift.offset_ms.unwrap_or(0);
            let offset_ms = Some(of(&inner).saturating_add(of(shift)));
            Some(Shifted { offset_ms, at: shift.at })
        }
        Node::Negated(input) | Node::Signed(input) => first_shift(input),
        Node::Binary(binary) => first_shift(&binary.left).or_else(|| first_shift(&binary.right)),
        Node::Aggregate { input, parameter, .. } => {
            first_shift(input).or_else(|| first_shift(parameter.as_ref()?))
        }
        Node::Call { arguments, .. } => arguments.iter().find_map(first_shift),
        Node::Number(_) | Node::Length(_) | Node::Text(_) => None,
    }
}

fn wrong(function: &str) -> String {
    format!("wrong arguments for {function}: texts must be written out")
}

fn each(input: Grid, function: Function) -> Result<Grid, String> {
    Ok(Grid::Each(Box::new(Each { input, function })))
}

fn text(of: &Expression) -> Option<&str> {
    match &of.what {
        Node::Text(text) => Some(text),
        _ => None,
    }
}

/// Aggregations that take no parameter, in PromQL and MetricsQL.
pub(crate) fn plain_fold(name: &str) -> Option<GroupFold> {
    Some(match name {
        "sum" => GroupFold::Sum,
        "avg" => GroupFold::Average,
        "min" => GroupFold::Min,
        "max" => GroupFold::Max,
        "count" => GroupFold::Count,
        "group" => GroupFold::Present,
        "stddev" => GroupFold::Deviation,
        "stdvar" => GroupFold::Variance,
        _ => return None,
    })
}

fn range_fold(name: &str) -> Option<RangeFold> {
    let extrapolated = |is_counter, per_second| RangeFold::Extrapolated { is_counter, per_second };
    Some(match name {
        "rate" => extrapolated(true, true),
        "increase" => extrapolated(true, false),
        "delta" => extrapolated(false, false),
        "irate" => RangeFold::Last2 { is_rate: true },
        "idelta" => RangeFold::Last2 { is_rate: false },
        "avg_over_time" => RangeFold::Average,
        "sum_over_time" => RangeFold::Sum,
        "min_over_time" => RangeFold::Min,
        "max_over_time" => RangeFold::Max,
        "count_over_time" => RangeFold::Count,
        "last_over_time" => RangeFold::Last,
        "first_over_time" => RangeFold::First,
        "mad_over_time" => RangeFold::Spread,
        "ts_of_first_over_time" => RangeFold::Stamp(Stamp::First),
        "ts_of_last_over_time" => RangeFold::Stamp(Stamp::Last),
        "ts_of_min_over_time" => RangeFold::Stamp(Stamp::Min),
        "ts_of_max_over_time" => RangeFold::Stamp(Stamp::Max),
        "present_over_time" => RangeFold::Present,
        "stddev_over_time" => RangeFold::Deviation,
        "stdvar_over_time" => RangeFold::Variance,
        "changes" => RangeFold::Changes,
        "resets" => RangeFold::Resets,
        "deriv" => RangeFold::Slope,
        _ => return None,
    })
}

fn figure(name: &str) -> Option<Figure> {
    Some(match name {
        "histogram_count" => Figure::Count,
        "histogram_sum" => Figure::Sum,
        "histogram_avg" => Figure::Average,
        "histogram_stddev" => Figure::Deviation,
        "histogram_stdvar" => Figure::Variance,
        _ => return None,
    })
}

pub(crate) fn math(name: &str) -> Option<Math> {
    Some(match name {
        "abs" => Math::Abs,
        "ceil" => Math::Ceil,
        "floor" => Math::Floor,
        "exp" => Math::Exp,
        "sqrt" => Math::Sqrt,
        "ln" => Math::Ln,
        "log2" => Math::Log2,
        "log10" => Math::Log10,
        "sin" => Math::Sin,
        "cos" => Math::Cos,
        "tan" => Math::Tan,
        "asin" => Math::Asin,
        "acos" => Math::Acos,
        "atan" => Math::Atan,
        "sinh" => Math::Sinh,
        "cosh" => Math::Cosh,
        "tanh" => Math::Tanh,
        "asinh" => Math::Asinh,
        "acosh" => Math::Acosh,
        "atanh" => Math::Atanh,
        "rad" => Math::Radians,
        "deg" => Math::Degrees,
        "sgn" => Math::Sign,
        "minute" => Math::Minute,
        "hour" => Math::Hour,
        "day_of_week" => Math::DayOfWeek,
        "day_of_month" => Math::DayOfMonth,
        "day_of_year" => Math::DayOfYear,
        "days_in_month" => Math::DaysInMonth,
        "month" => Math::Month,
        "year" => Math::Year,
        _ => return None,
    })
}
