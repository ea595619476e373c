//! `zkrecipes queue put PATH [ITEM …]`: the items of the command line, or those of stdin.
//!
//! A thread reads stdin, so that a signal can end the command while there is nothing to read. What has been read when
//! somebody is ready to put it is put together.

use std::io::{BufRead, BufReader, stdin};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{Backlog, Client, ErrorKind, Result};

use super::progress::Progress;
use super::{Kind, Which};
use crate::args;
use crate::common::Common;
use crate::follow::ENDING;
use crate::help::examples;
use crate::outcome::{Failure, INTERNAL, NOT_ACQUIRED, Outcome};
use crate::system::signals::Signals;
use crate::system::streams;
use crate::under;

/// As many as are read before somebody puts them.
const BATCH: usize = 1000;

/// Puts each ITEM, or each line of stdin, in that order and once, also when an answer gets lost
///
/// With status 69 it is not known whether the last ones were put.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes queue put /queues/mail alice@example.org bob@example.org
  find . -name '*.png' -print0 | zkrecipes queue put -z /queues/resize
  zkrecipes queue put --delay 15m /queues/reminders 'call Alice'
  zkrecipes queue put --key report-2026-11-28 /queues/jobs report"))]
pub(super) struct Args {
    /// Of the queue
    path: String,
    /// Without any, those of stdin
    #[arg(value_name = "ITEM")]
    items: Vec<String>,
    /// An item of a priority queue; lower first
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "delay")]
    priority: Option<i32>,
    /// An item of a delay queue, not to be had before
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    delay: Option<Duration>,
    /// Puts the one ITEM once, whoever puts with that key
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// For how long the key counts, 10 minutes unless told; all who put should give the same
    #[arg(long, value_name = "TIME", value_parser = args::duration, requires = "key")]
    key_window: Option<Duration>,
    /// Wait no longer for room in a full queue, once a server has been found; status 75
    #[arg(long, short = 'w', value_name = "TIME", value_parser = args::duration)]
    timeout: Option<Duration>,
}

enum Input {
    Items(Vec<Vec<u8>>),
    End,
    Failed(std::io::Error),
    Withdrawn,
}

pub(super) fn run(args: Args, which: Which, common: Common) -> Outcome {
    let items: Vec<_> = args.items.iter().map(|item| item.clone().into_bytes()).collect();
    if args.key.is_some() && items.len() != 1 {
        return Err(Failure::usage("--key names one put; give one ITEM with it"));
    }
    let (cancel, (sender, input)) = (CancelToken::new(), sync_channel(1));
    let (withdrawing, stopping) = (cancel.clone(), sender.clone());
    let signals = Signals::catch(&ENDING, move |_| {
        withdrawing.cancel();
        let _ = stopping.try_send(Input::Withdrawn);
    })
    .map_err(|error| Failure::new(INTERNAL, format!("cannot catch signals: {error}")))?;
    let outcome = common.with_client(&cancel, |client| {
        let mut put = Put::open(client, &args, &which)?;
        if !items.is_empty() {
            return put.all(&items, &cancel).map(|()| 0);
        }
        let delimiter = if which.null { 0 } else { b'\n' };
        std::thread::spawn(move || read(delimiter, |input| sender.send(input).is_ok()));
        put.from(&input, &cancel)
    });
    match signals.ending() {
        Some(signal) if outcome.as_ref().is_err_and(Failure::is_withdrawn) => Err(Failure::signal(signal)),
        _ => outcome,
    }
}

/// Reads items until the end of stdin, and passes on together what is there together.
fn read(delimiter: u8, pass_on: impl Fn(Input) -> bool) {
    let mut input = BufReader::with_capacity(1 << 16, stdin());
    loop {
        let mut items = Vec::new();
        while items.is_empty() || items.len() < BATCH && input.buffer().contains(&delimiter) {
            let mut item = Vec::new();
            match input.read_until(delimiter, &mut item) {
                Ok(0) if items.is_empty() => {
                    pass_on(Input::End);
                    return;
                }
                Ok(0) => break,
                Ok(_) => {}
                Err(error) => {
                    pass_on(Input::Failed(error));
                    return;
                }
            }
            if item.last() == Some(&delimiter) {
                item.pop();
            }
            items.push(item);
        }
        if !pass_on(Input::Items(items)) {
            return;
        }
    }
}

/// The queue, and what went into it.
struct Put {
    handle: Handle,
    /// Of the queue
    path: String,
    key: Option<String>,
    limit: Option<Duration>,
    put: usize,
}

enum Handle {
    Plain(zkrecipes::Queue),
    Priority(zkrecipes::PriorityQueue, i32),
    Delay(zkrecipes::DelayQueue, Duration),
}

impl Put {
    fn open(client: &Client, args: &Args, which: &Which) -> Outcome<Put> {
        let (path, options) = (args.path.as_str(), which.options()?);
        let options = match args.key_window {
            Some(window) => options.key_window(window),
            None => options,
        };
        let handle = match (args.priority, args.delay, which.kind) {
            (Some(priority), ..) => Handle::Priority(client.priority_queue(path, options)?, priority),
            (_, Some(delay), _) => Handle::Delay(client.delay_queue(path, options)?, delay),
            (.., Kind::Plain) => Handle::Plain(client.queue(path, options)?),
            (.., Kind::Priority) => Handle::Priority(client.priority_queue(path, options)?, 0),
            (.., Kind::Delay) => Handle::Delay(client.delay_queue(path, options)?, Duration::ZERO),
        };
        let queue: &Backlog = match &handle {
            Handle::Plain(queue) => queue,
            Handle::Priority(queue, _) => queue,
            Handle::Delay(queue, _) => queue,
        };
        under::say_waits(|tell| queue.on_wait(tell), |_| ": it is full".to_owned());
        Ok(Put { handle, path: path.to_owned(), key: args.key.clone(), limit: args.timeout, put: 0 })
    }

    fn from(&mut self, input: &Receiver<Input>, cancel: &CancelToken) -> Outcome {
        let mut progress = Progress::of(size_of_stdin(), !std::io::IsTerminal::is_terminal(&stdin()));
        loop {
            // Whoever catches the signals has the other end for as long as this.
            match input.recv().unwrap_or(Input::End) {
                Input::Items(items) => {
                    let bytes = items.iter().map(|item| item.len() as u64 + 1).sum();
                    self.all(&items, cancel)?;
                    progress.add(items.len() as u64, bytes);
                }
                Input::End => return Ok(0),
                Input::Failed(error) => {
                    return Err(Failure::usage(format!("cannot read the items from stdin: {error}")));
                }
                Input::Withdrawn => return Err(Failure::withdrawn()),
            }
        }
    }

    /// Puts them in order. The failure says how many there were until then.
    fn all(&mut self, items: &[Vec<u8>], cancel: &CancelToken) -> Outcome<()> {
        let together = if matches!(self.handle, Handle::Plain(_)) { items.len() } else { 1 };
        for items in items.chunks(together) {
            let put = self.handle.put(items.to_vec(), self.key.as_deref(), self.limit, cancel);
            self.put += match &put {
                Ok(()) => items.len(),
                Err(error) => error.put().unwrap_or(0),
            };
            put.map_err(|error| {
                let failure = match error.kind() {
                    ErrorKind::Timeout => Failure::new(NOT_ACQUIRED, format!("{} stayed full", self.path)),
                    _ => error.into(),
                };
                failure.adding(&format!("; {} items were put before that", self.put))
            })?;
        }
        Ok(())
    }
}

impl Handle {
    /// With a key it is one item.
    fn put(
        &self,
        items: Vec<Vec<u8>>,
        key: Option<&str>,
        limit: Option<Duration>,
        cancel: &CancelToken,
    ) -> Result<()> {
        let (mut each, key) = (items.into_iter(), || key.map(str::to_owned));
        match self {
            Handle::Plain(queue) if key().is_some() => each.try_for_each(|item| {
                let put = drive::put_one(queue, item, key(), limit);
                drive::wait(put, Some(cancel), None).map(drive::Done::receive)
            }),
            Handle::Plain(queue) => drive::wait(drive::put(queue, each.collect(), limit), Some(cancel), None)
                .map(drive::Done::receive),
            Handle::Priority(queue, priority) => each.try_for_each(|item| {
                let put = drive::put_priority(queue, item, *priority, key(), limit);
                drive::wait(put, Some(cancel), None).map(drive::Done::receive)
            }),
            Handle::Delay(queue, delay) => each.try_for_each(|item| {
                let put = drive::put_delayed(queue, item, *delay, key(), limit);
                drive::wait(put, Some(cancel), None).map(drive::Done::receive)
            }),
        }
    }
}

/// 0 where nobody knows: a pipe has no size.
fn size_of_stdin() -> u64 {
    streams::stdin()
        .and_then(|file| file.metadata())
        .map_or(0, |metadata| if metadata.is_file() { metadata.len() } else { 0 })
}
