//! `make sim ARGS="[--seeds N] [--seed S] [--only WORD] [--pairs] [--trace]"`

mod program;

fn main() -> std::process::ExitCode {
    program::main()
}
