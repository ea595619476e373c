//! The task in which the crate serves a session. The crate does not tell when that task dies, so it is run here.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use spawns_core::{Spawn, Task};
use tokio::sync::watch;
use zookeeper_client as zk;

use super::super::LinkState;
use super::hearsay::Hearsay;
use super::link::link_state;
use super::transport::polled_in_one;
use crate::session::wire::open::Entry;
use crate::{log, runtime};

// The crate sends credentials together with its wish for a session. A server with Netty, which TLS needs, may take and answer
// the credentials while the other answer waits to be written, and the crate, which expects that one first, gives the connection
// up. It happens to one connect in ten, on a busy server to most, and the crate's own pauses grow from a tenth of a second to
// many: after a handful, connecting would be out of time. So it is done again here, and at once.
const DISORDER: &str = "the server answered the credentials before it answered that there is a session";
const PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// Nobody may wait for it any more.
const MOST_DISORDER: Duration = Duration::from_secs(10);

/// Connects; the session is on the roll from now on and until the task that serves it is over.
pub(super) async fn attended(
    connector: zk::Connector,
    hosts: String,
    is_secure: bool,
) -> Result<(zk::Client, Service), zk::Error> {
    let attendant = Attendant {
        entry: Arc::new(Entry::new()),
        over: Arc::new(watch::Sender::new(false)),
        hearsay: Hearsay::default(),
        asked: Arc::default(),
        #[cfg(test)]
        task: Arc::default(),
    };
    let (began, mut pause) = (Instant::now(), PAUSE);
    let client = loop {
        let connector = connector.clone();
        let mut connecting = pin!(async {
            match is_secure {
                true => connector.secure_connect(&hosts).await,
                false => connector.connect(&hosts).await,
            }
        });
        let connected = poll_fn(|context| {
            // Where the crate spawns its task, which it does as it is polled.
            let _scope = spawns_core::enter(&attendant);
            match attendant.hearsay.listening(|| connecting.as_mut().poll(context)) {
                Poll::Ready(connected) => Poll::Ready(Some(connected)),
                Poll::Pending if attendant.hearsay.takes_disorder() => Poll::Ready(None),
                Poll::Pending => Poll::Pending,
            }
        });
        match connected.await {
            Some(connected) => break connected?,
            None if began.elapsed() > MOST_DISORDER => return Err(zk::Error::Timeout),
            None => log::connect_failed(DISORDER.to_owned(), pause),
        }
        runtime::enter(|| tokio::time::sleep(pause)).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    };
    let service = Service {
        is_over: attendant.over.subscribe(),
        hearsay: attendant.hearsay.clone(),
        asked: attendant.asked.clone(),
        #[cfg(test)]
        task: attendant.task.clone(),
    };
    Ok((client, service))
}

/// Runs what the crate spawns.
struct Attendant {
    entry: Arc<Entry>,
    over: Arc<watch::Sender<bool>>,
    hearsay: Hearsay,
    asked: Arc<AtomicUsize>,
    #[cfg(test)]
    task: Arc<std::sync::OnceLock<tokio::task::AbortHandle>>,
}

impl Spawn for Attendant {
    fn spawn(&self, task: Task) {
        let (hearsay, asked) = (self.hearsay.clone(), self.asked.clone());
        let end = End { over: self.over.clone(), _entry: self.entry.clone() };
        let _task = runtime::spawn(Box::pin(async move {
            let _end = end;
            let mut serving = Box::into_pin(task.future);
            poll_fn(|context| {
                // One alone gains nothing by it.
                let are_several = asked.swap(0, Ordering::AcqRel) > 1;
                hearsay.listening(|| match are_several {
                    true => polled_in_one(context, |context| serving.as_mut().poll(context)),
                    false => serving.as_mut().poll(context),
                })
            })
            .await;
        }));
        #[cfg(test)]
        let _ = self.task.set(_task.abort_handle());
    }
}

/// Tells that the task is over, whatever ended it.
struct End {
    over: Arc<watch::Sender<bool>>,
    _entry: Arc<Entry>,
}

impl Drop for End {
    fn drop(&mut self) {
        self.over.send_replace(true);
    }
}

/// Whether a session is still served.
#[derive(Clone)]
pub(super) struct Service {
    is_over: watch::Receiver<bool>,
    pub(super) hearsay: Hearsay,
    /// Requests that were made since the task was last polled.
    asked: Arc<AtomicUsize>,
    #[cfg(test)]
    task: Arc<std::sync::OnceLock<tokio::task::AbortHandle>>,
}

impl Service {
    /// A request is about to be made.
    pub(super) fn asks(&self) {
        self.asked.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn is_over(&self) -> bool {
        *self.is_over.borrow()
    }

    /// The next change of the connection; the last one is an end, told by the crate or not.
    pub(super) async fn next_state(&self, watcher: &mut zk::StateWatcher) -> LinkState {
        let mut is_over = self.is_over.clone();
        tokio::select! {
            biased;
            state = watcher.changed() => link_state(state),
            // It fails only if the task was gone before it could tell.
            _ = is_over.wait_for(|is_over| *is_over) => LinkState::Ended,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::channel;

    use zkrecipes_embedded::Server;

    use super::super::{Session, Wire, ZooKeeper, wire_error};
    use super::*;
    use crate::session::system_clock::SystemClock;
    use crate::session::wire::{Dial, Flight};
    use crate::{Client, ClientOptions, LostReason};

    /// Dials as [`ZooKeeper`] does and keeps the tasks that serve the sessions.
    struct Watched(Arc<Mutex<Vec<Service>>>);

    impl Dial for Watched {
        fn dial(&self, hosts: &str, options: &ClientOptions) -> Flight<Box<dyn Wire>> {
            let (connector, hosts, services) =
                (ZooKeeper::connector(options), hosts.to_owned(), self.0.clone());
            Box::pin(async move {
                let connecting = runtime::spawn_task(attended(connector?, hosts.clone(), false));
                let (client, service) = connecting.await.expect("no panic").map_err(wire_error)?;
                services.lock().expect("no panic").push(service.clone());
                Ok(Box::new(Session::over(client, hosts, service, Arc::default())) as Box<dyn Wire>)
            })
        }
    }

    #[test]
    fn a_session_whose_task_dies_is_lost_and_replaced() {
        let server = Server::start().expect("a free port");
        let hosts = server.connect_string();
        let services = Arc::new(Mutex::new(Vec::new()));
        let dial = Box::new(Watched(services.clone()));
        let (send, told) = channel();
        let test = async move {
            let options = ClientOptions::default();
            let client = Client::connect_over(dial, Arc::new(SystemClock), &hosts, options).await?;
            let held = client.lock("/locks/dies", Default::default())?.acquire().await?;
            held.on_lost(move |error| _ = send.send(error.reason()));
            let before = client.session_id();
            services.lock().expect("no panic")[0].task.get().expect("it is served").abort();
            held.lost().await;
            // Answered by the next session, and by no call on the one that is dead.
            client.nodes().exists("/locks").await?;
            Ok((before, client.session_id(), client.close(Some(Duration::from_secs(20))).await))
        };
        let within = async move {
            let late = crate::Error::timeout("it did not come");
            tokio::time::timeout(Duration::from_secs(20), test).await.unwrap_or(Err(late))
        };
        let (before, after, closed) = crate::drive::wait(within, None, None).expect("a new session");
        assert_ne!(before, after);
        assert_eq!(closed, Ok(()));
        let reason = told.recv_timeout(Duration::from_secs(20)).expect("told");
        assert_eq!(reason, Some(LostReason::Session));
    }
}
