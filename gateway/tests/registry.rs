//! Holds the registry reader to the cases in `data/registry.toml`.
#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::BTreeSet, path::Path};

use proptest::prelude::*;
use rea_gateway::{
    promises,
    registry::{Faults, Registry},
};

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    text: String,
    /// One line each; absent when the file is accepted.
    #[serde(default)]
    faults: Vec<String>,
}

fn cases() -> Vec<Case> {
    let cases: Cases = toml::from_str(include_str!("data/registry.toml")).unwrap();
    assert!(!cases.case.is_empty(), "no cases");
    cases.case
}

#[test]
fn every_file_is_accepted_or_blamed_at_the_right_place() {
    let (mut wrong, mut names) = (Vec::new(), BTreeSet::new());
    for Case { name, text, faults } in cases() {
        let got: Vec<_> = Registry::parse(Path::new("r"), &text)
            .err()
            .iter()
            .flat_map(Faults::all)
            .map(ToString::to_string)
            .collect();
        if got != faults {
            wrong.push(format!("{name}: want {faults:#?}, got {got:#?}"));
        }
        promises::registry(text.as_bytes());
        assert!(names.insert(name.clone()), "two cases named {name}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_text_keeps_the_promises(text in any::<String>()) {
        promises::registry(text.as_bytes());
    }

    /// A piece of one case cut out and a piece of another put in its place.
    #[test]
    fn spliced_cases_keep_the_promises(
        (into, from) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        (at, until) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        (start, end) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let cases = cases();
        let piece = |text: &str, a: prop::sample::Index, b: prop::sample::Index| {
            let (a, b) = (a.index(text.len() + 1), b.index(text.len() + 1));
            (a.min(b), a.max(b))
        };
        let (into, from) = (&into.get(&cases).text, &from.get(&cases).text);
        let (cut, taken) = (piece(into, at, until), piece(from, start, end));
        let mut bytes = into.as_bytes().to_vec();
        bytes.splice(cut.0..cut.1, from.as_bytes()[taken.0..taken.1].iter().copied());
        promises::registry(&bytes);
    }
}
