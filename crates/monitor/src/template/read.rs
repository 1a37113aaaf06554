//! The words of a template.

/// A word within an action.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word {
    /// A name of a function or a keyword.
    Name(String),
    /// `$name`
    Variable(String),
    /// `.name`; empty for a dot alone. `true` when it follows its owner without a space.
    Field(String, bool),
    Text(String),
    Whole(i64),
    Float(f64),
    /// `(`, `)`, `|`, `,`, `=`, `:=`
    Sign(&'static str),
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Action(Vec<Word>),
}

/// Cuts a text into texts and actions.
pub(super) fn pieces(text: &str) -> Result<Vec<Piece>, String> {
    let (mut pieces, mut rest, mut trims) = (Vec::new(), text, false);
    loop {
        let (before, behind) = match rest.split_once("{{") {
            None => {
                let text = if trims { rest.trim_start() } else { rest };
                pieces.push(Piece::Text(text.to_owned()));
                return Ok(pieces);
            }
            Some(found) => found,
        };
        let before = if trims { before.trim_start() } else { before };
        let is_trimmed = behind.starts_with("- ") || behind.starts_with("-\n");
        let before = if is_trimmed { before.trim_end() } else { before };
        pieces.push(Piece::Text(before.to_owned()));
        let body = if is_trimmed { behind.get(2..).unwrap_or_default() } else { behind };
        // Go knows a comment only where its action begins.
        if let Some(comment) = body.strip_prefix("/*") {
            let end = comment.split_once("*/").ok_or("a comment has no end")?.1;
            let end = end.trim_start();
            trims = end.starts_with("-}}");
            let end = end.strip_prefix("-}}").or_else(|| end.strip_prefix("}}"));
            rest = end.ok_or("a comment must end with its action")?;
            continue;
        }
        let (words, end) = words(body)?;
        trims = end.starts_with('-');
        rest = end.trim_start_matches('-').strip_prefix("}}").unwrap_or_default();
        pieces.push(Piece::Action(words));
    }
}

const SIGNS: [&str; 6] = [":=", "(", ")", "|", ",", "="];

/// The words up to the end of an action, and what begins with that end.
fn words(text: &str) -> Result<(Vec<Word>, &str), String> {
    let (mut words, mut rest, mut has_space) = (Vec::new(), text, true);
    loop {
        let trimmed = rest.trim_start();
        has_space |= trimmed.len() < rest.len();
        rest = trimmed;
        if rest.starts_with("}}") || has_space && rest.starts_with("-}}") {
            return Ok((words, rest));
        }
        let Some(first) = rest.chars().next() else {
            return Err("an action has no end".to_owned());
        };
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            words.push(Word::Sign(sign));
            rest = rest.strip_prefix(sign).unwrap_or_default();
            has_space = false;
            continue;
        }
        let name_end = |text: &str| {
            text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
        };
        let cut = |from: usize| {
            let tail = rest.get(from..).unwrap_or_default();
            tail.split_at_checked(name_end(tail)).unwrap_or((tail, ""))
        };
        let is_number = first.is_ascii_digit()
            || matches!(first, '-' | '+' | '.')
                && rest.get(1..).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if is_number {
            let (number, behind) = number(rest)?;
            words.push(number);
            rest = behind;
        } else if matches!(first, '"' | '`' | '\'') {
            let (text, behind) = quoted(rest)?;
            words.push(text);
            rest = behind;
        } else if first == '.' {
            let (name, behind) = cut(1);
            words.push(Word::Field(name.to_owned(), !has_space));
            rest = behind;
        } else if first == '$' {
            let (name, behind) = cut(1);
            words.push(Word::Variable(name.to_owned()));
            rest = behind;
        } else if first.is_alphabetic() || first == '_' {
            let (name, behind) = cut(0);
            words.push(Word::Name(name.to_owned()));
            rest = behind;
        } else {
            return Err(format!("{first:?} means nothing in an action"));
        }
        has_space = false;
    }
}

fn number(text: &str) -> Result<(Word, &str), String> {
    let mut before = ' ';
    let is_part = |c: char| {
        let is_sign = matches!(c, '-' | '+') && matches!(before, ' ' | 'e' | 'E');
        before = c;
        is_sign || c.is_ascii_alphanumeric() || c == '.' || c == '_'
    };
    let mut is_part = is_part;
    let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let plain = digits.replace('_', "");
    let word = match (plain.parse(), plain.parse()) {
        (Ok(whole), _) => Word::Whole(whole),
        (_, Ok(float)) => Word::Float(float),
        _ => return Err(format!("{digits:?} is no number")),
    };
    Ok((word, rest))
}

/// A text in quotes or backquotes, or a letter in single ones, which is its number.
fn quoted(text: &str) -> Result<(Word, &str), String> {
    let mut letters = text.char_indices();
    let quote = letters.next().map_or('"', |(_, quote)| quote);
    let mut out = String::new();
    while let Some((at, c)) = letters.next() {
        let c = match c {
            c if c == quote => {
                let rest = text.get(at + 1..).unwrap_or_default();
                let letter = out.chars().next().filter(|_| quote == '\'');
                return Ok(match letter {
                    Some(letter) => (Word::Whole(i64::from(u32::from(letter))), rest),
                    None => (Word::Text(out), rest),
                });
            }
            '\\' if quote != '`' => match letters.next().map(|(_, c)| c) {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some(c @ ('\\' | '"' | '\'')) => c,
                Some(c) => return Err(format!("\\{c} means nothing in a text")),
                None => break,
            },
            c => c,
        };
        out.push(c);
    }
    Err("a text in quotes has no end".to_owned())
}
