//! `zkrecipes serve PATH`: what is in use below a path, as a page for a browser on this machine.
//!
//! [`http`] answers, with the page or with what it shows as JSON, and with nothing else, and only whoever has the [`key`];
//! [`guests`] has room for a few at a time. The page has everything in it and
//! asks for the JSON once a second, which costs ZooKeeper nothing: that is watched, as `top` does it.

mod guests;
mod http;
mod key;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use serde_json::Value;
use zkrecipes::drive::{CancelToken, Survey};
use zkrecipes::{Client, State as Connection};

use self::http::Door;
use crate::args;
use crate::common::Common;
use crate::credentials;
use crate::follow::ENDING;
use crate::help::examples;
use crate::history::{HandOff, History};
use crate::outcome::{self, Failure, INTERNAL, Outcome};
use crate::survey::{self, Looking};
use crate::system::signals::{SIGINT, Signals};
use crate::table;

/// What is in use below a path, as a page in a browser
///
/// Prints the address of the page, which shows what zkrecipes top does: what is
/// held, waited for, elected, queued and at barriers at PATH and below it, with
/// a filter, and who took over from whom since it was started.
///
/// It only ever reads. The address has a token in it, another one with every
/// start: without it nobody is answered, no other account of this machine
/// either. A browser that has opened the address keeps the token in a cookie; a
/// program sends it as Authorization: Bearer TOKEN. Only this machine can reach
/// the page unless --listen says something else, and then the token and all
/// that is shown travel in plain text. It answers GET and HEAD for the page and
/// for /state.json; anything else is refused, and so is a page of another site
/// that pretends to be this one (the Host header has to be an address of this
/// page). The page needs nothing from elsewhere.
///
/// The servers have to do what they do for zkrecipes top, however many people
/// look.
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = examples!("\
  zkrecipes serve --read-only
  zkrecipes serve --listen 127.0.0.1:8080 /locks
  zkrecipes serve --listen 127.0.0.1:8080 --token-file ~/.zkrecipes-token &
  curl -s -H \"Authorization: Bearer $(cat ~/.zkrecipes-token)\" \\
      http://127.0.0.1:8080/state.json |
      jq -r '.found[] | select(.waiting > 0) | .path'"))]
pub(crate) struct Args {
    /// Where to look
    #[arg(default_value = "/")]
    path: String,
    /// What it does anyway: it cannot write
    #[arg(long)]
    read_only: bool,
    /// Where browsers find it; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7181")]
    listen: SocketAddr,
    /// A name by which browsers may call this machine, if not localhost or the address at which they reach it, as often as
    /// needed
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// A token of your own, for programs: a file that nobody else may read, with 16 characters or more
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The nodes with data that are no such recipe, too
    #[arg(long)]
    all: bool,
    /// End by itself, with status 0
    #[arg(long = "for", value_name = "TIME", value_parser = args::duration)]
    limit: Option<Duration>,
}

/// What is known; answers are made of it.
pub(crate) struct Known {
    /// Grows with every change.
    version: u64,
    path: String,
    is_connected: bool,
    survey: Option<Survey>,
    history: History,
    /// What is answered, once somebody has asked for this version.
    text: Option<Arc<str>>,
}

pub(crate) type Shared = Arc<Mutex<Known>>;

fn lock(shared: &Shared) -> MutexGuard<'_, Known> {
    shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Known {
    fn new(path: &str) -> Known {
        Known {
            version: 1,
            path: path.to_owned(),
            is_connected: true,
            survey: None,
            history: History::default(),
            text: None,
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut Known)) {
        change(self);
        self.version += 1;
        self.text = None;
    }

    /// Put together once for each version, however many people look.
    fn text(&mut self) -> Arc<str> {
        let text = self.text.take().unwrap_or_else(|| (self.json() + "\n").into());
        self.text.insert(text).clone()
    }

    fn json(&self) -> String {
        let list = |all: Vec<table::Fields>| Value::Array(all.into_iter().map(Value::Object).collect());
        let found = self.survey.iter().flat_map(|survey| &survey.found).map(survey::fields);
        table::json(table::object([
            ("version", self.version.into()),
            ("path", self.path.as_str().into()),
            ("connected", self.is_connected.into()),
            ("complete", self.survey.as_ref().is_some_and(|survey| !survey.is_cut).into()),
            ("ready", self.survey.is_some().into()),
            ("found", list(found.collect())),
            ("history", list(self.history.hand_offs.iter().map(HandOff::fields).collect())),
        ]))
    }
}

/// Why it ends.
enum End {
    Signal,
    Failed(zkrecipes::Error),
}

pub(crate) fn run(args: Args, common: Common) -> Outcome {
    let token = args.token()?;
    let listener = TcpListener::bind(args.listen).map_err(|error| {
        Failure::usage(format!("cannot listen at {}: {error}; choose another with --listen", args.listen))
    })?;
    let (sender, ends) = channel();
    let cancel = CancelToken::new();
    let (withdrawing, telling) = (cancel.clone(), sender.clone());
    let signals = Signals::catch(&ENDING, move |_| {
        withdrawing.cancel();
        let _ = telling.send(End::Signal);
    })
    .map_err(|error| Failure::new(INTERNAL, format!("cannot catch signals: {error}")))?;
    let outcome = common.with_client(&cancel, |client| {
        let shared = Arc::new(Mutex::new(Known::new(&args.path)));
        let interrupted = following(client, &shared);
        let _looking = look(client, &args, &shared, sender)?;
        let door = Door::open(listener, &args.host, token.clone(), shared.clone())
            .map_err(|error| Failure::new(INTERNAL, format!("cannot answer: {error}")))?;
        outcome::print(&format!("http://{}/?token={token}\n", door.address()))?;
        if !door.address().ip().is_loopback() {
            outcome::say(
                "the token, and all that is shown, travel in plain text: whoever is on the way can read both",
            );
        }
        let end = match args.limit {
            Some(limit) => ends.recv_timeout(limit).ok(),
            None => ends.recv().ok(),
        };
        interrupted.unsubscribe();
        match end {
            Some(End::Failed(error)) => Err(error.into()),
            Some(End::Signal) | None => Ok(0),
        }
    });
    match signals.ending() {
        // The usual way to end it.
        Some(SIGINT) => Ok(0),
        Some(signal) => Err(Failure::signal(signal)),
        None => outcome,
    }
}

impl Args {
    fn token(&self) -> Outcome<String> {
        let Some(file) = &self.token_file else {
            return Ok(http::random());
        };
        let content = credentials::secret_file(file, "--token-file")?;
        let token = content.trim();
        match key::problem(token) {
            None => Ok(token.to_owned()),
            Some(problem) => Err(Failure::usage(format!("--token-file: the token {problem}"))),
        }
    }
}

fn following(client: &Client, shared: &Shared) -> zkrecipes::Subscription {
    let told = shared.clone();
    client.on_state(move |state| {
        let is_connected = match state {
            Connection::Suspended | Connection::Lost => false,
            Connection::Connected => true,
            _ => return,
        };
        lock(&told).change(|known| known.is_connected = is_connected);
    })
}

fn look(client: &Client, args: &Args, shared: &Shared, ends: Sender<End>) -> Outcome<Looking> {
    let (told, with_nodes) = (shared.clone(), args.all);
    Looking::start(client, &args.path, move |survey| match survey {
        Ok(mut survey) => {
            survey::keep(&mut survey, with_nodes);
            let mut known = lock(&told);
            if known.survey.as_ref() != Some(&survey) {
                known.change(|known| {
                    known.history.add(&survey.found, SystemTime::now());
                    known.survey = Some(survey);
                });
            }
        }
        Err(error) => drop(ends.send(End::Failed(error))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_put_together_once_for_each_version() {
        let mut known = Known::new("/locks");
        let first = known.text();
        assert!(first.contains("\"version\":1,") && first.contains("\"connected\":true"), "{first}");
        assert!(Arc::ptr_eq(&first, &known.text()));
        known.change(|known| known.is_connected = false);
        let second = known.text();
        assert!(second.contains("\"version\":2,") && second.contains("\"connected\":false"), "{second}");
        assert!(Arc::ptr_eq(&second, &known.text()));
    }
}
