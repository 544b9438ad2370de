//! What `analyze` says of lines on machines that the tests build.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use plainpipe::{Host, Program, Shell};

/// A host that finds real programs, whatever this process has on its own PATH.
fn host() -> Host {
    Host::new(Some("/usr/bin:/bin".into()), "/").unwrap()
}

#[test]
fn an_accepted_line_serialises_with_its_programs() {
    let mut analyzer = plainpipe::Analyzer::new(host());
    let pinned = analyzer.analyze("printf 'a\\n' | cat | head -1").unwrap();
    let object = serde_json::to_value(&pinned).unwrap();
    let kinds: Vec<_> = object["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stage| (stage["argv"][0].clone(), stage["program"]["kind"].clone()))
        .collect();
    assert_eq!(
        serde_json::to_string(&kinds).unwrap(),
        r#"[["printf","builtin"],["cat","file"],["head","file"]]"#
    );
    let fields: Vec<_> = object["stages"][1]["program"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    for field in [
        "name",
        "kind",
        "path",
        "real_path",
        "called",
        "sha256",
        "size",
        "mode",
        "uid",
        "gid",
        "mtime_ns",
        "ctime_ns",
        "dev",
        "ino",
        "interpreters",
        "trust",
    ] {
        assert!(
            fields.iter().any(|known| known == field),
            "{field} of {fields:?}"
        );
    }
    let Program::File(cat) = &pinned.programs()[1] else {
        panic!("{pinned:?}");
    };
    let bytes = std::fs::read(cat.path()).unwrap();
    let digest = <sha2::Sha256 as sha2::Digest>::digest(bytes);
    assert_eq!(
        cat.identity().sha256.as_bytes().as_slice(),
        digest.as_slice()
    );
    assert_eq!(pinned.shell(), Shell::Bash);
}
