//! Columns: many values of one kind, side by side.
//!
//! A column of `n` rows is read for a known `n` that was compared with the
//! bytes of another column first, so a run of a billion rows in five bytes
//! stays a damaged file and never becomes an allocation.

use super::bytes::{Bytes, Damage, Decoded, put, put_signed};

/// Weights as runs of equal values.
const RUNS: u8 = 0;
/// Weights one by one, each as the step from the one before.
const STEPS: u8 = 1;

/// Appends `values` as runs: how often, then the value.
pub(super) fn put_runs(out: &mut Vec<u8>, values: impl Iterator<Item = u64>) {
    let mut run: Option<(u64, u64)> = None;
    for value in values {
        run = match run {
            Some((count, same)) if same == value => Some((count + 1, same)),
            ended => {
                put_run(out, ended);
                Some((1, value))
            }
        };
    }
    put_run(out, run);
}

fn put_run(out: &mut Vec<u8>, run: Option<(u64, u64)>) {
    if let Some((count, value)) = run {
        put(out, count);
        put(out, value);
    }
}

/// Reads runs until they fill `rows`.
pub(super) fn runs<T>(
    bytes: &mut Bytes<'_>,
    mut rows: &mut [T],
    mut set: impl FnMut(&mut T, u64) -> Decoded<()>,
) -> Decoded<()> {
    while !rows.is_empty() {
        let count = bytes.number()?;
        let value = bytes.number()?;
        let split = usize::try_from(count)
            .ok()
            .filter(|count| *count > 0)
            .and_then(|count| std::mem::take(&mut rows).split_at_mut_checked(count));
        let (run, rest) = split.ok_or(Damage("a run is longer than its column"))?;
        for row in run {
            set(row, value)?;
        }
        rows = rest;
    }
    Ok(())
}

/// Appends `weights` exactly, in the shorter of two ways.
///
/// The weights of a thread in one window differ by at most one nanosecond,
/// so they are usually two runs: the larger value, then the smaller one.
pub(super) fn put_weights(out: &mut Vec<u8>, weights: impl Iterator<Item = u64> + Clone) {
    let start = out.len();
    out.push(RUNS);
    put_runs(out, weights.clone());
    let runs_len = out.len() - start;

    let steps_start = out.len();
    out.push(STEPS);
    let mut last = 0_u64;
    for weight in weights {
        put_signed(out, weight.wrapping_sub(last) as i64);
        last = weight;
    }
    if out.len() - steps_start < runs_len {
        out.drain(start..steps_start);
    } else {
        out.truncate(steps_start);
    }
}

/// Reads a weight for each of `rows`.
pub(super) fn weights<T>(
    bytes: &mut Bytes<'_>,
    rows: &mut [T],
    mut set: impl FnMut(&mut T, u64),
) -> Decoded<()> {
    match bytes.byte()? {
        RUNS => runs(bytes, rows, |row, weight| {
            set(row, weight);
            Ok(())
        }),
        STEPS => {
            let mut last = 0;
            for row in rows {
                last = bytes.step(last)?;
                set(row, last);
            }
            Ok(())
        }
        _ => Err(Damage("weights are kept in an unknown way")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(weights_in: &[u64]) -> usize {
        let mut out = Vec::new();
        put_weights(&mut out, weights_in.iter().copied());
        let mut back = vec![0; weights_in.len()];
        let mut bytes = Bytes(&out);

        weights(&mut bytes, &mut back, |row, weight| *row = weight).unwrap();

        assert_eq!(back, weights_in);
        assert!(bytes.is_empty());
        out.len()
    }

    #[test]
    fn weights_equal_up_to_rounding_take_a_few_bytes() {
        let mut equal = vec![1_003_417; 1000];
        equal[..371].fill(1_003_418);
        assert!(there_and_back(&equal) <= 11);
    }

    #[test]
    fn weights_of_any_size_come_back_exactly() {
        there_and_back(&[]);
        there_and_back(&[0, u64::MAX, 1, u64::MAX - 1, 1 << 63]);
        assert!(
            there_and_back(&(0..1000).map(|i| 1_000_000 + i * i % 97).collect::<Vec<_>>()) < 2100
        );
    }

    #[test]
    fn a_run_past_the_column_is_damage() {
        let mut rows = [0_u64; 3];
        let set = |row: &mut u64, value| {
            *row = value;
            Ok(())
        };
        assert!(runs(&mut Bytes(&[4, 1]), &mut rows, set).is_err());
        assert!(runs(&mut Bytes(&[0, 1, 0, 1]), &mut rows, set).is_err());
        assert!(runs(&mut Bytes(&[3, 1]), &mut rows, set).is_ok());
    }
}
