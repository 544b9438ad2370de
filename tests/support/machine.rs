//! A small machine of the test's own: directories with programs in them.
#![allow(dead_code, reason = "each of its users needs a part of it")]
#![expect(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may panic, and says what it could not do"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use plainpipe::program::{FileProgram, PinCache};
use plainpipe::{Host, Line, Pinned, Program, Refusal, Shell};

/// A directory that ends with the test.
pub(crate) struct Machine {
    directory: tempfile::TempDir,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { directory }
    }

    /// Returns the real path of its root.
    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Writes a file with these permissions and makes the directories on its way.
    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>, mode: u32) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    /// Writes a program that prints `says`.
    pub(crate) fn program(&self, path: &str, says: &str) -> PathBuf {
        self.write(path, format!("#!/bin/sh\necho {says}\n"), 0o755)
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, &path).unwrap();
        path
    }

    /// Returns a host that runs lines without a shell, with this PATH, `@` for the root.
    pub(crate) fn host(&self, path: &str) -> Host {
        let path = path.replace('@', self.root().to_str().unwrap());
        let host = Host::new(Some(path.into()), self.root()).unwrap();
        host.with_shell(Shell::None)
    }
}

/// Pins a line with nothing remembered.
pub(crate) fn pin(host: &Host, command: &str) -> Result<Pinned, Refusal> {
    pin_with(host, command, &mut PinCache::in_memory())
}

pub(crate) fn pin_with(
    host: &Host,
    command: &str,
    cache: &mut PinCache,
) -> Result<Pinned, Refusal> {
    host.resolve(Line::parse(command)?)?.pin(cache)
}

/// Returns the program of the first stage, which must be a file.
pub(crate) fn file(pinned: &Pinned) -> &FileProgram {
    match pinned.programs().first().unwrap() {
        Program::File(file) => file,
        Program::Builtin(builtin) => panic!("a builtin: {builtin:?}"),
    }
}

/// Runs `what` as somebody who is not the superuser, who may read anything.
pub(crate) fn as_nobody<T: Send>(what: impl FnOnce() -> T + Send) -> T {
    let nobody = rustix::process::Uid::from_raw(65534);
    let own = || {
        if rustix::process::geteuid().is_root() {
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
        }
        what()
    };
    // The ids are those of one thread, which ends with it.
    std::thread::scope(|scope| scope.spawn(own).join().unwrap())
}

/// Says that a test cannot run here, or fails it where every test must run.
pub(crate) fn skip(needs: &str) {
    assert!(std::env::var_os("CI").is_none(), "needs {needs}");
    eprintln!("skipped: needs {needs}");
}
