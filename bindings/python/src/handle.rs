//! What every recipe that is acquired and released shares: the handle. It keeps what was acquired through it, and what was
//! acquired keeps the handle; when the last of them is garbage, it is released in the background, with a ResourceWarning.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use zkrecipes::{ErrorKind, Held, WaitProgress, drive};

use crate::answer::Answer;
use crate::callback::{Callbacks, subscribe_owned};
use crate::client::{Origin, warn_unless_exiting};
use crate::convert::{self, flag_or};
use crate::errors::{OrRaise, invalid};
use crate::face::{Answered, Arg, wait};
use crate::generated::docs::doc_of;
use crate::held::leave;
use crate::holding::{Holder, HoldingBase};
use crate::owned::Owned;

/// The core's handle, shared by the Python one and by what it acquired.
pub struct Common {
    pub core: zkrecipes::Handle,
    pub origin: Origin,
    /// Makes the object of what is acquired.
    pub acquires: fn(Python<'_>, Held, Arc<Common>) -> Answered,
    /// Of the writers' side of a read/write lock, the readers' side, which a downgrade leads to.
    pub readers: OnceLock<Arc<Common>>,
}

impl Common {
    pub fn of(
        core: zkrecipes::Handle,
        origin: Origin,
        acquires: fn(Python<'_>, Held, Arc<Common>) -> Answered,
    ) -> Common {
        Common { core, origin, acquires, readers: OnceLock::new() }
    }

    /// From writing to reading: makes an object of the readers' side of what `begin` leads to.
    pub fn downgrade<F: Future<Output = zkrecipes::Result<drive::Granted>> + Send + 'static>(
        self: &Arc<Self>,
        py: Python<'_>,
        begin: impl FnOnce() -> F,
    ) -> Answered {
        // Without such a side nothing is granted.
        let readers = self.readers.get().unwrap_or(self).clone();
        self.origin.run_to(py, begin, |py, granted| (readers.acquires)(py, granted.keep(), readers))
    }
}

impl Drop for Common {
    fn drop(&mut self) {
        // In a forked child nothing is: what the parent holds is the parent's.
        let kept = drive::kept(&self.core);
        kept.iter().for_each(drive::tell_collected);
        if !kept.is_empty() {
            warn_unless_exiting(&format!(
                "the {} was garbage-collected while held; it is released in the background",
                self.core
            ));
        }
    }
}

/// The acquisitions that `with` statements entered, by thread: threads take turns on one handle, and one that released
/// early must not leave with another's acquisition.
#[derive(Default)]
pub struct Scopes(Mutex<Vec<(ThreadId, Held)>>);

impl Scopes {
    fn enter(&self, py: Python<'_>, common: &Arc<Common>, n: usize, limit: Option<Duration>) -> Answered {
        common.origin.check().or_raise(py)?;
        let held = wait(py, || drive::acquire(&common.core, n, limit))?.keep();
        let handed = (common.acquires)(py, held.clone(), common.clone())?;
        self.all().push((thread::current().id(), held));
        Ok(handed)
    }

    fn leave(&self, py: Python<'_>, body_failed: bool) -> PyResult<()> {
        let here = thread::current().id();
        let entered = {
            let mut all = self.all();
            // A fixture may be entered on one thread and left on another: then it is the latest.
            let own = all.iter().rposition(|(thread, _)| *thread == here).or(all.len().checked_sub(1));
            own.map(|index| all.remove(index))
        };
        entered.map_or(Ok(()), |(_, held)| leave(py, held, body_failed))
    }

    fn all(&self) -> MutexGuard<'_, Vec<(ThreadId, Held)>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

#[doc = doc_of!(Handle)]
#[pyclass(frozen, subclass, weakref, extends = HoldingBase, name = "Handle", module = "zkrecipes._native")]
pub struct HandleBase {
    pub common: Owned<Arc<Common>>,
    scopes: Owned<Scopes>,
    /// Who hears of its waits.
    listeners: Owned<Arc<Callbacks>>,
}

impl HandleBase {
    pub fn of(common: Common) -> PyClassInitializer<HandleBase> {
        let common = Arc::new(common);
        PyClassInitializer::from(HoldingBase::new(common.origin.clone(), Holder::Handle(common.clone())))
            .add_subclass(HandleBase {
                common: common.into(),
                scopes: Owned::default(),
                listeners: Owned::default(),
            })
    }

    /// `n` permits, or None when the time ran out.
    pub fn acquire_some(
        &self,
        py: Python<'_>,
        n: usize,
        blocking: Option<Arg>,
        timeout: Option<Arg>,
    ) -> Answered {
        let mut limit = convert::limit("timeout", timeout)?;
        if !flag_or("blocking", blocking, true)? {
            if limit.is_some() {
                return Err(invalid(
                    py,
                    "timeout",
                    "a call that does not block waits for nothing; leave it out",
                ));
            }
            limit = Some(Duration::ZERO);
        }
        let common = self.common.clone();
        let begin = || {
            let acquiring = drive::acquire(&self.common.core, n, limit);
            async move {
                match acquiring.await {
                    Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
                    acquired => acquired.map(Some),
                }
            }
        };
        self.common.origin.run_to(py, begin, move |py, acquired| match acquired {
            Some(granted) => (common.acquires)(py, granted.keep(), common.clone()),
            None => Ok(py.None()),
        })
    }

    /// The same, but it raises Timeout.
    pub fn take_some(&self, py: Python<'_>, n: usize, limit: Option<Duration>) -> Answered {
        let common = self.common.clone();
        self.common.origin.run_to(
            py,
            || drive::acquire(&self.common.core, n, limit),
            move |py, granted| (common.acquires)(py, granted.keep(), common.clone()),
        )
    }

    pub fn hold(slf: &Bound<'_, Self>, n: usize, timeout: Option<Arg>) -> PyResult<Hold> {
        let limit = convert::limit("timeout", timeout)?;
        Ok(Hold { handle: slf.clone().unbind().into(), n, limit, scopes: Owned::default() })
    }

    pub fn enter(&self, py: Python<'_>) -> Answered {
        self.scopes.enter(py, &self.common, 1, None)
    }

    pub fn exit(&self, py: Python<'_>, body_failed: bool) -> PyResult<()> {
        self.scopes.leave(py, body_failed)
    }
}

#[pymethods]
impl HandleBase {
    #[doc = doc_of!(Handle.acquire)]
    #[pyo3(signature = (blocking=None, timeout=None), text_signature = "($self, blocking=True, timeout=None)")]
    fn acquire(&self, py: Python<'_>, blocking: Option<Arg>, timeout: Option<Arg>) -> Answered {
        self.acquire_some(py, 1, blocking, timeout)
    }

    /// `acquire` that raises Timeout.
    #[pyo3(name = "_take")]
    fn take(&self, py: Python<'_>, n: Arg, timeout: Option<Arg>) -> Answered {
        self.take_some(py, convert::permits("n", n)?, convert::limit("timeout", timeout)?)
    }

    #[doc = doc_of!(Handle.cancel)]
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        self.common
            .origin
            .guard(|| {
                self.common.core.cancel();
                Ok(())
            })
            .or_raise(py)
    }

    #[doc = doc_of!(Handle.on_wait)]
    fn on_wait<'py>(&self, callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCFunction>> {
        let origin = &self.common.origin;
        subscribe_owned(origin, &self.listeners, callback, |callback| {
            let tell = move |progress: WaitProgress| callback.call(|py| Ok(vec![progress.answer(py)?]));
            self.common.core.on_wait(tell)
        })
    }

    #[doc = doc_of!(Handle.contenders)]
    fn contenders(&self, py: Python<'_>) -> Answered {
        let handle = self.common.core.clone();
        self.common.origin.run(py, || async move { handle.contenders().await })
    }

    #[doc = doc_of!(Handle.revoke)]
    #[pyo3(signature = (contender=None, force_after=None))]
    fn revoke(&self, py: Python<'_>, contender: Option<Arg>, force_after: Option<Arg>) -> Answered {
        let contender = contender.map(|one| convert::contender_node("contender", one)).transpose()?;
        let patience = convert::patience("force_after", force_after)?;
        let handle = self.common.core.clone();
        let asking = async move { handle.revoke(contender.as_deref(), patience).await };
        self.common.origin.run(py, || asking)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let handle = &slf.get().common.core;
        let held = if handle.is_held() { "held" } else { "not held" };
        Ok(format!("<{} {} {held}>", slf.get_type().name()?, handle.path()))
    }
}

/// The base of a recipe that is acquired, with its own verbs on top of `HandleBase`, and its two public classes.
macro_rules! handle_recipe {
    ($base:ident of $core:ty, $public:ident, $name:literal) => {
        $crate::handle::handle_recipe!($base of $core, $public, $name, $crate::held::HeldBase::of);
    };
    ($base:ident of $core:ty, $public:ident, $name:literal, $acquires:expr) => {
        #[doc = concat!("What `", stringify!($public), "` is on both faces.")]
        #[pyo3::pyclass(
            frozen,
            subclass,
            extends = $crate::handle::HandleBase,
            name = $name,
            module = "zkrecipes._native"
        )]
        pub struct $base {
            pub core: $crate::owned::Owned<$core>,
        }

        impl $base {
            pub fn origin<'a>(slf: &'a pyo3::Bound<'_, $base>) -> &'a $crate::client::Origin {
                &slf.as_super().as_super().get().origin
            }

            pub fn of(
                py: pyo3::Python<'_>,
                origin: &$crate::client::Origin,
                core: $core,
            ) -> $crate::face::Answered {
                let (face, origin) = (origin.face, origin.clone());
                $base::hand_out(py, face, || {
                    let handle = zkrecipes::Handle::clone(&core);
                    let common = $crate::handle::Common::of(handle, origin, $acquires);
                    $crate::handle::HandleBase::of(common).add_subclass($base { core: core.into() })
                })
            }
        }

        $crate::face::two_faces!($base, $public);
    };
}
pub(crate) use handle_recipe;

/// The context manager of a blocking handle, native so that no signal can fall between acquiring and entering.
macro_rules! context_manager {
    ($class:ident, $($hold:tt)*) => {
        #[pymethods]
        impl $class {
            $($hold)*

            fn __enter__(slf: &Bound<'_, Self>) -> Answered {
                slf.as_super().as_super().get().enter(slf.py())
            }

            fn __exit__(
                slf: &Bound<'_, Self>,
                kind: Arg,
                _exception: Arg,
                _traceback: Arg,
            ) -> PyResult<()> {
                slf.as_super().as_super().get().exit(slf.py(), !kind.is_none())
            }
        }
    };
}
pub(crate) use context_manager;

#[doc = doc_of!(Hold)]
#[pyclass(frozen, generic, module = "zkrecipes")]
pub struct Hold {
    // The object rather than the core's handle: who hears of its waits hears of this one, too.
    handle: Owned<Py<HandleBase>>,
    n: usize,
    limit: Option<Duration>,
    scopes: Owned<Scopes>,
}

#[pymethods]
impl Hold {
    fn __enter__(&self, py: Python<'_>) -> Answered {
        self.scopes.enter(py, &self.handle.get().common, self.n, self.limit)
    }

    fn __exit__(&self, py: Python<'_>, kind: Arg, _exception: Arg, _traceback: Arg) -> PyResult<()> {
        self.scopes.leave(py, !kind.is_none())
    }
}
