//! What a command runs under: something held, until it has ended.

use std::io::{self, IsTerminal};
use std::sync::mpsc::Sender;

use zkrecipes::drive::log::Value;
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{DoubleBarrier, Handle, Held, Item, Leadership, Result, Subscription, WaitProgress};

use crate::job::News;
use crate::outcome::say;
use crate::table;

/// What a wait tells while it goes on.
pub(crate) type Tell = Box<dyn Fn(WaitProgress) + Send + Sync>;

/// On a terminal, somebody looks on while it is waited for: says for whom.
pub(crate) fn tell_waits(handle: &Handle) {
    say_waits(
        |tell| handle.on_wait(tell),
        |progress| format!("{}{}", who(progress, "holds it"), others(progress)),
    );
}

/// The same of what is no line: `more` says what else is known.
pub(crate) fn say_waits(
    listen: impl FnOnce(Tell) -> Result<Subscription>,
    more: impl Fn(&WaitProgress) -> String + Send + Sync + 'static,
) {
    if io::stderr().is_terminal() {
        // Of a client that is closed the wait itself says so.
        let _ = listen(Box::new(move |progress| {
            let (path, waited) = (&progress.path, progress.waited.as_secs());
            say(&format!("waiting for {path} since {waited} s{}", more(&progress)));
        }));
    }
}

/// Who has done what keeps us waiting.
pub(crate) fn who(progress: &WaitProgress, what: &str) -> String {
    match progress.holder.as_ref().map(|holder| holder.identity.as_str()) {
        // Nobody knows, or only that somebody did.
        None | Some("") => String::new(),
        // Others write what they are called.
        Some(identity) => format!(": {} {what}", Value::Text(table::shown_who(identity))),
    }
}

fn others(progress: &WaitProgress) -> String {
    match progress.ahead {
        Some(ahead) if ahead > 1 => format!(", {} more ahead", ahead - 1),
        _ => String::new(),
    }
}

pub(crate) trait Under {
    /// What the command finds in its environment.
    fn environment(&self) -> Vec<(&'static str, String)>;

    /// What the command reads from its stdin, where that is not ours.
    fn input(&self) -> Option<Vec<u8>> {
        None
    }

    /// Tells when it is lost, and when somebody asks for it.
    fn listen(&self, news: &Sender<News>);

    /// Ends it, as the command has ended. `cancel` withdraws what may wait for others.
    fn leave(&self, has_failed: bool, cancel: &CancelToken) -> Result<()>;
}

impl Under for Held {
    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![("ZKR_FENCING_TOKEN", self.fencing_token().to_string()), ("ZKR_SEQUENCER", self.sequencer())]
    }

    fn listen(&self, news: &Sender<News>) {
        let (lost, asked) = (news.clone(), news.clone());
        self.on_lost(move |error| drop(lost.send(News::Lost(error))));
        self.on_revoke(move || drop(asked.send(News::Asked)));
    }

    fn leave(&self, has_failed: bool, _cancel: &CancelToken) -> Result<()> {
        drive::wait(Held::leave(self, has_failed), None, None)
    }
}

impl Under for Leadership {
    fn environment(&self) -> Vec<(&'static str, String)> {
        let mut environment = Under::environment(&**self);
        environment.push(("ZKR_EPOCH", self.epoch().to_string()));
        environment
    }

    fn listen(&self, news: &Sender<News>) {
        Under::listen(&**self, news);
    }

    fn leave(&self, has_failed: bool, cancel: &CancelToken) -> Result<()> {
        Under::leave(&**self, has_failed, cancel)
    }
}

impl Under for Item {
    fn environment(&self) -> Vec<(&'static str, String)> {
        let mut environment = Under::environment(&**self);
        environment.push(("ZKR_ATTEMPTS", self.attempts().to_string()));
        environment
    }

    fn input(&self) -> Option<Vec<u8>> {
        Some(self.data().to_vec())
    }

    fn listen(&self, news: &Sender<News>) {
        Under::listen(&**self, news);
    }

    /// Whoever runs the command gives back what has failed, and says why; what a signal has ended has not.
    fn leave(&self, has_failed: bool, cancel: &CancelToken) -> Result<()> {
        match (has_failed, cancel.is_cancelled()) {
            (true, false) => Ok(()),
            (true, true) => drive::wait(Held::leave(self, true), None, None),
            (false, _) => drive::wait(Item::leave(self, false), None, None),
        }
    }
}

/// Who has entered is told of a loss when it leaves.
impl Under for DoubleBarrier {
    fn environment(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn listen(&self, _news: &Sender<News>) {}

    fn leave(&self, has_failed: bool, cancel: &CancelToken) -> Result<()> {
        if has_failed {
            return self.withdraw();
        }
        let leaving = self.clone();
        drive::wait(async move { leaving.leave(None).await }, Some(cancel), None)
    }
}
