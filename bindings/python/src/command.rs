//! The command `zkrecipes`, the one that cargo installs too; zkrecipes/_command.py prepares the process for it.

use std::ffi::OsString;

use pyo3::prelude::*;

use crate::generated::docs::doc_of;
use crate::log;

#[doc = doc_of!(run_command)]
#[pyfunction]
pub fn run_command(py: Python<'_>, arguments: Vec<OsString>) -> i32 {
    // The command says what there is to say.
    log::mute();
    py.detach(|| run(arguments))
}

#[cfg(unix)]
use zkrecipes_cli::run;

/// It passes signals on to what it runs, which other systems do not have.
#[cfg(not(unix))]
fn run(_: Vec<OsString>) -> i32 {
    eprintln!("zkrecipes: the command is not there for this system; the library is");
    70
}
