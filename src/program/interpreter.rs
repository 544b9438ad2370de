//! The files that a program needs to run, besides itself.

use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

use super::identity::Identity;
use super::pin::{FilePin, Pinner};
use super::read::Format;
use super::resolved::{Fault, executable, locate, shown};
use super::search::could_gain_a_file;
use super::trust::{Fact, Trust};
use crate::plain::Code;

/// How many scripts may be the interpreters of one another, the limit of the kernel.
const MAX_NESTING: usize = 5;

/// How many interpreters one program may need in all.
const MAX_INTERPRETERS: usize = 16;

/// What made an interpreter necessary.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Through {
    /// The first line of a script.
    Shebang,
    /// `env` in the first line of a script, which looks the name up on PATH.
    Env,
    /// The header of an ELF program, which names the dynamic linker.
    Elf,
}

/// A file that runs a program, pinned like the program itself.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Interpreter {
    pub(super) through: Through,
    pub(super) path: PathBuf,
    pub(super) argument: Option<String>,
    pub(super) pin: FilePin,
}

impl Interpreter {
    /// Returns what made it necessary.
    pub const fn through(&self) -> Through {
        self.through
    }

    /// Returns its absolute path as it was found, symlinks not followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the argument that the first line of the script gives it.
    pub fn argument(&self) -> Option<&str> {
        self.argument.as_deref()
    }

    /// Returns which file it is.
    pub const fn identity(&self) -> &Identity {
        &self.pin.identity
    }
}

impl Serialize for Interpreter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Interpreter", 14)?;
        object.serialize_field("through", &self.through)?;
        object.serialize_field("path", &self.path)?;
        match &self.argument {
            Some(argument) => object.serialize_field("argument", argument)?,
            None => object.skip_field("argument")?,
        }
        self.identity().serialize_into(&mut object)?;
        object.end()
    }
}

/// Follows the chain of interpreters of one program.
pub(super) struct Chain<'p, 'a> {
    pub(super) pinner: &'p mut Pinner<'a>,
    pub(super) interpreters: Vec<Interpreter>,
    pub(super) trust: Vec<Trust>,
    steps: usize,
}

impl<'p, 'a> Chain<'p, 'a> {
    pub(super) fn new(pinner: &'p mut Pinner<'a>, trust: Vec<Trust>) -> Self {
        Self {
            pinner,
            interpreters: Vec::new(),
            trust,
            steps: 0,
        }
    }

    /// Pins whatever a file of this format needs; `nesting` counts the scripts on the way.
    pub(super) fn follow(
        &mut self,
        real_path: &Path,
        format: &Format,
        nesting: usize,
    ) -> Result<(), Fault> {
        match format {
            Format::Foreign(name) => Err(Fault::new(
                Code::ForeignInterpreter,
                format!("{}: {name}", shown(real_path)),
            )),
            Format::None(why) => Err(no_interpreter(real_path, why)),
            Format::Elf {
                interpreter,
                library_paths,
            } => {
                self.note_libraries(real_path, library_paths);
                let Some(linker) = interpreter else {
                    return Ok(());
                };
                let format = self.add(Through::Elf, real_path, linker, None)?;
                if !matches!(format, Format::Elf { .. }) {
                    return Err(no_interpreter(
                        real_path,
                        "its dynamic linker is no ELF file",
                    ));
                }
                Ok(())
            }
            Format::Script {
                interpreter,
                argument,
            } => {
                if nesting == MAX_NESTING {
                    return Err(no_interpreter(
                        real_path,
                        "too many scripts run one another",
                    ));
                }
                let argument = argument.as_deref();
                let format = self.add(Through::Shebang, real_path, interpreter, argument)?;
                let added = self.interpreters.last().map(Interpreter::identity);
                let names_env = added.is_some_and(is_env);
                let next = added.map(|identity| identity.real_path.clone());
                self.follow(&next.unwrap_or_default(), &format, nesting + 1)?;
                if names_env {
                    self.follow_env(real_path, argument)?;
                }
                Ok(())
            }
        }
    }

    /// Pins the program that `env` will look up and run.
    fn follow_env(&mut self, script: &Path, argument: Option<&str>) -> Result<(), Fault> {
        let name = env_name(argument).map_err(|why| no_interpreter(script, why))?;
        let path = if name.contains('/') {
            PathBuf::from(name)
        } else {
            let host = self.pinner.host;
            let found = locate(host, name, self.pinner.search);
            found
                .map_err(|fault| Fault {
                    seen: format!("{} asks env for `{name}` {}", shown(script), fault.seen),
                    hint: carriage_return(name).or(fault.hint),
                    ..fault
                })?
                .path
        };
        let path = path.to_str().unwrap_or_default();
        let format = self.add(Through::Env, script, path, None)?;
        let added = self.interpreters.last().map(Interpreter::identity);
        let next = added.map(|identity| identity.real_path.clone());
        // `env` starts the program anew, so the kernel counts from nothing again.
        self.follow(&next.unwrap_or_default(), &format, 0)
    }

    /// Pins one interpreter and puts it at the end of the list.
    fn add(
        &mut self,
        through: Through,
        of: &Path,
        path: &str,
        argument: Option<&str>,
    ) -> Result<Format, Fault> {
        self.steps += 1;
        if self.steps > MAX_INTERPRETERS {
            return Err(no_interpreter(of, "it needs too many interpreters"));
        }
        if !path.starts_with('/') {
            let why = format!("the path of its interpreter, '{path}', is not absolute");
            return Err(no_interpreter(of, &why));
        }
        let path = Path::new(path);
        let named = |fault: Fault| Fault {
            seen: format!("the interpreter of {}: {}", shown(of), fault.seen),
            hint: path.to_str().and_then(carriage_return),
            ..fault
        };
        let way = executable(self.pinner.host, path, None, self.pinner.search).map_err(named)?;
        self.trust.extend_from_slice(&way.trust);
        let called = path.file_name().and_then(|name| name.to_str());
        let pin = self.pinner.file(called.unwrap_or_default(), &way.walk);
        let (pin, format) = pin.map_err(named)?;
        let interpreter = Interpreter {
            through,
            path: path.to_owned(),
            argument: argument.map(str::to_owned),
            pin,
        };
        // One that is listed already moves to the end, where the caller looks for it.
        self.interpreters.retain(|other| *other != interpreter);
        self.interpreters.push(interpreter);
        Ok(format)
    }

    /// Notes directories of libraries that somebody could put another library into.
    fn note_libraries(&mut self, real_path: &Path, library_paths: &[String]) {
        let origin = real_path.parent().and_then(Path::to_str).unwrap_or("/");
        for path in library_paths {
            let path = path.replace("${ORIGIN}", origin).replace("$ORIGIN", origin);
            let unsure = path.contains('$') || !path.starts_with('/');
            let ids = self.pinner.host.ids();
            if unsure || could_gain_a_file(ids, Path::new(&path)) {
                self.trust.push(Trust::new(Fact::UnpinnedLibrary, path));
            }
        }
    }
}

/// Returns whether a file is `env`, by the name it is called by or by its own.
fn is_env(identity: &Identity) -> bool {
    identity.called == "env" || identity.real_path.ends_with("env")
}

/// Returns the program that `env` runs when a first line gives it this one argument.
///
/// Of what `env -S` splits, only words that it takes as they are are read here.
fn env_name(argument: Option<&str>) -> Result<&str, &'static str> {
    const NAME: &str = "env is given no program name, or an option that is not read here";
    let argument = argument.ok_or(NAME)?;
    let name = match argument.strip_prefix("-S") {
        None => argument,
        Some(words) => {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"%+,-./:=@_ \t".contains(&byte);
            if !words.bytes().all(plain) {
                return Err("env -S is given quotes, escapes, variables or a comment");
            }
            words
                .split([' ', '\t'])
                .find(|word| !word.is_empty())
                .ok_or(NAME)?
        }
    };
    if name.is_empty() || name.starts_with('-') || name.contains('=') {
        return Err(NAME);
    }
    Ok(name)
}

/// Says what is wrong with the name of an interpreter whose script has the line ends of another system.
fn carriage_return(name: &str) -> Option<String> {
    let hint =
        "the first line of the script ends with a carriage return; save it with LF line ends";
    name.ends_with('\r').then(|| hint.to_owned())
}

fn no_interpreter(path: &Path, why: &str) -> Fault {
    Fault::new(Code::NoInterpreter, format!("{}: {why}", shown(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_that_env_looks_up_is_read_from_closed_forms() {
        let rows = [
            (Some("python3"), Some("python3")),
            (Some("python3 -u"), Some("python3 -u")),
            (Some("-S python3 -u"), Some("python3")),
            (Some("-Spython3"), Some("python3")),
            (Some("-S\tnode --a=b"), Some("node")),
            (Some("/opt/x"), Some("/opt/x")),
            (None, None),
            (Some(""), None),
            (Some("-i"), None),
            (Some("A=b"), None),
            (Some("-S"), None),
            (Some("-S A=b node"), None),
            (Some("-S -i node"), None),
            (Some("-S 'node'"), None),
            (Some("-S ${X}"), None),
            (Some("-S a\\_b"), None),
            (Some("--split-string=node"), None),
        ];
        let mut wrong = Vec::new();
        for (argument, want) in rows {
            let got = env_name(argument).ok();
            if got != want {
                wrong.push(format!("{argument:?}: want {want:?}, got {got:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
