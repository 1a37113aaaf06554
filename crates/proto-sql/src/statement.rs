//! Statements: read from a text, and planned.

use crate::lowering::Ground;
use crate::typed::Type;
use crate::{Catalogue, SqlError, listing, query, refused};
use foliot_plan::relation::Answer;
use sqlparser::ast::{self, ShowStatementOptions};
use sqlparser::ast::{ObjectName, Query, ShowStatementFilter, ShowStatementFilterPosition};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Operators that a statement may have: what is made of them stands one in the other, and takes of
/// the stack.
const OPERATORS_MAX: usize = 500;

/// Words, values and signs that a statement may have: planning takes no longer than these let it.
const TOKENS_MAX: usize = 50_000;

/// How deep the grammar may go.
const GRAMMAR_DEPTH_MAX: usize = 24;

/// The value of a `$name`.
#[derive(Clone, Debug, PartialEq)]
pub enum Parameter {
    /// True or false.
    Boolean(bool),
    /// An integer.
    Integer(i64),
    /// An integer beyond those.
    Unsigned(u64),
    /// A number.
    Float(f64),
    /// A text, which may stand for a value of another type.
    Text(String),
    /// An instant, in nanoseconds since 1970.
    Time(i64),
    /// A length of time, in nanoseconds.
    Interval(i64),
}

/// The values of `$name`s, by name.
pub type Parameters = BTreeMap<String, Parameter>;

/// A statement that was read. It changes nothing.
#[derive(Clone, Debug)]
pub struct Statement {
    of: Of,
    explains: bool,
    analyzes: bool,
}

#[derive(Clone, Debug)]
enum Of {
    Query(Box<Query>),
    Tables(Option<String>),
    Columns(ObjectName),
}

/// A planned statement.
#[derive(Clone, Debug)]
pub struct Planned {
    /// What is carried out.
    pub answer: Answer,
    /// The types of its columns.
    pub types: Vec<Type>,
}

impl Statement {
    /// Reads a statement.
    ///
    /// # Errors
    /// When it is none of those that change nothing, or not one.
    pub fn parse(text: &str) -> Result<Self, SqlError> {
        let dialect = PostgreSqlDialect {};
        let tokens = Tokenizer::new(&dialect, text).tokenize_with_location();
        let tokens = tokens.map_err(|error| SqlError::of_grammar(&error.to_string()))?;
        check_length(&tokens)?;
        let parser = Parser::new(&dialect).with_recursion_limit(GRAMMAR_DEPTH_MAX);
        let read = parser.with_tokens_with_locations(tokens).parse_statements();
        let mut statements = read.map_err(|error| match error {
            ParserError::RecursionLimitExceeded => SqlError::new(
                "the statement is nested too deep: write it with fewer parentheses and subqueries",
            ),
            ParserError::TokenizerError(text) | ParserError::ParserError(text) => {
                SqlError::of_grammar(&text)
            }
        })?;
        match (statements.pop(), statements.is_empty()) {
            (Some(statement), true) => Self::of(statement),
            (Some(_), false) => Err(SqlError::new("this takes one statement at a time")),
            (None, _) => Err(SqlError::new("there is no statement in the text")),
        }
    }

    fn of(statement: ast::Statement) -> Result<Self, SqlError> {
        let (mut explains, mut analyzes, mut inner) = (false, false, statement);
        while let ast::Statement::Explain { analyze, statement, .. } = inner {
            (explains, analyzes, inner) = (true, analyzes || analyze, *statement);
        }
        let of = match inner {
            ast::Statement::Query(query) => Of::Query(query),
            ast::Statement::ShowTables { show_options, .. } => Of::Tables(pattern(&show_options)?),
            ast::Statement::ShowColumns { show_options, .. } => {
                let of = show_options.show_in.as_ref();
                match of.and_then(|of| of.parent_name.clone()) {
                    Some(name) => Of::Columns(name),
                    None => return Err(SqlError::new("write SHOW COLUMNS FROM table")),
                }
            }
            ast::Statement::ExplainTable { table_name, .. } => Of::Columns(table_name),
            other => return Err(refused::statement(&other)),
        };
        Ok(Self { of, explains, analyzes })
    }

    /// Whether it is told how the statement is carried out, and not its answer.
    pub const fn explains(&self) -> bool {
        self.explains
    }

    /// Whether it is carried out for that.
    pub const fn analyzes(&self) -> bool {
        self.analyzes
    }

    /// Plans the statement.
    ///
    /// # Errors
    /// When it names what does not exist, or says something that makes no sense.
    pub fn plan(
        &self,
        catalogue: &Catalogue<'_>,
        parameters: &Parameters,
    ) -> Result<Planned, SqlError> {
        let tables = Cell::new(0);
        let ground = Ground { catalogue, parameters, tables: &tables };
        let rows = match &self.of {
            Of::Query(query) => query::plan(ground, query)?,
            Of::Tables(like) => listing::show_tables(ground, like.as_deref())?,
            Of::Columns(name) => listing::show_columns(ground, name)?,
        };
        Ok(rows.planned())
    }
}

fn pattern(options: &ShowStatementOptions) -> Result<Option<String>, SqlError> {
    let filter = match &options.filter_position {
        Some(
            ShowStatementFilterPosition::Infix(filter)
            | ShowStatementFilterPosition::Suffix(filter),
        ) => filter,
        None => return Ok(None),
    };
    match filter {
        ShowStatementFilter::Like(pattern) => Ok(Some(pattern.clone())),
        _ => Err(SqlError::new(
            "SHOW TABLES takes LIKE 'pattern'; for more ask information_schema.tables",
        )),
    }
}

fn check_length(tokens: &[TokenWithSpan]) -> Result<(), SqlError> {
    let counts = |token: &&TokenWithSpan| match &token.token {
        Token::Word(word) => matches!(
            word.keyword,
            Keyword::AND
                | Keyword::OR
                | Keyword::NOT
                | Keyword::IS
                | Keyword::IN
                | Keyword::LIKE
                | Keyword::ILIKE
                | Keyword::SIMILAR
                | Keyword::BETWEEN
                | Keyword::COLLATE
                | Keyword::AT
                | Keyword::UNION
                | Keyword::EXCEPT
                | Keyword::INTERSECT
                | Keyword::JOIN
                | Keyword::EXPLAIN
                | Keyword::NOTNULL
                | Keyword::XOR
                | Keyword::DIV
                | Keyword::GLOB
                | Keyword::RLIKE
                | Keyword::REGEXP
                | Keyword::MATCH
                | Keyword::MEMBER
                | Keyword::OVERLAPS
                | Keyword::OPERATOR
                | Keyword::MINUS
                | Keyword::PIVOT
                | Keyword::UNPIVOT
                | Keyword::MATCH_RECOGNIZE
        ),
        Token::Whitespace(_)
        | Token::Comma
        | Token::Period
        | Token::SemiColon
        | Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::Placeholder(_)
        | Token::LParen
        | Token::RParen
        | Token::EOF => false,
        _ => true,
    };
    let stands = |token: &&TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    if let Some(token) = tokens.iter().filter(stands).nth(TOKENS_MAX) {
        let text = format!("the statement has more than {TOKENS_MAX} words, values and signs");
        return Err(SqlError::at(token.span, text));
    }
    match tokens.iter().filter(counts).nth(OPERATORS_MAX) {
        None => Ok(()),
        Some(token) => {
            let text = format!(
                "the statement has more than {OPERATORS_MAX} operators: write long lists as \
                 IN (...)"
            );
            Err(SqlError::at(token.span, text))
        }
    }
}
