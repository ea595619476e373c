//! The task that serves a session over sockets: it connects, reads, sends what is left, and looks at the clock.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::OptionFuture;
use tokio::net::TcpStream;

use super::Connection;
#[cfg(target_os = "linux")]
use super::driving::WATCHDOG;
use super::reading::Extent;
use super::socket::Socket;
use super::stream::Ready;
use super::trust::Trust;
use crate::hosts::Server;
use crate::metrics::Counters;
use crate::session::clock::{Clock, Moment};
use crate::session::system_clock::SystemClock;
use crate::session::wire::asking::{asked, no_connection};
use crate::session::wire::noted::SHAKING_HANDS;
use crate::session::wire::open::Entry;
use crate::session::wire::{Noted, Trouble};
use crate::threads;

/// The clock of the runtime stands still while the machine is suspended, so that of the system is looked at so often.
const LONGEST_NAP: Duration = Duration::from_secs(1);

/// Without a thread that drives, nobody has to be watched.
#[cfg(not(target_os = "linux"))]
const WATCHDOG: Duration = Duration::from_millis(20);

type Connecting = Pin<Box<dyn Future<Output = (u64, Result<Socket, Trouble>)> + Send>>;

type Asking = Pin<Box<dyn Future<Output = (u64, Server, bool)> + Send>>;

/// Whoever serves a session; if that ends before the session, by a panic or with its runtime, so does the session.
struct Served(Arc<Connection<Socket>>);

impl Drop for Served {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

/// Until the session is over. It is on the roll meanwhile.
pub(super) async fn serve(
    connection: Arc<Connection<Socket>>,
    trust: Option<Arc<Trust>>,
    entry: Entry,
    counters: Arc<Counters>,
) {
    let _served = Served(connection.clone());
    let mut connecting: Option<Connecting> = None;
    let mut connected = None;
    let mut asking: Option<Asking> = None;
    let mut learnt = None;
    let mut ready: Option<Ready> = None;
    // What there is to be read, if there is anything.
    let mut is_ready: Option<Extent> = None;
    let mut watch_at: Option<Instant> = None;
    loop {
        let is_due = watch_at.is_some_and(|at| Instant::now() >= at);
        let looked = connection.try_look(|state, now| {
            if let Some((attempt, socket)) = connected.take() {
                state.connected(attempt, socket, now);
            }
            if let Some((attempt, server, has_quorum)) = learnt.take() {
                state.machine.learnt(attempt, &server, has_quorum, now);
            }
            let (due, more, is_watched) = state.visit(is_ready, is_due, now);
            let socket = state.channel.as_ref().map(|socket| (socket.attempt, socket.stream.clone()));
            (due, more, is_watched, socket.unzip())
        });
        let Some((due, more, is_watched, (attempt, stream))) = looked else {
            // Somebody is inside, and calls when they leave. This thread has others to serve.
            tokio::select! {
                () = connection.is_called() => {}
                () = tokio::time::sleep(WATCHDOG) => {}
            }
            continue;
        };
        is_ready = more;
        watch_at = match (is_watched, watch_at) {
            (false, _) => None,
            // However often it is called meanwhile.
            (true, Some(at)) if !is_due => Some(at),
            (true, _) => Some(Instant::now() + WATCHDOG),
        };
        if due.is_over {
            break;
        }
        if let Some((attempt, server)) = due.dial {
            let (trust, noted) = (trust.clone(), connection.noted.clone());
            let counters = counters.clone();
            let connecting_to =
                async move { (attempt, connect(attempt, &server, trust, &noted, counters).await) };
            connecting = Some(Box::pin(connecting_to));
        }
        if let Some((attempt, server)) = due.question {
            let trust = trust.clone();
            asking = Some(Box::pin(async move {
                let has_quorum = has_quorum(&server, trust.as_ref()).await;
                (attempt, server, has_quorum)
            }));
        }
        let has_changed =
            ready.as_ref().map(|ready| Arc::as_ptr(&ready.stream)) != stream.as_ref().map(Arc::as_ptr);
        if has_changed {
            ready = match stream.as_ref().map(Ready::new).transpose() {
                Ok(ready) => ready,
                Err(error) => {
                    attempt.into_iter().for_each(|attempt| connection.hung_up(attempt, error.to_string()));
                    continue;
                }
            };
        }
        if is_ready.is_some() {
            // There is more, but others have to be served, too.
            tokio::task::yield_now().await;
            continue;
        }
        let is_readable = ready.as_ref().map(|ready| ready.until(due.is_blocked));
        tokio::select! {
            biased;
            Some(to_its_end) = OptionFuture::from(is_readable) => {
                is_ready = Some(if to_its_end { Extent::All } else { Extent::UntilShort });
            }
            Some(made) = OptionFuture::from(connecting.as_mut()) => (connecting, connected) = (None, Some(made)),
            Some(told) = OptionFuture::from(asking.as_mut()) => (asking, learnt) = (None, Some(told)),
            () = connection.is_called() => {}
            () = nap(due.wake_at, watch_at) => {}
        }
    }
    drop(entry);
}

async fn nap(wake_at: Option<Moment>, watch_at: Option<Instant>) {
    let left = wake_at.map_or(LONGEST_NAP, |at| at.since(SystemClock.now())).min(LONGEST_NAP);
    let watch = watch_at.map_or(left, |at| at.saturating_duration_since(Instant::now()));
    tokio::time::sleep(left.min(watch)).await;
}

/// Names are looked up, and files read, anew for each attempt, on threads of their own: that may take long.
async fn connect(
    attempt: u64,
    server: &Server,
    trust: Option<Arc<Trust>>,
    noted: &Noted,
    counters: Arc<Counters>,
) -> Result<Socket, Trouble> {
    let stream = reach(server).await?;
    let tls = match &trust {
        None => None,
        Some(trust) => {
            noted.note(server, SHAKING_HANDS.into());
            Some(trust.shake_hands(&stream, server).await?)
        }
    };
    Socket::new(attempt, stream, tls, trust, counters).map_err(|error| error.to_string().into())
}

/// Whether a server says so, which it does where it may serve without one as well.
async fn has_quorum(server: &Server, trust: Option<&Arc<Trust>>) -> bool {
    let tls = match trust {
        None => None,
        Some(trust) => match trust.read().await {
            Ok(tls) => Some(tls),
            Err(_) => return false,
        },
    };
    let server = server.clone();
    let answer = threads::aside("zkrecipes-ask", move || asked(&server, "isro", tls.as_deref())).await;
    matches!(answer, Some(Ok(said)) if said.trim() == "rw")
}

async fn reach(server: &Server) -> Result<TcpStream, Trouble> {
    let addresses = match server.host.parse::<std::net::IpAddr>() {
        Ok(address) => vec![(address, server.port).into()],
        Err(_) => {
            let (host, port) = (server.host.clone(), server.port);
            let look_up =
                move || std::net::ToSocketAddrs::to_socket_addrs(&(&*host, port)).map(Vec::from_iter);
            let looked_up = threads::aside("zkrecipes-names", look_up).await;
            let looked_up = looked_up.ok_or("cannot be reached (the system has no thread to give)")?;
            looked_up.map_err(|error| format!("has a name without an address ({error})"))?
        }
    };
    let mut outcome: Result<_, Trouble> = Err("has a name without an address".into());
    for address in addresses {
        outcome = TcpStream::connect(address).await.map_err(|error| no_connection(&error).into());
        if outcome.is_ok() {
            break;
        }
    }
    let stream = outcome?;
    // Else what is small waits for an answer to what went before.
    stream.set_nodelay(true).map_err(|error| no_connection(&error))?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use zkrecipes_embedded::Server as Embedded;

    use super::*;
    use crate::drive;
    use crate::options::ClientOptions;
    use crate::runtime;
    use crate::session::wire::{Event, LinkState, WireError};

    #[test]
    fn a_session_whose_task_dies_has_ended() {
        let server = Embedded::start().expect("a free port");
        let test = async move {
            let hosts = server.connect_string();
            let connection =
                Connection::new(&hosts, &ClientOptions::default(), Arc::new(SystemClock), Arc::default());
            let serving = serve(connection.clone(), None, Entry::new(), Arc::default());
            let task = runtime::spawn(Box::pin(serving));
            let wire = connection.opened(&hosts).await.expect("a session");
            let (_, watch) = wire.watch_exists("/a").await.expect("asked");
            task.abort();
            assert_eq!(watch.await, Event::SessionEnded);
            assert_eq!(wire.link().state, LinkState::Ended);
            assert_eq!(wire.exists("/a").await, Err(WireError::SessionEnded));
            wire.close().await;
            Ok(())
        };
        drive::wait(test, None, None).expect("in time");
    }

    #[test]
    fn nagles_algorithm_is_off() {
        let server = Embedded::start().expect("a free port");
        let test = async move {
            let servers = crate::hosts::servers(&server.connect_string());
            let stream = reach(&servers[0]).await.expect("it takes connections");
            assert!(stream.nodelay().expect("an option of TCP"));
            Ok(())
        };
        drive::wait(test, None, None).expect("in time");
    }
}
