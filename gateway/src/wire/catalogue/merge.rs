//! Makes one list out of the lists of all servers, and pages out of it.

use std::{collections::HashMap, sync::Arc};

use sha2::{Digest, Sha256};

use crate::wire::{
    catalogue::{
        List,
        read::{Entry, Listing},
    },
    era::{Asker, Era},
    json::{self, quoted},
    limits::{PAGE_BYTES, PAGE_ENTRIES},
};

/// Begins the address of a resource that another server offers under the same address.
pub(super) const SAME_ADDRESS: &str = "rea://";

/// The list of everything that is offered.
#[derive(Debug, Default)]
pub(super) struct Merged {
    /// The entries, in the order of the registry.
    pub entries: Vec<Arc<str>>,
    /// By offered name: which server has it, and its entry.
    pub by_name: HashMap<String, (usize, Arc<Entry>)>,
    /// The other members of the result.
    others: Vec<(String, String)>,
    /// How many of them stand before the entries.
    before: usize,
    /// What tells two states of the list apart.
    pub digest: [u8; 32],
    /// Names that are offered twice; only the first is.
    pub twice: Vec<String>,
}

/// Members that say how long a list keeps and for whom; they are merged by their meaning.
const TIME_TO_LIVE: &str = "ttlMs";
const SCOPE: &str = "cacheScope";
const RESULT_TYPE: &str = "resultType";

/// Merges the lists of servers, given in the order of the registry with their names.
pub(super) fn merge(
    list: List,
    own: &[String],
    servers: &[(Arc<str>, Option<Arc<Listing>>)],
) -> Merged {
    let mut merged = Merged::default();
    let mut digest = Sha256::new();
    if list == List::Tools {
        merged
            .entries
            .extend(own.iter().map(|entry| Arc::from(entry.as_str())));
    }
    for (index, (server, listing)) in servers.iter().enumerate() {
        let Some(listing) = listing else { continue };
        if merged.others.is_empty() {
            merged.before = listing.before;
        }
        for (key, value) in &listing.others {
            if !merged.others.iter().any(|(known, _)| known == key) {
                merged.others.push((key.clone(), value.clone()));
            }
        }
        for entry in &listing.entries {
            add(&mut merged, list, index, server, entry);
        }
    }
    for entry in &merged.entries {
        digest.update(entry.as_bytes());
        digest.update([0]);
    }
    merged.digest = digest.finalize().into();
    merged
}

fn add(merged: &mut Merged, list: List, index: usize, server: &str, entry: &Arc<Entry>) {
    match merged.by_name.get(&entry.offered) {
        None => {
            let known = (index, Arc::clone(entry));
            merged.by_name.insert(entry.offered.clone(), known);
            merged.entries.push(Arc::clone(&entry.json));
        }
        // The same address twice in one server stays what it is.
        Some((first, _)) if *first == index && !list.is_named() => {
            merged.entries.push(Arc::clone(&entry.json));
        }
        Some(_) if list.is_named() => merged.twice.push(entry.offered.clone()),
        Some(_) => {
            let offered = other_address(server, &entry.offered);
            let json = json::member(&entry.json, &(0..entry.json.len()), list.naming())
                .and_then(|span| json::splice(&entry.json, vec![(span, quoted(&offered))]));
            if let Some(json) = json {
                merged.entries.push(json.into());
                let known = (index, Arc::clone(entry));
                merged.by_name.insert(offered, known);
            }
        }
    }
}

/// Returns the address for a resource whose own address another server offers too.
pub fn other_address(server: &str, address: &str) -> String {
    format!("{SAME_ADDRESS}{server}/{address}")
}

/// Splits such an address into server and own address.
pub fn split_address(address: &str) -> Option<(&str, &str)> {
    address.strip_prefix(SAME_ADDRESS)?.split_once('/')
}

impl Merged {
    /// Returns one page from the entry `from` on, as a result, and where the next one begins.
    pub(super) fn page(
        &self,
        list: List,
        asker: &Asker,
        from: usize,
        cursor: impl Fn(usize) -> String,
    ) -> String {
        let rest = self.entries.get(from..).unwrap_or_default();
        let mut bytes = 0;
        let fits = |entry: &&Arc<str>| {
            bytes += entry.len();
            bytes <= PAGE_BYTES
        };
        // One entry larger than a page still goes alone.
        let count = rest
            .iter()
            .take(PAGE_ENTRIES)
            .take_while(fits)
            .count()
            .max(1)
            .min(rest.len());
        let entries = rest.get(..count).unwrap_or_default().join(",");
        let mut members = Vec::new();
        for (index, (key, value)) in self.others.iter().enumerate() {
            if index == self.before {
                members.push(format!("{}:[{entries}]", quoted(list.key())));
            }
            let ours = [TIME_TO_LIVE, SCOPE, RESULT_TYPE].contains(&key.as_str());
            if asker.era == Era::Session || !ours {
                members.push(format!("{}:{value}", quoted(key)));
            }
        }
        if self.before >= self.others.len() {
            members.push(format!("{}:[{entries}]", quoted(list.key())));
        }
        if from + count < self.entries.len() {
            members.push(format!("\"nextCursor\":{}", quoted(&cursor(from + count))));
        }
        if asker.era == Era::Stateless {
            members.push(cacheable());
        }
        format!("{{{}}}", members.join(","))
    }
}

/// Returns the members that a complete result without a session needs when it may not be kept.
pub fn cacheable() -> String {
    format!("\"{RESULT_TYPE}\":\"complete\",\"{TIME_TO_LIVE}\":0,\"{SCOPE}\":\"private\"")
}
