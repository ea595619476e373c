//! Generated from api/counter.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use zkrecipes::Result;

use crate::client::{ClientHandle, zkr_client};
use crate::error::zkr_error;
use crate::events::{zkr_answer_callback, zkr_done_callback, zkr_number_callback, zkr_subscription};
use crate::handle::Object;
use crate::input;
use crate::input::{HandlePlace, Place, to_c};
use crate::options;
use crate::options::choice;
use crate::sized::SelfSized;
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// A number that many count on. Every change is applied exactly once, also when its answer gets lost; where that cannot
/// be known any more, it is ZKR_CONNECTION_LOST. A counter that does not exist is 0, and the first change creates it.
///
/// As long as changes come, one node of ours stands below the counter for each client. It goes within a minute of the
/// last, a second after it once the client has no handle on this counter any more, and when the client closes.
pub struct zkr_counter {
    _opaque: [u8; 0],
}

pub(crate) type CounterHandle = Recipe<zkrecipes::Counter>;

impl Object for CounterHandle {
    type Opaque = zkr_counter;
    const NAME: &'static str = "zkr_counter";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// How a counter keeps its value where the naming is Curator's.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_counter_layout {
    /// Curator's DistributedAtomicLong: 64 bits.
    ZKR_COUNTER_LAYOUT_ATOMIC = 0,
    /// Curator's SharedCount: 32 bits.
    ZKR_COUNTER_LAYOUT_SHARED = 1,
}

/// A zkr_counter_layout from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenCounterLayout(i32);

/// How a counter behaves. Start from ZKR_COUNTER_OPTIONS_INIT, which has the defaults.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_counter_options {
    /// sizeof(zkr_counter_options), as ZKR_COUNTER_OPTIONS_INIT sets it.
    pub size: usize,
    /// Whose counter it takes part in: Curator's DistributedAtomicLong, 64 bits (ZKR_COUNTER_LAYOUT_ATOMIC), or
    /// SharedCount, 32 bits (ZKR_COUNTER_LAYOUT_SHARED). kazoo has one layout of its own, which naming chooses. Unless
    /// told: ZKR_COUNTER_LAYOUT_ATOMIC.
    pub layout: GivenCounterLayout,
    /// Zero.
    pub reserved: u32,
}

impl SelfSized for zkr_counter_options {
    const INIT: &'static str = "ZKR_COUNTER_OPTIONS_INIT";
    const LEAST: usize = size_of::<zkr_counter_options>();

    fn defaults() -> zkr_counter_options {
        zkr_counter_options {
            size: size_of::<zkr_counter_options>(),
            layout: GivenCounterLayout(0),
            reserved: 0,
        }
    }

    fn reserved(&self) -> Vec<u8> {
        [&self.reserved.to_ne_bytes()[..]].concat()
    }
}

impl zkr_counter_options {
    pub(crate) fn convert(&self) -> Result<zkrecipes::CounterOptions> {
        let mut options = zkrecipes::CounterOptions::default();
        options.layout = match choice(
            "layout",
            self.layout.0,
            &[zkr_counter_layout::ZKR_COUNTER_LAYOUT_ATOMIC, zkr_counter_layout::ZKR_COUNTER_LAYOUT_SHARED],
        )? {
            zkr_counter_layout::ZKR_COUNTER_LAYOUT_ATOMIC => zkrecipes::CounterLayout::Atomic,
            zkr_counter_layout::ZKR_COUNTER_LAYOUT_SHARED => zkrecipes::CounterLayout::Shared,
        };

        Ok(options)
    }
}
/// Makes a handle of a counter. Validates, but sends nothing. options may be NULL for the defaults. On success *counter
/// belongs to the caller: free it with zkr_counter_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_counter_new(
    client: *mut zkr_client,
    path: *const c_char,
    options: *const zkr_counter_options,
    counter: *mut *mut zkr_counter,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("counter", counter),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let options = options::read(options)?.convert()?;
            let core = it.core.counter(&path, options)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees a counter. Calls in progress on it go on. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_counter_free(counter: *mut zkr_counter) {
    verbs::free(counter, |_: &CounterHandle| {});
}

/// The path of the counter; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_counter_path(counter: *const zkr_counter) -> *const c_char {
    verbs::ask(counter, null(), |it: &CounterHandle| Some(it.path.as_ptr()))
}

/// The value, no older than this call.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_counter_get(
    counter: *mut zkr_counter,
    value: *mut i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    counter_get(counter, Way::Waits { token: null(), error, place: &|| Place::required("value", value) })
}

/// zkr_counter_get in the background; the number is the value. ZKR_OK says that the callback will be called exactly
/// once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_counter_get_async(
    counter: *mut zkr_counter,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    counter_get(counter, Way::Starts { token: null(), callback, user_data })
}

fn counter_get(counter: *const zkr_counter, way: Way<'_, Place<i64>, zkr_number_callback>) -> zkr_status {
    verbs::call(counter, way, |it: &CounterHandle| {
        let core = it.core.clone();
        Ok(async move { core.get().await })
    })
}

/// Adds n, which may be negative. value may be NULL; otherwise it is for the new value. ZKR_INVALID if that would be
/// beyond the range of the layout; nothing is added then.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_counter_add(
    counter: *mut zkr_counter,
    n: i64,
    value: *mut i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    counter_add(counter, n, Way::Waits { token: null(), error, place: &|| Ok(Place::optional(value)) })
}

/// zkr_counter_add in the background; the number is the new value. ZKR_OK says that the callback will be called exactly
/// once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_counter_add_async(
    counter: *mut zkr_counter,
    n: i64,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    counter_add(counter, n, Way::Starts { token: null(), callback, user_data })
}

fn counter_add(
    counter: *const zkr_counter,
    n: i64,
    way: Way<'_, Place<i64>, zkr_number_callback>,
) -> zkr_status {
    verbs::call(counter, way, |it: &CounterHandle| {
        let core = it.core.clone();
        Ok(async move { core.add(n).await })
    })
}

/// Sets the value, whatever it was. ZKR_INVALID if that is beyond the range of the layout; nothing is changed then.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_counter_set(
    counter: *mut zkr_counter,
    value: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    counter_set(counter, value, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_counter_set in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_counter_set_async(
    counter: *mut zkr_counter,
    value: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    counter_set(counter, value, Way::Starts { token: null(), callback, user_data })
}

fn counter_set(counter: *const zkr_counter, value: i64, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(counter, way, |it: &CounterHandle| {
        let core = it.core.clone();
        Ok(async move { core.set(value).await })
    })
}

/// Sets the value to new_value if it is old_value, in one step; *was_set says whether it was.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_counter_compare_and_set(
    counter: *mut zkr_counter,
    old_value: i64,
    new_value: i64,
    was_set: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    counter_compare_and_set(
        counter,
        old_value,
        new_value,
        Way::Waits { token: null(), error, place: &|| Place::required("was_set", was_set) },
    )
}

/// zkr_counter_compare_and_set in the background; the answer is whether it was set. ZKR_OK says that the callback will
/// be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_counter_compare_and_set_async(
    counter: *mut zkr_counter,
    old_value: i64,
    new_value: i64,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    counter_compare_and_set(counter, old_value, new_value, Way::Starts { token: null(), callback, user_data })
}

fn counter_compare_and_set(
    counter: *const zkr_counter,
    old_value: i64,
    new_value: i64,
    way: Way<'_, Place<bool>, zkr_answer_callback>,
) -> zkr_status {
    verbs::call(counter, way, |it: &CounterHandle| {
        let core = it.core.clone();
        Ok(async move { core.compare_and_set(old_value, new_value).await })
    })
}

/// Tells the value now, and whenever it has changed: always the latest, over reconnections and new sessions. The next
/// value is asked for when the callback has returned, so a slow one misses values, but never the latest.
///
/// subscription may be NULL to leave the callback in place for good; otherwise end it with zkr_subscription_free. If it
/// ends by itself, that is told by a status: ZKR_CLOSED with the client, ZKR_DENIED and the like where it cannot go on.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_counter_watch(
    counter: *mut zkr_counter,
    callback: zkr_number_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::stream(counter, callback, user_data, subscription, error, |it: &CounterHandle| Ok(it.core.watch()))
}
