//! What the library says of itself, as records of `logging.getLogger("zkrecipes")`. The core's thread for it writes them: those
//! that do I/O must never wait for the GIL. How much the logger wants to hear is known here before anything is formatted:
//! zkrecipes/_log.py tells whenever that changes.

use std::sync::OnceLock;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use zkrecipes::drive::log::{self, Level, Listener, Record, Value};

use crate::attach::{from_library_thread, parked_if_unwound, report};
use crate::generated::docs::doc_of;

static LISTENER: OnceLock<Listener> = OnceLock::new();

/// From now on nothing is logged.
pub fn mute() {
    if let Some(listener) = LISTENER.get() {
        listener.set_level(Level::Off);
    }
}

/// Called once, when the module is imported.
pub fn install(py: Python<'_>) -> PyResult<()> {
    // The thread that writes finds it there. It must import nothing: see `Callback`.
    py.import("logging")?;
    LISTENER.get_or_init(|| {
        log::listen(Level::Off, |record| {
            from_library_thread(|py| {
                if let Err(failure) = write(py, record) {
                    report(py, failure, None);
                }
            });
        })
    });
    Ok(())
}

#[doc = doc_of!(set_log_level)]
#[pyfunction]
pub fn set_log_level(least: i64) {
    let level = match least {
        ..=5 => Level::Trace,
        6..=10 => Level::Debug,
        11..=20 => Level::Info,
        21..=30 => Level::Warn,
        31..=40 => Level::Error,
        _ => Level::Off,
    };
    if let Some(listener) = LISTENER.get() {
        listener.set_level(level);
    }
}

fn write(py: Python<'_>, record: &Record) -> PyResult<()> {
    let level = match record.level {
        Level::Off => return Ok(()),
        Level::Error => 40,
        Level::Warn => 30,
        Level::Info => 20,
        Level::Debug => 10,
        Level::Trace => 5,
    };
    let fields = PyDict::new(py);
    for (name, value) in &record.fields {
        match value {
            Value::Number(number) => fields.set_item(name, number)?,
            Value::Flag(flag) => fields.set_item(name, flag)?,
            Value::Text(text) => fields.set_item(name, text)?,
        }
    }
    let extra = PyDict::new(py);
    extra.set_item("event", &record.event)?;
    extra.set_item("fields", fields)?;
    let more = PyDict::new(py);
    more.set_item("extra", extra)?;
    let logger = py.import("logging")?.call_method1("getLogger", ("zkrecipes",))?;
    let log = logger.getattr("log")?;
    let arguments = (level, "%s", record.to_string()).into_pyobject(py)?;
    // Handlers are a user's code; see `attach::call`.
    parked_if_unwound(|| log.call(&arguments, Some(&more))).map(drop)
}
