//! Names, each kept once: what enters a lane is a number.

use rustc_hash::FxHashMap;

use super::book::book;

/// Names kept at most; a program that makes names without end does not fill memory.
const LIMIT: usize = 1 << 16;

/// The name of everything that came after too many names.
pub const MORE_NAMES: &str = "<more names>";

/// The name of a span, a metric or an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

/// All names.
#[derive(Default)]
pub(crate) struct Names {
    texts: Vec<&'static str>,
    numbers: FxHashMap<&'static str, u32>,
}

impl Names {
    fn add(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        if self.texts.len() >= LIMIT && text != MORE_NAMES {
            return self.add(MORE_NAMES);
        }
        // Never freed: a name lives as long as the process.
        let text: &'static str = Box::leak(text.into());
        let number = self.texts.len() as u32;
        self.texts.push(text);
        self.numbers.insert(text, number);
        number
    }
}

impl Name {
    /// The name `text`; [`MORE_NAMES`] once there are too many.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let known = book().read().names.numbers.get(text).copied();
        Self(known.unwrap_or_else(|| book().write().names.add(text)))
    }

    /// Its text.
    #[must_use]
    pub fn text(self) -> &'static str {
        book().read().names.texts.get(self.0 as usize).copied().unwrap_or(MORE_NAMES)
    }

    /// The number behind it.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// The name with this number.
    pub(crate) fn from_number(number: u32) -> Self {
        Self(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once() {
        assert_eq!(Name::of("forward"), Name::of("forward"));
        assert_ne!(Name::of("forward"), Name::of("backward"));
        assert_eq!(Name::of("forward").text(), "forward");
    }

    #[test]
    fn names_without_end_become_one() {
        let mut names = Names::default();
        for number in 0..LIMIT + 10 {
            names.add(&format!("request-{number}"));
        }
        assert_eq!(names.texts.len(), LIMIT + 1);
        assert_eq!(names.add("another"), names.add(MORE_NAMES));
        assert_eq!(names.add("request-7"), 7);
    }
}
