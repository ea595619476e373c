//! Many clients that do little, for what they cost their server.

use tokio::task::{JoinHandle, spawn};
use zkrecipes::{Client, Held, LockOptions, Result};

use super::Worker;
use crate::line::{Answer, Order, done};

#[derive(Default)]
pub struct Fleet {
    clients: Vec<Client>,
    held: Vec<Held>,
    waiting: Vec<JoinHandle<Result<Held>>>,
}

impl Worker {
    /// `state` is idle, hold (each a lock of its own), wait (each in a line of two behind a holder), or shared: all that wait
    /// and hold do so through one client.
    pub async fn fleet(&mut self, order: &Order) -> Answer {
        if order.verb == "disband" {
            self.fleet.waiting.drain(..).for_each(|waiter| waiter.abort());
            self.fleet.held.clear();
            let closing: Vec<_> = self
                .fleet
                .clients
                .drain(..)
                .map(|client| spawn(async move { client.close(None).await }))
                .collect();
            for one in closing {
                one.await??;
            }
            return done();
        }
        let state = order.text("state");
        for number in 0..order.number("clients") {
            let client = if state == "shared" { self.clients[0].clone() } else { self.connect().await? };
            // Two share a path: the first one holds, the second one waits.
            let at = if state == "wait" || state == "shared" { number / 2 } else { number };
            let lock = client.lock(&format!("{}/{at}", order.path()), LockOptions::default())?;
            match state {
                "idle" => {}
                "wait" | "shared" if number % 2 == 1 => {
                    self.fleet.waiting.push(spawn(async move { lock.acquire().await }));
                }
                _ => self.fleet.held.push(lock.acquire().await?),
            }
            if state != "shared" {
                self.fleet.clients.push(client);
            }
        }
        done()
    }
}
