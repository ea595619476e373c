//! Blocking on a future. On Linux the caller's own thread polls it, and drives the connections whose answers it awaits, as
//! `session/wire/own/driving.rs` says: so its answer crosses no other thread. Elsewhere the runtime polls it.

use std::future::Future;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
#[cfg(target_os = "linux")]
use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker},
    time::Instant,
};

use super::any_call::{AnyAnswer, AnyCall, answer_of, any_call, vanished};
#[cfg(target_os = "linux")]
use super::settled;
use super::{CancelToken, Tick, Tokens, check_may_wait, run};
use crate::error::{Error, Result};
use crate::process::Process;
#[cfg(target_os = "linux")]
use crate::runtime;
#[cfg(target_os = "linux")]
use crate::session::wire::own::{Drives, Parker, Woken, has_room};

/// Runs `future` and blocks this thread until it is done. On Linux this thread polls it.
///
/// Inside a callback or on a thread of the runtime the answer is Deadlock. A withdrawn future is dropped, which leaves
/// nothing behind, and its result, should it have one by then, is dropped too. Forked, if this is the child of a fork that
/// the tick made, or the handler of a signal: the parent goes on waiting.
pub fn wait<T: Send + 'static>(
    future: impl Future<Output = Result<T>> + Send + 'static,
    cancel: Option<&CancelToken>,
    tick: Option<Tick<'_>>,
) -> Result<T> {
    answer_of(wait_any(any_call(future), cancel, tick))
}

/// The same without its types.
pub fn wait_any(call: AnyCall, cancel: Option<&CancelToken>, tick: Option<Tick<'_>>) -> Result<AnyAnswer> {
    check_may_wait()?;
    // A caller that has nothing to look at meanwhile does not withdraw it.
    let own = tick.is_some().then(CancelToken::new);
    let tokens = [cancel.cloned(), own.clone()];
    #[cfg(target_os = "linux")]
    if has_room() && runtime::is_within_reach() {
        return wait_here(Box::pin(settled(call, tokens)), own, tick);
    }
    wait_for_the_runtime(call, tokens, own, tick)
}

#[cfg(target_os = "linux")]
fn wait_here(mut call: AnyCall, own: Option<CancelToken>, tick: Option<Tick<'_>>) -> Result<AnyAnswer> {
    let process = Process::present();
    let parker = Arc::new(Parker::default());
    let waker = Waker::from(parker.clone());
    let due = tick.as_ref().map(|tick| Instant::now() + tick.every);
    let mut drives = Drives::default();
    loop {
        let polled = drives.noting(|| runtime::poll(Pin::new(&mut call), &mut Context::from_waker(&waker)));
        if let Poll::Ready(answer) = polled {
            return answer;
        }
        let mut woken = Woken::Forked;
        if process.is_present() {
            woken = parker.park(&mut drives, due);
        }
        if let Err(forked) = process.check() {
            // The call goes on in the parent, and what it has in common with us is the parent's.
            std::mem::forget((call, parker, waker, drives, own));
            return Err(forked);
        }
        if matches!(woken, Woken::ForTheHook) && tick.is_some() {
            // That may take long, and wait for what the call does: from here on the runtime polls it.
            drives.hand_over();
            let (sender, receiver) = channel();
            runtime::spawn(Box::pin(async move { _ = sender.send(call.await) }));
            return received(receiver, own, tick, true);
        }
    }
}

/// The same where this thread cannot poll: its stack is too small, or it is at its end.
fn wait_for_the_runtime(
    call: AnyCall,
    tokens: Tokens,
    own: Option<CancelToken>,
    tick: Option<Tick<'_>>,
) -> Result<AnyAnswer> {
    let (sender, receiver) = channel();
    run(call, tokens, Box::new(move |answer| _ = sender.send(answer)));
    received(receiver, own, tick, false)
}

/// Waits for the answer of a call that the runtime polls, and runs the hook meanwhile, first of all if it `is_due`.
fn received(
    receiver: Receiver<Result<AnyAnswer>>,
    own: Option<CancelToken>,
    tick: Option<Tick<'_>>,
    mut is_due: bool,
) -> Result<AnyAnswer> {
    let process = Process::present();
    let Some(tick) = tick else { return receiver.recv().unwrap_or_else(|_| Err(vanished())) };
    loop {
        if !std::mem::take(&mut is_due) {
            match receiver.recv_timeout(tick.every) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Disconnected) => return Err(vanished()),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        let goes_on = (tick.hook)();
        if let Err(forked) = process.check() {
            // The call goes on in the parent, and what it has in common with us is the parent's.
            std::mem::forget((own, receiver));
            return Err(forked);
        }
        if !goes_on {
            own.iter().for_each(CancelToken::cancel);
            // Wait until the future is really gone: what it had acquired is being let go by then.
            drop(receiver.recv());
            return Err(Error::cancelled());
        }
    }
}
