//! The client: connect, close, its properties, and what makes recipes that are not made alike.

use std::collections::HashMap;
use std::time::Duration;

use napi::Env;
use napi::bindgen_prelude::{BigInt, ClassInstance};
use napi_derive::napi;
use zkrecipes::{CommitMode, drive};

use crate::event_loop::{EventLoop, drop_quietly, js_number};
use crate::failure::OrThrow;
use crate::generated::{ConnectOptions, DoubleBarrier, LockSettings, Nodes, TwoPhaseCommit};
use crate::lock::{Lock, MultiLock, ReadWriteLock};
use crate::metrics::{self, MetricRow};
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Client(pub(crate) Remote<zkrecipes::Client>);

/// Hears how long the callbacks of a client kept the event loop.
#[napi(custom_finalize)]
pub struct CallbackTimes(drive::CallbackTimes);

drop_quietly!(Client, CallbackTimes);

#[napi]
impl CallbackTimes {
    #[napi(catch_unwind)]
    pub fn took(&self, millis: f64) {
        self.0.took(Duration::try_from_secs_f64(millis / 1000.0).unwrap_or_default());
    }
}

/// Connects; the call's value is the `Client`.
#[napi(catch_unwind)]
pub fn connect(
    env: &Env,
    event_loop: &EventLoop,
    hosts: String,
    options: ConnectOptions,
) -> napi::Result<f64> {
    let options = options.into_core().or_throw(env)?;
    let inbox = event_loop.inbox();
    let home = inbox.clone();
    let future = async move {
        let client = zkrecipes::Client::connect(&hosts, options).await?;
        home.add_session(&client);
        client.make_handles_when_closed();
        Ok(client)
    };
    let home = inbox.clone();
    Ok(inbox.run(future, move |client| Client(Remote::new(client, &home))))
}

#[napi]
impl Client {
    #[napi(catch_unwind)]
    pub fn close(&self, timeout: f64) -> f64 {
        self.0.wait(timeout, drive::close_and_tell, same)
    }

    #[napi(catch_unwind)]
    pub fn update_hosts(&self, env: &Env, hosts: String) -> napi::Result<()> {
        self.0.update_hosts(&hosts).or_throw(env)
    }

    #[napi(catch_unwind)]
    pub fn state(&self) -> &'static str {
        self.0.state().name()
    }

    #[napi(catch_unwind)]
    pub fn session_id(&self) -> BigInt {
        self.0.session_id().into()
    }

    #[napi(catch_unwind)]
    pub fn session_timeout(&self) -> f64 {
        self.0.session_timeout().as_secs_f64() * 1000.0
    }

    #[napi(catch_unwind)]
    pub fn lease_remaining(&self) -> f64 {
        self.0.lease_remaining().as_secs_f64() * 1000.0
    }

    #[napi(catch_unwind)]
    pub fn metrics(&self) -> Vec<MetricRow> {
        metrics::rows(&self.0.metrics())
    }

    #[napi(catch_unwind)]
    pub fn prometheus(&self) -> String {
        self.0.metrics().to_prometheus()
    }

    #[napi(catch_unwind)]
    pub fn skipped(&self) -> HashMap<String, String> {
        self.0.skipped().into_iter().collect()
    }

    #[napi(catch_unwind)]
    pub fn callback_times(&self) -> CallbackTimes {
        CallbackTimes(self.0.callback_times())
    }

    /// Refuses callbacks that nothing would ever call.
    #[napi(catch_unwind)]
    pub fn check_open(&self, env: &Env) -> napi::Result<()> {
        drive::check_open(&self.0).or_throw(env)
    }

    /// Every change of state from now on, as an event under the number that is returned.
    #[napi(catch_unwind)]
    pub fn on_state(&self) -> f64 {
        let event = self.0.inbox.number();
        let inbox = self.0.inbox.clone();
        // For the life of the client: `node/lib` keeps the list of those who listen.
        let _for_good = self.0.on_state(move |state| inbox.post(event, Ok(state.name()), |name| name));
        js_number(event)
    }

    #[napi(catch_unwind)]
    pub fn lock(&self, env: &Env, path: String, options: LockSettings) -> napi::Result<Lock> {
        let lock = options.into_core().and_then(|options| self.0.lock(&path, options)).or_throw(env)?;
        Ok(Lock::new(lock, self.0.inbox.clone()))
    }

    #[napi(catch_unwind)]
    pub fn read_write_lock(&self, env: &Env, path: String) -> napi::Result<ReadWriteLock> {
        let lock = self.0.read_write_lock(&path).or_throw(env)?;
        Ok(ReadWriteLock::new(lock, self.0.inbox.clone()))
    }

    #[napi(catch_unwind)]
    pub fn multi_lock(&self, env: &Env, locks: Vec<ClassInstance<Lock>>) -> napi::Result<MultiLock> {
        let locks: Vec<_> = locks.iter().map(|lock| lock.core().clone()).collect();
        let lock = self.0.multi_lock(&locks).or_throw(env)?;
        Ok(MultiLock::new(lock, self.0.inbox.clone()))
    }

    #[napi(catch_unwind)]
    pub fn double_barrier(
        &self,
        env: &Env,
        path: String,
        parties: u32,
        name: Option<String>,
    ) -> napi::Result<DoubleBarrier> {
        let barrier = self.0.double_barrier(&path, parties as usize, name.as_deref()).or_throw(env)?;
        Ok(DoubleBarrier::new(barrier, &self.0.inbox))
    }

    #[napi(catch_unwind)]
    pub fn two_phase_commit(
        &self,
        env: &Env,
        path: String,
        mode: Option<String>,
    ) -> napi::Result<TwoPhaseCommit> {
        let mode = mode.map_or(Ok(CommitMode::default()), |mode| mode.parse()).or_throw(env)?;
        Ok(TwoPhaseCommit::new(self.0.two_phase_commit(&path, mode).or_throw(env)?, &self.0.inbox))
    }

    /// Answered when it stands no longer.
    #[napi(catch_unwind)]
    pub fn watch_sequencer(&self, sequencer: String, timeout: f64) -> f64 {
        let watch = |client, limit| async move { drive::watch_sequencer(&client, &sequencer, limit).await };
        self.0.wait(timeout, watch, same)
    }

    #[napi(catch_unwind)]
    pub fn nodes(&self) -> Nodes {
        Nodes::new(self.0.nodes(), &self.0.inbox)
    }
}
