//! Inputs for the fuzz targets of the gateway: recorded sessions, the scripts and tables of the tests, and
//! every beginning of a recorded log.

use std::{error::Error, fs, path::Path};

use rea_gateway::policy::Profile;

/// One input: the target, a name for the file, and the bytes.
pub(crate) struct Seed {
    pub(crate) target: &'static str,
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
}

/// The name of a file and the lines in it.
type Session = (String, Vec<String>);

/// A file of the tests that has texts in it.
#[derive(serde::Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(serde::Deserialize)]
struct Case {
    text: Option<String>,
    add: Option<String>,
}

/// Returns every seed, the same ones each time. `tests` is the folder of the gateway's tests.
pub(crate) fn all(tests: &Path) -> Result<Vec<Seed>, Box<dyn Error>> {
    let mut seeds = Vec::new();
    let mut add = |target, name: String, text: &str| {
        let bytes = text.as_bytes().to_vec();
        seeds.push(Seed {
            target,
            name,
            bytes,
        });
    };
    for (file, lines) in sessions(tests)? {
        for (number, line) in lines.iter().enumerate() {
            add("envelope", format!("{file}-{number}"), line);
        }
    }
    let text = |file: &str| fs::read_to_string(tests.join("data").join(file));
    for (number, case) in cases(&text("registry.toml")?)?.into_iter().enumerate() {
        add(
            "registry",
            number.to_string(),
            &case.text.unwrap_or_default(),
        );
    }
    let smallest = Profile::Minimal.render("a", "b");
    for (number, case) in cases(&text("policy.toml")?)?.into_iter().enumerate() {
        let whole = case
            .text
            .unwrap_or_else(|| smallest.clone() + &case.add.unwrap_or_default());
        add("policy", number.to_string(), &whole);
    }
    for (number, row) in rows(&text("tool_names.tsv")?).enumerate() {
        if let [server, tool, _] = row.split('\t').collect::<Vec<_>>()[..] {
            add("tool_name", number.to_string(), tool);
            add(
                "tool_tier",
                number.to_string(),
                &format!("{server}\n{tool}\n{{}}"),
            );
        }
    }
    for (number, row) in rows(&text("shell.tsv")?).enumerate() {
        if let [_, _, tool, arguments, ..] = row.split('\t').collect::<Vec<_>>()[..] {
            let name = format!("shell-{number}");
            add("tool_tier", name, &format!("s\n{tool}\n{arguments}"));
        }
    }
    let log = text("recorded/audit-log.txt")?;
    let mut end = 0;
    for (number, line) in log.split_inclusive('\n').enumerate() {
        end += line.len();
        add("audit_line", number.to_string(), line.trim_end());
        add(
            "audit_file",
            number.to_string(),
            log.get(..end).unwrap_or_default(),
        );
        let half = end - line.len() / 2;
        let torn = log.get(..half).unwrap_or_default();
        add("audit_file", format!("{number}-torn"), torn);
    }
    Ok(seeds)
}

/// Returns the lines of the recorded sessions and of the scripts, by file.
fn sessions(tests: &Path) -> Result<Vec<Session>, Box<dyn Error>> {
    let mut all = Vec::new();
    for folder in ["data/recorded", "scripts"] {
        for entry in fs::read_dir(tests.join(folder))? {
            let path = entry?.path();
            let text = fs::read_to_string(&path)?;
            let name = path.file_stem().unwrap_or_default();
            let name = name.to_string_lossy().into_owned();
            let lines = match path.extension().and_then(|end| end.to_str()) {
                Some("jsonl") => text.lines().map(str::to_owned).collect(),
                Some("toml") => text.lines().filter_map(quoted).collect(),
                _ => continue,
            };
            all.push((name, lines));
        }
    }
    all.sort();
    Ok(all)
}

/// Returns what stands between the first and the last `'` of a line, as it goes over the wire.
fn quoted(line: &str) -> Option<String> {
    let (start, end) = (line.find('\'')? + 1, line.rfind('\'')?);
    Some(line.get(start..end)?.replace("$id", "1"))
}

fn cases(text: &str) -> Result<Vec<Case>, toml::de::Error> {
    toml::from_str::<Cases>(text).map(|cases| cases.case)
}

fn rows(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|row| !row.is_empty() && !row.starts_with('#'))
}
