//! What one call puts, on its way: so that whoever runs out of time or withdraws hears what became of it.
//!
//! 1. Before a transaction leaves, each call with an item in it is asked whether that is still wanted. A call that has
//!    withdrawn by then has certainly put nothing more: Timeout or Cancelled.
//! 2. Later the transaction cannot be called back. The caller waits a moment for its answer, and hears that: what is in is in. Without an
//!    answer nobody knows, which is ConnectionLost.
//! 3. A caller that drops the future hears nothing any more. So what went in is taken back, in the background. What
//!    somebody else has taken by then is told in the log.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::oneshot;

use super::puts::{VERB, vanished};
use super::take_back::TakeBack;
use crate::error::{Error, ErrorKind, Result};
use crate::session::call::Call;
use crate::session::wire::Created;

/// How long the answer to what was sent may come late.
const LATE: Duration = Duration::from_millis(500);

/// What the caller and who serves it know of one put.
#[derive(Default)]
pub(super) struct Sending(Mutex<Progress>);

#[derive(Default)]
struct Progress {
    /// How many went in.
    went_in: usize,
    /// Their nodes, where the answer has told them.
    nodes: Vec<Created>,
    /// Whether a transaction is under way with items of it.
    is_under_way: bool,
    is_withdrawn: bool,
}

impl Sending {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A transaction is about to leave. False if it must not.
    pub(super) fn leaves(&self) -> bool {
        let mut progress = self.progress();
        progress.is_under_way = !progress.is_withdrawn;
        progress.is_under_way
    }

    /// What was under way is decided.
    pub(super) fn settle(&self) {
        self.progress().is_under_way = false;
    }

    pub(super) fn has_begun(&self) -> bool {
        self.progress().went_in > 0
    }

    pub(super) fn is_withdrawn(&self) -> bool {
        self.progress().is_withdrawn
    }

    pub(super) fn went_in(&self, many: usize, nodes: impl Iterator<Item = Created>) {
        let mut progress = self.progress();
        progress.went_in += many;
        progress.nodes.extend(nodes);
    }

    /// Nothing more of it is to be sent; answers whether something is under way.
    fn withdraw(&self) -> bool {
        let mut progress = self.progress();
        progress.is_withdrawn = true;
        progress.is_under_way
    }
}

/// The caller's end of it. Dropped before the caller knows, what was put is taken back.
pub(super) struct Waiting {
    sending: Arc<Sending>,
    answer: Option<oneshot::Receiver<Result<()>>>,
    take_back: Option<TakeBack>,
    /// How many were to be put.
    all: usize,
}

impl Waiting {
    pub(super) fn new(
        sending: Arc<Sending>,
        answer: oneshot::Receiver<Result<()>>,
        take_back: TakeBack,
        all: usize,
    ) -> Waiting {
        Waiting { sending, answer: Some(answer), take_back: Some(take_back), all }
    }

    /// What became of it. The error says how many went in, if there are several.
    pub(super) async fn outcome(mut self, call: &mut Call) -> Result<Put> {
        let outcome = self.answered(call).await;
        let take_back = self.take_back.take();
        let mut progress = self.sending.progress();
        match outcome {
            Ok(()) => {
                let (nodes, unnamed) = progress.leave();
                Ok(Put { take_back, nodes, unnamed })
            }
            Err(error) if self.all == 1 => Err(error),
            Err(error) => Err(error.with_put(progress.went_in)),
        }
    }

    async fn answered(&mut self, call: &mut Call) -> Result<()> {
        let Some(answer) = self.answer.as_mut() else { return Err(vanished()) };
        let mut answer = Pin::new(answer);
        let over = match call.patiently(answer.as_mut()).await {
            Ok(answer) => return answer.unwrap_or_else(|_| Err(vanished())),
            Err(over) => over,
        };
        if !self.sending.withdraw() {
            return Err(over);
        }
        let (session, until) = (call.session().clone(), call.now() + LATE);
        tokio::select! {
            biased;
            answer = answer => match answer {
                Ok(answer) => answer,
                // The rest was not sent any more.
                Err(_) => Err(over),
            },
            () = session.clock().sleep_until(until) => match self.sending.progress().is_under_way {
                true => Err(unanswered(&over, self.all)),
                false => Err(over),
            },
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let Some(take_back) = self.take_back.take().filter(TakeBack::is_present) else { return };
        let (sending, answer) = (self.sending.clone(), self.answer.take());
        if !sending.withdraw() && sending.progress().went_in == 0 {
            return;
        }
        let is_known = async move {
            // An error says that more may go in.
            let is_in_doubt = match answer {
                Some(answer) => matches!(answer.await, Ok(Err(_))),
                None => false,
            };
            let (nodes, unnamed) = sending.progress().leave();
            (nodes, unnamed + usize::from(is_in_doubt))
        };
        take_back.when(is_known);
    }
}

impl Progress {
    /// The nodes of what went in, and how many have a name that nobody knows.
    fn leave(&mut self) -> (Vec<Created>, usize) {
        let nodes = std::mem::take(&mut self.nodes);
        let unnamed = self.went_in - nodes.len();
        (nodes, unnamed)
    }
}

/// Nobody knows what becomes of what was sent when `over` ended the wait.
fn unanswered(over: &Error, all: usize) -> Error {
    let why = match over.kind() {
        ErrorKind::Timeout => "no answer came within the time given",
        ErrorKind::Cancelled => "the wait was cancelled before an answer came",
        _ => "the client was closed before an answer came",
    };
    let kind = if over.kind() == ErrorKind::Closed { ErrorKind::Closed } else { ErrorKind::ConnectionLost };
    let what = if all == 1 { "the item is put" } else { "more is put than is told" };
    Error::new(
        kind,
        format!(
            "whether {what} cannot be known: the {VERB} was sent, and {why}. Look into the queue before you put it again"
        ),
    )
}

/// What was put. Whoever has no more use for it can have it taken back.
pub struct Put {
    take_back: Option<TakeBack>,
    nodes: Vec<Created>,
    unnamed: usize,
}

impl Put {
    /// Removes again what nobody has taken yet, in the background.
    pub(crate) fn take_back(self) {
        if let Some(take_back) = self.take_back.filter(TakeBack::is_present) {
            take_back.when(std::future::ready((self.nodes, self.unnamed)));
        }
    }
}

/// What one call has put so far. Dropped before the caller knows, it is taken back.
#[derive(Default)]
pub(super) struct SoFar(Vec<Put>, usize);

impl SoFar {
    pub(super) fn add(&mut self, put: Put) {
        self.1 += put.nodes.len() + put.unnamed;
        self.0.push(put);
    }

    /// How many items that are.
    pub(super) fn count(&self) -> usize {
        self.1
    }

    /// The caller knows.
    pub(super) fn told(mut self) -> Vec<Put> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for SoFar {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Put::take_back);
    }
}
