//! Waiting and being told: the blocking drive, the asynchronous one, and the threads that callbacks run on.
//!
//! By default callbacks come on the library's delivery thread. Once a client was asked for its event fd (or was
//! dispatched), everything for it goes through a [`Queue`] and runs only inside zkr_client_dispatch.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use zkrecipes::drive::{
    self, AnyAnswer, AnyCall, CancelToken, Process, Turn, answer_of, any_call, sanitizer,
};
use zkrecipes::{Client, Error, ErrorKind, Result};

use crate::cancel;
use crate::error::{self, Fault, status, zkr_error, zkr_status};
use crate::guard;
use crate::handle::{self, Object};
use crate::system::wakeup::Wakeup;

/// The end of a verb that has nothing to hand over. The error is NULL on success and only lent for the callback.
pub type zkr_done_callback =
    Option<unsafe extern "C" fn(status: zkr_status, error: *const zkr_error, user_data: *mut c_void)>;

/// The end of a question that is answered with yes or no; false on failure. The error is NULL on success and only lent
/// for the callback.
pub type zkr_answer_callback = Option<
    unsafe extern "C" fn(status: zkr_status, answer: bool, error: *const zkr_error, user_data: *mut c_void),
>;

/// The end of a verb that answers a number, or every change of one that is watched; 0 on failure. A status other than ZKR_OK is the
/// end: the error says why. It is only lent for the callback, and NULL on success.
pub type zkr_number_callback = Option<
    unsafe extern "C" fn(status: zkr_status, number: i64, error: *const zkr_error, user_data: *mut c_void),
>;

/// Somebody asks for what is held.
pub type zkr_revoke_callback = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// What is lost, with the reason in the error, which is only lent for the callback.
pub type zkr_lost_callback = Option<unsafe extern "C" fn(error: *const zkr_error, user_data: *mut c_void)>;

/// Frees what was given as user_data; free() of the C library is one.
pub type zkr_free_callback = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// A callback that stays in place until it is freed.
pub struct zkr_subscription {
    _opaque: [u8; 0],
}

pub(crate) struct SubscriptionHandle {
    core: zkrecipes::Subscription,
    door: Arc<Door>,
}

impl Object for SubscriptionHandle {
    type Opaque = zkr_subscription;
    const NAME: &'static str = "zkr_subscription";
}

impl SubscriptionHandle {
    pub(crate) fn new(core: zkrecipes::Subscription, door: Arc<Door>) -> SubscriptionHandle {
        SubscriptionHandle { core, door }
    }
}

/// Ends a subscription and frees it: no call of its callback begins any more.
///
/// Outside callbacks it returns when the callback is not running either, so its user_data may go; hold no lock that the
/// callback takes. Inside a callback it never waits: if that is the ended one, its user_data may go when it returns;
/// if it is another one, the ended one may be running on another thread, so leave its user_data to
/// zkr_subscription_free_with. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_subscription_free(subscription: *mut zkr_subscription) {
    guard::quietly(|| {
        if let Some(subscription) = handle::take::<SubscriptionHandle>(subscription) {
            subscription.core.end();
            subscription.door.shut();
        }
    });
}

/// zkr_subscription_free that frees the user_data of the callback as well: free_data is called with it once, when the
/// callback is not running and never will again. Outside callbacks that is before this returns; inside one, if the ended
/// one is running, it is on the thread that runs it, right after it. free_data must not block. It is not called for NULL
/// and freed subscriptions.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_subscription_free_with(
    subscription: *mut zkr_subscription,
    free_data: zkr_free_callback,
) {
    guard::quietly(|| {
        if let Some(subscription) = handle::take::<SubscriptionHandle>(subscription) {
            subscription.core.end();
            subscription.door.shut_with(free_data);
        }
    });
}

// ---- waiting

thread_local! {
    /// In which process this thread runs one: who forks there is outside of it in the child.
    static INSIDE_CALLBACK: Cell<Option<Process>> = const { Cell::new(None) };
}

/// Begins the call and blocks this thread until it is done. Where blocking is refused, or the call was cancelled by then, it is not
/// even begun: some calls, such as a release, take effect as they begin.
pub(crate) fn wait<T, F>(token: Option<&CancelToken>, begin: impl FnOnce() -> Result<F>) -> Result<T>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    answer_of(wait_any(token, || begin().map(any_call)))
}

/// The same without its types.
pub(crate) fn wait_any(
    token: Option<&CancelToken>,
    begin: impl FnOnce() -> Result<AnyCall>,
) -> Result<AnyAnswer> {
    refuse_inside_callback()?;
    drive::check_may_wait()?;
    let outcome = drive::wait_any(cancel::begin(token, begin)?, token, None);
    sanitizer::acquire(&guard::ENTRIES);
    outcome
}

/// Runs the call in the background; `done` comes where the callbacks of this client run. Until then the answer waits, perhaps for
/// long: what is withdrawn meanwhile is not handed over, and what was acquired or taken goes back.
pub(crate) fn start_any(
    client: &Client,
    token: Option<CancelToken>,
    call: AnyCall,
    done: impl FnOnce(Result<AnyAnswer>) + Send + 'static,
) -> Result<()> {
    let withdrawn = token.clone();
    let done = Box::new(move |outcome: Result<AnyAnswer>| {
        let unless_withdrawn = |answer| withdrawn.map_or(Ok(()), |token| token.check()).map(|()| answer);
        guard::quietly(|| done(outcome.and_then(unless_withdrawn)));
    });
    drive::start_any_for(client, call, token.as_ref(), done)
}

pub(crate) fn refuse_inside_callback() -> Result<()> {
    if is_inside_callback() {
        return Err(Error::new(
            ErrorKind::Deadlock,
            "a blocking verb inside a callback would hold up every other callback; use its _async form here (in C++ await \
             it: zkr::coro), or a thread of your own",
        ));
    }
    Ok(())
}

pub(crate) fn is_inside_callback() -> bool {
    INSIDE_CALLBACK.get().is_some_and(Process::is_present)
}

fn inside_callback(body: impl FnOnce()) {
    let outer = INSIDE_CALLBACK.replace(Some(Process::present()));
    body();
    INSIDE_CALLBACK.set(outer);
}

// ---- telling

/// A callback of C's with its user_data.
#[derive(Copy, Clone)]
pub(crate) struct Listener<F> {
    function: F,
    user_data: *mut c_void,
}

// SAFETY: the header says on which thread callbacks run; that user_data bears it is the caller's promise.
unsafe impl<F: Send> Send for Listener<F> {}
unsafe impl<F: Sync> Sync for Listener<F> {}

impl<F> Listener<F> {
    pub(crate) fn new(callback: Option<F>, user_data: *mut c_void) -> Result<Listener<F>> {
        match callback {
            Some(function) => Ok(Listener { function, user_data }),
            None => Err(Error::invalid("callback", "is NULL; give a function to call")),
        }
    }

    /// Calls C. The call itself is written where the type of the callback is known.
    pub(crate) fn call(self, call: impl FnOnce(F, *mut c_void)) {
        // It sees what its user did before the call that it is the end of, or before it was put in place.
        sanitizer::acquire(&guard::ENTRIES);
        inside_callback(|| sanitizer::theirs(|| call(self.function, self.user_data)));
    }

    /// Reports how a verb ended: what it produced is turned into what C gets, or its error is lent.
    pub(crate) fn report<T, C>(
        self,
        outcome: Result<T>,
        convert: impl FnOnce(T) -> Result<C>,
        call: impl FnOnce(F, zkr_status, Option<C>, *const zkr_error, *mut c_void),
    ) {
        match outcome.and_then(convert) {
            Ok(value) => self.call(|function, data| {
                call(function, zkr_status::ZKR_OK, Some(value), std::ptr::null(), data)
            }),
            Err(error) => lend(&error, |lent| {
                self.call(|function, data| call(function, status(error.kind()), None, lent, data));
            }),
        }
    }
}

type Done = unsafe extern "C" fn(zkr_status, *const zkr_error, *mut c_void);

impl Listener<Done> {
    pub(crate) fn done(self, outcome: Result<()>) {
        // SAFETY: a function of this type, as the caller gave it.
        self.report(outcome, Ok, |function, status, _, error, data| unsafe { function(status, error, data) });
    }
}

/// Lends an error for the duration of a callback.
pub(crate) fn lend(error: &Error, body: impl FnOnce(*const zkr_error)) {
    let lent = error::hand_over(error);
    body(lent);
    drop(handle::take::<Fault>(lent));
}

/// What stands between a subscription and its callback, so that ending the one ends the other for certain.
pub(crate) struct Door {
    user_data: *mut c_void,
    state: Mutex<DoorState>,
    idle: Condvar,
}

// SAFETY: user_data is only carried, from the caller to the functions that it gave for it.
unsafe impl Send for Door {}
unsafe impl Sync for Door {}

struct DoorState {
    open: bool,
    inside: usize,
    /// Comes when the last one has left a door that was shut.
    free_data: zkr_free_callback,
}

impl Door {
    pub(crate) fn new(user_data: *mut c_void) -> Arc<Door> {
        let state = DoorState { open: true, inside: 0, free_data: None };
        Arc::new(Door { user_data, state: Mutex::new(state), idle: Condvar::new() })
    }

    pub(crate) fn pass(&self, body: impl FnOnce()) {
        {
            let mut state = lock(&self.state);
            if !state.open {
                return;
            }
            state.inside += 1;
        }
        guard::quietly(body);
        sanitizer::release(self);
        let free_data = {
            let mut state = lock(&self.state);
            state.inside -= 1;
            if state.inside == 0 { state.free_data.take() } else { None }
        };
        self.idle.notify_all();
        self.free(free_data);
    }

    /// Waits for who is inside, but never inside a callback: there it could be waited for itself.
    fn shut(&self) {
        let mut state = lock(&self.state);
        state.open = false;
        while state.inside > 0 && !is_inside_callback() {
            state = self.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.inside == 0 {
            sanitizer::acquire(self);
        }
    }

    fn shut_with(&self, free_data: zkr_free_callback) {
        if !is_inside_callback() {
            self.shut();
            return self.free(free_data);
        }
        {
            let mut state = lock(&self.state);
            state.open = false;
            if state.inside > 0 {
                state.free_data = free_data;
                return;
            }
        }
        self.free(free_data);
    }

    fn free(&self, free_data: zkr_free_callback) {
        if let Some(free_data) = free_data {
            sanitizer::acquire(self);
            // SAFETY: a function of this type, and the user_data that it is for, as the caller gave them.
            inside_callback(|| sanitizer::theirs(|| unsafe { free_data(self.user_data) }));
        }
    }
}

// ---- the queue of a client that is dispatched by its user

pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Everything that a client has to say, waiting for whoever dispatches. Its fd is readable while it is not empty.
pub(crate) struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    /// They go ahead of everything else.
    losses: VecDeque<Job>,
    jobs: VecDeque<Job>,
    dispatching: bool,
    /// Nobody dispatches any more, though the descriptor may be looked at.
    is_over: bool,
    /// None once the queue takes no more.
    wakeup: Option<Wakeup>,
}

impl QueueState {
    fn is_empty(&self) -> bool {
        self.losses.is_empty() && self.jobs.is_empty()
    }

    fn pop(&mut self) -> Option<Job> {
        self.losses.pop_front().or_else(|| self.jobs.pop_front())
    }
}

impl Queue {
    pub(crate) fn new() -> Result<Queue> {
        let state = QueueState {
            losses: VecDeque::new(),
            jobs: VecDeque::new(),
            dispatching: false,
            is_over: false,
            wakeup: Some(Wakeup::new().map_err(|cause| no_descriptor(&cause))?),
        };
        Ok(Queue { state: Mutex::new(state), changed: Condvar::new() })
    }

    pub(crate) fn fd(&self) -> Option<c_int> {
        lock(&self.state).wakeup.as_ref().map(Wakeup::number)
    }

    pub(crate) fn push(&self, turn: Turn, job: Job) {
        let mut state = lock(&self.state);
        let Some(wakeup) = state.wakeup.as_ref().filter(|_| !state.is_over) else { return };
        if state.is_empty() {
            wakeup.raise();
        }
        match turn {
            Turn::Ahead => state.losses.push_back(job),
            Turn::InOrder => state.jobs.push_back(job),
        }
        drop(state);
        self.changed.notify_one();
    }

    /// Runs up to `max` callbacks (all that are there if `max` is not positive), waiting for the first one.
    pub(crate) fn dispatch(&self, max: i32, limit: Option<Duration>) -> i32 {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let process = Process::present();
        let mut ran = 0;
        while let Some(job) = self.next(ran == 0, deadline) {
            // One at a time, so each sees what the one before it did, whichever threads they run on.
            sanitizer::acquire(self);
            guard::quietly(|| inside_callback(job));
            sanitizer::release(self);
            if !process.is_present() {
                // It forked, and went on in the child: this is the parent's queue.
                return ran + 1;
            }
            lock(&self.state).dispatching = false;
            self.changed.notify_all();
            ran += 1;
            if ran == max {
                break;
            }
        }
        ran
    }

    /// The next job, once no other thread is running one: callbacks run one at a time, in order.
    fn next(&self, patient: bool, deadline: Option<Instant>) -> Option<Job> {
        let mut state = lock(&self.state);
        loop {
            state.wakeup.as_ref()?;
            if !state.dispatching
                && let Some(job) = state.pop()
            {
                state.dispatching = true;
                if let Some(wakeup) = state.wakeup.as_ref().filter(|_| state.is_empty()) {
                    wakeup.lower();
                }
                return Some(job);
            }
            if !patient {
                return None;
            }
            state = match deadline.map(|at| at.saturating_duration_since(Instant::now())) {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return None,
                Some(left) => {
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Forgets what was not dispatched, takes no more, and closes the descriptor.
    pub(crate) fn shut(&self) {
        let wakeup = lock(&self.state).wakeup.take();
        self.changed.notify_all();
        self.forget();
        drop(wakeup);
    }

    /// Forgets what was not dispatched, with what it would have handed over, and what comes later.
    pub(crate) fn forget(&self) {
        let forgotten = {
            let mut state = lock(&self.state);
            state.is_over = true;
            if let Some(wakeup) = state.wakeup.as_ref().filter(|_| !state.is_empty()) {
                wakeup.lower();
            }
            (std::mem::take(&mut state.losses), std::mem::take(&mut state.jobs))
        };
        drop(forgotten);
    }
}

fn no_descriptor(cause: &io::Error) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("no file descriptor for events ({cause}); close some, or raise the limit"),
    )
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
