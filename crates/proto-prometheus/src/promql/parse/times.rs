//! Lengths, instants and numbers.

use crate::promql::reader::{ParseError, Reader};
use crate::promql::{At, Dialect, Expression, Node};
use foliot_model::NANOS_PER_MILLI;
use foliot_plan::grid::{Calculation, Operator};

/// Longest length of time, in milliseconds: as many nanoseconds as Go counts, some 292 years.
const DURATION_MS_MAX: f64 = (i64::MAX / NANOS_PER_MILLI) as f64;

impl Reader<'_> {
    /// What stands behind `@`.
    pub(super) fn instant(&mut self) -> Result<At, ParseError> {
        for (word, at) in [("start", At::Start), ("end", At::End)] {
            if self.takes_word(word) {
                let is_called = {
                    self.skip_blanks();
                    self.takes("(") && {
                        self.skip_blanks();
                        self.takes(")")
                    }
                };
                return match is_called {
                    true => Ok(at),
                    false => Err(self.unexpected("@", "\"()\"")),
                };
            }
        }
        self.skip_blanks();
        let is_negative = self.takes("-");
        let _ = is_negative || self.takes("+");
        self.skip_blanks();
        let seconds = self.number()?.0 * if is_negative { -1.0 } else { 1.0 };
        let ms = (seconds * 1000.0).round();
        match ms.abs() < 9e15 {
            true => Ok(At::Ms(ms as i64)),
            false => Err(self.error("timestamp out of bounds for @ modifier")),
        }
    }

    pub(super) fn signed_duration(&mut self, depth: usize) -> Result<i64, ParseError> {
        self.skip_blanks();
        let is_negative = self.takes("-");
        self.skip_blanks();
        let ms = match self.dialect {
            Dialect::Plain => self.milliseconds()?,
            Dialect::Experimental { .. } => {
                let _ = is_negative || self.takes("+");
                self.skip_blanks();
                let start = self.at;
                // What stands behind it is not its own, unless both stand in parentheses.
                let length = self.primary(depth)?;
                self.calculated(start, &length)?
            }
        };
        Ok(if is_negative { -ms } else { ms })
    }

    pub(super) fn duration(&mut self, depth: usize) -> Result<i64, ParseError> {
        let start = self.at;
        let ms = match self.dialect {
            Dialect::Plain => self.milliseconds()?,
            Dialect::Experimental { .. } => {
                let length = self.binary(0, depth)?;
                self.calculated(start, &length)?
            }
        };
        match ms {
            ms if ms > 0 => Ok(ms),
            _ => {
                self.at = start;
                Err(self.error("duration must be greater than 0"))
            }
        }
    }

    /// A length of time that is calculated, in milliseconds.
    fn calculated(&self, start: usize, of: &Expression) -> Result<i64, ParseError> {
        let refuse = |text: &str| Err(Reader { at: start, ..*self }.error(text));
        // What is calculated is cut, as Prometheus does; what is written out is as it is written.
        let is_written = matches!(of.what, Node::Number(_) | Node::Length(_));
        let whole = |ms: f64| if is_written { ms.round() } else { ms.trunc() };
        match self.seconds(of).map(|seconds| whole(seconds * 1000.0)) {
            None => {
                refuse("unexpected expression in duration, expected numbers and lengths of time")
            }
            Some(ms) if !ms.is_finite() => refuse("duration is NaN or infinite"),
            Some(ms) if ms.abs() > DURATION_MS_MAX => refuse("duration out of range"),
            Some(ms) => Ok(ms as i64),
        }
    }

    fn seconds(&self, of: &Expression) -> Option<f64> {
        let Dialect::Experimental { step_ms, range_ms } = self.dialect else { return None };
        Some(match &of.what {
            Node::Number(seconds) | Node::Length(seconds) => *seconds,
            Node::Negated(of) => -self.seconds(of)?,
            Node::Signed(of) => self.seconds(of)?,
            Node::Binary(binary) => {
                let (a, b) = (self.seconds(&binary.left)?, self.seconds(&binary.right)?);
                match binary.operator {
                    Operator::Calculate(Calculation::Add) => a + b,
                    Operator::Calculate(Calculation::Subtract) => a - b,
                    Operator::Calculate(Calculation::Multiply) => a * b,
                    Operator::Calculate(Calculation::Divide) => a / b,
                    Operator::Calculate(Calculation::Remainder) => a % b,
                    Operator::Calculate(Calculation::Power) => a.powf(b),
                    _ => return None,
                }
            }
            Node::Call { function, arguments } => match (function.name, &arguments[..]) {
                ("step", _) => step_ms as f64 / 1000.0,
                ("range", _) => range_ms as f64 / 1000.0,
                ("min_of", [a, b]) => self.seconds(a)?.min(self.seconds(b)?),
                ("max_of", [a, b]) => self.seconds(a)?.max(self.seconds(b)?),
                _ => return None,
            },
            _ => return None,
        })
    }

    fn milliseconds(&mut self) -> Result<i64, ParseError> {
        let start = self.at;
        if !matches!(self.peek(), Some('0'..='9' | '.')) {
            return Err(self.unexpected("duration", "duration"));
        }
        let ms = (self.number()?.0 * 1000.0).round();
        if !(0.0..=DURATION_MS_MAX).contains(&ms) {
            self.at = start;
            return Err(self.error("duration out of range"));
        }
        Ok(ms as i64)
    }

    /// A number, or a duration, which is its seconds, and whether it is one.
    pub(super) fn number(&mut self) -> Result<(f64, bool), ParseError> {
        let start = self.at;
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        let mut length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let text = rest.get(..length).unwrap_or_default();
        let is_hex = text.starts_with("0x") || text.starts_with("0X");
        // The sign of an exponent.
        if !is_hex
            && text.ends_with(['e', 'E'])
            && rest.get(length..).is_some_and(|rest| rest.starts_with(['+', '-']))
        {
            let more = rest.get(length + 1..).unwrap_or_default();
            length += 1 + more.find(|c: char| !c.is_ascii_digit()).unwrap_or(more.len());
        }
        let text = rest.get(..length).unwrap_or_default();
        let plain = text.replace('_', "");
        let number = match () {
            () if is_hex => {
                u64::from_str_radix(plain.get(2..).unwrap_or_default(), 16).ok().map(|n| n as f64)
            }
            () => plain.parse::<f64>().ok().filter(|_| !plain.ends_with(char::is_alphabetic)),
        };
        let number = number.map(|number| (number, false));
        let number = number.or_else(|| Some((duration_seconds(text)?, true)));
        self.at += length;
        number.ok_or_else(|| {
            self.at = start;
            self.error(format!("bad number or duration syntax: {text:?}"))
        })
    }
}

/// `1h30m`: units from large to small, each once.
pub(crate) fn duration_seconds(text: &str) -> Option<f64> {
    const UNITS: [(&str, i64); 7] = [
        ("y", 365 * 86_400_000),
        ("w", 7 * 86_400_000),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1_000),
        ("ms", 1),
    ];
    let (mut rest, mut total, mut from) = (text, 0i64, 0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?;
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = rest.get(..letters)?;
        let place = UNITS.iter().position(|(name, _)| *name == unit).filter(|at| *at >= from)?;
        total = total.checked_add(number.checked_mul(UNITS.get(place)?.1)?)?;
        from = place + 1;
        rest = rest.get(letters..)?;
    }
    (!text.is_empty()).then_some(total as f64 / 1000.0)
}
