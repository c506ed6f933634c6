//! The call tree, and where each of its nodes lies in a flame graph.
//!
//! Nodes are functions, not lines: two calls from two lines of one function
//! are one box. The picture is left-heavy with ties in name order, so the same
//! profile gives the same picture.

use rustc_hash::FxHashMap;

use super::aggregate::weight_by_stack;
use super::function_table::FunctionTable;
use super::origin::frame_name;
use crate::{FrameId, Measure, Profile};

/// All stacks of a profile, joined at their common callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// The nodes. The first is the whole profile; a caller comes before what
    /// it called.
    pub nodes: Vec<TreeNode>,
}

/// One function as called through one chain of callers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeNode {
    /// The caller's position; `None` for the whole profile.
    pub caller: Option<usize>,
    /// A frame that stands for the function; `None` for the whole profile.
    pub frame: Option<FrameId>,
    /// How many callers lie between it and the whole profile.
    pub depth: usize,
    /// What fell on the function itself.
    pub self_weight: u64,
    /// What fell on it and on everything it called.
    pub total_weight: u64,
    /// What it called, heaviest first.
    pub calls: Vec<usize>,
}

/// Joins the stacks of all threads into one call tree over `measure`.
///
/// ```
/// use tachograph_profile::{Measure, Profile, analyze::tree};
///
/// let profile = Profile::from_stacks(&[
///     (0, 30, &[("main", "train.py", 12), ("load", "data.py", 7)]),
///     (30, 10, &[("main", "train.py", 12)]),
/// ]);
/// let tree = tree(&profile, Measure::CpuTime);
/// let main = &tree.nodes[tree.nodes[0].calls[0]];
/// assert_eq!((main.self_weight, main.total_weight, main.depth), (10, 40, 1));
/// ```
#[must_use]
pub fn tree(profile: &Profile, measure: Measure) -> Tree {
    let functions = FunctionTable::new(profile);
    let stacks = &profile.tables.stacks;
    let mut own = vec![0u64; stacks.len()];
    for (stack, weight) in weight_by_stack(profile, measure) {
        own[stack.index()] = weight;
    }
    // A caller's id is smaller than its callee's, so one backward pass sums up.
    let mut total = own.clone();
    for index in (0..stacks.len()).rev() {
        let caller = stacks[index].caller.map(|caller| caller.index());
        if let Some(caller) = caller.filter(|caller| *caller < index) {
            total[caller] = total[caller].saturating_add(total[index]);
        }
    }
    let mut nodes = vec![TreeNode {
        caller: None,
        frame: None,
        depth: 0,
        self_weight: 0,
        total_weight: 0,
        calls: Vec::new(),
    }];
    let mut known: FxHashMap<(usize, usize), usize> = FxHashMap::default();
    let mut node_of_stack = vec![0usize; stacks.len()];
    for (index, stack) in stacks.iter().enumerate() {
        let Some(function) = functions.of(stack.frame).filter(|_| total[index] > 0) else {
            continue;
        };
        let caller = stack.caller.map(|caller| caller.index());
        let caller = caller.filter(|caller| *caller < index);
        let above = caller.map_or(0, |caller| node_of_stack[caller]);
        let node = *known.entry((above, function)).or_insert_with(|| {
            nodes.push(TreeNode {
                caller: Some(above),
                frame: Some(functions.frames[function]),
                depth: nodes[above].depth + 1,
                self_weight: 0,
                total_weight: 0,
                calls: Vec::new(),
            });
            nodes.len() - 1
        });
        node_of_stack[index] = node;
        nodes[node].self_weight = nodes[node].self_weight.saturating_add(own[index]);
        nodes[node].total_weight = nodes[node].total_weight.saturating_add(total[index]);
        if caller.is_none() {
            nodes[0].total_weight = nodes[0].total_weight.saturating_add(total[index]);
        }
    }
    for index in 1..nodes.len() {
        if let Some(caller) = nodes[index].caller {
            nodes[caller].calls.push(index);
        }
    }
    sort_calls(profile, &mut nodes);
    Tree { nodes }
}

fn sort_calls(profile: &Profile, nodes: &mut [TreeNode]) {
    for index in 0..nodes.len() {
        let mut calls = std::mem::take(&mut nodes[index].calls);
        calls.sort_by_cached_key(|call| {
            let node = &nodes[*call];
            let frame = node.frame.map(|id| &profile.tables.frames[id.index()]);
            let name = frame.map(|frame| {
                let file = profile.text(frame.file);
                let name = frame_name(profile, frame).into_owned();
                (name, file.to_owned(), frame.first_line)
            });
            (std::cmp::Reverse(node.total_weight), name)
        });
        nodes[index].calls = calls;
    }
}

/// A rectangle of a flame graph, in units of weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlameBox {
    /// The node it shows; the heaviest one when several are folded into it.
    pub node: usize,
    /// How many nodes are folded into it; 0 when it shows one.
    pub folded: usize,
    /// Distance from the whole profile, which is 0.
    pub depth: usize,
    /// Where it begins.
    pub start: u64,
    /// How wide it is.
    pub weight: u64,
}

/// Lays out `tree`, callers before what they called.
///
/// What is narrower than `narrowest` is folded with its equally narrow
/// neighbours into one box, which is left out when even that is too narrow.
/// What a folded node called is left out with it.
#[must_use]
pub fn flame_boxes(tree: &Tree, narrowest: u64) -> Vec<FlameBox> {
    let mut boxes = Vec::new();
    let mut open = Vec::new();
    if let Some(whole) = tree.nodes.first().filter(|node| node.total_weight > 0) {
        open.push(FlameBox { node: 0, folded: 0, depth: 0, start: 0, weight: whole.total_weight });
    }
    while let Some(this) = open.pop() {
        boxes.push(this);
        let calls = &tree.nodes[this.node].calls;
        let depth = this.depth + 1;
        let mut start = this.start;
        let wide = calls.partition_point(|call| tree.nodes[*call].total_weight >= narrowest);
        let first = open.len();
        for &node in &calls[..wide] {
            let weight = tree.nodes[node].total_weight;
            open.push(FlameBox { node, folded: 0, depth, start, weight });
            start = start.saturating_add(weight);
        }
        // The leftmost is laid out first.
        open[first..].reverse();
        let narrow = &calls[wide..];
        let weight: u64 = narrow.iter().map(|node| tree.nodes[*node].total_weight).sum();
        if let Some(&node) = narrow.first().filter(|_| weight >= narrowest.max(1)) {
            boxes.push(FlameBox { node, folded: narrow.len(), depth, start, weight });
        }
    }
    boxes
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAIN: (&str, &str, u32) = ("main", "a.py", 1);

    fn names(profile: &Profile, tree: &Tree, boxes: &[FlameBox]) -> Vec<(String, u64, u64)> {
        let name = |node: usize| {
            let frame = tree.nodes[node].frame;
            frame.map_or("all".to_owned(), |id| {
                frame_name(profile, &profile.tables.frames[id.index()]).into_owned()
            })
        };
        boxes.iter().map(|b| (name(b.node), b.start, b.weight)).collect()
    }

    #[test]
    fn the_heaviest_call_is_leftmost_and_ties_are_in_name_order() {
        let profile = Profile::from_stacks(&[
            (0, 1, &[MAIN, ("b", "a.py", 5)]),
            (1, 1, &[MAIN, ("a", "a.py", 9)]),
            (2, 5, &[MAIN, ("c", "a.py", 7)]),
        ]);

        let tree = tree(&profile, Measure::CpuTime);
        let boxes = flame_boxes(&tree, 0);

        let expected = [("all", 0, 7), ("main", 0, 7), ("c", 0, 5), ("a", 5, 1), ("b", 6, 1)];
        let expected: Vec<_> = expected.map(|(n, s, w)| (n.to_owned(), s, w)).into();
        assert_eq!(names(&profile, &tree, &boxes), expected);
    }

    #[test]
    fn narrow_neighbours_are_folded_into_one_box() {
        let profile = Profile::from_stacks(&[
            (0, 90, &[MAIN, ("wide", "a.py", 5)]),
            (1, 4, &[MAIN, ("thin", "a.py", 9), ("deeper", "a.py", 11)]),
            (2, 3, &[MAIN, ("thinner", "a.py", 7)]),
            (3, 2, &[MAIN, ("wide", "a.py", 5), ("lone", "a.py", 20)]),
        ]);

        let tree = tree(&profile, Measure::CpuTime);
        let boxes = flame_boxes(&tree, 5);

        let folded: Vec<_> = boxes.iter().filter(|b| b.folded > 0).collect();
        assert_eq!(folded.len(), 1);
        assert_eq!((folded[0].folded, folded[0].weight, folded[0].start), (2, 7, 92));
        assert_eq!(boxes.len(), 4);
    }

    #[test]
    fn two_lines_of_one_function_are_one_node() {
        let mut profile = Profile::from_stacks(&[
            (0, 2, &[("main", "a.py", 3), ("work", "a.py", 9)]),
            (2, 3, &[("main", "a.py", 4), ("work", "a.py", 9)]),
        ]);
        for frame in &mut profile.tables.frames {
            frame.first_line = 1;
        }

        let tree = tree(&profile, Measure::CpuTime);

        assert_eq!(tree.nodes.len(), 3);
        assert_eq!(tree.nodes[2].total_weight, 5);
    }

    #[test]
    fn a_profile_without_samples_has_no_boxes() {
        let tree = tree(&Profile::default(), Measure::CpuTime);

        assert_eq!(tree.nodes.len(), 1);
        assert!(flame_boxes(&tree, 0).is_empty());
    }
}
