//! JSON for speedscope: one sampled profile per thread, stacks root first.
//!
//! Written as it is walked, with the text of each distinct stack made once: a
//! minute at 1 kHz is a few megabytes and takes a few milliseconds.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::format::part_name;
use crate::analyze::{frame_name, track_name};
use crate::{Measure, Profile, StackId, TrackId, Weight};

/// The schema every file names.
const SCHEMA: &str = "https://www.speedscope.app/file-format-schema.json";

/// `profile` as speedscope reads it.
///
/// Each thread that carries some of `measure` is one profile whose `endValue`
/// is the sum of its weights. Frames are distinct by name, file and line.
///
/// ```
/// use tachograph_profile::{Measure, Profile, export::speedscope};
///
/// let profile = Profile::from_stacks(&[(0, 30, &[("main", "train.py", 12)])]);
/// let json: serde_json::Value =
///     serde_json::from_slice(&speedscope(&profile, Measure::CpuTime)).unwrap();
/// assert_eq!(json["shared"]["frames"][0]["name"], "main");
/// assert_eq!(json["profiles"][0]["endValue"], 30);
/// ```
#[must_use]
pub fn speedscope(profile: &Profile, measure: Measure) -> Vec<u8> {
    let mut threads: BTreeMap<TrackId, Vec<Weight>> = BTreeMap::new();
    for weight in profile.weights(measure) {
        threads.entry(weight.track).or_default().push(weight);
    }
    let mut frames = FrameList::new(profile);
    let mut profiles = Vec::new();
    for (index, (track, weights)) in threads.iter().enumerate() {
        if index > 0 {
            profiles.push(b',');
        }
        let name = track_name(profile, *track);
        write_thread(&mut profiles, &mut frames, &name, weights, measure);
    }
    document(profile, &frames, &profiles)
}

/// `profile` as speedscope reads it, all threads in one profile called `name`.
///
/// Memory belongs to no thread, and is seen as one picture.
#[must_use]
pub(super) fn speedscope_as_one(profile: &Profile, measure: Measure, name: &str) -> Vec<u8> {
    let weights: Vec<_> = profile.weights(measure).collect();
    let mut frames = FrameList::new(profile);
    let mut profiles = Vec::new();
    write_thread(&mut profiles, &mut frames, name, &weights, measure);
    document(profile, &frames, &profiles)
}

fn document(profile: &Profile, frames: &FrameList<'_>, profiles: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(profiles.len() + frames.json.len() + 256);
    out.extend_from_slice(b"{\"$schema\":");
    write_string(&mut out, SCHEMA);
    out.extend_from_slice(b",\"version\":\"1.0.0\",\"shared\":{\"frames\":[");
    out.extend_from_slice(&frames.json);
    out.extend_from_slice(b"]},\"profiles\":[");
    out.extend_from_slice(profiles);
    out.extend_from_slice(b"],\"name\":");
    write_string(&mut out, &part_name(&profile.meta));
    out.extend_from_slice(b",\"exporter\":");
    write_string(&mut out, concat!("tachograph ", env!("CARGO_PKG_VERSION")));
    out.push(b'}');
    out
}

fn write_thread(
    out: &mut Vec<u8>,
    frames: &mut FrameList<'_>,
    name: &str,
    weights: &[Weight],
    measure: Measure,
) {
    out.extend_from_slice(b"{\"type\":\"sampled\",\"name\":");
    write_string(out, name);
    out.extend_from_slice(b",\"unit\":");
    write_string(out, unit(measure));
    out.extend_from_slice(b",\"startValue\":0,\"endValue\":");
    let sum = weights.iter().fold(0u64, |sum, w| sum.saturating_add(w.weight));
    write_number(out, sum);
    out.extend_from_slice(b",\"samples\":[");
    for (index, weight) in weights.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        out.extend_from_slice(frames.stack(weight.stack));
    }
    out.extend_from_slice(b"],\"weights\":[");
    for (index, weight) in weights.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_number(out, weight.weight);
    }
    out.extend_from_slice(b"]}");
}

/// What speedscope calls the unit of `measure`.
fn unit(measure: Measure) -> &'static str {
    match measure {
        Measure::WallTime | Measure::CpuTime => "nanoseconds",
        Measure::BytesAllocated | Measure::BytesLive | Measure::BytesAtPeak => "bytes",
        Measure::Samples | Measure::Allocations => "none",
    }
}

/// The frames that were used so far, and the text of every distinct stack.
struct FrameList<'a> {
    profile: &'a Profile,
    json: Vec<u8>,
    known: FxHashMap<(String, &'a str, u32), usize>,
    /// Position in the list by frame id.
    of_frame: Vec<Option<usize>>,
    stacks: Vec<Option<Box<[u8]>>>,
}

impl<'a> FrameList<'a> {
    fn new(profile: &'a Profile) -> Self {
        Self {
            profile,
            json: Vec::new(),
            known: FxHashMap::default(),
            of_frame: vec![None; profile.tables.frames.len()],
            stacks: vec![None; profile.tables.stacks.len()],
        }
    }

    /// The list of frame positions of `stack`, root first, as JSON.
    fn stack(&mut self, stack: StackId) -> &[u8] {
        let index = stack.index();
        if self.stacks.get(index).is_none_or(Option::is_none) {
            let text = self.stack_text(stack);
            if self.stacks.len() <= index {
                return b"[]";
            }
            self.stacks[index] = Some(text.into());
        }
        self.stacks[index].as_deref().unwrap_or(b"[]")
    }

    fn stack_text(&mut self, stack: StackId) -> Vec<u8> {
        let mut positions = Vec::new();
        let mut next = Some(stack);
        while let Some(node) = next.and_then(|id| self.profile.tables.stacks.get(id.index())) {
            positions.extend(self.frame(node.frame.index()));
            next = node.caller.filter(|caller| next.is_some_and(|own| *caller < own));
        }
        let mut text = vec![b'['];
        for (index, position) in positions.into_iter().rev().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            write_number(&mut text, position as u64);
        }
        text.push(b']');
        text
    }

    /// The position of a frame in the list, adding it on first use.
    fn frame(&mut self, index: usize) -> Option<usize> {
        if let Some(position) = *self.of_frame.get(index)? {
            return Some(position);
        }
        let frame = self.profile.tables.frames.get(index)?;
        let name = frame_name(self.profile, frame).into_owned();
        let file = self.profile.text(frame.file);
        let next = self.known.len();
        let position = *self.known.entry((name.clone(), file, frame.line)).or_insert(next);
        if position == next {
            if next > 0 {
                self.json.push(b',');
            }
            self.json.extend_from_slice(b"{\"name\":");
            write_string(&mut self.json, &name);
            self.json.extend_from_slice(b",\"file\":");
            write_string(&mut self.json, file);
            self.json.extend_from_slice(b",\"line\":");
            write_number(&mut self.json, u64::from(frame.line));
            self.json.push(b'}');
        }
        self.of_frame[index] = Some(position);
        Some(position)
    }
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    // A string always has a JSON form, and a vector takes every byte.
    let _ = serde_json::to_writer(out, text);
}

fn write_number(out: &mut Vec<u8>, mut number: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Interner, StringId, Time, TrackKind};

    fn parsed(profile: &Profile, measure: Measure) -> Value {
        serde_json::from_slice(&speedscope(profile, measure)).unwrap()
    }

    fn two_threads() -> Profile {
        let main = ("main", "a.py", 1);
        let mut profile = Profile::from_stacks(&[
            (0, 5, &[main, ("work", "a.py", 7)]),
            (9, 7, &[main]),
            (20, 4, &[main, ("work", "a.py", 7)]),
        ]);
        let mut tables = Interner::from_tables(std::mem::take(&mut profile.tables));
        let other = tables.track(TrackKind::Thread, None, 77, "", Time(0));
        profile.tables = tables.into_tables();
        profile.samples[1].track = other;
        profile
    }

    #[test]
    fn each_thread_is_one_profile_with_root_first_stacks() {
        let json = parsed(&two_threads(), Measure::CpuTime);

        assert_eq!(json["version"], "1.0.0");
        assert_eq!(json["$schema"], SCHEMA);
        assert_eq!(
            json["profiles"],
            json!([
                {"type": "sampled", "name": "MainThread", "unit": "nanoseconds",
                 "startValue": 0, "endValue": 9, "samples": [[1, 0], [1, 0]], "weights": [5, 4]},
                {"type": "sampled", "name": "Thread-77", "unit": "nanoseconds",
                 "startValue": 0, "endValue": 7, "samples": [[1]], "weights": [7]},
            ])
        );
        assert_eq!(json["shared"]["frames"][1], json!({"name": "main", "file": "a.py", "line": 1}));
    }

    #[test]
    fn frames_that_differ_only_by_address_are_one() {
        let mut profile = two_threads();
        let mut twin = profile.tables.frames[0];
        twin.address = 99;
        profile.tables.frames.push(twin);
        let last = profile.tables.frames.len() - 1;
        profile.tables.stacks[0].frame = last.into();

        let json = parsed(&profile, Measure::Samples);

        assert_eq!(json["shared"]["frames"].as_array().unwrap().len(), 2);
        assert_eq!(json["profiles"][0]["unit"], "none");
    }

    #[test]
    fn names_are_escaped_as_json() {
        let mut profile = two_threads();
        profile.tables.strings[1] = "quote \" and\nline \u{1}".into();
        profile.tables.tracks[1].name = StringId(1);

        let json = parsed(&profile, Measure::CpuTime);

        assert_eq!(json["profiles"][0]["name"], "quote \" and\nline \u{1}");
    }

    #[test]
    fn a_profile_without_samples_has_no_profiles() {
        let json = parsed(&Profile::default(), Measure::CpuTime);

        assert_eq!(json["profiles"], json!([]));
        assert_eq!(json["shared"]["frames"], json!([]));
    }
}
