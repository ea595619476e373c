//! Several writes that the server applies together or not at all.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use zkrecipes::{Client, Result, Transaction};

use crate::client::{self, zkr_client};
use crate::error::{zkr_error, zkr_status};
use crate::events::{self, Listener, zkr_done_callback};
use crate::guard;
use crate::handle::{self, Object};
use crate::input::{self, HandlePlace};
use crate::nodes::{self, GivenCreateMode};

/// Writes that the server applies together or not at all, from zkr_nodes_transaction, zkr_lock_guarded or
/// zkr_held_guarded. Adding to it sends nothing; zkr_transaction_commit sends all of it as one request.
pub struct zkr_transaction {
    _opaque: [u8; 0],
}

pub(crate) struct TransactionHandle {
    client: Client,
    core: Transaction,
}

impl Object for TransactionHandle {
    type Opaque = zkr_transaction;
    const NAME: &'static str = "zkr_transaction";
}

impl TransactionHandle {
    pub(crate) fn new(client: Client, core: Transaction) -> TransactionHandle {
        TransactionHandle { client, core }
    }
}

fn get(transaction: *const zkr_transaction) -> Result<Arc<TransactionHandle>> {
    handle::get("transaction", transaction)
}

/// A transaction under no guard. Free it with zkr_transaction_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_transaction(
    client: *mut zkr_client,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("transaction", transaction)?;
        let client = client::get(client)?.core.clone();
        let core = client.nodes().transaction();
        place.put(|| handle::publish(TransactionHandle::new(client, core)))
    })
}

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
    guard::verb(error, || {
        let core = &get(transaction)?.core;
        core.create(&input::text("path", path)?, &input::bytes("data", data, size)?, nodes::mode(mode)?)
    })
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
    guard::verb(error, || {
        let core = &get(transaction)?.core;
        core.set(&input::text("path", path)?, &input::bytes("data", data, size)?, input::version(version)?)
    })
}

/// Adds the deletion of a node; version is the version that it must have, -1 for any.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_delete(
    transaction: *mut zkr_transaction,
    path: *const c_char,
    version: i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        get(transaction)?.core.delete(&input::text("path", path)?, input::version(version)?)
    })
}

/// Adds the condition that a node exists and has the version, -1 for any.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_check(
    transaction: *mut zkr_transaction,
    path: *const c_char,
    version: i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || get(transaction)?.core.check(&input::text("path", path)?, input::version(version)?))
}

/// Sends everything. If it is guarded and the acquisition no longer stands, nothing is applied and the status is
/// ZKR_NOT_HELD. ZKR_CONNECTION_LOST means that the outcome is unknown; it is never sent twice. A second commit is
/// ZKR_INVALID.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_commit(
    transaction: *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let core = get(transaction)?.core.clone();
        events::wait(None, || async move { core.commit().await })
    })
}

/// zkr_transaction_commit in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_commit_async(
    transaction: *mut zkr_transaction,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let transaction = get(transaction)?;
        let listener = Listener::new(callback, user_data)?;
        let core = transaction.core.clone();
        events::start(&transaction.client, None, async move { core.commit().await }, move |outcome| {
            listener.done(outcome);
        })
    })
}

/// Frees a transaction; what was not committed is never sent. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_transaction_free(transaction: *mut zkr_transaction) {
    guard::quietly(|| drop(handle::take::<TransactionHandle>(transaction)));
}
