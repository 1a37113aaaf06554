//! Evaluates calculations over the slots of a row.

use crate::kernels::number::to_f64;
use foliot_model::{Item, Kind};
use foliot_plan::rows::{Calculate, Math, Operator};

/// What a null is beside a boolean.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Null {
    /// False, as among the columns of a selection.
    False,
    /// Nothing that compares: a stored field that has no value there.
    Nothing,
}

/// The value of `calculate` over the columns of a selection.
pub(super) fn evaluate(calculate: &Calculate, time_ns: i64, slots: &[Item]) -> Item {
    value(calculate, time_ns, slots, Null::False)
}

/// The value of `calculate` over stored fields.
pub(super) fn of_stored(calculate: &Calculate, time_ns: i64, slots: &[Item]) -> Item {
    value(calculate, time_ns, slots, Null::Nothing)
}

/// Whether a condition holds of the columns of a selection.
pub(super) fn holds(condition: &Calculate, time_ns: i64, slots: &[Item]) -> bool {
    evaluate(condition, time_ns, slots) == Item::Boolean(true)
}

/// Whether a condition holds of stored fields.
pub(super) fn holds_of_stored(condition: &Calculate, time_ns: i64, slots: &[Item]) -> bool {
    // Most conditions are comparisons with constants, all of which must hold: no copy is made.
    if let Calculate::Binary { operator, left, right } = condition {
        if *operator == Operator::And {
            return holds_of_stored(left, time_ns, slots) && holds_of_stored(right, time_ns, slots);
        }
        if let (Calculate::Slot(slot), Calculate::Constant(with)) = (&**left, &**right) {
            return compares(*operator, slots.get(*slot).unwrap_or(&Item::Null), with);
        }
    }
    of_stored(condition, time_ns, slots) == Item::Boolean(true)
}

/// Whether a stored value compares so with another one.
pub(super) fn compares(operator: Operator, left: &Item, right: &Item) -> bool {
    let told = match (left, right) {
        (Item::Float(left), Item::Float(right)) => compare(operator, left, right),
        (Item::Integer(left), Item::Integer(right)) => compare(operator, left, right),
        _ => None,
    };
    let told = told.unwrap_or_else(|| binary(operator, left.clone(), right.clone(), Null::Nothing));
    told == Item::Boolean(true)
}

fn value(calculate: &Calculate, time_ns: i64, slots: &[Item], null: Null) -> Item {
    match calculate {
        Calculate::Time => Item::Time(time_ns),
        Calculate::Slot(index) => slots.get(*index).cloned().unwrap_or_default(),
        Calculate::Constant(item) => item.clone(),
        Calculate::Binary { operator, left, right } => {
            let left = value(left, time_ns, slots, null);
            binary(*operator, left, value(right, time_ns, slots, null), null)
        }
        Calculate::Passes { text, test, negated } => match value(text, time_ns, slots, null) {
            Item::String(text) => Item::Boolean(test.passes(&text) != *negated),
            _ => Item::Boolean(false),
        },
        Calculate::Math { function, arguments } => {
            let mut arguments = arguments.iter().map(|each| value(each, time_ns, slots, null));
            let first = arguments.next().unwrap_or_default();
            math(*function, &first, &arguments.next().unwrap_or_default())
        }
    }
}

/// `item` as a number of a kind, if it is a number; else as it is.
pub(super) fn convert(item: Item, kind: Kind) -> Item {
    match (kind, &item) {
        (Kind::Float, Item::Integer(v)) => Item::Float(*v as f64),
        (Kind::Float, Item::Unsigned(v)) => Item::Float(*v as f64),
        (Kind::Integer, Item::Float(v)) => Item::Integer(truncated(*v)),
        (Kind::Integer, Item::Unsigned(v)) => Item::Integer(*v as i64),
        (Kind::Unsigned, Item::Float(v)) => Item::Unsigned(truncated_unsigned(*v)),
        (Kind::Unsigned, Item::Integer(v)) => Item::Unsigned(*v as u64),
        _ => item,
    }
}

/// The first number above all integers.
const BEYOND: f64 = 9_223_372_036_854_775_808.0;

/// A number without its fraction. One beyond all integers, and what is no number, is the smallest:
/// so Go has it on the machines that InfluxDB runs on.
fn truncated(v: f64) -> i64 {
    if (-BEYOND..BEYOND).contains(&v) { v as i64 } else { i64::MIN }
}

/// The same without a sign: negative numbers wrap around.
fn truncated_unsigned(v: f64) -> u64 {
    if v < BEYOND { truncated(v) as u64 } else { truncated(v - BEYOND) as u64 | 1 << 63 }
}

/// The kind of an item; nothing of null and of times.
pub(super) fn kind_of(item: &Item) -> Option<Kind> {
    match item {
        Item::Float(_) => Some(Kind::Float),
        Item::Integer(_) => Some(Kind::Integer),
        Item::Unsigned(_) => Some(Kind::Unsigned),
        Item::Boolean(_) => Some(Kind::Boolean),
        Item::String(_) => Some(Kind::String),
        Item::Null | Item::Time(_) => None,
    }
}

fn binary(operator: Operator, mut left: Item, mut right: Item, null: Null) -> Item {
    match (&left, &right) {
        (Item::Null, Item::Boolean(_)) if null == Null::False => left = Item::Boolean(false),
        (Item::Boolean(_), Item::Null) if null == Null::False => right = Item::Boolean(false),
        _ => {}
    }
    let result = match (&left, &right) {
        (Item::Boolean(a), Item::Boolean(b)) => booleans(operator, *a, *b),
        (Item::Float(a), b) => to_f64(b).and_then(|b| floats(operator, *a, b)),
        (a, Item::Float(b)) => to_f64(a).and_then(|a| floats(operator, a, *b)),
        (Item::Integer(a), Item::Integer(b)) => integers(operator, *a, *b),
        (Item::Integer(a), Item::Unsigned(b)) if *a < 0 => Some(match operator {
            Operator::Less | Operator::LessOrEqual => Item::Boolean(true),
            Operator::Greater | Operator::GreaterOrEqual => Item::Boolean(false),
            _ => return unsigned(operator, *a as u64, *b).unwrap_or_default(),
        }),
        (Item::Unsigned(a), Item::Integer(b)) if *b < 0 => Some(match operator {
            Operator::Less | Operator::LessOrEqual => Item::Boolean(false),
            Operator::Greater | Operator::GreaterOrEqual => Item::Boolean(true),
            _ => return unsigned(operator, *a, *b as u64).unwrap_or_default(),
        }),
        (Item::Integer(a), Item::Unsigned(b)) => unsigned(operator, *a as u64, *b),
        (Item::Unsigned(a), Item::Integer(b)) => unsigned(operator, *a, *b as u64),
        (Item::Unsigned(a), Item::Unsigned(b)) => unsigned(operator, *a, *b),
        (Item::String(a), Item::String(b)) => match operator {
            Operator::Equal => Some(Item::Boolean(a == b)),
            Operator::NotEqual => Some(Item::Boolean(a != b)),
            _ => None,
        },
        _ => None,
    };
    let otherwise = match operator {
        Operator::Equal | Operator::NotEqual | Operator::Less => Item::Boolean(false),
        Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
            Item::Boolean(false)
        }
        // A boolean beside something else is false under these.
        Operator::And | Operator::Or | Operator::BitAnd | Operator::BitOr | Operator::BitXor
            if matches!(left, Item::Boolean(_)) =>
        {
            Item::Boolean(false)
        }
        _ => Item::Null,
    };
    result.unwrap_or(otherwise)
}

fn booleans(operator: Operator, a: bool, b: bool) -> Option<Item> {
    Some(Item::Boolean(match operator {
        Operator::And | Operator::BitAnd => a && b,
        Operator::Or | Operator::BitOr => a || b,
        Operator::BitXor | Operator::NotEqual => a != b,
        Operator::Equal => a == b,
        _ => return None,
    }))
}

fn compare<T: PartialOrd>(operator: Operator, a: &T, b: &T) -> Option<Item> {
    Some(Item::Boolean(match operator {
        Operator::Equal => a == b,
        Operator::NotEqual => a != b,
        Operator::Less => a < b,
        Operator::LessOrEqual => a <= b,
        Operator::Greater => a > b,
        Operator::GreaterOrEqual => a >= b,
        _ => return None,
    }))
}

fn floats(operator: Operator, a: f64, b: f64) -> Option<Item> {
    Some(Item::Float(match operator {
        Operator::Add => a + b,
        Operator::Subtract => a - b,
        Operator::Multiply => a * b,
        Operator::Divide | Operator::DivideWhole if b == 0.0 => 0.0,
        Operator::Divide | Operator::DivideWhole => a / b,
        Operator::Modulo => a % b,
        _ => return compare(operator, &a, &b),
    }))
}

fn integers(operator: Operator, a: i64, b: i64) -> Option<Item> {
    Some(Item::Integer(match operator {
        Operator::Add => a.wrapping_add(b),
        Operator::Subtract => a.wrapping_sub(b),
        Operator::Multiply => a.wrapping_mul(b),
        Operator::Divide if b == 0 => return Some(Item::Float(0.0)),
        Operator::Divide => return Some(Item::Float(a as f64 / b as f64)),
        Operator::DivideWhole | Operator::Modulo if b == 0 => 0,
        Operator::DivideWhole => a.wrapping_div(b),
        Operator::Modulo => a.wrapping_rem(b),
        Operator::BitAnd => a & b,
        Operator::BitOr => a | b,
        Operator::BitXor => a ^ b,
        _ => return compare(operator, &a, &b),
    }))
}

fn unsigned(operator: Operator, a: u64, b: u64) -> Option<Item> {
    Some(Item::Unsigned(match operator {
        Operator::Add => a.wrapping_add(b),
        Operator::Subtract => a.wrapping_sub(b),
        Operator::Multiply => a.wrapping_mul(b),
        Operator::Divide | Operator::DivideWhole => a.checked_div(b).unwrap_or(0),
        Operator::Modulo => a.checked_rem(b).unwrap_or(0),
        Operator::BitAnd => a & b,
        Operator::BitOr => a | b,
        Operator::BitXor => a ^ b,
        _ => return compare(operator, &a, &b),
    }))
}

/// What a function makes of a number, or of two.
pub(crate) fn math(function: Math, first: &Item, second: &Item) -> Item {
    match (function, first) {
        (Math::Abs, Item::Integer(v)) => return Item::Integer(v.wrapping_abs()),
        (Math::Floor | Math::Ceil | Math::Round, Item::Integer(_) | Item::Unsigned(_))
        | (Math::Abs, Item::Unsigned(_)) => return first.clone(),
        _ => {}
    }
    let Some(x) = to_f64(first) else { return Item::Null };
    let with = |f: fn(f64, f64) -> f64| to_f64(second).map_or(Item::Null, |y| Item::Float(f(x, y)));
    Item::Float(match function {
        Math::Abs => x.abs(),
        Math::Sin => x.sin(),
        Math::Cos => x.cos(),
        Math::Tan => x.tan(),
        Math::Asin => x.asin(),
        Math::Acos => x.acos(),
        Math::Atan => x.atan(),
        Math::Exp => x.exp(),
        Math::Ln => x.ln(),
        Math::Log2 => x.log2(),
        Math::Log10 => x.log10(),
        Math::Sqrt => x.sqrt(),
        Math::Floor => x.floor(),
        Math::Ceil => x.ceil(),
        Math::Round => x.round(),
        Math::Atan2 => return with(f64::atan2),
        Math::Log => return with(|x, base| x.ln() / base.ln()),
        Math::Pow => return with(f64::powf),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two(operator: Operator, left: Item, right: Item) -> Item {
        binary(operator, left, right, Null::False)
    }

    /// As InfluxDB 1.6.7 answers: of stored rows only those that have the field can meet a
    /// condition on it; of a selection's rows a missing boolean is false.
    #[test]
    fn an_absent_field_compares_with_nothing() {
        let compared = |operator, with: Item| Calculate::Binary {
            operator,
            left: Calculate::Slot(0).into(),
            right: Calculate::Constant(with).into(),
        };
        let (no, yes) = (Item::Boolean(false), Item::Boolean(true));
        for (condition, is_met, is_met_by_column) in [
            (compared(Operator::Equal, no.clone()), false, true),
            (compared(Operator::NotEqual, yes.clone()), false, true),
            (compared(Operator::Equal, yes), false, false),
            (compared(Operator::NotEqual, no), false, false),
            (compared(Operator::NotEqual, Item::String("x".into())), false, false),
            (compared(Operator::Equal, Item::String("".into())), false, false),
        ] {
            assert_eq!(holds_of_stored(&condition, 0, &[Item::Null]), is_met, "{condition:?}");
            assert_eq!(holds(&condition, 0, &[Item::Null]), is_met_by_column, "{condition:?}");
        }
        let either = Calculate::Binary {
            operator: Operator::Or,
            left: compared(Operator::Equal, Item::Boolean(false)).into(),
            right: Calculate::Constant(Item::Boolean(true)).into(),
        };
        assert!(holds_of_stored(&either, 0, &[Item::Null]));
    }

    /// What is looked at without a copy comes to what is reckoned.
    #[test]
    fn conditions_hold_where_their_value_is_true() {
        let items = [
            Item::Null,
            Item::Boolean(true),
            Item::Boolean(false),
            Item::Float(2.5),
            Item::Float(f64::NAN),
            Item::Integer(-2),
            Item::Unsigned(u64::MAX),
            Item::String("a".into()),
        ];
        let operators = [
            Operator::Add,
            Operator::BitAnd,
            Operator::Or,
            Operator::Equal,
            Operator::NotEqual,
            Operator::Less,
            Operator::LessOrEqual,
            Operator::Greater,
            Operator::GreaterOrEqual,
        ];
        let two = |operator, left: Calculate, right: Calculate| Calculate::Binary {
            operator,
            left: left.into(),
            right: right.into(),
        };
        let is_true = |condition: &Calculate, slots: &[Item]| {
            value(condition, 0, slots, Null::Nothing) == Item::Boolean(true)
        };
        for (left, right) in
            items.iter().flat_map(|left| items.iter().map(move |right| (left, right)))
        {
            let slots = [left.clone(), right.clone()];
            for operator in operators {
                let with = Calculate::Constant(right.clone());
                let first = two(operator, Calculate::Slot(0), with);
                assert_eq!(
                    holds_of_stored(&first, 0, &slots),
                    is_true(&first, &slots),
                    "{first:?} {left:?}"
                );
                let both = two(Operator::And, first.clone(), Calculate::Slot(1));
                assert_eq!(
                    holds_of_stored(&both, 0, &slots),
                    is_true(&both, &slots),
                    "{both:?} {left:?}"
                );
            }
        }
    }

    #[test]
    fn integers_divide_into_floats_and_zero_divides_into_zero() {
        use Item::{Float, Integer, Unsigned};
        assert_eq!(two(Operator::Divide, Integer(7), Integer(2)), Float(3.5));
        assert_eq!(two(Operator::Divide, Integer(7), Integer(0)), Float(0.0));
        assert_eq!(two(Operator::DivideWhole, Integer(7), Integer(2)), Integer(3));
        assert_eq!(two(Operator::Divide, Unsigned(7), Unsigned(2)), Unsigned(3));
        assert_eq!(two(Operator::Divide, Float(7.0), Integer(0)), Float(0.0));
        assert_eq!(two(Operator::Modulo, Integer(-7), Integer(2)), Integer(-1));
        assert_eq!(two(Operator::Modulo, Integer(7), Integer(0)), Integer(0));
        assert_eq!(two(Operator::Divide, Integer(i64::MIN), Integer(-1)), Float(2f64.powi(63)));
        assert_eq!(two(Operator::DivideWhole, Integer(i64::MIN), Integer(-1)), Integer(i64::MIN));
    }

    #[test]
    fn unlike_values_compare_as_false() {
        let (text, number) = (Item::String("a".into()), Item::Integer(1));
        assert_eq!(two(Operator::NotEqual, text.clone(), number.clone()), Item::Boolean(false));
        assert_eq!(two(Operator::Add, text.clone(), number), Item::Null);
        assert_eq!(two(Operator::Less, text.clone(), text), Item::Boolean(false));
        let (null, no) = (Item::Null, Item::Boolean(false));
        assert_eq!(two(Operator::NotEqual, null.clone(), Item::Boolean(true)), Item::Boolean(true));
        assert_eq!(two(Operator::Equal, null.clone(), no), Item::Boolean(true));
        assert_eq!(two(Operator::Equal, null.clone(), null), Item::Boolean(false));
    }

    #[test]
    fn signed_meets_unsigned() {
        let (minus, large) = (Item::Integer(-1), Item::Unsigned(u64::MAX));
        assert_eq!(two(Operator::Less, minus.clone(), large.clone()), Item::Boolean(true));
        assert_eq!(two(Operator::Greater, large.clone(), minus.clone()), Item::Boolean(true));
        assert_eq!(two(Operator::Equal, minus, large), Item::Boolean(true));
        assert_eq!(
            two(Operator::Add, Item::Unsigned(u64::MAX), Item::Integer(1)),
            Item::Unsigned(0)
        );
    }

    #[test]
    fn functions_of_numbers() {
        let of = |function, item: Item| math(function, &item, &Item::Null);
        assert_eq!(of(Math::Abs, Item::Integer(-3)), Item::Integer(3));
        assert_eq!(of(Math::Round, Item::Float(-2.5)), Item::Float(-3.0));
        assert_eq!(of(Math::Floor, Item::Integer(3)), Item::Integer(3));
        assert_eq!(of(Math::Sqrt, Item::Integer(9)), Item::Float(3.0));
        assert_eq!(of(Math::Sqrt, Item::String("9".into())), Item::Null);
        let two = |function, x, y| math(function, &Item::Float(x), &Item::Integer(y));
        assert_eq!(two(Math::Pow, 2.0, 10), Item::Float(1024.0));
        assert_eq!(two(Math::Log, 8.0, 2), Item::Float(8f64.ln() / 2f64.ln()));
    }
}
