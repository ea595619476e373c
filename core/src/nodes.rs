//! Plain operations on nodes, and transactions. A lost answer to a write is not looked for: it is ConnectionLost.

pub mod cache;
pub mod watch;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::path;
use crate::session::refusal::{Failure, refusal, refused_create_as};
use crate::session::wire::frame;
use crate::session::wire::{Applied, CreateMode, Stat, WireError, Write};
use crate::turn::hold::{EndGuard, Hold};

impl CreateMode {
    /// The same with a time to live. Only what is persistent has one, between a millisecond and 34 years; anything else is
    /// Invalid.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// use std::time::Duration;
    /// use zkrecipes::{Client, CreateMode};
    ///
    /// # let server = zkrecipes_embedded::Server::builder().extended_types(true).start().expect("a free port");
    /// # let client = Client::connect(&server.connect_string(), Default::default()).await?;
    /// let an_hour = CreateMode::PersistentSequential.with_ttl(Duration::from_secs(3600))?;
    /// client.nodes().create("/report-", b"draft", an_hour).await?;
    /// # Ok(()) });
    /// ```
    pub fn with_ttl(self, ttl: Duration) -> Result<CreateMode> {
        let mode = match self {
            CreateMode::Persistent | CreateMode::PersistentTtl(_) => CreateMode::PersistentTtl(ttl),
            CreateMode::PersistentSequential | CreateMode::PersistentSequentialTtl(_) => {
                CreateMode::PersistentSequentialTtl(ttl)
            }
            CreateMode::Ephemeral | CreateMode::EphemeralSequential | CreateMode::Container => {
                return Err(Error::invalid(
                    "ttl",
                    "is for persistent nodes; an ephemeral one goes with its session, a container after its last child. Leave \
                     out the one or the other",
                ));
            }
        };
        check_ttl(mode)?;
        Ok(mode)
    }
}

/// Plain operations on nodes: `client.nodes()`.
///
/// Reads are retried within the retry budget. Writes are sent once: ConnectionLost leaves their outcome unknown.
#[derive(Clone, Debug)]
pub struct Nodes {
    client: Client,
}

impl Client {
    /// Plain operations on nodes.
    pub fn nodes(&self) -> Nodes {
        Nodes { client: self.clone() }
    }
}

impl Nodes {
    /// Creates a node; answers its path, with the number that the server appended if the mode is sequential.
    pub async fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<String> {
        path::changeable(path)?;
        check_ttl(mode)?;
        let session = self.client.session()?;
        let mut call = session.call(None);
        let server_session = call.server_session("create").await?;
        let mut answer = call.receive("create", server_session.create(path, data, mode)).await?;
        if answer == Err(WireError::NoNode) && path::parent(path) == "/" {
            // The root is missing: a chroot that nobody has created yet.
            answer = match call.receive("create", server_session.create_chroot()).await? {
                Ok(()) => call.receive("create", server_session.create(path, data, mode)).await?,
                Err(error) => Err(error),
            };
        }
        answer.map(|created| created.path).map_err(|error| refused(error, "create", path, Some(mode)))
    }

    /// The data and metadata of a node.
    pub async fn get(&self, path: &str) -> Result<(Vec<u8>, Stat)> {
        self.read("get", path, |server| server.get_data(path)).await
    }

    /// Replaces the data, if the node has that version; `None` for whichever it has.
    pub async fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<Stat> {
        path::validate(path)?;
        self.write("set", path, |server| server.set_data(path, data, version)).await
    }

    /// Replaces the data by what `change` makes of it: reads, calls, sets if nobody has changed it meanwhile, else once more with
    /// what is there then. NoNode: there is no such node. ConnectionLost: the data may have been replaced, or not.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// use zkrecipes::{Client, CreateMode};
    ///
    /// let client = Client::connect("embedded:", Default::default()).await?;
    /// let nodes = client.nodes();
    /// nodes.create("/hosts", b"a", CreateMode::Persistent).await?;
    /// nodes.update("/hosts", |hosts| [hosts, b",b"].concat()).await?;
    /// assert_eq!(nodes.get("/hosts").await?.0, b"a,b");
    /// # Ok(()) });
    /// ```
    pub async fn update(&self, path: &str, mut change: impl FnMut(&[u8]) -> Vec<u8>) -> Result<Stat> {
        self.try_update(path, |data| Ok(change(data))).await
    }

    /// The same with a change that may fail: then nothing is replaced.
    pub async fn try_update<E: From<Error>>(
        &self,
        path: &str,
        mut change: impl FnMut(&[u8]) -> Result<Vec<u8>, E>,
    ) -> Result<Stat, E> {
        loop {
            let (data, stat) = self.get(path).await?;
            if stat.version == ANY {
                let why = "its version has run over to -1, which a server takes for any: set it once without a version";
                return Err(Error::invalid("update", why).with_path(path).into());
            }
            let changed = change(&data)?;
            match self.set(path, &changed, Some(stat.version)).await {
                Err(error) if error.kind() == ErrorKind::BadVersion => {}
                answer => return Ok(answer?),
            }
        }
    }

    /// Deletes a node without children, if it has that version; `None` for whichever it has.
    pub async fn delete(&self, path: &str, version: Option<i32>) -> Result<()> {
        path::changeable(path)?;
        self.write("delete", path, |server| server.delete(path, version)).await
    }

    /// The metadata of a node, or `None`.
    pub async fn exists(&self, path: &str) -> Result<Option<Stat>> {
        self.read("exists", path, |server| server.exists(path)).await
    }

    /// The names of a node's children, sorted.
    pub async fn children(&self, path: &str) -> Result<Vec<String>> {
        let mut names = self.read("children", path, |server| server.children(path)).await?;
        names.sort_unstable();
        Ok(names)
    }

    /// The paths of the ephemeral nodes that the session of this client has at `path` and below it, sorted. Invalid: the server is
    /// older than 3.6.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// use zkrecipes::{Client, CreateMode};
    ///
    /// let client = Client::connect("embedded:", Default::default()).await?;
    /// let nodes = client.nodes();
    /// nodes.create("/here", b"", CreateMode::Ephemeral).await?;
    /// assert_eq!(nodes.ephemerals("/").await?, ["/here"]);
    /// # Ok(()) });
    /// ```
    pub async fn ephemerals(&self, path: &str) -> Result<Vec<String>> {
        const VERB: &str = "ephemerals";
        path::validate(path)?;
        let mut call = self.client.session()?.call(None).reading();
        let answer = call.ask(VERB, |server| {
            let server = server.clone();
            async move { server.caught_up(path, || server.own_ephemerals(path)).await }
        });
        let mut nodes = answer.await.map_err(|failure| match failure {
            Failure::Refused(WireError::Unimplemented) => Error::new(
                ErrorKind::Invalid,
                "invalid request: this ZooKeeper does not tell which nodes a session has; servers of 3.6 and later do",
            )
            .with_path(path),
            failure => failure.about(VERB, path),
        })?;
        nodes.sort_unstable();
        Ok(nodes)
    }

    /// Creates a node and whatever is missing above it; no error when it exists.
    pub async fn ensure(&self, path: &str) -> Result<()> {
        path::validate(path)?;
        let session = self.client.session()?;
        let mut call = session.call(None);
        loop {
            let server_session = call.server_session("ensure").await?;
            if call.make_path("ensure", &server_session, path, CreateMode::Persistent).await? {
                return Ok(());
            }
        }
    }

    /// Deletes a node and everything below it; no error when there is none.
    pub async fn delete_all(&self, path: &str) -> Result<()> {
        path::recipe(path)?;
        // Children first. A node that gets new children while we delete is visited again.
        let mut pending = vec![path.to_owned()];
        while let Some(top) = pending.pop() {
            // Everything is to go, so a deletion whose answer got lost is made again.
            let mut call = self.client.session()?.call(None);
            match call.ask("delete", |server| server.delete(&top, None)).await {
                Ok(()) | Err(Failure::Refused(WireError::NoNode)) => {}
                Err(Failure::Refused(WireError::NotEmpty)) => {
                    let names = match self.children(&top).await {
                        Ok(names) => names,
                        Err(error) if error.kind() == ErrorKind::NoNode => continue,
                        Err(error) => return Err(error),
                    };
                    let below: Vec<_> = names.iter().map(|name| path::join(&top, name)).collect();
                    pending.push(top);
                    pending.extend(below);
                }
                Err(failure) => return Err(failure.about("delete", &top)),
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
        request: impl Fn(&Arc<crate::session::server_session::ServerSession>) -> F + Sync,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, WireError>> + Send,
    {
        path::validate(path)?;
        let session = self.client.session()?;
        let mut call = session.call(None).reading();
        let answer = call
            .ask(verb, |server| {
                let (server, request) = (server.clone(), &request);
                async move { server.caught_up(path, || request(&server)).await }
            })
            .await;
        answer.map_err(|failure: Failure| failure.about(verb, path))
    }

    async fn write<T, F>(
        &self,
        verb: &str,
        path: &str,
        request: impl FnOnce(&Arc<crate::session::server_session::ServerSession>) -> F,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, WireError>>,
    {
        let session = self.client.session()?;
        let mut call = session.call(None);
        let server_session = call.server_session(verb).await?;
        let answer =
            call.receive(verb, request(&server_session)).await.map_err(|error| error.with_path(path))?;
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
    writes: Mutex<Option<Writes>>,
}

#[derive(Default)]
struct Writes {
    parts: Vec<Write>,
    /// How large a packet they make, with what guards them.
    bytes: usize,
}

impl Transaction {
    fn new(client: Client, guard: Guard) -> Transaction {
        Transaction {
            shared: Arc::new(Shared { client, guard, writes: Mutex::new(Some(Writes::default())) }),
        }
    }

    pub(crate) fn guarded_by(client: Client, hold: Arc<Hold>, is_released: bool) -> Transaction {
        Transaction::new(client, if is_released { Guard::Released } else { Guard::Hold(hold) })
    }

    /// Adds the creation of a node.
    pub fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<()> {
        check_ttl(mode)?;
        self.add(Write::Create { path: path.to_owned(), data: data.to_vec(), mode, acl: None })
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
        match &write {
            Write::Create { path, .. } | Write::Delete { path, .. } => path::changeable(path)?,
            Write::Set { path, .. } | Write::Check { path, .. } => path::validate(path)?,
        }
        // In a forked child the locks are the parent's.
        self.shared.client.process().check()?;
        let mut writes = lock(&self.shared.writes);
        let writes = writes.as_mut().ok_or_else(committed)?;
        // A caller who may not use the client is told so by the commit.
        if let Ok(session) = self.shared.client.session() {
            let measure = session.server_session().measure();
            if writes.parts.is_empty() {
                let checks = match &self.shared.guard {
                    Guard::Hold(hold) => hold.checks(),
                    Guard::None | Guard::Released => Vec::new(),
                };
                writes.bytes = measure.multi(&checks);
            }
            let bytes = writes.bytes + measure.part(&write);
            frame::fits(bytes).map_err(|error| refusal(error, "the transaction", write.path()))?;
            writes.bytes = bytes;
        }
        writes.parts.push(write);
        Ok(())
    }

    /// Its writes, behind what guards them, for the transaction that ends `hold` of this client; and what guards them beside
    /// that, which is to be told the answer. That transaction says itself what guards this hold, and changes it.
    pub(crate) fn surrender_to(
        &self,
        client: &Client,
        hold: &Arc<Hold>,
    ) -> Result<(Vec<Write>, Option<EndGuard>)> {
        self.shared.client.process().check()?;
        if !self.shared.client.is_same(client) {
            let problem = "are of another client, whose paths and rights may be others; make the transaction with the client of the \
                           item";
            return Err(Error::invalid("writes", problem));
        }
        let (mut parts, guard) = match &self.shared.guard {
            Guard::Hold(own) if Arc::ptr_eq(own, hold) => (hold.checks_by_name(), None),
            Guard::Hold(hold) => {
                let (checks, guard) = hold.guard_end()?;
                (checks, Some(guard))
            }
            Guard::Released => return Err(Error::not_held("it was released before")),
            Guard::None => (Vec::new(), None),
        };
        let writes = lock(&self.shared.writes).take();
        parts.extend(writes.ok_or_else(committed)?.parts);
        Ok((parts, guard))
    }

    /// Sends everything in one transaction and answers what became of each part, in the order in which they were added.
    /// Guarded by an acquisition that is gone: NotHeld. A lost answer is ConnectionLost and never retried, because the
    /// writes may have been applied. Guarded, it does not leave while there is no connection, and says so if none came in time;
    /// what is on its way when the session of the acquisition is lost ends then, with ConnectionLost.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// use zkrecipes::{Client, CreateMode, PartResult};
    ///
    /// let client = Client::connect("embedded:", Default::default()).await?;
    /// let both = client.nodes().transaction();
    /// both.create("/order-", b"tea", CreateMode::PersistentSequential)?;
    /// both.create("/last", b"tea", CreateMode::Persistent)?;
    /// let results = both.commit().await?;
    /// assert_eq!(results[0], PartResult::Created("/order-0000000000".to_owned()));
    /// # Ok(()) });
    /// ```
    pub async fn commit(&self) -> Result<Vec<PartResult>> {
        let session = self.shared.client.session()?;
        let writes = lock(&self.shared.writes).take().ok_or_else(committed)?.parts;
        let applied = match &self.shared.guard {
            Guard::Hold(hold) => hold.write_guarded(&writes).await,
            Guard::Released => Err(Error::not_held("it was released before")),
            Guard::None => {
                let verb = "a transaction";
                let mut call = session.call(None);
                let server_session = call.server_session(verb).await?;
                match call.receive(verb, server_session.multi(&writes)).await? {
                    Ok(applied) => Ok(applied),
                    Err(WireError::Part { index, error }) => {
                        let part = writes.get(index);
                        let mode = part.and_then(Write::mode);
                        Err(refused(*error, verb, part.map_or("", Write::path), mode))
                    }
                    Err(error) => Err(refusal(error, verb, writes.first().map_or("", Write::path))),
                }
            }
        };
        Ok(applied?.into_iter().map(PartResult::from).collect())
    }
}

/// What became of one part of a [`Transaction`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartResult {
    /// The path of the node, with the number that the server appended if the mode is sequential.
    Created(String),
    /// The metadata of the node after the write.
    Set(Stat),
    /// The node is gone.
    Deleted,
    /// The condition was met.
    Checked,
}

impl From<Applied> for PartResult {
    fn from(applied: Applied) -> PartResult {
        match applied {
            Applied::Created(created) => PartResult::Created(created.path),
            Applied::Set(stat) => PartResult::Set(stat),
            Applied::Deleted => PartResult::Deleted,
            Applied::Checked => PartResult::Checked,
        }
    }
}

/// The version that a write takes for any.
const ANY: i32 = -1;

/// The longest that a server takes: five bytes of milliseconds.
const LONGEST_TTL: Duration = Duration::from_millis(0xff_ffff_ffff);

fn check_ttl(mode: CreateMode) -> Result<()> {
    match mode.ttl() {
        Some(ttl) if ttl < Duration::from_millis(1) || ttl > LONGEST_TTL => Err(Error::invalid(
            "ttl",
            format!("is {ttl:?}; a node's time to live is between 1 ms and {LONGEST_TTL:?}"),
        )),
        _ => Ok(()),
    }
}

/// The user's error for a write that the server refused, and for a create if there is a mode.
fn refused(error: WireError, verb: &str, path: &str, mode: Option<CreateMode>) -> Error {
    match mode {
        Some(mode) => refused_create_as(mode, error, verb, path),
        None => refusal(error, verb, path),
    }
}

fn committed() -> Error {
    Error::invalid("transaction", "it was committed before; make a new one")
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Transaction")
    }
}
