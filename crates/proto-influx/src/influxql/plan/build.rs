//! Selections to plans: what is read, and what columns are made of it.

use super::calculate::calculate;
use super::condition::{Bounds, TIME_MAX_NS, TIME_MIN_NS};
use super::names::{column_names, field_name};
use super::schema::{Resolved, Schema, Statement, Type, is_math, is_top};
use super::{Context, PlanError, check};
use crate::influxql::ast::{Cast, Expr, Fill};
use foliot_model::{Item, Kind, TableShape, TimeRange};
use foliot_plan::rows::{
    Absent, Buckets, Calculate, Carried, Column, Input, Layout, Nested, Rows, Scan, Select, Slot,
    Taken,
};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// A name with its type: a field or label that rows carry along.
pub(super) type Ref = (Arc<str>, Type);

/// How a selection is carried out.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) range: TimeRange,
    /// Length and shift of windows.
    pub(super) windows: Option<(i64, i64)>,
    pub(super) zone: Option<Arc<str>>,
    /// Labels that make the heads of the answer.
    pub(super) order_by: Arc<[Arc<str>]>,
    /// Labels that make heads here.
    pub(super) group_by: BTreeSet<Arc<str>>,
    pub(super) condition: Option<Arc<Expr>>,
    pub(super) descending: bool,
    pub(super) ordered: bool,
    pub(super) fill: Fill,
    pub(super) limit: u64,
    pub(super) offset: u64,
    pub(super) series_limit: u64,
    pub(super) series_offset: u64,
    pub(super) carried: Vec<Ref>,
}

fn dimensions(statement: &Statement) -> BTreeSet<Arc<str>> {
    let names = statement.select.dimensions.iter().filter_map(|dimension| match dimension {
        Expr::Var { name, .. } => Some(Arc::from(name.as_str())),
        _ => None,
    });
    names.collect()
}

impl Options {
    fn of(statement: &Statement, range: TimeRange) -> Self {
        let select = &statement.select;
        let dimensions = dimensions(statement);
        Self {
            range,
            windows: statement.windows,
            zone: select.timezone.as_deref().map(Arc::from),
            order_by: dimensions.iter().cloned().collect(),
            group_by: dimensions,
            condition: statement.condition.clone(),
            descending: false,
            ordered: true,
            fill: select.fill,
            limit: select.limit,
            offset: select.offset,
            series_limit: select.series_limit,
            series_offset: select.series_offset,
            carried: Vec::new(),
        }
    }

    /// Those of a selection that is not inside another one.
    pub(super) fn outermost(statement: &Statement, range: TimeRange, descending: bool) -> Self {
        let mut options = Self { descending, ..Self::of(statement, range) };
        if options.fill == Fill::Null && statement.select.target.is_some() {
            // Nulls would not be written.
            options.fill = Fill::None;
        }
        options
    }

    /// Those of a selection inside this one.
    fn inside(&self, statement: &Statement, context: &Context<'_>) -> Self {
        let Bounds { min_ns, max_ns } = statement.bounds;
        let start_ns = min_ns.unwrap_or(TIME_MIN_NS).max(self.range.start_ns);
        let mut end_ns = max_ns.unwrap_or(TIME_MAX_NS).min(self.range.end_ns);
        if statement.windows.is_some() && end_ns == TIME_MAX_NS {
            end_ns = context.now_ns;
        }
        let mut inner = Self::of(statement, TimeRange::new(start_ns, end_ns));
        inner.order_by = self.order_by.clone();
        inner.group_by.extend(self.group_by.iter().cloned());
        inner.series_limit += self.series_limit;
        inner.series_offset += self.series_offset;
        (inner.descending, inner.ordered) = (self.descending, self.ordered);
        if !statement.is_raw && inner.fill == Fill::Null {
            inner.fill = Fill::None;
        }
        inner.windows = inner.windows.or(self.windows);
        inner
    }

    /// The labels that heads have here.
    pub(super) fn heads(&self) -> Arc<[Arc<str>]> {
        match self.group_by.is_empty() {
            true => self.order_by.clone(),
            false => self.group_by.iter().cloned().collect(),
        }
    }

    pub(super) fn layout(&self) -> Arc<Layout> {
        let zone = &self.zone;
        let windows = self.windows.map(|(width_ns, offset_ns)| Buckets {
            width_ns,
            offset_ns,
            zone: zone.clone(),
            whole: false,
        });
        Arc::new(Layout {
            range: self.range,
            windows,
            order_by: self.order_by.clone(),
            group_by: self.heads(),
            descending: self.descending,
            ordered: self.ordered,
        })
    }

    /// Rows of a head that a scan has to hand out, one more than are wanted at the most.
    pub(super) fn rows_max(&self) -> Option<u64> {
        let is_limited = self.limit > 0 || self.offset > 0;
        is_limited.then(|| self.limit.saturating_add(self.offset).saturating_add(1))
    }

    /// Heads that are wanted at most. As in InfluxDB, some that are passed over while none are
    /// asked for leave none.
    fn heads_max(&self) -> Option<u64> {
        (self.series_limit > 0 || self.series_offset > 0).then_some(self.series_limit)
    }

    /// Refuses too many windows.
    pub(super) fn check_buckets(
        &self,
        statement: &Statement,
        context: &Context<'_>,
    ) -> Result<(), PlanError> {
        let max = context.buckets_max;
        let Some((width_ns, offset_ns)) = self.windows else { return Ok(()) };
        if max == 0 || statement.is_raw || self.range.start_ns == TIME_MIN_NS {
            return Ok(());
        }
        let number = |time_ns: i64| {
            (i128::from(time_ns) - i128::from(offset_ns)).div_euclid(i128::from(width_ns))
        };
        let count = number(self.range.end_ns - 1) - number(self.range.start_ns) + 1;
        match count > i128::from(max) {
            true => {
                let message = format!("max-select-buckets limit exceeded: ({count}/{max})");
                Err(PlanError { limit: Some("influx.buckets_max"), ..PlanError::new(message) })
            }
            false => Ok(()),
        }
    }
}

/// Builds plans.
pub(super) struct Builder<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) schema: &'a Schema<'a>,
}

/// What has a slot: a name with its type, or a call by its text.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Placed {
    Ref(Ref),
    Call(String),
}

/// Names and calls of a selection, each once, and their slots.
#[derive(Default)]
struct Slots {
    places: BTreeMap<Placed, usize>,
    calls: Vec<(Expr, usize)>,
    refs: Vec<(Ref, usize)>,
}

impl Slots {
    fn place(&mut self, expr: &Expr) -> Option<usize> {
        let placed = match expr {
            Expr::Call { name, .. } if !is_math(name) => Placed::Call(expr.to_string()),
            Expr::Var { name, cast } => Placed::Ref((name.as_str().into(), *cast)),
            _ => return None,
        };
        if let Some(slot) = self.places.get(&placed) {
            return Some(*slot);
        }
        let slot = self.places.len();
        match &placed {
            Placed::Ref(reference) => self.refs.push((reference.clone(), slot)),
            Placed::Call(_) => self.calls.push((expr.clone(), slot)),
        }
        self.places.insert(placed, slot);
        Some(slot)
    }
}

impl<'a> Builder<'a> {
    pub(super) fn new(context: &'a Context<'a>, schema: &'a Schema<'a>) -> Self {
        Self { context, schema }
    }

    /// The plan of a selection.
    pub(super) fn select(
        &self,
        statement: &Statement,
        mut options: Options,
    ) -> Result<Select, PlanError> {
        (self.context.admit)(statement.select.fields.len()).map_err(PlanError::new)?;
        let (columns, mut slots) = self.columns(statement)?;
        slots.refs.sort_by(|a, b| a.0.0.cmp(&b.0.0));
        options.carried = slots.refs.iter().map(|(reference, _)| reference.clone()).collect();
        let carried: Vec<Slot> =
            slots.refs.iter().map(|((_, found), index)| slot(*index, *found)).collect();
        let mut inputs = Vec::with_capacity(slots.calls.len().max(1));
        if slots.calls.is_empty() {
            if options.carried.iter().any(|(_, found)| found.is_some()) {
                let rows = self.limited(self.carried_rows(statement, &options)?, &options);
                inputs.push(Input { rows, value: None, carried });
            }
        } else {
            let is_selector = match slots.calls.as_slice() {
                [(Expr::Call { name, .. }, _)] => check::is_selector(name),
                _ => false,
            };
            for (call, index) in &slots.calls {
                let found = self.schema.eval(call, &[])?;
                if found.is_none() {
                    continue;
                }
                (self.context.admit)(1 + carried.len()).map_err(PlanError::new)?;
                let rows = self.rows(statement, call, &options, is_selector)?;
                let rows = self.limited(rows, &options);
                inputs.push(Input {
                    rows,
                    value: Some(slot(*index, found)),
                    carried: carried.clone(),
                });
            }
        }
        let absent = match options.fill {
            Fill::Previous => Absent::Previous,
            Fill::Integer(value) => Absent::Value(Item::Integer(value)),
            Fill::Number(value) => Absent::Value(Item::Float(value)),
            Fill::Null | Fill::None | Fill::Linear => Absent::Value(Item::Null),
        };
        let descending = options.descending;
        Ok(Select { inputs, slots: slots.places.len(), columns, absent, descending })
    }

    fn columns(&self, statement: &Statement) -> Result<(Vec<Column>, Slots), PlanError> {
        let mut slots = Slots::default();
        let mut values = Vec::new();
        if !statement.omits_time {
            values.push(Calculate::Time);
        }
        for field in &statement.select.fields {
            values.push(calculate(&field.expr, false, &mut |expr| Ok(slots.place(expr)))?);
            if let Expr::Call { name, args } = &field.expr
                && is_top(name)
            {
                for arg in args.iter().take(args.len() - 1).skip(1) {
                    values.push(calculate(arg, false, &mut |expr| Ok(slots.place(expr)))?);
                }
            }
        }
        let names = column_names(statement).into_iter();
        let column = |(name, value): (Cow<'_, str>, Calculate)| Column { name: name.into(), value };
        Ok((names.zip(values).map(column).collect(), slots))
    }

    fn limited(&self, rows: Rows, options: &Options) -> Rows {
        if options.limit == 0 && options.offset == 0 {
            return rows;
        }
        let limit = (options.limit > 0).then_some(options.limit);
        Rows::Limit { input: Box::new(rows), offset: options.offset, limit }
    }

    /// Rows that carry values and have none of their own.
    fn carried_rows(&self, statement: &Statement, options: &Options) -> Result<Rows, PlanError> {
        let mut inputs = Vec::with_capacity(1);
        // Where rows come head by head, nothing stands between them and their limit.
        let are_by_head = options.limit > 0 && options.order_by == options.heads();
        let rows_max = match are_by_head {
            true => Some(options.limit.saturating_add(options.offset)),
            false => options.rows_max(),
        };
        for source in &statement.sources {
            match source {
                Resolved::Shapes(shapes) => {
                    for shape in shapes {
                        inputs.push(self.scan(shape, None, options, rows_max)?);
                    }
                }
                Resolved::Subquery(inner) => inputs.extend(self.nested(inner, None, options)?),
            }
        }
        Ok(merge(inputs, options))
    }

    /// The rows of a measurement; `value` is the field that rows have one each of.
    pub(super) fn scan(
        &self,
        shape: &TableShape,
        value: Option<(Arc<str>, Kind)>,
        options: &Options,
        rows_max: Option<u64>,
    ) -> Result<Rows, PlanError> {
        let mut condition_slots = Vec::new();
        let condition = match &options.condition {
            None => None,
            Some(condition) => Some(calculate(condition, true, &mut |expr| {
                let Expr::Var { name, cast } = expr else { return Ok(None) };
                condition_slots.push(carried(shape, &name.as_str().into(), *cast));
                Ok(Some(condition_slots.len() - 1))
            })?),
        };
        let limit = |limit: u64| (limit > 0).then_some(limit);
        let of = |(name, found): &Ref| carried(shape, name, *found);
        Ok(Rows::Scan(Box::new(Scan {
            namespace: shape.namespace,
            measurement: shape.measurement.clone(),
            value,
            carried: options.carried.iter().map(of).collect(),
            condition,
            condition_slots,
            layout: options.layout(),
            heads_descending: options.descending,
            rows_max,
            one_each: false,
            heads: (options.series_offset, options.heads_max()),
            sources_max: limit(self.context.sources_max),
        })))
    }

    /// The rows of a selection inside another one; nothing if it does not have the value wanted.
    pub(super) fn nested(
        &self,
        inner: &Statement,
        value: Option<&Ref>,
        options: &Options,
    ) -> Result<Option<Rows>, PlanError> {
        let columns = Columns::of(inner);
        let value = match value {
            None => None,
            Some((name, found)) => match columns.taken(name, *found) {
                Taken::Nothing => return Ok(None),
                taken => Some(taken),
            },
        };
        let carried = options.carried.iter();
        let carried = carried.map(|(name, found)| columns.taken(name, *found)).collect();
        let inside = options.inside(inner, self.context);
        let inner_heads = inside.heads();
        let select = self.select(inner, inside)?;
        let mut condition_slots = Vec::new();
        let condition = match &options.condition {
            None => None,
            Some(condition) => Some(calculate(condition, true, &mut |expr| {
                let Expr::Var { name, cast } = expr else { return Ok(None) };
                let column = select.columns.iter().position(|column| *column.name == **name);
                condition_slots.push(match column {
                    Some(at) => Taken::Column(at, kind_of(*cast)),
                    None => Taken::Label(name.as_str().into()),
                });
                Ok(Some(condition_slots.len() - 1))
            })?),
        };
        let heads = options.heads();
        let relabel = (heads.len() != inner_heads.len()).then_some(heads);
        let nested = Nested { select, value, carried, condition, condition_slots, relabel };
        Ok(Some(Rows::Nested(Box::new(nested))))
    }

    /// The lines of `EXPLAIN`.
    pub(super) fn explain(&self, statement: &Statement) -> Vec<String> {
        let mut slots = Slots::default();
        for field in &statement.select.fields {
            // Slots are only counted here; what stands in them is told of when the plan is made.
            let _ = calculate(&field.expr, false, &mut |expr| Ok(slots.place(expr)));
        }
        let names: Vec<String> = slots
            .refs
            .iter()
            .map(|((name, cast), _)| Expr::Var { name: name.to_string(), cast: *cast }.to_string())
            .collect();
        let mut lines = Vec::new();
        let mut tell = |expression: String| {
            lines.push(format!("EXPRESSION: {expression}"));
            if !names.is_empty() {
                lines.push(format!("AUXILIARY FIELDS: {}", names.join(", ")));
            }
        };
        match slots.calls.is_empty() {
            true => tell("<nil>".to_owned()),
            false => slots.calls.iter().for_each(|(call, _)| tell(call.to_string())),
        }
        lines
    }
}

/// Rows of several inputs by time.
pub(super) fn merge(mut inputs: Vec<Rows>, options: &Options) -> Rows {
    match (inputs.len(), inputs.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            inputs.extend(last);
            Rows::Merge { inputs, layout: options.layout() }
        }
    }
}

fn slot(index: usize, found: Type) -> Slot {
    Slot { index, kind: kind_of(found) }
}

/// The kind of values of a type.
pub(super) fn kind_of(found: Type) -> Option<Kind> {
    match found? {
        Cast::Float => Some(Kind::Float),
        Cast::Integer => Some(Kind::Integer),
        Cast::Unsigned => Some(Kind::Unsigned),
        Cast::Boolean => Some(Kind::Boolean),
        Cast::String | Cast::Tag => Some(Kind::String),
        Cast::Field => None,
    }
}

/// The kind that a stored field is read as; nothing if it cannot be read so.
pub(super) fn read_as(stored: Kind, wanted: Type) -> Option<Kind> {
    let is_number = |kind| matches!(kind, Kind::Float | Kind::Integer | Kind::Unsigned);
    match wanted {
        None | Some(Cast::Field) => Some(stored),
        Some(Cast::Tag) => None,
        _ => {
            let wanted = kind_of(wanted)?;
            (wanted == stored || is_number(wanted) && is_number(stored)).then_some(wanted)
        }
    }
}

fn carried(shape: &TableShape, name: &Arc<str>, found: Type) -> Carried {
    if **name == *"_name" {
        return Carried::Measurement;
    }
    match (found, shape.kind(name)) {
        (Some(Cast::Tag), _) | (None, None) => Carried::Label(name.clone()),
        (_, Some(stored)) => match read_as(stored, found) {
            Some(kind) => Carried::Field(name.clone(), kind),
            None => Carried::Nothing,
        },
        (Some(_), None) => Carried::Nothing,
    }
}

/// Where names come from in the rows of a selection.
struct Columns<'s> {
    statement: &'s Statement,
    /// The first column of each name, and whether it holds the values of a label.
    by_name: HashMap<Cow<'s, str>, (usize, bool)>,
}

impl<'s> Columns<'s> {
    fn of(statement: &'s Statement) -> Self {
        let (mut by_name, mut at) = (HashMap::new(), 0);
        for field in &statement.select.fields {
            by_name.entry(field_name(field)).or_insert((at, false));
            if let Expr::Call { name: call, args } = &field.expr
                && is_top(call)
                && args.len() > 2
            {
                for arg in args.iter().take(args.len() - 1).skip(1) {
                    at += 1;
                    if let Expr::Var { name, .. } = arg {
                        by_name.entry(name.into()).or_insert((at, true));
                    }
                }
            }
            at += 1;
        }
        Self { statement, by_name }
    }

    fn taken(&self, name: &str, found: Type) -> Taken {
        if let Some((at, is_label)) = self.by_name.get(name) {
            return match is_label {
                true => Taken::Column(*at, Some(Kind::String)),
                false => Taken::Column(*at, kind_of(found)),
            };
        }
        let is_it = |expr: &Expr| matches!(expr, Expr::Var { name: found, .. } if found == name);
        match self.statement.select.dimensions.iter().any(is_it) {
            true => Taken::Label(name.into()),
            false => Taken::Nothing,
        }
    }
}
