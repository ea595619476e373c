//! What stands at the other end of stdin and stdout.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Waits until nobody reads any more what is written to stdout; `false` where that cannot be known.
pub(crate) fn wait_until_unread() -> bool {
    let mut pipe = libc::pollfd { fd: io::stdout().as_raw_fd(), events: 0, revents: 0 };
    // SAFETY: one valid entry, which outlives the call.
    while unsafe { libc::poll(&mut pipe, 1, -1) } < 0 {
        if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return false;
        }
    }
    pipe.revents & libc::POLLERR != 0
}

/// Stdin as a file.
pub(crate) fn stdin() -> io::Result<File> {
    io::stdin().as_fd().try_clone_to_owned().map(File::from)
}
