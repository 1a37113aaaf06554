//! Tabs where Prometheus reads none. Its parser takes a tab between words, and refuses it where a
//! new value may begin: in front of a line, and behind the dash of a list.

/// What Prometheus says of such a tab.
const REFUSED: &str =
    "a tab stands where only spaces may: found character that cannot start any token";

/// Goes through a text beside whoever parses it, scalar by scalar: what is in these is theirs.
pub(super) struct Tabs<'t> {
    rest: std::str::Chars<'t>,
    /// Letters that were read.
    at: usize,
    line: usize,
    /// Whether a value may begin here.
    may_begin: bool,
    /// How many brackets are open: between them tabs are spaces.
    brackets: usize,
}

impl<'t> Tabs<'t> {
    /// Of a text; nothing where it has none.
    pub(super) fn of(text: &'t str) -> Option<Self> {
        let has_any = text.contains('\t');
        has_any.then(|| Self { rest: text.chars(), at: 0, line: 1, may_begin: true, brackets: 0 })
    }

    /// Reads up to a scalar that stands from one letter to before another, and steps over it.
    ///
    /// # Errors
    /// The line of a tab that Prometheus refuses, and what it says.
    pub(super) fn pass(&mut self, from: usize, to: usize) -> Result<(), (usize, String)> {
        self.read_to(from)?;
        while self.at < to {
            if self.next() == Some('\n') {
                self.line += 1;
            }
        }
        self.may_begin = false;
        Ok(())
    }

    /// Reads up to the letter of that number.
    pub(super) fn read_to(&mut self, end: usize) -> Result<(), (usize, String)> {
        while self.at < end {
            let Some(letter) = self.next() else { return Ok(()) };
            match letter {
                '\t' if self.may_begin && self.brackets == 0 => {
                    return Err((self.line, REFUSED.to_owned()));
                }
                '\n' => (self.line, self.may_begin) = (self.line + 1, true),
                '#' => while self.at < end && self.next_if(|letter| letter != '\n') {},
                '-' | '?' if self.is_before_blank() => {}
                '[' | '{' => self.brackets += 1,
                ']' | '}' => self.brackets = self.brackets.saturating_sub(1),
                ' ' | '\t' | '\r' | ':' | ',' => {}
                // A tag, an anchor, or how a text is folded.
                _ => self.may_begin = false,
            }
        }
        Ok(())
    }

    fn is_before_blank(&self) -> bool {
        self.rest.clone().next().is_none_or(char::is_whitespace)
    }

    fn next(&mut self) -> Option<char> {
        self.at += 1;
        self.rest.next()
    }

    /// Steps over the next letter if it is such a one.
    fn next_if(&mut self, is: impl Fn(char) -> bool) -> bool {
        let is_next = self.rest.clone().next().is_some_and(is);
        if is_next {
            self.next();
        }
        is_next
    }
}
