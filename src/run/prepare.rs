//! From a pinned program to what a new process becomes.

use std::ffi::CString;
use std::mem;
use std::os::fd::OwnedFd;

use super::error::RunError;
use super::script::{Passing, PassingError};
use crate::program::{FileProgram, Held, Interpreter, PinnedStage, Program, Through};

/// One stage, held and ready to start.
#[derive(Debug)]
pub(super) struct Prepared {
    /// What the process executes: the program, or the interpreter of the script.
    pub(super) program: Held,
    pub(super) argv: Vec<CString>,
    /// Descriptors of scripts that the interpreter opens.
    pub(super) scripts: Vec<OwnedFd>,
    /// Everything else that has to stay as it is until the process has started.
    pub(super) held: Vec<Held>,
}

impl Prepared {
    /// Opens and holds every file that the stage needs.
    pub(super) fn of(place: usize, stage: &PinnedStage<'_>) -> Result<Self, RunError> {
        let file = match stage.program() {
            Program::File(file) => file,
            Program::Builtin(builtin) => {
                return Err(RunError::Builtin {
                    stage: place,
                    name: builtin.name().to_owned(),
                    shell: builtin.shell().as_str(),
                });
            }
        };
        let argv = stage.stage().argv().map(CString::new);
        let argv = argv.collect::<Result<Vec<_>, _>>();
        let argv = argv.map_err(|source| RunError::Nul {
            stage: place,
            source,
        })?;
        let mut prepared = Builder::new(place, file, argv)?.follow(file)?;
        // The stage finds these by name, so holding them keeps them as they are until it has started.
        let inner = stage.inner().filter_map(|inner| match inner.program() {
            Some(Program::File(file)) => Some(&**file),
            Some(Program::Builtin(_)) | None => None,
        });
        for file in inner {
            let interpreters = file.interpreters().iter().map(Interpreter::hold);
            for held in interpreters.chain([file.hold()]) {
                let held = held.map_err(|source| RunError::NotHeld {
                    stage: place,
                    source,
                })?;
                prepared.held.push(held);
            }
        }
        Ok(prepared)
    }
}

struct Builder {
    place: usize,
    protected: bool,
    /// The file that is executed as things stand, and the name that it goes by.
    current: Held,
    name: String,
    argv: Vec<CString>,
    scripts: Vec<OwnedFd>,
    held: Vec<Held>,
}

impl Builder {
    fn new(place: usize, file: &FileProgram, argv: Vec<CString>) -> Result<Self, RunError> {
        let held = file.hold().map_err(|source| RunError::NotHeld {
            stage: place,
            source,
        })?;
        // Shells pass a path on as it was written, and a name as what PATH made of it.
        let name = if file.by_path() {
            file.name().to_owned()
        } else {
            file.path().to_string_lossy().into_owned()
        };
        Ok(Self {
            place,
            protected: file.is_protected(),
            current: held,
            name,
            argv,
            scripts: Vec::new(),
            held: Vec::new(),
        })
    }

    fn follow(mut self, file: &FileProgram) -> Result<Prepared, RunError> {
        let mut interpreters = file.interpreters().iter().peekable();
        while let Some(interpreter) = interpreters.next() {
            match interpreter.through() {
                // The kernel finds the linker by its path. It is held so that it is not written
                // to meanwhile.
                Through::Elf => {
                    let held = self.hold(interpreter)?;
                    self.held.push(held);
                }
                // What `env` would look up was looked up when the line was pinned, so `env` itself
                // need not run.
                Through::Env => {}
                Through::Shebang => {
                    let rest = interpreters.clone();
                    let mut rest = rest.skip_while(|next| next.through() == Through::Elf);
                    let named = rest.next().filter(|next| next.through() == Through::Env);
                    self.shebang(interpreter, named)?;
                }
            }
        }
        Ok(Prepared {
            program: self.current,
            argv: self.argv,
            scripts: self.scripts,
            held: self.held,
        })
    }

    /// Puts an interpreter in front of the current file, which is a script. `named` is what
    /// `env` would start, if that is the interpreter.
    fn shebang(
        &mut self,
        interpreter: &Interpreter,
        named: Option<&Interpreter>,
    ) -> Result<(), RunError> {
        let argument = interpreter.argument();
        let words = match named {
            Some(_) => words_for_env(argument),
            None => std::iter::once(interpreter.path().to_string_lossy().into_owned())
                .chain(argument.map(str::to_owned))
                .collect(),
        };
        let runs = named.unwrap_or(interpreter);
        let options = words.get(1..).unwrap_or_default();
        let passing = Passing::choose(
            &self.current,
            &self.name,
            self.protected,
            runs.path(),
            options,
        );
        let passing = passing.map_err(|error| self.failed(error))?;
        let words = words.iter().map(|word| self.word(word));
        let argv = words.collect::<Result<Vec<_>, _>>()?;
        self.put_in_front(argv, passing);
        self.name = runs.path().to_string_lossy().into_owned();
        let held = self.hold(runs)?;
        self.held.push(mem::replace(&mut self.current, held));
        Ok(())
    }

    fn hold(&self, interpreter: &Interpreter) -> Result<Held, RunError> {
        interpreter.hold().map_err(|source| RunError::NotHeld {
            stage: self.place,
            source,
        })
    }

    fn put_in_front(&mut self, mut argv: Vec<CString>, passing: Passing) {
        match passing {
            Passing::Path(path) => argv.push(path),
            Passing::Text { text, name } => argv.extend([c"-c".to_owned(), text, name]),
            Passing::Descriptor { path, file } => {
                argv.push(path);
                self.scripts.push(file);
            }
        }
        self.argv.splice(..1.min(self.argv.len()), argv);
    }

    fn word(&self, word: &str) -> Result<CString, RunError> {
        CString::new(word).map_err(|source| RunError::Nul {
            stage: self.place,
            source,
        })
    }

    fn failed(&self, error: PassingError) -> RunError {
        match error {
            PassingError::System(source) => RunError::Start {
                stage: self.place,
                path: self.current.identity().real_path.clone(),
                source,
            },
            PassingError::Nul(source) => RunError::Nul {
                stage: self.place,
                source,
            },
        }
    }
}

/// Returns the words that `env` makes of the argument that a first line gives it: the name of a
/// program, and what it is given before the script.
///
/// Pinning has refused every form that takes more than splitting at blanks.
fn words_for_env(argument: Option<&str>) -> Vec<String> {
    let argument = argument.unwrap_or_default();
    match argument.strip_prefix("-S") {
        Some(words) => words.split_ascii_whitespace().map(str::to_owned).collect(),
        None => vec![argument.to_owned()],
    }
}
