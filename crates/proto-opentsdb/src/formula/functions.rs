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

use super::{Answered, Collected, Number, UidOf, infinite};
use crate::UidKind;
use crate::encode::{write_double, write_text};
use crate::http::{HttpError, HttpRequest, Params};
use crate::lang::Request;
use std::collections::{BTreeMap, BTreeSet};

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
    /// 400 when a value becomes infinite.
    pub(super) fn finish(
        &self,
        collected: &Collected,
        uid_of: &UidOf<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), HttpError> {
        let output = &self.frame.output;
        if let Some(function) = &output.jsonp {
            out.extend_from_slice(format!("{function}(").as_bytes());
        }
        out.push(b'[');
        let mut is_first = true;
        for tree in &self.trees {
            for series in self.evaluate(tree, collected, uid_of) {
                out.extend_from_slice(if is_first { b"" } else { b"," });
                is_first = false;
                self.write(&series, out)?;
            }
        }
        out.push(b']');
        if output.jsonp.is_some() {
            out.push(b')');
        }
        Ok(())
    }

    fn write(&self, series: &Answered, out: &mut Vec<u8>) -> Result<(), HttpError> {
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

    fn evaluate(&self, tree: &Tree, collected: &Collected, uid_of: &UidOf<'_>) -> Vec<Answered> {
        let mut operands: Vec<Vec<Answered>> = Vec::new();
        for operand in &tree.operands {
            operands.push(match operand {
                Operand::Tree(tree) => self.evaluate(tree, collected, uid_of),
                Operand::Question(index) => {
                    collected.answers.get(*index).cloned().unwrap_or_default()
                }
            });
        }
        if let Function::Fold(fold) = tree.function {
            return folded(fold, &operands, uid_of);
        }
        let mut all: Vec<Answered> = operands.into_iter().flatten().collect();
        match tree.function {
            Function::Fold(_) => {}
            Function::Alias => {
                let template = tree.params.join(",");
                all.iter_mut().for_each(|series| rename(series, &template));
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
                    series.points = averages(self.clip(&series.points), window);
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
        all
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
fn rename(series: &mut Answered, template: &str) {
    let mut name = template.to_owned();
    for (key, value) in &series.tags {
        name = name.replace(&format!("@{key}"), value);
    }
    series.metric = name;
    series.tags.clear();
    series.varying.clear();
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
fn averages(points: &[(i64, Number)], window: Window) -> Vec<(i64, Number)> {
    let mean = |slice: &[(i64, Number)]| {
        let real = slice.iter().map(|(_, value)| value.to_f64()).filter(|value| !value.is_nan());
        let (sum, count) = real.fold((0.0, 0u32), |(sum, count), value| (sum + value, count + 1));
        if count == 0 { 0.0 } else { sum / f64::from(count) }
    };
    let mut out = Vec::with_capacity(points.len());
    let mut start = 0;
    for (index, &(time, _)) in points.iter().enumerate() {
        let value = match window {
            Window::Points(count) => {
                let full = points.get((index + 1).saturating_sub(count)..=index);
                full.filter(|full| full.len() == count).map_or(0.0, mean)
            }
            Window::Milliseconds(span) => {
                // The window is full once a point lies a whole span back; that point is outside.
                let is_old = |at: usize| points.get(at).is_some_and(|(t, _)| time - t >= span);
                let is_full = is_old(0);
                while is_old(start) {
                    start += 1;
                }
                if is_full { points.get(start..=index).map_or(0.0, mean) } else { 0.0 }
            }
        };
        out.push((time, Number::Double(value)));
    }
    out
}

/// Keeps the `count` series of the highest rank, highest first.
fn best(all: &mut Vec<Answered>, count: usize, rank: impl Fn(&Answered) -> f64) {
    let mut ranked: Vec<(f64, Answered)> =
        std::mem::take(all).into_iter().map(|series| (rank(&series), series)).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.extend(ranked.into_iter().take(count).map(|(_, series)| series));
}

/// Combines operands, series with equal tags at a time, at the times of any of them.
fn folded(fold: Fold, operands: &[Vec<Answered>], uid_of: &UidOf<'_>) -> Vec<Answered> {
    type Key = Vec<(Option<u32>, Option<u32>)>;
    let mut groups: BTreeMap<Key, Vec<Option<&Answered>>> = BTreeMap::new();
    for (place, operand) in operands.iter().enumerate() {
        for series in operand {
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
    groups.values().map(|group| combined(fold, group, uid_of)).collect()
}

fn combined(fold: Fold, group: &[Option<&Answered>], uid_of: &UidOf<'_>) -> Answered {
    let known = || group.iter().flatten();
    let times: BTreeSet<i64> =
        known().flat_map(|series| series.points.iter().map(|(time, _)| *time)).collect();
    let at = |series: &Option<&Answered>, time: i64| {
        let points = series.map(|series| series.points.as_slice()).unwrap_or_default();
        let found = points.binary_search_by_key(&time, |(time, _)| *time).ok();
        let value = found.and_then(|index| points.get(index)).map(|(_, value)| value.to_f64());
        value.filter(|value| !value.is_nan()).unwrap_or(0.0)
    };
    let value = |time: i64| {
        let mut values = group.iter().map(|series| at(series, time));
        let first = values.next().unwrap_or(0.0);
        let all = values.fold(first, |a, b| match fold {
            Fold::Divide if b == 0.0 => 0.0,
            Fold::Divide => a / b,
            Fold::Sum => a + b,
            Fold::Difference => a - b,
            Fold::Multiply => a * b,
        });
        (time, Number::Double(all))
    };
    let metric = known().min_by_key(|series| uid_of(UidKind::Metric, &series.metric));
    Answered {
        metric: metric.map(|series| series.metric.clone()).unwrap_or_default(),
        tags: known().next().map(|series| series.tags.clone()).unwrap_or_default(),
        varying: known().flat_map(|series| series.varying.iter().cloned()).collect(),
        points: times.into_iter().map(value).collect(),
    }
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
            self.shift_ms += self.shift_ahead()?;
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
