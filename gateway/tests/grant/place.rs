//! A machine of its own for each test: programs, a state, a cache.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;

/// Where one test takes place.
pub(crate) struct Place {
    root: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self {
            root: tempfile::tempdir().unwrap(),
        };
        for directory in ["bin", "state", "cache", "work"] {
            fs::create_dir(place.at(directory)).unwrap();
        }
        place
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        fs::canonicalize(self.root.path()).unwrap().join(path)
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.at("state/rea/grants.json")
    }

    /// Puts a program into the first directory on PATH.
    pub(crate) fn program(&self, name: &str, text: &str) -> PathBuf {
        let path = self.at("bin").join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub(crate) fn rea(&self, words: &[&str]) -> Output {
        self.command(words).output().unwrap()
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rea"));
        command
            .args(words)
            .current_dir(self.at("work"))
            .env_clear()
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", self.at("bin").display()),
            )
            .env("HOME", self.at("work"))
            .env("USER", "ann")
            .env("REA_SESSION", "tests")
            .env("XDG_STATE_HOME", self.at("state"))
            .env("XDG_CACHE_HOME", self.at("cache"));
        command
    }

    pub(crate) fn add(&self, line: &str, scope: &str, lasting: &str) -> Output {
        let words = [
            "--scope", scope, "--for", lasting, "--reason", "a test", "--shell", "none",
        ];
        self.rea(&[&["grant", "add", line][..], &words].concat())
    }

    /// The same, with another PATH.
    pub(crate) fn check_on(&self, path: &str, line: &str) -> Option<i32> {
        self.command(&["grant", "check", line, "--shell", "none"])
            .env("PATH", path)
            .output()
            .unwrap()
            .status
            .code()
    }

    /// Returns the exit status of a check for a line that is to run without a shell.
    pub(crate) fn check(&self, line: &str) -> Option<i32> {
        self.rea(&["grant", "check", line, "--shell", "none"])
            .status
            .code()
    }
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
