//! Functions and aggregations, with their arguments.

use crate::promql::functions::{Callable, EXPERIMENTAL_AGGREGATIONS, find};
use crate::promql::reader::{ParseError, Reader};
use crate::promql::{Dialect, Expression, LISTED_MAX, Node, Type};
use foliot_plan::grid::Labels;
use std::sync::Arc;

impl Reader<'_> {
    /// `(a, b)`.
    pub(super) fn label_list(&mut self) -> Result<Vec<Arc<str>>, ParseError> {
        const CONTEXT: &str = "grouping opts";
        self.skip_blanks();
        if !self.takes("(") {
            return Err(self.unexpected(CONTEXT, "\"(\""));
        }
        let mut names: Vec<Arc<str>> = Vec::new();
        loop {
            self.skip_blanks();
            if self.takes(")") {
                return Ok(names);
            }
            if names.len() == LISTED_MAX {
                let reason = format!("a list has more than {LISTED_MAX} labels");
                return Err(self.error(reason));
            }
            match self.word(false) {
                Some(word) => names.push(word.into()),
                None => names.push(self.quoted(CONTEXT, "label")?.into()),
            }
            self.skip_blanks();
            if !self.takes(",") && self.peek() != Some(')') {
                return Err(self.unexpected(CONTEXT, "\",\" or \")\""));
            }
        }
    }

    /// `(a, b)` behind the name of a function or an aggregation.
    pub(super) fn arguments(&mut self, depth: usize) -> Result<Vec<Expression>, ParseError> {
        let mut arguments = Vec::new();
        self.skip_blanks();
        if !self.takes("(") {
            return Err(self.unexpected("aggregation", "\"(\""));
        }
        loop {
            self.skip_blanks();
            if arguments.is_empty() && self.takes(")") {
                return Ok(arguments);
            }
            if arguments.len() == LISTED_MAX {
                let reason = format!("a list has more than {LISTED_MAX} expressions");
                return Err(self.error(reason));
            }
            arguments.push(self.binary(0, depth)?);
            self.skip_blanks();
            if self.takes(")") {
                return Ok(arguments);
            }
            if !self.takes(",") {
                return Err(self.unexpected("call", "\",\" or \")\""));
            }
        }
    }

    fn by(&mut self) -> Result<Option<Labels>, ParseError> {
        match () {
            () if self.takes_word("by") => Ok(Some(Labels::Only(self.label_list()?))),
            () if self.takes_word("without") => Ok(Some(Labels::Without(self.label_list()?))),
            () => Ok(None),
        }
    }

    pub(super) fn aggregation(
        &mut self,
        start: usize,
        name: &'static str,
        parameter: Option<Type>,
        depth: usize,
    ) -> Result<Expression, ParseError> {
        if EXPERIMENTAL_AGGREGATIONS.contains(&name) {
            self.needs_experimental(
                start,
                format!("{name}() is experimental and must be enabled"),
            )?;
        }
        let before = self.by()?;
        let arguments = self.arguments(depth)?;
        self.aggregated(start, (name, parameter), before, arguments)
    }

    /// The aggregation of what its arguments say.
    fn aggregated(
        &mut self,
        start: usize,
        (name, parameter): (&'static str, Option<Type>),
        before: Option<Labels>,
        mut arguments: Vec<Expression>,
    ) -> Result<Expression, ParseError> {
        let by = match before {
            Some(by) => by,
            None => self.by()?.unwrap_or(Labels::Only(Vec::new())),
        };
        let end = std::mem::replace(&mut self.at, start);
        let wanted = 1 + usize::from(parameter.is_some());
        if arguments.len() != wanted {
            return Err(self.error(match arguments.len() {
                0 => "no arguments for aggregate expression provided".to_owned(),
                got => format!(
                    "wrong number of arguments for aggregate expression provided, expected {wanted}, got {got}"
                ),
            }));
        }
        let expect = |wanted: Type, got: &Expression, of: &str| match got.kind == wanted {
            true => Ok(()),
            false => Err(self
                .error_at(got.opens, format!("expected type {wanted} in {of}, got {}", got.kind))),
        };
        let below = arguments.iter().map(|argument| argument.height).max().unwrap_or(0);
        let none = || Expression::new(Node::Number(0.0), Type::Scalar, 0);
        let input = arguments.pop().unwrap_or_else(none);
        expect(Type::Vector, &input, "aggregation expression")?;
        if let (Some(wanted), Some(got)) = (parameter, arguments.first()) {
            expect(wanted, got, "aggregation parameter")?;
        }
        self.at = end;
        let parameter = arguments.pop().map(Box::new);
        let what = Node::Aggregate { name, by, parameter, input: Box::new(input) };
        self.built(what, Type::Vector, below)
    }

    /// Refuses what is experimental, unless that is spoken.
    pub(super) fn needs_experimental(
        &self,
        start: usize,
        refusal: String,
    ) -> Result<(), ParseError> {
        match self.dialect {
            Dialect::Experimental { .. } => Ok(()),
            Dialect::Plain => Err(self.error_at(start, refusal)),
        }
    }

    pub(super) fn call(
        &mut self,
        start: usize,
        name: &str,
        depth: usize,
    ) -> Result<Expression, ParseError> {
        let in_any_case = || find(&name.to_ascii_lowercase()).filter(|of| of.is_of_lengths());
        let Some(function) = find(name).or_else(in_any_case) else {
            self.at = start;
            return Err(self.error(format!("unknown function with name {name:?}")));
        };
        if function.is_experimental {
            self.needs_experimental(start, format!("function {name:?} is not enabled"))?;
        }
        let before = std::mem::replace(&mut self.allows_any, name == "info");
        let arguments = self.arguments(depth);
        self.allows_any = before;
        self.called(start, name, function, arguments?)
    }

    /// The call of a function with its arguments.
    fn called(
        &mut self,
        start: usize,
        name: &str,
        function: &'static Callable,
        arguments: Vec<Expression>,
    ) -> Result<Expression, ParseError> {
        let end = std::mem::replace(&mut self.at, start);
        let (most, got) = (function.arguments.len(), arguments.len());
        let least = most - function.optional;
        let count = match () {
            () if got < least && function.optional > 0 => Some(format!("at least {least}")),
            () if got < least => Some(most.to_string()),
            () if got > most && !function.repeats && function.optional > 0 => {
                Some(format!("at most {most}"))
            }
            () if got > most && !function.repeats => Some(most.to_string()),
            () => None,
        };
        if let Some(count) = count {
            let text = format!("expected {count} argument(s) in call to {name:?}, got {got}");
            return Err(self.error(text));
        }
        for (index, argument) in arguments.iter().enumerate() {
            let wanted = function.arguments.get(index).or(function.arguments.last());
            if let Some(wanted) = wanted.filter(|wanted| **wanted != argument.kind) {
                let text = format!(
                    "expected type {wanted} in call to function {name:?}, got {}",
                    argument.kind
                );
                return Err(self.error_at(argument.opens, text));
            }
        }
        if let ("info", Some(facts)) = (name, arguments.get(1))
            && !facts.is_of_labels_only()
        {
            let text = "expected label selectors only, got vector selector instead";
            return Err(self.error(text));
        }
        self.at = end;
        let below = arguments.iter().map(|argument| argument.height).max().unwrap_or(0);
        self.built(Node::Call { function, arguments }, function.returns, below)
    }
}
