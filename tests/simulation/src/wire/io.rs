//! What the I/O thread does for a session: it connects where the machine wants to, hands over what arrives, in pieces, and
//! looks at the clock. Nothing here knows the protocol, but for what the ledger is told of events.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};

use tokio::sync::Notify;
use zkrecipes::ClientOptions;
use zkrecipes::session::clock::{Clock, Later, Moment};
use zkrecipes::session::wire::own::{Channel, Connection, Due};
use zkrecipes::session::wire::{Flight, Link, SessionIdentity, Wire};
use zkrecipes_embedded::wire::{Event, EventKind, Reader, ReplyHead, XID_EVENT, frame_at};

use crate::clock::HostClock;
use crate::net::{ConnId, Down, Net};
use crate::sim::{HostId, Sim};
use crate::solo::Solo;
use crate::tell;
use crate::trace::short;

/// One end of a connection. Dropped, it hangs up.
struct Pipe {
    sim: Arc<Sim>,
    conn: ConnId,
    attempt: u64,
}

impl Channel for Pipe {
    fn attempt(&self) -> u64 {
        self.attempt
    }

    /// Sometimes it takes a part only.
    fn send(&mut self, bytes: &mut Vec<u8>) -> std::io::Result<bool> {
        if bytes.is_empty() {
            return Ok(true);
        }
        let all = bytes.len() as u64;
        let taken = self.sim.chance(|rng| if rng.one_in(16) { rng.below(all) } else { all });
        let taken: Vec<u8> = bytes.drain(..taken as usize).collect();
        if !taken.is_empty() {
            Net::send(&self.sim, self.conn, taken);
        }
        Ok(bytes.is_empty())
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        Net::hang_up(&self.sim, self.conn);
    }
}

pub struct Io {
    sim: Arc<Sim>,
    host: HostId,
    me: Weak<Io>,
    connection: Arc<Connection<Pipe>>,
    /// It closes a session that has ended for its host: nothing that the host is after depends on it.
    only_closes: bool,
    arrived: Notify,
    state: Solo<State>,
    /// Tasks that want to hear of nodes.
    listeners: Solo<BTreeMap<u64, (u64, String)>>,
}

struct State {
    link: Link,
    inbox: VecDeque<(ConnId, Down)>,
    /// Connections that are not there yet; only the last one is of use.
    dialled: Vec<Pipe>,
    /// The attempts of those that are, and what of the last frame has arrived on them.
    there: BTreeMap<ConnId, (u64, Vec<u8>)>,
    /// The server that the machine named first, where the plan says which one that is.
    first: Option<usize>,
    listened: u64,
}

impl Io {
    /// Begins to connect. The session closes itself if nobody waits for it.
    pub fn start(sim: &Arc<Sim>, host: HostId, options: &ClientOptions) -> (Arc<Io>, Flight<Box<dyn Wire>>) {
        let (hosts, clock) = (Io::hosts(sim), Arc::new(HostClock { sim: sim.clone(), host }));
        let connection = Connection::new(&hosts, options, clock, Arc::default());
        let opened = connection.opened(&hosts);
        (Io::drive(sim, host, connection, false), opened)
    }

    /// Closes a session that the host has given up.
    pub fn close(
        sim: &Arc<Sim>,
        host: HostId,
        options: &ClientOptions,
        session: SessionIdentity,
        near: Option<String>,
    ) -> Later<()> {
        let (hosts, clock) = (Io::hosts(sim), Arc::new(HostClock { sim: sim.clone(), host }));
        let connection = Connection::closing(&hosts, options, clock, session, near.as_deref());
        let over = connection.over();
        Io::drive(sim, host, connection, true);
        over
    }

    fn hosts(sim: &Sim) -> String {
        let hosts: Vec<_> = (0..sim.plan.members).map(|member| format!("s:{}", member + 1)).collect();
        hosts.join(",")
    }

    fn drive(sim: &Arc<Sim>, host: HostId, connection: Arc<Connection<Pipe>>, only_closes: bool) -> Arc<Io> {
        let state = State {
            link: connection.link(),
            inbox: VecDeque::new(),
            dialled: Vec::new(),
            there: BTreeMap::new(),
            first: None,
            listened: 0,
        };
        let io = Arc::new_cyclic(|me| Io {
            sim: sim.clone(),
            host,
            me: me.clone(),
            connection,
            only_closes,
            arrived: Notify::new(),
            state: Solo::new(state),
            listeners: Solo::default(),
        });
        sim.spawn(host, Box::pin(io.clone().serve()));
        io
    }

    async fn serve(self: Arc<Self>) {
        let clock = HostClock { sim: self.sim.clone(), host: self.host };
        loop {
            // As much as has arrived, or less: threads get interrupted.
            let burst = self.sim.chance(|rng| rng.number(1..=6));
            let has_more = (0..burst).all(|_| self.turn());
            let due = self.look();
            if due.is_over {
                break;
            }
            let nap = if has_more { Moment::START } else { due.wake_at.unwrap_or(Moment(u64::MAX)) };
            tokio::select! {
                biased;
                () = self.arrived.notified() => {}
                () = self.connection.is_called() => {}
                () = clock.sleep_until(nap) => {}
            }
        }
        self.state.lock().dialled.clear();
    }

    /// At some of the points where the I/O thread might be running, it does.
    pub fn run_aside(&self) {
        if self.sim.chance(|rng| rng.one_in(8)) && !self.turn() {
            self.look();
        }
    }

    fn look(&self) -> Due {
        let mut due = self.connection.look();
        if let Some((attempt, server)) = due.dial.take() {
            self.dial(attempt, usize::from(server.port) - 1);
        }
        self.notice();
        due
    }

    fn dial(&self, attempt: u64, named: usize) {
        let state = &mut *self.state.lock();
        let first = *state.first.get_or_insert(named);
        let moved = self.sim.hosts.lock()[self.host].home;
        let member = match moved.or(self.sim.plan.homes.get(self.host).copied()) {
            Some(home) if named == first => home,
            Some(home) if named == home => first,
            _ => named,
        };
        // What was tried before is given up, or may come about all the same.
        if self.sim.chance(|rng| rng.one_in(2)) {
            state.dialled.clear();
        }
        let conn = Net::connect(&self.sim, self.host, member, self.me.clone());
        state.dialled.push(Pipe { sim: self.sim.clone(), conn, attempt });
    }

    // ---- arrivals

    pub fn arrived(&self, conn: ConnId, what: Down) {
        let inbox = &mut self.state.lock().inbox;
        match (inbox.back_mut(), what) {
            (Some((last, Down::Bytes(bytes))), Down::Bytes(more)) if *last == conn => bytes.extend(more),
            (_, what) => inbox.push_back((conn, what)),
        }
        self.arrived.notify_one();
    }

    /// Hands over something that has arrived; false when there is nothing.
    fn turn(&self) -> bool {
        let Some((conn, what)) = self.state.lock().inbox.pop_front() else { return false };
        let attempt = self.state.lock().there.get(&conn).map_or(0, |(attempt, _)| *attempt);
        match (self.dialled(conn), what) {
            (Some(pipe), Down::Connected) => {
                self.state.lock().there.insert(conn, (pipe.attempt, Vec::new()));
                self.connection.connected(pipe.attempt, Ok(pipe));
            }
            (Some(pipe), _) => self.connection.connected(pipe.attempt, Err("refused".into())),
            (None, Down::Bytes(mut bytes)) => {
                let all = bytes.len() as u64;
                let read = self.sim.chance(|rng| if rng.one_in(4) { rng.number(1..=all) } else { all });
                let rest = bytes.split_off(read as usize);
                if !rest.is_empty() {
                    self.state.lock().inbox.push_front((conn, Down::Bytes(rest)));
                }
                self.hear(conn, &bytes);
                self.connection.received(attempt, &bytes);
            }
            (None, _) => {
                self.state.lock().there.remove(&conn);
                self.connection.hung_up(attempt, "the server closed the connection");
            }
        }
        self.notice();
        true
    }

    fn dialled(&self, conn: ConnId) -> Option<Pipe> {
        let dialled = &mut self.state.lock().dialled;
        let at = dialled.iter().position(|pipe| pipe.conn == conn)?;
        Some(dialled.remove(at))
    }

    // ---- what the ledger is told

    fn notice(&self) {
        let link = self.connection.link();
        let before = std::mem::replace(&mut self.state.lock().link, link);
        if link == before || self.only_closes {
            return;
        }
        tell!(self.sim, "h{} {:?}", self.host, link.state);
        self.sim.ledger.disturb(Some(self.host));
        if link.state.is_over() {
            self.sim.ledger.session_ended(self.host, self.sim.steps());
        }
    }

    /// Events among the bytes are there to be seen from now on.
    fn hear(&self, conn: ConnId, bytes: &[u8]) {
        let Some((attempt, mut begun)) = self.state.lock().there.remove(&conn) else { return };
        begun.extend(bytes);
        let mut at = 0;
        while let Ok(Some((frame, taken))) = frame_at(&begun[at..], usize::MAX) {
            at += taken;
            let mut r = Reader::new(frame);
            if ReplyHead::read(&mut r).is_ok_and(|head| head.xid == XID_EVENT)
                && let Ok(Event { kind: Some(kind), path }) = Event::read(&mut r)
            {
                tell!(self.sim, "h{} hears {kind:?} {}", self.host, short(&path));
                self.sim.go_on(self.host);
                let listeners = self.listeners.lock();
                for (task, _) in listeners.values().filter(|(_, node)| *node == path) {
                    if kind == EventKind::Deleted {
                        self.sim.ledger.told_gone(*task, &path, self.sim.steps());
                    }
                }
            }
        }
        begun.drain(..at);
        self.state.lock().there.insert(conn, (attempt, begun));
    }

    /// The task that runs listens to a node, until the answer is dropped.
    pub fn listen(&self, path: &str) -> Listening {
        let state = &mut *self.state.lock();
        state.listened += 1;
        self.listeners.lock().insert(state.listened, (self.sim.current_task(), path.to_owned()));
        Listening { io: self.me.upgrade(), id: state.listened }
    }
}

pub struct Listening {
    io: Option<Arc<Io>>,
    id: u64,
}

impl Listening {
    pub fn run_aside(&self) {
        self.io.iter().for_each(|io| io.run_aside());
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(io) = &self.io {
            io.listeners.lock().remove(&self.id);
        }
    }
}
