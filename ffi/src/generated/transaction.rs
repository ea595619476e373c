//! Generated from api/transaction.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use crate::error::zkr_error;
use crate::events::zkr_done_callback;
use crate::input;
use crate::input::HandlePlace;
use crate::lists::{zkr_part_results, zkr_part_results_callback};
use crate::nodes;
use crate::nodes::GivenCreateMode;
use crate::status::zkr_status;
use crate::transaction::{TransactionHandle, zkr_transaction};
use crate::verbs;
use crate::verbs::Way;

/// Adds the creation of a node.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_create(
    transaction: *mut zkr_transaction,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    mode: GivenCreateMode,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        transaction,
        error,
        || Ok(()),
        |it: &TransactionHandle| {
            let path = input::text("path", path)?;
            let data = input::bytes("data", data, size)?;
            let mode = nodes::mode(mode)?;
            it.core.create(&path, &data, mode)
        },
    )
}

/// Adds the creation of a node with a time to live: see zkr_nodes_create_ttl.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_create_ttl(
    transaction: *mut zkr_transaction,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    mode: GivenCreateMode,
    ttl_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        transaction,
        error,
        || Ok(()),
        |it: &TransactionHandle| {
            let path = input::text("path", path)?;
            let data = input::bytes("data", data, size)?;
            let mode = nodes::mode(mode)?;
            let ttl_ms = input::millis("ttl_ms", ttl_ms)?;
            mode.with_ttl(ttl_ms).and_then(|mode| it.core.create(&path, &data, mode))
        },
    )
}

/// Adds the replacement of a node's data; version is the version that it must have, -1 for any.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_set(
    transaction: *mut zkr_transaction,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    version: i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        transaction,
        error,
        || Ok(()),
        |it: &TransactionHandle| {
            let path = input::text("path", path)?;
            let data = input::bytes("data", data, size)?;
            let version = input::version(version)?;
            it.core.set(&path, &data, version)
        },
    )
}

/// Adds the deletion of a node; version is the version that it must have, -1 for any.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_delete(
    transaction: *mut zkr_transaction,
    path: *const c_char,
    version: i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        transaction,
        error,
        || Ok(()),
        |it: &TransactionHandle| {
            let path = input::text("path", path)?;
            let version = input::version(version)?;
            it.core.delete(&path, version)
        },
    )
}

/// Adds the condition that a node exists and has the version, -1 for any.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_check(
    transaction: *mut zkr_transaction,
    path: *const c_char,
    version: i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        transaction,
        error,
        || Ok(()),
        |it: &TransactionHandle| {
            let path = input::text("path", path)?;
            let version = input::version(version)?;
            it.core.check(&path, version)
        },
    )
}

/// Sends everything. If it is guarded and the acquisition no longer stands, nothing is applied and the status is
/// ZKR_NOT_HELD. ZKR_CONNECTION_LOST means that the outcome is unknown; it is never sent twice. A second commit is
/// ZKR_INVALID.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_commit(
    transaction: *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    transaction_commit(transaction, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_transaction_commit in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_commit_async(
    transaction: *mut zkr_transaction,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    transaction_commit(transaction, Way::Starts { token: null(), callback, user_data })
}

fn transaction_commit(
    transaction: *const zkr_transaction,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(transaction, way, |it: &TransactionHandle| {
        let core = it.core.clone();
        Ok(async move { async { core.commit().await.map(drop) }.await })
    })
}

/// zkr_transaction_commit that tells what became of each part, in the order in which they were added. On success
/// *results belongs to the caller: free it with zkr_part_results_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_commit_results(
    transaction: *mut zkr_transaction,
    results: *mut *mut zkr_part_results,
    error: *mut *mut zkr_error,
) -> zkr_status {
    transaction_commit_results(
        transaction,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("results", results) },
    )
}

/// zkr_transaction_commit_results in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_commit_results_async(
    transaction: *mut zkr_transaction,
    callback: zkr_part_results_callback,
    user_data: *mut c_void,
) -> zkr_status {
    transaction_commit_results(transaction, Way::Starts { token: null(), callback, user_data })
}

fn transaction_commit_results(
    transaction: *const zkr_transaction,
    way: Way<'_, HandlePlace<zkr_part_results>, zkr_part_results_callback>,
) -> zkr_status {
    verbs::call(transaction, way, |it: &TransactionHandle| {
        let core = it.core.clone();
        Ok(async move { core.commit().await })
    })
}

/// Frees a transaction; what was not committed is never sent. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_free(transaction: *mut zkr_transaction) {
    verbs::free(transaction, |_: &TransactionHandle| {});
}
