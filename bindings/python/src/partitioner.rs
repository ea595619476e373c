//! What a partitioner's member wins: one by one in a loop, or all at the same time.

use pyo3::exceptions::{PyStopAsyncIteration, PyStopIteration};
use pyo3::prelude::*;
use zkrecipes::drive::CancelToken;
use zkrecipes::{ErrorKind, drive};

use crate::attach::call;
use crate::client::Origin;
use crate::convert::text;
use crate::errors::OrRaise;
use crate::face::{Answered, Arg, Face};
use crate::generated::docs::doc_of;
use crate::generated::{Partitioner, PartitionerBase};
use crate::held::{self, HeldBase};
use crate::owned::Owned;

#[doc = doc_of!(Wins)]
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct Wins {
    origin: Owned<Origin>,
    core: Owned<zkrecipes::Partitioner>,
    end: Owned<CancelToken>,
}

#[pymethods]
impl Wins {
    #[new]
    fn of(partitioner: &Bound<'_, PartitionerBase>) -> Wins {
        let core = &partitioner.get().core;
        Wins {
            origin: PartitionerBase::origin(partitioner).clone().into(),
            core: zkrecipes::Partitioner::clone(core).into(),
            end: core.next_cancel().into(),
        }
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> Answered {
        self.next(py)
    }

    #[pyo3(name = "_next")]
    fn next(&self, py: Python<'_>) -> Answered {
        let origin = Origin::clone(&self.origin);
        let begin = || {
            let next = self.end.check().map(|()| self.end.heed(drive::next_partition(&self.core, None)));
            async move {
                let won = match next {
                    Ok(next) => next.await,
                    Err(ended) => Err(ended),
                };
                match won {
                    Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Cancelled) => {
                        Ok(None)
                    }
                    won => won.map(Some),
                }
            }
        };
        self.origin.run_to(py, begin, move |py, won| match (won, origin.face) {
            (Some(won), _) => held::partition(py, origin, won),
            (None, Face::Blocking) => Err(PyStopIteration::new_err(())),
            (None, Face::Asyncio) => Err(PyStopAsyncIteration::new_err(())),
        })
    }
}

#[pymethods]
impl Partitioner {
    fn __iter__(slf: &Bound<'_, Self>) -> Wins {
        Wins::of(slf.as_super())
    }

    /// Works on all partitions that it wins at the same time, each in a thread of its own, until it leaves.
    ///
    /// Nothing can take a thread away from its work: it has to look at `partition.is_held`, and return when that is
    /// false, or when it is asked for the partition (`partition.on_revoke`). What returns lets go of its partition; as
    /// long as that is this member's, the work is begun again, after a pause. What it raises is logged.
    ///
    /// Ctrl-C asks for the partitions as `leave()` does, and waits for the work. A second one, or one while it waits for
    /// the work, gives back what is left and waits for nothing. `cancel()` asks for them, too, and so does `stop`, once that is
    /// set: with one that was set before, it wins nothing.
    #[pyo3(signature = (work, *, stop=None))]
    fn run(slf: &Bound<'_, Self>, work: Arg, stop: Option<Arg>) -> PyResult<()> {
        let run = slf.py().import("zkrecipes._partitions")?.getattr("run")?;
        let arguments = (slf, work, stop).into_pyobject(slf.py())?;
        call(&run, &arguments).map(drop)
    }
}

/// Says in the log that the work on a partition has failed.
#[pyfunction]
pub fn partition_failed(partition: &Bound<'_, HeldBase>, error: Arg) -> PyResult<()> {
    let error = text("error", error)?;
    let origin = &partition.as_super().get().origin;
    let tell = || {
        drive::partition_failed(&partition.get().held, &error);
        Ok(())
    };
    origin.guard(tell).or_raise(partition.py())
}
