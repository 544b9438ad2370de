//! What a policy may want to know of a program besides which one it is.

use std::path::{Path, PathBuf};

use rustix::fs::StatVfsMountFlags;
use serde::{Deserialize, Serialize};

use super::ids::Ids;
use super::stat::FileStat;

/// Something that makes a file less trustworthy than one that only root can change.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Fact {
    /// The file or a directory on its way is writable by its group.
    WritableByGroup,
    /// The file or a directory on its way is writable by everybody.
    WritableByOthers,
    /// The file or a directory on its way belongs to neither root nor the user.
    ForeignOwner,
    /// The program runs with the rights of its owner.
    SetUid,
    /// The program runs with the rights of its group.
    SetGid,
    /// The file lies on a mount that nothing is executed from.
    NoExecMount,
    /// The file lies under the working directory.
    UnderWorkingDirectory,
    /// A PATH directory before the match is writable by the user.
    EarlierDirectoryWritable,
    /// The program, or what runs it, names a directory of its own for libraries that the user can
    /// write to.
    UnpinnedLibrary,
    /// Neither a lease nor its place kept the file from being written while it was read.
    NotHeld,
    /// A variable that can make the shell or the program run other code is set.
    Environment,
}

/// A [`Fact`] and what it was seen on.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trust {
    /// What was seen.
    pub fact: Fact,
    /// The path it was seen on, or the name of the variable.
    pub at: PathBuf,
}

impl Trust {
    pub(crate) fn new(fact: Fact, at: impl Into<PathBuf>) -> Self {
        Self {
            fact,
            at: at.into(),
        }
    }
}

/// Adds what the mode and the owner of one file or directory say.
pub(crate) fn observe(facts: &mut Vec<Trust>, ids: &Ids, path: &Path, stat: &FileStat) {
    let mut add = |present, fact| {
        if present {
            facts.push(Trust::new(fact, path));
        }
    };
    add(stat.mode & 0o020 != 0, Fact::WritableByGroup);
    add(stat.mode & 0o002 != 0, Fact::WritableByOthers);
    add(stat.uid != 0 && stat.uid != ids.uid(), Fact::ForeignOwner);
    add(stat.is_file() && stat.mode & 0o4000 != 0, Fact::SetUid);
    add(stat.is_file() && stat.mode & 0o2000 != 0, Fact::SetGid);
}

/// Returns whether nothing is executed from the mount that `path` lies on.
pub(crate) fn is_no_exec(path: &Path) -> bool {
    rustix::fs::statvfs(path).is_ok_and(|mount| mount.f_flag.contains(StatVfsMountFlags::NOEXEC))
}
