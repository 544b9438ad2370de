//! Standard input and output as asynchronous streams.
//!
//! Pipes and sockets, which is what clients give us, are used without threads in between; terminals
//! and files go through the runtime's blocking pool.

use std::os::{
    fd::{AsFd, OwnedFd},
    unix::net::UnixStream as StdStream,
};

use rustix::fs::{FileType, fstat};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{
        UnixStream,
        unix::pipe::{Receiver, Sender},
    },
};

/// How much a pipe holds, in bytes; the most that systems allow without further ado.
const PIPE_BYTES: usize = 1024 * 1024;

/// A stream to read from.
pub type Input = Box<dyn AsyncRead + Send + Unpin>;

/// A stream to write to.
pub type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// Returns standard input. Must be called inside the runtime.
pub fn input() -> Input {
    let fast: Option<Input> = match own(rustix::stdio::stdin()) {
        Some((FileType::Fifo, fd)) => {
            widen(&fd);
            Receiver::from_owned_fd(fd)
                .ok()
                .map(|pipe| Box::new(pipe) as _)
        }
        Some((FileType::Socket, fd)) => socket(fd).map(|socket| Box::new(socket) as _),
        Some(_) | None => None,
    };
    fast.unwrap_or_else(|| Box::new(tokio::io::stdin()))
}

/// Returns standard output. Must be called inside the runtime.
pub fn output() -> Output {
    let fast: Option<Output> = match own(rustix::stdio::stdout()) {
        Some((FileType::Fifo, fd)) => {
            widen(&fd);
            Sender::from_owned_fd(fd)
                .ok()
                .map(|pipe| Box::new(pipe) as _)
        }
        Some((FileType::Socket, fd)) => socket(fd).map(|socket| Box::new(socket) as _),
        Some(_) | None => None,
    };
    fast.unwrap_or_else(|| Box::new(tokio::io::stdout()))
}

/// Lets a pipe hold more, so that a large message takes fewer turns of whoever writes and whoever reads.
///
/// The system may refuse, as it does when one user has too many of them; then it stays as it is.
pub(crate) fn widen(pipe: impl AsFd) {
    let _as_it_is = rustix::pipe::fcntl_setpipe_size(pipe, PIPE_BYTES);
}

/// Returns a descriptor of our own and what kind of file it leads to.
fn own(fd: impl AsFd) -> Option<(FileType, OwnedFd)> {
    let kind = FileType::from_raw_mode(fstat(&fd).ok()?.st_mode);
    Some((kind, fd.as_fd().try_clone_to_owned().ok()?))
}

fn socket(fd: OwnedFd) -> Option<UnixStream> {
    let stream = StdStream::from(fd);
    stream.set_nonblocking(true).ok()?;
    UnixStream::from_std(stream).ok()
}
