//! `zkrecipes services PATH [NAME]`: which services there are, or the instances of one, once or as they change.

use std::time::{Duration, SystemTime};

use serde_json::Value;
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Client, Instance};

use crate::args;
use crate::common::Common;
use crate::follow;
use crate::help::examples;
use crate::outcome::{self, Outcome};
use crate::skipped::{self, Skipped};
use crate::table::{self, Fields};

/// Which services there are, and their instances
///
///   ID       what tells an instance from the others
///   ADDRESS  where it is
///   PORT     its port, and behind a slash that for TLS; - for none
///   TYPE     how long it lasts: dynamic, static, permanent or
///            dynamic_sequential
///   ENABLED  whether it is to be picked
///   PAYLOAD  what else it says of itself
///
/// The format is that of Apache Curator's service discovery.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes services /services
  zkrecipes services /services web
  zkrecipes services --json /services web | jq -r '.[].uri'
  zkrecipes services --watch /services web >> web.log"))]
pub(crate) struct Args {
    /// Below which the services are
    path: String,
    /// Of a service whose instances are told
    name: Option<String>,
    /// A line with all instances now, and one whenever they are others: the time, then each as id=address:port, with ! behind
    /// one that is not to be picked; - when there are none. Ctrl-C ends it, with status 0
    #[arg(long, requires = "name")]
    watch: bool,
    /// With --watch: end by itself, with status 0
    #[arg(long = "for", value_name = "TIME", value_parser = args::duration, requires = "watch")]
    limit: Option<Duration>,
    /// An array of names, or of objects with all that is known of an instance; with --watch an object per line, with at and
    /// instances. A node that cannot be read has a problem
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let Args { path, name, watch: is_watch, limit, json: is_json } = args;
    let Some(name) = name else { return services(&path, is_json, common) };
    if is_watch {
        let open = |client: &Client| client.discovery(&path)?.watch(&name);
        return follow::follow(common, limit, open, |all| tell(&all, is_json));
    }
    common.with_client(&CancelToken::new(), |client| {
        let (discovery, service) = (client.discovery(&path)?, name.clone());
        let all = drive::wait(async move { discovery.instances(&service).await }, None, None)?;
        if is_json {
            let skipped = skipped::so_far();
            let fields = all.iter().map(fields).chain(skipped.iter().map(unread));
            return outcome::print(&table::json_array(fields));
        }
        let headings = ["ID", "ADDRESS", "PORT", "TYPE", "ENABLED", "PAYLOAD"].map(str::to_owned);
        let cells: Vec<_> = std::iter::once(headings).chain(all.iter().map(cells)).collect();
        outcome::print(&(table::columns(&cells).join("\n") + "\n"))?;
        let skipped = skipped::so_far();
        if all.is_empty() && skipped.is_empty() {
            outcome::say(&format!("there is no instance of {name} in {path}"));
        }
        skipped::say(&skipped);
        Ok(0)
    })
}

fn services(path: &str, is_json: bool, common: Common) -> Outcome {
    common.with_client(&CancelToken::new(), |client| {
        let discovery = client.discovery(path)?;
        let names = drive::wait(async move { discovery.names().await }, None, None)?;
        if is_json {
            return outcome::print(&(table::unsteered(&Value::from(names).to_string()) + "\n"));
        }
        if names.is_empty() {
            outcome::say(&format!("there is no service in {path}"));
        }
        outcome::print(&names.iter().map(|name| table::printable(name) + "\n").collect::<String>())
    })
}

fn tell(all: &[Instance], is_json: bool) -> Outcome<()> {
    let at = table::timestamp(SystemTime::now());
    if is_json {
        let all = all.iter().map(|one| Value::Object(fields(one))).collect();
        let event = table::event(None, table::object([("instances", Value::Array(all))]));
        return outcome::print(&(table::json(event) + "\n")).map(drop);
    }
    let shown = |one: &Instance| {
        let port = one.port.map_or_else(|| "-".to_owned(), |port| port.to_string());
        let mark = if one.enabled { "" } else { "!" };
        table::printable(&format!("{}={}:{port}{mark}", one.id, one.address))
    };
    let shown = if all.is_empty() { vec!["-".to_owned()] } else { all.iter().map(shown).collect() };
    outcome::print(&format!("{at}  {}\n", shown.join("  "))).map(drop)
}

fn cells(one: &Instance) -> [String; 6] {
    let port = |port: Option<u16>| port.map_or_else(|| "-".to_owned(), |port| port.to_string());
    let tls = one.ssl_port.map_or_else(String::new, |ssl_port| format!("/{ssl_port}"));
    [
        table::printable(&one.id),
        table::printable(&one.address),
        format!("{}{tls}", port(one.port)),
        one.service_type.name().to_owned(),
        if one.enabled { "yes" } else { "no" }.to_owned(),
        one.payload.as_deref().map(table::printable).unwrap_or_default(),
    ]
}

fn fields(one: &Instance) -> Fields {
    // It is JSON, but this reader may have limits of its own; then it is told as the text that it is.
    let payload =
        one.payload.as_deref().map(|json| serde_json::from_str(json).unwrap_or_else(|_| Value::from(json)));
    table::object([
        ("name", one.name.as_str().into()),
        ("id", one.id.as_str().into()),
        ("address", one.address.as_str().into()),
        ("port", one.port.into()),
        ("ssl_port", one.ssl_port.into()),
        ("payload", payload.into()),
        ("type", one.service_type.name().into()),
        ("uri_spec", one.uri_spec.as_deref().into()),
        ("enabled", one.enabled.into()),
        ("registered_at", table::timestamp(one.registered_at).into()),
        ("uri", one.uri.as_deref().into()),
    ])
}

fn unread(skipped: &Skipped) -> Fields {
    let node = skipped.node.rsplit('/').next().unwrap_or_default();
    table::object([("node", node.into()), ("problem", skipped.problem().into())])
}
