//! Shapes: recognising a row's field names without hashing them.
//!
//! Field names of a request repeat from line to line, usually in one order. They are kept as a
//! tree: a node is the name that stood behind its parent's, and a path from the root is the
//! beginning of a row. At each field the child that was right last time is compared first, with two
//! masked sixteen-byte loads; its siblings follow. Where a row ends, its node knows the batch's
//! shape. A small tree is kept for the next request, which mostly has the same names: to learn ten
//! of them takes as long as to read twenty.

use foliot_model::{Batch, Span};

/// Index of a node.
pub(super) type Node = u32;
/// The node before the first field.
pub(super) const ROOT: Node = 0;
const NONE: u32 = u32::MAX;

/// A tree larger than this (16 MB) is started anew at the next row: only a request whose field
/// names never repeat gets there.
const NODES_MAX: usize = 1 << 16;
/// A tree of more nodes than this, or of more bytes of names, is not kept for the next request
/// (32 KB and 16 KB): whoever has so many names has large requests.
const NODES_KEPT: usize = 256;
const TEXT_BYTES_KEPT: usize = 16 << 10;
/// More names than this behind one node are forgotten, so that no request makes a field cost more
/// than so many comparisons.
const CHILDREN_MAX: u32 = 64;

/// What to do with a field's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Role {
    /// It is the row's next cell.
    Push,
    /// The name stood in the row before: the last value wins, in that cell.
    Replace(u32),
    /// The name is `time`, which InfluxDB drops in silence.
    #[default]
    Drop,
}

/// A field's name as it was recognised.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) node: Node,
    /// Bytes of the name.
    pub(super) length: u32,
    pub(super) role: Role,
}

/// A field name and `=`, ready to be compared with the bytes at hand.
#[derive(Clone, Copy, Debug, Default)]
struct Pattern {
    text: [u128; 2],
    mask: [u128; 2],
}

#[derive(Clone, Copy, Debug)]
struct NodeState {
    pattern: Pattern,
    /// Where the name is in the tree's text.
    name: Span,
    role: Role,
    parent: Node,
    likely_child: Node,
    first_child: Node,
    next_sibling: Node,
    children: u32,
    /// Whether a row has ended here, so that the roles on its path are what they will be.
    is_end: bool,
    /// The shape of rows that end here, in the batch of the request of this number.
    shape: u32,
    request: u32,
}

/// The names seen in one request and in small ones before it.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    nodes: Vec<NodeState>,
    /// The names, one behind the other.
    text: Vec<u8>,
    /// The number of the request that is read; none has 0.
    request: u32,
    /// Longest name, in bytes.
    name_bytes_max: usize,
    path: Vec<Node>,
    names: Vec<Span>,
}

/// The shape of a row that just ended.
pub(super) enum Ended {
    /// It is the batch's shape of this number.
    Shape(u32),
    /// Roles on its path have changed: the row must be read again.
    Again,
    /// No field remains.
    Nothing,
}

impl Shapes {
    /// Memory that it holds.
    pub(super) fn memory_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<NodeState>()
            + self.text.capacity()
            + self.path.capacity() * size_of::<Node>()
            + self.names.capacity() * size_of::<Span>()
    }

    /// Begins a request.
    pub(super) fn begin(&mut self) {
        let is_small = self.nodes.len() <= NODES_KEPT && self.text.len() <= TEXT_BYTES_KEPT;
        if self.nodes.is_empty() || !is_small || self.request == u32::MAX {
            self.clear();
            self.request = 0;
        }
        self.request += 1;
    }

    /// Forgets everything.
    fn clear(&mut self) {
        self.nodes.clear();
        self.text.clear();
        self.name_bytes_max = 0;
        self.push_node(Span::default(), Pattern::default(), NONE);
    }

    /// Makes room for a row. What a row has taught stays until the next one.
    #[inline]
    pub(super) fn start_row(&mut self) {
        if self.nodes.len() > NODES_MAX {
            self.clear();
        }
    }

    /// Length of the longest name seen, in bytes.
    #[inline]
    pub(super) fn name_bytes_max(&self) -> usize {
        self.name_bytes_max
    }

    /// The child of `node` whose name and `=` stand at the beginning of `rest`, if it is known.
    #[inline]
    pub(super) fn step(&mut self, bytes: &[u8], node: Node, at: usize) -> Option<Step> {
        let likely = self.nodes.get(node as usize)?.likely_child;
        let state = self.nodes.get(likely as usize)?;
        match state.stands_at(&self.text, bytes, at) {
            true => Some(Step { node: likely, length: state.name.length, role: state.role }),
            false => self.step_aside(bytes, node, at).map(|node| self.step_to(node)),
        }
    }

    /// The step to a node that is known.
    pub(super) fn step_to(&self, node: Node) -> Step {
        let state = self.nodes.get(node as usize);
        let told = |state: &NodeState| (state.name.length, state.role);
        let (length, role) = state.map_or_else(Default::default, told);
        Step { node, length, role }
    }

    #[inline(never)]
    fn step_aside(&mut self, bytes: &[u8], node: Node, at: usize) -> Option<Node> {
        let mut child = self.nodes.get(node as usize)?.first_child;
        loop {
            let state = self.nodes.get(child as usize)?;
            if state.stands_at(&self.text, bytes, at) {
                break;
            }
            child = state.next_sibling;
        }
        self.nodes.get_mut(node as usize)?.likely_child = child;
        Some(child)
    }

    /// Adds the name at `name` behind `node`.
    pub(super) fn learn(&mut self, node: Node, name: &[u8]) -> Node {
        let child = self.nodes.len() as Node;
        let start = self.text.len();
        self.text.extend_from_slice(name);
        self.push_node(Span::new(start, self.text.len()), Pattern::of(name), node);
        self.name_bytes_max = self.name_bytes_max.max(name.len());
        if let Some(parent) = self.nodes.get_mut(node as usize) {
            let is_full = parent.children >= CHILDREN_MAX;
            let next_sibling = if is_full { NONE } else { parent.first_child };
            parent.children = if is_full { 1 } else { parent.children + 1 };
            parent.first_child = child;
            parent.likely_child = child;
            if let Some(state) = self.nodes.get_mut(child as usize) {
                state.next_sibling = next_sibling;
            }
        }
        child
    }

    /// Where the name at `node` stands.
    fn name(&self, node: Node) -> &[u8] {
        self.nodes.get(node as usize).map_or(&[], |state| slice(&self.text, state.name))
    }

    /// The names of the row whose last field is at `node`, last one first.
    pub(super) fn names_above(&self, node: Node) -> impl Iterator<Item = Span> {
        let state = |node: Node| self.nodes.get(node as usize).filter(|_| node != ROOT);
        std::iter::successors(state(node), move |below| state(below.parent)).map(|state| state.name)
    }

    /// Ends the row whose last field is at `node`.
    #[inline]
    pub(super) fn end_row(&mut self, batch: &mut Batch<'_>, node: Node) -> Ended {
        match self.nodes.get(node as usize) {
            Some(state) if state.request == self.request => Ended::Shape(state.shape),
            _ => self.end_new_row(batch, node),
        }
    }

    /// Decides the roles on a path that ends for the first time, and starts its shape.
    #[cold]
    fn end_new_row(&mut self, batch: &mut Batch<'_>, node: Node) -> Ended {
        self.path.clear();
        let mut above = node;
        while let Some(state) = self.nodes.get(above as usize).filter(|_| above != ROOT) {
            self.path.push(above);
            above = state.parent;
        }
        self.path.reverse();
        let is_end = self.nodes.get(node as usize).is_some_and(|state| state.is_end);
        if !is_end && self.decide_roles() {
            return Ended::Again;
        }
        self.names.clear();
        for &node in &self.path {
            if let Some(state) = self.nodes.get(node as usize).filter(|s| s.role == Role::Push) {
                let name = slice(&self.text, state.name);
                self.names.push(batch.push_scratch(|out| out.extend_from_slice(name)));
            }
        }
        if self.names.is_empty() {
            return Ended::Nothing;
        }
        let shape = batch.push_shape(&self.names);
        if let Some(state) = self.nodes.get_mut(node as usize) {
            (state.is_end, state.shape, state.request) = (true, shape, self.request);
        }
        Ended::Shape(shape)
    }

    /// Gives every node of the path its role; true when one has changed.
    fn decide_roles(&mut self) -> bool {
        let names: Vec<&[u8]> = self.path.iter().map(|&node| self.name(node)).collect();
        let first_of = first_of(&names);
        let is_time: Vec<bool> = names.iter().map(|name| *name == b"time").collect();
        let mut cells = Vec::with_capacity(first_of.len());
        let mut next_cell = 0;
        let mut has_changed = false;
        for (((depth, &first), is_time), &node) in
            first_of.iter().enumerate().zip(is_time).zip(&self.path)
        {
            let role = match () {
                () if is_time => Role::Drop,
                () if first == depth => Role::Push,
                () => Role::Replace(cells.get(first).copied().unwrap_or_default()),
            };
            cells.push(next_cell);
            next_cell += u32::from(role == Role::Push);
            if let Some(state) = self.nodes.get_mut(node as usize) {
                has_changed |= state.role != role;
                state.role = role;
            }
        }
        has_changed
    }

    fn push_node(&mut self, name: Span, pattern: Pattern, parent: Node) {
        self.nodes.push(NodeState {
            pattern,
            name,
            role: Role::Push,
            parent,
            likely_child: NONE,
            first_child: NONE,
            next_sibling: NONE,
            children: 0,
            is_end: false,
            shape: NONE,
            request: 0,
        });
    }
}

/// Names up to so many are compared with each other, which takes fewer steps than sorting them.
const FEW_NAMES: usize = 16;

/// For each name the place of the first one that is the same.
fn first_of(names: &[&[u8]]) -> Vec<usize> {
    if names.len() <= FEW_NAMES {
        let first = |(at, name)| names.iter().take(at).position(|other| other == name);
        return names.iter().enumerate().map(|pair| first(pair).unwrap_or(pair.0)).collect();
    }
    let mut sorted: Vec<(&[u8], usize)> = names.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let mut first_of: Vec<usize> = (0..sorted.len()).collect();
    for run in sorted.chunk_by(|a, b| a.0 == b.0) {
        for (_, depth) in run {
            if let (Some(first), Some(of)) = (run.first(), first_of.get_mut(*depth)) {
                *of = first.1;
            }
        }
    }
    first_of
}

impl NodeState {
    /// Whether the name and `=` stand at `at`.
    #[inline]
    fn stands_at(&self, text: &[u8], bytes: &[u8], at: usize) -> bool {
        let rest = bytes.get(at..).unwrap_or_default();
        let Some((head, tail)) = rest.first_chunk::<32>().and_then(split_window) else {
            return self.stands_at_slowly(text, rest);
        };
        let [text_head, text_tail] = self.pattern.text;
        let [mask_head, mask_tail] = self.pattern.mask;
        let differs = ((head ^ text_head) & mask_head) | ((tail ^ text_tail) & mask_tail);
        differs == 0 && (self.name.length < 32 || self.stands_at_slowly(text, rest))
    }

    /// For names beyond the pattern, and for the last bytes of a request.
    #[cold]
    fn stands_at_slowly(&self, text: &[u8], rest: &[u8]) -> bool {
        let name = slice(text, self.name);
        rest.starts_with(name) && rest.get(name.len()) == Some(&b'=')
    }
}

impl Pattern {
    fn of(name: &[u8]) -> Self {
        let mut text = [0; 32];
        let mut mask = [0; 32];
        let with_equals = name.iter().chain(b"=");
        for ((text, mask), byte) in text.iter_mut().zip(&mut mask).zip(with_equals) {
            *text = *byte;
            *mask = 0xff;
        }
        let halves = |window| split_window(&window).map_or([0; 2], |(head, tail)| [head, tail]);
        Self { text: halves(text), mask: halves(mask) }
    }
}

#[inline]
fn split_window(window: &[u8; 32]) -> Option<(u128, u128)> {
    let head = window.first_chunk::<16>()?;
    let tail = window.last_chunk::<16>()?;
    Some((u128::from_le_bytes(*head), u128::from_le_bytes(*tail)))
}

/// The bytes of a span of the request.
#[inline]
pub(super) fn slice(bytes: &[u8], span: Span) -> &[u8] {
    let start = span.offset as usize;
    bytes.get(start..start + span.length as usize).unwrap_or_default()
}
