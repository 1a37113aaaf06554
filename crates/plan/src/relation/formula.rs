//! Calculations over the columns of a row, by the rules of three-valued logic.

use crate::rows::{Math, Operator};
use foliot_model::{Item, Test};
use std::sync::Arc;

/// An expression over the columns of a row.
///
/// Null in, null out, except where it is said; AND and OR know what null may still become.
/// Integers divide into integers and do not wrap around: what does not fit is an error, as is the
/// division of an integer by zero. Floats follow IEEE 754; where rows are sorted, NaN is above all
/// other numbers. A time may be moved by nanoseconds, and two times are as many apart.
#[derive(Clone, Debug, PartialEq)]
pub enum Formula {
    /// A column, by its place.
    Column(usize),
    /// A constant.
    Constant(Item),
    /// An operator between two values. What follows AND and OR is not looked at where what stands
    /// before them decides.
    Binary {
        /// Which one.
        operator: Operator,
        /// Before it.
        left: Box<Formula>,
        /// Behind it.
        right: Box<Formula>,
    },
    /// The opposite of a truth.
    Not(Box<Formula>),
    /// Whether this is null.
    IsNull(Box<Formula>),
    /// Whether a text passes a test.
    Passes {
        /// The text.
        text: Box<Formula>,
        /// The test.
        test: Test,
    },
    /// Whether a value is one of a list of constants, none of which is null.
    IsOneOf {
        /// The value.
        value: Box<Formula>,
        /// The list.
        of: Arc<[Item]>,
    },
    /// How a value, which is reckoned once, compares with others: with all of them so, or with any.
    /// AND or OR joins what comes of each, by the rules of three-valued logic.
    Compared {
        /// The value.
        value: Box<Formula>,
        /// Operators and what stands behind them.
        with: Vec<(Operator, Formula)>,
        /// Whether one that holds is enough.
        is_any: bool,
    },
    /// Whether two values differ, where two nulls do not; never null.
    Differ {
        /// One value.
        left: Box<Formula>,
        /// The other one.
        right: Box<Formula>,
    },
    /// A value, or null where it equals another one.
    NullIf {
        /// The value.
        value: Box<Formula>,
        /// The other one.
        other: Box<Formula>,
    },
    /// The value behind the first case that a value equals; others are not looked at.
    Matched {
        /// The value, which is reckoned once.
        value: Box<Formula>,
        /// Cases and values.
        cases: Vec<(Formula, Formula)>,
        /// The value if it equals none.
        otherwise: Box<Formula>,
    },
    /// A function of numbers; [`Math::Round`] takes a number of decimals, too.
    Math {
        /// Which one.
        function: Math,
        /// Its arguments.
        arguments: Vec<Formula>,
    },
    /// A function of texts.
    Text {
        /// Which one.
        function: Words,
        /// Its arguments.
        arguments: Vec<Formula>,
    },
    /// The value behind the first condition that is true; others are not looked at.
    Chosen {
        /// Conditions and values.
        cases: Vec<(Formula, Formula)>,
        /// The value if none is true.
        otherwise: Box<Formula>,
    },
    /// The first value that is not null; others are not looked at.
    FirstOf(Vec<Formula>),
    /// The smallest of several values, or the largest; nulls are passed over.
    Extreme {
        /// The values.
        of: Vec<Formula>,
        /// Whether the largest is meant.
        is_largest: bool,
    },
    /// A value as one of another kind; a text that spells none is an error.
    Converted {
        /// The value.
        value: Box<Formula>,
        /// Into what.
        to: Kept,
    },
    /// The start of the window that a time lies in.
    Window {
        /// The time.
        time: Box<Formula>,
        /// Where windows lie.
        bucket: Bucket,
    },
    /// A part of a time, as a number.
    Part {
        /// The time.
        time: Box<Formula>,
        /// Which one.
        part: Part,
        /// The zone by whose clock, one of IANA's names; nothing is UTC.
        zone: Option<Arc<str>>,
    },
}

/// What a value is converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// A float.
    Float,
    /// An integer; fractions are rounded, halves to the even neighbour.
    Integer,
    /// An integer that is not negative.
    Unsigned,
    /// True or false.
    Boolean,
    /// A text.
    Text,
    /// A time, of nanoseconds since 1970.
    Time,
}

/// Where windows lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// How long they are, above 0.
    pub width: Width,
    /// Where one of them begins, in nanoseconds since 1970, by the clock of the zone.
    pub origin_ns: i64,
    /// The zone by whose clock, one of IANA's names; nothing is UTC.
    pub zone: Option<Arc<str>>,
}

/// How long windows are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// So many nanoseconds.
    Nanos(i64),
    /// So many months of the calendar.
    Months(i32),
}

/// A part of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Seconds since 1970, with their fraction.
    Epoch,
    /// Year.
    Year,
    /// Year that the week of ISO 8601 belongs to.
    IsoYear,
    /// Quarter, from 1.
    Quarter,
    /// Month, from 1.
    Month,
    /// Week of the year by ISO 8601.
    Week,
    /// Day of the month.
    Day,
    /// Day of the year.
    DayOfYear,
    /// Day of the week, Sunday is 0.
    DayOfWeek,
    /// Day of the week, Monday is 1.
    IsoDayOfWeek,
    /// Hour.
    Hour,
    /// Minute.
    Minute,
    /// Second with its fraction.
    Second,
    /// Second with its fraction, in milliseconds.
    Milliseconds,
    /// Second with its fraction, in microseconds.
    Microseconds,
}

/// A function of texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// In lower case.
    Lower,
    /// In upper case.
    Upper,
    /// Number of characters.
    Length,
    /// All texts one behind the other; nulls are passed over.
    Concat,
    /// The same, but null if one is null.
    Join,
    /// Without these characters at both ends; blanks unless others are said.
    Trim,
    /// The same, before the text only.
    TrimStart,
    /// The same, behind it only.
    TrimEnd,
    /// Each occurrence of one text by another one.
    Replace,
    /// So many characters from the one with this number, counted from 1.
    Part,
    /// The first so many characters.
    Left,
    /// The last so many characters.
    Right,
    /// The piece with this number between occurrences of a text, counted from 1, or from -1 if
    /// from the end.
    Piece,
    /// Where a text begins in another one, counted from 1; 0: nowhere.
    Position,
    /// Whether a text begins with another one.
    StartsWith,
}
