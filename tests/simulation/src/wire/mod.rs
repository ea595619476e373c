//! `Wire` and `Dial` on the simulated network, behaving like zookeeper-client 0.11.

pub mod frames;
pub mod names;
mod session;
pub mod transport;
mod watches;

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::oneshot;
use zkrecipes::session::clock::Later;
use zkrecipes::session::wire::{
    Applied, CreateMode, Created, Dial, Event, Flight, Link, Read, Stat, Watch, Wire, WireError, Write,
};
use zkrecipes::{AclChoice, ClientOptions};
use zkrecipes_embedded::wire::{Malformed, Op, Reader, Writer};

use crate::sim::{HostId, Sim};
use session::{Operation, Reply};
use transport::Transport;
use watches::{Kind, Wish};

/// Opens sessions from one host.
pub struct HostDial {
    pub sim: Arc<Sim>,
    pub host: HostId,
}

impl Dial for HostDial {
    fn dial(&self, _hosts: &str, options: &ClientOptions) -> Flight<Box<dyn Wire>> {
        let (sender, opened) = oneshot::channel();
        Transport::start(self.sim.clone(), self.host, options.clone(), sender);
        // Who stops waiting leaves a session that closes itself: the guard goes with the future.
        let opened = Opened(opened);
        Box::pin(async move {
            let transport = opened.await?;
            Ok(Box::new(Session { transport }) as Box<dyn Wire>)
        })
    }
}

/// Waits for a session; one that comes into being but is not taken is closed.
struct Opened(oneshot::Receiver<Result<Arc<Transport>, WireError>>);

impl Future for Opened {
    type Output = Result<Arc<Transport>, WireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context).map(|opened| opened.unwrap_or(Err(WireError::ConnectionLoss)))
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        self.0.close();
        if let Ok(Ok(transport)) = self.0.try_recv() {
            transport.close();
        }
    }
}

/// One session, until it is closed or dropped.
struct Session {
    transport: Arc<Transport>,
}

impl Drop for Session {
    fn drop(&mut self) {
        self.transport.close();
    }
}

impl Session {
    fn outgoing(&self, path: &str) -> String {
        let sim = &self.transport.sim;
        sim.chance(|rng| sim.names.lock().outgoing(rng, sim.current_task(), path))
    }

    /// By what the task that asks now knows its own nodes again.
    fn own(&self) -> Option<String> {
        let sim = &self.transport.sim;
        sim.names.lock().own(sim.current_task())
    }

    fn ask<T: Send + 'static>(
        &self,
        frame: Vec<u8>,
        watch: Option<Wish>,
        read: impl FnOnce(&Arc<Transport>, Reply) -> Result<T, WireError> + Send + 'static,
    ) -> Flight<T> {
        self.ask_either(frame, watch, move |transport, answer| read(transport, answer?))
    }

    fn ask_either<T: Send + 'static>(
        &self,
        frame: Vec<u8>,
        watch: Option<Wish>,
        read: impl FnOnce(&Arc<Transport>, Result<Reply, WireError>) -> Result<T, WireError> + Send + 'static,
    ) -> Flight<T> {
        let (sender, answered) = oneshot::channel();
        let transport = self.transport.clone();
        let answer = Box::new(move |answer| {
            // An answer that nobody waits for is dropped here, its watch included.
            drop(sender.send(read(&transport, answer)));
        });
        self.transport.submit(Operation { frame, watch, answer: Some(answer) });
        Box::pin(async move { answered.await.unwrap_or(Err(WireError::SessionEnded)) })
    }

    fn wish(&self, path: &str, kind: Kind) -> Option<Wish> {
        Some(Wish { path: self.outgoing(path), kind, task: self.transport.sim.current_task() })
    }

    fn on_path(&self, op: Op, path: &str, body: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let path = self.outgoing(path);
        frames::request(op, |w| body(w.string(&path)))
    }

    fn read_path(&self, op: Op, path: &str, watches: bool) -> Vec<u8> {
        self.on_path(op, path, |w| _ = w.bool(watches))
    }
}

impl Wire for Session {
    fn session_id(&self) -> u64 {
        self.transport.session().0 as u64
    }

    fn session_timeout(&self) -> Duration {
        self.transport.session().1
    }

    fn link(&self) -> Link {
        self.transport.run_aside();
        self.transport.link()
    }

    fn link_changed(&self, seen: Link) -> Later<()> {
        let transport = self.transport.clone();
        Box::pin(async move {
            loop {
                let mut changed = std::pin::pin!(transport.changed.notified());
                changed.as_mut().enable();
                if transport.link() != seen {
                    return;
                }
                changed.await;
            }
        })
    }

    fn close(&self) -> Later<()> {
        self.transport.close();
        let transport = self.transport.clone();
        Box::pin(async move {
            loop {
                let mut changed = std::pin::pin!(transport.changed.notified());
                changed.as_mut().enable();
                if transport.has_ended() {
                    return;
                }
                changed.await;
            }
        })
    }

    fn create(&self, path: &str, data: &[u8], mode: CreateMode, _acl: &AclChoice) -> Flight<Created> {
        let path = self.outgoing(path);
        let frame = frames::request(frames::create_op(mode), |w| frames::create_body(w, &path, data, mode));
        self.ask(frame, None, |transport, reply| {
            let mut r = Reader::new(&reply.body);
            let path = r.string().map_err(unreadable)?;
            let stat = frames::read_stat(&mut r).map_err(unreadable)?;
            Ok(Created { path: transport.sim.names.lock().incoming(&path), czxid: stat.czxid })
        })
    }

    fn delete(&self, path: &str, version: Option<i32>) -> Flight<()> {
        let frame = self.on_path(Op::DELETE, path, |w| _ = w.int(version.unwrap_or(-1)));
        self.ask(frame, None, |_, _| Ok(()))
    }

    fn exists(&self, path: &str) -> Flight<Option<Stat>> {
        let frame = self.read_path(Op::EXISTS, path, false);
        self.ask_either(frame, None, |_, answer| match answer {
            Ok(reply) => Ok(Some(stat(&mut Reader::new(&reply.body))?)),
            Err(WireError::NoNode) => Ok(None),
            Err(error) => Err(error),
        })
    }

    fn get_data(&self, path: &str) -> Flight<(Vec<u8>, Stat)> {
        self.ask(self.read_path(Op::GET_DATA, path, false), None, |_, reply| data(&reply))
    }

    fn get_each(&self, paths: &[String]) -> Flight<Vec<Read>> {
        let frame = frames::get_each(paths.iter().map(|path| self.outgoing(path)));
        self.ask(frame, None, |_, reply| frames::each_read(&reply.body).map_err(unreadable))
    }

    fn set_data(&self, path: &str, data: &[u8], version: Option<i32>) -> Flight<Stat> {
        let body = |w: &mut Writer| _ = w.buffer(Some(data)).int(version.unwrap_or(-1));
        let frame = self.on_path(Op::SET_DATA, path, body);
        self.ask(frame, None, |_, reply| stat(&mut Reader::new(&reply.body)))
    }

    fn children(&self, path: &str) -> Flight<Vec<String>> {
        let own = self.own();
        self.ask(self.read_path(Op::GET_CHILDREN, path, false), None, move |transport, reply| {
            names(transport, &reply, own.as_ref())
        })
    }

    fn children_and_stat(&self, path: &str) -> Flight<(Vec<String>, Stat)> {
        let own = self.own();
        self.ask(self.read_path(Op::GET_CHILDREN2, path, false), None, move |transport, reply| {
            family(transport, &reply, own.as_ref())
        })
    }

    fn watch_data(&self, path: &str) -> Flight<(Vec<u8>, Stat, Watch)> {
        let watched = self.wish(path, Kind::Data);
        self.ask(self.read_path(Op::GET_DATA, path, true), watched, |transport, reply| {
            let (data, stat) = data(&reply)?;
            Ok((data, stat, watch(transport, reply)))
        })
    }

    fn watch_exists(&self, path: &str) -> Flight<(Option<Stat>, Watch)> {
        let watched = self.wish(path, Kind::Exist);
        let frame = self.read_path(Op::EXISTS, path, true);
        self.ask(frame, watched, |transport, reply| {
            let found = if reply.is_there { Some(stat(&mut Reader::new(&reply.body))?) } else { None };
            Ok((found, watch(transport, reply)))
        })
    }

    fn watch_children(&self, path: &str) -> Flight<(Vec<String>, Stat, Watch)> {
        let watched = self.wish(path, Kind::Child);
        let own = self.own();
        self.ask(self.read_path(Op::GET_CHILDREN2, path, true), watched, move |transport, reply| {
            let (names, stat) = family(transport, &reply, own.as_ref())?;
            Ok((names, stat, watch(transport, reply)))
        })
    }

    fn is_open_to_deletion(&self, path: &str) -> Flight<bool> {
        // What is created here is everybody's.
        self.ask(self.on_path(Op::GET_ACL, path, |_| {}), None, |_, _| Ok(true))
    }

    fn sync(&self, path: &str) -> Flight<()> {
        self.ask(self.on_path(Op::SYNC, path, |_| {}), None, |_, _| Ok(()))
    }

    fn multi(&self, writes: &[Write], _acl: &AclChoice) -> Flight<Vec<Applied>> {
        let frame = frames::multi(writes, |path| self.outgoing(path));
        self.ask(frame, None, |transport, reply| {
            match frames::multi_outcome(&reply.body).map_err(unreadable)? {
                Ok(mut applied) => {
                    let known = transport.sim.names.lock();
                    for part in &mut applied {
                        if let Applied::Created(node) = part {
                            node.path = known.incoming(&node.path);
                        }
                    }
                    Ok(applied)
                }
                Err((index, code)) => Err(WireError::Part { index, error: Box::new(frames::refusal(code)) }),
            }
        })
    }

    fn own_ephemerals(&self, path: &str) -> Flight<Vec<String>> {
        self.ask(self.on_path(Op::GET_EPHEMERALS, path, |_| {}), None, |transport, reply| {
            let paths = strings(&mut Reader::new(&reply.body))?;
            let known = transport.sim.names.lock();
            Ok(paths.iter().map(|path| known.incoming(path)).collect())
        })
    }

    fn create_chroot(&self, _acl: &AclChoice) -> Flight<()> {
        Box::pin(ready(Ok(())))
    }
}

fn unreadable(_: Malformed) -> WireError {
    WireError::Other("an answer that cannot be read".to_owned())
}

fn stat(r: &mut Reader) -> Result<Stat, WireError> {
    frames::read_stat(r).map_err(unreadable)
}

fn data(reply: &Reply) -> Result<(Vec<u8>, Stat), WireError> {
    let mut r = Reader::new(&reply.body);
    let data = r.buffer().map_err(unreadable)?.unwrap_or_default().to_vec();
    Ok((data, stat(&mut r)?))
}

/// As who looks for `own` reads them.
fn names(transport: &Transport, reply: &Reply, own: Option<&String>) -> Result<Vec<String>, WireError> {
    listed(transport, &mut Reader::new(&reply.body), own)
}

/// The names, and their parent's metadata behind them.
fn family(
    transport: &Transport,
    reply: &Reply,
    own: Option<&String>,
) -> Result<(Vec<String>, Stat), WireError> {
    let mut r = Reader::new(&reply.body);
    Ok((listed(transport, &mut r, own)?, stat(&mut r)?))
}

fn listed(transport: &Transport, r: &mut Reader, own: Option<&String>) -> Result<Vec<String>, WireError> {
    let names = strings(r)?;
    let known = transport.sim.names.lock();
    Ok(names.iter().map(|name| known.listed(own, name)).collect())
}

fn strings(r: &mut Reader) -> Result<Vec<String>, WireError> {
    r.vector(|r| r.string().map(|text| text.into_owned())).map_err(unreadable)
}

fn watch(transport: &Arc<Transport>, reply: Reply) -> Watch {
    match reply.watch {
        Some((id, event)) => {
            Watch::new(Box::pin(Watching { id, event, transport: transport.clone(), is_told: false }))
        }
        None => Watch::new(Box::pin(std::future::pending())),
    }
}

/// Dropped before it was told anything, it takes its watch back.
struct Watching {
    id: u64,
    event: oneshot::Receiver<Event>,
    transport: Arc<Transport>,
    is_told: bool,
}

impl Future for Watching {
    type Output = Event;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Event> {
        self.transport.run_aside();
        let told = Pin::new(&mut self.event).poll(context);
        self.is_told = told.is_ready();
        told.map(|event| event.unwrap_or(Event::SessionEnded))
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        if !self.is_told {
            self.transport.forget_watch(self.id);
        }
    }
}
