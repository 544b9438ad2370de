//! Processes that are killed while they write: the log verifies after each, and what was promised is in it.

use std::{
    collections::BTreeSet,
    env, fs,
    io::{self, BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
};

use rea_gateway::audit::{Audit, Durability, Keeping, Record, Rotation, Settings, Verdict};
use serde_json::Value;

use crate::support::{Project, campaign, kinds};

/// Not a test by itself: the process that is killed.
#[test]
fn writer() {
    let (Some(root), Some(state)) = (
        env::var_os("REA_TEST_KILL_ROOT"),
        env::var_os("REA_TEST_KILL_STATE"),
    ) else {
        return;
    };
    let settings = Settings {
        keeping: Keeping {
            rotation: Some(Rotation {
                max_bytes: 20_000,
                max_age_days: 30,
            }),
            retention: None,
        },
        checkpoint_records: 8,
        ..Settings::new(state)
    };
    let audit = Audit::open(Path::new(&root), settings).unwrap();
    let process = std::process::id();
    thread::scope(|scope| {
        for thread in 0..4 {
            let audit = &audit;
            scope.spawn(move || {
                for index in 0.. {
                    let id = format!("{process}-{thread}-{index}");
                    let record = Record::new("t", "s").started(&id);
                    audit.append(&record, Durability::Durable).unwrap();
                    // Whoever reads this line may rely on the record.
                    if writeln!(io::stdout(), "kept {id}").is_err() {
                        return;
                    }
                }
            });
        }
    });
}

fn start(project: &Project) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "killed::writer", "--nocapture"])
        .env("REA_TEST_KILL_ROOT", project.root())
        .env("REA_TEST_KILL_STATE", project.state())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// How many rounds share a log; verifying it after each takes longer and longer.
const ROUNDS: u32 = 30;

#[test]
fn a_killed_writer_leaves_a_log_that_verifies_with_all_it_promised() {
    let mut left = campaign(30, 500);
    while left > 0 {
        let rounds = left.min(ROUNDS);
        kill_in_rounds(rounds);
        left -= rounds;
    }
}

fn kill_in_rounds(rounds: u32) {
    let project = Project::new();
    let mut promised = BTreeSet::new();
    for round in 0..rounds {
        let (told, heard) = mpsc::channel();
        let mut children: Vec<Child> = (0..2).map(|_| start(&project)).collect();
        let readers: Vec<_> = children
            .iter_mut()
            .map(|child| {
                let (output, told) = (child.stdout.take().unwrap(), told.clone());
                thread::spawn(move || {
                    for line in BufReader::new(output).lines().map_while(Result::ok) {
                        if let Some(id) = line.strip_prefix("kept ") {
                            told.send(id.to_owned()).unwrap();
                        }
                    }
                })
            })
            .collect();
        drop(told);
        // Somewhere between the first promises and many of them.
        let enough = 1 + round * 37 % 120;
        promised.extend(heard.iter().take(enough as usize));
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        promised.extend(heard.iter());
        for reader in readers {
            reader.join().unwrap();
        }
        let report = project.verify();
        assert_eq!(
            report.verdict,
            Verdict::Intact,
            "round {round}: {:?}",
            kinds(&report)
        );
    }
    let mut text = String::new();
    for name in project.segments() {
        text += &fs::read_to_string(project.rea(&name)).unwrap();
    }
    text += &String::from_utf8_lossy(&fs::read(project.live()).unwrap());
    let kept: BTreeSet<String> = text
        .lines()
        .filter_map(|line| {
            Some(
                serde_json::from_str::<Value>(line).ok()?["metadata"]["call_id"]
                    .as_str()?
                    .to_owned(),
            )
        })
        .collect();
    let lost: Vec<_> = promised.difference(&kept).collect();
    assert!(
        promised.len() > rounds as usize && lost.is_empty(),
        "{} promised, lost {lost:?}",
        promised.len()
    );
    assert!(!project.segments().is_empty(), "rotation was part of it");
}
