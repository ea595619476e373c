//! Service discovery: which instances of a service there are, where they are and what they say of themselves, in the format of
//! Curator's curator-x-discovery.
//!
//! ```text
//! /services/web                          a service; a container, so that it goes after its last instance
//!     GUID, or what id it was given      a dynamic instance: ephemeral; a static or permanent one: persistent
//!     GUID0000000003                     a sequential one: ephemeral, with the number that the server gave it
//! ```
//!
//! 1. Registering creates the node, with the JSON that [`instance`] tells of. A dynamic one is kept in every server session and
//!    made again when somebody deletes it, until it is unregistered or the client is closed. A static or permanent one is created
//!    once and stays; who registers it again, after a crash for one, writes into the node that is there.
//! 2. A lost answer costs nothing: an ephemeral node tells whose it is, and writing the same into a persistent one again changes
//!    nothing.
//! 3. Finding is a list, then all nodes, many in one read. Following is one watch on the list and one on each node: a change costs
//!    one list or one read.
//! 4. Picking asks no server, but the first time: from then on the service is followed in the background, until the handle goes.
//!    While there is no connection it picks from what was known last. One that has failed is set aside in the handle alone, until
//!    30 seconds are over or its node is another one.
//! 5. What is no instance, or not ours to read, is named once in the log, and stops nobody.

#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod instance;
mod pick;
mod registration;
mod set_aside;
mod uri;

use std::sync::Arc;

use self::pick::{FollowedInstances, InstancesFeed, PickedServices, decoded};
use self::set_aside::{FoundNode, SetAside};
use super::names::child;
use crate::client::Client;
use crate::error::Result;
use crate::feed::Feed;
use crate::path;
use crate::process::UnlessForked;
use crate::session::Session;
use crate::session::server_session::ServerSession;
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::WireError;

pub use instance::{Instance, Service, ServiceType};
pub use pick::PickBy;
pub use registration::{Registering, Registration};

impl Client {
    /// A handle on the services below `path`. Does no I/O.
    pub fn discovery(&self, path: &str) -> Result<Discovery> {
        let session = self.session_for_handle()?;
        path::recipe(path)?;
        Ok(Discovery {
            client: self.clone(),
            path: Arc::from(path),
            aside: SetAside::new(session.clock()),
            picked: Arc::default(),
        })
    }
}

/// Services below a path, and their instances, shared with everybody who uses that path, Curator's users too:
/// `client.discovery(path)`. Clones are the same handle.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::{Client, PickBy, Service};
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let discovery = client.discovery("/services")?;
/// let web = Service::new("web", "10.0.0.7").port(8080).uri_spec("{scheme}://{address}:{port}");
/// let registration = discovery.register(web).await?;
/// assert_eq!(discovery.names().await?, ["web"]);
///
/// let instance = discovery.pick("web", PickBy::RoundRobin).await?.expect("one is registered");
/// assert_eq!(instance.uri.as_deref(), Some("http://10.0.0.7:8080"));
/// instance.failed(); // for a while this handle picks others
/// assert_eq!(discovery.pick("web", PickBy::RoundRobin).await?, None);
///
/// registration.unregister().await?;
/// assert!(discovery.instances("web").await?.is_empty());
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Discovery {
    client: Client,
    path: Arc<str>,
    aside: Arc<SetAside>,
    picked: Arc<UnlessForked<PickedServices>>,
}

impl Discovery {
    const INSTANCES: &'static str = "instances";
    const NAMES: &'static str = "names";
    const PICK: &'static str = "pick";
    const WATCH: &'static str = "watch";

    /// The path below which the services are.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Registers an instance of a service. Exists: there is one of that id. (That may be the one that a crashed process has left:
    /// its id is free after its session timeout.) Only a static or permanent one takes the place of another such one.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind of a dynamic instance. A static or permanent one may be registered.
    pub async fn register(&self, service: Service) -> Result<Registration> {
        Ok(self.begin_to_register(service).await?.hand_over())
    }

    /// The same for a caller that may withdraw while the answer is on its way.
    pub(crate) async fn begin_to_register(&self, service: Service) -> Result<Registering> {
        let parent = child(&self.path, &service.name)?;
        Registration::make(&self.client, parent, service).await
    }

    /// The instances of a service by the names of their nodes, no older than this call; none if there is no such service.
    pub async fn instances(&self, name: &str) -> Result<Vec<Instance>> {
        let service = child(&self.path, name)?;
        let session = self.client.session()?;
        let mut call = session.call(None).reading();
        let answer =
            call.ask(Discovery::INSTANCES, |server| {
                let (server, session, service) = (server.clone(), &session, &*service);
                async move {
                    server.as_of_now(service, || instances(session, &server, service, &self.aside)).await
                }
            });
        answer.await.map_err(|failure| failure.about(Discovery::INSTANCES, &service))
    }

    /// The services that there are, sorted, no older than this call. One whose last instance has gone is there for a while.
    pub async fn names(&self) -> Result<Vec<String>> {
        let session = self.client.session()?;
        let path = &*self.path;
        let mut call = session.call(None).reading();
        let answer = call.ask(Discovery::NAMES, |server| {
            let server = server.clone();
            async move {
                match server.as_of_now(path, || server.children(path)).await {
                    Err(WireError::NoNode) => Ok(Vec::new()),
                    answer => answer,
                }
            }
        });
        let mut names = answer.await.map_err(|failure| failure.about(Discovery::NAMES, path))?;
        names.sort_unstable();
        Ok(names)
    }

    /// The instances of a service, now and whenever they are others.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// # use zkrecipes::Service;
    /// let discovery = client.discovery("/services")?;
    /// let mut feed = discovery.watch("mail")?;
    /// assert!(feed.next().await.transpose()?.expect("it goes on").is_empty());
    /// discovery.register(Service::new("mail", "10.0.0.8").id("a")).await?;
    /// let instances = feed.next().await.transpose()?.expect("it goes on");
    /// assert_eq!(instances[0].id, "a");
    /// # Ok(()) });
    /// ```
    pub fn watch(&self, name: &str) -> Result<Feed<Vec<Instance>>> {
        let service = child(&self.path, name)?;
        let followed = |session| FollowedInstances::new(&session, Discovery::WATCH, &service, &self.aside);
        Ok(Feed::new(InstancesFeed(self.client.session().map(followed))))
    }

    /// One of the instances of a service; `None` if there is none that may be picked: disabled ones are not, nor those that have
    /// failed a while ago. Only the first call for a service asks a server.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn pick(&self, name: &str, by: PickBy) -> Result<Option<Instance>> {
        let service = child(&self.path, name)?;
        let session = self.client.session()?;
        self.picked.pick(&session, Discovery::PICK, &service, by, &self.aside).await
    }

    /// The same as [`Instance::failed`], for who has nothing but its name and id: of all instances that have both.
    pub fn failed(&self, name: &str, id: &str) -> Result<()> {
        self.client.process().check()?;
        instance::check(name, id)?;
        let known = self.picked.nodes_of(&child(&self.path, name)?, name, id);
        match known.is_empty() {
            // Nobody knows yet which ones these are.
            true => self.aside.add(name, id),
            false => known.iter().for_each(|node| self.aside.add_node(node)),
        }
        Ok(())
    }

    /// The same as [`Instance::failed`] of the one that says this of its node: [`Instance::node_as_text`].
    pub(crate) fn node_failed(&self, node: &str) {
        if self.client.process().is_present()
            && let Some(node) = FoundNode::of_text(node)
        {
            self.aside.add_node(&node);
        }
    }
}

impl std::fmt::Debug for Discovery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Discovery").field("path", &self.path).finish_non_exhaustive()
    }
}

/// One list, then all instances, many in one read. One that goes in between is left out, and so is one that we may not read.
async fn instances(
    session: &Session,
    server_session: &Arc<ServerSession>,
    service: &str,
    found_by: &Arc<SetAside>,
) -> Result<Vec<Instance>, WireError> {
    let mut names = match server_session.children(service).await {
        Err(WireError::NoNode) => return Ok(Vec::new()),
        answer => answer?,
    };
    names.sort_unstable();
    let nodes: Vec<_> = names.iter().map(|name| path::join(service, name)).collect();
    let mut found = Vec::new();
    for (node, read) in nodes.iter().zip(server_session.get_each(&nodes)) {
        match read.await {
            Ok((data, stat)) => {
                found.extend(decoded(session, FoundNode::new(node, &stat), &data, found_by));
            }
            Err(WireError::NoNode) => {}
            Err(WireError::NoAuth) => session.skip(node, Flaw::Denied),
            Err(error) => return Err(error),
        }
    }
    Ok(found)
}
