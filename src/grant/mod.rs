//! Which lines somebody has said yes to.
//!
//! A [`Grant`] says: this program, as it is now, may be called like so, until then. [`Grants`]
//! keeps them in a file and holds a [`Pinned`](crate::program::Pinned) line against them. The
//! answer is a [`Verdict`], which carries what a prompt for approval has to show.

mod disk;
mod error;
#[expect(
    clippy::module_inception,
    reason = "a grant is what the room is named for"
)]
mod grant;
mod index;
mod judge;
mod lifetime;
mod program;
mod record;
mod runs_programs;
mod scope;
mod session;
mod store;
mod verdict;

#[doc(hidden)]
pub use disk::Step;
pub use disk::{LOCK_WAIT, MAX_STORE_BYTES};
pub use error::StoreError;
pub use grant::{Given, Grant, GrantError, GrantId, MAX_NOTE_BYTES, NotAGrantId};
pub use lifetime::{Lifetime, Moment};
pub use program::GrantedProgram;
pub use scope::Scope;
pub use session::Session;
pub use store::{GiveError, Grants};
pub use verdict::{Drift, Drifted, Granted, Missing, NotGranted, TakeError, Verdict, Why};

pub(crate) use record::check as check_file_content;
