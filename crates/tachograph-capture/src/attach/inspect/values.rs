//! Local variables of another process: names, and values in a few characters.
//!
//! Nothing is called in the other process. Numbers, strings and bytes are shown
//! as Python writes them, containers by their type and length, everything else
//! by its type.

use tachograph_probe::layout::Layout;
use tachograph_probe::memory::ReadMemory;
use tachograph_probe::names::{type_flags, type_of};
use tachograph_probe::strings::{Text, characters};

/// Variables shown of one frame.
const MOST_LOCALS: u64 = 64;
/// Characters shown of a string.
const MOST_CHARACTERS: u64 = 60;
/// Bytes shown of a bytes object.
const MOST_BYTES: u64 = 40;
/// Digits of 30 bits of the largest number that is shown whole.
const MOST_DIGITS: u64 = 4;
/// The longest type name that is shown.
const LONGEST_NAME: usize = 80;

const IS_NUMBER: u64 = 1 << 24;
const IS_LIST: u64 = 1 << 25;
const IS_TUPLE: u64 = 1 << 26;
const IS_BYTES: u64 = 1 << 27;
const IS_TEXT: u64 = 1 << 28;
const IS_DICT: u64 = 1 << 29;

/// The local variables of the frame at `frame` that have a value, in their order.
pub(crate) fn locals<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    frame: u64,
    code: u64,
) -> Vec<(String, String)> {
    let word = |address: u64, offset: u32| memory.word(address.wrapping_add(u64::from(offset)));
    let found = || {
        if layout.code_local_names == 0 || layout.tuple_items == 0 {
            return None;
        }
        let names = word(code, layout.code_local_names)?;
        let count = memory.half(code.wrapping_add(u64::from(layout.code_locals)))?;
        let count = u64::from(count).min(word(names, layout.bytes_length)?).min(MOST_LOCALS);
        let mut locals = Vec::new();
        for index in 0..count {
            let at = |start: u64, offset: u32| {
                memory.word(start.wrapping_add(u64::from(offset)).wrapping_add(8 * index))
            };
            let value = layout.untag(at(frame, layout.frame_locals)?);
            let name = at(names, layout.tuple_items)?;
            if value == 0 {
                continue;
            }
            if let Some(name) = text(memory, layout, name, u64::MAX) {
                locals.push((name, show(memory, layout, in_cell(memory, layout, value))));
            }
        }
        Some(locals)
    };
    found().unwrap_or_default()
}

/// What a cell holds; a variable that inner functions use is kept in one.
fn in_cell<M: ReadMemory>(memory: &M, layout: &Layout, value: u64) -> u64 {
    let kind = type_of(memory, layout, value);
    let is_cell = kind.is_some_and(|kind| type_name(memory, layout, kind) == "cell");
    // Its one field comes right behind the object's head.
    let held = || memory.word(value.wrapping_add(u64::from(layout.module_dict)));
    if is_cell && layout.module_dict != 0 { held().unwrap_or(value) } else { value }
}

/// The object at `object` in a few characters.
pub(crate) fn show<M: ReadMemory>(memory: &M, layout: &Layout, object: u64) -> String {
    shown(memory, layout, object).unwrap_or_else(|| "<unreadable>".to_owned())
}

fn shown<M: ReadMemory>(memory: &M, layout: &Layout, object: u64) -> Option<String> {
    let word = |offset: u32| memory.word(object.wrapping_add(u64::from(offset)));
    let kind = type_name(memory, layout, type_of(memory, layout, object)?);
    let flags = type_flags(memory, layout, object)?;
    let sized = |length: u64| format!("<{kind} of {length}>");
    Some(match kind.as_str() {
        "NoneType" => "None".to_owned(),
        "bool" => if number(memory, layout, object)? == "0" { "False" } else { "True" }.to_owned(),
        "int" => number(memory, layout, object)?,
        "float" if layout.float_value != 0 => {
            format!("{:?}", f64::from_bits(word(layout.float_value)?))
        }
        "set" | "frozenset" if layout.set_used != 0 => sized(word(layout.set_used)?),
        _ if flags & IS_TEXT != 0 => {
            let text = text(memory, layout, object, MOST_CHARACTERS)?;
            quoted(&text)
        }
        _ if flags & IS_BYTES != 0 => format!("b{}", quoted(&bytes(memory, layout, object)?)),
        _ if flags & (IS_LIST | IS_TUPLE) != 0 => sized(word(layout.bytes_length)?),
        _ if flags & IS_DICT != 0 && layout.dict_used != 0 => sized(word(layout.dict_used)?),
        _ if flags & IS_NUMBER != 0 => format!("<{kind} {}>", number(memory, layout, object)?),
        _ => format!("<{kind}>"),
    })
}

fn quoted(text: &str) -> String {
    let (mut body, cut) = match text.strip_suffix('\u{0}') {
        Some(text) => (text.to_owned(), "…"),
        None => (text.to_owned(), ""),
    };
    body = body
        .chars()
        .flat_map(|letter| match letter {
            '\'' => "\\'".chars().collect::<Vec<_>>(),
            letter if letter.is_control() => letter.escape_default().collect(),
            letter => vec![letter],
        })
        .collect();
    format!("'{body}{cut}'")
}

/// The first `most` characters of a string; a zero at the end says that more follow.
pub(crate) fn text<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    object: u64,
    most: u64,
) -> Option<String> {
    let header = Text::at(memory, layout, object)?;
    let count = header.length.min(most).min(1 << 16);
    let mut bytes = vec![0; usize::try_from(count.checked_mul(u64::from(header.width))?).ok()?];
    if !memory.bytes(header.data, &mut bytes) {
        return None;
    }
    let mut text: String = characters(&bytes, header.width).collect();
    if header.length > count {
        text.push('\u{0}');
    }
    Some(text)
}

fn bytes<M: ReadMemory>(memory: &M, layout: &Layout, object: u64) -> Option<String> {
    let length = memory.word(object.wrapping_add(u64::from(layout.bytes_length)))?;
    let mut bytes = vec![0; usize::try_from(length.min(MOST_BYTES)).ok()?];
    if !memory.bytes(object.wrapping_add(u64::from(layout.bytes_data)), &mut bytes) {
        return None;
    }
    let letter = |byte: u8| match byte {
        b' '..=b'~' => char::from(byte).to_string(),
        byte => format!("\\x{byte:02x}"),
    };
    let mut text: String = bytes.into_iter().map(letter).collect();
    if length > MOST_BYTES {
        text.push('\u{0}');
    }
    Some(text)
}

/// An integer in decimal; one of more than 120 bits by its size.
fn number<M: ReadMemory>(memory: &M, layout: &Layout, object: u64) -> Option<String> {
    let tag = memory.word(object.wrapping_add(u64::from(layout.number_tag)))?;
    let (count, negative) = if layout.minor < 12 {
        let size = tag.cast_signed();
        (size.unsigned_abs(), size < 0)
    } else if tag & 3 == 1 {
        (0, false)
    } else {
        (tag >> 3, tag & 3 == 2)
    };
    if count > MOST_DIGITS {
        return Some(format!("<int of {} bits>", count.saturating_mul(30)));
    }
    let mut value: i128 = 0;
    for index in (0..count).rev() {
        let at = object.wrapping_add(u64::from(layout.number_digits)).wrapping_add(4 * index);
        let mut digit = [0; 4];
        if !memory.bytes(at, &mut digit) {
            return None;
        }
        value = (value << 30) | i128::from(u32::from_le_bytes(digit) & 0x3fff_ffff);
    }
    Some(if negative { -value } else { value }.to_string())
}

/// `tp_name` of the type at `kind`.
pub(crate) fn type_name<M: ReadMemory>(memory: &M, layout: &Layout, kind: u64) -> String {
    let name = || {
        let address = memory.word(kind.wrapping_add(u64::from(layout.type_name)))?;
        let mut name = Vec::new();
        for index in 0..LONGEST_NAME as u64 {
            match memory.byte(address.wrapping_add(index))? {
                0 => break,
                byte => name.push(byte),
            }
        }
        String::from_utf8(name).ok()
    };
    name().unwrap_or_else(|| "?".to_owned())
}
