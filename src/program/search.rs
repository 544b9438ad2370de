//! Looking a name up along PATH.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::cache::{is_settled, keeps_times};
use super::host::Host;
use super::ids::Ids;
use super::stat::FileStat;
use super::trust::Trust;
use super::walk::{Walk, walk};

/// How many absent names are remembered for one directory.
const MAX_ABSENT: usize = 1024;

/// How many files are remembered.
const MAX_WAYS: usize = 4096;

/// How long it is believed that a way to a file or to a PATH directory is still the same way, and
/// that nobody gained the right to write to a directory on it. The end of the way is looked at
/// every time.
const WAY_FOR: Duration = Duration::from_secs(1);

/// Looks names up, as `execvp` and the shells do where these agree.
///
/// In a loop it can remember which names a directory does not hold, for as long as the directory
/// stays as it was, and the ways to files, for as long as the files do.
#[derive(Debug)]
pub(crate) struct Search {
    /// The directories of PATH, by their place in it.
    directories: BTreeMap<usize, Directory>,
    ways: HashMap<PathBuf, Remembered>,
    remember: bool,
}

/// What is remembered of one PATH directory.
#[derive(Debug)]
struct Directory {
    element: OsString,
    stat: Option<FileStat>,
    absent: HashSet<Box<str>>,
    /// Whether any change of the entries is certain to show in `stat`.
    telling: bool,
    writable: bool,
    judged: Instant,
}

/// A way that was found good, and when.
#[derive(Debug)]
struct Remembered {
    way: Arc<Way>,
    judged: Instant,
}

/// The way to a file that the user may execute, and what it says of the file.
#[derive(Debug)]
pub(crate) struct Way {
    pub(crate) walk: Walk,
    pub(crate) trust: Vec<Trust>,
}

/// The file that a name stands for.
#[derive(Debug)]
pub(crate) struct Match {
    pub(crate) path: PathBuf,
    /// What was seen of it, if it was looked at.
    pub(crate) stat: Option<FileStat>,
    /// The directories before it that the user could put a file into.
    pub(crate) writable: Vec<PathBuf>,
}

/// Why a name stands for no file.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum SearchError {
    /// PATH is not set.
    Unset,
    /// This element comes before the match and does not start with a slash.
    Relative(OsString),
    /// No directory has the name.
    NotFound,
    /// The name is there, but as no file.
    NotAFile(PathBuf),
    /// The file is there, but may not be executed.
    NotExecutable(PathBuf),
    /// Looking at a candidate failed in a way that shells treat differently.
    Failed(PathBuf, Errno),
}

impl Search {
    /// Returns one that looks everything up afresh.
    pub(crate) fn new() -> Self {
        Self {
            directories: BTreeMap::new(),
            ways: HashMap::new(),
            remember: false,
        }
    }

    /// Returns one that remembers.
    pub(crate) fn remembering() -> Self {
        Self {
            remember: true,
            ..Self::new()
        }
    }

    /// Returns the way to `path`, if it was found good a moment ago and leads to a file in the same
    /// state now. `stat` is that state, if it is known.
    pub(crate) fn known_way(&self, path: &Path, stat: Option<FileStat>) -> Option<Arc<Way>> {
        let Remembered { way, judged } = self.ways.get(path)?;
        if judged.elapsed() >= WAY_FOR {
            return None;
        }
        let stat = stat.or_else(|| FileStat::of(path).ok())?;
        (way.walk.stat == stat).then(|| Arc::clone(way))
    }

    /// Remembers a way that was found good.
    pub(crate) fn note_way(&mut self, path: &Path, way: &Arc<Way>) {
        if !self.remember {
            return;
        }
        if self.ways.len() >= MAX_WAYS {
            self.ways.clear();
        }
        let way = Remembered {
            way: Arc::clone(way),
            judged: Instant::now(),
        };
        self.ways.insert(path.to_owned(), way);
    }

    /// Finds the first file of this name that the user may execute.
    ///
    /// As in the shells, candidates that are no files or not executable are passed over. An
    /// element that is not absolute ends the search: what it stands for depends on the working
    /// directory.
    pub(crate) fn find(&mut self, host: &Host, name: &str) -> Result<Match, SearchError> {
        let now = Instant::now();
        let mut writable = Vec::new();
        let mut passed_over = SearchError::NotFound;
        let mut path = PathBuf::new();
        let elements = host.path_elements().ok_or(SearchError::Unset)?;
        for (index, element) in elements.enumerate() {
            if element.as_bytes().first() != Some(&b'/') {
                return Err(SearchError::Relative(element.to_owned()));
            }
            let directory = self.directory(host.ids(), index, element, now);
            if directory.stat.is_some() && !directory.absent.contains(name) {
                path.clear();
                path.push(element);
                path.push(name);
                match FileStat::of(&path) {
                    Ok(stat) if !stat.is_file() => {
                        if passed_over == SearchError::NotFound {
                            passed_over = SearchError::NotAFile(path.clone());
                        }
                    }
                    Ok(stat) => match host.ids().may_execute(&path, &stat) {
                        Ok(true) => {
                            return Ok(Match {
                                path,
                                stat: Some(stat),
                                writable,
                            });
                        }
                        Ok(false) => {
                            if !matches!(passed_over, SearchError::NotExecutable(_)) {
                                passed_over = SearchError::NotExecutable(path.clone());
                            }
                        }
                        Err(errno) => return Err(SearchError::Failed(path, errno)),
                    },
                    Err(Errno::NOENT) => directory.note_absence(&path, name),
                    Err(Errno::NOTDIR | Errno::ACCESS | Errno::NAMETOOLONG) => {}
                    Err(errno) => return Err(SearchError::Failed(path, errno)),
                }
            }
            if directory.writable {
                writable.push(PathBuf::from(element));
            }
        }
        Err(passed_over)
    }

    /// Returns what is known of an element, after looking whether it still holds.
    fn directory(
        &mut self,
        ids: &Ids,
        index: usize,
        element: &OsStr,
        now: Instant,
    ) -> &mut Directory {
        let path = Path::new(element);
        let stat = FileStat::of(path).ok().filter(FileStat::is_directory);
        let fresh = |absent| Directory {
            element: element.to_owned(),
            stat,
            absent,
            telling: self.remember
                && stat.is_some_and(|stat| is_settled(stat.ctime_ns))
                && keeps_times(path),
            writable: could_gain_a_file(ids, path),
            judged: now,
        };
        let known = self
            .directories
            .entry(index)
            .or_insert_with(|| fresh(HashSet::new()));
        let same = known.element == element && known.stat == stat;
        if !same || now.saturating_duration_since(known.judged) >= WAY_FOR {
            let absent = std::mem::take(&mut known.absent);
            let keep = same && known.telling;
            *known = fresh(if keep { absent } else { HashSet::new() });
        }
        known
    }
}

impl Directory {
    /// Remembers that there is no entry of this name, not even a symlink that leads nowhere.
    fn note_absence(&mut self, path: &Path, name: &str) {
        let absent = || FileStat::of_link(path) == Err(Errno::NOENT);
        if self.telling && self.absent.len() < MAX_ABSENT && absent() {
            self.absent.insert(name.into());
        }
    }
}

/// Returns whether the user could make a file appear in the directory, or the directory itself.
pub(super) fn could_gain_a_file(ids: &Ids, directory: &Path) -> bool {
    for part in directory.ancestors() {
        if let Ok(walk) = walk(part) {
            let mut passed = walk.directories.iter();
            return passed.any(|(path, stat)| ids.could_write(path, stat));
        }
    }
    true
}
