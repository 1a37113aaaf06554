//! Wraps comments that are too long, which rustfmt leaves alone.
//!
//! Words beyond the margin move to the start of the next line of the paragraph, or to a new line
//! when there is none. Tables, headings, fenced code and single words without end stay.

use crate::code::Code;
use crate::rules::LINE_COLUMNS_MAX;
use std::collections::VecDeque;

/// The text with its comments wrapped.
pub(crate) fn wrap(path: &str, text: &str) -> String {
    let code = Code::read(path, text);
    let is_comment = |(line, blanked): (&str, &str)| {
        line.trim_start().starts_with("//") && blanked.trim().is_empty()
    };
    let lines = text.lines().zip(code.blanked.lines());
    let mut rest: VecDeque<(String, bool)> =
        lines.map(|pair| (pair.0.to_owned(), is_comment(pair))).collect();
    let mut out = String::with_capacity(text.len());
    let mut fenced = false;
    while let Some((line, commented)) = rest.pop_front() {
        let comment = Comment::of(&line).filter(|_| commented);
        fenced = match &comment {
            Some(comment) => fenced ^ comment.body.starts_with("```"),
            None => false,
        };
        let split = comment.filter(|comment| !fenced && comment.is_prose()).and_then(wrap_line);
        let Some((kept, spill, lead)) = split else {
            out.push_str(&line);
            out.push('\n');
            continue;
        };
        out.push_str(kept);
        out.push('\n');
        let next = rest.front().filter(|(_, commented)| *commented);
        let next = next.and_then(|(next, _)| Comment::of(next).filter(|n| n.continues(&lead)));
        let joined = match next {
            Some(next) => {
                let joined = format!("{}{spill} {}", next.lead, next.body);
                rest.pop_front();
                joined
            }
            None => format!("{lead}{spill}"),
        };
        rest.push_front((joined, true));
    }
    out
}

/// A line that is nothing but a comment.
struct Comment<'a> {
    line: &'a str,
    /// Indentation, slashes and the spaces after them.
    lead: &'a str,
    body: &'a str,
}

impl<'a> Comment<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let slashes = line.find("//")?;
        let after = line.get(slashes..)?.trim_start_matches(['/', '!']);
        let body = after.trim_start();
        let lead = line.get(..line.len() - body.len())?;
        Some(Self { line, lead, body })
    }

    fn is_prose(&self) -> bool {
        !self.body.starts_with(['|', '#', '`']) || self.body.starts_with('`') && !self.is_fence()
    }

    fn is_fence(&self) -> bool {
        self.body.starts_with("```")
    }

    /// The width of the bullet or number that the body starts with; 0 when it is no list item.
    fn bullet(&self) -> usize {
        let word = self.body.split(' ').next().unwrap_or_default();
        let number = word.strip_suffix(['.', ')']).unwrap_or_default();
        let numbered = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        if numbered || matches!(word, "-" | "*" | "+" | ">") { word.len() + 1 } else { 0 }
    }

    /// Whether this line goes on with the paragraph of a line whose text begins after `lead`.
    fn continues(&self, lead: &str) -> bool {
        self.lead == lead && !self.body.is_empty() && self.bullet() == 0 && self.is_prose()
    }
}

/// What stays on a line that is too long, what does not, and what precedes it on a new line.
fn wrap_line(comment: Comment<'_>) -> Option<(&str, &str, String)> {
    let line = comment.line;
    let (end, _) = line.char_indices().nth(LINE_COLUMNS_MAX)?;
    let bullet = comment.bullet();
    let start = comment.lead.len() + bullet;
    let space = |c: &usize| line.as_bytes().get(*c) == Some(&b' ');
    let at = (start + 1..=end).rev().filter(space).find(|&at| {
        let spill = line.get(at + 1..).unwrap_or_default();
        // A word that would turn the new line into a list, a table or a heading stays here.
        let new = Comment { line, lead: comment.lead, body: spill };
        new.bullet() == 0 && new.is_prose() && !new.is_fence()
    })?;
    let (kept, spill) = line.split_at(at);
    Some((kept.trim_end(), spill.trim_start(), format!("{}{}", comment.lead, " ".repeat(bullet))))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Wraps the text after widening: each `~` stands for eighty letters.
    fn check(text: &str, expected: &str) {
        let wide = |text: &str| text.replace('~', &"a".repeat(80));
        assert_eq!(wrap("src/a.rs", &wide(text)), wide(expected), "{text}");
    }

    #[test]
    fn words_move_to_the_next_line_of_the_paragraph() {
        check("/// ~ four three twenty\n/// more\n", "/// ~ four three\n/// twenty more\n");
        check("    // ~ four three twenty\n", "    // ~ four three\n    // twenty\n");
        check("//! ~ four three twenty\n//!\n", "//! ~ four three\n//! twenty\n//!\n");
        check("/// ~ four three twenty\nfn\n", "/// ~ four three\n/// twenty\nfn\n");
        check(
            "/// ~ twentytwenty twenty\n/// ~ x\n/// y\n",
            "/// ~ twentytwenty\n/// twenty ~ x\n/// y\n",
        );
    }

    #[test]
    fn list_items_keep_their_indentation() {
        check("// - ~ four three twenty\n//   more\n", "// - ~ four three\n//   twenty more\n");
        check(
            "// 1. ~ four three twenty\n// 2. b\n",
            "// 1. ~ four three\n//    twenty\n// 2. b\n",
        );
        check("// ~ four threefourx - y\n", "// ~ four\n// threefourx - y\n");
    }

    #[test]
    fn what_is_not_prose_stays() {
        for text in [
            "// | ~ | four three twenty |\n",
            "/// ```\n/// ~ four three twenty\n/// ```\n",
            "/// # ~ four three twenty\n",
            "// ~~\n",
            "let x = ~; // four three twenty\n",
            "let x = r\"\n// ~ four three twenty\n\";\n",
            "// ~ four three\n",
        ] {
            check(text, text);
        }
    }
}
