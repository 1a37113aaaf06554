//! Tokens.

use std::borrow::Cow;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The end of the query.
    End,
    /// A character that begins no token.
    Illegal,
    /// Blanks or a comment.
    Blank,
    /// A name, quoted or not.
    Ident,
    /// Digits with a point.
    Number,
    /// Digits.
    Integer,
    /// Digits and letters.
    Duration,
    /// A string in single quotes.
    String,
    /// A quoted text without its closing quote.
    BadString,
    /// A backslash before a character that needs none.
    BadEscape,
    /// `$name`
    Bound,
    /// A regular expression; only where a `$name` stands for one.
    Regex,
    /// A reserved word in capitals, an operator or a mark.
    Word(&'static str),
}

/// A piece of a query.
#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    /// Name, number or string without quotes; empty for words.
    pub(super) text: Cow<'a, str>,
    /// Where it stands, in bytes; behind the end for the end itself.
    pub(super) at: usize,
}

/// Words that cannot be names unless quoted, sorted.
pub(super) const RESERVED: [&str; 80] = [
    "ALL",
    "ALTER",
    "ANALYZE",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "BEGIN",
    "BY",
    "CARDINALITY",
    "CONTINUOUS",
    "CREATE",
    "DATABASE",
    "DATABASES",
    "DEFAULT",
    "DELETE",
    "DESC",
    "DESTINATIONS",
    "DIAGNOSTICS",
    "DISTINCT",
    "DROP",
    "DURATION",
    "END",
    "EVERY",
    "EXACT",
    "EXPLAIN",
    "FALSE",
    "FIELD",
    "FOR",
    "FROM",
    "GRANT",
    "GRANTS",
    "GROUP",
    "GROUPS",
    "IN",
    "INF",
    "INSERT",
    "INTO",
    "KEY",
    "KEYS",
    "KILL",
    "LIMIT",
    "MEASUREMENT",
    "MEASUREMENTS",
    "NAME",
    "OFFSET",
    "ON",
    "OR",
    "ORDER",
    "PASSWORD",
    "POLICIES",
    "POLICY",
    "PRIVILEGES",
    "QUERIES",
    "QUERY",
    "READ",
    "REPLICATION",
    "RESAMPLE",
    "RETENTION",
    "REVOKE",
    "SELECT",
    "SERIES",
    "SET",
    "SHARD",
    "SHARDS",
    "SHOW",
    "SLIMIT",
    "SOFFSET",
    "STATS",
    "SUBSCRIPTION",
    "SUBSCRIPTIONS",
    "TAG",
    "TO",
    "TRUE",
    "USER",
    "USERS",
    "VALUES",
    "WHERE",
    "WITH",
    "WRITE",
];

/// Where the words that begin with each letter begin among the reserved ones, and where they end.
#[allow(clippy::indexing_slicing, reason = "words are capitals, of which there are 26")]
const BEGINNINGS: [u8; 27] = {
    let mut beginnings = [0; 27];
    let mut at = 0;
    while at < RESERVED.len() {
        let mut behind = (RESERVED[at].as_bytes()[0] - b'A') as usize + 1;
        at += 1;
        while behind < beginnings.len() {
            beginnings[behind] = at as u8;
            behind += 1;
        }
    }
    beginnings
};

/// The reserved word that `text` is, in any mixture of cases.
pub(super) fn reserved(text: &str) -> Option<&'static str> {
    let first = text.bytes().next()?.to_ascii_uppercase().checked_sub(b'A')?;
    let (from, to) = (BEGINNINGS.get(usize::from(first))?, BEGINNINGS.get(usize::from(first) + 1)?);
    let mut words = RESERVED.get(usize::from(*from)..usize::from(*to))?.iter();
    words.find(|word| word.eq_ignore_ascii_case(text)).copied()
}

/// The operator or mark that a text begins with, the longest of them, and how long it is there.
fn mark_of(text: &str) -> Option<(&'static str, usize)> {
    let mut bytes = text.bytes();
    let (first, second) = (bytes.next()?, bytes.next());
    let two = match (first, second) {
        (b'=', Some(b'~')) => "=~",
        (b'!', Some(b'=')) | (b'<', Some(b'>')) => "!=",
        (b'!', Some(b'~')) => "!~",
        (b'>', Some(b'=')) => ">=",
        (b'<', Some(b'=')) => "<=",
        (b':', Some(b':')) => "::",
        _ => "",
    };
    if !two.is_empty() {
        return Some((two, 2));
    }
    let one = match first {
        b'+' => "+",
        b'-' => "-",
        b'*' => "*",
        b'/' => "/",
        b'%' => "%",
        b'&' => "&",
        b'|' => "|",
        b'^' => "^",
        b'=' => "=",
        b'>' => ">",
        b'<' => "<",
        b'(' => "(",
        b')' => ")",
        b',' => ",",
        b';' => ";",
        b':' => ":",
        b'.' => ".",
        _ => return None,
    };
    Some((one, 1))
}

/// Whether `c` may stand in a name without quotes.
pub(super) fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// A place in a query. It is copied to look ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Where the last token that is not blank began.
    last_at: usize,
    /// Whether the end was seen already: InfluxDB then places it one character further.
    has_seen_end: bool,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, last_at: 0, has_seen_end: false }
    }

    /// Whether the same token comes next, of the same text.
    pub(super) fn stands_with(&self, other: &Self) -> bool {
        let state = |scanner: &Self| (scanner.at, scanner.last_at, scanner.has_seen_end);
        state(self) == state(other)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Whether the text goes on so, blanks included.
    pub(super) fn begins_with(&self, text: &str) -> bool {
        self.rest().starts_with(text)
    }

    /// The next character, without taking it.
    pub(super) fn peek_char(&mut self) -> Option<char> {
        let next = self.rest().chars().next();
        self.has_seen_end |= next.is_none();
        next
    }

    /// Takes the characters that are `wanted`.
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let taken = rest.split_at(rest.find(|c| !wanted(c)).unwrap_or(rest.len())).0;
        self.at += taken.len();
        taken
    }

    /// Takes the bytes that are `wanted`. Where it ends a character has to end.
    fn take_bytes(&mut self, wanted: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.bytes().position(|byte| !wanted(byte)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Takes the characters of a name, which are of one byte each.
    fn take_name(&mut self) -> &'a str {
        self.take_bytes(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// Passes over blanks, which stand before most tokens. Comments are left.
    pub(super) fn pass_blanks(&mut self) {
        if self.rest().bytes().next().is_some_and(is_blank) {
            self.take_bytes(is_blank);
            self.peek_char();
        }
    }

    /// The next token, blanks included.
    pub(super) fn next(&mut self) -> Token<'a> {
        let at = self.at;
        let token = self.next_token();
        if token.kind != Kind::Blank {
            self.last_at = at;
        }
        token
    }

    /// The last token that is not blank, again.
    pub(super) fn last(&self) -> Token<'a> {
        Self { at: self.last_at, ..*self }.next_token()
    }

    fn next_token(&mut self) -> Token<'a> {
        let at = self.at;
        let rest = self.rest();
        let token = |kind, text: &'a str| Token { kind, text: Cow::Borrowed(text), at };
        let Some(first) = rest.chars().next() else {
            let at = at + usize::from(std::mem::replace(&mut self.has_seen_end, true));
            return Token { at, ..token(Kind::End, "") };
        };
        match first {
            ' ' | '\t' | '\n' | '\r' => {
                self.pass_blanks();
                token(Kind::Blank, " ")
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let name = self.take_name();
                self.peek_char();
                match reserved(name) {
                    Some(word) => token(Kind::Word(word), ""),
                    None => token(Kind::Ident, name),
                }
            }
            '0'..='9' => self.number(at),
            '.' if rest
                .get(1..)
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit())) =>
            {
                self.number(at)
            }
            '"' => self.quoted(b'"', Kind::Ident, at),
            // InfluxDB places a string at the character before it.
            '\'' => self.quoted(b'\'', Kind::String, at.saturating_sub(1)),
            '$' => {
                self.at += 1;
                let name = match self.rest().starts_with('"') {
                    true => self.quoted(b'"', Kind::Bound, at).text,
                    false => Cow::Borrowed(self.take_name()),
                };
                Token { kind: Kind::Bound, text: name, at }
            }
            _ => self.mark(first, at),
        }
    }

    fn mark(&mut self, first: char, at: usize) -> Token<'a> {
        let rest = self.rest();
        let token = |kind, text: &'a str| Token { kind, text: Cow::Borrowed(text), at };
        if rest.starts_with("--") {
            self.take_while(|c| c != '\n');
            self.peek_char();
            return token(Kind::Blank, " ");
        }
        if let Some(comment) = rest.strip_prefix("/*") {
            let Some(end) = comment.find("*/") else {
                self.at = self.text.len();
                return token(Kind::Illegal, "");
            };
            self.at += end + 4;
            return token(Kind::Blank, " ");
        }
        match mark_of(rest) {
            Some((mark, length)) => {
                self.at += length;
                token(Kind::Word(mark), "")
            }
            None => {
                self.at += first.len_utf8();
                token(Kind::Illegal, rest.get(..first.len_utf8()).unwrap_or_default())
            }
        }
    }

    /// A number, integer or duration.
    fn number(&mut self, at: usize) -> Token<'a> {
        let is_digit = |c: char| c.is_ascii_digit();
        let is_unit = |c: char| c.is_ascii_alphabetic() || c == 'µ';
        self.take_bytes(|byte| byte.is_ascii_digit());
        let kind = if self.rest().starts_with('.') {
            let fraction = self.rest().get(1..).unwrap_or_default();
            self.at += 1;
            if fraction.starts_with(is_digit) {
                self.take_bytes(|byte| byte.is_ascii_digit());
            }
            Kind::Number
        } else if self.rest().starts_with(is_unit) {
            self.take_while(|c| is_unit(c) || is_digit(c));
            Kind::Duration
        } else {
            Kind::Integer
        };
        let text = self.text.get(at..self.at).unwrap_or_default();
        Token { kind, text: Cow::Borrowed(text.strip_suffix('.').unwrap_or(text)), at }
    }

    /// Text between two `quote`s, in which a backslash stands before quotes, itself and `n`.
    fn quoted(&mut self, quote: u8, kind: Kind, at: usize) -> Token<'a> {
        let start = self.at + 1;
        self.at = start;
        let mut plain = String::new();
        loop {
            let run = self.take_bytes(|byte| !matches!(byte, b'\\' | b'\n') && byte != quote);
            let mut rest = self.rest().chars();
            match (rest.next(), rest.next()) {
                (Some(c), _) if c == char::from(quote) => {
                    self.at += 1;
                    let text = match plain.is_empty() {
                        true => Cow::Borrowed(run),
                        false => Cow::Owned(plain + run),
                    };
                    return Token { kind, text, at };
                }
                (Some('\\'), Some(escaped)) => {
                    plain += run;
                    let escape_at = self.at + 1;
                    self.at = escape_at + escaped.len_utf8();
                    plain.push(match escaped {
                        'n' => '\n',
                        '\\' | '"' | '\'' => escaped,
                        _ => {
                            let text = Cow::Owned(format!("\\{escaped}"));
                            return Token { kind: Kind::BadEscape, text, at: escape_at };
                        }
                    });
                }
                _ => {
                    let at = (start - 1).saturating_sub(1);
                    return Token { kind: Kind::BadString, text: Cow::Owned(plain + run), at };
                }
            }
        }
    }

    /// A regular expression; the next character is its opening slash. `\/` stands for a slash,
    /// other backslashes belong to the expression. Nothing when the closing slash is missing.
    pub(super) fn regex(&mut self) -> Option<String> {
        self.at += 1;
        let mut pattern = String::new();
        loop {
            pattern += self.take_while(|c| !matches!(c, '/' | '\\' | '\n'));
            let rest = self.rest();
            match rest.chars().next()? {
                '/' => {
                    self.at += 1;
                    return Some(pattern);
                }
                '\\' if rest.starts_with("\\/") => {
                    self.at += 2;
                    pattern.push('/');
                }
                '\\' => {
                    self.at += 1;
                    pattern.push('\\');
                }
                _ => return None,
            }
        }
    }

    /// Where the scanner stands, in bytes.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Line and character of a place, both counted from 0.
    pub(super) fn position(&self, at: usize) -> (usize, usize) {
        let before = self.text.get(..at.min(self.text.len())).unwrap_or(self.text);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count();
        let chars = before.get(line_start..).unwrap_or_default().chars().count();
        (line, chars + at.saturating_sub(self.text.len()))
    }
}

impl Token<'_> {
    /// How an error names the token.
    pub(super) fn found(&self) -> String {
        match self.kind {
            Kind::Bound => format!("${}", self.text),
            _ if !self.text.is_empty() => self.text.clone().into_owned(),
            Kind::Word(word) => word.to_owned(),
            Kind::End => "EOF".to_owned(),
            Kind::Ident => "IDENT".to_owned(),
            Kind::String => "STRING".to_owned(),
            Kind::BadString => "BADSTRING".to_owned(),
            _ => "ILLEGAL".to_owned(),
        }
    }

    /// Whether the token is this word or mark.
    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self.kind, Kind::Word(own) if own == word)
    }
}
