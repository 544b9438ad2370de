//! Where a wrapper runs the program inside it.

use std::borrow::Cow;

use super::effects::Lookup;
use super::judge::Judge;
use super::words::{INSIDE, is_known};

/// What the wrappers so far have changed for the programs inside them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// The directory that was changed to, as the words name it.
    pub(super) directory: Option<String>,
    /// Whether the program runs in directories that the line does not name.
    pub(super) moved: bool,
    /// Whether the PATH is another one than that of the line.
    pub(super) other_path: bool,
    /// Whether files are looked up in another root.
    elsewhere: bool,
}

impl Surroundings {
    /// Says how the program `name` is found by one that finds programs by `lookup`.
    pub(super) fn lookup(&self, name: &str, lookup: Lookup) -> Lookup {
        if self.elsewhere {
            return Lookup::Elsewhere;
        }
        let unknown = match lookup {
            Lookup::Elsewhere => return Lookup::Elsewhere,
            Lookup::Unknown => true,
            Lookup::Path | Lookup::Shell => false,
        };
        if !is_known(name) {
            return Lookup::Unknown;
        }
        let lost = if name.starts_with('/') {
            false
        } else if name.contains('/') {
            unknown || self.moved || self.directory.is_some()
        } else {
            unknown || self.other_path
        };
        match lookup {
            _ if lost => Lookup::Unknown,
            Lookup::Shell => Lookup::Shell,
            Lookup::Path | Lookup::Unknown | Lookup::Elsewhere => Lookup::Path,
        }
    }

    /// Goes into a program that was found by `lookup`.
    pub(super) fn inside(&mut self, lookup: Lookup) {
        match lookup {
            Lookup::Path | Lookup::Shell => {}
            Lookup::Unknown => self.other_path = true,
            Lookup::Elsewhere => self.elsewhere = true,
        }
    }

    /// Changes to `directory`, from where the wrappers so far have changed to.
    pub(super) fn change_to(&mut self, directory: &str) {
        self.directory = Some(self.path(directory).into_owned());
    }

    /// Returns the path that `path` is from the working directory of the line.
    fn path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        match &self.directory {
            Some(directory) if !path.starts_with('/') => format!("{directory}/{path}").into(),
            Some(_) | None => path.into(),
        }
    }
}

impl Judge<'_, '_> {
    /// Returns the path that `text` is from the working directory of the line, as far as it is known.
    pub(super) fn path_here<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let path = self.surroundings.path(text);
        if path.contains(INSIDE) {
            return path.replace(INSIDE, "./{}").into();
        }
        path
    }
}
