//! The two witnesses, one after the other.

use std::fmt;

use super::code::Code;
use super::lexer;
use super::limits::MAX_BYTES;
use super::line::Line;
use super::refusal::Refusal;
use super::span::Span;
use super::tree::Grammar;

/// Reads one command after the other.
///
/// It keeps the grammar's parser, which is worth its set-up to a caller in a loop, and nothing of
/// the commands: the answer to one never depends on those before it.
pub struct Reader {
    grammar: Grammar,
}

impl Reader {
    /// Returns a reader.
    pub fn new() -> Self {
        Self {
            grammar: Grammar::new(),
        }
    }

    /// Reads `command`, as [`Line::parse`] does.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] for everything that is not plain.
    pub fn read(&mut self, command: &str) -> Result<Line, Refusal> {
        match lexer::lex(command) {
            Ok(line) => {
                self.confirm(command, &line)?;
                Ok(line)
            }
            // The grammar may blame something that stands before what the lexer blames.
            Err(unread) => {
                if let Some(line) = &unread.before {
                    self.confirm(command, line)?;
                }
                Err(unread.refusal)
            }
        }
    }

    /// Holds every stage of `line` against the grammar.
    fn confirm(&mut self, command: &str, line: &Line) -> Result<(), Refusal> {
        let mut stages = line.stages();
        stages.try_for_each(|stage| {
            let answer = self.grammar.confirm(command, &stage);
            answer.map_err(|(code, span)| Refusal::new(code, span, command))
        })
    }

    /// Reads `command` from bytes, as [`Line::parse_bytes`] does.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] for everything that is not plain. Bytes that are no text are refused before
    /// anything is read, but for the length limit, which goes first.
    pub fn read_bytes(&mut self, command: &[u8]) -> Result<Line, Refusal> {
        if command.len() > MAX_BYTES {
            return Err(Refusal::too_long(command, command.len()));
        }
        match std::str::from_utf8(command) {
            Ok(command) => self.read(command),
            Err(error) => {
                let start = error.valid_up_to();
                let end = error
                    .error_len()
                    .map_or(command.len(), |length| start + length);
                Err(Refusal::new(Code::NotUtf8, Span::new(start, end), ""))
            }
        }
    }
}

impl Default for Reader {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}
