//! The file of grants: who uses up a grant, and whom it is trusted from.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::place::{Place, text};

/// Changes something about a place.
type Change = fn(&Place);

#[test]
fn a_once_grant_is_used_once_however_many_try() {
    let place = Place::new();
    place.program("tool", "#!/bin/sh\necho ran\n");
    for round in 0..5 {
        place.add("tool", "exact", "once");
        assert_eq!(place.check("tool"), Some(0), "a check used it up");
        let tries = (0..4).map(|_| {
            let mut rea = place.command(&["run", "--require-grant", "tool"]);
            rea.stdout(std::process::Stdio::piped()).spawn().unwrap()
        });
        let tries: Vec<_> = tries.collect::<Vec<_>>().into_iter().collect();
        let ends = tries
            .into_iter()
            .map(|child| child.wait_with_output().unwrap());
        let ran = ends
            .filter(|end| end.status.success())
            .map(|end| end.stdout);
        assert_eq!(
            ran.collect::<Vec<_>>(),
            [b"ran\n".to_vec()],
            "round {round}"
        );
        assert_eq!(place.check("tool"), Some(3));
    }
    place.add("tool", "exact", "once");
    let take = ["grant", "check", "tool", "--shell", "none", "--take"];
    assert_eq!(place.rea(&take).status.code(), Some(0));
    assert_eq!(place.rea(&take).status.code(), Some(3));
    // One for each stage, and each is used by one stage only.
    place.add("tool | tool", "exact", "once");
    assert_eq!(place.check("tool | tool | tool"), Some(3));
    assert_eq!(place.check("tool | tool"), Some(0));
    let ran = place.rea(&["run", "--require-grant", "tool | tool"]);
    assert_eq!(ran.stdout, b"ran\n");
    assert_eq!(place.check("tool"), Some(3));
    let pruned = text(&place.rea(&["grant", "prune"]).stdout);
    assert_eq!(pruned.lines().count(), 8, "{pruned}");
}

#[test]
fn a_store_that_cannot_be_trusted_is_an_error_and_not_an_empty_one() {
    let good = "{\"version\":1,\"grants\":[]}";
    let rows = [
        ("", 5),
        ("{}", 5),
        ("[]", 5),
        ("{\"version\":1}", 5),
        ("{\"version\":0,\"grants\":[]}", 5),
        ("{\"version\":2,\"grants\":{\"later\":true}}", 5),
        ("{\"version\":1,\"grants\":[],\"more\":1}", 5),
        ("{\"version\":1,\"grants\":[],\"grants\":[]}", 5),
        ("{\"version\":1,\"grants\":[]}}", 5),
        (
            "{\"version\":1,\"grants\":[{\"id\":\"0000000000000000\"}]}",
            5,
        ),
        (good, 3),
    ];
    let place = Place::new();
    place.program("tool", "#!/bin/sh\n");
    fs::create_dir(place.at("state/rea")).unwrap();
    let write = |content: &str| {
        fs::write(place.store(), content).unwrap();
        fs::set_permissions(place.store(), fs::Permissions::from_mode(0o600)).unwrap();
    };
    let mut wrong = Vec::new();
    for (content, want) in rows {
        write(content);
        let got = place.check("tool");
        let added = place.add("tool", "name", "always").status.code();
        let run = place.rea(&["run", "--require-grant", "tool"]).status.code();
        if got != Some(want) || (want == 5 && (added, run) != (Some(5), Some(125))) {
            wrong.push(format!("{content}: {got:?} {added:?} {run:?}"));
        }
        if want == 5 && fs::read_to_string(place.store()).unwrap() != content {
            wrong.push(format!("{content}: was replaced"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    // Ways in which somebody else could have written it, or will.
    let spoils: [(&str, Change); 5] = [
        ("open to others", |place| {
            fs::set_permissions(place.store(), fs::Permissions::from_mode(0o644)).unwrap();
        }),
        ("a symlink", |place| {
            fs::rename(place.store(), place.at("state/real")).unwrap();
            symlink(place.at("state/real"), place.store()).unwrap();
        }),
        ("a hard link", |place| {
            fs::hard_link(place.store(), place.at("state/twin")).unwrap();
        }),
        ("a directory that others may write to", |place| {
            let directory = place.at("state/rea");
            fs::set_permissions(directory, fs::Permissions::from_mode(0o777)).unwrap();
        }),
        ("a directory", |place| {
            fs::remove_file(place.store()).unwrap();
            fs::create_dir(place.store()).unwrap();
        }),
    ];
    for (what, spoil) in spoils {
        let place = Place::new();
        place.program("tool", "#!/bin/sh\n");
        place.add("tool", "name", "always");
        assert_eq!(place.check("tool"), Some(0));
        spoil(&place);
        assert_eq!(place.check("tool"), Some(5), "{what}");
    }
}
