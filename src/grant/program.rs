//! The program of a grant, as it was when the grant was given.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::program::{FileProgram, Identity, Interpreter, Through};

/// A program as it was when a grant was given: its file, and the files that run it.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GrantedProgram {
    /// The file.
    pub identity: Identity,
    /// The interpreters of a script and theirs, and the dynamic linker.
    pub interpreters: Vec<GrantedInterpreter>,
}

/// A file that ran a program when a grant was given.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct GrantedInterpreter {
    /// What made it necessary.
    pub through: Through,
    /// Its absolute path, symlinks not followed.
    pub path: PathBuf,
    /// The argument that the first line of the script gave it.
    pub argument: Option<String>,
    /// The file.
    pub identity: Identity,
}

impl GrantedProgram {
    /// Returns the names that the program is known by: the one it is called by, and the one of
    /// its file.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        let file = self.identity.real_path.file_name();
        let file = file.and_then(|name| name.to_str());
        std::iter::once(self.identity.called.as_str()).chain(file)
    }

    /// Returns whether `now` is this program still: called the same, of the same content in the
    /// same place, with the same owner, group and mode, and run by the same interpreters.
    ///
    /// Times and inode may differ: a file that was put back as it was is the same program.
    pub(super) fn is_still(&self, now: &FileProgram) -> bool {
        let interpreters = self.interpreters.iter().zip(now.interpreters());
        same(&self.identity, now.identity())
            && self.interpreters.len() == now.interpreters().len()
            && interpreters
                .into_iter()
                .all(|(then, now)| then.is_still(now))
    }
}

impl GrantedInterpreter {
    fn is_still(&self, now: &Interpreter) -> bool {
        self.through == now.through()
            && self.path == now.path()
            && self.argument.as_deref() == now.argument()
            && same(&self.identity, now.identity())
    }
}

impl From<&FileProgram> for GrantedProgram {
    fn from(program: &FileProgram) -> Self {
        let interpreters = program.interpreters().iter();
        let interpreters = interpreters.map(|interpreter| GrantedInterpreter {
            through: interpreter.through(),
            path: interpreter.path().to_owned(),
            argument: interpreter.argument().map(str::to_owned),
            identity: interpreter.identity().clone(),
        });
        Self {
            identity: program.identity().clone(),
            interpreters: interpreters.collect(),
        }
    }
}

fn same(then: &Identity, now: &Identity) -> bool {
    let key = |identity: &Identity| (identity.sha256, identity.mode, identity.uid, identity.gid);
    key(then) == key(now) && then.called == now.called && then.real_path == now.real_path
}
