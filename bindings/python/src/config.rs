//! `Config`: a value that many follow.

use pyo3::prelude::*;

use crate::answer::Answer;
use crate::convert::{payload, signed};
use crate::errors::OrRaise;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::feed::FeedBase;

recipe!(ConfigBase of zkrecipes::Config, Config, "Config");

#[pymethods]
impl ConfigBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<ConfigBase> {
        seed.get().take()
    }

    /// The value and its version, or None if nobody has set it.
    fn get(&self, py: Python<'_>) -> Answered {
        let config = self.core.clone();
        self.origin.run(py, || async move { config.get().await })
    }

    /// Sets the value, if it has this version; returns the new version. Without a version it is set whatever it was, and
    /// created if it is missing. BadVersion: somebody has changed it since. ConnectionLost: it may or may not have been set.
    #[pyo3(signature = (value, version=None))]
    fn set(&self, py: Python<'_>, value: Arg, version: Option<Arg>) -> Answered {
        let (value, config) = (payload("value", value)?, self.core.clone());
        let version = version.map(|version| signed("version", version)).transpose()?;
        self.origin.run(py, || async move { config.set(&value, version).await })
    }

    /// Sets the value if nobody has set it yet; returns its version, 0. Exists: there is one. ConnectionLost: it may or may not
    /// have been set.
    fn create(&self, py: Python<'_>, value: Arg) -> Answered {
        let (value, config) = (payload("value", value)?, self.core.clone());
        self.origin.run(py, || async move { config.create(&value).await })
    }

    /// The value now, and whenever it has changed: always the latest, None where there is none.
    fn watch(&self, py: Python<'_>) -> Answered {
        FeedBase::follow(py, &self.origin, || Ok(self.core.watch()))
    }

    /// What this object has been told last, by a feed of it or by `get`, and how old that may be; nobody is asked. None
    /// before that.
    #[getter]
    fn cached(&self, py: Python<'_>) -> Answered {
        self.origin.guard(|| Ok(self.core.cached())).or_raise(py)?.answer(py)
    }

    /// Where the value is.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{} {}>", slf.get_type().name()?, slf.get().core.path()))
    }
}

/// A value that many follow. Made by `client.config(path)`.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/config-doc")
/// >>> mode = client.config("/config/mode")
/// >>> mode.get(), mode.set("blue"), mode.get()
/// (None, 0, Versioned(value=b'blue', version=0))
/// >>> mode.set("green", version=mode.get().version)       # only if nobody was faster
/// 1
/// >>> mode.cached.value
/// Versioned(value=b'blue', version=0)
/// >>> for now in mode.watch():
/// ...     print(now.value)                                # this one, and every later one
/// ...     break
/// b'green'
/// >>> client.close()
#[pyclass(frozen, weakref, extends = ConfigBase, module = "zkrecipes")]
pub struct Config;
