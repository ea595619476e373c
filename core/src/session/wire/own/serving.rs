//! The task that serves a session over sockets: it connects, reads, sends what is left, and looks at the clock.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConnection;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;

use super::Connection;
use super::socket::Socket;
use crate::hosts::Server;
use crate::metrics::Counters;
use crate::runtime;
use crate::session::clock::{Clock, Moment};
use crate::session::system_clock::SystemClock;
use crate::session::wire::open::Entry;
use crate::tls::Tls;

/// How much is read at once.
const SPACE: usize = 64 << 10;
/// The clock of the runtime stands still while the machine is suspended, so that of the system is looked at so often.
const LONGEST_NAP: Duration = Duration::from_secs(1);

type Connecting = Pin<Box<dyn Future<Output = (u64, Result<Socket, String>)> + Send>>;

/// Until the session is over. It is on the roll meanwhile.
pub(super) async fn serve(
    connection: Arc<Connection<Socket>>,
    tls: Option<Tls>,
    entry: Entry,
    counters: Arc<Counters>,
) {
    let tls = tls.map(Arc::new);
    let mut connecting: Option<Connecting> = None;
    let mut space = vec![0; SPACE];
    loop {
        let (due, stream) = connection
            .with(|state, now| (state.look(now), state.channel.as_ref().map(|socket| socket.stream.clone())));
        if due.is_over {
            break;
        }
        if let Some((attempt, server)) = due.dial {
            let tls = tls.clone();
            connecting =
                Some(Box::pin(async move { (attempt, connect(attempt, &server, tls.as_deref()).await) }));
        }
        let is_readable = async {
            match &stream {
                Some(stream) => stream.readable().await,
                None => std::future::pending().await,
            }
        };
        let is_writable = async {
            match &stream {
                Some(stream) if due.is_blocked => stream.writable().await,
                _ => std::future::pending().await,
            }
        };
        let is_connected = async {
            match &mut connecting {
                Some(connecting) => connecting.await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = is_readable => read(&connection, &mut space, &counters),
            _ = is_writable => {}
            (attempt, socket) = is_connected => {
                connecting = None;
                connection.connected(attempt, socket);
            }
            () = connection.is_called() => {}
            () = nap(due.wake_at) => {}
        }
    }
    drop(entry);
}

async fn nap(wake_at: Option<Moment>) {
    let left = wake_at.map_or(LONGEST_NAP, |at| at.since(SystemClock.now()));
    tokio::time::sleep(left.min(LONGEST_NAP)).await;
}

fn read(connection: &Connection<Socket>, space: &mut [u8], counters: &Counters) {
    connection.with(|state, now| {
        let Some(socket) = &mut state.channel else { return };
        let machine = &mut state.machine;
        let received = socket.receive(space, |bytes| machine.received(bytes, now));
        counters.bytes_received.add(machine.bytes_answered());
        match received {
            Ok(true) => {}
            Ok(false) => machine.hung_up("the server closed the connection".to_owned(), now),
            Err(error) => machine.hung_up(error.to_string(), now),
        }
    });
}

/// Names are looked up anew for each attempt, on a thread of its own: that may take long.
async fn connect(attempt: u64, server: &Server, tls: Option<&Tls>) -> Result<Socket, String> {
    let stream = reach(server).await.map_err(|error| error.to_string())?;
    // Else what is small waits for an answer to what went before.
    stream.set_nodelay(true).map_err(|error| error.to_string())?;
    let tls = match tls {
        None => None,
        Some(tls) => {
            let name = ServerName::try_from(server.host.clone()).map_err(|error| error.to_string())?;
            Some(ClientConnection::new(tls.config.clone(), name).map_err(|error| error.to_string())?)
        }
    };
    Ok(Socket::new(attempt, stream, tls))
}

async fn reach(server: &Server) -> io::Result<TcpStream> {
    let addresses = match server.host.parse::<std::net::IpAddr>() {
        Ok(address) => vec![(address, server.port).into()],
        Err(_) => {
            let (host, port) = (server.host.clone(), server.port);
            let look_up =
                move || std::net::ToSocketAddrs::to_socket_addrs(&(&*host, port)).map(Vec::from_iter);
            let looked_up = runtime::aside("zkrecipes-names", look_up).await;
            looked_up.unwrap_or_else(|| Err(io::Error::other("the system has no thread to give")))?
        }
    };
    let mut outcome = Err(io::Error::other("the name has no address"));
    for address in addresses {
        outcome = TcpStream::connect(address).await;
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}
