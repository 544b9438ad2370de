//! `rea analyze` and `rea explain` as a person and a program call them.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn rea(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rea"))
        .args(arguments)
        .env_remove("NO_COLOR")
        .output()
        .unwrap()
}

fn batch(input: &[u8]) -> (Vec<Value>, i32) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rea"))
        .args(["analyze", "--batch", "--syntax-only"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writing = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writing.join().unwrap().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let answers = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    (answers, output.status.code().unwrap())
}

/// What an answer says in short: the code, or the words of each stage.
fn short(answer: &Value) -> String {
    if let Some(code) = answer["code"].as_str() {
        return format!("{code} {}", answer["span"]);
    }
    let stages = answer["stages"].as_array().unwrap();
    stages
        .iter()
        .map(|stage| stage["argv"].to_string())
        .collect()
}

#[test]
fn exit_statuses_tell_accepted_refused_and_wrong_use_apart() {
    let rows: &[(&[&str], i32)] = &[
        (&["analyze", "--syntax-only", "ls -la"], 0),
        (&["analyze", "--syntax-only", "--json", "ls -la"], 0),
        (&["analyze", "--syntax-only", "ls *"], 1),
        (&["analyze", "--syntax-only", "--json", "ls *"], 1),
        (&["analyze", "--syntax-only", ""], 1),
        (&["analyze", "--syntax-only", "--", "-x"], 1),
        (&["analyze", "--syntax-only", "-x"], 2),
        (&["analyze"], 2),
        (&["analyze", "ls", "-la"], 2),
        (&["analyze", "a", "b"], 2),
        (&["analyze", "--batch", "ls"], 2),
        (&["analyze", "--no-such-flag", "ls"], 2),
        (&["explain"], 0),
        (&["explain", "glob"], 0),
        (&["explain", "no-such-code"], 2),
        (&[], 2),
    ];
    for (arguments, status) in rows {
        let output = rea(arguments);
        assert_eq!(
            output.status.code(),
            Some(*status),
            "{arguments:?}: {output:?}"
        );
        assert_eq!(
            *status == 2,
            output.stdout.is_empty(),
            "{arguments:?}: {output:?}"
        );
    }
}

#[test]
fn people_see_the_words_or_the_carets_and_no_colour_in_a_pipe() {
    let accepted =
        String::from_utf8(rea(&["analyze", "--syntax-only", "git log | head -5"]).stdout).unwrap();
    for part in [
        "plain: 2 stages",
        "git",
        "head",
        "-5",
        "'git' 'log' | 'head' '-5'",
    ] {
        assert!(accepted.contains(part), "{part:?} is not in {accepted}");
    }
    let refused =
        String::from_utf8(rea(&["analyze", "--syntax-only", "ls \u{1b}[31m"]).stdout).unwrap();
    for part in [
        "refused: control-character",
        "ls \\u{1b}[31m",
        "   ^^^^^^",
        "help: ",
        "rea explain control-character",
    ] {
        assert!(refused.contains(part), "{part:?} is not in {refused}");
    }
    assert!(!accepted.contains('\u{1b}') && !refused.contains('\u{1b}'));
}

#[test]
fn json_has_the_documented_keys() {
    let output = rea(&["analyze", "--syntax-only", "--json", "git 'l'og"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["verdict"], "plain");
    assert_eq!(answer["canonical"], "'git' 'log'");
    assert_eq!(
        answer["stages"][0]["argv"],
        serde_json::json!(["git", "log"])
    );
    assert_eq!(
        answer["stages"][0]["words"][1],
        serde_json::json!({"text": "log", "span": [4, 9]})
    );
    let output = rea(&["analyze", "--json", "ls *"]);
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["verdict"], "refused");
    assert_eq!(
        (&answer["code"], &answer["span"]),
        (&"glob".into(), &serde_json::json!([3, 4]))
    );
    assert!(
        answer["message"]
            .as_str()
            .is_some_and(|message| message.contains('*'))
    );
    assert!(answer["help"].as_str().is_some_and(|help| !help.is_empty()));
}

#[test]
fn bytes_that_are_no_text_are_refused_on_the_command_line_too() {
    use std::os::unix::ffi::OsStrExt;
    let command = std::ffi::OsStr::from_bytes(b"ls \xff");
    let output = Command::new(env!("CARGO_BIN_EXE_rea"))
        .args(["analyze", "--json"])
        .arg(command)
        .output()
        .unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(short(&answer), "not-utf8 [3,4]");
}

#[test]
fn a_batch_is_answered_in_order_with_its_last_command() {
    let long = vec![b'a'; 70_000];
    let pieces: &[(&[u8], &str)] = &[
        (b"ls -la", r#"["ls","-la"]"#),
        (b"", "empty [0,0]"),
        (b"ls \xff", "not-utf8 [3,4]"),
        (b"a\nb", "line-break [1,2]"),
        (&long, "too-long [65536,70000]"),
        (b"a | b", r#"["a"]["b"]"#),
    ];
    let input: Vec<u8> = pieces
        .iter()
        .map(|(command, _)| *command)
        .collect::<Vec<_>>()
        .join(&0);
    let want: Vec<_> = pieces.iter().map(|(_, want)| (*want).to_owned()).collect();
    for input in [input.clone(), [&input[..], b"\0"].concat()] {
        let (answers, status) = batch(&input);
        assert_eq!(answers.iter().map(short).collect::<Vec<_>>(), want);
        assert_eq!(status, 0);
    }
    assert_eq!(batch(b""), (vec![], 0));
    assert_eq!(
        batch(b"\0").0.iter().map(short).collect::<Vec<_>>(),
        ["empty [0,0]"]
    );
    assert_eq!(batch(b"\0\0").0.len(), 2);
}

#[test]
fn a_batch_answers_before_it_waits_for_more() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rea"))
        .args(["analyze", "--batch", "--syntax-only"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap()).lines();
    for round in 0..3 {
        write!(stdin, "ls {round}\0").unwrap();
        stdin.flush().unwrap();
        let answer: Value = serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap();
        assert_eq!(short(&answer), format!(r#"["ls","{round}"]"#));
    }
    drop(stdin);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_closed_output_ends_a_batch_quietly() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_rea"))
        .args(["analyze", "--batch", "--syntax-only"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    // The write fails once the process is gone; both ways are fine here.
    let _ = child
        .stdin
        .take()
        .unwrap()
        .write_all(&b"ls -la\0".repeat(100_000));
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), vec![]));
}

#[test]
fn every_code_has_a_manual_entry() {
    let list = String::from_utf8(rea(&["explain"]).stdout).unwrap();
    for code in plainpipe::Code::ALL {
        assert!(
            list.lines()
                .any(|line| line.split(' ').next() == Some(code.as_str())),
            "{code} is not listed"
        );
        let entry = String::from_utf8(rea(&["explain", code.as_str()]).stdout).unwrap();
        assert!(
            entry.starts_with(code.as_str()) && entry.contains("Instead: "),
            "{entry}"
        );
    }
}
