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
            let unread = skipped.iter().map(|skipped| table::json(unread(skipped)));
            let all: Vec<_> = all.iter().map(json).chain(unread).collect();
            return outcome::print(&format!("[{}]\n", all.join(",\n ")));
        }
        let headings = ["ID", "ADDRESS", "PORT", "TYPE", "ENABLED", "PAYLOAD"];
        outcome::print(&table::below(headings, all.iter().map(cells)))?;
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
        let all: Vec<_> = all.iter().map(json).collect();
        let event = table::json(table::event(None, table::object([])));
        let event = with(&event, "instances", &format!("[{}]", all.join(",")), "{}");
        return outcome::print(&(event + "\n")).map(drop);
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

/// An object in a line. The payload is told as it is, numbers of any length too, but for the spaces.
fn json(one: &Instance) -> String {
    let before = table::object([
        ("name", one.name.as_str().into()),
        ("id", one.id.as_str().into()),
        ("address", one.address.as_str().into()),
        ("port", one.port.into()),
        ("ssl_port", one.ssl_port.into()),
    ]);
    let behind = table::object([
        ("type", one.service_type.name().into()),
        ("uri_spec", one.uri_spec.as_deref().into()),
        ("enabled", one.enabled.into()),
        ("registered_at", table::timestamp(one.registered_at).into()),
        ("uri", one.uri.as_deref().into()),
    ]);
    let payload = one.payload.as_deref().map_or_else(|| "null".to_owned(), in_a_line);
    with(&table::json(before), "payload", &table::unsteered(&payload), &table::json(behind))
}

/// An object of the members of two others, with one more in between, whose value is JSON.
fn with(before: &str, name: &str, value: &str, behind: &str) -> String {
    let before = before.strip_suffix('}').unwrap_or(before);
    let behind = behind.strip_prefix('{').unwrap_or(behind);
    let comma = if behind == "}" { "" } else { "," };
    format!("{before},\"{name}\":{value}{comma}{behind}")
}

/// The same JSON without what stands between its pieces.
fn in_a_line(json: &str) -> String {
    let (mut is_text, mut is_escaped) = (false, false);
    let goes_in = |letter: &char| {
        let was_text = is_text;
        is_text ^= *letter == '"' && !is_escaped;
        is_escaped = *letter == '\\' && !is_escaped;
        was_text || !letter.is_ascii_whitespace()
    };
    json.chars().filter(goes_in).collect()
}

fn unread(skipped: &Skipped) -> Fields {
    let node = skipped.node.rsplit('/').next().unwrap_or_default();
    table::object([("node", node.into()), ("problem", skipped.problem().into())])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_told_as_it_is_in_one_line() {
        let json = "{\n  \"a \\\" b\\\\\" : [1e400 , 12345678901234567890123],\r\n\t\"c d\":\" \"\n}";
        let told = "{\"a \\\" b\\\\\":[1e400,12345678901234567890123],\"c d\":\" \"}";
        assert_eq!(in_a_line(json), told);
        assert_eq!(with("{\"a\":1}", "b", "2", "{\"c\":3}"), r#"{"a":1,"b":2,"c":3}"#);
        assert_eq!(with("{\"a\":1}", "b", "2", "{}"), r#"{"a":1,"b":2}"#);
    }
}
