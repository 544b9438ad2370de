//! The shells' own names, which come before the files on PATH.

mod arguments;
mod bash;
mod sh;
mod zsh;

use serde::Serialize;

use super::shell::Shell;
use crate::plain::{Code, Refusal, Word};

/// The builtins that only print or compare what they are given. Every shell here has all of them.
const INERT: &[&str] = &[":", "[", "echo", "false", "printf", "pwd", "test", "true"];

/// A builtin that cannot change the shell, run code or touch a file, with the arguments it is
/// given.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Builtin {
    name: String,
    shell: Shell,
}

impl Builtin {
    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the shell that has it.
    pub const fn shell(&self) -> Shell {
        self.shell
    }

    /// Returns the builtin that `shell` would run for this program and its arguments, if there is one.
    ///
    /// # Errors
    ///
    /// `shell-builtin` for one that is not inert, or an argument that would make it so.
    pub(crate) fn of<'a>(
        shell: Shell,
        program: Word<'a>,
        arguments: impl Iterator<Item = Word<'a>>,
    ) -> Result<Option<Self>, Refusal> {
        if !names(shell).any(|name| name == program.text) {
            return Ok(None);
        }
        if !INERT.contains(&program.text) {
            let seen = format!("{shell} has a builtin of this name");
            return Err(Refusal::of_word(Code::ShellBuiltin, program).seeing(seen));
        }
        let arguments: Vec<Word<'_>> = arguments.collect();
        arguments::check(program, &arguments)
            .map_err(|(word, seen)| Refusal::of_word(Code::ShellBuiltin, word).seeing(seen))?;
        Ok(Some(Self {
            name: program.text.to_owned(),
            shell,
        }))
    }
}

/// Returns every name that `shell` keeps for itself. A shell that is not known better than as
/// `sh` may have any name of any shell that is called so.
fn names(shell: Shell) -> impl Iterator<Item = &'static str> {
    let tables: &[&[&str]] = match shell {
        Shell::Bash => &[bash::NAMES],
        Shell::Sh => &[bash::NAMES, sh::DASH, sh::BUSYBOX],
        Shell::Zsh => &[zsh::NAMES],
        Shell::None => &[],
    };
    tables.iter().flat_map(|table| table.iter().copied())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_tables_are_sorted_and_every_shell_has_the_inert_ones() {
        for table in [bash::NAMES, sh::DASH, sh::BUSYBOX, zsh::NAMES, INERT] {
            assert!(table.is_sorted_by(|a, b| a < b), "{table:?}");
            let names: BTreeSet<_> = table.iter().collect();
            let missing: Vec<_> = INERT.iter().filter(|name| !names.contains(name)).collect();
            assert!(missing.is_empty(), "{missing:?}");
        }
        assert_eq!(names(Shell::None).count(), 0);
    }
}
