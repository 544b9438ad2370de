//! The reasons for a refusal: one stable name each, with its manual entry.

use crate::stable_name::stable_name;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal {
        $summary:literal, $detail:literal, $help:literal, refused: $refused:literal, plain: $plain:literal,
    })+) => {
        /// The published reasons. A name is never reworded and never reused.
        ///
        /// Each has a manual entry: a [`summary`](Self::summary), a [`detail`](Self::detail), a
        /// hint ([`help`](Self::help)) and a pair of examples, which tests hold to their word.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Code { $($(#[$doc])* #[doc = $summary] $variant,)+ }

        impl Code {
            /// Every reason, in the order of the manual.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns whether the text alone gives this reason. The codes after
            /// [`Unmodelled`](Self::Unmodelled) come from the machine: from PATH and the files on it.
            pub const fn is_of_text(self) -> bool {
                self as usize <= Self::Unmodelled as usize
            }

            /// Returns the name that policies, logs and the manual use.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the reason in one sentence without a full stop.
            pub const fn summary(self) -> &'static str {
                match self { $(Self::$variant => $summary,)+ }
            }

            /// Returns why such text is not plain.
            pub const fn detail(self) -> &'static str {
                match self { $(Self::$variant => $detail,)+ }
            }

            /// Returns what to write instead.
            pub const fn help(self) -> &'static str {
                match self { $(Self::$variant => $help,)+ }
            }

            /// Returns a short command that is refused with this code, or an empty text where a
            /// short one cannot show it (the limits, bytes that are no text, and whatever depends
            /// on the machine).
            pub const fn refused_example(self) -> &'static str {
                match self { $(Self::$variant => $refused,)+ }
            }

            /// Returns the closest command that is plain.
            pub const fn plain_example(self) -> &'static str {
                match self { $(Self::$variant => $plain,)+ }
            }
        }
    };
}

codes! {
    Empty = "empty" {
        "the line names no program",
        "The text is empty or holds only blanks and line breaks, so there is nothing to run and \
         nothing to approve.",
        "write a program and its arguments",
        refused: "   ", plain: "true",
    }
    TooLong = "too-long" {
        "the line is longer than 65,536 bytes",
        "Reading is bounded so that no input can stall the caller. The limit is in bytes of \
         UTF-8, before anything is read.",
        "put the data into a file and name the file, or split the work into several calls",
        refused: "", plain: "cat list.txt",
    }
    TooManyWords = "too-many-words" {
        "the line has more than 4,096 words",
        "All stages count together. A line that long is a list of data, not a command that \
         somebody can read.",
        "put the list into a file and let the program read it, or split the work into several calls",
        refused: "", plain: "tar -c -T list.txt",
    }
    TooManyStages = "too-many-stages" {
        "the pipeline has more than 64 stages",
        "Each stage is a process. Nobody reads a longer pipeline before saying yes to it.",
        "split the work into several calls that pass a file on",
        refused: "", plain: "sort a.txt | uniq",
    }
    NotUtf8 = "not-utf8" {
        "the bytes are not UTF-8",
        "A command is text. Bytes that are no text show differently from one terminal to the \
         next, and shells split them differently from one locale to the next. This is looked at \
         before anything else but the length.",
        "name the file in UTF-8, or let a program find it, as in `find . -inum 12`",
        refused: "", plain: "ls 'caf\u{e9}'",
    }
    NulByte = "nul-byte" {
        "a NUL byte, which no argument can hold",
        "Arguments end at the first NUL. Shells drop the byte or cut the word there, each in its \
         own way.",
        "leave it out; write it as an escape of the program's own, as in `printf 'a\\0b'`",
        refused: "echo a\0b", plain: "printf 'a\\0b'",
    }
    ControlCharacter = "control-character" {
        "a control character, which terminals and shells act on",
        "Control characters can hide or rewrite what a person sees, and shells do not agree on \
         which of them part words. Of C0 and DEL, only newline and tab inside the quotes of an \
         argument are fine. A program name holds neither.",
        "leave it out, or use an escape of the program's own, as in `printf '\\033[0m'`",
        refused: "ls\r-la", plain: "ls -la",
    }
    NonAsciiUnquoted = "non-ascii-unquoted" {
        "a character outside ASCII that is not in quotes",
        "Wide blanks look like blanks and are none, other letters look like ASCII ones, and in \
         some locales shells split a word at their bytes.",
        "put the word in single quotes",
        refused: "cat caf\u{e9}.txt", plain: "cat 'caf\u{e9}.txt'",
    }
    NonAsciiBeforeQuote = "non-ascii-before-quote" {
        "a character outside ASCII that swallows the next byte in some locales",
        "In GBK, GB18030, BIG5 and their like two bytes form one character, and the second may \
         be a backslash or, four bytes on, a digit before a quote. A shell in such a locale ends \
         the quotes elsewhere than a reader does.",
        "end the quotes after the character and open them again, as in `'\u{4e2d}'\"1\"`",
        refused: "grep '\u{4e2d}\\w' a", plain: "grep '\u{4e2d}'\"\\\\w\" a",
    }
    UnterminatedQuote = "unterminated-quote" {
        "a quote that is never closed",
        "The text ends inside quotes. A shell waits for more or gives up.",
        "close the quote; write an apostrophe inside single quotes as '\\''",
        refused: "echo 'it", plain: "echo 'it'",
    }
    TrailingBackslash = "trailing-backslash" {
        "a backslash with nothing after it",
        "Some shells drop it, some pass it on, and some wait for another line.",
        "remove it, or put it in single quotes",
        refused: "ls a\\", plain: "ls 'a\\'",
    }
    LineBreak = "line-break" {
        "a line break that ends a command or joins two parts of a word",
        "A newline outside quotes starts another command. A backslash before it is only plain \
         between words, with a blank in front of the backslash.",
        "send one line a call; keep a newline that belongs to an argument inside its quotes",
        refused: "ls\nid", plain: "ls \\\n -la",
    }
    List = "list" {
        "a list of commands",
        "What comes after `;`, `&&` or `||` is another command, which runs under conditions that \
         the text does not show.",
        "split it into one call each; quote the character if it is part of an argument",
        refused: "make && make test", plain: "grep 'a && b' f",
    }
    Background = "background" {
        "an ampersand, which runs the command in the background",
        "A command in the background outlives the call and the approval, and what follows the \
         `&` is another command.",
        "leave it out, or quote the word if it is an address such as 'http://host/?a=1&b=2'",
        refused: "sleep 9 &", plain: "curl 'http://host/?a=1&b=2'",
    }
    PipeStderr = "pipe-stderr" {
        "`|&`, which not every shell reads in the same way",
        "It pipes standard error too in bash and zsh, starts a co-process in ksh and mksh, and \
         is an error in dash.",
        "use `|`; ask the program to write its messages to standard output if they matter",
        refused: "make |& tail", plain: "make | tail",
    }
    Redirection = "redirection" {
        "a redirection, which opens a file or moves a descriptor",
        "The shell itself creates, empties or reads the file, so that no program stands for it.",
        "name the file as an argument, as in `sort -o out in`, or pipe into `tee out`; leave out `2>&1` and `2>/dev/null`",
        refused: "ls > out", plain: "ls | tee out",
    }
    HereDocument = "here-document" {
        "a here-document or here-string",
        "Where it ends and what is expanded inside differs from shell to shell.",
        "write the text to a file first, or pipe it from `printf`",
        refused: "cat <<< x", plain: "printf 'x\\n' | cat",
    }
    Subshell = "subshell" {
        "a parenthesis: a subshell, a function or a pattern",
        "Unquoted parentheses belong to the shell wherever they stand.",
        "write the commands as calls of their own; quote a parenthesis that is part of an argument",
        refused: "find . ( -name a )", plain: "find . '(' -name a ')'",
    }
    Group = "group" {
        "a brace that groups commands",
        "What starts with `{` in the place of the program is a group, or a word that shells do not agree on.",
        "write the commands as calls of their own",
        refused: "{ ls; }", plain: "ls",
    }
    CommandSubstitution = "command-substitution" {
        "a command substitution, which runs another command",
        "The words of the line are then known only after the inner command has run.",
        "run the inner command in a call of its own; put literal text in single quotes",
        refused: "git $(cat args)", plain: "grep '$(cat args)' f",
    }
    ProcessSubstitution = "process-substitution" {
        "a process substitution, which runs another command",
        "The shell starts a command and puts the name of a pipe in its place.",
        "write the output of the inner command to a file and name that",
        refused: "diff <(ls a) b", plain: "diff a.txt b",
    }
    ParameterExpansion = "parameter-expansion" {
        "a parameter, which the shell replaces with text from elsewhere",
        "Its value is not in the line, may hold several words, and with some operators runs code. \
         A lone `$` is refused too, since what it means depends on what follows.",
        "write the value out; put a literal `$` in single quotes",
        refused: "ls $HOME", plain: "grep '$HOME' f",
    }
    Arithmetic = "arithmetic" {
        "an arithmetic expansion, which can run code",
        "Names inside are evaluated again, and a subscript may hold a command substitution.",
        "write the number out",
        refused: "head -n $((2+3)) f", plain: "head -n 5 f",
    }
    AnsiCQuoting = "ansi-c-quoting" {
        "ANSI-C quotes, which not every shell knows",
        "`$'…'` hides characters behind escapes, and dash takes it for a `$` and a quoted text.",
        "use single quotes; let `printf` write special characters",
        refused: "echo $'a\\tb'", plain: "printf 'a\\tb'",
    }
    LocaleQuoting = "locale-quoting" {
        "locale quotes, which translate their text",
        "`$\"…\"` is looked up in a message catalogue by bash, and is something else in other shells.",
        "use single quotes",
        refused: "echo $\"a\"", plain: "echo 'a'",
    }
    Glob = "glob" {
        "a glob, which the shell replaces with the names of files",
        "The words then depend on what the directory holds. With no match the pattern stays, \
         vanishes or is an error, depending on the shell, and zsh runs code in some qualifiers.",
        "quote it if the program is to see the pattern; otherwise name the files, or use `find`",
        refused: "ls *.rs", plain: "find . -name '*.rs'",
    }
    BraceExpansion = "brace-expansion" {
        "a brace that shells may expand into several words",
        "`{a,b}` and `{1..3}` become several words in some shells and one in others, and ksh93 drops \
         a quoted backslash between braces. `{}` and `@{1}` are plain.",
        "write the words out, or quote the brace",
        refused: "cat a.{c,h}", plain: "cat a.c a.h",
    }
    TildeExpansion = "tilde-expansion" {
        "a tilde, which the shell replaces with a directory",
        "It is expanded at the start of a word, and in some shells after `=` and `:`.",
        "write the directory out, or quote the tilde",
        refused: "ls ~/src", plain: "git show HEAD~1",
    }
    EqualsExpansion = "equals-expansion" {
        "a word that starts with `=`, which zsh replaces with the path of a program",
        "zsh turns `=ls` into the full path of `ls`, or fails where there is none.",
        "quote the word",
        refused: "echo =ls", plain: "echo '=ls'",
    }
    Comment = "comment" {
        "a comment, which is not part of the command",
        "Some shells read it as a comment and some as words, and text behind it can mislead a reader.",
        "leave it out; quote a `#` that starts an argument",
        refused: "ls # all", plain: "nix eval .#all",
    }
    Assignment = "assignment" {
        "an assignment, or a program name that some shell reads as one",
        "A variable set in front of a program changes what it does, and which shells read \
         `1=2` or `a.b=c` as an assignment differs.",
        "set the variable where the call is made, or use an option of the program",
        refused: "LANG=C ls", plain: "ls a=b",
    }
    ReservedWord = "reserved-word" {
        "a reserved word of at least one shell",
        "In the place of a program it starts a compound command there. `[` is refused with it.",
        "leave out `time` and `!`; write `test` for `[`; send the commands of a compound command one by one",
        refused: "time ls", plain: "test -f a",
    }
    JobControl = "job-control" {
        "a program name that starts with `%`, which shells take for a job",
        "bash resumes a job under such a name, quoted or not.",
        "give the path of the program, as in `./%1`",
        refused: "%1", plain: "./%1",
    }
    EmptyProgram = "empty-program" {
        "the program name is empty",
        "No file has an empty name, and shells differ in what they do about it.",
        "write the name of a program",
        refused: "'' a", plain: "echo '' a",
    }
    OptionAsProgram = "option-as-program" {
        "a program name that starts with `-` or `+`",
        "A shell that gets the line after `-c` takes it for an option of its own.",
        "give the path of the program, as in `./-x`",
        refused: "-x", plain: "./-x",
    }
    PredefinedAlias = "predefined-alias" {
        "an alias that at least one shell defines by itself",
        "The shell replaces it with other words. mksh also expands the word after `nohup`.",
        "quote the name, as in `'type'`, if a program of that name is meant",
        refused: "type ls", plain: "'type' ls",
    }
    Label = "label" {
        "a name with a colon, which ksh93 takes for a label",
        "The label is dropped and the next word becomes the program.",
        "quote the name",
        refused: "a: b", plain: "'a:' b",
    }
    SyntaxError = "syntax-error" {
        "a pipe with no command before or after it",
        "Every shell would stop here.",
        "complete the pipeline, or remove the `|`",
        refused: "ls |", plain: "ls | cat",
    }
    WitnessDisagreement = "witness-disagreement" {
        "text that the two readers of the line read differently",
        "A line is read twice, by a lexer and by a grammar, and is only accepted when both find \
         the same words. They are known to differ on an escaped blank at the start of a word, \
         and on a word that goes on after `]`, `}` or a quoted part.",
        "put the whole word in one pair of single quotes",
        refused: "ls \\ a", plain: "ls ' a'",
    }
    Unmodelled = "unmodelled" {
        "a construct that the grammar has a kind of its own for, and no rule covers",
        "`declare`, `export`, `unset` and their like change the shell that reads them.",
        "leave it out; set variables where the call is made",
        refused: "export A=1", plain: "env",
    }
    PathUnset = "path-unset" {
        "PATH is not set",
        "Without a PATH every shell searches a list of its own, which may end in the working \
         directory.",
        "set PATH, or give the whole path of the program",
        refused: "", plain: "/usr/bin/git status",
    }
    PathRelative = "path-relative" {
        "the program is found by way of the working directory or of the process",
        "An empty or relative PATH element stands for the working directory or for one below it, and \
         a link in /proc leads elsewhere for every process. Which file runs would then depend on \
         who runs the line, and where.",
        "take the element out of PATH, or give the whole path of the program, not by way of /proc",
        refused: "", plain: "/usr/bin/git status",
    }
    PathWritable = "path-writable" {
        "a PATH directory before the program can be written by the user",
        "A shell searches PATH once more when it runs the line. Whoever has the rights of the user \
         can put another file of this name into that directory before it does.",
        "run the line without a shell, give the whole path of the program, or move the directory to the end of PATH",
        refused: "", plain: "/usr/bin/git status",
    }
    ProgramNotFound = "program-not-found" {
        "there is no such program",
        "No PATH directory holds a file of this name, or the path given leads to no file.",
        "check the spelling and the PATH",
        refused: "", plain: "git status",
    }
    NotAFile = "not-a-file" {
        "the name leads to something that is no regular file",
        "Directories, devices, sockets and pipes are not programs.",
        "name the program itself",
        refused: "", plain: "ls /usr/bin",
    }
    NotExecutable = "not-executable" {
        "the user may not execute the file",
        "The permission bits, an access control list or the mount forbid it.",
        "make the file executable, or name the interpreter and pass the file to it",
        refused: "", plain: "python3 script.py",
    }
    SymlinkLoop = "symlink-loop" {
        "more than 40 symlinks, or a loop of them",
        "The kernel gives up after 40.",
        "repair the symlinks, or give the path of the file they should lead to",
        refused: "", plain: "/usr/bin/git status",
    }
    PathNotUtf8 = "path-not-utf8" {
        "the real path of the program is not UTF-8",
        "A path that is no text cannot be shown, compared by eye or kept in a list of approvals.",
        "rename the file or the directory",
        refused: "", plain: "/usr/bin/git status",
    }
    Unreadable = "unreadable" {
        "the program cannot be looked at or read",
        "A file that can be executed but not read cannot be told from another one that takes its \
         place.",
        "make the file readable for the user, or use another program",
        refused: "", plain: "git status",
    }
    ShellBuiltin = "shell-builtin" {
        "a builtin of the shell, which can change the shell or run code",
        "The shell runs its own builtin in place of a file of that name. Only builtins that print \
         or compare their arguments are accepted, and those only with arguments that the shell \
         does not evaluate once more.",
        "give the path of a program, run the line without a shell, or leave it out",
        refused: "", plain: "printf '%s\\n' a",
    }
    ShellFunction = "shell-function" {
        "a function that the shell takes from the environment",
        "bash runs an exported function in place of a file of that name, even of a whole path.",
        "take the variable out of the environment, or run the line without a shell",
        refused: "", plain: "ls -la",
    }
    LocaleNotUtf8 = "locale-not-utf8" {
        "text outside ASCII, and a shell whose locale reads it in another way",
        "In a locale such as zh_CN.GBK the shell joins bytes to other characters than those in \
         the line, quotes among them.",
        "set LC_ALL=C.UTF-8 for the shell, or run the line without one",
        refused: "", plain: "ls -la",
    }
    NoInterpreter = "no-interpreter" {
        "the file is no ELF program, and names no interpreter that is sure to be the one that runs it",
        "Shells guess that a file without an interpreter is a script of their own, and each guesses in its own way. \
         An interpreter must be a whole path, in the first line that the kernel reads; `env` may look up a plain \
         name, and be given it alone or after `-S`. Other forms may well run, but what they run is not told for sure.",
        "start the script with a line such as `#!/bin/sh`, or name the interpreter and pass the file to it",
        refused: "", plain: "sh script.sh",
    }
    ForeignInterpreter = "foreign-interpreter" {
        "the kernel would hand the file to an interpreter that is registered for its format",
        "Entries of binfmt_misc come before everything that the file itself says, and a program \
         for another kind of machine runs only through one.",
        "name the interpreter and pass the file to it",
        refused: "", plain: "qemu-aarch64 program",
    }
    TooLarge = "too-large" {
        "the program is larger than 1 GiB",
        "Its content is read before it is run, and reading more would stall the caller.",
        "use a smaller program that loads the rest",
        refused: "", plain: "git status",
    }
    ChangedWhileReading = "changed-while-reading" {
        "the program changed while it was read",
        "Its size, times, owner, mode or place were not the same before and after.",
        "try again when nothing writes to the file",
        refused: "", plain: "git status",
    }
}

stable_name!(Code, UnknownCode, "no refusal code is called {0:?}");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plain::Line;

    #[test]
    fn names_are_unique_and_kebab_case() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for name in names {
            let good = name
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            assert!(
                good && !name.starts_with('-') && !name.ends_with('-'),
                "{name}"
            );
            assert_eq!(name.parse::<Code>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn the_examples_of_the_manual_hold() {
        let mut wrong = Vec::new();
        for &code in Code::ALL {
            let refused = code.refused_example();
            let got = Line::parse(refused).err().map(|refusal| refusal.code());
            if !refused.is_empty() && got != Some(code) {
                wrong.push(format!("{code}: {refused:?} gives {got:?}"));
            }
            if let Err(refusal) = Line::parse(code.plain_example()) {
                wrong.push(format!(
                    "{code}: {:?} gives {refusal}",
                    code.plain_example()
                ));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
