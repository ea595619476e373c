//! The workers of the benchmarks that are written in Rust; bench/README.md says what a worker is.
//!
//!     zkrecipes-bench ours HOSTS SESSION_MS       zkrecipes
//!     zkrecipes-bench blocking HOSTS SESSION_MS   zkrecipes, by calls that block
//!     zkrecipes-bench client HOSTS SESSION_MS     zookeeper-client's own lock
//!     zkrecipes-bench raw HOSTS SESSION_MS        the floor: one blocking socket
//!     zkrecipes-bench delay HOST:PORT MS          no worker: a proxy that makes the way longer

mod blocking;
mod delay;
mod line;
mod ours;
mod raw;
mod rust_client;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [what, address, number] = &arguments[..] else { return usage() };
    let Ok(milliseconds) = number.parse() else { return usage() };
    match what.as_str() {
        "ours" => ours::serve(address, milliseconds),
        "blocking" => blocking::serve(address, milliseconds),
        "client" => rust_client::serve(address, milliseconds),
        "raw" => raw::serve(address, milliseconds),
        "delay" => delay::serve(address, milliseconds),
        _ => return usage(),
    }
    ExitCode::SUCCESS
}

fn usage() -> ExitCode {
    eprintln!("usage: zkrecipes-bench ours|blocking|client|raw|delay ADDRESS MILLISECONDS");
    ExitCode::from(2)
}
