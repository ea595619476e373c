//! Generated from api/sequencer.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::drive;
use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::client::{ClientHandle, zkr_client};
use crate::error::zkr_error;
use crate::events::{zkr_answer_callback, zkr_done_callback};
use crate::input;
use crate::input::Place;
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::Way;

/// Asks whether the acquisition that a sequencer (zkr_held_sequencer) stands for still stands, as the quorum sees it.
/// ZKR_INVALID for what is no sequencer.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_check_sequencer(
    client: *mut zkr_client,
    sequencer: *const c_char,
    valid: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    client_check_sequencer(
        client,
        sequencer,
        Way::Waits { token: null(), error, place: &|| Place::required("valid", valid) },
    )
}

/// zkr_client_check_sequencer in the background; the answer is whether it stands. ZKR_OK says that the callback will be
/// called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_check_sequencer_async(
    client: *mut zkr_client,
    sequencer: *const c_char,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    client_check_sequencer(client, sequencer, Way::Starts { token: null(), callback, user_data })
}

fn client_check_sequencer(
    client: *const zkr_client,
    sequencer: *const c_char,
    way: Way<'_, Place<bool>, zkr_answer_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.clone();
        let sequencer = input::text("sequencer", sequencer)?;
        Ok(async move { core.check_sequencer(&sequencer).await })
    })
}

/// Waits until the acquisition that a sequencer stands for no longer stands, up to timeout_ms: 0 is one look, any
/// negative is for ever. ZKR_TIMEOUT if it still stands then.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_watch_sequencer(
    client: *mut zkr_client,
    sequencer: *const c_char,
    timeout_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_client_watch_sequencer_cancellable(client, sequencer, timeout_ms, null_mut(), error)
}

/// zkr_client_watch_sequencer that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_watch_sequencer_cancellable(
    client: *mut zkr_client,
    sequencer: *const c_char,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    error: *mut *mut zkr_error,
) -> zkr_status {
    client_watch_sequencer(client, sequencer, timeout_ms, Way::Waits { token, error, place: &|| Ok(()) })
}

/// zkr_client_watch_sequencer in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_watch_sequencer_async(
    client: *mut zkr_client,
    sequencer: *const c_char,
    timeout_ms: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_client_watch_sequencer_cancellable_async(
        client,
        sequencer,
        timeout_ms,
        null_mut(),
        callback,
        user_data,
    )
}

/// zkr_client_watch_sequencer_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_watch_sequencer_cancellable_async(
    client: *mut zkr_client,
    sequencer: *const c_char,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    client_watch_sequencer(client, sequencer, timeout_ms, Way::Starts { token, callback, user_data })
}

fn client_watch_sequencer(
    client: *const zkr_client,
    sequencer: *const c_char,
    timeout_ms: i64,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.clone();
        let sequencer = input::text("sequencer", sequencer)?;
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(async move { drive::watch_sequencer(&core, &sequencer, timeout_ms).await })
    })
}
