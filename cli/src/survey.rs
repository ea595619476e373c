//! What stands below a path, for `ls --recursive`, `top` and `serve`: one reader, rows for people, JSON for programs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

use zkrecipes::drive::{self, CancelToken, Found, FoundKind, Survey};
use zkrecipes::{Client, Contender, Feed};

use crate::contenders::kazoos_queue;
use crate::outcome::{Failure, INTERNAL, Outcome};
use crate::table::{self, Fields, Text};

/// How long after a look the next one begins at the earliest: what changes all the time costs no more than that.
const PAUSE: Duration = Duration::from_millis(250);
/// Said when there are too many nodes.
pub(crate) const CUT: &str = "there are too many nodes to look at all of them; choose a path further down";
/// How many names a cell has; the others are counted.
const NAMED: usize = 3;

/// Tells what there is now, and again whenever that has changed, from a thread of its own until it is dropped.
pub(crate) struct Looking {
    cancel: CancelToken,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Looking {
    pub(crate) fn start(
        client: &Client,
        path: &str,
        mut tell: impl FnMut(zkrecipes::Result<Survey>) + Send + 'static,
    ) -> Outcome<Looking> {
        let feed = drive::survey(client, path)?;
        let (cancel, is_over) = (CancelToken::new(), Arc::new(AtomicBool::new(false)));
        let (withdrawn, ended) = (cancel.clone(), is_over.clone());
        let look = move || {
            let mut feed = feed;
            while !ended.load(Ordering::Acquire) {
                let began = Instant::now();
                match next(feed, &withdrawn) {
                    Ok((back, Some(Ok(survey)))) => {
                        feed = back;
                        tell(Ok(survey));
                    }
                    Ok((_, Some(Err(error)))) => return tell(Err(error)),
                    Ok((_, None)) | Err(_) => return,
                }
                thread::park_timeout(PAUSE.saturating_sub(began.elapsed()));
            }
        };
        let thread = thread::Builder::new()
            .name("zkrecipes-survey".to_owned())
            .spawn(look)
            .map_err(|error| Failure::new(INTERNAL, format!("cannot start a thread: {error}")))?;
        Ok(Looking { cancel, is_over, thread: Some(thread) })
    }
}

impl Drop for Looking {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        self.cancel.cancel();
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

type Next = (Feed<Survey>, Option<zkrecipes::Result<Survey>>);

fn next(mut feed: Feed<Survey>, cancel: &CancelToken) -> zkrecipes::Result<Next> {
    let asked = async move {
        let item = feed.next().await;
        Ok((feed, item))
    };
    drive::wait(asked, Some(cancel), None)
}

/// What there is now.
pub(crate) fn once(client: &Client, path: &str) -> Outcome<Survey> {
    let feed = drive::survey(client, path)?;
    match next(feed, &CancelToken::new())?.1 {
        Some(survey) => Ok(survey?),
        None => Err(Failure::new(INTERNAL, "the client was closed")),
    }
}

/// What `path` is, if it is no lock, semaphore or election, in a sentence that says what shows it.
pub(crate) fn what_else(client: &Client, path: &str) -> Outcome<Option<String>> {
    let survey = once(client, path)?;
    let here = survey.found.iter().find(|found| found.path == path);
    if here.is_some_and(|found| found.kind == FoundKind::Node) {
        let (nodes, queue) = (client.nodes(), kazoos_queue(path));
        if drive::wait(async move { nodes.exists(&queue).await }, None, None)?.is_some() {
            return Ok(None);
        }
    }
    let has_no_items = |found: &Found| found.kind == FoundKind::Queue && found.items == 0;
    if here.is_none_or(has_no_items) {
        return Ok(empty_or_sharded_queue(client, path, &survey)?
            .map(|what| format!("{path} is {what}, {NO_LOCK}; see zkrecipes queue ls {path}")));
    }
    Ok(here.and_then(|found| {
        let (what, with) = match found.kind {
            FoundKind::Queue => {
                (format!("a queue, with {}", counted(found.items, "item")), "zkrecipes queue ls")
            }
            FoundKind::Group => {
                (format!("a group, with {}", counted(found.holding, "member")), "zkrecipes members")
            }
            FoundKind::DoubleBarrier => ("a double barrier".to_owned(), "zkrecipes ls --recursive"),
            FoundKind::Node => ("a node with data".to_owned(), "zkrecipes ls --recursive --all"),
            _ => return None,
        };
        Some(format!("{path} is {what}, {NO_LOCK}; see {with} {path}"))
    }))
}

/// Of what is no lock somebody may hold a part all the same, such as an item.
const NO_LOCK: &str = "and no lock, semaphore or election";

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A queue that has no item at the path itself: they are in its shards, or there are none, but what it keeps for itself.
fn empty_or_sharded_queue(client: &Client, path: &str, survey: &Survey) -> Outcome<Option<String>> {
    let is_shard = |found: &&Found| {
        let number = found.path.strip_prefix(path).and_then(|rest| rest.strip_prefix('/'));
        found.kind == FoundKind::Queue && number.is_some_and(|number| number.parse::<u16>().is_ok())
    };
    let shards: Vec<_> = survey.found.iter().filter(is_shard).collect();
    if !shards.is_empty() {
        let items: usize = shards.iter().map(|shard| shard.items).sum();
        return Ok(Some(format!("a queue in shards, with {}", counted(items, "item"))));
    }
    let nodes = client.nodes();
    let own = ["-__queue__", "-__dead__", "/__queue__", "/__dead__"].map(|own| format!("{path}{own}"));
    let is_queue = drive::wait(
        async move {
            for node in own {
                if nodes.exists(&node).await?.is_some() {
                    return Ok(true);
                }
            }
            Ok(false)
        },
        None,
        None,
    )?;
    Ok(is_queue.then(|| "an empty queue".to_owned()))
}

/// Takes away what is no recipe, unless it is asked for.
pub(crate) fn keep(survey: &mut Survey, with_nodes: bool) {
    survey.found.retain(|found| with_nodes || found.kind != FoundKind::Node);
}

// ---- for people

/// What is told of one recipe in a line.
pub(crate) struct Line {
    pub(crate) path: String,
    pub(crate) kind: &'static str,
    /// How much of it is in use, or how far it is.
    pub(crate) now: String,
    /// Who holds, leads, works or takes part.
    pub(crate) who: String,
    /// For how long the first of them has been there.
    pub(crate) since: Option<SystemTime>,
    pub(crate) waiting: usize,
    /// Who is next.
    pub(crate) next: String,
}

impl Line {
    pub(crate) fn of(found: &Found) -> Line {
        let holders = || found.contenders.iter().filter(|contender| contender.holds);
        let waiters = || found.contenders.iter().filter(|contender| !contender.holds);
        let of = |count: usize| match found.size {
            Some(size) => format!("{count}/{size}"),
            None => count.to_string(),
        };
        let now = match found.kind {
            FoundKind::Lock if found.holding == 0 => "free".to_owned(),
            FoundKind::Lock => "held".to_owned(),
            FoundKind::ReadWriteLock => match holders().next() {
                Some(first) if first.kind == "read" => format!("{} reading", found.holding),
                Some(_) => "writing".to_owned(),
                None => "free".to_owned(),
            },
            FoundKind::Semaphore => of(found.holding),
            FoundKind::Election if found.has_begun => "leads".to_owned(),
            FoundKind::Election => "elected".to_owned(),
            FoundKind::Queue => {
                let dead = if found.dead > 0 { format!(", {} dead", found.dead) } else { String::new() };
                format!("{} queued{dead}", found.items)
            }
            FoundKind::DoubleBarrier if found.has_begun => format!("{} in", of(found.holding)),
            FoundKind::DoubleBarrier => of(found.waiting),
            FoundKind::Group => of(found.holding),
            FoundKind::Node => String::new(),
        };
        let gathering = found.kind == FoundKind::DoubleBarrier && !found.has_begun;
        let who = match found.kind {
            FoundKind::Node => Text::of(&found.data).shown(60),
            _ if gathering => named(waiters(), found.waiting),
            _ => named(holders(), found.holding),
        };
        let since = holders().map(|contender| contender.since).min();
        let since = since.or_else(|| waiters().map(|contender| contender.since).min());
        Line {
            path: table::shown_path(&found.path),
            kind: found.kind.name(),
            now,
            who,
            since,
            waiting: found.waiting,
            next: if gathering { String::new() } else { waiters().next().map(shown).unwrap_or_default() },
        }
    }

    pub(crate) fn cells(&self, now: SystemTime) -> [String; 7] {
        let dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        [
            self.path.clone(),
            self.kind.to_owned(),
            dash(&self.now),
            dash(&self.who),
            self.age(now),
            self.waiting.to_string(),
            dash(&self.next),
        ]
    }

    pub(crate) fn age(&self, now: SystemTime) -> String {
        let age = |since| table::age(now.duration_since(since).unwrap_or_default());
        self.since.map_or_else(|| "-".to_owned(), age)
    }
}

/// Over the cells of a [`Line`].
pub(crate) const HEADINGS: [&str; 7] = ["PATH", "KIND", "NOW", "WHO", "SINCE", "WAITING", "NEXT"];

fn named<'a>(all: impl Iterator<Item = &'a Contender>, count: usize) -> String {
    let (mut names, mut read): (Vec<String>, usize) = (Vec::new(), 0);
    for name in all.map(shown) {
        read += 1;
        // Several permits of one holder.
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = match names.len().checked_sub(NAMED) {
        None | Some(0) => String::new(),
        // Of those that were not read nobody knows who they are.
        Some(others) => format!(" +{}", others + count.saturating_sub(read)),
    };
    names.truncate(NAMED);
    names.join(", ") + &more
}

/// What is shown of who a contender is.
pub(crate) fn shown(contender: &Contender) -> String {
    table::shown_who(&contender.identity)
}

// ---- for programs

/// The fields of what was found.
pub(crate) fn fields(found: &Found) -> Fields {
    let mut fields = table::object([
        ("path", found.path.as_str().into()),
        ("kind", found.kind.name().into()),
        ("holding", found.holding.into()),
        ("waiting", found.waiting.into()),
        ("size", found.size.into()),
        ("items", found.items.into()),
        ("dead", found.dead.into()),
        ("begun", found.has_begun.into()),
    ]);
    Text::of(&found.data).add_to(&mut fields, "data");
    let contenders = found.contenders.iter().map(|contender| table::contender(contender).into());
    fields.insert("contenders".to_owned(), contenders.collect::<Vec<serde_json::Value>>().into());
    fields
}
