//! Plain node operations.

use std::ffi::c_void;

use zkrecipes::{Client, CreateMode, NodeCache, Result, Stat, WatchKind};

use crate::answers::{Handed, Tell};
use crate::collections::{Strings, zkr_buffer, zkr_strings};
use crate::error::{zkr_error, zkr_status};
use crate::events::Listener;
use crate::handle;
use crate::input::to_c;
use crate::node_cache::{NodeCacheHandle, zkr_node_cache};
use crate::options::choice;
use crate::verbs::Recipe;

#[path = "generated/nodes.rs"]
mod generated;

/// What kind of node to create.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_create_mode {
    // --- generated from api: values of CreateMode
    /// Stays until it is deleted.
    ZKR_PERSISTENT = 0,
    /// Goes with the session.
    ZKR_EPHEMERAL = 1,
    /// Stays; the server appends a number of ten digits to the name.
    ZKR_PERSISTENT_SEQUENTIAL = 2,
    /// Goes with the session; the server appends a number of ten digits to the name.
    ZKR_EPHEMERAL_SEQUENTIAL = 3,
    /// Goes some time after its last child.
    ZKR_CONTAINER = 4,
    // --- end of generated
}

/// A zkr_create_mode from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenCreateMode(i32);

/// What of a node is to be followed.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_watch_kind {
    // --- generated from api: values of WatchKind
    /// Its data.
    ZKR_WATCH_KIND_DATA = 0,
    /// The names of its children.
    ZKR_WATCH_KIND_CHILDREN = 1,
    /// The node and all that is below it.
    ZKR_WATCH_KIND_SUBTREE = 2,
    // --- end of generated
}

/// A zkr_watch_kind from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenWatchKind(i32);

/// What the server knows about a node besides its data.
#[repr(C)]
#[derive(Copy, Clone, Default)]
pub struct zkr_stat {
    /// The transaction that created it, the one that last set its data, the one that last changed its children.
    pub czxid: i64,
    pub mzxid: i64,
    pub pzxid: i64,
    /// When it was created and last set, in milliseconds since 1970 by the server's clock.
    pub ctime: i64,
    pub mtime: i64,
    /// How often its data, its children and its access list were changed.
    pub version: i32,
    pub cversion: i32,
    pub aversion: i32,
    pub data_length: i32,
    pub num_children: i32,
    /// The session that it belongs to if it is ephemeral, else 0.
    pub ephemeral_owner: i64,
}

/// The end of a verb that hands over bytes; stat is NULL where there is none. On ZKR_OK the buffer belongs to the
/// callback, otherwise it is NULL; stat and error are only lent.
pub type zkr_buffer_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        buffer: *mut zkr_buffer,
        stat: *const zkr_stat,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// The end of a verb that hands over a stat, NULL where there is no node. stat and error are only lent.
pub type zkr_stat_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        stat: *const zkr_stat,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// The end of a verb that hands over a list. On ZKR_OK the list belongs to the callback, otherwise it is NULL; the
/// error is only lent.
pub type zkr_strings_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        strings: *mut zkr_strings,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// The end of zkr_nodes_cache_async. On ZKR_OK the cache belongs to the callback, otherwise it is NULL; the error is only lent.
pub type zkr_node_cache_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        cache: *mut zkr_node_cache,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

impl Handed for NodeCache {
    type Object = NodeCacheHandle;

    fn object(self, client: &Client) -> NodeCacheHandle {
        Recipe { client: client.clone(), path: to_c(self.path()), core: self, is_part: false }
    }
}

impl Tell<Result<Vec<String>>>
    for unsafe extern "C" fn(zkr_status, *mut zkr_strings, *const zkr_error, *mut c_void)
{
    fn tell(listener: Listener<Self>, told: Result<Vec<String>>) {
        listener.report(
            told,
            |found| handle::publish(Strings::new(found)),
            // SAFETY: a function of this type, as the caller gave it.
            |function, status, found, error, data| unsafe {
                function(status, found.unwrap_or(std::ptr::null_mut()), error, data);
            },
        );
    }
}

pub(crate) fn mode(given: GivenCreateMode) -> Result<CreateMode> {
    use zkr_create_mode::*;
    let modes =
        [ZKR_PERSISTENT, ZKR_EPHEMERAL, ZKR_PERSISTENT_SEQUENTIAL, ZKR_EPHEMERAL_SEQUENTIAL, ZKR_CONTAINER];
    Ok(match choice("mode", given.0, &modes)? {
        ZKR_PERSISTENT => CreateMode::Persistent,
        ZKR_EPHEMERAL => CreateMode::Ephemeral,
        ZKR_PERSISTENT_SEQUENTIAL => CreateMode::PersistentSequential,
        ZKR_EPHEMERAL_SEQUENTIAL => CreateMode::EphemeralSequential,
        ZKR_CONTAINER => CreateMode::Container,
    })
}

pub(crate) fn watch_kind(given: GivenWatchKind) -> Result<WatchKind> {
    use zkr_watch_kind::*;
    let kinds = [ZKR_WATCH_KIND_DATA, ZKR_WATCH_KIND_CHILDREN, ZKR_WATCH_KIND_SUBTREE];
    Ok(match choice("kind", given.0, &kinds)? {
        ZKR_WATCH_KIND_DATA => WatchKind::Data,
        ZKR_WATCH_KIND_CHILDREN => WatchKind::Children,
        ZKR_WATCH_KIND_SUBTREE => WatchKind::Subtree,
    })
}

impl From<Stat> for zkr_stat {
    fn from(stat: Stat) -> zkr_stat {
        zkr_stat {
            czxid: stat.czxid,
            mzxid: stat.mzxid,
            pzxid: stat.pzxid,
            ctime: stat.ctime,
            mtime: stat.mtime,
            version: stat.version,
            cversion: stat.cversion,
            aversion: stat.aversion,
            data_length: stat.data_length,
            num_children: stat.num_children,
            ephemeral_owner: stat.ephemeral_owner,
        }
    }
}
