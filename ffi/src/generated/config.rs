//! Generated from api/config.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use crate::client::{ClientHandle, zkr_client};
use crate::collections::{zkr_buffer, zkr_versioned_callback};
use crate::error::zkr_error;
use crate::events::{zkr_answer_callback, zkr_number_callback, zkr_subscription};
use crate::handle::Object;
use crate::input;
use crate::input::{HandlePlace, Place, to_c};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// A value at a path, shared with everybody who reads or sets it, in any language. A version counts its changes; 0 is
/// that of its creation.
pub struct zkr_config {
    _opaque: [u8; 0],
}

pub(crate) type ConfigHandle = Recipe<zkrecipes::Config>;

impl Object for ConfigHandle {
    type Opaque = zkr_config;
    const NAME: &'static str = "zkr_config";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// Makes a handle of a config. Validates, but sends nothing. On success *config belongs to the caller: free it with
/// zkr_config_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_new(
    client: *mut zkr_client,
    path: *const c_char,
    config: *mut *mut zkr_config,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("config", config),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let core = it.core.config(&path)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees a config. Calls in progress on it go on, and so do its subscriptions. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_free(config: *mut zkr_config) {
    verbs::free(config, |_: &ConfigHandle| {});
}

/// The path of the config; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_path(config: *const zkr_config) -> *const c_char {
    verbs::ask(config, null(), |it: &ConfigHandle| Some(it.path.as_ptr()))
}

/// Reads the value. *value is NULL if nobody has set it; otherwise it belongs to the caller: free it with
/// zkr_buffer_free. version may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_get(
    config: *mut zkr_config,
    value: *mut *mut zkr_buffer,
    version: *mut i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    config_get(
        config,
        Way::Waits {
            token: null(),
            error,
            place: &|| Ok((HandlePlace::required("value", value)?, Place::optional(version))),
        },
    )
}

/// zkr_config_get in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_get_async(
    config: *mut zkr_config,
    callback: zkr_versioned_callback,
    user_data: *mut c_void,
) -> zkr_status {
    config_get(config, Way::Starts { token: null(), callback, user_data })
}

fn config_get(
    config: *const zkr_config,
    way: Way<'_, (HandlePlace<zkr_buffer>, Place<i32>), zkr_versioned_callback>,
) -> zkr_status {
    verbs::call(config, way, |it: &ConfigHandle| {
        let core = it.core.clone();
        Ok(async move { core.get().await })
    })
}

/// Sets the value if it has the version, -1 for whichever it has or none at all. new_version may be NULL.
///
/// ZKR_BAD_VERSION if somebody has changed it since, ZKR_NO_NODE if there is no value that could have a version. A lost
/// answer is resolved by looking; ZKR_CONNECTION_LOST says that it could not be, and that the value may or may not have
/// been set.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_set(
    config: *mut zkr_config,
    value: *const c_void,
    size: usize,
    version: i32,
    new_version: *mut i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    config_set(
        config,
        value,
        size,
        version,
        Way::Waits { token: null(), error, place: &|| Ok(Place::optional(new_version)) },
    )
}

/// zkr_config_set in the background; the number is the new version. ZKR_OK says that the callback will be called
/// exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_set_async(
    config: *mut zkr_config,
    value: *const c_void,
    size: usize,
    version: i32,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    config_set(config, value, size, version, Way::Starts { token: null(), callback, user_data })
}

fn config_set(
    config: *const zkr_config,
    value: *const c_void,
    size: usize,
    version: i32,
    way: Way<'_, Place<i32>, zkr_number_callback>,
) -> zkr_status {
    verbs::call(config, way, |it: &ConfigHandle| {
        let core = it.core.clone();
        let value = input::bytes("value", value, size)?;
        let version = input::version(version)?;
        Ok(async move { core.set(&value, version).await })
    })
}

/// Sets the value if nobody has set it yet. new_version is that of a new value, 0, and may be NULL.
///
/// ZKR_EXISTS if there is one. A lost answer is resolved by looking; ZKR_CONNECTION_LOST says that it could not be, and
/// that the value may or may not have been set.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_create(
    config: *mut zkr_config,
    value: *const c_void,
    size: usize,
    new_version: *mut i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    config_create(
        config,
        value,
        size,
        Way::Waits { token: null(), error, place: &|| Ok(Place::optional(new_version)) },
    )
}

/// zkr_config_create in the background; the number is the version. ZKR_OK says that the callback will be called exactly
/// once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_create_async(
    config: *mut zkr_config,
    value: *const c_void,
    size: usize,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    config_create(config, value, size, Way::Starts { token: null(), callback, user_data })
}

fn config_create(
    config: *const zkr_config,
    value: *const c_void,
    size: usize,
    way: Way<'_, Place<i32>, zkr_number_callback>,
) -> zkr_status {
    verbs::call(config, way, |it: &ConfigHandle| {
        let core = it.core.clone();
        let value = input::bytes("value", value, size)?;
        Ok(async move { core.create(&value).await })
    })
}

/// Sets the value if it still has that version, -1 for if there still is none: *is_set says whether it did. A step of
/// what zkr_config_update does, for who does the others alone. It is made once, also where the answer got lost;
/// ZKR_CONNECTION_LOST says that nobody can know whether it was.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_compare_and_set(
    config: *mut zkr_config,
    value: *const c_void,
    size: usize,
    version: i32,
    is_set: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    config_compare_and_set(
        config,
        value,
        size,
        version,
        Way::Waits { token: null(), error, place: &|| Place::required("is_set", is_set) },
    )
}

/// zkr_config_compare_and_set in the background; the answer is whether it was set. ZKR_OK says that the callback will
/// be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_compare_and_set_async(
    config: *mut zkr_config,
    value: *const c_void,
    size: usize,
    version: i32,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    config_compare_and_set(config, value, size, version, Way::Starts { token: null(), callback, user_data })
}

fn config_compare_and_set(
    config: *const zkr_config,
    value: *const c_void,
    size: usize,
    version: i32,
    way: Way<'_, Place<bool>, zkr_answer_callback>,
) -> zkr_status {
    verbs::call(config, way, |it: &ConfigHandle| {
        let core = it.core.clone();
        let value = input::bytes("value", value, size)?;
        let version = input::version(version)?;
        Ok(async move { core.compare_and_set(&value, version).await })
    })
}

/// Tells the value now, and whenever it has changed: always the latest, over reconnections and new sessions. The next
/// value is asked for when the callback has returned, so a slow one misses values, but never the latest.
///
/// subscription may be NULL to leave the callback in place for good; otherwise end it with zkr_subscription_free. If it
/// ends by itself, that is told by a status: ZKR_CLOSED with the client, ZKR_DENIED and the like where it cannot go on.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_watch(
    config: *mut zkr_config,
    callback: zkr_versioned_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::stream(config, callback, user_data, subscription, error, |it: &ConfigHandle| Ok(it.core.watch()))
}

/// What this handle was told last, by zkr_config_get or zkr_config_watch, without asking anybody: *is_known says
/// whether it was told anything. *value is NULL if nobody had set it; otherwise it belongs to the caller: free it with
/// zkr_buffer_free. age_ms is how old this may be: so long ago it was certainly still so. While it is watched through
/// this handle and servers answer, that is less than half of the session timeout; otherwise it counts from when the
/// value was asked for.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_cached(
    config: *mut zkr_config,
    is_known: *mut bool,
    value: *mut *mut zkr_buffer,
    version: *mut i32,
    age_ms: *mut i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        config,
        error,
        || {
            Ok((
                Place::required("is_known", is_known)?,
                HandlePlace::optional(value),
                Place::optional(version),
                Place::optional(age_ms),
            ))
        },
        |it: &ConfigHandle| Ok(it.core.cached()),
    )
}
