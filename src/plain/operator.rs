//! Names for the bytes that belong to the shell.

use super::code::Code;
use super::span::Span;

/// Returns the code and span of the byte at `at`, which is not plain outside quotes.
pub(super) fn classify(bytes: &[u8], at: usize) -> (Code, Span) {
    let rest = bytes.get(at..).unwrap_or_default();
    let (code, length) = match rest {
        [b'&', b'&', ..] | [b';', b';', ..] => (Code::List, 2),
        [b';', ..] => (Code::List, 1),
        [b'&', b'>', ..] | [b'<', b'>' | b'&', ..] | [b'>', b'>' | b'&' | b'|' | b'!', ..] => {
            (Code::Redirection, 2)
        }
        [b'&', ..] => (Code::Background, 1),
        [b'<', b'<', b'<' | b'-', ..] => (Code::HereDocument, 3),
        [b'<', b'<', ..] => (Code::HereDocument, 2),
        [b'<' | b'>', b'(', ..] => (Code::ProcessSubstitution, 2),
        [b'<' | b'>', ..] => (Code::Redirection, 1),
        [b'(' | b')', ..] => (Code::Subshell, 1),
        [b'`', ..] => (Code::CommandSubstitution, 1),
        [b'$', b'\'', ..] => (Code::AnsiCQuoting, 2),
        [b'$', b'"', ..] => (Code::LocaleQuoting, 2),
        [b'$', ..] => return classify_in_double(bytes, at),
        [b'*' | b'?', ..] => (Code::Glob, 1),
        [0, ..] => (Code::NulByte, 1),
        [0x80..=0xff, tail @ ..] => {
            let more = tail.iter().take_while(|&&byte| byte & 0xc0 == 0x80).count();
            (Code::NonAsciiUnquoted, 1 + more)
        }
        _ => (Code::ControlCharacter, rest.len().min(1)),
    };
    (code, Span::new(at, at + length))
}

/// Returns the code and span of the `$` or backtick at `at`, which is inside double quotes.
pub(super) fn classify_in_double(bytes: &[u8], at: usize) -> (Code, Span) {
    let rest = bytes.get(at..).unwrap_or_default();
    let (code, length) = match rest {
        [b'`', ..] => (Code::CommandSubstitution, 1),
        [b'$', b'(', b'(', tail @ ..] if tail.windows(2).any(|pair| pair == b"))") => {
            (Code::Arithmetic, 3)
        }
        [b'$', b'(', ..] => (Code::CommandSubstitution, 2),
        [b'$', b'[', ..] => (Code::Arithmetic, 2),
        [_, b'A'..=b'Z' | b'a'..=b'z' | b'_', tail @ ..] => {
            let name = tail
                .iter()
                .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
                .count();
            (Code::ParameterExpansion, 2 + name)
        }
        [
            _,
            b'{' | b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!',
            ..,
        ] => (Code::ParameterExpansion, 2),
        _ => (Code::ParameterExpansion, 1),
    };
    (code, Span::new(at, at + length))
}

/// Returns the fault of a `|` at `at` that is half of `||` or `|&`.
pub(super) fn double_pipe(bytes: &[u8], at: usize) -> Option<(Code, Span)> {
    let code = match bytes.get(at + 1) {
        Some(b'|') => Code::List,
        Some(b'&') => Code::PipeStderr,
        _ => return None,
    };
    Some((code, Span::new(at, at + 2)))
}
