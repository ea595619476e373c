//! Many who count at once: however many they are, they get no slower and waste nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::{SOON, eventually, server};
use zkrecipes::{Client, CounterOptions};
use zkrecipes_embedded::{Fault, Server};

const PATH: &str = "/counters/crowd";
/// How long each answer to a write takes, so that waiting for servers is what takes time, as it does for users, and not the
/// machine on which this runs.
const TRIP: Duration = Duration::from_millis(2);
/// How many times as many requests a change with fifty may need as one with five.
const MOST_REQUESTS: f64 = 1.4;

/// So many clients that all count as fast as they can.
struct Crowd {
    server: Server,
    clients: Vec<Client>,
    made: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    writers: Vec<tokio::task::JoinHandle<()>>,
}

impl Crowd {
    async fn of(count: usize) -> Crowd {
        let server = server();
        server.inject(Fault::delay_reply("multi", TRIP).forever());
        let (made, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
        let (mut clients, mut writers) = (Vec::new(), Vec::new());
        for _ in 0..count {
            clients.push(crate::support::client(&server).await);
        }
        for client in &clients {
            let counter = client.counter(PATH, CounterOptions::default()).expect("valid");
            let (made, stop) = (made.clone(), stop.clone());
            writers.push(tokio::spawn(async move {
                while !stop.load(Ordering::Acquire) {
                    counter.add(1).await.expect("added");
                    made.fetch_add(1, Ordering::AcqRel);
                }
            }));
        }
        // They have met each other.
        eventually("all have begun", || made.load(Ordering::Acquire) > 4 * count).await;
        Crowd { server, clients, made, stop, writers }
    }

    /// Changes in a second, and requests for each change, from now on for a while: all but those of who waits for a turn,
    /// and has a look every second.
    async fn measure(&self) -> (f64, f64) {
        self.server.clear_log();
        let (before, began) = (self.made.load(Ordering::Acquire), Instant::now());
        eventually("enough", || self.made.load(Ordering::Acquire) >= before + 300).await;
        let took = began.elapsed();
        let log = self.server.log();
        let made = (self.made.load(Ordering::Acquire) - before) as f64;
        let is_a_look = |op: &str, path: &str| op == "getChildren" && path == PATH;
        let requests = log
            .iter()
            .filter(|entry| entry.path.starts_with(PATH) && !is_a_look(entry.op, &entry.path))
            .count();
        (made / took.as_secs_f64(), requests as f64 / made)
    }

    async fn end(self) {
        self.stop.store(true, Ordering::Release);
        for writer in self.writers {
            writer.await.expect("no panic");
        }
        let counter = self.clients[0].counter(PATH, CounterOptions::default()).expect("valid");
        assert_eq!(counter.get().await.expect("read"), self.made.load(Ordering::Acquire) as i64);
        for client in &self.clients {
            client.close(Some(SOON)).await.expect("closed");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_who_count_together_get_as_much_done_as_five() {
    // Requests decide. How fast they are answered depends on what else the machine does, and on a busy one fifty clients
    // need more of it than five.
    let (rounds, least_ratio) = match std::env::var_os("ZKR_ALL") {
        Some(_) => (8, 1.0),
        None => (3, 0.6),
    };
    let (mut few, mut many) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    // One after the other, again and again, so that both meet the same weather. The best of each counts: whatever else the
    // machine does makes a round slower, and none faster.
    let best = |speeds: &[f64]| speeds.iter().copied().fold(0.0, f64::max);
    let least = |costs: &[f64]| costs.iter().copied().fold(f64::MAX, f64::min);
    for _ in 0..rounds {
        for (count, measured) in [(5, &mut few), (50, &mut many)] {
            let crowd = Crowd::of(count).await;
            let (speed, requests) = crowd.measure().await;
            println!("{count}: {speed:.0} changes a second, {requests:.2} requests for each");
            measured.0.push(speed);
            measured.1.push(requests);
            crowd.end().await;
        }
        if best(&many.0) >= least_ratio * best(&few.0) && least(&many.1) <= MOST_REQUESTS * least(&few.1) {
            return;
        }
    }
    let (slow, fast) = (best(&few.0), best(&many.0));
    assert!(fast >= least_ratio * slow, "{fast:.0} changes a second with fifty, {slow:.0} with five");
    let (less, more) = (least(&few.1), least(&many.1));
    panic!("{more:.2} requests for each change with fifty, {less:.2} with five");
}
