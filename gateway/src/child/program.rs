//! Where a program stands that a child would run, for saying so before it is tried.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use rustix::fs::{Access, access};

use super::Variables;

/// Where programs are looked for when there is no PATH, as the C library does it.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Returns the file that `command` names for a child with these variables in this folder.
///
/// A name with a `/` is a path seen from `folder`; another one is looked for along the child's own
/// PATH. This only looks: by the time the child starts, the answer may be another one.
pub fn find_program(command: &str, variables: &Variables, folder: &Path) -> Option<PathBuf> {
    let runnable =
        |path: PathBuf| (path.is_file() && access(&path, Access::EXEC_OK).is_ok()).then_some(path);
    if command.contains('/') {
        return runnable(folder.join(command));
    }
    let path = variables.get(OsStr::new("PATH"));
    let path = path.map_or(OsStr::new(DEFAULT_PATH), |path| path.as_os_str());
    env::split_paths(path).find_map(|place| runnable(folder.join(place).join(command)))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    #[test]
    fn a_program_is_found_as_the_system_would_find_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (name, mode) in [
            ("one/a", 0o755),
            ("two/a", 0o755),
            ("one/b", 0o644),
            ("two/b", 0o755),
        ] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), "").unwrap();
            fs::set_permissions(at(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(at("one/c")).unwrap();
        let path = format!("{}:two", at("one").display());
        let variables: Variables = [("PATH".into(), path.into())].into();
        let cases = [
            ("a", Some("one/a")),
            ("b", Some("two/b")),
            ("c", None),
            ("d", None),
            ("./two/a", Some("two/a")),
            ("one/b", None),
            ("", None),
        ];
        let mut wrong = Vec::new();
        for (command, want) in cases {
            let got = find_program(command, &variables, folder.path());
            let got = got.map(|path| fs::canonicalize(path).unwrap());
            let want = want.map(|name| fs::canonicalize(at(name)).unwrap());
            if got != want {
                wrong.push(format!("{command}: want {want:?}, got {got:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(find_program("sh", &Variables::new(), folder.path()).is_some());
    }
}
