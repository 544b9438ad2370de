//! `rea freeze` and `rea unfreeze`: the kill switch by hand.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use jiff::Timestamp;
use rea_gateway::{
    audit::{Audit, AuditError, Durability, Record, Settings},
    layer::{
        KillSwitch,
        freeze::{self, Frozen, Reason},
    },
    policy::{PATH_IN_PROJECT, Policy},
    terminal::escaped,
    tier::Tier,
    yaml,
};

use super::{Answer, Failure, written};

/// How long the record may wait for its turn. An operator who wants everything to stop waits for this
/// and no longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Stops every call of every gateway in this project, until `rea unfreeze`.
///
/// In a linked worktree it stops the whole repository. Exit status: 0 when frozen and recorded, 1
/// when frozen without a record, 2 when not frozen.
#[derive(Args, Debug)]
pub(crate) struct Freeze {
    /// Why, for the record and for whoever unfreezes
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

/// Lets calls pass again.
///
/// Exit status: 0 when nothing is frozen any more, 2 when something still is.
#[derive(Args, Debug)]
pub(crate) struct Unfreeze {
    /// Why, for the record
    #[arg(long, value_name = "TEXT")]
    reason: String,
}

impl Freeze {
    pub(crate) fn run(self) -> Answer {
        let reason =
            Reason::new(&self.reason).map_err(|error| Failure::new("reading --reason", error))?;
        let switch = KillSwitch::of_project(Path::new("."));
        let root = project(&switch)?;
        // On record before it acts, but nothing keeps it from acting.
        let recorded = record(&root, "freeze", &reason);
        let frozen = freeze::freeze(&switch, &reason, Timestamp::now())
            .map_err(|error| Failure::new("writing .rea/HALT", error))?;
        let how = match frozen {
            Frozen::Written => "",
            Frozen::ByFolder => " by a folder named HALT, which holds no reason",
            Frozen::Bare => " without its reason, which could not be written",
        };
        let status = match recorded {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                let _ = writeln!(io::stderr(), "rea: frozen, but not on record: {error}");
                ExitCode::FAILURE
            }
        };
        let mut out = io::stdout().lock();
        written(
            writeln!(
                out,
                "Frozen{how}: no call passes in {} until `rea unfreeze --reason TEXT`.",
                frozen_root(&switch)
            ),
            status,
        )
    }
}

/// Returns the folder that was frozen, for people.
fn frozen_root(switch: &KillSwitch) -> String {
    let place = switch.places().last().cloned().unwrap_or_default();
    let root = place.ancestors().nth(2).unwrap_or(Path::new("."));
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    escaped(&root.display().to_string())
}

impl Unfreeze {
    pub(crate) fn run(self) -> Answer {
        let reason =
            Reason::new(&self.reason).map_err(|error| Failure::new("reading --reason", error))?;
        let switch = KillSwitch::of_project(Path::new("."));
        let root = project(&switch)?;
        let mut out = io::stdout().lock();
        if switch
            .places()
            .iter()
            .all(|place| place.symlink_metadata().is_err())
        {
            return written(writeln!(out, "Nothing is frozen."), ExitCode::SUCCESS);
        }
        record(&root, "unfreeze", &reason)
            .map_err(|error| Failure::new("recording it (still frozen)", error))?;
        let removed = freeze::unfreeze(&switch)
            .map_err(|error| Failure::new("removing .rea/HALT (still frozen)", error))?;
        let outcome = removed.iter().try_for_each(|place| {
            writeln!(
                out,
                "Unfrozen: {} is gone.",
                escaped(&place.display().to_string())
            )
        });
        written(outcome, ExitCode::SUCCESS)
    }
}

/// Returns the folder whose log has the record: the one at hand, or in a linked worktree the repository's
/// common root, if a gateway can be serving it.
fn project(switch: &KillSwitch) -> Result<PathBuf, Failure> {
    let folders = switch.places().iter().filter_map(|place| place.parent());
    let served = folders
        .filter(|folder| folder.is_dir())
        .find_map(Path::parent);
    served.map(Path::to_owned).ok_or_else(|| {
        let here = std::env::current_dir().unwrap_or_default();
        let what = format!(
            "{} has no .rea, so no gateway serves it, and nothing was changed; \
             run this in the folder that `rea serve` is started in",
            escaped(&here.display().to_string())
        );
        Failure::new("looking for the project", what)
    })
}

fn record(root: &Path, tool: &str, reason: &Reason) -> Result<(), AuditError> {
    let settings = Settings {
        lock_patience: PATIENCE,
        ..Settings::for_user()?
    };
    let audit = Audit::open(root, settings)?;
    let mut record = Record::new(tool, "rea").with("reason", reason.as_str());
    record.tier = Tier::Write;
    let file = root.join(PATH_IN_PROJECT);
    let policy = yaml::text_of(&file).and_then(|text| Policy::parse(&file, &text));
    if let Ok(policy) = policy {
        policy.level.as_str().clone_into(&mut record.autonomy_level);
    }
    audit.append(&record, Durability::Durable).map(drop)
}
