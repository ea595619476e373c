//! The election: what it has beside the verbs of `Handle`.

use std::sync::{Arc, Mutex, PoisonError};

use napi::bindgen_prelude::{BigInt, Buffer};
use napi_derive::napi;
use zkrecipes::drive;

use crate::event_loop::{Inbox, drop_quietly};
use crate::failure::OrThrow;
use crate::handle::Handle;
use crate::held::Held;
use crate::remote::Remote;

#[napi(custom_finalize)]
pub struct Election(pub(crate) Remote<zkrecipes::Election>);

/// The terms of one `run`.
#[napi(custom_finalize)]
pub struct Terms {
    /// Here while nobody waits for the next term.
    terms: Arc<Mutex<Option<drive::Terms>>>,
    inbox: Inbox,
}

drop_quietly!(Election, Terms);

#[napi(object)]
pub struct Leader {
    pub identity: String,
    pub data: Buffer,
    pub epoch: BigInt,
    pub acknowledged: bool,
}

pub fn leader(leader: Option<zkrecipes::Leader>) -> Option<Leader> {
    leader.map(|leader| Leader {
        identity: leader.identity,
        data: leader.data.into(),
        epoch: leader.epoch.into(),
        acknowledged: leader.acknowledged,
    })
}

impl Election {
    pub fn new(election: zkrecipes::Election, inbox: &Inbox) -> Election {
        Election(Remote::new(election, inbox))
    }
}

#[napi]
impl Election {
    #[napi(catch_unwind)]
    pub fn handle(&self) -> Handle {
        Handle::new(&self.0, &self.0.inbox)
    }

    #[napi(catch_unwind)]
    pub fn set_healthy(&self, healthy: bool) {
        self.0.set_healthy(healthy);
    }

    /// In milliseconds.
    #[napi(catch_unwind)]
    pub fn health_interval(&self) -> f64 {
        drive::HEALTH_INTERVAL.as_secs_f64() * 1000.0
    }

    #[napi(catch_unwind)]
    pub fn terms(&self, env: &napi::Env) -> napi::Result<Terms> {
        let terms = drive::terms(&self.0).or_throw(env)?;
        Ok(Terms { terms: Arc::new(Mutex::new(Some(terms))), inbox: self.0.inbox.clone() })
    }
}

impl Terms {
    fn with(&self, tell: impl FnOnce(&mut drive::Terms)) {
        if let Some(terms) = &mut *self.terms.lock().unwrap_or_else(PoisonError::into_inner) {
            tell(terms);
        }
    }
}

#[napi]
impl Terms {
    /// Campaigns; the call's value is a `Held`. One call at a time.
    #[napi(catch_unwind)]
    pub fn next(&self) -> f64 {
        let resting = self.terms.clone();
        let taken = resting.lock().unwrap_or_else(PoisonError::into_inner).take();
        let campaigning = async move {
            let Some(mut terms) = taken else { return Ok(None) };
            let leadership = terms.next().await?;
            *resting.lock().unwrap_or_else(PoisonError::into_inner) = Some(terms);
            Ok(leadership)
        };
        let home = self.inbox.clone();
        self.inbox.run(campaigning, move |won| won.map(|leadership| Held::of((*leadership).clone(), &home)))
    }

    #[napi(catch_unwind)]
    pub fn succeeded(&self) {
        self.with(drive::Terms::succeeded);
    }

    #[napi(catch_unwind)]
    pub fn failed(&self, held: &Held, error: String) {
        self.with(|terms| terms.failed(&held.leadership(), &error));
    }
}
