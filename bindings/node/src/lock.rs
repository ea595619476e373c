//! Locks: one, the two sides of a read/write lock, and several together.

use std::time::{Duration, UNIX_EPOCH};

use napi::Env;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use zkrecipes::time;

use crate::event_loop::{Inbox, drop_quietly};
use crate::failure::throw;
use crate::held::{acquisition, attempt};

#[napi(custom_finalize)]
pub struct Lock {
    lock: zkrecipes::Lock,
    /// The core's sides know each other weakly, and a variable that is not used again does not keep a side alive: without
    /// this, a writer who takes read could find that write was forgotten, and wait for itself.
    _other_side: Option<zkrecipes::Lock>,
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

/// Somebody who holds or waits.
#[napi(object)]
pub struct Contender {
    pub node: String,
    pub identity: String,
    pub kind: String,
    pub session_id: BigInt,
    /// Milliseconds since 1970, for `Date`.
    pub since: f64,
    pub holds: bool,
}

impl From<zkrecipes::Contender> for Contender {
    fn from(contender: zkrecipes::Contender) -> Contender {
        Contender {
            node: contender.node,
            identity: contender.identity,
            kind: contender.kind,
            session_id: contender.session_id.into(),
            since: contender.since.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64() * 1000.0,
            holds: contender.holds,
        }
    }
}

/// Several of them, for the way to JavaScript.
pub fn contenders(contenders: Vec<zkrecipes::Contender>) -> Vec<Contender> {
    contenders.into_iter().map(Contender::from).collect()
}

/// How long whoever is asked may take before force is used.
pub fn patience(env: &Env, force_after: f64) -> napi::Result<Option<Duration>> {
    time::from_js_millis("force_after", force_after).map_err(|error| throw(env, error))
}

impl Lock {
    pub fn new(lock: zkrecipes::Lock, inbox: Inbox) -> Lock {
        Lock { lock, _other_side: None, inbox }
    }

    pub fn core(&self) -> &zkrecipes::Lock {
        &self.lock
    }
}

// What an acquisition carries is asked of its `Held`; `node/lib` knows which is the current one.
#[napi]
impl Lock {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.lock.path()
    }

    /// The call's value is a `Held`.
    #[napi(catch_unwind)]
    pub fn acquire(&self, env: &Env, timeout: f64) -> napi::Result<f64> {
        let limit = time::from_js_millis("timeout", timeout).map_err(|error| throw(env, error))?;
        Ok(acquisition(&self.inbox, self.lock.acquire_kept(limit)))
    }

    /// The call's value is a `Held`, or null when somebody else holds the lock.
    #[napi(catch_unwind)]
    pub fn try_acquire(&self) -> f64 {
        attempt(&self.inbox, self.lock.acquire_kept(Some(Duration::ZERO)))
    }

    #[napi(catch_unwind)]
    pub fn contenders(&self) -> f64 {
        let lock = self.lock.clone();
        self.inbox.run(async move { lock.contenders().await }, contenders)
    }

    /// The call's value tells whether there was anybody to ask.
    #[napi(catch_unwind)]
    pub fn revoke(&self, env: &Env, contender: Option<String>, force_after: f64) -> napi::Result<f64> {
        let patience = patience(env, force_after)?;
        let lock = self.lock.clone();
        let asking = async move { lock.revoke(contender.as_deref(), patience).await };
        Ok(self.inbox.run(asking, |asked| asked))
    }
}

impl ReadWriteLock {
    pub fn new(lock: zkrecipes::ReadWriteLock, inbox: Inbox) -> ReadWriteLock {
        ReadWriteLock { lock, inbox }
    }

    fn side(&self, side: &zkrecipes::Lock, other: &zkrecipes::Lock) -> Lock {
        Lock { lock: side.clone(), _other_side: Some(other.clone()), inbox: self.inbox.clone() }
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
        self.side(self.lock.read(), self.lock.write())
    }

    #[napi(catch_unwind)]
    pub fn write(&self) -> Lock {
        self.side(self.lock.write(), self.lock.read())
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
    pub fn paths(&self) -> Vec<String> {
        self.lock.paths().to_vec()
    }

    /// The call's value is a `Held`.
    #[napi(catch_unwind)]
    pub fn acquire(&self, env: &Env, timeout: f64) -> napi::Result<f64> {
        let limit = time::from_js_millis("timeout", timeout).map_err(|error| throw(env, error))?;
        Ok(acquisition(&self.inbox, self.lock.acquire_kept(limit)))
    }

    /// The call's value is a `Held`, or null when somebody else holds one of the locks.
    #[napi(catch_unwind)]
    pub fn try_acquire(&self) -> f64 {
        attempt(&self.inbox, self.lock.acquire_kept(Some(Duration::ZERO)))
    }

    #[napi(catch_unwind)]
    pub fn contenders(&self) -> f64 {
        let lock = self.lock.clone();
        self.inbox.run(async move { lock.contenders().await }, contenders)
    }

    /// The call's value tells whether there was anybody to ask.
    #[napi(catch_unwind)]
    pub fn revoke(&self, env: &Env, contender: Option<String>, force_after: f64) -> napi::Result<f64> {
        let patience = patience(env, force_after)?;
        let lock = self.lock.clone();
        let asking = async move { lock.revoke(contender.as_deref(), patience).await };
        Ok(self.inbox.run(asking, |asked| asked))
    }
}
