//! Keeps what one server says in its order on the way to the client.
//!
//! A result goes through the chain before it is passed on, a notification does not. So that one
//! which a server sent after a result does not come before it, a place is taken in the order of
//! arrival, and what comes later waits until that place is filled or given up.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

use super::{outgoing::Outgoing, outlet::Outlet};

/// The order of what one server sent.
#[derive(Clone, Debug)]
pub struct Sequence {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    to: Outlet,
    places: Mutex<Places>,
}

#[derive(Debug, Default)]
struct Places {
    /// Number of the place at the front.
    first: u64,
    waiting: VecDeque<Place>,
}

#[derive(Debug)]
enum Place {
    Taken,
    Filled(Outgoing),
    /// Nothing to pass on, but somebody waits until everything before it was.
    Awaited(oneshot::Sender<()>),
    GivenUp,
}

/// A place in the order. Dropping it gives it up.
#[derive(Debug)]
pub struct Ticket {
    shared: Arc<Shared>,
    number: u64,
}

impl Sequence {
    /// Returns an order of things on their way through `to`.
    pub fn new(to: Outlet) -> Self {
        let places = Mutex::default();
        Self {
            shared: Arc::new(Shared { to, places }),
        }
    }

    /// Passes a line on behind everything that came before it.
    pub fn send(&self, line: impl Into<Outgoing>) {
        let line = line.into();
        let mut places = self.shared.places();
        if places.waiting.is_empty() {
            self.shared.to.send(line);
        } else {
            places.waiting.push_back(Place::Filled(line));
        }
    }

    /// Returns a future that is ready once everything that came before this call was passed on. It
    /// holds up nothing that comes later.
    pub fn reached(&self) -> impl Future<Output = ()> + Send + use<> {
        let (sender, reached) = oneshot::channel();
        let mut places = self.shared.places();
        if places.waiting.is_empty() {
            drop(sender);
        } else {
            places.waiting.push_back(Place::Awaited(sender));
        }
        async move {
            // A sender that is gone says the same as one that was used.
            let _reached = reached.await;
        }
    }

    /// Takes a place behind everything that came before.
    pub fn reserve(&self) -> Ticket {
        let mut places = self.shared.places();
        let number = places.first + places.waiting.len() as u64;
        places.waiting.push_back(Place::Taken);
        Ticket {
            shared: Arc::clone(&self.shared),
            number,
        }
    }
}

impl Ticket {
    /// Fills the place with a line.
    pub fn fill(self, line: impl Into<Outgoing>) {
        self.shared.settle(self.number, Place::Filled(line.into()));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.shared.settle(self.number, Place::GivenUp);
    }
}

impl Shared {
    fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Settles a place that is still open, then passes on all that are settled at the front.
    fn settle(&self, number: u64, place: Place) {
        let mut places = self.places();
        let index = number.checked_sub(places.first).map(usize::try_from);
        if let Some(Ok(index)) = index
            && let Some(open @ Place::Taken) = places.waiting.get_mut(index)
        {
            *open = place;
        }
        while let Some(place) = places.waiting.pop_front() {
            match place {
                Place::Filled(line) => self.to.send(line),
                // Whoever waited may be gone.
                Place::Awaited(waits) => drop(waits.send(())),
                Place::GivenUp => {}
                Place::Taken => {
                    places.waiting.push_front(Place::Taken);
                    return;
                }
            }
            places.first += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        pin::Pin,
        task::{Context, Waker},
    };

    use proptest::prelude::*;
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::wire::outlet::outlet;

    /// What is done to a sequence: say a line, take a place, fill or give up one of those taken.
    #[derive(Clone, Debug)]
    enum Step {
        Say,
        Take,
        Fill(usize),
        GiveUp(usize),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            Just(Step::Say),
            Just(Step::Take),
            (0_usize..8).prop_map(Step::Fill),
            (0_usize..8).prop_map(Step::GiveUp),
        ]
    }

    #[test]
    fn who_waits_is_told_once_everything_before_is_settled() {
        let (to, _writer) = outlet();
        let sequence = Sequence::new(to);
        let mut context = Context::from_waker(Waker::noop());
        let mut ready = |future: &mut Pin<Box<dyn Future<Output = ()>>>| {
            future.as_mut().poll(&mut context).is_ready()
        };
        let mut wait: Pin<Box<dyn Future<Output = ()>>> = Box::pin(sequence.reached());
        assert!(ready(&mut wait), "nothing is before it");
        let (one, other) = (sequence.reserve(), sequence.reserve());
        let mut wait: Pin<Box<dyn Future<Output = ()>>> = Box::pin(sequence.reached());
        let later = sequence.reserve();
        other.fill("2".to_owned());
        assert!(!ready(&mut wait));
        drop(one);
        assert!(ready(&mut wait), "it does not wait for what is later");
        drop(later);
    }

    proptest! {
        #[test]
        fn lines_leave_in_the_order_of_their_places(steps in prop::collection::vec(step(), 0..60)) {
            let (to, writer) = outlet();
            let sequence = Sequence::new(to.clone());
            let mut open: Vec<(usize, Ticket)> = Vec::new();
            let mut given_up = Vec::new();
            let mut places = 0;
            for step in steps {
                match step {
                    Step::Say => {
                        sequence.send(places.to_string());
                        places += 1;
                    }
                    Step::Take => {
                        open.push((places, sequence.reserve()));
                        places += 1;
                    }
                    Step::Fill(which) if which < open.len() => {
                        let (place, ticket) = open.remove(which);
                        ticket.fill(place.to_string());
                    }
                    Step::GiveUp(which) if which < open.len() => {
                        let (place, ticket) = open.remove(which);
                        given_up.push(place);
                        drop(ticket);
                    }
                    Step::Fill(_) | Step::GiveUp(_) => {}
                }
            }
            given_up.extend(open.iter().map(|(place, _)| *place));
            drop(open);
            to.end();
            let mut got = String::new();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let (near, mut far) = tokio::io::duplex(1 << 16);
                writer.run(near).await.unwrap();
                far.read_to_string(&mut got).await.unwrap();
            });
            let kept: Vec<String> = (0..places)
                .filter(|place| !given_up.contains(place))
                .map(|place| place.to_string() + "\n")
                .collect();
            let want = kept.concat();
            prop_assert_eq!(got, want);
        }
    }
}
