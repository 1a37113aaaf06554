//! What a query is listed as, and what asks the same again.

use std::net::IpAddr;

/// Characters of a question that a person reads.
const CHARS_MAX: usize = 2_000;

/// What a query is listed as while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Title {
    pub(crate) text: String,
    pub(crate) database: String,
    /// Whether it changes what is stored, so that it is no question.
    pub(crate) is_change: bool,
    /// Whether nobody asked it: a page looks something up, or draws a panel of its own.
    pub(crate) by_itself: bool,
    /// The address it is asked from, where that is known.
    pub(crate) from: Option<IpAddr>,
    /// What asks the same again, where a language can say it.
    pub(crate) question: Option<Question>,
}

/// A question in its language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Question {
    pub(crate) language: Language,
    /// One or several; none where they are longer than what is remembered of a question.
    pub(crate) texts: Vec<String>,
    /// Its first and last instant, and the step, where they do not stand in the text.
    pub(crate) range_ms: Option<(i64, i64)>,
    pub(crate) step_ms: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    OpenTsdb,
    InfluxQl,
    PromQl,
    Sql,
}

impl Language {
    /// What it is called in the API.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::OpenTsdb => "opentsdb",
            Self::InfluxQl => "influxql",
            Self::PromQl => "promql",
            Self::Sql => "sql",
        }
    }
}

impl Question {
    /// A question that keeps no more of its texts than a person reads: a part of one asks something
    /// else.
    pub(crate) fn new(language: Language, texts: Vec<String>) -> Self {
        let is_short = texts.iter().map(String::len).sum::<usize>() <= CHARS_MAX;
        let texts = if is_short { texts } else { Vec::new() };
        Self { language, texts, range_ms: None, step_ms: None }
    }

    /// The same over a range, both ends in milliseconds since 1970.
    pub(crate) fn over(self, start_ms: i64, end_ms: i64) -> Self {
        Self { range_ms: Some((start_ms, end_ms)), ..self }
    }

    /// The same at instants so far apart.
    pub(crate) fn every(self, step_ms: i64) -> Self {
        Self { step_ms: Some(step_ms), ..self }
    }
}

impl Title {
    /// A question's text, cut to what a person reads, and the database that is asked.
    pub(crate) fn new(text: impl Into<String>, database: impl Into<String>) -> Self {
        let (mut text, database) = (text.into(), database.into());
        text.truncate(listed_text(&text).len());
        Self { text, database, ..Self::default() }
    }

    /// What a page looks up by itself, and its database.
    pub(crate) fn by_itself(text: &str, database: impl Into<String>) -> Self {
        Self { by_itself: true, ..Self::new(text, database) }
    }

    /// The same with what asks it again.
    pub(crate) fn asking(self, question: impl Into<Option<Question>>) -> Self {
        Self { question: question.into(), ..self }
    }
}

/// As much of a question's text as a person reads.
pub(crate) fn listed_text(text: &str) -> &str {
    if text.len() <= CHARS_MAX {
        return text;
    }
    let end = text.char_indices().nth(CHARS_MAX).map_or(text.len(), |(end, _)| end);
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_questions_nothing_asks_them_again() {
        let of = |texts: &[String]| Question::new(Language::PromQl, texts.to_vec()).texts.len();
        assert_eq!(of(&["up".to_owned(), "x".repeat(1_998)]), 2);
        assert_eq!(of(&["up".to_owned(), "x".repeat(1_999)]), 0);
        assert_eq!(listed_text(&"é".repeat(3_000)).chars().count(), CHARS_MAX);
    }
}
