//! `/api/query/gexp`: functions of Graphite's kind over questions.
//!
//! ```text
//! exp      := NAME '(' argument (',' argument)* ')'
//! argument := exp | question as in m= | number | 'text'
//! ```
//!
//! Differs from OpenTSDB on purpose: `shift` works, and asks for the time before; `alias` leaves
//! values as they are; functions of several operands pair points by their time, also when their
//! groups differ, with 0 where one is missing; colons, commas and parentheses in braces of a
//! question are part of it.

use super::{Answered, Budget, Collected, Number, UidOf, check_count, infinite};
use crate::UidKind;
use crate::encode::{write_double, write_text};
use crate::http::{HttpError, HttpRequest, Params};
use crate::lang::Request;
use std::collections::{BTreeMap, BTreeSet};

/// What an alias may become once the values of tags are in it.
const ALIAS_BYTES_MAX: usize = 64 << 10;

/// How deep functions may be nested.
const DEPTH_MAX: usize = 32;

/// A query of functions.
#[derive(Debug)]
pub(super) struct FunctionQuery {
    /// What is asked first; a request with one question each.
    questions: Vec<Request>,
    trees: Vec<Tree>,
    /// Times and output of the whole query.
    frame: Request,
}

/// A function with its arguments.
#[derive(Clone, Debug)]
struct Tree {
    function: Function,
    operands: Vec<Operand>,
    params: Vec<String>,
}

#[derive(Clone, Debug)]
enum Operand {
    Tree(Tree),
    /// The answers to a question, by its place.
    Question(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Function {
    Alias,
    Scale(f64),
    Absolute,
    MovingAverage(Window),
    HighestCurrent(usize),
    HighestMax(usize),
    Shift(i64),
    FirstDifference,
    Fold(Fold),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fold {
    Divide,
    Sum,
    Difference,
    Multiply,
}

/// What a moving average goes back over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Window {
    Points(usize),
    Milliseconds(i64),
}

impl FunctionQuery {
    /// Reads a request.
    ///
    /// # Errors
    /// 400 for what does not parse.
    pub(super) fn parse(request: &HttpRequest<'_>, now_ms: i64) -> Result<Self, HttpError> {
        let params = Params::parse(request.query);
        let frame = Request::without_questions(&params, now_ms)?;
        let mut query = Self { questions: Vec::new(), trees: Vec::new(), frame };
        check_count(params.all("exp").count())?;
        for text in params.all("exp") {
            let mut parser = Parser { text, at: 0, depth: 0, shift_ms: 0, query: &mut query };
            let tree = parser.tree().and_then(|tree| {
                parser.skip_blanks();
                match parser.peek() {
                    None => Ok(tree),
                    Some(_) => Err(parser.fault("something follows the expression")),
                }
            })?;
            query.trees.push(tree);
        }
        match query.trees.is_empty() {
            true => Err(HttpError::bad_request("Missing sub queries")),
            false => Ok(query),
        }
    }

    /// What is to be asked first, in this order.
    pub(super) fn questions(&self) -> Vec<&Request> {
        self.questions.iter().collect()
    }

    /// Works the functions out and writes the answer.
    ///
    /// # Errors
    /// 400 when a value becomes infinite, and what the budget refuses.
    pub(super) fn finish(
        &self,
        mut collected: Collected,
        uid_of: &UidOf<'_>,
        budget: &Budget<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), HttpError> {
        let output = &self.frame.output;
        if let Some(function) = &output.jsonp {
            out.extend_from_slice(format!("{function}(").as_bytes());
        }
        out.push(b'[');
        let mut is_first = true;
        for tree in &self.trees {
            for series in self.evaluate(tree, &mut collected, uid_of, budget)? {
                out.extend_from_slice(if is_first { b"" } else { b"," });
                is_first = false;
                let before = out.len();
                self.write(&series, budget, out)?;
                budget.take((out.len() - before) as u64)?;
            }
        }
        out.push(b']');
        if output.jsonp.is_some() {
            out.push(b')');
        }
        Ok(())
    }

    fn write(
        &self,
        series: &Answered,
        budget: &Budget<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), HttpError> {
        let (as_arrays, unit_ms) = (self.frame.output.as_arrays, self.frame.output.unit_ms());
        out.extend_from_slice(b"{\"metric\":");
        write_text(&series.metric, out);
        let tags: BTreeMap<_, _> = series.tags.iter().collect();
        let tags = serde_json::json!(tags);
        let varying = serde_json::json!(series.varying);
        out.extend_from_slice(format!(",\"tags\":{tags},\"aggregateTags\":{varying}").as_bytes());
        out.extend_from_slice(if as_arrays { b",\"dps\":[" } else { b",\"dps\":{" });
        let inside = self.clip(&series.points);
        for (index, (time_ms, value)) in inside.iter().enumerate() {
            budget.step()?;
            out.extend_from_slice(if index > 0 { b"," } else { b"" });
            let time = time_ms.div_euclid(unit_ms);
            let head = if as_arrays { format!("[{time},") } else { format!("\"{time}\":") };
            out.extend_from_slice(head.as_bytes());
            match value {
                Number::Integer(value) => out.extend_from_slice(value.to_string().as_bytes()),
                Number::Double(value) if value.is_nan() => out.extend_from_slice(b"\"NaN\""),
                Number::Double(value) if value.is_infinite() => return Err(infinite()),
                Number::Double(value) => write_double(*value, out),
            }
            out.extend_from_slice(if as_arrays { b"]" } else { b"" });
        }
        out.extend_from_slice(if as_arrays { b"]}" } else { b"}}" });
        Ok(())
    }

    /// The points within the query's times.
    fn clip<'p>(&self, points: &'p [(i64, Number)]) -> &'p [(i64, Number)] {
        let from = points.partition_point(|(time, _)| *time < self.frame.start_ms);
        let to = points.partition_point(|(time, _)| *time <= self.frame.end_ms);
        points.get(from..to.max(from)).unwrap_or_default()
    }

    fn evaluate(
        &self,
        tree: &Tree,
        collected: &mut Collected,
        uid_of: &UidOf<'_>,
        budget: &Budget<'_>,
    ) -> Result<Vec<Answered>, HttpError> {
        let mut operands: Vec<Vec<Answered>> = Vec::new();
        for operand in &tree.operands {
            operands.push(match operand {
                Operand::Tree(tree) => self.evaluate(tree, collected, uid_of, budget)?,
                // Every question is the operand of one function.
                Operand::Question(index) => {
                    collected.answers.get_mut(*index).map(std::mem::take).unwrap_or_default()
                }
            });
        }
        if let Function::Fold(fold) = tree.function {
            return folded(fold, &operands, uid_of, budget);
        }
        let mut all: Vec<Answered> = operands.into_iter().flatten().collect();
        match tree.function {
            Function::Fold(_) => {}
            Function::Alias => {
                let template = tree.params.join(",");
                all.iter_mut().try_for_each(|series| rename(series, &template, budget))?;
            }
            Function::Scale(factor) => map(&mut all, |value| scaled(value, factor)),
            Function::Absolute => map(&mut all, |value| match value {
                Number::Integer(value) => Number::Integer(value.wrapping_abs()),
                Number::Double(value) => Number::Double(value.abs()),
            }),
            Function::Shift(by_ms) => {
                for point in all.iter_mut().flat_map(|series| &mut series.points) {
                    point.0 = point.0.saturating_add(by_ms);
                }
            }
            Function::FirstDifference => {
                all.iter_mut().for_each(|series| differences(&mut series.points));
            }
            Function::MovingAverage(window) => {
                for series in &mut all {
                    series.points = averages(self.clip(&series.points), window, budget)?;
                }
            }
            Function::HighestCurrent(count) => {
                let last = |series: &Answered| self.clip(&series.points).last().copied();
                all.retain(|series| last(series).is_some());
                best(&mut all, count, |series| {
                    last(series).map_or(f64::NEG_INFINITY, |(_, value)| value.to_f64())
                });
            }
            Function::HighestMax(count) => best(&mut all, count, |series| {
                let values = self.clip(&series.points).iter().map(|(_, value)| value.to_f64());
                values.filter(|value| !value.is_nan()).fold(f64::NEG_INFINITY, f64::max)
            }),
        }
        // What changes points in place is quick; still nobody is to wait for a hundred of it.
        budget.step()?;
        Ok(all)
    }
}

fn map(all: &mut [Answered], change: impl Fn(Number) -> Number) {
    for point in all.iter_mut().flat_map(|series| &mut series.points) {
        point.1 = change(point.1);
    }
}

fn scaled(value: Number, factor: f64) -> Number {
    match value {
        Number::Integer(value) if factor.fract() == 0.0 => {
            Number::Integer((factor as i64).wrapping_mul(value))
        }
        value => Number::Double(factor * value.to_f64()),
    }
}

/// Calls a series by a template, in which `@name` stands for the value of a tag.
fn rename(series: &mut Answered, template: &str, budget: &Budget<'_>) -> Result<(), HttpError> {
    let mut name = template.to_owned();
    for (key, value) in &series.tags {
        let key = format!("@{key}");
        let grown = name.matches(&*key).count().saturating_mul(value.len());
        if name.len().saturating_add(grown) > ALIAS_BYTES_MAX {
            let message = format!("An alias becomes longer than {ALIAS_BYTES_MAX} bytes");
            return Err(HttpError::bad_request(message));
        }
        name = name.replace(&key, value);
    }
    budget.take(name.len() as u64)?;
    series.metric = name;
    series.tags.clear();
    series.varying.clear();
    Ok(())
}

fn differences(points: &mut [(i64, Number)]) {
    let mut previous: Option<f64> = None;
    for (_, value) in points {
        let number = value.to_f64();
        *value = Number::Double(previous.map_or(0.0, |previous| number - previous));
        previous = Some(number);
    }
}

/// Averages over a window that goes back from each point; 0 until the window is full.
fn averages(
    points: &[(i64, Number)],
    window: Window,
    budget: &Budget<'_>,
) -> Result<Vec<(i64, Number)>, HttpError> {
    budget.take_for::<[(i64, Number); 2]>(points.len())?;
    let mut out = Vec::with_capacity(points.len());
    let mut sliding = Sliding::default();
    let first = points.first().map_or(0, |(time, _)| *time);
    for (index, &(time, value)) in points.iter().enumerate() {
        budget.step()?;
        sliding.push(value.to_f64());
        let is_full = match window {
            Window::Points(count) => {
                if sliding.len() > count {
                    sliding.pop();
                }
                sliding.len() == count
            }
            Window::Milliseconds(span) => {
                // The window is full once a point lies a whole span back; that point is outside.
                let is_old = |at: usize| {
                    points.get(at).is_some_and(|(t, _)| time.saturating_sub(*t) >= span)
                };
                while is_old((index + 1).saturating_sub(sliding.len())) {
                    sliding.pop();
                }
                time.saturating_sub(first) >= span
            }
        };
        out.push((time, Number::Double(if is_full { sliding.mean() } else { 0.0 })));
    }
    Ok(out)
}

/// The values of a window that moves on, with the mean of those that are numbers: in steps that do
/// not grow with the window, and without taking anything off a sum, which would not come out even.
///
/// Two stacks make the queue. Older values lie on one that knows the sums from each of them on;
/// newer ones are summed as they come, and go over when the older ones are used up.
#[derive(Debug, Default)]
struct Sliding {
    /// Sums and counts from a value on, the oldest last.
    older: Vec<(f64, u32)>,
    newer: Vec<f64>,
    sum: (f64, u32),
}

impl Sliding {
    fn len(&self) -> usize {
        self.older.len() + self.newer.len()
    }

    fn push(&mut self, value: f64) {
        self.newer.push(value);
        self.sum = plus(self.sum, value);
    }

    /// Drops the oldest value.
    fn pop(&mut self) {
        if self.older.is_empty() {
            let mut sum = (0.0, 0);
            for value in self.newer.drain(..).rev() {
                sum = plus(sum, value);
                self.older.push(sum);
            }
            self.sum = (0.0, 0);
        }
        self.older.pop();
    }

    fn mean(&self) -> f64 {
        let (sum, count) = self.older.last().copied().unwrap_or_default();
        let (sum, count) = (sum + self.sum.0, count + self.sum.1);
        if count == 0 { 0.0 } else { sum / f64::from(count) }
    }
}

fn plus((sum, count): (f64, u32), value: f64) -> (f64, u32) {
    if value.is_nan() { (sum, count) } else { (sum + value, count + 1) }
}

/// Keeps the `count` series of the highest rank, highest first.
fn best(all: &mut Vec<Answered>, count: usize, rank: impl Fn(&Answered) -> f64) {
    let mut ranked: Vec<(f64, Answered)> =
        std::mem::take(all).into_iter().map(|series| (rank(&series), series)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.extend(ranked.into_iter().take(count).map(|(_, series)| series));
}

/// Combines operands, series with equal tags at a time, at the times of any of them.
fn folded(
    fold: Fold,
    operands: &[Vec<Answered>],
    uid_of: &UidOf<'_>,
    budget: &Budget<'_>,
) -> Result<Vec<Answered>, HttpError> {
    type Key = Vec<(Option<u32>, Option<u32>)>;
    let mut groups: BTreeMap<Key, Vec<Option<&Answered>>> = BTreeMap::new();
    for (place, operand) in operands.iter().enumerate() {
        for series in operand {
            budget.step()?;
            let pair = |(key, value): (&String, &String)| {
                (uid_of(UidKind::TagKey, key), uid_of(UidKind::TagValue, value))
            };
            let mut key: Key = series.tags.iter().map(pair).collect();
            key.sort_unstable();
            let group = groups.entry(key).or_insert_with(|| vec![None; operands.len()]);
            if let Some(slot) = group.get_mut(place) {
                *slot = Some(series);
            }
        }
    }
    groups.values().map(|group| combined(fold, group, uid_of, budget)).collect()
}

fn combined(
    fold: Fold,
    group: &[Option<&Answered>],
    uid_of: &UidOf<'_>,
    budget: &Budget<'_>,
) -> Result<Answered, HttpError> {
    let known = || group.iter().flatten();
    // A tree of times, and the points at them.
    let points: usize = known().map(|series| series.points.len()).sum();
    budget.take_for::<[(i64, Number); 2]>(points)?;
    budget.steps(points)?;
    let times: BTreeSet<i64> =
        known().flat_map(|series| series.points.iter().map(|(time, _)| *time)).collect();
    let at = |series: &Option<&Answered>, time: i64| {
        let points = series.map(|series| series.points.as_slice()).unwrap_or_default();
        let found = points.binary_search_by_key(&time, |(time, _)| *time).ok();
        let value = found.and_then(|index| points.get(index)).map(|(_, value)| value.to_f64());
        value.filter(|value| !value.is_nan()).unwrap_or(0.0)
    };
    let value = |time: i64| {
        budget.step()?;
        let mut values = group.iter().map(|series| at(series, time));
        let first = values.next().unwrap_or(0.0);
        let all = values.fold(first, |a, b| match fold {
            Fold::Divide if b == 0.0 => 0.0,
            Fold::Divide => a / b,
            Fold::Sum => a + b,
            Fold::Difference => a - b,
            Fold::Multiply => a * b,
        });
        Ok((time, Number::Double(all)))
    };
    let metric = known().min_by_key(|series| uid_of(UidKind::Metric, &series.metric));
    Ok(Answered {
        metric: metric.map(|series| series.metric.clone()).unwrap_or_default(),
        tags: known().next().map(|series| series.tags.clone()).unwrap_or_default(),
        varying: known().flat_map(|series| series.varying.iter().cloned()).collect(),
        points: times.into_iter().map(value).collect::<Result<_, HttpError>>()?,
    })
}

struct Parser<'t, 'q> {
    text: &'t str,
    at: usize,
    depth: usize,
    /// How far back questions here are to be asked.
    shift_ms: i64,
    query: &'q mut FunctionQuery,
}

impl Parser<'_, '_> {
    fn fault(&self, what: &str) -> HttpError {
        let message = format!("Failed to parse {}", self.text);
        HttpError::bad_request(message).with_details(format!("At character {}: {what}", self.at))
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn pass(&mut self, mark: char) -> bool {
        self.skip_blanks();
        let is_there = self.peek() == Some(mark);
        self.at += if is_there { mark.len_utf8() } else { 0 };
        is_there
    }

    /// A function with its arguments.
    fn tree(&mut self) -> Result<Tree, HttpError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.fault("functions are nested too deep"));
        }
        self.skip_blanks();
        let end = self.rest().find('(').ok_or_else(|| self.fault("a function is expected"))?;
        let name = self.rest().get(..end).unwrap_or_default().trim().to_owned();
        self.at += end + 1;
        // What a function is called with at its end decides what is asked inside of it.
        let (outer_shift_ms, begin) = (self.shift_ms, self.at);
        if matches!(name.as_str(), "shift" | "timeShift") {
            let shift_ms = self.shift_ms.checked_add(self.shift_ahead()?);
            self.shift_ms = shift_ms.ok_or_else(|| self.fault("the shifts are too long"))?;
            self.at = begin;
        }
        let (mut operands, mut params) = (Vec::new(), Vec::new());
        loop {
            self.argument(&mut operands, &mut params)?;
            if self.pass(')') {
                break;
            }
            if !self.pass(',') {
                return Err(self.fault("a comma or a closing parenthesis is expected"));
            }
        }
        self.shift_ms = outer_shift_ms;
        self.depth -= 1;
        let function = Function::named(&name, &params, operands.len())?;
        Ok(Tree { function, operands, params })
    }

    /// The text of the next argument, braces, quotes and parentheses in it closed.
    fn next_argument(&self) -> &str {
        let (mut depth, mut is_quoted) = (0_i32, false);
        let rest = self.rest();
        for (at, c) in rest.char_indices() {
            match c {
                '\'' => is_quoted = !is_quoted,
                _ if is_quoted => {}
                '(' | '{' => depth += 1,
                ')' if depth == 0 => return rest.get(..at).unwrap_or_default(),
                ')' | '}' => depth -= 1,
                ',' if depth == 0 => return rest.get(..at).unwrap_or_default(),
                _ => {}
            }
        }
        rest
    }

    fn argument(
        &mut self,
        operands: &mut Vec<Operand>,
        params: &mut Vec<String>,
    ) -> Result<(), HttpError> {
        self.skip_blanks();
        let text = self.next_argument().trim().to_owned();
        let brace = text.find('{').unwrap_or(text.len());
        let head = text.get(..brace).unwrap_or_default();
        if text.is_empty() {
            return Err(self.fault("an argument is missing"));
        } else if head.contains('(') && !text.starts_with('\'') {
            operands.push(Operand::Tree(self.tree()?));
            return Ok(());
        }
        self.at += self.next_argument().len();
        if head.contains(':') && !text.starts_with('\'') {
            let question = self.query.frame.asking(&text, self.shift_ms)?;
            operands.push(Operand::Question(self.query.questions.len()));
            self.query.questions.push(question);
        } else {
            params.push(text);
        }
        Ok(())
    }

    /// The time that the function here shifts by, found among its arguments.
    fn shift_ahead(&mut self) -> Result<i64, HttpError> {
        loop {
            let text = self.next_argument();
            let (length, trimmed) = (text.len(), text.trim());
            if trimmed.starts_with('\'') {
                return quoted_ms(trimmed);
            }
            self.at += length;
            if !self.pass(',') {
                let message = "Need amount of timeshift to perform timeshift";
                return Err(HttpError::bad_request(message));
            }
        }
    }
}

impl Function {
    fn named(name: &str, params: &[String], operands: usize) -> Result<Self, HttpError> {
        let error = |text: &str| HttpError::bad_request(text.to_owned());
        let first =
            |missing: &str| params.first().map(String::as_str).ok_or_else(|| error(missing));
        let count = || {
            let text = first("Missing top n value (number of series to return)")?;
            let count = text.parse::<usize>();
            count
                .ok()
                .filter(|&count| count > 0)
                .ok_or_else(|| error(&format!("Unparseable top n value: {text}")))
        };
        let function = match name {
            "alias" => {
                first("Missing the alias")?;
                Self::Alias
            }
            "scale" => {
                let text = first("Missing scaling factor")?;
                let is_plain = text.bytes().all(|b| b.is_ascii_digit() || b"-.".contains(&b));
                let factor = text.parse().ok().filter(|_| is_plain);
                let bad = || error(&format!("Unparseable scale factor value: {text}"));
                Self::Scale(factor.ok_or_else(bad)?)
            }
            "absolute" => Self::Absolute,
            "movingAverage" => {
                let text = first("Missing moving average window size")?;
                let window = match text.starts_with('\'') {
                    true => Window::Milliseconds(quoted_ms(text)?),
                    false => Window::Points(
                        text.parse()
                            .map_err(|_| error(&format!("Unparseable window size: {text}")))?,
                    ),
                };
                if window == Window::Points(0) {
                    let text = "Moving average window must be an integer greater than zero";
                    return Err(error(text));
                }
                Self::MovingAverage(window)
            }
            "highestCurrent" => Self::HighestCurrent(count()?),
            "highestMax" => Self::HighestMax(count()?),
            "shift" | "timeShift" => {
                Self::Shift(quoted_ms(first("Need amount of timeshift to perform timeshift")?)?)
            }
            "firstDiff" => Self::FirstDifference,
            "divideSeries" | "divide" => Self::Fold(Fold::Divide),
            "sumSeries" | "sum" => Self::Fold(Fold::Sum),
            "diffSeries" | "difference" => Self::Fold(Fold::Difference),
            "multiplySeries" | "multiply" => Self::Fold(Fold::Multiply),
            _ => return Err(error(&format!("Function was not found: {name}"))),
        };
        match function {
            Self::Fold(_) if !(2..=26).contains(&operands) => {
                Err(error(&format!("Must have 2 to 26 series, got {operands} instead")))
            }
            function => Ok(function),
        }
    }
}

/// Reads a time such as `'10min'`, in milliseconds.
fn quoted_ms(text: &str) -> Result<i64, HttpError> {
    let inner = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\''));
    let bad = || HttpError::bad_request(format!("Unparseable window size: {text}"));
    let inner = inner.ok_or_else(bad)?;
    let digits = inner.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = inner.split_at_checked(digits).ok_or_else(bad)?;
    let number: i64 = number.parse().map_err(|_| bad())?;
    let unit_ms = match unit.trim() {
        "s" | "sec" => 1_000,
        "m" | "min" => 60_000,
        "h" | "hr" | "hour" => 3_600_000,
        "d" | "day" | "days" => 86_400_000,
        "w" | "week" | "weeks" => 604_800_000,
        unit => {
            let message = format!("Unknown time unit={unit} in window={text}");
            return Err(HttpError::bad_request(message));
        }
    };
    let ms = number.checked_mul(unit_ms).filter(|&ms| ms > 0).ok_or_else(bad)?;
    Ok(ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    fn points(values: &[f64]) -> Vec<(i64, Number)> {
        let at = |(index, value): (usize, &f64)| (index as i64 * 1000, Number::Double(*value));
        values.iter().enumerate().map(at).collect()
    }

    /// By definition: the mean of the numbers in each window, one window after the other.
    fn by_definition(values: &[f64], count: usize) -> Vec<f64> {
        let mean = |end: usize| {
            let window = values.get((end + 1).checked_sub(count)?..=end)?;
            let numbers: Vec<f64> = window.iter().copied().filter(|v| !v.is_nan()).collect();
            Some(match numbers.len() {
                0 => 0.0,
                len => numbers.iter().sum::<f64>() / len as f64,
            })
        };
        (0..values.len()).map(|end| mean(end).unwrap_or(0.0)).collect()
    }

    #[test]
    fn moving_averages_are_what_their_definition_says() {
        let value = |n: i64| if n % 11 == 3 { f64::NAN } else { (n * n % 97 - 40) as f64 };
        let values: Vec<f64> = (0..300).map(value).collect();
        let budget = Budget::new(&|_| Ok(()));
        for count in [1, 2, 3, 7, 64, 299, 300, 301] {
            let expected = by_definition(&values, count);
            let span = Window::Milliseconds(count as i64 * 1000);
            for (window, full) in [(Window::Points(count), count - 1), (span, count)] {
                let found = averages(&points(&values), window, &budget).unwrap();
                for (index, (time, value)) in found.iter().enumerate() {
                    let expected = if index < full { 0.0 } else { expected[index] };
                    assert!((value.to_f64() - expected).abs() < 1e-9, "{window:?} at {time}");
                }
            }
        }
    }

    #[test]
    fn a_window_as_long_as_the_answer_costs_a_step_for_each_point() {
        let asked = Cell::new(0);
        let goes_on = |_: u64| {
            asked.set(asked.get() + 1);
            Ok(())
        };
        let budget = Budget::new(&goes_on);
        let points = points(&vec![1.0; 1 << 20]);
        // Summed window by window these are 10^12 additions.
        averages(&points, Window::Points(1 << 19), &budget).unwrap();
        // And once for the memory.
        assert_eq!(asked.get(), (1 << 20) / 1024 + 1);
    }

    #[test]
    fn work_stops_when_it_is_to_stop_or_memory_is_used_up() {
        let stop = |_: u64| Err(HttpError::new(503, "stopped"));
        let little = |held: u64| match held > 1000 {
            true => Err(HttpError::new(413, "too much")),
            false => Ok(()),
        };
        let points = points(&vec![1.0; 5000]);
        let stopped = averages(&points, Window::Points(2), &Budget::new(&stop));
        assert_eq!(stopped.unwrap_err().status, 503);
        let refused = averages(&points, Window::Points(2), &Budget::new(&little));
        assert_eq!(refused.unwrap_err().status, 413);
        let group = Answered { points, ..Answered::default() };
        let budget = Budget::new(&little);
        let refused = combined(Fold::Sum, &[Some(&group), None], &|_, _| None, &budget);
        assert_eq!(refused.unwrap_err().status, 413);
    }

    #[test]
    fn an_alias_does_not_grow_without_end() {
        let long = "v".repeat(1000);
        let mut series = Answered { tags: [("h".to_owned(), long)].into(), ..Answered::default() };
        let budget = Budget::new(&|_| Ok(()));
        let refused = rename(&mut series, &"@h".repeat(100_000), &budget).unwrap_err();
        assert!(refused.message.contains("65536"), "{}", refused.message);
        rename(&mut series, "@h and @h", &budget).unwrap();
        assert_eq!(series.metric.len(), 2005);
    }
}
