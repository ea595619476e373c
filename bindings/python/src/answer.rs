//! What a verb answers, as a Python value. The small value types live in zkrecipes/_values.py, where they can be NamedTuples
//! and a str-enum.

use std::collections::BTreeMap;
use std::time::Duration;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyTuple, PyType};
use zkrecipes::drive::{Declared, Done, Got, Sample, Value};
use zkrecipes::{
    Cached, CommitStatus, Contender, DeadLetter, GroupEvent, Histogram, Leader, Metrics, NodeState,
    PartResult, QueueStats, SiteStatus, Stat, State, Versioned, WaitProgress,
};
use zkrecipes_embedded::{LogEntry, Outcome};

use crate::attach::{call, parked_if_unwound};
use crate::face::{Answered, Arg};

/// A value of the core that a verb may answer.
pub trait Answer: Send + 'static {
    fn answer(self, py: Python<'_>) -> Answered;
}

/// Values that are Python's own.
macro_rules! plain {
    ($($kind:ty),*) => {
        $(impl Answer for $kind {
            fn answer(self, py: Python<'_>) -> Answered {
                Ok(self.into_pyobject(py)?.to_owned().into_any().unbind())
            }
        })*
    };
}
plain!(bool, i32, u32, i64, u64, usize, String);

impl Answer for () {
    fn answer(self, py: Python<'_>) -> Answered {
        Ok(py.None())
    }
}

/// What was declared is its owner's only now, and outlives the object: when that is garbage is nobody's decision.
impl Answer for Declared {
    fn answer(self, py: Python<'_>) -> Answered {
        self.receive_for_good();
        Ok(py.None())
    }
}

impl Answer for Done {
    fn answer(self, py: Python<'_>) -> Answered {
        self.receive();
        Ok(py.None())
    }
}

impl Answer for Got {
    fn answer(self, py: Python<'_>) -> Answered {
        self.hand_over().answer(py)
    }
}

impl<T: Answer> Answer for Option<T> {
    fn answer(self, py: Python<'_>) -> Answered {
        self.map_or_else(|| Ok(py.None()), |value| value.answer(py))
    }
}

impl<T: Answer> Answer for Vec<T> {
    fn answer(self, py: Python<'_>) -> Answered {
        list(py, self, |one| one.answer(py))
    }
}

/// A list of what `object` makes of each.
pub fn list<T>(py: Python<'_>, all: Vec<T>, object: impl FnMut(T) -> Answered) -> Answered {
    let all = all.into_iter().map(object).collect::<PyResult<Vec<_>>>()?;
    Ok(all.into_pyobject(py)?.unbind())
}

/// In seconds.
impl Answer for Duration {
    fn answer(self, py: Python<'_>) -> Answered {
        Ok(self.as_secs_f64().into_pyobject(py)?.into_any().unbind())
    }
}

/// A payload.
impl Answer for Vec<u8> {
    fn answer(self, py: Python<'_>) -> Answered {
        Ok(PyBytes::new(py, &self).into_any().unbind())
    }
}

impl<A: Answer, B: Answer> Answer for (A, B) {
    fn answer(self, py: Python<'_>) -> Answered {
        Ok((self.0.answer(py)?, self.1.answer(py)?).into_pyobject(py)?.into_any().unbind())
    }
}

impl<T: Answer> Answer for BTreeMap<String, T> {
    fn answer(self, py: Python<'_>) -> Answered {
        let all = PyDict::new(py);
        for (name, value) in self {
            all.set_item(name, value.answer(py)?)?;
        }
        Ok(all.into_any().unbind())
    }
}

/// The class of this name in zkrecipes/_values.py, called with `$fields`. That runs Python code, also in a daemon thread that
/// CPython ends there when the interpreter exits.
macro_rules! value {
    ($py:expr, $name:literal, $fields:expr) => {{
        static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let fields = $fields.into_pyobject($py)?;
        let fields: &Bound<'_, PyTuple> = &fields;
        Ok(call(TYPE.import($py, "zkrecipes._values", $name)?, fields)?.unbind())
    }};
}

pub(crate) use value;

impl Answer for State {
    fn answer(self, py: Python<'_>) -> Answered {
        value!(py, "State", (self.name(),))
    }
}

impl Answer for Metrics {
    fn answer(self, py: Python<'_>) -> Answered {
        static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
        let fields = PyDict::new(py);
        for Sample { name, value, .. } in self.samples() {
            match value {
                Value::Counter(count) | Value::Gauge(count) => fields.set_item(name, count)?,
                Value::Counters(_, counts) => fields.set_item(name, counts)?,
                Value::Time(time) => fields.set_item(name, time.map(|time| time.as_secs_f64()))?,
                Value::Histogram(counted) => fields.set_item(name, counted.clone().answer(py)?)?,
                unknown => return Err(PyRuntimeError::new_err(format!("{unknown:?} is unknown here"))),
            }
        }
        fields.set_item("prometheus", self.to_prometheus())?;
        let (class, none) = (TYPE.import(py, "zkrecipes._values", "Metrics")?, PyTuple::empty(py));
        Ok(parked_if_unwound(|| class.call(&none, Some(&fields)))?.unbind())
    }
}

impl Answer for Histogram {
    fn answer(self, py: Python<'_>) -> Answered {
        let buckets = self.buckets.iter().map(|(bound, count)| (bound.as_secs_f64(), *count));
        value!(py, "Histogram", (self.count, self.sum.as_secs_f64(), buckets.collect::<Vec<_>>()))
    }
}

impl Answer for Stat {
    fn answer(self, py: Python<'_>) -> Answered {
        let fields = (
            self.czxid,
            self.mzxid,
            self.ctime,
            self.mtime,
            self.version,
            self.cversion,
            self.aversion,
            // The client's `session_id`, which has no sign.
            self.ephemeral_owner as u64,
            self.data_length,
            self.num_children,
            self.pzxid,
        );
        value!(py, "Stat", fields)
    }
}

impl Answer for PartResult {
    fn answer(self, py: Python<'_>) -> Answered {
        match self {
            PartResult::Created(path) => path.answer(py),
            PartResult::Set(stat) => stat.answer(py),
            _ => Ok(py.None()),
        }
    }
}

impl Answer for Contender {
    fn answer(self, py: Python<'_>) -> Answered {
        let fields = (self.node, self.identity, self.kind, self.session_id, self.since, self.holds);
        value!(py, "Contender", fields)
    }
}

impl Answer for DeadLetter {
    fn answer(self, py: Python<'_>) -> Answered {
        let data = self.data.answer(py)?;
        value!(py, "DeadLetter", (self.id, data, self.reason, self.attempts, self.died_at, self.problem))
    }
}

impl Answer for QueueStats {
    fn answer(self, py: Python<'_>) -> Answered {
        value!(py, "QueueStats", (self.ready, self.delayed, self.claimed, self.dead))
    }
}

impl Answer for WaitProgress {
    fn answer(self, py: Python<'_>) -> Answered {
        let holder = self.holder.answer(py)?;
        value!(py, "WaitProgress", (self.path, self.waited.as_secs_f64(), self.ahead, holder))
    }
}

impl Answer for Versioned {
    fn answer(self, py: Python<'_>) -> Answered {
        value!(py, "Versioned", (self.value.answer(py)?, self.version))
    }
}

impl Answer for Cached {
    fn answer(self, py: Python<'_>) -> Answered {
        value!(py, "Cached", (self.value.answer(py)?, self.age.as_secs_f64()))
    }
}

impl Answer for Leader {
    fn answer(self, py: Python<'_>) -> Answered {
        value!(py, "Leader", (self.identity, self.data.answer(py)?, self.epoch, self.acknowledged))
    }
}

impl Answer for zkrecipes::Outcome {
    fn answer(self, py: Python<'_>) -> Answered {
        self.name().to_owned().answer(py)
    }
}

impl Answer for SiteStatus {
    fn answer(self, py: Python<'_>) -> Answered {
        value!(py, "SiteStatus", (self.site, self.is_present, self.has_voted, self.has_acknowledged))
    }
}

impl Answer for CommitStatus {
    fn answer(self, py: Python<'_>) -> Answered {
        let fields = (
            self.id,
            self.mode.name(),
            self.payload.answer(py)?,
            self.age.as_secs_f64(),
            self.timeout.as_secs_f64(),
            self.outcome.map(zkrecipes::Outcome::name),
            self.reason,
            self.coordinator.name(),
            self.sites.answer(py)?,
            self.problem,
        );
        value!(py, "CommitStatus", fields)
    }
}

impl Answer for GroupEvent {
    fn answer(self, py: Python<'_>) -> Answered {
        match self {
            GroupEvent::Snapshot(members) => value!(py, "Snapshot", (members.answer(py)?,)),
            GroupEvent::Joined { name, data } => value!(py, "Joined", (name, data.answer(py)?)),
            GroupEvent::Left { name } => value!(py, "Left", (name,)),
            GroupEvent::Changed { name, data } => value!(py, "Changed", (name, data.answer(py)?)),
            unknown => Err(PyRuntimeError::new_err(format!("{unknown:?} is unknown here"))),
        }
    }
}

impl Answer for NodeState {
    fn answer(self, py: Python<'_>) -> Answered {
        match self {
            NodeState::Data(found) => found.answer(py),
            NodeState::Children(names) => names.answer(py),
            NodeState::Subtree(all) => all.answer(py),
        }
    }
}

pub fn is_contender(value: Arg) -> PyResult<bool> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    value.is_instance(TYPE.import(value.py(), "zkrecipes._values", "Contender")?)
}

impl Answer for LogEntry {
    fn answer(self, py: Python<'_>) -> Answered {
        let outcome = match self.outcome {
            Outcome::Answered => "answered",
            Outcome::Unanswered => "unanswered",
            Outcome::Lost => "lost",
        };
        let fields = (
            self.connection,
            self.session_id,
            self.xid,
            self.op,
            self.path,
            self.parts,
            self.zxid,
            self.error,
            self.bytes_in,
            self.bytes_out,
            outcome,
        );
        value!(py, "LogEntry", fields)
    }
}
