//! Finds the grants that cover a call without looking at all of them.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

use super::grant::Given;
use super::scope::Scope;
use crate::program::Digest;

/// How many words of a call are tried as the first word of a prefix.
const MAX_STARTS: usize = 64;

/// The key of prefixes by their first word.
const START: &str = "start";

/// Returns what a prefix is found by besides its whole text: its first word, if that is no option.
fn start(first: Option<&str>) -> Option<&str> {
    first.filter(|word| !word.starts_with('-'))
}

/// Finds grants by what they cover: a program's digest and called name, and the words of a scope.
///
/// A look-up costs one probe for each kind of scope, one for each length of prefix that any grant has,
/// and one for each of the first [`MAX_STARTS`] words, however many grants there are. Hits are candidates: a
/// hash may be shared, and the words of a prefix may stand elsewhere in the call.
#[derive(Clone, Debug, Default)]
pub(super) struct Index {
    hasher: RandomState,
    /// By digest, called name and scope.
    exactly: HashMap<u64, Vec<usize>>,
    /// By called name and scope: what would have counted, were the file still the same.
    by_name: HashMap<u64, Vec<usize>>,
    prefix_lengths: BTreeSet<usize>,
}

impl Index {
    /// Indexes the grants at these places.
    pub(super) fn of<'a>(grants: impl Iterator<Item = (usize, &'a Given)>) -> Self {
        let mut index = Self::default();
        for (place, given) in grants {
            let identity = &given.program.identity;
            let words: Vec<&str> = match &given.scope {
                Scope::AnyArguments {} => Vec::new(),
                Scope::Prefix { args } => args.iter().map(String::as_str).collect(),
                Scope::Exact { argv } => argv.iter().map(String::as_str).collect(),
            };
            if let Scope::Prefix { args } = &given.scope {
                index.prefix_lengths.insert(args.len());
            }
            if let Scope::Prefix { args } = &given.scope {
                let start = start(args.first().map(String::as_str));
                let exactly = index.key(
                    Some(&identity.sha256),
                    &identity.called,
                    START,
                    start.as_slice(),
                );
                index.exactly.entry(exactly).or_default().push(place);
                let by_name = index.key(None, &identity.called, START, start.as_slice());
                index.by_name.entry(by_name).or_default().push(place);
            }
            let kind = given.scope.as_str();
            let exactly = index.key(Some(&identity.sha256), &identity.called, kind, &words);
            index.exactly.entry(exactly).or_default().push(place);
            let by_name = index.key(None, &identity.called, kind, &words);
            index.by_name.entry(by_name).or_default().push(place);
        }
        index
    }

    /// Returns the places of grants that may cover this call of the program with this digest, the
    /// narrowest scope first.
    pub(super) fn exactly<'a>(
        &'a self,
        digest: &'a Digest,
        called: &'a str,
        argv: &'a [&'a str],
    ) -> impl Iterator<Item = usize> + 'a {
        self.candidates(&self.exactly, Some(digest), called, argv)
    }

    /// Returns the places of grants that may cover this call of any program called so.
    pub(super) fn by_name<'a>(
        &'a self,
        called: &'a str,
        argv: &'a [&'a str],
    ) -> impl Iterator<Item = usize> + 'a {
        self.candidates(&self.by_name, None, called, argv)
    }

    fn candidates<'a>(
        &'a self,
        map: &'a HashMap<u64, Vec<usize>>,
        digest: Option<&'a Digest>,
        called: &'a str,
        argv: &'a [&'a str],
    ) -> impl Iterator<Item = usize> + 'a {
        let rest = argv.get(1..).unwrap_or_default();
        let prefixes = self.prefix_lengths.range(..=rest.len()).rev();
        let prefixes = prefixes.filter_map(|&length| Some(("prefix", rest.get(..length)?)));
        let starts = rest.iter().take(MAX_STARTS);
        let starts = starts.filter(|word| start(Some(word)).is_some());
        let starts = starts.map(|word| (START, std::slice::from_ref(word)));
        std::iter::once(("exact", argv))
            .chain(prefixes)
            .chain(starts)
            .chain([(START, <&[&str]>::default())])
            .chain([("any-arguments", <&[&str]>::default())])
            .filter_map(move |(kind, words)| map.get(&self.key(digest, called, kind, words)))
            .flatten()
            .copied()
    }

    fn key(&self, digest: Option<&Digest>, called: &str, kind: &str, words: &[&str]) -> u64 {
        self.hasher.hash_one((digest, called, kind, words))
    }
}
