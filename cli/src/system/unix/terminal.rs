//! The terminal: its size, and keys as they are typed.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Keys come at once and are not shown, until it is dropped; signals are still sent.
pub(crate) struct Raw(libc::termios);

impl Raw {
    /// `None` where stdin is no terminal.
    pub(crate) fn enter() -> Option<Raw> {
        let mut found = MaybeUninit::uninit();
        // SAFETY: written when the call succeeds, and read only then.
        let before: libc::termios = unsafe {
            if libc::tcgetattr(libc::STDIN_FILENO, found.as_mut_ptr()) != 0 {
                return None;
            }
            found.assume_init()
        };
        let mut raw = before;
        raw.c_lflag &= !(libc::ICANON | libc::ECHO);
        // Stopped, it would leave the terminal like this to whoever comes next.
        raw.c_cc[libc::VSUSP] = 0;
        // SAFETY: a valid termios.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSADRAIN, &raw) };
        Some(Raw(before))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: what was found there.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSADRAIN, &self.0) };
    }
}

/// What is written to it moves its cursor, as it does anyway.
pub(crate) fn understand_escapes() {}

/// Columns and lines of the terminal; zeros where there is none.
pub(crate) fn size() -> (usize, usize) {
    // SAFETY: a winsize of zeros is a valid one to write to.
    let size = unsafe {
        let mut size: libc::winsize = std::mem::zeroed();
        libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &mut size);
        size
    };
    (size.ws_col.into(), size.ws_row.into())
}

/// What is typed.
pub(crate) struct Typed(OwnedFd);

/// Ends the reading of what is typed when it is dropped.
pub(crate) struct Stop(#[expect(dead_code, reason = "closed when it is dropped")] OwnedFd);

impl Typed {
    pub(crate) fn open() -> io::Result<(Typed, Stop)> {
        let mut ends = [0; 2];
        // SAFETY: room for two descriptors, which nobody else owns.
        unsafe {
            if libc::pipe(ends.as_mut_ptr()) < 0 {
                return Err(io::Error::last_os_error());
            }
            Ok((Typed(OwnedFd::from_raw_fd(ends[0])), Stop(OwnedFd::from_raw_fd(ends[1]))))
        }
    }

    /// Waits for what comes next; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Vec<u8>> {
        let entry = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut waited = [entry(libc::STDIN_FILENO), entry(self.0.as_raw_fd())];
        // SAFETY: two valid entries.
        while unsafe { libc::poll(waited.as_mut_ptr(), 2, -1) } < 0 {}
        if waited[1].revents != 0 {
            return None;
        }
        let mut buffer = [0u8; 64];
        // SAFETY: as many bytes as there is room for.
        let count = unsafe { libc::read(libc::STDIN_FILENO, buffer.as_mut_ptr().cast(), 64) };
        match usize::try_from(count) {
            Ok(0) | Err(_) => None,
            Ok(count) => Some(buffer[..count].to_vec()),
        }
    }
}
