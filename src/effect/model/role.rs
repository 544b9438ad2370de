//! What a word on the command line is to the program.

use crate::effect::language::Language;
use crate::effect::rule::Rule;
use crate::effect::tier::Tier;

/// What an operand, or the value of an option, is to the program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Role {
    /// Harmless whatever it holds: a number, a pattern, a label.
    Text,
    /// Text that the builtins of some shells evaluate as a number, so that a subscript in it can run code.
    ShellText,
    /// Text without `=`, such as a target of `make`; `NAME=VALUE` sets a variable.
    Word,
    /// The name of an operation of a service that only asks: `describe-…`, `list-…`, and `get-…` of what is no secret.
    Asks,
    /// One of a closed set of harmless words.
    OneOf(Vec<Box<str>>),
    /// A name, such as that of a toolchain; with a slash in it or a dot before it, it is a file with programs.
    Name,
    /// Text in which `@host` names another machine.
    AtHost,
    /// Text that starts with `+`, as the format of `date` does.
    Plus,
    /// Text in which a leading `@`, or one after `=`, reads a file (`curl -d @f`).
    AtPath,
    /// A file that is read, or a directory that is listed.
    Path,
    /// A file or directory that is created, changed or replaced.
    Write,
    /// A file or directory that goes away from where it is but is not lost.
    Move,
    /// A file that is deleted.
    Delete,
    /// A file that holds the names of the files to read.
    Names,
    /// A file that holds options or settings.
    Options,
    /// A file that holds a program text.
    CodeFile,
    /// A program, or a line for a shell, that is run.
    Program,
    /// A program text in a language that has a recogniser.
    Code(Language),
    /// A shell line: read like a line of its own if it is plain.
    Line,
    /// This word and all after it are a program and its arguments.
    Command,
    /// The same if the word is one of these names, else code: `python -m NAME`.
    Module(Vec<Box<str>>),
    /// Like [`Role::Command`], and more arguments come from the input.
    InputCommand,
    /// This word and all after it, with blanks between them, are a line for a shell.
    LineWords,
    /// A program and its arguments up to a word `;` or `+`.
    Exec,
    /// The same, run in the directories of the files that are found.
    ExecThere,
    /// Words in one word, which take its place.
    Split,
    /// A directory that the program inside is run in.
    Chdir,
    /// A variable that the program inside does not get.
    Unset,
    /// The text that stands for words from the input in an [`Role::InputCommand`].
    Mark,
    /// `NAME=VALUE` for the environment.
    Assign,
    /// A name or address of another machine.
    Host,
    /// A git revision or path.
    Revision,
    /// A format of `git log`, some of whose parts make it run `gpg`.
    GitFormat,
    /// The name or address of a git repository to connect to.
    Remote,
    /// What to push: `+x` forces, `:x` deletes.
    Refspec,
    /// A path in some other place, such as a container or another machine: `HOST:PATH`, or a path here
    /// that is read.
    RemotePath,
    /// The same, but a path here is written.
    RemoteWrite,
    /// Any word, which makes the stage meet the rule.
    Causes(Rule),
}

impl Role {
    /// Reads a role: an upper-case keyword, `{a|b}`, `CODE:language`, or the name of a rule.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if let Some(inside) = text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_suffix('}'))
        {
            return Ok(Self::OneOf(inside.split('|').map(Box::from).collect()));
        }
        if let Some(names) = text.strip_prefix("MODULE:") {
            return Ok(Self::Module(names.split('|').map(Box::from).collect()));
        }
        if let Some(name) = text.strip_prefix("CODE:") {
            return Language::parse(name).map(Self::Code);
        }
        Ok(match text {
            "TEXT" => Self::Text,
            "WORD" => Self::Word,
            "ASKS" => Self::Asks,
            "SHELL-TEXT" => Self::ShellText,
            "NAME" => Self::Name,
            "AT-HOST" => Self::AtHost,
            "PLUS" => Self::Plus,
            "AT-PATH" => Self::AtPath,
            "PATH" => Self::Path,
            "WRITE" => Self::Write,
            "MOVE" => Self::Move,
            "DELETE" => Self::Delete,
            "NAMES" => Self::Names,
            "OPTIONS" => Self::Options,
            "CODE-FILE" => Self::CodeFile,
            "PROGRAM" => Self::Program,
            "LINE" => Self::Line,
            "COMMAND" => Self::Command,
            "INPUT-COMMAND" => Self::InputCommand,
            "LINE-WORDS" => Self::LineWords,
            "EXEC" => Self::Exec,
            "EXEC-THERE" => Self::ExecThere,
            "SPLIT" => Self::Split,
            "CHDIR" => Self::Chdir,
            "UNSET" => Self::Unset,
            "MARK" => Self::Mark,
            "ASSIGN" => Self::Assign,
            "HOST" => Self::Host,
            "REVISION" => Self::Revision,
            "GIT-FORMAT" => Self::GitFormat,
            "REMOTE" => Self::Remote,
            "REFSPEC" => Self::Refspec,
            "REMOTE-PATH" => Self::RemotePath,
            "REMOTE-WRITE" => Self::RemoteWrite,
            other => Self::Causes(
                other
                    .parse()
                    .map_err(|_| format!("{other:?} is neither a role nor a rule"))?,
            ),
        })
    }

    /// Returns whether the role takes all words that are left.
    pub(crate) const fn takes_the_rest(&self) -> bool {
        matches!(
            self,
            Self::Command | Self::Module(_) | Self::InputCommand | Self::LineWords
        )
    }

    /// Returns the highest tier that a word in this role can lead to, but for known secrets.
    pub(crate) const fn highest(&self) -> Tier {
        match self {
            Self::Text
            | Self::Word
            | Self::OneOf(_)
            | Self::Plus
            | Self::AtPath
            | Self::Path
            | Self::Mark
            | Self::Chdir
            | Self::Unset
            | Self::Revision => Tier::Read,
            Self::Names | Self::Host | Self::AtHost | Self::GitFormat => Tier::Write,
            Self::Causes(rule) => rule.tier(),
            Self::ShellText
            | Self::Asks
            | Self::Write
            | Self::Move
            | Self::Delete
            | Self::Options
            | Self::CodeFile
            | Self::Program
            | Self::Code(_)
            | Self::Line
            | Self::Command
            | Self::Module(_)
            | Self::InputCommand
            | Self::LineWords
            | Self::Exec
            | Self::ExecThere
            | Self::Split
            | Self::Assign
            | Self::Name
            | Self::Remote
            | Self::Refspec
            | Self::RemotePath
            | Self::RemoteWrite => Tier::Destructive,
        }
    }
}

/// Which operand has which role: some at the start, one that repeats, some at the end.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Pattern {
    pub(crate) front: Vec<Role>,
    pub(crate) star: Option<Role>,
    pub(crate) tail: Vec<Role>,
}

impl Pattern {
    /// Reads `ROLE`, `ROLE?`, `ROLE*` and `ROLE+`, with blanks between them.
    ///
    /// Only the one that repeats may have something after it. Too few operands are the program's own
    /// error, so `?` is there for the reader only.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pattern = Self::default();
        for token in text.split_whitespace() {
            let (role, repeats) = match token.strip_suffix(['*', '+']) {
                Some(role) => (Role::parse(role)?, true),
                None => (
                    Role::parse(token.strip_suffix('?').unwrap_or(token))?,
                    false,
                ),
            };
            match (&pattern.star, repeats) {
                (None, false) => pattern.front.push(role),
                (None, true) => pattern.star = Some(role),
                (Some(_), false) => pattern.tail.push(role),
                (Some(_), true) => return Err(format!("{text:?} has two parts that repeat")),
            }
        }
        Ok(pattern)
    }

    /// Returns the role of operand `index` of `count`, `None` if the pattern expects none there.
    ///
    /// The end has the first claim: the last operand of `cp` is written even if it is the only one.
    ///
    /// A pattern with a command at its end, as `ASSIGN* COMMAND`, is walked by [`Self::command_at`] first.
    pub(crate) fn role(&self, index: usize, count: usize) -> Option<&Role> {
        let from_end = count.checked_sub(index)?;
        if self.star.is_some()
            && let Some(place) = self.tail.len().checked_sub(from_end)
        {
            return self.tail.get(place);
        }
        self.front.get(index).or(self.star.as_ref())
    }

    /// Returns the place of the operand at which a command starts, and its role.
    ///
    /// What repeats before a command is `NAME=VALUE`, so the first word without `=` starts it.
    pub(crate) fn command_at<'w>(
        &self,
        words: impl IntoIterator<Item = &'w str>,
    ) -> Option<(usize, &Role)> {
        if let Some(place) = self.front.iter().position(Role::takes_the_rest) {
            return self.front.get(place).map(|role| (place, role));
        }
        let role = self.tail.first().filter(|role| role.takes_the_rest())?;
        let skipped = self.front.len();
        let assigned = words
            .into_iter()
            .skip(skipped)
            .take_while(|word| word.contains('='))
            .count();
        Some((skipped + assigned, role))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.front.is_empty() && self.star.is_none()
    }

    pub(crate) fn roles(&self) -> impl Iterator<Item = &Role> {
        self.front.iter().chain(&self.star).chain(&self.tail)
    }
}
