//! What an event loop waits for: a file descriptor.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A file descriptor that is readable from `raise` until `lower`.
pub(crate) struct Wakeup {
    reading: OwnedFd,
    #[cfg(not(target_os = "linux"))]
    writing: OwnedFd,
}

impl Wakeup {
    #[cfg(target_os = "linux")]
    pub(crate) fn new() -> io::Result<Wakeup> {
        // SAFETY: eventfd takes two numbers and gives a new descriptor or -1.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a descriptor just opened belongs to nobody else.
        Ok(Wakeup { reading: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn new() -> io::Result<Wakeup> {
        let mut ends = [0; 2];
        // SAFETY: pipe fills the two descriptors it is given room for; they belong to nobody else.
        unsafe {
            if libc::pipe(ends.as_mut_ptr()) != 0 {
                return Err(io::Error::last_os_error());
            }
            for end in ends {
                libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
                libc::fcntl(end, libc::F_SETFL, libc::O_NONBLOCK);
            }
            Ok(Wakeup { reading: OwnedFd::from_raw_fd(ends[0]), writing: OwnedFd::from_raw_fd(ends[1]) })
        }
    }

    /// What C gets.
    pub(crate) fn number(&self) -> c_int {
        self.reading.as_raw_fd()
    }

    #[cfg(target_os = "linux")]
    fn writing_end(&self) -> RawFd {
        self.reading.as_raw_fd()
    }

    #[cfg(not(target_os = "linux"))]
    fn writing_end(&self) -> RawFd {
        self.writing.as_raw_fd()
    }

    pub(crate) fn raise(&self) {
        // SAFETY: eight bytes of our own into a descriptor of our own.
        unsafe { libc::write(self.writing_end(), (&raw const ONE).cast(), 8) };
    }

    pub(crate) fn lower(&self) {
        let mut heard = 0u64;
        // SAFETY: as above; the descriptor does not block when there is nothing to read.
        while unsafe { libc::read(self.reading.as_raw_fd(), (&raw mut heard).cast(), 8) } == 8 {}
    }
}

static ONE: u64 = 1;
