//! The patterns of `redact.patterns`, vetted when the policy loads.
//!
//! They run on an engine whose time is linear in the text, so no pattern can be slow in the way
//! that backtracking engines know. What that engine cannot do (look-around, back references) is a
//! fault here, never a pattern that silently matches nothing.

use std::path::Path;

use regex::{Regex, RegexBuilder};

use super::document::PatternEntry;
use crate::yaml::{Fault, excerpt};

/// The most bytes of memory that one compiled pattern may take.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// One secret to look for, under its name.
#[derive(Clone, Debug)]
pub struct Pattern {
    /// The name that records use; the secret itself is never recorded.
    pub name: String,
    /// What to look for. Every match is replaced, whatever the flags say.
    pub regex: Regex,
}

impl Pattern {
    pub(super) fn vet(file: &Path, entry: &PatternEntry) -> Result<Self, Fault> {
        for (text, what) in [(&entry.name, "name"), (&entry.regex, "pattern")] {
            if text.value.is_empty() {
                return Err(Fault::at(
                    file,
                    text.place,
                    format!("an empty {what}"),
                    format!("a {what} of at least one character"),
                    "write one or remove the entry",
                ));
            }
        }
        let name = excerpt(&entry.name.value);
        let mut builder = RegexBuilder::new(&entry.regex.value);
        builder.size_limit(MAX_COMPILED_BYTES);
        if let Some(flags) = &entry.flags {
            let mut seen = String::new();
            for flag in flags.value.chars() {
                let known = match flag {
                    'i' => Some(builder.case_insensitive(true)),
                    'm' => Some(builder.multi_line(true)),
                    's' => Some(builder.dot_matches_new_line(true)),
                    // All matches are replaced and text is Unicode anyway; `d` only adds offsets.
                    'g' | 'u' | 'd' => Some(&mut builder),
                    _ => None,
                };
                if known.is_none() || seen.contains(flag) {
                    return Err(Fault::at(
                        file,
                        flags.place,
                        format!(
                            "the flags of the pattern {name} hold {}",
                            excerpt(&flag.to_string())
                        ),
                        "each of `d`, `g`, `i`, `m`, `s`, `u` at most once",
                        "remove that flag",
                    ));
                }
                seen.push(flag);
            }
        }
        let regex = builder.build().map_err(|error| {
            Fault::at(
                file,
                entry.regex.place,
                format!("the pattern {name} does not compile ({})", short(&error)),
                "a pattern without look-around and back references, of moderate size",
                "correct the pattern",
            )
        })?;
        Ok(Self {
            name: entry.name.value.clone(),
            regex,
        })
    }
}

/// Keeps the one line of the engine's message that says what is wrong, not the pattern itself.
fn short(error: &regex::Error) -> String {
    let message = error.to_string();
    message
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("error: "))
        .map_or_else(|| excerpt(&message), str::to_owned)
}
