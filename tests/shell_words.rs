//! Asks the installed shells which words are special to them in the place of a program.
//!
//! Whatever a shell reserves, or defines as an alias by itself, must be refused there. The words
//! asked about are every short one, and every one that occurs in the shells' own binaries: a word
//! that a shell treats in a special way has to be in it somewhere.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test may panic, and says what it skips"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use plainpipe::{Line, Reader};

#[allow(dead_code, reason = "this test needs a part of it")]
mod support;

use support::arena::{Arena, Row, Setting};
use support::compare::{Tally, on_all_cores};
use support::shells::{self, Shell};

/// The longest word that is taken for a name.
const LONGEST: usize = 14;

/// Words of one and two bytes that a shell could be asked about.
fn short_words() -> BTreeSet<String> {
    let bytes: Vec<char> = ('!'..='~')
        .filter(|byte| !"'\"\\/$`&;<>()|*?~#={}".contains(*byte))
        .collect();
    let one = bytes.iter().map(char::to_string);
    let two = bytes
        .iter()
        .flat_map(|one| bytes.iter().map(move |two| format!("{one}{two}")));
    // A builtin takes these for options.
    one.chain(two)
        .filter(|word| !word.starts_with(['-', '+']))
        .collect()
}

/// The words that occur in the binary of `shell`: all of them, and those that are whole strings.
fn words_inside(shell: &Shell) -> (BTreeSet<String>, BTreeSet<String>) {
    let binary = fs::read(&shell.program).unwrap();
    // Wide strings hold three zero bytes after each letter.
    let wide: Vec<u8> = binary
        .chunks(4)
        .map(|chunk| {
            if chunk.len() == 4 && chunk[1..] == [0; 3] {
                chunk[0]
            } else {
                0
            }
        })
        .collect();
    let (mut all, mut whole) = (BTreeSet::new(), BTreeSet::new());
    for bytes in [binary, wide] {
        let is_name = |byte: &u8| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-');
        let mut start = 0;
        while let Some(found) = bytes[start..].iter().position(is_name) {
            let from = start + found;
            let length = bytes[from..]
                .iter()
                .position(|byte| !is_name(byte))
                .unwrap_or(0);
            start = from + length.max(1);
            let word = String::from_utf8_lossy(&bytes[from..from + length]).into_owned();
            if !(2..=LONGEST).contains(&length) || word.starts_with('-') {
                continue;
            }
            if from > 0 && bytes[from - 1] == 0 && bytes.get(start) == Some(&0) {
                whole.insert(word.clone());
            }
            all.insert(word);
        }
    }
    (all, whole)
}

/// Returns those of `words` that `shell` calls a reserved word, and those it calls an alias.
fn special(
    arena: &Arena,
    shell: &Shell,
    words: &BTreeSet<String>,
) -> (BTreeSet<String>, BTreeSet<String>) {
    let words: Vec<&String> = words.iter().collect();
    let mut script = String::new();
    for (index, word) in words.iter().enumerate() {
        writeln!(script, "echo '={index}='\ntype '{word}'").unwrap();
    }
    let answer = arena.worker().ask(shell, &script);
    let (mut reserved, mut aliases) = (BTreeSet::new(), BTreeSet::new());
    let mut current: Option<&String> = None;
    let mut asked = 0;
    for line in String::from_utf8_lossy(&answer).lines() {
        if let Some(index) = line
            .strip_prefix('=')
            .and_then(|rest| rest.strip_suffix('='))
        {
            current = index
                .parse()
                .ok()
                .and_then(|index: usize| words.get(index).copied());
            asked += 1;
        } else if let Some(word) = current {
            let says = |what: &[&str]| what.iter().any(|what| line.contains(what));
            if says(&["is a keyword", "is a reserved word", "a shell keyword"]) {
                reserved.insert(word.clone());
            } else if says(&["is an alias for", ": an alias"]) {
                aliases.insert(word.clone());
            }
        }
    }
    assert_eq!(asked, words.len(), "{} stopped answering", shell.name);
    (reserved, aliases)
}

#[test]
fn no_special_word_of_a_shell_is_taken_for_a_program() {
    let shells = shells::installed();
    if shells.is_empty() {
        return;
    }
    let arena = Arena::new(shells);
    let inside: BTreeMap<&str, _> = arena
        .shells()
        .iter()
        .map(|shell| (shell.name, words_inside(shell)))
        .collect();
    let mut candidates = short_words();
    candidates.extend(inside.values().flat_map(|(all, _)| all.iter().cloned()));
    let mut missed = Vec::new();
    let mut found: BTreeMap<&str, (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for shell in arena.shells() {
        let (reserved, aliases) = special(&arena, shell, &candidates);
        // `nohup` means the same as an alias; only the word after it matters, see below.
        for word in reserved
            .iter()
            .chain(&aliases)
            .filter(|word| *word != "nohup")
        {
            if Line::parse(&format!("{word} x")).is_ok() {
                missed.push(format!("{}: `{word} x` is accepted", shell.name));
            }
        }
        // An alias that ends in a blank makes the word after it one that is expanded.
        for word in aliases.iter().filter(|word| *word != "nohup") {
            if Line::parse(&format!("nohup {word} x")).is_ok() && shell.name == "mksh" {
                missed.push(format!("{}: `nohup {word} x` is accepted", shell.name));
            }
        }
        found.insert(shell.name, (reserved, aliases));
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));

    // The question must be one that the shells answer.
    let known: &[(&str, &[&str], &[&str])] = &[
        ("bash", &["if", "time", "coproc", "[["], &[]),
        ("dash", &["if", "while"], &[]),
        (
            "zsh -f",
            &["if", "repeat", "foreach", "nocorrect", "end"],
            &["run-help"],
        ),
        ("mksh", &["if", "time", "select"], &["type", "nohup", "r"]),
        ("busybox sh", &["if", "function"], &[]),
        ("ksh93", &["if", "namespace", "time"], &[]),
        ("yash", &["if", "function"], &[]),
    ];
    let mut unanswered = Vec::new();
    for (shell, reserved, aliases) in known {
        let Some(answers) = found.get(shell) else {
            continue;
        };
        let lost = |wanted: &[&str], answers: &BTreeSet<String>| -> Vec<String> {
            wanted
                .iter()
                .filter(|word| !answers.contains(**word))
                .map(ToString::to_string)
                .collect()
        };
        for word in [lost(reserved, &answers.0), lost(aliases, &answers.1)].concat() {
            unanswered.push(format!("{shell}: {word}"));
        }
    }
    assert!(
        unanswered.is_empty(),
        "not found special: {}",
        unanswered.join(", ")
    );
}

/// What a shell calls a word is one thing, and what it does with it another.
#[test]
fn words_of_the_binaries_run_as_programs() {
    let shells = shells::installed();
    if shells.is_empty() {
        return;
    }
    let arena = Arena::new(shells);
    let tally = Tally::default();
    let rows: Vec<(usize, Vec<Row>)> = arena
        .shells()
        .iter()
        .enumerate()
        .map(|(index, shell)| {
            let (_, whole) = words_inside(shell);
            let mut reader = Reader::new();
            let lines: Vec<_> = whole
                .iter()
                .map(|word| format!("{word} x"))
                .filter_map(|text| {
                    let line = reader.read(&text).ok()?;
                    Some((text, line))
                })
                .collect();
            (index, arena.rows(&lines))
        })
        .collect();
    let parts: Vec<(usize, &[Row])> = rows
        .iter()
        .flat_map(|(index, rows)| rows.chunks(100).map(|part| (*index, part)))
        .collect();
    on_all_cores(&arena, parts.len() as u64, |worker, job| {
        let (shell, rows) = parts[usize::try_from(job).unwrap()];
        tally.compare_in(
            &arena.shells()[shell],
            worker,
            &Setting::plain("C.UTF-8"),
            rows,
        );
    });
    tally.finish("words of the binaries", 500);
}
