//! Queues, and the items claimed through them.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Mutex;
use std::time::Duration;

use zkrecipes::{
    Backlog, Client, CreateMode, DeadLetter, DeadLetters, DelayQueue, Error, ErrorKind, Item, Nack,
    PriorityQueue, Queue, drive,
};

use super::generated::queue_options;
use super::{Answer, millis, one, print};

#[derive(Clone)]
enum Made {
    Plain(Queue),
    Priority(PriorityQueue),
    Delay(DelayQueue),
    Dead(DeadLetters),
}

impl Deref for Made {
    type Target = Backlog;

    fn deref(&self) -> &Backlog {
        match self {
            Made::Plain(queue) => queue,
            Made::Priority(queue) => queue,
            Made::Delay(queue) => queue,
            Made::Dead(backlog) => backlog,
        }
    }
}

/// A client and the name of a handle of it.
type Key = (String, String);

/// By client and name: a queue, and the items claimed through it, the last of them last.
#[derive(Default)]
pub struct Queues(Mutex<HashMap<Key, (Made, Vec<Item>)>>);

impl Queues {
    /// What a word about a queue answers; `None` for the words of others.
    pub async fn perform(&self, client: &Client, words: &[String]) -> Option<Answer> {
        let arguments: Vec<&str> = words[2..].iter().map(String::as_str).collect();
        let key = (words[0].clone(), arguments.first().copied().unwrap_or_default().to_owned());
        if let (kind @ ("queue" | "priority-queue" | "delay-queue"), [_, path, rest @ ..]) =
            (words[1].as_str(), &arguments[..])
        {
            return Some(make(client, kind, path, rest).map(|made| self.keep(key, made)));
        }
        let queue = self.0.lock().unwrap().get(&key).map(|(made, _)| made.clone())?;
        Some(self.of(queue, &key, words[1].as_str(), &arguments[1..]).await)
    }

    fn keep(&self, key: Key, made: Made) -> Vec<String> {
        self.0.lock().unwrap().insert(key, (made, vec![]));
        vec![]
    }

    /// The item claimed last.
    fn item(&self, key: &Key) -> Result<Item, Error> {
        let item = self.0.lock().unwrap().get(key).and_then(|(_, items)| items.last().cloned());
        item.ok_or_else(|| Error::new(ErrorKind::NotHeld, "nothing was claimed"))
    }

    fn settled(&self, key: &Key, result: Result<(), Error>) -> Answer {
        result?;
        let item = self.0.lock().unwrap().get_mut(key).and_then(|(_, items)| items.pop());
        drop(item);
        Ok(vec![])
    }

    async fn of(&self, queue: Made, key: &Key, verb: &str, rest: &[&str]) -> Answer {
        match (verb, rest) {
            ("put", [data, rest @ ..]) => put(queue, data, rest).await.map(|()| vec![]),
            ("put-many", all) => match queue {
                Made::Plain(queue) => queue.put_many(all).await.map(|()| vec![]),
                _ => Err(Error::invalid("queue", "is no plain queue")),
            },
            ("get-item", rest) => {
                let got = drive::get(&queue, millis(rest.first())).await?;
                one(String::from_utf8_lossy(&got.hand_over()))
            }
            ("claim", rest) => {
                let item = drive::claim(&queue, millis(rest.first())).await?;
                let answer =
                    vec![String::from_utf8_lossy(item.data()).into_owned(), item.attempts().to_string()];
                if let Some((_, items)) = self.0.lock().unwrap().get_mut(key) {
                    items.push(item);
                }
                Ok(answer)
            }
            ("claim-many", [n, rest @ ..]) => {
                let n = n.parse().map_err(|_| Error::invalid("n", "is no number"))?;
                let items = drive::claim_many(&queue, n, millis(rest.first())).await?;
                let said =
                    items.iter().map(|item| String::from_utf8_lossy(item.data()).into_owned()).collect();
                if let Some((_, claimed)) = self.0.lock().unwrap().get_mut(key) {
                    claimed.extend(items);
                }
                Ok(said)
            }
            ("ack-many", _) => {
                let all = |(_, items): &mut (_, Vec<Item>)| std::mem::take(items);
                let items = self.0.lock().unwrap().get_mut(key).map(all).unwrap_or_default();
                queue.ack_many(&items).await.map(|()| vec![])
            }
            ("ack", _) => self.settled(key, self.item(key)?.ack().await),
            ("nack", rest) => self.settled(key, self.item(key)?.nack_with(nack(rest)).await),
            ("release", _) => self.settled(key, self.item(key)?.release().await),
            ("leave-item", rest) => {
                let left = self.item(key)?.leave(rest.first() == Some(&"fail")).await;
                self.settled(key, left)
            }
            ("ack-with-set" | "ack-with-create", [path, data]) => {
                let item = self.item(key)?;
                let writes = item.guarded();
                match verb {
                    "ack-with-set" => writes.set(path, data.as_bytes(), None)?,
                    _ => writes.create(path, data.as_bytes(), CreateMode::Persistent)?,
                }
                self.settled(key, item.ack_with(&writes).await)
            }
            ("guarded-set" | "guarded-create", [path, data]) => {
                let writes = self.item(key)?.guarded();
                match verb {
                    "guarded-set" => writes.set(path, data.as_bytes(), None)?,
                    _ => writes.create(path, data.as_bytes(), CreateMode::Persistent)?,
                }
                writes.commit().await.map(|_| vec![])
            }
            ("held", _) => one(self.item(key).is_ok_and(|item| item.is_held())),
            ("token", _) => one(self.item(key)?.fencing_token()),
            ("verify", _) => self.item(key)?.verify().await.map(|()| vec![]),
            ("watch-lost", _) => {
                let line = format!("event {} lost {}", key.0, key.1);
                let _ = self.item(key)?.on_lost(move |error| {
                    print(&format!("{line} {}", error.reason().map_or("none", |reason| reason.name())));
                });
                Ok(vec![])
            }
            ("peek", _) => match queue.peek().await? {
                Some(data) => one(String::from_utf8_lossy(&data)),
                None => one("none"),
            },
            ("length", _) => one(queue.len().await?),
            ("items", _) => {
                let items = queue.items().await?;
                Ok(items.iter().map(|data| String::from_utf8_lossy(data).into_owned()).collect())
            }
            ("dead", [named]) => {
                Ok(self.keep((key.0.clone(), (*named).to_owned()), Made::Dead(queue.dead())))
            }
            ("letters", _) => match queue {
                Made::Dead(letters) => {
                    let told = |letter: &DeadLetter| {
                        let data = String::from_utf8_lossy(&letter.data);
                        let reason = letter.reason.as_deref().unwrap_or("-").replace(' ', "_");
                        let state = if letter.problem.is_some() { "unreadable" } else { &*data };
                        format!("{state}/{}/{reason}", letter.attempts)
                    };
                    Ok(letters.items().await?.iter().map(told).collect())
                }
                _ => Err(Error::invalid("queue", "has no letters")),
            },
            ("stats", _) => {
                let stats = queue.stats().await?;
                Ok([stats.ready, stats.delayed, stats.claimed, stats.dead].map(|n| n.to_string()).to_vec())
            }
            ("replay", [id]) => one(queue.replay_one(id).await?),
            ("replay", _) => one(queue.replay().await?),
            ("purge", [age]) => one(queue.purge(millis(Some(age)).unwrap_or_default()).await?),
            ("cancel", _) => {
                queue.cancel();
                Ok(vec![])
            }
            ("free", _) => {
                let gone = self.0.lock().unwrap().remove(key);
                drop(gone);
                Ok(vec![])
            }
            _ => Err(Error::invalid("verb", format!("{verb} is not one of a queue"))),
        }
    }
}

/// `delay=ms`, `reason=word`.
fn nack(words: &[&str]) -> Nack {
    let told = |name: &str| words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let delay = told("delay").and_then(|ms| ms.parse().ok()).map(Duration::from_millis);
    let nack = delay.map_or(Nack::default(), |delay| Nack::default().delay(delay));
    told("reason").map_or(nack.clone(), |reason| nack.reason(reason))
}

fn make(client: &Client, kind: &str, path: &str, rest: &[&str]) -> Result<Made, Error> {
    let options = queue_options(rest)?;
    Ok(match kind {
        "queue" => Made::Plain(client.queue(path, options)?),
        "priority-queue" => Made::Priority(client.priority_queue(path, options)?),
        _ => Made::Delay(client.delay_queue(path, options)?),
    })
}

async fn put(queue: Made, data: &str, rest: &[&str]) -> Result<(), Error> {
    let option = |name: &str| rest.iter().find_map(|word| word.strip_prefix(name));
    let number = |word: Option<&str>| word.map_or(Ok(0), str::parse);
    let invalid = |_| Error::invalid("put", "priority and delay are numbers");
    let (limit, data) = (millis(rest.first()), data.as_bytes().to_vec());
    let key = option("key=").map(str::to_owned);
    match queue {
        Made::Plain(queue) => drive::put_one(&queue, data, key, limit).await.map(drive::Done::receive),
        Made::Priority(queue) => {
            let priority = number(option("priority=")).map_err(invalid)?;
            drive::put_priority(&queue, data, priority, key, limit).await.map(drive::Done::receive)
        }
        Made::Delay(queue) => {
            let delay = Duration::from_millis(number(option("delay=")).map_err(invalid)? as u64);
            drive::put_delayed(&queue, data, delay, key, limit).await.map(drive::Done::receive)
        }
        Made::Dead(_) => Err(Error::invalid("queue", "dead letters are not put")),
    }
}
