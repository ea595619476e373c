//! Says why no session comes about. The crate only says that there is none; a handshake of our own with each server tells
//! what the server has against us, or we against it.

use std::io::{self, ErrorKind as Io, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::WeakShared;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Stream};

use super::asking::{CLOSES, QUESTION, connect, handshake_problem, no_connection, refused_by};
use crate::error::{Error, ErrorKind};
use crate::hosts::{self, Server};
use crate::options::TlsOptions;
use crate::process::PerProcess;
use crate::runtime::{self, Later};
use crate::tls::Tls;

/// Asks the servers of one connect string what is wrong.
pub struct Diagnosis {
    servers: Vec<Server>,
    tls: TlsOptions,
}

/// What was found.
#[derive(Clone, Default)]
pub struct Finding {
    /// What is wrong between a server and us.
    pub refusal: Option<Error>,
    /// It is so with every server.
    pub is_final: bool,
}

impl Diagnosis {
    pub(crate) fn new(hosts: &str, tls: &TlsOptions) -> Diagnosis {
        Diagnosis { servers: hosts::servers(hosts), tls: tls.clone() }
    }

    /// Asks every server. Of several clients of this process that would ask the same, one does: servers may only be slow
    /// because so many connect, and handshakes are what keeps them busy.
    pub async fn made(&self) -> Finding {
        // It was read and checked before; it may have changed since, and then the next attempt says so.
        let Ok(tls) = Tls::read(&self.tls) else { return Finding::default() };
        let answer = {
            let mut under_way = lock(UNDER_WAY.of_this_process());
            under_way.retain(|asked| asked.answer.upgrade().is_some_and(|answer| answer.peek().is_none()));
            let same = under_way.iter().find(|asked| asked.is_as(&self.servers, &tls));
            match same.and_then(|asked| asked.answer.upgrade()) {
                Some(answer) => answer,
                None => {
                    let (servers, tls) = (self.servers.clone(), Arc::new(tls));
                    let known = Arc::downgrade(&tls);
                    let asking: Later<Finding> = Box::pin(ask(servers.clone(), tls));
                    let answer = asking.shared();
                    under_way.extend(answer.downgrade().map(|answer| Asked { servers, tls: known, answer }));
                    answer
                }
            }
        };
        answer.await
    }
}

/// What is asked just now.
struct Asked {
    servers: Vec<Server>,
    /// There is a key in it, which goes with whoever asks.
    tls: Weak<Tls>,
    answer: WeakShared<Later<Finding>>,
}

impl Asked {
    fn is_as(&self, servers: &[Server], tls: &Tls) -> bool {
        self.servers == servers && self.tls.upgrade().is_some_and(|known| known.is_as(tls))
    }
}

static UNDER_WAY: PerProcess<Mutex<Vec<Asked>>> = PerProcess::new();

async fn ask(servers: Vec<Server>, tls: Arc<Tls>) -> Finding {
    let looked = runtime::aside("zkrecipes-tls", move || {
        servers.iter().map(|server| (server.clone(), look(server, &tls))).collect::<Vec<_>>()
    });
    let found = looked.await.unwrap_or_default();
    let is_final = !found.is_empty() && found.iter().all(|(_, problem)| problem.is_some());
    let refusal = found.into_iter().find_map(|(server, problem)| Some((server, problem?)));
    let refusal = refusal
        .map(|(server, problem)| Error::new(ErrorKind::Denied, format!("no TLS with {server}: {problem}")));
    Finding { refusal, is_final }
}

/// Asks the servers of a connect string why they give us no session, each on a thread of its own.
#[derive(Default)]
pub(crate) struct Inquiry(Mutex<Vec<(Server, Option<String>)>>);

/// So many are told of.
const MOST_TOLD: usize = 3;

impl Inquiry {
    /// Begins to ask, with so much time for each step.
    pub(crate) fn begin(self: &Arc<Self>, hosts: &str, has_tls: bool, step: Duration) {
        let servers = hosts::servers(hosts);
        *self.found() = servers.iter().map(|server| (server.clone(), None)).collect();
        for (at, server) in servers.into_iter().enumerate() {
            let inquiry = Arc::downgrade(self);
            // Without a thread it stays unknown.
            let _ = runtime::thread("zkrecipes-ask", move || {
                let problem = problem_of(&server, has_tls, step);
                if let Some(inquiry) = inquiry.upgrade() {
                    inquiry.found()[at].1 = Some(problem);
                }
            });
        }
    }

    /// What is known by now, one clause for each server; empty if it was not asked.
    pub(crate) fn told(&self) -> String {
        let found = self.found();
        let mut told: Vec<_> = found
            .iter()
            .take(MOST_TOLD)
            .map(|(server, problem)| {
                let problem =
                    problem.as_deref().unwrap_or("has not been reached: its name takes long to look up");
                format!("{server} {problem}")
            })
            .collect();
        if found.len() > MOST_TOLD {
            told.push(format!("and {} more", found.len() - MOST_TOLD));
        }
        told.join(", ")
    }

    fn found(&self) -> MutexGuard<'_, Vec<(Server, Option<String>)>> {
        lock(&self.0)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn problem_of(server: &Server, has_tls: bool, step: Duration) -> String {
    let addresses = match (&*server.host, server.port).to_socket_addrs() {
        Ok(addresses) => addresses,
        Err(error) => return format!("has a name without an address ({error})"),
    };
    let mut problem = "has a name without an address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, step) {
            Ok(socket) if has_tls => {
                drop(socket);
                return "takes connections, but gives no session in time (it may be busy: TLS costs it much when many connect)"
                    .to_owned();
            }
            Ok(socket) => return problem_of_session(socket, step),
            Err(error) => problem = no_connection(&error),
        }
    }
    problem
}

fn problem_of_session(mut socket: TcpStream, step: Duration) -> String {
    let mut ask = || {
        socket.set_read_timeout(Some(step))?;
        socket.set_write_timeout(Some(step))?;
        socket.write_all(QUESTION)?;
        let mut answer = vec![0; 1024];
        let length = socket.read(&mut answer)?;
        answer.truncate(length);
        Ok::<_, io::Error>(answer)
    };
    match ask() {
        Ok(answer) if answer.is_empty() => CLOSES.to_owned(),
        Ok(answer) => match String::from_utf8_lossy(&answer) {
            answer if answer.contains("not currently serving") => {
                "runs, but serves nobody (it has no quorum)".to_owned()
            }
            answer if answer.contains("Zookeeper version") || answer.contains("whitelist") => {
                "runs, but gave us no session in time (it may be overloaded, or refuse us)".to_owned()
            }
            _ => "does not answer as ZooKeeper does".to_owned(),
        },
        Err(error) if matches!(error.kind(), Io::TimedOut | Io::WouldBlock) => {
            "takes connections, but is silent (paused, or no ZooKeeper)".to_owned()
        }
        Err(_) => CLOSES.to_owned(),
    }
}

/// What is wrong with TLS between this server and us; `None` if nothing is, or if it does not answer at all.
fn look(server: &Server, tls: &Tls) -> Option<String> {
    let name = ServerName::try_from(server.host.clone()).ok()?;
    let mut socket = connect(server).ok()?;
    let mut session = ClientConnection::new(tls.config.clone(), name).ok()?;
    while session.is_handshaking() {
        if let Err(error) = session.complete_io(&mut socket) {
            return handshake_problem(&error, server, tls.identity.is_some());
        }
    }
    // With TLS 1.3 a server says only after the handshake that it does not like our certificate.
    let mut stream = Stream::new(&mut session, &mut socket);
    let asked = stream.write_all(QUESTION).and_then(|()| stream.flush());
    match asked.and_then(|()| stream.read(&mut [0; 64])) {
        Ok(_) => None,
        Err(error) => refused_by(&error, tls.identity.is_some()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::tests::{CERTIFICATE, KEY};

    #[tokio::test]
    async fn what_was_asked_keeps_no_key() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let hosts = listener.local_addr().expect("bound").to_string();
        // It is gone, so it refuses at once.
        drop(listener);
        let tls = TlsOptions::default().ca(CERTIFICATE).cert(CERTIFICATE).key(KEY);
        let diagnosis = Diagnosis::new(&hosts, &tls);
        diagnosis.made().await;
        let under_way = lock(UNDER_WAY.of_this_process());
        let ours = under_way.iter().find(|asked| asked.servers == diagnosis.servers);
        assert_eq!(ours.expect("until the next one").tls.strong_count(), 0);
    }
}
