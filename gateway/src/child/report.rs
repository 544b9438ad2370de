//! What passes between the gateway and a lifeline: one descriptor down, a few lines up.
//!
//! Down goes the read end of the child's standard input, and later nothing but the end of the
//! stream, which means stop. Up come lines: `started PID` or `failed ERRNO`, then
//! `exited CODE`, `signal NUMBER`.

use std::{
    io::{self, ErrorKind, IoSlice, IoSliceMut},
    mem::MaybeUninit,
    os::fd::{AsFd, OwnedFd},
};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::Exit;

/// The longest line that a lifeline may report, in bytes.
pub(super) const MAX_REPORT: u64 = 64;
/// The byte that carries the descriptor.
const CARRIER: &[u8] = b"i";

/// One line from a lifeline.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Report {
    /// The child runs, under this process id.
    Started(i32),
    /// The child could not be started, for this system error.
    Failed(i32),
    /// The child ended; what it left behind is being ended.
    Ended(Exit),
}

impl Report {
    /// Returns the line, its end included.
    pub(super) fn line(self) -> String {
        match self {
            Self::Started(pid) => format!("started {pid}\n"),
            Self::Failed(errno) => format!("failed {errno}\n"),
            Self::Ended(Exit::Code(code)) => format!("exited {code}\n"),
            Self::Ended(Exit::Signal(signal)) => format!("signal {signal}\n"),
            Self::Ended(Exit::Unknown) => "unknown 0\n".to_owned(),
        }
    }

    /// Reads a line, or returns `None` if no lifeline wrote it.
    pub(super) fn read(line: &str) -> Option<Self> {
        let (word, number) = line.strip_suffix('\n')?.split_once(' ')?;
        let number = number.parse().ok()?;
        match word {
            "started" => Some(Self::Started(number)),
            "failed" => Some(Self::Failed(number)),
            "exited" => Some(Self::Ended(Exit::Code(number))),
            "signal" => Some(Self::Ended(Exit::Signal(number))),
            "unknown" => Some(Self::Ended(Exit::Unknown)),
            _ => None,
        }
    }
}

/// Sends `descriptor` over `socket`.
pub(super) fn send(socket: impl AsFd, descriptor: impl AsFd) -> io::Result<()> {
    let descriptors = [descriptor.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&descriptors)) {
        return Err(io::Error::other("no space for the descriptor"));
    }
    sendmsg(
        socket,
        &[IoSlice::new(CARRIER)],
        &mut ancillary,
        SendFlags::NOSIGNAL,
    )?;
    Ok(())
}

/// Receives what [`send`] sent; it is closed in programs that this process starts.
pub(super) fn receive(socket: impl AsFd) -> io::Result<OwnedFd> {
    let mut carrier = [0; CARRIER.len()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    recvmsg(
        socket,
        &mut [IoSliceMut::new(&mut carrier)],
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    ancillary
        .drain()
        .find_map(|message| {
            if let RecvAncillaryMessage::ScmRights(mut descriptors) = message {
                descriptors.next()
            } else {
                None
            }
        })
        .ok_or_else(|| io::Error::from(ErrorKind::UnexpectedEof))
}

#[cfg(test)]
mod tests {
    use std::{io::Read as _, os::unix::net::UnixStream};

    use super::*;

    #[test]
    fn every_report_reads_as_it_was_written() {
        for report in [
            Report::Started(1),
            Report::Failed(2),
            Report::Ended(Exit::Code(255)),
            Report::Ended(Exit::Signal(9)),
            Report::Ended(Exit::Unknown),
        ] {
            let line = report.line();
            assert_eq!(Report::read(&line), Some(report));
            assert!(line.len() as u64 <= MAX_REPORT);
        }
        for line in ["", "\n", "started", "started 1", "started x\n", "begun 1\n"] {
            assert_eq!(Report::read(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_descriptor_arrives_and_a_closed_socket_is_no_descriptor() {
        let (near, far) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        send(&near, &writer).unwrap();
        drop((near, writer));
        let arrived = receive(&far).unwrap();
        assert_eq!(
            rustix::io::fcntl_getfd(&arrived).unwrap(),
            rustix::io::FdFlags::CLOEXEC
        );
        drop(arrived);
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
        assert_eq!(receive(&far).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }
}
