//! Reads one whole list of one server: all pages, within bounds.

use std::{collections::HashSet, sync::Arc};

use crate::wire::{
    catalogue::List,
    chain::Answer,
    era::Asker,
    failure::Failure,
    hub::Hub,
    json::{self, quoted},
    limits::{MAX_ENTRIES, MAX_LIST_BYTES, MAX_PAGES},
    name,
    session::Session,
};

/// One list of one server, as it was read.
#[derive(Debug, Default)]
pub struct Listing {
    /// The entries in the server's order.
    pub entries: Vec<Arc<Entry>>,
    /// The other members of the first page: key and value as it was spelled.
    pub others: Vec<(String, String)>,
    /// How many of the others stood before the entries.
    pub before: usize,
    /// For which capabilities of the client it was read.
    pub capabilities: String,
    /// Whether the server would tell us if it changed, so that it can be used again.
    pub watched: bool,
}

/// One entry of a list.
#[derive(Debug)]
pub struct Entry {
    /// The name or address under which it is offered.
    pub offered: String,
    /// The server's own.
    pub name: String,
    /// The entry with the offered name in its place.
    pub json: Arc<str>,
    /// The entry as the server wrote it.
    pub original: Arc<str>,
}

/// Why a list could not be read.
#[derive(Debug)]
pub enum Unread {
    /// The server answered with this error.
    Error(String),
    /// The server did not answer.
    Failed(Failure),
}

/// Reads all pages of a list.
///
/// # Errors
/// When the first page cannot be had. A later page that cannot be had, or a bound that is reached,
/// ends the list there and is told to the operator.
pub(super) async fn read(
    hub: &Hub,
    session: &Arc<Session>,
    list: List,
    asker: &Asker,
) -> Result<Listing, Unread> {
    let mut listing = Listing {
        capabilities: asker.capabilities.clone(),
        watched: session.can(&[list.capability(), "listChanged"]) && !session.is_stateless(),
        ..Listing::default()
    };
    let server = &session.profile.name;
    let mut seen = HashSet::new();
    let mut cursor: Option<String> = None;
    let mut bytes = 0;
    for page in 0..=MAX_PAGES {
        let fault = if page == MAX_PAGES {
            Some(format!("it has more than {MAX_PAGES} pages"))
        } else {
            match read_page(hub, session, list, asker, cursor.as_deref(), &mut listing).await {
                Ok(Page { next, size }) => {
                    bytes += size;
                    cursor = next;
                    match &cursor {
                        None => return Ok(listing),
                        Some(cursor) if !seen.insert(cursor.clone()) => {
                            Some("its pages lead back to an earlier one".to_owned())
                        }
                        Some(_) if listing.entries.len() >= MAX_ENTRIES => {
                            Some(format!("it has more than {MAX_ENTRIES} entries"))
                        }
                        Some(_) if bytes >= MAX_LIST_BYTES => {
                            Some(format!("it has more than {MAX_LIST_BYTES} bytes"))
                        }
                        Some(_) => None,
                    }
                }
                Err(unread) if page == 0 => return Err(unread),
                Err(_) => Some("a page of it cannot be read".to_owned()),
            }
        };
        if let Some(fault) = fault {
            let method = list.method();
            let count = listing.entries.len();
            hub.note(&format!(
                "server \"{server}\": {method}: {fault}; only the first {count} entries are offered"
            ));
            return Ok(listing);
        }
    }
    Ok(listing)
}

struct Page {
    /// The cursor of the next page, as it was spelled.
    next: Option<String>,
    size: usize,
}

async fn read_page(
    hub: &Hub,
    session: &Arc<Session>,
    list: List,
    asker: &Asker,
    cursor: Option<&str>,
    listing: &mut Listing,
) -> Result<Page, Unread> {
    let mut params = Vec::new();
    params.extend(cursor.map(|cursor| format!("\"cursor\":{cursor}")));
    if session.is_stateless() {
        params.push(format!("\"_meta\":{{{}}}", asker.meta_members()));
    }
    let params = format!("{{{}}}", params.join(","));
    let answer = session.ask(list.method(), &params).await;
    let result = match &answer {
        Answer::Peer(peer) => match (peer.result(), peer.error()) {
            (Some(result), _) => result,
            (None, error) => return Err(Unread::Error(error.unwrap_or_default().to_owned())),
        },
        Answer::Failed(failure) => return Err(Unread::Failed(failure.clone())),
        Answer::Result(_) | Answer::Error(_) | Answer::Silent => {
            return Err(Unread::Failed(Failure::Internal("a list was not answered")));
        }
    };
    let first = listing.entries.is_empty() && cursor.is_none();
    let mut next = None;
    let mut found = false;
    for member in json::members(result, &(0..result.len())).unwrap_or_default() {
        let value = result.get(member.value.clone()).unwrap_or_default();
        if member.key == list.key() {
            found = true;
            for span in json::elements(result, &member.value).unwrap_or_default() {
                let entry = result.get(span).unwrap_or_default();
                match entry_of(hub, session, list, entry) {
                    Some(entry) if listing.entries.len() < MAX_ENTRIES => {
                        listing.entries.push(Arc::new(entry));
                    }
                    Some(_) | None => {}
                }
            }
        } else if member.key == "nextCursor" {
            next = value.starts_with('"').then(|| value.to_owned());
        } else if first {
            listing.before += usize::from(!found);
            listing.others.push((member.key, value.to_owned()));
        }
    }
    Ok(Page {
        next,
        size: result.len(),
    })
}

fn entry_of(hub: &Hub, session: &Session, list: List, original: &str) -> Option<Entry> {
    let server = &session.profile.name;
    let span = json::member(original, &(0..original.len()), list.naming());
    let named = span.and_then(|span| Some((json::string(original, &span)?, span)));
    let Some((own, span)) = named else {
        let (method, naming) = (list.method(), list.naming());
        hub.note(&format!(
            "server \"{server}\": {method}: an entry without \"{naming}\" is left out"
        ));
        return None;
    };
    let (offered, json) = if list.is_named() {
        let offered = name::offered(server, &own);
        let json = json::splice(original, vec![(span, quoted(&offered))])?;
        (offered, json)
    } else {
        (own.clone(), original.to_owned())
    };
    let json = match list {
        List::Tools => hub.chain.offer(server, &own, &json)?,
        List::Prompts | List::Resources | List::Templates => json,
    };
    Some(Entry {
        offered,
        name: own,
        json: json.into(),
        original: original.into(),
    })
}
