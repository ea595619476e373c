//! `zkrecipes config get|set|watch PATH`.

use std::io::{IsTerminal, Read};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{ErrorKind, Versioned};

use crate::args;
use crate::common::Common;
use crate::follow;
use crate::help::examples;
use crate::outcome::{self, Failure, NO, Outcome};
use crate::table::{self, Fields, Text};

/// Read, set or follow a value that many share
#[derive(clap::Args)]
#[command(arg_required_else_help = false, after_help = examples!("\
  zkrecipes config set /app/mode blue
  mode=$(zkrecipes config get /app/mode)
  zkrecipes config set /app/limits - < limits.json
  zkrecipes config set --if-version 3 /app/mode green || echo changed since
  zkrecipes config watch /app/mode --json | jq -r --unbuffered .value"))]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    /// Prints the value, byte by byte and with nothing added; on a terminal with a line break, and bytes that are not text
    /// as 0x and hexadecimal digits. Status 1 when nobody has set it
    Get {
        /// Of the node that keeps the value
        path: String,
        /// An object with version and value. A value that is not text is null, its bytes are in hex
        #[arg(long)]
        json: bool,
    },
    /// Sets it, creates it if need be, and prints its version: 0 for a new value, one more with every change. With status 69
    /// it is not known whether it was set
    Set {
        /// Of the node that keeps the value
        path: String,
        /// - reads stdin
        value: String,
        /// Only if the value has that version, else status 1
        #[arg(long, value_name = "N", value_parser = args::count)]
        if_version: Option<usize>,
        /// Only if nobody has set it yet, else status 1
        #[arg(long, conflicts_with = "if_version")]
        if_missing: bool,
    },
    /// Prints a line for the value as it is, and one whenever it has changed: the time, the version, the value; - when there
    /// is none. It tells the latest value, not every one in between, and waits through an outage. Ctrl-C ends it, with
    /// status 0
    Watch {
        /// Of the node that keeps the value
        path: String,
        /// An object per line with at, version and value
        #[arg(long)]
        json: bool,
        /// End by itself, with status 0
        #[arg(long = "for", value_name = "TIME", value_parser = args::duration)]
        limit: Option<Duration>,
    },
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    match args.verb {
        Verb::Get { path, json } => get(common, &path, json),
        Verb::Set { path, value, if_version, if_missing } => {
            set(common, &path, &value, if_version.map(|n| n as i32), if_missing)
        }
        Verb::Watch { path, json, limit } => watch(common, &path, json, limit),
    }
}

fn get(common: Common, path: &str, is_json: bool) -> Outcome {
    common.with_client(&CancelToken::new(), |client| {
        let config = client.config(path)?;
        let value = drive::wait(async move { config.get().await }, None, None)?;
        let Some(now) = value else {
            return Err(Failure::new(NO, format!("nobody has set {path}")));
        };
        if is_json {
            return outcome::print(&(table::json(fields(Some(&now))) + "\n"));
        }
        if std::io::stdout().is_terminal() {
            return outcome::print(&(Text::of(&now.value).lines() + "\n"));
        }
        outcome::print_bytes(&now.value)
    })
}

fn set(common: Common, path: &str, value: &str, version: Option<i32>, creates: bool) -> Outcome {
    let value = match value {
        "-" => {
            let mut bytes = Vec::new();
            std::io::stdin()
                .read_to_end(&mut bytes)
                .map_err(|error| Failure::usage(format!("cannot read the value from stdin: {error}")))?;
            bytes
        }
        _ => value.as_bytes().to_vec(),
    };
    common.with_client(&CancelToken::new(), |client| {
        let config = client.config(path)?;
        let setting = async move {
            match creates {
                true => config.create(&value).await,
                false => config.set(&value, version).await,
            }
        };
        let set = match drive::wait(setting, None, None) {
            Err(error) if error.kind() == ErrorKind::Exists => {
                return Err(Failure::new(NO, format!("somebody has set {path}")));
            }
            set => set?,
        };
        outcome::print(&format!("{set}\n"))
    })
}

fn watch(common: Common, path: &str, is_json: bool, limit: Option<Duration>) -> Outcome {
    let open = |client: &zkrecipes::Client| Ok(client.config(path)?.watch());
    follow::follow(common, limit, open, |now: Option<Versioned>| {
        let at = table::timestamp(SystemTime::now());
        let line = match (is_json, &now) {
            (true, _) => table::json(table::event(None, fields(now.as_ref()))) + "\n",
            (false, Some(now)) => {
                format!("{at}  {}  {}\n", now.version, Text::of(&now.value).shown(usize::MAX))
            }
            (false, None) => format!("{at}  -\n"),
        };
        outcome::print(&line).map(drop)
    })
}

fn fields(now: Option<&Versioned>) -> Fields {
    let mut fields = table::object([("version", now.map(|now| now.version).into())]);
    match now {
        Some(now) => Text::of(&now.value).add_to(&mut fields, "value"),
        None => fields.extend(table::object([("value", Value::Null)])),
    }
    fields
}
