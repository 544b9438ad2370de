//! Following a path to the real file, one name at a time.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use rustix::io::Errno;

use super::stat::FileStat;

/// The most symlinks that are followed in one path, the number of the kernel.
pub(crate) const MAX_LINKS: usize = 40;

/// Where a path leads, and by which way.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// The path without symlinks, `.` and `..`.
    pub(crate) real_path: PathBuf,
    /// The symlinks that were followed, each by its own real path, in order.
    pub(crate) links: Vec<PathBuf>,
    /// Every directory that was passed through, in order.
    pub(crate) directories: Vec<(PathBuf, FileStat)>,
    /// The file at the end.
    pub(crate) stat: FileStat,
}

/// Why a path leads nowhere.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct WalkError {
    /// The name that could not be passed.
    pub(crate) at: PathBuf,
    pub(crate) errno: Errno,
}

/// Follows `path`, which must be absolute.
pub(crate) fn walk(path: &Path) -> Result<Walk, WalkError> {
    let fail = |at: &Path, errno| WalkError {
        at: at.to_owned(),
        errno,
    };
    let mut real = PathBuf::from("/");
    let mut links = Vec::new();
    let mut stat = FileStat::of_link(&real).map_err(|errno| fail(&real, errno))?;
    let mut directories = vec![(real.clone(), stat)];
    let mut rest: VecDeque<OsString> = names(path).map(OsStr::to_owned).collect();
    while let Some(name) = rest.pop_front() {
        if !stat.is_directory() {
            return Err(fail(&real, Errno::NOTDIR));
        }
        if name == "." {
            continue;
        }
        if name == ".." {
            real.pop();
            stat = FileStat::of_link(&real).map_err(|errno| fail(&real, errno))?;
            continue;
        }
        real.push(&name);
        stat = FileStat::of_link(&real).map_err(|errno| fail(&real, errno))?;
        if stat.is_symlink() {
            if links.len() == MAX_LINKS {
                return Err(fail(&real, Errno::LOOP));
            }
            let target = rustix::fs::readlink(&real, Vec::new());
            let target = target.map_err(|errno| fail(&real, errno))?;
            let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
            links.push(real.clone());
            real.pop();
            if target.is_absolute() {
                real = PathBuf::from("/");
            }
            stat = FileStat::of_link(&real).map_err(|errno| fail(&real, errno))?;
            for name in names(&target).rev() {
                rest.push_front(name.to_owned());
            }
        } else if stat.is_directory() {
            directories.push((real.clone(), stat));
        }
    }
    Ok(Walk {
        real_path: real,
        links,
        directories,
        stat,
    })
}

/// Returns the names of a path. A slash at its end asks for a directory, so it counts as a name.
fn names(path: &Path) -> impl DoubleEndedIterator<Item = &OsStr> {
    let bytes = path.as_os_str().as_bytes();
    let directory = bytes.ends_with(b"/") || bytes.ends_with(b"/.");
    path.components()
        .filter_map(|component| match component {
            Component::Normal(name) => Some(name),
            Component::ParentDir => Some(OsStr::new("..")),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .chain(directory.then_some(OsStr::new(".")))
}
