//! Classes in brackets.

use super::super::fault::Fault;
use super::escape::push_range;
use super::{Dialect, Translator};

const OF_POSIX: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct",
    "space", "upper", "word", "xdigit",
];

/// How deep Java's classes may lie in each other.
const DEPTH_MAX: usize = 100;

impl<'a> Translator<'a> {
    /// A class behind its bracket, and those of Java within it.
    pub(super) fn class(&mut self, before: &'a str) -> Result<(), Fault> {
        let is_java = self.dialect == Dialect::Java;
        let mut depth = 1_usize;
        let mut is_first = self.class_begins();
        while depth > 0 {
            let here = self.rest;
            if !is_first && self.takes("]") {
                self.out.push(']');
                depth -= 1;
            } else if is_java && self.takes("&&") {
                self.out.push_str("&&");
            } else if is_java && self.takes("[") {
                if depth == DEPTH_MAX {
                    return Err(Fault::new("classes nest too deeply", self.written));
                }
                depth += 1;
                is_first = self.class_begins();
                continue;
            } else if !self.named_class()? {
                self.class_item(before, here)?;
            }
            is_first = false;
        }
        Ok(())
    }

    /// Writes the start of a class. Says that what comes first may be a bracket for itself.
    fn class_begins(&mut self) -> bool {
        self.out.push('[');
        if self.takes("^") {
            self.out.push('^');
        }
        true
    }

    /// A class such as `[:alpha:]` within another, if one stands next.
    fn named_class(&mut self) -> Result<bool, Fault> {
        let Some(behind) = self.rest.strip_prefix("[:").filter(|_| !self.lacks_class_end) else {
            return Ok(false);
        };
        // It is looked for once: what is left has fewer.
        let Some((name, rest)) = behind.split_once(":]") else {
            self.lacks_class_end = true;
            return Ok(false);
        };
        let before = self.rest;
        self.rest = rest;
        let written = self.since(before);
        if !OF_POSIX.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(Fault::of_range(written));
        }
        self.out.push_str(written);
        Ok(true)
    }

    /// A character, a range or an escaped class.
    fn class_item(&mut self, class: &'a str, here: &'a str) -> Result<(), Fault> {
        if self.takes("\\") {
            if let Some(class) = self.class_of_escape(here)? {
                self.out.push_str(&class);
                return Ok(());
            }
            self.rest = here;
        }
        let first = self.class_character(class)?;
        let mut last = first;
        // A hyphen in front of the end stands for itself.
        let ends = |rest: &str| rest.is_empty() || rest.starts_with(']');
        let behind = self.rest.strip_prefix('-');
        if let Some(behind) = behind.filter(|behind| !ends(behind)) {
            self.rest = behind;
            last = self.class_character(class)?;
        }
        if last < first {
            return Err(Fault::of_range(self.since(here)));
        }
        push_range(&mut self.out, first, last);
        Ok(())
    }

    fn class_character(&mut self, class: &'a str) -> Result<char, Fault> {
        let here = self.rest;
        match self.take() {
            None => Err(Fault::new("missing closing ]", class)),
            Some('\\') => self.character_of_escape(here),
            Some(c) => Ok(c),
        }
    }
}
