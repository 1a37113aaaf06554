//! Expressions: operators by their rank, everything else by what it begins with.

use super::functions::{Callable, EXPERIMENTAL_AGGREGATIONS, find, find_aggregation};
use super::reader::{ParseError, Reader};
use super::{
    At, Binary, Dialect, Expression, HEIGHT_MAX, LISTED_MAX, Meeting, Node, Selected, Shifted, Type,
};
use foliot_plan::grid::{Calculation, Comparison, Fill, Labels, Many, Operator};
use std::sync::Arc;

/// Nothing is older or newer than this, in milliseconds: a century.
const DURATION_MS_MAX: f64 = 100.0 * 365.0 * 86_400_000.0;

pub(super) fn expression(text: &str, dialect: Dialect) -> Result<Expression, ParseError> {
    let mut reader = Reader { text, at: 0, dialect, allows_any: false };
    reader.skip_blanks();
    if reader.rest().is_empty() {
        return Err(reader.error("no expression found in input"));
    }
    let expression = reader.binary(0, 0)?;
    reader.skip_blanks();
    match reader.peek() {
        None => Ok(Expression { dialect, ..expression }),
        Some(_) => Err(reader.unexpected("expression", "end of input")),
    }
}

/// Operators with their ranks, the longer ones of the same beginning first. The first of equal rank
/// that stands further left is done first, but for powers.
const SIGNS: [(&str, u8, Operator); 15] = [
    ("</", 3, Operator::Trim { keeps_below: true }),
    (">/", 3, Operator::Trim { keeps_below: false }),
    ("==", 3, compare(Comparison::Equal)),
    ("!=", 3, compare(Comparison::NotEqual)),
    (">=", 3, compare(Comparison::GreaterOrEqual)),
    ("<=", 3, compare(Comparison::LessOrEqual)),
    (">", 3, compare(Comparison::Greater)),
    ("<", 3, compare(Comparison::Less)),
    ("+", 4, Operator::Calculate(Calculation::Add)),
    ("-", 4, Operator::Calculate(Calculation::Subtract)),
    ("*", 5, Operator::Calculate(Calculation::Multiply)),
    ("/", 5, Operator::Calculate(Calculation::Divide)),
    ("%", 5, Operator::Calculate(Calculation::Remainder)),
    ("^", 6, POWER),
    ("atan2", 5, Operator::Calculate(Calculation::Angle)),
];
const WORDS: [(&str, u8, Operator); 3] =
    [("or", 1, Operator::Or), ("and", 2, Operator::And), ("unless", 2, Operator::Unless)];
const POWER: Operator = Operator::Calculate(Calculation::Power);
/// What a sign before an operand binds as.
const UNARY_RANK: u8 = 5;

const fn compare(comparison: Comparison) -> Operator {
    Operator::Compare { comparison, is_told: false }
}

impl Expression {
    fn new(what: Node, kind: Type, below: usize) -> Self {
        let (place, opens, dialect) = (0, 0, Dialect::Plain);
        Self { what, kind, height: below + 1, parentheses: 0, place, opens, dialect }
    }

    /// Whether it is a selector without a name before its braces, and of no other time.
    fn is_of_labels_only(&self) -> bool {
        let Node::Series(Selected { selector, shift }) = &self.what else { return false };
        selector.name.is_empty() && shift.at.is_none() && shift.offset_ms.is_none()
    }

    /// The same expression, which begins at this byte with whatever stands around it.
    fn at(mut self, start: usize) -> Self {
        if self.parentheses == 0 {
            self.place = start;
        }
        Self { opens: start, ..self }
    }
}

impl Reader<'_> {
    /// Refuses to go deeper.
    fn descend(&self, depth: usize) -> Result<usize, ParseError> {
        match depth < HEIGHT_MAX {
            true => Ok(depth + 1),
            false => Err(self.error(format!("expression is nested more than {HEIGHT_MAX} deep"))),
        }
    }

    fn built(&self, what: Node, kind: Type, below: usize) -> Result<Expression, ParseError> {
        self.descend(below).map(|_| Expression::new(what, kind, below))
    }

    /// An expression of operators of at least this rank.
    ///
    /// What calls itself through others, from here to [`Self::arguments`], holds little: each
    /// level of nesting has a frame of each on the stack.
    fn binary(&mut self, rank_min: u8, depth: usize) -> Result<Expression, ParseError> {
        let depth = self.descend(depth)?;
        let left = self.operand(depth)?;
        self.operators(left, rank_min, depth)
    }

    /// Operators of at least this rank behind an operand, with their right sides.
    fn operators(
        &mut self,
        mut left: Expression,
        rank_min: u8,
        depth: usize,
    ) -> Result<Expression, ParseError> {
        loop {
            self.skip_blanks();
            let start = self.at;
            let Some((sign, rank, operator)) = self.operator() else { return Ok(left) };
            if rank < rank_min {
                self.at = start;
                return Ok(left);
            }
            let (operator, matching) = self.modifiers(sign, operator)?;
            let right_min = if operator == POWER { rank } else { rank + 1 };
            let right = self.binary(right_min, depth)?;
            left = self.joined(start, sign, left, right, operator, matching)?;
        }
    }

    fn operator(&mut self) -> Option<(&'static str, u8, Operator)> {
        let known = |word: &str| {
            let words = WORDS.iter().chain(&SIGNS);
            words.copied().find(|(name, ..)| name.eq_ignore_ascii_case(word))
        };
        if let Some(word) = self.word_ahead() {
            let found = known(word)?;
            self.at += word.len();
            return Some(found);
        }
        let found = SIGNS.into_iter().find(|(sign, ..)| self.rest().starts_with(sign))?;
        self.at += found.0.len();
        Some(found)
    }

    /// The word that comes next, which is not taken.
    fn word_ahead(&mut self) -> Option<&str> {
        let start = self.at;
        let word = self.word(true);
        let word = word.map(|word| word.len());
        self.at = start;
        self.rest().get(..word?)
    }

    /// Takes a word, in any case of letters.
    fn takes_word(&mut self, wanted: &str) -> bool {
        self.skip_blanks();
        let is_next = self.word_ahead().is_some_and(|word| word.eq_ignore_ascii_case(wanted));
        self.at += if is_next { wanted.len() } else { 0 };
        is_next
    }

    /// `bool`, and how series meet.
    fn modifiers(
        &mut self,
        sign: &str,
        operator: Operator,
    ) -> Result<(Operator, Option<Meeting>), ParseError> {
        let is_told = self.takes_word("bool");
        let operator = match operator {
            Operator::Compare { comparison, .. } => Operator::Compare { comparison, is_told },
            _ if is_told => {
                return Err(self.error("bool modifier can only be used on comparison operators"));
            }
            operator => operator,
        };
        let by = match () {
            () if self.takes_word("on") => Labels::Only(self.label_list()?),
            () if self.takes_word("ignoring") => Labels::Without(self.label_list()?),
            () => {
                let by = Labels::Without(Vec::new());
                let fill = self.fill(sign, operator)?;
                let (many, include) = (Many::None, Vec::new());
                return Ok((operator, fill.map(|fill| Meeting { by, many, include, fill })));
            }
        };
        let fill = Fill::default();
        let mut meeting = Meeting { by, many: Many::None, include: Vec::new(), fill };
        let start = self.at;
        for (word, many) in [("group_left", Many::Left), ("group_right", Many::Right)] {
            if !self.takes_word(word) {
                continue;
            }
            meeting.many = many;
            self.skip_blanks();
            if self.peek() == Some('(') {
                meeting.include = self.label_list()?;
            }
        }
        if meeting.many != Many::None {
            let is_set = matches!(operator, Operator::And | Operator::Or | Operator::Unless);
            if is_set {
                self.at = start;
                return Err(self.error(format!("no grouping allowed for {sign:?} operation")));
            }
            if let Labels::Only(names) = &meeting.by
                && let Some(name) = meeting.include.iter().find(|name| names.contains(name))
            {
                let text = format!("label {name:?} must not occur in ON and GROUP clause at once");
                return Err(self.error(text));
            }
        }
        meeting.fill = self.fill(sign, operator)?.unwrap_or_default();
        Ok((operator, Some(meeting)))
    }

    /// `fill(0)`, or `fill_left(0)` and `fill_right(0)`.
    fn fill(&mut self, sign: &str, operator: Operator) -> Result<Option<Fill>, ParseError> {
        let (mut fill, mut is_there) = (Fill::default(), false);
        loop {
            self.skip_blanks();
            let start = self.at;
            let word = self.word_ahead().unwrap_or_default().to_ascii_lowercase();
            let sides = match word.as_str() {
                "fill" if !is_there => (true, true),
                "fill_left" => (true, false),
                "fill_right" => (false, true),
                _ => break,
            };
            self.at += word.len();
            self.skip_blanks();
            // Series may be called so.
            if !self.takes("(") {
                self.at = start;
                break;
            }
            let refusal = "binop fill modifiers are experimental and not enabled";
            self.needs_experimental(start, refusal.to_owned())?;
            if matches!(operator, Operator::And | Operator::Or | Operator::Unless) {
                let text = format!("filling in missing series not allowed for {sign:?} operation");
                return Err(Reader { at: start, ..*self }.error(text));
            }
            let value = self.fill_value()?;
            let (many, one) = sides;
            fill.many = if many { Some(value) } else { fill.many };
            fill.one = if one { Some(value) } else { fill.one };
            is_there = true;
        }
        Ok(is_there.then_some(fill))
    }

    /// A number behind a parenthesis, and the other one.
    fn fill_value(&mut self) -> Result<f64, ParseError> {
        self.skip_blanks();
        let is_negative = self.takes("-");
        let _ = is_negative || self.takes("+");
        self.skip_blanks();
        let value = match self.word_ahead().unwrap_or_default().to_ascii_lowercase().as_str() {
            "inf" => Some(f64::INFINITY),
            "nan" => Some(f64::NAN),
            _ => None,
        };
        let value = match value {
            Some(value) => {
                self.at += 3;
                value
            }
            None => self.number()?.0,
        };
        self.skip_blanks();
        match self.takes(")") {
            true => Ok(if is_negative { -value } else { value }),
            false => Err(self.unexpected("fill value", "\")\"")),
        }
    }

    /// `(a, b)`.
    fn label_list(&mut self) -> Result<Vec<Arc<str>>, ParseError> {
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

    fn joined(
        &self,
        start: usize,
        sign: &str,
        left: Expression,
        right: Expression,
        operator: Operator,
        matching: Option<Meeting>,
    ) -> Result<Expression, ParseError> {
        let refuse = |text: String| Err(Reader { at: start, ..*self }.error(text));
        let is_set = matches!(operator, Operator::And | Operator::Or | Operator::Unless);
        let kinds = [left.kind, right.kind];
        if kinds.iter().any(|kind| !matches!(kind, Type::Scalar | Type::Vector)) {
            let text = "binary expression must contain only scalar and instant vector types";
            return refuse(text.to_owned());
        }
        let has_scalar = kinds.contains(&Type::Scalar);
        if has_scalar && matching.is_some() {
            return refuse("vector matching only allowed between instant vectors".to_owned());
        }
        if has_scalar && is_set {
            return refuse(format!(
                "set operator {sign:?} not allowed in binary scalar expression"
            ));
        }
        let are_scalars = kinds == [Type::Scalar; 2];
        if are_scalars && matches!(operator, Operator::Trim { .. }) {
            return refuse(format!("operator {sign:?} not allowed for scalar operations"));
        }
        if are_scalars && matches!(operator, Operator::Compare { is_told: false, .. }) {
            return refuse("comparisons between scalars must use BOOL modifier".to_owned());
        }
        let (below, place) = (left.height.max(right.height), left.opens);
        let kind = if are_scalars { Type::Scalar } else { Type::Vector };
        let binary = Binary { left, right, operator, matching };
        Ok(self.built(Node::Binary(Box::new(binary)), kind, below)?.at(place))
    }

    /// What operators stand between, with what follows it.
    fn operand(&mut self, depth: usize) -> Result<Expression, ParseError> {
        self.skip_blanks();
        let start = self.at;
        for (sign, is_minus) in [("-", true), ("+", false)] {
            if !self.takes(sign) {
                continue;
            }
            let input = self.binary(UNARY_RANK + 1, depth)?;
            return self.signed(start, is_minus, input);
        }
        let primary = self.primary(depth)?;
        self.suffixes(start, primary, depth).map(|expression| expression.at(start))
    }

    fn signed(
        &mut self,
        start: usize,
        is_minus: bool,
        input: Expression,
    ) -> Result<Expression, ParseError> {
        if !matches!(input.kind, Type::Scalar | Type::Vector) {
            self.at = start;
            return Err(self.error(format!(
                "unary expression only allowed on expressions of type scalar or instant \
                 vector, got \"{}\"",
                input.kind
            )));
        }
        let (kind, below) = (input.kind, input.height);
        let is_bare = input.parentheses == 0;
        let what = match (is_minus, &input.what) {
            (false, Node::Number(_) | Node::Length(_)) if is_bare => return Ok(input.at(start)),
            (true, Node::Number(number)) if is_bare => Node::Number(-number),
            (true, Node::Length(seconds)) if is_bare => Node::Length(-seconds),
            (false, _) => Node::Signed(Box::new(input)),
            (true, _) => Node::Negated(Box::new(input)),
        };
        Ok(self.built(what, kind, below)?.at(start))
    }

    fn primary(&mut self, depth: usize) -> Result<Expression, ParseError> {
        let start = self.at;
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let mut inner = self.binary(0, depth)?;
                self.skip_blanks();
                if !self.takes(")") {
                    return Err(self.unexpected("paren expression", "\")\""));
                }
                inner.parentheses += 1;
                Ok(inner)
            }
            Some('"' | '\'' | '`' | '0'..='9' | '.') => self.literal(),
            Some('{') => self.series(start, None),
            _ => {
                let word = self.word(true).map(str::to_owned);
                let word = word.ok_or_else(|| self.unexpected("expression", "expression"))?;
                self.named(start, word, depth)
            }
        }
    }

    /// A text, a number or a length of time.
    fn literal(&mut self) -> Result<Expression, ParseError> {
        if matches!(self.peek(), Some('"' | '\'' | '`')) {
            let text = self.quoted("expression", "string")?;
            return Ok(Expression::new(Node::Text(text), Type::Text, 0));
        }
        let (number, is_length) = self.number()?;
        let what = if is_length { Node::Length(number) } else { Node::Number(number) };
        Ok(Expression::new(what, Type::Scalar, 0))
    }

    /// What begins with a word: an aggregation, a call, a number or a series.
    fn named(
        &mut self,
        start: usize,
        word: String,
        depth: usize,
    ) -> Result<Expression, ParseError> {
        self.skip_blanks();
        let opens = self.peek() == Some('(');
        let groups = self
            .word_ahead()
            .is_some_and(|next| ["by", "without"].iter().any(|by| by.eq_ignore_ascii_case(next)));
        if let Some((name, parameter)) = find_aggregation(&word)
            && (opens || groups)
        {
            return self.aggregation(start, name, parameter, depth);
        }
        if opens {
            return self.call(start, &word, depth);
        }
        self.word_alone(start, word)
    }

    /// A number that is a word, or a series.
    fn word_alone(&mut self, start: usize, word: String) -> Result<Expression, ParseError> {
        let number = match () {
            _ if self.peek() == Some('{') => None,
            () if word.eq_ignore_ascii_case("inf") => Some(f64::INFINITY),
            () if word.eq_ignore_ascii_case("nan") => Some(f64::NAN),
            () => None,
        };
        match number {
            Some(number) => Ok(Expression::new(Node::Number(number), Type::Scalar, 0)),
            None => self.series(start, Some(word)),
        }
    }

    fn series(&mut self, start: usize, name: Option<String>) -> Result<Expression, ParseError> {
        let selector = self.selector(start, name)?;
        let selected = Selected { selector, shift: Shifted::default() };
        Ok(Expression::new(Node::Series(selected), Type::Vector, 0))
    }

    /// `(a, b)` behind the name of a function or an aggregation.
    fn arguments(&mut self, depth: usize) -> Result<Vec<Expression>, ParseError> {
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

    fn aggregation(
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
            false => Err(self.error(format!("expected type {wanted} in {of}, got {}", got.kind))),
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
    fn needs_experimental(&self, start: usize, refusal: String) -> Result<(), ParseError> {
        match self.dialect {
            Dialect::Experimental { .. } => Ok(()),
            Dialect::Plain => Err(Reader { at: start, ..*self }.error(refusal)),
        }
    }

    fn call(&mut self, start: usize, name: &str, depth: usize) -> Result<Expression, ParseError> {
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
                return Err(self.error(format!(
                    "expected type {wanted} in call to function {name:?}, got {}",
                    argument.kind
                )));
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

    /// Ranges, subqueries, `offset` and `@`.
    fn suffixes(
        &mut self,
        start: usize,
        mut of: Expression,
        depth: usize,
    ) -> Result<Expression, ParseError> {
        loop {
            self.skip_blanks();
            let here = self.at;
            if self.takes("[") {
                of = self.range(start, of, depth)?;
            } else if self.takes_word("offset") {
                let offset_ms = self.signed_duration(depth)?;
                let refusal = "offset may not be set multiple times";
                self.shift(&mut of, here, "offset", refusal, |shift| {
                    shift.offset_ms.replace(offset_ms).is_some()
                })?;
            } else if self.takes("@") {
                let at = self.instant()?;
                let refusal = "@ <timestamp> may not be set multiple times";
                self.shift(&mut of, here, "@", refusal, |shift| shift.at.replace(at).is_some())?;
            } else {
                return Ok(of);
            }
        }
    }

    fn shift(
        &self,
        of: &mut Expression,
        here: usize,
        modifier: &str,
        refusal: &str,
        set: impl FnOnce(&mut Shifted) -> bool,
    ) -> Result<(), ParseError> {
        let is_bare = of.parentheses == 0;
        let shift = match &mut of.what {
            Node::Series(selected) | Node::Range(selected, _) if is_bare => &mut selected.shift,
            Node::Subquery { shift, .. } if is_bare => shift,
            _ => {
                return Err(Reader { at: here, ..*self }.error(format!(
                    "{modifier} modifier must be preceded by an instant vector selector or range \
                     vector selector or a subquery"
                )));
            }
        };
        match set(shift) {
            false => Ok(()),
            true => Err(Reader { at: here, ..*self }.error(refusal)),
        }
    }

    /// What stands in brackets, behind the first of them.
    fn range(
        &mut self,
        start: usize,
        of: Expression,
        depth: usize,
    ) -> Result<Expression, ParseError> {
        self.skip_blanks();
        let range_ms = self.duration(depth)?;
        self.skip_blanks();
        let is_subquery = self.takes(":");
        let mut step_ms = None;
        self.skip_blanks();
        if is_subquery && self.peek() != Some(']') {
            step_ms = Some(self.duration(depth)?);
            self.skip_blanks();
        }
        if !self.takes("]") {
            return Err(self.unexpected("subquery or range", "\"]\""));
        }
        let refuse = |text: String| Err(Reader { at: start, ..*self }.error(text));
        if is_subquery {
            if of.kind != Type::Vector {
                return refuse(format!(
                    "subquery is only allowed on instant vector, got {}",
                    of.kind
                ));
            }
            let below = of.height;
            let shift = Shifted::default();
            let what = Node::Subquery { input: Box::new(of), range_ms, step_ms, shift };
            return self.built(what, Type::Matrix, below);
        }
        match of.what {
            _ if of.parentheses > 0 => {
                refuse("ranges only allowed for vector selectors".to_owned())
            }
            Node::Series(Selected { shift: Shifted { offset_ms: None, at: None }, selector }) => {
                let selected = Selected { selector, shift: Shifted::default() };
                Ok(Expression::new(Node::Range(selected, range_ms), Type::Matrix, 0))
            }
            Node::Series(Selected { shift: Shifted { offset_ms: Some(_), .. }, .. }) => {
                refuse("no offset modifiers allowed before range".to_owned())
            }
            Node::Series(_) => refuse("no @ modifiers allowed before range".to_owned()),
            _ => refuse("ranges only allowed for vector selectors".to_owned()),
        }
    }

    /// What stands behind `@`.
    fn instant(&mut self) -> Result<At, ParseError> {
        for (word, at) in [("start", At::Start), ("end", At::End)] {
            if self.takes_word(word) {
                let is_called = {
                    self.skip_blanks();
                    self.takes("(") && {
                        self.skip_blanks();
                        self.takes(")")
                    }
                };
                return match is_called {
                    true => Ok(at),
                    false => Err(self.unexpected("@", "\"()\"")),
                };
            }
        }
        self.skip_blanks();
        let is_negative = self.takes("-");
        let _ = is_negative || self.takes("+");
        let seconds = self.number()?.0 * if is_negative { -1.0 } else { 1.0 };
        let ms = (seconds * 1000.0).round();
        match ms.abs() < 9e15 {
            true => Ok(At::Ms(ms as i64)),
            false => Err(self.error("timestamp out of bounds for @ modifier")),
        }
    }

    fn signed_duration(&mut self, depth: usize) -> Result<i64, ParseError> {
        self.skip_blanks();
        let is_negative = self.takes("-");
        let ms = match self.dialect {
            Dialect::Plain => self.milliseconds()?,
            Dialect::Experimental { .. } => {
                let _ = is_negative || self.takes("+");
                self.skip_blanks();
                let start = self.at;
                // What stands behind it is not its own, unless both stand in parentheses.
                let length = self.primary(depth)?;
                self.calculated(start, &length)?
            }
        };
        Ok(if is_negative { -ms } else { ms })
    }

    fn duration(&mut self, depth: usize) -> Result<i64, ParseError> {
        let start = self.at;
        let ms = match self.dialect {
            Dialect::Plain => self.milliseconds()?,
            Dialect::Experimental { .. } => {
                let length = self.binary(0, depth)?;
                self.calculated(start, &length)?
            }
        };
        match ms {
            ms if ms > 0 => Ok(ms),
            _ => {
                self.at = start;
                Err(self.error("duration must be greater than 0"))
            }
        }
    }

    /// A length of time that is calculated, in milliseconds.
    fn calculated(&self, start: usize, of: &Expression) -> Result<i64, ParseError> {
        let refuse = |text: &str| Err(Reader { at: start, ..*self }.error(text));
        // What is calculated is cut, as Prometheus does; what is written out is as it is written.
        let is_written = matches!(of.what, Node::Number(_) | Node::Length(_));
        let whole = |ms: f64| if is_written { ms.round() } else { ms.trunc() };
        match self.seconds(of).map(|seconds| whole(seconds * 1000.0)) {
            None => {
                refuse("unexpected expression in duration, expected numbers and lengths of time")
            }
            Some(ms) if !ms.is_finite() => refuse("duration is NaN or infinite"),
            Some(ms) if ms.abs() > DURATION_MS_MAX => refuse("duration out of range"),
            Some(ms) => Ok(ms as i64),
        }
    }

    fn seconds(&self, of: &Expression) -> Option<f64> {
        let Dialect::Experimental { step_ms, range_ms } = self.dialect else { return None };
        Some(match &of.what {
            Node::Number(seconds) | Node::Length(seconds) => *seconds,
            Node::Negated(of) => -self.seconds(of)?,
            Node::Signed(of) => self.seconds(of)?,
            Node::Binary(binary) => {
                let (a, b) = (self.seconds(&binary.left)?, self.seconds(&binary.right)?);
                match binary.operator {
                    Operator::Calculate(Calculation::Add) => a + b,
                    Operator::Calculate(Calculation::Subtract) => a - b,
                    Operator::Calculate(Calculation::Multiply) => a * b,
                    Operator::Calculate(Calculation::Divide) => a / b,
                    Operator::Calculate(Calculation::Remainder) => a % b,
                    Operator::Calculate(Calculation::Power) => a.powf(b),
                    _ => return None,
                }
            }
            Node::Call { function, arguments } => match (function.name, &arguments[..]) {
                ("step", _) => step_ms as f64 / 1000.0,
                ("range", _) => range_ms as f64 / 1000.0,
                ("min_of", [a, b]) => self.seconds(a)?.min(self.seconds(b)?),
                ("max_of", [a, b]) => self.seconds(a)?.max(self.seconds(b)?),
                _ => return None,
            },
            _ => return None,
        })
    }

    fn milliseconds(&mut self) -> Result<i64, ParseError> {
        let start = self.at;
        if !matches!(self.peek(), Some('0'..='9' | '.')) {
            return Err(self.unexpected("duration", "duration"));
        }
        let ms = (self.number()?.0 * 1000.0).round();
        if !(0.0..=DURATION_MS_MAX).contains(&ms) {
            self.at = start;
            return Err(self.error("duration out of range"));
        }
        Ok(ms as i64)
    }

    /// A number, or a duration, which is its seconds, and whether it is one.
    fn number(&mut self) -> Result<(f64, bool), ParseError> {
        let start = self.at;
        let rest = self.rest();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '.' || c == '_';
        let mut length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let text = rest.get(..length).unwrap_or_default();
        let is_hex = text.starts_with("0x") || text.starts_with("0X");
        // The sign of an exponent.
        if !is_hex
            && text.ends_with(['e', 'E'])
            && rest.get(length..).is_some_and(|rest| rest.starts_with(['+', '-']))
        {
            let more = rest.get(length + 1..).unwrap_or_default();
            length += 1 + more.find(|c: char| !c.is_ascii_digit()).unwrap_or(more.len());
        }
        let text = rest.get(..length).unwrap_or_default();
        let plain = text.replace('_', "");
        let number = match () {
            () if is_hex => {
                u64::from_str_radix(plain.get(2..).unwrap_or_default(), 16).ok().map(|n| n as f64)
            }
            () => plain.parse::<f64>().ok().filter(|_| !plain.ends_with(char::is_alphabetic)),
        };
        let number = number.map(|number| (number, false));
        let number = number.or_else(|| Some((duration_seconds(text)?, true)));
        self.at += length;
        number.ok_or_else(|| {
            self.at = start;
            self.error(format!("bad number or duration syntax: {text:?}"))
        })
    }
}

/// `1h30m`: units from large to small, each once.
pub(crate) fn duration_seconds(text: &str) -> Option<f64> {
    const UNITS: [(&str, i64); 7] = [
        ("y", 365 * 86_400_000),
        ("w", 7 * 86_400_000),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1_000),
        ("ms", 1),
    ];
    let (mut rest, mut total, mut from) = (text, 0i64, 0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let number: i64 = rest.get(..digits)?.parse().ok()?;
        rest = rest.get(digits..)?;
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = rest.get(..letters)?;
        let place = UNITS.iter().position(|(name, _)| *name == unit).filter(|at| *at >= from)?;
        total = total.checked_add(number.checked_mul(UNITS.get(place)?.1)?)?;
        from = place + 1;
        rest = rest.get(letters..)?;
    }
    (!text.is_empty()).then_some(total as f64 / 1000.0)
}

#[cfg(test)]
mod tests;
