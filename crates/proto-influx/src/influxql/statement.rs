//! Statements other than `SELECT` and `SHOW`.

use super::ast::{ContinuousQuery, Deletion, PolicyOptions, Privilege, Right, Source, Statement};
use super::format_duration;
use super::parser::{Parser, Result};
use super::scan::Kind;

impl Parser<'_> {
    /// One statement.
    pub(super) fn statement(&mut self) -> Result<Statement> {
        const WORDS: [&str; 11] = [
            "SELECT", "DELETE", "SHOW", "CREATE", "DROP", "EXPLAIN", "GRANT", "REVOKE", "ALTER",
            "SET", "KILL",
        ];
        match self.one_of(&WORDS)? {
            "SELECT" => self.select(false).map(Statement::Select),
            "DELETE" => self.deletion(true).map(Statement::Delete),
            "SHOW" => self.show().map(Statement::Show),
            "CREATE" => self.create(),
            "DROP" => self.drop_statement(),
            "EXPLAIN" => self.explain(),
            "GRANT" => self.right("TO").map(Statement::Grant),
            "REVOKE" => self.right("FROM").map(Statement::Revoke),
            "ALTER" => {
                self.expect(&["RETENTION", "POLICY"])?;
                self.alter_policy()
            }
            "SET" => {
                self.expect(&["PASSWORD", "FOR"])?;
                let user = self.name()?;
                self.expect(&["="])?;
                Ok(Statement::SetPassword { user, password: self.string()? })
            }
            _ => {
                self.expect(&["QUERY"])?;
                let id = self.unsigned()?;
                Ok(Statement::KillQuery { id, host: self.optional("ON", Self::name)? })
            }
        }
    }

    /// What follows `EXPLAIN`: a query, or what takes samples away, of which nothing goes then.
    fn explain(&mut self) -> Result<Statement> {
        let analyze = self.take("ANALYZE");
        if analyze {
            self.expect(&["SELECT"])?;
            return Ok(Statement::Explain { analyze, select: self.select(false)? });
        }
        let at = self.peek().at;
        let statement = match self.one_of(&["SELECT", "DELETE", "DROP", "ALTER"])? {
            "SELECT" => return Ok(Statement::Explain { analyze, select: self.select(false)? }),
            "DELETE" => Statement::Delete(self.deletion(true)?),
            "DROP" => self.drop_statement()?,
            _ => {
                self.expect(&["RETENTION", "POLICY"])?;
                self.alter_policy()?
            }
        };
        match &statement {
            Statement::Delete(_)
            | Statement::DropSeries(_)
            | Statement::DropMeasurement(_)
            | Statement::DropDatabase(_)
            | Statement::DropRetentionPolicy { .. }
            | Statement::AlterRetentionPolicy { .. } => Ok(Statement::Preview(Box::new(statement))),
            _ => Err(self.error_at(at, format!("{statement} takes no samples away"))),
        }
    }

    fn create(&mut self) -> Result<Statement> {
        match self.one_of(&["CONTINUOUS", "DATABASE", "USER", "RETENTION", "SUBSCRIPTION"])? {
            "CONTINUOUS" => {
                self.expect(&["QUERY"])?;
                self.continuous_query().map(Statement::CreateContinuousQuery)
            }
            "DATABASE" => {
                let name = self.name()?;
                Ok(Statement::CreateDatabase {
                    name,
                    policy: self.optional("WITH", Self::first_policy)?,
                })
            }
            "USER" => {
                let name = self.name()?;
                self.expect(&["WITH", "PASSWORD"])?;
                let password = self.string()?;
                let is_admin = self.take("WITH");
                if is_admin {
                    self.expect(&["ALL", "PRIVILEGES"])?;
                }
                Ok(Statement::CreateUser { name, password, is_admin })
            }
            "RETENTION" => {
                self.expect(&["POLICY"])?;
                self.create_policy()
            }
            _ => self.create_subscription(),
        }
    }

    fn drop_statement(&mut self) -> Result<Statement> {
        const WORDS: [&str; 8] = [
            "CONTINUOUS",
            "DATABASE",
            "MEASUREMENT",
            "RETENTION",
            "SERIES",
            "SHARD",
            "SUBSCRIPTION",
            "USER",
        ];
        match self.one_of(&WORDS)? {
            "CONTINUOUS" => {
                self.expect(&["QUERY"])?;
                let (name, database) = self.name_on_database()?;
                Ok(Statement::DropContinuousQuery { database, name })
            }
            "DATABASE" => self.name().map(Statement::DropDatabase),
            "MEASUREMENT" => self.name().map(Statement::DropMeasurement),
            "RETENTION" => {
                self.expect(&["POLICY"])?;
                let (name, database) = self.name_on_database()?;
                Ok(Statement::DropRetentionPolicy { database, name })
            }
            "SERIES" => self.deletion(false).map(Statement::DropSeries),
            "SHARD" => self.unsigned().map(Statement::DropShard),
            "SUBSCRIPTION" => {
                let (name, database) = self.name_on_database()?;
                self.expect(&["."])?;
                Ok(Statement::DropSubscription { database, policy: self.name()?, name })
            }
            _ => self.name().map(Statement::DropUser),
        }
    }

    /// `name ON database`
    fn name_on_database(&mut self) -> Result<(String, String)> {
        let name = self.name()?;
        self.expect(&["ON"])?;
        Ok((name, self.name()?))
    }

    /// `[FROM …] [WHERE …]`, of which one must be there. A deletion holds in the current database,
    /// and that of series in all its policies.
    fn deletion(&mut self, allows_policy: bool) -> Result<Deletion> {
        let first = self.peek().clone();
        let sources = self.optional("FROM", |parser| parser.list(|parser| parser.source(false)))?;
        let sources = sources.unwrap_or_default();
        for source in &sources {
            if let Source::Measurement(measurement) = source {
                // InfluxDB places these two errors at the beginning.
                if measurement.policy.is_some() && !allows_policy {
                    return Err(self.error_at(0, "retention policy not supported"));
                }
                if measurement.database.is_some() {
                    return Err(self.error_at(0, "database not supported"));
                }
            }
        }
        let condition = self.condition()?;
        match sources.is_empty() && condition.is_none() {
            true => Err(self.unexpected(&first, &["FROM", "WHERE"])),
            false => Ok(Deletion { sources, condition }),
        }
    }

    /// What follows `GRANT`, where `word` is `TO`, or `REVOKE`, where it is `FROM`.
    fn right(&mut self, word: &'static str) -> Result<Right> {
        let privilege = match () {
            () if self.take("READ") => Privilege::Read,
            () if self.take("WRITE") => Privilege::Write,
            () if self.take("ALL") => {
                self.take("PRIVILEGES");
                Privilege::All
            }
            () => return Err(self.expected(&["READ", "WRITE", "ALL [PRIVILEGES]"])),
        };
        if self.take("ON") {
            let database = Some(self.name()?);
            self.expect(&[word])?;
            return Ok(Right { privilege, database, user: self.name()? });
        }
        if privilege != Privilege::All {
            return Err(self.expected(&["ON"]));
        }
        match self.take(word) {
            true => Ok(Right { privilege, database: None, user: self.name()? }),
            false => Err(self.expected(&["ON", word])),
        }
    }

    /// What follows `CREATE DATABASE name WITH`.
    fn first_policy(&mut self) -> Result<PolicyOptions> {
        let mut options = PolicyOptions {
            duration_ns: self.optional("DURATION", Self::duration_or_inf)?,
            replication: self.optional("REPLICATION", Self::copies)?,
            shard_duration_ns: self.optional("SHARD", |parser| {
                parser.expect(&["DURATION"])?;
                parser.duration_or_inf()
            })?,
            ..PolicyOptions::default()
        };
        options.name = self.optional("NAME", Self::name)?;
        match options == PolicyOptions::default() {
            true => Err(self.expected(&["DURATION", "NAME", "REPLICATION", "SHARD"])),
            false => Ok(options),
        }
    }

    /// What follows `CREATE RETENTION POLICY`.
    fn create_policy(&mut self) -> Result<Statement> {
        let (name, database) = self.name_on_database()?;
        self.expect(&["DURATION"])?;
        let duration_ns = Some(self.duration_or_inf()?);
        self.expect(&["REPLICATION"])?;
        let replication = Some(self.copies()?);
        let shard_duration_ns = self.optional("SHARD", Self::shard_duration)?;
        let is_default = self.take("DEFAULT");
        let name = Some(name);
        let options =
            PolicyOptions { name, duration_ns, replication, shard_duration_ns, is_default };
        Ok(Statement::CreateRetentionPolicy { database, options })
    }

    /// What follows `ALTER RETENTION POLICY`: its options in any order, each once.
    fn alter_policy(&mut self) -> Result<Statement> {
        let name = match self.take("DEFAULT") {
            true => "default".to_owned(),
            false => self.name()?,
        };
        self.expect(&["ON"])?;
        let database = self.name()?;
        let mut options = PolicyOptions::default();
        loop {
            let option = self.peek().clone();
            let is_twice = match option.kind {
                Kind::Word("DURATION") => options.duration_ns.is_some(),
                Kind::Word("REPLICATION") => options.replication.is_some(),
                Kind::Word("SHARD") => options.shard_duration_ns.is_some(),
                Kind::Word("DEFAULT") => options.is_default,
                _ if options != PolicyOptions::default() => {
                    options.name = Some(name);
                    return Ok(Statement::AlterRetentionPolicy { database, options });
                }
                _ => return Err(self.expected(&["DURATION", "REPLICATION", "SHARD", "DEFAULT"])),
            };
            if is_twice {
                return Err(self.error_here(format!("found duplicate {} option", option.found())));
            }
            self.scan();
            match option.kind {
                Kind::Word("DURATION") => options.duration_ns = Some(self.duration_or_inf()?),
                Kind::Word("REPLICATION") => options.replication = Some(self.copies()?),
                Kind::Word("SHARD") => options.shard_duration_ns = Some(self.shard_duration()?),
                _ => options.is_default = true,
            }
        }
    }

    /// What follows the word `SHARD` of a policy.
    fn shard_duration(&mut self) -> Result<i64> {
        self.expect(&["DURATION"])?;
        match self.peek().is("INF") {
            true => Err(self.error_here("invalid duration INF for shard duration")),
            false => self.duration_or_inf(),
        }
    }

    /// A number of copies.
    fn copies(&mut self) -> Result<u32> {
        let at = self.peek().at;
        let copies = self.unsigned()?;
        match u32::try_from(copies) {
            Ok(copies @ 1..=0x7fff_ffff) => Ok(copies),
            _ => Err(self
                .error_at(at, format!("invalid value {copies}: must be 1 <= n <= {}", i32::MAX))),
        }
    }

    fn create_subscription(&mut self) -> Result<Statement> {
        let (name, database) = self.name_on_database()?;
        self.expect(&["."])?;
        let policy = self.name()?;
        self.expect(&["DESTINATIONS"])?;
        let to_all = self.one_of(&["ALL", "ANY"])? == "ALL";
        let destinations = self.list(Self::string)?;
        Ok(Statement::CreateSubscription { database, policy, name, to_all, destinations })
    }

    /// What follows `CREATE CONTINUOUS QUERY`.
    fn continuous_query(&mut self) -> Result<ContinuousQuery> {
        let (name, database) = self.name_on_database()?;
        let (mut every_ns, mut for_ns) = (None, None);
        if self.take("RESAMPLE") {
            every_ns = self.optional("EVERY", Self::duration)?;
            for_ns = self.optional("FOR", Self::duration)?;
            if every_ns.is_none() && for_ns.is_none() {
                return Err(self.expected(&["EVERY", "FOR"]));
            }
        }
        self.expect(&["BEGIN", "SELECT"])?;
        let select = self.select(true)?;
        let interval_ns = select.interval_ns().unwrap_or_default();
        if select.has_call() && interval_ns == 0 {
            return Err(self.unexpected(&self.scanner.last(), &["GROUP BY time(...)"]));
        }
        self.expect(&["END"])?;
        let needed_ns = interval_ns.max(every_ns.unwrap_or_default());
        match for_ns {
            Some(for_ns) if for_ns < needed_ns => Err(Self::error(format!(
                "FOR duration must be >= GROUP BY time duration: must be a minimum of {}, got {}",
                format_duration(needed_ns),
                format_duration(for_ns)
            ))),
            _ => Ok(ContinuousQuery { name, database, every_ns, for_ns, select }),
        }
    }
}
