//! `rea check`: how this project stands, at a glance.

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use clap::Args;
use rea_gateway::{
    audit,
    layer::{Halt, KillSwitch},
    policy::{PATH_IN_PROJECT, Policy},
    terminal::escaped,
    yaml::Fault,
};
use serde_json::{Value, json};

use super::{
    Answer, Failure,
    policy::{load, unenforced},
    written,
};

/// How many of the last records are shown.
const RECORDS: usize = 5;
/// How many characters of a record are shown.
const RECORD_CHARACTERS: usize = 160;

/// Shows the policy in force, the kill switch and the last records.
///
/// Exit status: 0 if the policy is good, frozen or not; 1 if it is missing or broken, or if nobody can
/// tell whether the project is frozen.
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// Print one JSON object instead of text for people
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(crate) fn run(self) -> Answer {
        let root = std::env::current_dir()
            .map_err(|error| Failure::new("finding the current folder", error))?;
        let policy = load(&root.join(PATH_IN_PROJECT));
        let halt = KillSwitch::of_project(&root).probe();
        let records = records(&root);
        let known = !matches!(halt, Halt::Unknown { .. });
        let status = if policy.is_ok() && known {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        };
        let mut out = io::stdout().lock();
        let outcome = if self.json {
            json(&mut out, &root, &policy, &halt, &records)
        } else {
            people(&mut out, &root, &policy, &halt, &records)
        };
        written(outcome, status)
    }
}

/// The last records as they stand in the log, or why there are none.
fn records(root: &Path) -> Result<Vec<String>, String> {
    let lines = audit::tail(root, RECORDS).map_err(|error| error.to_string())?;
    Ok(lines
        .iter()
        .map(|line| String::from_utf8_lossy(line).into_owned())
        .collect())
}

fn json(
    out: &mut impl Write,
    root: &Path,
    policy: &Result<Policy, Fault>,
    halt: &Halt,
    records: &Result<Vec<String>, String>,
) -> io::Result<()> {
    let reason = match halt {
        Halt::Absent => Value::Null,
        Halt::Present { reason } => reason.as_str().into(),
        Halt::Unknown { error } => error.as_str().into(),
    };
    let policy = match policy {
        Ok(policy) => json!({
            "good": true,
            "profile": policy.profile,
            "autonomy_level": policy.level,
            "max_autonomy_level": policy.ceiling,
            "block_ai_attribution": policy.block_ai_attribution,
            "blocked_paths_count": policy.blocked_paths.len(),
            "warnings": policy.warnings,
        }),
        Err(fault) => json!({"good": false, "fault": fault.to_string()}),
    };
    let answer = json!({
        "root": root.display().to_string(),
        "policy": policy,
        "halt": {"decision": halt.as_str(), "reason": reason},
        "records": records.as_deref().unwrap_or_default(),
    });
    writeln!(out, "{answer:#}")
}

fn people(
    out: &mut impl Write,
    root: &Path,
    policy: &Result<Policy, Fault>,
    halt: &Halt,
    records: &Result<Vec<String>, String>,
) -> io::Result<()> {
    writeln!(
        out,
        "root:          {}",
        escaped(&root.display().to_string())
    )?;
    match policy {
        Ok(policy) => {
            let attribution = if policy.block_ai_attribution {
                "blocked"
            } else {
                "allowed"
            };
            writeln!(out, "profile:       {}", escaped(&policy.profile))?;
            writeln!(
                out,
                "level:         {} of at most {}",
                policy.level, policy.ceiling
            )?;
            writeln!(out, "attribution:   {attribution}")?;
            writeln!(out, "blocked paths: {}", policy.blocked_paths.len())?;
            for warning in &policy.warnings {
                writeln!(out, "warning:       {warning}")?;
            }
            for note in unenforced(policy) {
                writeln!(out, "note:          {note}")?;
            }
        }
        Err(fault) => writeln!(out, "policy:        BROKEN -- {fault}")?,
    }
    match halt {
        Halt::Absent => writeln!(out, "halt:          no")?,
        Halt::Present { reason } => writeln!(out, "halt:          FROZEN -- {}", escaped(reason))?,
        Halt::Unknown { error } => {
            writeln!(out, "halt:          UNKNOWN ({error}), so no call passes")?;
        }
    }
    match records {
        Err(why) => writeln!(out, "records:       none ({})", escaped(why)),
        Ok(records) => {
            writeln!(out, "records:       the last {}", records.len())?;
            records.iter().try_for_each(|record| {
                let shown: String = escaped(record).chars().take(RECORD_CHARACTERS).collect();
                let cut = if shown.len() < escaped(record).len() {
                    "…"
                } else {
                    ""
                };
                writeln!(out, "  {shown}{cut}")
            })
        }
    }
}
