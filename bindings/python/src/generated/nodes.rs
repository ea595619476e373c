//! Generated from api/nodes.toml by api/generate; do not edit.

use pyo3::prelude::*;

use super::{NodeCacheBase, TransactionBase};
use crate::client::Origin;
use crate::convert;
use crate::errors::OrRaise;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::feed::FeedBase;

recipe!(NodesBase of zkrecipes::Nodes, Nodes, "Nodes");

#[pymethods]
impl NodesBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<NodesBase> {
        seed.get().take()
    }

    /// Writes that happen together or not at all.
    fn transaction(slf: &Bound<'_, Self>) -> Answered {
        let made = Self::origin(slf).guard(|| Ok(slf.get().core.transaction())).or_raise(slf.py())?;
        TransactionBase::of(slf.py(), Self::origin(slf), made)
    }

    /// Creates a node and returns its path, which ends in a number for the sequential modes. `mode` is persistent,
    /// ephemeral, persistent_sequential, ephemeral_sequential or container. A persistent one may have a time to
    /// live: the server removes it once it has had neither children nor changes for `ttl` seconds. Servers take
    /// that only with zookeeper.extendedTypesEnabled=true; others make it Invalid.
    #[pyo3(signature = (path, data=None, mode=None, *, ttl=None), text_signature = "($self, path, data=b'', mode='persistent', *, ttl=None)")]
    fn create(
        slf: &Bound<'_, Self>,
        path: Arg,
        data: Option<Arg>,
        mode: Option<Arg>,
        ttl: Option<Arg>,
    ) -> Answered {
        let path = convert::text("path", path)?;
        let data = convert::payload_or_empty(data)?;
        let mode = convert::create_mode(mode, ttl)?;
        let core = zkrecipes::Nodes::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.create(&path, &data, mode).await })
    }

    /// A node's data and Stat.
    fn get(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        let path = convert::text("path", path)?;
        let core = zkrecipes::Nodes::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.get(&path).await })
    }

    /// Writes a node's data, if it has this version; returns the new Stat.
    #[pyo3(signature = (path, data, version=None))]
    fn set(slf: &Bound<'_, Self>, path: Arg, data: Arg, version: Option<Arg>) -> Answered {
        let path = convert::text("path", path)?;
        let data = convert::payload("data", data)?;
        let version = convert::version("version", version)?;
        let core = zkrecipes::Nodes::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.set(&path, &data, version).await })
    }

    /// Deletes a node without children, if it has this version.
    #[pyo3(signature = (path, version=None))]
    fn delete(slf: &Bound<'_, Self>, path: Arg, version: Option<Arg>) -> Answered {
        let path = convert::text("path", path)?;
        let version = convert::version("version", version)?;
        let core = zkrecipes::Nodes::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.delete(&path, version).await })
    }

    /// A node's Stat, or None.
    fn exists(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        let path = convert::text("path", path)?;
        let core = zkrecipes::Nodes::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.exists(&path).await })
    }

    /// The names of a node's children, sorted.
    fn children(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        let path = convert::text("path", path)?;
        let core = zkrecipes::Nodes::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.children(&path).await })
    }

    /// The paths of the ephemeral nodes that the session of this client has at `path` and below it, sorted.
    /// Invalid: the server is older than 3.6.
    fn ephemerals(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        let path = convert::text("path", path)?;
        let core = zkrecipes::Nodes::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.ephemerals(&path).await })
    }

    /// Creates a node and its parents where they are missing.
    fn ensure(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        let path = convert::text("path", path)?;
        let core = zkrecipes::Nodes::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.ensure(&path).await })
    }

    /// Deletes a node and all below it.
    fn delete_all(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        let path = convert::text("path", path)?;
        let core = zkrecipes::Nodes::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.delete_all(&path).await })
    }

    /// Keeps a node and all that is below it here: waits until all of it is known, and follows it from then on. The
    /// node need not exist; what we may not read is left out. It costs two requests for each node at first, then
    /// one or two for each change, whoever reads it how often.
    fn cache(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        let path = convert::text("path", path)?;
        let core = zkrecipes::Nodes::clone(&slf.get().core);
        let origin = Origin::clone(Self::origin(slf));
        Self::origin(slf).run_to(
            slf.py(),
            || async move { core.cache(&path).await },
            move |py, answer| NodeCacheBase::of(py, &origin, answer),
        )
    }

    /// How a node stands now, and whenever that has changed: its data and Stat, the names of its "children", or by
    /// path the data and Stat of it and of all below it ("subtree"). The node need not exist: then it is None, or
    /// an empty dict.
    #[pyo3(signature = (path, kind=None), text_signature = "($self, path, kind='data')")]
    fn watch(slf: &Bound<'_, Self>, path: Arg, kind: Option<Arg>) -> Answered {
        let path = convert::text("path", path)?;
        let kind = convert::word_or("kind", kind)?;
        FeedBase::follow(slf.py(), Self::origin(slf), || slf.get().core.watch(&path, kind))
    }
}

/// Plain node operations. The `nodes` of a client.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:")
/// >>> client.nodes.ensure("/nodes-doc")
/// >>> client.nodes.create("/nodes-doc/item-", "first", "persistent_sequential")
/// '/nodes-doc/item-0000000000'
/// >>> data, stat = client.nodes.get("/nodes-doc/item-0000000000")
/// >>> data, stat.version
/// (b'first', 0)
/// >>> client.nodes.update("/nodes-doc/item-0000000000", bytes.upper).version
/// 1
/// >>> client.close()
#[pyclass(frozen, weakref, extends = NodesBase, module = "zkrecipes")]
pub struct Nodes;
