//! What all servers offer together: tools, prompts, resources and templates.

mod list;
mod merge;
mod read;

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use self::merge::Merged;
pub use self::{
    list::List,
    merge::{cacheable, other_address, split_address},
    read::{Entry, Listing, Unread},
};
use super::{
    chain::Answer,
    era::Asker,
    failure::Failure,
    hub::Hub,
    json,
    limits::{FIRST_LIST_GRACE, KEPT_SNAPSHOTS},
    link::Link,
    lock::lock,
    session::Session,
};

/// What all servers offer together.
pub struct Catalogue {
    lists: [Mutex<State>; 4],
    /// One reader for each list of each server at a time.
    readers: Vec<[tokio::sync::Mutex<()>; 4]>,
    waited: AtomicBool,
}

#[derive(Default)]
struct State {
    listings: Vec<Option<Arc<Listing>>>,
    errors: Vec<Option<String>>,
    /// How often each listing was said to have changed.
    changes: Vec<u64>,
    merged: Arc<Merged>,
    /// The state of the list that the client knows, if it asked for it.
    known: Option<[u8; 32]>,
    snapshots: VecDeque<(u64, Arc<Merged>)>,
    last_snapshot: u64,
    told_twice: bool,
}

impl fmt::Debug for Catalogue {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Catalogue").finish_non_exhaustive()
    }
}

impl Catalogue {
    /// Returns an empty catalogue for so many servers.
    pub fn new(servers: usize) -> Self {
        let state = || {
            Mutex::new(State {
                listings: vec![None; servers],
                errors: vec![None; servers],
                changes: vec![0; servers],
                ..State::default()
            })
        };
        Self {
            lists: [state(), state(), state(), state()],
            readers: (0..servers).map(|_| <[_; 4]>::default()).collect(),
            waited: AtomicBool::new(false),
        }
    }

    /// Answers a request for a list.
    pub async fn answer(
        &self,
        hub: &Arc<Hub>,
        list: List,
        asker: &Arc<Asker>,
        params: &str,
    ) -> Answer {
        let cursor = json::member(params, &(0..params.len()), "cursor");
        if let Some(span) = cursor.filter(|span| params.get(span.clone()) != Some("null")) {
            let cursor = json::string(params, &span);
            let page = cursor.and_then(|cursor| self.later_page(list, asker, &cursor));
            return page.map_or_else(|| Failure::BadParams("cursor").into(), Answer::Result);
        }
        self.refresh_all(hub, list, asker).await;
        let mut state = self.state(list);
        Self::rebuild(hub, list, &mut state);
        state.known = Some(state.merged.digest);
        if let (1, Some(error)) = (hub.links.len(), state.only_error()) {
            return Answer::Error(error);
        }
        let snapshot = state.last_snapshot + 1;
        let merged = Arc::clone(&state.merged);
        let paged = AtomicBool::new(false);
        let page = merged.page(list, asker, 0, |next| {
            paged.store(true, Ordering::Relaxed);
            cursor_of(snapshot, next)
        });
        if paged.into_inner() {
            state.last_snapshot = snapshot;
            state.snapshots.push_back((snapshot, merged));
            if state.snapshots.len() > KEPT_SNAPSHOTS {
                state.snapshots.pop_front();
            }
        }
        Answer::Result(page)
    }

    fn later_page(&self, list: List, asker: &Asker, cursor: &str) -> Option<String> {
        let (snapshot, from) = cursor.strip_prefix("rea:")?.split_once(':')?;
        let (snapshot, from) = (snapshot.parse().ok()?, from.parse().ok()?);
        let state = self.state(list);
        let (_, merged) = state
            .snapshots
            .iter()
            .find(|(number, _)| *number == snapshot)?;
        (from < merged.entries.len())
            .then(|| merged.page(list, asker, from, |next| cursor_of(snapshot, next)))
    }

    /// Returns which server offers `offered` in `list`, and its entry.
    pub fn find(&self, list: List, offered: &str) -> Option<(usize, Arc<Entry>)> {
        self.state(list).merged.by_name.get(offered).cloned()
    }

    /// Returns the entries that one server offers in `list`.
    pub fn entries(&self, list: List, server: usize) -> Vec<Arc<Entry>> {
        let state = self.state(list);
        let listing = state.listings.get(server).and_then(Option::as_ref);
        listing.map_or_else(Vec::new, |listing| listing.entries.clone())
    }

    /// Reads the list of every server that is running, as far as it is not known.
    pub async fn refresh_all(&self, hub: &Arc<Hub>, list: List, asker: &Arc<Asker>) {
        hub.begin();
        let patience = tokio::time::Instant::now() + FIRST_LIST_GRACE;
        let first = !self.waited.swap(true, Ordering::Relaxed);
        let readers: Vec<_> = hub
            .links
            .iter()
            .map(|link| {
                let (hub, link, asker) = (Arc::clone(hub), Arc::clone(link), Arc::clone(asker));
                tokio::spawn(async move {
                    let starting = link.is_starting();
                    if starting && !first {
                        return; // it is announced when it is there
                    }
                    link.settled().await;
                    if let Some(session) = link.running() {
                        hub.catalogue
                            .refresh(&hub, &link, &session, list, &asker)
                            .await;
                        if starting {
                            hub.catalogue.announce(&hub, &[list], None);
                        }
                    } else if hub.catalogue.is_unread(list, link.index) {
                        link.begin(&hub);
                    }
                })
            })
            .collect();
        for reader in readers {
            // What is not there in time goes on in the background and is announced then.
            let _in_time = tokio::time::timeout_at(patience, reader).await;
        }
    }

    fn is_unread(&self, list: List, server: usize) -> bool {
        let state = self.state(list);
        state.listings.get(server).is_none_or(Option::is_none)
    }

    /// Reads one list of one server, unless it is known and would have been announced.
    async fn refresh(
        &self,
        hub: &Arc<Hub>,
        link: &Link,
        session: &Arc<Session>,
        list: List,
        asker: &Asker,
    ) {
        let reader = self
            .readers
            .get(link.index)
            .and_then(|all| all.get(list.index()));
        let Some(reader) = reader else { return };
        let _one_at_a_time = reader.lock().await;
        let usable =
            |listing: &Arc<Listing>| listing.watched && listing.capabilities == asker.capabilities;
        let (known, changes) = {
            let state = self.state(list);
            let known = state.listings.get(link.index).cloned().flatten();
            (known, state.changes.get(link.index).copied())
        };
        if known.as_ref().is_some_and(usable) {
            return;
        }
        let listing = if session.can(&[list.capability()]) {
            read::read(hub, session, list, asker).await
        } else {
            Ok(Listing::default())
        };
        let mut state = self.state(list);
        match listing {
            Ok(mut listing) => {
                // It may have changed while it was read.
                listing.watched &= state.changes.get(link.index).copied() == changes;
                state.keep(link.index, Some(Arc::new(listing)), None);
            }
            // A server that is gone keeps what it offered: the next call starts it again.
            Err(Unread::Failed(_)) if hub.is_stopping() => {}
            Err(Unread::Failed(failure)) => {
                let (name, method) = (&link.profile.name, list.method());
                hub.note(&format!("server \"{name}\": {method}: {failure}"));
            }
            Err(Unread::Error(error)) => {
                let (name, method) = (&link.profile.name, list.method());
                hub.note(&format!(
                    "server \"{name}\": {method}: it answers with an error"
                ));
                state.keep(link.index, None, Some(error));
            }
        }
        Self::rebuild(hub, list, &mut state);
    }

    /// Reads the tools of a server that has just started: calls are checked against their entries.
    pub async fn first_tools(&self, hub: &Arc<Hub>, link: &Link, session: &Arc<Session>) {
        self.forget(List::Tools, link.index);
        self.refresh(hub, link, session, List::Tools, &hub.asker())
            .await;
    }

    /// Reads what else is needed of a server that has just come up.
    pub async fn came_up(&self, hub: &Arc<Hub>, link: &Arc<Link>, session: &Arc<Session>) {
        let asker = hub.asker();
        for list in [List::Prompts, List::Resources, List::Templates] {
            let announced = session.can(&[list.capability(), "listChanged"]);
            if announced || self.state(list).known.is_some() {
                self.forget(list, link.index);
                self.refresh(hub, link, session, list, &asker).await;
            }
        }
        self.announce(hub, &List::ALL, None);
    }

    /// Goes on when a server says that some of its lists have changed.
    pub fn changed(&self, hub: &Arc<Hub>, session: &Arc<Session>, lists: &'static [List]) {
        let name = &session.profile.name;
        let Some(link) = hub.links.iter().find(|link| link.profile.name == *name) else {
            return;
        };
        let (hub, link, session) = (Arc::clone(hub), Arc::clone(link), Arc::clone(session));
        // The answers that it sent before may still be on their way through the chain.
        let reached = session.sequence.reached();
        tokio::spawn(async move {
            let asker = hub.asker();
            let before: Vec<Option<Arc<Listing>>> = (lists.iter())
                .map(|list| hub.catalogue.forget(*list, link.index))
                .collect();
            for list in lists {
                hub.catalogue
                    .refresh(&hub, &link, &session, *list, &asker)
                    .await;
            }
            reached.await;
            hub.catalogue
                .announce(&hub, lists, Some(&(link.index, before)));
        });
    }

    /// Forgets that a list is known, so that it is read again; it stays on offer meanwhile.
    fn forget(&self, list: List, server: usize) -> Option<Arc<Listing>> {
        let mut state = self.state(list);
        *state.changes.get_mut(server)? += 1;
        let known = state.listings.get_mut(server)?;
        let before = known.take()?;
        *known = Some(Arc::new(Listing {
            entries: before.entries.clone(),
            others: before.others.clone(),
            before: before.before,
            capabilities: before.capabilities.clone(),
            watched: false,
        }));
        Some(before)
    }

    /// Tells the client about lists that are no longer what it knows. A list that it never asked for
    /// is told about only if a server said that it changed, and it did: `said` has the server and
    /// what was known of its lists before.
    fn announce(
        &self,
        hub: &Arc<Hub>,
        lists: &[List],
        said: Option<&(usize, Vec<Option<Arc<Listing>>>)>,
    ) {
        let mut told: Vec<&str> = Vec::new();
        for (place, list) in lists.iter().enumerate() {
            let mut state = self.state(*list);
            Self::rebuild(hub, *list, &mut state);
            let now = state.merged.digest;
            let changed = match (&state.known, &said) {
                (Some(known), _) => *known != now,
                (None, None) => false,
                (None, Some((server, before))) => {
                    let before = before.get(place).and_then(Option::as_ref);
                    let after = state.listings.get(*server).and_then(Option::as_ref);
                    before.is_none_or(|before| {
                        after.is_none_or(|after| !same(&before.entries, &after.entries))
                    })
                }
            };
            if changed {
                if state.known.is_some() {
                    state.known = Some(now);
                }
                told.push(list.changed());
            }
        }
        told.dedup();
        for method in told {
            hub.list_changed(method);
        }
    }

    fn state(&self, list: List) -> std::sync::MutexGuard<'_, State> {
        let [tools, prompts, resources, templates] = &self.lists;
        lock(match list {
            List::Tools => tools,
            List::Prompts => prompts,
            List::Resources => resources,
            List::Templates => templates,
        })
    }

    fn rebuild(hub: &Hub, list: List, state: &mut State) {
        let servers: Vec<_> = (hub.links.iter())
            .map(|link| {
                let listing = state.listings.get(link.index).cloned().flatten();
                (Arc::clone(&link.profile.name), listing)
            })
            .collect();
        let merged = merge::merge(list, &hub.chain.own_tools(), &servers);
        if !merged.twice.is_empty() && !state.told_twice {
            state.told_twice = true;
            let names = merged.twice.join(", ");
            hub.note(&format!("offered twice, only the first is kept: {names}"));
        }
        state.merged = Arc::new(merged);
    }
}

impl State {
    fn keep(&mut self, server: usize, listing: Option<Arc<Listing>>, error: Option<String>) {
        if let Some(place) = self.listings.get_mut(server) {
            *place = listing;
        }
        if let Some(place) = self.errors.get_mut(server) {
            *place = error;
        }
    }

    fn only_error(&self) -> Option<String> {
        self.errors.first().cloned().flatten()
    }
}

fn cursor_of(snapshot: u64, from: usize) -> String {
    format!("rea:{snapshot}:{from}")
}

fn same(one: &[Arc<Entry>], other: &[Arc<Entry>]) -> bool {
    let texts = |entries: &[Arc<Entry>]| -> Vec<Arc<str>> {
        entries
            .iter()
            .map(|entry| Arc::clone(&entry.original))
            .collect()
    };
    texts(one) == texts(other)
}
