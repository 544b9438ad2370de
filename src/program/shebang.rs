//! The first line of a script, read as the Linux kernel reads it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// How many bytes of a file the kernel looks at to learn what it is.
pub(crate) const HEAD_BYTES: usize = 256;

/// The interpreter that a script asks for, and the one argument that it may give it.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Shebang<'a> {
    /// The path of the interpreter, as written: it may be relative.
    pub interpreter: &'a OsStr,
    /// The rest of the line, blanks inside it kept, or `None` if there is none.
    pub argument: Option<&'a OsStr>,
}

/// A first line that the kernel does not run.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum ShebangError {
    /// The line holds nothing after `#!`.
    #[error("the first line names no interpreter")]
    Empty,
    /// The path of the interpreter goes past the bytes that the kernel reads.
    #[error("the interpreter's path does not end within the first 256 bytes")]
    Truncated,
}

impl<'a> Shebang<'a> {
    /// Reads the start of a file, of which only the first 256 bytes count.
    ///
    /// Returns `None` when it does not start with `#!`.
    ///
    /// # Errors
    ///
    /// When the kernel would not run the file.
    pub fn read(head: &'a [u8]) -> Result<Option<Self>, ShebangError> {
        let head = head.get(..HEAD_BYTES).unwrap_or(head);
        if !head.starts_with(b"#!") {
            return Ok(None);
        }
        // Past the end of a short file the kernel sees NUL bytes; a NUL hides any newline behind it.
        let at = |index: usize| head.get(index).copied().unwrap_or_default();
        let blank = |index: usize| matches!(at(index), b' ' | b'\t');
        let ends_word = |index: usize| blank(index) || at(index) == 0;
        let skip_blanks = |from: usize, last: usize| (from..=last).find(|&index| !blank(index));
        let ending = (2..HEAD_BYTES).find(|&index| matches!(at(index), b'\n' | 0));
        let newline = ending.filter(|&index| at(index) == b'\n');
        let mut end = newline.unwrap_or(HEAD_BYTES - 1);
        if newline.is_none() {
            // The last byte is given up. Before that, the interpreter must be there whole.
            let name = skip_blanks(2, end).ok_or(ShebangError::Empty)?;
            if !(name..=end).any(ends_word) {
                return Err(ShebangError::Truncated);
            }
        }
        while blank(end - 1) {
            end -= 1;
        }
        let name = skip_blanks(2, end).filter(|&name| name < end && at(name) != 0);
        let name = name.ok_or(ShebangError::Empty)?;
        let name_end = (name..end).find(|&index| ends_word(index)).unwrap_or(end);
        let argument = if name_end < end && blank(name_end) {
            skip_blanks(name_end, end).filter(|&start| start < end)
        } else {
            None
        };
        let text = |start: usize| {
            let part = head.get(start..end.min(head.len())).unwrap_or_default();
            let length = part.iter().position(|&byte| byte == 0);
            OsStr::from_bytes(length.and_then(|end| part.get(..end)).unwrap_or(part))
        };
        Ok(Some(Self {
            interpreter: OsStr::from_bytes(head.get(name..name_end).unwrap_or_default()),
            argument: argument.map(text),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel makes of a head: the interpreter and the argument, or the error.
    fn read(head: &[u8]) -> Result<Option<(String, Option<String>)>, ShebangError> {
        let text = |text: &OsStr| text.to_string_lossy().into_owned();
        let shebang = Shebang::read(head)?;
        Ok(shebang.map(|line| (text(line.interpreter), line.argument.map(text))))
    }

    #[test]
    fn first_lines_are_read_as_the_kernel_reads_them() {
        use ShebangError::{Empty, Truncated};
        let long = |length: usize| format!("#!/{}", "x".repeat(length - 3));
        let some = |name: &str, argument: Option<&str>| {
            Ok(Some((name.to_owned(), argument.map(str::to_owned))))
        };
        let rows: &[(Vec<u8>, _)] = &[
            (b"".into(), Ok(None)),
            (b"#".into(), Ok(None)),
            (b"\x7fELF".into(), Ok(None)),
            (b" #!/bin/sh\n".into(), Ok(None)),
            (b"#!".into(), Err(Empty)),
            (b"#!\n".into(), Err(Empty)),
            (b"#! \t \n".into(), Err(Empty)),
            (b"#!\0/bin/sh\n".into(), Err(Empty)),
            (b"#!/bin/sh".into(), some("/bin/sh", None)),
            (b"#!/bin/sh\n".into(), some("/bin/sh", None)),
            (b"#! \t/bin/sh \t\n".into(), some("/bin/sh", None)),
            (b"#!/bin/sh -e".into(), some("/bin/sh", Some("-e"))),
            (
                b"#!/bin/sh\t -e  -u \n".into(),
                some("/bin/sh", Some("-e  -u")),
            ),
            (b"#!/bin/sh -e\r\n".into(), some("/bin/sh", Some("-e\r"))),
            (b"#!/bin/sh\r\n".into(), some("/bin/sh\r", None)),
            (b"#!sh\n".into(), some("sh", None)),
            // Without a newline, blanks before the end of the file make an empty argument.
            (b"#!/bin/sh ".into(), some("/bin/sh", Some(""))),
            (b"#!/bin/sh -e ".into(), some("/bin/sh", Some("-e "))),
            (b"#!/bin/sh\0 -e\n".into(), some("/bin/sh", None)),
            (b"#!/bin/sh -e\0u\n".into(), some("/bin/sh", Some("-e"))),
            (long(255).into(), some(&long(255)[2..], None)),
            (
                format!("{}\n", long(255)).into(),
                some(&long(255)[2..], None),
            ),
            (long(256).into(), Err(Truncated)),
            (format!("{}\n", long(256)).into(), Err(Truncated)),
            (
                format!("{} a", long(250)).into(),
                some(&long(250)[2..], Some("a")),
            ),
            // The argument is cut without a word, the interpreter is not.
            (
                format!("{} abcdefgh\n", long(250)).into(),
                some(&long(250)[2..], Some("abcd")),
            ),
            (format!("#!{}\n", " ".repeat(260)).into(), Err(Empty)),
        ];
        let mut wrong = Vec::new();
        for (head, want) in rows {
            let got = read(head);
            if got != *want {
                wrong.push(format!(
                    "{}: want {want:?}, got {got:?}",
                    head.escape_ascii()
                ));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
