//! Generated from api/commit_transaction.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::collections::zkr_strings;
use crate::commits::{CommitTransactionHandle, zkr_commit_transaction, zkr_outcome, zkr_outcome_callback};
use crate::error::zkr_error;
use crate::input::{HandlePlace, Place};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::Way;

/// By which name it began; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transaction_id(
    commit_transaction: *const zkr_commit_transaction,
) -> *const c_char {
    verbs::ask(commit_transaction, null(), |it: &CommitTransactionHandle| Some(it.id.as_ptr()))
}

/// Who votes. On success *sites belongs to the caller: free it with zkr_strings_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transaction_sites(
    commit_transaction: *const zkr_commit_transaction,
    sites: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        commit_transaction,
        error,
        || HandlePlace::required("sites", sites),
        |it: &CommitTransactionHandle| Ok(it.core.sites().to_vec()),
    )
}

/// What it is about. A NUL that does not count follows; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transaction_payload(
    commit_transaction: *const zkr_commit_transaction,
) -> *const c_void {
    verbs::ask(commit_transaction, null(), |it: &CommitTransactionHandle| Some(it.payload.as_ptr().cast()))
}

/// How many bytes the payload has.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transaction_size(commit_transaction: *const zkr_commit_transaction) -> usize {
    verbs::ask(commit_transaction, 0, |it: &CommitTransactionHandle| Some(it.payload.len() - 1))
}

/// Why it was aborted: which site voted for that and what it said, or that not all had voted in time. Empty of a
/// commit, and as long as the outcome is not known here: ask for that first. Empty, too, where no more is left of it
/// than that it was aborted. NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transaction_reason(
    commit_transaction: *const zkr_commit_transaction,
) -> *const c_char {
    verbs::ask(commit_transaction, null(), |it: &CommitTransactionHandle| Some(it.reason(it.core.reason())))
}

/// Waits up to timeout_ms until it is decided: 0 is one look, any negative is for ever. Past its deadline whoever waits
/// decides. It is the true outcome, whoever decided it, also if others took the transaction over and are done with it.
/// ZKR_TIMEOUT if it is not decided then; ask again. ZKR_NO_NODE if this client was cut off for more than a day, for so
/// long it is kept.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transaction_outcome(
    commit_transaction: *mut zkr_commit_transaction,
    timeout_ms: i64,
    decided: *mut zkr_outcome,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_commit_transaction_outcome_cancellable(commit_transaction, timeout_ms, null_mut(), decided, error)
}

/// zkr_commit_transaction_outcome that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transaction_outcome_cancellable(
    commit_transaction: *mut zkr_commit_transaction,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    decided: *mut zkr_outcome,
    error: *mut *mut zkr_error,
) -> zkr_status {
    commit_transaction_outcome(
        commit_transaction,
        timeout_ms,
        Way::Waits { token, error, place: &|| Place::required("decided", decided) },
    )
}

/// zkr_commit_transaction_outcome in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transaction_outcome_async(
    commit_transaction: *mut zkr_commit_transaction,
    timeout_ms: i64,
    callback: zkr_outcome_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_commit_transaction_outcome_cancellable_async(
        commit_transaction,
        timeout_ms,
        null_mut(),
        callback,
        user_data,
    )
}

/// zkr_commit_transaction_outcome_async with a token that withdraws it; token may be NULL, and may be freed before the
/// end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transaction_outcome_cancellable_async(
    commit_transaction: *mut zkr_commit_transaction,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_outcome_callback,
    user_data: *mut c_void,
) -> zkr_status {
    commit_transaction_outcome(commit_transaction, timeout_ms, Way::Starts { token, callback, user_data })
}

fn commit_transaction_outcome(
    commit_transaction: *const zkr_commit_transaction,
    timeout_ms: i64,
    way: Way<'_, Place<zkr_outcome>, zkr_outcome_callback>,
) -> zkr_status {
    verbs::call(commit_transaction, way, |it: &CommitTransactionHandle| {
        let core = it.core.clone();
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(async move { core.outcome(timeout_ms).await })
    })
}

/// Frees a transaction, which goes on. Calls in progress on it go on, too. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_commit_transaction_free(commit_transaction: *mut zkr_commit_transaction) {
    verbs::free(commit_transaction, |_: &CommitTransactionHandle| {});
}
