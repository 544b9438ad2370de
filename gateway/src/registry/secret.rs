//! Which variables hold a secret, judged by name alone.

/// Anywhere in the name, in any case.
const PARTS: &[&str] = &[
    "TOKEN",
    "KEY",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
];
/// At its end, in any case.
const ENDINGS: &[&str] = &["_PASS", "_PWD", "_AUTH", "_DSN", "DATABASE_URL"];

/// Returns whether a variable of this name should be taken for a secret.
///
/// It errs towards yes (`MONKEY` contains `KEY`). `PWD` and `SSH_AUTH_SOCK` are no secrets: a
/// folder and a socket.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    PARTS.iter().any(|part| name.contains(part))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_judged_right() {
        let secret = [
            "GITHUB_TOKEN",
            "tokenizer",
            "MONKEY",
            "AWS_SECRET_ACCESS_KEY",
            "pgpassword",
            "MYSQL_PASSWD",
            "GPG_PASSPHRASE",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "SMTP_PASS",
            "DB_PWD",
            "db_pwd",
            "NPM_AUTH",
            "SENTRY_DSN",
            "DATABASE_URL",
            "TEST_DATABASE_URL",
        ];
        let open = [
            "PWD",
            "OLDPWD",
            "SSH_AUTH_SOCK",
            "PATH",
            "HTTP_PROXY",
            "DATABASE_URLS",
            "PASS_THROUGH",
            "DSN_NAME",
            "AUTHOR",
            "",
        ];
        let wrong: Vec<_> = (secret.iter().map(|name| (name, true)))
            .chain(open.iter().map(|name| (name, false)))
            .filter(|(name, want)| looks_secret(name) != *want)
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }
}
