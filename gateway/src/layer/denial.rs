//! What a caller is told when a layer says no.
//!
//! A denial is made of our own words and of what the caller sent, nothing else: no path of this
//! machine, no reason of a halt and no text of a server can get in, since no layer has a way to
//! hand it over.

use serde_json::{Map, Value, json, value::RawValue};

/// The most characters of a caller's name that a denial repeats.
const MAX_SHOWN: usize = 80;

/// The member of `_meta` under which a denied result carries its code, layer, rule and hint.
pub const META_KEY: &str = "rea/denial";

/// The JSON-RPC error code of a denial, for methods whose results have no way to say no.
pub const RPC_CODE: i64 = -32_010;

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal at $layer:literal $hint:literal,)+) => {
        /// The published reasons of a denial. A name is never reworded and never reused.
        #[non_exhaustive]
        #[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
        pub enum Code { $($(#[$doc])* $variant,)+ }

        impl Code {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Returns the name that records and callers see.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// Returns the layer that says no for this reason.
            pub const fn layer(self) -> &'static str {
                match self { $(Self::$variant => $layer,)+ }
            }

            /// Returns what the caller can do about it.
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$variant => $hint,)+ }
            }
        }
    };
}

codes! {
    /// The kill switch is on.
    Halted = "halted" at "kill-switch"
        "stop and tell the operator; only `rea unfreeze --reason TEXT` lets calls pass again",
    /// Nobody can tell whether the kill switch is on.
    HaltUnknown = "halt-unknown" at "kill-switch"
        "stop and tell the operator; `rea check` shows what is wrong",
    /// The name has no server in front.
    NameWithoutServer = "name-without-server" at "policy"
        "use a name from the list, of the form `<server>__<tool>`",
    /// The name belongs to the gateway and means nothing.
    NameReserved = "name-reserved" at "policy"
        "the only name in the reserved meta-namespace is `__rea__health`",
    /// No such server is registered and enabled.
    ServerUnknown = "server-unknown" at "policy"
        "use a name from the list; an operator adds servers to the registry",
    /// The registry blocks this tool.
    ToolBlocked = "tool-blocked" at "policy"
        "use another tool; an operator decides what is blocked",
    /// The line for a shell is not plain, or names no program that can be told for sure.
    ShellRefused = "shell-refused" at "policy"
        "rewrite the line as plain `program args | program args`",
    /// The policy wants a grant for every program, and there is none for this line.
    ShellUngranted = "shell-ungranted" at "policy"
        "ask an operator for a grant, with `rea grant add`",
    /// A program of the line was granted, and is no longer the one it was.
    ShellDrifted = "shell-drifted" at "policy"
        "ask an operator to look at the change with `rea grant check`, and to grant the program anew",
    /// Nobody can tell what the line would run, or whether it has a grant.
    ShellUnchecked = "shell-unchecked" at "policy"
        "tell the operator; standard error and the record say what is wrong",
    /// The level in force does not reach the tier of the call.
    TierExceedsAutonomy = "tier-exceeds-autonomy" at "policy"
        "find a way that changes less, or ask an operator",
    /// The policy file does not read.
    PolicyBroken = "policy-broken" at "policy"
        "only reading is possible until an operator repairs the policy; `rea policy check` shows where",
    /// Too many calls in the window.
    RateExceeded = "rate-exceeded" at "rate-limit"
        "wait and try again",
    /// Too many calls at the same time.
    ConcurrencyExceeded = "concurrency-exceeded" at "rate-limit"
        "wait for one of the running calls",
    /// The server failed several times in a row.
    CircuitOpen = "circuit-open" at "circuit-breaker"
        "wait until the retry time and try again",
    /// The record of the call cannot be written.
    AuditUnavailable = "audit-unavailable" at "audit"
        "tell the operator; calls that change something pass only when they can be recorded",
}

/// A call that a layer turned away. There is no way back from it.
#[derive(Clone, Debug, Eq, PartialEq)]
#[must_use = "a denial that nobody reports looks like silence"]
pub struct Denial {
    code: Code,
    told: Box<Told>,
}

/// What is said about a denial besides its code.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Told {
    sentence: String,
    rule: String,
    hint: String,
    details: Map<String, Value>,
}

impl Denial {
    /// Turns a call away. `sentence` has no full stop; `rule` names what decided.
    pub(super) fn new(code: Code, sentence: String, rule: impl Into<String>) -> Self {
        let told = Told {
            sentence,
            rule: rule.into(),
            hint: code.hint().to_owned(),
            details: Map::new(),
        };
        Self {
            code,
            told: Box::new(told),
        }
    }

    /// Replaces what the caller can do about it.
    pub(super) fn hinting(mut self, hint: impl Into<String>) -> Self {
        self.told.hint = hint.into();
        self
    }

    /// Adds a fact for programs.
    pub(super) fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.told.details.insert(key.to_owned(), value.into());
        self
    }

    /// Returns the reason.
    pub const fn code(&self) -> Code {
        self.code
    }

    /// Returns what decided, as precisely as it may be told.
    pub fn rule(&self) -> &str {
        &self.told.rule
    }

    /// Returns what the caller can do about it.
    pub fn hint(&self) -> &str {
        &self.told.hint
    }

    /// Returns the one sentence for people, with its code and its hint.
    pub fn text(&self) -> String {
        let Told { sentence, hint, .. } = &*self.told;
        format!("{sentence} [{}]: {hint}.", self.code.as_str())
    }

    /// Returns the facts for programs.
    pub fn facts(&self) -> Value {
        let mut facts = Map::new();
        for (key, value) in [
            ("code", self.code.as_str()),
            ("layer", self.code.layer()),
            ("rule", &self.told.rule),
            ("hint", &self.told.hint),
        ] {
            facts.insert(key.to_owned(), value.into());
        }
        facts.extend(self.told.details.clone());
        Value::Object(facts)
    }

    /// Returns the denial as the result of `tools/call`.
    ///
    /// The facts stand in `_meta`, as clients hold `structuredContent` to the tool's own schema.
    pub fn tool_result(&self) -> Box<RawValue> {
        raw(&json!({
            "content": [{"type": "text", "text": self.text()}],
            "isError": true,
            "_meta": {META_KEY: self.facts()},
        }))
    }

    /// Returns the denial as the `error` member of an answer to any other method.
    pub fn rpc_error(&self) -> Box<RawValue> {
        raw(&json!({"code": RPC_CODE, "message": self.text(), "data": {META_KEY: self.facts()}}))
    }
}

/// Spells a value, whose keys are strings and whose numbers are finite.
pub(super) fn raw(value: &Value) -> Box<RawValue> {
    RawValue::from_string(value.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// Repeats a caller's name: quoted, in one line, without control and direction characters, short.
pub(super) fn shown(name: &str) -> String {
    let mut shown = String::from("`");
    for (index, character) in name.chars().enumerate() {
        if index == MAX_SHOWN {
            shown.push('…');
            break;
        }
        shown.extend(character.escape_debug().filter(|&part| part != '`'));
    }
    shown.push('`');
    shown
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_name_stands_for_two_reasons_and_no_sentence_ends_twice() {
        let names: BTreeSet<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!(!code.hint().ends_with('.'), "{}", code.as_str());
        }
    }

    #[test]
    fn a_name_is_repeated_in_one_short_printable_line() {
        let table = [
            ("tool", "`tool`"),
            ("a\nb", "`a\\nb`"),
            ("a`b", "`ab`"),
            ("\u{202e}x\u{1b}[31m", "`\\u{202e}x\\u{1b}[31m`"),
            ("", "``"),
        ];
        for (name, want) in table {
            assert_eq!(shown(name), want);
        }
        assert!(shown(&"x".repeat(10_000)).chars().count() <= MAX_SHOWN + 3);
    }
}
