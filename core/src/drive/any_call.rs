//! A call of any verb, without the types of its future and of what it answers. What runs calls knows them like this, and so it is
//! in a program once. Made again for each of three hundred verbs, that was a tenth of the library for C.

use std::any::Any;
use std::future::Future;

use futures_util::FutureExt;

use crate::error::{Error, ErrorKind, Result};
use crate::runtime::Later;

/// What a verb answers.
pub type AnyAnswer = Box<dyn Any + Send>;
/// A call of it.
pub type AnyCall = Later<Result<AnyAnswer>>;
/// Who is told how the call ended.
pub type AnyDone = Box<dyn FnOnce(Result<AnyAnswer>) + Send>;

/// The call that is `future`.
pub fn any_call<T: Send + 'static>(future: impl Future<Output = Result<T>> + Send + 'static) -> AnyCall {
    // In a box: it is kept once, whatever it is wrapped in.
    Box::pin(future.map(|answer| Ok(Box::new(answer?) as AnyAnswer)))
}

/// What the call that was made of a future with this answer came to.
pub fn answer_of<T: 'static>(answer: Result<AnyAnswer>) -> Result<T> {
    answer?.downcast().map_or_else(|_| Err(vanished()), |answer| Ok(*answer))
}

/// `done` for any answer.
pub(super) fn any_done<T: 'static>(done: impl FnOnce(Result<T>) + Send + 'static) -> AnyDone {
    Box::new(move |answer| done(answer_of(answer)))
}

pub(super) fn vanished() -> Error {
    Error::new(
        ErrorKind::Internal,
        "a call ended without a result, which is a bug of zkrecipes; please report it",
    )
}
