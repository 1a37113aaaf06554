//! Expressions as text again, as Prometheus formats them.

use super::selector::Condition;
use super::{At, Binary, Expression, Meeting, Node, Selected, Shifted};
use crate::answer::number;
use foliot_plan::grid::{Calculation, Comparison, Labels, MEASUREMENT as NAME, Many, Operator};
use std::sync::Arc;

/// What is longer than this stands on several lines.
const LINE_BYTES_MAX: usize = 100;

impl Expression {
    /// The expression on as many lines as it needs.
    pub fn format(&self) -> String {
        lines(self, 0)
    }
}

/// An expression that is this deep within others.
fn lines(of: &Expression, level: usize) -> String {
    let line = line(of);
    let indent = "  ".repeat(level);
    let splits = line.len() > LINE_BYTES_MAX;
    if let (Some(inner), true) = (bare(of), splits) {
        return format!("{indent}(\n{}\n{indent})", lines(&inner, level + 1));
    }
    match &of.what {
        // Prometheus leaves the indent of a short one out.
        Node::Subquery { .. } if !splits => line,
        Node::Subquery { input, range_ms, step_ms, shift } => {
            format!("{}{}", lines(input, level), behind_subquery(*range_ms, *step_ms, shift))
        }
        Node::Negated(input) => format!("{indent}-{}", lines(input, level).trim()),
        Node::Signed(input) => format!("{indent}+{}", lines(input, level).trim()),
        Node::Aggregate { name, by, parameter, input } if splits => {
            let parameter = parameter.as_ref();
            let parameter =
                parameter.map(|parameter| format!("{},\n", lines(parameter, level + 1)));
            let (head, parameter) = (aggregation(name, by), parameter.unwrap_or_default());
            format!("{indent}{head}(\n{parameter}{}\n{indent})", lines(input, level + 1))
        }
        Node::Binary(binary) if splits => {
            let [left, right] = [&binary.left, &binary.right].map(|side| lines(side, level + 1));
            format!("{left}\n{indent}{}\n{right}", between(binary))
        }
        Node::Call { function, arguments } if splits => {
            let arguments: Vec<String> =
                arguments.iter().map(|argument| lines(argument, level + 1)).collect();
            format!("{indent}{}(\n{}\n{indent})", function.name, arguments.join(",\n"))
        }
        _ => indent + &line,
    }
}

/// What stands in the outermost parentheses, if there are any.
fn bare(of: &Expression) -> Option<Expression> {
    let parentheses = of.parentheses.checked_sub(1)?;
    Some(Expression { parentheses, ..of.clone() })
}

/// An expression on one line.
fn line(of: &Expression) -> String {
    let text = match &of.what {
        Node::Number(value) => number(*value),
        Node::Length(seconds) => {
            let sign = if *seconds < 0.0 { "-" } else { "" };
            format!("{sign}{}", duration((seconds.abs() * 1000.0).round() as i64))
        }
        Node::Text(text) => quoted(text),
        Node::Series(selected) => format!("{}{}", selector(selected), shifted(&selected.shift)),
        Node::Range(selected, range_ms) => {
            let (range, shift) = (duration(*range_ms), shifted(&selected.shift));
            format!("{}[{range}]{shift}", selector(selected))
        }
        Node::Subquery { input, range_ms, step_ms, shift } => {
            format!("{}{}", line(input), behind_subquery(*range_ms, *step_ms, shift))
        }
        Node::Negated(input) => format!("-{}", line(input)),
        Node::Signed(input) => format!("+{}", line(input)),
        Node::Binary(binary) => {
            format!("{} {} {}", line(&binary.left), between(binary), line(&binary.right))
        }
        Node::Aggregate { name, by, parameter, input } => {
            let parameter = parameter.as_ref().map(|parameter| format!("{}, ", line(parameter)));
            let (head, parameter) = (aggregation(name, by), parameter.unwrap_or_default());
            format!("{head}({parameter}{})", line(input))
        }
        Node::Call { function, arguments } => {
            let arguments: Vec<String> = arguments.iter().map(line).collect();
            format!("{}({})", function.name, arguments.join(", "))
        }
    };
    format!("{}{text}{}", "(".repeat(of.parentheses), ")".repeat(of.parentheses))
}

fn selector(selected: &Selected) -> String {
    let (name, conditions) = (&selected.selector.name, &selected.selector.conditions);
    let mut conditions: Vec<String> = conditions.iter().map(condition).collect();
    conditions.sort_unstable();
    match conditions.is_empty() {
        true => name.clone(),
        false => format!("{name}{{{}}}", conditions.join(",")),
    }
}

fn condition(Condition { label, sign, value }: &Condition) -> String {
    let label = if label == NAME { label.clone() } else { label_name(label) };
    format!("{label}{sign}{}", quoted(value))
}

/// `offset` and `@`, each with a blank before it.
fn shifted(shift: &Shifted) -> String {
    let at = match shift.at {
        None => String::new(),
        Some(At::Start) => " @ start()".to_owned(),
        Some(At::End) => " @ end()".to_owned(),
        Some(At::Ms(ms)) => format!(" @ {:.3}", ms as f64 / 1000.0),
    };
    match shift.offset_ms {
        None | Some(0) => at,
        Some(ms) if ms < 0 => format!("{at} offset -{}", duration(-ms)),
        Some(ms) => format!("{at} offset {}", duration(ms)),
    }
}

fn behind_subquery(range_ms: i64, step_ms: Option<i64>, shift: &Shifted) -> String {
    let step = step_ms.map(duration).unwrap_or_default();
    format!("[{}:{step}]{}", duration(range_ms), shifted(shift))
}

/// An operator with its modifiers.
fn between(binary: &Binary) -> String {
    let mut text = sign(binary.operator).to_owned();
    if let Operator::Compare { is_told: true, .. } = binary.operator {
        text.push_str(" bool");
    }
    let Some(Meeting { by, many, include, fill }) = &binary.matching else { return text };
    let group = match many {
        Many::Left => Some("group_left"),
        Many::Right => Some("group_right"),
        Many::None | Many::Both => None,
    };
    match by {
        Labels::Only(names) => text.push_str(&format!(" on ({})", label_names(names))),
        Labels::Without(names) if names.is_empty() && group.is_none() => {}
        Labels::Without(names) => text.push_str(&format!(" ignoring ({})", label_names(names))),
    }
    if let Some(group) = group {
        text.push_str(&format!(" {group} ({})", label_names(include)));
    }
    match (fill.many, fill.one) {
        (Some(left), Some(right)) if left.to_bits() == right.to_bits() => {
            text.push_str(&format!(" fill ({})", number(left)));
        }
        (left, right) => {
            for (word, value) in [("fill_left", left), ("fill_right", right)] {
                if let Some(value) = value {
                    text.push_str(&format!(" {word} ({})", number(value)));
                }
            }
        }
    }
    text
}

fn aggregation(name: &str, by: &Labels) -> String {
    match by {
        Labels::Only(names) if names.is_empty() => name.to_owned(),
        Labels::Only(names) => format!("{name} by ({}) ", label_names(names)),
        Labels::Without(names) => format!("{name} without ({}) ", label_names(names)),
    }
}

fn label_names(names: &[Arc<str>]) -> String {
    names.iter().map(|name| label_name(name)).collect::<Vec<_>>().join(", ")
}

/// A label's name, in quotes if it needs them.
fn label_name(name: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_plain = name.chars().all(is_part) && name.starts_with(|c: char| !c.is_ascii_digit());
    if is_plain { name.to_owned() } else { quoted(name) }
}

/// How an operator is written.
pub(crate) fn sign(operator: Operator) -> &'static str {
    match operator {
        Operator::Calculate(calculation) => match calculation {
            Calculation::Add => "+",
            Calculation::Subtract => "-",
            Calculation::Multiply => "*",
            Calculation::Divide => "/",
            Calculation::Remainder => "%",
            Calculation::Power => "^",
            Calculation::Angle => "atan2",
            // These are functions.
            Calculation::Lower => "min_of",
            Calculation::Higher => "max_of",
        },
        Operator::Compare { comparison, .. } => match comparison {
            Comparison::Equal => "==",
            Comparison::NotEqual => "!=",
            Comparison::Greater => ">",
            Comparison::GreaterOrEqual => ">=",
            Comparison::Less => "<",
            Comparison::LessOrEqual => "<=",
        },
        Operator::Trim { keeps_below: true } => "</",
        Operator::Trim { keeps_below: false } => ">/",
        Operator::And => "and",
        Operator::Or => "or",
        Operator::Unless => "unless",
        Operator::If => "if",
        Operator::IfNot => "ifnot",
        Operator::Default => "default",
    }
}

/// A duration; years and weeks only where nothing is left.
fn duration(ms: i64) -> String {
    const UNITS: [(&str, i64, bool); 7] = [
        ("y", 365 * 86_400_000, true),
        ("w", 7 * 86_400_000, true),
        ("d", 86_400_000, false),
        ("h", 3_600_000, false),
        ("m", 60_000, false),
        ("s", 1_000, false),
        ("ms", 1, false),
    ];
    let (mut left, mut text) = (ms, String::new());
    for (unit, length, is_exact) in UNITS {
        let count = left / length;
        if count > 0 && !(is_exact && left % length != 0) {
            text.push_str(&format!("{count}{unit}"));
            left -= count * length;
        }
    }
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// A text in double quotes, with the escapes of Go.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{b}' => out.push_str("\\v"),
            c if c.is_ascii_control() => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            c if c.is_control() => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;
