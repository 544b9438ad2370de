//! Runs every row under `corpus/` through the public API.
#![expect(clippy::panic, reason = "a test may panic")]

use std::collections::BTreeSet;

use plainpipe::{Code, Line, Reader, Refusal};

#[path = "support/corpus.rs"]
mod corpus;

use corpus::{Case, Count, Plain};

/// Fewer rows than this mean that some were lost.
const LEAST_ROWS: usize = 900;

fn cases() -> Vec<Case> {
    corpus::read_all(env!("CARGO_MANIFEST_DIR")).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_row_gets_its_answer_and_every_code_has_a_row() {
    let mut reader = Reader::new();
    let (mut wrong, mut reached) = (Vec::new(), BTreeSet::new());
    let cases = cases();
    for case in &cases {
        let answer = reader.read_bytes(&case.command);
        if let Err(refusal) = &answer {
            reached.insert(refusal.code());
        }
        if let Some(problem) = judge(case, &answer) {
            wrong.push(format!(
                "{}: {}: {:?}: {}",
                case.file.file_name().unwrap().display(),
                case.name,
                start_of(&String::from_utf8_lossy(&case.command), 120),
                start_of(&problem, 600),
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let missing: Vec<_> = Code::ALL
        .iter()
        .filter(|code| code.is_of_text() && !reached.contains(code))
        .collect();
    assert!(missing.is_empty(), "no row reaches {missing:?}");
    assert!(cases.len() >= LEAST_ROWS, "only {} rows", cases.len());
}

/// Returns the first characters of `text`: some rows are too long to print.
fn start_of(text: &str, characters: usize) -> String {
    text.chars().take(characters).collect()
}

/// Returns what is wrong with `answer`, if anything is.
fn judge(case: &Case, answer: &Result<Line, Refusal>) -> Option<String> {
    match answer {
        Ok(line) => {
            let argv: Vec<Vec<String>> = line
                .stages()
                .map(|stage| stage.argv().map(str::to_owned).collect())
                .collect();
            match &case.expected.plain {
                None => Some(format!("accepted as {line:?}, to be refused")),
                Some(Plain::Argv(want)) if *want == argv => None,
                Some(Plain::Argv(want)) => Some(format!("accepted as {argv:?}, not as {want:?}")),
                Some(Plain::Count(want)) => {
                    let words = argv.iter().flatten();
                    let got = Count {
                        stages: argv.len(),
                        words: words.clone().count(),
                        bytes: words.map(String::len).sum(),
                    };
                    (got != *want).then(|| format!("accepted with {got:?}, not with {want:?}"))
                }
            }
        }
        Err(refusal) => {
            let Some(want) = &case.expected.refused else {
                return Some(format!("refused: {refusal}"));
            };
            let span = refusal.span();
            let got = (refusal.code().as_str(), (span.start, span.end));
            (got != (want.code.as_str(), want.span))
                .then(|| format!("refused as {got:?}, not as {:?}", (&want.code, want.span)))
        }
    }
}

#[test]
fn every_code_of_a_row_is_one_of_ours() {
    let unknown: Vec<_> = cases()
        .iter()
        .filter_map(|case| {
            let code = &case.expected.refused.as_ref()?.code;
            code.parse::<Code>()
                .is_err()
                .then(|| format!("{}: {code}", case.name))
        })
        .collect();
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
}

#[test]
fn a_folder_that_lost_its_rows_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    assert!(corpus::read(folder.path()).is_err(), "an empty folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let row = "[[case]]\nname = 'a'\ncommand = 'ls'\naccept = [['ls']]\n";
    write("a.toml", row);
    assert_eq!(corpus::read(folder.path()).unwrap().len(), 1);

    let bad = [
        ("stray.tml", row, "neither rows nor a page"),
        ("b.toml", row, "used twice"),
        ("c.toml", "case = []", "no rows"),
        (
            "d.toml",
            "[[case]]\nname = 'd'\ncommand = 'ls'\n",
            "give accept",
        ),
        (
            "e.toml",
            "[[case]]\nname = 'e'\nhex = '6'\naccept = [['ls']]\n",
            "hexadecimal",
        ),
        (
            "f.toml",
            "[[case]]\nname = 'f'\ncommand = 'ls;'\nrefuse = { code = 'list', at = ';', twin = 'a' }\n",
            "no accepted row of this file",
        ),
        (
            "g.toml",
            "[[case]]\nname = 'g'\ncommand = 'ls;'\nrefuse = { code = 'list', at = '&', twin = 'a' }\n",
            "not where the row says",
        ),
    ];
    for (name, text, want) in bad {
        write(name, text);
        let error = corpus::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains(want), "{name}: {error}");
        std::fs::remove_file(folder.path().join(name)).unwrap();
    }
}
