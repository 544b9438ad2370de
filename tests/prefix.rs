//! Prefix grants: what the words mean to the program decides, and never more than was granted.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use plainpipe::effect::{Models, Tier};
use plainpipe::grant::{Grant, GrantedProgram, Grants, Lifetime, Scope, Why};
use plainpipe::{Line, Pinned, Program, Verdict};
use proptest::prelude::*;

#[path = "support/machine.rs"]
mod machine;

use machine::{Machine, pin};

/// What a line is granted by a prefix: yes, no, or only up to a ceiling that was asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Answer {
    Yes,
    /// Other words.
    No,
    /// It can do more than the prefix.
    More,
}

use Answer::{More, No, Yes};

#[rustfmt::skip]
const ROWS: &[(&str, &str, Answer)] = &[
    ("git log --oneline", "git log --oneline", Yes),
    ("git log --oneline", "git log --oneline -5 f", Yes),
    ("git log --oneline", "git log -5 --oneline", Yes),
    ("git log --oneline", "git log --oneline --stat -- src", Yes),
    ("git log --oneline", "git log", No),
    ("git log --oneline", "git log --onelin", No),
    ("git log --oneline", "git log --oneline --frobnicate", No),
    ("git log --oneline", "git log --frobnicate --oneline", No),
    ("git log --oneline", "git log --no-oneline --oneline", No),
    ("git log --oneline", "git log -- --oneline", No),
    ("git log --oneline", "git log --format --oneline", No),
    ("git log --oneline", "git log --author --oneline", No),
    ("git log --oneline", "git -c alias.log=x log --oneline", No),
    ("git log --oneline", "git -C x log --oneline", No),
    ("git log --oneline", "git --git-dir=x log --oneline", No),
    ("git log --oneline", "git --no-pager log --oneline", No),
    ("git log --oneline", "git log --oneline --output=x", More),
    ("git log --oneline", "git log --output=x --oneline", More),
    ("git log --oneline", "git log --oneline --ext-diff", More),
    ("git log --oneline", "git show --oneline", No),
    ("git log -n 5", "git log -5", No),
    ("git log -n 5", "git log -n 6", No),
    ("git log -n 5", "git log -n5 f", Yes),
    ("git log -n 5", "git log --max-count=5", Yes),
    ("git log -n 5", "git log -n 5 -n 900", No),
    ("git log main", "git log --oneline main", Yes),
    ("git log main", "git log main other", Yes),
    ("git log main", "git log other main", No),
    ("git log -- a", "git log -- a b", Yes),
    ("git log -- a", "git log a", No),
    ("git log -- a", "git log b -- a", No),
    ("git log -- a", "git log --oneline -- a", No),
    ("git -C x log", "git -C x log -5", Yes),
    ("git -C x log", "git -C y log -5", No),
    ("git -C x log", "git log -5", No),
    ("git push", "git push origin main", Yes),
    ("git push", "git push --force", More),
    ("git push", "git push origin +main", More),
    ("git frobnicate", "git frobnicate -x", Yes),
    ("git frobnicate", "git -x frobnicate", No),
    ("ls -l", "ls -la", Yes),
    ("ls -l", "ls -al", Yes),
    ("ls -l", "ls a -l", Yes),
    ("ls -l", "ls -a", No),
    ("ls -l", "ls -- -l", No),
    ("grep -n foo", "grep -rn foo src", Yes),
    ("grep -n foo", "grep -n bar foo", No),
    ("grep -n foo", "grep -n -e bar foo", Yes),
    ("sort -u", "sort -u a", Yes),
    ("sort -u", "sort -o a -u", More),
    ("sort -u", "sort -u --compress-program=sh a", More),
    ("sed -n 1p", "sed -n 1p a", Yes),
    ("sed -n 1p", "sed -i -n 1p a", More),
    ("sed -n 1p", "sed -n 1e a", No),
    ("sed -n 1p", "sed -n -e 1e 1p", More),
    ("find src -type f", "find src -type f -name a", Yes),
    ("find src -type f", "find src -type f -delete", More),
    ("find src -type f", "find src -name a -type f", No),
    ("find src -type f", "find src -delete -type f", No),
    ("timeout 5 ls", "timeout 5 ls -l", Yes),
    ("timeout 5 ls", "timeout -k 9 5 ls", No),
    ("timeout 5 ls", "timeout 5 lsof", No),
    ("docker run alpine", "docker run alpine ls", Yes),
    ("docker run alpine", "docker run --privileged alpine", No),
    ("docker run alpine", "docker run -v /:/x alpine", No),
    ("cargo test", "cargo test --release", Yes),
    ("cargo test", "cargo test -- --nocapture", Yes),
    ("cargo test", "cargo --config x test", No),
    ("cargo test", "cargo +nightly test", No),
    ("make build", "make build -j4", Yes),
    ("make build", "make clean build", No),
    ("kubectl get pods", "kubectl get pods -A", Yes),
    ("kubectl get pods", "kubectl --kubeconfig x get pods", No),
    ("frob a", "frob a b", Yes),
    ("frob a", "frob -x a", No),
];

/// A machine with a program of each name, and the grants of one prefix.
struct Place {
    machine: Machine,
}

static PLACE: LazyLock<Place> = LazyLock::new(|| {
    let machine = Machine::new();
    machine.program("bin/frob", "frob");
    for name in Models::shipped().names() {
        machine.program(&format!("bin/{name}"), name);
    }
    Place { machine }
});

impl Place {
    fn pin(&self, line: &str) -> Option<Pinned> {
        pin(&self.machine.host("@/bin"), line).ok()
    }

    /// Gives prefix grants for every call of `line`, as high as each can do by itself; none if one of them
    /// must not be given.
    fn grants(&self, line: &str) -> Option<Grants> {
        let line = self.pin(line).unwrap();
        let mut grants = Grants::in_memory(None).unwrap().dangerous_not_held();
        let give = |program: &Program, args: Vec<String>, tier| {
            let Program::File(file) = program else {
                return None;
            };
            let scope = if args.is_empty() {
                Scope::AnyArguments {}
            } else {
                Scope::Prefix { args }
            };
            let program = GrantedProgram::from(&**file);
            let grant = Grant::new(program, scope, Lifetime::Always {}, "test", "");
            Some(grant.with_ceiling(tier))
        };
        let mut list = Vec::new();
        for stage in line.stages() {
            let words = stage.stage().argv().skip(1).map(str::to_owned);
            list.extend(give(stage.program(), words.collect(), stage.effects().tier));
            for inner in stage.inner() {
                let words = inner.call().words().skip(1).map(str::to_owned);
                let tier = inner.call().tier;
                list.extend(
                    inner
                        .program()
                        .and_then(|program| give(program, words.collect(), tier)),
                );
            }
        }
        grants.give(list).ok()?;
        Some(grants)
    }
}

fn answer(grants: &Grants, line: Pinned) -> Answer {
    match grants.judge(line) {
        Verdict::Granted(_) => Yes,
        Verdict::NotGranted(not) => {
            let above = |why: &Why| matches!(why, Why::AboveCeiling { .. });
            if not.missing().iter().all(|missing| above(&missing.why)) {
                More
            } else {
                No
            }
        }
        Verdict::Drifted(_) | Verdict::Refused(_) => No,
    }
}

#[test]
fn a_prefix_covers_what_does_the_same_and_no_more() {
    let mut wrong = Vec::new();
    for (prefix, line, want) in ROWS {
        let grants = PLACE.grants(prefix).unwrap();
        let Some(pinned) = PLACE.pin(line) else {
            wrong.push(format!("{line} is refused"));
            continue;
        };
        let tier = pinned.tier();
        let got = answer(&grants, pinned);
        if got != *want {
            wrong.push(format!(
                "{prefix}: {line} ({tier}): want {want:?}, got {got:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The lines of the everyday list that have one stage and arguments.
static EVERYDAY: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    #[derive(serde::Deserialize)]
    struct Everyday {
        read: Vec<String>,
        write: Vec<String>,
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/everyday.toml");
    let file: Everyday = toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let lines = file.read.iter().chain(&file.write);
    let lines = lines.filter_map(|text| Line::parse(text).ok());
    let lines = lines.filter(|line| line.stages().len() == 1);
    let lines: Vec<Vec<String>> = lines
        .map(|line| {
            line.stages()
                .flat_map(|stage| stage.argv().map(str::to_owned))
                .collect()
        })
        .filter(|words: &Vec<String>| words.len() > 1 && PLACE.pin(&quoted(words)).is_some())
        .collect();
    assert!(lines.len() > 500, "{} lines", lines.len());
    lines
});

/// Every option that some model knows to do more than read, and words that no model knows.
static DANGEROUS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut words = BTreeSet::new();
    let models = Models::shipped();
    for name in models.names() {
        for outline in models
            .of(name)
            .unwrap()
            .iter()
            .flat_map(|model| model.outline().unwrap())
        {
            let risky = outline
                .options
                .iter()
                .filter(|option| option.rule.is_some());
            for name in risky.flat_map(|option| &option.names) {
                words.insert(name.clone());
                words.insert(format!("{name}=x"));
            }
        }
    }
    words.extend(
        [
            "--frobnicate",
            "-\u{df}",
            "--",
            "-",
            "x",
            "./x",
            "+x",
            ";",
            "{}",
        ]
        .map(str::to_owned),
    );
    words.into_iter().collect()
});

fn quoted(words: &[String]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .map(|word| format!("'{}'", word.replace('\'', r"'\''")))
        .collect();
    quoted.join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_extra_word_makes_a_call_granted_that_can_do_more(
        line in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
        extra in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..3),
    ) {
        let line = line.get(&EVERYDAY);
        let prefix = line.get(..2 + cut.index(line.len() - 1)).unwrap();
        let Some(alone) = PLACE.pin(&quoted(prefix)) else { return Ok(()) };
        let ceiling = alone.tier();
        let Some(grants) = PLACE.grants(&quoted(prefix)) else { return Ok(()) };
        let mut call = line.clone();
        for (word, place) in extra {
            call.insert(1 + place.index(call.len()), word.get(&DANGEROUS).clone());
        }
        let Some(pinned) = PLACE.pin(&quoted(&call)) else { return Ok(()) };
        let tier = pinned.tier();
        if answer(&grants, pinned) == Yes {
            prop_assert!(tier <= ceiling, "{} lets {} through, which is {tier}", quoted(prefix), quoted(&call));
            if ceiling < Tier::Destructive {
                // Each word of the prefix is there, if perhaps grouped with others or written otherwise.
                let operands = prefix.iter().skip(1).filter(|word| !word.starts_with('-') && word.len() > 2);
                for word in operands {
                    prop_assert!(call.iter().any(|other| other.contains(word.as_str())), "{}", quoted(&call));
                }
            }
        }
    }

    #[test]
    fn a_call_that_starts_with_all_words_is_granted_if_it_is_understood(
        line in any::<prop::sample::Index>(),
    ) {
        let line = line.get(&EVERYDAY);
        let Some(grants) = PLACE.grants(&quoted(line)) else { return Ok(()) };
        prop_assert_eq!(answer(&grants, PLACE.pin(&quoted(line)).unwrap()), Yes, "{}", quoted(line));
    }
}
