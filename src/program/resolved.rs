//! From words to the files that they name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;

use super::builtin::Builtin;
use super::cache::PinCache;
use super::host::{Host, WritableSearch};
use super::ids::Ids;
use super::nearest::nearest;
use super::pin;
use super::pinned::Pinned;
use super::search::{Match, Search, SearchError, Way};
use super::shell::Shell;
use super::stat::FileStat;
use super::trust::{Fact, Trust, is_no_exec, observe};
use super::walk::{Walk, WalkError, walk};
use crate::effect::{Facts, Inner, LineEffects, Lookup, Models, judge_with};
use crate::plain::{Code, Line, Refusal, Stage, Visible, Word};

/// A line and, for each stage, what its program word stands for.
///
/// The files were looked at but not opened. [`pin`](Self::pin) does that.
#[derive(Debug)]
pub struct Resolved<'h> {
    pub(super) host: &'h Host,
    pub(super) line: Line,
    pub(super) found: Vec<Found>,
    pub(super) effects: LineEffects,
    /// For each stage what the programs that its arguments name stand for, where they are looked up here.
    pub(super) inner: Vec<Vec<Option<Found>>>,
    pub(super) models: Arc<Models>,
}

/// What the program word of a stage stands for.
#[derive(Clone, Debug)]
pub enum Found {
    /// A file that the user may execute.
    File(FoundFile),
    /// A builtin of the shell that only prints or compares its arguments.
    Builtin(Builtin),
}

/// A file that a word stands for.
#[derive(Clone, Debug)]
pub struct FoundFile {
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) by_path: bool,
    pub(super) way: Arc<Way>,
    pub(super) trust: Vec<Trust>,
}

/// Why a word or an interpreter stands for no file that can be run, short of the place to blame.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) code: Code,
    pub(super) seen: String,
    pub(super) hint: Option<String>,
}

impl FoundFile {
    /// Returns the word as the line has it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the absolute path that the word stands for, symlinks not followed.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path without symlinks.
    pub fn real_path(&self) -> &Path {
        &self.way.walk.real_path
    }
}

impl<'h> Resolved<'h> {
    /// Finds the program of each stage, and those that its arguments name.
    pub(super) fn new(
        host: &'h Host,
        line: Line,
        models: &Arc<Models>,
        search: &mut Search,
    ) -> Result<Self, Refusal> {
        if host.shell() != Shell::None && !host.environment().keeps_utf8() {
            let words = line.stages().flat_map(|stage| stage.words());
            if let Some(word) = words.clone().find(|word| !word.text.is_ascii()) {
                return Err(Refusal::of_word(Code::LocaleNotUtf8, word));
            }
        }
        let found: Result<Vec<Found>, Refusal> = line
            .stages()
            .map(|stage| find(host, &stage, search))
            .collect();
        let found = found?;
        let facts = Facts {
            directory: host.working_directory().to_str(),
            ..Facts::default()
        };
        let effects = judge_with(&line, models, &facts);
        let inner: Result<Vec<Vec<Option<Found>>>, Refusal> = effects
            .stages
            .iter()
            .map(|stage| {
                let calls = stage.inner.iter();
                calls.map(|call| find_inner(host, call, search)).collect()
            })
            .collect();
        Ok(Self {
            host,
            line,
            found,
            inner: inner?,
            effects,
            models: Arc::clone(models),
        })
    }

    /// Returns the line.
    pub const fn line(&self) -> &Line {
        &self.line
    }

    /// Returns what each stage would run, in order.
    pub fn found(&self) -> &[Found] {
        &self.found
    }

    /// Returns what the line could do.
    pub const fn effects(&self) -> &LineEffects {
        &self.effects
    }

    /// Returns for each stage, and each program that its arguments name, what that stands for; `None`
    /// where it is not looked up here, as [`Inner::lookup`] says.
    pub fn inner(&self) -> &[Vec<Option<Found>>] {
        &self.inner
    }

    /// Opens each file, and those it needs to run, and says exactly which ones they are.
    ///
    /// A file that `cache` knows in its present state is not read again.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] that blames the word of the program.
    pub fn pin(self, cache: &mut PinCache) -> Result<Pinned, Refusal> {
        pin::pin(self, cache, &mut Search::new())
    }
}

fn find(host: &Host, stage: &Stage<'_>, search: &mut Search) -> Result<Found, Refusal> {
    let word = stage.program();
    let imports = matches!(host.shell(), Shell::Bash | Shell::Sh);
    if imports && host.environment().defines(word.text) {
        return Err(Refusal::of_word(Code::ShellFunction, word));
    }
    if let Some(builtin) = Builtin::of(host.shell(), word, stage.words().skip(1))? {
        return Ok(Found::Builtin(builtin));
    }
    let file = find_file(host, word.text, search).map_err(|fault| fault.blame(word))?;
    Ok(Found::File(file))
}

/// Finds a program that arguments name, as the program around it will.
fn find_inner(host: &Host, call: &Inner, search: &mut Search) -> Result<Option<Found>, Refusal> {
    let Some(name) = call.name() else {
        return Ok(None);
    };
    let word = |text| Word {
        text,
        span: call.program,
    };
    match call.lookup {
        Lookup::Unknown | Lookup::Elsewhere => return Ok(None),
        Lookup::Path => {}
        Lookup::Shell => {
            if host.environment().defines(name) {
                return Err(Refusal::of_word(Code::ShellFunction, word(name)));
            }
            let arguments = call.words.iter().skip(1).map(|text| word(text));
            if let Some(builtin) = Builtin::of(Shell::Sh, word(name), arguments)? {
                return Ok(Some(Found::Builtin(builtin)));
            }
        }
    }
    let file = find_file(host, name, search).map_err(|fault| fault.blame(word(name)))?;
    Ok(Some(Found::File(file)))
}

/// Finds the file that a program word stands for.
fn find_file(host: &Host, name: &str, search: &mut Search) -> Result<FoundFile, Fault> {
    let by_path = name.contains('/');
    let found = locate(host, name, search)?;
    let mut trust: Vec<Trust> = found
        .writable
        .into_iter()
        .map(|directory| Trust::new(Fact::EarlierDirectoryWritable, directory))
        .collect();
    if let Some(early) = trust.first()
        && host.shell() != Shell::None
        && host.writable_search() == WritableSearch::Refuse
    {
        return Err(Fault::new(Code::PathWritable, shown(&early.at)));
    }
    let way = executable(host, &found.path, found.stat, search)?;
    trust.extend_from_slice(&way.trust);
    let real_path = &way.walk.real_path;
    if real_path.starts_with(host.working_directory()) {
        trust.push(Trust::new(Fact::UnderWorkingDirectory, real_path));
    }
    Ok(FoundFile {
        name: name.to_owned(),
        path: found.path,
        by_path,
        way,
        trust,
    })
}

/// Returns the path that a name stands for, on PATH or from the working directory.
pub(super) fn locate(host: &Host, name: &str, search: &mut Search) -> Result<Match, Fault> {
    if name.contains('/') {
        return Ok(Match {
            path: host.working_directory().join(name),
            stat: None,
            writable: Vec::new(),
        });
    }
    search.find(host, name).map_err(|error| match error {
        SearchError::Unset => Fault::new(Code::PathUnset, ""),
        SearchError::Relative(element) => {
            let element = element.to_string_lossy();
            Fault::new(Code::PathRelative, format!("the element is '{element}'"))
        }
        SearchError::NotFound => {
            let near = nearest(host, name);
            let hint = (!near.is_empty()).then(|| format!("did you mean {}?", either(&near)));
            Fault {
                hint,
                ..Fault::new(Code::ProgramNotFound, "")
            }
        }
        SearchError::NotAFile(path) => Fault::new(Code::NotAFile, shown(&path)),
        SearchError::NotExecutable(path) => not_executable(&path),
        SearchError::Failed(path, errno) => of_errno(&path, errno),
    })
}

/// Follows `path` to a regular file that the user may execute.
pub(super) fn executable(
    host: &Host,
    path: &Path,
    stat: Option<FileStat>,
    search: &mut Search,
) -> Result<Arc<Way>, Fault> {
    if let Some(way) = search.known_way(path, stat) {
        return Ok(way);
    }
    let ids = host.ids();
    let walk = walk(path).map_err(|WalkError { at, errno }| of_errno(&at, errno))?;
    if !walk.stat.is_file() {
        return Err(Fault::new(Code::NotAFile, shown(&walk.real_path)));
    }
    let directories = walk.directories.iter().map(|(path, _)| path.as_path());
    let links = walk.links.iter().map(PathBuf::as_path);
    let mut paths = directories
        .chain(links)
        .chain([path, walk.real_path.as_path()]);
    let other = paths.find(|path| path.to_str().is_none()).map(shown);
    drop(paths);
    if let Some(path) = other {
        return Err(Fault::new(Code::PathNotUtf8, path));
    }
    // Its links lead elsewhere for every process, as the working directory does.
    let mut passed = walk.directories.iter().map(|(path, _)| path);
    if passed.any(|path| path.starts_with("/proc")) {
        let seen = format!("{} leads through /proc", shown(path));
        return Err(Fault::new(Code::PathRelative, seen));
    }
    match ids.may_execute(&walk.real_path, &walk.stat) {
        Ok(true) => {}
        Ok(false) => return Err(not_executable(&walk.real_path)),
        Err(errno) => return Err(of_errno(&walk.real_path, errno)),
    }
    let trust = facts(ids, &walk);
    let way = Arc::new(Way { walk, trust });
    search.note_way(path, &way);
    Ok(way)
}

fn facts(ids: &Ids, walk: &Walk) -> Vec<Trust> {
    let mut facts = Vec::new();
    for (path, stat) in &walk.directories {
        observe(&mut facts, ids, path, stat);
    }
    observe(&mut facts, ids, &walk.real_path, &walk.stat);
    // The kernel has been asked about its own user, and would have said no.
    if !ids.is_own() && is_no_exec(&walk.real_path) {
        facts.push(Trust::new(Fact::NoExecMount, &walk.real_path));
    }
    facts
}

fn not_executable(path: &Path) -> Fault {
    let reason = if is_no_exec(path) {
        " lies on a mount that nothing is executed from"
    } else {
        ""
    };
    Fault::new(Code::NotExecutable, format!("{}{reason}", shown(path)))
}

pub(super) fn of_errno(path: &Path, errno: Errno) -> Fault {
    let code = match errno {
        Errno::LOOP => Code::SymlinkLoop,
        Errno::NOENT | Errno::NAMETOOLONG => Code::ProgramNotFound,
        Errno::NOTDIR => Code::NotAFile,
        _ => Code::Unreadable,
    };
    Fault::new(code, format!("{}: {errno}", shown(path)))
}

impl Fault {
    pub(super) fn new(code: Code, seen: impl Into<String>) -> Self {
        Self {
            code,
            seen: seen.into(),
            hint: None,
        }
    }

    /// Blames the word of the program.
    pub(super) fn blame(self, word: Word<'_>) -> Refusal {
        let mut refusal = Refusal::of_word(self.code, word);
        if !self.seen.is_empty() {
            refusal = refusal.seeing(self.seen);
        }
        if let Some(hint) = self.hint {
            refusal = refusal.hinting(hint);
        }
        refusal
    }
}

/// Returns a path for a message.
pub(super) fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Returns names as a choice, safe to print.
fn either(names: &[String]) -> String {
    let names: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", Visible(name)))
        .collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}
