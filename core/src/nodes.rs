//! Plain operations on nodes, and transactions.

use std::str::FromStr;
use std::sync::{Arc, Mutex};

use crate::client::Client;
use crate::error::{Error, Result};
use crate::path;
use crate::session::call::{Failure, refusal};
use crate::session::wire::{CreateMode, Stat, WireError, Write};
use crate::turn::hold::Hold;

impl FromStr for CreateMode {
    type Err = Error;

    fn from_str(s: &str) -> Result<CreateMode> {
        match s {
            "persistent" => Ok(CreateMode::Persistent),
            "ephemeral" => Ok(CreateMode::Ephemeral),
            "persistent_sequential" => Ok(CreateMode::PersistentSequential),
            "ephemeral_sequential" => Ok(CreateMode::EphemeralSequential),
            "container" => Ok(CreateMode::Container),
            _ => Err(Error::invalid(
                "mode",
                format!(
                    "{s:?} is not one of persistent, ephemeral, persistent_sequential, ephemeral_sequential, container"
                ),
            )),
        }
    }
}

/// Plain operations on nodes: `client.nodes()`.
///
/// Reads are retried within the retry budget. Writes are sent once: ConnectionLost leaves their outcome unknown.
#[derive(Clone, Debug)]
pub struct Nodes {
    client: Client,
}

impl Nodes {
    pub(crate) fn new(client: Client) -> Nodes {
        Nodes { client }
    }

    /// Creates a node; answers its path, with the number that the server appended if the mode is sequential.
    pub async fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<String> {
        path::validate(path)?;
        path::fits(path.len() + data.len(), path)?;
        let session = self.client.session()?;
        let mut call = session.call(None);
        let epoch = call.epoch("create").await?;
        let mut answer = call.briefly("create", epoch.create(path, data, mode)).await?;
        if answer == Err(WireError::NoNode) && path::parent(path) == "/" {
            // The root is missing: a chroot that nobody has created yet.
            answer = match call.briefly("create", epoch.create_chroot()).await? {
                Ok(()) => call.briefly("create", epoch.create(path, data, mode)).await?,
                Err(error) => Err(error),
            };
        }
        answer.map(|created| created.path).map_err(|error| refusal(error, "create", path))
    }

    /// The data and metadata of a node.
    pub async fn get(&self, path: &str) -> Result<(Vec<u8>, Stat)> {
        self.read("get", path, |epoch| epoch.get_data(path)).await
    }

    /// Replaces the data, if the node has that version; `None` for whichever it has.
    pub async fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<Stat> {
        path::validate(path)?;
        path::fits(path.len() + data.len(), path)?;
        self.write("set", path, |epoch| epoch.set_data(path, data, version)).await
    }

    /// Deletes a node without children, if it has that version; `None` for whichever it has.
    pub async fn delete(&self, path: &str, version: Option<i32>) -> Result<()> {
        path::validate(path)?;
        self.write("delete", path, |epoch| epoch.delete(path, version)).await
    }

    /// The metadata of a node, or `None`.
    pub async fn exists(&self, path: &str) -> Result<Option<Stat>> {
        self.read("exists", path, |epoch| epoch.exists(path)).await
    }

    /// The names of a node's children, sorted.
    pub async fn children(&self, path: &str) -> Result<Vec<String>> {
        let mut names = self.read("children", path, |epoch| epoch.children(path)).await?;
        names.sort_unstable();
        Ok(names)
    }

    /// Creates a node and whatever is missing above it; no error when it exists.
    pub async fn ensure(&self, path: &str) -> Result<()> {
        path::validate(path)?;
        let session = self.client.session()?;
        let mut call = session.call(None);
        loop {
            let epoch = call.epoch("ensure").await?;
            match call.briefly("ensure", session.ensure(&epoch, path, CreateMode::Persistent)).await? {
                Err(error) if error.is_unanswered() => call.retry_after_loss("ensure").await?,
                answer => return answer.map_err(|error| refusal(error, "ensure", path)),
            }
        }
    }

    /// Deletes a node and everything below it; no error when there is none.
    pub async fn delete_all(&self, path: &str) -> Result<()> {
        path::recipe(path)?;
        // Children first. A node that gets new children while we delete is visited again.
        let mut pending = vec![path.to_owned()];
        while let Some(top) = pending.pop() {
            match self.delete(&top, None).await {
                Ok(()) => {}
                Err(error) if error.kind() == crate::error::ErrorKind::NoNode => {}
                Err(error) if error.kind() == crate::error::ErrorKind::NotEmpty => {
                    let names = match self.children(&top).await {
                        Ok(names) => names,
                        Err(error) if error.kind() == crate::error::ErrorKind::NoNode => continue,
                        Err(error) => return Err(error),
                    };
                    let below: Vec<_> = names.iter().map(|name| path::join(&top, name)).collect();
                    pending.push(top);
                    pending.extend(below);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Writes that are applied together or not at all.
    pub fn transaction(&self) -> Transaction {
        Transaction::new(self.client.clone(), Guard::None)
    }

    async fn read<T, F>(
        &self,
        verb: &str,
        path: &str,
        request: impl Fn(&Arc<crate::session::epoch::Epoch>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, WireError>>,
    {
        path::validate(path)?;
        let session = self.client.session()?;
        let mut call = session.call(None);
        let answer = call
            .ask(verb, |epoch| {
                // Both leave now, in this order; the server answers the read after it has caught up.
                let caught_up = epoch.catch_up(path);
                let answer = request(epoch);
                async move {
                    match caught_up {
                        Some(sync) => sync.await.and(answer.await),
                        None => answer.await,
                    }
                }
            })
            .await;
        answer.map_err(|failure: Failure| failure.about(verb, path))
    }

    async fn write<T, F>(
        &self,
        verb: &str,
        path: &str,
        request: impl FnOnce(&Arc<crate::session::epoch::Epoch>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, WireError>>,
    {
        let session = self.client.session()?;
        let mut call = session.call(None);
        let epoch = call.epoch(verb).await?;
        let answer = call.briefly(verb, request(&epoch)).await.map_err(|error| error.with_path(path))?;
        answer.map_err(|error| refusal(error, verb, path))
    }
}

enum Guard {
    None,
    Hold(Arc<Hold>),
    /// The acquisition that should guard was released before the transaction was made.
    Released,
}

/// Writes that are applied together or not at all: [`Nodes::transaction`], or [`Held::guarded`](crate::Held::guarded)
/// for writes that are applied only while an acquisition stands.
#[derive(Clone)]
pub struct Transaction {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    guard: Guard,
    /// `None` once it was committed.
    writes: Mutex<Option<Vec<Write>>>,
}

impl Transaction {
    fn new(client: Client, guard: Guard) -> Transaction {
        Transaction { shared: Arc::new(Shared { client, guard, writes: Mutex::new(Some(Vec::new())) }) }
    }

    pub(crate) fn guarded_by(client: Client, hold: Arc<Hold>, is_released: bool) -> Transaction {
        Transaction::new(client, if is_released { Guard::Released } else { Guard::Hold(hold) })
    }

    /// Adds the creation of a node.
    pub fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<()> {
        self.add(Write::Create { path: path.to_owned(), data: data.to_vec(), mode })
    }

    /// Adds a replacement of data.
    pub fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<()> {
        self.add(Write::Set { path: path.to_owned(), data: data.to_vec(), version })
    }

    /// Adds a deletion.
    pub fn delete(&self, path: &str, version: Option<i32>) -> Result<()> {
        self.add(Write::Delete { path: path.to_owned(), version })
    }

    /// Adds the condition that a node exists, at that version if one is given.
    pub fn check(&self, path: &str, version: Option<i32>) -> Result<()> {
        self.add(Write::Check { path: path.to_owned(), version })
    }

    fn add(&self, write: Write) -> Result<()> {
        path::validate(write.path())?;
        let mut writes = self.shared.writes.lock().unwrap_or_else(|e| e.into_inner());
        let writes = writes.as_mut().ok_or_else(committed)?;
        let size = |write: &Write| match write {
            Write::Create { path, data, .. } | Write::Set { path, data, .. } => {
                path.len() + data.len() + PART
            }
            Write::Check { path, .. } | Write::Delete { path, .. } => path.len() + PART,
        };
        path::fits(writes.iter().map(size).sum::<usize>() + size(&write), write.path())?;
        writes.push(write);
        Ok(())
    }

    /// Sends everything in one transaction. Guarded by an acquisition that is gone: NotHeld. A lost answer is
    /// ConnectionLost and never retried, because the writes may have been applied.
    pub async fn commit(&self) -> Result<()> {
        let session = self.shared.client.session()?;
        let writes =
            self.shared.writes.lock().unwrap_or_else(|e| e.into_inner()).take().ok_or_else(committed)?;
        match &self.shared.guard {
            Guard::Hold(hold) => hold.write_guarded(&writes).await,
            Guard::Released => Err(Error::not_held("it was released before")),
            Guard::None => {
                let verb = "a transaction";
                let mut call = session.call(None);
                let epoch = call.epoch(verb).await?;
                match call.briefly(verb, epoch.multi(&writes)).await? {
                    Ok(_) => Ok(()),
                    Err(WireError::Part { index, error }) => {
                        Err(refusal(*error, verb, writes.get(index).map_or("", Write::path)))
                    }
                    Err(error) => Err(refusal(error, verb, writes.first().map_or("", Write::path))),
                }
            }
        }
    }
}

/// What each part of a transaction adds on the wire, with an access list.
const PART: usize = 128;

fn committed() -> Error {
    Error::invalid("transaction", "it was committed before; make a new one")
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Transaction")
    }
}
