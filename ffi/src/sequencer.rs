//! Sequencers: an acquisition as a text that any process can check.

use std::ffi::{c_char, c_void};
use std::time::Duration;

use zkrecipes::drive::{self, CancelToken, Tick};
use zkrecipes::{Client, Error, ErrorKind, Result, time};

use crate::cancel::{self, zkr_cancel_token};
use crate::client::{self, zkr_client};
use crate::error::{zkr_error, zkr_status};
use crate::events::{self, Listener, zkr_answer_callback, zkr_done_callback};
use crate::guard;
use crate::input::{self, Place};

/// Asks whether the acquisition that a sequencer (zkr_held_sequencer) stands for still stands, as the quorum sees it.
/// ZKR_INVALID for what is no sequencer.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_check_sequencer(
    client: *mut zkr_client,
    sequencer: *const c_char,
    valid: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = Place::required("valid", valid)?;
        let client = client::get(client)?.core.clone();
        let sequencer = input::text("sequencer", sequencer)?;
        place.put(events::wait(None, || check(client, sequencer))?);
        Ok(())
    })
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
    guard::verdict(|| {
        let client = client::get(client)?.core.clone();
        let listener = Listener::new(callback, user_data)?;
        let sequencer = input::text("sequencer", sequencer);
        let asking = client.clone();
        let checking = async move { check(asking, sequencer?).await };
        events::start(&client, None, checking, move |outcome| listener.answer(outcome))
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
    zkr_client_watch_sequencer_cancellable(client, sequencer, timeout_ms, std::ptr::null_mut(), error)
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
    guard::verb(error, || {
        let client = client::get(client)?.core.clone();
        let token = cancel::token(token)?;
        let sequencer = input::text("sequencer", sequencer)?;
        match time::from_millis("timeout_ms", timeout_ms) {
            None => events::wait(token.as_ref(), || watch(client, sequencer)),
            Some(Duration::ZERO) => match events::wait(token.as_ref(), || check(client, sequencer))? {
                true => Err(still_stands()),
                false => Ok(()),
            },
            Some(limit) => watch_within(client, sequencer, limit, token.as_ref()),
        }
    })
}

/// Waits in the background until the acquisition that a sequencer stands for no longer stands. ZKR_OK says that the
/// callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_watch_sequencer_async(
    client: *mut zkr_client,
    sequencer: *const c_char,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_client_watch_sequencer_cancellable_async(client, sequencer, std::ptr::null_mut(), callback, user_data)
}

/// zkr_client_watch_sequencer_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_watch_sequencer_cancellable_async(
    client: *mut zkr_client,
    sequencer: *const c_char,
    token: *mut zkr_cancel_token,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let client = client::get(client)?.core.clone();
        let token = cancel::token(token)?;
        let listener = Listener::new(callback, user_data)?;
        let sequencer = input::text("sequencer", sequencer);
        let asking = client.clone();
        let watching = async move { watch(asking, sequencer?).await };
        events::start(&client, token, watching, move |outcome| listener.done(outcome))
    })
}

async fn check(client: Client, sequencer: String) -> Result<bool> {
    client.check_sequencer(&sequencer).await
}

async fn watch(client: Client, sequencer: String) -> Result<()> {
    client.watch_sequencer(&sequencer).await
}

fn watch_within(
    client: Client,
    sequencer: String,
    limit: Duration,
    token: Option<&CancelToken>,
) -> Result<()> {
    events::refuse_inside_callback()?;
    let mut is_over = false;
    let mut run_out = || {
        is_over = true;
        false
    };
    let tick = Tick { every: limit, hook: &mut run_out };
    let outcome = drive::wait(watch(client, sequencer), token, Some(tick));
    if is_over { Err(still_stands()) } else { outcome }
}

fn still_stands() -> Error {
    Error::new(
        ErrorKind::Timeout,
        "the acquisition still stands after the time given; watch again, or give more time",
    )
}
