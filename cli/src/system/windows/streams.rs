//! What stands at the other end of stdin and stdout.

use std::fs::File;
use std::io;
use std::os::windows::io::AsHandle;

/// It cannot be known: the next line finds out.
pub(crate) fn wait_until_unread() -> bool {
    false
}

/// Stdin as a file.
pub(crate) fn stdin() -> io::Result<File> {
    io::stdin().as_handle().try_clone_to_owned().map(File::from)
}
