//! The methods of MCP that have an effect, and which layers each of them meets.
//!
//! A method that is not here lists, answers or tells something that the gateway keeps itself or that
//! both sides know already; it passes no layer. `docs/policy.md` has the table.

use crate::policy::Tier;

/// A request with an effect, or one that fetches what its asker could be steered by.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Method {
    /// `tools/call`: the tool decides the tier.
    CallTool,
    /// `resources/read`
    ReadResource,
    /// `resources/subscribe`
    Subscribe,
    /// `resources/unsubscribe`
    Unsubscribe,
    /// `prompts/get`
    GetPrompt,
    /// `completion/complete`
    Complete,
    /// `tasks/get`: how a call that goes on in the background is doing.
    GetTask,
    /// `tasks/result`
    TaskResult,
    /// `tasks/update`: hands something to a call that goes on in the background.
    UpdateTask,
    /// `tasks/cancel`
    CancelTask,
    /// `sampling/createMessage`, from a server: it spends the client's model and steers it.
    Sample,
    /// `elicitation/create`, from a server: it asks the person at the client.
    Elicit,
}

impl Method {
    /// Every method that passes the layers.
    pub const ALL: [Self; 12] = [
        Self::CallTool,
        Self::ReadResource,
        Self::Subscribe,
        Self::Unsubscribe,
        Self::GetPrompt,
        Self::Complete,
        Self::GetTask,
        Self::TaskResult,
        Self::UpdateTask,
        Self::CancelTask,
        Self::Sample,
        Self::Elicit,
    ];

    /// Returns the method of that name, or `None` if it passes no layer.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == name)
    }

    /// Returns its name in the protocol.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CallTool => "tools/call",
            Self::ReadResource => "resources/read",
            Self::Subscribe => "resources/subscribe",
            Self::Unsubscribe => "resources/unsubscribe",
            Self::GetPrompt => "prompts/get",
            Self::Complete => "completion/complete",
            Self::GetTask => "tasks/get",
            Self::TaskResult => "tasks/result",
            Self::UpdateTask => "tasks/update",
            Self::CancelTask => "tasks/cancel",
            Self::Sample => "sampling/createMessage",
            Self::Elicit => "elicitation/create",
        }
    }

    /// Returns its tier, or `None` where the tool decides.
    pub const fn tier(self) -> Option<Tier> {
        match self {
            Self::CallTool => None,
            Self::ReadResource
            | Self::Subscribe
            | Self::Unsubscribe
            | Self::GetPrompt
            | Self::Complete
            | Self::GetTask
            | Self::TaskResult => Some(Tier::Read),
            Self::UpdateTask | Self::CancelTask | Self::Sample | Self::Elicit => Some(Tier::Write),
        }
    }

    /// Returns whether a server asks and the client answers.
    ///
    /// The circuit breaker watches servers, so it has no say in these.
    pub const fn is_asked_by_server(self) -> bool {
        match self {
            Self::Sample | Self::Elicit => true,
            Self::CallTool
            | Self::ReadResource
            | Self::Subscribe
            | Self::Unsubscribe
            | Self::GetPrompt
            | Self::Complete
            | Self::GetTask
            | Self::TaskResult
            | Self::UpdateTask
            | Self::CancelTask => false,
        }
    }
}
