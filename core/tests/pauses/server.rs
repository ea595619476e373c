//! What a pause costs, of a server, the network or the way to it: nothing up to a part of the session timeout, at whatever
//! moment it comes. And a server that is gone is left in time.
//!
//! `ZKR_PAUSES=10,2` rides 100 pauses of a real server, as many of the network, and as many of a process of ours (`process.rs`),
//! at that session timeout and with that `server_tick`, in seconds; the second may be missing. Less is for every day.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::support::lateness::{in_time, in_time_at_last};
use crate::support::{SOON, client_with, eventually, lock_of, options, soon};
use zkrecipes::drive::bears;
use zkrecipes::{Client, ClientOptions, Held, LeaseMode, State};
use zkrecipes_embedded::{Proxy, Server};

/// One real server, which ends with us.
pub(super) struct Real {
    pub(super) hosts: String,
    pid: libc::pid_t,
    child: Child,
}

impl Real {
    pub(super) fn start() -> Real {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/zookeeper/zookeeper.py");
        let mut child = Command::new("python3")
            .arg(program)
            .args(["run", "3.9", "--tick", "2000"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 runs");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut line = || lines.next().expect("an answer").expect("text");
        let hosts = line().strip_prefix("ready ").expect("the server starts").to_owned();
        writeln!(child.stdin.as_mut().expect("piped"), "pid 1").expect("it listens");
        let pid = line().strip_prefix("ok ").and_then(|pid| pid.parse().ok()).expect("a process");
        Real { hosts, pid, child }
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: a plain system call; the server's keeper is not waited for while we live.
        unsafe { libc::kill(self.pid, signal) };
    }
}

impl Drop for Real {
    fn drop(&mut self) {
        self.signal(libc::SIGCONT);
        let _ = writeln!(self.child.stdin.as_mut().expect("piped"), "quit");
        let _ = self.child.wait();
    }
}

/// A client with a lock of its own.
pub(super) struct Rider {
    client: Client,
    path: String,
    pub(super) held: Option<Held>,
}

impl Rider {
    pub(super) async fn acquire(&mut self) {
        let lock = lock_of(&self.client, &self.path);
        self.held = Some(soon("a lock of its own", lock.acquire()).await.expect("free"));
    }
}

/// Holders at many phases, and, for every other pause, as many that have just acquired after an idle time.
pub(super) struct Riders {
    pub(super) all: Vec<Rider>,
    timeout: Duration,
}

impl Riders {
    pub(super) async fn of(hosts: &str, options: ClientOptions, many: u32) -> Riders {
        let timeout = options.session_timeout;
        let mut all = Vec::new();
        for number in 0..many {
            // Their heartbeats are due at different times.
            tokio::time::sleep(timeout / 8 / many).await;
            let client = Client::connect(hosts, options.clone()).await.expect("connected");
            let mut rider = Rider { client, path: format!("/locks/{number}"), held: None };
            rider.acquire().await;
            all.push(rider);
        }
        Riders { all, timeout }
    }

    /// It says how many lost what they held, if somebody did.
    async fn ride(&mut self, is_fresh: bool, pause: impl Future<Output = ()>) -> Result<(), usize> {
        self.begin(is_fresh).await;
        pause.await;
        match self.look().await.len() {
            0 => Ok(()),
            lost => Err(lost),
        }
    }

    pub(super) async fn begin(&mut self, is_fresh: bool) {
        if is_fresh {
            for rider in &mut self.all {
                rider.held.take().expect("held").release().await.expect("released");
            }
        }
        // Two pauses are half of this apart.
        tokio::time::sleep(self.timeout).await;
        if is_fresh {
            let step = self.timeout / 8 / self.all.len() as u32;
            for rider in &mut self.all {
                tokio::time::sleep(step).await;
                rider.acquire().await;
            }
        }
    }

    /// The nodes of those that have lost what they held; they hold again after this.
    pub(super) async fn look(&mut self) -> Vec<String> {
        tokio::time::sleep(self.timeout / 2).await;
        let mut lost = Vec::new();
        for rider in &mut self.all {
            if !rider.held.as_ref().is_some_and(Held::is_held) {
                lost.extend(rider.held.take().map(|held| held.node().to_owned()));
                rider.acquire().await;
            }
        }
        lost
    }
}

/// A pause that is to take so long. On a machine that is late it takes longer, and may be none of those that cost nothing.
pub(super) async fn pause(lapse: Duration, begin: impl FnOnce(), end: impl FnOnce()) {
    begin();
    tokio::time::sleep(lapse).await;
    end();
}

/// The session timeout, `server_tick`, and how many hold and how often there is a pause.
pub(super) fn asked() -> (Duration, Option<Duration>, u32, u32) {
    let Ok(asked) = std::env::var("ZKR_PAUSES") else { return (Duration::from_secs(4), None, 8, 1) };
    let mut seconds = asked.split(',').map(|part| Duration::from_secs(part.parse().expect("seconds")));
    (seconds.next().expect("a timeout"), seconds.next(), 25, 4)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_of_the_server_or_the_network_costs_no_lock() {
    ride(LeaseMode::Strict).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_of_the_server_or_the_network_costs_no_relaxed_lock() {
    ride(LeaseMode::Relaxed).await;
}

/// Pauses of the server and of the network, in turns, each as long as is borne in that mode.
async fn ride(mode: LeaseMode) {
    let (timeout, tick, many, pauses) = asked();
    let mut riding = options(timeout).lease(mode);
    riding.server_tick = tick;
    let lapse = bears(timeout, mode, tick);
    let server = Real::start();
    let proxy = Proxy::start(&server.hosts).expect("a proxy");
    let mut riders = Riders::of(&proxy.connect_string(), riding, many).await;
    let mut lost = Vec::new();
    for number in 0..pauses * 2 {
        let is_fresh = number % 4 >= 2 || pauses == 1;
        let round = in_time_at_last(async || {
            let of_server = pause(lapse, || server.signal(libc::SIGSTOP), || server.signal(libc::SIGCONT));
            let of_network = pause(lapse, || proxy.pause(), || proxy.resume());
            match number % 2 {
                0 => riders.ride(is_fresh, of_server).await,
                _ => riders.ride(is_fresh, of_network).await,
            }
        });
        lost.push(round.await.err().unwrap_or(0));
    }
    println!(
        "T {timeout:?}, {mode:?}, tick {tick:?}: {many} holders, pauses of {lapse:?}; lost in each: {lost:?}"
    );
    assert!(lost.iter().all(|lost| *lost == 0), "{lost:?} of {many} in pauses of {lapse:?}");
}

fn states(client: &Client) -> Receiver<(State, Instant)> {
    let (sender, told) = channel();
    client.on_state(move |state| {
        let _ = sender.send((state, Instant::now()));
    });
    told
}

/// Whatever timeout the server grants instead of the one that was asked for.
#[tokio::test(flavor = "multi_thread")]
async fn a_pause_breaks_no_connection() {
    let secs = Duration::from_secs;
    for (asked, granted, tick) in [
        (secs(4), secs(4), None),
        (secs(1), secs(4), None),
        (secs(40), secs(4), None),
        (secs(4), secs(4), Some(secs(1))),
    ] {
        in_time(async || {
            let server = Server::builder().min_session_timeout(secs(4)).max_session_timeout(secs(4));
            let server = server.start().expect("a free port");
            let mut options = options(asked);
            options.server_tick = tick;
            let client = Client::connect(&server.connect_string(), options).await.expect("connected");
            assert_eq!(client.session_timeout(), granted);
            let held = soon("a free lock", lock_of(&client, "/locks/paused").acquire()).await.expect("free");
            let (told, before) = (states(&client), server.log().len());
            eventually("its heart beats", || server.log().len() > before + 1).await;
            let lapse = bears(granted, LeaseMode::Strict, tick);
            pause(lapse, || server.pause(), || server.resume()).await;
            let answered = client.nodes().exists("/locks").await;
            let found = answered.map_err(|error| format!("asked for {asked:?}: {error}"))?;
            assert!(found.is_some());
            match (told.try_recv(), held.is_held()) {
                (Err(_), true) => Ok(()),
                (told, is_held) => Err(format!("asked for {asked:?}: told {told:?}, held: {is_held}")),
            }
        })
        .await;
    }
}

/// Nothing says that it is gone, and there is another one, which may be the second that is tried.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_gone_is_left_before_the_session_ends() {
    in_time(async || {
        let server = crate::support::server();
        let proxies = [(); 2].map(|()| Proxy::start(&server.connect_string()).expect("a proxy"));
        let hosts = proxies.each_ref().map(|proxy| proxy.connect_string()).join(",");
        let timeout = Duration::from_secs(4);
        let client = Client::connect(&hosts, options(timeout)).await.expect("connected");
        let held = soon("a free lock", lock_of(&client, "/locks/gone").acquire()).await.expect("free");
        let (session, told) = (client.session_id(), states(&client));
        let gone = proxies.iter().find(|proxy| proxy.connections() > 0).expect("it is connected");
        let began = Instant::now();
        gone.pause();
        let state = || told.recv_timeout(SOON).expect("a state");
        let (suspended, at) = state();
        assert_eq!(suspended, State::Suspended);
        let stayed = at - began;
        assert!(stayed > timeout / 3, "it left after {stayed:?}");
        // A beat leaves within an eighth of the timeout, and is waited for for little more than a third; a busy machine is late.
        if stayed >= timeout * 5 / 9 {
            return Err(format!("it stayed for {stayed:?}"));
        }
        assert_eq!(state().0, State::Connected);
        assert_eq!(client.session_id(), session, "it found the other one in time");
        drop(held);
        let another = client_with(&server, timeout).await;
        let next = soon("the lock", lock_of(&another, "/locks/gone").acquire()).await.expect("free");
        next.release().await.expect("released");
        Ok(())
    })
    .await;
}
