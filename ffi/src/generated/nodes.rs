//! Generated from api/nodes.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use crate::client::{ClientHandle, zkr_client};
use crate::collections::{zkr_buffer, zkr_strings};
use crate::error::zkr_error;
use crate::events::{zkr_done_callback, zkr_subscription};
use crate::followed::zkr_node_callback;
use crate::input;
use crate::input::{HandlePlace, Place};
use crate::node_cache::zkr_node_cache;
use crate::nodes;
use crate::nodes::{
    GivenCreateMode, GivenWatchKind, zkr_buffer_callback, zkr_node_cache_callback, zkr_stat,
    zkr_stat_callback, zkr_strings_callback,
};
use crate::status::zkr_status;
use crate::transaction::zkr_transaction;
use crate::verbs;
use crate::verbs::Way;

/// A transaction under no guard. Free it with zkr_transaction_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_transaction(
    client: *mut zkr_client,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("transaction", transaction),
        |it: &ClientHandle| Ok(it.core.nodes().transaction()),
    )
}

/// Creates a node. created may be NULL; otherwise it is for the path that the node got, as text: free it with
/// zkr_buffer_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_create(
    client: *mut zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    mode: GivenCreateMode,
    created: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    nodes_create(
        client,
        path,
        data,
        size,
        mode,
        Way::Waits { token: null(), error, place: &|| Ok(HandlePlace::optional(created)) },
    )
}

/// zkr_nodes_create in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_create_async(
    client: *mut zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    mode: GivenCreateMode,
    callback: zkr_buffer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    nodes_create(client, path, data, size, mode, Way::Starts { token: null(), callback, user_data })
}

fn nodes_create(
    client: *const zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    mode: GivenCreateMode,
    way: Way<'_, HandlePlace<zkr_buffer>, zkr_buffer_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.nodes();
        let path = input::text("path", path)?;
        let data = input::bytes("data", data, size)?;
        let mode = nodes::mode(mode)?;
        Ok(async move { core.create(&path, &data, mode).await })
    })
}

/// zkr_nodes_create of a node with a time to live: the server removes it once it has had neither children nor changes
/// for ttl_ms. mode is ZKR_PERSISTENT or ZKR_PERSISTENT_SEQUENTIAL, ttl_ms is at least 1; other ones are ZKR_INVALID,
/// and so is a server that does not take such nodes: they need zookeeper.extendedTypesEnabled=true.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_create_ttl(
    client: *mut zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    mode: GivenCreateMode,
    ttl_ms: i64,
    created: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    nodes_create_ttl(
        client,
        path,
        data,
        size,
        mode,
        ttl_ms,
        Way::Waits { token: null(), error, place: &|| Ok(HandlePlace::optional(created)) },
    )
}

/// zkr_nodes_create_ttl in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_create_ttl_async(
    client: *mut zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    mode: GivenCreateMode,
    ttl_ms: i64,
    callback: zkr_buffer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    nodes_create_ttl(
        client,
        path,
        data,
        size,
        mode,
        ttl_ms,
        Way::Starts { token: null(), callback, user_data },
    )
}

fn nodes_create_ttl(
    client: *const zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    mode: GivenCreateMode,
    ttl_ms: i64,
    way: Way<'_, HandlePlace<zkr_buffer>, zkr_buffer_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.nodes();
        let path = input::text("path", path)?;
        let data = input::bytes("data", data, size)?;
        let mode = nodes::mode(mode)?;
        let ttl_ms = input::millis("ttl_ms", ttl_ms)?;
        Ok(async move { async { core.create(&path, &data, mode.with_ttl(ttl_ms)?).await }.await })
    })
}

/// Reads a node. On success *data belongs to the caller: free it with zkr_buffer_free. stat may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_get(
    client: *mut zkr_client,
    path: *const c_char,
    data: *mut *mut zkr_buffer,
    stat: *mut zkr_stat,
    error: *mut *mut zkr_error,
) -> zkr_status {
    nodes_get(
        client,
        path,
        Way::Waits {
            token: null(),
            error,
            place: &|| Ok((HandlePlace::required("data", data)?, Place::optional(stat))),
        },
    )
}

/// zkr_nodes_get in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_get_async(
    client: *mut zkr_client,
    path: *const c_char,
    callback: zkr_buffer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    nodes_get(client, path, Way::Starts { token: null(), callback, user_data })
}

fn nodes_get(
    client: *const zkr_client,
    path: *const c_char,
    way: Way<'_, (HandlePlace<zkr_buffer>, Place<zkr_stat>), zkr_buffer_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.nodes();
        let path = input::text("path", path)?;
        Ok(async move { core.get(&path).await })
    })
}

/// Replaces a node's data; version is the version that it must have, -1 for any. stat may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_set(
    client: *mut zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    version: i32,
    stat: *mut zkr_stat,
    error: *mut *mut zkr_error,
) -> zkr_status {
    nodes_set(
        client,
        path,
        data,
        size,
        version,
        Way::Waits { token: null(), error, place: &|| Ok(Place::optional(stat)) },
    )
}

/// zkr_nodes_set in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_set_async(
    client: *mut zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    version: i32,
    callback: zkr_stat_callback,
    user_data: *mut c_void,
) -> zkr_status {
    nodes_set(client, path, data, size, version, Way::Starts { token: null(), callback, user_data })
}

fn nodes_set(
    client: *const zkr_client,
    path: *const c_char,
    data: *const c_void,
    size: usize,
    version: i32,
    way: Way<'_, Place<zkr_stat>, zkr_stat_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.nodes();
        let path = input::text("path", path)?;
        let data = input::bytes("data", data, size)?;
        let version = input::version(version)?;
        Ok(async move { core.set(&path, &data, version).await })
    })
}

/// Deletes a node without children; version is the version that it must have, -1 for any.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_delete(
    client: *mut zkr_client,
    path: *const c_char,
    version: i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    nodes_delete(client, path, version, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_nodes_delete in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_delete_async(
    client: *mut zkr_client,
    path: *const c_char,
    version: i32,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    nodes_delete(client, path, version, Way::Starts { token: null(), callback, user_data })
}

fn nodes_delete(
    client: *const zkr_client,
    path: *const c_char,
    version: i32,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.nodes();
        let path = input::text("path", path)?;
        let version = input::version(version)?;
        Ok(async move { core.delete(&path, version).await })
    })
}

/// Asks whether a node exists. stat may be NULL; it is only filled if the node exists.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_exists(
    client: *mut zkr_client,
    path: *const c_char,
    exists: *mut bool,
    stat: *mut zkr_stat,
    error: *mut *mut zkr_error,
) -> zkr_status {
    nodes_exists(
        client,
        path,
        Way::Waits {
            token: null(),
            error,
            place: &|| Ok((Place::required("exists", exists)?, Place::optional(stat))),
        },
    )
}

/// zkr_nodes_exists in the background: the callback's stat is NULL if there is no node. ZKR_OK says that the callback
/// will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_exists_async(
    client: *mut zkr_client,
    path: *const c_char,
    callback: zkr_stat_callback,
    user_data: *mut c_void,
) -> zkr_status {
    nodes_exists(client, path, Way::Starts { token: null(), callback, user_data })
}

fn nodes_exists(
    client: *const zkr_client,
    path: *const c_char,
    way: Way<'_, (Place<bool>, Place<zkr_stat>), zkr_stat_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.nodes();
        let path = input::text("path", path)?;
        Ok(async move { core.exists(&path).await })
    })
}

/// The names of a node's children, sorted. On success *children belongs to the caller: free it with zkr_strings_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_children(
    client: *mut zkr_client,
    path: *const c_char,
    children: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    nodes_children(
        client,
        path,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("children", children) },
    )
}

/// zkr_nodes_children in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_children_async(
    client: *mut zkr_client,
    path: *const c_char,
    callback: zkr_strings_callback,
    user_data: *mut c_void,
) -> zkr_status {
    nodes_children(client, path, Way::Starts { token: null(), callback, user_data })
}

fn nodes_children(
    client: *const zkr_client,
    path: *const c_char,
    way: Way<'_, HandlePlace<zkr_strings>, zkr_strings_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.nodes();
        let path = input::text("path", path)?;
        Ok(async move { core.children(&path).await })
    })
}

/// The paths of the ephemeral nodes that the session of this client has at path and below it, sorted. On success
/// *ephemerals belongs to the caller: free it with zkr_strings_free. ZKR_INVALID if the server is older than 3.6.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_ephemerals(
    client: *mut zkr_client,
    path: *const c_char,
    ephemerals: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    nodes_ephemerals(
        client,
        path,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("ephemerals", ephemerals) },
    )
}

/// zkr_nodes_ephemerals in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_ephemerals_async(
    client: *mut zkr_client,
    path: *const c_char,
    callback: zkr_strings_callback,
    user_data: *mut c_void,
) -> zkr_status {
    nodes_ephemerals(client, path, Way::Starts { token: null(), callback, user_data })
}

fn nodes_ephemerals(
    client: *const zkr_client,
    path: *const c_char,
    way: Way<'_, HandlePlace<zkr_strings>, zkr_strings_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.nodes();
        let path = input::text("path", path)?;
        Ok(async move { core.ephemerals(&path).await })
    })
}

/// Creates a node and all that is missing above it; no matter if it exists.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_ensure(
    client: *mut zkr_client,
    path: *const c_char,
    error: *mut *mut zkr_error,
) -> zkr_status {
    nodes_ensure(client, path, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_nodes_ensure in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_ensure_async(
    client: *mut zkr_client,
    path: *const c_char,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    nodes_ensure(client, path, Way::Starts { token: null(), callback, user_data })
}

fn nodes_ensure(
    client: *const zkr_client,
    path: *const c_char,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.nodes();
        let path = input::text("path", path)?;
        Ok(async move { core.ensure(&path).await })
    })
}

/// Deletes a node and everything below it; no matter if it is gone.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_delete_all(
    client: *mut zkr_client,
    path: *const c_char,
    error: *mut *mut zkr_error,
) -> zkr_status {
    nodes_delete_all(client, path, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_nodes_delete_all in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_delete_all_async(
    client: *mut zkr_client,
    path: *const c_char,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    nodes_delete_all(client, path, Way::Starts { token: null(), callback, user_data })
}

fn nodes_delete_all(
    client: *const zkr_client,
    path: *const c_char,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.nodes();
        let path = input::text("path", path)?;
        Ok(async move { core.delete_all(&path).await })
    })
}

/// Keeps a node and all that is below it in a cache: waits until all of it is known, and follows it from then on. The
/// node need not exist; what we may not read is left out. It costs two requests for each node at first, then one or two
/// for each change. On success *cache belongs to the caller: free it with zkr_node_cache_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_cache(
    client: *mut zkr_client,
    path: *const c_char,
    cache: *mut *mut zkr_node_cache,
    error: *mut *mut zkr_error,
) -> zkr_status {
    nodes_cache(
        client,
        path,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("cache", cache) },
    )
}

/// zkr_nodes_cache in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_cache_async(
    client: *mut zkr_client,
    path: *const c_char,
    callback: zkr_node_cache_callback,
    user_data: *mut c_void,
) -> zkr_status {
    nodes_cache(client, path, Way::Starts { token: null(), callback, user_data })
}

fn nodes_cache(
    client: *const zkr_client,
    path: *const c_char,
    way: Way<'_, HandlePlace<zkr_node_cache>, zkr_node_cache_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.nodes();
        let path = input::text("path", path)?;
        Ok(async move { core.cache(&path).await })
    })
}

/// Tells the state of a node now, and whenever it has changed: always the latest, over reconnections, new sessions,
/// deletion and re-creation. The node need not exist. The state is only lent for the callback. A subtree is watched
/// node by node: it costs two requests for each node at first, then one or two for each change. subscription and the
/// end are as for zkr_config_watch.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_watch(
    client: *mut zkr_client,
    path: *const c_char,
    kind: GivenWatchKind,
    callback: zkr_node_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::stream(client, callback, user_data, subscription, error, |it: &ClientHandle| {
        let path = input::text("path", path)?;
        let kind = nodes::watch_kind(kind)?;
        it.core.nodes().watch(&path, kind)
    })
}
