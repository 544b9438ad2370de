//! Which file a program word stands for, on every shape of PATH.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

#[path = "support/machine.rs"]
mod machine;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use machine::{Machine, file, pin};
use plainpipe::program::{Fact, Ids, WritableSearch};
use plainpipe::{Analyzer, Host, Line, Shell};

/// The machine that the rows below speak of.
fn machine() -> Machine {
    let machine = Machine::new();
    machine.program("a/tool", "a");
    machine.program("b/tool", "b");
    machine.program("b/only-b", "b");
    machine.write("plain/tool", "#!/bin/sh\n", 0o644);
    machine.write("plain/flat", "#!/bin/sh\n", 0o644);
    fs::create_dir_all(machine.at("directory/tool")).unwrap();
    fs::create_dir_all(machine.at("directory/room")).unwrap();
    machine.link("loop/tool", "tool");
    machine.link("dangling/tool", "nowhere");
    machine.link("linked", "b");
    machine.write("file", "", 0o755);
    machine.program("b/a b", "blank");
    machine.program("b/it's", "quote");
    machine.program(&format!("b/{}", "n".repeat(255)), "long");
    machine.link("links/1", "2");
    machine.link("links/2", "../links/3");
    machine.link("links/3", machine.at("b/tool"));
    machine
}

#[test]
fn every_shape_of_path_leads_to_one_file_or_one_reason() {
    let machine = machine();
    let long = "n".repeat(255);
    let longer = "n".repeat(256);
    let in_b = format!("b/{long}");
    let rows: &[(&str, &str, Result<&str, &str>)] = &[
        ("@/a:@/b", "tool", Ok("a/tool")),
        ("@/b:@/a", "tool", Ok("b/tool")),
        ("@/a:@/b", "only-b", Ok("b/only-b")),
        // Empty elements, which stand for the working directory.
        (":@/a", "tool", Err("path-relative")),
        ("@/a::@/b", "only-b", Err("path-relative")),
        ("@/b:", "tool", Ok("b/tool")),
        ("@/a:", "only-b", Err("path-relative")),
        ("", "tool", Err("path-relative")),
        // Relative ones, of which those after the match are never reached.
        (".:@/a", "tool", Err("path-relative")),
        ("a", "tool", Err("path-relative")),
        ("~/bin:@/a", "tool", Err("path-relative")),
        ("@/a:.", "tool", Ok("a/tool")),
        ("@/a:b", "only-b", Err("path-relative")),
        // Elements with nothing to find in them.
        ("@/none:@/b", "tool", Ok("b/tool")),
        ("@/file:@/b", "tool", Ok("b/tool")),
        ("@/plain:@/b", "tool", Ok("b/tool")),
        ("@/directory:@/b", "tool", Ok("b/tool")),
        ("@/dangling:@/b", "tool", Ok("b/tool")),
        ("@/plain", "flat", Err("not-executable")),
        ("@/directory", "room", Err("not-a-file")),
        ("@/dangling", "tool", Err("program-not-found")),
        ("@/a:@/b", "absent", Err("program-not-found")),
        // A loop ends the search, since execvp and the shells part ways there.
        ("@/loop:@/b", "tool", Err("symlink-loop")),
        ("@/linked", "tool", Ok("b/tool")),
        ("@/a/../b", "tool", Ok("b/tool")),
        ("@//b/", "tool", Ok("b/tool")),
        ("@/links", "1", Ok("b/tool")),
        // Names.
        ("@/b", "'a b'", Ok("b/a b")),
        ("@/b", r"it\'s", Ok("b/it's")),
        ("@/b", &long, Ok(&in_b)),
        ("@/b", &longer, Err("program-not-found")),
        // By path, whatever PATH is.
        ("", "b/tool", Ok("b/tool")),
        ("", "./b/tool", Ok("b/tool")),
        ("", "linked/../b/tool", Ok("b/tool")),
        ("", "links/1", Ok("b/tool")),
        ("", "./none", Err("program-not-found")),
        ("", "./b", Err("not-a-file")),
        ("", "b/tool/", Err("not-a-file")),
        ("", "file/tool", Err("not-a-file")),
        ("", "loop/tool", Err("symlink-loop")),
        ("", "plain/tool", Err("not-executable")),
    ];
    let mut wrong = Vec::new();
    for (path, name, want) in rows {
        let got = pin(&machine.host(path), name)
            .map(|pinned| file(&pinned).identity().real_path.clone())
            .map_err(|refusal| (refusal.code().as_str(), refusal.span()));
        let word = Line::parse(name).unwrap();
        let span = word.stages().next().unwrap().program().span;
        let want = want
            .map(|path| machine.at(path))
            .map_err(|code| (code, span));
        if got != want {
            wrong.push(format!("{path:?} {name:?}: want {want:?}, got {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_name_is_looked_up_as_which_does_where_both_answer() {
    let machine = machine();
    let mut agreed = 0;
    for path in [
        "@/a:@/b",
        "@/b:@/a",
        "@/none:@/plain:@/directory:@/b",
        "@/file:@/linked",
    ] {
        for name in ["tool", "only-b", "flat", "room", "absent"] {
            let host = machine.host(path);
            let ours = pin(&host, name).map(|pinned| file(&pinned).path().to_owned());
            let theirs = which::which_in(name, host.path(), machine.root());
            assert_eq!(ours.ok(), theirs.ok(), "{path} {name}");
            agreed += 1;
        }
    }
    assert!(agreed > 10);
}

#[test]
fn a_path_of_4096_elements_is_searched_to_its_end() {
    let machine = machine();
    let path = format!("{}@/b", "@/none:".repeat(4095));
    let pinned = pin(&machine.host(&path), "only-b").unwrap();
    assert_eq!(file(&pinned).path(), machine.at("b/only-b"));
    let refusal = pin(&machine.host(&path), "absent").unwrap_err();
    assert_eq!(refusal.code().as_str(), "program-not-found");
}

#[test]
fn without_a_path_only_paths_are_found() {
    let machine = machine();
    let host = machine.host("").with_path(None);
    let refusal = pin(&host, "tool").unwrap_err();
    assert_eq!(refusal.code().as_str(), "path-unset");
    assert!(pin(&host, "./b/tool").is_ok());
}

#[test]
fn a_name_that_is_not_found_comes_with_the_nearest_ones() {
    let machine = Machine::new();
    for name in ["git", "gitk", "grep", "unrelated"] {
        machine.program(&format!("bin/{name}"), name);
    }
    let rows = [
        ("gti", "did you mean `git`?"),
        ("gitt", "did you mean `git` or `gitk`?"),
        ("xyzzy", "check the spelling and the PATH"),
    ];
    for (name, hint) in rows {
        let refusal = pin(&machine.host("@/bin"), name).unwrap_err();
        assert_eq!(refusal.help(), hint, "{name}");
    }
}

#[test]
fn a_newline_in_a_name_on_path_is_shown_escaped() {
    let machine = Machine::new();
    machine.program("bin/gi\u{1b}[2Jt\n", "x");
    let refusal = pin(&machine.host("@/bin"), "git").unwrap_err();
    let hint = refusal.help();
    assert!(!hint.chars().any(char::is_control), "{hint:?}");
}

#[test]
fn a_loop_notices_what_changes_on_path() {
    let machine = Machine::new();
    machine.program("b/tool", "b");
    fs::create_dir(machine.at("a")).unwrap();
    let mut analyzer = Analyzer::new(machine.host("@/none:@/a:@/b"));
    let mut found = |want: &str| {
        let pinned = analyzer.analyze("tool").unwrap();
        assert_eq!(file(&pinned).path(), machine.at(want));
    };
    for _ in 0..3 {
        found("b/tool");
    }
    machine.program("a/tool", "a");
    found("a/tool");
    fs::remove_file(machine.at("a/tool")).unwrap();
    found("b/tool");
    // A link that leads nowhere is there all along; then it leads to a file.
    machine.link("a/tool", "later");
    found("b/tool");
    machine.program("a/later", "later");
    found("a/tool");
    fs::set_permissions(machine.at("a/later"), fs::Permissions::from_mode(0o644)).unwrap();
    found("b/tool");
    // A directory that was not there at all.
    machine.program("none/tool", "none");
    found("none/tool");
}

#[test]
fn a_directory_that_the_user_can_write_to_is_refused_for_a_shell_and_reported_without_one() {
    let machine = Machine::new();
    machine.program("late/tool", "x");
    fs::create_dir(machine.at("early")).unwrap();
    fs::set_permissions(machine.at("early"), fs::Permissions::from_mode(0o777)).unwrap();
    let host = machine.host("@/early:@/late");
    for shell in [Shell::Bash, Shell::Sh, Shell::Zsh] {
        let refusal = pin(&host.clone().with_shell(shell), "tool").unwrap_err();
        assert_eq!(refusal.code().as_str(), "path-writable", "{shell}");
    }
    let reporting = host.clone().with_shell(Shell::Bash);
    for host in [host, reporting.with_writable_search(WritableSearch::Report)] {
        let pinned = pin(&host, "tool").unwrap();
        let facts: Vec<_> = file(&pinned).trust().iter().collect();
        let early = facts
            .iter()
            .find(|trust| trust.fact == Fact::EarlierDirectoryWritable);
        assert_eq!(early.unwrap().at, machine.at("early"));
    }
}

#[test]
fn facts_about_trust_name_what_they_were_seen_on() {
    let machine = Machine::new();
    let tool = machine.program("bin/tool", "x");
    fs::set_permissions(machine.at("bin"), fs::Permissions::from_mode(0o775)).unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o6757)).unwrap();
    let pinned = pin(&machine.host("@/bin"), "tool").unwrap();
    let seen = |fact, at: &str| {
        let at = machine.at(at);
        file(&pinned)
            .trust()
            .iter()
            .any(|trust| trust.fact == fact && trust.at == at)
    };
    let missing: Vec<_> = [
        (Fact::WritableByGroup, "bin"),
        (Fact::WritableByOthers, "bin/tool"),
        (Fact::SetUid, "bin/tool"),
        (Fact::SetGid, "bin/tool"),
        (Fact::UnderWorkingDirectory, "bin/tool"),
    ]
    .into_iter()
    .filter(|(fact, at)| !seen(*fact, at))
    .collect();
    assert!(
        missing.is_empty(),
        "{missing:?} of {:?}",
        file(&pinned).trust()
    );
    assert!(!file(&pinned).is_protected());
}

#[test]
fn the_rights_of_another_user_are_judged_by_permission_bits() {
    let machine = Machine::new();
    let tool = machine.program("bin/tool", "x");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o744)).unwrap();
    let ids = Ids::new(54321, 54321, Vec::new());
    let refusal = pin(&machine.host("@/bin").with_ids(ids), "tool").unwrap_err();
    assert_eq!(refusal.code().as_str(), "not-executable");
}

#[test]
fn a_path_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStrExt;
    let machine = Machine::new();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    let directory = machine.root().join(name);
    fs::create_dir(&directory).unwrap();
    fs::rename(machine.program("tool", "x"), directory.join("tool")).unwrap();
    symlink(directory.join("tool"), machine.at("link")).unwrap();
    let refusal = pin(&machine.host(""), "./link").unwrap_err();
    assert_eq!(refusal.code().as_str(), "path-not-utf8");
    assert!(Host::new(None, "relative").is_err());
    assert!(Host::new(None, machine.at("absent")).is_err());
}
