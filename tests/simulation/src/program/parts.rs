//! Work that several processes share. What a client that crashed had in memory is never freed, as little as in life, where its
//! process is gone: all seeds, or all rows, in one process would take more memory than most machines have.

use std::process::{Command, Stdio};
use std::sync::Mutex;

use super::arguments::PART;

/// What a part of the work has printed, line by line: what is for people, and at the end what is for whoever started it.
pub fn said_by_a_part(arguments: &[&str]) -> Vec<String> {
    let program = std::env::current_exe().and_then(|program| {
        Command::new(program).arg(PART).args(arguments).stderr(Stdio::inherit()).output()
    });
    let said = program.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    said.lines().map(str::to_owned).collect()
}

/// Does each piece of work on one of so many threads, in their order; a thread takes the next one when it is done.
pub fn share<T: Send>(jobs: usize, work: impl Iterator<Item = T> + Send, does: impl Fn(T) + Sync) {
    let work = Mutex::new(work);
    let take = || work.lock().ok()?.next();
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(piece) = take() {
                    does(piece);
                }
            });
        }
    });
}
