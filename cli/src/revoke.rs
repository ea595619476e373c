//! `zkrecipes break PATH NODE`: asks first, deletes later, and says what it did.

use std::time::{Duration, Instant};

use zkrecipes::drive::{self, CancelToken, Tick};
use zkrecipes::{Client, ErrorKind, Result};

use crate::args;
use crate::common::Common;
use crate::contenders::{self, Row};
use crate::help::examples;
use crate::outcome::{self, Failure, NO, Outcome};
use crate::survey;
use crate::table;

/// Ask a contender to let go; delete its node if it does not
///
/// NODE is a node of zkrecipes ls PATH, or the word holder for everybody who
/// holds. The contender is asked: programs that use zkrecipes hear of it and
/// let go when they can; others may not listen. Nothing else happens without
/// --force-after. Prints what it did, and asks no questions.
///
/// A holder whose node was deleted is told at once if it listens, otherwise
/// within an eighth of its session timeout (with a relaxed lease not before it
/// verifies or lets go); one that is cut off from ZooKeeper goes on until its
/// lease runs out. Guarded writes, and a resource that checks fencing tokens,
/// are protected from that.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes break /locks/backup holder
  zkrecipes break /locks/backup holder --force-after 10s
  zkrecipes break /limits/exports leases/_c_5e1d...-lease-0000000007"))]
pub(crate) struct Args {
    /// What it holds or waits for
    path: String,
    /// A node of zkrecipes ls, or the word holder
    node: String,
    /// Delete exactly the nodes that were asked when they have not gone by then; 0 at once
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    force_after: Option<Duration>,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let Args { path, node, force_after } = args;
    common.looking(&CancelToken::new(), |onlooker| {
        let (looking, asked) = (onlooker.clone(), path.clone());
        let rows = drive::wait(async move { looking.gather(&asked).await }, None, None)?.rows;
        if rows.is_empty()
            && let Some(says) = survey::what_else(&onlooker.client, &path)?
        {
            return Err(Failure::new(NO, says));
        }
        let chosen = choose(rows, &path, &node)?;
        break_all(&onlooker.client, chosen, force_after)
    })
}

/// The contenders that were meant.
fn choose(rows: Vec<Row>, path: &str, node: &str) -> Outcome<Vec<Row>> {
    if node == "holder" {
        let holders: Vec<_> = rows.into_iter().filter(|row| row.contender.holds).collect();
        if holders.is_empty() {
            return Err(Failure::new(NO, format!("nobody holds {path}; there is nobody to ask")));
        }
        return Ok(holders);
    }
    let node = contenders::whole(path, node);
    match rows.into_iter().find(|row| row.path() == node) {
        Some(row) => Ok(vec![row]),
        None => Err(Failure::new(
            NO,
            format!("{node:?} is not, or no longer, a contender of {path}; see zkrecipes ls {path}"),
        )),
    }
}

fn break_all(client: &Client, rows: Vec<Row>, force_after: Option<Duration>) -> Outcome {
    let mut standing = Vec::new();
    for row in rows {
        let target = Target::new(client, row);
        // Before asking: the transaction that made the node tells it from a later one of the same name.
        let (looking, node) = (client.clone(), target.node.clone());
        let stat = drive::wait(async move { looking.nodes().exists(&node).await }, None, None)?;
        match stat {
            Some(stat) if target.revoke(None)? => {
                outcome::print(&format!("asked {} to let go\n", target.name))?;
                standing.push((target, format!("1:{}:", stat.czxid)));
            }
            _ => {
                outcome::print(&format!("{} has gone already\n", target.name))?;
            }
        }
    }
    let Some(patience) = force_after else { return Ok(0) };
    let until = Instant::now() + patience;
    for (target, prefix) in standing {
        let gone = target.goes(format!("{prefix}{}", target.node), until)?;
        let told = match gone || !target.revoke(Some(Duration::ZERO))? {
            true => "let go",
            false => "did not let go; its node was deleted",
        };
        outcome::print(&format!("{} {told}\n", target.name))?;
    }
    Ok(0)
}

/// One node to break.
struct Target<'a> {
    client: &'a Client,
    row: Row,
    /// The full path.
    node: String,
    /// For people.
    name: String,
}

impl Target<'_> {
    fn new(client: &Client, row: Row) -> Target<'_> {
        let node = row.path();
        let who = row.identity().map(|who| format!(" ({})", table::shown_who(who))).unwrap_or_default();
        let name = format!("{}{who}", table::printable(row.node()));
        Target { client, row, node, name }
    }

    /// Asks, or deletes with no time to go; whether there was anybody.
    fn revoke(&self, force_after: Option<Duration>) -> Result<bool> {
        let row = self.row.clone();
        drive::wait(async move { row.revoke(force_after).await }, None, None)
    }

    /// Whether the acquisition of that sequencer ends in time.
    fn goes(&self, sequencer: String, until: Instant) -> Result<bool> {
        let client = self.client.clone();
        let every = until.saturating_duration_since(Instant::now());
        let ended = drive::wait(
            async move { client.watch_sequencer(&sequencer).await },
            None,
            Some(Tick { every, hook: &mut || false }),
        );
        match ended {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == ErrorKind::Cancelled => Ok(false),
            Err(error) => Err(error),
        }
    }
}
