//! How many bytes a request takes on the wire, exactly: the server closes the connection on a frame that passes its limit,
//! and everybody on that connection suffers. What a server appends to a sequential name is not part of the request.

use super::{CreateMode, WireError, Write};
use crate::hosts;
use crate::options::AclChoice;
use crate::path::PACKET_LIMIT;

/// The number of the request and its kind.
const HEADER: usize = 8;
const INT: usize = 4;
const LONG: usize = 8;
/// Before each part of a transaction, and once behind the last: its kind, whether it is the end, an error.
const PART: usize = 9;

/// Measures requests whose paths stand below a chroot and whose nodes have an access list.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Measure {
    chroot: usize,
    acl: usize,
}

impl Measure {
    pub(crate) fn of(hosts: &str, acl: &AclChoice) -> Measure {
        Measure { chroot: hosts::chroot(hosts).len(), acl: access_list(acl) }
    }

    /// The path alone: reads, with or without a watch, carry hardly more.
    pub(crate) fn read(&self, path: &str) -> usize {
        HEADER + self.path(path) + 1
    }

    /// Several in one request.
    pub(crate) fn reads(&self, paths: &[String]) -> usize {
        self.empty_multi() + paths.iter().map(|path| PART + self.path(path) + 1).sum::<usize>()
    }

    pub(crate) fn sync(&self, path: &str) -> usize {
        HEADER + self.path(path)
    }

    pub(crate) fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> usize {
        self.create_with(path, data, mode, self.acl)
    }

    fn create_with(&self, path: &str, data: &[u8], mode: CreateMode, acl: usize) -> usize {
        HEADER + self.path(path) + INT + data.len() + acl + INT + mode.ttl().map_or(0, |_| LONG)
    }

    pub(crate) fn set(&self, path: &str, data: &[u8]) -> usize {
        HEADER + self.path(path) + INT + data.len() + INT
    }

    pub(crate) fn delete(&self, path: &str) -> usize {
        HEADER + self.path(path) + INT
    }

    pub(crate) fn multi<'a>(&self, writes: impl IntoIterator<Item = &'a Write>) -> usize {
        self.empty_multi() + writes.into_iter().map(|write| self.part(write)).sum::<usize>()
    }

    /// A transaction without its parts.
    pub(crate) fn empty_multi(&self) -> usize {
        HEADER + PART
    }

    /// What one more part adds to a transaction.
    pub(crate) fn part(&self, write: &Write) -> usize {
        let alone = match write {
            Write::Check { path, .. } => return self.check(path),
            Write::Delete { path, .. } => self.delete(path),
            Write::Create { path, data, mode, acl } => {
                self.create_with(path, data, *mode, acl.as_ref().map_or(self.acl, access_list))
            }
            Write::Set { path, data, .. } => self.set(path, data),
        };
        alone - HEADER + PART
    }

    /// What a check of one more node adds to a transaction.
    pub(crate) fn check(&self, path: &str) -> usize {
        PART + self.path(path) + INT
    }

    fn path(&self, path: &str) -> usize {
        INT + self.chroot + path.len()
    }
}

fn access_list(acl: &AclChoice) -> usize {
    let entry = |scheme: &str, id: &str| INT + INT + scheme.len() + INT + id.len();
    let entries: usize = match acl {
        AclChoice::Default | AclChoice::Open => entry("world", "anyone"),
        AclChoice::Creator => entry("auth", ""),
        AclChoice::List(entries) => entries.iter().map(|one| entry(&one.scheme, &one.id)).sum(),
    };
    INT + entries
}

/// Refuses a request of so many bytes if no server takes it.
pub(crate) fn fits(bytes: usize) -> Result<(), WireError> {
    if bytes > PACKET_LIMIT { Err(WireError::TooLarge(bytes)) } else { Ok(()) }
}
