//! What reads, lets the caller change it, and sets: in Python, since the change is.

use pyo3::prelude::*;
use zkrecipes::drive;

use crate::attach::call;
use crate::face::{Answered, Arg};
use crate::generated::docs::doc_of;
use crate::generated::{Config, Nodes};

#[doc = doc_of!(version_after)]
#[pyfunction]
pub fn version_after(version: Option<i32>) -> i32 {
    drive::version_after(version)
}

#[pymethods]
impl Config {
    /// Replaces the value by what `change` returns for it; for None, where nobody has set it. If somebody sets it
    /// meanwhile, `change` is called again, with that value. Returns what was set. Each change is made once, also where an
    /// answer got lost; ConnectionLost: nobody can know whether it was made. What `change` raises sets nothing.
    fn update(slf: &Bound<'_, Self>, change: Arg) -> Answered {
        let update = slf.py().import("zkrecipes._updates")?.getattr("update_config")?;
        let arguments = (slf, change).into_pyobject(slf.py())?;
        call(&update, &arguments).map(Bound::unbind)
    }
}

#[pymethods]
impl Nodes {
    /// Replaces the data of a node by what `change` returns for it. If somebody sets it meanwhile, `change` is called
    /// again, with that. NoNode: there is no such node. ConnectionLost: the data may have been replaced, or not.
    fn update(slf: &Bound<'_, Self>, path: Arg, change: Arg) -> Answered {
        let update = slf.py().import("zkrecipes._updates")?.getattr("update_node")?;
        let arguments = (slf, path, change).into_pyobject(slf.py())?;
        call(&update, &arguments).map(Bound::unbind)
    }
}
