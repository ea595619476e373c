//! `Names`: names and what they stand for.

use pyo3::prelude::*;
use zkrecipes::drive;

use crate::convert::{flag_or, payload, text};
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::feed::FeedBase;

recipe!(NamesBase of zkrecipes::Names, Names, "Names");

#[pymethods]
impl NamesBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<NamesBase> {
        seed.get().take()
    }

    /// Binds a name to `data`; Exists if it is bound already, by whomever. An `ephemeral` binding lasts as long as the client,
    /// over all its sessions, any other until it is unbound.
    #[pyo3(signature = (name, data, ephemeral=None), text_signature = "($self, name, data, ephemeral=False)")]
    fn bind(&self, py: Python<'_>, name: Arg, data: Arg, ephemeral: Option<Arg>) -> Answered {
        let (name, data) = (text("name", name)?, payload("data", data)?);
        let ephemeral = flag_or("ephemeral", ephemeral, false)?;
        self.origin.run(py, || drive::bind(&self.core, &name, &data, ephemeral))
    }

    /// What a name stands for, or None if it is not bound.
    fn lookup(&self, py: Python<'_>, name: Arg) -> Answered {
        let (name, names) = (text("name", name)?, self.core.clone());
        self.origin.run(py, || async move { names.lookup(&name).await })
    }

    /// Unbinds a name, whoever has bound it; NoNode if it is not bound. What another client keeps bound as ephemeral is bound
    /// again by it at once.
    fn unbind(&self, py: Python<'_>, name: Arg) -> Answered {
        let (name, names) = (text("name", name)?, self.core.clone());
        self.origin.run(py, || async move { names.unbind(&name).await })
    }

    /// The names that are bound, sorted.
    fn list(&self, py: Python<'_>) -> Answered {
        let names = self.core.clone();
        self.origin.run(py, || async move { names.list().await })
    }

    /// All names and what they stand for, now and whenever that has changed.
    fn watch(&self, py: Python<'_>) -> Answered {
        FeedBase::follow(py, &self.origin, || Ok(self.core.watch()))
    }

    /// The path below which the names are.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{} {}>", slf.get_type().name()?, slf.get().core.path()))
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
