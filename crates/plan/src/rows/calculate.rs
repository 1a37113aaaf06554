//! Calculations over the values of one row.

use foliot_model::{Item, Test};

/// An expression over the slots of a row.
///
/// A comparison of values that cannot be compared is false, also `!=`; other operators on values
/// that do not go together give null. Where one side of a logical operator or comparison is null
/// and the other a boolean, the null counts as false. Integers and unsigned integers wrap around;
/// an integer joined with an unsigned one is taken for one. Division by zero gives zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Calculate {
    /// The row's time.
    Time,
    /// The value of a slot.
    Slot(usize),
    /// A constant.
    Constant(Item),
    /// An operator between two values.
    Binary {
        /// Which one.
        operator: Operator,
        /// Before it.
        left: Box<Calculate>,
        /// Behind it.
        right: Box<Calculate>,
    },
    /// Whether a text passes a test; false of anything but text.
    Passes {
        /// The text.
        text: Box<Calculate>,
        /// The test.
        test: Test,
        /// Whether texts that do not pass are wanted.
        negated: bool,
    },
    /// A function of numbers.
    Math {
        /// Which one.
        function: Math,
        /// Its arguments.
        arguments: Vec<Calculate>,
    },
}

/// An operator between two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// a + b
    Add,
    /// a - b
    Subtract,
    /// a * b
    Multiply,
    /// a / b, where integers (not unsigned ones) give a float.
    Divide,
    /// a / b, where integers give an integer, truncating toward zero.
    DivideWhole,
    /// The remainder, which has the sign of a.
    Modulo,
    /// Bits, or booleans, that both have.
    BitAnd,
    /// Bits, or booleans, that one has.
    BitOr,
    /// Bits, or booleans, that one has and the other does not.
    BitXor,
    /// Both are true.
    And,
    /// One is true.
    Or,
    /// a = b
    Equal,
    /// a != b
    NotEqual,
    /// a < b
    Less,
    /// a <= b
    LessOrEqual,
    /// a > b
    Greater,
    /// a >= b
    GreaterOrEqual,
}

/// A function of one or two numbers. What is no number gives null, and so does NaN as a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Math {
    /// |x|, of the kind of x.
    Abs,
    /// Sine.
    Sin,
    /// Cosine.
    Cos,
    /// Tangent.
    Tan,
    /// Arc sine.
    Asin,
    /// Arc cosine.
    Acos,
    /// Arc tangent.
    Atan,
    /// The angle of the point (x, y), of y and x.
    Atan2,
    /// e to the x.
    Exp,
    /// Natural logarithm.
    Ln,
    /// Logarithm of x to the base b, of x and b.
    Log,
    /// Logarithm to the base 2.
    Log2,
    /// Logarithm to the base 10.
    Log10,
    /// Square root.
    Sqrt,
    /// x to the y; integers give an integer, wrapping around.
    Pow,
    /// The largest whole number not above x.
    Floor,
    /// The smallest whole number not below x.
    Ceil,
    /// The nearest whole number, halves away from zero.
    Round,
}
