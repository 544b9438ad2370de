//! The promises that the fuzz targets check, over every line of the scripts and over random edits.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, path::Path};

use proptest::prelude::*;
use rea_gateway::promises;

/// Every line that a client or a server says in the scripts.
fn recorded() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let said = text.lines().filter_map(|line| {
            let start = line.find('\'')? + 1;
            let end = line.rfind('\'')?;
            line.get(start..end).map(|line| line.replace("$id", "1"))
        });
        lines.extend(said);
    }
    assert!(lines.len() > 200, "only {} lines were found", lines.len());
    lines
}

#[test]
fn recorded_lines_keep_the_promises() {
    for line in recorded() {
        promises::envelope(line.as_bytes());
        promises::tool_name(&line);
    }
}

proptest! {
    #[test]
    fn edited_lines_keep_the_promises(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let lines = recorded();
        let mut line = lines[which.index(lines.len())].clone().into_bytes();
        if !line.is_empty() {
            let at = at.index(line.len());
            line[at] = byte;
        }
        promises::envelope(&line);
    }

    #[test]
    fn names_keep_the_promises(name in "\\PC{0,80}|[a-z_]{0,70}__[a-f0-9]{16}") {
        promises::tool_name(&name);
    }
}
