//! Which variables a template may name where, and where it may leave a loop, so that a slip is told
//! when the template is read and not when an alert fires.
//!
//! As in Go, a variable is known from where it is set up to the end of what it is set in, whether
//! it is set anew or changed, and an `else` sees what the part before it has set.

use super::parse::{Node, Operand, Pipe};

/// Variables that every template of a rule has.
const GIVEN: [&str; 4] = ["labels", "externalLabels", "externalURL", "value"];

/// Looks for what means nothing where it stands.
pub(super) fn check(nodes: &[Node]) -> Result<(), String> {
    Scope { known: GIVEN.to_vec(), loops: 0 }.nodes(nodes)
}

struct Scope<'a> {
    known: Vec<&'a str>,
    /// How many loops this is in.
    loops: usize,
}

impl<'a> Scope<'a> {
    fn nodes(&mut self, nodes: &'a [Node]) -> Result<(), String> {
        nodes.iter().try_for_each(|node| self.node(node))
    }

    fn node(&mut self, node: &'a Node) -> Result<(), String> {
        let before = self.known.len();
        match node {
            Node::Text(_) => return Ok(()),
            Node::Break | Node::Continue => {
                let is_in_one = self.loops > 0;
                return is_in_one.then_some(()).ok_or("a break or continue leaves no range".into());
            }
            // What it sets is known to the nodes behind it.
            Node::Pipe(pipe) => return self.pipe(pipe),
            Node::If { arms, otherwise } => {
                for (pipe, body) in arms {
                    self.pipe(pipe)?;
                    self.nodes(body)?;
                }
                self.nodes(otherwise)?;
            }
            Node::With { pipe, body, otherwise } => {
                self.pipe(pipe)?;
                self.nodes(body)?;
                self.nodes(otherwise)?;
            }
            Node::Range { names, pipe, body, otherwise } => {
                self.known.extend(names.iter().map(String::as_str));
                self.pipe(pipe)?;
                self.loops += 1;
                self.nodes(body)?;
                self.loops -= 1;
                self.nodes(otherwise)?;
            }
        }
        self.known.truncate(before);
        Ok(())
    }

    fn pipe(&mut self, pipe: &'a Pipe) -> Result<(), String> {
        self.known.extend(pipe.sets.iter().map(|(name, _)| name.as_str()));
        pipe.commands.iter().flatten().try_for_each(|operand| match operand {
            Operand::Group(pipe, _) => self.pipe(pipe),
            // The dollar sign alone is what the template is about.
            Operand::Variable(name, _)
                if !name.is_empty() && !self.known.contains(&name.as_str()) =>
            {
                Err(format!("there is no variable ${name}"))
            }
            _ => Ok(()),
        })
    }
}
