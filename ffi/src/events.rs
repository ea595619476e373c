//! Waiting and being told: the blocking drive, the asynchronous one, and the threads that callbacks run on.
//!
//! By default callbacks come on the library's delivery thread. Once a client was asked for its event fd (or was
//! dispatched), everything for it goes through a [`Queue`] and runs only inside zkr_client_dispatch.

use std::cell::Cell;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Client, Error, ErrorKind, Result};

use crate::error::{Fault, status, zkr_error, zkr_status};
use crate::guard;
use crate::handle::{self, Object};

/// The end of a verb that has nothing to hand over. The error is NULL on success and only lent for the callback.
pub type zkr_done_callback =
    Option<unsafe extern "C" fn(status: zkr_status, error: *const zkr_error, user_data: *mut c_void)>;

/// The end of a question that is answered with yes or no; false on failure. The error is NULL on success and only lent
/// for the callback.
pub type zkr_answer_callback = Option<
    unsafe extern "C" fn(status: zkr_status, answer: bool, error: *const zkr_error, user_data: *mut c_void),
>;

/// Somebody asks for what is held.
pub type zkr_revoke_callback = Option<unsafe extern "C" fn(user_data: *mut c_void)>;

/// What is lost, with the reason in the error, which is only lent for the callback.
pub type zkr_lost_callback = Option<unsafe extern "C" fn(error: *const zkr_error, user_data: *mut c_void)>;

/// A callback that stays in place until it is freed.
pub struct zkr_subscription {
    _opaque: [u8; 0],
}

pub(crate) struct SubscriptionHandle {
    core: zkrecipes::Subscription,
    gate: Arc<Gate>,
}

impl Object for SubscriptionHandle {
    type Opaque = zkr_subscription;
    const NAME: &'static str = "zkr_subscription";
}

impl SubscriptionHandle {
    pub(crate) fn new(core: zkrecipes::Subscription, gate: Arc<Gate>) -> SubscriptionHandle {
        SubscriptionHandle { core, gate }
    }
}

/// Ends a subscription and frees it. When this returns the callback is not running and never runs again, so its
/// user_data may go; only inside the callback itself it returns at once. Hold no lock that the callback takes. NULL and
/// freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_subscription_free(subscription: *mut zkr_subscription) {
    guard::quietly(|| {
        if let Some(subscription) = handle::take::<SubscriptionHandle>(subscription) {
            subscription.core.unsubscribe();
            subscription.gate.shut();
        }
    });
}

// ---- waiting

thread_local! {
    static INSIDE_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Begins the call and blocks this thread until it is done. Where blocking is refused it is not even begun: some calls,
/// such as a release, take effect as they begin.
pub(crate) fn wait<T, F>(token: Option<&CancelToken>, begin: impl FnOnce() -> F) -> Result<T>
where
    T: Send + 'static,
    F: Future<Output = Result<T>> + Send + 'static,
{
    refuse_inside_callback()?;
    drive::check_may_wait()?;
    drive::wait(begin(), token, None)
}

/// Runs the future in the background; `done` comes where the callbacks of this client run.
pub(crate) fn start<T: Send + 'static>(
    client: &Client,
    token: Option<CancelToken>,
    future: impl Future<Output = Result<T>> + Send + 'static,
    done: impl FnOnce(Result<T>) + Send + 'static,
) -> Result<()> {
    drive::start_for(client, future, &token.unwrap_or_default(), move |outcome| {
        guard::quietly(|| done(outcome))
    })
}

pub(crate) fn refuse_inside_callback() -> Result<()> {
    if INSIDE_CALLBACK.get() {
        return Err(Error::new(
            ErrorKind::Deadlock,
            "a blocking verb inside a callback would hold up every other callback; use its _async form here",
        ));
    }
    Ok(())
}

fn inside_callback(body: impl FnOnce()) {
    let outer = INSIDE_CALLBACK.replace(true);
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
        inside_callback(|| call(self.function, self.user_data));
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

type Answer = unsafe extern "C" fn(zkr_status, bool, *const zkr_error, *mut c_void);

impl Listener<Answer> {
    pub(crate) fn answer(self, outcome: Result<bool>) {
        // SAFETY: a function of this type, as the caller gave it.
        self.report(outcome, Ok, |function, status, answer, error, data| unsafe {
            function(status, answer.unwrap_or(false), error, data);
        });
    }
}

/// Lends an error for the duration of a callback.
pub(crate) fn lend(error: &Error, body: impl FnOnce(*const zkr_error)) {
    let lent = handle::publish(Fault::from(error)).unwrap_or(std::ptr::null_mut());
    body(lent);
    drop(handle::take::<Fault>(lent));
}

/// What stands between a subscription and its callback, so that ending the one ends the other for certain.
pub(crate) struct Gate {
    state: Mutex<GateState>,
    idle: Condvar,
}

struct GateState {
    open: bool,
    inside: Option<ThreadId>,
}

impl Gate {
    pub(crate) fn new() -> Arc<Gate> {
        Arc::new(Gate { state: Mutex::new(GateState { open: true, inside: None }), idle: Condvar::new() })
    }

    pub(crate) fn pass(&self, body: impl FnOnce()) {
        {
            let mut state = lock(&self.state);
            if !state.open {
                return;
            }
            state.inside = Some(thread::current().id());
        }
        guard::quietly(body);
        lock(&self.state).inside = None;
        self.idle.notify_all();
    }

    fn shut(&self) {
        let me = thread::current().id();
        let mut state = lock(&self.state);
        state.open = false;
        while state.inside.is_some_and(|thread| thread != me) {
            state = self.idle.wait(state).unwrap_or_else(PoisonError::into_inner);
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
    jobs: VecDeque<Job>,
    dispatching: bool,
    /// None once the queue takes no more.
    bell: Option<Bell>,
}

impl Queue {
    pub(crate) fn new() -> Result<Queue> {
        let state = QueueState { jobs: VecDeque::new(), dispatching: false, bell: Some(Bell::new()?) };
        Ok(Queue { state: Mutex::new(state), changed: Condvar::new() })
    }

    pub(crate) fn fd(&self) -> Option<RawFd> {
        lock(&self.state).bell.as_ref().map(|bell| bell.reading.as_raw_fd())
    }

    pub(crate) fn push(&self, job: Job) {
        let mut state = lock(&self.state);
        let Some(bell) = &state.bell else { return };
        if state.jobs.is_empty() {
            bell.ring();
        }
        state.jobs.push_back(job);
        drop(state);
        self.changed.notify_one();
    }

    /// Runs up to `max` callbacks (all that are there if `max` is not positive), waiting for the first one.
    pub(crate) fn dispatch(&self, max: i32, limit: Option<Duration>) -> i32 {
        let deadline = limit.and_then(|limit| Instant::now().checked_add(limit));
        let mut ran = 0;
        while let Some(job) = self.next(ran == 0, deadline) {
            guard::quietly(|| inside_callback(job));
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
            state.bell.as_ref()?;
            if !state.dispatching
                && let Some(job) = state.jobs.pop_front()
            {
                state.dispatching = true;
                if let Some(bell) = state.bell.as_ref().filter(|_| state.jobs.is_empty()) {
                    bell.silence();
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
        let forgotten = {
            let mut state = lock(&self.state);
            (state.bell.take(), std::mem::take(&mut state.jobs))
        };
        self.changed.notify_all();
        drop(forgotten);
    }
}

/// A file descriptor that is readable from `ring` until `silence`.
struct Bell {
    reading: OwnedFd,
    #[cfg(not(target_os = "linux"))]
    writing: OwnedFd,
}

impl Bell {
    #[cfg(target_os = "linux")]
    fn new() -> Result<Bell> {
        // SAFETY: eventfd takes two numbers and gives a new descriptor or -1.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(no_descriptor());
        }
        // SAFETY: a descriptor just opened belongs to nobody else.
        Ok(Bell { reading: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    #[cfg(not(target_os = "linux"))]
    fn new() -> Result<Bell> {
        let mut ends = [0; 2];
        // SAFETY: pipe fills the two descriptors it is given room for; they belong to nobody else.
        unsafe {
            if libc::pipe(ends.as_mut_ptr()) != 0 {
                return Err(no_descriptor());
            }
            for end in ends {
                libc::fcntl(end, libc::F_SETFD, libc::FD_CLOEXEC);
                libc::fcntl(end, libc::F_SETFL, libc::O_NONBLOCK);
            }
            Ok(Bell { reading: OwnedFd::from_raw_fd(ends[0]), writing: OwnedFd::from_raw_fd(ends[1]) })
        }
    }

    #[cfg(target_os = "linux")]
    fn bell_rope(&self) -> RawFd {
        self.reading.as_raw_fd()
    }

    #[cfg(not(target_os = "linux"))]
    fn bell_rope(&self) -> RawFd {
        self.writing.as_raw_fd()
    }

    fn ring(&self) {
        // SAFETY: eight bytes of our own into a descriptor of our own.
        unsafe { libc::write(self.bell_rope(), (&raw const ONE).cast(), 8) };
    }

    fn silence(&self) {
        let mut heard = 0u64;
        // SAFETY: as above; the descriptor does not block when there is nothing to read.
        while unsafe { libc::read(self.reading.as_raw_fd(), (&raw mut heard).cast(), 8) } == 8 {}
    }
}

static ONE: u64 = 1;

fn no_descriptor() -> Error {
    let cause = std::io::Error::last_os_error();
    Error::new(
        ErrorKind::Internal,
        format!("no file descriptor for events ({cause}); close some, or raise the limit"),
    )
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
