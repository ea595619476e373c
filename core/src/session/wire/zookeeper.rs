//! The wire over the `zookeeper-client` crate: nobody else knows it. Here are sessions and their requests; `dialing` opens
//! sessions, `link` says how their connection stands, `translation` says in our words what comes and goes, `service` runs the task
//! that serves a session.

mod answers;
mod bell;
mod dialing;
mod hearsay;
mod link;
mod order;
mod service;
mod translation;
pub(crate) mod transport;

use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{Notify, oneshot};
use zookeeper_client as zk;

use self::answers::Answer;
use self::bell::{Bells, Naming, Standing};
pub(crate) use self::dialing::ZooKeeper;
use self::link::WatchedLink;
use self::order::Order;
use self::service::Service;
use self::translation::{Acls, applied, create_options, entry, read, stat, watch, wire_error};
use super::watched::{Kind, Room, Watched};
use super::*;
use crate::metrics::Counters;
use crate::runtime;

/// So many session timeouts without a ring, and what a bell is for is looked at all the same: a minute by default, so that ten
/// thousand nodes cost 170 reads a second.
const DOUBTS_BELLS_AFTER: u32 = 6;

struct Session {
    id: u64,
    timeout: Duration,
    /// Taken out by `close`: the crate ends the session when its last client is dropped.
    client: Arc<Mutex<Option<zk::Client>>>,
    watched: Arc<Mutex<WatchedLink>>,
    watcher: zk::StateWatcher,
    watches: Arc<Watched>,
    naming: Arc<Naming>,
    bells: Bells,
    changed: Arc<Notify>,
    service: Service,
    counters: Arc<Counters>,
    /// Locked while a request is sent.
    order: Mutex<Order>,
}

impl Session {
    fn over(client: zk::Client, hosts: String, service: Service, counters: Arc<Counters>) -> Session {
        let watcher = client.state_watcher();
        let watched = Arc::new(Mutex::new(WatchedLink::of(&client, &service)));
        let (watches, naming) = (Watched::below(client.path()), Naming::new(watched.clone()));
        let session = Session {
            id: client.session_id().0 as u64,
            timeout: client.session_timeout(),
            watched,
            watcher: watcher.clone(),
            bells: Bells::new(naming.clone(), watches.clone()),
            watches,
            naming,
            changed: Arc::new(Notify::new()),
            client: Arc::new(Mutex::new(Some(client))),
            service: service.clone(),
            counters,
            order: Mutex::new(Order::new()),
        };
        if !transport::IS_TOKIO {
            runtime::spawn(Box::pin(keep_nodelay(hosts, watcher.clone(), service.clone())));
        }
        let (changed, watched, client) =
            (session.changed.clone(), session.watched.clone(), session.client.clone());
        let mut watcher = watcher;
        runtime::spawn(Box::pin(async move {
            loop {
                service.next_state(&mut watcher).await;
                let link = lock(&watched).drain();
                changed.notify_waiters();
                if matches!(link.state, LinkState::Ended | LinkState::Denied) {
                    // What the crate might go on with is nothing of ours.
                    drop(lock(&client).take());
                    return;
                }
            }
        }));
        session
    }

    /// For a node that has no watch: resolves when its bell rings, or after a quarter of the timeout where there is none. The bell
    /// is set at once. One that never rings is not relied on for ever: not every server tells it what happens below its path.
    fn look_again(&self, standing: Standing<'_>, kind: Kind, path: &str) -> Later<()> {
        let (pause, doubt) = (self.timeout / 4, self.timeout * DOUBTS_BELLS_AFTER);
        let of_children = kind == Kind::Children;
        let bell = self.bells.listen(standing, path, of_children, pause, |top| self.set_bell(top));
        Box::pin(async move {
            if let Some(bell) = bell {
                tokio::select! {
                    is_told = bell => if is_told { return },
                    () = runtime::enter(|| tokio::time::sleep(doubt)) => return,
                }
            }
            runtime::enter(|| tokio::time::sleep(pause)).await;
        })
    }

    fn set_bell(&self, top: &str) -> Flight<zk::PersistentWatcher> {
        let top = top.to_owned();
        self.request(|client| async move {
            client.watch(&top, zk::AddWatchMode::PersistentRecursive).await.map_err(wire_error)
        })
    }

    /// `Ok`: there is room for an ordinary watch; the second value is kept until it is sent, so that no bell comes in
    /// between. `Err`: there is none, and this resolves when it is time to look.
    fn watch_or_look_again(&self, kind: Kind, path: &str) -> Result<(Room, Standing<'_>), Later<()>> {
        let standing = self.bells.standing();
        if (kind == Kind::Children || !self.bells.forbid_data(&standing, path))
            && let Some(room) = self.watches.admit(kind, path)
        {
            return Ok((room, standing));
        }
        Err(self.look_again(standing, kind, path))
    }

    /// Makes the request and sends it now.
    fn request<T, F, M>(&self, make: M) -> Flight<T>
    where
        T: Answer,
        F: Future<Output = Result<T, WireError>> + Send + 'static,
        M: FnOnce(zk::Client) -> F,
    {
        let client = lock(&self.client).clone();
        match client {
            // The crate sends while it makes the future, and `make` makes it at its first poll: poll once, here.
            Some(client) => self.sent(make(client)),
            None => Box::pin(std::future::ready(Err(WireError::SessionEnded))),
        }
    }

    fn sent<T: Answer>(
        &self,
        future: impl Future<Output = Result<T, WireError>> + Send + 'static,
    ) -> Flight<T> {
        let mut flight: Flight<T> = Box::pin(future);
        // Locked over the sending, so that nobody else's request comes between it and its place.
        let order = lock(&self.order);
        self.service.asks();
        if let Some(done) = (&mut flight).now_or_never() {
            // The answer is there already: the server was quicker than the system's scheduler.
            self.counters.bytes_received.add(answers::bytes(&done));
            return Box::pin(std::future::ready(done));
        }
        // Waited for apart from the caller: the flight carries a client, and one that nobody polls any more must not keep
        // the session open.
        let (answer, answered) = oneshot::channel();
        let counters = self.counters.clone();
        order.add(Box::pin(async move {
            let outcome = flight.await;
            counters.bytes_received.add(answers::bytes(&outcome));
            let _ = answer.send(outcome);
        }));
        Box::pin(async move {
            // A flight that panicked leaves its outcome unknown, like any lost answer.
            answered.await.unwrap_or(Err(WireError::ConnectionLoss))
        })
    }
}

/// Sets TCP_NODELAY now and after every reconnection, apart from the news of it: names may take long to resolve.
async fn keep_nodelay(hosts: String, mut watcher: zk::StateWatcher, service: Service) {
    loop {
        // Resolved each time, as the crate does: a server that comes back may have another address.
        let hosts = hosts.clone();
        runtime::aside("zkrecipes-names", move || nodelay::set(&hosts)).await;
        loop {
            match service.next_state(&mut watcher).await {
                LinkState::Up => break,
                LinkState::Down => {}
                LinkState::Ended | LinkState::Denied => return,
            }
        }
    }
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

    fn server(&self) -> Option<String> {
        self.service.hearsay.server()
    }

    fn cause(&self) -> Option<String> {
        self.service.hearsay.cause()
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
        let mut watcher = self.watcher.clone();
        let service = self.service.clone();
        Box::pin(async move {
            while !watcher.peek_state().is_terminated() && !service.is_over() {
                service.next_state(&mut watcher).await;
            }
        })
    }

    fn create(&self, path: &str, data: &[u8], mode: CreateMode, acl: &AclChoice) -> Flight<Created> {
        let (path, data, acls) = (path.to_owned(), data.to_owned(), Acls::from(acl));
        self.request(|client| async move {
            let options = create_options(mode, &acls);
            let (stat, sequence) = client.create(&path, &data, &options).await.map_err(wire_error)?;
            let path = if mode.is_sequential() { format!("{path}{sequence}") } else { path };
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

    fn get_each(&self, paths: &[String]) -> Flight<Vec<Read>> {
        let paths = paths.to_owned();
        self.request(|client| async move {
            let mut reader = client.new_multi_reader();
            for path in &paths {
                reader.add_get_data(path).map_err(wire_error)?;
            }
            let found = reader.commit().await.map_err(wire_error)?;
            Ok(found.into_iter().map(read).collect())
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

    fn children_and_stat(&self, path: &str) -> Flight<(Vec<String>, Stat)> {
        let path = path.to_owned();
        self.request(|client| async move {
            let (names, found) = client.get_children(&path).await.map_err(wire_error)?;
            Ok((names, stat(found)))
        })
    }

    fn is_open_to_deletion(&self, path: &str) -> Flight<bool> {
        let path = path.to_owned();
        self.request(|client| async move {
            let (list, _) = client.get_acl(&path).await.map_err(wire_error)?;
            let anyone = zk::AuthId::anyone();
            Ok(list
                .iter()
                .any(|entry| *entry.auth_id() == anyone && entry.permission().has(zk::Permission::DELETE)))
        })
    }

    fn follow_children(&self, path: &str) -> Option<Following> {
        let standing = self.bells.standing();
        self.bells.follow(standing, path, self.timeout / 4, |path| self.set_bell(path))
    }

    fn access_list(&self, path: &str) -> Flight<Vec<AclEntry>> {
        let path = path.to_owned();
        self.request(|client| async move {
            let (list, _) = client.get_acl(&path).await.map_err(wire_error)?;
            Ok(list.iter().map(entry).collect())
        })
    }

    fn watch_data(&self, path: &str) -> Flight<(Vec<u8>, Stat, Watch)> {
        let (room, _standing) = match self.watch_or_look_again(Kind::Data, path) {
            Ok(admitted) => admitted,
            Err(pause) => {
                let read = self.get_data(path);
                return Box::pin(async move {
                    read.await.map(|(data, stat)| (data, stat, Watch::unarmed(pause)))
                });
            }
        };
        let (path, naming) = (path.to_owned(), self.naming.clone());
        self.request(|client| async move {
            let (data, found, watcher) = client.get_and_watch_data(&path).await.map_err(wire_error)?;
            Ok((data, stat(found), watch(watcher, room, naming)))
        })
    }

    fn watch_exists(&self, path: &str) -> Flight<(Option<Stat>, Watch)> {
        let (room, _standing) = match self.watch_or_look_again(Kind::Exists, path) {
            Ok(admitted) => admitted,
            Err(pause) => {
                let look = self.exists(path);
                return Box::pin(async move { look.await.map(|stat| (stat, Watch::unarmed(pause))) });
            }
        };
        let (path, naming) = (path.to_owned(), self.naming.clone());
        self.request(|client| async move {
            let (found, watcher) = client.check_and_watch_stat(&path).await.map_err(wire_error)?;
            Ok((found.map(stat), watch(watcher, room, naming)))
        })
    }

    fn watch_children(&self, path: &str) -> Flight<(Vec<String>, Stat, Watch)> {
        let (room, standing) = match self.watch_or_look_again(Kind::Children, path) {
            Ok(admitted) => admitted,
            Err(pause) => {
                let list = self.children_and_stat(path);
                return Box::pin(async move {
                    list.await.map(|(names, stat)| (names, stat, Watch::unarmed(pause)))
                });
            }
        };
        drop(standing);
        let beside = self.bells.beside(path);
        let (path, naming) = (path.to_owned(), self.naming.clone());
        self.request(|client| async move {
            let (names, found, watcher) = client.get_and_watch_children(&path).await.map_err(wire_error)?;
            let watch = watch(watcher, room, naming);
            Ok((names, stat(found), watch.or(beside, Event::ChildrenChanged)))
        })
    }

    fn sync(&self, path: &str) -> Flight<()> {
        let path = path.to_owned();
        self.request(|client| async move { client.sync(&path).await.map_err(wire_error) })
    }

    fn multi(&self, writes: &[Write], acl: &AclChoice) -> Flight<Vec<Applied>> {
        let (writes, acls) = (writes.to_owned(), Acls::from(acl));
        self.request(|client| async move {
            let mut multi = client.new_multi_writer();
            for write in &writes {
                match write {
                    Write::Check { path, version } => multi.add_check_version(path, version.unwrap_or(-1)),
                    Write::Create { path, data, mode, acl: None } => {
                        multi.add_create(path, data, &create_options(*mode, &acls))
                    }
                    Write::Create { path, data, mode, acl: Some(own) } => {
                        multi.add_create(path, data, &create_options(*mode, &Acls::from(own)))
                    }
                    Write::Set { path, data, version } => multi.add_set_data(path, data, *version),
                    Write::Delete { path, version } => multi.add_delete(path, *version),
                }
                .map_err(wire_error)?;
            }
            match multi.commit().await {
                Ok(results) => Ok(results.into_iter().map(applied).collect()),
                Err(zk::MultiWriteError::RequestFailed { source }) => Err(wire_error(source)),
                Err(zk::MultiWriteError::OperationFailed { index, source }) => {
                    Err(WireError::Part { index, error: Box::new(wire_error(source)) })
                }
            }
        })
    }

    fn own_ephemerals(&self, path: &str) -> Flight<Vec<String>> {
        let path = path.to_owned();
        self.request(|client| async move {
            let mut found = client.list_ephemerals(&path).await.map_err(wire_error)?;
            // The server goes by the first letters of the path, which others may share.
            let below = if path == "/" { path.clone() } else { format!("{path}/") };
            found.retain(|node| *node == path || node.starts_with(&below));
            Ok(found)
        })
    }

    fn create_chroot(&self, acl: &AclChoice) -> Flight<()> {
        let acls = Acls::from(acl);
        self.request(|client| async move {
            let chroot = client.path().to_owned();
            let Ok(rooted) = client.chroot("/") else { return Ok(()) };
            if chroot == "/" {
                return Ok(());
            }
            // Persistent: a chroot outlives its users.
            let options = zk::CreateMode::Persistent.with_acls(acls.borrow());
            rooted.mkdir(&chroot, &options).await.map_err(wire_error)
        })
    }
}

#[cfg(test)]
mod tests;
