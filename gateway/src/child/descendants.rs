//! Finds and signals everything that descends from this process.

use std::{collections::BTreeMap, fs, io, num::NonZeroI32};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// Sends `signal` to every descendant of this process.
///
/// Whatever a descendant starts while this runs may be missed; a caller that wants all gone repeats
/// it. Between finding a process and signalling it, its number could only pass to another process
/// if the system handed out all other numbers meanwhile.
///
/// # Errors
///
/// The process table cannot be read.
pub(super) fn signal(signal: Signal) -> io::Result<()> {
    for pid in descend(&table()?, getpid().as_raw_nonzero()) {
        if let Some(pid) = Pid::from_raw(pid.get()) {
            let _gone_already = kill_process(pid, signal);
        }
    }
    Ok(())
}

/// Parents and their children.
type Table = BTreeMap<NonZeroI32, Vec<NonZeroI32>>;

fn table() -> io::Result<Table> {
    let mut children = Table::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // A process that is gone by now has nothing to be signalled.
        let Ok(stat) = fs::read(format!("/proc/{pid}/stat")) else {
            continue;
        };
        if let Some(parent) = parent_in(&stat) {
            children.entry(parent).or_default().push(pid);
        }
    }
    Ok(children)
}

/// Reads the parent out of `/proc/PID/stat`: `PID (NAME) STATE PARENT …`, where the name may hold
/// anything. The state is not looked at: a process whose first thread has ended is called a zombie
/// there although it runs.
fn parent_in(stat: &[u8]) -> Option<NonZeroI32> {
    let end_of_name = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = str::from_utf8(stat.get(end_of_name + 1..)?).ok()?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn descend(children: &Table, root: NonZeroI32) -> Vec<NonZeroI32> {
    let mut found = Vec::new();
    let mut ahead = vec![root];
    while let Some(parent) = ahead.pop() {
        for &child in children.get(&parent).into_iter().flatten() {
            // The table is no snapshot, so it may hold a circle.
            if child != root && !found.contains(&child) {
                found.push(child);
                ahead.push(child);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        let cases: &[(&str, Option<i32>)] = &[
            ("7 (sh) S 3 7 7 0", Some(3)),
            ("7 (a) R 9 ) S 3 7", Some(3)),
            ("7 (a b) D 12", Some(12)),
            ("7 (sh) Z 3 7", Some(3)),
            ("7 (sh) S 0 7", None),
            ("7 (sh", None),
            ("", None),
        ];
        for (stat, want) in cases {
            let got = parent_in(stat.as_bytes()).map(NonZeroI32::get);
            assert_eq!(got, *want, "{stat}");
        }
    }

    #[test]
    fn descent_is_complete_and_ends_in_a_circle() {
        let number = |raw| NonZeroI32::new(raw).unwrap();
        let table: Table = [(1, vec![2, 3]), (3, vec![4]), (4, vec![1, 3]), (9, vec![5])]
            .into_iter()
            .map(|(parent, children)| (number(parent), children.into_iter().map(number).collect()))
            .collect();
        let mut found = descend(&table, number(1));
        found.sort_unstable();
        assert_eq!(found, [2, 3, 4].map(number));
    }
}
