//! Which servers stand behind the gateway: `.rea/registry.yaml`, read strictly.
//!
//! A file with one fault is not used at all. The file is read once, when the gateway starts.

mod adopt;
mod check;
mod file;
mod name;
mod print;
mod secret;
mod template;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    num::{NonZeroU32, NonZeroU64},
    path::{Path, PathBuf},
    time::Duration,
};

pub use self::{
    adopt::{Adopted, CLIENT_FILE, adopt},
    name::{ServerName, VariableName},
    secret::looks_secret,
    template::{Filled, Template},
};
pub use crate::tier::Tier;
use crate::yaml::{self, Fault, Place};

/// Where the registry lies, seen from the project's root.
pub const FILE: &str = ".rea/registry.yaml";

/// The longest that a time in the registry may be, in seconds (one day).
pub const MAX_SECONDS: u64 = 86_400;
/// How long a call may take unless the registry says otherwise.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_mins(1);
/// How long a server may take to start unless the registry says otherwise.
pub const DEFAULT_START_TIMEOUT: Duration = Duration::from_secs(30);
/// The most bytes a message from or to a server may have unless the registry says otherwise.
pub const DEFAULT_MAX_MESSAGE_BYTES: usize = 16 << 20;
/// The least that `max_message_bytes` may be; below it, not even a handshake fits.
pub const MIN_MESSAGE_BYTES: u64 = 4 << 10;
/// The most that `max_message_bytes` may be.
pub const MAX_MESSAGE_BYTES: u64 = 1 << 30;
/// How many calls one server may have open unless the registry says otherwise.
pub const DEFAULT_CONCURRENCY: NonZeroU32 = NonZeroU32::new(64).unwrap();
/// After how many faults in a row a server is left alone unless the registry says otherwise.
pub const DEFAULT_BREAKER_FAILURES: NonZeroU32 = NonZeroU32::new(5).unwrap();
/// How long a server is left alone then unless the registry says otherwise.
pub const DEFAULT_BREAKER_COOLDOWN: Duration = Duration::from_secs(30);
/// The most that a count (calls, failures) in the registry may be.
pub const MAX_COUNT: u64 = 1_000_000;

/// The servers of a project.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Registry {
    /// The servers in the order of the file, disabled ones included; no name stands twice.
    pub servers: Vec<Server>,
    /// Who reviews; read for the sake of older files, and used by nothing here.
    pub reviewer: Option<Reviewer>,
}

/// One server: how to start it, and what its tools may do.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Server {
    /// Its name, unique in the registry.
    pub name: ServerName,
    /// The program, found through the child's own PATH.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables to set, in the order of the file; later than everything inherited.
    pub env: Vec<(String, Template)>,
    /// Names of variables to inherit besides the ordinary ones. None looks like a secret.
    pub env_passthrough: Vec<VariableName>,
    /// Where it runs, absolute or seen from the project's root; the root itself if absent.
    pub cwd: Option<PathBuf>,
    /// Whether it is offered and started at all.
    pub enabled: bool,
    /// How long one call may take without progress.
    pub timeout: Duration,
    /// How long it may take from its start to the end of its handshake.
    pub start_timeout: Duration,
    /// The most bytes one message may have, in either direction.
    pub max_message_bytes: usize,
    /// Tools that are never offered and never called.
    pub blocked_tools: BTreeSet<String>,
    /// Tools with a tier set by hand.
    pub tier_overrides: BTreeMap<String, Tier>,
    /// Tools that run a shell line, and where in their arguments it stands.
    pub shell_tools: BTreeMap<String, ShellTool>,
    /// How often it may be called; without limit if absent.
    pub rate_limit: Option<RateLimit>,
    /// How many calls may be open at the same time.
    pub concurrency: NonZeroU32,
    /// When to leave a faulty server alone.
    pub breaker: Breaker,
    /// Where in the file it begins.
    pub place: Place,
}

/// Who reviews a push; nothing in the gateway reads it.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reviewer {
    /// `codex`.
    Codex,
    /// `claude-self`.
    ClaudeSelf,
}

/// A tool that runs a shell line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ShellTool {
    /// The argument that holds the line.
    pub argument: String,
    /// The shell that runs it.
    pub shell: Shell,
}

/// A shell that a tool hands its line to.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shell {
    /// `bash`, also what is assumed when the registry names none.
    #[default]
    Bash,
    /// The system's `sh`.
    Sh,
    /// `zsh`.
    Zsh,
}

/// At most `calls` calls in any `window`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RateLimit {
    /// How many calls.
    pub calls: NonZeroU64,
    /// In how long a time.
    pub window: Duration,
}

/// When to leave a faulty server alone, and for how long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Breaker {
    /// After how many transport faults or timeouts in a row.
    pub failures: NonZeroU32,
    /// For how long.
    pub cooldown: Duration,
}

impl Server {
    /// Returns a server with nothing but a name and a command; everything else is the default.
    pub fn new(name: ServerName, command: impl Into<String>) -> Self {
        Self {
            name,
            command: command.into(),
            args: Vec::new(),
            env: Vec::new(),
            env_passthrough: Vec::new(),
            cwd: None,
            enabled: true,
            timeout: DEFAULT_TIMEOUT,
            start_timeout: DEFAULT_START_TIMEOUT,
            max_message_bytes: DEFAULT_MAX_MESSAGE_BYTES,
            blocked_tools: BTreeSet::new(),
            tier_overrides: BTreeMap::new(),
            shell_tools: BTreeMap::new(),
            rate_limit: None,
            concurrency: DEFAULT_CONCURRENCY,
            breaker: Breaker::default(),
            place: Place { line: 1, column: 1 },
        }
    }
}

impl Default for Breaker {
    fn default() -> Self {
        Self {
            failures: DEFAULT_BREAKER_FAILURES,
            cooldown: DEFAULT_BREAKER_COOLDOWN,
        }
    }
}

/// Everything that is wrong with a registry file; never empty.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Returns the faults in the order of the file.
    pub fn all(&self) -> &[Fault] {
        &self.0
    }

    /// Returns whether the only fault is that there is no file.
    pub fn only_missing(&self) -> bool {
        self.0.iter().all(|fault| fault.missing)
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            if index > 0 {
                formatter.write_str("\n")?;
            }
            write!(formatter, "{fault}")?;
        }
        Ok(())
    }
}

impl Registry {
    /// Reads the registry at `path`.
    ///
    /// # Errors
    ///
    /// [`Faults`] with file, line and column: all of them if the text has the right shape, else the
    /// first. A missing file is one whose advice names `rea init`.
    pub fn load(path: &Path) -> Result<Self, Faults> {
        let text = yaml::text_of(path).map_err(|mut fault| {
            if fault.missing {
                fault.advice = "run `rea init --minimal` to write one".into();
            }
            fault
        })?;
        Self::parse(path, &text)
    }

    /// Reads a registry from its text; `file` only names it in faults.
    ///
    /// A text with nothing but comments is a registry without servers.
    ///
    /// # Errors
    ///
    /// As for [`Registry::load`].
    pub fn parse(file: &Path, text: &str) -> Result<Self, Faults> {
        let read: Option<file::Registry> = yaml::parse(file, text)?;
        read.map_or_else(|| Ok(Self::default()), |read| check::registry(file, read))
    }

    /// Returns the text of a registry file that reads as `self`.
    pub fn to_yaml(&self) -> String {
        print::registry(self)
    }

    /// Returns the server of that name.
    pub fn server(&self, name: &str) -> Option<&Server> {
        self.servers
            .iter()
            .find(|server| server.name.as_str() == name)
    }
}
