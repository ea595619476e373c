//! Three real servers whose leader stands still again and again: what it answers on waking must not make anybody certain
//! of a session that it is about to end.
//!
//! Most pauses are aimed at what a client could be deceived by. The leader is made to ask its followers who was there just
//! before a tick ends, so that it ends their sessions hardly later than T from then. Just before it would ask again,
//! everybody makes contact, and it stops; it wakes a moment before it ends the sessions, and first answers what was sent
//! meanwhile. Whoever is granted something then hears nothing more.
//!
//! `ZKR_PAUSED_LEADER_SECONDS` says for how long; less than a minute is for every day.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::{SOON, lock_of, options, soon};
use tokio::runtime::Handle;
use zkrecipes::{Client, Held};
use zkrecipes_embedded::Proxy;

const PATH: &str = "/locks/paused";
const NOTES: &str = "/notes";
const TIMEOUT: Duration = Duration::from_secs(4);
/// The longest that the servers take for such a session.
const TICK: Duration = Duration::from_secs(2);
/// So long before the end of a tick the leader asks its followers who was there, once [`tune`] has seen to it.
const ASKED: Duration = Duration::from_millis(30);

/// Three members; they end with us.
struct Servers {
    members: Vec<String>,
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Servers {
    fn start() -> Servers {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/zookeeper/zookeeper.py");
        let tick = TICK.as_millis().to_string();
        let mut child = Command::new("python3")
            .arg(program)
            .args(["run", "3.9", "--nodes", "3", "--tick", &tick])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 runs");
        let (stdin, stdout) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let mut servers = Servers { members: Vec::new(), child, stdin, stdout: BufReader::new(stdout) };
        let line = servers.line();
        let hosts = line.strip_prefix("ready ").expect("the servers start; their last words are above");
        servers.members = hosts.split(',').map(str::to_owned).collect();
        servers
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("an answer");
        line.trim().to_owned()
    }

    /// Which member leads. All but one follow; who starts up or elects says neither.
    fn leader(&self) -> usize {
        // Three servers that elect take their time on a busy machine.
        let until = Instant::now() + 3 * SOON;
        loop {
            let modes: Vec<_> = self.members.iter().map(|member| four_letters(member, "srvr")).collect();
            let followers = modes.iter().filter(|mode| mode.contains("Mode: follower")).count();
            match modes.iter().position(|mode| mode.contains("Mode: leader")) {
                Some(leader) if followers == 2 => return leader,
                _ => assert!(Instant::now() < until, "nobody leads"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn process(&mut self, member: usize) -> Process {
        writeln!(self.stdin, "pid {}", member + 1).expect("it listens");
        let pid = self.line().strip_prefix("ok ").and_then(|pid| pid.parse().ok());
        Process(pid.expect("a process"))
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _ = writeln!(self.stdin, "quit");
        let _ = self.child.wait();
    }
}

fn four_letters(host: &str, word: &str) -> String {
    let mut answer = String::new();
    if let Ok(mut stream) = TcpStream::connect(host) {
        let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
        let _ = stream.write_all(word.as_bytes());
        let _ = stream.read_to_string(&mut answer);
    }
    answer
}

/// A server's; it goes on when this is dropped.
struct Process(libc::pid_t);

impl Process {
    fn signal(&self, signal: libc::c_int) {
        // SAFETY: a plain system call; the child is not waited for while we live.
        unsafe { libc::kill(self.0, signal) };
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.signal(libc::SIGCONT);
    }
}

/// How far the servers' clock is from the next multiple of a tick: sessions end then, and at no other time.
fn until_tick() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: it points to a timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    let now = Duration::new(now.tv_sec as u64, now.tv_nsec as u32).as_nanos() as u64;
    let tick = TICK.as_nanos() as u64;
    Duration::from_nanos(tick - now % tick)
}

pub(super) struct Dice(u64);

impl Dice {
    /// Others in every run.
    pub(super) fn thrown() -> Dice {
        Dice(until_tick().as_nanos() as u64 ^ u64::from(std::process::id()) << 32)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }

    pub(super) fn between(&mut self, from: Duration, to: Duration) -> Duration {
        from + Duration::from_micros(self.below((to - from).as_micros() as u64))
    }
}

/// Who holds by their own account, all on one clock.
#[derive(Default)]
struct Recorder {
    holds: Mutex<Vec<(usize, Arc<Held>)>>,
    wrongs: Mutex<Vec<String>>,
    grants: AtomicU64,
    losses: AtomicU64,
    looks: AtomicU64,
    is_over: AtomicBool,
    proxies: Vec<Proxy>,
    /// Whether whoever is granted something is to hear nothing more.
    deafens: AtomicBool,
    deafened: AtomicU64,
}

impl Recorder {
    /// Once false, it stays false: who says so after somebody else did has said so all the time.
    fn granted(&self, who: usize, held: &Arc<Held>) {
        if self.deafens.load(Ordering::Relaxed) {
            self.proxies[who].pause();
            self.deafened.fetch_add(1, Ordering::Relaxed);
        }
        let mut holds = self.holds.lock().expect("no panic");
        if held.is_held() {
            for (other, old) in holds.iter() {
                if old.is_held() {
                    let wrong = format!(
                        "client {who} was granted {} while client {other} held {}",
                        held.node(),
                        old.node()
                    );
                    self.wrongs.lock().expect("no panic").push(wrong);
                }
            }
        }
        holds.push((who, held.clone()));
        self.grants.fetch_add(1, Ordering::Relaxed);
    }

    fn ended(&self, held: &Arc<Held>) {
        self.holds.lock().expect("no panic").retain(|(_, other)| !Arc::ptr_eq(other, held));
    }

    fn look(&self) {
        let holds = self.holds.lock().expect("no panic").clone();
        let held: Vec<_> = holds.iter().filter(|(_, held)| held.is_held()).collect();
        // Asked a second time, each of them says what was true when the others were asked first.
        let both: Vec<_> = held.iter().filter(|(_, held)| held.is_held()).collect();
        if held.len() > 1 && both.len() > 1 {
            let names: Vec<_> =
                both.iter().map(|(who, held)| format!("client {who} {}", held.node())).collect();
            self.wrongs.lock().expect("no panic").push(format!("at once: {}", names.join(", ")));
        }
        self.looks.fetch_add(1, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }
}

/// Holds for some time, again and again.
async fn work(who: usize, client: Client, recorder: Arc<Recorder>) {
    let lock = lock_of(&client, PATH);
    let mut dice = Dice(0x5eed + who as u64);
    while !recorder.is_over() {
        let Ok(held) = lock.acquire_timeout(TIMEOUT * 3).await else { continue };
        let held = Arc::new(held);
        recorder.granted(who, &held);
        let until = Instant::now() + dice.between(Duration::ZERO, TIMEOUT / 4);
        while Instant::now() < until && held.is_held() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        if !held.is_held() {
            recorder.losses.fetch_add(1, Ordering::Relaxed);
        }
        let _ = held.release_in_background();
        recorder.ended(&held);
        let pause = dice.between(Duration::ZERO, TIMEOUT / 8);
        tokio::time::sleep(pause).await;
    }
}

/// The leader, and all who depend on it.
struct Stage {
    leader: Process,
    clients: Vec<Client>,
    recorder: Arc<Recorder>,
    runtime: Handle,
    dice: Dice,
}

impl Stage {
    fn strike(&mut self) {
        match self.dice.below(4) {
            0 => self.strike_anywhere(),
            _ => self.strike_aimed(),
        }
    }

    /// One pause, and for one client no word from its server from shortly after.
    fn strike_anywhere(&mut self) {
        let dice = &mut self.dice;
        let pause = dice.between(TIMEOUT / 2, TIMEOUT * 21 / 20);
        let deaf = dice.below(self.recorder.proxies.len() as u64 * 2) as usize;
        let freeze = dice.between(Duration::ZERO, TIMEOUT / 400);
        let silence = dice.between(Duration::ZERO, TIMEOUT / 3);
        self.leader.signal(libc::SIGSTOP);
        std::thread::sleep(pause);
        self.leader.signal(libc::SIGCONT);
        if let Some(proxy) = self.recorder.proxies.get(deaf) {
            std::thread::sleep(freeze);
            proxy.pause();
            std::thread::sleep(silence);
            proxy.resume();
        }
    }

    fn strike_aimed(&mut self) {
        tune(&self.leader);
        // Two pauses are T/3 apart at least: in the tick after the next one, before it asks in the middle of that.
        let contact = TICK + TICK / 2 - ASKED - Duration::from_millis(70);
        std::thread::sleep(until_tick() + contact);
        let written = self.write();
        let _ = self.runtime.block_on(async {
            tokio::time::timeout(Duration::from_millis(50), futures_util::future::join_all(written)).await
        });
        self.leader.signal(libc::SIGSTOP);
        let end = Instant::now() + until_tick() + TICK + Duration::from_millis(1);
        std::thread::sleep(TIMEOUT * 3 / 8);
        drop(self.write());
        let shift = self.dice.between(Duration::ZERO, Duration::from_millis(4));
        std::thread::sleep(end.saturating_duration_since(Instant::now()).saturating_sub(shift));
        self.recorder.deafens.store(true, Ordering::Relaxed);
        self.leader.signal(libc::SIGCONT);
        std::thread::sleep(Duration::from_millis(50));
        self.recorder.deafens.store(false, Ordering::Relaxed);
        std::thread::sleep(TIMEOUT / 4);
        self.recorder.proxies.iter().for_each(|proxy| proxy.resume());
    }

    /// A write of each client, which is a heartbeat like any other; they are on their way already.
    fn write(&self) -> Vec<tokio::task::JoinHandle<()>> {
        let write = |client: &Client| {
            let client = client.clone();
            self.runtime.spawn(async move { drop(client.nodes().set(NOTES, b"", None).await) })
        };
        self.clients.iter().map(write).collect()
    }
}

/// Has the leader ask its followers just before the end of each tick: it does so when it wakes, and then every half tick.
fn tune(leader: &Process) {
    leader.signal(libc::SIGSTOP);
    // It has to miss the moment when it would have asked.
    let least = TICK / 2 + TICK / 20 + ASKED;
    let end = (0..3).map(|n| until_tick() + TICK * n).find(|end| *end > least).expect("a tick");
    std::thread::sleep(end - ASKED);
    leader.signal(libc::SIGCONT);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nobody_is_certain_of_what_a_leader_ends_on_waking() {
    let seconds = std::env::var("ZKR_PAUSED_LEADER_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let seconds = Duration::from_secs(seconds.unwrap_or(45));
    let mut servers = Servers::start();
    let leader = servers.leader();
    // One at the leader, two at each follower.
    let others = (0..3).filter(|member| *member != leader).flat_map(|member| [member; 2]);
    let start = |member: usize| Proxy::start(&servers.members[member]).expect("a proxy");
    let proxies: Vec<_> = others.chain([leader]).map(start).collect();
    let recorder = Arc::new(Recorder { proxies, ..Recorder::default() });
    let (mut clients, mut workers) = (Vec::new(), Vec::new());
    for (who, proxy) in recorder.proxies.iter().enumerate() {
        let client = Client::connect(&proxy.connect_string(), options(TIMEOUT)).await.expect("connected");
        clients.push(client.clone());
        workers.push(tokio::spawn(work(who, client, recorder.clone())));
    }
    clients[0].nodes().ensure(NOTES).await.expect("made");
    let watch = std::thread::spawn({
        let recorder = recorder.clone();
        move || {
            while !recorder.is_over() {
                recorder.look();
                std::thread::sleep(Duration::from_micros(500));
            }
        }
    });
    let mut stage = Stage {
        leader: servers.process(leader),
        clients: clients.clone(),
        recorder: recorder.clone(),
        runtime: Handle::current(),
        dice: Dice::thrown(),
    };
    let begun = Instant::now();
    let rounds = tokio::task::spawn_blocking(move || {
        let mut rounds = 0;
        while begun.elapsed() < seconds && stage.recorder.wrongs.lock().expect("no panic").is_empty() {
            // Between two pauses the servers run for a third of the session timeout, at least.
            std::thread::sleep(stage.dice.between(TIMEOUT / 3 + TIMEOUT / 12, TIMEOUT));
            stage.strike();
            rounds += 1;
        }
        rounds
    });
    let rounds: u64 = rounds.await.expect("no panic");
    recorder.is_over.store(true, Ordering::Relaxed);
    watch.join().expect("no panic");
    for worker in workers {
        soon("a worker", worker).await.expect("no panic");
    }
    for client in clients {
        let _ = client.close(Some(Duration::from_secs(5))).await;
    }
    let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (grants, losses, looks) = (count(&recorder.grants), count(&recorder.losses), count(&recorder.looks));
    let deafened = count(&recorder.deafened);
    println!(
        "{rounds} pauses in {:?}: {grants} grants, {deafened} of them on waking, {losses} losses, {looks} looks",
        begun.elapsed()
    );
    let wrongs = recorder.wrongs.lock().expect("no panic").clone();
    assert!(wrongs.is_empty(), "in pause {rounds}: {wrongs:?}");
    assert!(grants > rounds, "only {grants} grants in {rounds} pauses");
}
