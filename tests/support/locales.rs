//! Locales in which two or four bytes form one character.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::shells;

/// Locale, its source, and its character map.
const MULTI_BYTE: &[(&str, &str, &str)] = &[
    ("zh_CN.GBK", "zh_CN", "GBK"),
    ("zh_CN.GB18030", "zh_CN", "GB18030"),
    ("zh_TW.BIG5", "zh_TW", "BIG5"),
    ("zh_HK.BIG5-HKSCS", "zh_HK", "BIG5-HKSCS"),
];

/// Compiles the locales into `folder` and returns the names of those there are.
///
/// Nothing of the system changes; a shell is shown the folder with `LOCPATH`.
#[expect(clippy::disallowed_methods, reason = "only localedef makes locales")]
pub(crate) fn compile(folder: &Path) -> Vec<&'static str> {
    let Some(localedef) = shells::on_path("localedef") else {
        shells::skip("localedef");
        return Vec::new();
    };
    let sources = PathBuf::from("/usr/share/i18n/locales");
    let mut made = Vec::new();
    for (name, source, map) in MULTI_BYTE {
        if !sources.join(source).exists() {
            shells::skip(&format!("the source of the locale {source}"));
            continue;
        }
        let output = Command::new(&localedef)
            .args([
                "--no-archive",
                "--force",
                "--quiet",
                "-i",
                source,
                "-f",
                map,
            ])
            .arg(folder.join(name))
            .output()
            .unwrap();
        // Warnings make it fail as well, so what counts is what it made.
        let there = folder.join(name).join("LC_CTYPE").exists();
        assert!(there, "{name}: {}", String::from_utf8_lossy(&output.stderr));
        made.push(*name);
    }
    made
}
