//! How many bytes a request takes on the wire, exactly: the server closes the connection on a frame that passes its limit,
//! and everybody on that connection suffers. What a server appends to a sequential name is not part of the request.
//! A request that does not fit is never sent: the call answers TooLarge.

use zkrecipes_protocol::size;

use super::{CreateMode, WireError, Write};
use crate::hosts;
use crate::options::AclChoice;
use crate::path::PACKET_LIMIT;

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
        size::read(self.path(path))
    }

    /// Several in one request.
    pub(crate) fn reads(&self, paths: &[String]) -> usize {
        self.empty_multi() + paths.iter().map(|path| size::part(self.read(path))).sum::<usize>()
    }

    pub(crate) fn sync(&self, path: &str) -> usize {
        size::sync(self.path(path))
    }

    pub(crate) fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> usize {
        self.create_with(path, data, mode, self.acl)
    }

    fn create_with(&self, path: &str, data: &[u8], mode: CreateMode, acl: usize) -> usize {
        size::create(self.path(path), data.len(), acl, mode.ttl().is_some())
    }

    pub(crate) fn set(&self, path: &str, data: &[u8]) -> usize {
        size::set_data(self.path(path), data.len())
    }

    pub(crate) fn delete(&self, path: &str) -> usize {
        size::delete(self.path(path))
    }

    pub(crate) fn multi<'a>(&self, writes: impl IntoIterator<Item = &'a Write>) -> usize {
        self.empty_multi() + writes.into_iter().map(|write| self.part(write)).sum::<usize>()
    }

    /// A transaction without its parts.
    pub(crate) fn empty_multi(&self) -> usize {
        size::empty_multi()
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
        size::part(alone)
    }

    /// What a check of one more node adds to a transaction.
    pub(crate) fn check(&self, path: &str) -> usize {
        size::part(size::check(self.path(path)))
    }

    /// How long it is with the chroot before it.
    fn path(&self, path: &str) -> usize {
        self.chroot + path.len()
    }
}

fn access_list(acl: &AclChoice) -> usize {
    match acl {
        AclChoice::Default | AclChoice::Open => size::acl([("world".len(), "anyone".len())]),
        AclChoice::Creator => size::acl([("auth".len(), 0)]),
        AclChoice::List(entries) => size::acl(entries.iter().map(|one| (one.scheme.len(), one.id.len()))),
    }
}

/// Refuses a request of so many bytes if no server takes it.
pub(crate) fn fits(bytes: usize) -> Result<(), WireError> {
    if bytes > PACKET_LIMIT { Err(WireError::TooLarge(bytes)) } else { Ok(()) }
}
