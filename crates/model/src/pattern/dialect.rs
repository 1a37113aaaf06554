//! Expressions of the languages that clients know, in the syntax of the library.
//!
//! Questions of PromQL, InfluxQL and SQL bring expressions of Go's `regexp/syntax`, which are
//! RE2's; those of OpenTSDB bring expressions of `java.util.regex`. The library's own syntax gives
//! other meanings to some of them: `[a&&b]` is an intersection, `\<` the start of a word.

mod class;
mod escape;

use super::fault::Fault;
use std::str::Chars;

/// Whose expressions are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Dialect {
    /// Go's, which are RE2's.
    Go,
    /// Java's, as far as they can be matched in linear time.
    Java,
}

/// How often Go lets a piece be repeated by counts, those around it included.
const REPEATED_MAX: u32 = 1_000;
/// A count of Go that is longer than this many digits is too large whatever it says.
const COUNT_DIGITS_MAX: usize = 8;

/// The expression in the syntax of the library.
///
/// # Errors
/// Why it is none, in the words of Go.
pub(super) fn translated(written: &str, dialect: Dialect) -> Result<String, Fault> {
    let mut translator = Translator {
        written,
        rest: written,
        dialect,
        out: String::with_capacity(written.len() + written.len() / 8),
        around: Vec::new(),
        here: 1,
        last: None,
        repeated: None,
        names: Vec::new(),
        lacks_class_end: false,
    };
    while !translator.rest.is_empty() {
        translator.piece()?;
    }
    match translator.around.is_empty() {
        true => Ok(translator.out),
        false => Err(Fault::new("missing closing )", written)),
    }
}

struct Translator<'a> {
    written: &'a str,
    /// What is not read yet.
    rest: &'a str,
    dialect: Dialect,
    out: String,
    /// Of each open group, what the group around it had come to: see `here`.
    around: Vec<u32>,
    /// How often the piece of this group that is repeated most is repeated.
    here: u32,
    /// How often the last piece repeats what is in it; nothing where there is nothing to repeat.
    last: Option<u32>,
    /// Where the last piece is an operator of repetition, the expression from there.
    repeated: Option<&'a str>,
    names: Vec<&'a str>,
    /// Whether no name of a class ends in what is left.
    lacks_class_end: bool,
}

impl<'a> Translator<'a> {
    /// Reads what stands next: a character, a class, an operator or an end of a group.
    fn piece(&mut self) -> Result<(), Fault> {
        let before = self.rest;
        let repeated = self.repeated.take();
        let Some(next) = self.take() else { return Ok(()) };
        match next {
            '(' => self.group(before)?,
            '|' => {
                self.out.push('|');
                self.last = None;
            }
            ')' => {
                let around = self.around.pop();
                let around = around.ok_or_else(|| Fault::new("unexpected )", self.written))?;
                self.out.push(')');
                self.last = Some(self.here);
                self.here = self.here.max(around);
            }
            '^' | '$' | '.' => self.written_as(next.encode_utf8(&mut [0; 4])),
            '[' => {
                self.class(before)?;
                self.last = Some(1);
            }
            '*' | '+' | '?' => {
                self.out.push(next);
                self.repetition(before, repeated)?;
            }
            '{' => match self.counts() {
                Some((counts, least, most)) => {
                    self.counted(before, counts, (least, most), repeated)?;
                }
                None if self.dialect == Dialect::Java => {
                    return Err(Fault::new("illegal repetition", self.since(before)));
                }
                None => self.literal('{'),
            },
            '\\' => self.escape(before)?,
            _ => self.literal(next),
        }
        Ok(())
    }

    fn take(&mut self) -> Option<char> {
        let mut chars: Chars<'a> = self.rest.chars();
        let next = chars.next();
        self.rest = chars.as_str();
        next
    }

    /// Passes over `text` if it stands next.
    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// What was read since `before` was all that was left.
    fn since(&self, before: &'a str) -> &'a str {
        let length = before.len().saturating_sub(self.rest.len());
        before.get(..length).unwrap_or(before)
    }

    /// A character that stands for itself.
    fn literal(&mut self, c: char) {
        push_literal(&mut self.out, c);
        self.last = Some(1);
    }

    /// A piece that the library writes like this.
    fn written_as(&mut self, text: &str) {
        self.out.push_str(text);
        self.last = Some(1);
    }

    /// What stands behind an operator of repetition, and whether it may stand here.
    fn repetition(&mut self, before: &'a str, repeated: Option<&'a str>) -> Result<(), Fault> {
        if self.takes("?") {
            self.out.push('?');
        }
        if let Some(first) = repeated {
            return Err(Fault::new("invalid nested repetition operator", self.since(first)));
        }
        if self.last.is_none() {
            let what = "missing argument to repetition operator";
            return Err(Fault::new(what, self.since(before)));
        }
        self.repeated = Some(before);
        Ok(())
    }

    /// The counts of `{2}`, `{2,}` or `{2,3}` behind the brace, as they are written; nothing where
    /// the brace stands for itself. The larger one is nothing where there is no bound.
    fn counts(&mut self) -> Option<(&'a str, u32, Option<u32>)> {
        // Each brace is looked behind no further than counts go.
        let end = self.rest.find(|c: char| !c.is_ascii_digit() && c != ',')?;
        let (counts, rest) = self.rest.split_at_checked(end)?;
        let rest = rest.strip_prefix('}')?;
        let (least, most) = match counts.split_once(',') {
            None => (count(counts)?, Some(count(counts)?)),
            Some((least, "")) => (count(least)?, None),
            Some((least, most)) => (count(least)?, Some(count(most)?)),
        };
        self.rest = rest;
        Some((counts, least, most))
    }

    fn counted(
        &mut self,
        before: &'a str,
        counts: &str,
        (least, most): (u32, Option<u32>),
        repeated: Option<&'a str>,
    ) -> Result<(), Fault> {
        let times = most.unwrap_or(least.max(1));
        let is_bounded = self.dialect == Dialect::Go;
        let is_wrong = most.is_some_and(|most| most < least);
        if is_wrong || is_bounded && least.max(times) > REPEATED_MAX {
            return Err(Fault::new("invalid repeat count", self.since(before)));
        }
        let of = self.last.unwrap_or(1);
        self.out.push('{');
        self.out.push_str(counts);
        self.out.push('}');
        self.repetition(before, repeated)?;
        let together = of.saturating_mul(times);
        if is_bounded && together > REPEATED_MAX && times > 1 {
            return Err(Fault::new("invalid repeat count", self.since(before)));
        }
        self.last = Some(together);
        self.here = self.here.max(together);
        Ok(())
    }

    /// The start of a group, or flags, behind the parenthesis.
    fn group(&mut self, before: &'a str) -> Result<(), Fault> {
        if !self.takes("?") {
            self.out.push('(');
            self.open();
            return Ok(());
        }
        if self.takes("P<") || self.takes("<") {
            return self.named(before);
        }
        let (mut on, mut off) = (Vec::new(), Vec::new());
        let (mut is_off, mut has_any) = (false, false);
        let known = if self.dialect == Dialect::Go { "imsU" } else { "ims" };
        loop {
            match self.take() {
                Some(flag) if known.contains(flag) => {
                    has_any = true;
                    let (to, other) =
                        if is_off { (&mut off, &mut on) } else { (&mut on, &mut off) };
                    other.retain(|known| *known != flag);
                    if !to.contains(&flag) {
                        to.push(flag);
                    }
                }
                Some('-') if !is_off => (is_off, has_any) = (true, false),
                Some(end @ (':' | ')')) if has_any || !is_off => {
                    self.flags(&on, &off, end);
                    return Ok(());
                }
                _ => {
                    let what = "invalid or unsupported Perl syntax";
                    return Err(Fault::new(what, self.since(before)));
                }
            }
        }
    }

    /// Flags that hold to the end of the group, or begin one.
    fn flags(&mut self, on: &[char], off: &[char], end: char) {
        if end == ')' && on.is_empty() && off.is_empty() {
            return;
        }
        self.out.push_str("(?");
        self.out.extend(on);
        if !off.is_empty() {
            self.out.push('-');
            self.out.extend(off);
        }
        self.out.push(end);
        if end == ':' {
            self.open();
        }
    }

    /// A group with a name, behind its `<`.
    fn named(&mut self, before: &'a str) -> Result<(), Fault> {
        const WHAT: &str = "invalid named capture";
        let closed = self.rest.split_once('>').ok_or_else(|| Fault::new(WHAT, before));
        let (name, rest) = closed?;
        self.rest = rest;
        let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(is_letter) {
            return Err(Fault::new(WHAT, self.since(before)));
        }
        // Go takes these names. The library does not.
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            let what = "unsupported named capture, which begins with a digit";
            return Err(Fault::new(what, self.since(before)));
        }
        if self.names.contains(&name) {
            let what = "unsupported named capture, which stands twice";
            return Err(Fault::new(what, self.since(before)));
        }
        self.names.push(name);
        self.out.push_str("(?P<");
        self.out.push_str(name);
        self.out.push('>');
        self.open();
        Ok(())
    }

    fn open(&mut self) {
        self.around.push(self.here);
        self.here = 1;
        self.last = None;
    }
}

/// Writes a character so that it stands for itself, within a class and outside.
fn push_literal(out: &mut String, c: char) {
    if regex_syntax::is_meta_character(c) {
        out.push('\\');
    }
    out.push(c);
}

/// A count in decimal digits, the first of several not 0.
fn count(digits: &str) -> Option<u32> {
    let is_one = digits.bytes().all(|digit| digit.is_ascii_digit());
    if digits.is_empty() || !is_one || digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    match digits.len() > COUNT_DIGITS_MAX {
        true => Some(u32::MAX),
        false => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests;
