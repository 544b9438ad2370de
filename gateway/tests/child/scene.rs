//! A place to start children in, with a mark that all their processes carry.

use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use rea_gateway::{
    child::{Journal, Surroundings, Variables},
    registry::{Registry, Server},
    yaml::quoted,
};
use rustix::process::{Pid, Signal, kill_process};

/// How long a test waits for something that must happen, before it says that it did not.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
/// The variable that marks every process of one test.
pub(crate) const MARK: &str = "REA_TEST_MARK";

/// A place to start children in, with a mark that all of them carry.
pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) mark: String,
    pub(crate) surroundings: Surroundings,
    shown: Shown,
}

/// Collects what is written to the journal.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<u8>>>);

impl Write for Shown {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Scene {
    pub(crate) fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mark = format!("{name}-{}", folder.path().display());
        let variables: Variables = [
            (MARK.into(), mark.clone().into()),
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
        ]
        .into();
        let shown = Shown::default();
        let journal = Journal::to(shown.clone()).unwrap();
        let mut surroundings = Surroundings::new(folder.path(), variables, journal);
        surroundings.program = PathBuf::from(env!("CARGO_BIN_EXE_rea"));
        Self {
            folder,
            mark,
            surroundings,
            shown,
        }
    }

    /// The processes that carry the mark.
    pub(crate) fn left(&self) -> BTreeMap<i32, String> {
        marked(&self.mark)
    }

    pub(crate) fn shown(&self) -> String {
        self.surroundings.journal.flush(PATIENCE);
        String::from_utf8(self.shown.0.lock().unwrap().clone()).unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for &pid in self.left().keys() {
            // Only after a failed test is there anything to kill.
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }
}

/// A server that runs `script` in `sh`.
pub(crate) fn shell(script: &str) -> Server {
    server(&format!("sh\n    args: [-c, {}]", quoted(script)))
}

/// A server whose registry entry goes on like this after its name.
pub(crate) fn server(command_and_more: &str) -> Server {
    let text = format!(
        "version: '1'\nservers:\n  - name: a\n    env_passthrough: [{MARK}]\n    command: {command_and_more}\n"
    );
    Registry::parse(Path::new("r"), &text)
        .unwrap()
        .servers
        .remove(0)
}

pub(crate) fn marked(mark: &str) -> BTreeMap<i32, String> {
    let wanted = format!("{MARK}={mark}");
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let name = entry.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let Ok(environment) = fs::read(entry.path().join("environ")) else {
            continue;
        };
        if environment
            .split(|&byte| byte == 0)
            .any(|variable| variable == wanted.as_bytes())
        {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command).replace('\0', " ");
            found.insert(pid, command);
        }
    }
    found
}

/// Waits until `met` holds.
pub(crate) async fn until(what: &str, mut met: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !met() {
        assert!(begun.elapsed() < PATIENCE, "never happened: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
