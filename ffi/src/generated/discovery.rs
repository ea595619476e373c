//! Generated from api/discovery.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use zkrecipes::drive;

use crate::client::{ClientHandle, zkr_client};
use crate::collections::zkr_strings;
use crate::error::zkr_error;
use crate::events::zkr_subscription;
use crate::handle::Object;
use crate::input;
use crate::input::{HandlePlace, to_c};
use crate::lists::{zkr_instances, zkr_instances_callback};
use crate::nodes::zkr_strings_callback;
use crate::services;
use crate::services::{GivenPickBy, zkr_registration, zkr_registration_callback, zkr_service};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// Services below a path, and their instances, shared with everybody who uses that path, Curator's users too.
pub struct zkr_discovery {
    _opaque: [u8; 0],
}

pub(crate) type DiscoveryHandle = Recipe<zkrecipes::Discovery>;

impl Object for DiscoveryHandle {
    type Opaque = zkr_discovery;
    const NAME: &'static str = "zkr_discovery";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// Makes a handle of the services below a path. Validates, but sends nothing. On success *discovery belongs to the
/// caller: free it with zkr_discovery_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_new(
    client: *mut zkr_client,
    path: *const c_char,
    discovery: *mut *mut zkr_discovery,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("discovery", discovery),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let core = it.core.discovery(&path)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees a discovery. Calls in progress on it go on, what was registered stays registered, and subscriptions go on.
/// NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_free(discovery: *mut zkr_discovery) {
    verbs::free(discovery, |_: &DiscoveryHandle| {});
}

/// Where the services are; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_path(discovery: *const zkr_discovery) -> *const c_char {
    verbs::ask(discovery, null(), |it: &DiscoveryHandle| Some(it.path.as_ptr()))
}

/// Registers an instance of a service. A dynamic one is kept over all sessions of the client until it is unregistered
/// or the client is closed; a static or permanent one stays until it is unregistered. On success *registration belongs
/// to the caller: free it with zkr_registration_free, which ends nothing.
///
/// ZKR_EXISTS if there is one of that id. (That may be the one that a crashed process has left: its id is free after
/// its session timeout.) Only a static or permanent one takes the place of another such one.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_register(
    discovery: *mut zkr_discovery,
    service: *const zkr_service,
    registration: *mut *mut zkr_registration,
    error: *mut *mut zkr_error,
) -> zkr_status {
    discovery_register(
        discovery,
        service,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("registration", registration) },
    )
}

/// zkr_discovery_register in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_register_async(
    discovery: *mut zkr_discovery,
    service: *const zkr_service,
    callback: zkr_registration_callback,
    user_data: *mut c_void,
) -> zkr_status {
    discovery_register(discovery, service, Way::Starts { token: null(), callback, user_data })
}

fn discovery_register(
    discovery: *const zkr_discovery,
    service: *const zkr_service,
    way: Way<'_, HandlePlace<zkr_registration>, zkr_registration_callback>,
) -> zkr_status {
    verbs::call(discovery, way, |it: &DiscoveryHandle| {
        let core = it.core.clone();
        let service = services::service(service)?;
        Ok(async move { drive::register(&core, service).await })
    })
}

/// The instances of a service; none if there is no such service. On success *found belongs to the caller: free it with
/// zkr_instances_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_instances(
    discovery: *mut zkr_discovery,
    name: *const c_char,
    found: *mut *mut zkr_instances,
    error: *mut *mut zkr_error,
) -> zkr_status {
    discovery_instances(
        discovery,
        name,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("found", found) },
    )
}

/// zkr_discovery_instances in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_instances_async(
    discovery: *mut zkr_discovery,
    name: *const c_char,
    callback: zkr_instances_callback,
    user_data: *mut c_void,
) -> zkr_status {
    discovery_instances(discovery, name, Way::Starts { token: null(), callback, user_data })
}

fn discovery_instances(
    discovery: *const zkr_discovery,
    name: *const c_char,
    way: Way<'_, HandlePlace<zkr_instances>, zkr_instances_callback>,
) -> zkr_status {
    verbs::call(discovery, way, |it: &DiscoveryHandle| {
        let core = it.core.clone();
        let name = input::text("name", name)?;
        Ok(async move { core.instances(&name).await })
    })
}

/// The services that there are, sorted. One whose last instance has gone is there for a while. On success *services
/// belongs to the caller: free it with zkr_strings_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_names(
    discovery: *mut zkr_discovery,
    services: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    discovery_names(
        discovery,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("services", services) },
    )
}

/// zkr_discovery_names in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_names_async(
    discovery: *mut zkr_discovery,
    callback: zkr_strings_callback,
    user_data: *mut c_void,
) -> zkr_status {
    discovery_names(discovery, Way::Starts { token: null(), callback, user_data })
}

fn discovery_names(
    discovery: *const zkr_discovery,
    way: Way<'_, HandlePlace<zkr_strings>, zkr_strings_callback>,
) -> zkr_status {
    verbs::call(discovery, way, |it: &DiscoveryHandle| {
        let core = it.core.clone();
        Ok(async move { core.names().await })
    })
}

/// Tells the instances of a service, now and whenever they are others: always the latest. The list belongs to the
/// callback. subscription and the end are as for zkr_config_watch.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_watch(
    discovery: *mut zkr_discovery,
    name: *const c_char,
    callback: zkr_instances_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::stream(discovery, callback, user_data, subscription, error, |it: &DiscoveryHandle| {
        let name = input::text("name", name)?;
        it.core.watch(&name)
    })
}

/// One of the instances of a service: a list of one, which is empty if there is none that may be picked. Disabled ones
/// are not picked, nor for 30 seconds those that have failed. Only the first call for a service asks a server: from
/// then on it is followed until the handle is freed. On success *picked belongs to the caller: free it with
/// zkr_instances_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_pick(
    discovery: *mut zkr_discovery,
    name: *const c_char,
    by: GivenPickBy,
    picked: *mut *mut zkr_instances,
    error: *mut *mut zkr_error,
) -> zkr_status {
    discovery_pick(
        discovery,
        name,
        by,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("picked", picked) },
    )
}

/// zkr_discovery_pick in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_pick_async(
    discovery: *mut zkr_discovery,
    name: *const c_char,
    by: GivenPickBy,
    callback: zkr_instances_callback,
    user_data: *mut c_void,
) -> zkr_status {
    discovery_pick(discovery, name, by, Way::Starts { token: null(), callback, user_data })
}

fn discovery_pick(
    discovery: *const zkr_discovery,
    name: *const c_char,
    by: GivenPickBy,
    way: Way<'_, HandlePlace<zkr_instances>, zkr_instances_callback>,
) -> zkr_status {
    verbs::call(discovery, way, |it: &DiscoveryHandle| {
        let core = it.core.clone();
        let name = input::text("name", name)?;
        let by = services::pick_by(by)?;
        Ok(async move { async { core.pick(&name, by).await.map(Vec::from_iter) }.await })
    })
}

/// An instance did not serve: for 30 seconds this handle does not pick it. Asks no server, and tells nobody else. The
/// same as zkr_instances_failed, for who has nothing but its name and id.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_discovery_failed(
    discovery: *mut zkr_discovery,
    name: *const c_char,
    id: *const c_char,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        discovery,
        error,
        || Ok(()),
        |it: &DiscoveryHandle| {
            let name = input::text("name", name)?;
            let id = input::text("id", id)?;
            it.core.failed(&name, &id)
        },
    )
}
