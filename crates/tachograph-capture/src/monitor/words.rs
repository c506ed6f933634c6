//! Numbers out of the kernel's text files, without a copy.

/// The words of `text`.
pub(super) fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

/// The lines of `text`.
pub(super) fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// `word` as a whole number; what does not fit or is none is no answer.
pub(super) fn number(word: &[u8]) -> Option<u64> {
    if word.is_empty() {
        return None;
    }
    word.iter().try_fold(0_u64, |sum, digit| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(digit)
    })
}

/// The number after `name` in a text of `name: number` lines.
pub(super) fn named(text: &[u8], name: &[u8]) -> Option<u64> {
    lines(text).find_map(|line| words(line.strip_prefix(name)?).next().and_then(number))
}

/// `kilobytes` in bytes.
pub(super) fn kilobytes(kilobytes: u64) -> Option<u64> {
    kilobytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_numbers_that_fit_are_numbers() {
        assert_eq!(number(b"18446744073709551615"), Some(u64::MAX));
        assert_eq!(number(b"18446744073709551616"), None);
        assert_eq!([number(b""), number(b"-1"), number(b"1.5"), number(b"kB")], [None; 4]);
    }

    #[test]
    fn a_name_is_found_at_the_start_of_its_line() {
        let text = b"MemTotal: 10 kB\nSwapTotal:   7 kB\n";

        assert_eq!(named(text, b"SwapTotal:"), Some(7));
        assert_eq!(named(text, b"Total:"), None);
    }
}
