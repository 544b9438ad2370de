//! Holds what a line is against the policy.

use plainpipe::grant::{Drift, Why};

use super::verdict::{Plain, ShellLine, Standing, Unchecked, Verdict, digests, found};
use crate::{
    layer::denial::{Code, Denial, shown},
    policy::{OnRefused, ShellRules},
};

/// The most programs that one sentence names.
const MAX_NAMED: usize = 4;

/// Decides about the line of a call to the tool `name`, apart from its tier.
///
/// # Errors
///
/// The [`Denial`] that a caller would get.
pub(in crate::layer) fn decide(
    name: &str,
    line: &ShellLine,
    rules: ShellRules,
) -> Result<(), Denial> {
    let asked = Asked { name, line };
    match (&line.verdict, rules.on_refused) {
        (Verdict::Refused(refusal), OnRefused::Deny) => {
            let span = refusal.span();
            let (start, end) = (span.start, span.end);
            let what = format!("is refused at bytes {start}..{end} ({})", found(refusal));
            let rule = format!("line-refused:{}", refusal.code());
            Err(asked
                .deny(Code::ShellRefused, &what, rule)
                .hinting(refusal.help()))
        }
        (Verdict::Missing { argument }, OnRefused::Deny) => {
            let argument = shown(argument);
            let what = format!("is missing: {argument} must hold it as one string");
            Err(asked
                .deny(Code::ShellRefused, &what, "line-missing")
                .hinting(format!("give the line in {argument}")))
        }
        (Verdict::Refused(_) | Verdict::Missing { .. }, OnRefused::AsDestructive) => {
            if rules.require_grant {
                let what = "is not plain, so no grant can cover it";
                return Err(asked.deny(Code::ShellUngranted, what, "shell.require_grant"));
            }
            Ok(())
        }
        (Verdict::Drifted(drifts), OnRefused::Deny | OnRefused::AsDestructive) => {
            Err(asked.deny(Code::ShellDrifted, &drifted(drifts), "line-drifted"))
        }
        (
            Verdict::Unchecked(Unchecked { reason, .. }),
            OnRefused::Deny | OnRefused::AsDestructive,
        ) => {
            let what = format!("was not checked, as {reason}");
            Err(asked.deny(Code::ShellUnchecked, &what, "line-unchecked"))
        }
        (Verdict::Plain(plain), OnRefused::Deny | OnRefused::AsDestructive) => {
            if rules.require_grant {
                return asked.granted(plain);
            }
            Ok(())
        }
    }
}

struct Asked<'a> {
    name: &'a str,
    line: &'a ShellLine,
}

impl Asked<'_> {
    fn deny(&self, code: Code, what: &str, rule: impl Into<String>) -> Denial {
        let sentence = format!("The line for {} {what}", shown(self.name));
        Denial::new(code, sentence, rule).with("shell", self.line.verdict.told())
    }

    fn granted(&self, plain: &Plain) -> Result<(), Denial> {
        let ungranted = |what: &str| self.deny(Code::ShellUngranted, what, "shell.require_grant");
        if let Some(argument) = &plain.beside {
            let argument = shown(argument);
            let what = format!("has no grant that covers {argument} beside it");
            return Err(ungranted(&what).hinting(format!("leave out {argument}")));
        }
        match &plain.standing {
            Standing::Granted => Ok(()),
            Standing::Unasked => Err(ungranted("has no grant")),
            Standing::Ungranted(missing) => {
                let names: Vec<String> = (missing.iter().take(MAX_NAMED))
                    .filter_map(|missing| plain.programs.get(missing.stage))
                    .map(|(called, _)| shown(called))
                    .collect();
                let more = if missing.len() > names.len() {
                    ", …"
                } else {
                    ""
                };
                let what = format!("has no grant for {}{more}", names.join(", "));
                let not_held = |why: &Why| matches!(why, Why::NotHeld { .. });
                let hint = if missing.iter().all(|missing| not_held(&missing.why)) {
                    "the user of the gateway can change the program, so that no grant covers it in \
                     a shell; use a program that only root can change"
                        .to_owned()
                } else {
                    self.how_to_grant()
                };
                Err(ungranted(&what).hinting(hint))
            }
        }
    }

    /// Returns how an operator says yes to this very line.
    fn how_to_grant(&self) -> String {
        let line = if self.line.repeated.is_empty() {
            "LINE".to_owned()
        } else {
            format!("'{}'", self.line.repeated.replace('\'', r"'\''"))
        };
        format!(
            "ask an operator to run: rea grant add --scope exact --for once --reason TEXT -- {line}"
        )
    }
}

/// Says which programs changed, by name and by the beginnings of their digests.
fn drifted(drifts: &[Drift]) -> String {
    let one = |drift: &Drift| {
        let (then, now) = digests(drift);
        let called = shown(&drift.now.identity.called);
        let same = if then == now {
            ", the same content with another place, owner, mode or interpreter"
        } else {
            ""
        };
        format!("{called}, granted as {then} and now {now}{same}")
    };
    let shown: Vec<String> = drifts.iter().take(MAX_NAMED).map(one).collect();
    let more = if drifts.len() > shown.len() {
        "; …"
    } else {
        ""
    };
    let programs = shown.join("; ");
    format!("runs a program that is no longer the one that was granted: {programs}{more}")
}
