//! Queues: `put`, `take`, `claim`, `ack` and `nack`.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Mutex;
use std::time::Duration;

use zkrecipes::{Backlog, Client, DelayQueue, Error, Item, PriorityQueue, Queue, QueueOptions};

use crate::{Answer, milliseconds, number};

/// What one owner has claimed, by kind and path.
#[derive(Default)]
pub(crate) struct Queues(Mutex<HashMap<(String, String), Item>>);

enum Handle {
    Plain(Queue),
    Priority(PriorityQueue),
    Delay(DelayQueue),
}

impl Deref for Handle {
    type Target = Backlog;

    fn deref(&self) -> &Backlog {
        match self {
            Handle::Plain(queue) => queue,
            Handle::Priority(queue) => queue,
            Handle::Delay(queue) => queue,
        }
    }
}

impl Queues {
    pub(crate) async fn perform(&self, client: &Client, verb: &str, rest: &[&str]) -> Answer {
        let [kind, path, rest @ ..] = rest else { return Err(Error::invalid(verb, "KIND PATH …")) };
        let key = ((*kind).to_owned(), (*path).to_owned());
        let queue = handle(client, kind, path)?;
        match (verb, rest) {
            ("put", [data, rank @ ..]) => put(&queue, data.as_bytes(), rank).await?,
            ("take", [limit]) => {
                let data = match milliseconds(limit)? {
                    None => queue.get().await?,
                    Some(limit) => queue.get_timeout(limit).await?,
                };
                return Ok(String::from_utf8_lossy(&data).into_owned());
            }
            ("claim", [limit]) => {
                let item = match milliseconds(limit)? {
                    None => queue.claim().await?,
                    Some(limit) => queue.claim_timeout(limit).await?,
                };
                let data = String::from_utf8_lossy(item.data()).into_owned();
                self.0.lock().unwrap().insert(key, item);
                return Ok(data);
            }
            ("ack" | "nack", []) => {
                let item = self.0.lock().unwrap().remove(&key);
                let item = item.ok_or_else(|| Error::invalid(verb, "nothing was claimed"))?;
                if verb == "ack" { item.ack().await? } else { item.nack().await? }
            }
            ("length", []) => return queue.len().await.map(|len| len.to_string()),
            _ => return Err(Error::invalid("verb", format!("{verb} is not one of queues"))),
        }
        Ok(String::new())
    }
}

async fn put(queue: &Handle, data: &[u8], rank: &[&str]) -> Result<(), Error> {
    match (queue, rank) {
        (Handle::Plain(queue), []) => queue.put(data).await,
        (Handle::Priority(queue), [priority]) => {
            let priority = priority.parse().map_err(|_| Error::invalid("priority", "is no number"))?;
            queue.put(data, priority).await
        }
        (Handle::Delay(queue), [delay]) => queue.put(data, Duration::from_millis(number(delay)?)).await,
        _ => Err(Error::invalid("put", "a plain queue has no rank, and the others have one")),
    }
}

/// `queue:LAYOUT`, `priority` or `delay`.
fn handle(client: &Client, kind: &str, path: &str) -> Result<Handle, Error> {
    let options = QueueOptions::default();
    match kind.split_once(':') {
        Some(("queue", layout)) => client.queue(path, options.layout(layout.parse()?)).map(Handle::Plain),
        None if kind == "priority" => client.priority_queue(path, options).map(Handle::Priority),
        None if kind == "delay" => client.delay_queue(path, options).map(Handle::Delay),
        _ => Err(Error::invalid("kind", format!("{kind} is no queue"))),
    }
}
