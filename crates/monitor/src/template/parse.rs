//! Words to nodes.

use super::Value;
use super::functions::is_known;
use super::read::{Piece, Word, pieces};

/// Bytes of a template.
const TEXT_BYTES_MAX: usize = 256 << 10;

/// How deep nodes, or parentheses, lie in one another.
const DEPTH_MAX: usize = 50;

#[derive(Clone, Debug)]
pub(super) enum Node {
    Text(String),
    /// What is written, or set.
    Pipe(Pipe),
    If {
        arms: Vec<(Pipe, Vec<Node>)>,
        otherwise: Vec<Node>,
    },
    With {
        pipe: Pipe,
        body: Vec<Node>,
        otherwise: Vec<Node>,
    },
    /// With the variables for key and item, or for the item.
    Range {
        names: Vec<String>,
        pipe: Pipe,
        body: Vec<Node>,
        otherwise: Vec<Node>,
    },
    Break,
    Continue,
}

/// Commands, each of which gets the value of the one before as its last argument.
#[derive(Clone, Debug)]
pub(super) struct Pipe {
    /// The variable that it sets, and whether that is a new one.
    pub(super) sets: Option<(String, bool)>,
    pub(super) commands: Vec<Vec<Operand>>,
}

#[derive(Clone, Debug)]
pub(super) enum Operand {
    Value(Value),
    Dot(Vec<String>),
    /// By name; the dollar sign alone is what the template is about.
    Variable(String, Vec<String>),
    Group(Box<Pipe>, Vec<String>),
    Function(String),
}

/// What ends a list of nodes.
#[derive(Debug, PartialEq)]
enum Stop {
    Text,
    End,
    /// With the words behind it.
    Else(Vec<Word>),
}

pub(super) fn parse(text: &str) -> Result<Vec<Node>, String> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("it has more than {TEXT_BYTES_MAX} bytes"));
    }
    let mut pieces = pieces(text)?.into_iter();
    match list(&mut pieces, 0)? {
        (nodes, Stop::Text) => Ok(nodes),
        (_, Stop::End) => Err("an end ends nothing".to_owned()),
        (_, Stop::Else(_)) => Err("an else belongs to nothing".to_owned()),
    }
}

fn list(pieces: &mut std::vec::IntoIter<Piece>, depth: usize) -> Result<(Vec<Node>, Stop), String> {
    if depth > DEPTH_MAX {
        return Err(format!("more than {DEPTH_MAX} lie in one another"));
    }
    let mut nodes = Vec::new();
    while let Some(piece) = pieces.next() {
        let words = match piece {
            Piece::Text(text) => {
                if !text.is_empty() {
                    nodes.push(Node::Text(text));
                }
                continue;
            }
            Piece::Action(words) => words,
        };
        let keyword = match words.first() {
            Some(Word::Name(name)) => name.as_str(),
            _ => "",
        };
        let rest = words.get(1..).unwrap_or_default();
        nodes.push(match keyword {
            "end" => return Ok((nodes, Stop::End)),
            "else" => return Ok((nodes, Stop::Else(rest.to_vec()))),
            "if" => choice(rest, pieces, depth)?,
            "with" => {
                let pipe = whole_pipe(rest)?;
                let (body, otherwise) = body(pieces, depth)?;
                Node::With { pipe, body, otherwise }
            }
            "range" => {
                let (names, rest) = range_names(rest);
                let pipe = whole_pipe(rest)?;
                let (body, otherwise) = body(pieces, depth)?;
                Node::Range { names, pipe, body, otherwise }
            }
            "break" => Node::Break,
            "continue" => Node::Continue,
            "define" | "template" | "block" => {
                return Err(format!("{keyword} is not followed here"));
            }
            _ => Node::Pipe(whole_pipe(&words)?),
        });
    }
    Ok((nodes, Stop::Text))
}

/// The nodes of `if`, with every `else if`.
fn choice(
    words: &[Word],
    pieces: &mut std::vec::IntoIter<Piece>,
    depth: usize,
) -> Result<Node, String> {
    let (mut arms, mut otherwise) = (Vec::new(), Vec::new());
    let mut pipe = Some(whole_pipe(words)?);
    loop {
        let (nodes, stop) = list(pieces, depth + 1)?;
        match pipe.take() {
            Some(pipe) => arms.push((pipe, nodes)),
            None => otherwise = nodes,
        }
        match stop {
            Stop::End => return Ok(Node::If { arms, otherwise }),
            Stop::Text => return Err("an if has no end".to_owned()),
            Stop::Else(words) => match words.split_first() {
                None => {}
                Some((Word::Name(name), rest)) if name == "if" => pipe = Some(whole_pipe(rest)?),
                Some(_) => return Err("else takes an if, or nothing".to_owned()),
            },
        }
    }
}

fn body(
    pieces: &mut std::vec::IntoIter<Piece>,
    depth: usize,
) -> Result<(Vec<Node>, Vec<Node>), String> {
    let missing = || "a range or with has no end".to_owned();
    let (body, stop) = list(pieces, depth + 1)?;
    match stop {
        Stop::End => Ok((body, Vec::new())),
        Stop::Else(words) if words.is_empty() => match list(pieces, depth + 1)? {
            (otherwise, Stop::End) => Ok((body, otherwise)),
            _ => Err(missing()),
        },
        _ => Err(missing()),
    }
}

/// The variables that `range` sets, and what is behind them.
fn range_names(words: &[Word]) -> (Vec<String>, &[Word]) {
    match words {
        [
            Word::Variable(first),
            Word::Sign(","),
            Word::Variable(second),
            Word::Sign(":="),
            rest @ ..,
        ] => (vec![first.clone(), second.clone()], rest),
        [Word::Variable(name), Word::Sign(":="), rest @ ..] => (vec![name.clone()], rest),
        _ => (Vec::new(), words),
    }
}

fn whole_pipe(words: &[Word]) -> Result<Pipe, String> {
    match pipe(words, 0)? {
        (pipe, []) => Ok(pipe),
        (_, _) => Err("a parenthesis closes nothing".to_owned()),
    }
}

/// A pipe up to the end or a parenthesis, and what is behind.
fn pipe(words: &[Word], depth: usize) -> Result<(Pipe, &[Word]), String> {
    if depth > DEPTH_MAX {
        return Err(format!("more than {DEPTH_MAX} parentheses lie in one another"));
    }
    let (sets, mut rest) = match words {
        [Word::Variable(name), Word::Sign(sign @ (":=" | "=")), rest @ ..] => {
            (Some((name.clone(), *sign == ":=")), rest)
        }
        _ => (None, words),
    };
    let (mut commands, mut command): (Vec<Vec<Operand>>, Vec<Operand>) = (Vec::new(), Vec::new());
    while let Some((word, behind)) = rest.split_first() {
        rest = behind;
        match word {
            Word::Sign(")") => {
                rest = words.get(words.len() - behind.len() - 1..).unwrap_or_default();
                break;
            }
            Word::Sign("|") => commands.push(std::mem::take(&mut command)),
            Word::Sign("(") => {
                let (inner, behind) = pipe(rest, depth + 1)?;
                let closed = behind.split_first().filter(|(word, _)| **word == Word::Sign(")"));
                rest = closed.ok_or("a parenthesis is not closed")?.1;
                command.push(Operand::Group(Box::new(inner), Vec::new()));
            }
            Word::Field(name, true) => add_field(&mut command, name)?,
            word => command.push(operand(word)?),
        }
    }
    commands.push(command);
    match commands.iter().any(Vec::is_empty) {
        true => Err("a value is missing".to_owned()),
        false => Ok((Pipe { sets, commands }, rest)),
    }
}

/// A field of what was read last.
fn add_field(command: &mut [Operand], name: &str) -> Result<(), String> {
    let fields = match command.last_mut() {
        Some(Operand::Dot(fields)) => fields,
        Some(Operand::Variable(_, fields) | Operand::Group(_, fields)) => fields,
        _ => return Err(format!(".{name} belongs to nothing")),
    };
    if name.is_empty() {
        return Err("a name is missing behind a dot".to_owned());
    }
    fields.push(name.to_owned());
    Ok(())
}

/// What a word alone stands for.
fn operand(word: &Word) -> Result<Operand, String> {
    Ok(match word {
        Word::Sign(sign) => return Err(format!("{sign:?} stands where it means nothing")),
        Word::Variable(name) => Operand::Variable(name.clone(), Vec::new()),
        Word::Field(name, _) if name.is_empty() => Operand::Dot(Vec::new()),
        Word::Field(name, _) => Operand::Dot(vec![name.clone()]),
        Word::Text(text) => Operand::Value(Value::Text(text.clone())),
        Word::Whole(number) => Operand::Value(Value::Whole(*number)),
        Word::Float(number) => Operand::Value(Value::Float(*number)),
        Word::Name(name) => match name.as_str() {
            "true" | "false" => Operand::Value(Value::Truth(name == "true")),
            "nil" => Operand::Value(Value::Nil),
            name if is_known(name) => Operand::Function(name.to_owned()),
            name => return Err(format!("function {name:?} is not known")),
        },
    })
}
