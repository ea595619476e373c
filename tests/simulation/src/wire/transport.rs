//! The client's end of a session, as zookeeper-client 0.11 keeps it: one background task that connects, greets, sends
//! what was asked for, hands out answers and events, pings, and reconnects until the session has ended.
//!
//! The crate runs on threads of its own, so [`Transport::run_aside`] lets it act also in the middle of somebody else's
//! poll, wherever the core looks at the link or at a watch.

use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use tokio::sync::{Notify, oneshot};
use zkrecipes::ClientOptions;
use zkrecipes::session::wire::{Link, LinkState, WireError, silence};

use super::session::{Effect, Operation, State};
use super::watches::Removal;
use crate::net::{ConnId, Down};
use crate::sim::{HostId, Instant, Sim, Timer, nanos};
use crate::solo::Solo;

pub struct Transport {
    pub sim: Arc<Sim>,
    pub host: HostId,
    state: Solo<State>,
    pub changed: Notify,
    task: Solo<Tended>,
}

/// How the background task is woken.
#[derive(Default)]
struct Tended {
    waker: Option<Waker>,
    timer: Option<(Instant, u64)>,
}

impl Transport {
    /// Starts to connect; `opened` resolves when there is a session, or says why there will be none.
    pub fn start(
        sim: Arc<Sim>,
        host: HostId,
        options: ClientOptions,
        opened: oneshot::Sender<Result<Arc<Transport>, WireError>>,
    ) {
        let now = sim.transport_now(host);
        let transport = Arc::new_cyclic(|me: &Weak<Transport>| Transport {
            state: Solo::new(State::new(sim.clone(), host, me.clone(), options, now, opened)),
            sim,
            host,
            changed: Notify::new(),
            task: Solo::default(),
        });
        let (sim, host) = (transport.sim.clone(), transport.host);
        sim.spawn(host, Box::pin(poll_fn(move |context| transport.poll(context))));
    }

    fn poll(&self, context: &mut Context) -> Poll<()> {
        self.task.lock().waker = Some(context.waker().clone());
        // As much as has arrived, or less: threads get interrupted.
        let burst = self.sim.chance(|rng| rng.number(1..=6));
        for _ in 0..burst {
            if !self.turn() {
                return self.rest();
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Nothing to do now: sleeps until the next tick, or for ever.
    fn rest(&self) -> Poll<()> {
        let Some(wake) = self.state.lock().next_tick() else { return Poll::Ready(()) };
        let (skew, suspended) = {
            let hosts = self.sim.hosts.lock();
            (hosts[self.host].skew, hosts[self.host].suspended)
        };
        // Set by a clock that may be put forward meanwhile; then it rings early, which does no harm.
        let at = wake.saturating_add(skew).saturating_add(suspended);
        let mut task = self.task.lock();
        let waker = task.waker.clone();
        let old = task.timer.take();
        if let (Some(waker), true) = (waker, wake < Instant::MAX) {
            task.timer = Some(self.sim.set_timer(self.host, at, Timer::Wake(waker)));
        }
        drop(task);
        if let Some(old) = old {
            self.sim.clear_timer(self.host, old);
        }
        Poll::Pending
    }

    /// One piece of work; false when there is none.
    fn turn(&self) -> bool {
        let now = self.sim.transport_now(self.host);
        let mut effects = Vec::new();
        let has_worked = self.state.lock().turn(now, &mut effects);
        self.carry_out(effects);
        has_worked
    }

    /// What others see of a piece of work, in order, once the state is free again: an answer that nobody waits for is
    /// dropped here, and with it perhaps a watch.
    fn carry_out(&self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::LinkChanged => self.changed.notify_waiters(),
                Effect::Run(run) => run(),
            }
        }
    }

    /// At some of the points where another thread of the same process might be running, it does.
    pub fn run_aside(&self) {
        if self.sim.chance(|rng| rng.one_in(8)) {
            self.turn();
        }
    }

    fn wake(&self) {
        let waker = self.task.lock().waker.clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    // ---- from the network

    pub fn arrived(&self, conn: ConnId, what: Down) {
        self.state.lock().arrived(conn, what);
        self.wake();
    }

    // ---- from the core

    pub fn session(&self) -> (i64, std::time::Duration) {
        self.state.lock().session()
    }

    pub fn link(&self) -> Link {
        self.state.lock().link
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.link().state, LinkState::Ended | LinkState::Denied)
    }

    pub fn submit(&self, operation: Operation) {
        let refused = self.state.lock().submit(operation);
        match refused {
            Some(operation) => operation.fail(WireError::SessionEnded),
            None => self.wake(),
        }
    }

    /// The last user is gone: what was asked for is still answered, then the session is closed.
    pub fn close(&self) {
        self.state.lock().is_closing = true;
        self.wake();
    }

    pub fn forget_watch(&self, id: u64) {
        self.state.lock().forget_watch(id);
        self.wake();
    }
}

/// The times that zookeeper-client derives from the silence that it is told to bear, and from a session's timeout.
pub struct Times {
    pub session: u64,
    pub tick: u64,
    pub ping: u64,
    pub silence: u64,
    pub expiry: u64,
}

impl Times {
    pub fn of(options: &ClientOptions, timeout: std::time::Duration) -> Times {
        let session = nanos(timeout);
        let tick = (nanos(silence(options, timeout)) / 8).max(1_000_000);
        let silence = 8 * tick;
        let session = session.max(silence);
        Times { session, tick, ping: (3 * tick).min(10_000_000_000), silence, expiry: session / 5 * 7 }
    }
}

/// A `removeWatches` request.
pub fn removal((path, mode): Removal) -> Operation {
    let frame = super::frames::request(zkrecipes_embedded::wire::Op::REMOVE_WATCHES, |w| {
        w.string(&path).int(mode);
    });
    Operation { frame, watch: None, answer: None }
}
