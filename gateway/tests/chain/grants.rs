//! Grants for lines for a shell: asked for, used up, drifted, unreadable.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
};

use plainpipe::{
    Analyzer, Grants, Host, Program,
    grant::{Grant, GrantedProgram, Lifetime, Scope},
};
use rea_gateway::layer::{Answer, Denial, Dispatch, RawReply, Request};
use serde_json::{Value, json, value::RawValue};

use crate::rig::{Outcome, Rig, named, policy, tool};

const GRANTS: &str = "shell: {require_grant: true}\n";

fn line(server: &str, text: &str) -> Request {
    Request {
        arguments: Some(json!({"command": text}).to_string().into()),
        ..tool(server, "bash")
    }
}

impl Rig {
    fn store(&self) -> PathBuf {
        let state = self.folder.path().join("state");
        if !state.exists() {
            fs::create_dir(&state).unwrap();
            fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
        }
        state.join("grants.json")
    }

    /// Grants every program of a line for exactly this call.
    fn grant(&self, text: &str, lifetime: &Lifetime) {
        let path = format!("/usr/bin:/bin:{}", self.folder.path().join("bin").display());
        let host = Host::new(Some(path.into()), self.folder.path().join("work")).unwrap();
        let pinned = Analyzer::new(host).analyze(text).unwrap();
        let mut given = Vec::new();
        for stage in pinned.stages() {
            let Program::File(file) = stage.program() else {
                continue;
            };
            let argv = stage.stage().argv().map(str::to_owned).collect();
            let program = GrantedProgram::from(&**file);
            let scope = Scope::Exact { argv };
            given.push(Grant::new(program, scope, lifetime.clone(), "t", "a test"));
        }
        let mut grants = Grants::open(self.store(), None).unwrap();
        grants.give(given).unwrap();
    }

    fn program(&self, name: &str, says: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\necho {says}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    async fn run(&self, request: Request) -> String {
        named(&self.call(request, Outcome::Result).await).to_owned()
    }

    async fn denied(&self, request: Request) -> Denial {
        match self.call(request, Outcome::Result).await {
            Answer::Denied(denial) => denial,
            other @ (Answer::Passed(_) | Answer::Failed(_)) => panic!("{other:?}"),
        }
    }

    fn shell_facts(&self) -> Value {
        self.records()
            .last()
            .unwrap()
            .metadata
            .get("shell")
            .unwrap()
            .clone()
    }
}

#[tokio::test]
async fn a_line_without_a_grant_is_told_how_to_get_one() {
    let rig = Rig::with_policy(&policy("L3", GRANTS));
    let text = "wc -l 'a b' | tail -n 1";
    let denial = rig.denied(line("s", text)).await;
    assert_eq!(denial.code().as_str(), "shell-ungranted");
    let want =
        r"rea grant add --scope exact --for once --reason TEXT -- 'wc -l '\''a b'\'' | tail -n 1'";
    assert!(denial.hint().contains(want), "{}", denial.hint());
    let missing = &denial.facts()["shell"]["missing"];
    assert_eq!(
        missing,
        &json!([
            {"stage": 0, "called": "wc", "why": "no-grant"},
            {"stage": 1, "called": "tail", "why": "no-grant"},
        ])
    );
    assert_eq!(rig.sent(), 0);
    assert_eq!(rig.shell_facts()["standing"], "not-granted");

    rig.grant(text, &Lifetime::Always {});
    let again = rig.run(line("s", text)).await;
    assert_eq!((again.as_str(), rig.sent()), ("passed", 1));
    assert_eq!(rig.shell_facts()["standing"], "granted");
    let denial = rig.denied(line("s", "wc -c other")).await;
    assert_eq!(
        denial.facts()["shell"]["missing"][0]["why"],
        "other-arguments"
    );
}

#[tokio::test]
async fn a_grant_for_one_time_is_used_up_by_the_call_that_is_sent_and_by_no_other() {
    let rig = Rig::with_policy(&policy("L3", GRANTS));
    rig.grant("touch new", &Lifetime::Once {});
    let touch = |server: &str| line(server, "touch new");
    let mut got = Vec::new();
    rig.halt();
    got.push(("halted", rig.run(touch("s")).await));
    fs::remove_file(rig.folder.path().join(".rea/HALT")).unwrap();
    rig.set_policy(&policy("L0", GRANTS));
    got.push(("tier-exceeds-autonomy", rig.run(touch("s")).await));
    rig.set_policy(&policy("L1", GRANTS));
    rig.chain.recorder().set_full(true);
    got.push(("audit-unavailable", rig.run(touch("s")).await));
    rig.chain.recorder().set_full(false);
    got.push(("passed", rig.run(tool("rate", "get_x")).await));
    got.push(("rate-exceeded", rig.run(touch("rate")).await));
    got.push(("server-unknown", rig.run(touch("nobody")).await));
    assert_eq!(rig.sent(), 1, "only the reading call was sent");
    got.push(("passed", rig.run(touch("s")).await));
    got.push(("shell-ungranted", rig.run(touch("s")).await));
    assert_eq!(rig.sent(), 1);
    let wrong: Vec<_> = got.iter().filter(|(want, got)| want != got).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let file: Value = serde_json::from_slice(&fs::read(rig.store()).unwrap()).unwrap();
    assert!(file["grants"][0]["used"].is_u64(), "{file}");
}

#[tokio::test]
async fn of_many_calls_with_one_grant_one_is_sent() {
    let rig = Rig::with_policy(&policy("L1", GRANTS));
    rig.grant("touch new", &Lifetime::Once {});
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..24 {
        let (chain, sent) = (Arc::clone(&rig.chain), Arc::clone(&rig.sent));
        calls.spawn(async move {
            let reply = move |_: Dispatch| {
                sent.fetch_add(1, Ordering::SeqCst);
                std::future::ready(Ok(RawReply::Result(RawValue::NULL.to_owned())))
            };
            named(&chain.call(line("s", "touch new"), reply).await).to_owned()
        });
    }
    let answers = calls.join_all().await;
    let passed = answers.iter().filter(|answer| *answer == "passed").count();
    assert_eq!((passed, rig.sent()), (1, 1), "{answers:?}");
    let expected = |answer: &String| answer == "passed" || answer == "shell-ungranted";
    assert!(answers.iter().all(expected), "{answers:?}");
    // A call that lost the race after its first record has the partner of it.
    let records = rig.records();
    let phases = |phase: &str| {
        let phase = Value::from(phase);
        let of = records
            .iter()
            .filter(|record| record.metadata.get("phase") == Some(&phase));
        of.count()
    };
    assert_eq!(phases("started"), phases("finished"));
}

#[tokio::test]
async fn a_program_that_drifted_is_denied_with_or_without_the_wish_for_grants() {
    let mut wrong = Vec::new();
    for more in ["", GRANTS, "shell: {on_refused: as_destructive}\n"] {
        let rig = Rig::with_policy(&policy("L3", more));
        let file = rig.program("bin/noter", "one");
        rig.grant("noter a", &Lifetime::Always {});
        let before = fs::read(&file).unwrap();
        rig.program("bin/noter", "another");
        let denial = rig.denied(line("own", "noter a")).await;
        let facts = denial.facts();
        let drifted = &facts["shell"]["drifted"][0];
        let digits = |side: &str| drifted[side].as_str().unwrap_or_default().to_owned();
        let (then, now) = (digits("then"), digits("now"));
        let sentence = denial.text();
        let text = format!("{sentence} {facts}");
        for (what, holds) in [
            ("the code", denial.code().as_str() == "shell-drifted"),
            ("the name", drifted["called"] == "noter"),
            (
                "twelve digits",
                then.len() == 12 && now.len() == 12 && then != now,
            ),
            (
                "the digits in the sentence",
                sentence.contains(&then) && sentence.contains(&now),
            ),
            (
                "no path",
                !text.contains(rig.folder.path().to_str().unwrap()),
            ),
            ("nothing sent", rig.sent() == 0),
        ] {
            if !holds {
                wrong.push(format!("{more}: {what}: {text}"));
            }
        }
        let record = rig.shell_facts();
        let inner = rig.run(line("own", "/usr/bin/nice noter a")).await;
        if inner != "shell-drifted" {
            wrong.push(format!("{more}: run by another program: {inner}"));
        }
        let path = fs::canonicalize(&file).unwrap();
        let told = rig.told.lock().unwrap().join("\n");
        for side in ["then", "now"] {
            let identity = &record["drifts"][0][side]["identity"];
            let digest = identity["sha256"].as_str().unwrap_or_default();
            let place = Path::new(identity["real_path"].as_str().unwrap_or_default());
            if digest.len() != 64 || place != path || !told.contains(digest) {
                wrong.push(format!("{more}: {side}: {record} {told}"));
            }
        }
        fs::write(&file, before).unwrap();
        let back = rig.run(line("own", "noter a")).await;
        // A shell would open it anew, and the user can change it.
        let want = if more == GRANTS {
            "shell-ungranted"
        } else {
            "passed"
        };
        if back != want {
            wrong.push(format!("{more}: put back: {back}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn what_cannot_be_checked_is_denied() {
    let rig = Rig::new("L3");
    fs::write(rig.store(), "{").unwrap();
    fs::set_permissions(rig.store(), fs::Permissions::from_mode(0o600)).unwrap();
    let denial = rig.denied(line("s", "ls")).await;
    assert_eq!(denial.code().as_str(), "shell-unchecked");
    let text = format!("{}{}", denial.text(), denial.facts());
    assert!(
        !text.contains(rig.folder.path().to_str().unwrap()),
        "{text}"
    );
    assert_eq!(rig.shell_facts()["reason"], "the grants cannot be read");
    let told = rig.told.lock().unwrap().join("\n");
    assert!(told.contains("not a valid file of grants"), "{told}");
    fs::remove_file(rig.store()).unwrap();
    assert_eq!(rig.run(line("s", "ls")).await, "passed", "mended");

    assert_eq!(rig.run(line("own", "echo a")).await, "passed");
    fs::remove_dir(rig.folder.path().join("work")).unwrap();
    assert_eq!(rig.run(line("own", "echo a")).await, "shell-unchecked");
    fs::create_dir(rig.folder.path().join("work")).unwrap();
    assert_eq!(
        rig.run(line("own", "echo a")).await,
        "passed",
        "the folder is back"
    );
    assert_eq!(
        rig.run(line("lost", "ls")).await,
        "shell-unchecked",
        "a variable is missing"
    );
}

#[tokio::test]
async fn a_program_that_the_user_can_replace_never_only_reads() {
    let rig = Rig::new("L0");
    assert_eq!(
        rig.run(line("s", "wc x")).await,
        "passed",
        "the system's own"
    );
    rig.program("bin/wc", "anything");
    let denial = rig.denied(line("own", "wc x")).await;
    assert_eq!(denial.code().as_str(), "tier-exceeds-autonomy");
    assert_eq!(denial.facts()["shell"]["changeable"], json!(["wc"]));
    let rule = denial.rule();
    assert!(rule.contains("line-program-changeable:wc"), "{rule}");
    rig.set_policy(&policy("L1", ""));
    assert_eq!(rig.run(line("own", "wc x")).await, "passed");
    // The PATH of its own server has no other program.
    assert_eq!(rig.run(line("own", "head x")).await, "shell-refused");
    // A program that runs another one is as good as that one.
    let by_other = line("own", "/usr/bin/nice wc x");
    rig.set_policy(&policy("L0", ""));
    let denial = rig.denied(by_other.clone()).await;
    assert_eq!(denial.facts()["shell"]["changeable"], json!(["wc"]));
    rig.set_policy(&policy("L1", ""));
    assert_eq!(rig.run(by_other).await, "passed");
    assert_eq!(
        rig.run(line("s", "nice wc x")).await,
        "passed",
        "the system's own"
    );
}

#[tokio::test]
async fn a_shell_that_takes_code_from_a_variable_first_never_only_reads() {
    let rig = Rig::new("L0");
    assert_eq!(rig.run(line("paged", "ls")).await, "passed");
    assert_eq!(rig.shell_facts()["environment"], json!(["PAGER"]));
    let denial = rig.denied(line("primed", "ls")).await;
    assert_eq!(denial.code().as_str(), "tier-exceeds-autonomy");
    let rule = denial.rule();
    assert!(rule.contains("line-environment:BASH_ENV"), "{rule}");
    rig.set_policy(&policy("L1", ""));
    assert_eq!(rig.run(line("primed", "ls")).await, "passed");
}

#[tokio::test]
async fn a_path_in_a_line_counts_from_the_folder_of_the_server() {
    let rig = Rig::new("L3");
    rig.program("work/tool", "here");
    assert_eq!(rig.run(line("own", "./tool")).await, "passed");
    assert_eq!(rig.run(line("s", "./tool")).await, "shell-refused");
    rig.set_policy(&policy("L1", ""));
    assert_eq!(
        rig.run(line("own", "./tool")).await,
        "tier-exceeds-autonomy"
    );
}
