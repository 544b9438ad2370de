//! Holds accepted lines against real shells: each must run exactly the words that we report.
//!
//! `docs/AGREEMENT.md` says what is compared, and how to compare more of it:
//! `PLAINPIPE_AGREEMENT_LINES` gives the number of generated lines, and
//! `PLAINPIPE_AGREEMENT_SEED` which ones.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a test may panic, and says what it skips"
)]

use std::fmt::Write as _;

use plainpipe::{Line, Reader};

mod support;

use support::arena::{Arena, By, Row, Setting};
use support::compare::{BATCH, Tally, canonical, on_all_cores};
use support::corpus::{self, Case};
use support::generate::{Generator, Random, Taste};
use support::{locales, shells};

/// Lines that are generated when nobody asks for more.
const LINES: u64 = 2_400;

/// Where generated lines start when nobody names another seed.
const SEED: u64 = 2_600;

/// One line in so many is also run by itself, after `-c`.
const ALONE: usize = 40;

fn cases() -> Vec<Case> {
    corpus::read_all(env!("CARGO_MANIFEST_DIR")).unwrap_or_else(|error| panic!("{error}"))
}

/// The accepted lines of the corpus.
fn accepted(cases: &[Case]) -> Vec<(String, Line)> {
    let mut reader = Reader::new();
    let read = |case: &Case| {
        let text = std::str::from_utf8(&case.command).ok()?;
        Some((text.to_owned(), reader.read(text).ok()?))
    };
    cases.iter().filter_map(read).collect()
}

/// The corpus as text, for bytes to be changed in.
fn texts(cases: &[Case]) -> Vec<&str> {
    cases
        .iter()
        .filter_map(|case| std::str::from_utf8(&case.command).ok())
        .collect()
}

/// A place to run lines in, if there is any shell to run them.
fn arena() -> Option<Arena> {
    let shells = shells::installed();
    (!shells.is_empty()).then(|| Arena::new(shells))
}

fn generated(lines: u64) -> u64 {
    shells::number("PLAINPIPE_AGREEMENT_LINES", lines)
}

fn seed() -> u64 {
    shells::number("PLAINPIPE_AGREEMENT_SEED", SEED)
}

#[test]
fn corpus_lines_run_as_reported() {
    let Some(arena) = arena() else { return };
    let rows = arena.rows(&accepted(&cases()));
    assert!(rows.len() > 600, "only {} rows", rows.len());
    let named = |name: &str| rows.iter().any(|row| row.stages[0][0] == name);
    assert!(named("git") && named("a b"), "programs lost their names");
    let tally = Tally::default();
    let parts: Vec<&[Row]> = rows.chunks(BATCH).collect();
    on_all_cores(&arena, parts.len() as u64, |worker, job| {
        let rows = parts[usize::try_from(job).unwrap()];
        tally.compare(&arena, worker, &Setting::plain("C.UTF-8"), rows);
        // Without characters outside ASCII the locale has little to decide.
        let foreign: Vec<Row> = rows
            .iter()
            .enumerate()
            .filter(|(index, row)| index % 8 == 0 || !row.text.is_ascii())
            .map(|(_, row)| row.clone())
            .collect();
        tally.compare(&arena, worker, &Setting::plain("C"), &foreign);
        let alone = Setting {
            by: By::Argument,
            ..Setting::plain("C.UTF-8")
        };
        tally.compare(&arena, worker, &alone, rows);
    });
    tally.finish("corpus", rows.len() as u64);
}

#[test]
fn generated_lines_run_as_reported() {
    let Some(arena) = arena() else { return };
    let cases = cases();
    let seeds = texts(&cases);
    let tally = Tally::default();
    let (lines, seed) = (generated(LINES), seed());
    on_all_cores(&arena, lines.div_ceil(BATCH as u64), |worker, job| {
        let mut generator = Generator::new(Random::new(seed, job), &seeds, Taste::Any);
        let lines: Vec<_> = (0..BATCH).map(|_| generator.line()).collect();
        let rows = arena.rows(&lines);
        let locale = if job % 4 == 3 { "C" } else { "C.UTF-8" };
        tally.compare(&arena, worker, &Setting::plain(locale), &rows);
        let alone: Vec<Row> = rows.into_iter().step_by(ALONE).collect();
        let setting = Setting {
            by: By::Argument,
            ..Setting::plain(locale)
        };
        tally.compare(&arena, worker, &setting, &alone);
    });
    tally.finish(&format!("generated with seed {seed}"), lines);
}

/// Every word of two bytes, and of three from those that shells care about.
fn short_words() -> Vec<String> {
    let all: Vec<char> = (' '..='~').collect();
    let special: Vec<char> = "a1\\'\" =~:#%^!@{}[],.-+/".chars().collect();
    let mut words: Vec<String> = all.iter().map(char::to_string).collect();
    let pairs = all
        .iter()
        .flat_map(|one| all.iter().map(move |two| format!("{one}{two}")));
    words.extend(pairs);
    for one in &special {
        for two in &special {
            words.extend(special.iter().map(|three| format!("{one}{two}{three}")));
        }
    }
    words
}

#[test]
fn short_words_run_as_reported() {
    let Some(arena) = arena() else { return };
    let mut reader = Reader::new();
    let words: Vec<String> = short_words();
    // Of a line with the word in that place, the word is exactly those bytes.
    let mut stands = |before: &str, word: &str| {
        let text = format!("{before}{word} x");
        let Ok(line) = reader.read(&text) else {
            return false;
        };
        let words: Vec<_> = line.stages().flat_map(|stage| stage.words()).collect();
        let span = (before.len(), before.len() + word.len());
        line.stages().len() == 1 && words.iter().any(|word| span == word.span.into())
    };
    let arguments: Vec<&String> = words.iter().filter(|word| stands("p ", word)).collect();
    let programs: Vec<&String> = words.iter().filter(|word| stands("", word)).collect();
    assert!(arguments.len() > 5_000 && programs.len() > 4_000);

    // Many words to a line, for speed.
    let mut texts = Vec::new();
    for words in arguments.chunks(24) {
        let line = |words: &[&String]| {
            words
                .iter()
                .fold("p".to_owned(), |text, word| text + " " + word)
        };
        // The grammar joins some of them to those after them; those stand alone.
        if reader.read(&line(words)).is_ok() {
            texts.push(line(words));
        } else {
            texts.extend(words.chunks(1).map(line));
        }
    }
    texts.extend(programs.chunks(6).map(|words| {
        let stages: Vec<String> = words.iter().map(|word| format!("{word} x")).collect();
        stages.join(" | ")
    }));
    let lines: Vec<(String, Line)> = texts
        .into_iter()
        .map(|text| {
            let line = reader.read(&text).unwrap();
            (text, line)
        })
        .collect();
    let rows = arena.rows(&lines);
    let tally = Tally::default();
    let parts: Vec<&[Row]> = rows.chunks(BATCH).collect();
    on_all_cores(&arena, parts.len() as u64, |worker, job| {
        tally.compare(
            &arena,
            worker,
            &Setting::plain("C.UTF-8"),
            parts[usize::try_from(job).unwrap()],
        );
    });
    tally.finish("short words", rows.len() as u64);
}

#[test]
fn lines_run_as_reported_where_bytes_join() {
    let folder = tempfile::tempdir().unwrap();
    let locales = locales::compile(folder.path());
    let Some(arena) = arena() else { return };
    let cases = cases();
    let mut lines = accepted(&cases);
    lines.retain(|(text, _)| !text.is_ascii());
    let seeds: Vec<&str> = texts(&cases)
        .into_iter()
        .filter(|text| !text.is_ascii())
        .collect();
    let mut generator = Generator::new(Random::new(seed(), u64::MAX), &seeds, Taste::Foreign);
    let wanted = usize::try_from(generated(LINES) / 8).unwrap();
    while lines.len() < wanted {
        let line = generator.line();
        if !line.0.is_ascii() {
            lines.push(line);
        }
    }
    let rows = arena.rows(&lines);
    let parts: Vec<&[Row]> = rows.chunks(BATCH).collect();
    let tally = Tally::default();
    on_all_cores(&arena, parts.len() as u64, |worker, job| {
        let rows = parts[usize::try_from(job).unwrap()];
        for locale in &locales {
            let setting = Setting {
                locale_folder: Some(folder.path().into()),
                ..Setting::plain(locale)
            };
            tally.compare(&arena, worker, &setting, rows);
            tally.compare(&arena, worker, &setting, &canonical(rows));
        }
    });
    let least = if locales.is_empty() {
        0
    } else {
        rows.len() as u64
    };
    tally.finish("multi-byte locales", least);
}

/// Options that change what some raw lines mean, and a setting for each shell that has them.
fn unusual_settings(words: &[String]) -> Vec<(&'static [&'static str], Setting)> {
    let plain = || Setting::plain("C.UTF-8");
    let aliases = |command: &str, value: &str| {
        let mut text = String::new();
        for word in words {
            writeln!(text, "'alias' {command} '{word}'={value}").unwrap();
        }
        text
    };
    let mut suffixes = String::new();
    for (name, suffix) in words.iter().filter_map(|word| word.rsplit_once('.')) {
        if !name.is_empty() && !suffix.is_empty() {
            writeln!(suffixes, "'alias' -s '{suffix}'=SUFFIX").unwrap();
        }
    }
    vec![
        (
            &["zsh -f"],
            Setting {
                options: &[
                    "-o",
                    "EXTENDED_GLOB",
                    "-o",
                    "MAGIC_EQUAL_SUBST",
                    "-o",
                    "RC_QUOTES",
                    "-o",
                    "BRACE_CCL",
                ],
                ..plain()
            },
        ),
        (
            &["zsh -f"],
            Setting {
                preamble: aliases("-g", "GLOBAL") + &suffixes,
                ..plain()
            },
        ),
        (
            &["bash", "bash --posix", "mksh", "ksh93"],
            Setting {
                preamble: "set -k\n".to_owned(),
                ..plain()
            },
        ),
        (
            &["bash"],
            Setting {
                preamble: "shopt -s expand_aliases\n".to_owned() + &aliases("", "ALIAS"),
                ..plain()
            },
        ),
        (
            &["bash --posix", "dash", "mksh", "busybox sh", "ksh93"],
            Setting {
                preamble: aliases("", "ALIAS"),
                ..plain()
            },
        ),
        (
            &["yash"],
            Setting {
                preamble: aliases("-g", "GLOBAL"),
                ..plain()
            },
        ),
        (
            &["bash"],
            Setting {
                options: &["--norc", "--noediting", "-i"],
                by: By::Input,
                ..plain()
            },
        ),
        (
            &["zsh -f", "mksh", "ksh93"],
            Setting {
                options: &["-i"],
                by: By::Input,
                ..plain()
            },
        ),
        (
            &["yash"],
            Setting {
                options: &["--norcfile", "-i"],
                by: By::Input,
                ..plain()
            },
        ),
    ]
}

/// The words that any of the shells takes for the name of an alias.
fn alias_names(rows: &[Row]) -> Vec<String> {
    let good = |word: &&String| {
        let byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
        !word.is_empty() && word.bytes().all(byte) && word.as_str() != "PLAINPIPE_ROW"
    };
    let mut names: Vec<String> = rows
        .iter()
        .flat_map(|row| row.stages.iter().flatten())
        .filter(good)
        .cloned()
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[test]
fn canonical_text_survives_options_aliases_and_history() {
    let Some(arena) = arena() else { return };
    let cases = cases();
    let mut lines = accepted(&cases);
    // An interactive shell reads long lines slowly, and length is not what this is about.
    lines.retain(|(text, _)| text.len() < 2_000);
    let mut generator = Generator::new(
        Random::new(seed(), u64::MAX - 1),
        &texts(&cases),
        Taste::Any,
    );
    let more = usize::try_from(generated(LINES) / 8).unwrap();
    lines.extend((0..more).map(|_| generator.line()));
    let raw = arena.rows(&lines);
    let parts: Vec<&[Row]> = raw.chunks(BATCH).collect();
    let (tally, teeth) = (Tally::default(), Tally::default());
    on_all_cores(&arena, parts.len() as u64, |worker, job| {
        let rows = parts[usize::try_from(job).unwrap()];
        for (names, setting) in unusual_settings(&alias_names(rows)) {
            for shell in arena
                .shells()
                .iter()
                .filter(|shell| names.contains(&shell.name))
            {
                tally.compare_in(shell, worker, &setting, &canonical(rows));
                if job == 0 {
                    teeth.compare_in(shell, worker, &setting, &rows[..rows.len().min(20)]);
                }
            }
        }
    });
    assert!(
        teeth.runs() == 0 || teeth.disagreements() > 0,
        "the settings change nothing at all"
    );
    tally.finish("canonical text", raw.len() as u64);
}

#[test]
fn known_differences_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let locales = locales::compile(folder.path());
    let Some(arena) = arena() else { return };
    let worker = arena.worker();
    let row = |text: &str, words: &[&[&str]]| Row {
        text: text.to_owned(),
        stages: words
            .iter()
            .map(|words| words.iter().map(ToString::to_string).collect())
            .collect(),
    };
    let known: &[(&str, &str, Row)] = &[
        ("zsh -f", "C", row("prog ''~", &[&["prog", "~"]])),
        ("zsh -f", "C", row("prog =prog", &[&["prog", "=prog"]])),
        ("bash", "C", row("prog x=~/y", &[&["prog", "x=~/y"]])),
        (
            "bash --posix",
            "C",
            row("prog {1,2}", &[&["prog", "{1,2}"]]),
        ),
        ("dash", "C", row("prog ~", &[&["prog", "~"]])),
        ("mksh", "C", row("prog --p=~/y", &[&["prog", "--p=~/y"]])),
        (
            "busybox sh",
            "C",
            row("prog a;prog b", &[&["prog", "a;prog", "b"]]),
        ),
        ("ksh93", "C", row("prog {1'..'2}", &[&["prog", "{1..2}"]])),
        ("ksh93", "C", row("a: prog", &[&["a:", "prog"]])),
        ("yash", "C", row("prog >x", &[&["prog"]])),
        (
            "bash",
            "C",
            row("prog | prog 'a", &[&["prog"], &["prog", "a"]]),
        ),
        (
            "bash",
            "C",
            row("prog a | prog b", &[&["prog", "b"], &["prog", "a"]]),
        ),
        (
            "bash",
            "zh_CN.GBK",
            row("prog \"中\\$(prog)\"", &[&["prog", "中$(prog)"]]),
        ),
        (
            "bash",
            "zh_CN.GB18030",
            row("prog '中1' '|prog #'", &[&["prog", "中1", "|prog #"]]),
        ),
    ];
    let mut unseen = Vec::new();
    for (name, locale, row) in known {
        let Some(shell) = arena.shells().iter().find(|shell| shell.name == *name) else {
            continue;
        };
        if *locale != "C" && !locales.contains(locale) {
            continue;
        }
        let setting = Setting {
            locale_folder: Some(folder.path().into()),
            ..Setting::plain(locale)
        };
        let good = Row {
            text: "prog x".to_owned(),
            stages: vec![vec!["prog".to_owned(), "x".to_owned()]],
        };
        let tally = Tally::default();
        tally.compare_in(shell, &worker, &setting, &[good.clone(), row.clone(), good]);
        // `prog 'a` swallows the line after it as well, which alone is fine.
        if tally.disagreements() != 1 {
            unseen.push(format!(
                "{name}: {}: {} disagreements",
                row.text,
                tally.disagreements()
            ));
        }
    }
    assert!(unseen.is_empty(), "{}", unseen.join("\n"));
}
