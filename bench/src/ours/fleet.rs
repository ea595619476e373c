//! Many clients that do little, for what they cost their server.

use tokio::task::{JoinHandle, spawn};
use zkrecipes::{Client, Held, Lock, LockOptions, Result};

use super::Worker;
use super::observer::Observer;
use crate::line::{Answer, Order, done};

#[derive(Default)]
pub struct Fleet {
    clients: Vec<Client>,
    held: Vec<(Client, Held)>,
    waiting: Vec<JoinHandle<Result<Held>>>,
    observer: Option<Observer>,
}

/// What one of a fleet does, and at which lock.
enum Role {
    Idle,
    Holds(usize),
    Waits(usize),
}

/// `state` is idle, hold (each a lock of its own), wait (each in a line of two behind a holder), shared (the same through one
/// client), or mixed: of ten one holds a lock of its own, one waits in a line of ten behind one of these, the rest is idle.
fn role(state: &str, number: usize) -> Role {
    match (state, number % 2, number % 10) {
        ("hold", ..) => Role::Holds(number),
        // Two share a path: the first one holds, the second one waits.
        ("wait" | "shared", 0, _) => Role::Holds(number / 2),
        ("wait" | "shared", ..) => Role::Waits(number / 2),
        ("mixed", _, 0) => Role::Holds(number / 10),
        ("mixed", _, 1) => Role::Waits(number / 100),
        _ => Role::Idle,
    }
}

impl Worker {
    pub async fn fleet(&mut self, order: &Order) -> Answer {
        match order.verb.as_str() {
            "fleet" => self.assemble(order).await,
            "observe" => {
                let Fleet { clients, held, waiting, .. } = &self.fleet;
                self.fleet.observer = Some(Observer::of(clients, held, waiting));
                done()
            }
            "observed" => Ok(Some(self.fleet.observer.as_ref().ok_or("nobody observes")?.told())),
            _ => self.disband().await,
        }
    }

    async fn assemble(&mut self, order: &Order) -> Answer {
        let state = order.text("state");
        for number in 0..order.number("clients") {
            let client = if state == "shared" { self.clients[0].clone() } else { self.connect().await? };
            let lock = |at: usize| -> Result<Lock> {
                client.lock(&format!("{}/{at}", order.path()), LockOptions::default())
            };
            match role(state, number) {
                Role::Idle => {}
                Role::Holds(at) => self.fleet.held.push((client.clone(), lock(at)?.acquire().await?)),
                Role::Waits(at) => {
                    let lock = lock(at)?;
                    self.fleet.waiting.push(spawn(async move { lock.acquire().await }));
                }
            }
            if state != "shared" {
                self.fleet.clients.push(client);
            }
        }
        done()
    }

    async fn disband(&mut self) -> Answer {
        self.fleet.observer = None;
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
        done()
    }
}
