//! Until when a grant counts.

use std::time::Duration;
use std::{fs, io};

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use super::session::Session;

/// Until when a grant counts.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Lifetime {
    /// For one stage of one line.
    Once {},
    /// As long as the session lasts.
    Session {
        /// The session it was given in.
        session: Session,
    },
    /// Until a time.
    Until {
        /// The end by the wall clock, in seconds since 1970-01-01 UTC.
        unix: u64,
        /// The boot that `boottime` belongs to.
        boot_id: String,
        /// The end in seconds since that boot, time asleep included. A wall clock that is set
        /// back does not move it.
        boottime: u64,
    },
    /// Until somebody revokes it.
    Always {},
}

impl Lifetime {
    /// Returns the lifetime that ends `after` this moment.
    pub fn lasting(after: Duration, now: &Moment) -> Self {
        Self::Until {
            unix: now.unix.saturating_add(after.as_secs()),
            boot_id: now.boot_id.clone(),
            boottime: now.boottime.saturating_add(after.as_secs()),
        }
    }

    /// Returns whether a grant given at `since` (seconds since 1970-01-01 UTC) counts at this
    /// moment in this session. Whether a once-grant was used up is not asked here.
    pub fn counts(&self, since: u64, now: &Moment, session: Option<&Session>) -> bool {
        match self {
            Self::Once {} | Self::Always {} => true,
            Self::Session { session: given_in } => session == Some(given_in),
            Self::Until {
                unix,
                boot_id,
                boottime,
            } => {
                // A clock that shows a time before the grant was given has been set back.
                let by_wall_clock = (since..*unix).contains(&now.unix);
                by_wall_clock && (*boot_id != now.boot_id || now.boottime < *boottime)
            }
        }
    }

    /// Returns the name that the command line and the file use.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Once {} => "once",
            Self::Session { .. } => "session",
            Self::Until { .. } => "until",
            Self::Always {} => "always",
        }
    }
}

/// A moment by both clocks of the machine.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Moment {
    /// Seconds since 1970-01-01 UTC.
    pub unix: u64,
    /// Seconds since the boot, time asleep included.
    pub boottime: u64,
    /// The name of the boot.
    pub boot_id: String,
}

impl Moment {
    /// Returns the present.
    ///
    /// # Errors
    ///
    /// When the name of the boot cannot be read from `/proc`.
    pub fn now() -> io::Result<Self> {
        Ok(Self::now_in(boot_id()?))
    }

    /// Returns the present in a boot whose name was read before.
    pub(super) fn now_in(boot_id: String) -> Self {
        Self {
            unix: seconds(ClockId::Realtime),
            boottime: seconds(ClockId::Boottime),
            boot_id,
        }
    }
}

fn seconds(clock: ClockId) -> u64 {
    u64::try_from(clock_gettime(clock).tv_sec).unwrap_or(0)
}

pub(super) fn boot_id() -> io::Result<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_ends_by_whichever_clock_comes_first() {
        let moment = |unix, boottime, boot: &str| Moment {
            unix,
            boottime,
            boot_id: boot.to_owned(),
        };
        let until = Lifetime::lasting(Duration::from_mins(1), &moment(1000, 50, "a"));
        let cases = [
            (moment(1000, 50, "a"), true),
            (moment(1059, 109, "a"), true),
            (moment(1060, 109, "a"), false), // the wall clock has passed the end
            (moment(1010, 110, "a"), false), // the wall clock was set back
            (moment(999, 60, "a"), false),   // set back behind the grant itself
            (moment(1010, 5, "b"), true),    // another boot: only the wall clock is left
            (moment(1060, 5, "b"), false),
            (moment(10, 5, "b"), false),
        ];
        let wrong: Vec<_> = cases
            .iter()
            .filter(|(now, want)| until.counts(1000, now, None) != *want)
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn a_session_ends_where_another_begins() {
        let now = Moment::now().unwrap();
        let ours = Session::named("ours").unwrap();
        let lifetime = Lifetime::Session {
            session: ours.clone(),
        };
        assert!(lifetime.counts(0, &now, Some(&ours)));
        assert!(!lifetime.counts(0, &now, Session::named("theirs").as_ref()));
        assert!(!lifetime.counts(0, &now, None));
    }
}
