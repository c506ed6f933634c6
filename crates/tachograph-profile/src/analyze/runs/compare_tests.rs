//! What a comparison promises, on simulated runs whose truth is known.

use super::*;
use crate::stats::Summary;

/// A small generator with a fixed beginning: the same runs every time.
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A normal number, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let (radius, angle) = ((-2.0 * (1.0 - self.next()).ln()).sqrt(), self.next());
        radius * (std::f64::consts::TAU * angle).cos()
    }
}

/// What iteration times look like, around 100 ms.
#[derive(Clone, Copy, Debug)]
enum Shape {
    Plain,
    LongTail,
    TwoSpeeds,
}

/// Times of `count` iterations, each `related` to the one before.
fn times(dice: &mut Dice, shape: Shape, related: f64, count: usize) -> Timing {
    let mut summary = Summary::default();
    let mut state = dice.normal();
    for at in 0..count {
        state = related * state + (1.0 - related * related).sqrt() * dice.normal();
        let ms = match shape {
            Shape::Plain => 100.0 + 5.0 * state,
            Shape::LongTail => 100.0 * (0.4 * state).exp(),
            Shape::TwoSpeeds => (if state > 1.5 { 300.0 } else { 100.0 }) + 2.0 * dice.normal(),
        };
        summary.add(ms.max(1.0) * 1e6, at as u64);
    }
    Timing::of(&summary, summary.sum(), None)
}

fn run(phases: Vec<(&str, Timing)>) -> RunReport {
    let named = phases.into_iter().map(|(name, timing)| (name.to_owned(), timing));
    RunReport { timing: named.collect(), ..RunReport::default() }
}

fn is_alarm(comparison: &Comparison) -> bool {
    let alarm = |verdict: Verdict| matches!(verdict, Verdict::Faster | Verdict::Slower);
    alarm(comparison.verdict) || comparison.phases.iter().any(|(_, phase)| alarm(phase.verdict))
}

#[test]
fn a_run_compared_with_itself_is_rarely_called_different() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let (mut alarms, mut rounds) = (0, 0);
    for shape in [Shape::Plain, Shape::LongTail, Shape::TwoSpeeds] {
        for (related, count) in
            [(0.0, 20), (0.0, 64), (0.0, 1000), (0.3, 40), (0.6, 100), (0.6, 1000), (0.9, 600)]
        {
            let mut here = 0;
            for _ in 0..300 {
                let (a, b) = (
                    run(vec![("iteration", times(&mut dice, shape, related, count))]),
                    run(vec![("iteration", times(&mut dice, shape, related, count))]),
                );
                here += usize::from(is_alarm(&compare(&a, &b)));
            }
            // 5 % of 300 with three standard errors of chance on top.
            assert!(here <= 15 + 11, "{here} of 300: {shape:?}, related {related}, {count} calls");
            (alarms, rounds) = (alarms + here, rounds + 300);
        }
    }
    assert!(alarms * 20 <= rounds, "{alarms} false alarms in {rounds} comparisons");
}

#[test]
fn many_phases_raise_no_more_false_alarms_than_one() {
    let mut dice = Dice(77);
    let mut phases = |count| {
        let names = ["load", "forward", "backward", "step", "log", "save"];
        run(names.map(|name| (name, times(&mut dice, Shape::Plain, 0.3, count))).into())
    };
    let alarms = (0..400).filter(|_| is_alarm(&compare(&phases(60), &phases(60)))).count();

    assert!(alarms <= 20, "{alarms} of 400");
}

#[test]
fn the_naive_interval_would_have_raised_many_false_alarms() {
    let mut dice = Dice(5);
    let naive = |timing: &Timing| Estimate {
        mean: timing.mean,
        error: timing.std / (timing.count as f64).sqrt(),
        freedom: timing.count as f64 - 1.0,
    };
    let alarms = (0..300).filter(|_| {
        let mut side = || times(&mut dice, Shape::Plain, 0.9, 600);
        let (a, b) = (side(), side());
        let (low, high) = ratio(&naive(&a), &naive(&b), 0.95).1;
        low > 1.0 || high < 1.0
    });

    // More than half of all: what this module is for.
    assert!(alarms.count() > 150);
}

#[test]
fn a_true_speedup_is_found_and_lies_in_the_interval() {
    let mut dice = Dice(11);
    let (mut found, mut inside) = (0, 0);
    for _ in 0..200 {
        let a = run(vec![("iteration", times(&mut dice, Shape::Plain, 0.3, 200))]);
        let mut timing = times(&mut dice, Shape::Plain, 0.3, 200);
        timing.mean /= 1.25;
        timing.blocks.iter_mut().for_each(|block| block.1 /= 1.25);
        let comparison = compare(&a, &run(vec![("iteration", timing)]));
        let (low, high) = comparison.interval.unwrap();
        found += usize::from(comparison.verdict == Verdict::Faster);
        inside += usize::from(low <= 1.25 && 1.25 <= high);
    }
    assert_eq!(found, 200);
    assert!(inside >= 185, "{inside} of 200");
}

#[test]
fn too_few_calls_are_said_to_be_too_few() {
    let mut dice = Dice(3);
    let mut few = || run(vec![("validate", times(&mut dice, Shape::Plain, 0.0, 9))]);

    let comparison = compare(&few(), &few());

    assert_eq!(comparison.verdict, Verdict::NotEnoughData);
    assert_eq!(comparison.interval, None);
    assert!(comparison.speedup.is_some());
}

#[test]
fn a_report_with_means_alone_gives_a_speedup_and_no_interval() {
    let timing = |mean| Timing { mean, std: 1.0, ..Timing::default() };

    let comparison =
        compare(&run(vec![("forward", timing(30.0))]), &run(vec![("forward", timing(20.0))]));

    assert_eq!(comparison.speedup, Some(1.5));
    assert_eq!(comparison.verdict, Verdict::NotEnoughData);
}

#[test]
fn only_the_outermost_common_phases_make_the_whole() {
    let mut dice = Dice(9);
    let mut phase = |inside: Option<&str>| Timing {
        inside: inside.map(str::to_owned),
        ..times(&mut dice, Shape::Plain, 0.0, 50)
    };
    let a = run(vec![
        ("iteration", phase(None)),
        ("forward", phase(Some("iteration"))),
        ("gone", phase(None)),
    ]);
    let b = run(vec![
        ("iteration", phase(None)),
        ("forward", phase(Some("iteration"))),
        ("new", phase(None)),
    ]);

    let comparison = compare(&a, &b);

    assert_eq!(comparison.over, ["iteration"]);
    assert_eq!(
        (comparison.only_a, comparison.only_b),
        (vec!["gone".to_owned()], vec!["new".to_owned()])
    );
    let iteration = comparison.phases.get("iteration").unwrap();
    assert!((comparison.speedup.unwrap() - iteration.speedup).abs() < 1e-12);
}

#[test]
fn runs_without_a_common_phase_have_no_speedup() {
    let comparison = compare(&RunReport::default(), &RunReport::default());

    assert_eq!((comparison.speedup, comparison.verdict), (None, Verdict::NotEnoughData));
}

#[test]
fn a_wide_interval_around_one_is_unclear_and_a_narrow_one_the_same() {
    assert_eq!(Verdict::of((0.7, 1.4)), Verdict::Unclear);
    assert_eq!(Verdict::of((0.98, 1.03)), Verdict::Same);
    assert_eq!(Verdict::of((1.01, 1.02)), Verdict::Faster);
    assert_eq!(Verdict::of((0.5, 0.99)), Verdict::Slower);
}
