//! `zkrecipes ls PATH`.

use std::time::SystemTime;

use zkrecipes::drive::{self, CancelToken};

use crate::common::Common;
use crate::help::examples;
use crate::outcome::{self, Outcome};
use crate::table;

/// Who holds a lock, a semaphore or an election, and who waits
///
/// PATH is what a lock, a read/write lock, a semaphore or an election was
/// made with. The contenders of Apache Curator, kazoo and ZooKeeper's own
/// recipes are shown too.
///
///   PLACE     from 1, in the order in which they get it
///   HOLDS     yes or no
///   KIND      lock, read, write, latch for a candidate of an election, or
///             lease for a permit of a semaphore; who waits for permits
///             queues for a lock
///   IDENTITY  what the contender says of itself, host:pid by default
///   SINCE     for how long it has been there
///   SESSION   its session with ZooKeeper
///   NODE      its node below PATH, or its whole path if it is elsewhere, as
///             zkrecipes break takes it
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes ls /locks/backup
  zkrecipes ls /limits/exports --json |
      jq -r '.[] | select(.holds) | .identity'"))]
pub(crate) struct Args {
    /// What is held and waited for
    path: String,
    /// An array of objects: place, holds, asked, kind, identity, since, session, node; identity is null once the
    /// contender was asked to let go, because the question replaces it
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let Args { path, json: is_json } = args;
    common.looking(&CancelToken::new(), |onlooker| {
        let (onlooker, asked) = (onlooker.clone(), path.clone());
        let rows = drive::wait(async move { onlooker.gather(&asked).await }, None, None)?.rows;
        if is_json {
            return outcome::print(&table::json_array(rows.iter().map(table::fields)));
        }
        outcome::print(&(table::lines(&rows, SystemTime::now()).join("\n") + "\n"))?;
        if rows.is_empty() {
            outcome::say(&format!("nobody holds {path} and nobody waits for it"));
        }
        Ok(0)
    })
}
