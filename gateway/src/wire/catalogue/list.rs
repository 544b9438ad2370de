//! The four lists of the protocol.

/// One of the four lists that servers offer.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum List {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
}

impl List {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// Returns the list that `method` asks for.
    pub fn asked_by(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|list| list.method() == method)
    }

    /// Returns the lists that the notification `method` says have changed.
    pub fn changed_by(method: &str) -> Option<&'static [Self]> {
        match method {
            "notifications/tools/list_changed" => Some(&[Self::Tools]),
            "notifications/prompts/list_changed" => Some(&[Self::Prompts]),
            "notifications/resources/list_changed" => Some(&[Self::Resources, Self::Templates]),
            _ => None,
        }
    }

    /// Returns the method that asks for it.
    pub const fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// Returns the notification that says that it has changed.
    pub const fn changed(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources | Self::Templates => "notifications/resources/list_changed",
        }
    }

    /// Returns the member of the result that holds the entries.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// Returns the capability that a server declares for it.
    pub const fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }

    /// Returns the member of an entry that names it.
    pub const fn naming(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// Returns whether entries are named by a name, which we prefix, or by an address, which we
    /// leave alone unless two servers have the same.
    pub const fn is_named(self) -> bool {
        matches!(self, Self::Tools | Self::Prompts)
    }

    /// Returns its place in [`List::ALL`].
    pub const fn index(self) -> usize {
        match self {
            Self::Tools => 0,
            Self::Prompts => 1,
            Self::Resources => 2,
            Self::Templates => 3,
        }
    }
}
