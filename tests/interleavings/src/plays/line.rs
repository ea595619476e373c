//! The line of a session, with a server that numbers nodes and forgets them, and somebody of another session.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use crate::happened;
use crate::mutex::{lock, unpoisoned};
use crate::session::Session;
use crate::session::server_session::ServerSession;
use crate::session::server_session::shared_lists::{Listed, SharedNames};
use crate::turn::line;
use crate::turn::place::TurnRequest;
use crate::turn::session_line::{Joined, LastLine, Position, TurnNews};

const PATH: &str = "/locks/one";

struct World {
    session: Arc<Session>,
    server_session: Arc<ServerSession>,
    /// All come by one handle, which keeps the line.
    last_line: LastLine,
    /// One queues at a time until its create has left: the calls of a client have an order.
    queueing: Mutex<()>,
    server: Mutex<Server>,
    deleted: Condvar,
    holders: AtomicUsize,
    /// Who has held.
    numbers: std::sync::Mutex<Vec<i32>>,
}

#[derive(Default)]
struct Server {
    next: i32,
    nodes: BTreeSet<i32>,
}

impl Server {
    fn create(&mut self) -> i32 {
        self.next += 1;
        self.nodes.insert(self.next);
        self.next
    }

    /// The closest one ahead.
    fn before(&self, number: i32) -> Option<i32> {
        self.nodes.range(..number).next_back().copied()
    }
}

fn name(number: i32) -> String {
    format!("_c_guid-lock-{number:010}")
}

impl World {
    fn new() -> Arc<World> {
        let session = Session::new();
        Arc::new(World {
            server_session: session.server_session(),
            session,
            last_line: LastLine::default(),
            queueing: Mutex::default(),
            server: Mutex::default(),
            deleted: Condvar::new(),
            holders: AtomicUsize::new(0),
            numbers: std::sync::Mutex::default(),
        })
    }

    fn names(&self) -> SharedNames {
        let names = lock(&self.server).nodes.iter().map(|number| name(*number)).collect();
        Arc::new(Listed(names, OnceLock::new()))
    }

    /// A node and its place in the line. As `core/src/turn/place.rs`, `enter`.
    fn enters(&self) -> (Position, i32, bool) {
        let request = TurnRequest::of(&self.session, PATH, Some(&self.last_line));
        let queueing = lock(&self.queueing);
        let asked = line::departure(&self.server_session);
        let arrival = line::arrive(&request, &self.server_session);
        let number = lock(&self.server).create();
        let needs_list = !line::needs_no_list(&arrival, &self.server_session);
        let list = needs_list.then(|| self.names());
        drop(queueing);
        let (position, joined) = line::joins(arrival, &self.server_session, PATH, &name(number));
        let has_turn = joined == Joined::Turn && line::stands(&position, &self.server_session);
        if !needs_list && joined != Joined::Unknown {
            happened("told by the number alone");
        }
        if joined == Joined::Unknown {
            line::is_listed(&position, &list.unwrap_or_else(|| self.names()), asked);
        }
        (position, number, has_turn)
    }

    /// Until it has the turn. As `core/src/turn/wait.rs`.
    fn waits(&self, position: &Position, number: i32) {
        loop {
            if line::waits(position) {
                let news = std::future::poll_fn(|context| line::poll_news(position, context));
                let news = block_on(news);
                happened(match news {
                    TurnNews::Turn => "passed on in memory",
                    TurnNews::Look => "told to look",
                });
                if news == TurnNews::Turn && line::stands(position, &self.server_session) {
                    return;
                }
            } else {
                let server = lock(&self.server);
                let Some(before) = server.before(number) else {
                    drop(server);
                    line::has_turn(position);
                    return;
                };
                happened("waited at the server");
                drop(unpoisoned(self.deleted.wait_while(server, |server| server.nodes.contains(&before))));
            }
            let asked = line::departure(&self.server_session);
            line::is_listed_again(position, &self.names(), asked);
        }
    }

    fn delete(&self, number: i32) {
        lock(&self.server).nodes.remove(&number);
        self.deleted.notify_all();
    }

    fn holds(&self, number: i32) {
        assert_eq!(self.holders.fetch_add(1, Relaxed), 0, "two hold it");
        self.numbers.lock().expect("no panic").push(number);
        thread::yield_now();
        self.holders.fetch_sub(1, Relaxed);
    }

    fn takes_a_turn(&self) {
        let (position, number, has_turn) = self.enters();
        if !has_turn {
            self.waits(&position, number);
        }
        self.holds(number);
        self.delete(number);
        drop(line::lets_go(position));
    }

    /// One that has no time. Its deletion leaves, and then its place in the line is free.
    fn gives_up(&self) {
        let (position, number, _) = self.enters();
        thread::yield_now();
        self.delete(number);
        drop(position);
    }

    /// One of another session.
    fn stranger(&self) {
        let mut server = lock(&self.server);
        let number = server.create();
        server = unpoisoned(self.deleted.wait_while(server, |server| server.before(number).is_some()));
        drop(server);
        self.holds(number);
        self.delete(number);
    }
}

pub fn everybody_has_a_turn() {
    let world = World::new();
    // Where number has followed number for a while, numbers prove who stands where.
    if thread_rng().gen_bool(0.5) {
        for _ in 0..8 {
            world.takes_a_turn();
        }
    }
    let comes = |play: fn(&World)| {
        let world = world.clone();
        thread::spawn(move || play(&world))
    };
    let mut threads =
        vec![comes(World::takes_a_turn), comes(World::takes_a_turn), comes(World::takes_a_turn)];
    if thread_rng().gen_bool(0.5) {
        threads.push(comes(World::gives_up));
    }
    if thread_rng().gen_bool(0.5) {
        threads.push(comes(World::stranger));
    }
    for thread in threads {
        thread.join().expect("it has its turn");
    }
    let numbers = world.numbers.lock().expect("no panic");
    assert!(numbers.is_sorted(), "not in the order of their numbers: {numbers:?}");
}
