//! `SHOW …`.

use super::ast::{Clauses, Counted, KeyTest, Measurement, Show};
use super::parser::{Parser, Result};

/// The clauses of a listing that not every listing has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Has {
    /// `FROM … ORDER BY …`, as fields have.
    Order,
    /// `FROM … WHERE … ORDER BY …`
    ConditionAndOrder,
    /// The same, with `SLIMIT` and `SOFFSET`.
    SeriesLimits,
    /// `FROM … WHERE … GROUP BY …`, as counts have.
    ConditionAndGroups,
}

impl Parser<'_> {
    /// What follows the word `SHOW`.
    pub(super) fn show(&mut self) -> Result<Show> {
        const WORDS: [&str; 16] = [
            "CONTINUOUS",
            "DATABASES",
            "DIAGNOSTICS",
            "FIELD",
            "GRANTS",
            "MEASUREMENT",
            "MEASUREMENTS",
            "QUERIES",
            "RETENTION",
            "SERIES",
            "SHARD",
            "SHARDS",
            "STATS",
            "SUBSCRIPTIONS",
            "TAG",
            "USERS",
        ];
        match self.one_of(&WORDS)? {
            "CONTINUOUS" => self.expect(&["QUERIES"]).map(|()| Show::ContinuousQueries),
            "DATABASES" => Ok(Show::Databases),
            "DIAGNOSTICS" => self.optional("FOR", Self::string).map(Show::Diagnostics),
            "FIELD" => match self.one_of(&["KEY", "KEYS"])? {
                "KEY" => self.cardinality(Counted::FieldKeys),
                _ => self.clauses(Has::Order).map(Show::FieldKeys),
            },
            "GRANTS" => self.expect(&["FOR"]).and_then(|()| self.name()).map(Show::Grants),
            "MEASUREMENT" => match self.one_of(&["EXACT", "CARDINALITY"])? {
                "EXACT" => {
                    self.expect(&["CARDINALITY"])?;
                    self.counted(Counted::Measurements, true)
                }
                _ => self.counted(Counted::Measurements, false),
            },
            "MEASUREMENTS" => self.show_measurements(),
            "QUERIES" => Ok(Show::Queries),
            "RETENTION" => {
                self.expect(&["POLICIES"])?;
                self.optional("ON", Self::name).map(Show::RetentionPolicies)
            }
            "SERIES" if self.take("EXACT") => match self.take("CARDINALITY") {
                true => self.counted(Counted::Series, true),
                false => self.clauses(Has::ConditionAndOrder).map(Show::Series),
            },
            "SERIES" if self.take("CARDINALITY") => self.counted(Counted::Series, false),
            "SERIES" => self.clauses(Has::ConditionAndOrder).map(Show::Series),
            "SHARD" => self.expect(&["GROUPS"]).map(|()| Show::ShardGroups),
            "SHARDS" => Ok(Show::Shards),
            "STATS" => self.optional("FOR", Self::string).map(Show::Stats),
            "SUBSCRIPTIONS" => Ok(Show::Subscriptions),
            "TAG" => match self.one_of(&["KEY", "KEYS", "VALUES"])? {
                "KEY" => self.cardinality(Counted::TagKeys),
                "KEYS" => self.show_tag_keys(),
                _ => self.show_tag_values(),
            },
            _ => Ok(Show::Users),
        }
    }

    /// Takes the next token, which must be one of `words`.
    pub(super) fn one_of(&mut self, words: &[&'static str]) -> Result<&'static str> {
        match words.iter().find(|word| self.take(word)) {
            Some(word) => Ok(word),
            None => Err(self.expected(words)),
        }
    }

    fn show_measurements(&mut self) -> Result<Show> {
        let database = self.optional("ON", Self::name)?;
        let with = self.optional("WITH", |parser| {
            parser.expect(&["MEASUREMENT"])?;
            parser.one_of(&["=", "=~"])?;
            match parser.source(false)? {
                super::ast::Source::Measurement(measurement) => Ok(measurement),
                super::ast::Source::Subquery(_) => Err(parser.expected(&["identifier"])),
            }
        })?;
        let with: Option<Measurement> = with;
        let condition = self.condition()?;
        let clauses = Clauses { database, condition, ..self.limits(Has::ConditionAndOrder)? };
        Ok(Show::Measurements { with, clauses })
    }

    fn show_tag_keys(&mut self) -> Result<Show> {
        let (database, sources) = self.places()?;
        let with = match self.peek().is("WITH") {
            true => Some(self.key_test()?),
            false => None,
        };
        let condition = self.condition()?;
        let limits = self.limits(Has::SeriesLimits)?;
        Ok(Show::TagKeys { with, clauses: Clauses { database, sources, condition, ..limits } })
    }

    fn show_tag_values(&mut self) -> Result<Show> {
        let exact = self.take("EXACT");
        if exact {
            self.expect(&["CARDINALITY"])?;
        }
        let is_count = exact || self.take("CARDINALITY");
        let (database, sources) = self.places()?;
        let with = self.key_test()?;
        let condition = self.condition()?;
        let has = if is_count { Has::ConditionAndGroups } else { Has::ConditionAndOrder };
        let clauses = Clauses { database, sources, condition, ..self.limits(has)? };
        Ok(match is_count {
            true => Show::Cardinality { of: Counted::TagValues(with), exact, clauses },
            false => Show::TagValues { with, clauses },
        })
    }

    /// `[EXACT] CARDINALITY …`
    fn cardinality(&mut self, of: Counted) -> Result<Show> {
        let exact = self.take("EXACT");
        if !self.take("CARDINALITY") {
            let expected = ["EXACT", "CARDINALITY"];
            return Err(self.expected(expected.get(usize::from(exact)..).unwrap_or_default()));
        }
        self.counted(of, exact)
    }

    fn counted(&mut self, of: Counted, exact: bool) -> Result<Show> {
        let clauses = self.clauses(Has::ConditionAndGroups)?;
        Ok(Show::Cardinality { of, exact, clauses })
    }

    /// `WITH KEY …`
    fn key_test(&mut self) -> Result<KeyTest> {
        self.expect(&["WITH", "KEY"])?;
        if self.take("IN") {
            self.expect(&["("])?;
            let names = self.list(Self::name)?;
            self.expect(&[")"])?;
            return Ok(KeyTest::In(names));
        }
        if self.take("=") {
            return self.name().map(KeyTest::Equal);
        }
        if self.take("!=") {
            return self.name().map(KeyTest::NotEqual);
        }
        let make = match () {
            () if self.take("=~") => KeyTest::Matches,
            () if self.take("!~") => KeyTest::NotMatches,
            () => return Err(self.expected(&["IN", "=", "=~"])),
        };
        match self.regex()? {
            Some(pattern) => Ok(make(pattern)),
            None => Err(self.expected(&["regex"])),
        }
    }

    /// `[ON …] [FROM …]`
    fn places(&mut self) -> Result<(Option<String>, Vec<super::ast::Source>)> {
        let database = self.optional("ON", Self::name)?;
        let sources = self.optional("FROM", |parser| parser.list(|parser| parser.source(false)))?;
        Ok((database, sources.unwrap_or_default()))
    }

    /// `[ON …] [FROM …]` and what follows.
    fn clauses(&mut self, has: Has) -> Result<Clauses> {
        let (database, sources) = self.places()?;
        let condition = if has == Has::Order { None } else { self.condition()? };
        Ok(Clauses { database, sources, condition, ..self.limits(has)? })
    }

    /// The clauses behind `WHERE`.
    fn limits(&mut self, has: Has) -> Result<Clauses> {
        let mut clauses = Clauses::default();
        match has {
            Has::ConditionAndGroups => clauses.dimensions = self.dimensions()?,
            _ => clauses.order = self.order()?,
        }
        clauses.limit = self.optional_count("LIMIT")?;
        clauses.offset = self.optional_count("OFFSET")?;
        if has == Has::SeriesLimits {
            clauses.series_limit = self.optional_count("SLIMIT")?;
            clauses.series_offset = self.optional_count("SOFFSET")?;
        }
        Ok(clauses)
    }
}
