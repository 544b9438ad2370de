//! The limits of the wire, each with its name and its reason.

use std::time::Duration;

/// Longest line taken from the client, in bytes without the line feed.
pub const MAX_CLIENT_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Deepest nesting of objects and arrays taken from the client. The parsers behind us stop at the
/// same depth, so nothing deeper could be checked before it is passed on.
pub const MAX_NESTING: usize = 127;

/// Longest request id, in bytes as it was spelled.
pub const MAX_ID_BYTES: usize = 1024;

/// Most messages in one batch.
pub const MAX_BATCH: usize = 1000;

/// Most malformed lines of a client that get an answer of their own; later ones are only counted,
/// so that two peers that both answer what they cannot read do not talk for ever.
pub const MAX_MALFORMED_ANSWERS: u64 = 100;

/// Longest name that we offer for a tool or a prompt; clients and model services stop here.
pub const MAX_NAME_BYTES: usize = 64;

/// Most calls of the client that may be open at once.
pub const MAX_OPEN_CALLS: usize = 4096;

/// Most pages read of one list of one server.
pub const MAX_PAGES: usize = 1000;

/// Most entries kept of one list of one server.
pub const MAX_ENTRIES: usize = 10_000;

/// Most bytes kept of one list of one server.
pub const MAX_LIST_BYTES: usize = 32 * 1024 * 1024;

/// Most entries that we put on one page of a list. Many clients read one page only, so it is large.
pub const PAGE_ENTRIES: usize = 1000;

/// Most bytes of entries that we put on one page of a list.
pub const PAGE_BYTES: usize = 4 * 1024 * 1024;

/// How many past states of a list stay readable for cursors.
pub const KEPT_SNAPSHOTS: usize = 4;

/// Bytes waiting for the client above which servers are no longer read.
pub const CLIENT_QUEUE_BYTES: usize = 8 * 1024 * 1024;

/// Bytes waiting for one server above which new calls to it are refused.
pub const SERVER_QUEUE_BYTES: usize = 64 * 1024 * 1024;

/// What the names of all notifications begin with.
pub const NOTIFICATIONS: &str = "notifications/";

/// How much of what the other side wrote is shown to the operator, in characters.
pub const SHOWN: usize = 120;

/// Rounds of `input_required` that one call may take.
pub const MAX_INPUT_ROUNDS: usize = 10;

/// Calls that may wait for the client to come back with input.
pub const MAX_PARKED_CALLS: usize = 256;

/// Resource subscriptions that the client may hold over all servers.
pub const MAX_SUBSCRIPTIONS: usize = 10_000;

/// How long a list waits for servers: the first one for those that are still starting, as many
/// clients ask once and never again; any one for those that are slow to say what they offer.
pub const FIRST_LIST_GRACE: Duration = Duration::from_secs(5);

/// How long a server is given to answer a request that was cancelled before it is forgotten.
pub const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// Tasks of servers that are remembered, so that what is asked about one reaches its server.
pub const MAX_TASKS: usize = 10_000;

/// How long `initialize` waits for servers that are starting, so that what they tell the model about
/// themselves is in its answer.
pub const GREETING_GRACE: Duration = Duration::from_secs(1);

/// Progress may extend the time of a call up to this many times its timeout.
pub const MAX_EXTENSIONS: u32 = 10;

/// How long open calls may still finish when the gateway stops.
pub const DRAIN: Duration = Duration::from_millis(750);
