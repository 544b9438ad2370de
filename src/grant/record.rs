//! The content of the file of grants: strict JSON, with its version first.

use std::collections::HashSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::StoreError;
use super::grant::Given;

/// The version of the format that is written. Older ones there are none of.
pub(super) const VERSION: u64 = 1;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Read {
    version: u64,
    grants: Vec<Given>,
}

#[derive(Serialize)]
struct Written<'a> {
    version: u64,
    grants: &'a [Given],
}

/// Only the version: whatever else a later format holds is not ours to judge.
#[derive(Deserialize)]
#[serde(expecting = "an object with a `version`")]
struct Versioned {
    version: u64,
}

/// Reads the content of the file at `path`.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Vec<Given>, StoreError> {
    let corrupt = |found: String| StoreError::Corrupt {
        path: path.to_owned(),
        found,
    };
    let versioned: Versioned =
        serde_json::from_slice(bytes).map_err(|error| corrupt(error.to_string()))?;
    if versioned.version > VERSION {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            version: versioned.version,
        });
    }
    let Read { version, grants } =
        serde_json::from_slice(bytes).map_err(|error| corrupt(error.to_string()))?;
    if version != VERSION {
        return Err(corrupt(format!("there is no format version {version}")));
    }
    let mut names = HashSet::with_capacity(grants.len());
    for given in &grants {
        let id = given.id;
        if !names.insert(id) {
            return Err(corrupt(format!("two grants are called {id}")));
        }
        given
            .check()
            .map_err(|found| corrupt(format!("grant {id}: {found}")))?;
    }
    Ok(grants)
}

/// Returns the content for these grants.
pub(super) fn write(path: &Path, grants: &[Given]) -> Result<Vec<u8>, StoreError> {
    let content = Written {
        version: VERSION,
        grants,
    };
    let mut bytes = serde_json::to_vec_pretty(&content).map_err(|error| StoreError::System {
        path: path.to_owned(),
        doing: "put the grants into JSON",
        source: error.into(),
    })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Asserts that whatever can be read is written and read back as it was.
///
/// # Panics
///
/// When it is not.
pub(crate) fn check(bytes: &[u8]) {
    let path = Path::new("grants.json");
    let Ok(given) = read(path, bytes) else {
        return;
    };
    let written = write(path, &given);
    assert!(
        written.is_ok(),
        "what was read cannot be written: {written:?}"
    );
    let again = written.and_then(|written| read(path, &written));
    assert!(
        again.as_ref().is_ok_and(|again| *again == given),
        "{given:?} became {again:?}"
    );
}
