//! Our side of the interoperability tests: obeys lines on stdin; tests/interop/README.md is the protocol.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use zkrecipes::{Client, ClientOptions, Contender, Error, Held, Lock, LockOptions, ReadWriteLock, Semaphore};

type Answer = Result<String, Error>;

/// One session, the handles it has used, and what it holds: by kind and path, the innermost last.
struct Owner {
    client: Client,
    handles: Mutex<HashMap<(String, String), Handle>>,
    held: Mutex<HashMap<(String, String), Vec<Held>>>,
}

#[derive(Clone)]
enum Handle {
    Lock(Lock),
    ReadWrite(ReadWriteLock),
    Semaphore(Semaphore),
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
            let options = ClientOptions {
                naming: naming.parse()?,
                session_timeout: Duration::from_millis(number(timeout)?),
                identity: Some(name.to_owned()),
                ..Default::default()
            };
            let client = Client::connect(hosts, options).await?;
            let owner = Owner { client, handles: Mutex::default(), held: Mutex::default() };
            self.owners.lock().unwrap().insert(name.to_owned(), Arc::new(owner));
            return Ok(String::new());
        }
        let owner = self.owners.lock().unwrap().get(name).cloned();
        let owner = owner.ok_or_else(|| Error::invalid("owner", "has not connected"))?;
        match (verb, arguments) {
            ("acquire", [kind, path, limit, permits]) => {
                owner.acquire(name, kind, path, milliseconds(limit)?, number(permits)? as usize).await
            }
            ("release", [kind, path]) => owner.release(kind, path).await,
            ("contenders", [kind, path]) => owner.contenders(kind, path).await,
            ("revoke", [kind, path, node, patience]) => {
                let node = Some(*node).filter(|node| *node != "-");
                owner.revoke(kind, path, node, milliseconds(patience)?).await
            }
            ("resize", [kind, path, permits]) => match owner.handle(kind, path)? {
                Handle::Semaphore(semaphore) => {
                    semaphore.resize(number(permits)? as usize).await.map(|()| String::new())
                }
                _ => Err(Error::invalid("kind", "is no semaphore")),
            },
            ("close", []) => owner.client.close(None).await.map(|()| String::new()),
            _ => Err(Error::invalid("verb", format!("{verb} is not one"))),
        }
    }
}

impl Owner {
    /// The node and the fencing token.
    async fn acquire(
        &self,
        owner: &str,
        kind: &str,
        path: &str,
        limit: Option<Duration>,
        permits: usize,
    ) -> Answer {
        let held = match (self.handle(kind, path)?, kind) {
            (Handle::Lock(lock), _) => lock.acquire_within(limit).await?,
            (Handle::ReadWrite(lock), "read") => lock.read().acquire_within(limit).await?,
            (Handle::ReadWrite(lock), _) => lock.write().acquire_within(limit).await?,
            (Handle::Semaphore(semaphore), _) => semaphore.acquire_within(permits, limit).await?,
        };
        let line = format!("event {owner} revoked {path}");
        let _ = held.on_revoke(move || say(&line));
        let answer = format!("{} {}", held.node(), held.fencing_token());
        let key = (kind.to_owned(), path.to_owned());
        self.held.lock().unwrap().entry(key).or_default().push(held);
        Ok(answer)
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
        };
        Ok(asked.to_string())
    }

    /// The handle of a kind (`lock`, `read`, `write`, `semaphore:PERMITS`) on a path, made at its first use. Both sides
    /// of a read/write lock are of one handle, which is what makes a downgrade.
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
            _ => return Err(Error::invalid("kind", format!("{kind} is not one"))),
        };
        handles.insert(key, handle.clone());
        Ok(handle)
    }
}
