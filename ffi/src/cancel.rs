//! Cancelling one call from outside it.

use std::sync::Arc;

use zkrecipes::Result;
use zkrecipes::drive::CancelToken;

use crate::error::zkr_status;
use crate::guard;
use crate::handle::{self, Object};

/// Withdraws one call, or several that were given the same token, from any other thread.
///
/// A cancelled call returns ZKR_CANCELLED and leaves nothing behind; what it had acquired when the cancel arrived is
/// released. So does one in the background until its callback begins, also while that waits to be dispatched. A token
/// stays cancelled: a later call that is given it returns at once. Make one per call.
pub struct zkr_cancel_token {
    _opaque: [u8; 0],
}

pub(crate) struct TokenHandle(CancelToken);

impl Object for TokenHandle {
    type Opaque = zkr_cancel_token;
    const NAME: &'static str = "zkr_cancel_token";
}

/// The token of a call that may have one.
pub(crate) fn token(given: *const zkr_cancel_token) -> Result<Option<CancelToken>> {
    if given.is_null() {
        return Ok(None);
    }
    let token: Arc<TokenHandle> = handle::get("token", given)?;
    Ok(Some(token.0.clone()))
}

/// Begins a call, unless its token is cancelled by then: some calls take effect as they begin.
pub(crate) fn begin<F>(token: Option<&CancelToken>, begin: impl FnOnce() -> Result<F>) -> Result<F> {
    token.map_or(Ok(()), CancelToken::check)?;
    begin()
}

/// A new token; free it with zkr_cancel_token_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_cancel_token_new() -> *mut zkr_cancel_token {
    guard::answer(std::ptr::null_mut(), || handle::publish(TokenHandle(CancelToken::new())).ok())
}

/// Withdraws every call that was given this token. Never blocks; any thread may do it, also inside a callback, but not
/// a signal handler.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_cancel_token_cancel(token: *mut zkr_cancel_token) -> zkr_status {
    guard::verdict(|| {
        handle::get::<TokenHandle>("token", token)?.0.cancel();
        Ok(())
    })
}

/// Frees a token. Calls that were given it go on undisturbed. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_cancel_token_free(token: *mut zkr_cancel_token) {
    guard::quietly(|| drop(handle::take::<TokenHandle>(token)));
}
