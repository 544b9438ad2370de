//! Which session a grant was given in.

use std::{fmt, fs, io};

use serde::{Deserialize, Serialize};

/// The most bytes a name of a session has.
const MAX_BYTES: usize = 256;

/// A session: what is granted for one ends with it.
#[derive(Clone, Debug, Deserialize, Eq, Hash, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Session(String);

impl Session {
    /// Returns the session that its owner gave a name, or `None` for an empty name, one of more
    /// than 256 bytes, or one with control characters.
    pub fn named(name: &str) -> Option<Self> {
        let good = !name.is_empty() && name.len() <= MAX_BYTES && !name.contains(char::is_control);
        good.then(|| Self(format!("name:{name}")))
    }

    /// Returns the session of the terminal or service that this process belongs to: the session
    /// leader's process id and start time, and the boot that both count from.
    ///
    /// # Errors
    ///
    /// When the session leader has ended or is outside this PID namespace, or `/proc` cannot be
    /// read. There is then no session that a grant could be tied to.
    pub fn of_this_process() -> io::Result<Self> {
        // Not by getsid(2), which answers 0 for a leader outside: not a process id for its wrappers.
        let leader = session_of(&fs::read_to_string("/proc/self/stat")?).ok_or_else(|| {
            let what = "the session leader is outside this PID namespace";
            io::Error::new(io::ErrorKind::NotFound, what)
        })?;
        let status = fs::read_to_string(format!("/proc/{leader}/stat"))?;
        let start = start_time(&status).ok_or_else(|| {
            let what = format!("/proc/{leader}/stat: no start time in it");
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
        let boot = super::lifetime::boot_id()?;
        Ok(Self(format!("leader:{leader}:{start}:{boot}")))
    }

    /// Returns whether the session is known to be over: its leader has ended. Of a session that
    /// was given a name nothing is known.
    pub(super) fn has_ended(&self, boot_id: &str) -> bool {
        let Some(leader) = self.0.strip_prefix("leader:") else {
            return false;
        };
        let parts: Vec<&str> = leader.splitn(3, ':').collect();
        let [pid, since, boot] = parts.as_slice() else {
            return false;
        };
        let stat = pid
            .parse()
            .ok()
            .map(|pid: u32| fs::read_to_string(format!("/proc/{pid}/stat")));
        let started = stat.and_then(Result::ok).as_deref().and_then(start_time);
        *boot != boot_id || started.map(|started| started.to_string()).as_deref() != Some(since)
    }
}

impl fmt::Display for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the start time of a process, in clock ticks since the boot.
fn start_time(stat: &str) -> Option<u64> {
    field(stat, 22)?.parse().ok()
}

/// Returns the process id of a process's session leader, unless that is outside the PID namespace.
fn session_of(stat: &str) -> Option<u32> {
    field(stat, 6)?.parse().ok().filter(|leader| *leader != 0)
}

/// Returns a field after the second, counted as in `proc_pid_stat(5)`. The second is a name in
/// parentheses that may hold anything.
fn field(stat: &str, number: usize) -> Option<&str> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let place = number.checked_sub(3)?;
    after_name.split_ascii_whitespace().nth(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_time_is_found_behind_any_name() {
        let fields = (3..=22)
            .map(|n| n.to_string())
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(start_time(&format!("7 (a) b) 1) {fields}")), Some(22));
        assert_eq!(start_time("7 (a) S 1"), None);
        assert_eq!(session_of("7 (a) b) 1) S 1 7 5 0"), Some(5));
        assert_eq!(session_of("7 (a) S 1 7 0 0"), None);
    }

    #[test]
    fn names_are_kept_apart_from_process_ids() {
        assert_eq!(Session::named(""), None);
        assert_eq!(Session::named("a\nb"), None);
        assert_ne!(Session::named("leader:1:2:x").unwrap().0, "leader:1:2:x");
    }
}
