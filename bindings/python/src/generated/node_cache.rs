//! Generated from api/node_cache.toml by api/generate; do not edit.

use pyo3::prelude::*;

use crate::answer::Answer;
use crate::convert;
use crate::errors::OrRaise;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::feed::FeedBase;

recipe!(NodeCacheBase of zkrecipes::NodeCache, NodeCache, "NodeCache");

#[pymethods]
impl NodeCacheBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<NodeCacheBase> {
        seed.get().take()
    }

    /// The path of the topmost node.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// The data and Stat of a node at or below the path, or None if there is none. Asks nobody. Invalid: another
    /// path.
    fn get(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        let path = convert::text("path", path)?;
        Self::origin(slf).guard(|| slf.get().core.get(&path)).or_raise(slf.py())?.answer(slf.py())
    }

    /// The names of the children of such a node, sorted, or None if there is no such node. Asks nobody.
    fn children(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        let path = convert::text("path", path)?;
        Self::origin(slf).guard(|| slf.get().core.children(&path)).or_raise(slf.py())?.answer(slf.py())
    }

    /// How old what is known may be, in seconds: so long ago, for certain, it was still so. While servers answer,
    /// less than half of the session timeout.
    #[getter]
    fn age(slf: &Bound<'_, Self>) -> Answered {
        Self::origin(slf).guard(|| Ok(slf.get().core.age())).or_raise(slf.py())?.answer(slf.py())
    }

    /// The paths of what has come, has gone or is different; at first of all that is there. The cache knows it by
    /// then, and a slow reader is told of a path once, however often it has changed.
    fn changes(slf: &Bound<'_, Self>) -> Answered {
        FeedBase::follow(slf.py(), Self::origin(slf), || Ok(slf.get().core.changes()))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!("<{} {}>", slf.get_type().name()?, core.path()))
    }
}

/// A node and all that is below it, kept here: reading it asks nobody. Made by `client.nodes.cache(path)`.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/cache-doc")
/// >>> client.nodes.ensure("/flags/dark-mode")
/// >>> cache = client.nodes.cache("/flags")
/// >>> cache.children("/flags"), cache.get("/flags/dark-mode")[0], cache.get("/flags/other")
/// (['dark-mode'], b'', None)
/// >>> for paths in cache.changes():                       # all that is there, then what is different
/// ...     print(paths)
/// ...     break
/// ['/flags', '/flags/dark-mode']
/// >>> client.close()
#[pyclass(frozen, weakref, extends = NodeCacheBase, module = "zkrecipes")]
pub struct NodeCache;
