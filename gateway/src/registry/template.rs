//! Values with `${NAME}` in them: text in, parts or a fault out.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

use super::VariableName;

/// The value of a variable, with places that are filled from the gateway's own environment.
///
/// Only `${NAME}` is a place; `$NAME`, `$$`, `$(x)` and a lone `}` stand for themselves, and no
/// character escapes another. What is filled in is not looked at again.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Template {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, Eq, PartialEq)]
enum Part {
    Text(String),
    Variable(VariableName),
}

/// What came of filling a template.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Filled {
    /// Every place had a value, perhaps an empty one.
    Value(OsString),
    /// These variables are not set; each once, in the order of the text.
    Missing(Vec<VariableName>),
}

/// Why a text is no template, and where it goes wrong.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct BadTemplate {
    /// How many characters stand before the `${` to blame.
    pub(super) offset: usize,
    pub(super) kind: BadPlace,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum BadPlace {
    Empty,
    NotAName,
    Unended,
}

impl Template {
    pub(super) fn new(text: &str) -> Result<Self, BadTemplate> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let bad = |kind| BadTemplate {
                offset: text
                    .chars()
                    .count()
                    .saturating_sub(after.chars().count() + "${".len()),
                kind,
            };
            let (inside, following) = after.split_once('}').ok_or(bad(BadPlace::Unended))?;
            if inside.is_empty() {
                return Err(bad(BadPlace::Empty));
            }
            let name = VariableName::new(inside).ok_or(bad(BadPlace::NotAName))?;
            if !before.is_empty() {
                parts.push(Part::Text(before.to_owned()));
            }
            parts.push(Part::Variable(name));
            rest = following;
        }
        if !rest.is_empty() {
            parts.push(Part::Text(rest.to_owned()));
        }
        Ok(Self {
            text: text.to_owned(),
            parts,
        })
    }

    /// Returns the text as it was written, places unfilled.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the variables it asks for, in order, repeated ones repeated.
    pub fn variables(&self) -> impl Iterator<Item = &VariableName> {
        self.parts.iter().filter_map(|part| match part {
            Part::Variable(name) => Some(name),
            Part::Text(_) => None,
        })
    }

    /// Fills every place from `environment`.
    pub fn fill(&self, environment: &BTreeMap<OsString, OsString>) -> Filled {
        let mut value = OsString::new();
        let mut missing: Vec<VariableName> = Vec::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => value.push(text),
                Part::Variable(name) => match environment.get(OsStr::new(name.as_str())) {
                    Some(set) => value.push(set),
                    None if missing.contains(name) => {}
                    None => missing.push(name.clone()),
                },
            }
        }
        if missing.is_empty() {
            Filled::Value(value)
        } else {
            Filled::Missing(missing)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variables asked for, or the characters before the fault and its kind.
    type Verdict<'a> = Result<&'a [&'a str], (usize, BadPlace)>;

    #[test]
    fn every_text_is_a_template_or_is_blamed_at_the_right_character() {
        let cases: &[(&str, Verdict)] = &[
            ("", Ok(&[])),
            ("plain", Ok(&[])),
            ("$X $$ $(x) } {Y} $ {Z}", Ok(&[])),
            ("${A}", Ok(&["A"])),
            ("a${A}b${_B1}${A}c", Ok(&["A", "_B1", "A"])),
            ("\\${X}", Ok(&["X"])),
            ("$${X}", Ok(&["X"])),
            ("${A}}", Ok(&["A"])),
            ("${}", Err((0, BadPlace::Empty))),
            ("é${}", Err((1, BadPlace::Empty))),
            ("${A}${", Err((4, BadPlace::Unended))),
            ("${A", Err((0, BadPlace::Unended))),
            ("${1A}", Err((0, BadPlace::NotAName))),
            ("${A B}", Err((0, BadPlace::NotAName))),
            ("${A:-b}", Err((0, BadPlace::NotAName))),
            ("${A${B}}", Err((0, BadPlace::NotAName))),
            ("${A\n}", Err((0, BadPlace::NotAName))),
            ("x ${ A }", Err((2, BadPlace::NotAName))),
            ("${É}", Err((0, BadPlace::NotAName))),
        ];
        let mut wrong = Vec::new();
        for (text, want) in cases {
            let parsed = Template::new(text);
            let names: Vec<_> = (parsed.iter())
                .flat_map(|template| template.variables().map(VariableName::as_str))
                .collect();
            let got: Verdict = match &parsed {
                Ok(_) => Ok(&names),
                Err(bad) => Err((bad.offset, bad.kind)),
            };
            if got != *want {
                wrong.push(format!("{text:?}: want {want:?}, got {got:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn filling_is_one_pass_and_names_each_missing_variable_once() {
        let environment: BTreeMap<OsString, OsString> = [("A", "${B}"), ("B", "b"), ("E", "")]
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let fill = |text: &str| Template::new(text).unwrap().fill(&environment);
        assert_eq!(fill("<${A}${E}>"), Filled::Value("<${B}>".into()));
        let name = |text| VariableName::new(text).unwrap();
        assert_eq!(
            fill("${Z}${A}${Y}${Z}"),
            Filled::Missing(vec![name("Z"), name("Y")])
        );
    }
}
