//! Generated from api/registration.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use crate::error::zkr_error;
use crate::events::zkr_done_callback;
use crate::input::HandlePlace;
use crate::lists::zkr_instances;
use crate::services;
use crate::services::{RegistrationHandle, zkr_registration, zkr_service};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::Way;

/// Frees a registration, which ends nothing. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_registration_free(registration: *mut zkr_registration) {
    verbs::free(registration, |_: &RegistrationHandle| {});
}

/// What tells it from the other instances of the service; NULL for a handle that cannot be used. Valid until it is
/// freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_registration_id(registration: *const zkr_registration) -> *const c_char {
    verbs::ask(registration, null(), |it: &RegistrationHandle| Some(it.id.as_ptr()))
}

/// What was registered, as it is to be after the last update: a list of one, without its URI and its time. On success
/// *service belongs to the caller: free it with zkr_instances_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_registration_service(
    registration: *const zkr_registration,
    service: *mut *mut zkr_instances,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        registration,
        error,
        || HandlePlace::required("service", service),
        |it: &RegistrationHandle| Ok(it.core.service()),
    )
}

/// Replaces what is to be known of it. id may be NULL, and has to be the same otherwise, as have name and type.
/// ZKR_NOT_HELD if it was unregistered. ZKR_CONNECTION_LOST: of a dynamic one it goes on in the background, of another
/// one it is unconfirmed; the next update goes on from there. ZKR_NO_NODE if somebody has deleted the node of a static
/// or permanent one, or put one of their own in its place.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_registration_update(
    registration: *mut zkr_registration,
    service: *const zkr_service,
    error: *mut *mut zkr_error,
) -> zkr_status {
    registration_update(registration, service, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_registration_update in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_registration_update_async(
    registration: *mut zkr_registration,
    service: *const zkr_service,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    registration_update(registration, service, Way::Starts { token: null(), callback, user_data })
}

fn registration_update(
    registration: *const zkr_registration,
    service: *const zkr_service,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(registration, way, |it: &RegistrationHandle| {
        let core = it.core.clone();
        let service = services::changed(&core, service)?;
        Ok(async move { core.update(service).await })
    })
}

/// Takes it back. ZKR_NOT_HELD if it was unregistered already. ZKR_CONNECTION_LOST means unconfirmed: of a dynamic one
/// the deletion goes on in the background, another one may still be there.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_registration_unregister(
    registration: *mut zkr_registration,
    error: *mut *mut zkr_error,
) -> zkr_status {
    registration_unregister(registration, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_registration_unregister in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_registration_unregister_async(
    registration: *mut zkr_registration,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    registration_unregister(registration, Way::Starts { token: null(), callback, user_data })
}

fn registration_unregister(
    registration: *const zkr_registration,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(registration, way, |it: &RegistrationHandle| {
        let core = it.core.clone();
        Ok(async move { core.unregister().await })
    })
}
