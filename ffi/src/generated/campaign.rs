//! Generated from api/campaign.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::drive;
use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::election;
use crate::election::{zkr_leader, zkr_leader_callback, zkr_leadership, zkr_leadership_callback};
use crate::elections::{ElectionHandle, zkr_election};
use crate::error::zkr_error;
use crate::events::{zkr_answer_callback, zkr_done_callback, zkr_subscription};
use crate::input;
use crate::input::{HandlePlace, Place};
use crate::lists::{zkr_contenders, zkr_contenders_callback};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::Way;

/// Stands, and waits up to timeout_ms until this candidate leads: 0 is one attempt, any negative is for ever.
///
/// ZKR_TIMEOUT if somebody else leads for all that time; the candidate is gone then. leadership may be NULL when
/// zkr_election_resign is enough; otherwise *leadership belongs to the caller: free it with zkr_leadership_free.
/// Cancelling: zkr_election_cancel, zkr_election_free or, for one call, zkr_election_campaign_cancellable.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_campaign(
    election: *mut zkr_election,
    timeout_ms: i64,
    leadership: *mut *mut zkr_leadership,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_election_campaign_cancellable(election, timeout_ms, null_mut(), leadership, error)
}

/// zkr_election_campaign that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_campaign_cancellable(
    election: *mut zkr_election,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    leadership: *mut *mut zkr_leadership,
    error: *mut *mut zkr_error,
) -> zkr_status {
    election_campaign(
        election,
        timeout_ms,
        Way::Waits { token, error, place: &|| Ok(HandlePlace::optional(leadership)) },
    )
}

/// zkr_election_campaign in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_campaign_async(
    election: *mut zkr_election,
    timeout_ms: i64,
    callback: zkr_leadership_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_election_campaign_cancellable_async(election, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_election_campaign_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_campaign_cancellable_async(
    election: *mut zkr_election,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_leadership_callback,
    user_data: *mut c_void,
) -> zkr_status {
    election_campaign(election, timeout_ms, Way::Starts { token, callback, user_data })
}

fn election_campaign(
    election: *const zkr_election,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_leadership>, zkr_leadership_callback>,
) -> zkr_status {
    verbs::call(election, way, |it: &ElectionHandle| {
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(election::campaign(&it.core, timeout_ms))
    })
}

/// Leads term after term: stands, calls back with the leadership once this candidate leads, stands again, behind all
/// others, when that term is over, and so on over reconnections and new sessions.
///
/// The leadership belongs to the callback, which hands it to whoever does the work and returns: like every callback it
/// must not block. The term is over when the leadership is released, freed or lost; zkr_leadership_on_lost tells of a
/// loss. zkr_leadership_on_revoke tells that somebody else is to lead: finish, then release. After the time for
/// draining it is lost. A callback that has let go of the leadership when it returns could not serve: the next campaign
/// begins after a pause, which grows.
///
/// zkr_election_cancel and zkr_election_free end it, as does closing the client, and so does what trying again cannot
/// help. A term in progress is resigned then, and a last call says why it ended: ZKR_CANCELLED, ZKR_CLOSED, ZKR_DENIED
/// and the like, with no leadership. subscription may be NULL; otherwise zkr_subscription_free ends it as well, without
/// that last call.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_run(
    election: *mut zkr_election,
    callback: zkr_leadership_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::stream(election, callback, user_data, subscription, error, |it: &ElectionHandle| {
        drive::terms(&it.core).map(drive::Terms::feed)
    })
}

/// Says whether this candidate can do the work of a leader, for a zkr_election_run of it. While it is false it does not
/// stand; a term in progress ends as if somebody had asked for the leadership. True, which it is unless told, lets it
/// stand again.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_set_healthy(
    election: *mut zkr_election,
    healthy: bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        election,
        error,
        || Ok(()),
        |it: &ElectionHandle| {
            it.core.set_healthy(healthy);
            Ok(())
        },
    )
}

/// Hands the leadership over to a candidate: its node, as in a zkr_contender, or an identity. Those who stand before it
/// are asked to move behind, then this one resigns. *leads says whether the other one leads. It is false if there is no
/// such candidate, or if others stand before it that do not go within five seconds: nothing has changed for the leader
/// then, and who was asked may stand further back. ZKR_NOT_HELD without leading.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_transfer(
    election: *mut zkr_election,
    to: *const c_char,
    leads: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    election_transfer(
        election,
        to,
        Way::Waits { token: null(), error, place: &|| Ok(Place::optional(leads)) },
    )
}

/// zkr_election_transfer in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_transfer_async(
    election: *mut zkr_election,
    to: *const c_char,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    election_transfer(election, to, Way::Starts { token: null(), callback, user_data })
}

fn election_transfer(
    election: *const zkr_election,
    to: *const c_char,
    way: Way<'_, Place<bool>, zkr_answer_callback>,
) -> zkr_status {
    verbs::call(election, way, |it: &ElectionHandle| {
        let core = it.core.clone();
        let to = input::text("to", to)?;
        Ok(async move { core.transfer(&to).await })
    })
}

/// Resigns: at once, and the server confirms it. ZKR_NOT_HELD without leading. ZKR_CONNECTION_LOST means unconfirmed,
/// and it goes on in the background.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_resign(election: *mut zkr_election, error: *mut *mut zkr_error) -> zkr_status {
    election_resign(election, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_election_resign in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_resign_async(
    election: *mut zkr_election,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    election_resign(election, Way::Starts { token: null(), callback, user_data })
}

fn election_resign(election: *const zkr_election, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(election, way, |it: &ElectionHandle| Ok(it.core.resign()))
}

/// Whether this candidate certainly leads at this moment: a comparison of clocks, no request.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_is_leader(election: *const zkr_election) -> bool {
    verbs::ask(election, false, |it: &ElectionHandle| Some(it.core.is_leader()))
}

/// Asks who leads, whether or not we stand. *leader is NULL while nobody does; otherwise it belongs to the caller: free
/// it with zkr_leader_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_leader(
    election: *mut zkr_election,
    leader: *mut *mut zkr_leader,
    error: *mut *mut zkr_error,
) -> zkr_status {
    election_leader(
        election,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("leader", leader) },
    )
}

/// zkr_election_leader in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_leader_async(
    election: *mut zkr_election,
    callback: zkr_leader_callback,
    user_data: *mut c_void,
) -> zkr_status {
    election_leader(election, Way::Starts { token: null(), callback, user_data })
}

fn election_leader(
    election: *const zkr_election,
    way: Way<'_, HandlePlace<zkr_leader>, zkr_leader_callback>,
) -> zkr_status {
    verbs::call(election, way, |it: &ElectionHandle| {
        let core = it.core.clone();
        Ok(async move { core.leader().await })
    })
}

/// All who stand, in the order in which they will lead; the first one leads. On success *candidates belongs to the
/// caller: free it with zkr_contenders_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_candidates(
    election: *mut zkr_election,
    candidates: *mut *mut zkr_contenders,
    error: *mut *mut zkr_error,
) -> zkr_status {
    election_candidates(
        election,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("candidates", candidates) },
    )
}

/// zkr_election_candidates in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_candidates_async(
    election: *mut zkr_election,
    callback: zkr_contenders_callback,
    user_data: *mut c_void,
) -> zkr_status {
    election_candidates(election, Way::Starts { token: null(), callback, user_data })
}

fn election_candidates(
    election: *const zkr_election,
    way: Way<'_, HandlePlace<zkr_contenders>, zkr_contenders_callback>,
) -> zkr_status {
    verbs::call(election, way, |it: &ElectionHandle| {
        let core = it.core.clone();
        Ok(async move { core.candidates().await })
    })
}

/// Tells who leads, now and whenever that changes, and that a leader has begun its work. Epochs never fall, and no two
/// leaders are told of one epoch. subscription and the end are as for zkr_config_watch.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_election_observe(
    election: *mut zkr_election,
    callback: zkr_leader_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::stream(election, callback, user_data, subscription, error, |it: &ElectionHandle| {
        Ok(it.core.observe())
    })
}
