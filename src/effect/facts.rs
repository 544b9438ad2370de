//! What is known about the place in which a line would run.

/// What is known beyond the text of the line. Nothing here can lower a tier below what the text alone
/// would get, but for absolute paths under the working directory.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts<'a> {
    /// The working directory, as an absolute path.
    pub directory: Option<&'a str>,
    /// The names of the variables that are set where the line would run.
    pub environment: &'a [&'a str],
}
