//! Replays every seed of the fuzz targets, and every input under `fuzz/regressions/` that once broke a
//! promise of the gateway.

mod seeds;

use std::{collections::BTreeMap, fs, path::Path};

use rea_gateway::promises;

#[test]
fn seeds_keep_the_promises() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut replayed: BTreeMap<&str, usize> = BTreeMap::new();
    for seed in seeds::all(&tests).unwrap() {
        assert!(
            promises::replay(seed.target, &seed.bytes),
            "{}: no promise is called {}",
            seed.name,
            seed.target
        );
        *replayed.entry(seed.target).or_default() += 1;
    }
    for target in promises::TARGETS {
        let seeds = replayed.get(target).copied().unwrap_or_default();
        assert!(seeds >= 8, "{target} has {seeds} seeds");
    }
}

#[test]
fn inputs_that_once_broke_a_promise_no_longer_do() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    for target in promises::TARGETS {
        let program = folder.join(format!("fuzz_targets/{target}.rs"));
        assert!(program.exists(), "{} is missing", program.display());
        // A target that never found anything has no folder.
        for file in fs::read_dir(folder.join("regressions").join(target))
            .into_iter()
            .flatten()
        {
            let path = file.unwrap().path();
            promises::replay(target, &fs::read(path).unwrap());
        }
    }
}
