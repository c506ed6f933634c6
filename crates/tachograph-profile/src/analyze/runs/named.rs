//! Things by name that keep the order they came in, in memory and in JSON.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// Things by name, in the order they came.
#[derive(Clone, Debug, PartialEq)]
pub struct Named<T>(pub Vec<(String, T)>);

impl<T> Default for Named<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Named<T> {
    /// The one called `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&T> {
        self.iter().find_map(|(own, thing)| (own == name).then_some(thing))
    }

    /// Each name and its thing.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &T)> + '_ {
        self.0.iter().map(|(name, thing)| (name.as_str(), thing))
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<T> FromIterator<(String, T)> for Named<T> {
    fn from_iter<I: IntoIterator<Item = (String, T)>>(things: I) -> Self {
        Self(things.into_iter().collect())
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for InOrder<T> {
            type Value = Named<T>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("things by name")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Named<T>, M::Error> {
                let mut things = Vec::new();
                while let Some(thing) = map.next_entry()? {
                    things.push(thing);
                }
                Ok(Named(things))
            }
        }

        deserializer.deserialize_map(InOrder(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_survives_json() {
        let text = r#"{"z":1,"a":2,"m":3}"#;

        let named: Named<u32> = serde_json::from_str(text).unwrap();

        assert_eq!(named.get("a"), Some(&2));
        assert_eq!(serde_json::to_string(&named).unwrap(), text);
    }
}
