//! The grants that were given, and the file that keeps them.

use std::io;
use std::path::{Path, PathBuf};

use super::disk::{Locked, PrivateFile, Stamp, Step};
use super::error::StoreError;
use super::grant::{Given, Grant, GrantError, GrantId};
use super::index::Index;
use super::lifetime::{Lifetime, Moment, boot_id};
use super::record;
use super::session::Session;
use super::verdict::TakeError;

/// The grants that were given, as the file held them when it was last read.
///
/// The file is strict JSON, mode 600, in a directory that only its owner may write to. It is
/// replaced whole, under a lock in a file beside it, so that a reader sees one state or the next
/// and a process that dies while it writes loses nothing. A file that is not there holds no
/// grants; one that is damaged, newer, or open to others is an error.
///
/// Whoever has the user's rights can write grants: the file keeps others out, not the user.
#[derive(Clone, Debug)]
pub struct Grants {
    file: Option<PrivateFile>,
    stamp: Option<Stamp>,
    boot_id: String,
    session: Option<Session>,
    given: Vec<Given>,
    index: Index,
    accepts_not_held: bool,
}

impl Grants {
    /// Reads the grants in the file at `path`, for use in this session.
    ///
    /// With `None` for a session, grants for a session do not count.
    ///
    /// # Errors
    ///
    /// When the file is there and cannot be trusted, read or understood.
    pub fn open(path: impl AsRef<Path>, session: Option<Session>) -> Result<Self, StoreError> {
        let file = PrivateFile::at(path.as_ref())?;
        let mut grants = Self {
            file: None,
            stamp: None,
            boot_id: boot_id().map_err(no_boot_id)?,
            session,
            given: Vec::new(),
            index: Index::default(),
            accepts_not_held: false,
        };
        let read = file.read()?;
        grants.take_in(&file.path(), read)?;
        grants.file = Some(file);
        Ok(grants)
    }

    /// Returns a list of grants that no file keeps. Once-grants in it cannot be used.
    ///
    /// # Errors
    ///
    /// When the name of the boot cannot be read from `/proc`.
    pub fn in_memory(session: Option<Session>) -> Result<Self, StoreError> {
        Ok(Self {
            file: None,
            stamp: None,
            boot_id: boot_id().map_err(no_boot_id)?,
            session,
            given: Vec::new(),
            index: Index::default(),
            accepts_not_held: false,
        })
    }

    /// Reads the file again if it has changed, and returns whether it had.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open). The grants read before are dropped then: nothing counts.
    pub fn refresh(&mut self) -> Result<bool, StoreError> {
        let Some(file) = self.file.clone() else {
            return Ok(false);
        };
        let changed = file.stamp().and_then(|stamp| {
            if stamp == self.stamp {
                return Ok(false);
            }
            let read = file.read()?;
            self.take_in(&file.path(), read)?;
            Ok(true)
        });
        if changed.is_err() {
            self.stamp = None;
            self.replace_given(Vec::new());
        }
        changed
    }

    /// Returns the grants in the order in which they were given.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Given> + DoubleEndedIterator {
        self.given.iter()
    }

    /// Returns the grant of this name.
    pub fn find(&self, id: GrantId) -> Option<&Given> {
        self.given.iter().find(|given| given.id == id)
    }

    /// Returns the session that these grants are read in.
    pub const fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Returns the present moment, as grants count it.
    pub fn now(&self) -> Moment {
        Moment::now_in(self.boot_id.clone())
    }

    /// Returns whether a grant counts now, in this session.
    pub fn counts(&self, given: &Given) -> bool {
        self.counts_at(given, &self.now())
    }

    pub(super) fn counts_at(&self, given: &Given, now: &Moment) -> bool {
        given.used.is_none() && given.lifetime.counts(given.at, now, self.session.as_ref())
    }

    /// Gives all of these grants, or none.
    ///
    /// # Errors
    ///
    /// When one of them cannot be given, or the file cannot be read or written.
    pub fn give(&mut self, grants: Vec<Grant>) -> Result<Vec<GrantId>, GiveError> {
        for grant in &grants {
            grant.check()?;
        }
        let now = self.now().unix;
        let ids = self.change(|given| {
            let mut ids = Vec::with_capacity(grants.len());
            for grant in grants {
                let id = new_id(given)?;
                given.push(Given::new(id, grant, now));
                ids.push(id);
            }
            Ok(ids)
        })?;
        Ok(ids)
    }

    /// Takes a grant back.
    ///
    /// # Errors
    ///
    /// When there is none of this name, or the file cannot be read or written.
    pub fn revoke(&mut self, id: GrantId) -> Result<Given, StoreError> {
        self.change(|given| {
            let place = given.iter().position(|given| given.id == id);
            let place = place.ok_or_else(|| StoreError::NoSuchGrant { id: id.to_string() })?;
            Ok(given.remove(place))
        })
    }

    /// Removes what will never count again: once-grants that were used, times that have passed,
    /// and sessions whose leader has ended. Returns what was removed.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or written.
    pub fn prune(&mut self) -> Result<Vec<Given>, StoreError> {
        let now = self.now();
        let over = |given: &mut Given| {
            given.used.is_some()
                || match &given.lifetime {
                    Lifetime::Once {} | Lifetime::Always {} => false,
                    Lifetime::Session { session } => session.has_ended(&now.boot_id),
                    Lifetime::Until { .. } => !given.lifetime.counts(given.at, &now, None),
                }
        };
        self.change(|given| Ok(given.extract_if(.., over).collect()))
    }

    /// Also grants lines that a shell is to run although the user can change the files: the shell
    /// opens them anew, and may find others than those that were granted.
    #[must_use]
    pub fn dangerous_not_held(self) -> Self {
        Self {
            accepts_not_held: true,
            ..self
        }
    }

    /// Calls `hook` at each step of a write from now on, so that tests can cut it short.
    #[doc(hidden)]
    pub fn on_step(&mut self, hook: fn(Step)) {
        if let Some(file) = &mut self.file {
            file.on_step(hook);
        }
    }

    pub(super) fn file(&self) -> Option<&PrivateFile> {
        self.file.as_ref()
    }

    pub(super) fn given_at(&self, place: usize) -> Option<&Given> {
        self.given.get(place)
    }

    pub(super) const fn accepts_not_held(&self) -> bool {
        self.accepts_not_held
    }

    pub(super) const fn index(&self) -> &Index {
        &self.index
    }

    /// Changes the grants under the lock, starting from what the file holds by then.
    fn change<T>(
        &mut self,
        change: impl FnOnce(&mut Vec<Given>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let Some(file) = self.file.clone() else {
            let mut given = self.given.clone();
            let result = change(&mut given)?;
            self.replace_given(given);
            return Ok(result);
        };
        let lock = file.lock()?;
        let (result, given) = rewrite(&file, &lock, change)?;
        self.stamp = lock.stamp()?;
        self.replace_given(given);
        Ok(result)
    }

    fn take_in(&mut self, path: &Path, read: Option<(Vec<u8>, Stamp)>) -> Result<(), StoreError> {
        let (given, stamp) = match read {
            Some((bytes, stamp)) => (record::read(path, &bytes)?, Some(stamp)),
            None => (Vec::new(), None),
        };
        self.stamp = stamp;
        self.replace_given(given);
        Ok(())
    }

    fn replace_given(&mut self, given: Vec<Given>) {
        let now = self.now();
        // What does not count now will not count later in this session either.
        let counting = given.iter().enumerate();
        let counting = counting.filter(|(_, given)| self.counts_at(given, &now));
        self.index = Index::of(counting);
        self.given = given;
    }
}

/// Marks these once-grants as used, all or none, so that it lasts.
pub(super) fn use_up(file: &PrivateFile, once: &[GrantId]) -> Result<(), TakeError> {
    let lock = file.lock()?;
    let now = Moment::now_in(String::new()).unix;
    let mut refused = None;
    let used = rewrite(file, &lock, |given| {
        for &id in once {
            let found = given
                .iter_mut()
                .find(|given| given.id == id && given.is_once());
            let Some(found) = found else {
                refused = Some(TakeError::Revoked(id));
                return Err(StoreError::NoSuchGrant { id: id.to_string() });
            };
            if found.used.is_some() {
                refused = Some(TakeError::Used(id));
                return Err(StoreError::NoSuchGrant { id: id.to_string() });
            }
            found.used = Some(now);
        }
        Ok(())
    });
    match (used, refused) {
        (Ok(_), _) => Ok(()),
        (Err(_), Some(refused)) => Err(refused),
        (Err(error), None) => Err(error.into()),
    }
}

fn rewrite<T>(
    file: &PrivateFile,
    lock: &Locked<'_>,
    change: impl FnOnce(&mut Vec<Given>) -> Result<T, StoreError>,
) -> Result<(T, Vec<Given>), StoreError> {
    let path = file.path();
    let mut given = match lock.read()? {
        Some((bytes, _)) => record::read(&path, &bytes)?,
        None => Vec::new(),
    };
    let before = given.clone();
    let result = change(&mut given)?;
    if given != before {
        lock.replace(&record::write(&path, &given)?)?;
    }
    Ok((result, given))
}

fn new_id(given: &[Given]) -> Result<GrantId, StoreError> {
    loop {
        let mut bytes = [0; 8];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).map_err(
            |error| StoreError::System {
                path: PathBuf::from("getrandom"),
                doing: "make up a name",
                source: error.into(),
            },
        )?;
        let id = GrantId::new(u64::from_ne_bytes(bytes));
        if given.iter().all(|given| given.id != id) {
            return Ok(id);
        }
    }
}

fn no_boot_id(source: io::Error) -> StoreError {
    StoreError::System {
        path: PathBuf::from("/proc/sys/kernel/random/boot_id"),
        doing: "read it",
        source,
    }
}

/// Grants that could not be given.
#[derive(Debug, thiserror::Error)]
pub enum GiveError {
    /// One of them must not be given.
    #[error(transparent)]
    Grant(#[from] GrantError),
    /// The file of grants cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}
