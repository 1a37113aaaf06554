//! Expressions as the grammar has them.

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr {
    /// Two expressions joined by an operator.
    Binary {
        /// The operator.
        op: Op,
        /// What stands before it.
        left: Box<Expr>,
        /// What stands behind it.
        right: Box<Expr>,
    },
    /// An expression in parentheses.
    Paren(Box<Expr>),
    /// A function.
    Call {
        /// Name in lower case.
        name: String,
        /// Arguments.
        args: Vec<Expr>,
    },
    /// A field or tag.
    Var {
        /// Name; dots of `a.b` included.
        name: String,
        /// What is behind `::`.
        cast: Option<Cast>,
    },
    /// `*`, with `::field` or `::tag`.
    Wildcard(Option<Cast>),
    /// `DISTINCT name` without parentheses.
    Distinct(String),
    /// A whole number.
    Integer(i64),
    /// A whole number beyond the range of signed ones.
    Unsigned(u64),
    /// A number with a point.
    Number(f64),
    /// A string, which may also mean a time.
    String(String),
    /// True or false.
    Boolean(bool),
    /// A duration in nanoseconds.
    Duration(i64),
    /// A regular expression, without slashes.
    Regex(String),
    /// An instant in nanoseconds since 1970, which planning puts in place of texts and `now()`.
    Time(i128),
}

impl Expr {
    /// Whether it stands for itself: no column, no call.
    pub(crate) fn is_literal(&self) -> bool {
        matches!(
            self,
            Self::Integer(_)
                | Self::Unsigned(_)
                | Self::Number(_)
                | Self::String(_)
                | Self::Boolean(_)
                | Self::Duration(_)
                | Self::Regex(_)
                | Self::Time(_)
        )
    }
}

/// What a field or tag is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cast {
    /// `::float`
    Float,
    /// `::integer`
    Integer,
    /// `::unsigned`
    Unsigned,
    /// `::string`
    String,
    /// `::boolean`
    Boolean,
    /// `::field`, of any type.
    Field,
    /// `::tag`
    Tag,
}

/// An operator between two expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Modulo,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `AND`
    And,
    /// `OR`
    Or,
    /// `=`
    Equal,
    /// `!=`, `<>`
    NotEqual,
    /// `=~`
    Matches,
    /// `!~`
    NotMatches,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Op {
    /// How tightly the operator binds, from 1 (`OR`) to 5 (`*`). All of them associate to the left.
    pub const fn precedence(self) -> u8 {
        match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Add | Self::Subtract | Self::BitOr | Self::BitXor => 4,
            Self::Multiply | Self::Divide | Self::Modulo | Self::BitAnd => 5,
            _ => 3,
        }
    }

    /// The operator that a word or mark is, if it is one.
    pub(in crate::influxql) fn of(word: &str) -> Option<Self> {
        Some(match word {
            "+" => Self::Add,
            "-" => Self::Subtract,
            "*" => Self::Multiply,
            "/" => Self::Divide,
            "%" => Self::Modulo,
            "&" => Self::BitAnd,
            "|" => Self::BitOr,
            "^" => Self::BitXor,
            "AND" => Self::And,
            "OR" => Self::Or,
            "=" => Self::Equal,
            "!=" => Self::NotEqual,
            "=~" => Self::Matches,
            "!~" => Self::NotMatches,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            _ => return None,
        })
    }

    /// The operator as it is written.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::BitAnd => "&",
            Self::BitOr => "|",
            Self::BitXor => "^",
            Self::And => "AND",
            Self::Or => "OR",
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Matches => "=~",
            Self::NotMatches => "!~",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}
