//! Formats that the kernel hands to a registered interpreter (`binfmt_misc`).

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Where the kernel lists them.
const REGISTER: &str = "/proc/sys/fs/binfmt_misc";

/// The formats that were registered and enabled at one moment.
///
/// Only a register that is mounted at its usual place is seen.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Formats {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct Entry {
    name: String,
    rule: Rule,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Rule {
    Extension(Vec<u8>),
    Magic {
        offset: usize,
        magic: Vec<u8>,
        mask: Option<Vec<u8>>,
    },
    /// One that could not be read may apply to any file.
    Unknown,
}

impl Formats {
    /// Reads the register of this machine.
    pub(crate) fn registered() -> Self {
        let mut entries = Vec::new();
        for file in fs::read_dir(REGISTER).into_iter().flatten().flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            if name == "register" {
                continue;
            }
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            if name == "status" {
                if text.trim() == "disabled" {
                    return Self::default();
                }
            } else if let Some(rule) = Rule::read(&text) {
                entries.push(Entry { name, rule });
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Self { entries }
    }

    /// Returns the name of an entry that applies to a file with this path and start.
    pub(crate) fn of(&self, path: &Path, head: &[u8]) -> Option<&str> {
        let name = path.file_name().unwrap_or_default();
        let entry = self
            .entries
            .iter()
            .find(|entry| entry.rule.applies(name, head))?;
        Some(&entry.name)
    }

    /// Returns a text that differs whenever the formats do.
    pub(crate) fn fingerprint(&self) -> String {
        if self.entries.is_empty() {
            return String::new();
        }
        format!("{:?}", self.entries)
    }
}

impl Rule {
    /// Reads an entry as the kernel prints it, or returns `None` if it is disabled.
    fn read(text: &str) -> Option<Self> {
        let (mut offset, mut magic, mut mask, mut extension) = (None, None, None, None);
        let mut lines = text.lines();
        if lines.next() == Some("disabled") {
            return None;
        }
        for line in lines {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "extension" => extension = value.strip_prefix('.'),
                "offset" => offset = value.parse().ok(),
                "magic" => magic = hexadecimal(value),
                "mask" => mask = Some(hexadecimal(value)),
                _ => {}
            }
        }
        Some(match (extension, offset, magic, mask) {
            (Some(extension), None, None, None) => Self::Extension(extension.into()),
            (None, Some(offset), Some(magic), mask) => match mask {
                None => Self::Magic {
                    offset,
                    magic,
                    mask: None,
                },
                Some(Some(mask)) if mask.len() == magic.len() => Self::Magic {
                    offset,
                    magic,
                    mask: Some(mask),
                },
                Some(_) => Self::Unknown,
            },
            _ => Self::Unknown,
        })
    }

    fn applies(&self, name: &OsStr, head: &[u8]) -> bool {
        match self {
            Self::Extension(extension) => {
                let mut parts = name.as_bytes().rsplitn(2, |&byte| byte == b'.');
                let last = parts.next().unwrap_or_default();
                parts.next().is_some() && last == extension
            }
            Self::Magic {
                offset,
                magic,
                mask,
            } => magic.iter().enumerate().all(|(index, want)| {
                let byte = head.get(offset + index).copied().unwrap_or_default();
                let mask = mask
                    .as_ref()
                    .and_then(|mask| mask.get(index))
                    .unwrap_or(&0xff);
                (byte ^ want) & mask == 0
            }),
            Self::Unknown => true,
        }
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() || pairs.is_empty() {
        return None;
    }
    let digits = pairs.iter().map(|pair| std::str::from_utf8(pair).ok());
    digits
        .map(|pair| u8::from_str_radix(pair?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_apply_as_the_kernel_applies_them() {
        let magic = "enabled\ninterpreter /q\nflags: F\noffset 0\nmagic 7f454c46\nmask ffff00ff\n";
        let rows = [
            (magic, "a", &b"\x7fE?F"[..], true),
            (magic, "a", b"\x7fE?G", false),
            (magic, "a", b"\x7fE", false),
            (
                "enabled\ninterpreter /q\nflags: \noffset 1\nmagic 23\n",
                "a",
                b"a#",
                true,
            ),
            (
                "enabled\ninterpreter /q\nflags: \nextension .jar\n",
                "a.jar",
                b"",
                true,
            ),
            (
                "enabled\ninterpreter /q\nflags: \nextension .jar\n",
                "jar",
                b"",
                false,
            ),
            (
                "enabled\ninterpreter /q\nflags: \nextension .jar\n",
                "a.jar.b",
                b"",
                false,
            ),
            (
                "disabled\ninterpreter /q\nflags: \nextension .jar\n",
                "a.jar",
                b"",
                false,
            ),
            (
                "enabled\ninterpreter /q\noffset 0\nmagic zz\n",
                "a",
                b"",
                true,
            ),
            ("", "a", b"", true),
        ];
        let mut wrong = Vec::new();
        for (text, name, head, want) in rows {
            let rule = Rule::read(text);
            if rule
                .as_ref()
                .is_some_and(|rule| rule.applies(OsStr::new(name), head))
                != want
            {
                wrong.push(format!("{text:?} on {name}: {rule:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
