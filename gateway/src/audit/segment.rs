//! The files of a log: the live one, and the rotated segments in the order in which they were written.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use jiff::Timestamp;

use super::error::{AuditError, Context};

/// The file that is written to.
pub(crate) const LIVE: &str = "audit.jsonl";
/// The next live file while a rotation is under way.
pub(crate) const NEXT: &str = "audit.jsonl.next";

/// A rotated file: `audit-YYYYMMDD-HHMMSS.jsonl` in UTC, with `-N` before the ending for the later ones of a second.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Segment {
    /// Fourteen digits, so text order is time order.
    stamp: String,
    number: u32,
}

impl Segment {
    /// Reads a file name; `None` when it is not one of a segment.
    pub fn from_name(name: &str) -> Option<Self> {
        let inner = name.strip_prefix("audit-")?.strip_suffix(".jsonl")?;
        let mut parts = inner.split('-');
        let (date, time, number) = (parts.next()?, parts.next()?, parts.next());
        let digits = |text: &str, length| {
            text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit())
        };
        if !digits(date, 8) || !digits(time, 6) || parts.next().is_some() {
            return None;
        }
        let number = match number {
            Some(number) if digits(number, number.len()) && !number.starts_with('0') => {
                number.parse().ok()?
            }
            Some(_) => return None,
            None => 0,
        };
        Some(Self {
            stamp: format!("{date}-{time}"),
            number,
        })
    }

    /// Returns the file name.
    pub fn name(&self) -> String {
        match self.number {
            0 => format!("audit-{}.jsonl", self.stamp),
            number => format!("audit-{}-{number}.jsonl", self.stamp),
        }
    }

    /// Returns the name for a rotation at `now`: later in order than every one in `present`, whatever the clock says.
    pub(crate) fn next(present: &[Self], now: Timestamp) -> Self {
        let fresh = Self {
            stamp: now.strftime("%Y%m%d-%H%M%S").to_string(),
            number: 0,
        };
        match present.iter().max() {
            Some(last) if *last >= fresh => Self {
                stamp: last.stamp.clone(),
                number: last.number.saturating_add(1),
            },
            Some(_) | None => fresh,
        }
    }

    /// Returns when the segment was rotated, as its name says.
    pub(crate) fn rotated_at(&self) -> Option<Timestamp> {
        let time = jiff::civil::DateTime::strptime("%Y%m%d-%H%M%S", &self.stamp).ok()?;
        time.to_zoned(jiff::tz::TimeZone::UTC)
            .ok()
            .map(|zoned| zoned.timestamp())
    }
}

/// Returns the segments in a directory, oldest first; none when there is no directory.
pub(crate) fn list(directory: &Path) -> Result<Vec<Segment>, AuditError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error).context("list", directory),
    };
    let mut segments = Vec::new();
    for entry in entries {
        let entry = entry.context("list", directory)?;
        segments.extend(entry.file_name().to_str().and_then(Segment::from_name));
    }
    segments.sort();
    Ok(segments)
}

/// Returns the path of a segment.
pub(crate) fn path(directory: &Path, segment: &Segment) -> PathBuf {
    directory.join(segment.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_ordered_by_time_then_number() {
        let names = [
            "audit-20260203-040506.jsonl",
            "audit-20260203-040506-1.jsonl",
            "audit-20260203-040506-10.jsonl",
            "audit-20260203-040507.jsonl",
        ];
        let mut segments: Vec<Segment> = names
            .iter()
            .rev()
            .map(|name| Segment::from_name(name).unwrap())
            .collect();
        segments.sort();
        assert_eq!(
            segments.iter().map(Segment::name).collect::<Vec<_>>(),
            names
        );
        for other in [
            "audit.jsonl",
            "audit-2026-040506.jsonl",
            "audit-20260203-040506-.jsonl",
            "audit-20260203-040506-01.jsonl",
            "audit-20260203-040506-1-2.jsonl",
            "audit-20260203-040506.jsonl.next",
            "audit-２０260203-040506.jsonl",
        ] {
            assert_eq!(Segment::from_name(other), None, "{other}");
        }
    }

    #[test]
    fn the_next_name_is_later_even_when_the_clock_went_back() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let one = Segment::next(&[], at("2026-02-03T04:05:06.789Z"));
        assert_eq!(one.name(), "audit-20260203-040506.jsonl");
        assert_eq!(one.rotated_at(), Some(at("2026-02-03T04:05:06Z")));
        let two = Segment::next(std::slice::from_ref(&one), at("2026-02-03T04:05:06.900Z"));
        assert_eq!(two.name(), "audit-20260203-040506-1.jsonl");
        let three = Segment::next(&[one, two], at("2025-01-01T00:00:00Z"));
        assert_eq!(three.name(), "audit-20260203-040506-2.jsonl");
    }
}
