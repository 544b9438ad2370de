//! The models that are compiled in, and those that a user adds.

use std::sync::{Arc, LazyLock, OnceLock};

use super::Model;
use super::error::ModelError;

include!(concat!(env!("OUT_DIR"), "/models.rs"));

/// A compiled-in model, read when a line first names its program.
struct Shipped {
    file: &'static str,
    json: &'static str,
    /// In a box, so that models nobody asks for take no room in memory that has to be written to
    /// when the program is loaded.
    read: OnceLock<Box<Result<Model, ModelError>>>,
}

impl Shipped {
    const fn new(file: &'static str, json: &'static str) -> Self {
        Self {
            file,
            json,
            read: OnceLock::new(),
        }
    }

    fn model(&self) -> Result<&Model, &ModelError> {
        self.read
            .get_or_init(|| Box::new(Model::from_json(self.json)))
            .as_ref()
            .as_ref()
    }
}

/// The models to judge with: those compiled in, and those that a user adds.
///
/// An added model for a program that has a shipped one tightens it: both judge, and the effects of both
/// count. It stands in for the shipped one only if it says `replaces-shipped = true`.
#[derive(Debug, Default)]
pub struct Models {
    added: Vec<Added>,
}

/// A model that a user added.
#[derive(Debug)]
struct Added {
    model: Model,
    /// The file that it comes from, for people.
    source: String,
}

impl Models {
    /// Returns the models that are compiled in.
    pub const fn shipped() -> Self {
        Self { added: Vec::new() }
    }

    /// Returns the models that are compiled in, in a form that many callers may keep.
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: LazyLock<Arc<Models>> = LazyLock::new(|| Arc::new(Models::shipped()));
        Arc::clone(&SHARED)
    }

    /// Adds a model; `source` names the file that it comes from, for people.
    pub fn add(&mut self, model: Model, source: impl Into<String>) {
        self.added.push(Added {
            model,
            source: source.into(),
        });
    }

    /// Returns the file of a model that a user added; `None` for one that is compiled in.
    pub fn source(&self, model: &Model) -> Option<&str> {
        let mut added = self.added.iter();
        let added = added.find(|added| std::ptr::eq(&raw const added.model, model));
        added.map(|added| added.source.as_str())
    }

    /// Returns the file of the added model that stands in for the shipped one of `name`, if one does.
    pub fn replaced(&self, name: &str) -> Option<&str> {
        let mut added = self.added.iter();
        let added = added.find(|added| added.model.replaces_shipped && added.serves(name))?;
        shipped(name).map(|_| added.source.as_str())
    }

    /// Returns the names of all programs that have a model, in the order of the alphabet.
    pub fn names(&self) -> Vec<&str> {
        let added = self.added.iter().flat_map(|added| &added.model.names);
        let mut names: Vec<&str> = INDEX.iter().map(|&(name, _)| name).collect();
        names.extend(added.map(String::as_str));
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Returns every model for the program `name`; none means that it is unknown.
    ///
    /// # Errors
    ///
    /// The fault of a shipped model, of which a test finds none.
    pub fn of(&self, name: &str) -> Result<Vec<&Model>, &'static ModelError> {
        let mut found: Vec<&Model> = self
            .added
            .iter()
            .filter(|added| added.serves(name))
            .map(|added| &added.model)
            .collect();
        if found.iter().any(|model| model.replaces_shipped) {
            return Ok(found);
        }
        if let Some(shipped) = shipped(name) {
            found.push(shipped.model()?);
        }
        Ok(found)
    }

    /// Returns the name of the file that the shipped model of `name` comes from.
    pub fn file_of(name: &str) -> Option<&'static str> {
        shipped(name).map(|shipped| shipped.file)
    }
}

impl Added {
    fn serves(&self, name: &str) -> bool {
        self.model.names.iter().any(|known| known == name)
    }
}

/// Two are the same if they are one value, or neither has a model that a user added.
impl PartialEq for Models {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other) || (self.added.is_empty() && other.added.is_empty())
    }
}

impl Eq for Models {}

fn shipped(name: &str) -> Option<&'static Shipped> {
    let at = INDEX
        .binary_search_by(|(known, _)| (*known).cmp(name))
        .ok()?;
    INDEX.get(at).and_then(|&(_, number)| SHIPPED.get(number))
}
