//! `Election`: one candidate, and what it wins.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use zkrecipes::drive;

use crate::answer::Answer;
use crate::attach::call;
use crate::callback::{self, CallbackTimes};
use crate::convert;
use crate::errors::{OrRaise, guard};
use crate::face::{Answered, Arg, Face, Fresh, Seed, asyncio_object};
use crate::feed::FeedBase;
use crate::generated::docs::doc_of;
use crate::handle::{Common, HandleBase, Hold, context_manager, handle_recipe};
use crate::held::{Held, HeldBase};
use crate::owned::Owned;

handle_recipe!(ElectionBase of zkrecipes::Election, Election, "Election", leadership);

/// What an election acquires: a Held with more verbs.
fn leadership(py: Python<'_>, held: zkrecipes::Held, common: Arc<Common>) -> Answered {
    match common.origin.face {
        Face::Blocking => {
            let all = HeldBase::made(held, common).add_subclass(Held).add_subclass(Leadership);
            Ok(Py::new(py, all)?.into_any())
        }
        Face::Asyncio => asyncio_object(py, "Leadership", || HeldBase::made(held, common)),
    }
}

#[pymethods]
impl ElectionBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<ElectionBase> {
        seed.get().take()
    }

    // --- generated from api: methods of Election

    /// The path of the election.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// Hands the leadership over to a candidate, or to the first of an identity. Those who stand before it are
    /// asked to move behind, then this one resigns. Whether the other one leads: False if there is no such
    /// candidate, or if others stand before it that do not go within five seconds. Nothing has changed for the
    /// leader then, and who was asked may stand further back. NotHeld: this one does not lead.
    fn transfer(slf: &Bound<'_, Self>, to: Arg) -> Answered {
        let to = convert::contender_node("to", to)?;
        let core = zkrecipes::Election::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.transfer(&to).await })
    }

    /// Whether this candidate certainly leads, by the clock and without I/O.
    #[getter]
    fn is_leader(slf: &Bound<'_, Self>) -> Answered {
        Self::origin(slf).guard(|| Ok(slf.get().core.is_leader())).or_raise(slf.py())?.answer(slf.py())
    }

    /// Who leads now, or None; whether or not this candidate stands.
    fn leader(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Election::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.leader().await })
    }

    /// All who stand, in the order in which they will lead; the first one leads.
    fn candidates(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Election::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.candidates().await })
    }

    /// Who leads, now and whenever that changes; None while nobody does. That a leader has begun its work is told,
    /// too.
    fn observe(slf: &Bound<'_, Self>) -> Answered {
        FeedBase::follow(slf.py(), Self::origin(slf), || Ok(slf.get().core.observe()))
    }
    // --- end of generated

    #[doc = doc_of!(ElectionBase.campaign)]
    #[pyo3(signature = (timeout=None))]
    fn campaign(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> Answered {
        let limit = convert::limit("timeout", timeout)?;
        slf.as_super().get().take_some(slf.py(), 1, limit)
    }

    #[doc = doc_of!(ElectionBase.resign)]
    fn resign(slf: &Bound<'_, Self>) -> Answered {
        slf.as_super().as_super().get().let_go(slf.py())
    }

    /// Ends the campaigns in progress with Cancelled, and `run`; later ones are not affected.
    fn cancel(slf: &Bound<'_, Self>) -> PyResult<()> {
        let cancel = || {
            slf.get().core.cancel();
            Ok(())
        };
        slf.as_super().as_super().get().origin.guard(cancel).or_raise(slf.py())
    }

    fn _set_healthy(&self, healthy: bool) {
        self.core.set_healthy(healthy);
    }

    /// In seconds.
    #[getter]
    fn _health_interval(&self) -> f64 {
        drive::HEALTH_INTERVAL.as_secs_f64()
    }

    #[pyo3(name = "_terms")]
    fn terms(slf: &Bound<'_, Self>, work: Arg) -> PyResult<Terms> {
        callback::function("work", work, slf.as_super().as_super().get().origin.face)?;
        let origin = &slf.as_super().as_super().get().origin;
        let terms = origin.guard(|| drive::terms(&slf.get().core)).or_raise(slf.py())?;
        let common = slf.as_super().get().common.clone();
        Ok(Terms { terms: Arc::new(tokio::sync::Mutex::new(terms)).into(), common: common.into() })
    }
}

#[doc = doc_of!(Terms)]
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct Terms {
    terms: Owned<Arc<tokio::sync::Mutex<drive::Terms>>>,
    common: Owned<Arc<Common>>,
}

#[pymethods]
impl Terms {
    #[doc = doc_of!(Terms.next)]
    fn next(&self, py: Python<'_>) -> Answered {
        let (terms, common) = (self.terms.clone(), self.common.clone());
        self.common.origin.run_to(
            py,
            || async move { terms.lock().await.next().await },
            move |py, won| match won {
                Some(won) => leadership(py, (*won).clone(), common),
                None => Ok(py.None()),
            },
        )
    }

    #[doc = doc_of!(Terms.begins)]
    fn begins(&self, leadership: &Bound<'_, HeldBase>) -> bool {
        let won = drive::leadership(leadership.get().held.clone());
        // Nobody else uses them between two waits.
        self.terms.try_lock().is_ok_and(|terms| terms.begins(&won))
    }

    #[doc = doc_of!(Terms.tells)]
    fn tells(&self, leadership: &Bound<'_, HeldBase>) {
        let won = drive::leadership(leadership.get().held.clone());
        // Nobody else uses them between two waits.
        if let Ok(terms) = self.terms.try_lock() {
            terms.tells(&won);
        }
    }

    #[doc = doc_of!(Terms.over)]
    fn over(&self, py: Python<'_>, leadership: &Bound<'_, HeldBase>) -> Answered {
        let (terms, won) = (self.terms.clone(), drive::leadership(leadership.get().held.clone()));
        self.common.origin.run(py, || async move {
            let over = terms.lock().await.over(&won);
            over.await;
            Ok(())
        })
    }

    #[doc = doc_of!(Terms.end)]
    fn end(&self, py: Python<'_>, leadership: &Bound<'_, HeldBase>, raised: Arg) -> Answered {
        let (terms, won) = (self.terms.clone(), drive::leadership(leadership.get().held.clone()));
        let told = match raised.is_none() {
            true => Ok(None),
            false => callback::tell_failure(won.path(), raised).map(Some),
        };
        // Somebody interrupted that, which ends all of it.
        let failure = told.inspect_err(|_| Terms::abandon(leadership))?;
        self.common.origin.run(py, || {
            let releasing = won.release();
            async move {
                // Unconfirmed, it goes on in the background; lost or resigned, there is nothing to do.
                let _ = releasing.await;
                let mut terms = terms.lock().await;
                match failure {
                    Some(failure) => terms.failed(&won, &failure),
                    None => terms.succeeded(),
                }
                Ok(())
            }
        })
    }

    #[doc = doc_of!(Terms.times)]
    #[getter]
    fn times(&self) -> CallbackTimes {
        CallbackTimes::of(&self.common.origin)
    }

    #[doc = doc_of!(Terms.abandon)]
    #[staticmethod]
    fn abandon(leadership: &Bound<'_, HeldBase>) {
        // Lost or resigned, there is nothing to do.
        let _ = guard(|| leadership.get().held.release_in_background());
    }
}

/// Cancels what goes on through the election once `stop` is set.
fn stopped_by<'py>(stop: Arg<'_, 'py>, election: &Bound<'py, Election>) -> PyResult<Bound<'py, PyAny>> {
    let stopped_by = election.py().import("zkrecipes._stopping")?.getattr("stopped_by")?;
    stopped_by.call1((stop, election.getattr("cancel")?))
}

/// Term after term, on the thread of its caller.
fn lead(terms: &Bound<'_, Terms>, work: Arg, stopping: Option<Arg>) -> PyResult<()> {
    let py = terms.py();
    loop {
        if let Some(stopping) = stopping {
            stopping.call_method0("look")?;
        }
        let next = terms.get().next(py)?;
        let Ok(won) = next.bind(py).cast::<HeldBase>() else { return Ok(()) };
        if !terms.get().begins(won) {
            return Ok(());
        }
        terms.get().tells(won);
        let arguments = PyTuple::new(py, [won])?;
        // That of a daemon thread may last until the interpreter is gone.
        match call(work, &arguments) {
            Ok(result) => {
                terms.get().end(py, won, py.None().bind(py))?;
                callback::check_result("work", &result, Face::Blocking)?;
            }
            Err(raised) if raised.is_instance_of::<PyException>(py) => {
                terms.get().end(py, won, raised.value(py))?;
            }
            Err(raised) => {
                Terms::abandon(won);
                return Err(raised);
            }
        }
    }
}

#[doc = doc_of!(Election)]
#[pyclass(frozen, weakref, extends = ElectionBase, module = "zkrecipes")]
pub struct Election;

context_manager! { Election,
    #[doc = doc_of!(Election.hold)]
    #[pyo3(signature = (timeout=None))]
    fn hold(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> PyResult<Hold> {
        HandleBase::hold(slf.as_super().as_super(), 1, timeout)
    }

    #[doc = doc_of!(Election.run)]
    #[pyo3(signature = (work, healthy=None, *, stop=None))]
    fn run(slf: &Bound<'_, Self>, work: Arg, healthy: Option<Arg>, stop: Option<Arg>) -> PyResult<()> {
        let terms = Bound::new(slf.py(), ElectionBase::terms(slf.as_super(), work)?)?;
        let healthy =
            healthy.map(|healthy| callback::function("healthy", healthy, Face::Blocking)).transpose()?;
        // It ends the run for as long as this is here.
        let stopping = stop.map(|stop| stopped_by(stop, slf)).transpose()?;
        let stopping = stopping.as_ref();
        let Some(healthy) = healthy else { return lead(&terms, work, stopping) };
        let checks = slf.py().import("zkrecipes._leading")?.getattr("Checks")?.call1((slf, healthy))?;
        let led = lead(&terms, work, stopping);
        let end = || checks.call_method0("end");
        // Ctrl-C may come before it has done anything.
        end().or_else(|interrupted| end().and(Err(interrupted))).and(led)
    }

    #[doc = doc_of!(Election.leading)]
    fn leading(slf: &Bound<'_, Self>, function: Arg) -> Answered {
        let function = callback::function("function", function, Face::Blocking)?;
        let decorate = slf.py().import("zkrecipes._leading")?.getattr("blocking")?;
        Ok(decorate.call1((slf, function))?.unbind())
    }
}

#[doc = doc_of!(Leadership)]
#[pyclass(frozen, weakref, extends = Held, module = "zkrecipes")]
pub struct Leadership;

#[pymethods]
impl Leadership {
    #[doc = doc_of!(Leadership.epoch)]
    #[getter]
    fn epoch(slf: &Bound<'_, Self>) -> PyResult<u64> {
        HeldBase::say(slf.as_super().as_super(), zkrecipes::Held::fencing_token)
    }

    #[doc = doc_of!(Leadership.signal)]
    #[getter]
    fn signal<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        slf.py().import("zkrecipes._leading")?.getattr("signal")?.call1((slf,))
    }

    /// Whether the signal is to be set. Nobody's callback holds that up.
    #[getter]
    fn _is_over(slf: &Bound<'_, Self>) -> PyResult<bool> {
        HeldBase::say(slf.as_super().as_super(), |held| {
            let over = pin!(drive::leadership(held.clone()).signal());
            over.poll(&mut Context::from_waker(Waker::noop())).is_ready()
        })
    }

    #[doc = doc_of!(Leadership.acknowledge)]
    fn acknowledge(slf: &Bound<'_, Self>, data: Arg) -> Answered {
        HeldBase::acknowledge(slf.as_super().as_super(), data)
    }
}
