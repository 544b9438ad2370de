//! Which server is meant by a name or an address.

use std::sync::Arc;

use super::{
    catalogue::{Entry, List, split_address},
    era::Asker,
    hub::Hub,
    link::Link,
    name,
    session::Session,
};

/// A server and what is asked of it.
pub(super) struct Target {
    /// The server.
    pub(super) link: Arc<Link>,
    /// The name that it knows.
    pub(super) name: String,
    /// The entry in its list, if it was listed.
    pub(super) entry: Option<Arc<Entry>>,
}

/// Finds the server behind an offered name: by what was offered, by the name alone while the server
/// has not said what it offers, and at last by asking all of them.
pub(super) async fn find_name(
    hub: &Arc<Hub>,
    asker: &Arc<Asker>,
    list: List,
    offered: &str,
) -> Option<Target> {
    if name::is_reserved(offered) {
        return None;
    }
    let known = || {
        let (index, entry) = hub.catalogue.find(list, offered)?;
        let (link, name) = (hub.links.get(index)?, entry.name.clone());
        let (link, entry) = (Arc::clone(link), Some(entry));
        Some(Target { link, name, entry })
    };
    if let Some(target) = known() {
        return Some(target);
    }
    let stopped = hub.chain.is_stopped();
    let Some((link, name)) = plain_name(hub, offered) else {
        if stopped {
            return None;
        }
        hub.catalogue.refresh_all(hub, list, asker).await;
        return known();
    };
    if !stopped {
        // Once it is running, its tools are known; a failure is told when the call is sent.
        drop(link.session(hub).await);
    }
    let entry = None;
    known().or(Some(Target { link, name, entry }))
}

/// Splits a name that was not shortened into its server and the server's own name.
fn plain_name(hub: &Hub, offered: &str) -> Option<(Arc<Link>, String)> {
    let (server, name) = name::split(offered)?;
    let mut links = hub.links.iter();
    let link = links.find(|link| &*link.profile.name == server)?;
    (name::offered(server, name) == offered).then(|| (Arc::clone(link), name.to_owned()))
}

/// Finds the servers that may have a resource: the one that lists it, or the one with a template
/// that fits; failing both, every server with resources, in the order of the registry.
pub(super) async fn find_address(hub: &Arc<Hub>, asker: &Arc<Asker>, address: &str) -> Vec<Target> {
    let to = |link: &Arc<Link>, name: String, entry| Target {
        link: Arc::clone(link),
        name,
        entry,
    };
    let listed = || {
        let (index, entry) = hub.catalogue.find(List::Resources, address)?;
        let link = hub.links.get(index)?;
        Some(to(link, entry.name.clone(), Some(entry)))
    };
    if let Some(target) = listed() {
        return vec![target];
    }
    if let Some((server, own)) = split_address(address)
        && let Some(link) = hub.links.iter().find(|link| &*link.profile.name == server)
    {
        return vec![to(link, own.to_owned(), None)];
    }
    let [link] = hub.links.as_slice() else {
        if hub.chain.is_stopped() {
            return Vec::new();
        }
        for list in [List::Resources, List::Templates] {
            hub.catalogue.refresh_all(hub, list, asker).await;
        }
        if let Some(target) = listed() {
            return vec![target];
        }
        return fitting(hub, address)
            .into_iter()
            .map(|link| to(&link, address.to_owned(), None))
            .collect();
    };
    vec![to(link, address.to_owned(), None)]
}

fn fitting(hub: &Hub, address: &str) -> Vec<Arc<Link>> {
    let by_template = |link: &&Arc<Link>| {
        let templates = hub.catalogue.entries(List::Templates, link.index);
        templates.iter().any(|entry| fits(&entry.name, address))
    };
    let has_resources = |(_, session): &(Arc<Link>, Arc<Session>)| session.can(&["resources"]);
    let fitting: Vec<_> = hub.links.iter().filter(by_template).cloned().collect();
    if !fitting.is_empty() {
        return fitting;
    }
    let running = hub.running();
    running
        .into_iter()
        .filter(has_resources)
        .map(|(link, _)| link)
        .collect()
}

/// Whether an address may come from a template: its fixed parts stand in it in their order.
fn fits(template: &str, address: &str) -> bool {
    let mut rest = address;
    let mut fixed = template.split(['{', '}']).step_by(2);
    let Some(first) = fixed.next() else {
        return false;
    };
    let Some(after) = rest.strip_prefix(first) else {
        return false;
    };
    rest = after;
    let mut last = first;
    for part in fixed {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = rest.get(at + part.len()..).unwrap_or_default();
        last = part;
    }
    last.is_empty() || rest.is_empty() || address.ends_with(last)
}
