//! The wire over the `zookeeper-client` crate: the only file that knows it.

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{Notify, oneshot};
use zookeeper_client as zk;

use super::*;
use crate::runtime;

/// Opens sessions through `zookeeper-client`.
pub(crate) struct ZooKeeper;

impl Dial for ZooKeeper {
    fn dial(&self, hosts: &str, options: &ClientOptions) -> Flight<Box<dyn Wire>> {
        let mut connector = zk::Client::connector()
            .with_session_timeout(options.session_timeout)
            .with_readonly(options.read_only);
        for auth in &options.auth {
            connector = connector.with_auth(&auth.scheme, &auth.credential);
        }
        let hosts = hosts.to_owned();
        Box::pin(async move {
            // The crate spawns its background task where it is polled.
            let connecting = runtime::spawn_task({
                let hosts = hosts.clone();
                async move { connector.connect(&hosts).await }
            });
            // Who stops waiting leaves the task to end by itself: the client it may yet yield is dropped, which closes
            // its session, where an aborted handshake would leave one behind.
            let client = connecting.await.map_err(|panicked| WireError::Other(panicked.to_string()))?;
            let client = client.map_err(wire_error)?;
            Ok(Box::new(Session::over(client, hosts)) as Box<dyn Wire>)
        })
    }
}

struct Session {
    id: u64,
    timeout: Duration,
    /// Taken out by `close`: the crate ends the session when its last client is dropped.
    client: Mutex<Option<zk::Client>>,
    watched: Arc<Mutex<WatchedLink>>,
    changed: Arc<Notify>,
}

/// The crate publishes a change before it fails what was in flight and before it reconnects, so whoever drains its
/// watcher at the moment an answer or an event arrives sees every change that came before it.
struct WatchedLink {
    watcher: zk::StateWatcher,
    link: Link,
}

impl WatchedLink {
    fn drain(&mut self) -> Link {
        while let Some(state) = self.watcher.changed().now_or_never() {
            self.link = Link { generation: self.link.generation + 1, state: link_state(state) };
        }
        self.link
    }
}

fn link_state(state: zk::SessionState) -> LinkState {
    match state {
        zk::SessionState::SyncConnected | zk::SessionState::ConnectedReadOnly => LinkState::Up,
        zk::SessionState::Disconnected => LinkState::Down,
        zk::SessionState::AuthFailed => LinkState::Denied,
        // A `Closed` that nobody asked for is the end of the session like an expiry.
        zk::SessionState::Expired | zk::SessionState::Closed => LinkState::Ended,
    }
}

impl Session {
    fn over(client: zk::Client, hosts: String) -> Session {
        let watcher = client.state_watcher();
        let link = Link { generation: 1, state: link_state(watcher.peek_state()) };
        let session = Session {
            id: client.session_id().0 as u64,
            timeout: client.session_timeout(),
            watched: Arc::new(Mutex::new(WatchedLink { watcher: watcher.clone(), link })),
            changed: Arc::new(Notify::new()),
            client: Mutex::new(Some(client)),
        };
        runtime::spawn(Box::pin(keep_nodelay(hosts, watcher.clone())));
        let changed = session.changed.clone();
        let mut watcher = watcher;
        runtime::spawn(Box::pin(async move {
            loop {
                let state = watcher.changed().await;
                changed.notify_waiters();
                if state.is_terminated() {
                    return;
                }
            }
        }));
        session
    }

    /// Makes the request and sends it now.
    fn request<T, F, M>(&self, make: M) -> Flight<T>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, WireError>> + Send + 'static,
        M: FnOnce(zk::Client) -> F,
    {
        let client = lock(&self.client).clone();
        match client {
            // The crate sends while it makes the future, and `make` makes it at its first poll: poll once, here.
            Some(client) => sent(make(client)),
            None => Box::pin(std::future::ready(Err(WireError::SessionEnded))),
        }
    }
}

/// Sets TCP_NODELAY now and after every reconnection, apart from the news of it: names may take long to resolve.
async fn keep_nodelay(hosts: String, mut watcher: zk::StateWatcher) {
    let Ok(peers) = runtime::spawn_blocking(move || nodelay::addresses(&hosts)).await else { return };
    loop {
        let peers = peers.clone();
        let _ = runtime::spawn_blocking(move || nodelay::set(&peers)).await;
        loop {
            match link_state(watcher.changed().await) {
                LinkState::Up => break,
                LinkState::Down => {}
                LinkState::Ended | LinkState::Denied => return,
            }
        }
    }
}

fn sent<T: Send + 'static>(future: impl Future<Output = Result<T, WireError>> + Send + 'static) -> Flight<T> {
    let mut flight: Flight<T> = Box::pin(future);
    if let Some(done) = (&mut flight).now_or_never() {
        return Box::pin(std::future::ready(done));
    }
    // Answered in a task of its own: the flight carries a client, and one that nobody polls any more must not keep the
    // session open.
    let (answer, answered) = oneshot::channel();
    runtime::spawn(Box::pin(async move {
        let _ = answer.send(flight.await);
    }));
    Box::pin(async move {
        // A flight that panicked leaves its outcome unknown, like any lost answer.
        answered.await.unwrap_or(Err(WireError::ConnectionLoss))
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Wire for Session {
    fn session_id(&self) -> u64 {
        self.id
    }

    fn session_timeout(&self) -> Duration {
        self.timeout
    }

    fn link(&self) -> Link {
        lock(&self.watched).drain()
    }

    fn link_changed(&self, seen: Link) -> Later<()> {
        let (watched, changed) = (self.watched.clone(), self.changed.clone());
        Box::pin(async move {
            loop {
                let mut notified = std::pin::pin!(changed.notified());
                // Listen first, look second: a change in between must not be slept through.
                notified.as_mut().enable();
                if lock(&watched).drain() != seen {
                    return;
                }
                notified.await;
            }
        })
    }

    fn close(&self) -> Later<()> {
        drop(lock(&self.client).take());
        let mut watcher = lock(&self.watched).watcher.clone();
        Box::pin(async move {
            while !watcher.peek_state().is_terminated() {
                watcher.changed().await;
            }
        })
    }

    fn create(&self, path: &str, data: &[u8], mode: CreateMode, acl: &AclChoice) -> Flight<Created> {
        let (path, data, acls) = (path.to_owned(), data.to_owned(), Acls::from(acl));
        self.request(|client| async move {
            let options = create_mode(mode).with_acls(acls.borrow());
            let (stat, sequence) = client.create(&path, &data, &options).await.map_err(wire_error)?;
            let path = match mode {
                CreateMode::PersistentSequential | CreateMode::EphemeralSequential => {
                    format!("{path}{sequence}")
                }
                _ => path,
            };
            Ok(Created { path, czxid: stat.czxid })
        })
    }

    fn delete(&self, path: &str, version: Option<i32>) -> Flight<()> {
        let path = path.to_owned();
        self.request(|client| async move { client.delete(&path, version).await.map_err(wire_error) })
    }

    fn exists(&self, path: &str) -> Flight<Option<Stat>> {
        let path = path.to_owned();
        self.request(
            |client| async move { Ok(client.check_stat(&path).await.map_err(wire_error)?.map(stat)) },
        )
    }

    fn get_data(&self, path: &str) -> Flight<(Vec<u8>, Stat)> {
        let path = path.to_owned();
        self.request(|client| async move {
            let (data, found) = client.get_data(&path).await.map_err(wire_error)?;
            Ok((data, stat(found)))
        })
    }

    fn set_data(&self, path: &str, data: &[u8], version: Option<i32>) -> Flight<Stat> {
        let (path, data) = (path.to_owned(), data.to_owned());
        self.request(|client| async move {
            client.set_data(&path, &data, version).await.map(stat).map_err(wire_error)
        })
    }

    fn children(&self, path: &str) -> Flight<Vec<String>> {
        let path = path.to_owned();
        self.request(|client| async move { client.list_children(&path).await.map_err(wire_error) })
    }

    fn watch_data(&self, path: &str) -> Flight<(Vec<u8>, Stat, Watch)> {
        let path = path.to_owned();
        self.request(|client| async move {
            let (data, found, watcher) = client.get_and_watch_data(&path).await.map_err(wire_error)?;
            Ok((data, stat(found), watch(watcher)))
        })
    }

    fn watch_children(&self, path: &str) -> Flight<(Vec<String>, Watch)> {
        let path = path.to_owned();
        self.request(|client| async move {
            let (names, watcher) = client.list_and_watch_children(&path).await.map_err(wire_error)?;
            Ok((names, watch(watcher)))
        })
    }

    fn sync(&self, path: &str) -> Flight<()> {
        let path = path.to_owned();
        self.request(|client| async move { client.sync(&path).await.map_err(wire_error) })
    }

    fn multi(&self, writes: &[Write], acl: &AclChoice) -> Flight<Vec<Created>> {
        let (writes, acls) = (writes.to_owned(), Acls::from(acl));
        self.request(|client| async move {
            let mut multi = client.new_multi_writer();
            for write in &writes {
                match write {
                    Write::Check { path, version } => multi.add_check_version(path, version.unwrap_or(-1)),
                    Write::Create { path, data, mode } => {
                        multi.add_create(path, data, &create_mode(*mode).with_acls(acls.borrow()))
                    }
                    Write::Set { path, data, version } => multi.add_set_data(path, data, *version),
                    Write::Delete { path, version } => multi.add_delete(path, *version),
                }
                .map_err(wire_error)?;
            }
            match multi.commit().await {
                Ok(results) => Ok(results
                    .into_iter()
                    .filter_map(|result| match result {
                        zk::MultiWriteResult::Create { path, stat } => {
                            Some(Created { path, czxid: stat.czxid })
                        }
                        _ => None,
                    })
                    .collect()),
                Err(zk::MultiWriteError::RequestFailed { source }) => Err(wire_error(source)),
                Err(zk::MultiWriteError::OperationFailed { index, source }) => {
                    Err(WireError::Part { index, error: Box::new(wire_error(source)) })
                }
            }
        })
    }

    fn create_chroot(&self) -> Flight<()> {
        self.request(|client| async move {
            let chroot = client.path().to_owned();
            let Ok(rooted) = client.chroot("/") else { return Ok(()) };
            if chroot == "/" {
                return Ok(());
            }
            // Persistent, and open for whoever shares it: a chroot outlives its users.
            let options = zk::CreateMode::Persistent.with_acls(zk::Acls::anyone_all());
            rooted.mkdir(&chroot, &options).await.map_err(wire_error)
        })
    }
}

fn watch(watcher: zk::OneshotWatcher) -> Watch {
    Box::pin(async move {
        match watcher.changed().await.event_type {
            zk::EventType::NodeCreated => Event::Created,
            zk::EventType::NodeDeleted => Event::Deleted,
            zk::EventType::NodeDataChanged => Event::DataChanged,
            zk::EventType::NodeChildrenChanged => Event::ChildrenChanged,
            zk::EventType::Session => Event::SessionEnded,
        }
    })
}

fn create_mode(mode: CreateMode) -> zk::CreateMode {
    match mode {
        CreateMode::Persistent => zk::CreateMode::Persistent,
        CreateMode::Ephemeral => zk::CreateMode::Ephemeral,
        CreateMode::PersistentSequential => zk::CreateMode::PersistentSequential,
        CreateMode::EphemeralSequential => zk::CreateMode::EphemeralSequential,
        CreateMode::Container => zk::CreateMode::Container,
    }
}

/// An access list in the crate's terms, owned for as long as a request is made.
enum Acls {
    Open,
    Creator,
    List(Vec<zk::Acl>),
}

impl From<&AclChoice> for Acls {
    fn from(choice: &AclChoice) -> Acls {
        match choice {
            AclChoice::Default | AclChoice::Open => Acls::Open,
            AclChoice::Creator => Acls::Creator,
            AclChoice::List(entries) => Acls::List(
                entries
                    .iter()
                    .map(|entry| {
                        zk::Acl::new(
                            permissions(&entry.permissions),
                            zk::AuthId::new(&entry.scheme, &entry.id),
                        )
                    })
                    .collect(),
            ),
        }
    }
}

impl Acls {
    fn borrow(&self) -> zk::Acls<'_> {
        match self {
            Acls::Open => zk::Acls::anyone_all(),
            Acls::Creator => zk::Acls::creator_all(),
            Acls::List(entries) => zk::Acls::new(entries),
        }
    }
}

fn permissions(letters: &str) -> zk::Permission {
    letters.chars().fold(zk::Permission::NONE, |all, letter| {
        all | match letter {
            'r' => zk::Permission::READ,
            'w' => zk::Permission::WRITE,
            'c' => zk::Permission::CREATE,
            'd' => zk::Permission::DELETE,
            'a' => zk::Permission::ADMIN,
            _ => zk::Permission::NONE,
        }
    })
}

fn stat(found: zk::Stat) -> Stat {
    Stat {
        czxid: found.czxid,
        mzxid: found.mzxid,
        ctime: found.ctime,
        mtime: found.mtime,
        version: found.version,
        cversion: found.cversion,
        aversion: found.aversion,
        ephemeral_owner: found.ephemeral_owner,
        data_length: found.data_length,
        num_children: found.num_children,
        pzxid: found.pzxid,
    }
}

fn wire_error(error: zk::Error) -> WireError {
    match error {
        zk::Error::NoNode => WireError::NoNode,
        zk::Error::NodeExists => WireError::NodeExists,
        zk::Error::BadVersion => WireError::BadVersion,
        zk::Error::NotEmpty => WireError::NotEmpty,
        zk::Error::NoChildrenForEphemerals => WireError::EphemeralParent,
        zk::Error::NoAuth => WireError::NoAuth,
        zk::Error::AuthFailed => WireError::AuthFailed,
        zk::Error::InvalidAcl => WireError::InvalidAcl,
        zk::Error::NotReadOnly => WireError::ReadOnly,
        zk::Error::Unimplemented => WireError::Unimplemented,
        zk::Error::ConnectionLoss | zk::Error::Timeout | zk::Error::NoHosts => WireError::ConnectionLoss,
        // A moved session's request was refused by the server it left; where it went, nothing is known of it. A
        // throttled one was not carried out. Both may be asked again on the session, which lives.
        zk::Error::SessionMoved | zk::Error::Throttled => WireError::ConnectionLoss,
        zk::Error::SessionExpired | zk::Error::ClientClosed => WireError::SessionEnded,
        // Nobody knows what became of a request whose answer could not be read, or whose socket broke: the crate reports
        // the latter by the text of the I/O error.
        zk::Error::UnexpectedError(_) | zk::Error::UnmarshalError { .. } | zk::Error::Custom(_) => {
            WireError::ConnectionLoss
        }
        other => WireError::Other(other.to_string()),
    }
}
