//! Generated from api/names.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use crate::client::{ClientHandle, zkr_client};
use crate::collections::{zkr_buffer, zkr_strings};
use crate::error::zkr_error;
use crate::events::{zkr_done_callback, zkr_subscription};
use crate::handle::Object;
use crate::input;
use crate::input::{HandlePlace, to_c};
use crate::lists::zkr_entries_callback;
use crate::nodes::{zkr_buffer_callback, zkr_strings_callback};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// Names below a path, and what they stand for, shared with everybody who uses that path.
pub struct zkr_names {
    _opaque: [u8; 0],
}

pub(crate) type NamesHandle = Recipe<zkrecipes::Names>;

impl Object for NamesHandle {
    type Opaque = zkr_names;
    const NAME: &'static str = "zkr_names";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// Makes a handle of the names below a path. Validates, but sends nothing. On success *names belongs to the caller:
/// free it with zkr_names_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_new(
    client: *mut zkr_client,
    path: *const c_char,
    names: *mut *mut zkr_names,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("names", names),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let core = it.core.names(&path)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees names. Calls in progress on them go on, what was bound stays bound, and subscriptions go on. NULL and freed
/// ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_free(names: *mut zkr_names) {
    verbs::free(names, |_: &NamesHandle| {});
}

/// The path of the names; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_path(names: *const zkr_names) -> *const c_char {
    verbs::ask(names, null(), |it: &NamesHandle| Some(it.path.as_ptr()))
}

/// Binds a name to data. ZKR_EXISTS if it is bound already, by whomever. An ephemeral binding lasts as long as the
/// client, over all its sessions, and is made again when somebody deletes it; any other until it is unbound.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_bind(
    names: *mut zkr_names,
    name: *const c_char,
    data: *const c_void,
    size: usize,
    ephemeral: bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    names_bind(names, name, data, size, ephemeral, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_names_bind in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_bind_async(
    names: *mut zkr_names,
    name: *const c_char,
    data: *const c_void,
    size: usize,
    ephemeral: bool,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    names_bind(names, name, data, size, ephemeral, Way::Starts { token: null(), callback, user_data })
}

fn names_bind(
    names: *const zkr_names,
    name: *const c_char,
    data: *const c_void,
    size: usize,
    ephemeral: bool,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(names, way, |it: &NamesHandle| {
        let core = it.core.clone();
        let name = input::text("name", name)?;
        let data = input::bytes("data", data, size)?;
        Ok(async move { core.bind(&name, &data, ephemeral).await })
    })
}

/// Binds a name to data for a time: the servers unbind it once nobody has changed it for ttl_ms, which is at least 1,
/// whatever became of the client. ZKR_EXISTS if it is bound already, by whomever. ZKR_INVALID if the servers do not
/// take that: they need zookeeper.extendedTypesEnabled=true.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_bind_ttl(
    names: *mut zkr_names,
    name: *const c_char,
    data: *const c_void,
    size: usize,
    ttl_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    names_bind_ttl(names, name, data, size, ttl_ms, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_names_bind_ttl in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_bind_ttl_async(
    names: *mut zkr_names,
    name: *const c_char,
    data: *const c_void,
    size: usize,
    ttl_ms: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    names_bind_ttl(names, name, data, size, ttl_ms, Way::Starts { token: null(), callback, user_data })
}

fn names_bind_ttl(
    names: *const zkr_names,
    name: *const c_char,
    data: *const c_void,
    size: usize,
    ttl_ms: i64,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(names, way, |it: &NamesHandle| {
        let core = it.core.clone();
        let name = input::text("name", name)?;
        let data = input::bytes("data", data, size)?;
        let ttl_ms = input::millis("ttl_ms", ttl_ms)?;
        Ok(async move { core.bind_ttl(&name, &data, ttl_ms).await })
    })
}

/// What a name stands for. *data is NULL if it is not bound; otherwise it belongs to the caller: free it with
/// zkr_buffer_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_lookup(
    names: *mut zkr_names,
    name: *const c_char,
    data: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    names_lookup(
        names,
        name,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("data", data) },
    )
}

/// zkr_names_lookup in the background: the callback's buffer is NULL if the name is not bound, its stat always. ZKR_OK
/// says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_lookup_async(
    names: *mut zkr_names,
    name: *const c_char,
    callback: zkr_buffer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    names_lookup(names, name, Way::Starts { token: null(), callback, user_data })
}

fn names_lookup(
    names: *const zkr_names,
    name: *const c_char,
    way: Way<'_, HandlePlace<zkr_buffer>, zkr_buffer_callback>,
) -> zkr_status {
    verbs::call(names, way, |it: &NamesHandle| {
        let core = it.core.clone();
        let name = input::text("name", name)?;
        Ok(async move { core.lookup(&name).await })
    })
}

/// Unbinds a name, whoever has bound it. ZKR_NO_NODE if it is not bound. What another client keeps bound as ephemeral
/// is bound again by it at once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_unbind(
    names: *mut zkr_names,
    name: *const c_char,
    error: *mut *mut zkr_error,
) -> zkr_status {
    names_unbind(names, name, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_names_unbind in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_unbind_async(
    names: *mut zkr_names,
    name: *const c_char,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    names_unbind(names, name, Way::Starts { token: null(), callback, user_data })
}

fn names_unbind(
    names: *const zkr_names,
    name: *const c_char,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(names, way, |it: &NamesHandle| {
        let core = it.core.clone();
        let name = input::text("name", name)?;
        Ok(async move { core.unbind(&name).await })
    })
}

/// The names that are bound, sorted. On success *names_bound belongs to the caller: free it with zkr_strings_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_list(
    names: *mut zkr_names,
    names_bound: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    names_list(
        names,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("names_bound", names_bound) },
    )
}

/// zkr_names_list in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_list_async(
    names: *mut zkr_names,
    callback: zkr_strings_callback,
    user_data: *mut c_void,
) -> zkr_status {
    names_list(names, Way::Starts { token: null(), callback, user_data })
}

fn names_list(
    names: *const zkr_names,
    way: Way<'_, HandlePlace<zkr_strings>, zkr_strings_callback>,
) -> zkr_status {
    verbs::call(names, way, |it: &NamesHandle| {
        let core = it.core.clone();
        Ok(async move { core.list().await })
    })
}

/// Tells all names and what they stand for, now and whenever that has changed: always the latest. One that may not be
/// read is left out: zkr_client_skipped names its node. The entries belong to the callback. subscription and the end
/// are as for zkr_config_watch.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_names_watch(
    names: *mut zkr_names,
    callback: zkr_entries_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::stream(names, callback, user_data, subscription, error, |it: &NamesHandle| Ok(it.core.watch()))
}
