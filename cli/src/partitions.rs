//! `zkrecipes partitions PATH`: who has which partition, once or as it changes.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Client, Contender, ErrorKind, WatchKind};

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
///   SINCE      for how long
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
    /// An array of objects with name, owner and since; with --watch an object per line, with at as well
    #[arg(long)]
    json: bool,
}

type Owners = BTreeMap<String, Option<Contender>>;

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let Args { path, watch: is_watch, limit, json: is_json } = args;
    if is_watch {
        let (mut told, followed) = (BTreeMap::new(), OnceCell::new());
        let of = path.clone();
        return follow::follow(
            common,
            limit,
            |client| {
                // Once, by the one call.
                let _ = followed.set(client.clone());
                client.nodes().watch(&format!("{path}/partitions"), WatchKind::Subtree)
            },
            |_| match followed.get() {
                Some(client) => tell(client, &of, &mut told, is_json),
                None => Ok(()),
            },
        );
    }
    common.with_client(&CancelToken::new(), |client| {
        let owners = owners(client, &path)?;
        if is_json {
            return outcome::print(&table::json_array(
                owners.iter().map(|(name, owner)| fields(name, owner)),
            ));
        }
        let now = SystemTime::now();
        let since = |owner: &Contender| table::age(now.duration_since(owner.since).unwrap_or_default());
        let headings = ["PARTITION", "OWNER", "SINCE"].map(str::to_owned);
        let rows = owners.iter().map(|(name, owner)| {
            [table::printable(name), shown(owner), owner.as_ref().map_or("-".to_owned(), since)]
        });
        let cells: Vec<_> = std::iter::once(headings).chain(rows).collect();
        outcome::print(&(table::columns(&cells).join("\n") + "\n"))?;
        if owners.is_empty() {
            say(&format!("nobody has had a partition of {path}"));
        }
        Ok(0)
    })
}

/// A line for each whose owner is another one than was told.
fn tell(
    client: &Client,
    path: &str,
    told: &mut BTreeMap<String, Option<String>>,
    is_json: bool,
) -> Outcome<()> {
    for (name, owner) in owners(client, path)? {
        let node = owner.as_ref().map(|owner| owner.node.clone());
        if told.insert(name.clone(), node.clone()) == Some(node) {
            continue;
        }
        let line = match is_json {
            true => table::json(table::event(None, fields(&name, &owner))),
            false => {
                let at = table::timestamp(SystemTime::now());
                format!("{at}  {}  {}", table::printable(&name), shown(&owner))
            }
        };
        outcome::print(&(line + "\n"))?;
    }
    Ok(())
}

fn owners(client: &Client, path: &str) -> Outcome<Owners> {
    let (client, path) = (client.clone(), format!("{path}/partitions"));
    let asking = async move {
        let names = match client.nodes().children(&path).await {
            Err(error) if error.kind() == ErrorKind::NoNode => Vec::new(),
            names => names?,
        };
        let mut owners = Owners::new();
        for name in names {
            let turn = client.lock(&format!("{path}/{name}"), Default::default())?;
            let owner = turn.contenders().await?.into_iter().find(|contender| contender.holds);
            owners.insert(name, owner);
        }
        Ok(owners)
    };
    Ok(drive::wait(asking, None, None)?)
}

fn shown(owner: &Option<Contender>) -> String {
    owner.as_ref().map_or("-".to_owned(), |owner| table::shown_who(&owner.identity))
}

fn fields(name: &str, owner: &Option<Contender>) -> Fields {
    let (identity, since) = match owner {
        Some(owner) => (owner.identity.as_str().into(), table::timestamp(owner.since).into()),
        None => (Value::Null, Value::Null),
    };
    table::object([("name", name.into()), ("owner", identity), ("since", since)])
}
