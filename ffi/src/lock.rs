//! The lock.

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;
use std::time::SystemTime;

use zkrecipes::{Client, Contender, Error, Granted, Lock, Result, time};

use crate::cancel::zkr_cancel_token;
use crate::client::{self, zkr_client};
use crate::error::{zkr_error, zkr_status};
use crate::events::{
    self, Gate, Listener, SubscriptionHandle, zkr_answer_callback, zkr_done_callback, zkr_lost_callback,
    zkr_subscription,
};
use crate::guard;
use crate::handle::{self, Object};
use crate::held::{self, zkr_held, zkr_held_callback};
use crate::input::{self, HandlePlace, Place, to_c};
use crate::options::{self, zkr_lock_options};
use crate::transaction::{TransactionHandle, zkr_transaction};

/// A lock that at most one holder in the whole ensemble has at a time.
///
/// A handle is used by one owner at a time: a second acquire on a held handle waits, whichever thread makes it.
pub struct zkr_lock {
    _opaque: [u8; 0],
}

pub(crate) struct LockHandle {
    client: Client,
    pub(crate) core: Lock,
    path: CString,
    /// Whether it is a side of a read/write lock, which frees it.
    is_part: bool,
}

impl LockHandle {
    pub(crate) fn new(client: Client, core: Lock, is_part: bool) -> LockHandle {
        let path = to_c(core.path());
        LockHandle { client, core, path, is_part }
    }
}

impl Object for LockHandle {
    type Opaque = zkr_lock;
    const NAME: &'static str = "zkr_lock";
}

fn get(lock: *const zkr_lock) -> Result<Arc<LockHandle>> {
    handle::get("lock", lock)
}

/// Makes a handle of a lock. Validates, but sends nothing. options may be NULL for the defaults. On success *lock
/// belongs to the caller: free it with zkr_lock_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_new(
    client: *mut zkr_client,
    path: *const c_char,
    options: *const zkr_lock_options,
    lock: *mut *mut zkr_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("lock", lock)?;
        let client = client::get(client)?.core.clone();
        let path = input::text("path", path)?;
        let core = client.lock(&path, options::read(options)?.convert()?)?;
        place.put(|| handle::publish(LockHandle::new(client, core, false)))
    })
}

/// Frees a lock. Waits in progress on it end with ZKR_CANCELLED. If it is held, it is released in the background,
/// unless a zkr_held of it is still around, which owns it from then on. Never blocks. NULL, freed ones and the sides of
/// a zkr_read_write_lock are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_free(lock: *mut zkr_lock) {
    guard::quietly(|| {
        if !get(lock).is_ok_and(|lock| lock.is_part) {
            free(lock);
        }
    });
}

pub(crate) fn free(lock: *mut zkr_lock) {
    if let Some(lock) = handle::take::<LockHandle>(lock) {
        lock.core.cancel();
    }
}

/// The path of the lock; NULL for a handle that cannot be used. Valid until the lock is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_path(lock: *const zkr_lock) -> *const c_char {
    guard::answer(std::ptr::null(), || Some(get(lock).ok()?.path.as_ptr()))
}

/// Acquires the lock, waiting up to timeout_ms: 0 is one attempt, any negative is for ever.
///
/// ZKR_TIMEOUT if somebody else has it for all that time. held may be NULL when zkr_lock_release and the other verbs
/// of the lock are enough; otherwise *held belongs to the caller: free it with zkr_held_free.
///
/// Cancelling: zkr_lock_cancel, zkr_lock_free or, for one call, zkr_lock_acquire_cancellable. In every case, and after
/// a timeout, nothing of ours stays in ZooKeeper.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_acquire(
    lock: *mut zkr_lock,
    timeout_ms: i64,
    held: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_lock_acquire_cancellable(lock, timeout_ms, std::ptr::null_mut(), held, error)
}

/// zkr_lock_acquire that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_acquire_cancellable(
    lock: *mut zkr_lock,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    held: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::optional(held);
        let lock = get(lock)?;
        held::acquire(&lock.client, token, &place, || lock.acquire(timeout_ms))
    })
}

/// zkr_lock_acquire in the background. ZKR_OK says that the callback will be called exactly once; any other status
/// says that it never will be.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_acquire_async(
    lock: *mut zkr_lock,
    timeout_ms: i64,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_lock_acquire_cancellable_async(lock, timeout_ms, std::ptr::null_mut(), callback, user_data)
}

/// zkr_lock_acquire_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_acquire_cancellable_async(
    lock: *mut zkr_lock,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let lock = get(lock)?;
        held::acquire_async(&lock.client, token, callback, user_data, || lock.acquire(timeout_ms))
    })
}

/// Releases the innermost acquisition of this handle. From the call on the lock counts as not held.
///
/// ZKR_NOT_HELD if nothing is held. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
/// the background until it does or the session has ended.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_release(lock: *mut zkr_lock, error: *mut *mut zkr_error) -> zkr_status {
    guard::verb(error, || {
        let core = get(lock)?.core.clone();
        events::wait(None, || core.release())
    })
}

/// zkr_lock_release in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_release_async(
    lock: *mut zkr_lock,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let lock = get(lock)?;
        let listener = Listener::new(callback, user_data)?;
        let core = lock.core.clone();
        events::start(&lock.client, None, core.release(), move |outcome| listener.done(outcome))
    })
}

/// Releases the innermost acquisition and leaves the confirmation to the background: never blocks, fit for
/// destructors and callbacks. ZKR_NOT_HELD if nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_release_in_background(
    lock: *mut zkr_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || get(lock)?.core.release_in_background())
}

/// Whether this handle certainly holds the lock at this moment: a comparison of clocks, no request. Never true again
/// for an acquisition once lost.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_is_held(lock: *const zkr_lock) -> bool {
    guard::answer(false, || Some(get(lock).ok()?.core.is_held()))
}

/// The fencing token of what this handle holds: it rises strictly from one acquisition of a path to the next. 0, which
/// is never a token, when nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_fencing_token(lock: *const zkr_lock) -> u64 {
    guard::answer(0, || get(lock).ok()?.core.fencing_token().ok())
}

/// Asks the server whether the lock is held. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it cannot be known.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_verify(lock: *mut zkr_lock, error: *mut *mut zkr_error) -> zkr_status {
    guard::verb(error, || {
        let core = get(lock)?.core.clone();
        events::wait(None, || async move { core.verify().await })
    })
}

/// zkr_lock_verify in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_verify_async(
    lock: *mut zkr_lock,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let lock = get(lock)?;
        let listener = Listener::new(callback, user_data)?;
        let core = lock.core.clone();
        events::start(&lock.client, None, async move { core.verify().await }, move |outcome| {
            listener.done(outcome)
        })
    })
}

/// A transaction that the server applies only while the current acquisition stands: the exact protection, where
/// zkr_lock_is_held cannot foresee a deletion by force. Free it with zkr_transaction_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_guarded(
    lock: *mut zkr_lock,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("transaction", transaction)?;
        let lock = get(lock)?;
        let guarded = lock.core.guarded()?;
        place.put(|| handle::publish(TransactionHandle::new(lock.client.clone(), guarded)))
    })
}

/// Calls back once when the current acquisition is lost, at once if it already is, never on its own release.
/// subscription may be NULL; otherwise end it with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_on_lost(
    lock: *mut zkr_lock,
    callback: zkr_lost_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::optional(subscription);
        let lock = get(lock)?;
        let listener = Listener::new(callback, user_data)?;
        let gate = Gate::new();
        let core = lock.core.on_lost(when_lost(listener, &gate))?;
        place.put(|| handle::publish(SubscriptionHandle::new(core, gate)))
    })
}

type Lost = unsafe extern "C" fn(*const zkr_error, *mut c_void);

pub(crate) fn when_lost(listener: Listener<Lost>, gate: &Arc<Gate>) -> impl FnOnce(Error) + Send + 'static {
    let entrance = Arc::clone(gate);
    move |error| {
        entrance.pass(|| {
            // SAFETY: a function of this type, as the caller gave it.
            events::lend(&error, |lent| listener.call(|function, data| unsafe { function(lent, data) }));
        });
    }
}

/// Wakes all waits in progress on this handle, which end with ZKR_CANCELLED; never later ones. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_cancel(lock: *mut zkr_lock, error: *mut *mut zkr_error) -> zkr_status {
    guard::verb(error, || {
        get(lock)?.core.cancel();
        Ok(())
    })
}

/// Who holds the lock and who waits, in order. On success *contenders belongs to the caller: free it with
/// zkr_contenders_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_contenders(
    lock: *mut zkr_lock,
    contenders: *mut *mut zkr_contenders,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("contenders", contenders)?;
        let core = get(lock)?.core.clone();
        let found = events::wait(None, || async move { core.contenders().await })?;
        place.put(|| handle::publish(Contenders::new(&found)))
    })
}

/// zkr_lock_contenders in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_contenders_async(
    lock: *mut zkr_lock,
    callback: zkr_contenders_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let lock = get(lock)?;
        let listener = Listener::new(callback, user_data)?;
        let core = lock.core.clone();
        events::start(&lock.client, None, async move { core.contenders().await }, move |outcome| {
            report_contenders(listener, outcome);
        })
    })
}

type Listed = unsafe extern "C" fn(zkr_status, *mut zkr_contenders, *const zkr_error, *mut c_void);

pub(crate) fn report_contenders(listener: Listener<Listed>, outcome: Result<Vec<Contender>>) {
    listener.report(
        outcome,
        |found| handle::publish(Contenders::new(&found)),
        // SAFETY: a function of this type, as the caller gave it.
        |function, status, contenders, error, data| unsafe {
            function(status, contenders.unwrap_or(std::ptr::null_mut()), error, data);
        },
    );
}

/// Asks for the lock: whoever holds it, or the contender whose node is named as in a zkr_contender (NULL: whoever
/// holds), hears of it through zkr_held_on_revoke and lets go when it can.
///
/// With force_after_ms, exactly the nodes that were asked are deleted if they have not gone by then; any negative is
/// never. A holder that cannot be reached at that moment does not know that it lost until its lease runs out: only
/// guarded writes and fencing tokens protect from it. asked may be NULL; otherwise it says whether there was anybody to
/// ask.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_revoke(
    lock: *mut zkr_lock,
    contender: *const c_char,
    force_after_ms: i64,
    asked: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = Place::optional(asked);
        let lock = get(lock)?;
        let contender = input::optional_text("contender", contender)?;
        place.put(events::wait(None, || lock.revoke(contender, force_after_ms))?);
        Ok(())
    })
}

/// zkr_lock_revoke in the background; the answer is whether there was anybody to ask. ZKR_OK says that the callback
/// will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_revoke_async(
    lock: *mut zkr_lock,
    contender: *const c_char,
    force_after_ms: i64,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let lock = get(lock)?;
        let listener = Listener::new(callback, user_data)?;
        let contender = input::optional_text("contender", contender);
        let asking = lock.clone();
        let revoking = async move { asking.revoke(contender?, force_after_ms).await };
        events::start(&lock.client, None, revoking, move |outcome| listener.answer(outcome))
    })
}

impl LockHandle {
    fn acquire(&self, timeout_ms: i64) -> impl Future<Output = Result<Granted>> + Send + use<> {
        self.core.acquire_kept(time::from_millis("timeout_ms", timeout_ms))
    }

    fn revoke(
        &self,
        contender: Option<String>,
        force_after_ms: i64,
    ) -> impl Future<Output = Result<bool>> + Send + use<> {
        let core = self.core.clone();
        let force_after = time::from_millis("force_after_ms", force_after_ms);
        async move { core.revoke(contender.as_deref(), force_after).await }
    }
}

/// Somebody who holds or waits.
#[repr(C)]
pub struct zkr_contender {
    /// The name of its node.
    pub node: *const c_char,
    /// Who it says it is: the identity option of its client.
    pub identity: *const c_char,
    /// What it wants: "lock", "read", "write" or "lease", which is a permit of a semaphore.
    pub kind: *const c_char,
    /// The session that its node belongs to.
    pub session_id: u64,
    /// Since when it contends, in milliseconds since 1970 by the server's clock.
    pub since_ms: i64,
    /// Whether it holds.
    pub holds: bool,
}

/// The end of zkr_lock_contenders_async. On ZKR_OK the list belongs to the callback, otherwise it is NULL; the error is
/// only lent.
pub type zkr_contenders_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        contenders: *mut zkr_contenders,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// A list of those who hold and wait.
pub struct zkr_contenders {
    _opaque: [u8; 0],
}

pub(crate) struct Contenders {
    entries: Vec<zkr_contender>,
    // What the entries point into.
    _texts: Vec<CString>,
}

// SAFETY: the pointers lead into the texts beside them, which never change.
unsafe impl Send for Contenders {}
unsafe impl Sync for Contenders {}

impl Object for Contenders {
    type Opaque = zkr_contenders;
    const NAME: &'static str = "zkr_contenders";
}

impl Contenders {
    pub(crate) fn new(found: &[Contender]) -> Contenders {
        let mut texts = Vec::with_capacity(found.len() * 3);
        let mut keep = |text: &str| {
            texts.push(to_c(text));
            texts[texts.len() - 1].as_ptr()
        };
        let entries = found
            .iter()
            .map(|contender| zkr_contender {
                node: keep(&contender.node),
                identity: keep(&contender.identity),
                kind: keep(&contender.kind),
                session_id: contender.session_id,
                since_ms: since_1970(contender.since),
                holds: contender.holds,
            })
            .collect();
        Contenders { entries, _texts: texts }
    }
}

fn since_1970(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_contenders_count(contenders: *const zkr_contenders) -> usize {
    guard::answer(0, || handle::get_anywhere::<Contenders>(contenders).map(|list| list.entries.len()))
}

/// One of them, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_contenders_get(
    contenders: *const zkr_contenders,
    index: usize,
) -> *const zkr_contender {
    guard::answer(std::ptr::null(), || {
        handle::get_anywhere::<Contenders>(contenders)?.entries.get(index).map(std::ptr::from_ref)
    })
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_contenders_free(contenders: *mut zkr_contenders) {
    guard::quietly(|| drop(handle::take::<Contenders>(contenders)));
}
