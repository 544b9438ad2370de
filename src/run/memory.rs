//! Files in memory that nobody can change.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::OwnedFd;

use rustix::fs::{MemfdFlags, SealFlags};

/// Returns a sealed file in memory with what `source` yields, at its start.
pub(super) fn sealed(name: &str, mut source: impl Read) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let mut file = File::from(rustix::fs::memfd_create(name, flags)?);
    io::copy(&mut source, &mut file)?;
    file.flush()?;
    let seals = SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE;
    rustix::fs::fcntl_add_seals(&file, seals)?;
    file.rewind()?;
    Ok(file.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sealed_stays_as_it_is() {
        let mut file = File::from(sealed("text", &b"abc"[..]).unwrap());
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "abc");
        assert!(file.write_all(b"d").is_err());
        assert!(file.set_len(0).is_err());
    }
}
