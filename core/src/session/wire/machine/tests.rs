//! The machine against a server that is played by hand, byte by byte.

use std::time::Duration;

use zkrecipes_protocol::{
    Code, Event as Told, EventKind, Hello, Op, Reader, Reply, Request, Stat, SubWrite, Welcome, Writer,
    XID_AUTH, XID_PING, XID_SET_WATCHES, frame_at, parse_request,
};

use super::*;
use crate::options::{Auth, LeaseMode, RetryOptions, SaslOptions};
use crate::tls::freed;

const TIMEOUT: Duration = Duration::from_secs(10);
/// As ZooKeeper makes them.
const SESSION: i64 = 0x0100_0000_0000_0007;
const GRANTED: Welcome<'static> =
    Welcome { timeout: 10_000, session: SESSION, password: &[3; 16], read_only: Some(false) };
/// A server that counts its sessions, and is asked for the basics alone.
const COUNTED: Welcome<'static> = Welcome { session: 7, ..GRANTED };

/// Who has this number or a higher one does not wait for its answer.
const FORSAKEN: u32 = 1_000_000;

impl Answering for u32 {
    fn is_forsaken(&self) -> bool {
        *self >= FORSAKEN
    }
}

/// A machine and what its server has read.
struct World {
    machine: Machine<u32, u32>,
    now: Moment,
    /// What has come out, in order.
    out: Vec<Output<u32, u32>>,
}

impl World {
    fn new(options: ClientOptions) -> World {
        World::with(3, options)
    }

    fn with(servers: u16, options: ClientOptions) -> World {
        let servers = (1..=servers).map(|port| Server { host: "zk".to_owned(), port }).collect();
        let now = Moment(1_000_000_000_000);
        World { machine: Machine::new(servers, options, Arc::default(), now), now, out: Vec::new() }
    }

    /// One that closes a session that was given up.
    fn closing(options: ClientOptions, session: SessionIdentity, near: Option<&str>) -> World {
        let world = World::new(ClientOptions::default());
        let servers = (1..=3).map(|port| Server { host: "zk".to_owned(), port }).collect();
        World { machine: Machine::closing(servers, options, session, near, world.now), ..world }
    }

    /// One that has a session.
    fn up() -> World {
        World::up_with(ClientOptions::default())
    }

    fn up_with(options: ClientOptions) -> World {
        World::up_as(options, &GRANTED)
    }

    fn up_with_granted(granted: &Welcome<'_>) -> World {
        World::up_as(ClientOptions::default(), granted)
    }

    fn up_as(options: ClientOptions, granted: &Welcome<'_>) -> World {
        let mut world = World::new(options);
        world.connect();
        world.receive(&granted.frame());
        world.sent();
        world
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        self.machine.tick(self.now);
        self.out.extend(self.machine.outputs());
    }

    /// Until it wants to connect, which comes about.
    fn connect(&mut self) {
        for _ in 0..20 {
            self.pass(Duration::from_millis(10));
            if self.machine.dial().is_some() {
                return self.machine.connected(self.now);
            }
        }
        panic!("it does not connect");
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.machine.received(bytes, self.now);
        self.out.extend(self.machine.outputs());
    }

    /// The frames that it has sent, without their lengths.
    fn sent(&mut self) -> Vec<Vec<u8>> {
        let bytes = std::mem::take(self.machine.outgoing());
        let (mut at, mut frames) = (0, Vec::new());
        while let Ok(Some((frame, taken))) = frame_at(&bytes[at..], usize::MAX) {
            frames.push(frame.to_vec());
            at += taken;
        }
        assert_eq!(at, bytes.len(), "it sends whole frames");
        frames
    }

    /// The requests among them, by their numbers.
    fn requests(&mut self) -> Vec<(i32, Op)> {
        let head = |frame: Vec<u8>| {
            let mut r = Reader::new(&frame);
            (r.int().expect("a number"), Op(r.int().expect("a kind")))
        };
        self.sent().into_iter().map(head).collect()
    }

    fn read(&mut self, number: u32, path: &str) {
        let request = Request::GetData { path: path.into(), watch: false };
        self.machine.request(Letter::of(&request), number, None, self.now);
        self.out.extend(self.machine.outputs());
    }

    fn watch(&mut self, number: u32, path: &str) {
        let request = Request::GetData { path: path.into(), watch: true };
        let watch = Wanted::new(WatchSubject::Data, path, WatchId(number.into()), number);
        self.machine.request(Letter::of(&request), number, Some(watch), self.now);
    }

    fn answers(&mut self) -> Vec<(u32, Result<(), WireError>)> {
        let answers = self.out.iter().filter_map(|output| match output {
            Output::Answered(who, outcome) => Some((*who, outcome.clone().map(drop))),
            _ => None,
        });
        answers.collect()
    }

    fn told(&self) -> Vec<(u32, Event)> {
        let told = self.out.iter().filter_map(|output| match output {
            Output::Told(who, event) => Some((*who, *event)),
            _ => None,
        });
        told.collect()
    }
}

fn reply(xid: i32, zxid: i64) -> Vec<u8> {
    let mut w = Writer::reply(xid, zxid, 0);
    Reply::Data { data: None, stat: Stat::default() }.write(&mut w);
    w.finish()
}

fn bare(xid: i32, err: i32) -> Vec<u8> {
    Writer::reply(xid, 0, err).finish()
}

#[test]
fn which_server_it_was_is_told_also_when_the_connection_has_broken() {
    let mut world = World::up();
    let server = world.machine.server().cloned();
    assert!(server.is_some());
    world.machine.hung_up("it broke", world.now);
    assert_eq!(world.machine.server(), server.as_ref());
}

#[test]
fn a_session_is_asked_for_and_attached_to_again_with_what_was_seen() {
    let mut world = World::new(ClientOptions::default().auth(Auth::new("digest", "u:p")));
    world.connect();
    let sent = world.sent();
    assert_eq!(Hello::read(&sent[0]).expect("a hello").session, 0);
    assert_eq!(
        parse_request(Op::AUTH, &sent[1][8..]),
        Ok(Request::Auth { scheme: "digest".into(), auth: b"u:p" })
    );
    // A server may answer the credentials first.
    world.receive(&bare(XID_AUTH, 0));
    assert_eq!(world.machine.link().state, LinkState::Down);
    world.receive(&GRANTED.frame());
    assert_eq!(world.machine.link(), Link { generation: FIRST_CONNECTION, state: LinkState::Up });
    world.read(1, "/a");
    world.sent();
    world.receive(&reply(1, 55));
    world.machine.hung_up("gone", world.now);
    assert_eq!(world.machine.link().state, LinkState::Down);
    world.connect();
    let hello = world.sent();
    let hello = Hello::read(&hello[0]).expect("a hello");
    assert_eq!((hello.session, hello.zxid_seen, hello.password), (SESSION, 55, &[3; 16][..]));
}

#[test]
fn what_was_seen_does_not_become_less() {
    let mut world = World::up();
    world.read(1, "/a");
    world.read(2, "/a");
    world.receive(&reply(1, 55));
    // An error may carry none, and a server that answers by itself an older one.
    world.receive(&reply(2, 50));
    world.receive(&Told::frame(EventKind::DataChanged, "/a", -1));
    world.machine.hung_up("gone".to_owned(), world.now);
    world.connect();
    let hello = world.sent();
    assert_eq!(Hello::read(&hello[0]).expect("a hello").zxid_seen, 55);
}

/// What the requests among these frames, which set watches again, say that was seen.
fn seen_by_watches(frames: &[Vec<u8>]) -> Vec<i64> {
    let seen = frames.iter().filter(|frame| frame[..4] == XID_SET_WATCHES.to_be_bytes()).map(|frame| {
        match parse_request(Op::SET_WATCHES, &frame[8..]) {
            Ok(Request::SetWatches { seen, .. }) => seen,
            other => panic!("{other:?}"),
        }
    });
    seen.collect()
}

#[test]
fn of_a_transaction_of_which_one_event_has_come_the_others_are_asked_for_again() {
    let mut world = World::up();
    world.watch(1, "/w");
    world.receive(&reply(1, 5));
    // The one of /w is of the same transaction, and on its way when the connection breaks.
    world.receive(&Told::frame(EventKind::Deleted, "/w/child", 9));
    world.machine.hung_up("gone".to_owned(), world.now);
    world.connect();
    let hello = world.sent();
    assert_eq!(Hello::read(&hello[0]).expect("a hello").zxid_seen, 9, "nothing older is shown");
    world.receive(&GRANTED.frame());
    assert_eq!(seen_by_watches(&world.sent()), [5]);
}

#[test]
fn watches_that_were_not_set_again_yet_are_asked_for_from_where_they_were() {
    let mut world = World::up();
    for number in 1..=2000 {
        world.watch(number, &format!("/{}-{number}", "x".repeat(600)));
        world.receive(&reply(number as i32, 5));
    }
    let reconnect = |world: &mut World| {
        world.machine.hung_up("gone".to_owned(), world.now);
        world.connect();
        world.sent();
        world.receive(&GRANTED.frame());
        seen_by_watches(&world.sent())
    };
    let frames = reconnect(&mut world);
    assert!(frames.len() > 1 && frames.iter().all(|seen| *seen == 5));
    // Of the first request alone.
    world.receive(&Writer::reply(XID_SET_WATCHES, 9, 0).finish());
    assert!(reconnect(&mut world).iter().all(|seen| *seen == 5));
    for _ in frames {
        world.receive(&Writer::reply(XID_SET_WATCHES, 9, 0).finish());
    }
    assert!(reconnect(&mut world).iter().all(|seen| *seen == 9));
}

#[test]
fn credentials_that_are_refused_end_the_session() {
    let mut world = World::up();
    world.read(1, "/a");
    world.receive(&bare(XID_AUTH, Code::AuthFailed as i32));
    assert_eq!(world.machine.link().state, LinkState::Denied);
    world.read(2, "/a");
    assert_eq!(world.answers(), [(1, Err(WireError::ConnectionLoss)), (2, Err(WireError::AuthFailed))]);
}

#[test]
fn an_answer_out_of_order_breaks_the_connection_and_what_was_in_flight_is_unknown() {
    for wrong in [2, 3, -9, 0] {
        let mut world = World::up();
        world.read(1, "/a");
        world.read(2, "/b");
        world.receive(&reply(wrong, 5));
        assert_eq!(world.machine.link().state, LinkState::Down, "{wrong}");
        assert_eq!(
            world.answers(),
            [(1, Err(WireError::ConnectionLoss)), (2, Err(WireError::ConnectionLoss))]
        );
    }
    let mut world = World::up();
    world.receive(&reply(1, 5));
    assert_eq!(world.machine.link().state, LinkState::Down, "nobody asked");
}

#[test]
fn answers_are_the_same_wherever_what_arrives_is_cut() {
    let mut bytes = Told::frame(EventKind::DataChanged, "/w", 9);
    for number in 1..=3 {
        bytes.extend(reply(number, 10 + i64::from(number)));
    }
    for cut in 0..bytes.len() {
        let mut world = World::up();
        for number in 1..=3 {
            world.read(number, "/a");
        }
        world.receive(&bytes[..cut]);
        world.receive(&bytes[cut..]);
        assert_eq!(world.answers(), [(1, Ok(())), (2, Ok(())), (3, Ok(()))], "cut at {cut}");
        assert_eq!(world.machine.seen, 13);
    }
}

#[test]
fn what_is_asked_without_a_connection_leaves_on_the_next_behind_the_watches() {
    let mut world = World::up();
    world.watch(1, "/w");
    world.sent();
    world.receive(&reply(1, 5));
    world.machine.hung_up("gone", world.now);
    world.read(2, "/a");
    world.connect();
    world.sent();
    world.receive(&GRANTED.frame());
    assert_eq!(world.requests(), [(XID_SET_WATCHES, Op::SET_WATCHES), (2, Op::GET_DATA)]);
    // The server tells what was missed before it answers.
    world.receive(&Told::frame(EventKind::Deleted, "/w", -1));
    world.receive(&bare(XID_SET_WATCHES, 0));
    world.receive(&reply(2, 6));
    assert_eq!(world.told(), [(1, Event::Deleted)]);
    assert_eq!(world.answers().last(), Some(&(2, Ok(()))));
}

#[test]
fn many_watches_are_set_again_in_several_requests() {
    let mut world = World::up();
    let path = |number: u32| format!("/{}-{number}", "x".repeat(600));
    for number in 1..=2000 {
        world.watch(number, &path(number));
        world.receive(&reply(number as i32, 5));
    }
    world.machine.hung_up("gone", world.now);
    world.connect();
    world.sent();
    world.receive(&GRANTED.frame());
    let frames = world.sent();
    assert!(frames.len() > 1 && frames.iter().all(|frame| frame.len() < 1 << 20));
    let paths = frames.iter().map(|frame| match parse_request(Op::SET_WATCHES, &frame[8..]) {
        Ok(Request::SetWatches { seen: 5, lists }) => lists[0].len(),
        other => panic!("{other:?}"),
    });
    assert_eq!(paths.sum::<usize>(), 2000);
    for _ in &frames {
        world.receive(&bare(XID_SET_WATCHES, 0));
    }
    assert_eq!(world.machine.link().state, LinkState::Up);
}

#[test]
fn what_happens_before_the_read_that_watches_is_answered_is_told() {
    let mut world = World::up();
    world.watch(1, "/w");
    world.receive(&Told::frame(EventKind::Created, "/w", 6));
    world.receive(&reply(1, 5));
    assert_eq!(world.told(), [(1, Event::Created)]);
}

#[test]
fn of_a_node_that_was_read_nobody_says_that_it_is_gone_because_of_what_came_before_the_answer() {
    // What was there before may have been deleted, and this be another one.
    for (kind, told) in
        [(WatchSubject::Data, Event::DataChanged), (WatchSubject::Children, Event::ChildrenChanged)]
    {
        let mut world = World::up();
        let request = match kind {
            WatchSubject::Data => Request::GetData { path: "/w".into(), watch: true },
            WatchSubject::Children => Request::GetChildren2 { path: "/w".into(), watch: true },
        };
        world.machine.request(
            Letter::of(&request),
            1,
            Some(Wanted::new(kind, "/w", WatchId(1), 1)),
            world.now,
        );
        world.receive(&Told::frame(EventKind::Deleted, "/w", 6));
        world.receive(&reply(1, 7));
        assert_eq!(world.told(), [(1, told)]);
    }
    let mut world = World::up();
    world.watch(1, "/w");
    world.receive(&Told::frame(EventKind::Deleted, "/w", 6));
    world.receive(&bare(1, Code::NoNode as i32));
    assert_eq!(world.told(), [], "nothing is watched");
}

#[test]
fn a_watch_that_nobody_listens_to_is_removed_also_if_its_answer_has_not_come() {
    let mut world = World::up();
    world.watch(1, "/w");
    world.watch(2, "/w");
    world.machine.unwatch(WatchSubject::Data, "/w", WatchId(1), world.now);
    world.sent();
    world.receive(&reply(1, 5));
    assert_eq!(world.requests(), [], "the second one listens");
    world.receive(&reply(2, 5));
    assert_eq!(world.requests(), []);
    world.machine.unwatch(WatchSubject::Data, "/w", WatchId(2), world.now);
    assert_eq!(world.requests(), [(3, Op::REMOVE_WATCHES)]);
}

#[test]
fn what_is_followed_tells_again_and_again_and_is_set_again_behind_the_other_watches() {
    let mut world = World::up();
    world.watch(1, "/f");
    assert!(world.machine.follow("/f", world.now));
    assert!(world.machine.follow("/f", world.now));
    // While it is followed no other watch of the path may take its place at the server.
    world.watch(3, "/f");
    let sent = world.sent();
    assert_eq!(
        parse_request(Op::ADD_WATCH, &sent[1][8..]),
        Ok(Request::AddWatch { path: "/f".into(), mode: 0 })
    );
    assert_eq!(
        parse_request(Op::GET_DATA, &sent[2][8..]),
        Ok(Request::GetData { path: "/f".into(), watch: false })
    );
    world.receive(&reply(1, 5));
    world.receive(&bare(2, 0));
    world.receive(&reply(3, 5));
    for round in 10..13 {
        world.machine.hear("/f", round);
        world.receive(&Told::frame(EventKind::ChildrenChanged, "/f", 6));
        assert_eq!(world.told().last(), Some(&(round, Event::ChildrenChanged)));
    }
    world.machine.hear("/f", 13);
    world.machine.hung_up("gone", world.now);
    world.connect();
    world.sent();
    world.receive(&GRANTED.frame());
    // What came meanwhile is not told otherwise.
    world.pass(Duration::ZERO);
    assert_eq!(world.told().last(), Some(&(13, Event::ChildrenChanged)));
    let again = world.sent();
    match parse_request(Op::SET_WATCHES2, &again[0][8..]) {
        Ok(Request::SetWatches { lists, .. }) => assert_eq!((lists[0].len(), lists[3].len()), (1, 1)),
        other => panic!("{other:?}"),
    }
    world.receive(&bare(XID_SET_WATCHES, 0));
    // The watches on its data lean on it, so it outlasts those who follow.
    world.machine.unfollow("/f", world.now);
    world.machine.unfollow("/f", world.now);
    assert_eq!(world.requests(), []);
    world.receive(&Told::frame(EventKind::DataChanged, "/f", 7));
    assert_eq!(world.told()[4..], [(1, Event::DataChanged), (3, Event::DataChanged)]);
    assert_eq!(world.requests(), [(4, Op::REMOVE_WATCHES)]);
}

#[test]
fn nobody_follows_where_servers_do_not_know_it() {
    let mut world = World::up();
    assert!(world.machine.follow("/f", world.now));
    world.machine.hear("/f", 1);
    world.receive(&bare(1, Code::Unimplemented as i32));
    assert_eq!(world.told(), [(1, Event::Unwatched)]);
    assert!(!world.machine.follow("/f", world.now));
    // Others hang up.
    let mut world = World::up();
    assert!(world.machine.follow("/f", world.now));
    world.machine.hear("/f", 1);
    for _ in 0..2 {
        world.machine.hear("/f", 2);
        world.machine.hung_up("gone", world.now);
        world.connect();
        world.receive(&GRANTED.frame());
    }
    assert_eq!(world.told().last(), Some(&(2, Event::Unwatched)));
    assert!(!world.machine.follow("/f", world.now));
}

#[test]
fn a_watch_that_nobody_listens_to_is_removed_also_if_the_next_request_for_it_sets_none() {
    let mut world = World::up();
    world.watch(1, "/w");
    world.receive(&reply(1, 5));
    world.watch(2, "/w");
    world.machine.unwatch(WatchSubject::Data, "/w", WatchId(1), world.now);
    world.sent();
    world.receive(&bare(2, Code::NoAuth as i32));
    assert_eq!(world.requests(), [(3, Op::REMOVE_WATCHES)]);
}

#[test]
fn a_watch_is_removed_whose_listener_heard_of_the_one_before_it() {
    let mut world = World::up();
    world.watch(1, "/w");
    world.receive(&reply(1, 5));
    world.watch(2, "/w");
    world.sent();
    world.receive(&Told::frame(EventKind::DataChanged, "/w", 6));
    world.receive(&reply(2, 6));
    assert_eq!(world.told(), [(1, Event::DataChanged), (2, Event::DataChanged)]);
    assert_eq!(world.requests(), [(3, Op::REMOVE_WATCHES)]);
}

#[test]
fn a_silent_server_is_given_up_when_it_is_time_and_not_before() {
    // Five twelfths behind its last word, or three fifths with a relaxed lease, and an eighteenth less behind what was asked
    // meanwhile.
    let strict = [(0, 42), (5, 42), (30, 67)].map(|times| (LeaseMode::Strict, times));
    let relaxed = [(0, 60), (5, 60), (30, 85)].map(|times| (LeaseMode::Relaxed, times));
    for (mode, (asked, given_up)) in strict.into_iter().chain(relaxed) {
        let mut world = World::up_with(ClientOptions::default().lease(mode));
        world.pass(TIMEOUT * asked / 100);
        world.read(1, "/a");
        world.pass(TIMEOUT * (given_up - 1 - asked) / 100);
        assert_eq!(world.machine.link().state, LinkState::Up, "asked at {asked}");
        world.pass(TIMEOUT / 100);
        assert_eq!(world.machine.link().state, LinkState::Down, "asked at {asked}");
        assert_eq!(world.answers(), [(1, Err(WireError::ConnectionLoss))]);
    }
}

#[test]
fn a_server_hears_of_the_session_also_when_nobody_asks_anything() {
    let mut world = World::up();
    for _ in 0..10 {
        world.pass(TIMEOUT / 3);
        assert_eq!(world.requests(), [(XID_PING, Op::PING)]);
        world.receive(&bare(XID_PING, 0));
    }
    assert_eq!(world.machine.link(), Link { generation: FIRST_CONNECTION, state: LinkState::Up });
}

#[test]
fn pauses_between_attempts_leave_a_session_the_time_to_find_a_server() {
    let mut world = World::up();
    world.machine.hung_up("gone".to_owned(), world.now);
    let mut attempts = 0;
    while world.machine.link().state != LinkState::Unheard {
        let next = world.machine.wake_at().expect("something is left to do").since(world.now);
        assert!(next <= TIMEOUT / 8, "a pause of {next:?}");
        world.pass(next);
        if world.machine.dial().is_some() {
            attempts += 1;
            world.machine.hung_up("refused".to_owned(), world.now);
        }
    }
    assert!(attempts >= 8, "{attempts} attempts");
}

#[test]
fn who_has_no_session_does_not_stay_away_for_long_however_long_calls_pause() {
    let retry = RetryOptions::default().max(TIMEOUT * 10);
    let mut world = World::with(3, ClientOptions::default().retry(retry));
    let (began, mut attempts, mut longest) = (world.now, 0, Duration::ZERO);
    while world.now.since(began) < TIMEOUT * 10 {
        let next = world.machine.wake_at().expect("something is left to do").since(world.now);
        longest = longest.max(next);
        world.pass(next);
        if world.machine.dial().is_some() {
            attempts += 1;
            world.machine.hung_up("refused".to_owned(), world.now);
        }
    }
    assert!(longest <= Duration::from_secs(1), "a pause of {longest:?}");
    assert!(attempts >= 100, "{attempts} attempts");
}

#[test]
fn a_pause_ends_when_somebody_has_no_time_for_it_unless_the_last_attempt_is_new() {
    let mut world = World::with(3, ClientOptions::default());
    let pauses = |world: &World| world.machine.wake_at().expect("something is left to do").since(world.now);
    let mut ended = 0;
    for _ in 0..200 {
        world.pass(pauses(&world));
        if world.machine.dial().is_none() {
            continue;
        }
        world.machine.hung_up("refused".to_owned(), world.now);
        let pause = pauses(&world);
        world.machine.attempt_now(world.now);
        assert_eq!(pauses(&world), pause, "it has only just failed");
        if pause > NEW {
            world.pass(NEW);
            world.machine.attempt_now(world.now);
            world.pass(Duration::ZERO);
            assert!(world.machine.dial().is_some(), "the next attempt, before {pause:?} are over");
            world.machine.hung_up("refused".to_owned(), world.now);
            ended += 1;
        }
    }
    assert!(ended > 10, "{ended} pauses were long enough");
}

#[test]
fn a_server_that_is_silent_for_a_while_is_asked_again_before_the_session_ends() {
    let mut world = World::with(1, ClientOptions::default());
    world.connect();
    world.receive(&GRANTED.frame());
    world.read(1, "/a");
    let (began, mut attempts) = (world.now, Vec::new());
    while world.machine.link().state != LinkState::Unheard {
        let next = world.machine.wake_at().expect("something is left to do").since(world.now);
        world.pass(next);
        if world.machine.dial().is_some() {
            attempts.push(world.now.since(began));
            world.machine.connected(world.now);
        }
    }
    assert_eq!(attempts.len(), 2);
    assert!(attempts[1] < TIMEOUT * 4 / 5, "{attempts:?}");
}

#[test]
fn why_no_session_comes_about_is_told_for_each_attempt_and_of_reconnections_it_is_not() {
    let mut world = World::with(1, ClientOptions::default());
    let told = |world: &World| {
        let failed = world.out.iter().filter_map(|output| match output {
            Output::Failed(cause, _) => Some(cause.clone()),
            _ => None,
        });
        failed.collect::<Vec<_>>()
    };
    world.connect();
    world.machine.hung_up("refused".to_owned(), world.now);
    world.connect();
    assert_eq!(told(&world), ["zk:1: refused"]);
    world.receive(&GRANTED.frame());
    world.machine.hung_up("gone".to_owned(), world.now);
    world.connect();
    assert_eq!(told(&world).len(), 1);
}

#[test]
fn a_session_ends_a_timeout_after_the_last_word_of_a_server() {
    let mut world = World::up();
    world.watch(1, "/w");
    world.receive(&reply(1, 5));
    world.machine.hung_up("gone", world.now);
    let mut waited = Duration::ZERO;
    while world.machine.link().state != LinkState::Unheard {
        assert!(waited <= TIMEOUT, "later than the timeout");
        let next = world.machine.wake_at().expect("something is left to do").since(world.now);
        waited += next;
        world.pass(next);
        if world.machine.dial().is_some() {
            world.machine.hung_up("refused", world.now);
        }
    }
    assert_eq!(waited, TIMEOUT);
    assert_eq!(world.told(), [(1, Event::SessionEnded)]);
}

/// A session of which no server was heard for its timeout, as its client has it.
fn given_up() -> SessionIdentity {
    let mut world = World::up();
    assert!(world.machine.outlives_us().is_none(), "it has not ended");
    world.machine.hung_up("gone", world.now);
    world.pass(TIMEOUT);
    assert_eq!(world.machine.link().state, LinkState::Unheard);
    world.machine.outlives_us().expect("the servers may go on with it")
}

#[test]
fn a_session_that_was_given_up_is_gone_on_with_only_to_close_it() {
    let options = ClientOptions::default().read_only(true).auth(Auth::new("digest", "user:hunter2"));
    let mut world = World::closing(options, given_up(), Some("zk:2"));
    world.read(1, "/a");
    assert_eq!(world.answers(), [(1, Err(WireError::SessionEnded))]);
    for is_confirmed in [false, true] {
        world.pass(Duration::from_millis(50));
        let (_, server) = world.machine.dial().expect("it connects");
        if !is_confirmed {
            assert_eq!(server.to_string(), "zk:2");
        }
        world.machine.connected(world.now);
        let sent = world.sent();
        let hello = Hello::read(&sent[0]).expect("a hello");
        assert_eq!((hello.session, hello.password, hello.zxid_seen), (SESSION, &[3; 16][..], 0));
        assert_eq!(hello.read_only, Some(false), "what has no quorum cannot close it");
        world.receive(&GRANTED.frame());
        assert_eq!(world.requests(), [(0, Op::CLOSE)]);
        match is_confirmed {
            true => world.receive(&bare(0, 0)),
            // Nobody knows whether it has been heard.
            false => world.machine.hung_up("gone", world.now),
        }
    }
    assert_eq!(world.machine.link().state, LinkState::Ended);
}

#[test]
fn a_session_that_was_given_up_is_left_when_the_servers_have_ended_it() {
    let mut world = World::closing(ClientOptions::default(), given_up(), None);
    world.connect();
    world.receive(&Welcome::EXPIRED.frame());
    assert_eq!(world.machine.link().state, LinkState::Ended);
    // Without an answer: behind its timeout they have.
    let mut world = World::closing(ClientOptions::default(), given_up(), None);
    world.pass(TIMEOUT);
    assert!(world.machine.is_over());
}

/// Another program has the ports of the servers, and says something to whoever connects.
#[test]
fn what_speaks_another_protocol_keeps_no_session() {
    let mut broken = World::up();
    broken.machine.hung_up("reset", broken.now);
    let mut closing = World::up();
    closing.machine.hung_up("reset", closing.now);
    closing.machine.close(closing.now);
    for mut world in [World::closing(ClientOptions::default(), given_up(), None), broken, closing] {
        let since = world.now;
        while !world.machine.is_over() {
            world.pass(Duration::from_millis(10));
            if world.machine.dial().is_some() {
                world.machine.connected(world.now);
                world.receive(b"SSH-2.0-OpenSSH_9.6\r\n");
            }
            assert!(world.now.since(since) <= TIMEOUT, "it goes on for ever");
        }
    }
}

#[test]
fn a_session_that_a_server_ended_is_not_closed_once_more() {
    let mut world = World::up();
    world.machine.hung_up("gone", world.now);
    world.connect();
    world.receive(&Welcome::EXPIRED.frame());
    assert!(world.machine.outlives_us().is_none());
}

#[test]
fn a_server_that_does_not_know_the_session_any_more_ends_it() {
    let mut world = World::up();
    world.read(1, "/a");
    world.machine.hung_up("gone", world.now);
    world.read(2, "/a");
    world.connect();
    world.receive(&Welcome::EXPIRED.frame());
    assert_eq!(world.machine.link().state, LinkState::Ended);
    assert_eq!(world.answers(), [(1, Err(WireError::ConnectionLoss)), (2, Err(WireError::SessionEnded))]);
}

#[test]
fn no_more_are_in_flight_than_is_allowed() {
    let mut world = World::new(ClientOptions::default().max_in_flight(2));
    world.connect();
    world.receive(&GRANTED.frame());
    world.sent();
    (1..=3).for_each(|number| world.read(number, "/a"));
    assert_eq!(world.requests().len(), 2);
    world.receive(&reply(1, 5));
    assert_eq!(world.requests(), [(3, Op::GET_DATA)]);
}

#[test]
fn what_is_bound_to_a_connection_leaves_on_that_one_or_never() {
    let delete = || Request::Multi(vec![SubWrite::Delete { path: "/a".into(), version: -1 }]);
    let set = || Request::Write(SubWrite::SetData { path: "/a".into(), data: None, version: -1 });
    let ask = |world: &mut World, number, request: &Request<'_>, generation| {
        let letter = Letter::of(request).on(Some(generation));
        world.machine.request(letter, number, None, world.now);
        world.out.extend(world.machine.outputs());
    };
    let mut world = World::up_with(ClientOptions::default().max_in_flight(2));
    let first = world.machine.link().generation;
    ask(&mut world, 1, &set(), first);
    world.read(2, "/a");
    assert_eq!(world.requests(), [(1, Op::SET_DATA), (2, Op::GET_DATA)]);
    // The window is full.
    ask(&mut world, 3, &set(), first);
    world.read(4, "/a");
    ask(&mut world, 5, &delete(), first);
    assert_eq!(world.requests(), [(5, Op::MULTI)]);
    ask(&mut world, 6, &set(), first);
    world.machine.hung_up("gone", world.now);
    ask(&mut world, 7, &set(), first);
    ask(&mut world, 8, &set(), first + 1);
    world.connect();
    world.sent();
    ask(&mut world, 9, &set(), first);
    ask(&mut world, 10, &set(), first + 2);
    world.receive(&GRANTED.frame());
    assert_eq!(world.requests(), [(4, Op::GET_DATA)], "what is bound to none waits for the next");
    ask(&mut world, 11, &set(), first);
    ask(&mut world, 12, &set(), first + 2);
    assert_eq!(world.requests().len(), 1);
    let unknown = |number| (number, Err(WireError::ConnectionLoss));
    let refused = |number| (number, Err(WireError::NotSent));
    let mut expected = vec![unknown(1), unknown(2), unknown(5)];
    expected.extend([3, 6, 7, 8, 9, 10, 11].map(refused));
    assert_eq!(world.answers(), expected);
}

#[test]
fn what_no_server_sends_is_a_broken_connection_and_takes_no_memory() {
    let huge = i32::MAX.to_be_bytes();
    let negative = (-2_i32).to_be_bytes();
    let short = [0, 0, 0, 2, 9, 9];
    for bytes in [&huge[..], &negative, &short] {
        let mut world = World::up();
        world.read(1, "/a");
        world.receive(bytes);
        assert_eq!(world.machine.link().state, LinkState::Down);
        assert_eq!(world.answers(), [(1, Err(WireError::ConnectionLoss))]);
        assert!(world.machine.incoming.capacity() < 1 << 10);
    }
}

#[test]
fn closing_comes_behind_what_was_asked_and_ends_the_session() {
    let mut world = World::up();
    world.read(1, "/a");
    world.machine.close(world.now);
    world.read(2, "/a");
    assert_eq!(world.requests(), [(1, Op::GET_DATA), (0, Op::CLOSE)]);
    world.receive(&reply(1, 5));
    world.receive(&bare(0, 0));
    assert!(world.machine.is_over());
    assert_eq!(world.answers(), [(2, Err(WireError::SessionEnded)), (1, Ok(()))]);
    // Nobody waits for a session that was never granted.
    let mut world = World::new(ClientOptions::default());
    world.machine.close(world.now);
    assert!(world.machine.is_over());
}

#[test]
fn a_farewell_that_nobody_answered_is_said_again() {
    let mut world = World::up();
    world.machine.close(world.now);
    assert_eq!(world.requests(), [(0, Op::CLOSE)]);
    world.machine.hung_up("gone", world.now);
    world.connect();
    world.sent();
    world.receive(&GRANTED.frame());
    assert!(world.requests().contains(&(0, Op::CLOSE)));
    world.receive(&bare(0, 0));
    assert!(world.machine.is_over());
}

#[test]
fn a_connection_that_was_made_for_an_older_attempt_is_not_wanted() {
    let mut world = World::new(ClientOptions::default());
    world.pass(Duration::ZERO);
    let (first, _) = world.machine.dial().expect("an attempt");
    assert!(world.machine.wants(first));
    world.machine.hung_up("too late".to_owned(), world.now);
    assert!(!world.machine.wants(first), "there is none now");
    world.pass(Duration::from_secs(1));
    let (second, _) = world.machine.dial().expect("another attempt");
    assert!(world.machine.wants(second) && !world.machine.wants(first));
}

#[test]
fn servers_are_tried_one_after_the_other_with_pauses_that_grow() {
    let mut world = World::new(ClientOptions::default());
    let mut tried = Vec::new();
    let begun = world.now;
    for _ in 0..30 {
        let next = world.machine.wake_at().expect("it goes on").since(world.now);
        world.pass(next);
        let (_, server) = world.machine.dial().expect("an attempt");
        tried.push(server.port);
        world.machine.hung_up("refused", world.now);
    }
    for round in tried.chunks(3) {
        assert_eq!(round.iter().sum::<u16>(), 6, "each of the three: {tried:?}");
    }
    let took = world.now.since(begun);
    assert!(took > Duration::from_secs(2) && took < Duration::from_secs(90), "{took:?}");
}

#[test]
fn what_a_server_refuses_is_no_bug_of_ours() {
    for number in [Code::BadArguments as i32, Code::MarshallingError as i32, -120] {
        assert!(matches!(refusal(number), WireError::BadRequest(_)), "{number}");
    }
    for number in [-4, -7, -122] {
        assert!(refusal(number).is_unanswered(), "{number}: nobody knows what became of it");
    }
    assert!(matches!(refusal(-1), WireError::Other(_)));
}

#[test]
fn beyond_so_many_in_flight_others_wait_and_can_be_withdrawn_but_not_beats_and_deletions() {
    let mut world = World::new(ClientOptions::default().max_in_flight(2));
    world.connect();
    world.receive(&GRANTED.frame());
    world.sent();
    for number in [1, 2, 3, FORSAKEN, 5] {
        world.read(number, "/a");
    }
    assert_eq!(world.requests(), [(1, Op::GET_DATA), (2, Op::GET_DATA)]);
    let check = || SubWrite::Check { path: "/a".into(), version: -1 };
    let delete = || SubWrite::Delete { path: "/a".into(), version: -1 };
    for request in [
        Request::Multi(vec![check()]),
        Request::Multi(vec![check(), delete()]),
        Request::Write(delete()),
        Request::Sync { path: "/a".into() },
    ] {
        world.machine.request(Letter::of(&request), 9, None, world.now);
    }
    assert_eq!(
        world.requests(),
        [(6, Op::MULTI), (7, Op::MULTI), (8, Op::DELETE), (9, Op::SYNC)],
        "ahead of those that wait"
    );
    world.pass(TIMEOUT / 3);
    assert_eq!(world.requests(), [(XID_PING, Op::PING)]);
    world.receive(&reply(1, 5));
    assert_eq!(world.requests(), [(3, Op::GET_DATA)]);
    world.receive(&reply(2, 5));
    assert_eq!(world.requests(), [(5, Op::GET_DATA)], "the one before was withdrawn");
}

#[test]
fn what_is_asked_without_a_connection_leaves_whether_or_not_somebody_waits_for_it() {
    let mut world = World::up();
    world.machine.hung_up("gone", world.now);
    world.read(FORSAKEN, "/a");
    world.connect();
    world.sent();
    world.receive(&GRANTED.frame());
    assert_eq!(world.requests(), [(1, Op::GET_DATA)]);
}

#[test]
fn a_connection_stays_while_its_server_is_among_those_to_be_tried_and_else_moves_on_at_once() {
    let server = |host: &str| Server { host: host.to_owned(), port: 1 };
    let mut world = World::up();
    let current = world.machine.server().expect("connected").clone();
    world.machine.update_servers(vec![server("new"), current.clone()], world.now);
    assert_eq!(world.machine.server(), Some(&current));
    world.machine.update_servers(vec![server("new")], world.now);
    assert_eq!(world.machine.link().state, LinkState::Down);
    world.pass(Duration::ZERO);
    assert_eq!(world.machine.dial().map(|(_, server)| server), Some(server("new")));
    world.machine.connected(world.now);
    let hello = world.sent();
    assert_eq!(Hello::read(&hello[0]).expect("a hello").session, SESSION, "the same session");
    // Nor is a server waited for that is on none of the lists any more.
    world.machine.update_servers(vec![server("newer")], world.now);
    world.pass(Duration::ZERO);
    assert_eq!(world.machine.dial().map(|(_, server)| server), Some(server("newer")));
}

#[test]
fn a_server_that_answers_nothing_is_given_up_however_much_it_says() {
    let mut world = World::up();
    world.read(1, "/a");
    for _ in 0..99 {
        world.pass(TIMEOUT / 100);
        world.receive(&Told::frame(EventKind::DataChanged, "/nobody/watches", 5));
        assert_eq!(world.machine.link().state, LinkState::Up);
    }
    world.pass(TIMEOUT / 100);
    assert_eq!(world.machine.link().state, LinkState::Down);
}

#[test]
fn what_cannot_be_read_breaks_the_connection() {
    let mut world = World::up();
    world.read(1, "/a");
    let mut w = Writer::reply(1, 5, 0);
    w.int(i32::MAX);
    world.receive(&w.finish());
    assert_eq!(world.answers(), [(1, Err(WireError::ConnectionLoss))]);
    assert_eq!(world.machine.link().state, LinkState::Down);
}

#[test]
fn a_session_has_ended_that_a_server_opens_another_one_instead_of() {
    for granted in [GRANTED, COUNTED] {
        let mut world = World::up_with_granted(&granted);
        world.watch(1, "/w");
        world.receive(&reply(1, 5));
        world.machine.hung_up("gone", world.now);
        world.connect();
        world.receive(&Welcome { session: granted.session + 1, ..GRANTED }.frame());
        assert_eq!(world.machine.link().state, LinkState::Ended);
        assert_eq!(world.machine.session_id(), granted.session as u64, "it was never taken for ours");
        assert_eq!(world.told(), [(1, Event::SessionEnded)]);
        assert!(world.machine.cause().is_some_and(|cause| cause.contains("another session")));
    }
}

#[test]
fn a_server_that_counts_its_sessions_is_asked_for_no_watches_that_stay_and_for_no_removal() {
    let mut world = World::up_with_granted(&COUNTED);
    assert!(!world.machine.follow("/f", world.now));
    world.watch(1, "/w");
    world.sent();
    world.receive(&reply(1, 5));
    world.machine.unwatch(WatchSubject::Data, "/w", WatchId(1), world.now);
    assert_eq!(world.requests(), []);
    // It is told all the same, which is nobody's any more.
    world.receive(&Told::frame(EventKind::DataChanged, "/w", 6));
    assert_eq!(world.told(), []);
}

#[test]
fn whoever_watches_at_a_server_that_counts_its_sessions_looks_again_after_a_reconnection() {
    let mut world = World::up_with_granted(&COUNTED);
    world.watch(1, "/w");
    world.receive(&reply(1, 5));
    world.machine.hung_up("gone", world.now);
    world.connect();
    world.sent();
    world.receive(&COUNTED.frame());
    world.pass(Duration::ZERO);
    assert_eq!(world.requests(), [], "its watches of children would not be there");
    assert_eq!(world.told(), [(1, Event::DataChanged)]);
}

#[test]
fn a_server_that_opens_no_session_without_a_quorum_is_said_to() {
    let mut world = World::new(ClientOptions::default().read_only(true));
    world.connect();
    world.receive(&bare(0, Code::NotReadOnly as i32));
    assert_eq!(world.machine.link().state, LinkState::Down);
    let told = world.machine.noted.told();
    assert!(told.contains("has no quorum") && told.contains("localSessionsEnabled"), "{told}");
    assert!(!told.contains("does not answer as ZooKeeper does"), "{told}");
}

#[test]
fn credentials_are_overwritten_once_they_have_left_and_when_they_never_do() {
    const SECRET: &str = "planted-hunter2, and so much more that the frame is longer than most";
    for has_left in [true, false] {
        let mut world = World::new(ClientOptions::default().auth(Auth::new("digest", format!("u:{SECRET}"))));
        let work = || {
            world.connect();
            let outgoing = world.machine.outgoing();
            assert!(outgoing.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()));
            if has_left {
                outgoing.clear();
                world.receive(&GRANTED.frame());
                // It grows, and leaves behind what it was.
                (1..100).for_each(|number| world.read(number, "/a"));
            } else {
                world.machine.hung_up("gone", world.now);
                world.connect();
            }
        };
        assert_eq!(freed::holding(SECRET.as_bytes(), work), 0, "{has_left}");
    }
}

#[test]
fn while_a_server_only_reads_others_are_asked_in_turn_and_the_session_goes_to_one_with_a_quorum() {
    let mut world = World::up();
    world.machine.hung_up("gone", world.now);
    world.connect();
    world.receive(&Welcome { read_only: Some(true), ..GRANTED }.frame());
    world.sent();
    let here = world.machine.server().expect("connected").clone();
    let mut asked = Vec::new();
    for pause in [100, 200, 400] {
        world.pass(Duration::from_millis(pause - 1));
        assert_eq!(world.machine.question(), None, "before {pause} ms");
        world.pass(Duration::from_millis(1));
        let (attempt, server) = world.machine.question().expect("it is time");
        assert_eq!(world.machine.question(), None, "once");
        world.machine.learnt(attempt - 1, &server, true, world.now);
        world.machine.learnt(attempt, &server, pause == 400, world.now);
        asked.push(server);
    }
    assert!(!asked.contains(&here) && asked[0] != asked[1] && asked[0] == asked[2], "{asked:?}");
    assert_eq!(world.machine.link().state, LinkState::Down);
    world.pass(Duration::ZERO);
    assert_eq!(world.machine.dial().map(|(_, server)| server), Some(asked[2].clone()));
    world.machine.connected(world.now);
    let hello = world.sent();
    assert_eq!(Hello::read(&hello[0]).expect("a hello").session, SESSION);
    world.receive(&GRANTED.frame());
    world.pass(TIMEOUT / 4);
    assert_eq!(world.machine.question(), None, "it has arrived");
}

#[test]
fn each_proof_of_who_we_are_has_a_nonce_of_its_own() {
    let nonce = || {
        let mut world = World::new(ClientOptions::default().sasl(SaslOptions::new("me", "secret")));
        world.connect();
        world.receive(&GRANTED.frame());
        world.sent();
        let challenge = &b"realm=\"zk\",nonce=\"n\",algorithm=md5-sess"[..];
        let mut w = Writer::reply(0, 1, 0);
        Reply::Token(Some(challenge.into())).write(&mut w);
        world.receive(&w.finish());
        let sent = world.sent();
        let said = String::from_utf8_lossy(&sent[0]).into_owned();
        let (_, nonce) = said.split_once("cnonce=\"").expect("a response");
        nonce.split('"').next().expect("it ends").to_owned()
    };
    let (first, second) = (nonce(), nonce());
    assert_eq!((first.len(), first == second), (32, false), "{first} {second}");
}
