//! Whose rights count.

use std::path::Path;

use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;

use super::stat::FileStat;

/// The extended attribute that holds an access control list.
const ACCESS_LIST: &str = "system.posix_acl_access";

/// The effective user and groups that will run the line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Ids {
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
    /// Whether these are those of this process, so that the kernel can be asked.
    own: bool,
}

impl Ids {
    /// Returns those of this process.
    pub fn current() -> Self {
        let groups = rustix::process::getgroups().unwrap_or_default();
        Self {
            uid: rustix::process::geteuid().as_raw(),
            gid: rustix::process::getegid().as_raw(),
            groups: groups
                .into_iter()
                .map(rustix::process::Gid::as_raw)
                .collect(),
            own: true,
        }
    }

    /// Returns the given ones. Access is then judged by permission bits alone.
    pub fn new(uid: u32, gid: u32, groups: Vec<u32>) -> Self {
        Self {
            uid,
            gid,
            groups,
            own: false,
        }
    }

    /// Returns the effective user id.
    pub const fn uid(&self) -> u32 {
        self.uid
    }

    /// Returns whether these are the ids of this process, so that the kernel was asked.
    pub(crate) const fn is_own(&self) -> bool {
        self.own
    }

    fn is_member(&self, gid: u32) -> bool {
        self.gid == gid || self.groups.contains(&gid)
    }

    /// Returns whether this user may execute the file, as the kernel decides it.
    pub(crate) fn may_execute(&self, path: &Path, stat: &FileStat) -> Result<bool, Errno> {
        if self.own {
            return match rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS) {
                Ok(()) => Ok(true),
                Err(Errno::ACCESS) => Ok(false),
                Err(error) => Err(error),
            };
        }
        let bit = if self.uid == 0 {
            0o111
        } else if self.uid == stat.uid {
            0o100
        } else if self.is_member(stat.gid) {
            0o010
        } else {
            0o001
        };
        Ok(stat.mode & bit != 0)
    }

    /// Returns whether somebody with this user's rights, and no more, could change the file or
    /// put another name into the directory.
    ///
    /// An owner can give the right to itself, so it counts as having it. Root can write
    /// everything; for root the question is whether anybody else can.
    pub(crate) fn could_write(&self, path: &Path, stat: &FileStat) -> bool {
        if stat.uid != 0 && (stat.uid == self.uid || self.uid == 0) {
            return true;
        }
        if stat.mode & 0o002 != 0 {
            return true;
        }
        // With an access control list the group bits are its mask, and who is in it is not
        // looked at: any list that lets anyone write counts.
        stat.mode & 0o020 != 0 && (self.uid == 0 || self.is_member(stat.gid) || has_list(path))
    }
}

fn has_list(path: &Path) -> bool {
    !matches!(
        rustix::fs::lgetxattr(path, ACCESS_LIST, &mut [0_u8; 0][..]),
        Err(Errno::NODATA | Errno::NOTSUP)
    )
}
