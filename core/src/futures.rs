//! Futures made of others, each of which is kept once. An `async` block that is given a future keeps it twice: as what it was
//! given, and as what it awaits. Where such blocks wrap each other that doubles each time.

use std::future::{Future, Ready, ready};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::Either;
use pin_project_lite::pin_project;

use crate::error::Result;

/// What a plain function answers that would else be `async`. The body of an `async` function is compiled again for each crate that
/// awaits it, so once for the core, once for a face, and once for the command. Behind a pointer it is compiled here alone. In the
/// library for C 0.3 MB of code were there twice.
pub(crate) type CompiledOnce<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

pin_project! {
    /// See [`polled`].
    #[must_use = "futures do nothing unless they are polled"]
    pub(crate) struct Polled<F, P> {
        #[pin]
        future: F,
        poll: P,
    }
}

/// `future`, polled by `poll`, which may have more to look at.
pub(crate) fn polled<F, T, P>(future: F, poll: P) -> Polled<F, P>
where
    F: Future,
    P: FnMut(Pin<&mut F>, &mut Context<'_>) -> Poll<T>,
{
    Polled { future, poll }
}

impl<F, T, P> Future for Polled<F, P>
where
    F: Future,
    P: FnMut(Pin<&mut F>, &mut Context<'_>) -> Poll<T>,
{
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.project();
        (this.poll)(this.future, context)
    }
}

pin_project! {
    /// See [`unless`].
    #[must_use = "futures do nothing unless they are polled"]
    pub(crate) struct Unless<F, O> {
        #[pin]
        future: F,
        #[pin]
        other: O,
    }
}

/// Runs `future` until it is done or `other` is; `None` when `other` came first.
pub(crate) fn unless<F: Future, O: Future<Output = ()>>(future: F, other: O) -> Unless<F, O> {
    Unless { future, other }
}

impl<F: Future, O: Future<Output = ()>> Future for Unless<F, O> {
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        match this.future.poll(context) {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => this.other.poll(context).map(|()| None),
        }
    }
}

/// What was begun, or the error for which it was not.
pub(crate) fn begun<T, F: Future<Output = Result<T>>>(begun: Result<F>) -> Either<F, Ready<Result<T>>> {
    match begun {
        Ok(future) => Either::Left(future),
        Err(error) => Either::Right(ready(Err(error))),
    }
}
