//! Every way to tamper with a log, at every place of it: each is seen, and named for what it is.

use std::fs;

use rea_gateway::audit::{Durability, Hash, Kind, Record, Verdict};

use crate::support::{Project, kinds};

/// A log of 200 records in three files, and its lines in one row.
struct Log {
    project: Project,
    files: Vec<String>,
    lines: Vec<Vec<String>>,
}

impl Log {
    fn new() -> Self {
        let log = Self::of(200, 67);
        assert_eq!(
            log.lines.iter().map(Vec::len).collect::<Vec<_>>(),
            [67, 67, 66]
        );
        log
    }

    fn of(records: usize, segment: usize) -> Self {
        let project = Project::new();
        let audit = project.open();
        let mut written = 0;
        while written < records {
            // A rotation writes a record of its own.
            if written > 0 && written.is_multiple_of(segment) {
                audit.rotate().unwrap().unwrap();
            } else {
                let mut record =
                    Record::new(format!("tool-{written}"), "server").with("text", "a\n\"é\"");
                record.error = (written % 5 == 0).then(|| "no".to_owned());
                audit.append(&record, Durability::Buffered).unwrap();
            }
            written += 1;
        }
        drop(audit);
        let mut files = project.segments();
        files.push("audit.jsonl".to_owned());
        let lines: Vec<Vec<String>> = files
            .iter()
            .map(|file| {
                fs::read_to_string(project.rea(file))
                    .unwrap()
                    .lines()
                    .map(str::to_owned)
                    .collect()
            })
            .collect();
        assert_eq!(project.verify().verdict, Verdict::Intact);
        Self {
            project,
            files,
            lines,
        }
    }

    /// Every place a record has: its file and its line.
    fn places(&self) -> Vec<(usize, usize)> {
        self.lines
            .iter()
            .enumerate()
            .flat_map(|(file, lines)| (0..lines.len()).map(move |line| (file, line)))
            .collect()
    }

    fn is_last_of_file(&self, (file, line): (usize, usize)) -> bool {
        line + 1 == self.lines[file].len()
    }

    /// Where the record after this one is; past the end there is none.
    fn after(&self, place: (usize, usize)) -> Option<(usize, usize)> {
        if !self.is_last_of_file(place) {
            return Some((place.0, place.1 + 1));
        }
        (place.0 + 1 < self.files.len()).then_some((place.0 + 1, 0))
    }

    /// Verifies the log with these lines in place of its own, and compares the verdict and the first finding.
    fn expect(
        &self,
        name: &str,
        place: (usize, usize),
        lines: &[Vec<String>],
        want: &[(Kind, Option<(usize, usize)>)],
        wrong: &mut Vec<String>,
    ) {
        let mut wanted: Vec<String> = Vec::new();
        for (kind, at) in want {
            wanted.push(match at {
                Some((file, line)) => format!("{} {} {line}", kind.as_str(), self.files[*file]),
                None => format!("{} {}", kind.as_str(), self.files[self.files.len() - 1]),
            });
        }
        for (file, lines) in self.files.iter().zip(lines) {
            fs::write(
                self.project.rea(file),
                lines
                    .iter()
                    .fold(String::new(), |text, line| text + line + "\n"),
            )
            .unwrap();
        }
        let report = self.project.verify();
        let verdict = want[0].0.verdict();
        let found = kinds(&report);
        if report.verdict != verdict || !found.first().is_some_and(|first| wanted.contains(first)) {
            wrong.push(format!(
                "{name} at {place:?}: want {verdict:?} with one of {wanted:?}, got {:?} {found:?}",
                report.verdict
            ));
        }
    }
}

/// Links a line to another predecessor, and gives it the hash that it then has.
fn rehash(line: &str, previous: Option<&str>) -> String {
    let at = line.find(r#""prev_hash":""#).unwrap() + 13;
    let mut line = line.to_owned();
    if let Some(previous) = previous {
        line.replace_range(at..at + 64, previous);
    }
    let body = line.rfind(r#","hash":""#).unwrap();
    line.truncate(body);
    let hash = Hash::of(format!("{line}}}").as_bytes());
    format!("{line},\"hash\":\"{hash}\"}}")
}

fn hash_of(line: &str) -> &str {
    &line[line.len() - 66..line.len() - 2]
}

#[test]
fn a_changed_byte_is_found_in_its_record() {
    let log = Log::new();
    let mut wrong = Vec::new();
    for (index, place) in log.places().into_iter().enumerate() {
        let (file, line) = place;
        let mut lines = log.lines.clone();
        // Another byte in every record, so that all members get their turn.
        let mut bytes = lines[file][line].clone().into_bytes();
        let at = index * 7 % bytes.len();
        bytes[at] = if bytes[at] == b'7' { b'8' } else { b'7' };
        lines[file][line] = String::from_utf8_lossy(&bytes).into_owned();
        let want = [
            (Kind::Altered, Some(place)),
            (Kind::Unparsable, Some(place)),
            (Kind::NotARecord, Some(place)),
        ];
        log.expect("flip", place, &lines, &want, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_byte_of_a_record_is_under_the_hash() {
    let log = Log::of(9, 3);
    let mut wrong = Vec::new();
    let place = (1, 1);
    let length = log.lines[1][1].len();
    for at in 0..length {
        let mut lines = log.lines.clone();
        let mut bytes = lines[1][1].clone().into_bytes();
        bytes[at] ^= 1;
        lines[1][1] = String::from_utf8_lossy(&bytes).into_owned();
        let want = [
            (Kind::Altered, Some(place)),
            (Kind::Unparsable, Some(place)),
            (Kind::NotARecord, Some(place)),
        ];
        log.expect(
            &format!("bit of byte {at}"),
            place,
            &lines,
            &want,
            &mut wrong,
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_record_taken_out_is_missed() {
    let log = Log::new();
    let mut wrong = Vec::new();
    for place in log.places() {
        let mut lines = log.lines.clone();
        lines[place.0].remove(place.1);
        let want = match log.after(place) {
            // The record after it moves up to its place.
            Some((file, _)) if file == place.0 => (Kind::Unlinked, Some(place)),
            Some(next) => (Kind::Unlinked, Some(next)),
            None => (Kind::TailMissing, None),
        };
        log.expect("drop", place, &lines, &[want], &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn records_that_changed_places_are_found() {
    let log = Log::new();
    let mut wrong = Vec::new();
    for place in log.places() {
        let Some(next) = log.after(place) else {
            continue;
        };
        let mut lines = log.lines.clone();
        let (one, two) = (
            lines[place.0][place.1].clone(),
            lines[next.0][next.1].clone(),
        );
        lines[place.0][place.1] = two;
        lines[next.0][next.1] = one;
        log.expect(
            "swap",
            place,
            &lines,
            &[(Kind::Unlinked, Some(place))],
            &mut wrong,
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_doubled_record_is_found() {
    let log = Log::new();
    let mut wrong = Vec::new();
    for (file, line) in log.places() {
        let mut lines = log.lines.clone();
        let copy = lines[file][line].clone();
        lines[file].insert(line, copy);
        log.expect(
            "duplicate",
            (file, line),
            &lines,
            &[(Kind::Repeated, Some((file, line + 1)))],
            &mut wrong,
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_cut_is_found_wherever_it_is() {
    let log = Log::new();
    let mut wrong = Vec::new();
    for place in log.places() {
        let (file, line) = place;
        // The file is cut before this record; the files after it stay.
        let mut lines = log.lines.clone();
        lines[file].truncate(line);
        let next = (file + 1 < log.files.len()).then_some((file + 1, 0));
        let want = match next {
            // Nothing is left of the first file: the log begins with a rotation.
            Some(next) if place == (0, 0) => (Kind::HeadMissing, Some(next)),
            Some(next) => (Kind::Unlinked, Some(next)),
            None => (Kind::TailMissing, None),
        };
        log.expect("cut file", place, &lines, &[want], &mut wrong);

        // The log is cut before this record: everything after it is gone.
        for later in &mut lines[file + 1..] {
            later.clear();
        }
        log.expect(
            "cut log",
            place,
            &lines,
            &[(Kind::TailMissing, None)],
            &mut wrong,
        );

        // The file is cut inside this record.
        let text = log.lines[file][..line]
            .iter()
            .fold(String::new(), |text, line| text + line + "\n");
        let torn = &log.lines[file][line];
        let half = (0..=torn.len() / 2)
            .rev()
            .find(|at| torn.is_char_boundary(*at))
            .unwrap();
        for (file, lines) in log.files.iter().zip(&log.lines) {
            fs::write(
                log.project.rea(file),
                lines
                    .iter()
                    .fold(String::new(), |text, line| text + line + "\n"),
            )
            .unwrap();
        }
        fs::write(log.project.rea(&log.files[file]), text + &torn[..half]).unwrap();
        let report = log.project.verify();
        let want = if next.is_some() {
            Verdict::Tampered
        } else {
            Verdict::Truncated
        };
        if report.verdict != want {
            wrong.push(format!("cut inside {place:?}: {:?}", kinds(&report)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_record_of_another_log_is_found() {
    let (log, other) = (Log::new(), Log::new());
    let mut wrong = Vec::new();
    for place in log.places() {
        let mut lines = log.lines.clone();
        lines[place.0][place.1].clone_from(&other.lines[place.0][place.1]);
        let first = place == (0, 0);
        // The first record of another log begins a chain as well as ours; the second then does not follow.
        let want = if first { (0, 1) } else { place };
        log.expect(
            "splice",
            place,
            &lines,
            &[
                (Kind::Unlinked, Some(want)),
                (Kind::SegmentMissing, Some(want)),
            ],
            &mut wrong,
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_changed_record_with_a_fitting_hash_is_found_by_its_successor() {
    let log = Log::new();
    let mut wrong = Vec::new();
    for place in log.places() {
        let mut lines = log.lines.clone();
        let changed = lines[place.0][place.1].replacen("\"allowed\"", "\"denied\"", 1);
        lines[place.0][place.1] = rehash(&changed, None);
        let want = match log.after(place) {
            Some(next) => (Kind::Unlinked, Some(next)),
            None => (Kind::Rewritten, None),
        };
        log.expect("rehash one", place, &lines, &[want], &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_chain_made_anew_is_found_by_the_checkpoint() {
    let log = Log::new();
    let mut wrong = Vec::new();
    for place in log.places() {
        let mut lines = log.lines.clone();
        let changed = lines[place.0][place.1].replacen("\"allowed\"", "\"denied\"", 1);
        lines[place.0][place.1] = rehash(&changed, None);
        let (mut last, mut next) = (place, log.after(place));
        while let Some(at) = next {
            let previous = hash_of(&lines[last.0][last.1]).to_owned();
            lines[at.0][at.1] = rehash(&lines[at.0][at.1], Some(&previous));
            (last, next) = (at, log.after(at));
        }
        log.expect(
            "rehash all",
            place,
            &lines,
            &[(Kind::Rewritten, None)],
            &mut wrong,
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_missing_file_is_missed() {
    let mut wrong = Vec::new();
    for (index, want, kind) in [
        (0, Verdict::Truncated, "head-missing"),
        (1, Verdict::Tampered, "segment-missing"),
        (2, Verdict::Truncated, "tail-missing"),
    ] {
        let log = Log::new();
        fs::remove_file(log.project.rea(&log.files[index])).unwrap();
        let report = log.project.verify();
        if report.verdict != want || !kinds(&report)[0].starts_with(kind) {
            wrong.push(format!("file {index}: {:?}", kinds(&report)));
        }
    }
    let log = Log::new();
    for file in &log.files {
        fs::remove_file(log.project.rea(file)).unwrap();
    }
    let report = log.project.verify();
    if report.verdict != Verdict::Truncated || kinds(&report) != ["tail-missing audit.jsonl"] {
        wrong.push(format!("all files: {:?}", kinds(&report)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
