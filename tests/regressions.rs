//! Replays every input under `fuzz/regressions/`, so that what was fixed once stays fixed.
//!
//! A folder is named after the fuzz target that found its files. Those of the gateway are replayed by its own
//! tests.

use std::fs;
use std::path::Path;

use plainpipe::promises;

/// The targets whose promises the gateway makes.
const OF_THE_GATEWAY: [&str; 7] = [
    "audit_file",
    "audit_line",
    "envelope",
    "policy",
    "registry",
    "tool_name",
    "tool_tier",
];

#[test]
fn inputs_that_once_broke_a_promise_no_longer_do() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/regressions");
    if !root.exists() {
        // The published package comes without the fuzzers.
        assert!(
            !root.with_file_name("fuzz_targets").exists(),
            "fuzz/regressions is missing"
        );
        return;
    }
    let mut replayed = 0;
    for folder in fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
    {
        let target = folder.file_name().unwrap().to_str().unwrap().to_owned();
        if OF_THE_GATEWAY.contains(&&*target) {
            continue;
        }
        for file in fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
        {
            promises::replay(&target, &fs::read(&file).unwrap());
            replayed += 1;
        }
    }
    assert!(replayed > 0, "nothing to replay under {}", root.display());
}
