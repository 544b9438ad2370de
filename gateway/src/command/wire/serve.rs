//! `rea serve`.

use super::{Outcome, block_on, hub};
use rea_gateway::{
    child::Journal,
    terminal::escaped,
    wire::{serve, stdio},
};

pub(super) fn run(journal: &Journal) -> Outcome {
    let Some((hub, writer)) = hub(journal) else {
        return Outcome::Failed;
    };
    let served = block_on(journal, async {
        serve::serve(&hub, writer, stdio::input(), stdio::output()).await
    });
    match served {
        Some(Ok(())) => Outcome::Done,
        Some(Err(error)) => {
            journal.line(format!("rea: {}", escaped(&error.to_string())));
            Outcome::Failed
        }
        None => Outcome::Failed,
    }
}
