//! `zkrecipes members PATH`: who is in a group, once or as it changes.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Client, GroupEvent, GroupOptions};

use crate::args;
use crate::common::Common;
use crate::follow;
use crate::help::examples;
use crate::outcome::{self, Outcome};
use crate::skipped::{self, Skipped};
use crate::table::{self, Fields, Text};

/// Who is in a group
///
///   MEMBER  its name
///   DATA    what it says of itself
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes members /workers
  zkrecipes members --json /workers | jq -r '.[].name'
  zkrecipes members --watch /workers >> workers.log"))]
pub(crate) struct Args {
    /// Of the group
    path: String,
    /// A line for everybody who is there, then one for every change: time, what happened (member, joined, changed, left),
    /// name, data. Ctrl-C ends it, with status 0
    #[arg(long)]
    watch: bool,
    /// With --watch: end by itself, with status 0
    #[arg(long = "for", value_name = "TIME", value_parser = args::duration, requires = "watch")]
    limit: Option<Duration>,
    /// An array of objects with name and data; with --watch an object per line, with at and event as well. Data that is
    /// not text is null, its bytes are in hex. A node that cannot be read has null and a problem
    #[arg(long)]
    json: bool,
    /// member for Apache Curator's GroupMember (the default), party or shallow_party for kazoo's; --naming kazoo means
    /// party
    #[arg(long)]
    layout: Option<String>,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let Args { path, watch: is_watch, limit, json: is_json, layout } = args;
    let mut options = GroupOptions::default();
    if let Some(layout) = layout {
        options = options.layout(layout.parse()?);
    }
    if is_watch {
        let open = |client: &Client| Ok(client.group(&path, options)?.watch());
        return follow::follow(common, limit, open, |event| tell(event, is_json));
    }
    common.with_client(&CancelToken::new(), |client| {
        let group = client.group(&path, options)?;
        let members = drive::wait(async move { group.members().await }, None, None)?;
        if is_json {
            let all = members.iter().map(|(name, data)| fields(name, Some(data)));
            return outcome::print(&table::json_array(all.chain(skipped::so_far().iter().map(unread))));
        }
        let rows = members.iter().map(|(name, data)| [table::printable(name), shown(data)]);
        outcome::print(&table::below(["MEMBER", "DATA"], rows))?;
        let skipped = skipped::so_far();
        if members.is_empty() && skipped.is_empty() {
            outcome::say(&format!("nobody is in {path}"));
        }
        skipped::say(&skipped);
        Ok(0)
    })
}

/// A line for each member that is there at first, then one for each change.
fn tell(event: GroupEvent, is_json: bool) -> Outcome<()> {
    let at = table::timestamp(SystemTime::now());
    let line = |event: &str, name: &str, data: Option<&[u8]>| match is_json {
        true => table::json(table::event(Some(event), fields(name, data))) + "\n",
        false => {
            let data = data.map_or(String::new(), |data| format!("  {}", shown(data)));
            format!("{at}  {event:<7}  {}{data}", table::printable(name)).trim_end().to_owned() + "\n"
        }
    };
    let lines = match event {
        GroupEvent::Snapshot(members) => {
            members.iter().map(|(name, data)| line("member", name, Some(data))).collect()
        }
        GroupEvent::Joined { name, data } => line("joined", &name, Some(&data)),
        GroupEvent::Changed { name, data } => line("changed", &name, Some(&data)),
        GroupEvent::Left { name } => line("left", &name, None),
        // What later versions may tell is no line of ours.
        _ => String::new(),
    };
    outcome::print(&lines).map(drop)
}

fn shown(data: &[u8]) -> String {
    Text::of(data).shown(usize::MAX)
}

fn unread(skipped: &Skipped) -> Fields {
    let name = skipped.node.rsplit('/').next().unwrap_or_default();
    let mut fields = fields(name, None);
    fields.extend(table::object([("problem", skipped.problem().into())]));
    fields
}

fn fields(name: &str, data: Option<&[u8]>) -> Fields {
    let mut fields = table::object([("name", name.into())]);
    match data {
        Some(data) => Text::of(data).add_to(&mut fields, "data"),
        None => fields.extend(table::object([("data", Value::Null)])),
    }
    fields
}
