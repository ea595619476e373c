//! Generated from api/node_cache.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use crate::collections::{zkr_buffer, zkr_strings};
use crate::error::zkr_error;
use crate::events::zkr_subscription;
use crate::handle::Object;
use crate::input;
use crate::input::{HandlePlace, Place};
use crate::nodes::{zkr_stat, zkr_strings_callback};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::Recipe;

/// A node and all that is below it, kept by the library: reading it asks nobody. Made by zkr_nodes_cache. It is
/// followed over reconnections and new sessions until it is freed, and so are its subscriptions.
pub struct zkr_node_cache {
    _opaque: [u8; 0],
}

pub(crate) type NodeCacheHandle = Recipe<zkrecipes::NodeCache>;

impl Object for NodeCacheHandle {
    type Opaque = zkr_node_cache;
    const NAME: &'static str = "zkr_node_cache";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// Frees a cache, which ends the following unless a subscription of zkr_node_cache_changes goes on. NULL and freed ones
/// are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_node_cache_free(node_cache: *mut zkr_node_cache) {
    verbs::free(node_cache, |_: &NodeCacheHandle| {});
}

/// The path of the topmost node; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_node_cache_path(node_cache: *const zkr_node_cache) -> *const c_char {
    verbs::ask(node_cache, null(), |it: &NodeCacheHandle| Some(it.path.as_ptr()))
}

/// What is known of a node at or below the path of the cache, without asking anybody: *exists says whether there is
/// one. If so, *data belongs to the caller: free it with zkr_buffer_free. ZKR_INVALID for another path.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_node_cache_get(
    node_cache: *mut zkr_node_cache,
    path: *const c_char,
    exists: *mut bool,
    data: *mut *mut zkr_buffer,
    stat: *mut zkr_stat,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        node_cache,
        error,
        || Ok((Place::required("exists", exists)?, HandlePlace::optional(data), Place::optional(stat))),
        |it: &NodeCacheHandle| {
            let path = input::text("path", path)?;
            it.core.get(&path)
        },
    )
}

/// The names of the children of such a node, sorted, without asking anybody: *exists says whether there is such a node.
/// If so, *names belongs to the caller: free it with zkr_strings_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_node_cache_children(
    node_cache: *mut zkr_node_cache,
    path: *const c_char,
    exists: *mut bool,
    names: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        node_cache,
        error,
        || Ok((Place::required("exists", exists)?, HandlePlace::optional(names))),
        |it: &NodeCacheHandle| {
            let path = input::text("path", path)?;
            it.core.children(&path)
        },
    )
}

/// How old what is known may be: so long ago, for certain, it was still so. While servers answer, less than half of the
/// session timeout.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_node_cache_age(
    node_cache: *mut zkr_node_cache,
    age_ms: *mut i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        node_cache,
        error,
        || Place::required("age_ms", age_ms),
        |it: &NodeCacheHandle| Ok(it.core.age()),
    )
}

/// Tells the paths of what has come, has gone or is different; at first of all that is there. The cache knows it by
/// then. The list belongs to the callback. A slow one is told of a path once, however often it has changed.
/// subscription and the end are as for zkr_config_watch.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_node_cache_changes(
    node_cache: *mut zkr_node_cache,
    callback: zkr_strings_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::stream(node_cache, callback, user_data, subscription, error, |it: &NodeCacheHandle| {
        Ok(it.core.changes())
    })
}
