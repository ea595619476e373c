//! Read, let the caller change it, set if nobody has changed it meanwhile, else once more.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use zkrecipes::{Error, ErrorKind, Result, drive};

use crate::client::{ClientHandle, zkr_client};
use crate::collections::{Buffer, zkr_buffer};
use crate::config::{ConfigHandle, zkr_config};
use crate::error::{zkr_error, zkr_status};
use crate::events;
use crate::guard;
use crate::handle;
use crate::input::{HandlePlace, Place, bytes, text};
use crate::nodes::zkr_stat;
use crate::verbs;

/// What becomes of a value; lent to a zkr_update_callback.
pub struct zkr_update {
    _opaque: [u8; 0],
}

/// Changes a value: calls zkr_update_set with the new one, or returns without, and then nothing is set. value is NULL where there
/// is none; it is only lent, and followed by a NUL that does not count. Called on the thread of the caller, again whenever somebody
/// else has changed the value meanwhile.
pub type zkr_update_callback = Option<
    unsafe extern "C" fn(value: *const c_void, size: usize, update: *mut zkr_update, user_data: *mut c_void),
>;

/// What zkr_update_set was given last.
type Changed = Option<Result<Vec<u8>>>;

/// Gives the new value, within a zkr_update_callback; the data is copied. What cannot be taken is the error of the update.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_update_set(update: *mut zkr_update, data: *const c_void, size: usize) {
    guard::quietly(|| {
        // SAFETY: `change` lends it for the callback, on this thread.
        if let Some(changed) = unsafe { update.cast::<Changed>().as_mut() } {
            *changed = Some(bytes("data", data, size));
        }
    });
}

/// What the caller makes of a value; `None` if it is to stay.
fn change(
    callback: zkr_update_callback,
    value: Option<&[u8]>,
    user_data: *mut c_void,
) -> Result<Option<Vec<u8>>> {
    let callback = callback.ok_or_else(|| Error::invalid("change", "is NULL; give a function"))?;
    // Behind it a NUL, for who reads text.
    let lent = value.map(|value| [value, b"\0"].concat());
    let (at, size) = lent.as_ref().map_or((null(), 0), |lent| (lent.as_ptr(), lent.len() - 1));
    let mut changed: Changed = None;
    // SAFETY: a function of this type, as the caller gave it; what is lent stands until it returns.
    unsafe { callback(at.cast(), size, (&raw mut changed).cast(), user_data) };
    changed.transpose()
}

/// Replaces the value of a config by what change makes of it: reads it, calls change, sets it if nobody has changed it meanwhile, else
/// once more. Each change is made once, also where an answer got lost; ZKR_CONNECTION_LOST says that nobody can know whether it was.
///
/// On success *value and *version are what is there then, as for zkr_config_get; both may be NULL. There is no form in the background:
/// zkr_config_get_async and zkr_config_compare_and_set_async are its two steps.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_config_update(
    config: *mut zkr_config,
    change: zkr_update_callback,
    user_data: *mut c_void,
    value: *mut *mut zkr_buffer,
    version: *mut i32,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let (value, place) = (HandlePlace::optional(value), Place::optional(version));
        let config = verbs::get::<ConfigHandle>(config)?;
        let (found, version) = loop {
            let core = config.core.clone();
            let before = events::wait(None, || Ok(async move { core.get().await }))?;
            let (read, version) = before.map_or((None, None), |it| (Some(it.value), Some(it.version)));
            let Some(made) = self::change(change, read.as_deref(), user_data)? else {
                break (read, version.unwrap_or(0));
            };
            let (core, given) = (config.core.clone(), made.clone());
            let set = async move { core.compare_and_set(&given, version).await };
            if events::wait(None, || Ok(set))? {
                break (Some(made), drive::version_after(version));
            }
        };
        place.put(version);
        match found {
            Some(found) => value.put(|| handle::publish(Buffer::new(found))),
            None => Ok(()),
        }
    })
}

/// The same with the data of a node, which has to exist: ZKR_NO_NODE. ZKR_CONNECTION_LOST: it may have been replaced, or not. stat may
/// be NULL. There is no form in the background: zkr_nodes_get_async and zkr_nodes_set_async are its two steps.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_nodes_update(
    client: *mut zkr_client,
    path: *const c_char,
    change: zkr_update_callback,
    user_data: *mut c_void,
    stat: *mut zkr_stat,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = Place::optional(stat);
        let client = verbs::get::<ClientHandle>(client)?;
        let path = text("path", path)?;
        let stat = loop {
            let (nodes, at) = (client.core.nodes(), path.clone());
            let (data, stat) = events::wait(None, || Ok(async move { nodes.get(&at).await }))?;
            let Some(made) = self::change(change, Some(&data), user_data)? else { break stat };
            let (nodes, at) = (client.core.nodes(), path.clone());
            let set = async move { nodes.set(&at, &made, Some(stat.version)).await };
            match events::wait(None, || Ok(set)) {
                Err(error) if error.kind() == ErrorKind::BadVersion => {}
                answer => break answer?,
            }
        };
        place.put(stat.into());
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives what it was lent back to front; of two values the last.
    unsafe extern "C" fn turned(
        value: *const c_void,
        size: usize,
        update: *mut zkr_update,
        user_data: *mut c_void,
    ) {
        if user_data.is_null() {
            return;
        }
        // SAFETY: it is lent so many bytes, and a NUL.
        let lent = if value.is_null() {
            &[][..]
        } else {
            unsafe { std::slice::from_raw_parts(value.cast::<u8>(), size + 1) }
        };
        let turned: Vec<u8> = lent.iter().rev().copied().collect();
        zkr_update_set(update, c"too early".as_ptr().cast(), 9);
        zkr_update_set(update, turned.as_ptr().cast(), turned.len());
        zkr_update_set(null::<zkr_update>().cast_mut(), null(), 0);
    }

    #[test]
    fn what_is_set_last_in_a_callback_is_the_change() {
        let does = (&raw const *"it").cast_mut().cast();
        let change = |value, user_data| change(Some(turned), value, user_data).expect("right");
        assert_eq!(change(Some(b"ab"), does), Some(b"\0ba".to_vec()));
        assert_eq!(change(None, does), Some(Vec::new()));
        assert_eq!(change(Some(b"ab"), null::<c_void>().cast_mut()), None);
        assert!(super::change(None, None, does).is_err());
    }
}
