//! Generated from api/two_phase_commit.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::drive;
use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::client::{ClientHandle, zkr_client};
use crate::commits;
use crate::commits::{
    GivenCommitMode, zkr_commit_mode, zkr_commit_transaction, zkr_commit_transaction_callback, zkr_outcome,
    zkr_outcome_callback, zkr_proposal, zkr_proposal_callback,
};
use crate::error::zkr_error;
use crate::events::zkr_done_callback;
use crate::handle::Object;
use crate::input;
use crate::input::{HandlePlace, Place, to_c};
use crate::lists::{
    zkr_commit_statuses, zkr_commit_statuses_callback, zkr_commit_transactions,
    zkr_commit_transactions_callback, zkr_proposals, zkr_proposals_callback,
};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// Transactions that all sites commit, or none, shared with everybody who uses that path, in any language. The decision
/// is made once and survives everybody's crash. A handle is a coordinator, a site, or both.
pub struct zkr_two_phase_commit {
    _opaque: [u8; 0],
}

pub(crate) type TwoPhaseCommitHandle = Recipe<zkrecipes::TwoPhaseCommit>;

impl Object for TwoPhaseCommitHandle {
    type Opaque = zkr_two_phase_commit;
    const NAME: &'static str = "zkr_two_phase_commit";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// Makes a handle of the transactions at a path. Validates, but sends nothing. mode says who decides those that this
/// handle begins. On success *two_phase_commit belongs to the caller: free it with zkr_two_phase_commit_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_new(
    client: *mut zkr_client,
    path: *const c_char,
    mode: GivenCommitMode,
    two_phase_commit: *mut *mut zkr_two_phase_commit,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("two_phase_commit", two_phase_commit),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let mode = commits::mode(mode)?;
            let core = it.core.two_phase_commit(&path, mode)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees a two-phase commit. Calls in progress on it go on. Once its transactions and proposals are freed too, its site
/// leaves, and what it coordinates can be recovered by others. Never blocks. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_free(two_phase_commit: *mut zkr_two_phase_commit) {
    verbs::free(two_phase_commit, |_: &TwoPhaseCommitHandle| {});
}

/// Where the transactions are; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_path(two_phase_commit: *const zkr_two_phase_commit) -> *const c_char {
    verbs::ask(two_phase_commit, null(), |it: &TwoPhaseCommitHandle| Some(it.path.as_ptr()))
}

/// Who decides the transactions that it begins; ZKR_COMMIT_MODE_COORDINATOR for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_mode(
    two_phase_commit: *const zkr_two_phase_commit,
) -> zkr_commit_mode {
    verbs::ask(two_phase_commit, zkr_commit_mode::ZKR_COMMIT_MODE_COORDINATOR, |it: &TwoPhaseCommitHandle| {
        Some(it.core.mode().into())
    })
}

/// Begins a transaction: every site is asked, also one that is not there now. It is decided in the background, whether
/// or not somebody waits for the outcome, as long as the client is there: the commit when all have voted for it, the
/// abort when timeout_ms are over. On success *transaction belongs to the caller: free it with
/// zkr_commit_transaction_free.
///
/// ZKR_EXISTS if there is one of that id, ZKR_INVALID without sites or with one of them twice. ZKR_TOO_LARGE if the
/// payload is, or if 10,000 wait in the inbox of one of its sites, which the error names, or as many transactions are
/// not over. After ZKR_CONNECTION_LOST it may have begun: it is aborted in the background, unless all sites have voted
/// before that arrives. zkr_two_phase_commit_recover of the same handle waits for that, and answers it if it was
/// committed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_begin(
    two_phase_commit: *mut zkr_two_phase_commit,
    id: *const c_char,
    sites: *const *const c_char,
    count: usize,
    payload: *const c_void,
    size: usize,
    timeout_ms: i64,
    transaction: *mut *mut zkr_commit_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    two_phase_commit_begin(
        two_phase_commit,
        id,
        sites,
        count,
        payload,
        size,
        timeout_ms,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("transaction", transaction) },
    )
}

/// zkr_two_phase_commit_begin in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_begin_async(
    two_phase_commit: *mut zkr_two_phase_commit,
    id: *const c_char,
    sites: *const *const c_char,
    count: usize,
    payload: *const c_void,
    size: usize,
    timeout_ms: i64,
    callback: zkr_commit_transaction_callback,
    user_data: *mut c_void,
) -> zkr_status {
    two_phase_commit_begin(
        two_phase_commit,
        id,
        sites,
        count,
        payload,
        size,
        timeout_ms,
        Way::Starts { token: null(), callback, user_data },
    )
}

#[expect(clippy::too_many_arguments, reason = "the verb has as many")]
fn two_phase_commit_begin(
    two_phase_commit: *const zkr_two_phase_commit,
    id: *const c_char,
    sites: *const *const c_char,
    count: usize,
    payload: *const c_void,
    size: usize,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_commit_transaction>, zkr_commit_transaction_callback>,
) -> zkr_status {
    verbs::call(two_phase_commit, way, |it: &TwoPhaseCommitHandle| {
        let id = input::text("id", id)?;
        let sites = input::texts("sites", sites, count)?;
        let payload = input::bytes("payload", payload, size)?;
        let timeout_ms = input::millis("timeout_ms", timeout_ms)?;
        Ok(drive::begin(
            &it.core,
            &id,
            &sites.iter().map(String::as_str).collect::<Vec<_>>(),
            &payload,
            timeout_ms,
        ))
    })
}

/// Takes over the transactions whose coordinator is not there any more, the oldest first, and sees to it that they are
/// decided: at once if all have voted, the abort when the time is over, of which half at least is left from now on. Ask
/// each for its outcome. A coordinator that has crashed is there until its session timeout. On success *transactions
/// belongs to the caller: free it with zkr_commit_transactions_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_recover(
    two_phase_commit: *mut zkr_two_phase_commit,
    transactions: *mut *mut zkr_commit_transactions,
    error: *mut *mut zkr_error,
) -> zkr_status {
    two_phase_commit_recover(
        two_phase_commit,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("transactions", transactions) },
    )
}

/// zkr_two_phase_commit_recover in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_recover_async(
    two_phase_commit: *mut zkr_two_phase_commit,
    callback: zkr_commit_transactions_callback,
    user_data: *mut c_void,
) -> zkr_status {
    two_phase_commit_recover(two_phase_commit, Way::Starts { token: null(), callback, user_data })
}

fn two_phase_commit_recover(
    two_phase_commit: *const zkr_two_phase_commit,
    way: Way<'_, HandlePlace<zkr_commit_transactions>, zkr_commit_transactions_callback>,
) -> zkr_status {
    verbs::call(two_phase_commit, way, |it: &TwoPhaseCommitHandle| {
        let core = it.core.clone();
        Ok(async move { core.recover().await })
    })
}

/// Becomes a site, and is one over all sessions of the client until it leaves, this handle and its proposals are freed,
/// or the client is closed. ZKR_EXISTS if this handle has joined already, or another that is there is that site.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_join(
    two_phase_commit: *mut zkr_two_phase_commit,
    site: *const c_char,
    error: *mut *mut zkr_error,
) -> zkr_status {
    two_phase_commit_join(two_phase_commit, site, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_two_phase_commit_join in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_join_async(
    two_phase_commit: *mut zkr_two_phase_commit,
    site: *const c_char,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    two_phase_commit_join(two_phase_commit, site, Way::Starts { token: null(), callback, user_data })
}

fn two_phase_commit_join(
    two_phase_commit: *const zkr_two_phase_commit,
    site: *const c_char,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(two_phase_commit, way, |it: &TwoPhaseCommitHandle| {
        let core = it.core.clone();
        let site = input::text("site", site)?;
        Ok(async move { core.join(&site).await })
    })
}

/// Is that site no longer. What it was asked stays. ZKR_NOT_HELD if it has not joined.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_leave(
    two_phase_commit: *mut zkr_two_phase_commit,
    error: *mut *mut zkr_error,
) -> zkr_status {
    two_phase_commit_leave(two_phase_commit, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_two_phase_commit_leave in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_leave_async(
    two_phase_commit: *mut zkr_two_phase_commit,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    two_phase_commit_leave(two_phase_commit, Way::Starts { token: null(), callback, user_data })
}

fn two_phase_commit_leave(
    two_phase_commit: *const zkr_two_phase_commit,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(two_phase_commit, way, |it: &TwoPhaseCommitHandle| {
        let core = it.core.clone();
        Ok(async move { core.leave().await })
    })
}

/// Waits up to timeout_ms for the next transaction on which this site has to vote: 0 is one look, any negative is for
/// ever. Each is told once, in the order in which they began. On success *proposal belongs to the caller: free it with
/// zkr_proposal_free.
///
/// ZKR_TIMEOUT if there was none, ZKR_NOT_HELD if this handle has not joined.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_next(
    two_phase_commit: *mut zkr_two_phase_commit,
    timeout_ms: i64,
    proposal: *mut *mut zkr_proposal,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_two_phase_commit_next_cancellable(two_phase_commit, timeout_ms, null_mut(), proposal, error)
}

/// zkr_two_phase_commit_next that another thread can withdraw; token may be NULL. What it would have told is told
/// again.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_next_cancellable(
    two_phase_commit: *mut zkr_two_phase_commit,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    proposal: *mut *mut zkr_proposal,
    error: *mut *mut zkr_error,
) -> zkr_status {
    two_phase_commit_next(
        two_phase_commit,
        timeout_ms,
        Way::Waits { token, error, place: &|| HandlePlace::required("proposal", proposal) },
    )
}

/// zkr_two_phase_commit_next in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_next_async(
    two_phase_commit: *mut zkr_two_phase_commit,
    timeout_ms: i64,
    callback: zkr_proposal_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_two_phase_commit_next_cancellable_async(two_phase_commit, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_two_phase_commit_next_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_next_cancellable_async(
    two_phase_commit: *mut zkr_two_phase_commit,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_proposal_callback,
    user_data: *mut c_void,
) -> zkr_status {
    two_phase_commit_next(two_phase_commit, timeout_ms, Way::Starts { token, callback, user_data })
}

fn two_phase_commit_next(
    two_phase_commit: *const zkr_two_phase_commit,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_proposal>, zkr_proposal_callback>,
) -> zkr_status {
    verbs::call(two_phase_commit, way, |it: &TwoPhaseCommitHandle| {
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::next_proposal(&it.core, timeout_ms))
    })
}

/// Everything that this site has not acknowledged, voted on or not, the oldest first: what a site asks for after a
/// restart. On success *proposals belongs to the caller: free it with zkr_proposals_free. ZKR_NOT_HELD if it has not
/// joined.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_pending(
    two_phase_commit: *mut zkr_two_phase_commit,
    proposals: *mut *mut zkr_proposals,
    error: *mut *mut zkr_error,
) -> zkr_status {
    two_phase_commit_pending(
        two_phase_commit,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("proposals", proposals) },
    )
}

/// zkr_two_phase_commit_pending in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_pending_async(
    two_phase_commit: *mut zkr_two_phase_commit,
    callback: zkr_proposals_callback,
    user_data: *mut c_void,
) -> zkr_status {
    two_phase_commit_pending(two_phase_commit, Way::Starts { token: null(), callback, user_data })
}

fn two_phase_commit_pending(
    two_phase_commit: *const zkr_two_phase_commit,
    way: Way<'_, HandlePlace<zkr_proposals>, zkr_proposals_callback>,
) -> zkr_status {
    verbs::call(two_phase_commit, way, |it: &TwoPhaseCommitHandle| {
        let core = it.core.clone();
        Ok(async move { core.pending().await })
    })
}

/// How all transactions stand that are not over, the oldest first. On success *statuses belongs to the caller: free it
/// with zkr_commit_statuses_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_history(
    two_phase_commit: *mut zkr_two_phase_commit,
    statuses: *mut *mut zkr_commit_statuses,
    error: *mut *mut zkr_error,
) -> zkr_status {
    two_phase_commit_history(
        two_phase_commit,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("statuses", statuses) },
    )
}

/// zkr_two_phase_commit_history in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_history_async(
    two_phase_commit: *mut zkr_two_phase_commit,
    callback: zkr_commit_statuses_callback,
    user_data: *mut c_void,
) -> zkr_status {
    two_phase_commit_history(two_phase_commit, Way::Starts { token: null(), callback, user_data })
}

fn two_phase_commit_history(
    two_phase_commit: *const zkr_two_phase_commit,
    way: Way<'_, HandlePlace<zkr_commit_statuses>, zkr_commit_statuses_callback>,
) -> zkr_status {
    verbs::call(two_phase_commit, way, |it: &TwoPhaseCommitHandle| {
        let core = it.core.clone();
        Ok(async move { core.history().await })
    })
}

/// How one transaction stands: a list of one, which is empty if there is none of that id. On success *statuses belongs
/// to the caller: free it with zkr_commit_statuses_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_show(
    two_phase_commit: *mut zkr_two_phase_commit,
    id: *const c_char,
    statuses: *mut *mut zkr_commit_statuses,
    error: *mut *mut zkr_error,
) -> zkr_status {
    two_phase_commit_show(
        two_phase_commit,
        id,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("statuses", statuses) },
    )
}

/// zkr_two_phase_commit_show in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_show_async(
    two_phase_commit: *mut zkr_two_phase_commit,
    id: *const c_char,
    callback: zkr_commit_statuses_callback,
    user_data: *mut c_void,
) -> zkr_status {
    two_phase_commit_show(two_phase_commit, id, Way::Starts { token: null(), callback, user_data })
}

fn two_phase_commit_show(
    two_phase_commit: *const zkr_two_phase_commit,
    id: *const c_char,
    way: Way<'_, HandlePlace<zkr_commit_statuses>, zkr_commit_statuses_callback>,
) -> zkr_status {
    verbs::call(two_phase_commit, way, |it: &TwoPhaseCommitHandle| {
        let core = it.core.clone();
        let id = input::text("id", id)?;
        Ok(async move { async { core.show(&id).await.map(Vec::from_iter) }.await })
    })
}

/// Decides the abort, unless something is decided already; *decided is what is, by whomever. ZKR_NO_NODE if there is
/// none of that id.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_decide_abort(
    two_phase_commit: *mut zkr_two_phase_commit,
    id: *const c_char,
    reason: *const c_char,
    decided: *mut zkr_outcome,
    error: *mut *mut zkr_error,
) -> zkr_status {
    two_phase_commit_decide_abort(
        two_phase_commit,
        id,
        reason,
        Way::Waits { token: null(), error, place: &|| Place::required("decided", decided) },
    )
}

/// zkr_two_phase_commit_decide_abort in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_two_phase_commit_decide_abort_async(
    two_phase_commit: *mut zkr_two_phase_commit,
    id: *const c_char,
    reason: *const c_char,
    callback: zkr_outcome_callback,
    user_data: *mut c_void,
) -> zkr_status {
    two_phase_commit_decide_abort(
        two_phase_commit,
        id,
        reason,
        Way::Starts { token: null(), callback, user_data },
    )
}

fn two_phase_commit_decide_abort(
    two_phase_commit: *const zkr_two_phase_commit,
    id: *const c_char,
    reason: *const c_char,
    way: Way<'_, Place<zkr_outcome>, zkr_outcome_callback>,
) -> zkr_status {
    verbs::call(two_phase_commit, way, |it: &TwoPhaseCommitHandle| {
        let core = it.core.clone();
        let id = input::text("id", id)?;
        let reason = input::text("reason", reason)?;
        Ok(async move { core.decide_abort(&id, &reason).await })
    })
}
