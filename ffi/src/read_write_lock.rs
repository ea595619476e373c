//! The read/write lock: two locks on one path.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use zkrecipes::{Lock, Result};

use crate::client::{self, zkr_client};
use crate::error::{zkr_error, zkr_status};
use crate::guard;
use crate::handle::{self, Object};
use crate::input::{self, HandlePlace, to_c};
use crate::lock::{LockHandle, zkr_lock};
use crate::verbs::Recipe;

/// A lock that many readers share and writers have for themselves, in the order of arrival.
///
/// Its two sides are a zkr_lock each, for every verb of a lock. zkr_lock_downgrade of the write side goes from writing to
/// reading, so that nobody writes in between. Threads may share a handle: each side has one owner at a time, like every
/// zkr_lock, and waits for what the other one holds. So readers who read at the same time have a handle each, and who asks
/// for write with read in hand waits for itself.
pub struct zkr_read_write_lock {
    _opaque: [u8; 0],
}

struct ReadWriteLockHandle {
    path: CString,
    read: Side,
    write: Side,
}

/// The handle of a side, a number that C gets again and again.
struct Side(*mut zkr_lock);

// SAFETY: handles are no addresses; any thread may use them.
unsafe impl Send for Side {}
unsafe impl Sync for Side {}

impl Object for ReadWriteLockHandle {
    type Opaque = zkr_read_write_lock;
    const NAME: &'static str = "zkr_read_write_lock";
}

impl Drop for ReadWriteLockHandle {
    fn drop(&mut self) {
        for side in [&self.read, &self.write] {
            if let Some(side) = handle::take::<LockHandle>(side.0) {
                side.core.cancel();
            }
        }
    }
}

fn get(lock: *const zkr_read_write_lock) -> Result<Arc<ReadWriteLockHandle>> {
    handle::get("lock", lock)
}

/// Makes a handle of a read/write lock. Validates, but sends nothing. On success *lock belongs to the caller: free it
/// with zkr_read_write_lock_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_read_write_lock_new(
    client: *mut zkr_client,
    path: *const c_char,
    lock: *mut *mut zkr_read_write_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("lock", lock)?;
        let client = client::get(client)?.core.clone();
        let core = client.read_write_lock(&input::text("path", path)?)?;
        let path = to_c(core.path());
        let side = |core: &Lock| {
            let (client, core, path) = (client.clone(), core.clone(), path.clone());
            handle::publish(Recipe { client, core, path, is_part: true }).map(Side)
        };
        let (read, write) = (side(core.read())?, side(core.write())?);
        place.put(|| handle::publish(ReadWriteLockHandle { path, read, write }))
    })
}

/// Frees a read/write lock and both its sides. Waits in progress on them end with ZKR_CANCELLED. What is held is
/// released in the background, unless a zkr_held of it is still around, which owns it from then on. Never blocks. NULL
/// and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_read_write_lock_free(lock: *mut zkr_read_write_lock) {
    guard::quietly(|| drop(handle::take::<ReadWriteLockHandle>(lock)));
}

/// The path of the lock; NULL for a handle that cannot be used. Valid until the lock is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_read_write_lock_path(lock: *const zkr_read_write_lock) -> *const c_char {
    guard::answer(std::ptr::null(), || Some(get(lock).ok()?.path.as_ptr()))
}

/// The side that readers share; NULL for a handle that cannot be used. It is a part of the read/write lock and goes
/// with it: there is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_read_write_lock_read(lock: *const zkr_read_write_lock) -> *mut zkr_lock {
    guard::answer(std::ptr::null_mut(), || Some(get(lock).ok()?.read.0))
}

/// The side that a writer has alone; NULL for a handle that cannot be used. It is a part of the read/write lock and
/// goes with it: there is nothing to free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_read_write_lock_write(lock: *const zkr_read_write_lock) -> *mut zkr_lock {
    guard::answer(std::ptr::null_mut(), || Some(get(lock).ok()?.write.0))
}
