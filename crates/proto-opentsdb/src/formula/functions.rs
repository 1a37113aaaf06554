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

use super::{Budget, check_count, check_finite};
use crate::encode::Encoder;
use crate::http::{HttpError, HttpRequest, Params};
use crate::lang::Request;
use foliot_model::{Frame, NANOS_PER_MILLI, TimeRange};
use foliot_plan::grid::{Calculation, Rank};
use foliot_plan::{
    Each, Function as OfNumbers, Input, Joined, Named, Ranked, Series, Span, Step, Term,
};

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
    Numbers(OfNumbers),
    Highest(Rank, usize),
    Fold(Calculation),
}

impl FunctionQuery {
    /// Reads a request.
    ///
    /// # Errors
    /// 400 for what does not parse.
    pub(super) fn parse(request: &HttpRequest<'_>, now_ms: i64) -> Result<Self, HttpError> {
        let params = Params::parse(request.query);
        let mut frame = Request::without_questions(&params, now_ms)?;
        frame.output = frame.output.plain();
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

    /// What is asked, and what the functions make of the answers.
    pub(super) fn plans(&self, asked: Vec<Series>) -> Vec<Series> {
        // Series without numbers are there, too.
        let asked = asked.into_iter().map(|plan| clipped(plan, TimeRange::ALL));
        let trees = self.trees.iter().map(|tree| clipped(self.plan(tree), self.frame.times()));
        asked.chain(trees).collect()
    }

    fn plan(&self, tree: &Tree) -> Series {
        let mut inputs: Vec<Series> = Vec::new();
        for operand in &tree.operands {
            inputs.push(match operand {
                Operand::Tree(tree) => self.plan(tree),
                Operand::Question(index) => Series::Answer(*index),
            });
        }
        if let Function::Fold(calculation) = tree.function {
            return joined(calculation, inputs);
        }
        let input = match <[Series; 1]>::try_from(inputs) {
            Ok([only]) => only,
            Err(several) => Series::Union(several),
        };
        match tree.function {
            Function::Fold(_) => input,
            Function::Alias => {
                let name = tree.params.join(",").into();
                Series::Named(Box::new(Named { input, name, is_template: true }))
            }
            Function::Numbers(function) => {
                let input = match function {
                    OfNumbers::Average(_) => clipped(input, self.frame.times()),
                    _ => input,
                };
                Series::Each(Box::new(Each { input, function }))
            }
            Function::Highest(rank, count) => Series::Ranked(Box::new(Ranked {
                input,
                rank,
                last: None,
                range: self.frame.times(),
                count,
                is_top: true,
                keeps_later: false,
                takes_empty: rank == Rank::Max,
            })),
        }
    }

    /// An answer to be made of frames.
    pub(super) fn answer<'a>(&'a self, budget: &'a Budget<'a>) -> FunctionAnswer<'a> {
        let encoder = Encoder::new(&self.frame, Box::new(|_| None), budget);
        FunctionAnswer { asked: self.questions.len(), encoder, budget, text: Vec::new() }
    }
}

/// The samples of some times, of series that stay without any.
fn clipped(input: Series, range: TimeRange) -> Series {
    Series::Clip { input: Box::new(input), range, keep_empty: true }
}

/// Operands of equal tags one after the other, 0 where one is missing.
fn joined(calculation: Calculation, inputs: Vec<Series>) -> Series {
    let mut steps = vec![Step::Input(0)];
    for place in 1..inputs.len() {
        steps.extend([Step::Input(place), Step::Calculated(calculation)]);
    }
    let input = |series| Input { series, fill: 0.0, labels: None };
    Series::Joined(Box::new(Joined {
        inputs: inputs.into_iter().map(input).collect(),
        by_varying: false,
        needs_all: false,
        at_all_times: false,
        term: Term(steps),
    }))
}

/// An answer, which looks as one to `/api/query`.
#[derive(Debug)]
pub(super) struct FunctionAnswer<'a> {
    /// How many questions are only asked for the functions' sake.
    asked: usize,
    encoder: Encoder<'a>,
    budget: &'a Budget<'a>,
    text: Vec<u8>,
}

impl FunctionAnswer<'_> {
    pub(super) fn frame(&mut self, frame: &Frame) -> Result<(), HttpError> {
        if frame.head.question < self.asked {
            return check_finite(frame);
        }
        let before = self.text.len();
        self.encoder.frame(frame, &mut self.text)?;
        self.budget.take((self.text.len() - before) as u64)
    }

    pub(super) fn finish(mut self, out: &mut Vec<u8>) -> Result<(), HttpError> {
        self.encoder.finish(&[], &mut self.text)?;
        out.append(&mut self.text);
        Ok(())
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
                Self::Numbers(OfNumbers::Scaled(factor.ok_or_else(bad)?))
            }
            "absolute" => Self::Numbers(OfNumbers::Absolute),
            "movingAverage" => {
                let text = first("Missing moving average window size")?;
                let span = match text.starts_with('\'') {
                    true => Span::Time(ms_ns(quoted_ms(text)?)),
                    false => Span::Samples(
                        text.parse()
                            .map_err(|_| error(&format!("Unparseable window size: {text}")))?,
                    ),
                };
                if span == Span::Samples(0) {
                    let text = "Moving average window must be an integer greater than zero";
                    return Err(error(text));
                }
                Self::Numbers(OfNumbers::Average(span))
            }
            "highestCurrent" => Self::Highest(Rank::Last, count()?),
            "highestMax" => Self::Highest(Rank::Max, count()?),
            "shift" | "timeShift" => {
                let by = first("Need amount of timeshift to perform timeshift")?;
                Self::Numbers(OfNumbers::Shifted(ms_ns(quoted_ms(by)?)))
            }
            "firstDiff" => Self::Numbers(OfNumbers::Difference),
            "divideSeries" | "divide" => Self::Fold(Calculation::Divide),
            "sumSeries" | "sum" => Self::Fold(Calculation::Add),
            "diffSeries" | "difference" => Self::Fold(Calculation::Subtract),
            "multiplySeries" | "multiply" => Self::Fold(Calculation::Multiply),
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

fn ms_ns(ms: i64) -> i64 {
    ms.saturating_mul(NANOS_PER_MILLI)
}
