//! Our producers and consumers of a queue, and the floor that they stand on, for `bench/queues/run.py`.
//!
//!     zkrecipes-bench-queues HOSTS
//!
//! Obeys lines; the answer to each is how many nanoseconds it took.
//!
//! | line | |
//! |---|---|
//! | `create PREFIX COUNT WINDOW` | zookeeper-client itself makes so many nodes, with so many requests in flight |
//! | `clear PATH` | deletes whatever is below |
//! | `put-many PATH COUNT` | ours puts so many items in one call |
//! | `put PATH COUNT CALLS` | the same one by one, with so many calls at a time |
//! | `get PATH COUNT CALLS CLIENTS` | so many clients take that many items in all, each with so many calls at a time |
//! | `claim PATH COUNT CALLS` | the same of one client, which claims each item and acknowledges it |

use std::collections::VecDeque;
use std::io::stdin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use zkrecipes::{Client, Error, ErrorKind, Queue, Result};
use zookeeper_client as zk;

const ITEM: [u8; 100] = [b'x'; 100];

#[tokio::main]
async fn main() -> Result<()> {
    let Some(hosts) = std::env::args().nth(1) else {
        return Err(Error::new(ErrorKind::Invalid, "usage: zkrecipes-bench-queues HOSTS"));
    };
    let mut bench = Bench {
        raw: zk::Client::connect(&hosts).await.expect("a server"),
        clients: vec![Client::connect(&hosts, Default::default()).await?],
        hosts,
    };
    println!("ready");
    for line in stdin().lines().map_while(std::io::Result::ok) {
        println!("{}", bench.obey(&line).await?);
    }
    for client in bench.clients {
        client.close(None).await?;
    }
    Ok(())
}

#[derive(Copy, Clone)]
enum Verb {
    Put,
    Get,
    Claim,
}

impl Verb {
    async fn of(self, queue: &Queue) -> Result<()> {
        match self {
            Verb::Put => queue.put(&ITEM).await,
            Verb::Get => queue.get().await.map(drop),
            Verb::Claim => queue.claim().await?.ack().await,
        }
    }
}

struct Bench {
    hosts: String,
    raw: zk::Client,
    clients: Vec<Client>,
}

impl Bench {
    async fn obey(&mut self, line: &str) -> Result<u128> {
        let words: Vec<_> = line.split_whitespace().collect();
        let number = |at: usize| words[at].parse::<usize>().expect("a number");
        match words[0] {
            "create" => Ok(self.create(words[1], number(2), number(3)).await),
            "clear" => Ok(self.clear(words[1]).await),
            "put-many" => {
                let (queue, items) = (self.queue(0, words[1])?, vec![ITEM; number(2)]);
                let begun = Instant::now();
                queue.put_many(&items).await?;
                Ok(begun.elapsed().as_nanos())
            }
            "put" => all(Verb::Put, &[self.queue(0, words[1])?], number(2), number(3)).await,
            "get" => {
                while self.clients.len() < number(4) {
                    self.clients.push(Client::connect(&self.hosts, Default::default()).await?);
                }
                let queues: Result<Vec<_>> = (0..number(4)).map(|at| self.queue(at, words[1])).collect();
                all(Verb::Get, &queues?, number(2), number(3)).await
            }
            "own" => {
                while self.clients.len() < number(4) {
                    self.clients.push(Client::connect(&self.hosts, Default::default()).await?);
                }
                let queues: Result<Vec<_>> =
                    (0..number(4)).map(|at| self.queue(at, &format!("{}/{at}", words[1]))).collect();
                let queues = queues?;
                // More than each takes, for some may be faster.
                for queue in &queues {
                    queue.put_many(&vec![ITEM; number(2)]).await?;
                }
                let took = all(Verb::Get, &queues, number(2), number(3)).await?;
                for at in 0..queues.len() {
                    self.clear(&format!("{}/{at}", words[1])).await;
                }
                Ok(took)
            }
            "claim" => all(Verb::Claim, &[self.queue(0, words[1])?], number(2), number(3)).await,
            other => Err(Error::new(ErrorKind::Invalid, format!("{other} is no word of this program"))),
        }
    }

    fn queue(&self, client: usize, path: &str) -> Result<Queue> {
        self.clients[client].queue(path, Default::default())
    }

    async fn create(&self, prefix: &str, count: usize, window: usize) -> u128 {
        let (client, acl) = (&self.raw, zk::Acls::anyone_all());
        let parent = &prefix[..prefix.rfind('/').expect("a path")];
        client.mkdir(parent, &zk::CreateMode::Persistent.with_acls(acl)).await.expect("made");
        let options = zk::CreateMode::PersistentSequential.with_acls(acl);
        let begun = Instant::now();
        let mut flights = VecDeque::new();
        for _ in 0..count {
            if flights.len() == window
                && let Some(first) = flights.pop_front()
            {
                answered(first).await;
            }
            flights.push_back(client.create(prefix, &ITEM, &options));
        }
        for flight in flights {
            answered(flight).await;
        }
        begun.elapsed().as_nanos()
    }

    async fn clear(&self, path: &str) -> u128 {
        let begun = Instant::now();
        let names = self.raw.list_children(path).await.unwrap_or_default();
        let flights: Vec<_> =
            names.iter().map(|name| self.raw.delete(&format!("{path}/{name}"), None)).collect();
        for flight in flights {
            answered(flight).await;
        }
        begun.elapsed().as_nanos()
    }
}

async fn answered<T>(flight: impl Future<Output = Result<T, zk::Error>>) {
    flight.await.expect("applied");
}

/// So many of that in all, by all the queues, each with so many calls at a time.
async fn all(verb: Verb, queues: &[Queue], count: usize, calls: usize) -> Result<u128> {
    let left = Arc::new(AtomicUsize::new(count));
    let begun = Instant::now();
    let callers: Vec<_> = (0..queues.len() * calls)
        .map(|caller| {
            let (queue, left) = (queues[caller % queues.len()].clone(), left.clone());
            tokio::spawn(async move {
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1)).is_ok() {
                    verb.of(&queue).await?;
                }
                Ok(())
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("a caller does not panic")?;
    }
    Ok(begun.elapsed().as_nanos())
}
