//! The rules that raise a stage above `read`: one stable name each, with its manual entry.

use serde::{Deserialize, Serialize};

use super::tier::Tier;
use crate::stable_name::stable_name;

/// What a stage could do, in the few words that a policy parts.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Reads something that the line does not name.
    Reads,
    /// Reads what is known to hold secrets.
    ReadsSecret,
    /// Creates or changes files.
    Writes,
    /// Deletes or overwrites what cannot be had back.
    Deletes,
    /// Connects out.
    Network,
    /// Runs a program.
    RunsProgram,
    /// Runs code in some language.
    RunsCode,
    /// Runs the code of the project at hand.
    RunsProjectCode,
    /// Changes settings that outlive the call.
    ChangesSettings,
    /// Ends or signals processes.
    EndsProcess,
    /// Waits for a person, or does not end by itself.
    Waits,
    /// Not understood, so anything.
    Unknown,
}

macro_rules! rules {
    ($($variant:ident = $name:literal: $kind:ident, $tier:ident {
        $reason:literal, $detail:literal, example: $example:literal,
    })+) => {
        /// The published rules. A name is never reworded and never reused.
        ///
        /// Each has a manual entry: a [`reason`](Self::reason), a [`detail`](Self::detail) and an
        /// [`example`](Self::example), which a test holds to its word.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Rule { $(#[doc = $reason] $variant,)+ }

        impl Rule {
            /// Every rule, in the order of the manual.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the name that policies, models and the manual use.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns what a stage that meets the rule could do.
            pub const fn kind(self) -> Kind {
                match self { $(Self::$variant => Kind::$kind,)+ }
            }

            /// Returns the lowest tier of a stage that meets the rule.
            pub const fn tier(self) -> Tier {
                match self { $(Self::$variant => Tier::$tier,)+ }
            }

            /// Returns the reason in a few words without a full stop.
            pub const fn reason(self) -> &'static str {
                match self { $(Self::$variant => $reason,)+ }
            }

            /// Returns what the rule is for.
            pub const fn detail(self) -> &'static str {
                match self { $(Self::$variant => $detail,)+ }
            }

            /// Returns a line that meets the rule.
            pub const fn example(self) -> &'static str {
                match self { $(Self::$variant => $example,)+ }
            }
        }
    };
}

rules! {
    UnknownProgram = "unknown-program": Unknown, Destructive {
        "no model knows this program",
        "Nothing is assumed of a program that nobody has described: it may do anything. Add a model \
         for it, or grant the exact line.",
        example: "frobnicate --list",
    }
    ProgramByPath = "program-by-path": Unknown, Destructive {
        "the program is named by a path outside the system directories",
        "A file in a working or temporary directory can hold anything under any name. Models speak of \
         the programs in `/bin`, `/sbin`, `/usr/bin`, `/usr/sbin`, `/usr/local/bin` and \
         `/usr/local/sbin`, and of names that are looked up.",
        example: "./cat a.txt",
    }
    BrokenModel = "broken-model": Unknown, Destructive {
        "the model of this program cannot be read",
        "A model that is wrong in one place is not used at all. `rea models check` says what is wrong.",
        example: "",
    }
    UnknownSubcommand = "unknown-subcommand": Unknown, Destructive {
        "the model lists no such sub-command",
        "It may be an alias, a plug-in or a newer command, all of which can do anything.",
        example: "git frobnicate",
    }
    MissingSubcommand = "missing-subcommand": Unknown, Destructive {
        "the sub-command is missing",
        "Some programs do their main work when no sub-command is given, and that is not always told.",
        example: "",
    }
    UnknownOption = "unknown-option": Unknown, Destructive {
        "the model lists no such option",
        "Only what the model lists is understood. The option may write, run or connect.",
        example: "ls --frobnicate",
    }
    AbbreviatedOption = "abbreviated-option": Unknown, Destructive {
        "a long option that is cut short",
        "Many programs accept the start of a long option. What it stands for changes with each option \
         that the program gains, so write it out.",
        example: "ls --al",
    }
    UnlistedCluster = "unlisted-cluster": Unknown, Destructive {
        "a group of short options with a letter that the model does not list",
        "Each letter of the group must be an option that the model lists; the last may have a value.",
        example: "ls -la9",
    }
    UnlistedValue = "unlisted-value": Unknown, Destructive {
        "a value that the model does not list for this option",
        "The option has a closed list of values, or takes none, or the value can be read in two ways.",
        example: "ls --all=x",
    }
    MissingValue = "missing-value": Unknown, Destructive {
        "the option lacks its value",
        "The program would take something else for the value than the model does.",
        example: "head -n",
    }
    UnexpectedOperand = "unexpected-operand": Unknown, Destructive {
        "the model expects no operand here",
        "An operand more than the manual tells of can change what the program does, as the second \
         operand of `uniq` does.",
        example: "uniq a b c",
    }
    UnreadableCode = "unreadable-code": Unknown, Destructive {
        "a program text that is not understood",
        "Small languages inside arguments are read by strict recognisers. What they cannot read may do \
         anything that the language can.",
        example: "sed -n '1,5Q2;y' a.txt",
    }
    BuiltCommand = "built-command": RunsProgram, Write {
        "builds the words of another program from one word",
        "The wrapper splits the word by rules of its own. The program that comes out is judged like a \
         stage.",
        example: "env -S 'ls -la'",
    }
    UnknownSearch = "unknown-search": Unknown, Destructive {
        "the program is looked up where the line does not tell",
        "A wrapper that changes the PATH, the directory or the user, or that takes the name from its \
         input, finds a program that cannot be named before it runs. An absolute path can be.",
        example: "env -i ls",
    }
    TooDeep = "too-deep": Unknown, Destructive {
        "too many programs inside one another",
        "A wrapper names another program, which may be a wrapper. Reading stops at a fixed depth.",
        example: "nice nice nice nice nice nice nice nice nice ls",
    }
    WritesFile = "writes-file": Writes, Write {
        "writes a file under the working directory",
        "The path is relative and does not leave the working directory, or lies below it.",
        example: "sort -o out.txt in.txt",
    }
    WritesOutside = "writes-outside": Deletes, Destructive {
        "writes a file outside the working directory, or a device",
        "Files outside the working directory are not part of the work at hand, and a device holds more \
         than one file.",
        example: "sort -o /etc/x in.txt",
    }
    WritesProtected = "writes-protected": ChangesSettings, Destructive {
        "writes a file that programs take settings or code from",
        "Start-up files of shells, `.git`, `.ssh`, scheduled jobs and their like make later commands do \
         other things.",
        example: "sort -o .git/config in.txt",
    }
    WritesRepository = "writes-repository": Writes, Write {
        "changes the repository",
        "Commits, branches, tags, the index or the working tree change; nothing that was committed is \
         lost.",
        example: "git commit -m x",
    }
    WritesState = "writes-state": Writes, Write {
        "writes caches or build output of its own",
        "The program keeps files in places that it chooses itself.",
        example: "git fetch origin",
    }
    DeletesFile = "deletes-file": Deletes, Destructive {
        "deletes files",
        "What is deleted cannot be had back.",
        example: "find . -delete",
    }
    DiscardsWork = "discards-work": Deletes, Destructive {
        "discards work that is nowhere else",
        "Uncommitted changes, stashes, unmerged branches and rewritten history can be lost for good.",
        example: "git reset --hard",
    }
    DestroysData = "destroys-data": Deletes, Destructive {
        "overwrites or removes data or services in place",
        "Disks, containers, volumes, tables and clusters are not files under the user's hand.",
        example: "dd if=a of=/dev/sda",
    }
    Network = "network": Network, Write {
        "connects to other machines or to a service",
        "Name look-ups, the loopback address and sockets of services count as well: each can carry data \
         out, and what answers is not under the user's hand.",
        example: "curl -s http://localhost:8080/health",
    }
    ChangesRemote = "changes-remote": Network, Write {
        "changes something on another machine or in a service",
        "Others see the change.",
        example: "git push origin main",
    }
    DestroysRemote = "destroys-remote": Deletes, Destructive {
        "deletes or overwrites something on another machine or in a service",
        "Others lose it as well, and it may be nowhere else.",
        example: "git push --force origin main",
    }
    RunsProgram = "runs-program": RunsProgram, Destructive {
        "runs a program that the arguments name",
        "The program named in the argument can be anything and do anything.",
        example: "sort --compress-program=sh f",
    }
    RunsHelper = "runs-helper": RunsProgram, Write {
        "runs a helper program that it looks up itself",
        "Pagers, decompressors and editors are looked up by name, and settings can put another program \
         in their place.",
        example: "git --paginate status",
    }
    RunsInner = "runs-inner": RunsProgram, Write {
        "runs another program on files that the line does not name",
        "The inner program is judged like a stage of its own, and what it is run on is only known when it runs.",
        example: "find . -name a -exec grep x {} +",
    }
    RunsCode = "runs-code": RunsCode, Destructive {
        "runs code that the arguments hold or name, or that comes from the input",
        "An interpreter does whatever the code says; the code is not analysed.",
        example: "sh -c 'echo hi'",
    }
    RunsProjectCode = "runs-project-code": RunsProjectCode, Write {
        "runs code of the project at hand",
        "Build and test tools run what the files of the project say: build scripts, tests, plug-ins, \
         configuration that is code.",
        example: "cargo test",
    }
    CodeFromFile = "code-from-file": RunsCode, Destructive {
        "takes its program text from a file",
        "What the file holds is only known when it runs.",
        example: "sed -f prog.sed a.txt",
    }
    OptionsFromFile = "options-from-file": Unknown, Destructive {
        "takes options or settings from a file",
        "The options are not on the line, so nothing is known about them.",
        example: "curl -K cfg.txt",
    }
    NamesFromFile = "names-from-file": Reads, Write {
        "takes the names of the files to read from a file",
        "The files that are read are not named on the line, so no list of blocked paths can stop them.",
        example: "sort --files0-from=list.txt",
    }
    ReadsFromCode = "reads-from-code": Reads, Write {
        "a program text that reads another file",
        "The file is named inside the program text.",
        example: "sed 'r b.txt' a.txt",
    }
    OtherRepository = "other-repository": Reads, Write {
        "works on another repository or configuration directory",
        "The settings and hooks of that directory apply, and they can name programs to run.",
        example: "git --git-dir=./x.git status",
    }
    ReadsDevice = "reads-device": Reads, Write {
        "reads a device",
        "A device holds more than a file: whole disks, memory, what is typed.",
        example: "cat /dev/sda",
    }
    ReadsSecret = "reads-secret": ReadsSecret, Write {
        "reads what is known to hold secrets",
        "Environment files, private keys, tokens and stores of credentials. Directories that are read \
         as a whole can hold such files too; that is not seen.",
        example: "cat .env",
    }
    PrintsEnvironment = "prints-environment": ReadsSecret, Write {
        "prints the environment",
        "Tokens and passwords are often handed to programs that way.",
        example: "env",
    }
    SetsEnvironment = "sets-environment": RunsProgram, Destructive {
        "sets a variable of the environment that is not known to be harmless",
        "Variables can name programs and libraries to load, such as `LD_PRELOAD`, `PATH` and `PAGER`.",
        example: "env LD_PRELOAD=./x.so ls",
    }
    HazardousEnvironment = "hazardous-environment": RunsProgram, Destructive {
        "a variable is set that can make this program run other code",
        "The variable is not on the line but in the environment that the line would run in.",
        example: "",
    }
    Interactive = "interactive": Waits, Write {
        "waits for a person at a terminal",
        "An interactive program can do whatever is typed into it, and hangs when nobody does.",
        example: "less a.txt",
    }
    Endless = "endless": Waits, Write {
        "does not end by itself",
        "The call hangs until somebody stops it.",
        example: "tail -f a.log",
    }
    InstallsPackage = "installs-package": RunsCode, Destructive {
        "installs software from elsewhere",
        "What is fetched is chosen by others, and most installers run code that it brings along.",
        example: "npm install left-pad",
    }
    InstallsLocked = "installs-locked": RunsProjectCode, Write {
        "installs the versions that the lock file of the project names",
        "The packages were chosen before, and their install scripts run as the project's own code does.",
        example: "npm ci",
    }
    ChangesSettings = "changes-settings": ChangesSettings, Destructive {
        "changes settings that outlive the call",
        "Later commands behave differently, and settings can name programs to run.",
        example: "git config user.name x",
    }
    ChangesSystem = "changes-system": ChangesSettings, Destructive {
        "changes the state of the machine",
        "Services, clocks, mounts, networks and users are not under the working directory.",
        example: "date -s 12:00",
    }
    EndsProcess = "ends-process": EndsProcess, Destructive {
        "ends or signals processes",
        "What the process had not saved is lost.",
        example: "kill 1",
    }
    GainsPrivilege = "gains-privilege": RunsProgram, Destructive {
        "runs as another user or in another namespace",
        "Limits that hold for this user do not hold there.",
        example: "sudo ls",
    }
}

stable_name!(Rule, UnknownRule, "no effect rule is called {0:?}");

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::effect::judge;
    use crate::plain::Line;

    #[test]
    fn names_are_unique_and_kebab_case() {
        let names: BTreeSet<_> = Rule::ALL.iter().map(|rule| rule.as_str()).collect();
        assert_eq!(names.len(), Rule::ALL.len());
        for name in names {
            assert!(
                name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'),
                "{name}"
            );
            assert_eq!(name.parse::<Rule>().unwrap().as_str(), name);
        }
    }

    #[test]
    fn every_rule_has_a_line_that_meets_it() {
        let mut wrong = Vec::new();
        for &rule in Rule::ALL {
            if rule.example().is_empty() {
                continue;
            }
            let met: Vec<Rule> = match Line::parse(rule.example()) {
                Ok(line) => judge(&line).effects().map(|effect| effect.rule).collect(),
                Err(refusal) => {
                    wrong.push(format!("{rule}: {refusal}"));
                    continue;
                }
            };
            if !met.contains(&rule) {
                wrong.push(format!("{rule}: {:?} meets {met:?}", rule.example()));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
