//! The verbs that every recipe has, and an acquisition too: *convert, drive, convert*, once for all of them.
//!
//! The functions of C stand in the file of each recipe, as the header is made from them; each says for which handle.

use std::ffi::{c_char, c_void};
use std::sync::Arc;
use std::time::Duration;

use zkrecipes::{
    Client, Contender, Error, Granted, Held, Lock, MultiLock, Result, Semaphore, Subscription, Transaction,
    time,
};

use crate::cancel::{self, zkr_cancel_token};
use crate::contenders::{self, Contenders, zkr_contenders, zkr_contenders_callback};
use crate::error::{zkr_error, zkr_status};
use crate::events::{
    self, Gate, Listener, SubscriptionHandle, zkr_answer_callback, zkr_done_callback, zkr_lost_callback,
    zkr_subscription,
};
use crate::guard;
use crate::handle::{self, Object};
use crate::held::{HeldHandle, zkr_held, zkr_held_callback};
use crate::input::{self, HandlePlace, Place};
use crate::transaction::{TransactionHandle, zkr_transaction};

/// What can be held: an acquisition, or a recipe, which means the acquisition made last through its handle.
pub(crate) trait Holds: Clone + Send + Sync + 'static {
    /// Takes effect when it is called; the future confirms it.
    fn release(self) -> impl Future<Output = Result<()>> + Send;
    fn release_in_background(&self) -> Result<()>;
    fn verify(self) -> impl Future<Output = Result<()>> + Send;
    fn guarded(&self) -> Result<Transaction>;
    fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Result<Subscription>;
}

/// What is acquired, by one contender or the other.
pub(crate) trait Recipe: Holds {
    fn is_held(&self) -> bool;
    fn fencing_token(&self) -> Result<u64>;
    fn cancel(&self);
    fn contenders(self) -> impl Future<Output = Result<Vec<Contender>>> + Send;
    fn revoke(
        self,
        contender: Option<String>,
        force_after: Option<Duration>,
    ) -> impl Future<Output = Result<bool>> + Send;
}

/// A handle of something that can be held.
pub(crate) trait Holder: Object {
    type Core: Holds;
    /// What the header calls the argument.
    const ARGUMENT: &'static str;

    fn client(&self) -> &Client;
    fn core(&self) -> &Self::Core;
}

/// Says what stands behind a handle with the fields `client` and `core`.
macro_rules! holder {
    ($handle:ty, $core:ty, $opaque:ident, $argument:literal) => {
        impl $crate::handle::Object for $handle {
            type Opaque = $opaque;
            const NAME: &'static str = stringify!($opaque);
        }

        impl $crate::verbs::Holder for $handle {
            type Core = $core;
            const ARGUMENT: &'static str = $argument;

            fn client(&self) -> &zkrecipes::Client {
                &self.client
            }

            fn core(&self) -> &$core {
                &self.core
            }
        }
    };
}
pub(crate) use holder;

impl Holds for Arc<Held> {
    fn release(self) -> impl Future<Output = Result<()>> + Send {
        Held::release(&self)
    }

    fn release_in_background(&self) -> Result<()> {
        Held::release_in_background(self)
    }

    async fn verify(self) -> Result<()> {
        Held::verify(&self).await
    }

    fn guarded(&self) -> Result<Transaction> {
        Ok(Held::guarded(self))
    }

    fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Result<Subscription> {
        Ok(Held::on_lost(self, callback))
    }
}

/// The recipes of the core have these by the same names.
macro_rules! recipe {
    ($core:ident) => {
        impl Holds for $core {
            fn release(self) -> impl Future<Output = Result<()>> + Send {
                $core::release(&self)
            }

            fn release_in_background(&self) -> Result<()> {
                $core::release_in_background(self)
            }

            async fn verify(self) -> Result<()> {
                $core::verify(&self).await
            }

            fn guarded(&self) -> Result<Transaction> {
                $core::guarded(self)
            }

            fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Result<Subscription> {
                $core::on_lost(self, callback)
            }
        }

        impl Recipe for $core {
            fn is_held(&self) -> bool {
                $core::is_held(self)
            }

            fn fencing_token(&self) -> Result<u64> {
                $core::fencing_token(self)
            }

            fn cancel(&self) {
                $core::cancel(self);
            }

            async fn contenders(self) -> Result<Vec<Contender>> {
                $core::contenders(&self).await
            }

            async fn revoke(self, contender: Option<String>, force_after: Option<Duration>) -> Result<bool> {
                $core::revoke(&self, contender.as_deref(), force_after).await
            }
        }
    };
}
recipe!(Lock);
recipe!(MultiLock);
recipe!(Semaphore);

pub(crate) fn get<H: Holder>(given: *const H::Opaque) -> Result<Arc<H>> {
    handle::get(H::ARGUMENT, given)
}

// ---- of any kind

/// Begins something that has nothing to hand over, and waits for it.
pub(crate) fn run<H: Holder, F>(
    given: *const H::Opaque,
    error: *mut *mut zkr_error,
    begin: impl FnOnce(H::Core) -> F,
) -> zkr_status
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    guard::verb(error, || {
        let core = get::<H>(given)?.core().clone();
        events::wait(None, || begin(core))
    })
}

/// The same in the background.
pub(crate) fn run_async<H: Holder, F>(
    given: *const H::Opaque,
    callback: zkr_done_callback,
    user_data: *mut c_void,
    begin: impl FnOnce(H::Core) -> F,
) -> zkr_status
where
    F: Future<Output = Result<()>> + Send + 'static,
{
    guard::verdict(|| {
        let holder = get::<H>(given)?;
        let listener = Listener::new(callback, user_data)?;
        events::start(holder.client(), None, begin(holder.core().clone()), move |outcome| {
            listener.done(outcome);
        })
    })
}

/// Asks for a list, and waits for it. The error names the place for it.
pub(crate) fn list<H: Holder, F>(
    given: *const H::Opaque,
    argument: &str,
    place: *mut *mut zkr_contenders,
    error: *mut *mut zkr_error,
    begin: impl FnOnce(H::Core) -> F,
) -> zkr_status
where
    F: Future<Output = Result<Vec<Contender>>> + Send + 'static,
{
    guard::verb(error, || {
        let place = HandlePlace::required(argument, place)?;
        let core = get::<H>(given)?.core().clone();
        let found = events::wait(None, || begin(core))?;
        place.put(|| handle::publish(Contenders::new(&found)))
    })
}

/// The same in the background.
pub(crate) fn list_async<H: Holder, F>(
    given: *const H::Opaque,
    callback: zkr_contenders_callback,
    user_data: *mut c_void,
    begin: impl FnOnce(H::Core) -> F,
) -> zkr_status
where
    F: Future<Output = Result<Vec<Contender>>> + Send + 'static,
{
    guard::verdict(|| {
        let holder = get::<H>(given)?;
        let listener = Listener::new(callback, user_data)?;
        events::start(holder.client(), None, begin(holder.core().clone()), move |outcome| {
            contenders::report(listener, outcome);
        })
    })
}

// ---- what is held

pub(crate) fn release<H: Holder>(given: *const H::Opaque, error: *mut *mut zkr_error) -> zkr_status {
    run::<H, _>(given, error, H::Core::release)
}

pub(crate) fn release_async<H: Holder>(
    given: *const H::Opaque,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    run_async::<H, _>(given, callback, user_data, H::Core::release)
}

pub(crate) fn release_in_background<H: Holder>(
    given: *const H::Opaque,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || get::<H>(given)?.core().release_in_background())
}

pub(crate) fn verify<H: Holder>(given: *const H::Opaque, error: *mut *mut zkr_error) -> zkr_status {
    run::<H, _>(given, error, H::Core::verify)
}

pub(crate) fn verify_async<H: Holder>(
    given: *const H::Opaque,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    run_async::<H, _>(given, callback, user_data, H::Core::verify)
}

pub(crate) fn guarded<H: Holder>(
    given: *const H::Opaque,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("transaction", transaction)?;
        let holder = get::<H>(given)?;
        let guarded = holder.core().guarded()?;
        place.put(|| handle::publish(TransactionHandle::new(holder.client().clone(), guarded)))
    })
}

pub(crate) fn on_lost<H: Holder>(
    given: *const H::Opaque,
    callback: zkr_lost_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::optional(subscription);
        let holder = get::<H>(given)?;
        let listener = Listener::new(callback, user_data)?;
        let gate = Gate::new();
        let entrance = Arc::clone(&gate);
        let core = holder.core().on_lost(move |error| {
            entrance.pass(|| {
                // SAFETY: a function of this type, as the caller gave it.
                events::lend(&error, |lent| listener.call(|function, data| unsafe { function(lent, data) }));
            });
        })?;
        place.put(|| handle::publish(SubscriptionHandle::new(core, gate)))
    })
}

// ---- recipes

/// Frees a recipe and ends the waits in progress on it.
pub(crate) fn free<H: Holder<Core: Recipe>>(given: *mut H::Opaque) {
    guard::quietly(|| {
        if let Some(holder) = handle::take::<H>(given) {
            holder.core().cancel();
        }
    });
}

pub(crate) fn acquire<H: Holder, F>(
    given: *const H::Opaque,
    token: *const zkr_cancel_token,
    held: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
    begin: impl FnOnce(&H::Core) -> F,
) -> zkr_status
where
    F: Future<Output = Result<Granted>> + Send + 'static,
{
    guard::verb(error, || {
        let place = HandlePlace::optional(held);
        let holder = get::<H>(given)?;
        let token = cancel::token(token)?;
        let held = events::wait(token.as_ref(), || begin(holder.core()))?.keep();
        place.put(|| handle::publish(HeldHandle::new(holder.client().clone(), held)))
    })
}

pub(crate) fn acquire_async<H: Holder, F>(
    given: *const H::Opaque,
    token: *const zkr_cancel_token,
    callback: zkr_held_callback,
    user_data: *mut c_void,
    begin: impl FnOnce(&H::Core) -> F,
) -> zkr_status
where
    F: Future<Output = Result<Granted>> + Send + 'static,
{
    guard::verdict(|| {
        let holder = get::<H>(given)?;
        let token = cancel::token(token)?;
        let listener = Listener::new(callback, user_data)?;
        let owner = holder.client().clone();
        // Begun here and not at its first poll, so that a cancel of the handle right after the call means this call.
        events::start(holder.client(), token, begin(holder.core()), move |outcome| {
            listener.report(
                outcome,
                |granted| handle::publish(HeldHandle::new(owner, granted.keep())),
                // SAFETY: a function of this type, as the caller gave it.
                |function, status, held, error, data| unsafe {
                    function(status, held.unwrap_or(std::ptr::null_mut()), error, data);
                },
            );
        })
    })
}

pub(crate) fn is_held<H: Holder<Core: Recipe>>(given: *const H::Opaque) -> bool {
    guard::answer(false, || Some(get::<H>(given).ok()?.core().is_held()))
}

pub(crate) fn fencing_token<H: Holder<Core: Recipe>>(given: *const H::Opaque) -> u64 {
    guard::answer(0, || get::<H>(given).ok()?.core().fencing_token().ok())
}

pub(crate) fn cancel<H: Holder<Core: Recipe>>(
    given: *const H::Opaque,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        get::<H>(given)?.core().cancel();
        Ok(())
    })
}

pub(crate) fn contenders<H: Holder<Core: Recipe>>(
    given: *const H::Opaque,
    contenders: *mut *mut zkr_contenders,
    error: *mut *mut zkr_error,
) -> zkr_status {
    list::<H, _>(given, "contenders", contenders, error, H::Core::contenders)
}

pub(crate) fn contenders_async<H: Holder<Core: Recipe>>(
    given: *const H::Opaque,
    callback: zkr_contenders_callback,
    user_data: *mut c_void,
) -> zkr_status {
    list_async::<H, _>(given, callback, user_data, H::Core::contenders)
}

pub(crate) fn revoke<H: Holder<Core: Recipe>>(
    given: *const H::Opaque,
    contender: *const c_char,
    force_after_ms: i64,
    token: *const zkr_cancel_token,
    asked: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = Place::optional(asked);
        let core = get::<H>(given)?.core().clone();
        let token = cancel::token(token)?;
        let contender = input::optional_text("contender", contender)?;
        let force_after = time::from_millis("force_after_ms", force_after_ms);
        place.put(events::wait(token.as_ref(), || core.revoke(contender, force_after))?);
        Ok(())
    })
}

pub(crate) fn revoke_async<H: Holder<Core: Recipe>>(
    given: *const H::Opaque,
    contender: *const c_char,
    force_after_ms: i64,
    token: *const zkr_cancel_token,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let holder = get::<H>(given)?;
        let token = cancel::token(token)?;
        let listener = Listener::new(callback, user_data)?;
        let contender = input::optional_text("contender", contender);
        let force_after = time::from_millis("force_after_ms", force_after_ms);
        let core = holder.core().clone();
        let revoking = async move { core.revoke(contender?, force_after).await };
        events::start(holder.client(), token, revoking, move |outcome| listener.answer(outcome))
    })
}
