//! `zkrecipes partitions PATH`: who has which partition, once or as it changes.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Client, ErrorKind};

use crate::args;
use crate::common::Common;
use crate::follow;
use crate::help::examples;
use crate::outcome::{self, Outcome, say};
use crate::table::{self, Fields};

/// Who has which partition
///
///   PARTITION  its name
///   OWNER      what its owner says of itself, host:pid by default; - for one
///              that nobody has now
///
/// Partitions that nobody has had yet are not shown.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes partitions /partitions/imports
  zkrecipes partitions --json /partitions/imports | jq -r '.[] | select(.owner == null).name'
  zkrecipes partitions --watch /partitions/imports"))]
pub(crate) struct Args {
    /// Where they are shared
    path: String,
    /// A line for each partition, then one whenever its owner changes: time, partition, owner. Ctrl-C ends it, with status 0
    #[arg(long)]
    watch: bool,
    /// With --watch: end by itself, with status 0
    #[arg(long = "for", value_name = "TIME", value_parser = args::duration, requires = "watch")]
    limit: Option<Duration>,
    /// An array of objects with name and owner; with --watch an object per line, with at as well
    #[arg(long)]
    json: bool,
}

type Owners = BTreeMap<String, Option<String>>;

/// By name; numbers by their values, as `zkrecipes partition --of` names them.
fn in_order(owners: &Owners) -> Vec<(&String, &Option<String>)> {
    let mut all: Vec<_> = owners.iter().collect();
    all.sort_by_key(|(name, _)| {
        let is_number = !name.is_empty() && name.bytes().all(|digit| digit.is_ascii_digit());
        name.parse::<u64>().ok().filter(|_| is_number).unwrap_or(u64::MAX)
    });
    all
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let Args { path, watch: is_watch, limit, json: is_json } = args;
    if is_watch {
        let mut told = Owners::new();
        let open = |client: &Client| drive::partition_owners(client, &path);
        return follow::follow(common, limit, open, |owners| tell(owners, &mut told, is_json));
    }
    common.with_client(&CancelToken::new(), |client| {
        let owners = owners(client, &path)?;
        if is_json {
            let all = in_order(&owners).into_iter().map(|(name, owner)| fields(name, owner));
            return outcome::print(&table::json_array(all));
        }
        let rows = in_order(&owners).into_iter().map(|(name, owner)| [table::printable(name), shown(owner)]);
        outcome::print(&table::below(["PARTITION", "OWNER"], rows))?;
        if owners.is_empty() {
            say(&format!("nobody has had a partition of {path}"));
        }
        Ok(0)
    })
}

/// A line for each whose owner is another one than was told.
fn tell(owners: Owners, told: &mut Owners, is_json: bool) -> Outcome<()> {
    for (name, owner) in in_order(&owners) {
        if told.insert(name.clone(), owner.clone()).as_ref() == Some(owner) {
            continue;
        }
        let line = match is_json {
            true => table::json(table::event(None, fields(name, owner))),
            false => {
                let at = table::timestamp(SystemTime::now());
                format!("{at}  {}  {}", table::printable(name), shown(owner))
            }
        };
        outcome::print(&(line + "\n"))?;
    }
    Ok(())
}

fn owners(client: &Client, path: &str) -> Outcome<Owners> {
    let (client, path) = (client.clone(), path.to_owned());
    let asking = async move {
        let names = match client.nodes().children(&format!("{path}/partitions")).await {
            Err(error) if error.kind() == ErrorKind::NoNode => return Ok(Owners::new()),
            names => names?,
        };
        if names.is_empty() {
            return Ok(Owners::new());
        }
        // Who never asks for a partition is no member.
        client.partitioner(&path, names, Default::default())?.owners().await
    };
    Ok(drive::wait(asking, None, None)?)
}

fn shown(owner: &Option<String>) -> String {
    owner.as_ref().map_or("-".to_owned(), |owner| table::shown_who(owner))
}

fn fields(name: &str, owner: &Option<String>) -> Fields {
    let owner = owner.as_ref().map_or(Value::Null, |owner| owner.as_str().into());
    table::object([("name", name.into()), ("owner", owner)])
}
