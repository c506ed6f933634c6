//! An attribute of an instance, looked up without running Python.
//!
//! Instances of one class have most attribute names in common, so CPython keeps
//! the names in the class and only the values with the object, until someone
//! asks for `__dict__`. Where the values are changed with every version.

use super::object::{type_flags, type_of};
use crate::layout::Layout;
use crate::memory::ReadMemory;
use crate::strings::Text;

/// `tp_flags`: CPython itself looks after the attributes.
const MANAGED: u64 = 1 << 4;

/// `tp_flags`, 3.13+: the values are behind the object's own fields.
const INLINE: u64 = 1 << 2;

/// No object we ask keeps its dictionary further from its start than this.
const LARGEST_OBJECT: u64 = 1 << 16;

/// More attributes than an object we ask has.
const MOST_ENTRIES: u64 = 256;

/// More entries than a dictionary has that is searched by name.
const MOST_ITEMS: u64 = 1 << 17;

/// The kind of keys that may be anything, not only strings.
const GENERAL_KEYS: u8 = 0;

/// The value that the dictionary at `dict` has for the string `name`.
pub fn dict_item<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    dict: u64,
    name: &[u8],
) -> Option<u64> {
    Lookup { memory, layout, name, most: MOST_ITEMS }.in_dict(dict)
}

/// The address of the object that is attribute `name` of `object`.
pub fn attribute<M: ReadMemory>(
    memory: &M,
    layout: &Layout,
    object: u64,
    name: &[u8],
) -> Option<u64> {
    let lookup = Lookup { memory, layout, name, most: MOST_ENTRIES };
    let flags = type_flags(memory, layout, object)?;
    if layout.has_frame_objects() || flags & MANAGED == 0 && layout.type_dict_offset != 0 {
        let kind = type_of(memory, layout, object)?;
        let offset = lookup.word(kind, layout.type_dict_offset)?;
        if offset == 0 || offset > LARGEST_OBJECT {
            return None;
        }
        return lookup.in_dict(memory.word(object.wrapping_add(offset))?);
    }
    if flags & MANAGED == 0 {
        return None;
    }
    match layout.minor {
        11 => {
            let values =
                memory.word(object.wrapping_sub(u64::from(layout.values_before_object)))?;
            if values != 0 {
                return lookup.in_values(object, values);
            }
            lookup.in_dict(lookup.dict_pointer(object)?)
        }
        12 => {
            let pointer = lookup.dict_pointer(object)?;
            // A pointer to values is stored one less, so that it is odd.
            if pointer & 1 == 1 {
                return lookup.in_values(object, pointer.wrapping_add(1));
            }
            lookup.in_dict(pointer)
        }
        _ => {
            let dict = lookup.dict_pointer(object)?;
            if dict != 0 || flags & INLINE == 0 {
                return lookup.in_dict(dict);
            }
            lookup.in_values(object, lookup.inline_values(object)?)
        }
    }
}

struct Lookup<'a, M> {
    memory: &'a M,
    layout: &'a Layout,
    name: &'a [u8],
    /// Entries that are looked at.
    most: u64,
}

impl<M: ReadMemory> Lookup<'_, M> {
    fn dict_pointer(&self, object: u64) -> Option<u64> {
        self.memory.word(object.wrapping_sub(u64::from(self.layout.dict_before_object)))
    }

    /// The values behind the fields of `object`, if they are in use.
    fn inline_values(&self, object: u64) -> Option<u64> {
        let kind = type_of(self.memory, self.layout, object)?;
        let values = object.wrapping_add(self.word(kind, self.layout.type_basic_size)?);
        let valid = self.memory.byte(values.wrapping_add(u64::from(self.layout.values_valid)))?;
        (valid != 0).then_some(values)
    }

    /// Looks among `values`, whose names are in the class of `object`.
    fn in_values(&self, object: u64, values: u64) -> Option<u64> {
        let kind = type_of(self.memory, self.layout, object)?;
        let keys = self.word(kind, self.layout.type_cached_keys)?;
        self.in_keys(keys, values)
    }

    fn in_dict(&self, dict: u64) -> Option<u64> {
        if dict == 0 {
            return None;
        }
        let keys = self.word(dict, self.layout.dict_keys)?;
        let values = self.word(dict, self.layout.dict_values)?;
        self.in_keys(keys, values)
    }

    /// Looks among `keys`; the value is beside the key unless `values` is given.
    fn in_keys(&self, keys: u64, values: u64) -> Option<u64> {
        let layout = self.layout;
        let (general, index_size) = if layout.has_frame_objects() {
            (true, self.old_index_size(keys)?)
        } else {
            let general = self.byte(keys, layout.keys_kind)? == GENERAL_KEYS;
            let bits = self.byte(keys, layout.keys_index_bytes)?;
            (general, 1_u64.checked_shl(u32::from(bits))?)
        };
        let (entry_size, key_at) = if general { (24, 8) } else { (16, 0) };
        let entries = keys.wrapping_add(u64::from(layout.keys_indices)).wrapping_add(index_size);
        let count = self.word(keys, layout.keys_entries)?.min(self.most);
        for index in 0..count {
            let entry = entries.wrapping_add(index * entry_size);
            let key = self.memory.word(entry.wrapping_add(key_at))?;
            if key == 0 || !self.is_name(key) {
                continue;
            }
            let value = if values == 0 {
                entry.wrapping_add(key_at + 8)
            } else {
                values.wrapping_add(u64::from(layout.values_first)).wrapping_add(index * 8)
            };
            return self.memory.word(value).filter(|&value| value != 0);
        }
        None
    }

    /// Before 3.11 the number of slots is kept and says how wide an index is.
    fn old_index_size(&self, keys: u64) -> Option<u64> {
        let slots = self.word(keys, self.layout.keys_index_bytes)?;
        slots.checked_mul(match slots {
            0..=0xff => 1,
            0x100..=0xffff => 2,
            0x1_0000..=0xffff_ffff => 4,
            _ => 8,
        })
    }

    fn is_name(&self, key: u64) -> bool {
        Text::at(self.memory, self.layout, key).is_some_and(|text| text.is(self.memory, self.name))
    }

    fn word(&self, address: u64, offset: u32) -> Option<u64> {
        self.memory.word(address.wrapping_add(u64::from(offset)))
    }

    fn byte(&self, address: u64, offset: u32) -> Option<u8> {
        self.memory.byte(address.wrapping_add(u64::from(offset)))
    }
}
