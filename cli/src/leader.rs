//! `zkrecipes leader PATH`: who leads, once or as it changes.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Client, Election, ElectionLayout, ElectionOptions, Leader};

use crate::args;
use crate::common::Common;
use crate::follow;
use crate::help::examples;
use crate::outcome::{self, Failure, NO, Outcome};
use crate::table::{self, Fields, Text};

/// Who leads an election
///
///   LEADER  what it says of itself, host:pid by default
///   EPOCH   a number that rises with every leader
///   BEGUN   whether it has said that it has begun its work
///   DATA    its address, or whatever it says
///
/// Status 1 when nobody leads. With zkrecipes ls PATH one sees all candidates.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes leader /leaders/index
  address=$(zkrecipes leader --json /leaders/api | jq -r .data)
  zkrecipes leader --watch /leaders/api"))]
pub(crate) struct Args {
    /// Of the election
    path: String,
    /// A line now and whenever it changes: the time, then the same; - when nobody leads. Ctrl-C ends it, with status 0
    #[arg(long)]
    watch: bool,
    /// With --watch: end by itself, with status 0
    #[arg(long = "for", value_name = "TIME", value_parser = args::duration, requires = "watch")]
    limit: Option<Duration>,
    /// Objects with identity, epoch, acknowledged, data, and at with --watch; data that is not text is null, its bytes are
    /// in hex
    #[arg(long)]
    json: bool,
    /// latch or selector; see zkrecipes elect --help
    #[arg(long)]
    layout: Option<String>,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let Args { path, watch: is_watch, limit, json: is_json, layout } = args;
    let mut options = ElectionOptions::default();
    if let Some(layout) = &layout {
        options.layout = layout.parse()?;
    }
    // Who never campaigns says nothing.
    let election =
        |client: &Client| -> zkrecipes::Result<Election> { client.election(&path, b"", options.clone()) };
    if is_watch {
        return follow::follow(
            common,
            limit,
            |client| Ok(election(client)?.observe()),
            |leader| tell(leader.as_ref(), is_json),
        );
    }
    common.with_client(&CancelToken::new(), |client| {
        let Some(leader) = now(election(client)?)? else {
            // As in the election of a LeaderSelector, or of kazoo's.
            let mut by_locks = ElectionOptions::default();
            by_locks.layout = ElectionLayout::Selector;
            let hint = match layout.is_none() && now(client.election(&path, b"", by_locks)?)?.is_some() {
                true => "; somebody holds a lock there, by which others elect: try --layout selector",
                false => "",
            };
            return Err(Failure::new(NO, format!("nobody leads {path}{hint}")));
        };
        if is_json {
            return outcome::print(&(table::json(fields(Some(&leader))) + "\n"));
        }
        let headings = ["LEADER", "EPOCH", "BEGUN", "DATA"].map(str::to_owned);
        outcome::print(&(table::columns(&[headings, cells(&leader)]).join("\n") + "\n"))
    })
}

fn now(election: Election) -> zkrecipes::Result<Option<Leader>> {
    drive::wait(async move { election.leader().await }, None, None)
}

fn tell(leader: Option<&Leader>, is_json: bool) -> Outcome<()> {
    let at = table::timestamp(SystemTime::now());
    let line = match (is_json, leader) {
        (true, _) => table::json(table::event(None, fields(leader))) + "\n",
        (false, Some(leader)) => format!("{at}  {}", cells(leader).join("  ")).trim_end().to_owned() + "\n",
        (false, None) => format!("{at}  -\n"),
    };
    outcome::print(&line).map(drop)
}

fn cells(leader: &Leader) -> [String; 4] {
    [
        table::shown_who(&leader.identity),
        leader.epoch.to_string(),
        if leader.acknowledged { "yes" } else { "no" }.to_owned(),
        Text::of(&leader.data).shown(usize::MAX),
    ]
}

fn fields(leader: Option<&Leader>) -> Fields {
    let mut fields = table::object([
        ("identity", leader.map(|leader| leader.identity.as_str()).into()),
        ("epoch", leader.map(|leader| leader.epoch).into()),
        ("acknowledged", leader.is_some_and(|leader| leader.acknowledged).into()),
    ]);
    match leader {
        Some(leader) => Text::of(&leader.data).add_to(&mut fields, "data"),
        None => fields.extend(table::object([("data", Value::Null)])),
    }
    fields
}
