//! Rust source without its comments and strings: enough of a lexer for the rules, no more.
//!
//! 1. [`blank`] overwrites comments with spaces and the insides of literals with quotation marks;
//!    lines keep their numbers.
//! 2. Items under `#[cfg(test)]` are found by matching braces, and whole files by their path.
//! 3. So are functions.

use std::ops::Range;

/// What rules need to know of one Rust file.
#[derive(Debug)]
pub(crate) struct Code {
    /// The source without comments and literals.
    pub(crate) blanked: String,
    /// Line ranges of test code, counted from 1.
    tests: Vec<Range<usize>>,
    /// Every function outside test code.
    pub(crate) functions: Vec<Function>,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Line of its name, counted from 1.
    pub(crate) line: usize,
    /// From the line of its name to the line of its closing brace.
    pub(crate) lines: usize,
}

impl Code {
    pub(crate) fn read(path: &str, text: &str) -> Self {
        let blanked = blank(text);
        let tests = match is_test_file(path) {
            true => std::iter::once(1..usize::MAX).collect(),
            false => find_tests(&blanked),
        };
        let mut code = Self { blanked, tests, functions: Vec::new() };
        code.functions = find_functions(&code.blanked);
        let tests = std::mem::take(&mut code.tests);
        code.functions.retain(|function| !tests.iter().any(|test| test.contains(&function.line)));
        code.tests = tests;
        code
    }

    /// Whether the line, counted from 1, belongs to tests.
    pub(crate) fn is_test(&self, line: usize) -> bool {
        self.tests.iter().any(|test| test.contains(&line))
    }

    /// Lines outside tests that hold code, with their numbers counted from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let numbered = self.blanked.lines().enumerate().map(|(index, line)| (index + 1, line));
        numbered.filter(|(number, line)| !line.trim().is_empty() && !self.is_test(*number))
    }

    /// Where a word stands, tests included: line numbers counted from 1.
    pub(crate) fn find_word<'a>(&'a self, word: &'a str) -> impl Iterator<Item = usize> + 'a {
        let numbered = self.blanked.lines().enumerate();
        numbered.filter(move |(_, line)| words(line).any(|w| w == word)).map(|(index, _)| index + 1)
    }
}

/// The identifiers and keywords of a blanked line.
pub(crate) fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn is_test_file(path: &str) -> bool {
    let mut parts = path.rsplit('/');
    parts.next() == Some("tests.rs") || parts.any(|part| matches!(part, "tests" | "benches"))
}

/// Overwrites comments with spaces and the insides of literals with quotation marks.
fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, filler) = token(rest, out.chars().next_back());
        let (taken, left) = rest.split_at(length.clamp(first.len_utf8(), rest.len()));
        match filler {
            None => out.push_str(taken),
            Some(filler) => {
                let fill = |c: char| if c == '\n' { '\n' } else { filler };
                out.extend(taken.chars().map(fill));
            }
        }
        rest = left;
    }
    out
}

/// The length of what `rest` starts with, and what to overwrite it with, if at all.
fn token(rest: &str, before: Option<char>) -> (usize, Option<char>) {
    let first = rest.chars().next().unwrap_or(' ');
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), Some(' '));
    }
    if rest.starts_with("/*") {
        return (block_comment(rest), Some(' '));
    }
    if first == '"' {
        return (quoted(rest, '"'), Some('"'));
    }
    if first == '\'' {
        return match char_literal(rest) {
            Some(length) => (length, Some('"')),
            None => (1, None),
        };
    }
    let in_word = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    if !in_word && let Some(length) = raw_string(rest) {
        return (length, Some('"'));
    }
    (first.len_utf8(), None)
}

fn block_comment(rest: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while let Some(tail) = rest.get(at..).filter(|tail| !tail.is_empty()) {
        if tail.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += tail.chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of a literal between two `mark`s with backslash escapes.
fn quoted(rest: &str, mark: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == mark => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a character literal; nothing when the quote begins a lifetime.
fn char_literal(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    match chars.next()?.1 {
        '\\' => Some(quoted(rest, '\'')),
        _ => chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1),
    }
}

/// The length of `r"…"`, `r#"…"#` and their `b` and `c` kin, if `rest` starts with one.
fn raw_string(rest: &str) -> Option<usize> {
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        let tail = rest.strip_prefix(prefix);
        tail.is_some_and(|tail| tail.trim_start_matches('#').starts_with('"'))
    })?;
    let tail = rest.get(prefix.len()..)?;
    let hashes = tail.len() - tail.trim_start_matches('#').len();
    let start = prefix.len() + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    let inside = rest.get(start..)?;
    Some(inside.find(&end).map_or(rest.len(), |at| start + at + end.len()))
}

/// Line ranges of the items under `#[cfg(test)]` and its combinations.
fn find_tests(blanked: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for attribute in ["#[cfg(test)]", "#[cfg(all(test", "#[cfg(any(test"] {
        for (at, _) in blanked.match_indices(attribute) {
            let rest = blanked.get(at..).unwrap_or_default();
            found.push(line_of(blanked, at)..line_of(blanked, at + item_length(rest)) + 1);
        }
    }
    found
}

fn find_functions(blanked: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for (at, _) in blanked.match_indices("fn ") {
        let (before, rest) = blanked.split_at(at);
        if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            continue;
        }
        let name = words(rest).nth(1).unwrap_or_default();
        let length = item_length(rest);
        if rest.get(..length).is_some_and(|item| item.ends_with('}')) {
            let line = line_of(blanked, at);
            let lines = line_of(blanked, at + length) - line + 1;
            found.push(Function { name: name.to_owned(), line, lines });
        }
    }
    found
}

/// The length of the item that `rest` starts with: to its semicolon, or to its closing brace.
fn item_length(rest: &str) -> usize {
    let mut braces = 0usize;
    let mut others = 0usize;
    for (at, c) in rest.char_indices() {
        match c {
            '(' | '[' => others += 1,
            ')' | ']' => others = others.saturating_sub(1),
            '{' => braces += 1,
            '}' if braces <= 1 && others == 0 => return at + 1,
            '}' => braces = braces.saturating_sub(1),
            ';' if braces == 0 && others == 0 => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// The line, counted from 1, of the byte at `at`, or of the one before when that ends the text.
fn line_of(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    before.bytes().filter(|&byte| byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_lines_kept() {
        let source = "a /* x /* y */\n z */ b // c\n\"d \\\" e\" 'f' '\\'' r#\"g\"h\"# br\"i\" b'j'\n\
                      fn k<'l>(m: &'l str) 'é' r#type";
        let blanked = blank(source);
        let left: Vec<_> = blanked.lines().map(|line| words(line).collect::<Vec<_>>()).collect();
        assert_eq!(left[0], ["a"]);
        assert_eq!(left[1], ["b"]);
        assert_eq!(left[2], ["b"]);
        assert_eq!(left[3], ["fn", "k", "l", "m", "l", "str", "r", "type"]);
        assert_eq!(blanked.lines().count(), source.lines().count());
    }

    #[test]
    fn unclosed_literals_end_with_the_file() {
        for source in ["\"a", "r#\"a", "/* a", "'\\", "fn a() { '"] {
            assert_eq!(blank(source).chars().count(), source.chars().count(), "{source}");
        }
    }

    #[test]
    fn tests_are_told_from_code() {
        let source = "fn a() {}\n#[cfg(test)]\nmod tests {\n  fn b() {}\n}\nfn c() {}\n\
                      #[cfg(all(test, unix))]\nuse x;\nfn d() {}\n";
        let code = Code::read("src/lib.rs", source);
        let test_lines: Vec<_> = (1..=9).filter(|&line| code.is_test(line)).collect();
        assert_eq!(test_lines, [2, 3, 4, 5, 7, 8]);
        let names: Vec<_> = code.functions.iter().map(|function| &*function.name).collect();
        assert_eq!(names, ["a", "c", "d"]);
        assert!(Code::read("src/tests.rs", source).functions.is_empty());
        assert!(Code::read("crates/a/tests/b.rs", source).functions.is_empty());
        assert_eq!(Code::read("src/contests.rs", source).functions.len(), 3);
    }

    #[test]
    fn functions_span_from_name_to_closing_brace() {
        let source = "trait T {\n  fn a(&self);\n  fn b(\n    &self,\n  ) -> [u8; 2]\n  {\n    \
                      [0; 2]\n  }\n}\nconst F: fn (u8) = x;\n";
        let code = Code::read("src/lib.rs", source);
        assert_eq!(code.functions, [Function { name: "b".to_owned(), line: 3, lines: 6 }]);
    }
}
