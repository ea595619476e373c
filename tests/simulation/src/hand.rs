//! What is done to the servers by hand, or by themselves at any moment: nodes and sessions go, containers are collected, nobody may
//! create anything for a while, and the clock is set.

use std::time::Duration;

use zkrecipes_embedded::wire::{Acl, CreateArgs, Hello, Op, Request, SubWrite, Writer};

use crate::net::Net;
use crate::plan::TroubleKind;
use crate::sim::{HostId, Sim};
use crate::subject::{HOME, Subject};
use crate::tell;
use crate::trace::short;

/// Rights: all of them, and all but to create.
const ALL: i32 = 31;
const NO_CREATE: i32 = 27;
/// The kind of a node.
const CONTAINER: i32 = 4;

impl Net {
    /// Somebody deletes a node that is not theirs.
    pub fn delete_by_force(&mut self, sim: &Sim, path: &str) {
        if self.server.is_away() {
            return;
        }
        tell!(sim, "{} deleted by force", short(path));
        sim.ledger.count(|tally| tally.deletions += 1);
        self.server.changes.forced.push(path.to_owned());
        let delete = SubWrite::Delete { path: path.into(), version: -1 };
        self.ask_by_hand(sim, &Request::Write(delete));
    }

    /// The same with one that belongs to a session.
    pub(super) fn delete_one_of(&mut self, sim: &Sim, session: Option<i64>) {
        let nodes = self.server.cluster.leader().nodes().into_iter();
        let own: Vec<_> = nodes.filter(|node| Some(node.session) == session).map(|node| node.path).collect();
        if !own.is_empty() {
            let victim = sim.chance(|rng| (*rng.pick(&own)).to_owned());
            self.delete_by_force(sim, &victim);
        }
    }

    /// What happens beside a request of a host.
    pub(super) fn befall(&mut self, sim: &Sim, host: HostId, session: Option<i64>, kind: TroubleKind) {
        match kind {
            TroubleKind::SessionEnded => self.end_by_force(sim, session),
            TroubleKind::Deleted => self.delete_one_of(sim, session),
            TroubleKind::Collected => self.collect(sim),
            TroubleKind::Elsewhere => {
                let state = &mut sim.hosts.lock()[host];
                state.home = Some(state.home.map_or(1, |home| home + 1) % sim.plan.members);
            }
            TroubleKind::Withdrawn => {
                let withdrawal = sim.hosts.lock()[host].withdrawal.clone();
                tell!(sim, "h{host} withdraws");
                withdrawal.notify_one();
            }
            _ => {}
        }
    }

    /// The server gives a session up before its time; that is force to its nodes, too.
    pub fn expire_by_force(&mut self, sim: &Sim) {
        let sessions = self.server.cluster.leader().sessions();
        if sessions.is_empty() || self.server.is_away() {
            return;
        }
        let session = sim.chance(|rng| *rng.pick(&sessions));
        self.end_by_force(sim, Some(session));
    }

    pub(super) fn end_by_force(&mut self, sim: &Sim, session: Option<i64>) {
        let Some(session) = session else { return };
        tell!(sim, "session {:x} is ended by force", session & 0xffff);
        self.server.cluster.leader_mut().expire(session);
        let all = self.server.standing.all().iter();
        let its_own = all.filter(|contender| contender.session == session);
        self.server.changes.forced.extend(its_own.map(|contender| contender.path.clone()));
        self.dispatch(sim, None);
    }

    /// A session of its own that asks for one thing.
    fn ask_by_hand(&mut self, sim: &Sim, asked: &Request) {
        let conn = self.server.next_admin;
        self.server.next_admin += 1;
        let now = self.server.clock(sim.now());
        let cluster = &mut self.server.cluster;
        cluster.open(conn, ([127, 0, 0, 1], 50_000).into(), 0);
        let hello = Hello { zxid_seen: 0, timeout: 4000, session: 0, password: &[0; 16], read_only: None };
        for frame in [hello.frame(), request(1, asked), request(2, &Request::Close)] {
            cluster.frame(conn, &frame[4..], now);
        }
        cluster.closed(conn);
        self.dispatch(sim, None);
    }

    /// Somebody makes a parent of items that is missing, for a put that never comes.
    pub(super) fn make_containers(&mut self, sim: &Sim) {
        let Subject::Queue(kind) = sim.plan.subject else { return };
        if !sim.plan.has_containers || self.server.is_away() {
            return;
        }
        for path in kind.parents_of_items() {
            let is_there = self.server.cluster.leader().nodes().iter().any(|node| node.path == path);
            if !is_there && sim.chance(|rng| rng.one_in(2)) {
                tell!(sim, "{} made as a container", short(&path));
                let acl = vec![Acl { perms: ALL, scheme: "world".to_owned(), id: "anyone".to_owned() }];
                let (op, path) = (Op::CREATE_CONTAINER, path.into());
                let create = CreateArgs { op, path, data: Some(b""), acl, flags: CONTAINER, ttl: 0 };
                self.ask_by_hand(sim, &Request::Write(SubWrite::Create(create)));
            }
        }
    }

    /// Containers that are empty go, between any two requests.
    pub(super) fn collect_containers(&mut self, sim: &Sim) {
        if sim.chance(|rng| rng.one_in(sim.plan.collects)) {
            self.collect(sim);
        }
    }

    fn collect(&mut self, sim: &Sim) {
        if self.server.is_away() {
            return;
        }
        let before = self.server.cluster.leader().node_count();
        let now = self.server.clock(sim.now());
        self.server.cluster.leader_mut().collect(now);
        let collected = before - self.server.cluster.leader().node_count();
        if collected > 0 {
            tell!(sim, "{collected} containers are collected");
            sim.ledger.count(|tally| tally.collected += collected as u64);
            self.dispatch(sim, None);
        }
    }

    /// For a while nobody may create anything below some node that is there; answers which.
    pub fn refuse(&mut self, sim: &Sim) -> Option<String> {
        if self.server.is_away() {
            return None;
        }
        let nodes = self.server.cluster.leader().nodes().into_iter();
        let parents = nodes.filter(|node| node.session == 0 && node.path.starts_with(HOME));
        let parents: Vec<_> = parents.map(|node| node.path).collect();
        if parents.is_empty() {
            return None;
        }
        let parent = sim.chance(|rng| (*rng.pick(&parents)).to_owned());
        tell!(sim, "nobody may create anything below {parent}");
        sim.ledger.count(|tally| tally.refusals += 1);
        self.set_rights(sim, &parent, NO_CREATE);
        self.server.refused.push(parent.clone());
        Some(parent)
    }

    /// Everybody may again.
    pub fn allow(&mut self, sim: &Sim) {
        for parent in std::mem::take(&mut self.server.refused) {
            tell!(sim, "everybody may create something below {parent}");
            self.set_rights(sim, &parent, ALL);
        }
    }

    fn set_rights(&mut self, sim: &Sim, path: &str, perms: i32) {
        let acl = vec![Acl { perms, scheme: "world".to_owned(), id: "anyone".to_owned() }];
        // If it is gone meanwhile, its successor has all rights.
        self.ask_by_hand(sim, &Request::SetAcl { path: path.into(), acl, version: -1 });
    }

    /// As if another server led, whose clock shows another time.
    pub fn set_clock(&mut self, sim: &Sim) {
        let hour = Duration::from_secs(3600);
        let (is_ahead, by) = sim.chance(|rng| (rng.one_in(2), rng.duration(Duration::ZERO..=hour)));
        let by = by.as_millis() as i64;
        self.server.ahead = if is_ahead { by } else { -by };
        tell!(sim, "the servers' clock is {} ms ahead", self.server.ahead);
        sim.ledger.count(|tally| tally.settings += 1);
    }
}

fn request(xid: i32, request: &Request<'_>) -> Vec<u8> {
    let mut frame = Writer::request(xid, request.op());
    request.write(&mut frame);
    frame.finish()
}
