//! Values as Go prints them.

use super::Value;
use std::fmt;
use std::iter::Peekable;
use std::str::Chars;

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("<no value>"),
            Self::Truth(truth) => write!(f, "{truth}"),
            Self::Whole(number) => write!(f, "{number}"),
            Self::Float(number) => f.write_str(&shortest(*number)),
            Self::Text(text) => f.write_str(text),
            Self::List(list) => {
                let texts: Vec<String> = list.iter().map(Self::to_string).collect();
                write!(f, "[{}]", texts.join(" "))
            }
            Self::Map(map) => {
                let texts: Vec<String> =
                    map.iter().map(|(name, value)| format!("{name}:{value}")).collect();
                write!(f, "map[{}]", texts.join(" "))
            }
            Self::Row(row) => {
                let texts: Vec<String> =
                    row.labels.iter().map(|(name, value)| format!("{name}:{value}")).collect();
                write!(f, "{{map[{}] {}}}", texts.join(" "), shortest(row.value))
            }
        }
    }
}

/// A number that is none, as it is.
fn odd(value: f64) -> Option<&'static str> {
    match value {
        value if value.is_nan() => Some("NaN"),
        f64::INFINITY => Some("+Inf"),
        f64::NEG_INFINITY => Some("-Inf"),
        _ => None,
    }
}

/// Go's `%e` of what Rust writes as such: an exponent has a sign and two digits.
fn exponent(text: &str) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text.to_owned() };
    let sign = if exponent.starts_with('-') { '-' } else { '+' };
    format!("{digits}e{sign}{:0>2}", exponent.trim_start_matches('-'))
}

fn exponent_of(text: &str) -> i32 {
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or_default()
}

/// Go's `%v`: as many digits as it takes, with an exponent below -4 or from 6 on.
/// (`strconv` calls that the shortest of format `g`.)
pub(super) fn shortest(value: f64) -> String {
    let text = format!("{value:e}");
    match (odd(value), exponent_of(&text)) {
        (Some(odd), _) => odd.to_owned(),
        (None, -4..6) => format!("{value}"),
        (None, _) => exponent(&text),
    }
}

/// Go's shortest `%e`: `1e+00`, as Prometheus tells the values of alerts.
pub fn exponential(value: f64) -> String {
    odd(value).map_or_else(|| exponent(&format!("{value:e}")), str::to_owned)
}

/// Go's `%.4g`, with any number of digits: trailing zeros go.
pub(super) fn general(value: f64, digits: usize) -> String {
    if let Some(odd) = odd(value) {
        return odd.to_owned();
    }
    let digits = digits.max(1);
    let text = format!("{value:.*e}", digits - 1);
    let at = exponent_of(&text);
    let without_zeros = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    if at < -4 || at >= digits as i32 {
        let (number, tail) = text.split_once('e').unwrap_or((&text, "0"));
        return exponent(&format!("{}e{tail}", without_zeros(number)));
    }
    let behind = (digits as i32 - 1 - at).max(0) as usize;
    without_zeros(&format!("{value:.behind$}"))
}

/// What a directive of `printf` has before its letter.
#[derive(Clone, Copy, Debug, Default)]
struct Directive {
    is_left: bool,
    has_plus: bool,
    has_space: bool,
    has_zeros: bool,
    width: usize,
    precision: Option<usize>,
}

/// Widths and precisions beyond this are not obeyed.
const WIDTH_MAX: usize = 1000;

/// Go's `printf`.
pub(super) fn printf(format: &str, values: &[Value]) -> String {
    let (mut out, mut letters, mut values) =
        (String::new(), format.chars().peekable(), values.iter());
    while let Some(c) = letters.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut directive = Directive::default();
        while let Some(flag) = letters.next_if(|c| matches!(c, '-' | '+' | ' ' | '0' | '#')) {
            match flag {
                '-' => directive.is_left = true,
                '+' => directive.has_plus = true,
                ' ' => directive.has_space = true,
                '0' => directive.has_zeros = true,
                _ => {}
            }
        }
        directive.width = number(&mut letters);
        if letters.next_if_eq(&'.').is_some() {
            directive.precision = Some(number(&mut letters));
        }
        match letters.next() {
            None => out.push_str("%!(NOVERB)"),
            Some('%') => out.push('%'),
            Some(verb) => match values.next() {
                None => out.push_str(&format!("%!{verb}(MISSING)")),
                Some(value) => out.push_str(&directive.apply(verb, value)),
            },
        }
    }
    let more: Vec<String> = values.map(|value| format!("{}={value}", kind(value))).collect();
    if !more.is_empty() {
        out.push_str(&format!("%!(EXTRA {})", more.join(", ")));
    }
    out
}

/// A width or precision, as far as it is obeyed.
fn number(letters: &mut Peekable<Chars<'_>>) -> usize {
    let mut number = 0usize;
    while let Some(digit) = letters.peek().and_then(|c| c.to_digit(10)) {
        letters.next();
        number = (number * 10 + digit as usize).min(WIDTH_MAX);
    }
    number
}

/// What Go calls the type of a value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Nil => "<nil>",
        Value::Truth(_) => "bool",
        Value::Whole(_) => "int",
        Value::Float(_) => "float64",
        Value::Text(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]string",
        Value::Row(_) => "*template.sample",
    }
}

impl Directive {
    fn apply(&self, verb: char, value: &Value) -> String {
        let text = match (verb, value) {
            ('f' | 'F', Value::Float(number)) => {
                let digits = self.precision.unwrap_or(6);
                odd(*number).map_or_else(|| format!("{number:.digits$}"), str::to_owned)
            }
            ('e', Value::Float(number)) => {
                let digits = self.precision.unwrap_or(6);
                let text = format!("{number:.digits$e}");
                odd(*number).map_or_else(|| exponent(&text), str::to_owned)
            }
            ('g' | 'v', Value::Float(number)) => {
                let digits = self.precision;
                digits.map_or_else(|| shortest(*number), |digits| general(*number, digits))
            }
            ('d', Value::Whole(number)) => number.to_string(),
            ('x', Value::Whole(number)) => format!("{number:x}"),
            ('X', Value::Whole(number)) => format!("{number:X}"),
            ('o', Value::Whole(number)) => format!("{number:o}"),
            ('b', Value::Whole(number)) => format!("{number:b}"),
            ('c', Value::Whole(number)) => {
                let letter = u32::try_from(*number).ok().and_then(char::from_u32);
                letter.unwrap_or(char::REPLACEMENT_CHARACTER).to_string()
            }
            ('t', Value::Truth(truth)) => truth.to_string(),
            ('q', Value::Text(text)) => format!("{text:?}"),
            ('x', Value::Text(text)) => text.bytes().map(|byte| format!("{byte:02x}")).collect(),
            ('s', Value::Text(text)) => match self.precision {
                Some(most) => text.chars().take(most).collect(),
                None => text.clone(),
            },
            ('s', Value::List(_) | Value::Map(_)) | ('v', _) => value.to_string(),
            _ => return format!("%!{verb}({}={value})", kind(value)),
        };
        let is_number = matches!(value, Value::Float(_) | Value::Whole(_)) && verb != 'c';
        let signed = match is_number && !text.starts_with(['-', '+']) {
            true if self.has_plus => format!("+{text}"),
            true if self.has_space => format!(" {text}"),
            _ if is_number && !self.has_plus => text
                .strip_prefix('+')
                .map_or(text.clone(), |it| if it == "Inf" { text.clone() } else { it.to_owned() }),
            _ => text,
        };
        self.padded(signed, is_number)
    }

    fn padded(&self, text: String, is_number: bool) -> String {
        let missing = self.width.saturating_sub(text.chars().count());
        if missing == 0 {
            return text;
        }
        let is_finite = !text.ends_with("Inf") && !text.ends_with("NaN");
        match (self.is_left, self.has_zeros && is_number && is_finite) {
            (true, _) => text + &" ".repeat(missing),
            (false, true) => {
                let digits = text.trim_start_matches(['-', '+', ' ']);
                let sign = text.strip_suffix(digits).unwrap_or_default();
                format!("{sign}{}{digits}", "0".repeat(missing))
            }
            (false, false) => " ".repeat(missing) + &text,
        }
    }
}
