//! `rea run` under what a parent hands down, and at its limits.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs::{self, File};
use std::process::{Command, Output, Stdio};

const REA: &str = env!("CARGO_BIN_EXE_rea");

/// Returns `rea` as `env` starts it with these settings, for a home of its own.
fn under(home: &std::path::Path, settings: &[&str]) -> Command {
    let mut command = Command::new("env");
    command.args(settings).arg(REA);
    command.env("HOME", home).env_remove("XDG_CACHE_HOME");
    command.stdin(Stdio::null());
    command
}

fn status(output: &Output) -> (Option<i32>, String) {
    let errors = String::from_utf8(output.stderr.clone()).unwrap();
    (output.status.code(), errors)
}

#[test]
fn a_parent_that_ignores_its_children_changes_nothing() {
    let home = tempfile::tempdir().unwrap();
    for (line, want) in [("true", 0), ("sh -c 'exit 3'", 3), ("true | false", 1)] {
        let mut rea = under(home.path(), &["--ignore-signal=CHLD"]);
        let output = rea.args(["run", line]).output().unwrap();
        assert_eq!(status(&output), (Some(want), String::new()), "{line}");
    }
}

#[test]
fn a_signal_that_was_ignored_at_the_start_stays_ignored() {
    let home = tempfile::tempdir().unwrap();
    // The line tells its own parent, which is `rea`, as a terminal that is closed would.
    let line = "sh -c 'kill -HUP $PPID; sleep 0.2; kill -HUP $$; echo on'";
    let mut rea = under(home.path(), &["--ignore-signal=HUP"]);
    let output = rea.args(["run", line]).output().unwrap();
    assert_eq!(status(&output), (Some(0), String::new()));
    assert_eq!(output.stdout, b"on\n");
    let output = under(home.path(), &[]).args(["run", line]).output();
    assert_eq!(output.unwrap().status.code(), Some(129));
}

#[test]
fn each_limit_and_a_reader_that_has_gone_have_their_status() {
    let home = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str], output: Stdio| {
        let mut rea = under(home.path(), &[]);
        rea.arg("run").args(arguments).stdout(output);
        status(&rea.stderr(Stdio::piped()).output().unwrap())
    };
    for (arguments, want, told) in [
        (&["--output-limit", "10", "seq 1000"][..], 124, "10 bytes"),
        (&["--output-limit", "10", "yes"], 124, "10 bytes"),
        (&["--output-limit", "10", "seq 3"], 0, ""),
        (&["--time-limit", "100ms", "sleep 60"], 124, "100ms"),
    ] {
        let (code, errors) = run(arguments, Stdio::null());
        assert_eq!(code, Some(want), "{arguments:?}: {errors}");
        assert!(
            errors.contains(told) && errors.is_empty() == told.is_empty(),
            "{errors}"
        );
    }
    let full = File::options().write(true).open("/dev/full").unwrap();
    let (code, errors) = run(&["--output-limit", "100", "seq 3"], full.into());
    assert!(
        code == Some(1) && errors.contains("output cannot be passed on"),
        "{code:?} {errors}"
    );
    for limit in [&[][..], &["--output-limit", "100000000"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let arguments: Vec<_> = limit.iter().copied().chain(["yes"]).collect();
        assert_eq!(
            run(&arguments, writer.into()),
            (Some(141), String::new()),
            "{limit:?}"
        );
    }
}

#[test]
fn a_program_is_not_looked_for_through_a_process() {
    let home = tempfile::tempdir().unwrap();
    let tool = home.path().join("tool");
    fs::copy("/bin/true", &tool).unwrap();
    for (path, line) in [
        ("/proc/self/cwd", "tool"),
        ("/bin", "/proc/self/cwd/tool"),
        ("/bin", "/dev/fd/../cwd/tool"),
    ] {
        let mut rea = under(home.path(), &[]);
        rea.current_dir(home.path())
            .args(["run", "--path", path, line]);
        let (code, errors) = status(&rea.output().unwrap());
        assert!(
            code == Some(125) && errors.contains("path-relative"),
            "{path} {line}: {errors}"
        );
    }
}
