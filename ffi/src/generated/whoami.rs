//! Generated from api/whoami.toml by api/generate; do not edit.

use std::ffi::c_void;
use std::ptr::null;

use crate::client::{ClientHandle, zkr_client};
use crate::collections::zkr_strings;
use crate::error::zkr_error;
use crate::input::HandlePlace;
use crate::nodes::zkr_strings_callback;
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::Way;

/// As whom the server knows this client, each as scheme:id, which is what an access list names: by the address it comes
/// from, by its credentials and by its certificate. Of digest credentials it is the user alone. On success *identities
/// belongs to the caller: free it with zkr_strings_free. ZKR_INVALID from servers before 3.7, which do not tell.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_whoami(
    client: *mut zkr_client,
    identities: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    client_whoami(
        client,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("identities", identities) },
    )
}

/// zkr_client_whoami in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_client_whoami_async(
    client: *mut zkr_client,
    callback: zkr_strings_callback,
    user_data: *mut c_void,
) -> zkr_status {
    client_whoami(client, Way::Starts { token: null(), callback, user_data })
}

fn client_whoami(
    client: *const zkr_client,
    way: Way<'_, HandlePlace<zkr_strings>, zkr_strings_callback>,
) -> zkr_status {
    verbs::call(client, way, |it: &ClientHandle| {
        let core = it.core.clone();
        Ok(async move { core.whoami().await })
    })
}
