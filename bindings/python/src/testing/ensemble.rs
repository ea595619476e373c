//! Several embedded servers as one ensemble.

use std::time::Duration;

use crate::face::Arg;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::server::{EmbeddedServer, builder};
use super::{Running, TestingBase};
use crate::convert::{self, duration};
use crate::errors::invalid;

/// Several embedded servers that are one ensemble, with followers that lag and can be cut off, as real ones do.
///
/// Member 0 leads. What a follower's clients read may be old, until they ask for a sync. What an `EmbeddedServer` can do
/// is done to all members at once, and `connect_string` names them all.
///
/// >>> import zkrecipes
/// >>> from zkrecipes.testing import Ensemble
/// >>> with Ensemble(3) as ensemble, zkrecipes.Client(ensemble.member(2)) as client:
/// ...     print(len(ensemble.connect_string.split(",")), ensemble.isolate(1), ensemble.isolate(2))
/// 3 True False
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

    /// How many members there are.
    #[getter]
    fn members(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Self::ask(slf, |ensemble| ensemble.len())
    }

    /// What clients of one member connect to.
    fn member(slf: &Bound<'_, Self>, member: Arg) -> PyResult<String> {
        let number = convert::size("member", member)?;
        Self::ask(slf, |ensemble| ensemble.member(number))?.ok_or_else(|| {
            invalid(slf.py(), "member", format!("there is no member {number}; they count from 0"))
        })
    }

    /// How many seconds late a follower learns of transactions, and of answers; False when there is no such follower.
    fn lag(slf: &Bound<'_, Self>, follower: Arg, seconds: Arg) -> PyResult<bool> {
        let (follower, lag): (_, Duration) =
            (convert::size("follower", follower)?, duration("seconds", seconds)?);
        Self::ask(slf, |ensemble| ensemble.lag(follower, lag))
    }

    /// Keeps everything from a follower until `release`: no answers to writes, old ones to reads.
    fn hold(slf: &Bound<'_, Self>, follower: Arg) -> PyResult<bool> {
        let follower = convert::size("follower", follower)?;
        Self::ask(slf, |ensemble| ensemble.hold(follower))
    }

    /// Lets a follower catch up.
    fn release(slf: &Bound<'_, Self>, follower: Arg) -> PyResult<bool> {
        let follower = convert::size("follower", follower)?;
        Self::ask(slf, |ensemble| ensemble.release(follower))
    }

    /// Cuts a follower off from the leader until `heal`. It goes on answering reads and pings, but vouches for nobody, and
    /// after five ticks it sends its clients away. False when there is no such follower, or the leader would be left
    /// without a majority.
    fn isolate(slf: &Bound<'_, Self>, follower: Arg) -> PyResult<bool> {
        let follower = convert::size("follower", follower)?;
        Self::ask(slf, |ensemble| ensemble.isolate(follower))
    }

    /// Connects a follower again; False when it was not cut off.
    fn heal(slf: &Bound<'_, Self>, follower: Arg) -> PyResult<bool> {
        let follower = convert::size("follower", follower)?;
        Self::ask(slf, |ensemble| ensemble.heal(follower))
    }

    /// How many transactions a member is behind the leader.
    fn behind(slf: &Bound<'_, Self>, member: Arg) -> PyResult<i64> {
        let number = convert::size("member", member)?;
        Self::member(slf, member)?;
        Self::ask(slf, |ensemble| ensemble.behind(number))
    }
}
