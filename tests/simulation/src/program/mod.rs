//! The command: what it is asked for, and the processes that share the work.

mod arguments;
mod parts;
mod rows;
mod seeds;

use std::process::ExitCode;

use arguments::{Arguments, HELP};

pub fn main() -> ExitCode {
    let arguments = match Arguments::given() {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("{problem}");
            return ExitCode::FAILURE;
        }
    };
    // A broken promise is reported with its seed; the panic that may have been part of it is in there.
    std::panic::set_hook(Box::new(|_| {}));
    let has_passed = match arguments.rows {
        Some(is_pairs) => rows::walk(&arguments, is_pairs),
        None => seeds::play(&arguments),
    };
    if has_passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
