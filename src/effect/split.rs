//! Words in one word, as `env -S` takes them.

use super::scan::Seen;
use super::words::Arg;

/// Returns the words of a call in which `seen`, an option whose value holds words, is replaced by these.
///
/// `None` for a value with escapes, variables or a comment, and for an option in a group of letters.
pub(crate) fn expanded<'a>(seen: &Seen<'_>, words: &[Arg<'a>]) -> Option<Vec<Arg<'a>>> {
    let &(holder, start) = seen.values.first()?;
    let option = words.get(seen.at)?;
    // Only what stands before the value matters of a word that holds it too.
    let before = if holder == seen.at {
        option.text.get(..start)?
    } else {
        &*option.text
    };
    let verbose = before == "-vS";
    if !verbose && before.strip_suffix('=').unwrap_or(before) != seen.name {
        return None;
    }
    let value = words.get(holder)?;
    let parts = split(value.text.get(start..)?)?;
    let mut all: Vec<Arg<'a>> = words.get(..seen.at)?.to_vec();
    if verbose {
        all.push(Arg::new("-v", option.span));
    }
    all.extend(parts.into_iter().map(|part| Arg::new(part, value.span)));
    all.extend_from_slice(words.get(holder + 1..)?);
    Some(all)
}

/// Splits at blanks outside quotes. `None` where there is more to it than that.
fn split(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in text.chars() {
        match (quote, character) {
            (_, '\\') | (None | Some('"'), '$') => return None,
            (None, '#') if word.is_none() => return None,
            (None, ' ' | '\t' | '\n' | '\x0b' | '\x0c' | '\r') => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == character => quote = None,
            (None | Some(_), _) => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_as_env_does_or_not_at_all() {
        let cases: &[(&str, Option<&[&str]>)] = &[
            ("ls -la", Some(&["ls", "-la"])),
            ("  a\t'b  c' \"d 'e\"  ", Some(&["a", "b  c", "d 'e"])),
            ("a'b'c\"\" ''", Some(&["abc", ""])),
            ("", Some(&[])),
            ("a#b", Some(&["a#b"])),
            ("a #b", None),
            ("#a", None),
            (r"a\_b", None),
            (r"'a\'b'", None),
            ("a ${HOME}", None),
            ("a '${HOME}'", Some(&["a", "${HOME}"])),
            ("\"$HOME\"", None),
            ("'a", None),
            ("a \"b", None),
        ];
        let wrong: Vec<_> = cases
            .iter()
            .map(|&(text, want)| (text, split(text), want))
            .filter(|(_, found, want)| {
                let want =
                    want.map(|words| words.iter().map(ToString::to_string).collect::<Vec<_>>());
                *found != want
            })
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
