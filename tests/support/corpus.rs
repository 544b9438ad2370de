//! The corpus: commands with the answer that each must get.
//!
//! `corpus/README.md` describes the form. Tests, benches and fuzz targets include this file with
//! `#[path]`, so that there is one reader.
#![allow(dead_code, reason = "each of its users needs a part of it")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use serde::Deserialize;

/// One row: a command, where it is from, and what must come of it.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// The file that holds the row.
    pub(crate) file: PathBuf,
    /// A name that no other row of any file has.
    pub(crate) name: String,
    /// What sort of command it is, for tests that judge more than its text.
    pub(crate) class: Option<Class>,
    /// The command, which need not be text.
    pub(crate) command: Vec<u8>,
    pub(crate) expected: Expected,
}

/// What sort of command a row holds.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Class {
    /// Everyday work: plain, and worth nobody's worry.
    Benign,
    /// Plain only because of how it is quoted.
    BenignQuoting,
    /// The program word is quoted or escaped.
    BenignQuotedName,
    /// An argument holds a newline, or blanks hold a continuation.
    BenignMultiline,
    /// Plain, and often refused by mistake elsewhere.
    BenignReported,
    /// Plain as text, yet it runs, writes or reads something through an argument: never read-only.
    PlainButDangerousArgs,
    /// Plain as text or not, a builtin of some shell: never read-only, and never resolved.
    RefusedBuiltin,
    /// Refused as text.
    RefusedSyntax,
    /// A policy stops it for what it does; the text may be plain.
    Guarded,
    /// A policy lets it pass; the text may not be plain.
    Unguarded,
}

/// The answers that are right for a row: at least one of the two.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) plain: Option<Plain>,
    pub(crate) refused: Option<Refused>,
}

/// What an accepted row holds.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Plain {
    /// The words of each stage.
    Argv(Vec<Vec<String>>),
    /// Only their number, for a row too long to write out.
    Count(Count),
}

#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct Count {
    pub(crate) stages: usize,
    pub(crate) words: usize,
    /// The bytes of all words together.
    pub(crate) bytes: usize,
}

/// What a refused row blames.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Refused {
    pub(crate) code: String,
    /// The blamed bytes, as a span of the command.
    pub(crate) span: (usize, usize),
    /// The name of the closest row that is accepted, which stands in the same file.
    pub(crate) twin: String,
}

/// A file or row that is not in the documented form.
#[derive(Debug)]
pub(crate) struct BadCorpus(String);

impl fmt::Display for BadCorpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadCorpus {}

/// Reads every `*.toml` of `folder`, in the order of their names.
///
/// # Errors
///
/// [`BadCorpus`] with a line for each thing that is wrong, an empty folder, a stray file and a
/// name used twice among them.
pub(crate) fn read(folder: &Path) -> Result<Vec<Case>, BadCorpus> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
        .map_err(|error| BadCorpus(format!("{}: {error}", folder.display())))?;
    paths.sort();
    let (mut cases, mut wrong) = (Vec::new(), Vec::new());
    for path in paths {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if matches!(name, "effects" | "everyday.toml")
            || name.starts_with("everyday-") && name != "everyday-lines.toml"
        {
            continue; // In a form of their own, which `tests/effects.rs` reads.
        }
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("toml") => match read_file(&path) {
                Ok(rows) => cases.extend(rows),
                Err(BadCorpus(problem)) => wrong.push(problem),
            },
            Some("md") => {}
            _ => wrong.push(format!("{}: neither rows nor a page", path.display())),
        }
    }
    let mut names = BTreeSet::new();
    for case in &cases {
        if !names.insert(case.name.as_str()) {
            wrong.push(format!(
                "{}: {} is used twice",
                case.file.display(),
                case.name
            ));
        }
    }
    for case in &cases {
        let Some(refused) = &case.expected.refused else {
            continue;
        };
        let twin = cases
            .iter()
            .find(|other| other.name == refused.twin && other.file == case.file);
        if twin.is_none_or(|twin| twin.expected.refused.is_some()) {
            wrong.push(format!(
                "{}: {}: no accepted row of this file is called {}",
                case.file.display(),
                case.name,
                refused.twin
            ));
        }
    }
    if cases.is_empty() {
        wrong.push(format!("{}: no rows", folder.display()));
    }
    if wrong.is_empty() {
        Ok(cases)
    } else {
        Err(BadCorpus(wrong.join("\n")))
    }
}

/// Reads the corpus of this checkout; `manifest` is the folder of the root package.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn read_all(manifest: &str) -> Result<Vec<Case>, BadCorpus> {
    read(&Path::new(manifest).join("corpus"))
}

fn read_file(path: &Path) -> Result<Vec<Case>, BadCorpus> {
    let at = |problem: &dyn fmt::Display| BadCorpus(format!("{}: {problem}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| at(&error))?;
    let file: File = toml::from_str(&text).map_err(|error| at(&error))?;
    let (mut cases, mut wrong) = (Vec::new(), Vec::new());
    for row in file.case {
        let name = row.name.clone();
        match row.into_case(path) {
            Ok(case) => cases.push(case),
            Err(problem) => wrong.push(format!("{}: {name}: {problem}", path.display())),
        }
    }
    if cases.is_empty() {
        wrong.push(format!("{}: no rows", path.display()));
    }
    if wrong.is_empty() {
        Ok(cases)
    } else {
        Err(BadCorpus(wrong.join("\n")))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    case: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    class: Option<Class>,
    command: Option<String>,
    hex: Option<String>,
    repeat: Option<Repeat>,
    accept: Option<Vec<Vec<String>>>,
    count: Option<Count>,
    refuse: Option<Refuse>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Repeat {
    #[serde(default)]
    first: String,
    unit: String,
    times: usize,
    #[serde(default)]
    last: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refuse {
    code: String,
    at: Option<String>,
    at_hex: Option<String>,
    from: Option<usize>,
    to: Option<usize>,
    twin: String,
}

impl Row {
    fn into_case(self, file: &Path) -> Result<Case, String> {
        let command = match (self.command, self.hex, self.repeat) {
            (Some(text), None, None) => text.into_bytes(),
            (None, Some(digits), None) => unhex(&digits)?,
            (None, None, Some(repeat)) => format!(
                "{}{}{}",
                repeat.first,
                repeat.unit.repeat(repeat.times),
                repeat.last
            )
            .into_bytes(),
            _ => return Err("give one of command, hex and repeat".to_owned()),
        };
        let plain = match (self.accept, self.count) {
            (Some(argv), None) => Some(Plain::Argv(argv)),
            (None, Some(count)) => Some(Plain::Count(count)),
            (None, None) => None,
            (Some(_), Some(_)) => return Err("give accept or count, not both".to_owned()),
        };
        let refused = self
            .refuse
            .map(|refuse| refuse.resolve(&command))
            .transpose()?;
        if plain.is_none() && refused.is_none() {
            return Err("give accept, count or refuse".to_owned());
        }
        Ok(Case {
            file: file.to_owned(),
            name: self.name,
            class: self.class,
            command,
            expected: Expected { plain, refused },
        })
    }
}

impl Refuse {
    fn resolve(self, command: &[u8]) -> Result<Refused, String> {
        let span = match (self.at, self.at_hex, self.from, self.to) {
            (None, None, Some(from), Some(to)) => (from, to),
            (Some(_), Some(_), ..) => return Err("give at or at_hex, not both".to_owned()),
            (Some(at), None, from, None) => find(command, at.as_bytes(), from)?,
            (None, Some(at), from, None) => find(command, &unhex(&at)?, from)?,
            _ => return Err("give at or at_hex, or from and to".to_owned()),
        };
        Ok(Refused {
            code: self.code,
            span,
            twin: self.twin,
        })
    }
}

/// Returns where `at` stands in `command`: at `from`, or else at the first place that has it.
fn find(command: &[u8], at: &[u8], from: Option<usize>) -> Result<(usize, usize), String> {
    let start = match from {
        Some(from) => command
            .get(from..)
            .filter(|rest| rest.starts_with(at))
            .map(|_| from),
        None if at.is_empty() => Some(0),
        None => command.windows(at.len()).position(|window| window == at),
    };
    let start = start.ok_or("the blamed text is not where the row says")?;
    Ok((start, start + at.len()))
}

fn unhex(digits: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = digits
        .chars()
        .filter(|digit| !digit.is_whitespace())
        .collect();
    digits
        .chunks(2)
        .map(|pair| {
            let pair: String = pair.iter().collect();
            match u8::from_str_radix(&pair, 16) {
                Ok(byte) if pair.len() == 2 => Ok(byte),
                _ => Err(format!("{pair:?} is no pair of hexadecimal digits")),
            }
        })
        .collect()
}
