//! A process of ours that stands still and goes on, as when its container is paused or its machine is moved: what it holds it
//! holds afterwards, by its own word and by its nodes.
//!
//! The holders are in a child, which is stopped at a random phase of their heartbeats. It obeys lines: `begin` and `begin fresh`,
//! as [`Riders::begin`] does, each answered by the nodes that are held then; `look`, by those that were lost.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use super::leader::Dice;
use super::server::{Real, Riders, asked, pause};
use crate::support::lateness::in_time_at_last;
use crate::support::options;
use zkrecipes::drive::bears;
use zkrecipes::{Client, ClientOptions, LeaseMode};

const HOSTS: &str = "ZKRECIPES_TEST_HOSTS";

fn riding() -> (ClientOptions, u32, u32) {
    let (timeout, tick, many, pauses) = asked();
    let mut options = options(timeout);
    options.server_tick = tick;
    (options, many, pauses)
}

/// Not a test by itself: the child of the one below.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn process_that_is_stopped() {
    let Ok(hosts) = std::env::var(HOSTS) else { return };
    let (options, many, _) = riding();
    let mut riders = Riders::of(&hosts, options, many).await;
    let mut lines = std::io::stdin().lines();
    while let Some(Ok(line)) = tokio::task::block_in_place(|| lines.next()) {
        let nodes: Vec<String> = match &*line {
            "look" => riders.look().await,
            _ => {
                riders.begin(line == "begin fresh").await;
                let held = riders.all.iter().filter_map(|rider| rider.held.as_ref());
                held.map(|held| held.node().to_owned()).collect()
            }
        };
        println!("nodes {}", nodes.join(" "));
    }
}

/// It ends with its stdin, so with us.
struct Holders {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Holders {
    fn start(hosts: &str) -> Holders {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "process::process_that_is_stopped", "--nocapture"])
            .env(HOSTS, hosts)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Holders { child, output }
    }

    /// The nodes that it names.
    fn ask(&mut self, line: &str) -> Vec<String> {
        writeln!(self.child.stdin.as_mut().expect("piped"), "{line}").expect("it listens");
        loop {
            let mut answer = String::new();
            let read = self.output.read_line(&mut answer).expect("text");
            assert!(read > 0, "the holders have ended; their last words are above");
            // What the runner of tests says before it may stand on the same line.
            if let Some((_, nodes)) = answer.split_once("nodes ") {
                return nodes.split_whitespace().map(str::to_owned).collect();
            }
        }
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: a plain system call; the child is not waited for while we live.
        unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
    }
}

impl Drop for Holders {
    fn drop(&mut self) {
        self.signal(libc::SIGCONT);
        self.child.stdin = None;
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_of_the_process_costs_no_lock() {
    let (riding, many, pauses) = riding();
    let (timeout, tick) = (riding.session_timeout, riding.server_tick);
    let lapse = bears(timeout, LeaseMode::Strict, tick);
    let server = Real::start();
    let mut holders = Holders::start(&server.hosts);
    // Not stopped with them.
    let observer = Client::connect(&server.hosts, options(timeout)).await.expect("connected");
    let (mut lost, mut gone) = (Vec::new(), Vec::new());
    let mut dice = Dice::thrown();
    for number in 0..pauses {
        let is_fresh = number % 2 == 1 || pauses == 1;
        let round = in_time_at_last(async || {
            let held = holders.ask(if is_fresh { "begin fresh" } else { "begin" });
            assert_eq!(held.len(), many as usize, "{held:?}");
            // A heartbeat leaves every eighth of it.
            tokio::time::sleep(dice.between(Duration::ZERO, timeout / 8)).await;
            pause(lapse, || holders.signal(libc::SIGSTOP), || holders.signal(libc::SIGCONT)).await;
            let without = holders.ask("look");
            let mut gone = Vec::new();
            for node in held.iter().filter(|node| !without.contains(node)) {
                let there = observer.nodes().exists(node).await.expect("an answer");
                gone.extend(there.is_none().then(|| node.clone()));
            }
            if without.is_empty() && gone.is_empty() { Ok(()) } else { Err((without.len(), gone)) }
        });
        let (count, nodes) = round.await.err().unwrap_or_default();
        lost.push(count);
        gone.extend(nodes);
    }
    println!("T {timeout:?}, tick {tick:?}: {many} holders, stopped for {lapse:?}; lost in each: {lost:?}");
    assert!(lost.iter().all(|lost| *lost == 0), "{lost:?} of {many} in stops of {lapse:?}");
    assert!(gone.is_empty(), "it says that it holds, but these are gone: {gone:?}");
}
