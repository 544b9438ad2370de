//! Which line of its file a fault of a model is on.

use toml::de::{DeTable, DeValue};

use super::error::ModelError;

impl ModelError {
    /// Returns the line, counted from 1, of `text` that shows the fault, `text` being the TOML that the
    /// model was read from: the line of the word at fault, or else that of the closest key.
    pub fn line_in(&self, text: &str) -> usize {
        let at = match DeTable::parse(text) {
            Err(error) => error.span().map_or(0, |span| span.start),
            Ok(table) => {
                let (start, found) = start_of(table.get_ref(), &keys(self.place()));
                let rest = text.get(start..).unwrap_or_default();
                // A key that is missing is not explained by a word that happens to stand somewhere.
                let mut named = self.named().into_iter().filter(|_| found);
                let word = named.find_map(|word| rest.find(&word));
                start + word.unwrap_or_default()
            }
        };
        1 + text.get(..at).unwrap_or_default().matches('\n').count()
    }

    /// Returns the words that the problem names in quotes.
    fn named(&self) -> Vec<String> {
        let problem = self.problem();
        let quoted = |quote| problem.split(quote).skip(1).step_by(2);
        quoted('"')
            .chain(quoted('`'))
            .filter(|word| !word.is_empty())
            .map(|word| word.replace(r"\\", r"\"))
            .collect()
    }
}

/// Splits `sub."a b".options` into its keys.
fn keys(place: &str) -> Vec<String> {
    let mut keys = vec![String::new()];
    let mut quoted = false;
    for character in place.chars() {
        match character {
            '"' => quoted = !quoted,
            '.' if !quoted => keys.push(String::new()),
            other => {
                if let Some(key) = keys.last_mut() {
                    key.push(other);
                }
            }
        }
    }
    // Shared groups stand at the top, whoever uses them.
    let shared = keys.iter().rposition(|key| key == "shared");
    keys.split_off(shared.unwrap_or_default())
}

/// Returns where the last of the keys that are there starts, and whether all are there.
fn start_of(table: &DeTable<'_>, keys: &[String]) -> (usize, bool) {
    let Some((first, rest)) = keys.split_first().filter(|(first, _)| !first.is_empty()) else {
        return (0, true);
    };
    let mut entries = table.iter();
    let Some((key, value)) = entries.find(|(key, _)| key.get_ref().as_ref() == first) else {
        return (0, false);
    };
    match value.get_ref() {
        DeValue::Table(inner) => {
            let (start, found) = start_of(inner, rest);
            (start.max(key.span().start), found)
        }
        DeValue::String(_)
        | DeValue::Integer(_)
        | DeValue::Float(_)
        | DeValue::Boolean(_)
        | DeValue::Datetime(_)
        | DeValue::Array(_) => (key.span().start, true),
    }
}

#[cfg(test)]
mod tests {
    use crate::effect::Model;

    #[test]
    fn faults_are_on_their_lines() {
        let head = "names = [\"x\"]\nsummary = \"y\"\nmanual = [\"z\"]\n";
        let rows = [
            ("a = = b\n", 4),
            ("frobnicate = 1\n", 4),
            ("\noperands = \"FROB\"\n", 5),
            ("\n[options]\nread = [\n  \"-a\",\n  \"-b FROB\",\n]\n", 8),
            ("[options]\nfrob = [\"-a\"]\n", 5),
            (
                "bare = \"read\"\n[sub.a]\n[sub.b]\n[sub.b.options]\nread = [\"-x\", \"-y FROB\"]\n",
                8,
            ),
            (
                "bare = \"read\"\n[sub.\"a b\"]\nbare = \"read\"\nalways = [\"frob\"]\n",
                7,
            ),
            (
                "bare = \"read\"\n[shared.s]\nread = [\"-b FROB\"]\n[sub.a]\nuse = [\"s\"]\n",
                6,
            ),
            ("bare = \"read\"\n[sub.a]\n\nfrob = 1\n", 7),
            ("[sub.a]\nbare = \"read\"\n", 1),
            ("[[when]]\ngiven = \"-q\"\n", 5),
        ];
        let mut wrong = Vec::new();
        for (rest, want) in rows {
            let text = format!("{head}{rest}");
            let fault = match Model::from_toml(&text) {
                Ok(model) => model.check().into_iter().next(),
                Err(fault) => Some(fault),
            };
            let got = fault.as_ref().map(|fault| fault.line_in(&text));
            if got != Some(want) {
                wrong.push(format!("{rest:?}: want {want}, got {got:?} ({fault:?})"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
