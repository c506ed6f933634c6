//! A walker that remembers its last walk finds what one without a memory finds.

use std::hint::black_box;

use tachograph_capture::native::{self, Walker};

/// Calls that a walk can meet, in ways that share some of the stack with the walk before.
struct Paths {
    random: u64,
    kept: Walker,
    walks: usize,
}

impl Paths {
    fn next(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 11
    }

    /// Goes deeper, back up, or walks, as chance has it.
    fn wander(&mut self, left: u64) {
        let times = 1 + self.next() % 3;
        for _ in 0..times {
            match self.next() % 4 {
                _ if left == 0 => self.compare(),
                0 => small(self, left - 1),
                1 => large(self, left - 1),
                2 => by_frame(self, left - 1),
                _ => self.compare(),
            }
        }
    }

    /// Walks twice from one place, once with a new walker.
    #[inline(never)]
    fn compare(&mut self) {
        let mut fresh = Walker::new();
        let mut words = [[0_u64; 250]; 2];
        let mut ends = Vec::new();
        for (walker, words) in [&mut self.kept, &mut fresh].into_iter().zip(&mut words) {
            ends.push(walker.walk(words));
        }
        assert_eq!(ends[0], ends[1], "after {} walks", self.walks);
        assert!(ends[0].complete && ends[0].depth > 4);
        assert_eq!(words[0], words[1], "after {} walks", self.walks);
        self.walks += 1;
    }
}

#[inline(never)]
fn small(paths: &mut Paths, left: u64) {
    paths.wander(left);
    black_box(&left);
}

#[inline(never)]
fn large(paths: &mut Paths, left: u64) {
    let room = black_box([left; 40]);
    paths.wander(left);
    black_box(&room);
}

#[inline(never)]
fn by_frame(paths: &mut Paths, left: u64) {
    // Calls with many arguments and a closure between: another layout of the frame.
    let go_on = black_box(|paths: &mut Paths, left: u64| paths.wander(left));
    let room = black_box(vec![left; 3]);
    go_on(paths, left);
    black_box(&room);
}

#[test]
fn a_walk_that_takes_over_an_earlier_one_finds_the_same() {
    native::refresh();
    let mut paths = Paths { random: 0x2545_f491_4f6c_dd1d, kept: Walker::new(), walks: 0 };

    while paths.walks < 2_000 {
        let depth = paths.next() % 12;
        paths.wander(depth);
    }
}

#[test]
fn a_stack_deeper_than_what_is_remembered_is_found_whole() {
    fn deep(paths: &mut Paths, left: u64) {
        if left == 0 {
            paths.compare();
            paths.compare();
        } else {
            deep(paths, left - 1);
        }
        black_box(&left);
    }
    native::refresh();
    let mut paths = Paths { random: 1, kept: Walker::new(), walks: 0 };

    for depth in [120, 200, 20, 124, 127, 130, 5] {
        deep(&mut paths, depth);
    }
}
