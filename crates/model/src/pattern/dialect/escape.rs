//! What begins with a backslash.

use super::super::fault::Fault;
use super::{Dialect, Translator, push_literal};

const INVALID: &str = "invalid escape sequence";

/// Java's names of POSIX' classes.
const OF_POSIX_IN_JAVA: [(&str, &str); 13] = [
    ("ASCII", "ascii"),
    ("Alnum", "alnum"),
    ("Alpha", "alpha"),
    ("Blank", "blank"),
    ("Cntrl", "cntrl"),
    ("Digit", "digit"),
    ("Graph", "graph"),
    ("Lower", "lower"),
    ("Print", "print"),
    ("Punct", "punct"),
    ("Space", "space"),
    ("Upper", "upper"),
    ("XDigit", "xdigit"),
];

impl<'a> Translator<'a> {
    /// An escape outside of classes, behind its backslash.
    pub(super) fn escape(&mut self, before: &'a str) -> Result<(), Fault> {
        if self.takes("Q") {
            let (text, rest) = self.rest.split_once("\\E").unwrap_or((self.rest, ""));
            self.rest = rest;
            text.chars().for_each(|c| self.literal(c));
            return Ok(());
        }
        // The ends of words are those of ASCII.
        let looks = [("A", r"\A"), ("z", r"\z"), ("b", r"(?-u:\b)"), ("B", r"(?-u:\B)")];
        if let Some((_, look)) = looks.into_iter().find(|(name, _)| self.takes(name)) {
            self.written_as(look);
            return Ok(());
        }
        match self.class_of_escape(before)? {
            Some(class) => self.written_as(&class),
            None => {
                let c = self.character_of_escape(before)?;
                self.literal(c);
            }
        }
        Ok(())
    }

    /// The class that the letters behind a backslash mean, if they mean one, with brackets.
    pub(super) fn class_of_escape(&mut self, before: &'a str) -> Result<Option<String>, Fault> {
        // As in Go and Java they hold letters, digits and blanks of ASCII only.
        const CLASSES: [(&str, &str); 6] = [
            ("d", "[0-9]"),
            ("D", "[^0-9]"),
            ("s", r"[\t\n\f\r ]"),
            ("S", r"[^\t\n\f\r ]"),
            ("w", "[0-9A-Za-z_]"),
            ("W", "[^0-9A-Za-z_]"),
        ];
        // Java's blanks have one more.
        const BLANKS_OF_JAVA: [(&str, &str); 2] =
            [("s", r"[\t\n\x0B\f\r ]"), ("S", r"[^\t\n\x0B\f\r ]")];
        let is_java = self.dialect == Dialect::Java;
        let of_java = BLANKS_OF_JAVA.into_iter().filter(|_| is_java);
        let class = of_java.chain(CLASSES).find(|(name, _)| self.takes(name));
        if let Some((_, class)) = class {
            return Ok(Some(class.to_owned()));
        }
        let is_negated = match (self.takes("p"), self.takes("P")) {
            (true, _) => false,
            (_, true) => true,
            _ => return Ok(None),
        };
        self.property(before, is_negated).map(Some)
    }

    /// A class of Unicode by its name: a general category or a script.
    fn property(&mut self, before: &'a str, mut is_negated: bool) -> Result<String, Fault> {
        let mut name = match self.takes("{") {
            true => {
                let closed = self.rest.split_once('}');
                let (name, rest) = closed.ok_or_else(|| Fault::of_range(before))?;
                self.rest = rest;
                name.to_owned()
            }
            false => self.take().map(String::from).unwrap_or_default(),
        };
        if let Some(of_negated) = name.strip_prefix('^') {
            name = of_negated.to_owned();
            is_negated = !is_negated;
        }
        if self.dialect == Dialect::Java
            && let Some((_, class)) = OF_POSIX_IN_JAVA.iter().find(|(known, _)| *known == name)
        {
            let sign = if is_negated { "^" } else { "" };
            return Ok(format!("[[:{sign}{class}:]]"));
        }
        let letter = if is_negated { 'P' } else { 'p' };
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ' ');
        let kinds = ["gc", "sc"].into_iter().filter(|_| name.chars().all(is_name));
        let classes = kinds.map(|kind| format!("[\\{letter}{{{kind}={name}}}]"));
        let mut known = classes.filter(|class| regex_syntax::parse(class).is_ok());
        known.next().ok_or_else(|| Fault::of_range(self.since(before)))
    }

    /// The character that is meant by what stands behind a backslash.
    pub(super) fn character_of_escape(&mut self, before: &'a str) -> Result<char, Fault> {
        let Some(next) = self.take() else {
            return Err(Fault::new("trailing backslash at end of expression", ""));
        };
        let is_java = self.dialect == Dialect::Java;
        let character = match next {
            // Java wants digits behind it, three where the first is at most 3.
            '0' if is_java => self.octal_of_java(),
            '0' => self.octal(0),
            // One digit would be what a group has found, which no expression of linear time says.
            '1'..='7' if self.rest.starts_with(|c| matches!(c, '0'..='7')) && !is_java => {
                self.octal(next.to_digit(8).unwrap_or_default())
            }
            'x' if self.takes("{") => self.hexadecimal_of_any_length(),
            'x' => self.hexadecimal(2),
            'u' if is_java => self.hexadecimal(4),
            'a' => Some('\x07'),
            'e' if is_java => Some('\x1b'),
            'f' => Some('\x0c'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\x0b'),
            _ if next.is_ascii() && !next.is_ascii_alphanumeric() => Some(next),
            _ => None,
        };
        character.ok_or_else(|| Fault::new(INVALID, self.since(before)))
    }

    /// Up to two more digits of base eight.
    fn octal(&mut self, value: u32) -> Option<char> {
        self.octal_up_to(value, 2)
    }

    fn octal_up_to(&mut self, mut value: u32, digits: usize) -> Option<char> {
        for _ in 0..digits {
            let Some(digit) = self.rest.chars().next().and_then(|c| c.to_digit(8)) else { break };
            self.take();
            value = value * 8 + digit;
        }
        char::from_u32(value)
    }

    fn octal_of_java(&mut self) -> Option<char> {
        let first = self.take()?.to_digit(8)?;
        match first <= 3 {
            true => self.octal(first),
            false => self.octal_up_to(first, 1),
        }
    }

    /// So many digits of base sixteen, neither more nor less.
    fn hexadecimal(&mut self, digits: usize) -> Option<char> {
        let mut value = 0;
        for _ in 0..digits {
            value = value * 16 + self.take()?.to_digit(16)?;
        }
        char::from_u32(value)
    }

    /// Digits of base sixteen up to a closing brace.
    fn hexadecimal_of_any_length(&mut self) -> Option<char> {
        let mut value: Option<u32> = None;
        loop {
            match self.take()? {
                '}' => return char::from_u32(value?),
                digit => {
                    let more = value.unwrap_or(0).checked_mul(16)?;
                    let next = more + digit.to_digit(16)?;
                    value = Some(next).filter(|next| *next <= u32::from(char::MAX));
                    value?;
                }
            }
        }
    }
}

/// Writes a range of characters of a class.
pub(super) fn push_range(out: &mut String, first: char, last: char) {
    push_literal(out, first);
    if first != last {
        out.push('-');
        push_literal(out, last);
    }
}
