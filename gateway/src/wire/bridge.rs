//! What an answer must say otherwise for a client of another era than its server's.

use super::{catalogue::cacheable, chain::Answer, session::Session};

/// The code for a resource that is not there, in sessions.
const NO_RESOURCE: i64 = -32002;

/// The code for parameters that are not valid, which the address of such a resource is one of without sessions.
const PARAMS: i64 = -32602;

/// Makes the answer of a server one for a client that speaks without sessions.
///
/// The other way round nothing is changed: unknown members are passed over in sessions, and what says
/// [`PARAMS`] without a session may be anything, not only a resource that is not there.
pub(super) fn without_session(mut answer: Answer, session: &Session, method: &str) -> Answer {
    if let Answer::Peer(peer) = &mut answer
        && !session.is_stateless()
    {
        if method == "resources/read" {
            peer.insert_into_result(&cacheable());
            peer.replace_error_code(NO_RESOURCE, PARAMS);
        } else {
            peer.insert_into_result("\"resultType\":\"complete\"");
        }
    }
    answer
}
