//! Versions that run over. After 2147483647 they go on at -2147483648, and so come to -1, which a write takes for any
//! version: it would guard nothing.
//!
//! So no version of ours is -1: the transaction that begins at -2 writes twice. Others write once, so it may be met all the
//! same. There whoever writes creates a node that is named after the change which led there, in the same transaction; it can
//! be created once, and so only one of ours writes. (Others guard nothing there, and that we cannot do for them.)

use super::sight::At;
use crate::session::once::mark::first_of_all;
use crate::session::wire::{WireError, Write};

const ANY: i32 = -1;

/// What sets the counter, if it is still at `at`, where the change `mzxid` has led. The first part is refused otherwise.
pub(super) fn guarded(path: &str, data: Vec<u8>, at: At, mzxid: i64) -> Vec<Write> {
    let set = |version| Write::Set { path: path.to_owned(), data: data.clone(), version: Some(version) };
    match at.version {
        ANY => vec![first_of_all(path, (at.czxid, mzxid)), set(ANY)],
        -2 => vec![set(-2), set(ANY)],
        version => vec![set(version)],
    }
}

/// Whether the first part was refused because the counter is not as it was read.
pub(super) fn has_changed(error: &WireError) -> bool {
    matches!(error, WireError::BadVersion | WireError::NoNode | WireError::NodeExists)
}
