//! What a round of a double barrier costs, in requests and bytes, from a few members to very many in several processes.

use std::io::{BufRead, BufReader, Read, Write, stdin};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::support::ground::{Ground, grounds};
use crate::support::rounds::{PATH, TEN, nothing_left};
use crate::support::{SOON, options};
use zkrecipes::{Client, DoubleBarrier};

/// Tells a process that it is one of those with the members: where, how many, and of how many.
const PLACE: &str = "ZKR_CROWD";
const SESSIONS: usize = 5;

/// Members in a process of their own, who do what they are told.
struct Crowd {
    process: Child,
    says: BufReader<ChildStdout>,
}

impl Crowd {
    fn start(hosts: &str, members: usize, parties: usize) -> Crowd {
        let mut process = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "double_barrier::members_of_one_process", "--nocapture"])
            .env(PLACE, format!("{hosts} {members} {parties}"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let says = BufReader::new(process.stdout.take().expect("piped"));
        Crowd { process, says }
    }

    fn tell(&mut self, word: &str) {
        let stdin = self.process.stdin.as_mut().expect("piped");
        writeln!(stdin, "{word}").expect("it listens");
    }

    fn until(&mut self, word: &str) {
        let mut lines = self.says.by_ref().lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line == word)), "it ended before {word}");
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        // At the end of its input it ends; one that hangs does not.
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// The rest of a test, in another process.
#[tokio::test(flavor = "multi_thread")]
async fn members_of_one_process() {
    let Ok(place) = std::env::var(PLACE) else { return };
    let words: Vec<_> = place.split(' ').collect();
    let number = |n: usize| words[n].parse::<usize>().expect("a number");
    let mut clients = Vec::new();
    for _ in 0..SESSIONS {
        // So long that their hearts hardly count, and that nobody loses anything on a busy machine.
        clients.push(Client::connect(words[0], options(6 * TEN)).await.expect("the server answers"));
    }
    let barrier = |n: usize| clients[n % SESSIONS].double_barrier(PATH, number(2), None).expect("valid");
    let members: Vec<_> = (0..number(1)).map(barrier).collect();
    println!("\nready");
    for word in stdin().lines().map_while(Result::ok) {
        let moves = |member: &DoubleBarrier| {
            let (member, enters) = (member.clone(), word == "enter");
            tokio::spawn(async move {
                match enters {
                    true => member.enter(Some(3 * SOON)).await,
                    false => member.leave(Some(3 * SOON)).await,
                }
            })
        };
        for member in members.iter().map(moves).collect::<Vec<_>>() {
            member.await.expect("joined").expect("all are there");
        }
        println!("{word}");
    }
}

/// Requests and bytes of one round, for each member.
fn cost(ground: &Ground, processes: usize, members: usize) -> (f64, f64) {
    let parties = processes * members;
    let mut crowds: Vec<_> =
        (0..processes).map(|_| Crowd::start(&ground.hosts(), members, parties)).collect();
    crowds.iter_mut().for_each(|crowd| crowd.until("ready"));
    // The path is made in the first round.
    for _ in 0..2 {
        ground.clear_log();
        for word in ["enter", "leave"] {
            crowds.iter_mut().for_each(|crowd| crowd.tell(word));
            crowds.iter_mut().for_each(|crowd| crowd.until(word));
        }
    }
    let log: Vec<_> = ground.log().into_iter().filter(|entry| entry.path.contains(PATH)).collect();
    let bytes: usize = log.iter().map(|entry| entry.bytes_in + entry.bytes_out).sum();
    let each = (log.len() as f64 / parties as f64, bytes as f64 / parties as f64);
    println!(
        "{parties} members in {processes} processes: {:.1} requests and {:.0} bytes each",
        each.0, each.1
    );
    each
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_bytes_grow_with_the_members_and_not_faster() {
    for ground in grounds() {
        let (few, many, most) = (cost(&ground, 1, 10), cost(&ground, 1, 100), cost(&ground, 5, 100));
        for (what, fewer, more) in [("10 to 100", few, many), ("100 to 500", many, most)] {
            assert!(more.0 < 1.3 * fewer.0 && more.1 < 1.3 * fewer.1, "{what}: {fewer:?} become {more:?}");
        }
        nothing_left(&ground, &ground.client(TEN).await).await;
    }
}
