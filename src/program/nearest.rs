//! Names that a person may have meant.

use std::collections::BTreeSet;

use super::host::Host;

/// How many entries of PATH directories are looked at in all.
const MAX_NAMES: usize = 20_000;

/// How many names are offered.
const OFFERED: usize = 3;

/// How alike two names must be, between 0 and 1. Swapped neighbours in a name of three letters
/// are still alike.
const LEAST_LIKENESS: f64 = 0.6;

/// Returns up to three names on PATH that are most like `name`, the best first.
pub(crate) fn nearest(host: &Host, name: &str) -> Vec<String> {
    let directories = host.path_elements().into_iter().flatten();
    let entries = directories
        .filter(|element| element.as_encoded_bytes().starts_with(b"/"))
        .filter_map(|element| std::fs::read_dir(element).ok())
        .flatten()
        .flatten()
        .take(MAX_NAMES);
    let names: BTreeSet<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        // A link of this name that leads nowhere is no help.
        .filter(|other| other != name)
        .collect();
    let mut near: Vec<(f64, String)> = names
        .into_iter()
        .map(|other| (strsim::normalized_damerau_levenshtein(name, &other), other))
        .filter(|(likeness, _)| *likeness >= LEAST_LIKENESS)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    near.truncate(OFFERED);
    near.into_iter().map(|(_, name)| name).collect()
}
