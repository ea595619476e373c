//! Our side of the interoperability tests: obeys lines on stdin; tests/interop/README.md is the protocol.

mod barriers;
mod groups;
mod queues;
mod services;

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use zkrecipes::{
    Client, ClientOptions, Contender, Counter, CounterOptions, Election, ElectionOptions, Error, Held, Lock,
    LockOptions, ReadWriteLock, Semaphore, drive,
};

use barriers::Barriers;
use groups::Groups;
use queues::Queues;
use services::Services;

type Answer = Result<String, Error>;

/// One session, the handles it has used, and what it holds: by kind and path, the innermost last.
struct Owner {
    client: Client,
    handles: Mutex<HashMap<(String, String), Handle>>,
    held: Mutex<HashMap<(String, String), Vec<Held>>>,
    groups: Groups,
    barriers: Barriers,
    queues: Queues,
    services: Services,
}

#[derive(Clone)]
enum Handle {
    Lock(Lock),
    ReadWrite(ReadWriteLock),
    Semaphore(Semaphore),
    Election(Election),
}

#[derive(Default)]
struct Stage {
    owners: Mutex<HashMap<String, Arc<Owner>>>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let stage = Arc::new(Stage::default());
    let (lines, mut commands) = tokio::sync::mpsc::unbounded_channel();
    // Plain stdin on a plain thread: the runtime's own would keep the process from ending.
    std::thread::spawn(move || {
        std::io::stdin().lock().lines().map_while(Result::ok).try_for_each(|line| lines.send(line))
    });
    while let Some(line) = commands.recv().await {
        let stage = stage.clone();
        tokio::spawn(async move {
            let words: Vec<&str> = line.split(' ').collect();
            let answer = match words[..] {
                [_, owner, verb, ref arguments @ ..] => stage.perform(owner, verb, arguments).await,
                _ => Err(Error::invalid("line", "is too short")),
            };
            match answer {
                Ok(value) => say(&format!("{} ok {value}", words[0])),
                Err(error) => say(&format!("{} error {} {error}", words[0], error.kind().name())),
            }
        });
        // Started in the order read.
        tokio::task::yield_now().await;
    }
    std::process::exit(0);
}

fn number(word: &str) -> Result<u64, Error> {
    word.parse().map_err(|_| Error::invalid("argument", format!("{word:?} is no number")))
}

/// `-` is for ever.
fn milliseconds(word: &str) -> Result<Option<Duration>, Error> {
    if word == "-" { Ok(None) } else { number(word).map(|millis| Some(Duration::from_millis(millis))) }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", line.trim_end()).and_then(|()| out.flush());
}

impl Stage {
    async fn perform(&self, name: &str, verb: &str, arguments: &[&str]) -> Answer {
        if verb == "connect" {
            let [hosts, naming, timeout] = arguments else {
                return Err(Error::invalid("connect", "HOSTS NAMING TIMEOUT"));
            };
            let timeout = Duration::from_millis(number(timeout)?);
            let options =
                ClientOptions::default().naming(naming.parse()?).session_timeout(timeout).identity(name);
            let client = Client::connect(hosts, options).await?;
            self.owners.lock().unwrap().insert(name.to_owned(), Arc::new(Owner::of(client)));
            return Ok(String::new());
        }
        let owner = self.owners.lock().unwrap().get(name).cloned();
        let owner = owner.ok_or_else(|| Error::invalid("owner", "has not connected"))?;
        match (verb, arguments) {
            ("acquire", [kind, path, limit, permits]) => {
                owner.acquire(name, kind, path, milliseconds(limit)?, number(permits)? as usize).await
            }
            ("release", [kind, path]) => owner.release(kind, path).await,
            ("downgrade", [path]) => owner.downgrade(path).await,
            ("contenders", [kind, path]) => owner.contenders(kind, path).await,
            ("revoke", [kind, path, node, patience]) => {
                let node = Some(*node).filter(|node| *node != "-");
                owner.revoke(kind, path, node, milliseconds(patience)?).await
            }
            ("candidates", [kind, path]) => {
                let candidates = owner.election(kind, path)?.candidates().await?;
                let star = |holds| if holds { "*" } else { "" };
                let words = candidates.iter().map(|one| format!("{}{}", one.identity, star(one.holds)));
                Ok(words.collect::<Vec<_>>().join(" "))
            }
            ("leader", [kind, path]) => {
                let leader = owner.election(kind, path)?.leader().await?;
                let stage = |acknowledged| if acknowledged { "acknowledged" } else { "elected" };
                Ok(leader.map_or(String::new(), |leader| {
                    format!("{} {}", leader.identity, stage(leader.acknowledged))
                }))
            }
            ("acknowledge", [kind, path]) => {
                let key = ((*kind).to_owned(), (*path).to_owned());
                let held = owner.held.lock().unwrap().get(&key).and_then(|held| held.last().cloned());
                let held = held.ok_or_else(|| Error::invalid("acknowledge", "nothing was acquired"))?;
                drive::leadership(held).acknowledge(b"at work").await.map(|()| String::new())
            }
            ("add", [kind, path, n]) => {
                let n = n.parse().map_err(|_| Error::invalid("n", "is no number"))?;
                owner.counter(kind, path)?.add(n).await.map(|value| value.to_string())
            }
            ("resize", [kind, path, permits]) => match owner.handle(kind, path)? {
                Handle::Semaphore(semaphore) => {
                    semaphore.resize(number(permits)? as usize).await.map(|()| String::new())
                }
                _ => Err(Error::invalid("kind", "is no semaphore")),
            },
            ("close", []) => owner.client.close(None).await.map(|()| String::new()),
            (_, [kind, ..]) => match kind.split(':').next() {
                Some("group") => owner.groups.perform(&owner.client, name, verb, arguments).await,
                Some("service") => owner.services.perform(&owner.client, verb, arguments).await,
                Some("barrier" | "double") => owner.barriers.perform(&owner.client, verb, arguments).await,
                _ => owner.queues.perform(&owner.client, verb, arguments).await,
            },
            _ => Err(Error::invalid("verb", format!("{verb} is not one"))),
        }
    }
}

impl Owner {
    fn of(client: Client) -> Owner {
        let (handles, held, groups, barriers, queues, services) = Default::default();
        Owner { client, handles, held, groups, barriers, queues, services }
    }

    /// The node and the fencing token.
    async fn acquire(
        &self,
        owner: &str,
        kind: &str,
        path: &str,
        limit: Option<Duration>,
        permits: usize,
    ) -> Answer {
        let acquiring = match (self.handle(kind, path)?, kind) {
            (Handle::Lock(lock), _) => drive::acquire(&lock, 1, limit),
            (Handle::ReadWrite(lock), "read") => drive::acquire(lock.read(), 1, limit),
            (Handle::ReadWrite(lock), _) => drive::acquire(lock.write(), 1, limit),
            (Handle::Semaphore(semaphore), _) => drive::acquire(&semaphore, permits, limit),
            (Handle::Election(election), _) => drive::acquire(&election, 1, limit),
        };
        let held = acquiring.await?.hand_over();
        let line = format!("event {owner} revoked {path}");
        let _ = held.on_revoke(move || say(&line));
        let answer = format!("{} {}", held.node(), held.fencing_token());
        let key = (kind.to_owned(), path.to_owned());
        self.held.lock().unwrap().entry(key).or_default().push(held);
        Ok(answer)
    }

    /// What held write holds read then.
    async fn downgrade(&self, path: &str) -> Answer {
        let key = |kind: &str| (kind.to_owned(), path.to_owned());
        let writing = self.held.lock().unwrap().get_mut(&key("write")).and_then(Vec::pop);
        let writing = writing.ok_or_else(|| Error::invalid("downgrade", "nothing was acquired"))?;
        let reading = writing.downgrade().await?;
        self.held.lock().unwrap().entry(key("read")).or_default().push(reading);
        Ok(String::new())
    }

    async fn release(&self, kind: &str, path: &str) -> Answer {
        let key = (kind.to_owned(), path.to_owned());
        let held = self.held.lock().unwrap().get_mut(&key).and_then(Vec::pop);
        match held {
            Some(held) => held.release().await.map(|()| String::new()),
            None => Err(Error::invalid("release", "nothing was acquired")),
        }
    }

    /// `NODE|KIND|STATE|IDENTITY` for each, STATE being `holds` or `waits`.
    async fn contenders(&self, kind: &str, path: &str) -> Answer {
        let contenders = match self.handle(kind, path)? {
            Handle::Lock(lock) => lock.contenders().await?,
            Handle::ReadWrite(lock) => lock.read().contenders().await?,
            Handle::Semaphore(semaphore) => semaphore.contenders().await?,
            Handle::Election(election) => election.contenders().await?,
        };
        let words = contenders.into_iter().map(|Contender { node, kind, holds, identity, .. }| {
            let state = if holds { "holds" } else { "waits" };
            format!("{node}|{kind}|{state}|{identity}")
        });
        Ok(words.collect::<Vec<_>>().join(" "))
    }

    /// Whether there was anybody to ask.
    async fn revoke(&self, kind: &str, path: &str, node: Option<&str>, patience: Option<Duration>) -> Answer {
        let asked = match self.handle(kind, path)? {
            Handle::Lock(lock) => lock.revoke(node, patience).await?,
            Handle::ReadWrite(lock) => lock.read().revoke(node, patience).await?,
            Handle::Semaphore(semaphore) => semaphore.revoke(node, patience).await?,
            Handle::Election(election) => election.revoke(node, patience).await?,
        };
        Ok(asked.to_string())
    }

    fn election(&self, kind: &str, path: &str) -> Result<Election, Error> {
        match self.handle(kind, path)? {
            Handle::Election(election) => Ok(election),
            _ => Err(Error::invalid("kind", "is no election")),
        }
    }

    fn counter(&self, kind: &str, path: &str) -> Result<Counter, Error> {
        let layout = kind.strip_prefix("counter:").ok_or_else(|| Error::invalid("kind", "is no counter"))?;
        self.client.counter(path, CounterOptions::default().layout(layout.parse()?))
    }

    /// The handle of a kind (`lock`, `read`, `write`, `semaphore:PERMITS`, `election:LAYOUT`) on a path, made at its first use. Both sides
    /// of a read/write lock are of one handle.
    fn handle(&self, kind: &str, path: &str) -> Result<Handle, Error> {
        let family = if matches!(kind, "read" | "write") { "read-write" } else { kind };
        let key = (family.to_owned(), path.to_owned());
        let mut handles = self.handles.lock().unwrap();
        if let Some(handle) = handles.get(&key) {
            return Ok(handle.clone());
        }
        let handle = match family.split_once(':') {
            None if family == "lock" => Handle::Lock(self.client.lock(path, LockOptions::default())?),
            None if family == "read-write" => Handle::ReadWrite(self.client.read_write_lock(path)?),
            Some(("semaphore", permits)) => {
                Handle::Semaphore(self.client.semaphore(path, number(permits)? as usize)?)
            }
            Some(("election", layout)) => {
                let options = ElectionOptions::default().layout(layout.parse()?);
                Handle::Election(self.client.election(path, b"", options)?)
            }
            _ => return Err(Error::invalid("kind", format!("{kind} is not one"))),
        };
        handles.insert(key, handle.clone());
        Ok(handle)
    }
}
