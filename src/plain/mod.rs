//! From text to a [`Line`], or a [`Refusal`]. Pure: nothing but the text decides.

mod class;
mod code;
mod escape;
mod lexer;
mod limits;
mod line;
mod operator;
mod program_word;
mod quote;
mod reader;
mod refusal;
mod snippet;
mod span;
mod tree;

pub use code::{Code, UnknownCode};
pub use escape::Visible;
pub use limits::{MAX_BYTES, MAX_STAGES, MAX_WORDS};
pub use line::{Line, Stage, Word};
pub(crate) use quote::write_quoted;
pub use reader::Reader;
pub use refusal::Refusal;
pub use snippet::Snippet;
pub use span::Span;
