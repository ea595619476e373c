//! `zkrecipes queue put|get|claim|peek|ls|break|len|stats|watch|drain|dead PATH`.

mod claim;
mod dead;
mod ls;
mod progress;
mod put;
mod watch;

use std::io::IsTerminal;
use std::time::Duration;

use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Backlog, Client, ErrorKind, QueueOptions, QueueStats};

use crate::args;
use crate::common::Common;
use crate::help::examples;
use crate::job::Desk;
use crate::outcome::{self, Failure, NO, NOT_ACQUIRED, Outcome};
use crate::skipped;
use crate::table::{self, Text};
use crate::under;
use progress::Progress;

/// Put items into a queue, take them, work on them
#[derive(clap::Args)]
#[command(arg_required_else_help = false, after_help = examples!("\
  zkrecipes queue put /queues/mail alice@example.org bob@example.org
  find . -name '*.png' -print0 | zkrecipes queue put -z /queues/resize
  zkrecipes queue claim /queues/resize -- sh -c 'resize \"$(cat)\"'
  zkrecipes queue claim --max-attempts 5 /queues/mail -- send-mail
  zkrecipes queue ls /queues/mail
  zkrecipes queue break /queues/mail qn-0000000007
  zkrecipes queue watch /queues/mail
  zkrecipes queue dead --replay /queues/mail
  zkrecipes queue put --delay 15m /queues/reminders 'call Alice'"))]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    which: Which,
}

#[derive(clap::Subcommand)]
enum Verb {
    Put(put::Args),
    /// Waits for an item, removes it and prints it: at most once, because what is printed has gone already
    Get {
        /// Of the queue
        path: String,
        /// So many items
        #[arg(long, value_name = "N", default_value = "1", value_parser = args::count)]
        count: usize,
        /// Wait no longer for an item, once a server has been found; status 75
        #[arg(long, short = 'w', value_name = "TIME", value_parser = args::duration)]
        timeout: Option<Duration>,
        /// Do not wait for others; a server is tried for as long as --connect-timeout says
        #[arg(long = "try", short = 'n', conflicts_with = "timeout")]
        is_try: bool,
    },
    Claim(claim::Args),
    /// Prints the next one and leaves it there; status 1 if there is none
    Peek {
        /// Of the queue
        path: String,
        /// All items, those being worked on included
        #[arg(long)]
        all: bool,
    },
    /// Lists the items in their order: whether each can be taken, steps aside, or is being worked on, and by whom
    Ls {
        /// Of the queue
        path: String,
        /// The first so many, of each shard
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = args::count)]
        count: usize,
        /// The same as JSON
        #[arg(long)]
        json: bool,
    },
    /// Takes an item away from who works on it; status 1 if nobody does
    ///
    /// For one whose work hangs, and whose program goes on: the next one has the
    /// item at once, and this claim was an attempt. Who had it is told as when
    /// its session ends, and its ack is refused. Prints who that was.
    #[command(verbatim_doc_comment)]
    Break {
        /// Of the queue
        path: String,
        /// A node of zkrecipes queue ls
        node: String,
    },
    /// Prints how many there are, those that are being worked on included
    Len {
        /// Of the queue
        path: String,
    },
    /// Prints how many can be taken, step aside, are being worked on, and have failed too often; status 1 if nothing is at PATH
    Stats {
        /// Of the queue
        path: String,
        /// The same as JSON
        #[arg(long)]
        json: bool,
    },
    Watch(watch::Args),
    /// Removes and prints all that are there
    Drain {
        /// Of the queue
        path: String,
        /// So many items at most
        #[arg(long, value_name = "N", value_parser = args::count)]
        count: Option<usize>,
    },
    /// Prints the items that have failed too often
    Dead {
        /// Of the queue
        path: String,
        /// Put them back, and print how many
        #[arg(long, conflicts_with_all = ["drain", "json", "long"])]
        replay: bool,
        /// Only that one, by the NODE that --long tells
        #[arg(long, value_name = "NODE", requires = "replay")]
        only: Option<String>,
        /// Delete those that have been there for so long, and print how many; 0s for all
        #[arg(long, value_name = "TIME", value_parser = args::duration, conflicts_with_all = ["replay", "drain", "json", "long"])]
        purge: Option<Duration>,
        /// Print and remove them
        #[arg(long, conflicts_with_all = ["json", "long"])]
        drain: bool,
        /// With the node, the attempts, the time and the reason of each, and those that cannot be read
        #[arg(long, short = 'l')]
        long: bool,
        /// The same as JSON
        #[arg(long, conflicts_with = "long")]
        json: bool,
    },
}

/// Which queue, and how its items are written down.
#[derive(clap::Args)]
#[command(next_help_heading = "Which queue (all who use it say the same)")]
struct Which {
    /// plain (the default), priority or delay
    #[arg(
        long,
        global = true,
        value_enum,
        hide_possible_values = true,
        hide_default_value = true,
        default_value = "plain"
    )]
    kind: Kind,
    /// An item that was claimed so often goes to the dead (16); 0 for no end
    #[arg(long, global = true, value_name = "N", value_parser = args::count)]
    max_attempts: Option<usize>,
    /// put waits while there are so many
    #[arg(long, global = true, value_name = "N", value_parser = args::count)]
    max_items: Option<usize>,
    /// Spread over N nodes, which is faster, and keeps the order only within each
    #[arg(long, global = true, value_name = "N", value_parser = args::count)]
    shards: Option<usize>,
    /// simple (the default), or distributed, for Apache Curator's DistributedQueue; kazoo's Queue needs --naming kazoo, its
    /// LockingQueue --layout locking too
    #[arg(long, global = true)]
    layout: Option<String>,
    /// Items end with NUL and not with the line, in and out
    #[arg(long, short = 'z', global = true)]
    null: bool,
}

#[derive(Copy, Clone, clap::ValueEnum)]
enum Kind {
    Plain,
    Priority,
    Delay,
}

impl Which {
    fn options(&self) -> Outcome<QueueOptions> {
        let mut options = QueueOptions::default();
        if let Some(layout) = &self.layout {
            options.layout = layout.parse()?;
        }
        options.shards = self.shards.unwrap_or(options.shards);
        options.max_items = self.max_items.or(options.max_items);
        options.max_attempts = self.max_attempts.map_or(options.max_attempts, |n| n as u32);
        Ok(options)
    }

    fn of(&self, client: &Client, path: &str) -> Outcome<Backlog> {
        let options = self.options()?;
        let queue = match self.kind {
            Kind::Plain => Backlog::clone(&*client.queue(path, options)?),
            Kind::Priority => Backlog::clone(&*client.priority_queue(path, options)?),
            Kind::Delay => Backlog::clone(&*client.delay_queue(path, options)?),
        };
        under::say_waits(|tell| queue.on_wait(tell), |_| String::new());
        Ok(queue)
    }

    fn print(&self, items: impl IntoIterator<Item = Vec<u8>>) -> Outcome<()> {
        let mut all = Vec::new();
        for item in items {
            match std::io::stdout().is_terminal() {
                true => all.extend(Text::of(&item).lines().into_bytes()),
                false => all.extend(item),
            }
            all.push(if self.null { 0 } else { b'\n' });
        }
        outcome::print_bytes(&all).map(drop)
    }
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let which = args.which;
    // What is wrong with them is told before anything else.
    which.options()?;
    match args.verb {
        Verb::Put(args) => put::run(args, which, common),
        Verb::Claim(args) => claim::run(args, which, common),
        Verb::Watch(args) => watch::run(args, which, common),
        Verb::Get { path, count, timeout, is_try } => {
            let limit = if is_try { Some(Duration::ZERO) } else { timeout };
            on_queue(&which, &path, common, |queue, cancel| take(queue, &which, &path, count, limit, cancel))
        }
        Verb::Drain { path, count } => {
            on_queue(&which, &path, common, |queue, cancel| drain(queue, &which, count, cancel))
        }
        Verb::Peek { path, all } => {
            on_queue(&which, &path, common, |queue, cancel| peek(queue, &which, &path, all, cancel))
        }
        Verb::Ls { path, count, json } => on_queue(&which, &path, common, |queue, cancel| {
            let items = drive::wait(drive::list_items(queue, count), Some(cancel), None)?;
            ls::show(queue.path(), &items, json)
        }),
        Verb::Break { path, node } => on_queue(&which, &path, common, |queue, cancel| {
            match drive::wait(drive::break_claim(queue, node.clone()), Some(cancel), None)? {
                Some(who) => outcome::print(&format!(
                    "{} was taken from {}\n",
                    table::printable(&node),
                    table::shown_who(&who)
                )),
                None => Err(Failure::new(
                    NO,
                    format!(
                        "nobody works on {node:?}, or there is no such item; see zkrecipes queue ls {path}"
                    ),
                )),
            }
        }),
        Verb::Len { path } => on_queue(&which, &path, common, |queue, cancel| {
            let queue = queue.clone();
            number(async move { queue.len().await }, cancel)
        }),
        Verb::Stats { path, json } => on_queue(&which, &path, common, |queue, cancel| {
            match drive::wait(drive::stats_if_any(queue), Some(cancel), None)? {
                Some(found) => stats(found, json),
                None => {
                    let said = format!(
                        "nothing is at {path}: there is no queue, or nobody has put anything into it yet"
                    );
                    Err(Failure::new(NO, said))
                }
            }
        }),
        Verb::Dead { path, replay, only, purge, drain, long, json } => {
            on_queue(&which, &path, common, |queue, cancel| {
                let queue = queue.clone();
                if replay {
                    return number(drive::replay(&queue, only), cancel);
                }
                if let Some(age) = purge {
                    return number(async move { queue.purge(age).await }, cancel);
                }
                if drain {
                    return self::drain(&queue.dead(), &which, None, cancel);
                }
                let letters = drive::wait(async move { queue.dead().items().await }, Some(cancel), None)?;
                dead::show(&which, letters, long, json)
            })
        }
    }
}

/// Prints how many.
fn number(
    counting: impl Future<Output = zkrecipes::Result<usize>> + Send + 'static,
    cancel: &CancelToken,
) -> Outcome {
    outcome::print(&format!("{}\n", drive::wait(counting, Some(cancel), None)?))
}

fn named(stats: QueueStats) -> [(&'static str, usize); 4] {
    [("ready", stats.ready), ("delayed", stats.delayed), ("claimed", stats.claimed), ("dead", stats.dead)]
}

fn stats(stats: QueueStats, is_json: bool) -> Outcome {
    let named = named(stats);
    if is_json {
        let fields = table::object(named.map(|(name, items)| (name, items.into())));
        return outcome::print(&format!("{}\n", serde_json::Value::Object(fields)));
    }
    outcome::print(&named.map(|(name, items)| format!("{name:8}{items}\n")).concat())
}

/// Does something with the queue, until a signal withdraws it.
fn on_queue(
    which: &Which,
    path: &str,
    common: Common,
    doing: impl FnOnce(&Backlog, &CancelToken) -> Outcome,
) -> Outcome {
    let desk = Desk::open()?;
    let outcome = common.with_client(desk.cancel(), |client| doing(&which.of(client, path)?, desk.cancel()));
    skipped::say(&skipped::so_far());
    desk.explain(outcome)
}

/// Waits for so many items.
fn take(
    queue: &Backlog,
    which: &Which,
    path: &str,
    count: usize,
    limit: Option<Duration>,
    cancel: &CancelToken,
) -> Outcome {
    for _ in 0..count {
        let Some(item) = get(queue, limit, cancel)? else {
            return Err(Failure::new(NOT_ACQUIRED, format!("there was no item in {path} in time")));
        };
        which.print([item])?;
    }
    Ok(0)
}

/// Takes what is there, and shows how far it is where the items do not go to the same terminal.
fn drain(queue: &Backlog, which: &Which, count: Option<usize>, cancel: &CancelToken) -> Outcome {
    let counting = queue.clone();
    let there = drive::wait(async move { counting.len().await }, Some(cancel), None)?;
    let is_shown = !std::io::stdout().is_terminal();
    let mut progress = Progress::of(count.map_or(there, |count| count.min(there)) as u64, is_shown);
    for _ in 0..count.unwrap_or(usize::MAX) {
        let Some(item) = get(queue, Some(Duration::ZERO), cancel)? else { break };
        which.print([item])?;
        progress.add(1, 1);
    }
    Ok(0)
}

fn get(queue: &Backlog, limit: Option<Duration>, cancel: &CancelToken) -> Outcome<Option<Vec<u8>>> {
    match drive::wait(drive::get(queue, limit), Some(cancel), None) {
        Ok(got) => Ok(Some(got.hand_over())),
        Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn peek(queue: &Backlog, which: &Which, path: &str, is_all: bool, cancel: &CancelToken) -> Outcome {
    let queue = queue.clone();
    let items = match is_all {
        true => drive::wait(async move { queue.items().await }, Some(cancel), None)?,
        false => drive::wait(async move { queue.peek().await }, Some(cancel), None)?.into_iter().collect(),
    };
    if items.is_empty() {
        return Err(Failure::new(NO, format!("there is no item in {path}")));
    }
    which.print(items)?;
    Ok(0)
}
