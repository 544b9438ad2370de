//! Reads a YAML file into a type, strictly, and says where a fault stands.
//!
//! YAML 1.2 core: `yes` and `on` are words, `8080` is a number and never a string, keys are
//! unique, merge keys (`<<`) and unknown tags are refused. Aliases work within a small budget. A
//! value that is there but empty (`key:`) is a fault, since nobody can tell what was meant.
//!
//! This is the only module that knows which crate reads the text.

mod fault;
#[cfg(test)]
mod tests;
mod value;

use std::{
    fmt::Write as _,
    fs::{File, OpenOptions},
    io::{ErrorKind, Read as _},
    os::unix::fs::OpenOptionsExt as _,
    path::Path,
};

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use serde_saphyr::{DuplicateKeyPolicy, MergeKeyPolicy, Options};

pub use self::{
    fault::{Fault, Place, excerpt},
    value::{Entries, Flag, Located, Whole, present},
};

/// The most bytes a file may have.
pub const MAX_FILE_BYTES: u64 = 1 << 20;
/// The deepest that lists and mappings may nest.
pub const MAX_DEPTH: usize = 32;
/// The most anchors, and the most aliases, that a file may have.
pub const MAX_ALIASES: usize = 1_000;
/// The most parser events that a file may cost, aliases expanded.
pub const MAX_EVENTS: usize = 200_000;
/// Reads the regular file at `path`, at most [`MAX_FILE_BYTES`] of it.
///
/// # Errors
///
/// A [`Fault`] without a place: the file is missing ([`Fault::missing`]), is no regular file,
/// cannot be read, is too long, or is not UTF-8. A pipe at `path` is refused, not waited for.
pub fn text_of(path: &Path) -> Result<String, Fault> {
    let unreadable = |error: &std::io::Error| {
        let missing = error.kind() == ErrorKind::NotFound;
        let advice = if missing {
            "run `rea init --minimal` to write a first one"
        } else {
            "check its permissions"
        };
        let what = format!("cannot be read ({})", error.kind());
        Fault {
            missing,
            ..Fault::whole(path, what, "a file that this user can read", advice)
        }
    };
    let file: File = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(|error| unreadable(&error))?;
    let metadata = file.metadata().map_err(|error| unreadable(&error))?;
    if !metadata.is_file() {
        return Err(Fault::whole(
            path,
            "is not a regular file",
            "a YAML file",
            "put a file there",
        ));
    }
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| unreadable(&error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Fault::whole(
            path,
            "is too long",
            format!("at most {MAX_FILE_BYTES} bytes"),
            "shorten the file",
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        Fault::whole(
            path,
            format!("is not UTF-8 from byte {byte} on"),
            "UTF-8 text",
            "save the file as UTF-8",
        )
    })
}

/// Writes `text` as a double-quoted string of ASCII characters that reads as `text` again.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            ' '..='~' => out.push(character),
            other => {
                let _ = write!(out, "\\U{:08x}", u32::from(other));
            }
        }
    }
    out.push('"');
    out
}

/// Reads the YAML document `text` into a `T`; `file` only names it in faults.
///
/// An empty document reads as null: `Option<T>` accepts it, a structure does not.
///
/// # Errors
///
/// The first [`Fault`] of the text. Values of the file are never part of it, only keys, since a
/// value may be a secret.
pub fn parse<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, Fault> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(Fault::whole(
            file,
            "is too long",
            format!("at most {MAX_FILE_BYTES} bytes"),
            "shorten the file",
        ));
    }
    serde_saphyr::from_str_with_options(text, options())
        .map_err(|error| fault::explain(file, &error))
}

fn options() -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_events: MAX_EVENTS,
            max_aliases: MAX_ALIASES,
            max_anchors: MAX_ALIASES,
            max_recorded_anchor_events: MAX_EVENTS,
            max_documents: 2, // one more than allowed, to be told apart from the other limits
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_EVENTS,
            max_replay_stack_depth: MAX_DEPTH,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        no_schema: true,
        reject_unsupported_tags: true,
        reject_tagged_field_names: true,
        with_snippet: false,
    }
}
