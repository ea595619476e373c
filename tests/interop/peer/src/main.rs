//! Our side of the interoperability tests: obeys lines on stdin; tests/interop/README.md is the protocol.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use zkrecipes::{Client, ClientOptions, Error, Held, Lock, LockOptions, ReadWriteLock, Semaphore};

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

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{}", line.trim_end()).and_then(|()| out.flush());
}

impl Stage {
    async fn perform(&self, name: &str, verb: &str, arguments: &[&str]) -> Answer {
        if verb == "connect" {
            let [hosts, naming] = arguments else { return Err(Error::invalid("connect", "HOSTS NAMING")) };
            let options = ClientOptions { naming: naming.parse()?, ..Default::default() };
            let client = Client::connect(hosts, options).await?;
            let owner = Owner { client, handles: Mutex::default(), held: Mutex::default() };
            self.owners.lock().unwrap().insert(name.to_owned(), Arc::new(owner));
            return Ok(String::new());
        }
        let owner = self.owners.lock().unwrap().get(name).cloned();
        let owner = owner.ok_or_else(|| Error::invalid("owner", "has not connected"))?;
        match (verb, arguments) {
            ("acquire", [kind, path]) => owner.acquire(name, kind, path, None).await,
            ("acquire", [kind, path, limit]) => {
                let limit = limit.parse().map(Duration::from_millis);
                let limit = limit.map_err(|_| Error::invalid("limit", "is no number of milliseconds"))?;
                owner.acquire(name, kind, path, Some(limit)).await
            }
            ("release", [kind, path]) => owner.release(kind, path).await,
            ("revoke", [path, node]) => {
                let lock = owner.client.lock(path, LockOptions::default())?;
                lock.revoke(Some(node), None).await.map(|asked| asked.to_string())
            }
            ("close", []) => owner.client.close(None).await.map(|()| String::new()),
            _ => Err(Error::invalid("verb", format!("{verb} is not one"))),
        }
    }
}

impl Owner {
    /// The node and the fencing token.
    async fn acquire(&self, owner: &str, kind: &str, path: &str, limit: Option<Duration>) -> Answer {
        let held = match (self.handle(kind, path)?, kind) {
            (Handle::Lock(lock), _) => lock.acquire_within(limit).await?,
            (Handle::ReadWrite(lock), "read") => lock.read().acquire_within(limit).await?,
            (Handle::ReadWrite(lock), _) => lock.write().acquire_within(limit).await?,
            (Handle::Semaphore(semaphore), _) => semaphore.acquire_within(1, limit).await?,
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
                let permits = permits.parse().map_err(|_| Error::invalid("permits", "is no number"))?;
                Handle::Semaphore(self.client.semaphore(path, permits)?)
            }
            _ => return Err(Error::invalid("kind", format!("{kind} is not one"))),
        };
        handles.insert(key, handle.clone());
        Ok(handle)
    }
}
