//! What judging a line yields: tiers, effects and paths.

use std::borrow::Cow;

use serde::ser::{Serialize, SerializeSeq, SerializeStruct, Serializer};

use super::rule::{Kind, Rule};
use super::tier::Tier;
use super::words::{is_known, shown};
use crate::plain::Span;

/// What a line could do.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct LineEffects {
    /// The highest tier of the stages.
    pub tier: Tier,
    /// One entry per stage, in the order of the line.
    pub stages: Vec<StageEffects>,
}

impl LineEffects {
    /// Returns the effects of all stages, in the order of the line.
    pub fn effects(&self) -> impl Iterator<Item = &Effect> + Clone {
        self.stages.iter().flat_map(|stage| &stage.effects)
    }

    /// Returns the paths that the stages name, in the order of the line.
    pub fn paths(&self) -> impl Iterator<Item = &PathUse> + Clone {
        self.stages.iter().flat_map(|stage| &stage.paths)
    }
}

/// What one stage could do.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct StageEffects {
    /// The highest tier of the effects; `read` if there are none.
    pub tier: Tier,
    /// Everything that raises the stage above `read`, with its reason.
    pub effects: Vec<Effect>,
    /// The paths that the arguments name.
    pub paths: Vec<PathUse>,
    /// The programs that the arguments name and that were judged as well, as in `nice ls`.
    pub inner: Vec<Inner>,
    /// The programs of which a user's model stands in for the shipped one, which may loosen it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replaced_models: Vec<ReplacedModel>,
}

/// A user's model that stood in for a shipped one when a stage was judged.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct ReplacedModel {
    /// The program.
    pub program: String,
    /// The file of the user's model.
    pub by: String,
}

/// One thing that a stage could do.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct Effect {
    /// What could happen, in the few words that a policy parts.
    pub kind: Kind,
    /// The word that shows it, as the program receives it.
    pub word: String,
    /// The bytes of the command that wrote the word.
    pub span: Span,
    /// Why, in one sentence without a full stop.
    pub reason: Cow<'static, str>,
    /// The rule that was met; `rea explain RULE` tells more.
    pub rule: Rule,
    /// The lowest tier that the effect allows.
    pub tier: Tier,
}

/// A path that a stage names, and what for.
#[derive(Clone, Debug, Eq, PartialEq, serde::Serialize)]
pub struct PathUse {
    /// The path as the program receives it.
    pub path: String,
    /// What the program could do with it.
    pub access: Access,
    /// The bytes of the command that wrote the word which holds it.
    pub span: Span,
}

/// What a program could do with a path.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Reads the file, or lists the directory.
    Read,
    /// Creates, changes or replaces it.
    Write,
    /// Removes it.
    Delete,
    /// Runs it, or code from it.
    Run,
}

/// A program that the arguments of another one name.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Inner {
    /// What it is run with. A part that only the run tells holds a NUL, which no word of a line does.
    pub(crate) words: Vec<String>,
    /// The bytes of the command from its first word to its last.
    pub span: Span,
    /// The bytes of the command that wrote the word which names it.
    pub program: Span,
    /// The highest tier of what it, and the programs inside it, could do.
    pub tier: Tier,
    /// How the program around it finds it.
    pub lookup: Lookup,
}

/// How a program finds another one that its arguments name.
#[derive(
    Clone, Copy, Debug, Default, Eq, Hash, PartialEq, serde::Deserialize, serde::Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Lookup {
    /// As `execvp` does: on the PATH of the line, or from its working directory.
    #[default]
    Path,
    /// A shell looks it up, and its own names come first.
    Shell,
    /// On a PATH, or from a directory, that the line does not tell.
    Unknown,
    /// It is no file that is looked up here: it lies in another root, or within the program around it.
    Elsewhere,
}

impl Inner {
    /// Returns the words it would be run with, the program first; `…` and `{}` stand for what only
    /// the run tells.
    pub fn argv(&self) -> impl ExactSizeIterator<Item = Cow<'_, str>> + Clone {
        self.words.iter().map(|word| shown(word))
    }

    /// Returns the word that names the program, if the line tells it.
    pub fn name(&self) -> Option<&str> {
        let name = self.words.first().map(String::as_str);
        name.filter(|name| is_known(name))
    }

    /// Returns the words it would be run with. A part that only the run tells holds a NUL, which no word
    /// of a line does, so that such a word equals no other.
    pub fn words(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        self.words.iter().map(String::as_str)
    }

    /// Writes the fields that [`Serialize`] writes.
    pub(crate) fn serialize_into<S: SerializeStruct>(
        &self,
        object: &mut S,
    ) -> Result<(), S::Error> {
        object.serialize_field("argv", &Shown(&self.words))?;
        object.serialize_field("span", &self.span)?;
        object.serialize_field("tier", &self.tier)?;
        object.serialize_field("lookup", &self.lookup)
    }
}

impl Serialize for Inner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Inner", 4)?;
        self.serialize_into(&mut object)?;
        object.end()
    }
}

struct Shown<'a>(&'a [String]);

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        for word in self.0 {
            list.serialize_element(&shown(word))?;
        }
        list.end()
    }
}
