//! `zkrecipes ls PATH`.

use std::time::SystemTime;

use zkrecipes::drive::{self, CancelToken, Found, FoundKind};

use crate::common::Common;
use crate::help::examples;
use crate::outcome::{self, Outcome};
use crate::{survey, table};

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
///
/// With --recursive: a line for each recipe in use at PATH and below it, as
/// zkrecipes top shows them.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes ls /locks/backup
  zkrecipes ls /limits/exports --json |
      jq -r '.[] | select(.holds) | .identity'
  zkrecipes ls --recursive /
  zkrecipes ls --recursive / --json |
      jq -r '.[] | select(.waiting > 0) | .path'"))]
pub(crate) struct Args {
    /// What is held and waited for
    path: String,
    /// Everything that is in use below, too: held, waited for, elected, queued, at barriers
    #[arg(long, short)]
    recursive: bool,
    /// With --recursive: the nodes with data that are no such recipe, too
    #[arg(long, requires = "recursive")]
    all: bool,
    /// An array of objects: place, holds, asked, kind, identity, since, session, node; identity is null from
    /// the request to let go, which replaces it, until the holder has heard that. With --recursive: path, kind, holding, waiting,
    /// size, items, dead, begun, data, contenders; of data and identity no more than the first 4096 bytes
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let Args { path, recursive: is_recursive, all: is_all, json: is_json } = args;
    if is_recursive {
        return everything(common, &path, is_all, is_json);
    }
    common.looking(&CancelToken::new(), |onlooker| {
        let (gathering, asked) = (onlooker.clone(), path.clone());
        let rows = drive::wait(async move { gathering.gather(&asked).await }, None, None)?.rows;
        let mut says = None;
        if rows.is_empty() {
            says = survey::what_else(&onlooker.client, &path)?;
        }
        if is_json {
            outcome::print(&table::json_array(rows.iter().map(table::fields)))?;
        } else {
            if !rows.is_empty() {
                outcome::print(&(table::lines(&rows, SystemTime::now()).join("\n") + "\n"))?;
            }
            if rows.is_empty() && says.is_none() {
                let (nodes, node) = (onlooker.client.nodes(), path.clone());
                let stat = drive::wait(async move { nodes.exists(&node).await }, None, None)?;
                let nobody = format!("nobody holds {path} and nobody waits for it");
                says = Some(match stat.as_ref().map_or(0, |stat| stat.num_children) {
                    // What has gone may have been anything.
                    0 if stat.is_some() => {
                        format!("{nobody}; nothing is below it: a queue or a group there is empty")
                    }
                    0 => nobody,
                    below => {
                        format!(
                            "{nobody}; {below} nodes are below it: see zkrecipes top {path}, or zkrecipes ls --recursive --all {path}"
                        )
                    }
                });
            }
        }
        says.iter().for_each(|says| outcome::say(says));
        Ok(0)
    })
}

fn everything(common: Common, path: &str, is_all: bool, is_json: bool) -> Outcome {
    common.with_client(&CancelToken::new(), |client| {
        let mut survey = survey::once(client, path)?;
        survey::keep(&mut survey, is_all);
        if is_json {
            return outcome::print(&table::json_array(survey.found.iter().map(survey::fields)));
        }
        let now = SystemTime::now();
        let rows = survey.found.iter().map(|found| survey::Line::of(found).cells(now));
        outcome::print(&table::below(survey::HEADINGS, rows))?;
        if survey.found.is_empty() {
            outcome::say(&format!("no recipe is in use at {path} or below it"));
        }
        // Claims stand beside the queue, and so not below what was asked for.
        let is_queue =
            |found: &Found| found.path == path && found.kind == FoundKind::Queue && found.holding == 0;
        if survey.found.iter().any(is_queue) {
            outcome::say(&format!("zkrecipes queue ls {path} shows who works on what of it"));
        }
        if survey.is_cut {
            outcome::say(survey::CUT);
        }
        Ok(0)
    })
}
