//! Notifications of the client that no version of the protocol has. Nobody knows what they bring about,
//! so they go through the chain, one after the other.

use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc::{Receiver, Sender, channel, error::TrySendError};

use super::{
    chain::{Answer, Call, Execute, Later},
    envelope::{Kind, Message},
    failure::Failure,
    hub::Hub,
    limits::SERVER_QUEUE_BYTES,
    link::Link,
    outgoing::{Guard, Outgoing},
};

/// How many may wait for their turn; further ones are dropped, counted and told.
const MAX_WAITING: usize = 64;

/// Those that wait.
#[derive(Debug, Default)]
pub struct Strangers {
    queue: OnceLock<Sender<Arc<Message>>>,
}

impl Strangers {
    /// Takes one, to be judged for every server. Must be called inside the runtime.
    pub fn take(&self, hub: &Arc<Hub>, message: &Message) {
        let queue = self.queue.get_or_init(|| {
            let (queue, waiting) = channel(MAX_WAITING);
            tokio::spawn(work(Arc::downgrade(hub), waiting));
            queue
        });
        match queue.try_send(Arc::new(message.clone())) {
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Closed(_)) => {
                hub.count(&hub.counts.client_unasked, || {
                    "client: a notification was dropped, as too many wait".to_owned()
                });
            }
        }
    }
}

async fn work(hub: std::sync::Weak<Hub>, mut waiting: Receiver<Arc<Message>>) {
    while let Some(message) = waiting.recv().await {
        let Some(hub) = hub.upgrade() else { return };
        for link in &hub.links {
            // Before it is judged, so that the judgement is fresh.
            link.settled().await;
            judge(&hub, link, &message).await;
        }
    }
}

async fn judge(hub: &Arc<Hub>, link: &Arc<Link>, message: &Arc<Message>) {
    let Kind::Notification { method, .. } = &message.kind else {
        return;
    };
    let call = Call::to_server(&link.profile.name, message, method, method);
    let to = Arc::clone(link);
    let execute: Execute =
        Box::new(move |call: Call| -> Later<Answer> { Box::pin(async move { send(&to, &call) }) });
    // Nobody waits for an answer to a notification; the record has what became of it.
    drop(hub.chain.answer(call, execute).await);
}

fn send(link: &Link, call: &Call) -> Answer {
    let Some(session) = link.running().filter(|session| !session.is_stateless()) else {
        // That it takes none is no fault of the server's, for the circuit breaker least of all.
        return Failure::NoMethod(call.method.clone()).into();
    };
    if session.outlet.waiting() > SERVER_QUEUE_BYTES {
        let server = link.profile.name.to_string();
        return Failure::NotReading { server }.into();
    }
    let text = match call.to_message() {
        Ok(message) => message.line.clone(),
        Err(failure) => return failure.into(),
    };
    let guard = call.look().map(|look| Guard::new(move || look()));
    session.outlet.send(Outgoing::from(text).guarded(guard));
    Answer::Result("{}".to_owned())
}
