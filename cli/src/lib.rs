//! The command `zkrecipes`, as a library so that the packages of other languages ship the same one.
//!
//! - `ls`, `watch`: who holds a path and who waits for it (`contenders` gathers, `table` prints).
//! - `ls --recursive`, `top`, `serve`: what is in use below a path (`survey` reads, `history` tells who took over,
//!   `screen` is the terminal).
//! - `break`: asks a contender to let go, and deletes its node when it does not (`revoke`).
//! - `lock`: runs a command under a lock (`job` runs it, `under` is what it runs under).
//! - `system` has what differs by the system: signals, what a command started, the terminal.
//! - `elect`: runs a command while it leads; `leader`: who does.
//! - `members`: who is in a group.
//! - `services`: which services there are, and their instances.
//! - `counter`: reads and changes a counter.
//! - `latch`: counts down, and waits until nothing is left.
//! - `partition`: runs a command for each partition that is ours; `partitions`: who has which.
//! - `config`: reads, sets and follows a value (`follow` tells what changes).
//! - `barrier`: waits for others, and runs a command together with theirs.
//! - `queue`: puts and takes items, and runs a command for each.
//! - `2pc`: looks after two-phase commits (`two_phase`).
//! - `doctor`: looks at the servers.
//! - `tree`: what stands below a path (`nodes`).
//! - `members`, `services` and `queue` say in the end which nodes were left out (`skipped`).
//! - `completions`, `man`: for shells and for man(1) (`pages`).

mod args;
mod barrier;
mod common;
mod config;
mod contenders;
mod counter;
mod credentials;
mod doctor;
mod elect;
mod follow;
mod healthy;
mod help;
mod history;
mod job;
mod latch;
mod leader;
mod lock;
mod ls;
mod members;
mod nodes;
mod outcome;
mod overwriting;
mod pages;
mod partition;
mod partitions;
mod queue;
mod revoke;
mod screen;
mod serve;
mod services;
mod skipped;
mod survey;
mod system;
mod table;
mod top;
mod two_phase;
mod under;
mod watch;

use std::ffi::OsString;
use std::time::Duration;

use common::Common;
use help::examples;
use outcome::Outcome;
pub use overwriting::Overwriting;

/// Distributed coordination on Apache ZooKeeper, from the shell
#[derive(clap::Parser)]
#[command(
    name = "zkrecipes",
    version = zkrecipes::version(),
    term_width = 79,
    arg_required_else_help = false,
    after_help = examples!("\
  export ZKRECIPES_HOSTS=zk1:2181,zk2:2181,zk3:2181
  zkrecipes lock /locks/backup -- backup.sh
  zkrecipes ls /locks/backup
  zkrecipes top /
  zkrecipes break /locks/backup holder --force-after 30s
  zkrecipes counter add /counters/orders
  zkrecipes tree /")
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    common: Common,
}

#[derive(clap::Subcommand)]
enum Verb {
    Lock(lock::Args),
    Ls(ls::Args),
    Watch(watch::Args),
    Top(top::Args),
    Serve(serve::Args),
    Break(revoke::Args),
    Elect(elect::Args),
    Leader(leader::Args),
    Members(members::Args),
    Services(services::Args),
    Config(config::Args),
    Counter(counter::Args),
    Barrier(barrier::Args),
    Latch(latch::Args),
    Partition(partition::Args),
    Partitions(partitions::Args),
    Queue(queue::Args),
    #[command(name = "2pc")]
    TwoPhase(two_phase::Args),
    Tree(nodes::Args),
    Doctor(doctor::Args),
    Completions(pages::Completions),
    Man(pages::Man),
}

/// For the command as a program of its own: it has no server of its own, whatever it was built together with.
pub fn forgo_embedded() {
    zkrecipes::drive::embedded_by(|| {
        let problem = "embedded: is a server inside a program, and this command has none; name a ZooKeeper by --hosts or \
                       ZKRECIPES_HOSTS. For a try, zkrecipes-server of the crate zkrecipes-embedded is one, and so is \
                       EmbeddedServer of the testing kits";
        Err(zkrecipes::Error::invalid("hosts", problem))
    });
}

/// Runs the command with the arguments of a process, its name included, and answers its exit status.
///
/// `lock` and `watch` take over the signals of the process while they run; one call at a time.
pub fn run(mut args: Vec<OsString>) -> i32 {
    // By whatever name it was called.
    match args.first_mut() {
        Some(name) => *name = "zkrecipes".into(),
        None => args.push("zkrecipes".into()),
    }
    let outcome = dispatch(args);
    // What -v asked for.
    zkrecipes::drive::log::flush(Duration::from_secs(1));
    match outcome {
        Ok(status) => status,
        Err(failure) => {
            failure.report();
            failure.status()
        }
    }
}

fn dispatch(args: Vec<OsString>) -> Outcome {
    let Some(Cli { verb, common }) = args::parse(args)? else { return Ok(0) };
    match verb {
        Verb::Lock(args) => lock::run(args, common),
        Verb::Ls(args) => ls::run(args, common),
        Verb::Watch(args) => watch::run(args, common),
        Verb::Top(args) => top::run(args, common),
        Verb::Serve(args) => serve::run(args, common),
        Verb::Break(args) => revoke::run(args, common),
        Verb::Elect(args) => elect::run(args, common),
        Verb::Leader(args) => leader::run(args, common),
        Verb::Members(args) => members::run(args, common),
        Verb::Services(args) => services::run(args, common),
        Verb::Config(args) => config::run(args, common),
        Verb::Counter(args) => counter::run(args, common),
        Verb::Barrier(args) => barrier::run(args, common),
        Verb::Latch(args) => latch::run(args, common),
        Verb::Partition(args) => partition::run(args, common),
        Verb::Partitions(args) => partitions::run(args, common),
        Verb::Queue(args) => queue::run(args, common),
        Verb::TwoPhase(args) => two_phase::run(args, common),
        Verb::Tree(args) => nodes::run(args, common),
        Verb::Doctor(args) => doctor::run(args, common),
        Verb::Completions(args) => pages::complete(&args),
        Verb::Man(args) => pages::write(&args),
    }
}
