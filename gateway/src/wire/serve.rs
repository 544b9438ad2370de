//! Serves one client from its first line to the end, and leaves nothing behind.

use std::{sync::Arc, time::Duration};

use tokio::signal::unix::{SignalKind, signal};

use super::{
    client,
    hub::Hub,
    limits::DRAIN,
    outlet::Writer,
    stdio::{Input, Output},
};

/// How long the last answers may take to be written when all servers are gone. With [`DRAIN`] and
/// the time that servers get to end it stays below three seconds.
const LAST_WORDS: Duration = Duration::from_millis(150);

/// Serves the client behind `input` and `output` until it ends or a signal asks us to.
///
/// # Errors
/// When signals cannot be received.
pub async fn serve(
    hub: &Arc<Hub>,
    writer: Writer,
    input: Input,
    output: Output,
) -> std::io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut writing = tokio::spawn(writer.run(output));
    tokio::select! {
        () = client::read(hub, input) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {} // the terminal is gone, or the session ends
        _ = &mut writing => {} // nobody reads our answers any more
    }
    stop(hub).await;
    hub.client.end();
    if !writing.is_finished() {
        // A client that no longer reads loses what it did not read.
        let _written = tokio::time::timeout(LAST_WORDS, writing).await;
    }
    Ok(())
}

/// Takes no more calls, lets open ones finish for a short time, answers the rest, and returns once
/// every server is gone.
pub async fn stop(hub: &Arc<Hub>) {
    hub.stop();
    let _finished = tokio::time::timeout(DRAIN, hub.calls.none_open()).await;
    let stops: Vec<_> = (hub.links.iter())
        .map(|link| {
            let link = Arc::clone(link);
            tokio::spawn(async move { link.stop().await })
        })
        .collect();
    for stop in stops {
        // It fails only if the task panicked, and then there is nothing left to wait for.
        let _stopped = stop.await;
    }
    let _answered = tokio::time::timeout(LAST_WORDS, hub.calls.none_open()).await;
}
