//! Generated from api/queue_put.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null_mut;

use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::error::zkr_error;
use crate::events::zkr_done_callback;
use crate::input;
use crate::items;
use crate::queue::{QueueHandle, zkr_queue};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::Way;

/// Puts an item at the end, waiting up to timeout_ms while the queue is full (max_items). It is put once, also if the
/// answer gets lost; ZKR_CONNECTION_LOST says that nobody can know. ZKR_TIMEOUT: it was not put and will not be; for an
/// item that is on its way then, it waits half a second more for the answer. ZKR_INVALID for dead letters.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_put(
    queue: *mut zkr_queue,
    data: *const c_void,
    size: usize,
    timeout_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_queue_put_cancellable(queue, data, size, timeout_ms, null_mut(), error)
}

/// zkr_queue_put that another thread can withdraw; token may be NULL. What is on its way already is taken back, unless
/// somebody has it by then.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_put_cancellable(
    queue: *mut zkr_queue,
    data: *const c_void,
    size: usize,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_put(queue, data, size, timeout_ms, Way::Waits { token, error, place: &|| Ok(()) })
}

/// zkr_queue_put in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_put_async(
    queue: *mut zkr_queue,
    data: *const c_void,
    size: usize,
    timeout_ms: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_queue_put_cancellable_async(queue, data, size, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_queue_put_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_put_cancellable_async(
    queue: *mut zkr_queue,
    data: *const c_void,
    size: usize,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_put(queue, data, size, timeout_ms, Way::Starts { token, callback, user_data })
}

fn queue_put(
    queue: *const zkr_queue,
    data: *const c_void,
    size: usize,
    timeout_ms: i64,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let data = input::bytes("data", data, size)?;
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(items::put(&it.core, vec![data], timeout_ms))
    })
}

/// The same with a key that names this put, such as the id of a request: within key_window the same key puts once,
/// whoever puts with it, and the others succeed as the first one did, also if the item was taken since. So after
/// ZKR_CONNECTION_LOST it is safe to put again with the same key, which is text of at most 1,000 bytes.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_put_with(
    queue: *mut zkr_queue,
    data: *const c_void,
    size: usize,
    key: *const c_char,
    timeout_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_queue_put_with_cancellable(queue, data, size, key, timeout_ms, null_mut(), error)
}

/// zkr_queue_put_with that another thread can withdraw; token may be NULL. What is on its way with a key stays; put it
/// again with that key to be certain.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_put_with_cancellable(
    queue: *mut zkr_queue,
    data: *const c_void,
    size: usize,
    key: *const c_char,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_put_with(queue, data, size, key, timeout_ms, Way::Waits { token, error, place: &|| Ok(()) })
}

/// zkr_queue_put_with in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_put_with_async(
    queue: *mut zkr_queue,
    data: *const c_void,
    size: usize,
    key: *const c_char,
    timeout_ms: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_queue_put_with_cancellable_async(queue, data, size, key, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_queue_put_with_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_put_with_cancellable_async(
    queue: *mut zkr_queue,
    data: *const c_void,
    size: usize,
    key: *const c_char,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_put_with(queue, data, size, key, timeout_ms, Way::Starts { token, callback, user_data })
}

fn queue_put_with(
    queue: *const zkr_queue,
    data: *const c_void,
    size: usize,
    key: *const c_char,
    timeout_ms: i64,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let data = input::bytes("data", data, size)?;
        let key = input::text("key", key)?;
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(items::put_with(&it.core, data, key, timeout_ms))
    })
}

/// Puts several items, of which each is sizes[i] bytes at items[i], in as few transactions as carry them, each of which
/// is applied as a whole or not at all. zkr_error_put says how many went in, from the first on, where not all did;
/// after ZKR_CONNECTION_LOST and ZKR_CLOSED it may be more.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_put_many(
    queue: *mut zkr_queue,
    items: *const *const c_void,
    sizes: *const usize,
    count: usize,
    timeout_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_queue_put_many_cancellable(queue, items, sizes, count, timeout_ms, null_mut(), error)
}

/// zkr_queue_put_many that another thread can withdraw; token may be NULL. What is on its way already is taken back,
/// unless somebody has it by then.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_put_many_cancellable(
    queue: *mut zkr_queue,
    items: *const *const c_void,
    sizes: *const usize,
    count: usize,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_put_many(queue, items, sizes, count, timeout_ms, Way::Waits { token, error, place: &|| Ok(()) })
}

/// zkr_queue_put_many in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_put_many_async(
    queue: *mut zkr_queue,
    items: *const *const c_void,
    sizes: *const usize,
    count: usize,
    timeout_ms: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_queue_put_many_cancellable_async(
        queue,
        items,
        sizes,
        count,
        timeout_ms,
        null_mut(),
        callback,
        user_data,
    )
}

/// zkr_queue_put_many_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_put_many_cancellable_async(
    queue: *mut zkr_queue,
    items: *const *const c_void,
    sizes: *const usize,
    count: usize,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_put_many(queue, items, sizes, count, timeout_ms, Way::Starts { token, callback, user_data })
}

fn queue_put_many(
    queue: *const zkr_queue,
    items: *const *const c_void,
    sizes: *const usize,
    count: usize,
    timeout_ms: i64,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let items = input::many("items", items, sizes, count)?;
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(items::put(&it.core, items, timeout_ms))
    })
}
