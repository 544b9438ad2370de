//! `rea models`, and the models that a user adds, as whole programs.
#![expect(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use tempfile::TempDir;

/// A user with a folder of models.
struct User {
    root: TempDir,
}

impl User {
    fn new(models: &[(&str, &str)]) -> Self {
        let user = Self {
            root: tempfile::tempdir().unwrap(),
        };
        let folder = user.root.path().join("rea/models");
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in models {
            let path = folder.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }
        user
    }

    /// Returns the exit status, the output and what was told beside it.
    fn rea(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let output = Command::new(env!("CARGO_BIN_EXE_rea"))
            .args(words)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.root.path())
            .env("XDG_CONFIG_HOME", self.root.path())
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    fn tier(&self, line: &str) -> String {
        let (_, out, errors) = self.rea(&["analyze", "--syntax-only", "--json", line]);
        let object: serde_json::Value =
            serde_json::from_str(&out).unwrap_or_else(|error| panic!("{line}: {error}: {errors}"));
        object["tier"].as_str().unwrap_or_default().to_owned()
    }
}

const FROB: &str =
    "names = [\"frob\"]\nsummary = \"frobs\"\nmanual = [\"frob(1)\"]\noperands = \"PATH*\"\n";

const SORT: &str = "names = [\"sort\"]\nsummary = \"ours\"\nmanual = [\"ours\"]\noperands = \"WRITE*\"\n\
                    [options]\nread = [\"-u\", \"--compress-program TEXT\"]\n";

#[test]
fn a_model_is_added_or_tightens_and_loosens_only_what_it_says_it_replaces() {
    let none = User::new(&[]);
    let adding = User::new(&[("frob.toml", FROB), ("notes.txt", "no model")]);
    let tightening = User::new(&[("sort.toml", SORT)]);
    let replaces = format!("replaces-shipped = true\n{SORT}");
    let replacing = User::new(&[("sort.toml", &replaces)]);
    let rows = [
        (&none, "frob a", "destructive"),
        (&adding, "frob a", "read"),
        (&adding, "frob -x a", "destructive"),
        (&adding, "nice frob a", "read"),
        (&none, "sort -u a", "read"),
        (&tightening, "sort -u a", "write"),
        (&tightening, "sort -r", "destructive"),
        (&tightening, "sort -u --compress-program=sh", "destructive"),
        (&replacing, "sort -u --compress-program=sh", "read"),
        (&replacing, "sort -r", "destructive"),
    ];
    let mut wrong = Vec::new();
    for (user, line, want) in rows {
        let got = user.tier(line);
        if got != want {
            wrong.push(format!("{line}: want {want}, got {got}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    // Whoever looks is told which shipped model does not speak.
    for words in [
        &["analyze", "--syntax-only", "sort -u"][..],
        &["analyze", "nice sort -u"],
        &["grant", "check", "sort -u"],
    ] {
        let (_, out, _) = replacing.rea(words);
        assert!(
            out.contains("your model of sort stands in for the shipped one"),
            "{words:?}: {out}"
        );
        assert!(out.contains("rea/models/sort.toml"), "{words:?}: {out}");
        let (_, out, _) = tightening.rea(words);
        assert!(!out.contains("stands in"), "{words:?}: {out}");
    }
    let (_, out, _) = replacing.rea(&["analyze", "--json", "sort -u"]);
    let object: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(object["stages"][0]["replaced_models"][0]["program"], "sort");
}

#[test]
fn nothing_is_judged_by_a_folder_with_a_broken_model() {
    let unknown_key = format!("{FROB}frobnicate = 1\n");
    let unknown_role = format!("{FROB}[options]\nread = [\n \"-a\",\n \"-b FROB\",\n]\n");
    let no_toml = "names = [\"frob\"\n";
    let rows = [
        ("frob.toml", unknown_key.as_str(), "frob.toml:5: "),
        ("frob.toml", unknown_role.as_str(), "frob.toml:8: "),
        ("frob.toml", no_toml, "frob.toml:"),
        ("frob.toml", "", "frob.toml:1: "),
        ("frob.toml", "names = [\"frob\"]\n", "say in a few words"),
    ];
    let mut wrong = Vec::new();
    for (name, text, part) in rows {
        let user = User::new(&[("a.toml", SORT), (name, text)]);
        for words in [
            &["analyze", "--syntax-only", "ls"][..],
            &["analyze", "ls"],
            &["analyze", "--batch", "--syntax-only"],
            &["grant", "check", "ls"],
            &["run", "ls"],
            &["models", "list"],
        ] {
            let (status, out, errors) = user.rea(words);
            // 2 could be the status of the line itself.
            let want = if words.first() == Some(&"run") {
                125
            } else {
                2
            };
            if status != Some(want) || !out.is_empty() || !errors.contains(part) {
                wrong.push(format!(
                    "{text:?}: {words:?}: {status:?} {out:?} {errors:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_model_that_others_could_have_written_is_an_error() {
    for (path, mode) in [("rea/models/frob.toml", 0o666), ("rea/models", 0o777)] {
        let user = User::new(&[("frob.toml", FROB)]);
        let path = user.root.path().join(path);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let (status, _, errors) = user.rea(&["analyze", "--syntax-only", "frob a"]);
        assert_eq!(status, Some(2), "{}", path.display());
        assert!(errors.contains("others could have written it"), "{errors}");
    }
}

#[test]
fn models_are_listed_shown_and_checked_with_where_they_are_from() {
    let replaces = format!("replaces-shipped = true\n{SORT}");
    let user = User::new(&[("frob.toml", FROB), ("sort.toml", &replaces)]);
    let file = |name: &str| user.root.path().join("rea/models").join(name);
    let (status, out, _) = user.rea(&["models", "list"]);
    assert_eq!(status, Some(0));
    let line = |name: &str| {
        out.lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .to_owned()
    };
    assert!(line("frob ").ends_with(&format!("frobs  (yours: {})", file("frob.toml").display())));
    assert!(!line("ls ").contains("yours"));
    assert!(out.lines().count() > 120);

    let rows = [
        ("ls", "model: shipped (ls.toml)"),
        ("frob", "there is no shipped one"),
        ("sort", "instead of the shipped one"),
    ];
    for (program, part) in rows {
        let (status, out, _) = user.rea(&["models", "show", program]);
        assert_eq!(status, Some(0));
        assert!(out.contains(part), "{program}: {out}");
    }
    assert_eq!(user.rea(&["models", "show", "xyzzy"]).0, Some(1));

    let path = |name: &str| file(name).to_str().unwrap().to_owned();
    let (status, out, _) = user.rea(&["models", "check", &path("frob.toml")]);
    assert_eq!(
        (status, out.trim_end()),
        (Some(0), &*format!("{}: sound", path("frob.toml")))
    );
    let (status, out, _) = user.rea(&["models", "check", &path("sort.toml")]);
    assert_eq!(status, Some(0));
    assert!(out.contains("replaces the shipped model of sort"), "{out}");
    fs::write(file("bad.toml"), format!("{FROB}always = [\"xyzzy\"]\n")).unwrap();
    let (status, out, _) = user.rea(&["models", "check", &path("bad.toml")]);
    assert_eq!(status, Some(1));
    assert!(out.contains("bad.toml:5: "), "{out}");
    assert_eq!(user.rea(&["models", "check", "/frobnicate"]).0, Some(2));
}

#[test]
fn what_is_no_plain_file_is_an_error_and_not_waited_for() {
    let user = User::new(&[("frob.toml", FROB)]);
    let pipe = user.root.path().join("rea/models/pipe.toml");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    let (status, _, errors) = user.rea(&["models", "check", pipe.to_str().unwrap()]);
    assert_eq!(status, Some(2));
    assert!(errors.contains("is not a plain file"), "{errors}");
    let (status, _, errors) = user.rea(&["models", "list"]);
    assert_eq!(status, Some(2));
    assert!(errors.contains("is not a plain file"), "{errors}");
}

#[test]
fn a_large_model_is_checked_in_time_and_one_too_large_is_not_read() {
    let user = User::new(&[]);
    let path = user.root.path().join("big.toml");
    let check = |count: usize| {
        let options: Vec<String> = (0..count)
            .map(|number| format!("\"--o{number}\""))
            .collect();
        let text = format!("{FROB}[options]\nread = [{}]\n", options.join(","));
        fs::write(&path, text).unwrap();
        let start = std::time::Instant::now();
        let (status, _, errors) = user.rea(&["models", "check", path.to_str().unwrap()]);
        assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
        (status, errors)
    };
    assert_eq!(check(80_000).0, Some(0));
    let (status, errors) = check(200_000);
    assert_eq!(status, Some(2));
    assert!(errors.contains("larger than"), "{errors}");
}

#[test]
fn a_model_that_could_mean_two_things_has_a_fault() {
    let rows = [
        ("names = [\"\"]", "", "is no name of a program"),
        ("names = [\"/bin/frob\"]", "", "is no name of a program"),
        ("names = [\"fr\\u0000ob\"]", "", "is no name of a program"),
        ("names = [\"fr ob\"]", "", "is no name of a program"),
        ("names = [\"frob\", \"frob\"]", "", "listed twice"),
        ("names = [\"eval\"]", "", "builtin of shells"),
        ("names = [\"frob\", \".\"]", "", "builtin of shells"),
        (
            "names = [\"frob\"]",
            "bare = \"read\"\n[sub.a]\n[sub.\"a b\"]\n",
            "two sub-commands are called",
        ),
        (
            "names = [\"frob\"]",
            "bare = \"read\"\n[sub.\"\"]\n",
            "has no name",
        ),
        (
            "names = [\"frob\"]",
            "[shared.x]\nfrobnicate = [\"-a\"]\n",
            "frobnicate",
        ),
        (
            "names = [\"frob\"]",
            "[[when]]\nalways = [\"network\"]\n",
            "when it holds",
        ),
    ];
    let mut wrong = Vec::new();
    for (names, rest, part) in rows {
        let text = format!("{names}\nsummary = \"frobs\"\nmanual = [\"frob(1)\"]\n{rest}");
        let user = User::new(&[("frob.toml", &text)]);
        let path = user.root.path().join("rea/models/frob.toml");
        let (status, out, _) = user.rea(&["models", "check", path.to_str().unwrap()]);
        let (loaded, ..) = user.rea(&["models", "list"]);
        if status != Some(1) || !out.contains(part) || loaded != Some(2) {
            wrong.push(format!("{text:?}: {status:?} {loaded:?} {out:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn replacing_models_are_marked_in_the_list_and_odd_characters_are_escaped() {
    let replaces = format!("replaces-shipped = true\n{SORT}");
    let odd = FROB.replace("\"frobs\"", "\"fro\\u001b[2Jbs\"");
    let user = User::new(&[("frob.toml", &odd), ("sort.toml", &replaces)]);
    let (_, out, _) = user.rea(&["models", "list"]);
    let line = out.lines().find(|line| line.starts_with("sort ")).unwrap();
    assert!(
        line.contains("(yours, instead of the shipped one: "),
        "{line}"
    );
    let (_, out, _) = user.rea(&["models", "show", "frob"]);
    assert!(
        out.contains("frob: fro") && !out.contains('\u{1b}'),
        "{out:?}"
    );
}
