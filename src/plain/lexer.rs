//! The first witness: a lexer for the plain language.
//!
//! It reads the line once from left to right and stops at the first byte that is not plain. It
//! keeps no nesting, so its stack is flat and its time is linear.

use super::class::{Class, class};
use super::code::Code;
use super::limits::{MAX_BYTES, MAX_STAGES, MAX_WORDS};
use super::line::{Line, WordPlace};
use super::operator;
use super::program_word;
use super::refusal::Refusal;
use super::span::Span;

/// Reads `command`, or says which bytes are not plain.
pub(super) fn lex(command: &str) -> Result<Line, Box<Unread>> {
    if command.len() > MAX_BYTES {
        let refusal = Refusal::too_long(command.as_bytes(), command.len());
        return Err(Box::new(Unread {
            before: None,
            refusal,
        }));
    }
    let mut lexer = Lexer::new(command);
    match lexer.read() {
        Ok(()) => Ok(lexer.line),
        Err((code, span)) => {
            let refusal = Refusal::new(code, span, command);
            Err(Box::new(Unread {
                before: lexer.whole_words(),
                refusal,
            }))
        }
    }
}

/// A line that the lexer gave up on.
pub(super) struct Unread {
    /// The words before the fault, if there are any: the grammar may find fault with one of them.
    pub(super) before: Option<Line>,
    pub(super) refusal: Refusal,
}

/// A reason and its place; the text around it is added once, at the end.
type Fault = (Code, Span);

struct Lexer<'a> {
    command: &'a str,
    bytes: &'a [u8],
    at: usize,
    line: Line,
}

/// What the lexer has to remember of the word that it is in.
struct WordState {
    start: usize,
    /// Where the argv text of the word starts.
    text_start: usize,
    is_program: bool,
    /// Whether the word holds a quote or an escape.
    quoted: bool,
    /// The byte after the last one that stood bare.
    bare_end: usize,
    /// An unquoted `{` that is still open: its place, and where the text after it starts.
    brace: Option<(usize, usize)>,
    /// The first unquoted `{`, open or closed.
    first_brace: Option<usize>,
    /// Where a quote or an escape ended that gave the text its first backslash.
    backslash: Option<usize>,
    /// Whether the text holds a quoted `[` right after a dot.
    dot_bracket: bool,
}

impl<'a> Lexer<'a> {
    fn new(command: &'a str) -> Self {
        let line = Line {
            text: String::with_capacity(command.len()),
            words: Vec::with_capacity(8),
            stage_ends: Vec::with_capacity(2),
        };
        Self {
            command,
            bytes: command.as_bytes(),
            at: 0,
            line,
        }
    }

    fn read(&mut self) -> Result<(), Fault> {
        let mut stage_start = 0; // index of the first word of this stage
        let mut last_pipe = None;
        // The word before this one was a bare `nohup`, whose alias makes mksh expand this one.
        let mut after_nohup = false;
        loop {
            let gap = self.at;
            self.skip_blanks();
            let at = self.at;
            let is_program = self.line.words.len() == stage_start;
            match self.class_at(at) {
                Class::End if is_program => {
                    return Err(match last_pipe {
                        Some(pipe) => (Code::SyntaxError, Span::new(pipe, pipe + 1)),
                        None => (Code::Empty, Span::new(0, self.bytes.len())),
                    });
                }
                Class::End => {
                    self.nothing_continued(gap, at)?;
                    self.finish_stage();
                    return Ok(());
                }
                Class::Newline => {
                    self.nothing_continued(gap, at)?;
                    self.trailing_newlines(at, is_program && last_pipe.is_none())?;
                }
                Class::Blank => self.skip_blanks(),
                Class::Pipe => {
                    if let Some(fault) = operator::double_pipe(self.bytes, at) {
                        return Err(fault);
                    }
                    let span = Span::new(at, at + 1);
                    if is_program {
                        return Err((Code::SyntaxError, span));
                    }
                    self.line.stage_ends.push(index(self.line.words.len()));
                    if self.line.stage_ends.len() == MAX_STAGES {
                        return Err((Code::TooManyStages, span));
                    }
                    stage_start = self.line.words.len();
                    last_pipe = Some(at);
                    after_nohup = false;
                    self.at += 1;
                }
                Class::Operator => return Err(operator::classify(self.bytes, at)),
                Class::Bare
                | Class::Position
                | Class::Single
                | Class::Double
                | Class::Backslash
                | Class::Dollar
                | Class::Backtick
                | Class::Glob
                | Class::Control
                | Class::NonAscii => {
                    let word = self.word(is_program)?;
                    let span = Span::new(word.start, self.at);
                    if self.line.words.len() == MAX_WORDS {
                        return Err((Code::TooManyWords, span));
                    }
                    let bare = if word.quoted {
                        ""
                    } else {
                        self.slice(word.start, self.at)
                    };
                    if is_program {
                        let text = self.line.text.get(word.text_start..).unwrap_or_default();
                        program_word::check(bare, text).map_err(|code| (code, span))?;
                        after_nohup = bare == "nohup";
                    } else if after_nohup {
                        if program_word::is_alias(bare) {
                            return Err((Code::PredefinedAlias, span));
                        }
                        after_nohup = bare == "nohup";
                    }
                    self.line.words.push(WordPlace {
                        start: index(word.start),
                        end: index(self.at),
                        text_end: index(self.line.text.len()),
                    });
                }
            }
        }
    }

    fn finish_stage(&mut self) {
        self.line.stage_ends.push(index(self.line.words.len()));
    }

    /// Returns what was read so far, without the word that was being read.
    fn whole_words(mut self) -> Option<Line> {
        let last = self.line.words.last()?;
        self.line.text.truncate(last.text_end as usize);
        let read = index(self.line.words.len());
        if self.line.stage_ends.last() != Some(&read) {
            self.finish_stage();
        }
        Some(self.line)
    }

    fn class_at(&self, at: usize) -> Class {
        self.bytes.get(at).map_or(Class::End, |&byte| class(byte))
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.command.get(start..end).unwrap_or_default()
    }

    /// Skips blanks, and after at least one of them any backslash that ends a line.
    fn skip_blanks(&mut self) {
        let start = self.at;
        loop {
            if self.class_at(self.at) == Class::Blank {
                self.at += 1;
            } else if self.at > start && self.bytes.get(self.at..self.at + 2) == Some(b"\\\n") {
                self.at += 2;
            } else {
                return;
            }
        }
    }

    /// Refuses a backslash that continues the line with nothing: the grammar cannot read that.
    fn nothing_continued(&self, gap: usize, at: usize) -> Result<(), Fault> {
        match self.slice(gap, at).rfind('\\') {
            Some(backslash) => {
                let start = gap + backslash;
                Err((Code::LineBreak, Span::new(start, start + 2)))
            }
            None => Ok(()),
        }
    }

    /// Steps over newlines that end the text; any other one is a fault.
    fn trailing_newlines(&mut self, at: usize, nothing_yet: bool) -> Result<(), Fault> {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let ends_here = rest.iter().all(|&byte| byte == b'\n')
            || nothing_yet
                && rest
                    .iter()
                    .all(|&byte| matches!(class(byte), Class::Newline | Class::Blank));
        if !ends_here {
            return Err((Code::LineBreak, Span::new(at, at + 1)));
        }
        self.at = self.bytes.len();
        Ok(())
    }

    /// Reads one word, up to the blank or operator that ends it.
    fn word(&mut self, is_program: bool) -> Result<WordState, Fault> {
        let mut word = WordState {
            start: self.at,
            text_start: self.line.text.len(),
            is_program,
            quoted: false,
            bare_end: usize::MAX,
            brace: None,
            first_brace: None,
            backslash: None,
            dot_bracket: false,
        };
        loop {
            let at = self.at;
            match self.class_at(at) {
                Class::Bare => self.bare(&mut word),
                Class::Single => self.single(&mut word)?,
                Class::Double => self.double(&mut word)?,
                Class::Backslash => self.escaped(&mut word)?,
                Class::Operator if self.is_extended_glob(at, &word) => {
                    return Err((Code::Glob, Span::new(at - 1, at + 1)));
                }
                Class::End | Class::Blank | Class::Newline | Class::Pipe | Class::Operator => break,
                Class::Position => self.position(&mut word)?,
                Class::Glob
                | Class::Dollar
                | Class::Backtick
                | Class::Control
                | Class::NonAscii => {
                    return Err(self.fault(&word, operator::classify(self.bytes, at)));
                }
            }
        }
        match word.brace {
            Some((at, _)) if is_program && self.at == at + 1 && at == word.start => {
                Err((Code::Group, Span::new(at, at + 1)))
            }
            Some((at, _)) => Err(self.fault(&word, (Code::BraceExpansion, Span::new(at, at + 1)))),
            None => Ok(word),
        }
    }

    /// Returns `fault`, unless the program word was at fault before it.
    fn fault(&self, word: &WordState, fault: Fault) -> Fault {
        let text = self.line.text.get(word.text_start..).unwrap_or_default();
        match program_word::check_start(text) {
            Some(code) if word.is_program && fault.1.start > word.start => {
                (code, Span::new(word.start, fault.1.start))
            }
            _ => fault,
        }
    }

    fn is_extended_glob(&self, at: usize, word: &WordState) -> bool {
        word.bare_end == at
            && self.bytes.get(at) == Some(&b'(')
            && matches!(
                at.checked_sub(1).and_then(|before| self.bytes.get(before)),
                Some(b'@' | b'+' | b'!')
            )
    }

    fn bare(&mut self, word: &mut WordState) {
        let start = self.at;
        let rest = self.bytes.get(start..).unwrap_or_default();
        let run = rest
            .iter()
            .position(|&byte| class(byte) != Class::Bare)
            .unwrap_or(rest.len());
        self.take_bare(word, start + run);
    }

    fn take_bare(&mut self, word: &mut WordState, end: usize) {
        self.line.text.push_str(self.slice(self.at, end));
        self.at = end;
        word.bare_end = end;
    }

    /// Reads a byte that is bare in some positions only.
    ///
    /// "First in the word" and "right after" look at the argv text: zsh expands a tilde or an
    /// equals sign after an empty quoted part as if nothing stood before it.
    fn position(&mut self, word: &mut WordState) -> Result<(), Fault> {
        let at = self.at;
        let text = self
            .line
            .text
            .get(word.text_start..)
            .unwrap_or_default()
            .as_bytes();
        let first = text.is_empty();
        let code = match self.bytes.get(at) {
            Some(b'=') if first => Some(Code::EqualsExpansion),
            Some(b'#') if first => Some(Code::Comment),
            Some(b'~') if first || matches!(text.last(), Some(b'=' | b':')) => {
                Some(Code::TildeExpansion)
            }
            Some(b'[') => (!self.is_lone_bracket(word)).then_some(Code::Glob),
            // ksh93 drops a quoted bracket after a dot, and this one with it.
            Some(b']') if word.dot_bracket => Some(Code::Glob),
            Some(b'{') => return self.open_brace(word, first),
            Some(b'}') => return self.close_brace(word),
            Some(b',') => match word.brace {
                Some((open, _)) => {
                    return Err(self.fault(word, (Code::BraceExpansion, Span::new(open, at + 1))));
                }
                None => None,
            },
            _ => None,
        };
        if let Some(code) = code {
            return Err(self.fault(word, (code, Span::new(at, at + 1))));
        }
        self.take_bare(word, at + 1);
        Ok(())
    }

    /// Returns whether the word is the byte at hand and nothing else, or the program word `[[`.
    fn is_lone_bracket(&self, word: &WordState) -> bool {
        let at = self.at;
        let ends = |at| {
            matches!(
                self.class_at(at),
                Class::End | Class::Blank | Class::Newline | Class::Pipe | Class::Operator
            )
        };
        let double = word.is_program && self.bytes.get(word.start..word.start + 2) == Some(b"[[");
        word.start == at && (ends(at + 1) || double && ends(at + 2))
            || double && at == word.start + 1 && ends(at + 1)
    }

    fn open_brace(&mut self, word: &mut WordState, first: bool) -> Result<(), Fault> {
        let at = self.at;
        if let Some((open, _)) = word.brace {
            return Err(self.fault(word, (Code::BraceExpansion, Span::new(open, at + 1))));
        }
        if word.backslash.is_some() {
            return Err(self.fault(word, (Code::BraceExpansion, Span::new(at, at + 1))));
        }
        word.first_brace.get_or_insert(at);
        word.brace = Some((at, self.line.text.len() + 1));
        self.take_bare(word, at + 1);
        if word.is_program && first {
            return self.program_brace(at);
        }
        Ok(())
    }

    /// Decides what a brace at the start of the program word is called.
    fn program_brace(&self, at: usize) -> Result<(), Fault> {
        let rest = self.bytes.get(at + 1..).unwrap_or_default();
        let word = rest.iter().position(|&byte| {
            matches!(class(byte), Class::Blank | Class::Newline | Class::Operator)
        });
        let inside = rest.get(..word.unwrap_or(rest.len())).unwrap_or_default();
        let expands = inside.contains(&b',') || inside.windows(2).any(|pair| pair == b"..");
        let code = if expands {
            Code::BraceExpansion
        } else {
            Code::Group
        };
        Err((code, Span::new(at, at + 1)))
    }

    fn close_brace(&mut self, word: &mut WordState) -> Result<(), Fault> {
        let at = self.at;
        let span = Span::new(at, at + 1);
        let Some((open, inside)) = word.brace.take() else {
            let alone = word.is_program && at == word.start;
            let code = if alone {
                Code::ReservedWord
            } else {
                Code::BraceExpansion
            };
            return Err(self.fault(word, (code, span)));
        };
        let text = self.line.text.get(inside..).unwrap_or_default();
        if text.contains("..") {
            return Err(self.fault(word, (Code::BraceExpansion, Span::new(open, at + 1))));
        }
        self.take_bare(word, at + 1);
        Ok(())
    }

    fn escaped(&mut self, word: &mut WordState) -> Result<(), Fault> {
        let at = self.at;
        word.quoted = true;
        let end = at
            + 1
            + self
                .command
                .get(at + 1..)
                .and_then(|rest| rest.chars().next())
                .map_or(0, char::len_utf8);
        let code = match self.bytes.get(at + 1) {
            Some(b' '..=b'~') => {
                let quoted = self.line.text.len();
                self.line.text.push_str(self.slice(at + 1, at + 2));
                self.at = at + 2;
                return self.after_quoted(word, quoted);
            }
            None => Code::TrailingBackslash,
            Some(b'\n') => Code::LineBreak,
            Some(0) => Code::NulByte,
            Some(0x80..) => Code::NonAsciiUnquoted,
            Some(_) => Code::ControlCharacter,
        };
        Err(self.fault(word, (code, Span::new(at, end))))
    }

    fn single(&mut self, word: &mut WordState) -> Result<(), Fault> {
        let open = self.at;
        word.quoted = true;
        let mut at = open + 1;
        loop {
            match self.bytes.get(at) {
                None => {
                    return Err(
                        self.fault(word, (Code::UnterminatedQuote, Span::new(open, open + 1)))
                    );
                }
                Some(&byte @ (b'\'' | b'"' | b'\\')) => {
                    self.check_before_quote(word, open + 1, at, byte)?;
                    if byte == b'\'' {
                        break;
                    }
                }
                Some(&byte) => self.check_quoted(word, at, byte)?,
            }
            at += 1;
        }
        let quoted = self.line.text.len();
        self.line.text.push_str(self.slice(open + 1, at));
        self.at = at + 1;
        self.after_quoted(word, quoted)
    }

    fn double(&mut self, word: &mut WordState) -> Result<(), Fault> {
        let open = self.at;
        word.quoted = true;
        let quoted = self.line.text.len();
        let mut at = open + 1;
        let mut copied = at;
        loop {
            match self.bytes.get(at) {
                None => {
                    return Err(
                        self.fault(word, (Code::UnterminatedQuote, Span::new(open, open + 1)))
                    );
                }
                Some(b'"') => {
                    self.check_before_quote(word, open + 1, at, b'"')?;
                    break;
                }
                Some(b'\'') => self.check_before_quote(word, open + 1, at, b'\'')?,
                Some(b'$' | b'`') => {
                    return Err(self.fault(word, operator::classify_in_double(self.bytes, at)));
                }
                Some(b'\\') => {
                    self.check_before_quote(word, open + 1, at, b'\\')?;
                    match self.bytes.get(at + 1) {
                        Some(b'$' | b'`' | b'"' | b'\\') => {
                            self.line.text.push_str(self.slice(copied, at));
                            copied = at + 1;
                            at += 1;
                        }
                        Some(b'\n') => {
                            self.line.text.push_str(self.slice(copied, at));
                            copied = at + 2;
                            at += 1;
                        }
                        // The backslash and the byte after it are both text.
                        _ => {}
                    }
                }
                Some(&byte) => self.check_quoted(word, at, byte)?,
            }
            at += 1;
        }
        self.line.text.push_str(self.slice(copied, at));
        self.at = at + 1;
        self.after_quoted(word, quoted)
    }

    /// Looks at the text from `quoted` on, which a quote or an escape gave, for what ksh93 does not
    /// take as quoted.
    ///
    /// In a word with unquoted braces it may drop a backslash before some bytes, or split the word
    /// there, wherever they stand; and it drops a bracket after a dot, with the unquoted one that
    /// closes it.
    fn after_quoted(&self, word: &mut WordState, quoted: usize) -> Result<(), Fault> {
        let text = self.line.text.get(quoted..).unwrap_or_default();
        if text.contains('\\') {
            word.backslash.get_or_insert(self.at);
        }
        if let (Some(open), Some(_)) = (word.first_brace, word.backslash) {
            return Err(self.fault(word, (Code::BraceExpansion, Span::new(open, self.at))));
        }
        let before = self.line.text.get(word.text_start..quoted);
        let after_dot = || before.is_some_and(|before| before.ends_with('.'));
        word.dot_bracket |= text.contains(".[") || text.starts_with('[') && after_dot();
        Ok(())
    }

    /// Refuses control bytes inside quotes, and in a program word newline and tab as well.
    fn check_quoted(&self, word: &WordState, at: usize, byte: u8) -> Result<(), Fault> {
        if byte >= b' ' && byte != 0x7f || matches!(byte, b'\n' | b'\t') && !word.is_program {
            return Ok(());
        }
        let code = if byte == 0 {
            Code::NulByte
        } else {
            Code::ControlCharacter
        };
        Err(self.fault(word, (code, Span::new(at, at + 1))))
    }

    /// Refuses a non-ASCII character that a shell in a multi-byte locale could join with the
    /// quote or backslash at `at`; `open` is the first byte inside the quotes.
    fn check_before_quote(
        &self,
        word: &WordState,
        open: usize,
        at: usize,
        byte: u8,
    ) -> Result<(), Fault> {
        let before = |distance: usize| {
            let place = at.checked_sub(distance).filter(|&place| place >= open)?;
            self.bytes.get(place).copied()
        };
        let last = match (before(1), before(2)) {
            (Some(0x80..), _) if byte == b'\\' => at - 1,
            (Some(b'0'..=b'9'), Some(0x80..)) => at - 2,
            _ => return Ok(()),
        };
        let start = self.command.floor_char_boundary(last);
        Err(self.fault(word, (Code::NonAsciiBeforeQuote, Span::new(start, at + 1))))
    }
}

/// Narrows an index that the length limit keeps small.
fn index(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
