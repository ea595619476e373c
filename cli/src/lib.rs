//! The command `zkrecipes`, as a library so that the packages of other languages ship the same one.
//!
//! - `ls`, `watch`: who holds a path and who waits for it ([`contenders`] gathers, [`table`] prints).
//! - `break`: asks a contender to let go, and deletes its node when it does not.
//! - `lock`: runs a command under a lock ([`signals`] passes signals on, [`tree`] ends what the command started).

mod args;
mod common;
mod contenders;
mod help;
mod lock;
mod ls;
mod outcome;
mod revoke;
mod signals;
mod table;
mod tree;
mod watch;

use std::ffi::OsString;

use args::{Word, Words};
use common::Common;
use outcome::{Failure, Outcome};

/// Runs the command with the arguments of a process, its name included, and answers its exit status.
///
/// `lock` and `watch` take over the signals of the process while they run; one call at a time.
pub fn run(args: Vec<OsString>) -> i32 {
    match dispatch(Words::new(args.into_iter().skip(1))) {
        Ok(status) => status,
        Err(failure) => {
            failure.report();
            failure.status()
        }
    }
}

fn dispatch(mut words: Words) -> Outcome {
    let mut common = Common::default();
    loop {
        match words.next_word()? {
            None => {
                return Err(Failure::usage("say what to do: ls, watch, break or lock; see zkrecipes --help"));
            }
            Some(Word::Option(option)) => match option.as_str() {
                "--help" | "-h" => return help::print(help::GENERAL),
                "--version" | "-V" => {
                    return outcome::print(&format!("zkrecipes {}\n", zkrecipes::version()));
                }
                _ if common.accept(&option, &mut words)? => {}
                _ => return Err(args::unknown(&option, "zkrecipes")),
            },
            Some(Word::Dashes) => return Err(Failure::usage("-- belongs behind the path of zkrecipes lock")),
            Some(Word::Plain(verb)) => {
                return match verb.to_str() {
                    Some("ls") => ls::run(words, common),
                    Some("watch") => watch::run(words, common),
                    Some("break") => revoke::run(words, common),
                    Some("lock") => lock::run(words, common),
                    Some("help") => match words.plain("the name of a command") {
                        Ok(topic) => help::about(&topic),
                        Err(_) => help::print(help::GENERAL),
                    },
                    _ => Err(Failure::usage(format!(
                        "there is no command {verb:?}; it is one of ls, watch, break, lock; see zkrecipes --help"
                    ))),
                };
            }
        }
    }
}
