//! What a partitioner's member wins: one by one in a loop, or all at the same time.

use pyo3::exceptions::PyStopIteration;
use pyo3::prelude::*;
use zkrecipes::{ErrorKind, drive};

use crate::attach::call;
use crate::client::Origin;
use crate::convert::text;
use crate::errors::OrRaise;
use crate::face::{Answered, Arg};
use crate::generated::{Partitioner, PartitionerBase};
use crate::held::{self, HeldBase};

#[pymethods]
impl Partitioner {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(slf: &Bound<'_, Self>) -> Answered {
        let core = &slf.as_super().get().core;
        let origin = Origin::clone(PartitionerBase::origin(slf.as_super()));
        let begin = || {
            let next = core.heed(drive::next_partition(core, None));
            async move {
                match next.await {
                    Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Cancelled) => {
                        Ok(None)
                    }
                    won => won.map(Some),
                }
            }
        };
        PartitionerBase::origin(slf.as_super()).run_to(slf.py(), begin, move |py, won| match won {
            Some(won) => held::partition(py, origin, won),
            None => Err(PyStopIteration::new_err(())),
        })
    }

    /// Works on all partitions that it wins at the same time, each in a thread of its own, until it leaves.
    ///
    /// Nothing can take a thread away from its work: it has to look at `partition.is_held`, and return when that is
    /// false, or when it is asked for the partition (`partition.on_revoke`). What returns lets go of its partition; as
    /// long as that is this member's, the work is begun again, after a pause. What it raises is logged.
    ///
    /// Ctrl-C asks for the partitions as `leave()` does, and waits for the work. A second one, or one while it waits for
    /// the work, gives back what is left and waits for nothing.
    fn run(slf: &Bound<'_, Self>, work: Arg) -> PyResult<()> {
        let run = slf.py().import("zkrecipes._partitions")?.getattr("run")?;
        let arguments = (slf, work).into_pyobject(slf.py())?;
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
