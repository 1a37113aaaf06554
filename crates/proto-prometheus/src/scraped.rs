//! What a target exposes, as a whole: the text format 0.0.4 and OpenMetrics 1.0.
//!
//! Unlike what is imported line by line, a text that is wrong anywhere is no good: a target that
//! answers with a page of HTML, or with half a text, is one that fails.

use crate::exemplars::Exemplar;
use crate::key::{NAME, push_label, unpack_labels};
use crate::text::read_series;
use crate::write::cell;
use foliot_model::{Cell, Histogram};
use std::borrow::Cow;
use std::fmt;

/// A format in which metrics are exposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `text/plain`, version 0.0.4, of Prometheus.
    Text,
    /// `application/openmetrics-text`, version 1.0.0: times are in seconds, and `# EOF` ends it.
    OpenMetrics,
    /// `application/vnd.google.protobuf`: [`crate::Families`] read it.
    Protobuf,
}

impl Format {
    /// The format that a `Content-Type` names; nothing when it is another one.
    pub fn of_content_type(content_type: &str) -> Option<Self> {
        let mut parts = content_type.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        match kind.to_ascii_lowercase().as_str() {
            "text/plain" => Some(Self::Text),
            "application/openmetrics-text" => Some(Self::OpenMetrics),
            "application/vnd.google.protobuf" => {
                // Other messages, and other ways to write them one after the other.
                let is_other = |part: &str| match part.split_once('=') {
                    Some(("proto", name)) => name != "io.prometheus.client.MetricFamily",
                    Some(("encoding", name)) => name != "delimited",
                    _ => false,
                };
                (!parts.any(is_other)).then_some(Self::Protobuf)
            }
            _ => None,
        }
    }
}

/// A line that says something.
#[derive(Clone, Debug, PartialEq)]
pub enum Exposed<'a> {
    /// A value of a series.
    Sample {
        /// Name and labels.
        series: SeriesName<'a>,
        /// The value.
        value: Measured<'a>,
        /// When it was so, where the target says.
        time_ms: Option<i64>,
        /// Its exemplars: a number has one at most.
        exemplars: Vec<Exemplar>,
    },
    /// What a metric is for.
    Help(&'a str, Cow<'a, str>),
    /// What kind a metric is of.
    Kind(&'a str, &'a str),
    /// The unit of a metric.
    Unit(&'a str, &'a str),
}

/// Name and labels of a series, as a target writes them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SeriesName<'a> {
    /// In a text: `up{job="a"}`.
    Text(&'a str),
    /// In messages, as [`crate::pack_labels`] spells them.
    Packed(&'a [u8]),
}

/// What a series is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Measured<'a> {
    /// A number, a decimal where a text has one; each NaN is the usual one.
    Number(Cell),
    /// A native histogram.
    Histogram(&'a Histogram),
}

impl<'a> SeriesName<'a> {
    /// As it is written. No text begins as messages do.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Packed(bytes) => bytes,
        }
    }

    /// Reads the name, as the label `__name__`, and the labels.
    ///
    /// # Errors
    /// When they are none, in a sentence.
    pub fn labels(self, push: &mut dyn FnMut(&str, &str)) -> Result<(), String> {
        // Pieces of a text between bytes of ASCII are texts.
        let mut push = |name: &[u8], value: &[u8]| {
            push(&String::from_utf8_lossy(name), &String::from_utf8_lossy(value));
        };
        let text = match self {
            Self::Packed(packed) => return Ok(unpack_labels(packed, &mut push)?),
            Self::Text(text) => text,
        };
        let mut texts = [Vec::new(), Vec::new()];
        let read = read_series(text.as_bytes(), &mut texts, &mut push);
        read.map(drop).map_err(|(_, reason)| format!("{reason}: {:?}", shortened(text)))
    }
}

/// A line that is wrong, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    line: u64,
    reason: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for BadLine {}

/// The NaN that values are, as Prometheus stores it: not one that marks a series as over.
const NAN: f64 = f64::from_bits(0x7ff8_0000_0000_0001);

const KINDS: [&str; 10] = [
    "counter",
    "gauge",
    "histogram",
    "gaugehistogram",
    "summary",
    "info",
    "stateset",
    "unknown",
    "untyped",
    "",
];

/// What stands around a line and means nothing.
const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// The line that ends OpenMetrics.
const END: &str = "# EOF";

/// The lines of a text.
#[derive(Clone, Debug)]
pub struct Scraped<'a> {
    text: &'a [u8],
    /// Where the next line begins.
    next: usize,
    format: Format,
    has_ended: bool,
}

/// What the comments of a text say of its metrics; those that say nothing good are passed over.
pub fn described(text: &[u8], format: Format) -> impl Iterator<Item = Exposed<'_>> {
    let ends = memchr::memchr_iter(b'\n', text).chain(std::iter::once(text.len()));
    let mut start = 0;
    ends.filter_map(move |end| {
        let line = text.get(std::mem::replace(&mut start, end + 1)..end)?.trim_ascii();
        let comment = Some(line).filter(|line| line.starts_with(b"#"))?;
        Scraped::new(comment, format).describe().ok().flatten()
    })
}

impl<'a> Scraped<'a> {
    /// Reads a text of a format.
    pub fn new(text: &'a [u8], format: Format) -> Self {
        Self { text, next: 0, format, has_ended: false }
    }

    /// Steps over the next line, if it is a series whose name and labels take `length` bytes that
    /// `is_known` knows, with one number behind a space and no more. Returns the number.
    ///
    /// Of bytes that are known it need not be asked whether they are a name and labels, nor whether
    /// they are UTF-8.
    pub fn step_known(
        &mut self,
        length: usize,
        is_known: impl FnOnce(&[u8]) -> bool,
    ) -> Option<Cell> {
        let (series, behind) = self.rest().split_at_checked(length)?;
        let number = behind.strip_prefix(b" ")?;
        if series.first() == Some(&b'#') || self.has_ended || !is_known(series) {
            return None;
        }
        let is_end = |bytes: &[u8]| matches!(bytes.first(), None | Some(b'\n'));
        let (value, digits) = match decimal(number) {
            Some((value, rest)) if is_end(rest) => (value, number.len() - rest.len()),
            _ => {
                let end = line_end(number);
                (read_value(std::str::from_utf8(number.get(..end)?).ok()?)?, end)
            }
        };
        self.step_over(length + 1 + digits);
        Some(value)
    }

    /// Steps over comments, if they take `length` bytes that `is_known` knows: they were stepped
    /// over in an earlier text. Returns whether it did.
    pub fn step_known_comments(
        &mut self,
        length: usize,
        is_known: impl FnOnce(&[u8]) -> bool,
    ) -> bool {
        let comments = self.rest().get(..length).filter(|comments| comments.starts_with(b"#"));
        let is_known = comments.is_some_and(is_known) && !self.has_ended;
        self.next += if is_known { length } else { 0 };
        is_known
    }

    /// Steps over the comments that stand in front, one behind the other, and returns them unread.
    pub fn step_comments(&mut self) -> Option<&'a [u8]> {
        let (rest, mut length) = (self.rest(), 0);
        while let Some(comment) = comment_length(rest.get(length..).unwrap_or_default()) {
            length += comment;
        }
        let comments = rest.get(..length).filter(|_| length > 0 && !self.has_ended)?;
        // What is no UTF-8 is told by its line.
        std::str::from_utf8(comments).ok()?;
        self.next += length;
        Some(comments)
    }

    /// What the next comment that [`Scraped::step_comments`] steps over says; nothing at the end.
    ///
    /// # Errors
    /// When a comment is wrong.
    pub fn describe(&mut self) -> Result<Option<Exposed<'a>>, BadLine> {
        while let Some(line) = self.line()? {
            let Some(comment) = line.strip_prefix('#') else { continue };
            let said = self.comment(comment.trim_end_matches(BLANKS));
            if let Some(said) = said.map_err(|reason| self.bad(reason))? {
                return Ok(Some(said));
            }
        }
        Ok(None)
    }

    /// What the next line that says something says; nothing at the end.
    ///
    /// # Errors
    /// When a line is wrong, or the text does not end as it must.
    pub fn step(&mut self) -> Result<Option<Exposed<'a>>, BadLine> {
        let is_open_metrics = self.format == Format::OpenMetrics;
        while let Some(line) = self.line()? {
            if self.has_ended {
                return Err(self.bad("nothing may stand behind # EOF"));
            }
            let line = line.trim_matches(BLANKS);
            if is_open_metrics && line == END {
                self.has_ended = true;
                continue;
            }
            if line.is_empty() && is_open_metrics {
                return Err(self.bad("a line is empty"));
            }
            let said = match line.strip_prefix('#') {
                None if line.is_empty() => None,
                None => Some(self.sample(line)),
                Some(comment) => self.comment(comment).transpose(),
            };
            if let Some(said) = said {
                return said.map(Some).map_err(|reason| self.bad(reason));
            }
        }
        match is_open_metrics && !self.has_ended {
            true => Err(self.bad("the text ends without # EOF")),
            false => Ok(None),
        }
    }

    /// What was not read yet.
    fn rest(&self) -> &'a [u8] {
        self.text.get(self.next..).unwrap_or_default()
    }

    /// Steps over a line of so many bytes, and over its end.
    fn step_over(&mut self, length: usize) {
        self.next = (self.next + length + 1).min(self.text.len());
    }

    /// The next line; nothing at the end.
    fn line(&mut self) -> Result<Option<&'a str>, BadLine> {
        let rest = self.rest();
        if rest.is_empty() {
            return Ok(None);
        }
        let line = rest.get(..line_end(rest)).unwrap_or(rest);
        self.step_over(line.len());
        std::str::from_utf8(line).map(Some).map_err(|_| self.bad("this is not UTF-8"))
    }

    /// Says what is wrong with the line that was read last.
    fn bad(&self, reason: impl Into<String>) -> BadLine {
        let read = self.text.get(..self.next).unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', read.strip_suffix(b"\n").unwrap_or(read)).count();
        BadLine { line: 1 + line as u64, reason: reason.into() }
    }

    fn sample(&self, line: &'a str) -> Result<Exposed<'a>, String> {
        let end = series_end(line)?;
        let (series, rest) = line.split_at_checked(end).unwrap_or((line, ""));
        let (rest, exemplar) = rest.split_once('#').map_or((rest, None), |(a, b)| (a, Some(b)));
        let mut words = rest.split_ascii_whitespace();
        let value = words.next().ok_or("a value is missing")?;
        let value = read_value(value).ok_or_else(|| format!("{value:?} is no number"))?;
        let time_ms = words.next().map(|word| self.time_ms(word)).transpose()?;
        if let Some(word) = words.next() {
            return Err(format!("{word:?} stands behind the timestamp"));
        }
        if exemplar.is_some() && self.format == Format::Text {
            return Err("an exemplar stands where the format has none".to_owned());
        }
        let exemplars = exemplar.map(read_exemplar).transpose()?.into_iter().collect();
        let (series, value) = (SeriesName::Text(series.trim_ascii()), Measured::Number(value));
        Ok(Exposed::Sample { series, value, time_ms, exemplars })
    }

    fn time_ms(&self, word: &str) -> Result<i64, String> {
        match self.format == Format::Text {
            true => word.parse().map_err(|_| format!("{word:?} is no timestamp")),
            false => seconds(word),
        }
    }

    /// What a comment says to readers of the format, if it does.
    fn comment(&self, text: &'a str) -> Result<Option<Exposed<'a>>, String> {
        let text = text.trim_start_matches([' ', '\t']);
        let (word, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
        if !matches!(word, "HELP" | "TYPE" | "UNIT") {
            return Ok(None);
        }
        let rest = rest.trim_start_matches([' ', '\t']);
        let (name, rest) = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => rest.split_once([' ', '\t']).unwrap_or((rest, "")),
        };
        let rest = rest.trim_start_matches([' ', '\t']);
        if name.is_empty() {
            return Err(format!("{word} names no metric"));
        }
        Ok(match word {
            "HELP" => Some(Exposed::Help(name, unescaped(rest))),
            "UNIT" if self.format == Format::OpenMetrics => Some(Exposed::Unit(name, rest)),
            "UNIT" => None,
            _ if !KINDS.contains(&rest) => return Err(format!("{rest:?} is no kind of metric")),
            _ if rest == "untyped" || rest.is_empty() => Some(Exposed::Kind(name, "unknown")),
            _ => Some(Exposed::Kind(name, rest)),
        })
    }
}

/// Where the line in front ends.
fn line_end(text: &[u8]) -> usize {
    memchr::memchr(b'\n', text).unwrap_or(text.len())
}

/// How many bytes the comment in front has, with the end of its line; nothing where there is none,
/// nor where the whole text may end.
fn comment_length(text: &[u8]) -> Option<usize> {
    let line = text.get(..memchr::memchr(b'\n', text.strip_prefix(b"#")?)? + 1)?;
    let is_end = line
        .strip_prefix(END.as_bytes())
        .is_some_and(|behind| behind.iter().all(|byte| BLANKS.contains(&char::from(*byte))));
    (!is_end).then_some(line.len() + 1)
}

/// Where name and labels end. What stands outside of quotes must be a name of the old alphabet.
fn series_end(line: &str) -> Result<usize, String> {
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':');
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let bytes = line.as_bytes();
    let end = bytes.iter().position(|byte| !is_name(byte)).unwrap_or(bytes.len());
    let rest = bytes.get(end..).unwrap_or_default();
    let spaces = rest.iter().take_while(|byte| is_space(byte)).count();
    if bytes.first().is_some_and(u8::is_ascii_digit) || end == 0 && !bytes.starts_with(b"{") {
        return Err(format!("{:?} is no metric", shortened(line)));
    }
    if rest.get(spaces) != Some(&b'{') {
        let is_end = spaces > 0 || rest.is_empty();
        return is_end.then_some(end).ok_or_else(|| format!("{:?} is no metric", shortened(line)));
    }
    let mut at = end + spaces + 1;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = quoted_end(bytes, at),
            b'}' => return Ok(at),
            b'=' | b',' => {}
            byte if is_name(byte) || is_space(byte) => {}
            _ => return Err(format!("the labels of {:?} cannot be read", shortened(line))),
        }
    }
    Err(format!("the labels of {:?} have no end", shortened(line)))
}

/// Where what stands behind the quotes that end a text begins, or the line ends.
fn quoted_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(rest) = bytes.get(at..)
        && let Some(found) = memchr::memchr2(b'"', b'\\', rest)
    {
        match rest.get(found) {
            Some(b'"') => return at + found + 1,
            // What is escaped ends nothing.
            _ => at += found + 2,
        }
    }
    bytes.len()
}

/// As much of a line as a person needs.
fn shortened(line: &str) -> &str {
    const BYTES_MAX: usize = 80;
    line.get(..line.floor_char_boundary(BYTES_MAX)).unwrap_or(line)
}

fn read_value(word: &str) -> Option<Cell> {
    match decimal(word.as_bytes()) {
        Some((value, [])) => Some(value),
        _ => word.parse().ok().map(|value| cell(usual_nan(value))),
    }
}

/// The decimal number in front and what stands behind it, where one operation of two floats that
/// are exact makes it: then it is rounded as it must be. Most numbers have so few digits.
fn decimal(bytes: &[u8]) -> Option<(Cell, &[u8])> {
    /// Each whole number of so few digits is a float.
    const DIGITS_MAX: usize = 15;
    /// Each power of ten up to 22 is one, too.
    const POWERS: [f64; 23] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ];
    let (unsigned, is_negative) = match bytes {
        [b'-', rest @ ..] => (rest, true),
        _ => (bytes, false),
    };
    let (whole, mut rest) = digits(unsigned, 0);
    let mut digits_count = unsigned.len() - rest.len();
    let (mut mantissa, mut power) = (whole, 0);
    if let [b'.', behind @ ..] = rest {
        (mantissa, rest) = digits(behind, whole);
        let fraction = behind.len() - rest.len();
        digits_count += fraction;
        power = -(fraction as i64);
    }
    if !(1..=DIGITS_MAX).contains(&digits_count) {
        return None;
    }
    if let [b'e' | b'E', behind @ ..] = rest {
        let (behind, is_smaller) = match behind {
            [b'-', behind @ ..] => (behind, true),
            [b'+', behind @ ..] => (behind, false),
            _ => (behind, false),
        };
        let exponent;
        (exponent, rest) = digits(behind, 0);
        if !(1..=3).contains(&(behind.len() - rest.len())) {
            return None;
        }
        power += if is_smaller { -(exponent as i64) } else { exponent as i64 };
    }
    let signed = if is_negative { -(mantissa as i64) } else { mantissa as i64 };
    let value = match u8::try_from(-power) {
        // No decimal has its sign.
        _ if is_negative && mantissa == 0 => Cell::float(-0.0),
        Ok(scale) => Cell::decimal(signed, scale)?,
        Err(_) => cell(signed as f64 * POWERS.get(power.unsigned_abs() as usize)?),
    };
    Some((value, rest))
}

/// Reads the digits in front behind those of a number; what stands behind them comes with it. Too
/// many make nonsense of it, and are counted by the caller.
fn digits(mut bytes: &[u8], mut number: u64) -> (u64, &[u8]) {
    const MARKS: u64 = 0x8080_8080_8080_8080;
    const POWERS: [u64; 9] =
        [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    // Up to eight are read at once, where there are more than one.
    while let Some(word) = bytes.first_chunk::<8>().filter(|word| word[1].is_ascii_digit()) {
        let digits = u64::from_le_bytes(*word) ^ 0x3030_3030_3030_3030;
        // The first byte that is no digit gets a mark; those behind it mean nothing.
        let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & MARKS;
        let count = others.trailing_zeros() / 8;
        // They move behind zeros, so that there are always eight: two, four and then all of them
        // become a number.
        let digits = digits.checked_shl(64 - 8 * count).unwrap_or(0);
        let pairs = (digits.wrapping_mul(10).wrapping_add(digits >> 8)) & 0x00ff_00ff_00ff_00ff;
        let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
        let all = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff;
        let power = POWERS.get(count as usize).copied().unwrap_or(1);
        number = number.wrapping_mul(power).wrapping_add(all);
        bytes = bytes.get(count as usize..).unwrap_or_default();
        if count < 8 {
            return (number, bytes);
        }
    }
    while let [byte @ b'0'..=b'9', rest @ ..] = bytes {
        number = number.wrapping_mul(10).wrapping_add(u64::from(byte & 0x0f));
        bytes = rest;
    }
    (number, bytes)
}

/// The same value, of which each NaN is the usual one.
pub(crate) fn usual_nan(value: f64) -> f64 {
    if value.is_nan() { NAN } else { value }
}

/// A help as it was meant.
fn unescaped(help: &str) -> Cow<'_, str> {
    if !help.contains('\\') {
        return help.into();
    }
    let (mut out, mut is_escaped) = (String::with_capacity(help.len()), false);
    for c in help.chars() {
        match (is_escaped, c) {
            (false, '\\') => is_escaped = true,
            (true, 'n') => {
                out.push('\n');
                is_escaped = false;
            }
            (_, c) => {
                out.push(c);
                is_escaped = false;
            }
        }
    }
    out.into()
}

/// Reads seconds, as milliseconds.
pub(crate) fn seconds(word: &str) -> Result<i64, String> {
    let bad = || format!("{word:?} is no timestamp");
    let ms = word.parse::<f64>().map_err(|_| bad())? * 1000.0;
    let is_known = ms.abs() < i64::MAX as f64 / 1e6;
    if is_known { Ok(ms.round() as i64) } else { Err(bad()) }
}

/// Reads what stands behind the sign of an exemplar: `{name="value"} value [seconds]`.
pub(crate) fn read_exemplar(text: &str) -> Result<Exemplar, String> {
    let text = text.trim_ascii();
    let bad = |reason: &str| format!("{reason}: the exemplar {:?}", shortened(text));
    let (mut labels, mut is_named) = (Vec::new(), false);
    let mut push = |name: &[u8], value: &[u8]| {
        is_named |= name == NAME;
        push_label(name, value, &mut labels);
    };
    let mut texts = [Vec::new(), Vec::new()];
    let rest = match text.starts_with('{') {
        true => read_series(text.as_bytes(), &mut texts, &mut push),
        false => return Err(bad("it must begin with a brace")),
    };
    let rest = rest.map_err(|(_, reason)| bad(&reason))?;
    if is_named {
        return Err(bad("it has no name"));
    }
    let rest = std::str::from_utf8(rest).unwrap_or_default();
    let mut words = rest.split_ascii_whitespace();
    let value = words.next().and_then(read_value).ok_or_else(|| bad("its value is no number"))?;
    let value = value.to_f64();
    let time_ms = words.next().map(seconds).transpose()?;
    match words.next() {
        None => Ok(Exemplar { labels, value, time_ms }),
        Some(_) => Err(bad("something stands behind its time")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, format: Format) -> Result<Vec<String>, String> {
        let mut scraped = Scraped::new(text.as_bytes(), format);
        let mut out = Vec::new();
        while let Some(said) = scraped.step().map_err(|bad| bad.to_string())? {
            out.push(match said {
                Exposed::Sample { series, value: Measured::Number(value), time_ms, exemplars } => {
                    let mut labels = Vec::new();
                    series.labels(&mut |name, value| labels.push(format!("{name}={value}")))?;
                    let more = exemplars.first().map(|it| {
                        let labels = crate::shown_key(&it.labels);
                        format!(" # {labels} {} {:?}", it.value, it.time_ms)
                    });
                    let more = more.unwrap_or_default();
                    format!("{} {} {time_ms:?}{more}", labels.join(","), value.to_f64())
                }
                said => format!("{said:?}"),
            });
        }
        Ok(out)
    }

    impl Scraped<'_> {
        fn find_bad(&mut self) -> BadLine {
            loop {
                match self.step() {
                    Ok(said) => assert!(said.is_some(), "all of it is good"),
                    Err(bad) => return bad,
                }
            }
        }
    }

    #[test]
    fn the_text_format_is_read() {
        let text = "# HELP m what it\\nis\n# TYPE m counter\n#nothing\n\nm 1\n m{a=\"b\",} 2.5 17\r\n\
            m { a = \"}\\\"\" } NaN\n{\"my.metric\",\"a b\"=\"c\"} -Inf\n# TYPE n untyped\nn 1e3";
        let wanted = [
            "Help(\"m\", \"what it\\nis\")",
            "Kind(\"m\", \"counter\")",
            "__name__=m 1 None",
            "__name__=m,a=b 2.5 Some(17)",
            "__name__=m,a=}\" NaN None",
            "__name__=my.metric,a b=c -inf None",
            "Kind(\"n\", \"unknown\")",
            "__name__=n 1000 None",
        ];
        assert_eq!(read(text, Format::Text).unwrap(), wanted);
    }

    #[test]
    fn open_metrics_is_read() {
        let text = "# TYPE a counter\n# UNIT a seconds\na_total 1 1700000000.5\n\
            a_created 1.7e9\nb_bucket{le=\"1\"} 3 # {trace=\"x#y\"} 0.5\n\
            c_total 1 17 # {} 1 1.0015\n# EOF\n";
        let wanted = [
            "Kind(\"a\", \"counter\")",
            "Unit(\"a\", \"seconds\")",
            "__name__=a_total 1 Some(1700000000500)",
            "__name__=a_created 1700000000 None",
            r#"__name__=b_bucket,le=1 3 None # {trace="x#y"} 0.5 None"#,
            "__name__=c_total 1 Some(17000) # {} 1 Some(1002)",
        ];
        assert_eq!(read(text, Format::OpenMetrics).unwrap(), wanted);
    }

    #[test]
    fn values_are_the_floats_that_they_spell() {
        let words = "0 7 00 007 999999999999999 1000000000000000 9007199254740993 \
                     18446744073709551617 -1 +1 1. .5 1e22 0x1 1_0 Inf 4.9e-324 1.5 -0 0.1 -2.25 \
                     123456.789 1.234567e+06 1.7E9 5e-05 1e23 9e-23 1e-22 3e22 999999999999999e22 \
                     0.000000000000001 1e 1e+ 1e0001 . -. e5 -e5 1.e3 1..2 1e5.5 --1 1e99 \
                     123456789012345e-22 0.30000000000000004 1.7976931348623157e308";
        for word in words.split(' ') {
            let wanted: Option<f64> = word.parse().ok();
            let found = read_value(word).map(|value| value.to_f64().to_bits());
            assert_eq!(found, wanted.map(f64::to_bits), "{word}");
        }
        // They stay the decimals that they are where each of these is a float.
        let decimals = [
            ("2.5", 25, 1),
            ("-0.250", -250, 3),
            ("1.234567e+06", 1_234_567, 0),
            ("15e8", 1_500_000_000, 0),
            ("7e-5", 7, 5),
        ];
        for (word, mantissa, scale) in decimals {
            assert_eq!(read_value(word), Cell::decimal(mantissa, scale), "{word}");
        }
        for (word, float) in [("-0", -0.0), ("-0.00", -0.0), ("3e22", 3e22), ("1e-23", 1e-23)] {
            assert_eq!(read_value(word), Some(Cell::float(float)), "{word}");
        }
    }

    /// As many digits as may be read at once, and more, with whatever stands behind them.
    #[test]
    fn digits_end_where_something_else_stands() {
        let ends = (0..=255u8).filter(|byte| !byte.is_ascii_digit());
        let ends: Vec<u8> = ends.collect();
        for count in 0..=20 {
            let text: String = ('1'..='9').chain(['0', '9']).cycle().take(count).collect();
            let wanted = text.bytes().fold(7u64, |number, digit| {
                number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'))
            });
            assert_eq!(digits(text.as_bytes(), 7), (wanted, &b""[..]));
            for end in &ends {
                for behind in ["", "1", "123456789", "\u{ff}99999999"] {
                    let rest = [&[*end], behind.as_bytes()].concat();
                    let whole = [text.as_bytes(), &rest].concat();
                    assert_eq!(digits(&whole, 7), (wanted, &rest[..]), "{whole:?}");
                }
            }
        }
    }

    #[test]
    fn known_lines_are_stepped_over_as_they_would_be_read() {
        let text = "a{b=\"c\"} 1.5\na{b=\"c\"} NaN\na 0.1234567890123456789\na 7";
        let mut scraped = Scraped::new(text.as_bytes(), Format::Text);
        let number = |of: Option<Cell>| of.map(Cell::to_f64);
        let first = scraped.step_known(8, |series| series == b"a{b=\"c\"}");
        assert_eq!(number(first), Some(1.5));
        assert_eq!(scraped.step_known(8, |_| false), None, "it is not known");
        let nan = number(scraped.step_known(8, |_| true)).map(f64::to_bits);
        assert_eq!(nan, Some(0x7ff8_0000_0000_0001));
        assert_eq!(scraped.step_known(2, |_| true), None, "no space stands behind");
        let long = "0.1234567890123456789".parse().ok();
        assert_eq!(number(scraped.step_known(1, |_| true)), long);
        assert_eq!(number(scraped.step_known(1, |_| true)), Some(7.0));
        assert_eq!(scraped.step(), Ok(None));
        // What is not so plain is left to be read as a whole.
        for text in ["a 1 5\n", "a 1 # {} 1", "a {b=\"c\"} 1", "a  1", "a 1 \n", "a x", "# HELP a"]
        {
            let mut scraped = Scraped::new(text.as_bytes(), Format::OpenMetrics);
            assert_eq!(scraped.step_known(1, |_| true), None, "{text}");
            assert_eq!(scraped.rest(), text.as_bytes());
        }
    }

    #[test]
    fn comments_are_stepped_over_and_read_later() {
        let text = "# HELP a b \r\n#\na 1\n#x\n # TYPE a gauge\n# TYPE a counter\n# EOF \n";
        let mut scraped = Scraped::new(text.as_bytes(), Format::OpenMetrics);
        let (mut later, mut known) = (scraped.clone(), scraped.clone());
        assert_eq!(scraped.step_comments(), Some(&b"# HELP a b \r\n#\n"[..]));
        assert_eq!(scraped.step_comments(), None);
        assert!(matches!(scraped.step(), Ok(Some(Exposed::Sample { .. }))));
        assert_eq!(scraped.step_comments(), Some(&b"#x\n"[..]));
        assert_eq!(scraped.step(), Ok(Some(Exposed::Kind("a", "gauge"))));
        assert_eq!(scraped.step_comments(), Some(&b"# TYPE a counter\n"[..]));
        assert_eq!(scraped.step_comments(), None, "this is the end");
        assert_eq!(scraped.step(), Ok(None));
        assert!(!known.step_known_comments(15, |_| false));
        assert!(!known.step_known_comments(1000, |_| true));
        assert!(known.step_known_comments(15, |text| text == b"# HELP a b \r\n#\n"));
        assert!(!known.step_known_comments(4, |_| true), "this is a sample");
        assert_eq!(known.step_known(1, |_| true), Cell::decimal(1, 0));
        // A comment without the end of its line, and bytes that are no text, are read as lines.
        for text in [&b"# TYPE a"[..], b"# HELP a \xff\n"] {
            assert_eq!(Scraped::new(text, Format::Text).step_comments(), None);
        }
        assert_eq!(later.describe(), Ok(Some(Exposed::Help("a", "b".into()))));
        assert_eq!(later.describe(), Ok(Some(Exposed::Kind("a", "counter"))));
        assert_eq!(later.describe(), Ok(None));
        let mut bad = Scraped::new(b"a 1\n# TYPE a x\n", Format::Text);
        assert_eq!(bad.describe().unwrap_err().line, 2);
    }

    #[test]
    fn the_usual_nan_marks_nothing_as_over() {
        for word in ["NaN", "nan", "-NaN"] {
            let bits = read_value(word).map(|value| value.to_f64().to_bits());
            assert_eq!(bits, Some(0x7ff8_0000_0000_0001), "{word}");
        }
    }

    #[test]
    fn bad_texts_are_refused_whole_with_a_line() {
        use Format::{OpenMetrics, Text};
        for (text, format, word) in [
            ("<html>", Text, "line 1: \"<html>\" is no metric"),
            ("m 1\nm", Text, "line 2: a value is missing"),
            ("m 1 2 3", Text, "behind the timestamp"),
            ("m 1 1.5", Text, "no timestamp"),
            ("m-x 1", Text, "no metric"),
            ("1m 1", Text, "no metric"),
            ("m{a=\"b\" 1", Text, "have no end"),
            ("m{a-b=\"b\"} 1", Text, "cannot be read"),
            ("m{a=\"b\"} 1 # {} 1", Text, "exemplar"),
            ("# TYPE m thing", Text, "no kind"),
            ("# HELP", Text, "names no metric"),
            ("m{a} 1", Text, "needs ="),
            ("m 1\n", OpenMetrics, "without # EOF"),
            ("", OpenMetrics, "without # EOF"),
            ("# EOF\nm 1", OpenMetrics, "line 2: nothing may stand behind"),
            ("m 1\n\n# EOF\n", OpenMetrics, "line 2: a line is empty"),
            ("m 1 1e30\n# EOF\n", OpenMetrics, "no timestamp"),
            ("m 1 # x 1\n# EOF\n", OpenMetrics, "begin with a brace"),
            ("m 1 # {a=\"b\"\n# EOF\n", OpenMetrics, "a comma or }"),
            ("m 1 # {\"a\"} 1\n# EOF\n", OpenMetrics, "has no name"),
            ("m 1 # {a=\"b\"}\n# EOF\n", OpenMetrics, "no number"),
            ("m 1 # {} 1 x\n# EOF\n", OpenMetrics, "\"x\" is no timestamp"),
            ("m 1 # {} 1 1 1\n# EOF\n", OpenMetrics, "behind its time"),
        ] {
            let error = read(text, format).unwrap_err();
            assert!(error.contains(word), "{text:?}: {error}");
        }
        for (text, line) in [(&b"m 1\n\xff"[..], 2), (b"# HELP m \xff\nm 1\n", 1), (b"\xff", 1)] {
            let bad = Scraped::new(text, Format::Text).find_bad();
            assert_eq!(bad.to_string(), format!("line {line}: this is not UTF-8"));
        }
    }
}
