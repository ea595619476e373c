//! The way back to JavaScript: one inbox and one threadsafe function per environment (the main thread's, and one for
//! each worker that loads the library).
//!
//! napi's own deferreds and threadsafe functions are not enough. They leak what is still queued when an environment
//! goes away (napi 3.16 returns early from `call_js_cb` when the environment is null), and a leaked `Held` is a lock
//! held until the process ends. So outcomes wait in an inbox of ours, the threadsafe function only rings, and closing
//! the inbox drops what nobody will ever read: the lock is released.
//!
//! The threadsafe function is weak: it never keeps the process alive. What should keep it alive, a pending call, is
//! counted in JavaScript.

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use napi::bindgen_prelude::{
    FnArgs, Function, JsValuesTupleIntoVec, Null, ObjectFinalize, ToNapiValue, Unknown,
};
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Env, JsValue, Status, sys};
use napi_derive::napi;
use zkrecipes::drive::log::Level;
use zkrecipes::drive::{self, CancelToken, Sessions};
use zkrecipes::{Client, Error, ErrorKind, Result};

use crate::exit;
use crate::failure::Failure;
use crate::log::{self, Told};

/// Makes the JavaScript value, on the JavaScript thread.
type Answer = Box<dyn for<'env> FnOnce(&'env Env) -> napi::Result<Unknown<'env>> + Send>;

type Wakeup = ThreadsafeFunction<(), (), Delivery, Status, false, true>;

/// The outcome of one call, or one event for one subscriber.
struct Letter {
    call: u64,
    outcome: Result<Answer>,
}

/// What is on its way to one environment.
#[derive(Default)]
struct Letters {
    waiting: VecDeque<Letter>,
    closed: bool,
}

/// One environment's end of the addon; cheap to clone, and usable from any thread.
#[derive(Clone)]
pub struct Inbox(Arc<Shared>);

struct Shared {
    letters: Arc<Mutex<Letters>>,
    wakeup: Wakeup,
    /// The calls under way, so that JavaScript can withdraw them by number and the end of the environment withdraws
    /// them all.
    calls: Mutex<HashMap<u64, CancelToken>>,
    next: AtomicU64,
    sessions: Arc<Sessions>,
}

/// Knows an inbox without keeping it.
pub struct WeakInbox(Weak<Shared>);

impl WeakInbox {
    pub fn get(&self) -> Option<Inbox> {
        self.0.upgrade().map(Inbox)
    }
}

impl Inbox {
    pub fn downgrade(&self) -> WeakInbox {
        WeakInbox(Arc::downgrade(&self.0))
    }

    pub fn is_same(&self, other: &Inbox) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether anybody will read what is posted.
    pub fn is_open(&self) -> bool {
        !lock(&self.0.letters).closed
    }

    /// The session of `client` ends with the environment.
    pub fn add_session(&self, client: &Client) {
        self.0.sessions.add(client);
    }

    /// A number that no other call or subscription of this environment has.
    pub fn number(&self) -> u64 {
        self.0.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Drives a future of the core; its outcome arrives under the number that is returned.
    pub fn run<T, V>(
        &self,
        future: impl Future<Output = Result<T>> + Send + 'static,
        convert: impl FnOnce(T) -> V + Send + 'static,
    ) -> f64
    where
        T: Send + 'static,
        V: ToNapiValue,
    {
        let (call, token) = self.begin();
        let inbox = self.clone();
        drive::start_for_inbox(future, &token, move |outcome| inbox.post(call, outcome, convert));
        js_number(call)
    }

    fn begin(&self) -> (u64, CancelToken) {
        let (call, token) = (self.number(), CancelToken::new());
        lock(&self.0.calls).insert(call, token.clone());
        (call, token)
    }

    /// Sends an outcome or an event home. Dropped, on the calling thread, when the environment is gone.
    pub fn post<T, V>(&self, call: u64, outcome: Result<T>, convert: impl FnOnce(T) -> V + Send + 'static)
    where
        T: Send + 'static,
        V: ToNapiValue,
    {
        self.put(
            call,
            outcome.map(|value| -> Answer { Box::new(move |env| convert(value).into_unknown(env)) }),
        );
    }

    /// The same without the types of a verb, and so there once.
    fn put(&self, call: u64, outcome: Result<Answer>) {
        lock(&self.0.calls).remove(&call);
        let mut letters = lock(&self.0.letters);
        if letters.closed {
            // The lock first: dropping a `Held` may take its time.
            drop(letters);
            drop(outcome);
            return;
        }
        letters.waiting.push_back(Letter { call, outcome });
        drop(letters);
        self.0.wakeup.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }

    fn close(&self) {
        let unread = {
            let mut letters = lock(&self.0.letters);
            letters.closed = true;
            std::mem::take(&mut letters.waiting)
        };
        drop(unread);
        let outstanding = std::mem::take(&mut *lock(&self.0.calls));
        for token in outstanding.into_values() {
            token.cancel();
        }
    }
}

/// The numbers stay far below 2^53, where a double is exact.
pub fn js_number(call: u64) -> f64 {
    call as f64
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What one wake-up brings: a letter, or nothing when the inbox was closed in the meantime.
struct Delivery(Option<Letter>);

impl JsValuesTupleIntoVec for Delivery {
    fn into_vec(self, env: sys::napi_env) -> napi::Result<Vec<sys::napi_value>> {
        let Some(letter) = self.0 else { return Ok(Vec::new()) };
        let env = Env::from(env);
        let call = js_number(letter.call).into_unknown(&env)?;
        let answer = letter.outcome.and_then(|answer| {
            // A panic here would unwind into Node, and an error would become an uncaught exception.
            match catch_unwind(AssertUnwindSafe(|| answer(&env))) {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(error)) => Err(internal(&error.reason)),
                Err(_) => Err(internal("a panic")),
            }
        });
        let (failure, value) = match answer {
            Ok(value) => (Null.into_unknown(&env)?, value),
            Err(error) => (Failure::from(error).into_unknown(&env)?, Null.into_unknown(&env)?),
        };
        Ok(vec![call.raw(), failure.raw(), value.raw()])
    }
}

fn internal(what: &str) -> Error {
    Error::new(ErrorKind::Internal, format!("{what} while converting a result for Node; please report this"))
}

/// The environment's end of the addon, made once by the library with the function that receives every outcome:
/// `(call, failure or null, value or null)`.
#[napi(custom_finalize)]
pub struct EventLoop {
    inbox: Inbox,
    told: Told,
}

#[napi]
impl EventLoop {
    #[napi(constructor, catch_unwind)]
    pub fn new(
        env: &Env,
        dispatch: Function<'_, FnArgs<(f64, Option<Failure>, Unknown<'static>)>, ()>,
        is_main_thread: bool,
    ) -> napi::Result<EventLoop> {
        let letters = Arc::new(Mutex::new(Letters::default()));
        let unread = letters.clone();
        let wakeup = dispatch
            .build_threadsafe_function::<()>()
            .weak::<true>()
            .callee_handled::<false>()
            .build_callback(move |_| Ok(Delivery(lock(&unread).waiting.pop_front())))?;
        let sessions = exit::sessions_of(env)?;
        let shared = Shared { letters, wakeup, calls: Mutex::default(), next: AtomicU64::new(1), sessions };
        let inbox = Inbox(Arc::new(shared));
        let told = log::listen(&inbox, is_main_thread);
        Ok(EventLoop { inbox, told })
    }

    /// The number under which arrives what the library says of itself.
    #[napi(catch_unwind)]
    pub fn log(&self) -> f64 {
        js_number(self.told.event)
    }

    /// How much of it.
    #[napi(catch_unwind)]
    pub fn set_log_level(&self, level: String) {
        if let Some(level) = Level::of(&level) {
            self.told.set_level(level);
        }
    }

    /// Withdraws the call of that number; its outcome is `CANCELLED`, unless it was settled already.
    #[napi(catch_unwind)]
    pub fn withdraw(&self, call: f64) {
        let token = lock(&self.inbox.0.calls).get(&(call as u64)).cloned();
        if let Some(token) = token {
            token.cancel();
        }
    }

    pub fn inbox(&self) -> Inbox {
        self.inbox.clone()
    }
}

impl ObjectFinalize for EventLoop {
    fn finalize(self, _env: Env) -> napi::Result<()> {
        quietly(|| {
            self.told.set_level(Level::Off);
            self.inbox.close();
        });
        Ok(())
    }
}

/// Runs what a finalizer has to do; Node calls finalizers through C, where a panic would abort the process.
pub fn quietly(work: impl FnOnce()) {
    let _ = catch_unwind(AssertUnwindSafe(work));
}

/// Drops a class's content without letting a panic out.
macro_rules! drop_quietly {
    ($($class:ty),+ $(,)?) => {
        $(#[allow(clippy::drop_non_drop)] // Some consist of handles that do without.
        impl napi::bindgen_prelude::ObjectFinalize for $class {
            fn finalize(self, _env: napi::Env) -> napi::Result<()> {
                $crate::event_loop::quietly(|| drop(self));
                Ok(())
            }
        })+
    };
}
pub(crate) use drop_quietly;
