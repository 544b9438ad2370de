//! Stops everything while there is an entry named `HALT`.
//!
//! Whatever the entry is, it stops: a file, an empty file, a folder, a symbolic link to nowhere, a
//! pipe, a socket, a file nobody may read. Only the plain answer "there is no such entry" lets a call
//! pass; every other answer stops it as well. The entry is opened once for each call and place, with
//! no look at it before, and nothing that could block is ever read.

use std::{
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FileType, Mode, OFlags},
    io::Errno,
};
use serde_json::Value;

use super::{
    call::{Call, Received},
    clock::{Clock, stamp},
    denial::{Code, Denial},
    trace::Trace,
};

/// Where the entry stands in a project.
pub const HALT_IN_PROJECT: &str = ".rea/HALT";

/// The most bytes of the reason that are read.
pub const MAX_REASON_BYTES: u64 = 1024;

/// The most bytes of the files that lead to a repository's common root.
const MAX_POINTER_BYTES: u64 = 4096;

/// What one look at the kill switch showed.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use]
pub enum Halt {
    /// There is no such entry.
    Absent,
    /// There is one. The reason is for records and operators, not for callers.
    Present {
        /// What stands in the entry, cut and trimmed; empty if nothing can be read.
        reason: String,
    },
    /// Nobody can tell, which stops as well.
    Unknown {
        /// The name of the error, such as `EACCES`.
        error: String,
    },
}

impl Halt {
    /// Returns whether calls may pass.
    pub const fn lets_pass(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::Present { .. } | Self::Unknown { .. } => false,
        }
    }

    /// Returns the name that records use.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::Present { .. } => "present",
            Self::Unknown { .. } => "unknown",
        }
    }
}

/// The places where the entry may stand.
#[derive(Clone, Debug)]
pub struct KillSwitch {
    places: Vec<PathBuf>,
}

/// The stage of a call that was not stopped.
#[derive(Debug)]
pub struct Unhalted(());

impl KillSwitch {
    /// Watches the project at `root` and, in a linked worktree, the repository's common root too.
    pub fn of_project(root: &Path) -> Self {
        let common = common_root(root);
        let roots = std::iter::once(root).chain(common.as_deref());
        Self {
            places: roots.map(|root| root.join(HALT_IN_PROJECT)).collect(),
        }
    }

    /// Returns where the entry may stand, the project's own place first.
    pub fn places(&self) -> &[PathBuf] {
        &self.places
    }

    /// Looks now. The first place that stops decides.
    pub fn probe(&self) -> Halt {
        self.places
            .iter()
            .map(|place| probe(place))
            .find(|halt| !halt.lets_pass())
            .unwrap_or(Halt::Absent)
    }

    pub(super) fn pass(
        &self,
        call: Call<Received>,
        clock: &dyn Clock,
        trace: &mut Trace,
    ) -> Result<Call<Unhalted>, Denial> {
        let halt = self.probe();
        trace.note("halt_decision", halt.as_str());
        match halt {
            Halt::Absent => {
                trace.note("halt_at_invocation", Value::Null);
                Ok(call.step(|Received { .. }| Unhalted(())))
            }
            Halt::Present { reason } => {
                trace.note("halt_at_invocation", stamp(clock.now()));
                if !reason.is_empty() {
                    trace.note("halt_reason", reason);
                }
                Err(halted())
            }
            Halt::Unknown { error } => {
                trace.note("halt_at_invocation", Value::Null);
                Err(unknown(&error))
            }
        }
    }

    /// Looks once more, for a call that passed before and has waited since.
    pub(super) fn look(&self) -> Result<(), Denial> {
        match self.probe() {
            Halt::Absent => Ok(()),
            Halt::Present { .. } => Err(halted()),
            Halt::Unknown { error } => Err(unknown(&error)),
        }
    }
}

fn halted() -> Denial {
    let sentence = "Kill switch is on, so no call passes".to_owned();
    Denial::new(Code::Halted, sentence, "halt-present")
}

fn unknown(error: &str) -> Denial {
    let sentence = format!("Kill switch check failed with {error}, so no call passes");
    Denial::new(Code::HaltUnknown, sentence, "halt-unknown")
}

fn probe(place: &Path) -> Halt {
    // No link is followed, so one that leads nowhere is seen. Nothing waits for the other end of a
    // pipe or makes a terminal ours.
    let flags =
        OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    match rustix::fs::open(place, flags, Mode::empty()) {
        Err(Errno::NOENT) => Halt::Absent,
        Ok(entry) => Halt::Present {
            reason: reason(File::from(entry)),
        },
        // A symbolic link, or a socket: there is an entry, and it cannot be opened like a file.
        Err(Errno::LOOP | Errno::NXIO) => Halt::Present {
            reason: String::new(),
        },
        Err(error) => Halt::Unknown {
            error: name_of(error),
        },
    }
}

/// Reads what stands in a regular file. Anything else could block, or change by being read.
fn reason(entry: File) -> String {
    let regular = rustix::fs::fstat(&entry)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile);
    let mut bytes = Vec::new();
    if regular
        && entry
            .take(MAX_REASON_BYTES)
            .read_to_end(&mut bytes)
            .is_err()
    {
        bytes.clear();
    }
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

/// Names an error without the path that the system's message might hold.
fn name_of(error: Errno) -> String {
    match error {
        Errno::ACCESS => "EACCES".to_owned(),
        Errno::PERM => "EPERM".to_owned(),
        Errno::NOTDIR => "ENOTDIR".to_owned(),
        Errno::NAMETOOLONG => "ENAMETOOLONG".to_owned(),
        Errno::MFILE => "EMFILE".to_owned(),
        Errno::NFILE => "ENFILE".to_owned(),
        Errno::IO => "EIO".to_owned(),
        Errno::STALE => "ESTALE".to_owned(),
        other => format!("error {}", other.raw_os_error()),
    }
}

/// Finds the main worktree of a linked one: `.git` is a file there, which names a folder, which
/// names the folder that all worktrees share.
fn common_root(root: &Path) -> Option<PathBuf> {
    let pointer = first_line(&root.join(".git"))?;
    let own = root.join(pointer.strip_prefix("gitdir:")?.trim());
    let shared = own.join(first_line(&own.join("commondir"))?.trim());
    let shared = shared.canonicalize().ok()?;
    match shared.file_name() {
        Some(name) if name == ".git" => shared.parent().map(Path::to_owned),
        // A bare repository is its own root.
        Some(_) | None => Some(shared),
    }
}

fn first_line(file: &Path) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let file = File::from(rustix::fs::open(file, flags, Mode::empty()).ok()?);
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    file.take(MAX_POINTER_BYTES)
        .read_to_string(&mut text)
        .ok()?;
    text.lines().next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, os::unix::net::UnixListener};

    use super::*;

    fn project() -> (tempfile::TempDir, KillSwitch, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".rea")).unwrap();
        let switch = KillSwitch::of_project(folder.path());
        let halt = folder.path().join(HALT_IN_PROJECT);
        (folder, switch, halt)
    }

    fn pipe(at: &Path) {
        rustix::fs::mknodat(rustix::fs::CWD, at, FileType::Fifo, Mode::RWXU, 0).unwrap();
    }

    type Make = fn(&Path);

    #[test]
    fn whatever_the_entry_is_it_stops() {
        let entries: [(&str, Make); 11] = [
            ("a file", |at| fs::write(at, "  why\n").unwrap()),
            ("an empty file", |at| fs::write(at, "").unwrap()),
            ("a file of bytes", |at| fs::write(at, [0xff, 0x00]).unwrap()),
            ("a long file", |at| {
                fs::write(at, "x".repeat(1 << 20)).unwrap();
            }),
            ("a folder", |at| fs::create_dir(at).unwrap()),
            ("a link to nowhere", |at| symlink("nowhere", at).unwrap()),
            ("a link to itself", |at| symlink("HALT", at).unwrap()),
            ("a link to a file", |at| symlink("/dev/null", at).unwrap()),
            ("a pipe", pipe),
            ("a socket", |at| drop(UnixListener::bind(at).unwrap())),
            ("an unreadable file", |at| {
                use std::os::unix::fs::PermissionsExt as _;
                fs::write(at, "why").unwrap();
                fs::set_permissions(at, fs::Permissions::from_mode(0o000)).unwrap();
            }),
        ];
        let mut passed = Vec::new();
        for (what, make) in entries {
            let (_folder, switch, halt) = project();
            assert_eq!(switch.probe(), Halt::Absent, "{what}");
            make(&halt);
            if switch.probe().lets_pass() {
                passed.push(what);
            }
        }
        assert_eq!(passed, Vec::<&str>::new());
    }

    #[test]
    fn the_reason_is_trimmed_and_cut() {
        let (_folder, switch, halt) = project();
        fs::write(&halt, "  too many mails \n").unwrap();
        assert_eq!(
            switch.probe(),
            Halt::Present {
                reason: "too many mails".to_owned()
            }
        );
        fs::write(&halt, "x".repeat(5000)).unwrap();
        assert_eq!(
            switch.probe(),
            Halt::Present {
                reason: "x".repeat(1024)
            }
        );
    }

    #[test]
    fn an_answer_that_is_not_no_stops() {
        let (folder, switch, _) = project();
        fs::remove_dir(folder.path().join(".rea")).unwrap();
        assert_eq!(switch.probe(), Halt::Absent);
        fs::write(folder.path().join(".rea"), "").unwrap();
        assert_eq!(
            switch.probe(),
            Halt::Unknown {
                error: "ENOTDIR".to_owned()
            }
        );
    }

    #[test]
    fn a_linked_worktree_obeys_the_common_root_too() {
        let folder = tempfile::tempdir().unwrap();
        let main = folder.path().join("main");
        let linked = folder.path().join("linked");
        let own = main.join(".git/worktrees/linked");
        for place in [&own, &main.join(".rea"), &linked.join(".rea")] {
            fs::create_dir_all(place).unwrap();
        }
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(linked.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();

        let switch = KillSwitch::of_project(&linked);
        assert_eq!(switch.places().len(), 2);
        assert_eq!(switch.probe(), Halt::Absent);
        fs::write(main.join(HALT_IN_PROJECT), "all").unwrap();
        assert_eq!(
            switch.probe(),
            Halt::Present {
                reason: "all".to_owned()
            }
        );
        fs::write(linked.join(HALT_IN_PROJECT), "here").unwrap();
        assert_eq!(
            switch.probe(),
            Halt::Present {
                reason: "here".to_owned()
            }
        );
        fs::remove_file(main.join(HALT_IN_PROJECT)).unwrap();
        assert_eq!(
            switch.probe(),
            Halt::Present {
                reason: "here".to_owned()
            }
        );
    }

    #[test]
    fn a_pointer_to_nowhere_leaves_the_local_place() {
        for pointer in ["gitdir: nowhere", "x", ""] {
            let (folder, _, _) = project();
            fs::write(folder.path().join(".git"), pointer).unwrap();
            assert_eq!(
                KillSwitch::of_project(folder.path()).places().len(),
                1,
                "{pointer}"
            );
        }
        let (folder, _, _) = project();
        pipe(&folder.path().join(".git"));
        assert_eq!(KillSwitch::of_project(folder.path()).places().len(), 1);
    }
}
