//! Several locks as one.

use zkrecipes::{Client, MultiLock, Result};

use crate::client::{self, zkr_client};
use crate::error::{zkr_error, zkr_status};
use crate::guard;
use crate::handle::{self, Object};
use crate::held;
use crate::input::{self, HandlePlace};
use crate::lock::{LockHandle, zkr_lock};
use crate::verbs::{self, Holder};

#[path = "generated/multi_lock.rs"]
mod generated;

/// Several locks that are acquired all or none, in an order in which nobody waits for each other. Losing one loses all.
pub struct zkr_multi_lock {
    _opaque: [u8; 0],
}

struct MultiLockHandle {
    client: Client,
    core: MultiLock,
}

impl Object for MultiLockHandle {
    type Opaque = zkr_multi_lock;
    const NAME: &'static str = "zkr_multi_lock";
}

impl Holder for MultiLockHandle {
    fn client(&self) -> &Client {
        &self.client
    }
}

/// Makes one lock of several. Validates, but sends nothing. The locks must be plain ones of this client, no two of one
/// path; they are only read and stay the caller's. On success *multi_lock belongs to the caller: free it with
/// zkr_multi_lock_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_new(
    client: *mut zkr_client,
    locks: *const *mut zkr_lock,
    count: usize,
    multi_lock: *mut *mut zkr_multi_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("multi_lock", multi_lock)?;
        let client = client::get(client)?.core.clone();
        let given = input::slice("locks", locks, count)?;
        let locks: Vec<_> = given
            .iter()
            .map(|lock| Ok(handle::get::<LockHandle>("locks", *lock)?.core.clone()))
            .collect::<Result<_>>()?;
        let core = client.multi_lock(&locks)?;
        place.put(|| handle::publish(MultiLockHandle { client, core }))
    })
}

/// The fencing tokens of what is held, in the order of the paths. Writes as many as there is room for and returns how
/// many there are, 0 when nothing is held; tokens may be NULL to ask for that alone.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_fencing_tokens(
    multi_lock: *const zkr_multi_lock,
    tokens: *mut u64,
    room: usize,
) -> usize {
    verbs::ask(multi_lock, 0, |it: &MultiLockHandle| {
        Some(held::copy_tokens(&it.core.fencing_tokens().ok()?, tokens, room))
    })
}
