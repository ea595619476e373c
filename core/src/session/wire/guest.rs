//! The wire over a session that the application has already, of the crate `zookeeper-client`: nobody else knows that crate.
//!
//! What it cannot tell is in docs/rust-guest.md. Closing the client leaves the session to the application: it deletes the
//! ephemeral nodes that were made here, as the end of a session would.

use std::collections::BTreeSet;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::sync::{Notify, watch};
use zookeeper_client::{self as zk, Error as E, Permission as P};

use super::open::Entry;
use super::*;
use crate::error::ErrorKind;
use crate::runtime;

/// Gives the one session that there is, once.
pub(crate) struct Guest(Mutex<Option<zk::Client>>);

impl Guest {
    pub(crate) fn new(session: zk::Client) -> Guest {
        Guest(Mutex::new(Some(session)))
    }
}

impl Dial for Guest {
    fn dial(&self, _: &str, _: &ClientOptions, _: &Arc<Noted>) -> Flight<Box<dyn Wire>> {
        let Some(client) = lock(&self.0).take() else {
            let ended = "the session that the client was given has ended; give another one to a new client";
            return Box::pin(ready(Err(WireError::Refused(Error::new(ErrorKind::Closed, ended)))));
        };
        let session = GuestSession::over(client);
        Box::pin(async move {
            // Whatever the session did before: from here on it is known to live. It is no write that changes anything.
            session.alive().await?;
            Ok(Box::new(session) as Box<dyn Wire>)
        })
    }
}

struct GuestSession {
    id: u64,
    timeout: Duration,
    /// Taken out by `close`.
    client: Mutex<Option<zk::Client>>,
    known: Arc<Mutex<Known>>,
    changed: Arc<Notify>,
    /// The ephemeral nodes that were made here.
    nodes: Arc<Mutex<BTreeSet<String>>>,
    is_over: watch::Sender<bool>,
}

/// How the connection stands, as far as the crate has told. It publishes a change before it fails what was in flight, so
/// who looks when an answer arrives sees all that came before it.
struct Known {
    next: Later<(zk::StateWatcher, zk::SessionState)>,
    /// A session with a server that has lost its quorum ends with the connection.
    is_local: bool,
    link: Link,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn next_state(mut watcher: zk::StateWatcher) -> Later<(zk::StateWatcher, zk::SessionState)> {
    Box::pin(async move {
        let state = watcher.changed().await;
        (watcher, state)
    })
}

impl Known {
    fn look(&mut self) -> Link {
        // After the last change nobody waits for another.
        while !self.has_ended()
            && let Some((watcher, state)) = (&mut self.next).now_or_never()
        {
            self.next = next_state(watcher);
            self.enter(link_state(state));
        }
        self.link
    }

    fn has_ended(&self) -> bool {
        self.link.state.is_over()
    }

    fn enter(&mut self, state: LinkState) {
        let state = match state {
            LinkState::Up | LinkState::Down if self.is_local => LinkState::Ended,
            state => state,
        };
        self.link = Link { generation: self.link.generation + 1, state };
    }
}

fn link_state(state: zk::SessionState) -> LinkState {
    match state {
        zk::SessionState::SyncConnected | zk::SessionState::ConnectedReadOnly => LinkState::Up,
        zk::SessionState::Disconnected => LinkState::Down,
        zk::SessionState::AuthFailed => LinkState::Denied,
        zk::SessionState::Expired | zk::SessionState::Closed => LinkState::Ended,
    }
}

impl GuestSession {
    /// Whether a request may leave that is bound to the connection of that generation, if it is to any.
    fn is_on(&self, generation: Option<u64>) -> bool {
        generation
            .is_none_or(|generation| lock(&self.known).look() == Link { generation, state: LinkState::Up })
    }

    fn over(client: zk::Client) -> GuestSession {
        let watcher = client.state_watcher();
        let known = Known {
            link: Link { generation: FIRST_CONNECTION, state: link_state(watcher.peek_state()) },
            is_local: client.session().is_readonly(),
            next: next_state(watcher),
        };
        let session = GuestSession {
            id: client.session_id().0 as u64,
            timeout: client.session_timeout(),
            known: Arc::new(Mutex::new(known)),
            changed: Arc::default(),
            nodes: Arc::default(),
            is_over: watch::Sender::new(false),
            client: Mutex::new(Some(client.clone())),
        };
        let mut watcher = client.state_watcher();
        let (known, changed) = (session.known.clone(), session.changed.clone());
        // As long as the session, whoever has it then.
        runtime::spawn(Box::pin(async move {
            while !watcher.peek_state().is_terminated() {
                watcher.changed().await;
                lock(&known).look();
                changed.notify_waiters();
            }
        }));
        session
    }

    /// The quorum says so.
    fn alive(&self) -> Flight<()> {
        self.request(|client| async move {
            let client = client.chroot("/").unwrap_or_else(|client| client);
            let mut check = client.new_multi_writer();
            check.add_check_version("/", -1)?;
            Ok(check.commit().await.map(drop)?)
        })
    }

    /// Makes the request and sends it now.
    fn request<T, F>(&self, make: impl FnOnce(zk::Client) -> F) -> Flight<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, WireError>> + Send + 'static,
    {
        let Some(client) = lock(&self.client).clone() else {
            return Box::pin(ready(Err(WireError::SessionEnded)));
        };
        let mut flight: Flight<T> = Box::pin(make(client));
        // It leaves when it is polled for the first time.
        match (&mut flight).now_or_never() {
            Some(done) => Box::pin(ready(done)),
            None => flight,
        }
    }

    /// The same for what makes and deletes nodes.
    fn noted<T: Send + 'static>(
        &self,
        flight: Flight<T>,
        note: impl FnOnce(&T, &mut BTreeSet<String>) + Send + 'static,
    ) -> Flight<T> {
        let nodes = self.nodes.clone();
        Box::pin(async move {
            let done = flight.await?;
            note(&done, &mut lock(&nodes));
            Ok(done)
        })
    }
}

/// Deletes those that are still there and this session's.
async fn tidy(client: zk::Client, mut nodes: BTreeSet<String>) {
    if let Ok(own) = client.list_ephemerals("/").await {
        nodes.retain(|node| own.contains(node));
    }
    join_all(nodes.iter().map(|node| client.delete(node, None))).await;
}

/// A request about one path, whose answer is put into our words.
macro_rules! ask {
    ($session:ident, $path:ident, $client:ident => $answer:expr) => {{
        let $path = $path.to_owned();
        $session.request(|$client| async move { $answer })
    }};
}

impl Wire for GuestSession {
    fn session_id(&self) -> u64 {
        self.id
    }

    fn session_timeout(&self) -> Duration {
        self.timeout
    }

    fn link(&self) -> Link {
        lock(&self.known).look()
    }

    fn link_changed(&self, seen: Link) -> Later<()> {
        let (known, changed) = (self.known.clone(), self.changed.clone());
        Box::pin(async move {
            loop {
                let mut notified = std::pin::pin!(changed.notified());
                // Listen first, look second: a change in between must not be slept through.
                notified.as_mut().enable();
                if lock(&known).look() != seen {
                    return;
                }
                notified.await;
            }
        })
    }

    fn close(&self) -> Later<()> {
        let mut is_over = self.is_over.subscribe();
        if let Some(client) = lock(&self.client).take() {
            let (entry, over) = (Entry::new(), self.is_over.clone());
            let (known, changed) = (self.known.clone(), self.changed.clone());
            let nodes = std::mem::take(&mut *lock(&self.nodes));
            runtime::spawn(Box::pin(async move {
                tidy(client, nodes).await;
                let mut known = lock(&known);
                if !known.has_ended() {
                    known.enter(LinkState::Ended);
                }
                drop(known);
                changed.notify_waiters();
                over.send_replace(true);
                drop(entry);
            }));
        }
        Box::pin(async move {
            let _ = is_over.wait_for(|is_over| *is_over).await;
        })
    }

    fn create(&self, path: &str, data: &[u8], mode: CreateMode, acl: &AclChoice) -> Flight<Created> {
        let (path, data, acl) = (path.to_owned(), data.to_owned(), access_list(acl));
        let created = self.request(|client| async move {
            let options = create_options(mode, &acl);
            let (stat, sequence) = client.create(&path, &data, &options).await?;
            let path = if mode.is_sequential() { format!("{path}{sequence}") } else { path };
            Ok(Created { path, czxid: stat.czxid, stat: None })
        });
        match mode.is_ephemeral() {
            true => self.noted(created, |created, nodes| _ = nodes.insert(created.path.clone())),
            false => created,
        }
    }

    fn delete_on(&self, generation: Option<u64>, path: &str, version: Option<i32>) -> Flight<()> {
        if !self.is_on(generation) {
            return not_sent();
        }
        let deleted = path.to_owned();
        let flight = ask!(self, path, client => Ok(client.delete(&path, version).await?));
        self.noted(flight, move |(), nodes| _ = nodes.remove(&deleted))
    }

    fn exists(&self, path: &str) -> Flight<Option<Stat>> {
        ask!(self, path, client => Ok(client.check_stat(&path).await?.map(stat)))
    }

    fn get_data(&self, path: &str) -> Flight<(Vec<u8>, Stat)> {
        ask!(self, path, client => Ok(client.get_data(&path).await.map(|(data, found)| (data, stat(found)))?))
    }

    fn get_each(&self, paths: &[String]) -> Flight<Vec<Read>> {
        let paths = paths.to_owned();
        self.request(|client| async move {
            let mut reader = client.new_multi_reader();
            for path in &paths {
                reader.add_get_data(path)?;
            }
            let each = |result| match result {
                zk::MultiReadResult::Data { data, stat: found } => Ok((data, stat(found))),
                zk::MultiReadResult::Error { err } => Err(err.into()),
                other => Err(WireError::Other(format!("{other:?} is no data"))),
            };
            Ok(reader.commit().await?.into_iter().map(each).collect())
        })
    }

    fn set_data_on(
        &self,
        generation: Option<u64>,
        path: &str,
        data: &[u8],
        version: Option<i32>,
    ) -> Flight<Stat> {
        if !self.is_on(generation) {
            return not_sent();
        }
        let (path, data) = (path.to_owned(), data.to_owned());
        self.request(|client| async move { Ok(client.set_data(&path, &data, version).await.map(stat)?) })
    }

    fn children(&self, path: &str) -> Flight<Vec<String>> {
        ask!(self, path, client => Ok(client.list_children(&path).await?))
    }

    fn children_and_stat(&self, path: &str) -> Flight<(Vec<String>, Stat)> {
        ask!(self, path, client => Ok(client.get_children(&path).await.map(|(names, found)| (names, stat(found)))?))
    }

    fn watch_data(&self, path: &str) -> Flight<(Vec<u8>, Stat, Watch)> {
        ask!(self, path, client => {
            let (data, found, watcher) = client.get_and_watch_data(&path).await?;
            Ok((data, stat(found), watch(watcher)))
        })
    }

    fn watch_exists(&self, path: &str) -> Flight<(Option<Stat>, Watch)> {
        ask!(self, path, client => {
            let (found, watcher) = client.check_and_watch_stat(&path).await?;
            Ok((found.map(stat), watch(watcher)))
        })
    }

    fn watch_children(&self, path: &str) -> Flight<(Vec<String>, Stat, Watch)> {
        ask!(self, path, client => {
            let (names, found, watcher) = client.get_and_watch_children(&path).await?;
            Ok((names, stat(found), watch(watcher)))
        })
    }

    fn access_list(&self, path: &str) -> Flight<(Vec<AclEntry>, Stat)> {
        ask!(self, path, client => {
            let (list, found) = client.get_acl(&path).await?;
            Ok((list.iter().map(entry).collect(), stat(found)))
        })
    }

    fn sync(&self, path: &str) -> Flight<()> {
        ask!(self, path, client => Ok(client.sync(&path).await?))
    }

    /// The crate binds no request to a connection: what it keeps through a break leaves on the next one.
    fn multi_on(&self, generation: Option<u64>, writes: &[Write], acl: &AclChoice) -> Flight<Vec<Applied>> {
        if !self.is_on(generation) {
            return not_sent();
        }
        let (writes, acl) = (writes.to_owned(), access_list(acl));
        let what = writes.clone();
        let flight = self.request(|client| async move {
            let mut multi = client.new_multi_writer();
            for write in &writes {
                match write {
                    Write::Check { path, version } => multi.add_check_version(path, version.unwrap_or(-1)),
                    Write::Create { path, data, mode, acl: None } => {
                        multi.add_create(path, data, &create_options(*mode, &acl))
                    }
                    Write::Create { path, data, mode, acl: Some(own) } => {
                        multi.add_create(path, data, &create_options(*mode, &access_list(own)))
                    }
                    Write::Set { path, data, version } => multi.add_set_data(path, data, *version),
                    Write::Delete { path, version } => multi.add_delete(path, *version),
                }?;
            }
            let results = multi.commit().await?;
            Ok(results.into_iter().map(applied).collect())
        });
        self.noted(flight, move |applied: &Vec<Applied>, nodes| {
            for (write, applied) in what.iter().zip(applied) {
                match (write, applied) {
                    (Write::Create { mode, .. }, Applied::Created(created)) if mode.is_ephemeral() => {
                        _ = nodes.insert(created.path.clone());
                    }
                    (Write::Delete { path, .. }, _) => _ = nodes.remove(path),
                    _ => {}
                }
            }
        })
    }

    fn own_ephemerals(&self, path: &str) -> Flight<Vec<String>> {
        ask!(self, path, client => {
            // The server goes by the first letters of the path, which others may share.
            let below = if path == "/" { path.clone() } else { format!("{path}/") };
            let mut found = client.list_ephemerals(&path).await?;
            found.retain(|node| *node == path || node.starts_with(&below));
            Ok(found)
        })
    }

    fn create_chroot(&self, acl: &AclChoice) -> Flight<()> {
        let acl = access_list(acl);
        self.request(|client| async move {
            let chroot = client.path().to_owned();
            let (Ok(rooted), true) = (client.chroot("/"), chroot != "/") else { return Ok(()) };
            Ok(rooted.mkdir(&chroot, &create_options(CreateMode::Persistent, &acl)).await?)
        })
    }
}

fn watch(watcher: zk::OneshotWatcher) -> Watch {
    Watch::new(Box::pin(watcher.changed().map(|event| match event.event_type {
        zk::EventType::NodeCreated => Event::Created,
        zk::EventType::NodeDeleted => Event::Deleted,
        zk::EventType::NodeDataChanged => Event::DataChanged,
        zk::EventType::NodeChildrenChanged => Event::ChildrenChanged,
        zk::EventType::Session => Event::SessionEnded,
    })))
}

fn applied(result: zk::MultiWriteResult) -> Applied {
    match result {
        zk::MultiWriteResult::Delete => Applied::Deleted,
        zk::MultiWriteResult::Create { path, stat } => {
            Applied::Created(Created { path, czxid: stat.czxid, stat: None })
        }
        zk::MultiWriteResult::SetData { stat: found } => Applied::Set(stat(found)),
        // The one that is left.
        _ => Applied::Checked,
    }
}

fn create_options(mode: CreateMode, acl: &[zk::Acl]) -> zk::CreateOptions<'_> {
    let kind = match mode {
        CreateMode::Persistent | CreateMode::PersistentTtl(_) => zk::CreateMode::Persistent,
        CreateMode::Ephemeral => zk::CreateMode::Ephemeral,
        CreateMode::PersistentSequential | CreateMode::PersistentSequentialTtl(_) => {
            zk::CreateMode::PersistentSequential
        }
        CreateMode::EphemeralSequential => zk::CreateMode::EphemeralSequential,
        CreateMode::Container => zk::CreateMode::Container,
    };
    let options = kind.with_acls(zk::Acls::new(acl));
    match mode.ttl() {
        Some(ttl) => options.with_ttl(ttl),
        None => options,
    }
}

fn access_list(choice: &AclChoice) -> Vec<zk::Acl> {
    let own = |entry: &AclEntry| {
        zk::Acl::new(permissions(&entry.permissions), zk::AuthId::new(&entry.scheme, &entry.id))
    };
    match choice {
        AclChoice::Default | AclChoice::Open => vec![zk::Acl::new(P::ALL, zk::AuthId::anyone())],
        AclChoice::Creator => vec![zk::Acl::new(P::ALL, zk::AuthId::authed())],
        AclChoice::List(entries) => entries.iter().map(own).collect(),
    }
}

const PERMISSIONS: [(char, P); 5] =
    [('r', P::READ), ('w', P::WRITE), ('c', P::CREATE), ('d', P::DELETE), ('a', P::ADMIN)];

fn entry(told: &zk::Acl) -> AclEntry {
    let has = |(_, permission): &&(char, P)| told.permission().has(*permission);
    let letters: String = PERMISSIONS.iter().filter(has).map(|(letter, _)| *letter).collect();
    AclEntry::new(told.scheme(), told.id(), letters)
}

fn permissions(letters: &str) -> P {
    let meant = PERMISSIONS.iter().filter(|(letter, _)| letters.contains(*letter));
    meant.fold(P::NONE, |all, (_, permission)| all | *permission)
}

fn stat(found: zk::Stat) -> Stat {
    let zk::Stat { czxid, mzxid, ctime, mtime, version, cversion, aversion, .. } = found;
    let zk::Stat { ephemeral_owner, data_length, num_children, pzxid, .. } = found;
    let all = Stat { czxid, mzxid, ctime, mtime, version, cversion, aversion, ..Stat::default() };
    Stat { ephemeral_owner, data_length, num_children, pzxid, ..all }
}

impl From<zk::MultiWriteError> for WireError {
    fn from(error: zk::MultiWriteError) -> WireError {
        match error {
            zk::MultiWriteError::RequestFailed { source } => source.into(),
            zk::MultiWriteError::OperationFailed { index, source } => match WireError::from(source) {
                // As in our own transport.
                error if error.is_unanswered() => error,
                error => WireError::Part { index, error: Box::new(error) },
            },
        }
    }
}

impl From<E> for WireError {
    fn from(error: E) -> WireError {
        match error {
            E::NoNode => WireError::NoNode,
            E::NodeExists => WireError::NodeExists,
            E::BadVersion => WireError::BadVersion,
            E::NotEmpty => WireError::NotEmpty,
            E::NoChildrenForEphemerals => WireError::EphemeralParent,
            E::NoAuth => WireError::NoAuth,
            E::AuthFailed => WireError::AuthFailed,
            E::InvalidAcl => WireError::InvalidAcl,
            E::QuotaExceeded => WireError::QuotaExceeded,
            E::NotReadOnly => WireError::ReadOnly,
            E::Unimplemented => WireError::Unimplemented,
            E::SessionExpired | E::ClientClosed => WireError::SessionEnded,
            E::BadArguments(problem) => WireError::BadRequest((*problem).to_owned()),
            E::MarshallingError => WireError::senseless(),
            E::UnexpectedErrorCode(number) => WireError::of_number(number),
            // A moved session's request was refused where it left, a throttled one was not carried out; what became of the
            // others nobody knows. What breaks a socket is told as a text.
            E::ConnectionLoss | E::Timeout | E::NoHosts | E::SessionMoved | E::Throttled => {
                WireError::ConnectionLoss
            }
            E::UnexpectedError(_) | E::UnmarshalError { .. } | E::Custom(_) => WireError::ConnectionLoss,
            other => WireError::Other(other.to_string()),
        }
    }
}
fn not_sent<T: Send + 'static>() -> Flight<T> {
    Box::pin(ready(Err(WireError::NotSent)))
}
