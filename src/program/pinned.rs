//! A line whose programs are known to the byte.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeSeq, SerializeStruct, Serializer};

use super::builtin::Builtin;
use super::host::{Host, Place};
use super::identity::Identity;
use super::interpreter::Interpreter;
use super::lease::Lease;
use super::pin::FilePin;
use super::read::{ReadError, hash, open};
use super::shell::Shell;
use super::stat::FileStat;
use super::trust::{Fact, Trust};
use crate::effect::{
    Effect, Inner, LineEffects, Models, PathUse, ReplacedModel, StageEffects, Tier,
};
use crate::plain::{Line, Stage, write_quoted};

/// A line, and for each stage the program that would run, by content.
///
/// Only pinning makes one. Serialises as the [`Line`] does, with `program` and what it could do added to
/// each stage, and `shell`, `environment` and what the line could do to the whole.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Pinned {
    line: Line,
    programs: Vec<Program>,
    judged: Judged,
    shell: Shell,
    place: Place,
    path: Option<OsString>,
    working_directory: PathBuf,
    environment: Vec<Trust>,
}

/// What a line could do, and the programs that its arguments name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Judged {
    pub(super) effects: LineEffects,
    /// One list per stage, as long as its list of inner calls.
    pub(super) inner: Vec<Vec<Option<Program>>>,
    /// What the line was judged with.
    pub(super) models: Arc<Models>,
}

/// What one stage runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Program {
    /// A file.
    File(Box<FileProgram>),
    /// A builtin of the shell that only prints or compares its arguments.
    Builtin(Builtin),
}

/// A file that is run as a program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FileProgram {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) by_path: bool,
    pub(super) links: Vec<PathBuf>,
    pub(super) pin: FilePin,
    pub(super) interpreters: Vec<Interpreter>,
    pub(super) trust: Vec<Trust>,
}

/// One stage of a [`Pinned`] line.
#[derive(Clone, Debug)]
pub struct PinnedStage<'a> {
    stage: Stage<'a>,
    program: &'a Program,
    effects: &'a StageEffects,
    inner: &'a [Option<Program>],
}

/// A program that the arguments of a stage name.
#[derive(Clone, Copy, Debug)]
pub struct PinnedInner<'a> {
    call: &'a Inner,
    program: Option<&'a Program>,
}

impl Pinned {
    pub(super) fn new(host: &Host, line: Line, programs: Vec<Program>, judged: Judged) -> Self {
        let hazards: &[String] = match host.shell() {
            Shell::Bash | Shell::Sh | Shell::Zsh => &host.environment().hazards,
            Shell::None => &[],
        };
        let hazards = hazards
            .iter()
            .map(|name| Trust::new(Fact::Environment, name));
        Self {
            line,
            programs,
            judged,
            shell: host.shell(),
            place: host.place(),
            path: host.path().map(OsStr::to_owned),
            working_directory: host.working_directory().to_owned(),
            environment: hazards.collect(),
        }
    }

    /// Returns the line.
    pub const fn line(&self) -> &Line {
        &self.line
    }

    /// Returns the program of each stage, in order.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// Returns the stages with their programs, of which there is at least one.
    pub fn stages(&self) -> impl ExactSizeIterator<Item = PinnedStage<'_>> + Clone {
        let judged = self.judged.effects.stages.iter().zip(&self.judged.inner);
        let stages = self.line.stages().zip(&self.programs).zip(judged);
        stages.map(|((stage, program), (effects, inner))| PinnedStage {
            stage,
            program,
            effects,
            inner,
        })
    }

    /// Returns how much the line may do at most.
    pub const fn tier(&self) -> Tier {
        self.judged.effects.tier
    }

    /// Returns what the line could do.
    pub const fn effects(&self) -> &LineEffects {
        &self.judged.effects
    }

    /// Returns the models that the line was judged with.
    pub fn models(&self) -> &Models {
        &self.judged.models
    }

    /// Returns the shell that will run the line.
    pub const fn shell(&self) -> Shell {
        self.shell
    }

    /// Returns where the paths were looked up; whoever starts the programs compares its own.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Returns the PATH that names were looked up on, or `None` if it was not set.
    pub fn path(&self) -> Option<&OsStr> {
        self.path.as_deref()
    }

    /// Returns the working directory that the line was analysed for, an absolute path.
    pub fn working_directory(&self) -> &Path {
        &self.working_directory
    }

    /// Returns the variables that can make the shell or the programs run other code.
    pub fn environment(&self) -> &[Trust] {
        &self.environment
    }

    /// Returns whether only root can change any of the files, and any directory on their way.
    ///
    /// Where that is not so, a shell that opens the paths once more may find other files.
    pub fn is_protected(&self) -> bool {
        let inner = self.judged.inner.iter().flatten().flatten();
        self.programs.iter().chain(inner).all(Program::is_protected)
    }

    /// Returns the line as text for a shell: absolute program paths, and every word in single
    /// quotes. Builtins keep their names.
    pub fn to_shell(&self) -> String {
        let mut text = String::new();
        for stage in self.stages() {
            if !text.is_empty() {
                text.push_str(" | ");
            }
            let mut words = stage.stage.argv();
            let name = words.next().unwrap_or_default();
            let path = match stage.program {
                Program::File(file) => file.path.to_str().unwrap_or(name),
                Program::Builtin(_) => name,
            };
            write_quoted(&mut text, path);
            for word in words {
                text.push(' ');
                write_quoted(&mut text, word);
            }
        }
        text
    }
}

impl<'a> PinnedStage<'a> {
    /// Returns the words.
    pub const fn stage(&self) -> &Stage<'a> {
        &self.stage
    }

    /// Returns the program.
    pub const fn program(&self) -> &'a Program {
        self.program
    }

    /// Returns what it could do.
    pub const fn effects(&self) -> &'a StageEffects {
        self.effects
    }

    /// Returns the programs that the arguments name, each before those inside it.
    pub fn inner(&self) -> impl ExactSizeIterator<Item = PinnedInner<'a>> + Clone + use<'a> {
        let calls = self.effects.inner.iter().zip(self.inner);
        calls.map(|(call, program)| PinnedInner {
            call,
            program: program.as_ref(),
        })
    }
}

impl<'a> PinnedInner<'a> {
    /// Returns the words and how the program is found.
    pub const fn call(&self) -> &'a Inner {
        self.call
    }

    /// Returns the program; `None` where it is not looked up here, as [`Inner::lookup`] says.
    pub const fn program(&self) -> Option<&'a Program> {
        self.program
    }
}

impl Program {
    /// Returns whether only root can change it and what is on the way to it.
    fn is_protected(&self) -> bool {
        match self {
            Self::File(file) => file.is_protected(),
            Self::Builtin(_) => true,
        }
    }
}

impl FileProgram {
    /// Returns the word as the line has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the absolute path that was found for the word, symlinks not followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the word is a path, so that PATH was not searched.
    pub const fn by_path(&self) -> bool {
        self.by_path
    }

    /// Returns the symlinks that were followed, each by its own real path, in order.
    pub fn links(&self) -> &[PathBuf] {
        &self.links
    }

    /// Returns which file it is.
    pub const fn identity(&self) -> &Identity {
        &self.pin.identity
    }

    /// Returns the files that run it, pinned as well: the dynamic linker, the interpreters of a
    /// script and theirs.
    pub fn interpreters(&self) -> &[Interpreter] {
        &self.interpreters
    }

    /// Returns what makes it, its interpreters or their places less trustworthy.
    pub fn trust(&self) -> &[Trust] {
        &self.trust
    }

    /// Returns whether only root can change the file, its interpreters and every directory on
    /// their way.
    pub fn is_protected(&self) -> bool {
        let mut interpreters = self.interpreters.iter();
        self.pin.protected && interpreters.all(|interpreter| interpreter.pin.protected)
    }

    /// Opens the file that was pinned, and keeps everybody from writing to it.
    ///
    /// # Errors
    ///
    /// When it is no longer the same file in the same state, or cannot be held.
    pub fn hold(&self) -> Result<Held, NotHeld> {
        self.pin.hold()
    }
}

impl Interpreter {
    /// Opens the interpreter that was pinned, and keeps everybody from writing to it.
    ///
    /// # Errors
    ///
    /// When it is no longer the same file in the same state, or cannot be held.
    pub fn hold(&self) -> Result<Held, NotHeld> {
        self.pin.hold()
    }
}

/// A file that was pinned, open for reading, which nobody writes to while the value lives.
///
/// Either a lease is held on it, or only root can change it.
#[derive(Debug)]
pub struct Held {
    file: Hold,
    identity: Identity,
}

#[derive(Debug)]
enum Hold {
    Leased(Lease),
    Protected(File),
}

/// A pinned file that cannot be held.
#[derive(Debug, thiserror::Error)]
pub enum NotHeld {
    /// It cannot be opened or read.
    #[error("{}: cannot be read: {source}", .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is another file, or in another state, than the one that was pinned.
    #[error("{}: not the file that was checked; check the line again", .0.display())]
    Changed(PathBuf),
    /// Somebody can write to it, and the kernel gives no lease that would keep them off.
    #[error("{}: others can write to it and it cannot be locked against that: {source}", .path.display())]
    Writable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

impl Held {
    /// Returns the file, whose offset is not of use to anybody else.
    pub const fn file(&self) -> &File {
        match &self.file {
            Hold::Leased(lease) => lease.file(),
            Hold::Protected(file) => file,
        }
    }

    /// Returns which file it is.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Returns whether nobody has asked to write to it since it was held. Unlike
    /// [`is_current`](Self::is_current) this does not mind that its name was given to another file.
    pub(crate) fn lease_lasts(&self) -> bool {
        match &self.file {
            Hold::Leased(lease) => lease.is_held(),
            Hold::Protected(_) => true,
        }
    }

    /// Returns whether it still is what was pinned: the state is the same and the lease lasts.
    /// Ask right before starting it.
    pub fn is_current(&self) -> bool {
        let held = match &self.file {
            Hold::Leased(lease) => lease.is_held(),
            Hold::Protected(_) => true,
        };
        let stat = rustix::fs::fstat(self.file()).map(FileStat::from);
        held && stat.is_ok_and(|stat| self.identity.is_state(&stat))
    }
}

impl FilePin {
    /// Opens the file again, under a lease where it is not protected, and makes sure that the
    /// content is the one that was hashed.
    fn hold(&self) -> Result<Held, NotHeld> {
        let path = || self.identity.real_path.clone();
        let unreadable = |source| NotHeld::Unreadable {
            path: path(),
            source,
        };
        let file = open(&self.identity.real_path).map_err(|errno| match errno {
            rustix::io::Errno::LOOP | rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR => {
                NotHeld::Changed(path())
            }
            other => unreadable(other.into()),
        })?;
        let file = if self.protected {
            Hold::Protected(file)
        } else {
            let lease = Lease::take(file);
            Hold::Leased(lease.map_err(|(_, source)| NotHeld::Writable {
                path: path(),
                source,
            })?)
        };
        let held = Held {
            file,
            identity: self.identity.clone(),
        };
        if !held.is_current() {
            return Err(NotHeld::Changed(path()));
        }
        if !self.settled {
            let digest = hash(held.file(), self.identity.size);
            let (digest, _) = digest.map_err(|error| match error {
                ReadError::System(source) => unreadable(source),
                ReadError::Changed | ReadError::TooLarge => NotHeld::Changed(path()),
            })?;
            if digest != self.identity.sha256 || !held.is_current() {
                return Err(NotHeld::Changed(path()));
            }
        }
        Ok(held)
    }
}

impl Serialize for Pinned {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let effects: Vec<&Effect> = self.effects().effects().collect();
        let paths: Vec<&PathUse> = self.effects().paths().collect();
        let mut object = serializer.serialize_struct("Pinned", 8)?;
        object.serialize_field("verdict", "plain")?;
        object.serialize_field("stages", &Stages(self))?;
        object.serialize_field("canonical", &self.line.to_shell())?;
        object.serialize_field("shell", &self.shell)?;
        object.serialize_field("environment", &self.environment)?;
        object.serialize_field("tier", &self.tier())?;
        object.serialize_field("effects", &effects)?;
        object.serialize_field("paths", &paths)?;
        object.end()
    }
}

struct Stages<'a>(&'a Pinned);

impl Serialize for Stages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.programs.len()))?;
        for stage in self.0.stages() {
            list.serialize_element(&stage)?;
        }
        list.end()
    }
}

impl Serialize for PinnedStage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Object<'a> {
            #[serde(flatten)]
            stage: &'a Stage<'a>,
            program: &'a Program,
            tier: Tier,
            effects: &'a [Effect],
            paths: &'a [PathUse],
            inner: Vec<PinnedInner<'a>>,
            #[serde(skip_serializing_if = "<[ReplacedModel]>::is_empty")]
            replaced_models: &'a [ReplacedModel],
        }
        let object = Object {
            stage: &self.stage,
            program: self.program,
            tier: self.effects.tier,
            effects: &self.effects.effects,
            paths: &self.effects.paths,
            inner: self.inner().collect(),
            replaced_models: &self.effects.replaced_models,
        };
        object.serialize(serializer)
    }
}

impl Serialize for PinnedInner<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Inner", 5)?;
        self.call.serialize_into(&mut object)?;
        object.serialize_field("program", &self.program)?;
        object.end()
    }
}

impl Serialize for Program {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::File(file) => file.serialize(serializer),
            Self::Builtin(builtin) => {
                let mut object = serializer.serialize_struct("Program", 3)?;
                object.serialize_field("name", builtin.name())?;
                object.serialize_field("kind", "builtin")?;
                object.serialize_field("shell", &builtin.shell())?;
                object.end()
            }
        }
    }
}

impl Serialize for FileProgram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Program", 18)?;
        object.serialize_field("name", &self.name)?;
        object.serialize_field("kind", "file")?;
        object.serialize_field("path", &self.path)?;
        object.serialize_field("by_path", &self.by_path)?;
        object.serialize_field("links", &self.links)?;
        self.identity().serialize_into(&mut object)?;
        object.serialize_field("interpreters", &self.interpreters)?;
        object.serialize_field("trust", &self.trust)?;
        object.end()
    }
}
