//! What a caller attaches to a span, packed into one piece of memory.

use std::sync::Arc;

use super::names::Name;

/// A value a caller attached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AttributeValue<'a> {
    /// Nothing.
    None,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A real number.
    Float(f64),
    /// A text.
    Text(&'a str),
}

/// Packed attributes, in the order they were given.
#[derive(Clone, Debug, Default)]
pub struct Attributes {
    packed: Option<Arc<[u8]>>,
}

/// The longest text that is kept, in bytes; longer ones are cut.
const TEXT_LIMIT: usize = 4096;

const NONE: u8 = 0;
const FALSE: u8 = 1;
const TRUE: u8 = 2;
const INT: u8 = 3;
const FLOAT: u8 = 4;
const TEXT: u8 = 5;

impl Attributes {
    /// None at all.
    pub const NONE: Self = Self { packed: None };

    /// Packs `attributes`.
    pub fn of<'a>(attributes: impl IntoIterator<Item = (Name, AttributeValue<'a>)>) -> Self {
        let mut attributes = attributes.into_iter().peekable();
        if attributes.peek().is_none() {
            return Self::default();
        }
        let mut packer = Packer::new();
        for (name, value) in attributes {
            packer.add(&name.number().to_le_bytes());
            packer.pack(value);
        }
        Self { packed: Some(packer.bytes().into()) }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.packed.is_none()
    }

    /// Each name and value.
    pub fn iter(&self) -> impl Iterator<Item = (Name, AttributeValue<'_>)> + '_ {
        let mut rest = self.packed.as_deref().unwrap_or_default();
        std::iter::from_fn(move || decode(&mut rest))
    }
}

impl PartialEq for Attributes {
    fn eq(&self, other: &Self) -> bool {
        self.packed.as_deref() == other.packed.as_deref()
    }
}

/// Bytes on the stack; in the heap only if there are many.
struct Packer {
    near: [u8; Self::NEAR],
    length: usize,
    far: Vec<u8>,
}

impl Packer {
    const NEAR: usize = 192;

    fn new() -> Self {
        Self { near: [0; Self::NEAR], length: 0, far: Vec::new() }
    }

    #[inline]
    fn add(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if self.far.is_empty()
            && let Some(place) = self.near.get_mut(self.length..end)
        {
            place.copy_from_slice(bytes);
            self.length = end;
            return;
        }
        if self.far.is_empty() {
            self.far.extend_from_slice(self.near.get(..self.length).unwrap_or_default());
        }
        self.far.extend_from_slice(bytes);
    }

    fn bytes(&self) -> &[u8] {
        if self.far.is_empty() {
            self.near.get(..self.length).unwrap_or_default()
        } else {
            &self.far
        }
    }

    #[inline]
    fn pack(&mut self, value: AttributeValue<'_>) {
        match value {
            AttributeValue::None => self.add(&[NONE]),
            AttributeValue::Bool(value) => self.add(&[if value { TRUE } else { FALSE }]),
            AttributeValue::Int(value) => {
                self.add(&[INT]);
                self.add(&value.to_le_bytes());
            }
            AttributeValue::Float(value) => {
                self.add(&[FLOAT]);
                self.add(&value.to_le_bytes());
            }
            AttributeValue::Text(text) => {
                let end = text.floor_char_boundary(TEXT_LIMIT);
                let text = text.get(..end).unwrap_or_default();
                self.add(&[TEXT]);
                self.add(&(text.len() as u32).to_le_bytes());
                self.add(text.as_bytes());
            }
        }
    }
}

/// The next attribute of packed bytes.
pub fn decode<'a>(rest: &mut &'a [u8]) -> Option<(Name, AttributeValue<'a>)> {
    let name = Name::from_number(u32::from_le_bytes(array(rest)?));
    let [tag] = array(rest)?;
    let value = match tag {
        NONE => AttributeValue::None,
        FALSE | TRUE => AttributeValue::Bool(tag == TRUE),
        INT => AttributeValue::Int(i64::from_le_bytes(array(rest)?)),
        FLOAT => AttributeValue::Float(f64::from_le_bytes(array(rest)?)),
        TEXT => {
            let length = u32::from_le_bytes(array(rest)?) as usize;
            let (text, after) = rest.split_at_checked(length)?;
            *rest = after;
            AttributeValue::Text(std::str::from_utf8(text).ok()?)
        }
        _ => return None,
    };
    Some((name, value))
}

fn array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_come_back_as_they_were_given() {
        let given = [
            (Name::of("batch"), AttributeValue::Int(-32)),
            (Name::of("rate"), AttributeValue::Float(0.5)),
            (Name::of("source"), AttributeValue::Text("database")),
            (Name::of("warm"), AttributeValue::Bool(true)),
            (Name::of("cold"), AttributeValue::Bool(false)),
            (Name::of("nothing"), AttributeValue::None),
        ];

        let packed = Attributes::of(given);

        assert!(packed.iter().eq(given));
    }

    #[test]
    fn a_long_text_is_cut_between_two_characters() {
        let text = "é".repeat(TEXT_LIMIT);

        let packed = Attributes::of([(Name::of("text"), AttributeValue::Text(&text))]);

        let kept = packed.iter().next();
        assert!(matches!(kept, Some((_, AttributeValue::Text(kept))) if kept.len() == TEXT_LIMIT));
    }

    #[test]
    fn no_attributes_take_no_memory() {
        assert!(Attributes::of([]).is_empty());
    }
}
