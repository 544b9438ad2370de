//! Runs rows in shells and collects what they read differently.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZero;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use plainpipe::Line;

use super::arena::{Arena, By, Row, Setting, Worker};
use super::records::{agrees, describe};
use super::shells::Shell;

/// How many lines go into one script.
pub(crate) const BATCH: usize = 200;

/// After so many disagreements a run stops: there is enough to read.
const ENOUGH: usize = 40;

/// A line that a shell ran in another way than we say.
pub(crate) struct Disagreement {
    shell: &'static str,
    setting: String,
    text: String,
    got: String,
    want: String,
    remark: &'static str,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "# {} ({}){} runs {}",
            self.shell, self.setting, self.remark, self.got
        )?;
        writeln!(f, "# we say {}", self.want)?;
        let text = toml::Value::String(self.text.clone());
        let twin = "refuse = { code = \"witness-disagreement\", at = \"…\", twin = \"…\" }";
        writeln!(f, "[[case]]\nname = \"…\"\ncommand = {text}\n{twin}")
    }
}

/// What was compared, by shell, and what differed.
#[derive(Default)]
pub(crate) struct Tally {
    runs: Mutex<BTreeMap<&'static str, u64>>,
    found: Mutex<Vec<Disagreement>>,
}

impl Tally {
    /// Holds `rows` against every shell of the arena.
    pub(crate) fn compare(
        &self,
        arena: &Arena,
        worker: &Worker<'_>,
        setting: &Setting,
        rows: &[Row],
    ) {
        for shell in arena.shells() {
            self.compare_in(shell, worker, setting, rows);
        }
    }

    /// Holds `rows` against one shell.
    pub(crate) fn compare_in(
        &self,
        shell: &Shell,
        worker: &Worker<'_>,
        setting: &Setting,
        rows: &[Row],
    ) {
        let (mut together, mut apart): (Vec<&Row>, Vec<&Row>) = (Vec::new(), Vec::new());
        for row in rows {
            let alone = setting.by == By::Argument || may_decline(shell, setting, row);
            if alone {
                apart.push(row);
            } else {
                together.push(row);
            }
        }
        for rows in together.chunks(BATCH).chain(apart.chunks(1)) {
            if self.found.lock().unwrap().len() >= ENOUGH {
                return;
            }
            let found = differences(shell, worker, setting, rows);
            self.found.lock().unwrap().extend(found);
            *self.runs.lock().unwrap().entry(shell.name).or_default() += rows.len() as u64;
        }
    }

    /// Returns how often a line was run in a shell.
    pub(crate) fn runs(&self) -> u64 {
        self.runs.lock().unwrap().values().sum()
    }

    pub(crate) fn disagreements(&self) -> usize {
        self.found.lock().unwrap().len()
    }

    /// Prints the tally.
    ///
    /// # Panics
    ///
    /// If anything differed, or nothing was run.
    pub(crate) fn finish(self, title: &str, least: u64) {
        let (runs, found) = (
            self.runs.into_inner().unwrap(),
            self.found.into_inner().unwrap(),
        );
        let total: u64 = runs.values().sum();
        eprintln!(
            "{title}: {total} runs, {} disagreements: {runs:?}",
            found.len()
        );
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert!(
            found.is_empty(),
            "{title}: {} disagreements\n{}",
            found.len(),
            found.join("\n")
        );
        assert!(total >= least, "{title}: only {total} runs");
    }
}

/// Returns whether `shell` may run nothing at all for `row`.
///
/// yash reads characters, not bytes: where the locale has none for the text, it says so and reads
/// no further. Another argv would still be a disagreement.
fn may_decline(shell: &Shell, setting: &Setting, row: &Row) -> bool {
    shell.name == "yash" && !setting.locale.ends_with("UTF-8") && !row.text.is_ascii()
}

fn differences(
    shell: &Shell,
    worker: &Worker<'_>,
    setting: &Setting,
    rows: &[&Row],
) -> Vec<Disagreement> {
    let (mut found, mut left) = (Vec::new(), rows.to_vec());
    let finding = |text: String, want: String, got, remark| Disagreement {
        shell: shell.name,
        setting: format!(
            "{:?}, {}{}",
            setting.by,
            setting.locale,
            setting.options.join(" ")
        ),
        text,
        got,
        want,
        remark,
    };
    while !left.is_empty() && found.len() < ENOUGH {
        let run = worker.run(shell, setting, &left);
        let mut bad: Vec<usize> = (0..left.len())
            .filter(|&row| !agrees(left[row], &run.calls[row]))
            .collect();
        if bad.is_empty() && run.litter.is_empty() {
            break;
        }
        if !run.litter.is_empty() {
            bad = (0..left.len()).collect();
        }
        // A line that breaks the script breaks those after it: each is asked again alone.
        let mut guilty = Vec::new();
        for &row in &bad {
            let alone = worker.run(shell, setting, &[left[row]]);
            if alone.calls[0].is_empty() && may_decline(shell, setting, left[row]) {
                guilty.push(row);
                continue;
            }
            if !agrees(left[row], &alone.calls[0]) || !alone.litter.is_empty() {
                let mut got = describe(&alone.calls[0]);
                if !alone.litter.is_empty() {
                    got = format!("{got} and leaves {:?}", alone.litter);
                }
                if !alone.complaints.is_empty() && setting.by != By::Input {
                    got = format!("{got}, saying {:?}", alone.complaints.trim_end());
                }
                found.push(finding(
                    left[row].text.clone(),
                    format!("{:?}", left[row].stages),
                    got,
                    "",
                ));
                guilty.push(row);
                if found.len() >= ENOUGH {
                    break;
                }
            }
        }
        if guilty.is_empty() {
            let row = bad.first().copied().unwrap_or_default();
            guilty = vec![row.saturating_sub(1), row];
            let text = left[row.saturating_sub(1)..=row]
                .iter()
                .map(|row| row.text.as_str());
            found.push(finding(
                text.collect::<Vec<_>>().join("\n"),
                format!("{:?}", left[row].stages),
                format!(
                    "{}, saying {:?}",
                    describe(&run.calls[row]),
                    run.complaints.trim_end()
                ),
                ", after the line before it,",
            ));
        }
        let mut row = 0;
        left.retain(|_| {
            row += 1;
            !guilty.contains(&(row - 1))
        });
    }
    found
}

/// Does jobs `0..jobs` on all cores, each worker with a folder of its own.
pub(crate) fn on_all_cores(arena: &Arena, jobs: u64, work: impl Fn(&Worker<'_>, u64) + Sync) {
    let next = AtomicU64::new(0);
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let worker = arena.worker();
                loop {
                    let job = next.fetch_add(1, Ordering::Relaxed);
                    if job >= jobs {
                        return;
                    }
                    work(&worker, job);
                }
            });
        }
    });
}

/// Returns the rows with their canonical text in place of the one they were written in.
pub(crate) fn canonical(rows: &[Row]) -> Vec<Row> {
    rows.iter()
        .map(|row| Row {
            text: Line::parse(&row.text).unwrap().to_shell(),
            stages: row.stages.clone(),
        })
        .collect()
}
