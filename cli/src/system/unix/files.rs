//! Who may read a file.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// Who else may read or write it.
pub(crate) fn exposure(known: &Metadata) -> Option<String> {
    // SAFETY: it only answers a number.
    let own = unsafe { libc::geteuid() };
    match known.mode() & 0o777 {
        _ if known.uid() != own && known.uid() != 0 => Some("belongs to somebody else".to_owned()),
        mode if mode & 0o077 != 0 => Some(format!("can be reached by others (its mode is {mode:o})")),
        _ => None,
    }
}
