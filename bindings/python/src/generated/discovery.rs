//! Generated from api/discovery.toml by api/generate; do not edit.

use pyo3::prelude::*;
use zkrecipes::drive;

use super::RegistrationBase;
use crate::client::Origin;
use crate::errors::OrRaise;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::feed::FeedBase;
use crate::{convert, services};

recipe!(DiscoveryBase of zkrecipes::Discovery, Discovery, "Discovery");

#[pymethods]
impl DiscoveryBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<DiscoveryBase> {
        seed.get().take()
    }

    /// The path below which the services are.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// Registers an instance of a service. A dynamic one is kept over all sessions of the client until it is
    /// unregistered or the client is closed; a static or permanent one stays until it is unregistered. Exists:
    /// there is one of that id, which a crashed process may have left until its session timeout. Only a static or
    /// permanent one takes the place of another such one.
    fn register(slf: &Bound<'_, Self>, service: Arg) -> Answered {
        let service = services::service(service)?;
        let it = slf.get();
        let origin = Origin::clone(Self::origin(slf));
        Self::origin(slf).run_to(
            slf.py(),
            || drive::register(&it.core, service),
            move |py, answer| RegistrationBase::of(py, &origin, answer.hand_over()),
        )
    }

    /// The instances of a service; none if there is no such service.
    fn instances(slf: &Bound<'_, Self>, name: Arg) -> Answered {
        let name = convert::text("name", name)?;
        let core = zkrecipes::Discovery::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.instances(&name).await })
    }

    /// The services that there are, sorted. One whose last instance has gone is there for a while.
    fn names(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Discovery::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.names().await })
    }

    /// The instances of a service, now and whenever they are others.
    fn watch(slf: &Bound<'_, Self>, name: Arg) -> Answered {
        let name = convert::text("name", name)?;
        FeedBase::follow(slf.py(), Self::origin(slf), || slf.get().core.watch(&name))
    }

    /// One of the instances of a service; None if there is none that may be picked. Disabled ones are not picked,
    /// nor for 30 seconds those that have failed. `by` says which: "round_robin", "random", or "sticky", the same
    /// as before as long as it is there. Only the first call for a service asks a server: from then on it is
    /// followed.
    #[pyo3(signature = (name, by=None), text_signature = "($self, name, by='round_robin')")]
    fn pick(slf: &Bound<'_, Self>, name: Arg, by: Option<Arg>) -> Answered {
        let name = convert::text("name", name)?;
        let by = convert::word_or("by", by)?;
        let core = zkrecipes::Discovery::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.pick(&name, by).await })
    }

    /// An instance did not serve: for 30 seconds this object does not pick it. The same as `instance.failed()`, for
    /// who has nothing but its name and id.
    fn failed(slf: &Bound<'_, Self>, name: Arg, id: Arg) -> PyResult<()> {
        let name = convert::text("name", name)?;
        let id = convert::text("id", id)?;
        Self::origin(slf).guard(|| slf.get().core.failed(&name, &id)).or_raise(slf.py())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!("<{} {}>", slf.get_type().name()?, core.path()))
    }
}

/// Services below a path, and their instances, shared with everybody who uses that path, Curator's users too.
/// Made by `client.discovery(path)`.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/discovery-doc")
/// >>> discovery = client.discovery("/services")
/// >>> web = zkrecipes.Service("web", "10.0.0.7", port=8080, payload={"zone": "b"}, uri_spec="{scheme}://{address}:{port}")
/// >>> registration = discovery.register(web)
/// >>> instance = discovery.pick("web")
/// >>> instance.uri, instance.payload
/// ('http://10.0.0.7:8080', {'zone': 'b'})
/// >>> registration.update(enabled=False)
/// >>> [one.enabled for one in discovery.instances("web")]
/// [False]
/// >>> registration.unregister()
/// >>> client.close()
#[pyclass(frozen, weakref, extends = DiscoveryBase, module = "zkrecipes")]
pub struct Discovery;
