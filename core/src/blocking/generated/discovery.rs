//! Generated from api/discovery.toml by api/generate; do not edit.

use crate::blocking::{Client, Feed, Registration};
use crate::drive::wait;
use crate::{Instance, PickBy, Result, Service};

impl Client {
    /// See [`crate::Client::discovery`].
    pub fn discovery(&self, path: &str) -> Result<Discovery> {
        self.0.discovery(path).map(Discovery::of)
    }
}

/// [`crate::Discovery`], blocking.
///
/// ```
/// # fn main() -> zkrecipes::Result<()> {
/// let client = zkrecipes::blocking::Client::connect("embedded:", Default::default())?;
/// use zkrecipes::{PickBy, Service};
/// let discovery = client.discovery("/services")?;
/// let registration = discovery.register(Service::new("web", "10.0.0.7").port(8080))?;
/// let instance = discovery.pick("web", PickBy::RoundRobin)?.expect("one is registered");
/// assert_eq!(instance.port, Some(8080));
/// registration.unregister()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Discovery {
    pub(in crate::blocking) core: crate::Discovery,
}

impl Discovery {
    pub(in crate::blocking) fn of(core: crate::Discovery) -> Discovery {
        Discovery { core }
    }

    /// See [`crate::Discovery::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::Discovery::register`].
    pub fn register(&self, service: Service) -> Result<Registration> {
        let core = self.core.clone();
        wait(async move { core.register(service).await }, None, None).map(Registration::of)
    }

    /// See [`crate::Discovery::instances`].
    pub fn instances(&self, name: &str) -> Result<Vec<Instance>> {
        let (core, name) = (self.core.clone(), name.to_owned());
        wait(async move { core.instances(&name).await }, None, None)
    }

    /// See [`crate::Discovery::names`].
    pub fn names(&self) -> Result<Vec<String>> {
        let core = self.core.clone();
        wait(async move { core.names().await }, None, None)
    }

    /// See [`crate::Discovery::watch`].
    pub fn watch(&self, name: &str) -> Result<Feed<Vec<Instance>>> {
        self.core.watch(name).map(Feed::from)
    }

    /// See [`crate::Discovery::pick`].
    pub fn pick(&self, name: &str, by: PickBy) -> Result<Option<Instance>> {
        let (core, name) = (self.core.clone(), name.to_owned());
        wait(async move { core.pick(&name, by).await }, None, None)
    }

    /// See [`crate::Discovery::failed`].
    pub fn failed(&self, name: &str, id: &str) -> Result<()> {
        self.core.failed(name, id)
    }
}
