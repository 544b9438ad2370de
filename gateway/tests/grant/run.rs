//! `rea run`, with grants and without.

use std::fs;

use crate::place::{Place, text};

#[test]
fn a_line_with_a_wrapper_runs_with_all_its_grants() {
    let place = Place::new();
    place.add("nice -n 1 printenv REA_TEST", "exact", "once");
    place.add("nice -n 1 cat a", "exact", "once");
    fs::write(place.at("work/a"), "said\n").unwrap();
    let run = |line: &str| {
        let output = place
            .command(&["run", "--require-grant", line])
            .env("PATH", "/usr/bin:/bin")
            .output()
            .unwrap();
        (output.status.code(), text(&output.stdout))
    };
    assert_eq!(run("nice -n 1 cat a"), (Some(0), "said\n".to_owned()));
    assert_eq!(run("nice -n 1 cat a"), (Some(125), String::new()));
    // Both grants were used up, that of the wrapper and that of the program inside it.
    assert_eq!(place.check_on("/usr/bin:/bin", "cat a"), Some(3));
}

#[test]
fn run_ends_as_its_help_says() {
    let place = Place::new();
    place.program("tool", "#!/bin/sh\nexit 9\n");
    let rows: [(&[&str], i32); 12] = [
        (&["--cwd", "/nowhere", "true"], 125),
        (&["--time-limit", "0s", "true"], 2),
        (&["--output-limit", "0", "true"], 2),
        (&["true"], 0),
        (&["tool"], 9),
        (&["tool | true"], 9),
        (&["sh -c 'kill -9 $$'"], 137),
        (&["nosuchprogram"], 127),
        (&["./nosuchprogram"], 127),
        (&["cat *.md"], 125),
        (&["--require-grant", "tool"], 125),
        (&["--time-limit", "100ms", "sleep 300"], 124),
    ];
    let mut wrong = Vec::new();
    for (words, want) in rows {
        let output = place.rea(&[&["run"], words].concat());
        if output.status.code() != Some(want) {
            wrong.push(format!(
                "{words:?}: {:?}, not {want}: {}",
                output.status,
                text(&output.stderr)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let limited = place.rea(&["run", "--output-limit", "10", "yes"]);
    assert_eq!(
        (limited.stdout.len(), limited.status.code()),
        (10, Some(124))
    );
}

#[test]
fn signals_are_passed_on() {
    let place = Place::new();
    place.program(
        "tool",
        "#!/usr/bin/perl\n$SIG{USR1} = sub { print \"got it\\n\"; exit 5 };\n\
        $| = 1; print \"up\\n\"; sleep 300;\n",
    );
    let mut rea = place.command(&["run", "tool"]);
    let mut child = rea.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert_eq!(line, "up\n");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::USR1).unwrap();
    line.clear();
    std::io::BufRead::read_line(&mut said, &mut line).unwrap();
    assert_eq!(
        (line.as_str(), child.wait().unwrap().code()),
        ("got it\n", Some(5))
    );
}
