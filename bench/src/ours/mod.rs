//! zkrecipes in Rust.

mod fleet;
mod observer;
mod recipes;
mod turns;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinHandle;
use zkrecipes::{Client, ClientOptions, Election, Held, Leadership};

use crate::line::{Answer, Order, lines, say};

// One thread of its own is enough beside those of the library: what takes time is not here.
#[tokio::main(flavor = "current_thread")]
pub async fn serve(hosts: &str, milliseconds: u64) {
    let mut worker = Worker {
        hosts: hosts.to_owned(),
        session: Duration::from_millis(milliseconds),
        clients: Vec::new(),
        held: None,
        waiters: Vec::new(),
        stamps: Arc::default(),
        fleet: fleet::Fleet::default(),
        election: None,
        leading: None,
    };
    worker.clients.push(worker.connect().await.expect("a server"));
    println!("ready version={}", zkrecipes::version());
    let mut lines = lines();
    while let Some(line) = lines.recv().await {
        let order = Order::read(&line);
        say(worker.obey(&order).await);
    }
}

struct Worker {
    hosts: String,
    session: Duration,
    /// The first one does nearly everything; more are made for what needs several sessions.
    clients: Vec<Client>,
    held: Option<Held>,
    waiters: Vec<JoinHandle<()>>,
    /// When the waiters acquired.
    stamps: Arc<Mutex<Vec<u64>>>,
    fleet: fleet::Fleet,
    election: Option<Election>,
    leading: Option<JoinHandle<(Leadership, u64)>>,
}

impl Worker {
    async fn obey(&mut self, order: &Order) -> Answer {
        match order.verb.as_str() {
            "lock" | "background" => self.free(order).await,
            "disjoint" => self.disjoint(order).await,
            "hold" => self.hold(order).await,
            "drop" => self.drop(),
            "queue" => self.queue(order).await,
            "finish" => self.finish().await,
            "local" => self.local(order).await,
            "readwrite" => self.read_write(order).await,
            "semaphore" => self.semaphore(order).await,
            "stand" | "resign" | "elected" => self.elect(order).await,
            "put" | "putmany" | "get" | "claim" => self.items(order).await,
            "barrier" => self.barrier(order).await,
            "commit" => self.commit(order).await,
            "counter" => self.counter(order).await,
            "watch" => self.watch(order).await,
            "fleet" | "observe" | "observed" | "disband" => self.fleet(order).await,
            _ => Ok(None),
        }
    }

    async fn connect(&self) -> zkrecipes::Result<Client> {
        let options =
            ClientOptions::default().session_timeout(self.session).connect_timeout(Duration::from_secs(60));
        Client::connect(&self.hosts, options).await
    }

    /// So many sessions, the first one included.
    async fn sessions(&mut self, count: usize) -> zkrecipes::Result<&[Client]> {
        while self.clients.len() < count {
            self.clients.push(self.connect().await?);
        }
        Ok(&self.clients[..count])
    }
}
