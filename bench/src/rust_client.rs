//! zookeeper-client's own lock.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::{JoinHandle, spawn};
use zookeeper_client::{Acls, Client, CreateMode, LockOptions, LockPrefix, OwnedLockClient};

use crate::line::{Answer, Order, done, lines, list, now, say};

#[tokio::main(flavor = "current_thread")]
pub async fn serve(hosts: &str, milliseconds: u64) {
    let connector = Client::connector().with_session_timeout(Duration::from_millis(milliseconds));
    let mut worker = Worker {
        client: connector.connect(hosts).await.expect("a server"),
        held: None,
        waiters: Vec::new(),
        stamps: Arc::default(),
    };
    println!("ready");
    let mut lines = lines();
    while let Some(line) = lines.recv().await {
        let order = Order::read(&line);
        say(worker.obey(&order).await);
    }
}

struct Worker {
    client: Client,
    held: Option<OwnedLockClient>,
    waiters: Vec<JoinHandle<()>>,
    stamps: Arc<Mutex<Vec<u64>>>,
}

async fn acquire(client: &Client, path: &str) -> OwnedLockClient {
    let acls = Acls::anyone_all();
    let options = LockOptions::new(acls)
        .with_ancestor_options(CreateMode::Persistent.with_acls(acls))
        .expect("ancestors stay");
    let prefix = LockPrefix::new_curator(path, "lock-").expect("a path");
    client.lock(prefix, b"bench", options).await.expect("the lock").into_owned()
}

/// The lock has no release of its own that can be awaited: dropped, it deletes its node in the background. So the node is
/// deleted by hand, and what the drop sends then is forgotten.
async fn release(client: &Client, held: OwnedLockClient) {
    client.delete(held.lock_path(), None).await.expect("released");
    std::mem::forget(held);
}

impl Worker {
    async fn obey(&mut self, order: &Order) -> Answer {
        let client = &self.client;
        match order.verb.as_str() {
            "lock" => {
                let (mut acquired, mut both) = (Vec::new(), Vec::new());
                for _ in 0..order.number("ops") {
                    let begun = now();
                    let held = acquire(client, order.path()).await;
                    acquired.push(now() - begun);
                    release(client, held).await;
                    both.push(now() - begun);
                }
                Ok(Some(format!("{} {}", list("acquire", &acquired), list("both", &both))))
            }
            "disjoint" => {
                let (paths, pairs) = (order.number("paths"), order.number("ops"));
                let begun = now();
                let callers = (0..paths).map(|path| {
                    let (client, path) = (client.clone(), format!("{}/{path}", order.path()));
                    spawn(async move {
                        for _ in 0..pairs / paths {
                            release(&client, acquire(&client, &path).await).await;
                        }
                    })
                });
                for caller in callers.collect::<Vec<_>>() {
                    caller.await?;
                }
                Ok(Some(format!("took={}", now() - begun)))
            }
            "hold" => {
                self.held = Some(acquire(client, order.path()).await);
                done()
            }
            "drop" => {
                let begun = now();
                release(client, self.held.take().ok_or("nothing is held")?).await;
                Ok(Some(format!("at={begun}")))
            }
            "queue" => {
                let times = order.number("times");
                for _ in 0..order.number("waiters") {
                    let (client, path) = (client.clone(), order.path().to_owned());
                    let stamps = self.stamps.clone();
                    self.waiters.push(spawn(async move {
                        for _ in 0..times {
                            let held = acquire(&client, &path).await;
                            stamps.lock().unwrap().push(now());
                            release(&client, held).await;
                        }
                    }));
                }
                done()
            }
            "finish" => {
                for waiter in self.waiters.drain(..) {
                    waiter.await?;
                }
                Ok(Some(list("at", &std::mem::take(&mut *self.stamps.lock().unwrap()))))
            }
            _ => Ok(None),
        }
    }
}
