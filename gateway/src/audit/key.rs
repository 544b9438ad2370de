//! Random keys of this user, made on first use and readable by nobody else.

use std::{
    fs::{self, DirBuilder, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{DirBuilderExt, PermissionsExt},
    path::Path,
};

use super::{
    disk::open_directory,
    error::{AuditError, Context},
    lock::open_regular,
};

/// 32 random bytes.
pub(crate) type Secret = [u8; 32];

/// Makes the user's state directory, mode 0700, if it is not there.
pub(crate) fn make_directory(directory: &Path) -> Result<(), AuditError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .context("create", directory)
}

/// Returns the key in `directory` under `name`; makes it if there is none.
///
/// Two processes that both make it agree on the one that came first.
pub(crate) fn load_or_make(directory: &Path, name: &str) -> Result<Secret, AuditError> {
    let path = directory.join(name);
    if let Some(key) = load(&path)? {
        return Ok(key);
    }
    let mut key = Secret::default();
    getrandom::fill(&mut key)
        .map_err(io::Error::from)
        .context("find randomness for", &path)?;
    // A temporary file is made with mode 0600, and is whole before it gets its name.
    let mut file =
        tempfile::NamedTempFile::new_in(directory).context("create a file in", directory)?;
    writeln!(file, "{}", hex::encode(key)).context("write", &path)?;
    file.as_file().sync_all().context("sync", &path)?;
    match file.persist_noclobber(&path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error.error).context("create", &path),
    }
    open_directory(directory)
        .and_then(|entry| entry.sync_all())
        .context("sync", directory)?;
    load(&path)?.ok_or(AuditError::Key {
        path,
        problem: "vanished while it was made",
    })
}

/// Returns the key in a file; `None` when there is no such file.
pub(crate) fn load(path: &Path) -> Result<Option<Secret>, AuditError> {
    if fs::symlink_metadata(path).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Ok(None);
    }
    let problem = |problem| AuditError::Key {
        path: path.to_owned(),
        problem,
    };
    let file = open_regular(OpenOptions::new().read(true), path)?;
    let mode = file
        .metadata()
        .context("inspect", path)?
        .permissions()
        .mode();
    if mode & 0o077 != 0 {
        return Err(problem("others than its owner may use it"));
    }
    let mut text = String::new();
    file.take(128)
        .read_to_string(&mut text)
        .context("read", path)?;
    let mut key = Secret::default();
    hex::decode_to_slice(text.trim_end(), &mut key).map_err(|_| problem("it is not a key"))?;
    Ok(Some(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_made_once_and_only_for_its_owner() {
        let directory = tempfile::tempdir().unwrap();
        let key = load_or_make(directory.path(), "k").unwrap();
        assert_ne!(key, Secret::default());
        assert_eq!(load_or_make(directory.path(), "k").unwrap(), key);
        let path = directory.path().join("k");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(
            load_or_make(directory.path(), "k").unwrap_err().code(),
            "audit-key"
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "short").unwrap();
        assert_eq!(
            load_or_make(directory.path(), "k").unwrap_err().code(),
            "audit-key"
        );
    }
}
