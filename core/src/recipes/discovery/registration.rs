//! A registered instance, until it is unregistered.

use std::sync::{Arc, Mutex};

use super::instance::{Service, ServiceType};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::path;
use crate::process::UnlessForked;
use crate::recipes::declared::{declare, declare_sequential};
use crate::session::Session;
use crate::session::open_parents;
use crate::session::refusal::refusal;
use crate::session::registration::{KeptNode, StartingNode, not_declared};
use crate::session::wire::{CreateMode, WireError};

const REGISTER: &str = "register";
const UPDATE: &str = "update";
const UNREGISTER: &str = "unregister";

/// A registered instance of a service: [`Discovery::register`](crate::Discovery::register). It lasts until it is unregistered, a
/// dynamic one at most as long as the client; dropping this ends nothing. Clones are the same registration.
#[derive(Clone)]
pub struct Registration {
    inner: Arc<Registered>,
}

struct Registered {
    client: Client,
    /// Where the instances of the service are.
    parent: String,
    registered: i64,
    /// As it was registered.
    first: Service,
    /// As it is to be.
    service: UnlessForked<Mutex<Service>>,
    /// `None` once it was unregistered. One caller at a time changes something.
    node: UnlessForked<tokio::sync::Mutex<Option<RegisteredNode>>>,
}

enum RegisteredNode {
    /// Kept in every server session.
    Kept(KeptNode),
    /// It stands by itself.
    Persistent(String),
}

impl Registration {
    /// Registers a service below `parent`.
    pub(super) async fn make(client: &Client, parent: String, service: Service) -> Result<Registering> {
        let session = client.session()?;
        let registered = session.clock().wall();
        let data = service.encode(registered).map_err(|error| error.with_path(&parent))?;
        let node = path::join(&parent, &service.id);
        path::validate(&node)?;
        let root = path::parent(&parent);
        let node = match service.service_type {
            ServiceType::Dynamic => RegisteredNode::Kept(
                declare(&session, REGISTER, root, node, &data, StartingNode::Missing).await?,
            ),
            ServiceType::DynamicSequential => {
                let kept = declare_sequential(&session, REGISTER, root, &node, &data).await?;
                RegisteredNode::Kept(kept)
            }
            ServiceType::Static | ServiceType::Permanent => {
                put(&session, root, &node, &data).await.map_err(|error| error.with_path(&node))?;
                RegisteredNode::Persistent(node)
            }
        };
        let inner = Registered {
            client: client.clone(),
            parent,
            registered,
            first: service.clone(),
            service: UnlessForked::new(Mutex::new(service)),
            node: UnlessForked::new(tokio::sync::Mutex::new(None)),
        };
        Ok(Registering { registration: Registration { inner: Arc::new(inner) }, node })
    }

    /// What tells it from the other instances of the service.
    pub fn id(&self) -> &str {
        &self.inner.first.id
    }

    /// As it was registered, or updated last. In a forked child: as it was registered.
    pub fn service(&self) -> Service {
        let inner = &self.inner;
        if !inner.service.process().is_present() {
            return inner.first.clone();
        }
        match inner.node.try_lock() {
            Ok(own) => inner.as_it_is_to_be(own.as_ref()),
            // Somebody changes it now.
            Err(_) => lock(&inner.service).clone(),
        }
    }

    /// Replaces what is to be known of it; `name`, `id` and `service_type` stay as they are. NotHeld: it was unregistered.
    /// ConnectionLost: of a dynamic one it goes on in the background, of another one it is unconfirmed; either way
    /// [`Registration::service`] tells it, and the next update goes on from there. NoNode: somebody has deleted the node of a static
    /// or permanent one, or put one of their own in its place; register it again.
    ///
    /// # Cancel safety
    /// Dropping the future takes nothing back: as with ConnectionLost, it may have been done.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// use zkrecipes::Service;
    ///
    /// let discovery = client.discovery("/services")?;
    /// let registration = discovery.register(Service::new("web", "10.0.0.7").port(8080)).await?;
    /// registration.update(registration.service().enabled(false)).await?;
    /// assert!(!discovery.instances("web").await?[0].enabled);
    /// # Ok(()) });
    /// ```
    pub async fn update(&self, service: Service) -> Result<()> {
        self.change(|_| service).await
    }

    /// The same of what `change` makes of what it is.
    pub(crate) async fn change(&self, change: impl FnOnce(Service) -> Service) -> Result<()> {
        let session = self.inner.client.session()?;
        let own = session.behind_others(self.inner.node.lock()).await?;
        let node = own.as_ref().ok_or_else(|| self.unregistered())?;
        let before = self.inner.as_it_is_to_be(Some(node));
        let service = change(before.clone());
        let stays = [
            ("name", before.name == service.name),
            ("id", before.id == service.id),
            ("service_type", before.service_type == service.service_type),
        ];
        if let Some((argument, _)) = stays.into_iter().find(|(_, stays)| !stays) {
            let problem = "is another one than it was registered with; unregister it, and register another";
            return Err(Error::invalid(argument, problem).with_path(&self.inner.parent));
        }
        let data =
            service.encode(self.inner.registered).map_err(|error| error.with_path(&self.inner.parent))?;
        // Whoever updates it next begins there, also if nobody hears of the end of this.
        *lock(&self.inner.service) = service;
        let done = match node {
            RegisteredNode::Kept(kept) => kept.update(UPDATE, &data).await,
            RegisteredNode::Persistent(node) => {
                write(&session, node, &data).await.map_err(|error| error.with_path(node))
            }
        };
        if done.as_ref().is_err_and(|error| error.kind() != ErrorKind::ConnectionLost) {
            *lock(&self.inner.service) = before;
        }
        done
    }

    /// Takes it back. NotHeld: it was unregistered already. ConnectionLost: unconfirmed; of a dynamic one the deletion goes on in the
    /// background, another one may still be there.
    pub async fn unregister(&self) -> Result<()> {
        let session = self.inner.client.session()?;
        let mut own = session.behind_others(self.inner.node.lock()).await?;
        match own.as_ref() {
            Some(RegisteredNode::Persistent(node)) => {
                // It stays ours until it is certainly gone, so that this can be repeated.
                delete(&session, node).await.map_err(|error| error.with_path(node))?;
                *own = None;
                Ok(())
            }
            Some(RegisteredNode::Kept(_)) => match own.take() {
                Some(RegisteredNode::Kept(kept)) => kept.undo(UNREGISTER).await.map(drop),
                _ => Ok(()),
            },
            None => Err(self.unregistered()),
        }
    }

    fn unregistered(&self) -> Error {
        not_declared("this instance was unregistered; register it again").with_path(&self.inner.parent)
    }
}

impl Registered {
    /// An update that nobody heard the end of may have been refused since: then its node is what it was before.
    fn as_it_is_to_be(&self, node: Option<&RegisteredNode>) -> Service {
        let mut service = lock(&self.service);
        if let Some(RegisteredNode::Kept(kept)) = node {
            let data = kept.data();
            if service.encode(self.registered).is_ok_and(|known| known != data)
                && let Some(other) = Service::decode(&data)
            {
                *service = other;
            }
        }
        service.clone()
    }
}

impl std::fmt::Debug for Registration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registration").field("id", &self.inner.first.id).finish_non_exhaustive()
    }
}

/// A registration on its way to who asked for it. Dropped before it is there, a dynamic one is taken back in the background.
#[must_use = "dropping it takes it back"]
pub struct Registering {
    registration: Registration,
    node: RegisteredNode,
}

impl Registering {
    /// The caller has it.
    pub fn hand_over(self) -> Registration {
        let node = match self.node {
            RegisteredNode::Kept(kept) => RegisteredNode::Kept(kept.stays_with_the_client()),
            node => node,
        };
        // Nobody else has it yet.
        if let Ok(mut own) = self.registration.inner.node.try_lock() {
            *own = Some(node);
        }
        self.registration
    }
}

impl std::fmt::Debug for Registering {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registering").finish_non_exhaustive()
    }
}

/// Makes a persistent node, or writes into the one that is there: one that a client has left before it was started again.
/// Exists: an ephemeral one is there, which would go with its session.
async fn put(session: &Arc<Session>, root: &str, node: &str, data: &[u8]) -> Result<()> {
    let parent = path::parent(node);
    let mut call = session.call(None);
    call.comes_behind(REGISTER, session.take_queueing_turn(node)).await?;
    loop {
        let (server_session, on) = call.connection(REGISTER).await?;
        open_parents::look_below(session, &server_session, &mut call, REGISTER, root, &[parent]).await?;
        let created = server_session.create(node, data, CreateMode::Persistent);
        match call.receive(REGISTER, created).await? {
            Ok(_) => return Ok(()),
            Err(WireError::NoNode) => {
                call.make_path(REGISTER, &server_session, parent, session.parents()).await?;
                continue;
            }
            Err(WireError::NodeExists) => {}
            Err(error) => {
                call.retry_or_refuse(error, REGISTER, node).await?;
                continue;
            }
        }
        // Of a create whose answer was lost it may be our own: then what is written is what it has.
        let stat = match call.receive(REGISTER, server_session.exists(node)).await? {
            Ok(Some(stat)) if stat.ephemeral_owner != 0 => {
                let message = "an instance of that id is registered for as long as somebody's session; choose another id, or \
                               wait until it has gone";
                return Err(Error::new(ErrorKind::Exists, message));
            }
            Ok(Some(stat)) => stat,
            Ok(None) => continue,
            Err(error) => {
                call.retry_or_refuse(error, REGISTER, node).await?;
                continue;
            }
        };
        match call.receive(REGISTER, server_session.set_data_on(on, node, data, Some(stat.version))).await? {
            Ok(_) => return Ok(()),
            Err(WireError::NoNode | WireError::BadVersion | WireError::NotSent) => {}
            Err(error) if error.is_unanswered() => call.retry_after_loss(REGISTER).await?,
            Err(error) => return Err(refusal(error, REGISTER, node)),
        }
    }
}

/// Writes into the persistent node that is there. NoNode: none is, or one that goes with somebody's session.
async fn write(session: &Arc<Session>, node: &str, data: &[u8]) -> Result<()> {
    let mut call = session.call(None);
    loop {
        let (server_session, on) = call.connection(UPDATE).await?;
        let version = match call.receive(UPDATE, server_session.exists(node)).await? {
            Ok(Some(stat)) if stat.ephemeral_owner == 0 => stat.version,
            Ok(_) => return Err(refusal(WireError::NoNode, UPDATE, node)),
            Err(error) => {
                call.retry_or_refuse(error, UPDATE, node).await?;
                continue;
            }
        };
        match call.receive(UPDATE, server_session.set_data_on(on, node, data, Some(version))).await? {
            Ok(_) => return Ok(()),
            // Another one has written into it, or we have, and the answer was lost.
            Err(WireError::BadVersion | WireError::NotSent) => {}
            Err(error) => call.retry_or_refuse(error, UPDATE, node).await?,
        }
    }
}

/// Deletes the persistent node that stands there now, and no other that has its name later. One that goes with somebody's session
/// is theirs, and ours has gone.
async fn delete(session: &Arc<Session>, node: &str) -> Result<()> {
    let mut call = session.call(None);
    let mut seen = None;
    loop {
        let (server_session, on) = call.connection(UNREGISTER).await?;
        let deletion = match seen {
            // It has been asked for: whatever is there now and is another one came later.
            Some(czxid) => server_session.delete_again(node, czxid, None),
            None => match call.receive(UNREGISTER, server_session.exists(node)).await? {
                Ok(Some(stat)) if stat.ephemeral_owner == 0 => {
                    seen = Some(stat.czxid);
                    server_session.delete_on(on, node, Some(stat.version))
                }
                Ok(_) => return Ok(()),
                Err(error) => {
                    call.retry_or_refuse(error, UNREGISTER, node).await?;
                    continue;
                }
            },
        };
        match call.receive(UNREGISTER, deletion).await? {
            Ok(()) | Err(WireError::NoNode) => return Ok(()),
            // Somebody has written into it, or put another one in its place.
            Err(WireError::BadVersion | WireError::NotSent) => {}
            Err(error) => call.retry_or_refuse(error, UNREGISTER, node).await?,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;
    use crate::drive;
    use crate::runtime::tests::dropped_in_a_child;

    /// AskedWhenDropped when it is dropped.
    struct AskedWhenDropped(Registration);

    impl Drop for AskedWhenDropped {
        fn drop(&mut self) {
            assert_eq!(self.0.service().port, Some(80));
        }
    }

    /// The worst moment for a fork: another thread has the lock, and in the child it is never unlocked.
    #[test]
    fn a_forked_child_is_told_what_was_registered() -> Result<()> {
        let client = drive::wait(Client::connect("embedded:", Default::default()), None, None)?;
        let service = Service::new("forked", "h").port(80);
        let registering = async move { client.discovery("/services")?.register(service).await };
        let registration = drive::wait(registering, None, None)?;
        let ((lock, is_locked), (free, is_free)) = (channel(), channel::<()>());
        let inner = registration.inner.clone();
        let locker = std::thread::spawn(move || {
            let _locked = inner.service.lock();
            lock.send(()).expect("the test waits");
            // Not for ever: a test that fails drops it, too.
            let _ = is_free.recv_timeout(Duration::from_secs(25));
        });
        is_locked.recv().expect("locked");
        let asked = dropped_in_a_child("what is registered", AskedWhenDropped(registration));
        drop(free);
        locker.join().expect("no panic");
        let registration = asked.0.clone();
        drive::wait(async move { registration.unregister().await }, None, None)
    }
}
