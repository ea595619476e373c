//! What the calls of one client do one at a time, with what they share for it, such as a watch. A future of Rust may be kept and never
//! polled again: where it has the lock, or would have it next, it would hold up all others. So where others wait, who was woken and is
//! not polled for [`STUCK`] is passed over: they go on with another lock, and it keeps its own.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use tokio::sync::{OwnedMutexGuard, watch};

use crate::futures::{polled, unless};
use crate::mutex::lock;
use crate::process::UnlessForked;
use crate::session::clock::{Clock, Moment};

/// How long who was woken has to go on. Who is only slow comes to no harm: it has a lock of its own then.
const STUCK: Duration = Duration::from_secs(2);

/// The lock that whoever comes next uses.
pub(super) struct CurrentLock<W>(Arc<Mutex<Arc<SharedLock<W>>>>);

impl<W: Default + Send + 'static> Default for CurrentLock<W> {
    fn default() -> CurrentLock<W> {
        CurrentLock(Arc::new_cyclic(|current| Mutex::new(SharedLock::new(current.clone()))))
    }
}

impl<W: Default + Send + 'static> CurrentLock<W> {
    pub(super) fn get(&self) -> Arc<SharedLock<W>> {
        lock(&self.0).clone()
    }
}

/// A lock, and who uses it.
pub(super) struct SharedLock<W> {
    shared: Arc<tokio::sync::Mutex<W>>,
    /// How many calls look for something with it.
    searches: AtomicUsize,
    users: Mutex<Users>,
    is_passed_over: watch::Sender<bool>,
    current: Weak<Mutex<Arc<SharedLock<W>>>>,
}

/// Those who have it, or wait for it.
#[derive(Default)]
struct Users {
    /// Of each since when it has been woken and not polled, if so.
    woken: BTreeMap<u64, Option<Moment>>,
    begun: u64,
    /// Whether a task looks who is stuck.
    are_looked_after: bool,
}

impl Users {
    /// Since when somebody has been woken who may hold up others.
    fn first_woken(&self) -> Option<Moment> {
        self.woken.values().flatten().min().copied().filter(|_| self.woken.len() > 1)
    }
}

impl<W: Default + Send + 'static> SharedLock<W> {
    fn new(current: Weak<Mutex<Arc<SharedLock<W>>>>) -> Arc<SharedLock<W>> {
        let (searches, is_passed_over) = (AtomicUsize::new(0), watch::Sender::new(false));
        let (shared, users) = Default::default();
        Arc::new(SharedLock { shared, searches, users, is_passed_over, current })
    }

    pub(super) fn begin_search(&self) {
        self.searches.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether it was the last one.
    pub(super) fn end_search(&self) -> bool {
        self.searches.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub(super) fn try_lock(&self) -> Option<OwnedMutexGuard<W>> {
        self.shared.clone().try_lock_owned().ok()
    }

    /// Waits for it; `None` when those who wait are to use another one.
    pub(super) async fn lock(&self) -> Option<OwnedMutexGuard<W>> {
        let mut is_passed_over = self.is_passed_over.subscribe();
        let passed_over = async {
            // It never ends: we have the other end.
            let _ = is_passed_over.wait_for(|is| *is).await;
        };
        unless(self.shared.clone().lock_owned(), passed_over).await
    }

    /// `future`, which uses it.
    pub(super) fn used_by<F: Future>(
        self: &Arc<Self>,
        clock: &Arc<dyn Clock>,
        future: F,
    ) -> impl Future<Output = F::Output> + use<W, F> {
        let user = UnlessForked::new(self.begin_use(clock));
        let waker = Waker::from(user.waker.clone());
        polled(future, move |future, cx| {
            user.is_polled(cx.waker());
            future.poll(&mut Context::from_waker(&waker))
        })
    }

    fn begin_use(self: &Arc<Self>, clock: &Arc<dyn Clock>) -> User<W> {
        let mut users = lock(&self.users);
        let number = users.begun;
        users.begun += 1;
        users.woken.insert(number, None);
        drop(users);
        // Somebody may be stuck already, whom nobody waited for until now.
        self.look_after_users(clock);
        let (shared, clock) = (Arc::downgrade(self), clock.clone());
        let waker = Arc::new(UserWaker { shared, clock, number, waker: Mutex::default() });
        User { shared: self.clone(), waker }
    }

    fn look_after_users(self: &Arc<Self>, clock: &Arc<dyn Clock>) {
        let mut users = lock(&self.users);
        if users.are_looked_after || users.first_woken().is_none() {
            return;
        }
        users.are_looked_after = true;
        drop(users);
        let (shared, clock) = (self.clone(), clock.clone());
        clock.clone().spawn(Box::pin(async move {
            while let Some(since) = shared.first_woken() {
                if clock.now().since(since) >= STUCK {
                    return shared.pass_over();
                }
                clock.sleep_until(since + STUCK).await;
            }
        }));
    }

    /// As long as there is one, somebody looks after them.
    fn first_woken(&self) -> Option<Moment> {
        let mut users = lock(&self.users);
        let since = users.first_woken();
        users.are_looked_after = since.is_some();
        since
    }

    fn pass_over(self: &Arc<Self>) {
        if let Some(current) = self.current.upgrade() {
            *lock(&current) = SharedLock::new(self.current.clone());
        }
        self.is_passed_over.send_replace(true);
    }
}

/// One who uses a lock, until this is dropped.
struct User<W> {
    shared: Arc<SharedLock<W>>,
    waker: Arc<UserWaker<W>>,
}

impl<W> User<W> {
    fn is_polled(&self, waker: &Waker) {
        if let Some(since) = lock(&self.shared.users).woken.get_mut(&self.waker.number) {
            *since = None;
        }
        let mut own = lock(&self.waker.waker);
        let is_known = own.as_ref().is_some_and(|own| own.will_wake(waker));
        let before = if is_known { None } else { own.replace(waker.clone()) };
        drop(own);
        drop(before);
    }
}

impl<W> Drop for User<W> {
    fn drop(&mut self) {
        lock(&self.shared.users).woken.remove(&self.waker.number);
        let waker = lock(&self.waker.waker).take();
        drop(waker);
    }
}

/// Wakes a user, and notes that.
struct UserWaker<W> {
    /// Others may keep this for long.
    shared: Weak<SharedLock<W>>,
    clock: Arc<dyn Clock>,
    number: u64,
    waker: Mutex<Option<Waker>>,
}

impl<W: Default + Send + 'static> Wake for UserWaker<W> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(shared) = self.shared.upgrade() {
            if let Some(since) = lock(&shared.users).woken.get_mut(&self.number) {
                since.get_or_insert_with(|| self.clock.now());
            }
            shared.look_after_users(&self.clock);
        }
        let waker = lock(&self.waker).clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}
