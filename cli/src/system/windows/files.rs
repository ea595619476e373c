//! Who may read a file.

use std::fs::Metadata;

/// A file has a list of those who may use it, which inherits from its folder: that of a user is their own. It is not looked at.
pub(crate) fn exposure(_known: &Metadata) -> Option<String> {
    None
}
