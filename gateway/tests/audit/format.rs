//! The file format, byte for byte: what older writers left verifies and is continued.

use std::fs;

use rea_gateway::audit::{Durability, Options, Record, Status, Tier, Verdict};
use serde_json::{Value, json};

use crate::support::{Hand, Project, kinds};

const A: &str = r#"{"timestamp":"2026-01-02T03:04:05.678Z","session_id":"11111111-2222-4333-8444-555555555555","tool_name":"codex.review","server_name":"codex","tier":"read","status":"allowed","autonomy_level":"L1","duration_ms":1234,"prev_hash":"0000000000000000000000000000000000000000000000000000000000000000","metadata":{"head_sha":"0123456789abcdef0123456789abcdef01234567","target":"main","finding_count":0,"verdict":"pass"},"hash":"7b2f227c1fcad8a2aabcae7e4cb6de47016816e4c22b7e9ac6de76e35f08a99c"}"#;
const B: &str = r#"{"timestamp":"2026-01-02T03:04:06.000Z","session_id":"external","tool_name":"fs__write_file","server_name":"fs","tier":"write","status":"denied","autonomy_level":"unknown","duration_ms":0,"prev_hash":"7b2f227c1fcad8a2aabcae7e4cb6de47016816e4c22b7e9ac6de76e35f08a99c","error":"blocked: \"é\" tab\there \u0007 a/b\\c","redacted_fields":["args.token","result"],"hash":"f9ec29d6c332d80d90bcb928e4513cbc118ac1a7b309e74864bae0043e1447af"}"#;
const C: &str = r#"{"timestamp":"2026-01-02T03:04:07.001Z","session_id":"external","tool_name":"note","server_name":"x","tier":"read","status":"allowed","autonomy_level":"unknown","duration_ms":0,"prev_hash":"f9ec29d6c332d80d90bcb928e4513cbc118ac1a7b309e74864bae0043e1447af","metadata":{"9":0,"10":1e+21,"b":1,"a":[null,0.1,1e-7],"emoji":"😀","nested":{"z":true,"y":[]}},"hash":"804c8d7ba46cc6642f5dbdacd90b90877bcf624a51f8f3299832ddfc0e728c53"}"#;
const MARKER: &str = r#"{"timestamp":"2026-02-03T04:05:06.789Z","session_id":"system","tool_name":"audit.rotation","server_name":"rea","tier":"read","status":"allowed","autonomy_level":"system","duration_ms":0,"prev_hash":"804c8d7ba46cc6642f5dbdacd90b90877bcf624a51f8f3299832ddfc0e728c53","metadata":{"rotated_from":"audit-20260203-040506.jsonl","rotated_at":"2026-02-03T04:05:06.789Z"},"hash":"63d247ca3ee161cb6d8136a71a7993d419c5d7eceecddcef032549146daeff32"}"#;
const AFTER: &str = r#"{"timestamp":"2026-02-03T04:05:07.000Z","session_id":"external","tool_name":"after","server_name":"x","tier":"read","status":"allowed","autonomy_level":"unknown","duration_ms":0,"prev_hash":"63d247ca3ee161cb6d8136a71a7993d419c5d7eceecddcef032549146daeff32","hash":"825cd4223d5405942568e9be42a5dede20683ff8465681aca9776b4408dd7f16"}"#;

fn at(mut record: Record, timestamp: &str) -> Record {
    record.timestamp = Some(timestamp.parse().unwrap());
    record
}

fn records() -> [Record; 3] {
    let mut a = at(
        Record::new("codex.review", "codex"),
        "2026-01-02T03:04:05.678Z",
    );
    "11111111-2222-4333-8444-555555555555".clone_into(&mut a.session_id);
    "L1".clone_into(&mut a.autonomy_level);
    a.duration_ms = 1234;
    let a = a
        .with("head_sha", "0123456789abcdef0123456789abcdef01234567")
        .with("target", "main")
        .with("finding_count", 0)
        .with("verdict", "pass");
    let mut b = at(
        Record::new("fs__write_file", "fs"),
        "2026-01-02T03:04:06.000Z",
    );
    b.tier = Tier::Write;
    b.status = Status::Denied;
    b.error = Some("blocked: \"é\" tab\there \u{7} a/b\\c".to_owned());
    b.redacted_fields = vec!["args.token".to_owned(), "result".to_owned()];
    let c = at(Record::new("note", "x"), "2026-01-02T03:04:07.001Z")
        .with("b", 1.0)
        .with("10", 1e21)
        .with("9", 0)
        .with("a", json!([null, 0.1, 1e-7]))
        .with("emoji", "😀")
        .with("nested", json!({"z": true, "y": []}));
    [a, b, c]
}

/// A project whose log older software wrote, with no checkpoint.
fn old(lines: &[&str]) -> Project {
    let project = Project::new();
    fs::write(project.live(), lines.concat()).unwrap();
    project
}

#[test]
fn three_records_have_the_bytes_that_were_agreed() {
    let project = Project::new();
    let audit = project.open();
    for record in &records() {
        audit.append(record, Durability::Durable).unwrap();
    }
    drop(audit);
    assert_eq!(project.text(), format!("{A}\n{B}\n{C}\n"));
    assert_eq!(project.text().len(), 1350);
    assert_eq!(project.verify().verdict, Verdict::Intact);
}

#[test]
fn a_rotation_has_the_bytes_that_were_agreed_and_verifies() {
    let project = old(&[A, "\n", B, "\n", C, "\n"]);
    let hand = Hand::at("2026-02-03T04:05:06.789Z");
    let settings = rea_gateway::audit::Settings {
        clock: hand.clock(),
        ..project.settings()
    };
    let audit = rea_gateway::audit::Audit::open(&project.root(), settings).unwrap();
    assert_eq!(
        audit.rotate().unwrap().as_deref(),
        Some("audit-20260203-040506.jsonl")
    );
    audit
        .append(
            &at(Record::new("after", "x"), "2026-02-03T04:05:07.000Z"),
            Durability::Durable,
        )
        .unwrap();
    drop(audit);
    assert_eq!(project.text(), format!("{MARKER}\n{AFTER}\n"));
    assert_eq!(
        fs::read_to_string(project.rea("audit-20260203-040506.jsonl")).unwrap(),
        format!("{A}\n{B}\n{C}\n")
    );

    let report = project.verify();
    assert_eq!(
        (
            report.verdict,
            report.records,
            report.files,
            report.sequence
        ),
        (Verdict::Intact, 5, 2, 5)
    );
    let since = |name: &str| {
        project.verify_with(&Options {
            since: Some(name.to_owned()),
            ..Options::default()
        })
    };
    let whole = since("audit-20260203-040506.jsonl");
    assert_eq!(
        (whole.verdict, whole.records, whole.files),
        (Verdict::Intact, 5, 2)
    );
    let live = since("audit.jsonl");
    assert_eq!(
        (live.verdict, live.records, live.files),
        (Verdict::Intact, 2, 1)
    );
}

#[test]
fn two_rotations_in_one_second_verify() {
    let project = Project::new();
    let hand = Hand::at("2026-02-03T04:05:06.789Z");
    let settings = rea_gateway::audit::Settings {
        clock: hand.clock(),
        ..project.settings()
    };
    let audit = rea_gateway::audit::Audit::open(&project.root(), settings).unwrap();
    for _ in 0..12 {
        audit
            .append(&Record::new("t", "s"), Durability::Buffered)
            .unwrap();
        audit.rotate().unwrap().unwrap();
    }
    hand.set("2020-01-01T00:00:00Z");
    audit.rotate().unwrap().unwrap();
    drop(audit);
    assert_eq!(project.segments().len(), 13);
    assert_eq!(project.segments()[12], "audit-20260203-040506-12.jsonl");
    let report = project.verify();
    assert_eq!(report.verdict, Verdict::Intact, "{:?}", kinds(&report));
}

#[test]
fn a_chain_begun_by_older_software_is_continued() {
    let project = old(&[A, "\n", B, "\n"]);
    let receipt = project
        .open()
        .append(&records()[2], Durability::Durable)
        .unwrap();
    assert_eq!(receipt.sequence, 3);
    assert_eq!(project.text(), format!("{A}\n{B}\n{C}\n"));
}

/// What is done to the three records, the lines then, the findings, and what the first of them expects.
type Case = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    Option<&'static str>,
);

const TAMPERED: &[Case] = &[
    ("untouched", &[A, "\n", B, "\n", C, "\n"], &[], None),
    (
        "the last record deleted, which only a checkpoint shows",
        &[A, "\n", B, "\n"],
        &[],
        None,
    ),
    (
        "the last line feed dropped",
        &[A, "\n", B, "\n", C],
        &[],
        None,
    ),
    (
        "lines end as on Windows",
        &[A, "\r\n", B, "\r\n", C, "\r\n"],
        &[],
        None,
    ),
    (
        "the first record deleted",
        &[B, "\n", C, "\n"],
        &["unlinked audit.jsonl 0"],
        Some("0000000000000000000000000000000000000000000000000000000000000000"),
    ),
    (
        "an empty object put in",
        &[A, "\n{}\n", B, "\n", C, "\n"],
        &["not-a-record audit.jsonl 1"],
        None,
    ),
    (
        "null put in",
        &[A, "\nnull\n", B, "\n", C, "\n"],
        &["not-a-record audit.jsonl 1"],
        None,
    ),
    (
        "a blank line at the end",
        &[A, "\n", B, "\n", C, "\n\n"],
        &["unparsable audit.jsonl 3"],
        None,
    ),
    (
        "a blank line between",
        &[A, "\n\n", B, "\n", C, "\n"],
        &["unparsable audit.jsonl 1"],
        None,
    ),
    (
        "a mark before the first record",
        &["\u{feff}", A, "\n", B, "\n", C, "\n"],
        &["unparsable audit.jsonl 0"],
        None,
    ),
    (
        "two records swapped",
        &[A, "\n", C, "\n", B, "\n"],
        &["unlinked audit.jsonl 1", "unlinked audit.jsonl 2"],
        Some("7b2f227c1fcad8a2aabcae7e4cb6de47016816e4c22b7e9ac6de76e35f08a99c"),
    ),
    (
        "a record doubled",
        &[A, "\n", B, "\n", B, "\n", C, "\n"],
        &["repeated audit.jsonl 2"],
        Some("f9ec29d6c332d80d90bcb928e4513cbc118ac1a7b309e74864bae0043e1447af"),
    ),
];

#[test]
fn each_change_is_found_where_it_is() {
    let mut wrong = Vec::new();
    for (name, lines, want, expected) in TAMPERED {
        let report = old(lines).verify_bare(&[]);
        let first = report
            .findings
            .first()
            .and_then(|finding| finding.expected.as_deref());
        if kinds(&report) != *want || expected.is_some() && first != *expected {
            wrong.push(format!(
                "{name}: want {want:?} expecting {expected:?}, got {:?}",
                report.findings
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_changed_record_is_found_with_the_hash_it_should_have() {
    let swapped = A.replace(
        r#""tool_name":"codex.review","server_name":"codex""#,
        r#""server_name":"codex","tool_name":"codex.review""#,
    );
    let denied = A.replace("allowed", "denied");
    let added = A.replace(r#""finding_count":0"#, r#""finding_count":0,"x":1"#);
    let mut wrong = Vec::new();
    for (changed, want) in [
        (
            swapped,
            "3f40adec260ee01d02c7f33738c8aeb4fba106ba81bddb1a10c1ed7cc0930261",
        ),
        (
            denied,
            "d9116a0578f49c26cbe4c34f74ccab76ff9e3d618431b830d4f4308621a716fe",
        ),
        (
            added,
            "a2de56169c3f029d704ca0411e80677cecd57a13b66296d3b5e1685e4cb02b48",
        ),
    ] {
        assert_ne!(changed, A);
        let report = old(&[&changed, "\n", B, "\n", C, "\n"]).verify_bare(&[]);
        let finding = report.findings.first();
        if kinds(&report) != ["altered audit.jsonl 0"]
            || finding.unwrap().expected.as_deref() != Some(want)
        {
            wrong.push(format!("{changed}: want {want}, got {:?}", report.findings));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn spellings_that_mean_the_same_are_the_same_record() {
    let mut wrong = Vec::new();
    for (from, to) in [
        (r#","tool_name""#, r#", "tool_name""#),
        (r#""duration_ms":1234"#, r#""duration_ms":1234.0"#),
        (
            r#""duration_ms":1234"#,
            r#""duration_ms":1,"duration_ms":1.234e3"#,
        ),
        ("pass", r"p\u0061ss"),
    ] {
        let changed = A.replace(from, to);
        assert_ne!(changed, A);
        let report = old(&[&changed, "\n", B, "\n", C, "\n"]).verify_bare(&[]);
        if report.verdict != Verdict::Intact {
            wrong.push(format!("{changed}: {:?}", report.findings));
        }
    }
    // The hash may stand anywhere.
    let hash = r#","hash":"7b2f227c1fcad8a2aabcae7e4cb6de47016816e4c22b7e9ac6de76e35f08a99c""#;
    let moved = A
        .replace(hash, "")
        .replace(r#","tier""#, &format!("{hash},\"tier\""));
    if old(&[&moved, "\n", B, "\n"]).verify_bare(&[]).verdict != Verdict::Intact {
        wrong.push(moved);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_record_without_its_line_feed_is_cut_and_the_cut_is_on_record() {
    let project = old(&[A, "\n", B, "\n", C]);
    project
        .open()
        .append(&Record::new("t", "s"), Durability::Durable)
        .unwrap();
    let lines = project.lines();
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[..2], [A, B]);
    let note: Value = serde_json::from_str(&lines[2]).unwrap();
    assert_eq!(note["tool_name"], "audit.repair");
    assert_eq!(
        note["prev_hash"],
        "f9ec29d6c332d80d90bcb928e4513cbc118ac1a7b309e74864bae0043e1447af"
    );
    assert_eq!(note["metadata"]["bytes"], C.len());
    let report = project.verify();
    assert_eq!(
        (report.verdict, report.repairs),
        (Verdict::Intact, 1),
        "{:?}",
        kinds(&report)
    );
}

#[test]
fn a_file_that_is_one_fragment_begins_anew_with_a_note() {
    let project = old(&[&A[..100]]);
    let report = project.verify_bare(&[]);
    assert_eq!((report.verdict, report.residue), (Verdict::Intact, 100));
    project
        .open()
        .append(&Record::new("t", "s"), Durability::Durable)
        .unwrap();
    let note: Value = serde_json::from_str(&project.lines()[0]).unwrap();
    assert_eq!(
        (&note["tool_name"], &note["prev_hash"]),
        (&json!("audit.repair"), &json!("0".repeat(64)))
    );
    assert_eq!(project.verify().verdict, Verdict::Intact);
}

#[test]
fn a_corrupt_end_is_never_built_on_silently() {
    let mut wrong = Vec::new();
    for (name, end, found) in [
        (
            "junk with its line feed",
            "{\"bad\n",
            "unparsable audit.jsonl 3",
        ),
        ("junk without", "x", "unparsable audit.jsonl 3"),
        (
            "a changed record",
            &C.replace("note", "n0te"),
            "altered audit.jsonl 3",
        ),
        ("blank lines", "\n\n", "unparsable audit.jsonl 3"),
    ] {
        let project = old(&[A, "\n", B, "\n", C, "\n", end]);
        project
            .open()
            .append(&Record::new("t", "s"), Durability::Durable)
            .unwrap();
        let lines = project.lines();
        let note: Value = serde_json::from_str(&lines[lines.len() - 2]).unwrap();
        let report = project.verify();
        let good = note["tool_name"] == "audit.break"
            && note["metadata"]["last_good"]
                == "804c8d7ba46cc6642f5dbdacd90b90877bcf624a51f8f3299832ddfc0e728c53"
            && report.verdict == Verdict::Tampered
            && kinds(&report)[0] == found
            && kinds(&report)
                .iter()
                .all(|kind| !kind.starts_with("unlinked") || name == "a changed record");
        if !good {
            wrong.push(format!("{name}: {note}, {:?}", report.findings));
        }
        // The bytes themselves cannot be taken out any more.
        let without: Vec<_> = lines
            .iter()
            .enumerate()
            .filter(|(index, _)| *index < 3 || *index >= lines.len() - 2)
            .collect();
        fs::write(
            project.live(),
            without
                .iter()
                .fold(String::new(), |text, (_, line)| text + line + "\n"),
        )
        .unwrap();
        if kinds(&project.verify()).first().map(String::as_str) != Some("unlinked audit.jsonl 3") {
            wrong.push(format!("{name} taken out: {:?}", kinds(&project.verify())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_started_record_and_its_partner_share_a_call() {
    let project = Project::new();
    let audit = project.open();
    let mut record = Record::new("write_file", "files").with("arguments", audit.digest(b"{}"));
    record.tier = Tier::Write;
    record.duration_ms = 7;
    audit
        .append(&record.clone().started("c1"), Durability::Durable)
        .unwrap();
    audit
        .append(&record.finished("c1"), Durability::Durable)
        .unwrap();
    let lines: Vec<Value> = project
        .lines()
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let part = |line: &Value| {
        [
            line["status"].clone(),
            line["duration_ms"].clone(),
            line["metadata"]["phase"].clone(),
            line["metadata"]["call_id"].clone(),
        ]
    };
    assert_eq!(
        part(&lines[0]),
        [json!("allowed"), json!(0), json!("started"), json!("c1")]
    );
    assert_eq!(
        part(&lines[1]),
        [json!("allowed"), json!(7), json!("finished"), json!("c1")]
    );
    assert_eq!(
        lines[0]["metadata"]["arguments"].as_str().unwrap().len(),
        64
    );
    assert!(!project.text().contains("{}"));
}

#[test]
fn nobody_can_append_a_note_of_the_log_itself() {
    let project = Project::new();
    let audit = project.open();
    for name in [
        "audit.rotation",
        "audit.retention",
        "audit.gap",
        "audit.anything",
    ] {
        let answer = audit.append(&Record::new(name, "rea"), Durability::Buffered);
        assert_eq!(answer.unwrap_err().code(), "audit-reserved-name");
    }
    audit
        .append(&Record::new("rea.tofu", "rea"), Durability::Buffered)
        .unwrap();
}
