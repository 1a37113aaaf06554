//! YAML as a tree that knows its lines, so that every complaint can name one.

mod scalars;
mod tabs;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};
use scalars::tagged;
pub(crate) use scalars::{is_negative, truth, whole};
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use tabs::Tabs;

/// Bytes of a file: thousands of jobs, or rules, with all their labels.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// Nodes of a tree. An alias counts as all that it stands for, so that a few lines cannot become
/// a tree without end.
pub(crate) const NODES_MAX: usize = 1 << 20;

/// Bytes of a text that count as one more node where an alias stands for it.
const NODE_TEXT_BYTES: usize = 64;

/// How deep nodes lie in one another: a configuration is ten deep.
const DEPTH_MAX: usize = 64;

/// Words for nothing.
const NULLS: [&str; 5] = ["", "~", "null", "Null", "NULL"];

/// The key by which a map takes over those of others, without quotes.
const MERGE: &str = "<<";

/// A value and the line where it begins, from one.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) line: usize,
    pub(crate) value: Value,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    /// Text; without quotes it may mean a number, a truth or nothing.
    Scalar {
        text: String,
        is_plain: bool,
    },
    List(Vec<Node>),
    /// Keys in the order of the text, each with its line.
    Map(Vec<(String, usize, Node)>),
}

impl Node {
    /// Reads the first document of a file, of at most so many nodes; an empty one is null. Returns
    /// also the line where a second one begins: as Prometheus does, it is passed over, whatever it
    /// says.
    ///
    /// # Errors
    /// The line, and what is wrong there.
    pub(crate) fn read(
        text: &str,
        nodes_max: usize,
    ) -> Result<(Self, Option<usize>), (usize, String)> {
        if text.len() > TEXT_BYTES_MAX {
            return Err((1, format!("the file has more than {TEXT_BYTES_MAX} bytes")));
        }
        let (mut builder, mut tabs) = (Builder::new(nodes_max), Tabs::of(text));
        let (mut has_begun, mut second) = (false, None);
        for event in Parser::new_from_str(text) {
            let (event, span) = event.map_err(|error| told(&error))?;
            if let Event::DocumentStart(_) = &event
                && std::mem::replace(&mut has_begun, true)
            {
                second = Some(span.start);
                break;
            }
            if let (Some(tabs), Event::Scalar(..)) = (&mut tabs, &event) {
                tabs.pass(span.start.index(), span.end.index())?;
            }
            builder.take(event, span)?;
        }
        if let Some(tabs) = &mut tabs {
            tabs.read_to(second.map_or(usize::MAX, |second| second.index()))?;
        }
        let root = builder.root.unwrap_or_else(|| Self::null(1));
        Ok((root, second.map(|second| second.line())))
    }

    fn null(line: usize) -> Self {
        Self { line, value: Value::Scalar { text: String::new(), is_plain: true } }
    }

    pub(crate) fn is_null(&self) -> bool {
        let Value::Scalar { text, is_plain: true } = &self.value else { return false };
        NULLS.contains(&text.as_str())
    }

    /// What it counts as where it is made once more, with what lies in it.
    fn count(&self) -> usize {
        1 + match &self.value {
            Value::Scalar { text, .. } => text.len() / NODE_TEXT_BYTES,
            Value::List(nodes) => nodes.iter().map(Self::count).sum(),
            Value::Map(entries) => entries.iter().map(|(_, _, node)| node.count()).sum(),
        }
    }

    /// The tree as YAML again, without comments; texts under a key that `is_secret` are not shown.
    pub(crate) fn show(&self, is_secret: &dyn Fn(&str) -> bool) -> String {
        let mut out = String::new();
        self.write(0, is_secret, &mut out);
        out
    }

    fn write(&self, indent: usize, is_secret: &dyn Fn(&str) -> bool, out: &mut String) {
        let pad = " ".repeat(indent);
        // Writing to memory cannot fail.
        match &self.value {
            Value::Scalar { text, is_plain } => {
                let _ = writeln!(out, "{}", scalar(text, *is_plain));
            }
            Value::List(nodes) if nodes.is_empty() => out.push_str("[]\n"),
            Value::Map(entries) if entries.is_empty() => out.push_str("{}\n"),
            Value::List(nodes) => {
                for (index, node) in nodes.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { &pad });
                    out.push_str("- ");
                    node.write(indent + 2, is_secret, out);
                }
            }
            Value::Map(entries) => {
                for (index, (key, _, node)) in entries.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { &pad });
                    let _ = write!(out, "{}:", scalar(key, true));
                    match &node.value {
                        _ if is_secret(key) => out.push_str(" <secret>\n"),
                        Value::List(nodes) if !nodes.is_empty() => {
                            let _ = write!(out, "\n{pad}");
                            node.write(indent, is_secret, out);
                        }
                        Value::Map(entries) if !entries.is_empty() => {
                            let _ = write!(out, "\n{pad}  ");
                            node.write(indent + 2, is_secret, out);
                        }
                        _ => {
                            out.push(' ');
                            node.write(indent, is_secret, out);
                        }
                    }
                }
            }
        }
    }
}

/// A scalar that reads the same again: bare where nothing in it means something.
fn scalar(text: &str, is_plain: bool) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let is_safe = !text.is_empty()
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '/')
        && text.chars().all(is_bare);
    match is_plain && (is_safe || text.is_empty()) {
        true => text.to_owned(),
        // A text of JSON is one of YAML.
        false => serde_json::Value::from(text).to_string(),
    }
}

fn told(error: &ScanError) -> (usize, String) {
    (error.marker().line(), error.info().to_owned())
}

/// Puts events together.
struct Builder {
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    nodes_max: usize,
    root: Option<Node>,
}

/// A list or a map that has not ended.
struct Open {
    anchor: usize,
    node: Node,
    /// The key whose value comes next.
    key: Option<Key>,
    /// The keys so far, those that were taken over among them.
    keys: HashSet<String>,
}

struct Key {
    text: String,
    line: usize,
    is_merge: bool,
}

impl Builder {
    fn new(nodes_max: usize) -> Self {
        let (open, anchors) = (Vec::new(), HashMap::new());
        Self { open, anchors, nodes: 0, nodes_max, root: None }
    }

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), (usize, String)> {
        let line = span.start.line();
        match event {
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => Ok(()),
            Event::Scalar(text, style, anchor, tag) => {
                let read = match tag {
                    None => Ok((text.into_owned(), style == ScalarStyle::Plain)),
                    Some(tag) => tagged(&tag, text.into_owned()),
                };
                let (text, is_plain) = read.map_err(|what| (line, what))?;
                let value = Value::Scalar { text, is_plain };
                self.place(anchor, Node { line, value })
            }
            Event::Alias(anchor) => {
                let node = self.anchors.get(&anchor).cloned();
                let node = node.ok_or((line, "this alias stands for nothing".to_owned()))?;
                self.nodes += node.count();
                self.place(0, node)
            }
            Event::SequenceStart(anchor, _) => self.open(anchor, line, Value::List(Vec::new())),
            Event::MappingStart(anchor, _) => self.open(anchor, line, Value::Map(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open { anchor, node, .. }) => self.place(anchor, node),
                None => Ok(()),
            },
        }
    }

    fn open(&mut self, anchor: usize, line: usize, value: Value) -> Result<(), (usize, String)> {
        if self.open.len() == DEPTH_MAX {
            return Err((line, format!("values lie more than {DEPTH_MAX} deep in one another")));
        }
        let node = Node { line, value };
        self.open.push(Open { anchor, node, key: None, keys: HashSet::new() });
        Ok(())
    }

    /// Puts a whole node where it belongs.
    fn place(&mut self, anchor: usize, node: Node) -> Result<(), (usize, String)> {
        let line = node.line;
        self.nodes += 1;
        if anchor != 0 {
            self.nodes += node.count();
            self.anchors.insert(anchor, node.clone());
        }
        if self.nodes > self.nodes_max {
            return Err((line, format!("the file has more than {} values", self.nodes_max)));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        match &mut open.node.value {
            Value::List(nodes) => nodes.push(node),
            Value::Map(entries) => match open.key.take() {
                Some(Key { is_merge: true, line, .. }) => {
                    merge((entries, &mut open.keys), node, line)?;
                }
                Some(Key { text, line, .. }) => entries.push((text, line, node)),
                None => {
                    let Value::Scalar { text, is_plain } = node.value else {
                        return Err((line, "a key must be a text".to_owned()));
                    };
                    let is_merge = is_plain && text == MERGE;
                    if !is_merge && !open.keys.insert(text.clone()) {
                        return Err((line, format!("{text} is given twice")));
                    }
                    open.key = Some(Key { text, line, is_merge });
                }
            },
            Value::Scalar { .. } => {}
        }
        Ok(())
    }
}

/// Takes over the entries of other maps that a map does not have.
fn merge(
    (entries, keys): (&mut Vec<(String, usize, Node)>, &mut HashSet<String>),
    node: Node,
    line: usize,
) -> Result<(), (usize, String)> {
    let nodes = match node.value {
        Value::List(nodes) => nodes,
        _ => vec![node],
    };
    for node in nodes {
        let Value::Map(others) = node.value else {
            return Err((line, "<< takes a map, or a list of maps".to_owned()));
        };
        for other in others {
            if keys.insert(other.0.clone()) {
                entries.push(other);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Node {
        fn parse(text: &str) -> Result<Self, (usize, String)> {
            Self::read(text, NODES_MAX).map(|(node, _)| node)
        }
    }

    fn shown(text: &str) -> String {
        Node::parse(text).unwrap().show(&|key| key == "password")
    }

    #[test]
    fn what_is_shown_reads_the_same_again() {
        let text = "a: 1\nb:\n  - x: [1, 'two words', \"3\"]\n    y: {}\n  - - deep\n    - []\nc:\n  \
                    d: ''\n  password: p\n  e: \"a\\nb\"\n";
        let once = shown(text);
        assert!(once.contains("password: <secret>") && !once.contains(" p\n"), "{once}");
        assert_eq!(shown(&once.replace("<secret>", "s")), once);
        assert!(once.contains("\"3\"") && once.contains("a: 1\n"), "{once}");
    }

    #[test]
    fn anchors_and_merges_are_followed() {
        let text = "base: &b {k: 1, l: 2}\none:\n  k: 3\n  <<: *b\ntwo: *b\n";
        assert_eq!(
            shown(text),
            "base:\n  k: 1\n  l: 2\none:\n  k: 3\n  l: 2\ntwo:\n  k: 1\n  l: 2\n"
        );
    }

    #[test]
    fn tabs_between_words_and_in_texts_are_blanks() {
        for text in [
            "a: \t1\t# a\tcomment\nb: \"x\ty\"\nc: |\n  -\tx\n  \ty\n",
            "a: [x,\t-1,\n\ty]\n#\tcomment\n",
            "[\n\t{\n\t\t\"targets\": [\"a:1\"]\n\t}\n]\n",
            "a: x\ty\nb: &b\t1\nc: 'q\n  -\tr'\n",
            "---\ta\n",
        ] {
            assert!(Node::parse(text).is_ok(), "{text:?} {:?}", Node::parse(text).err());
        }
    }

    #[test]
    fn tags_say_what_a_scalar_is() {
        let plain = |text: &str| match Node::parse(text).unwrap().value {
            Value::Scalar { text, is_plain } => (text, is_plain),
            _ => panic!("{text}"),
        };
        for (text, expected) in [
            ("!!str 8", ("8", false)),
            ("!!str", ("", false)),
            ("!!str null", ("null", false)),
            ("!!int \"8\"", ("8", true)),
            ("!!bool 'yes'", ("yes", true)),
            ("!!null ''", ("", true)),
            ("! \"8\"", ("8", false)),
            ("! 8", ("8", false)),
            ("!!int 0x8", ("0x8", true)),
            ("!!float 1e2", ("1e2", true)),
            ("!!float .inf", (".inf", true)),
            ("!!binary eA==", ("x", false)),
            ("!!binary |\n ZUFi\n eA==\n", ("eAbx", false)),
            ("!mine 8", ("8", false)),
            ("!<tag:yaml.org,2002:str> 8", ("8", false)),
            ("\"8\"", ("8", false)),
        ] {
            assert_eq!(plain(text), (expected.0.to_owned(), expected.1), "{text}");
        }
        assert_eq!(shown("b:\n  '<<': x\n"), "b:\n  \"<<\": x\n");
    }

    #[test]
    fn the_first_document_counts() {
        for (text, line) in [
            ("a: 1\n---\nb: 2\n", Some(2)),
            ("---\na: 1\n...\n---\n\tb: [}\n", Some(4)),
            ("a: 1\n--- \n- }\n", Some(2)),
            ("# said\n---\na: 1\n...\n", None),
            ("a: 1\n...\nb: \t2\n-\tc\n", Some(3)),
        ] {
            let (node, second) = Node::read(text, NODES_MAX).unwrap();
            assert_eq!((node.show(&|_| false).as_str(), second), ("a: 1\n", line), "{text:?}");
        }
        // Nothing is wrong with a tab in what is passed over, but before it.
        assert!(Node::parse("a: 1\n\t# x\n---\nb: 2\n").is_err());
    }

    #[test]
    fn bad_files_are_refused_with_a_line() {
        let bombs = (1..40).map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}, *a{0}]\n", n - 1));
        let bomb = format!("a0: &a0 [x, x]\n{}", bombs.collect::<String>());
        let deep = "[".repeat(10_000);
        for (text, line) in [
            ("a: 1\na: 2\n", 2),
            ("a: [1\nb: 2\n", 2),
            ("a:\n  ? [x]\n  : 1\n", 2),
            ("a: *b\n", 1),
            ("a: 1\n<<: 3\n", 2),
            (deep.as_str(), 1),
            // As in Prometheus, tabs begin nothing.
            ("a:\n- b\n-\tc\n", 3),
            ("-\t&x c\n", 1),
            ("- \tc\n", 1),
            ("-\t\n  c\n", 1),
            ("- -\tc\n", 1),
            ("\ta: 1\n", 1),
            ("a: 'é\tä\n  ü'\n-\tb\n", 3),
            ("a: 1\n\t# c\n", 2),
            ("a: !!int x\n", 1),
            ("a: 1\nb: !!null x\n", 2),
            ("a: !!bool 1\n", 1),
            ("a: !!int 1.0\n", 1),
            ("a: 1\nb: !!binary eA\n", 2),
            ("a: !!binary /w==\n", 1),
        ] {
            let error = Node::parse(text).unwrap_err();
            assert_eq!(error.0, line, "{text:.40} {error:?}");
        }
        assert!(Node::parse(&bomb).is_err());
        let of = |text: &str| Node::read(text, 1_000).is_ok();
        assert!(
            of(&format!("[{}]", "x, ".repeat(900))) && !of(&format!("[{}]", "x, ".repeat(1_100)))
        );
        let long = |text: usize| of(&format!("[&a {}, {}]", "x".repeat(text), "*a, ".repeat(200)));
        assert!(long(60) && !long(600), "a long text counts as several");
        assert!(Node::parse("").unwrap().is_null());
    }
}
