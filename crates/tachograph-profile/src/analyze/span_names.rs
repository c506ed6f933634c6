//! The names of spans as a tree, and where each span belongs in it.

use rustc_hash::FxHashMap;

use crate::{Profile, StringId};

/// A name inside the names around it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) name: StringId,
    pub(super) parent: Option<usize>,
}

/// The names of a profile's spans as a tree.
///
/// A name inside itself is no new node: the span belongs to the one around it.
#[derive(Default)]
pub(super) struct NameTree {
    pub(super) nodes: Vec<Node>,
    /// Where each span belongs.
    pub(super) of_span: Vec<usize>,
    /// Whether it is inside another span of the same node.
    pub(super) is_nested: Vec<bool>,
}

/// A node, and the nodes of all spans around. Spans in the same state are
/// alike, and there are few states, so a span is one look-up.
#[derive(Clone, Copy)]
struct State {
    node: usize,
    /// The nodes of the spans around and its own, the latest first.
    nodes: usize,
    is_nested: bool,
}

#[derive(Default)]
struct States {
    states: Vec<State>,
    numbers: FxHashMap<(usize, usize, bool), usize>,
    next: FxHashMap<(Option<usize>, StringId), usize>,
    /// The node of each name inside each node.
    inside: FxHashMap<(Option<usize>, StringId), usize>,
    /// Lists of distinct nodes: one more node, and the rest of the list.
    lists: Vec<(usize, Option<usize>)>,
    longer: FxHashMap<(Option<usize>, usize), usize>,
}

impl NameTree {
    pub(super) fn of(profile: &Profile) -> Self {
        let mut tree = Self::default();
        let mut states = States::default();
        let mut of_span: Vec<usize> = Vec::with_capacity(profile.spans.len());
        for span in &profile.spans {
            let parent = span.parent.and_then(|parent| of_span.get(parent.index()).copied());
            let number = match states.next.get(&(parent, span.name)) {
                Some(known) => *known,
                None => states.step(parent, span.name, &mut tree.nodes),
            };
            let State { node, is_nested, .. } = states.states[number];
            of_span.push(number);
            tree.of_span.push(node);
            tree.is_nested.push(is_nested);
        }
        tree
    }

    /// The nodes, each before those inside it.
    pub(super) fn in_order(&self) -> Vec<usize> {
        let mut inside: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut open = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            node.parent.map_or(&mut open, |parent| &mut inside[parent]).push(i);
        }
        open.reverse();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(node) = open.pop() {
            order.push(node);
            open.extend(inside[node].iter().rev());
        }
        order
    }
}

impl States {
    /// The state of a span called `name` inside one of state `parent`.
    fn step(&mut self, parent: Option<usize>, name: StringId, nodes: &mut Vec<Node>) -> usize {
        let around = parent.map(|parent| self.states[parent]);
        let above = around.map(|around| around.node);
        let node = node_around(nodes, above, name).unwrap_or_else(|| {
            *self.inside.entry((above, name)).or_insert_with(|| {
                nodes.push(Node { name, parent: above });
                nodes.len() - 1
            })
        });
        let list = around.map(|around| around.nodes);
        let is_nested = self.holds(list, node);
        let list = if is_nested { list.unwrap_or_default() } else { self.add(list, node) };
        let number = *self.numbers.entry((list, node, is_nested)).or_insert_with(|| {
            self.states.push(State { node, nodes: list, is_nested });
            self.states.len() - 1
        });
        self.next.insert((parent, name), number);
        number
    }

    fn holds(&self, mut list: Option<usize>, node: usize) -> bool {
        while let Some((other, rest)) = list.map(|list| self.lists[list]) {
            if other == node {
                return true;
            }
            list = rest;
        }
        false
    }

    fn add(&mut self, list: Option<usize>, node: usize) -> usize {
        *self.longer.entry((list, node)).or_insert_with(|| {
            self.lists.push((node, list));
            self.lists.len() - 1
        })
    }
}

/// The node called `name` among `node` and those around it.
fn node_around(nodes: &[Node], mut node: Option<usize>, name: StringId) -> Option<usize> {
    while let Some(found) = node {
        if nodes[found].name == name {
            return Some(found);
        }
        node = nodes[found].parent;
    }
    None
}
