//! What the arguments can do: from the words of a [`Line`](crate::Line) to a [`Tier`] with its reasons.
//!
//! Pure: models are data that is compiled in, and no file is looked at.

mod apply;
mod effects;
mod facts;
mod inner;
mod judge;
mod language;
mod levels;
mod model;
mod path;
mod prefix;
mod rule;
mod scan;
mod split;
mod surroundings;
mod tier;
mod words;

pub use effects::{
    Access, Effect, Inner, LineEffects, Lookup, PathUse, ReplacedModel, StageEffects,
};
pub use facts::Facts;
pub use judge::{MAX_DEPTH, judge, judge_stage, judge_with};
pub use model::{CommandOutline, Model, ModelError, Models, OptionOutline};
pub use rule::{Kind, Rule, UnknownRule};
pub use tier::{Tier, UnknownTier};

pub(crate) use prefix::{chooses_what_runs, starts_like};
