//! A project with a log, and a state directory beside it, both gone when the test ends.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use jiff::Timestamp;
use rea_gateway::audit::{Audit, Checkpoint, Clock, Options, Report, Settings, verify};
use tempfile::TempDir;

/// A project directory and a user's state directory.
pub(crate) struct Project {
    directory: TempDir,
}

impl Project {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("project/.rea")).unwrap();
        Self { directory }
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.directory.path().join("project")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.directory.path().join("state")
    }

    pub(crate) fn rea(&self, name: &str) -> PathBuf {
        self.root().join(".rea").join(name)
    }

    pub(crate) fn live(&self) -> PathBuf {
        self.rea("audit.jsonl")
    }

    /// Defaults that never wait long.
    pub(crate) fn settings(&self) -> Settings {
        Settings {
            lock_patience: Duration::from_mins(1),
            idle: Duration::from_millis(20),
            ..Settings::new(self.state())
        }
    }

    pub(crate) fn open(&self) -> Audit {
        Audit::open(&self.root(), self.settings()).unwrap()
    }

    pub(crate) fn text(&self) -> String {
        fs::read_to_string(self.live()).unwrap()
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.text().lines().map(str::to_owned).collect()
    }

    /// Verifies against the user's own checkpoint.
    pub(crate) fn verify(&self) -> Report {
        self.verify_with(&Options::default())
    }

    pub(crate) fn verify_with(&self, options: &Options) -> Report {
        let options = Options {
            state_directory: Some(self.state()),
            ..options.clone()
        };
        verify(&self.root(), &options, &mut |_| {}).unwrap()
    }

    /// Verifies with no checkpoint but these.
    pub(crate) fn verify_bare(&self, against: &[Checkpoint]) -> Report {
        let options = Options {
            against: against.to_vec(),
            ..Options::default()
        };
        verify(&self.root(), &options, &mut |_| {}).unwrap()
    }

    /// The rotated segments, oldest first.
    pub(crate) fn segments(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.root().join(".rea"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| {
                rea_gateway::audit::Segment::from_name(&name).map(|segment| (segment, name))
            })
            .collect();
        names.sort();
        names.into_iter().map(|(_, name)| name).collect()
    }
}

/// A clock that is set by hand.
#[derive(Clone)]
pub(crate) struct Hand(Arc<Mutex<Timestamp>>);

impl Hand {
    pub(crate) fn at(text: &str) -> Self {
        Self(Arc::new(Mutex::new(text.parse().unwrap())))
    }

    pub(crate) fn set(&self, text: &str) {
        *self.0.lock().unwrap() = text.parse().unwrap();
    }

    pub(crate) fn clock(&self) -> Clock {
        let hand = Arc::clone(&self.0);
        Clock::new(move || *hand.lock().unwrap())
    }
}

/// The kinds of the findings, in order, each with where it is.
pub(crate) fn kinds(report: &Report) -> Vec<String> {
    let place = |finding: &rea_gateway::audit::Finding| {
        finding
            .record
            .map_or(String::new(), |record| format!(" {record}"))
    };
    report
        .findings
        .iter()
        .map(|finding| {
            format!(
                "{} {}{}",
                finding.kind.as_str(),
                finding.file,
                place(finding)
            )
        })
        .collect()
}

/// Returns how many cases to try: `few`, or `many` when `REA_TEST_CAMPAIGN` is set.
pub(crate) fn campaign(few: u32, many: u32) -> u32 {
    if std::env::var_os("REA_TEST_CAMPAIGN").is_some() {
        many
    } else {
        few
    }
}
