//! Published names: shown, read and stored as their text, and nothing else.

/// Gives a type with `as_str` and `ALL` the traits of a published name, and the error for a text
/// that is none.
macro_rules! stable_name {
    ($type:ident, $unknown:ident, $message:literal) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        #[doc = concat!("A text that is no [`", stringify!($type), "`].")]
        #[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
        #[error($message)]
        pub struct $unknown(String);

        impl std::str::FromStr for $type {
            type Err = $unknown;

            fn from_str(name: &str) -> Result<Self, $unknown> {
                let found = Self::ALL.iter().find(|known| known.as_str() == name);
                found.copied().ok_or_else(|| $unknown(name.to_owned()))
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let name = String::deserialize(deserializer)?;
                name.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

pub(crate) use stable_name;
