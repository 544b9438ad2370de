//! Every tier at every level, with and without a halt, in every state that a layer can be in.

use std::{fs, sync::Arc, time::Duration};

use rea_gateway::layer::{Answer, Dispatch, Fault, RawReply, Record, Request, Target};
use tokio::{sync::oneshot, task::JoinHandle};

use crate::rig::{Outcome, REASON, Rig, named, policy, seen, statuses, tool};

struct Row<'a> {
    tier: &'a str,
    level: &'a str,
    halt: &'a str,
    state: &'a str,
    answer: &'a str,
    records: &'a str,
}

fn rows() -> Vec<Row<'static>> {
    let text = include_str!("../data/chain.tsv");
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines
        .map(|line| {
            let mut cells = line.split('\t');
            let [tier, level, halt, state, answer, records] =
                std::array::from_fn(|_| cells.next().unwrap_or_else(|| panic!("{line}")));
            Row {
                tier,
                level,
                halt,
                state,
                answer,
                records,
            }
        })
        .collect()
}

#[tokio::test]
async fn every_row_has_its_answer_and_its_records() {
    let rows = rows();
    assert!(rows.len() >= 300, "only {} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        for fault in faults_of(row).await {
            let Row {
                tier,
                level,
                halt,
                state,
                ..
            } = row;
            wrong.push(format!("{tier} {level} halt {halt}, {state}: {fault}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} faults\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

async fn faults_of(row: &Row<'_>) -> Vec<String> {
    let rig = Rig::new(row.level);
    let verb = match row.tier {
        "read" => "get",
        "write" => "put",
        _ => "delete",
    };
    let (request, outcome) = asked(row, verb);
    let _held = prepare(&rig, row).await;
    let server = request.target.server().to_owned();
    drop(rig.records());
    rig.sent();
    if row.state == "audit-down" {
        rig.chain.recorder().set_full(true);
    }
    match row.halt {
        "present" => rig.halt(),
        "unknown" => {
            fs::remove_dir(rig.folder.path().join(".rea")).unwrap();
            fs::write(rig.folder.path().join(".rea"), REASON).unwrap();
        }
        _ => {}
    }

    let answer = rig.call(request, outcome).await;
    let records = rig.records();
    let mut faults = Faults::default();
    faults.of_answer(&rig, row, &answer, &records);
    for record in &records {
        faults.of_record(record, row, &server);
    }
    if let [started, finished] = records.as_slice() {
        faults.unless(
            "the partner",
            text(finished, "call_id"),
            text(started, "call_id"),
        );
        faults.unless(
            "time before the call",
            &started.duration_ms.to_string(),
            "0",
        );
    }
    let seen = seen(&answer, &server);
    for secret in [
        REASON,
        &rig.folder.path().display().to_string(),
        "host-detail",
    ] {
        faults.if_in(&seen, secret);
    }
    faults.0
}

/// What is wrong with a row.
#[derive(Default)]
struct Faults(Vec<String>);

impl Faults {
    fn unless(&mut self, what: &str, got: &str, want: &str) {
        if got != want {
            self.0.push(format!("{what} is `{got}`, not `{want}`"));
        }
    }

    fn if_in(&mut self, text: &str, secret: &str) {
        if text.contains(secret) {
            self.0.push(format!("`{secret}` is in `{text}`"));
        }
    }

    fn of_answer(
        &mut self,
        rig: &Rig,
        row: &Row<'_>,
        answer: &Answer<RawReply>,
        records: &[Record],
    ) {
        self.unless("the answer", named(answer), row.answer);
        self.unless("what is on record", &statuses(records), row.records);
        let denied = matches!(answer, Answer::Denied(_));
        // Without records, reading happens first and its result is withheld.
        let withheld = row.answer == "audit-unavailable" && row.tier == "read";
        let sent = u32::from(!denied || withheld).to_string();
        self.unless(
            "calls that reached the server",
            &rig.sent().to_string(),
            &sent,
        );
        if let Some(last) = records.last() {
            let code = if row.answer == "passed" {
                ""
            } else {
                row.answer
            };
            self.unless("the code on record", text(last, "reason_code"), code);
        }
    }

    fn of_record(&mut self, record: &Record, row: &Row<'_>, server: &str) {
        // A call that was stopped at once was never classified, which reads as `write`.
        let tier = if row.halt == "absent" {
            row.tier
        } else {
            "write"
        };
        self.unless("the tier", record.tier.as_str(), tier);
        self.unless("the level", &record.autonomy_level, row.level);
        self.unless("the session", &record.session_id, "5e551011-0000");
        self.unless("the server", &record.server_name, server);
        self.unless("the halt", text(record, "halt_decision"), row.halt);
        let (has_moment, reason) = if row.halt == "present" {
            ("true", REASON)
        } else {
            ("false", "")
        };
        let moment = text(record, "halt_at_invocation");
        self.unless(
            "a moment of the halt",
            &(!moment.is_empty()).to_string(),
            has_moment,
        );
        self.unless(
            "the reason of the halt",
            text(record, "halt_reason"),
            reason,
        );
        self.if_in(&format!("{record:?}"), "content-of");
    }
}

fn text<'a>(record: &'a Record, key: &str) -> &'a str {
    record
        .metadata
        .get(key)
        .and_then(|value| value.as_str())
        .unwrap_or("")
}

/// Returns what the row asks for, and what the server does.
fn asked(row: &Row<'_>, verb: &str) -> (Request, Outcome) {
    let detail = || "host-detail /home/somebody".to_owned();
    let outcome = match row.state {
        "error-reply" => Outcome::Error,
        "server-down" => Outcome::Fault(Fault::Down(detail())),
        "server-lost" => Outcome::Fault(Fault::Lost(detail())),
        "timed-out" => Outcome::Fault(Fault::TimedOut(Duration::from_mins(1))),
        "cancelled" => Outcome::Fault(Fault::Cancelled),
        _ => Outcome::Result,
    };
    let name = format!("{verb}_thing");
    let request = match row.state {
        "rate-full" => tool("rate", &name),
        "concurrency-full" => tool("narrow", &name),
        "circuit-open" | "probe-running" => tool("frail", &name),
        "tool-blocked" => tool("s", &format!("{verb}_blocked")),
        "server-unknown" => tool("nobody", &name),
        "no-prefix" => Request {
            target: Target::Unprefixed(name),
            ..tool("", "")
        },
        "reserved" => Request {
            target: Target::Reserved(name),
            ..tool("", "")
        },
        _ => tool("s", &name),
    };
    (request, outcome)
}

/// Holds a call open until it is dropped.
struct Held {
    _end: oneshot::Sender<()>,
    _task: JoinHandle<Answer<RawReply>>,
}

async fn prepare(rig: &Rig, row: &Row<'_>) -> Option<Held> {
    match row.state {
        "rate-full" => {
            let answer = rig.call(tool("rate", "get_first"), Outcome::Result).await;
            assert_eq!(named(&answer), "passed");
        }
        "concurrency-full" => return Some(hold(rig, "narrow").await),
        "circuit-open" | "probe-running" => {
            let lost = Outcome::Fault(Fault::Lost(String::new()));
            let answer = rig.call(tool("frail", "get_first"), lost).await;
            assert_eq!(named(&answer), "server-lost");
            if row.state == "probe-running" {
                rig.clock.advance(Duration::from_secs(30));
                return Some(hold(rig, "frail").await);
            }
        }
        "policy-broken" => rig.set_policy(&policy(row.level, "unknown: key\n")),
        _ => {}
    }
    None
}

async fn hold(rig: &Rig, server: &str) -> Held {
    let (end, ended) = oneshot::channel::<()>();
    let (running, runs) = oneshot::channel();
    let chain = Arc::clone(&rig.chain);
    let request = tool(server, "get_slow");
    let task = tokio::spawn(async move {
        chain
            .call(request, move |_: Dispatch| async move {
                running.send(()).unwrap();
                // Ends when the row is done with.
                drop(ended.await);
                Err::<RawReply, _>(Fault::Cancelled)
            })
            .await
    });
    runs.await.unwrap();
    Held {
        _end: end,
        _task: task,
    }
}
