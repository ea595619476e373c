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
    py.detach(|| zkrecipes_cli::run(arguments))
}
