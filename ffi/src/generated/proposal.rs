//! Generated from api/proposal.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::collections::zkr_strings;
use crate::commits::{ProposalHandle, zkr_outcome, zkr_outcome_callback, zkr_proposal};
use crate::error::zkr_error;
use crate::events::zkr_done_callback;
use crate::input;
use crate::input::{HandlePlace, Place};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::Way;

/// By which name it began; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_id(proposal: *const zkr_proposal) -> *const c_char {
    verbs::ask(proposal, null(), |it: &ProposalHandle| Some(it.id.as_ptr()))
}

/// Who votes. On success *sites belongs to the caller: free it with zkr_strings_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_sites(
    proposal: *const zkr_proposal,
    sites: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        proposal,
        error,
        || HandlePlace::required("sites", sites),
        |it: &ProposalHandle| Ok(it.core.sites().to_vec()),
    )
}

/// What it is about. A NUL that does not count follows; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_payload(proposal: *const zkr_proposal) -> *const c_void {
    verbs::ask(proposal, null(), |it: &ProposalHandle| Some(it.payload.as_ptr().cast()))
}

/// How many bytes the payload has.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_size(proposal: *const zkr_proposal) -> usize {
    verbs::ask(proposal, 0, |it: &ProposalHandle| Some(it.payload.len() - 1))
}

/// Why it was aborted: which site voted for that and what it said, or that not all had voted in time. Empty of a
/// commit, and as long as the outcome is not known here: ask for that first. Empty, too, where no more is left of it
/// than that it was aborted. NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_reason(proposal: *const zkr_proposal) -> *const c_char {
    verbs::ask(proposal, null(), |it: &ProposalHandle| Some(it.reason(it.core.reason())))
}

/// Waits up to timeout_ms until it is decided: 0 is one look, any negative is for ever. Past its deadline whoever waits
/// decides. ZKR_TIMEOUT if it is not decided then, ZKR_NOT_HELD if this site has acknowledged it elsewhere and it is
/// over.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_outcome(
    proposal: *mut zkr_proposal,
    timeout_ms: i64,
    decided: *mut zkr_outcome,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_proposal_outcome_cancellable(proposal, timeout_ms, null_mut(), decided, error)
}

/// zkr_proposal_outcome that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_outcome_cancellable(
    proposal: *mut zkr_proposal,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    decided: *mut zkr_outcome,
    error: *mut *mut zkr_error,
) -> zkr_status {
    proposal_outcome(
        proposal,
        timeout_ms,
        Way::Waits { token, error, place: &|| Place::required("decided", decided) },
    )
}

/// zkr_proposal_outcome in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_outcome_async(
    proposal: *mut zkr_proposal,
    timeout_ms: i64,
    callback: zkr_outcome_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_proposal_outcome_cancellable_async(proposal, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_proposal_outcome_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_outcome_cancellable_async(
    proposal: *mut zkr_proposal,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_outcome_callback,
    user_data: *mut c_void,
) -> zkr_status {
    proposal_outcome(proposal, timeout_ms, Way::Starts { token, callback, user_data })
}

fn proposal_outcome(
    proposal: *const zkr_proposal,
    timeout_ms: i64,
    way: Way<'_, Place<zkr_outcome>, zkr_outcome_callback>,
) -> zkr_status {
    verbs::call(proposal, way, |it: &ProposalHandle| {
        let core = it.core.clone();
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(async move { core.outcome(timeout_ms).await })
    })
}

/// Frees a proposal, on which the site has to vote all the same: zkr_two_phase_commit_pending tells of it. Calls in
/// progress on it go on. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_free(proposal: *mut zkr_proposal) {
    verbs::free(proposal, |_: &ProposalHandle| {});
}

/// Whether this site had voted when it was told.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_has_voted(proposal: *const zkr_proposal) -> bool {
    verbs::ask(proposal, false, |it: &ProposalHandle| Some(it.core.has_voted()))
}

/// Votes for the commit, which has to be possible from now on, also after a crash. May be repeated, and may come after
/// the abort: the outcome tells. ZKR_EXISTS if this site has voted for the abort.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_vote_commit(
    proposal: *mut zkr_proposal,
    error: *mut *mut zkr_error,
) -> zkr_status {
    proposal_vote_commit(proposal, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_proposal_vote_commit in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_vote_commit_async(
    proposal: *mut zkr_proposal,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    proposal_vote_commit(proposal, Way::Starts { token: null(), callback, user_data })
}

fn proposal_vote_commit(proposal: *const zkr_proposal, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(proposal, way, |it: &ProposalHandle| {
        let core = it.core.clone();
        Ok(async move { core.vote_commit().await })
    })
}

/// Decides the abort. reason is for people, and may be NULL. ZKR_EXISTS if this site has voted for the commit.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_vote_abort(
    proposal: *mut zkr_proposal,
    reason: *const c_char,
    error: *mut *mut zkr_error,
) -> zkr_status {
    proposal_vote_abort(proposal, reason, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_proposal_vote_abort in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_vote_abort_async(
    proposal: *mut zkr_proposal,
    reason: *const c_char,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    proposal_vote_abort(proposal, reason, Way::Starts { token: null(), callback, user_data })
}

fn proposal_vote_abort(
    proposal: *const zkr_proposal,
    reason: *const c_char,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(proposal, way, |it: &ProposalHandle| {
        let core = it.core.clone();
        let reason = input::optional_text("reason", reason)?;
        Ok(async move { async { core.vote_abort(&reason.unwrap_or_default()).await }.await })
    })
}

/// What was decided is applied here, and needed no more. May be repeated. ZKR_NOT_HELD if nothing is decided yet.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_acknowledge(
    proposal: *mut zkr_proposal,
    error: *mut *mut zkr_error,
) -> zkr_status {
    proposal_acknowledge(proposal, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_proposal_acknowledge in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_proposal_acknowledge_async(
    proposal: *mut zkr_proposal,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    proposal_acknowledge(proposal, Way::Starts { token: null(), callback, user_data })
}

fn proposal_acknowledge(proposal: *const zkr_proposal, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(proposal, way, |it: &ProposalHandle| {
        let core = it.core.clone();
        Ok(async move { core.acknowledge().await })
    })
}
