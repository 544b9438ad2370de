//! An accepted line: stages of words.

use std::fmt::{self, Debug, Formatter};
use std::ops::Range;

use serde::ser::{SerializeSeq, SerializeStruct};
use serde::{Serialize, Serializer};

use super::quote::write_quoted;
use super::reader::Reader;
use super::refusal::Refusal;
use super::span::Span;

/// A plain line: one or more stages, joined by pipes, each a program and its arguments.
///
/// Only reading text makes one, so whoever holds a `Line` holds words that every common shell
/// would have run. Serialises as
/// `{"verdict":"plain","stages":[{"argv":[…],"words":[{"text":…,"span":[start,end]},…]},…],"canonical":…}`.
#[derive(Clone, Eq, PartialEq)]
pub struct Line {
    /// The argv text of all words, one after the other.
    pub(super) text: String,
    pub(super) words: Vec<WordPlace>,
    /// For each stage, the index of the word after its last one.
    pub(super) stage_ends: Vec<u32>,
}

/// Where a word lies in the command and in [`Line::text`].
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct WordPlace {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Where its argv text ends; it starts where that of the word before it ends.
    pub(super) text_end: u32,
}

impl Line {
    /// Reads `command`.
    ///
    /// Nothing but the text decides: no file, no environment, no earlier call. A caller in a loop
    /// saves the set-up by keeping a [`Reader`].
    ///
    /// # Errors
    ///
    /// A [`Refusal`] for everything that is not plain.
    ///
    /// # Examples
    ///
    /// ```
    /// let line = plainpipe::Line::parse("git log --oneline | head -5")?;
    /// let words: Vec<&str> = line.stages().last().unwrap().argv().collect();
    /// assert_eq!(words, ["head", "-5"]);
    /// # Ok::<(), plainpipe::Refusal>(())
    /// ```
    pub fn parse(command: &str) -> Result<Self, Refusal> {
        Reader::new().read(command)
    }

    /// Reads `command` from bytes that may not be text.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] for everything that is not plain, `not-utf8` among it. The span of that one
    /// counts bytes of `command`.
    pub fn parse_bytes(command: &[u8]) -> Result<Self, Refusal> {
        Reader::new().read_bytes(command)
    }

    /// Returns the stages, of which there is at least one.
    pub fn stages(&self) -> impl ExactSizeIterator<Item = Stage<'_>> + DoubleEndedIterator + Clone {
        (0..self.stage_ends.len()).map(|index| Stage {
            line: self,
            words: self.stage_words(index),
        })
    }

    /// Returns the canonical text: the same words, every one of them in single quotes.
    ///
    /// No alias, history character or option of the shells tested changes what it means. It is
    /// plain again and gives the same words, although it may be longer than the length limit.
    pub fn to_shell(&self) -> String {
        let mut text = String::with_capacity(
            self.text.len() + 3 * self.words.len() + 3 * self.stage_ends.len(),
        );
        for (index, stage) in self.stages().enumerate() {
            if index > 0 {
                text.push_str(" | ");
            }
            stage.write_shell(&mut text);
        }
        text
    }

    fn stage_words(&self, index: usize) -> Range<usize> {
        let end = |index: usize| self.stage_ends.get(index).map_or(0, |&end| end as usize);
        index.checked_sub(1).map_or(0, end)..end(index)
    }

    fn word(&self, index: usize) -> Word<'_> {
        let text_end = |index: usize| {
            self.words
                .get(index)
                .map_or(0, |word| word.text_end as usize)
        };
        let text = index.checked_sub(1).map_or(0, text_end)..text_end(index);
        let place = self.words.get(index);
        Word {
            text: self.text.get(text).unwrap_or_default(),
            span: place.map_or(Span::new(0, 0), |word| {
                Span::new(word.start as usize, word.end as usize)
            }),
        }
    }
}

impl Debug for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.stages().map(|stage| stage.argv().collect::<Vec<_>>()))
            .finish()
    }
}

impl Serialize for Line {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Line", 3)?;
        object.serialize_field("verdict", "plain")?;
        object.serialize_field("stages", &Each(self.stages()))?;
        object.serialize_field("canonical", &self.to_shell())?;
        object.end()
    }
}

/// One program call of a [`Line`].
#[derive(Clone)]
pub struct Stage<'a> {
    line: &'a Line,
    words: Range<usize>,
}

impl<'a> Stage<'a> {
    /// Returns the words, the program first; there is at least one.
    pub fn words(
        &self,
    ) -> impl ExactSizeIterator<Item = Word<'a>> + DoubleEndedIterator + Clone + use<'a> {
        let line = self.line;
        self.words.clone().map(move |index| line.word(index))
    }

    /// Returns the text of each word, as the program receives it.
    pub fn argv(
        &self,
    ) -> impl ExactSizeIterator<Item = &'a str> + DoubleEndedIterator + Clone + use<'a> {
        self.words().map(|word| word.text)
    }

    /// Returns the word that names the program.
    pub fn program(&self) -> Word<'a> {
        self.line.word(self.words.start)
    }

    /// Returns the bytes from the first word to the last.
    pub fn span(&self) -> Span {
        let last = self.line.word(self.words.end.saturating_sub(1));
        Span::new(self.program().span.start, last.span.end)
    }

    fn write_shell(&self, out: &mut String) {
        for (index, word) in self.argv().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            write_quoted(out, word);
        }
    }
}

impl Debug for Stage<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.argv()).finish()
    }
}

impl Serialize for Stage<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Stage", 2)?;
        object.serialize_field("argv", &Each(self.argv()))?;
        object.serialize_field("words", &Each(self.words()))?;
        object.end()
    }
}

/// One word of a [`Stage`].
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
pub struct Word<'a> {
    /// What the program receives, after quote removal.
    pub text: &'a str,
    /// The bytes of the command that wrote it.
    pub span: Span,
}

/// Serialises what an iterator yields as a list.
struct Each<I>(I);

impl<I: Iterator<Item: Serialize> + Clone> Serialize for Each<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for item in self.0.clone() {
            list.serialize_element(&item)?;
        }
        list.end()
    }
}
