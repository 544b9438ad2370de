//! Judges every line under `corpus/` by what its arguments can do.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use plainpipe::effect::{LineEffects, Rule, Tier, judge};
use plainpipe::{Line, promises};
use serde::Deserialize;

#[path = "support/corpus.rs"]
mod corpus;

use corpus::{Case, Class};

/// Fewer lines than these mean that some were lost.
const LEAST_DANGEROUS: usize = 145;
const LEAST_BENIGN: usize = 250;
const LEAST_CASES: usize = 1700;
const LEAST_READ: usize = 1000;
const LEAST_WRITE: usize = 200;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> T {
    let text =
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    toml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the `*.toml` of `folder` whose names start with `start`, in the order of their names.
fn files(folder: &Path, start: &str) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| {
        path.file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .starts_with(start)
    });
    paths.sort();
    paths
}

/// Returns the rows of the shared corpus whose class `wanted` accepts and which are plain, with what they do.
fn judged(wanted: impl Fn(Class) -> bool) -> Vec<(Case, LineEffects)> {
    let cases =
        corpus::read_all(env!("CARGO_MANIFEST_DIR")).unwrap_or_else(|error| panic!("{error}"));
    cases
        .into_iter()
        .filter(|case| case.class.is_some_and(&wanted))
        .filter_map(|case| {
            let line = Line::parse_bytes(&case.command).ok()?;
            Some((case, judge(&line)))
        })
        .collect()
}

fn shown(effects: &LineEffects) -> String {
    let reasons: Vec<String> = effects
        .effects()
        .map(|effect| format!("{:?} {} ({})", effect.word, effect.rule, effect.reason))
        .collect();
    format!("{}: {}", effects.tier, reasons.join("; "))
}

#[test]
fn no_dangerous_line_and_no_builtin_is_read() {
    let rows =
        judged(|class| matches!(class, Class::PlainButDangerousArgs | Class::RefusedBuiltin));
    assert!(rows.len() >= LEAST_DANGEROUS, "{} rows", rows.len());
    let wrong: Vec<String> = rows
        .iter()
        .filter(|(_, effects)| effects.tier == Tier::Read)
        .map(|(case, _)| format!("{}: {}", case.name, String::from_utf8_lossy(&case.command)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Benign {
    /// Names of rows that are destructive, and why.
    destructive: BTreeMap<String, String>,
}

#[test]
fn few_benign_lines_are_destructive_and_each_has_its_reason() {
    let rows = judged(|class| {
        matches!(
            class,
            Class::Benign
                | Class::BenignQuoting
                | Class::BenignQuotedName
                | Class::BenignMultiline
                | Class::BenignReported
        )
    });
    assert!(rows.len() >= LEAST_BENIGN, "{} rows", rows.len());
    let known: Benign = read(&folder().join("effects/benign.toml"));
    let destructive: BTreeMap<&str, String> = rows
        .iter()
        .filter(|(_, effects)| effects.tier == Tier::Destructive)
        .map(|(case, effects)| {
            let line = String::from_utf8_lossy(&case.command);
            (
                case.name.as_str(),
                format!("{}: {line}: {}", case.name, shown(effects)),
            )
        })
        .collect();
    let mut wrong: Vec<String> = destructive
        .iter()
        .filter(|(name, _)| known.destructive.get(**name).is_none_or(String::is_empty))
        .map(|(_, row)| row.clone())
        .collect();
    let gone = known
        .destructive
        .keys()
        .filter(|name| !destructive.contains_key(name.as_str()));
    wrong.extend(gone.map(|name| format!("{name} is destructive no more")));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let share = destructive.len() * 100;
    assert!(
        share <= rows.len() * 8,
        "{} of {} are destructive",
        destructive.len(),
        rows.len()
    );
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    case: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    line: String,
    tier: Tier,
    rule: Option<Rule>,
}

#[test]
fn every_line_of_a_family_gets_its_tier() {
    let (mut count, mut wrong) = (0, Vec::new());
    for path in files(&folder().join("effects"), "") {
        if path.ends_with("benign.toml") {
            continue;
        }
        for row in read::<Rows>(&path).case {
            count += 1;
            let name = path.file_name().unwrap().display();
            let effects = match Line::parse(&row.line) {
                Ok(line) => judge(&line),
                Err(refusal) => {
                    wrong.push(format!("{name}: {}: {refusal}", row.line));
                    continue;
                }
            };
            let met = row
                .rule
                .is_none_or(|rule| effects.effects().any(|effect| effect.rule == rule));
            if effects.tier != row.tier || !met {
                let rule = row.rule.map_or("", Rule::as_str);
                wrong.push(format!(
                    "{name}: {}: want {} {rule}, got {}",
                    row.line,
                    row.tier,
                    shown(&effects)
                ));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {count}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(count >= LEAST_CASES, "{count} rows");
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Everyday {
    read: Vec<String>,
    write: Vec<String>,
}

/// Returns the everyday lines that should be read, and those that should be written.
fn everyday() -> (Vec<String>, Vec<String>) {
    let (mut reading, mut writing) = (Vec::new(), Vec::new());
    for path in files(&folder(), "everyday") {
        if !path.ends_with("everyday-lines.toml") {
            let file: Everyday = read(&path);
            reading.extend(file.read);
            writing.extend(file.write);
        }
    }
    (reading, writing)
}

#[test]
fn everyday_lines_get_the_tier_that_people_expect() {
    let (reading, writing) = everyday();
    assert!(
        reading.len() >= LEAST_READ,
        "{} lines that read",
        reading.len()
    );
    assert!(
        writing.len() >= LEAST_WRITE,
        "{} lines that write",
        writing.len()
    );
    let mut wrong = Vec::new();
    for (lines, tier, percent) in [(&reading, Tier::Read, 95), (&writing, Tier::Write, 90)] {
        let misses: Vec<String> = lines
            .iter()
            .filter_map(|text| match Line::parse(text) {
                Ok(line) => {
                    let effects = judge(&line);
                    (effects.tier != tier).then(|| format!("{text}: {}", shown(&effects)))
                }
                Err(refusal) => Some(format!("{text}: {refusal}")),
            })
            .collect();
        let hits = lines.len() - misses.len();
        if hits * 100 < lines.len() * percent {
            wrong.push(format!(
                "{hits} of {} are {tier}:\n{}",
                lines.len(),
                misses.join("\n")
            ));
        }
    }
    let mut sorted: Vec<&String> = reading.iter().chain(&writing).collect();
    sorted.sort();
    wrong.extend(
        sorted
            .windows(2)
            .filter(|pair| pair[0] == pair[1])
            .map(|pair| format!("twice: {}", pair[0])),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_promises_hold_for_the_corpus() {
    let (reading, writing) = everyday();
    let cases =
        corpus::read_all(env!("CARGO_MANIFEST_DIR")).unwrap_or_else(|error| panic!("{error}"));
    let commands = cases.into_iter().map(|case| case.command);
    let lines = reading.into_iter().chain(writing).map(String::into_bytes);
    for command in commands.chain(lines) {
        promises::effects(&command);
    }
}
