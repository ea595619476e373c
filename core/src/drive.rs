//! How the faces run the core's futures: block on one ([`wait`]) or be called back ([`start`]).

use std::future::Future;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use tokio::sync::watch;

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::runtime;

/// Withdraws the calls that it was given to.
#[derive(Clone)]
pub struct CancelToken(Arc<watch::Sender<bool>>);

impl Default for CancelToken {
    fn default() -> Self {
        CancelToken::new()
    }
}

impl std::fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CancelToken({})", self.is_cancelled())
    }
}

impl CancelToken {
    /// A token that has not been used.
    pub fn new() -> CancelToken {
        CancelToken(Arc::new(watch::Sender::new(false)))
    }

    /// Every call that has this token, now or later, ends with Cancelled.
    pub fn cancel(&self) {
        self.0.send_replace(true);
    }

    /// Whether [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        *self.0.borrow()
    }

    async fn cancelled(&self) {
        let mut receiver = self.0.subscribe();
        let _ = receiver.wait_for(|cancelled| *cancelled).await;
    }
}

/// Something to look at while a call blocks, such as the interpreter's pending signals.
pub struct Tick<'a> {
    /// How often.
    pub every: Duration,
    /// Answers false to withdraw the call, which then ends with Cancelled.
    pub hook: &'a mut dyn FnMut() -> bool,
}

/// `Err(Forked)` in a child of a process that has used the library.
pub fn check_process() -> Result<()> {
    runtime::check_process()
}

/// `Err(Deadlock)` or `Err(Forked)` where [`wait`] would refuse: for calls that do something before they wait.
pub fn check_may_wait() -> Result<()> {
    runtime::check_process()?;
    runtime::check_may_block()
}

/// Runs `future` on the library's runtime and blocks this thread until it is done.
///
/// Inside a callback or on a thread of the runtime the answer is Deadlock, in a forked child Forked. A withdrawn future
/// is dropped, which leaves nothing behind, and its result, should it have one by then, is dropped too.
pub fn wait<T: Send + 'static>(
    future: impl Future<Output = Result<T>> + Send + 'static,
    cancel: Option<&CancelToken>,
    mut tick: Option<Tick<'_>>,
) -> Result<T> {
    check_may_wait()?;
    let own = CancelToken::new();
    let cancel = cancel.cloned().unwrap_or_else(CancelToken::new);
    let (sender, receiver) = channel();
    run(future, &[cancel, own.clone()], move |result| {
        let _ = sender.send(result);
    });
    loop {
        let Some(tick) = tick.as_mut() else {
            return receiver.recv().unwrap_or_else(|_| Err(vanished()));
        };
        match receiver.recv_timeout(tick.every) {
            Ok(result) => return result,
            Err(RecvTimeoutError::Disconnected) => return Err(vanished()),
            Err(RecvTimeoutError::Timeout) => {
                if !(tick.hook)() {
                    own.cancel();
                    // Wait until the future is really gone: what it had acquired is being let go by then.
                    drop(receiver.recv());
                    return Err(Error::cancelled());
                }
            }
        }
    }
}

/// Runs `future` in the background; `done` is called exactly once, on the library's completion thread.
pub fn start<T: Send + 'static>(
    future: impl Future<Output = Result<T>> + Send + 'static,
    cancel: &CancelToken,
    done: impl FnOnce(Result<T>) + Send + 'static,
) -> Result<()> {
    runtime::check_process()?;
    run(future, std::slice::from_ref(cancel), move |result| {
        runtime::COMPLETIONS.run(Box::new(move || done(result)));
    });
    Ok(())
}

/// The same, but `done` is called where the callbacks of `client` are.
pub fn start_for<T: Send + 'static>(
    client: &Client,
    future: impl Future<Output = Result<T>> + Send + 'static,
    cancel: &CancelToken,
    done: impl FnOnce(Result<T>) + Send + 'static,
) -> Result<()> {
    runtime::check_process()?;
    let session = client.session()?;
    run(future, std::slice::from_ref(cancel), move |result| {
        session.delivery.completion(Box::new(move || done(result)));
    });
    Ok(())
}

fn run<T: Send + 'static>(
    future: impl Future<Output = Result<T>> + Send + 'static,
    cancel: &[CancelToken],
    done: impl FnOnce(Result<T>) + Send + 'static,
) {
    let tokens = cancel.to_vec();
    let task = runtime::spawn_task(async move {
        let cancelled =
            futures_util::future::select_all(tokens.iter().map(|token| Box::pin(token.cancelled())));
        tokio::select! {
            biased;
            _ = cancelled => Err(Error::cancelled()),
            result = future => result,
        }
    });
    runtime::spawn(Box::pin(async move {
        // A panic in the core must reach the caller as an error, not as a call that never ends.
        done(task.await.unwrap_or_else(|_| Err(vanished())));
    }));
}

fn vanished() -> Error {
    Error::new(
        ErrorKind::Internal,
        "a call ended without a result, which is a bug of zkrecipes; please report it",
    )
}
