//! How large a plain line may be.
//!
//! Limits are counted in bytes, stages and words, never in time: a clock would refuse good lines
//! on a busy machine.

/// The longest command, in bytes; a longer one is refused as `too-long`.
pub const MAX_BYTES: usize = 64 * 1024;

/// The most stages in one pipeline; one more is refused as `too-many-stages`.
pub const MAX_STAGES: usize = 64;

/// The most words in one line, all stages together; one more is refused as `too-many-words`.
pub const MAX_WORDS: usize = 4096;
