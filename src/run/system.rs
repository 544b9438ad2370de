//! What a new process does between clone and exec, and nothing else.
//!
//! This is the one module with `unsafe` in it. A program that is already open is executed with
//! `execveat`, and the process that does so shares the memory of the one that starts it until
//! then: that costs no copy of the page tables, and the pid and a descriptor of the process come
//! in one step. The standard library offers neither.
#![expect(
    unsafe_code,
    reason = "clone and execveat have no safe form that is fit for a new process"
)]

use std::ffi::{CString, c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use libc::{c_char, c_long, c_uint};
use rustix::process::Pid;

use super::process::Process;

/// The stack that the new process has until it becomes the program, in bytes.
const STACK_BYTES: usize = 64 << 10;

/// What a new process becomes. Everything is laid out before it starts.
#[derive(Debug)]
pub(super) struct Image {
    /// The program, open for reading.
    pub(super) program: OwnedFd,
    /// Where standard input, output and error lead; each descriptor is above these three. `None`
    /// stands for where they lead already.
    pub(super) streams: [Option<OwnedFd>; 3],
    /// Descriptors that the program keeps, above the standard three.
    pub(super) kept: Vec<OwnedFd>,
    /// The directory to work in.
    pub(super) directory: OwnedFd,
    pub(super) argv: Strings,
    pub(super) envp: Strings,
    /// Whether the process ends when the thread that starts it does.
    pub(super) ends_with_thread: bool,
}

/// What the new process sees of the memory it shares.
struct Start<'a> {
    image: &'a Image,
    /// What kept it from becoming the program.
    errno: AtomicI32,
}

impl Image {
    /// Starts a process that becomes this image. By the time this returns it has.
    pub(super) fn start(&self) -> io::Result<Process> {
        let start = Start {
            image: self,
            errno: AtomicI32::new(0),
        };
        let mut stack: Vec<MaybeUninit<u8>> = Vec::with_capacity(STACK_BYTES);
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
        let mut pidfd: c_int = -1;
        // SAFETY: the stack and `start` outlive the time that the memory is shared, since
        // CLONE_VFORK suspends this thread until the process has executed the program or ended.
        // No handler of a signal runs in it: every signal is blocked before, and the process
        // takes the handlers out before it lets one through. It makes system calls that are
        // async-signal-safe on memory that was laid out before; it neither allocates nor locks.
        let pid = unsafe {
            let top = stack.as_mut_ptr().add(STACK_BYTES).cast::<c_void>();
            let top = top.map_addr(|address| address & !0xf);
            let blocked = Blocked::all()?;
            let argument = ptr::from_ref(&start).cast_mut().cast::<c_void>();
            let pid = libc::clone(run, top, flags, argument, &raw mut pidfd);
            let failed = io::Error::last_os_error();
            drop(blocked);
            if pid == -1 {
                return Err(failed);
            }
            pid
        };
        // SAFETY: the kernel has made this descriptor for us, and nobody else knows it.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::InvalidData)?;
        let mut process = Process::new(pid, pidfd);
        match start.errno.load(Ordering::Acquire) {
            0 => Ok(process),
            errno => {
                process.wait()?;
                Err(io::Error::from_raw_os_error(errno))
            }
        }
    }

    /// Becomes the image, or says why not. Runs in the new process.
    fn enter(&self) -> io::Error {
        match self.prepare() {
            Ok(()) => self.exec(),
            Err(error) => error,
        }
    }

    fn prepare(&self) -> io::Result<()> {
        // SAFETY: plain system calls on numbers, and on descriptors that `self` keeps open.
        unsafe {
            // A session of its own has no controlling terminal, so nothing can be typed into one.
            checked(libc::setsid())?;
            if self.ends_with_thread {
                checked(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            }
            checked(libc::fchdir(self.directory.as_raw_fd()))?;
            for (stream, number) in self.streams.iter().zip(0..) {
                if let Some(stream) = stream {
                    checked(libc::dup2(stream.as_raw_fd(), number))?;
                }
            }
            let first = libc::STDERR_FILENO + 1;
            checked(libc::syscall(
                libc::SYS_close_range,
                first,
                c_uint::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            ))?;
            for kept in &self.kept {
                checked(libc::fcntl(kept.as_raw_fd(), libc::F_SETFD, 0))?;
            }
        }
        take_handlers_out()
    }

    fn exec(&self) -> io::Error {
        // SAFETY: the path is a terminated empty text, the lists are terminated by null pointers
        // and point to texts that `self` owns. The call only returns if it failed.
        unsafe {
            libc::syscall(
                libc::SYS_execveat,
                self.program.as_raw_fd(),
                c"".as_ptr(),
                self.argv.pointers.as_ptr(),
                self.envp.pointers.as_ptr(),
                libc::AT_EMPTY_PATH,
            );
        }
        io::Error::last_os_error()
    }
}

/// Returns whether the kernel would forget how a child of this process ends.
pub(super) fn forgets_children() -> io::Result<bool> {
    // SAFETY: the structure is plain numbers for which zero is a value, and outlives the call.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        checked(libc::sigaction(libc::SIGCHLD, ptr::null(), &raw mut action))?;
        Ok(action.sa_sigaction == libc::SIG_IGN || action.sa_flags & libc::SA_NOCLDWAIT != 0)
    }
}

/// Where the new process starts; what it returns is its exit status.
extern "C" fn run(start: *mut c_void) -> c_int {
    // SAFETY: `Image::start` passes a pointer to a value that outlives this process's use of it.
    let start = unsafe { &*start.cast::<Start<'_>>() };
    let errno = start.image.enter().raw_os_error();
    let errno = errno.unwrap_or(libc::EINVAL);
    start.errno.store(errno, Ordering::Release);
    127
}

/// Gives the program what a shell would: no handlers, no signal blocked, and a broken pipe that
/// ends it. What is ignored stays so.
fn take_handlers_out() -> io::Result<()> {
    // SAFETY: the structures are plain numbers for which zero is a value, and outlive the calls.
    unsafe {
        let standard: libc::sigaction = std::mem::zeroed();
        for signal in 1..=libc::SIGRTMAX() {
            let mut action: libc::sigaction = std::mem::zeroed();
            // The signals that the C library keeps for itself are not to be had.
            if libc::sigaction(signal, ptr::null(), &raw mut action) != 0 {
                continue;
            }
            let handled = ![libc::SIG_DFL, libc::SIG_IGN].contains(&action.sa_sigaction);
            if handled || signal == libc::SIGPIPE {
                checked(libc::sigaction(
                    signal,
                    &raw const standard,
                    ptr::null_mut(),
                ))?;
            }
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        checked(libc::sigemptyset(&raw mut none))?;
        checked(libc::sigprocmask(
            libc::SIG_SETMASK,
            &raw const none,
            ptr::null_mut(),
        ))
    }
}

/// Every signal is blocked for this thread until this is dropped.
struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    fn all() -> io::Result<Self> {
        // SAFETY: the sets are plain numbers for which zero is a value, and outlive the calls.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            let mut before: libc::sigset_t = std::mem::zeroed();
            checked(libc::sigfillset(&raw mut all))?;
            match libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before) {
                0 => Ok(Self { before }),
                errno => Err(io::Error::from_raw_os_error(errno)),
            }
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: the set was filled in by the call that blocked the signals.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut());
        }
    }
}

fn checked(result: impl Into<c_long>) -> io::Result<()> {
    if result.into() == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Texts, and the list of pointers to them that exec takes.
#[derive(Debug)]
pub(super) struct Strings {
    /// Pointers into `owned`, then a null pointer.
    pointers: Vec<*const c_char>,
    _owned: Vec<CString>,
}

impl From<Vec<CString>> for Strings {
    fn from(owned: Vec<CString>) -> Self {
        let pointers = owned.iter().map(|text| text.as_ptr());
        Self {
            pointers: pointers.chain([ptr::null()]).collect(),
            _owned: owned,
        }
    }
}
