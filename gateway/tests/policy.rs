//! Holds the policy file to its format, and the live policy to the file of the moment.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use rea_gateway::policy::{
    AuditFailure, Decision, InjectionMode, Level, Live, OnRefused, Policy, Retention, Rotation,
    Snapshot, Tier,
};

const BASE: &str = "\
version: \"1\"
profile: minimal
installed_by: someone
installed_at: \"2026-01-02T03:04:05.678Z\"
autonomy_level: L1
max_autonomy_level: L2
promotion_requires_human_approval: true
blocked_paths: []
";

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// A key of the base text to leave out.
    without: Option<String>,
    /// Text to put behind the base text.
    add: Option<String>,
    /// Text instead of the base text.
    text: Option<String>,
    /// What is wrong, or nothing for a policy that loads.
    fault: Option<String>,
}

#[test]
fn every_policy_loads_or_names_its_fault_and_the_place() {
    let cases: Cases = toml::from_str(include_str!("data/policy.toml")).unwrap();
    assert!(cases.case.len() >= 60, "only {} cases", cases.case.len());
    let mut wrong = Vec::new();
    for case in cases.case {
        let base = case.text.unwrap_or_else(|| BASE.to_owned());
        let without = case.without.map(|key| format!("{key}:"));
        let mut text: String = base
            .split_inclusive('\n')
            .filter(|line| {
                without
                    .as_ref()
                    .is_none_or(|key| !line.starts_with(key.as_str()))
            })
            .collect();
        text.push_str(&case.add.unwrap_or_default());
        let got = Policy::parse(Path::new("f"), &text).err().map(|fault| {
            let line = fault.to_string();
            line.strip_prefix("f:").unwrap_or(&line).to_owned()
        });
        if got != case.fault {
            wrong.push(format!(
                "{}:\nfault = '''{}'''",
                case.name,
                got.unwrap_or_default()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_absent_has_its_default() {
    let policy = Policy::parse(Path::new("f"), BASE).unwrap();
    assert_eq!(
        (policy.level, policy.asked, policy.ceiling),
        (Level::L1, Level::L1, Level::L2)
    );
    assert!(!policy.block_ai_attribution && !policy.expose_diagnostics && !policy.hide_denied);
    assert_eq!(policy.injection, InjectionMode::Block);
    assert!(policy.suspicious_blocks_writes);
    assert!(policy.review.codex_required && !policy.review.allow_skip_in_ci);
    assert_eq!(policy.review.cache_max_age_seconds, 3600);
    assert_eq!((policy.rotation, policy.retention), (None, None));
    assert_eq!(policy.on_audit_failure, AuditFailure::Deny);
    assert_eq!(policy.shell.on_refused, OnRefused::Deny);
    assert!(!policy.shell.require_grant);
    assert!(policy.context_protection.is_none() && policy.redact.is_empty());

    let warn = format!("{BASE}injection_detection: warn\naudit: {{rotation: {{}}}}\n");
    let policy = Policy::parse(Path::new("f"), &warn).unwrap();
    assert!(!policy.suspicious_blocks_writes);
    assert_eq!(
        policy.rotation,
        Some(Rotation {
            max_bytes: 52_428_800,
            max_age_days: 30
        })
    );
}

#[test]
fn what_is_written_is_what_holds() {
    let text = format!(
        "{BASE}\
block_ai_attribution: true
injection_detection: warn
injection: {{suspicious_blocks_writes: true}}
context_protection: {{delegate_to_subagent: [a b], max_bash_output_lines: 7}}
review: {{codex_required: false, cache_max_age_seconds: 60, allow_skip_in_ci: true}}
redact: {{match_timeout_ms: 5, patterns: [{{name: n, regex: 'a+', flags: gi}}]}}
audit: {{rotation: {{max_bytes: 9, max_age_days: 8}}, retention: {{max_segments: 3}}, on_failure: allow}}
gateway: {{health: {{expose_diagnostics: true}}, tools: {{hide_denied: true}}}}
shell: {{on_refused: as_destructive, require_grant: true}}
"
    );
    let policy = Policy::parse(Path::new("f"), &text).unwrap();
    assert!(policy.block_ai_attribution && policy.expose_diagnostics && policy.hide_denied);
    assert!(policy.suspicious_blocks_writes);
    assert!(!policy.review.codex_required && policy.review.allow_skip_in_ci);
    assert_eq!(
        policy.rotation,
        Some(Rotation {
            max_bytes: 9,
            max_age_days: 8
        })
    );
    assert_eq!(
        policy.retention,
        Some(Retention {
            max_segments: Some(3),
            max_age_days: None
        })
    );
    assert_eq!(policy.on_audit_failure, AuditFailure::Allow);
    assert_eq!(policy.shell.on_refused, OnRefused::AsDestructive);
    assert!(policy.shell.require_grant);
    assert_eq!(
        policy.context_protection.unwrap().max_bash_output_lines,
        Some(7)
    );
    assert_eq!(policy.redact[0].regex.replace_all("xAaY a", "-"), "x-Y -");
}

#[test]
fn a_level_above_its_ceiling_is_lowered_and_said() {
    for asked in Level::ALL {
        for ceiling in Level::ALL {
            let text = BASE
                .replace(
                    "autonomy_level: L1\n",
                    &format!("autonomy_level: {asked}\n"),
                )
                .replace(
                    "max_autonomy_level: L2",
                    &format!("max_autonomy_level: {ceiling}"),
                );
            let policy = Policy::parse(Path::new("f"), &text).unwrap();
            assert_eq!(policy.level, asked.min(ceiling), "{asked} under {ceiling}");
            assert_eq!(policy.warnings.len(), usize::from(asked > ceiling));
            assert!(
                policy
                    .warnings
                    .iter()
                    .all(|warning| warning.starts_with("line 5: "))
            );

            // The ceiling holds for a policy that was changed after it was loaded, too.
            let raised = Policy {
                level: Level::L3,
                ..policy
            };
            let snapshot = Snapshot {
                policy: Arc::new(raised),
                fault: None,
                generation: 0,
            };
            assert_eq!(snapshot.level(), ceiling);
            let destructive = snapshot.decide(Tier::Destructive);
            assert_eq!(destructive == Decision::Permitted, ceiling == Level::L3);
        }
    }
}

/// A project whose policy is watched, and what the operator was told.
struct Watched {
    _folder: tempfile::TempDir,
    file: PathBuf,
    live: Live,
    told: Arc<Mutex<Vec<String>>>,
}

impl Watched {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("policy.yaml");
        fs::write(&file, BASE).unwrap();
        let told = Arc::new(Mutex::new(Vec::new()));
        let hear = Arc::clone(&told);
        let live = Live::open(
            file.clone(),
            Arc::new(move |line: &str| hear.lock().unwrap().push(line.to_owned())),
        )
        .unwrap();
        Self {
            _folder: folder,
            file,
            live,
            told,
        }
    }

    fn level(&self) -> Level {
        self.live.snapshot().level()
    }

    fn told(&self) -> Vec<String> {
        std::mem::take(&mut *self.told.lock().unwrap())
    }
}

type Breakage = dyn Fn(&Path);

fn at_level(level: Level) -> String {
    BASE.replace(
        "autonomy_level: L1\n",
        &format!("autonomy_level: {level}\n"),
    )
}

#[test]
fn the_next_call_sees_a_change_made_in_place_with_the_old_times_put_back() {
    let watched = Watched::new();
    assert_eq!(watched.level(), Level::L1);
    let times = fs::metadata(&watched.file).unwrap().modified().unwrap();
    for round in 0..200 {
        let level = if round % 2 == 0 { Level::L0 } else { Level::L2 };
        fs::write(&watched.file, at_level(level)).unwrap();
        fs::File::options()
            .write(true)
            .open(&watched.file)
            .unwrap()
            .set_modified(times)
            .unwrap();
        assert_eq!(watched.level(), level, "round {round}");
    }
}

#[test]
fn the_next_call_sees_a_file_renamed_into_place() {
    let watched = Watched::new();
    let other = watched.file.with_extension("new");
    for round in 0..50 {
        let level = if round % 2 == 0 { Level::L2 } else { Level::L0 };
        fs::write(&other, at_level(level)).unwrap();
        fs::rename(&other, &watched.file).unwrap();
        assert_eq!(watched.level(), level, "round {round}");
    }
}

#[test]
fn a_broken_file_leaves_reading_and_stops_the_rest_until_it_is_repaired() {
    let watched = Watched::new();
    let before = watched.live.snapshot();
    assert_eq!(watched.told(), Vec::<String>::new());

    let breakages: [(&str, &Breakage); 5] = [
        ("a key that is not known", &|file| {
            fs::write(file, format!("{BASE}x: 1\n")).unwrap();
        }),
        ("half a file", &|file| fs::write(file, &BASE[..60]).unwrap()),
        ("no file", &|file| fs::remove_file(file).unwrap()),
        ("a folder", &|file| fs::create_dir(file).unwrap()),
        ("bytes that are no text", &|file| {
            fs::remove_dir(file).unwrap();
            fs::write(file, [0xff, 0xfe]).unwrap();
        }),
    ];
    for (what, break_it) in breakages {
        break_it(&watched.file);
        let snapshot = watched.live.snapshot();
        assert!(snapshot.fault.is_some(), "{what}");
        assert_eq!(
            snapshot.level(),
            Level::L1,
            "{what}: the last good level stays"
        );
        assert_eq!(snapshot.decide(Tier::Read), Decision::Permitted, "{what}");
        assert_eq!(snapshot.decide(Tier::Write), Decision::Broken, "{what}");
        assert_eq!(
            snapshot.decide(Tier::Destructive),
            Decision::AboveLevel { needed: Level::L3 },
            "{what}"
        );
        let told = watched.told();
        assert!(
            told.len() == 1 && told[0].starts_with("POLICY BROKEN: "),
            "{what}: {told:?}"
        );
        drop(watched.live.snapshot());
        assert_eq!(watched.told(), Vec::<String>::new(), "{what}: said once");
    }

    fs::write(&watched.file, BASE).unwrap();
    let after = watched.live.snapshot();
    assert!(after.fault.is_none() && after.generation > before.generation);
    assert_eq!(after.decide(Tier::Write), Decision::Permitted);
    assert_eq!(watched.told().len(), 1);
}

#[test]
fn a_file_that_breaks_while_it_tightens_does_not_fall_back_to_something_wider() {
    let watched = Watched::new();
    fs::write(&watched.file, at_level(Level::L0)).unwrap();
    assert_eq!(watched.level(), Level::L0);
    fs::write(&watched.file, "autonomy_level: L3\n").unwrap();
    assert_eq!(watched.level(), Level::L0);
}

#[test]
fn without_a_first_good_policy_nothing_opens() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("policy.yaml");
    let silent: rea_gateway::policy::Notify = Arc::new(|_| ());
    let fault = Live::open(file.clone(), Arc::clone(&silent)).unwrap_err();
    assert!(fault.missing);
    fs::write(&file, "version: 1\n").unwrap();
    let fault = Live::open(file, silent).unwrap_err();
    let place = fault.place.unwrap_or_else(|| panic!("no place: {fault}"));
    assert_eq!((place.line, place.column), (1, 10));
}
