//! Generated from api/names.toml by api/generate; do not edit.

use pyo3::prelude::*;
use zkrecipes::drive;

use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::feed::FeedBase;

recipe!(NamesBase of zkrecipes::Names, Names, "Names");

#[pymethods]
impl NamesBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<NamesBase> {
        seed.get().take()
    }

    /// The path below which the names are.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// Binds a name to `data`; Exists if it is bound already, by whomever. An `ephemeral` binding lasts as long as
    /// the client, over all its sessions, any other until it is unbound. That one may have a time to live: the
    /// servers unbind it once nobody has changed it for `ttl` seconds. They take that only with
    /// zookeeper.extendedTypesEnabled=true; others make it Invalid.
    #[pyo3(signature = (name, data, ephemeral=None, *, ttl=None), text_signature = "($self, name, data, ephemeral=False, *, ttl=None)")]
    fn bind(
        slf: &Bound<'_, Self>,
        name: Arg,
        data: Arg,
        ephemeral: Option<Arg>,
        ttl: Option<Arg>,
    ) -> Answered {
        let name = convert::text("name", name)?;
        let data = convert::payload("data", data)?;
        let ephemeral = convert::flag_or("ephemeral", ephemeral, false)?;
        let ttl = ttl.map(|ttl| convert::duration("ttl", ttl)).transpose()?;
        let it = slf.get();
        Self::origin(slf).run(slf.py(), || drive::bind(&it.core, &name, &data, ephemeral, ttl))
    }

    /// What a name stands for, or None if it is not bound.
    fn lookup(slf: &Bound<'_, Self>, name: Arg) -> Answered {
        let name = convert::text("name", name)?;
        let core = zkrecipes::Names::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.lookup(&name).await })
    }

    /// Unbinds a name, whoever has bound it; NoNode if it is not bound. What another client keeps bound as
    /// ephemeral is bound again by it at once.
    fn unbind(slf: &Bound<'_, Self>, name: Arg) -> Answered {
        let name = convert::text("name", name)?;
        let core = zkrecipes::Names::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.unbind(&name).await })
    }

    /// The names that are bound, sorted.
    fn list(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Names::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.list().await })
    }

    /// All names and what they stand for, now and whenever that has changed. One that may not be read is left out:
    /// `client.skipped` names its node.
    fn watch(slf: &Bound<'_, Self>) -> Answered {
        FeedBase::follow(slf.py(), Self::origin(slf), || Ok(slf.get().core.watch()))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!("<{} {}>", slf.get_type().name()?, core.path()))
    }
}

/// Names below a path, and what they stand for. Made by `client.names(path)`.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/names-doc")
/// >>> services = client.names("/services")
/// >>> services.bind("billing", "10.0.0.7:443", ephemeral=True)
/// >>> services.lookup("billing"), services.lookup("mail")
/// (b'10.0.0.7:443', None)
/// >>> next(services.watch())
/// {'billing': b'10.0.0.7:443'}
/// >>> client.close()
#[pyclass(frozen, weakref, extends = NamesBase, module = "zkrecipes")]
pub struct Names;
