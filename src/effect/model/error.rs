//! What is wrong with a model.

use std::fmt;

/// A fault of a model: where, and what was expected.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ModelError {
    place: String,
    problem: String,
}

impl ModelError {
    pub(super) fn new(place: String, problem: String) -> Self {
        Self { place, problem }
    }

    pub(super) fn inside(mut self, outer: &str) -> Self {
        self.place = format!("{outer}.{}", self.place);
        self
    }

    /// Returns the keys that lead to the fault.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Returns what is wrong there.
    pub fn problem(&self) -> &str {
        &self.problem
    }

    /// Returns the fault that reading the text of a place as JSON met. What is said of lines is about
    /// JSON, which nobody wrote.
    pub(super) fn of_json(place: String, error: &serde_json::Error) -> Self {
        let mut problem = error.to_string();
        if let Some(end) = problem.rfind(" at line ") {
            problem.truncate(end);
        }
        Self { place, problem }
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() {
            f.write_str(&self.problem)
        } else {
            write!(f, "{}: {}", self.place, self.problem)
        }
    }
}

impl std::error::Error for ModelError {}
