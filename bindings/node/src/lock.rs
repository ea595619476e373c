//! Locks: one, the two sides of a read/write lock, and several together. Their verbs are those of `Handle`.

use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::handle::Handle;

#[napi(custom_finalize)]
pub struct Lock {
    lock: zkrecipes::Lock,
    inbox: Inbox,
}

#[napi(custom_finalize)]
pub struct ReadWriteLock {
    lock: zkrecipes::ReadWriteLock,
    inbox: Inbox,
}

#[napi(custom_finalize)]
pub struct MultiLock {
    lock: zkrecipes::MultiLock,
    inbox: Inbox,
}

drop_quietly!(Lock, ReadWriteLock, MultiLock);

impl Lock {
    pub fn new(lock: zkrecipes::Lock, inbox: Inbox) -> Lock {
        Lock { lock, inbox }
    }

    pub fn core(&self) -> &zkrecipes::Lock {
        &self.lock
    }
}

#[napi]
impl Lock {
    #[napi(catch_unwind)]
    pub fn handle(&self) -> Handle {
        Handle::new(&self.lock, &self.inbox)
    }
}

impl ReadWriteLock {
    pub fn new(lock: zkrecipes::ReadWriteLock, inbox: Inbox) -> ReadWriteLock {
        ReadWriteLock { lock, inbox }
    }
}

#[napi]
impl ReadWriteLock {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.lock.path()
    }

    #[napi(catch_unwind)]
    pub fn read(&self) -> Lock {
        Lock::new(self.lock.read().clone(), self.inbox.clone())
    }

    #[napi(catch_unwind)]
    pub fn write(&self) -> Lock {
        Lock::new(self.lock.write().clone(), self.inbox.clone())
    }
}

impl MultiLock {
    pub fn new(lock: zkrecipes::MultiLock, inbox: Inbox) -> MultiLock {
        MultiLock { lock, inbox }
    }
}

#[napi]
impl MultiLock {
    #[napi(catch_unwind)]
    pub fn handle(&self) -> Handle {
        Handle::new(&self.lock, &self.inbox)
    }

    #[napi(catch_unwind)]
    pub fn paths(&self) -> Vec<String> {
        self.lock.paths().to_vec()
    }
}
