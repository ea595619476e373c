//! Generated from api/config.toml by api/generate; do not edit.

use pyo3::prelude::*;

use crate::answer::Answer;
use crate::convert;
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

    /// Where the value is.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// The value and its version, or None if nobody has set it.
    fn get(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Config::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.get().await })
    }

    /// Sets the value, if it has this version; returns the new version. Without a version it is set whatever it
    /// was, and created if it is missing. BadVersion: somebody has changed it since. ConnectionLost: it may or may
    /// not have been set.
    #[pyo3(signature = (value, version=None))]
    fn set(slf: &Bound<'_, Self>, value: Arg, version: Option<Arg>) -> Answered {
        let value = convert::payload("value", value)?;
        let version = version.map(|version| convert::signed("version", version)).transpose()?;
        let core = zkrecipes::Config::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.set(&value, version).await })
    }

    /// Sets the value if nobody has set it yet; returns its version, 0. Exists: there is one. ConnectionLost: it
    /// may or may not have been set.
    fn create(slf: &Bound<'_, Self>, value: Arg) -> Answered {
        let value = convert::payload("value", value)?;
        let core = zkrecipes::Config::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.create(&value).await })
    }

    /// Sets the value if it still has that version, or, with None, if there still is none; returns whether it did.
    /// This is a step of `update`, made once, also where the answer got lost. ConnectionLost: nobody can know
    /// whether it was.
    #[pyo3(signature = (value, version=None))]
    fn compare_and_set(slf: &Bound<'_, Self>, value: Arg, version: Option<Arg>) -> Answered {
        let value = convert::payload("value", value)?;
        let version = version.map(|version| convert::signed("version", version)).transpose()?;
        let core = zkrecipes::Config::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.compare_and_set(&value, version).await })
    }

    /// The value now, and whenever it has changed: always the latest, None where there is none.
    fn watch(slf: &Bound<'_, Self>) -> Answered {
        FeedBase::follow(slf.py(), Self::origin(slf), || Ok(slf.get().core.watch()))
    }

    /// What this object has been told last, by a feed of it or by `get`, and how old that may be; nobody is asked.
    /// None before that.
    #[getter]
    fn cached(slf: &Bound<'_, Self>) -> Answered {
        Self::origin(slf).guard(|| Ok(slf.get().core.cached())).or_raise(slf.py())?.answer(slf.py())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!("<{} {}>", slf.get_type().name()?, core.path()))
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
/// >>> mode.update(lambda value: value + b"er")            # made once, whoever else sets it meanwhile
/// Versioned(value=b'greener', version=2)
/// >>> client.close()
#[pyclass(frozen, weakref, extends = ConfigBase, module = "zkrecipes")]
pub struct Config;
