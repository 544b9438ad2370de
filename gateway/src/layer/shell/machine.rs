//! The machine as each server's children see it, and what a line would run there.
//!
//! A line is looked at with the PATH, the folder and the variables that a child of its server gets.
//! Looking can mean to hash a large file, so it happens on threads of its own, a few at a time.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsStr,
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use plainpipe::{
    Analyzer, Grants, Host, Pinned, Program,
    effect::{Facts, LineEffects, Models, judge_with},
    grant::{Granted, Session, Verdict as Answer},
    program::{self, Fact, Shell, Trust, WritableSearch},
};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use super::{
    tool::{Line, ShellCall},
    verdict::{Plain, ShellLine, Standing, Unchecked, Verdict, judge_text},
};
use crate::{
    child::{self, Variables},
    registry::{self, Registry},
};

/// How long looking at one line may take, the wait for others included. A file system that hangs
/// must not hang the caller.
pub const CHECK_LIMIT: Duration = Duration::from_secs(30);
/// How many lines are looked at at the same time.
const MAX_CHECKS: usize = 4;
/// The most bytes of a line that a hint repeats.
const MAX_REPEATED: usize = 200;

/// The grants, and the session in which they are read.
#[derive(Clone, Debug, Default)]
pub struct GrantFile {
    /// The file, or nothing if the user has no place for one.
    pub path: Option<PathBuf>,
    /// The session; without one, grants for a session do not count.
    pub session: Option<Session>,
}

/// The machine as the children of each server see it.
pub struct Machines {
    places: BTreeMap<String, Place>,
    models: Arc<Models>,
    file: GrantFile,
    grants: Mutex<Option<Arc<Grants>>>,
    checks: Arc<Semaphore>,
}

/// Where the children of one server run.
struct Place {
    variables: Result<Variables, String>,
    folder: PathBuf,
    /// Analysers that nobody uses at the moment, with what they know of files.
    idle: Mutex<HashMap<Shell, Vec<Analyzer>>>,
}

/// What was found, and the grants that cover the line.
pub(in crate::layer) struct Looked {
    pub(in crate::layer) line: ShellLine,
    pub(in crate::layer) granted: Option<Granted>,
}

impl Machines {
    /// Describes the machine for the servers of a project at `root`, whose gateway has `variables`.
    pub fn new(registry: &Registry, root: &Path, variables: &Variables, file: GrantFile) -> Self {
        let place = |server: &registry::Server| {
            let place = Place {
                variables: child::variables(server, variables).map_err(|error| error.to_string()),
                folder: match &server.cwd {
                    Some(cwd) => root.join(cwd),
                    None => root.to_owned(),
                },
                idle: Mutex::default(),
            };
            (server.name.as_str().to_owned(), place)
        };
        Self {
            places: registry.servers.iter().map(place).collect(),
            models: Arc::new(Models::shipped()),
            file,
            grants: Mutex::default(),
            checks: Arc::new(Semaphore::new(MAX_CHECKS)),
        }
    }

    /// Judges lines by these models instead of the shipped ones alone.
    #[must_use]
    pub fn with_models(self, models: Arc<Models>) -> Self {
        Self { models, ..self }
    }

    /// Looks at the line of a call to `server`, and blocks until that is done.
    ///
    /// A server that is not registered has no machine; its lines are judged by their text.
    pub fn judge(&self, server: &str, call: ShellCall) -> ShellLine {
        self.look(server, call).line
    }

    /// Looks at the line of a call without holding up the runtime.
    pub(in crate::layer) async fn look_aside(
        self: &Arc<Self>,
        server: &str,
        call: ShellCall,
    ) -> Looked {
        let registered = call.registered;
        let (machines, server) = (Arc::clone(self), server.to_owned());
        let checked = async {
            let turn = Arc::clone(&self.checks).acquire_owned().await.ok()?;
            let looking = spawn_blocking(move || {
                let _turn = turn; // given back when the work is done, even if nobody waits for it
                machines.look(&server, call)
            });
            looking.await.ok()
        };
        let (reason, detail) = match timeout(CHECK_LIMIT, checked).await {
            Ok(Some(looked)) => return looked,
            Ok(None) => (
                "looking at it failed",
                "see what was said before".to_owned(),
            ),
            Err(_) => (
                "looking at it took too long",
                format!("more than {} s", CHECK_LIMIT.as_secs()),
            ),
        };
        Looked::of(registered, Verdict::Unchecked(Unchecked { reason, detail }))
    }

    fn look(&self, server: &str, call: ShellCall) -> Looked {
        let ShellCall {
            registered,
            shell,
            argument,
            line,
        } = call;
        let Some(Line { text, beside }) = line else {
            return Looked::of(registered, Verdict::Missing { argument });
        };
        let (mut verdict, granted) = match self.places.get(server) {
            Some(place) => match self.check(place, shell_of(shell), &text) {
                Ok((verdict, granted)) => (verdict, granted),
                Err(unchecked) => (Verdict::Unchecked(unchecked), None),
            },
            None => (judge_text(&text), None),
        };
        let mut repeated = String::new();
        if let Verdict::Plain(plain) = &mut verdict {
            plain.beside = beside;
            let printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
            if printable && text.len() <= MAX_REPEATED {
                repeated = text;
            }
        }
        Looked {
            line: ShellLine {
                registered,
                verdict,
                repeated,
            },
            granted,
        }
    }

    fn check(
        &self,
        place: &Place,
        shell: Shell,
        text: &str,
    ) -> Result<(Verdict, Option<Granted>), Unchecked> {
        let grants = self.grants()?;
        let answer = place.with(shell, &self.models, |analyzer| {
            analyzer.check(text, &grants)
        })?;
        let (pinned, standing, granted) = match answer {
            Answer::Granted(granted) => (granted.line().clone(), Standing::Granted, Some(granted)),
            Answer::NotGranted(not) => {
                let missing = not.missing().to_vec();
                (not.into_line(), Standing::Ungranted(missing), None)
            }
            Answer::Drifted(drifted) => {
                return Ok((Verdict::Drifted(drifted.drifts().to_vec()), None));
            }
            Answer::Refused(refusal) => return Ok((Verdict::Refused(refusal), None)),
        };
        let effects = place.effects(&pinned, &self.models)?;
        let changeable = changeable(&pinned);
        let plain = Plain::of_pinned(&pinned, &effects, changeable, standing);
        Ok((Verdict::Plain(plain), granted))
    }

    /// Returns the grants as the file has them now.
    fn grants(&self) -> Result<Arc<Grants>, Unchecked> {
        let unread = |detail: String| Unchecked {
            reason: "the grants cannot be read",
            detail,
        };
        let path = self.file.path.as_ref().ok_or_else(|| {
            unread("neither XDG_STATE_HOME nor HOME is an absolute path".to_owned())
        })?;
        let mut kept = lock(&self.grants);
        if let Some(grants) = kept.as_mut() {
            (Arc::make_mut(grants).refresh()).map_err(|error| unread(error.to_string()))?;
            return Ok(Arc::clone(grants));
        }
        let grants = Grants::open(path, self.file.session.clone())
            .map_err(|error| unread(error.to_string()))?;
        Ok(Arc::clone(kept.insert(Arc::new(grants))))
    }
}

impl Looked {
    fn of(registered: bool, verdict: Verdict) -> Self {
        Self {
            line: ShellLine {
                registered,
                verdict,
                repeated: String::new(),
            },
            granted: None,
        }
    }
}

impl Place {
    fn variables(&self) -> Result<&Variables, Unchecked> {
        self.variables
            .as_ref()
            .map_err(|error| Unchecked::place(error.clone()))
    }

    /// Uses one of the analysers for this shell.
    fn with<T>(
        &self,
        shell: Shell,
        models: &Arc<Models>,
        work: impl FnOnce(&mut Analyzer) -> T,
    ) -> Result<T, Unchecked> {
        let here = place_of(&self.folder)?;
        let idle = lock(&self.idle).get_mut(&shell).and_then(Vec::pop);
        let mut analyzer = match idle {
            Some(analyzer) => analyzer,
            None => Analyzer::new(self.host(shell)?).with_models(Arc::clone(models)),
        };
        if analyzer.host().place() != here {
            // The folder was put away, and another one has its name.
            analyzer.set_host(self.host(shell)?);
        }
        let result = work(&mut analyzer);
        lock(&self.idle).entry(shell).or_default().push(analyzer);
        Ok(result)
    }

    fn host(&self, shell: Shell) -> Result<Host, Unchecked> {
        let variables = self.variables()?;
        let path = variables.get(OsStr::new("PATH")).cloned();
        let host =
            Host::new(path, &self.folder).map_err(|error| Unchecked::place(error.to_string()))?;
        let environment = variables.iter();
        let environment = environment.map(|(name, value)| (name.clone(), value.clone()));
        Ok(host
            .with_shell(shell)
            .with_environment(environment)
            // The shell searches PATH once more when it runs the line.
            .with_writable_search(WritableSearch::Refuse))
    }

    /// Says what a line could do here.
    fn effects(&self, pinned: &Pinned, models: &Models) -> Result<LineEffects, Unchecked> {
        let names = self.variables()?.keys();
        let names: Vec<&str> = names.filter_map(|name| name.to_str()).collect();
        let facts = Facts {
            directory: self.folder.to_str(),
            environment: &names,
        };
        Ok(judge_with(pinned.line(), models, &facts))
    }
}

impl Unchecked {
    const fn place(detail: String) -> Self {
        Self {
            reason: "the place where it would run cannot be looked at",
            detail,
        }
    }
}

/// Returns which folder a path stands for now.
fn place_of(folder: &Path) -> Result<program::Place, Unchecked> {
    program::Place::of(folder).map_err(|error| Unchecked::place(error.to_string()))
}

/// Returns the programs of a line, those that arguments name included, that the user could replace,
/// that PATH would then find another one for, or that are not known.
fn changeable(pinned: &Pinned) -> Vec<String> {
    let loose = |program: &Program| match program {
        Program::File(file) => {
            let early = |trust: &Trust| trust.fact == Fact::EarlierDirectoryWritable;
            !file.is_protected() || file.trust().iter().any(early)
        }
        Program::Builtin(_) => false,
    };
    let mut names = Vec::new();
    for stage in pinned.stages() {
        if loose(stage.program()) {
            names.push(stage.stage().program().text.to_owned());
        }
        for inner in stage.inner() {
            if inner.program().is_none_or(loose) {
                names.push(inner.call().name().unwrap_or_default().to_owned());
            }
        }
    }
    names
}

const fn shell_of(shell: registry::Shell) -> Shell {
    match shell {
        registry::Shell::Bash => Shell::Bash,
        registry::Shell::Sh => Shell::Sh,
        registry::Shell::Zsh => Shell::Zsh,
    }
}

/// No code under these locks leaves what they hold half changed.
fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl fmt::Debug for Machines {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Machines")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}
