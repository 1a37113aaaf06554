//! Operators by their rank, and how the series on their two sides meet.

use crate::promql::reader::{ParseError, Reader};
use crate::promql::{Binary, Expression, Meeting, Node, Type};
use foliot_plan::grid::{Calculation, Comparison, Fill, Labels, Many, Operator};

/// Operators with their ranks, the longer ones of the same beginning first. The first of equal rank
/// that stands further left is done first, but for powers.
pub(super) const SIGNS: [(&str, u8, Operator); 15] = [
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
pub(super) const WORDS: [(&str, u8, Operator); 3] =
    [("or", 1, Operator::Or), ("and", 2, Operator::And), ("unless", 2, Operator::Unless)];
const POWER: Operator = Operator::Calculate(Calculation::Power);
/// What a sign before an operand binds as.
const UNARY_RANK: u8 = 5;

const fn compare(comparison: Comparison) -> Operator {
    Operator::Compare { comparison, is_told: false }
}

impl Reader<'_> {
    /// An expression of operators of at least this rank.
    ///
    /// What calls itself through others, from here to [`Self::arguments`], holds little: each
    /// level of nesting has a frame of each on the stack.
    pub(super) fn binary(&mut self, rank_min: u8, depth: usize) -> Result<Expression, ParseError> {
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
            let places = (left.opens, start);
            let (operator, matching) = self.modifiers(places, sign, operator)?;
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

    /// `bool`, and how series meet. The operation and its operator begin at `places`.
    fn modifiers(
        &mut self,
        places: (usize, usize),
        sign: &str,
        operator: Operator,
    ) -> Result<(Operator, Option<Meeting>), ParseError> {
        let is_told = self.takes_word("bool");
        let operator = match operator {
            Operator::Compare { comparison, .. } => Operator::Compare { comparison, is_told },
            _ if is_told => {
                let text = "bool modifier can only be used on comparison operators";
                return Err(self.error_at(places.1, text));
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
                let text = format!("no grouping allowed for {sign:?} operation");
                return Err(self.error_at(places.0, text));
            }
            if let Labels::Only(names) = &meeting.by
                && let Some(name) = meeting.include.iter().find(|name| names.contains(name))
            {
                let text = format!("label {name:?} must not occur in ON and GROUP clause at once");
                return Err(self.error_at(places.1, text));
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
                return Err(self.error_at(start, text));
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

    fn joined(
        &self,
        start: usize,
        sign: &str,
        left: Expression,
        right: Expression,
        operator: Operator,
        matching: Option<Meeting>,
    ) -> Result<Expression, ParseError> {
        let is_set = matches!(operator, Operator::And | Operator::Or | Operator::Unless);
        let kinds = [left.kind, right.kind];
        let is_operand = |of: &&Expression| matches!(of.kind, Type::Scalar | Type::Vector);
        if let Some(wrong) = [&left, &right].into_iter().find(|of| !is_operand(of)) {
            let text = "binary expression must contain only scalar and instant vector types";
            return Err(self.error_at(wrong.opens, text));
        }
        let has_scalar = kinds.contains(&Type::Scalar);
        // A list without labels says nothing.
        let matching = matching.filter(|meeting| !has_scalar || meeting.says_something());
        if has_scalar && matching.is_some() {
            let text = "vector matching only allowed between instant vectors";
            return Err(self.error_at(left.opens, text));
        }
        if has_scalar && is_set {
            let text = format!("set operator {sign:?} not allowed in binary scalar expression");
            return Err(self.error_at(left.opens, text));
        }
        let are_scalars = kinds == [Type::Scalar; 2];
        if are_scalars && matches!(operator, Operator::Trim { .. }) {
            let text = format!("operator {sign:?} not allowed for scalar operations");
            return Err(self.error_at(start, text));
        }
        if are_scalars && matches!(operator, Operator::Compare { is_told: false, .. }) {
            let text = "comparisons between scalars must use BOOL modifier";
            return Err(self.error_at(start, text));
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

    /// An operand behind a sign.
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
}
