//! The verbs of everything that can be acquired. What an acquisition carries is asked of its `Held`; `node/lib` knows which
//! is the current one.

use std::time::{Duration, UNIX_EPOCH};

use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use zkrecipes::{ErrorKind, drive, time};

use crate::event_loop::{Inbox, drop_quietly};
use crate::held::Held;
use crate::remote::{Remote, same, tell_of_waits};

#[napi(custom_finalize)]
pub struct Handle(Remote<zkrecipes::Handle>);

drop_quietly!(Handle);

tell_of_waits!(Handle);

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

/// How a wait stands that goes on.
#[napi(object)]
pub struct WaitProgress {
    pub path: String,
    /// In milliseconds.
    pub waited: f64,
    pub ahead: Option<u32>,
    pub holder: Option<Contender>,
}

impl From<zkrecipes::WaitProgress> for WaitProgress {
    fn from(progress: zkrecipes::WaitProgress) -> WaitProgress {
        WaitProgress {
            path: progress.path,
            waited: progress.waited.as_secs_f64() * 1000.0,
            ahead: progress.ahead.map(|ahead| u32::try_from(ahead).unwrap_or(u32::MAX)),
            holder: progress.holder.map(Contender::from),
        }
    }
}

impl Handle {
    pub fn new(handle: &zkrecipes::Handle, inbox: &Inbox) -> Handle {
        Handle(Remote::new(handle.clone(), inbox))
    }
}

#[napi]
impl Handle {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// The call's value is a `Held`. `n` is for permits.
    #[napi(catch_unwind)]
    pub fn acquire(&self, timeout: f64, n: Option<u32>) -> f64 {
        let home = self.0.inbox.clone();
        let acquire = |handle, limit| drive::acquire(&handle, n.unwrap_or(1) as usize, limit);
        self.0.wait(timeout, acquire, move |granted| Held::new(granted, &home))
    }

    /// The call's value is a `Held`, or null when it is not to be had without waiting.
    #[napi(catch_unwind)]
    pub fn try_acquire(&self, n: Option<u32>) -> f64 {
        let home = self.0.inbox.clone();
        let attempt = |handle| {
            let acquiring = drive::acquire(&handle, n.unwrap_or(1) as usize, Some(Duration::ZERO));
            async move {
                match acquiring.await {
                    Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
                    outcome => outcome.map(Some),
                }
            }
        };
        self.0.ask(attempt, move |granted| granted.map(|granted| Held::new(granted, &home)))
    }

    #[napi(catch_unwind)]
    pub fn contenders(&self) -> f64 {
        self.0.ask(|handle| async move { handle.contenders().await }, contenders)
    }

    /// The call's value tells whether there was anybody to ask.
    #[napi(catch_unwind)]
    pub fn revoke(&self, contender: Option<String>, force_after: f64) -> f64 {
        let patience = time::from_js_millis("forceAfter", force_after);
        self.0.ask(|handle| async move { handle.revoke(contender.as_deref(), patience?).await }, same)
    }
}
