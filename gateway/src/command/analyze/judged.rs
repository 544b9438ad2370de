//! A reading together with what the line could do, in the form of the JSON output.

use plainpipe::effect::{Facts, LineEffects, Models, StageEffects, judge_with};
use plainpipe::{Line, Stage};
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

/// An accepted line, and what it could do.
///
/// Serialises as the line, with `tier`, `effects` and `paths` besides, on the line and on each stage. A
/// batch spends more time here than on judging, so nothing is collected on the way.
pub(super) struct Judged {
    pub(super) line: Line,
    pub(super) effects: LineEffects,
}

impl Judged {
    pub(super) fn new(line: Line, models: &Models) -> Self {
        let effects = judge_with(&line, models, &Facts::default());
        Self { line, effects }
    }
}

impl Serialize for Judged {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stages = self.line.stages().zip(&self.effects.stages);
        let stages = stages.map(|(stage, effects)| JudgedStage { stage, effects });
        let mut object = serializer.serialize_struct("Line", 6)?;
        object.serialize_field("verdict", "plain")?;
        object.serialize_field("stages", &Each(stages))?;
        object.serialize_field("canonical", &self.line.to_shell())?;
        object.serialize_field("tier", &self.effects.tier)?;
        object.serialize_field("effects", &Each(self.effects.effects()))?;
        object.serialize_field("paths", &Each(self.effects.paths()))?;
        object.end()
    }
}

/// A stage, and what it could do.
struct JudgedStage<'a> {
    stage: Stage<'a>,
    effects: &'a StageEffects,
}

impl Serialize for JudgedStage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Stage", 7)?;
        object.serialize_field("argv", &Each(self.stage.argv()))?;
        object.serialize_field("words", &Each(self.stage.words()))?;
        object.serialize_field("tier", &self.effects.tier)?;
        object.serialize_field("effects", &self.effects.effects)?;
        object.serialize_field("paths", &self.effects.paths)?;
        object.serialize_field("inner", &self.effects.inner)?;
        if !self.effects.replaced_models.is_empty() {
            object.serialize_field("replaced_models", &self.effects.replaced_models)?;
        }
        object.end()
    }
}

/// Serialises what an iterator yields as a list.
struct Each<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Each<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}
