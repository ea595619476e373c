//! The client: connect, close, its properties, and a factory per recipe.

use napi::Env;
use napi::bindgen_prelude::{BigInt, ClassInstance};
use napi_derive::napi;
use zkrecipes::time;

use crate::event_loop::{EventLoop, Inbox, drop_quietly, js_number};
use crate::failure::throw;
use crate::lock::{Lock, MultiLock, ReadWriteLock};
use crate::nodes::Nodes;
use crate::options::{ConnectOptions, LockSettings};
use crate::semaphore::Semaphore;

#[napi(custom_finalize)]
pub struct Client {
    client: zkrecipes::Client,
    inbox: Inbox,
}

drop_quietly!(Client);

/// Connects; the call's value is the `Client`.
#[napi(catch_unwind)]
pub fn connect(
    env: &Env,
    event_loop: &EventLoop,
    hosts: String,
    options: ConnectOptions,
) -> napi::Result<f64> {
    let options = options.into_core().map_err(|error| throw(env, error))?;
    let inbox = event_loop.inbox();
    let future = async move { zkrecipes::Client::connect(&hosts, options).await };
    Ok(inbox.clone().run(future, |client| Client { client, inbox }))
}

#[napi]
impl Client {
    #[napi(catch_unwind)]
    pub fn close(&self, env: &Env, timeout: f64) -> napi::Result<f64> {
        let limit = time::from_js_millis("timeout", timeout).map_err(|error| throw(env, error))?;
        let client = self.client.clone();
        Ok(self.inbox.run(async move { client.close(limit).await }, |()| ()))
    }

    #[napi(catch_unwind)]
    pub fn state(&self) -> &'static str {
        self.client.state().name()
    }

    #[napi(catch_unwind)]
    pub fn session_id(&self) -> BigInt {
        self.client.session_id().into()
    }

    #[napi(catch_unwind)]
    pub fn session_timeout(&self) -> f64 {
        self.client.session_timeout().as_secs_f64() * 1000.0
    }

    #[napi(catch_unwind)]
    pub fn lease_remaining(&self) -> f64 {
        self.client.lease_remaining().as_secs_f64() * 1000.0
    }

    /// Every change of state from now on, as an event under the number that is returned.
    #[napi(catch_unwind)]
    pub fn on_state(&self) -> f64 {
        let event = self.inbox.number();
        let inbox = self.inbox.clone();
        // For the life of the client: `node/lib` keeps the list of those who listen.
        let _for_good = self.client.on_state(move |state| inbox.post(event, Ok(state.name()), |name| name));
        js_number(event)
    }

    #[napi(catch_unwind)]
    pub fn lock(&self, env: &Env, path: String, options: LockSettings) -> napi::Result<Lock> {
        let lock = self.client.lock(&path, options.into_core()).map_err(|error| throw(env, error))?;
        Ok(Lock::new(lock, self.inbox.clone()))
    }

    #[napi(catch_unwind)]
    pub fn read_write_lock(&self, env: &Env, path: String) -> napi::Result<ReadWriteLock> {
        let lock = self.client.read_write_lock(&path).map_err(|error| throw(env, error))?;
        Ok(ReadWriteLock::new(lock, self.inbox.clone()))
    }

    #[napi(catch_unwind)]
    pub fn multi_lock(&self, env: &Env, locks: Vec<ClassInstance<Lock>>) -> napi::Result<MultiLock> {
        let locks: Vec<_> = locks.iter().map(|lock| lock.core().clone()).collect();
        let lock = self.client.multi_lock(&locks).map_err(|error| throw(env, error))?;
        Ok(MultiLock::new(lock, self.inbox.clone()))
    }

    #[napi(catch_unwind)]
    pub fn semaphore(&self, env: &Env, path: String, permits: u32) -> napi::Result<Semaphore> {
        let semaphore = self.client.semaphore(&path, permits as usize).map_err(|error| throw(env, error))?;
        Ok(Semaphore::new(semaphore, self.inbox.clone()))
    }

    #[napi(catch_unwind)]
    pub fn check_sequencer(&self, sequencer: String) -> f64 {
        let client = self.client.clone();
        self.inbox.run(async move { client.check_sequencer(&sequencer).await }, |stands| stands)
    }

    /// Answered when it stands no longer.
    #[napi(catch_unwind)]
    pub fn watch_sequencer(&self, sequencer: String) -> f64 {
        let client = self.client.clone();
        self.inbox.run(async move { client.watch_sequencer(&sequencer).await }, |()| ())
    }

    #[napi(catch_unwind)]
    pub fn nodes(&self) -> Nodes {
        Nodes::new(self.client.nodes(), self.inbox.clone())
    }
}
