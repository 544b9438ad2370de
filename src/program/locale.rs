//! How the shell that runs the line will part its bytes into characters.

/// Codesets whose every character is one byte, by the start of their name in lower case without
/// `-` and `_`.
const ONE_BYTE: &[&str] = &[
    "ansix3.41968",
    "armscii8",
    "ascii",
    "cp125",
    "cp437",
    "cp850",
    "cp866",
    "georgianps",
    "iso8859",
    "koi8",
    "rk1048",
    "tis620",
    "usascii",
];

/// Returns whether a shell in this locale reads text outside ASCII as it is written: it takes
/// bytes one by one, or as UTF-8.
///
/// A name without a codeset stands for one that only the system knows, so it counts as reading
/// otherwise; `C` and `POSIX` take bytes.
pub(crate) fn keeps_utf8(name: &str) -> bool {
    let name = name.split('@').next().unwrap_or_default();
    if matches!(name, "" | "C" | "POSIX") {
        return true;
    }
    let Some((_, codeset)) = name.split_once('.') else {
        return false;
    };
    let codeset: String = codeset
        .chars()
        .filter(|character| !matches!(character, '-' | '_'))
        .flat_map(char::to_lowercase)
        .collect();
    codeset == "utf8" || ONE_BYTE.iter().any(|prefix| codeset.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_utf8_and_one_byte_codesets_keep_utf8() {
        let rows = [
            ("", true),
            ("C", true),
            ("POSIX", true),
            ("C.UTF-8", true),
            ("C.utf8", true),
            ("de_DE.UTF-8@euro", true),
            ("de_DE.ISO-8859-15@euro", true),
            ("ru_RU.KOI8-R", true),
            ("zh_CN.GBK", false),
            ("zh_CN.GB18030", false),
            ("zh_TW.BIG5", false),
            ("zh_HK.BIG5-HKSCS", false),
            ("ja_JP.SJIS", false),
            ("ja_JP.eucJP", false),
            ("zh_CN", false),
            ("en_US", false),
            ("C.", false),
        ];
        let wrong: Vec<_> = rows
            .iter()
            .filter(|(name, keeps)| keeps_utf8(name) != *keeps)
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
