//! Generated from api/registration.toml by api/generate; do not edit.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use zkrecipes::drive;

use crate::answer::Answer;
use crate::errors::OrRaise;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::services;

recipe!(RegistrationBase of zkrecipes::Registration, Registration, "Registration");

#[pymethods]
impl RegistrationBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<RegistrationBase> {
        seed.get().take()
    }

    /// What tells it from the other instances of the service.
    #[getter]
    fn id(&self) -> &str {
        self.core.id()
    }

    /// What was registered, as it is to be after the last update. `dataclasses.replace(registration.service,
    /// port=81)` makes another one of it.
    #[getter]
    fn service(slf: &Bound<'_, Self>) -> Answered {
        Self::origin(slf).guard(|| Ok(slf.get().core.service())).or_raise(slf.py())?.answer(slf.py())
    }

    /// Replaces what is to be known of it: by a whole `Service`, or by what differs from before, such as
    /// `enabled=False`. The name, the id and the type stay. NotHeld: it was unregistered. ConnectionLost: of a
    /// dynamic one it goes on in the background, of another one it is unconfirmed; the next update goes on from
    /// there. NoNode: somebody has deleted the node of a static or permanent one, or put one of their own in its
    /// place.
    #[pyo3(signature = (service=None, **changes), text_signature = "($self, service=None, *, address=..., port=..., ssl_port=..., payload=..., uri_spec=..., enabled=...)")]
    fn update(slf: &Bound<'_, Self>, service: Option<Arg>, changes: Option<&Bound<'_, PyDict>>) -> Answered {
        let service = service.map(services::service).transpose()?;
        let changes = services::changed(&slf.get().core, service, changes)?;
        let it = slf.get();
        Self::origin(slf).run(slf.py(), || drive::update(&it.core, changes.0, changes.1))
    }

    /// Takes it back. NotHeld: it was unregistered already. ConnectionLost: unconfirmed; of a dynamic one the
    /// deletion goes on in the background, another one may still be there.
    fn unregister(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Registration::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.unregister().await })
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!("<{} {}>", slf.get_type().name()?, core.id()))
    }
}

/// A registered instance of a service, until it is unregistered. Made by `discovery.register`.
#[pyclass(frozen, weakref, extends = RegistrationBase, module = "zkrecipes")]
pub struct Registration;
