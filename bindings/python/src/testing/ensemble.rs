//! Several embedded servers as one ensemble.

use std::time::Duration;

use crate::face::Arg;
use crate::generated::docs::doc_of;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::server::{EmbeddedServer, builder};
use super::{Running, TestingBase};
use crate::convert::{self, duration};
use crate::errors::invalid;

#[doc = doc_of!(Ensemble)]
#[pyclass(frozen, weakref, extends = EmbeddedServer, module = "zkrecipes.testing")]
pub struct Ensemble;

impl Ensemble {
    fn ask<T: Send>(
        slf: &Bound<'_, Self>,
        question: impl FnOnce(&zkrecipes_embedded::Ensemble) -> T + Send,
    ) -> PyResult<T> {
        slf.as_super().as_super().get().ask(slf.py(), |running| match running {
            Running::Ensemble(ensemble) => question(ensemble),
            _ => unreachable!("an ensemble is made as one"),
        })
    }
}

#[pymethods]
impl Ensemble {
    #[new]
    #[pyo3(signature = (members=None, *, port=None, **options), text_signature = "(members=3, *, port=None, **options)")]
    fn start(
        py: Python<'_>,
        members: Option<Arg>,
        port: Option<Arg>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let members = convert::permits_or("members", members, 3)?;
        if !(1..=99).contains(&members) {
            return Err(invalid(py, "members", "must be from 1 to 99"));
        }
        let builder = builder(py, port, options)?;
        let ensemble = py.detach(|| builder.start_ensemble(members))?;
        Ok(PyClassInitializer::from(TestingBase::new(Running::Ensemble(ensemble)))
            .add_subclass(EmbeddedServer)
            .add_subclass(Ensemble))
    }

    #[doc = doc_of!(Ensemble.members)]
    #[getter]
    fn members(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Self::ask(slf, |ensemble| ensemble.len())
    }

    #[doc = doc_of!(Ensemble.member)]
    fn member(slf: &Bound<'_, Self>, member: Arg) -> PyResult<String> {
        let number = convert::size("member", member)?;
        Self::ask(slf, |ensemble| ensemble.member(number))?.ok_or_else(|| {
            invalid(slf.py(), "member", format!("there is no member {number}; they count from 0"))
        })
    }

    #[doc = doc_of!(Ensemble.lag)]
    fn lag(slf: &Bound<'_, Self>, follower: Arg, seconds: Arg) -> PyResult<bool> {
        let (follower, lag): (_, Duration) =
            (convert::size("follower", follower)?, duration("seconds", seconds)?);
        Self::ask(slf, |ensemble| ensemble.lag(follower, lag))
    }

    #[doc = doc_of!(Ensemble.hold)]
    fn hold(slf: &Bound<'_, Self>, follower: Arg) -> PyResult<bool> {
        let follower = convert::size("follower", follower)?;
        Self::ask(slf, |ensemble| ensemble.hold(follower))
    }

    #[doc = doc_of!(Ensemble.release)]
    fn release(slf: &Bound<'_, Self>, follower: Arg) -> PyResult<bool> {
        let follower = convert::size("follower", follower)?;
        Self::ask(slf, |ensemble| ensemble.release(follower))
    }

    #[doc = doc_of!(Ensemble.isolate)]
    fn isolate(slf: &Bound<'_, Self>, follower: Arg) -> PyResult<bool> {
        let follower = convert::size("follower", follower)?;
        Self::ask(slf, |ensemble| ensemble.isolate(follower))
    }

    #[doc = doc_of!(Ensemble.heal)]
    fn heal(slf: &Bound<'_, Self>, follower: Arg) -> PyResult<bool> {
        let follower = convert::size("follower", follower)?;
        Self::ask(slf, |ensemble| ensemble.heal(follower))
    }

    #[doc = doc_of!(Ensemble.behind)]
    fn behind(slf: &Bound<'_, Self>, member: Arg) -> PyResult<i64> {
        let number = convert::size("member", member)?;
        Self::member(slf, member)?;
        Self::ask(slf, |ensemble| ensemble.behind(number))
    }
}
