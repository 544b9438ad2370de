//! How a script reaches its interpreter.
//!
//! The kernel would hand the interpreter a path to open. By then another file may lie there, so
//! the script comes another way unless only root can change what the path leads to:
//!
//! | case | how | `$0`, `argv[0]` of the script |
//! |---|---|---|
//! | only root can change the script, its interpreters and their directories | by its path | the path, as ever |
//! | `sh`, `bash`, `dash`, `ksh`, `mksh` or `ash` | its text, after `-c` | the path, as ever |
//! | any other interpreter, or a shell script that this does not suit | by a held descriptor | `/proc/self/fd/N` |
//!
//! The text does not suit when it asks for `BASH_SOURCE`, which `-c` leaves empty; when it is
//! longer than the kernel passes on or holds NUL; when others may not read the script, since
//! arguments can be seen by all; and when its first line gives the shell more than single letters.
//!
//! A descriptor still leads to the directory of the script: `readlink -f` and `realpath` of
//! `/proc/self/fd/N` give the real path. Python puts that directory on its search path, and Node
//! resolves modules from it. Node does so by opening the real path once more, so there a file that
//! is renamed over the script in that very moment is what it reads.

use std::ffi::{CString, NulError};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::program::Held;

/// The lowest descriptor that a script is passed in. Scripts use single digits for their own, and
/// shells move theirs to 10 and to just below 64 and 256.
pub const SCRIPT_DESCRIPTOR: i32 = 97;

/// The longest text that is passed after `-c`, in bytes. The kernel takes 128 KiB.
const MAX_TEXT: u64 = 120 << 10;

/// What a shell leaves empty after `-c`.
const SOURCE: &[u8] = b"BASH_SOURCE";

/// Shells that take a program text after `-c`, and the name of the script after that.
const SHELLS: &[&str] = &["ash", "bash", "dash", "ksh", "mksh", "sh"];

/// Letters that a shell may be given by the first line of a script, so that `-c` can follow.
const LETTERS: &str = "BCEabefhkmnuvx";

/// How an interpreter gets its script.
#[derive(Debug)]
pub(super) enum Passing {
    /// It opens this path.
    Path(CString),
    /// It gets the text, and the path as the name.
    Text { text: CString, name: CString },
    /// It opens this path of the descriptor, which it has to keep.
    Descriptor { path: CString, file: OwnedFd },
}

impl Passing {
    /// Decides how `interpreter`, which the first line gives these options, gets the script that is
    /// held and goes by the name `name`.
    pub(super) fn choose(
        script: &Held,
        name: &str,
        protected: bool,
        interpreter: &Path,
        options: &[String],
    ) -> Result<Self, PassingError> {
        if protected {
            return Ok(Self::Path(CString::new(name)?));
        }
        if suits_text(script, interpreter, options)
            && let Some(text) = text(script)?
        {
            let name = CString::new(name)?;
            return Ok(Self::Text { text, name });
        }
        let file = rustix::io::fcntl_dupfd_cloexec(script.file(), SCRIPT_DESCRIPTOR);
        let file = file.map_err(io::Error::from)?;
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        Ok(Self::Descriptor { path, file })
    }
}

/// Why a script could not be passed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PassingError {
    #[error(transparent)]
    System(#[from] io::Error),
    #[error(transparent)]
    Nul(#[from] NulError),
}

fn suits_text(script: &Held, interpreter: &Path, options: &[String]) -> bool {
    let name = interpreter.file_name().and_then(|name| name.to_str());
    let letters = |option: &String| {
        let letters = option.strip_prefix('-').unwrap_or_default();
        !letters.is_empty() && letters.chars().all(|letter| LETTERS.contains(letter))
    };
    let identity = script.identity();
    name.is_some_and(|name| SHELLS.contains(&name))
        && options.iter().all(letters)
        && identity.mode & 0o004 != 0
        && identity.size <= MAX_TEXT
}

/// Returns the text of the script, or `None` if it has to be read from a file.
fn text(script: &Held) -> io::Result<Option<CString>> {
    let mut text = vec![0; usize::try_from(script.identity().size).unwrap_or(0)];
    script.file().read_exact_at(&mut text, 0)?;
    let asks = text.windows(SOURCE.len()).any(|window| window == SOURCE);
    Ok(if asks { None } else { CString::new(text).ok() })
}
