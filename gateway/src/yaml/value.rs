//! Types that a file's structures are made of, stricter than the plain ones.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Unexpected, Visitor},
};

use super::Place;

/// A value and the place where it was written.
///
/// For a value that came through an alias the place is the alias, which is where to edit.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub place: Place,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = serde_saphyr::Spanned::deserialize(deserializer)?;
        Ok(Self {
            value: spanned.value,
            place: Place::from(spanned.referenced),
        })
    }
}

/// The entries of a mapping in the order of the file, each with its places.
///
/// A key that stands twice was refused by the parser already.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Entries<V>(pub Vec<(Located<String>, Located<V>)>);

impl<V> Default for Entries<V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Entries<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder<V>(std::marker::PhantomData<V>);

        impl<'de, V: Deserialize<'de>> Visitor<'de> for InOrder<V> {
            type Value = Entries<V>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a mapping")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(InOrder(std::marker::PhantomData))
    }
}

/// A whole number that is not negative. Unlike a plain integer it is never read from a quoted string.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Whole(pub u64);

impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Unquoted;

        impl Visitor<'_> for Unquoted {
            type Value = Whole;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a whole number of 0 or more, without quotes")
            }

            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Whole, E> {
                Ok(Whole(number))
            }

            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Whole, E> {
                u64::try_from(number)
                    .map(Whole)
                    .map_err(|_| E::invalid_value(Unexpected::Signed(number), &self))
            }
        }

        deserializer.deserialize_any(Unquoted)
    }
}

/// A truth value. Unlike a plain `bool` it is never read from a quoted string.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Flag(pub bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Unquoted;

        impl Visitor<'_> for Unquoted {
            type Value = Flag;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("`true` or `false`, without quotes")
            }

            fn visit_bool<E: serde::de::Error>(self, flag: bool) -> Result<Flag, E> {
                Ok(Flag(flag))
            }
        }

        deserializer.deserialize_any(Unquoted)
    }
}

/// Reads an optional key, for `#[serde(default, deserialize_with = "yaml::present")]`.
///
/// With a plain `Option`, `key:` and `key: null` would read as absent; here they are a fault.
pub fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}
