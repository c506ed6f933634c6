//! Objects whose slots are all written, so that the next scan passes over them.
//!
//! An object is known by the place of its dynamic section and of its name. Both
//! can be used again after `dlclose`, so the set is emptied when anything was
//! unloaded.

/// Objects that are remembered; more are scanned every time.
const ROOM: usize = 4096;

/// A set of fixed size, for whoever has the turn.
pub(super) struct Done {
    objects: [(u64, u64); ROOM],
}

impl Done {
    /// Nothing is done.
    pub(super) const fn new() -> Self {
        Self { objects: [(0, 0); ROOM] }
    }

    /// Whether this object is done.
    pub(super) fn has(&self, object: (u64, u64)) -> bool {
        self.places(object).any(|place| self.objects.get(place) == Some(&object))
    }

    /// Remembers an object, if there is room.
    pub(super) fn add(&mut self, object: (u64, u64)) {
        let free = self.places(object).find(|place| self.objects.get(*place) == Some(&(0, 0)));
        if let Some(place) = free.and_then(|place| self.objects.get_mut(place)) {
            *place = object;
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.objects.fill((0, 0));
    }

    /// The places an object can be in.
    fn places(&self, object: (u64, u64)) -> impl Iterator<Item = usize> + use<> {
        let mixed = (object.0 ^ object.1.rotate_left(17)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = (mixed >> 52) as usize;
        (0..64).map(move |step| (first + step) % ROOM)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_there_until_it_is_cleared() {
        let mut done = Box::new(Done::new());
        done.add((64, 128));
        done.add((64, 256));

        assert!(done.has((64, 128)) && done.has((64, 256)));
        assert!(!done.has((128, 64)));

        done.clear();
        assert!(!done.has((64, 128)));
    }
}
