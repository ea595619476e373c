//! Generated from api/partitioner.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::Result;
use zkrecipes::drive;
use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::client::{ClientHandle, zkr_client};
use crate::collections::zkr_buffer;
use crate::error::zkr_error;
use crate::events::{zkr_done_callback, zkr_subscription};
use crate::handle::Object;
use crate::held::{zkr_held, zkr_held_callback};
use crate::input;
use crate::input::{HandlePlace, to_c};
use crate::lists::{zkr_entries, zkr_entries_callback};
use crate::options;
use crate::sized::SelfSized;
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// Partitions shared among the members who are there. A handle is one member once it has asked for its first partition.
/// Each partition is a turn of its own: two members never have one at the same time, and its tokens rise.
pub struct zkr_partitioner {
    _opaque: [u8; 0],
}

pub(crate) type PartitionerHandle = Recipe<zkrecipes::Partitioner>;

impl Object for PartitionerHandle {
    type Opaque = zkr_partitioner;
    const NAME: &'static str = "zkr_partitioner";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// How a member of a partitioner behaves. Start from ZKR_PARTITIONER_OPTIONS_INIT, which has the defaults.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_partitioner_options {
    /// sizeof(zkr_partitioner_options), as ZKR_PARTITIONER_OPTIONS_INIT sets it.
    pub size: usize,
    /// How much of the partitions this member is to have, beside the weights of the others. Unless told: 1.
    pub weight: u32,
    /// Zero.
    pub reserved: u32,
    /// What the member is called. A process that is started again under the same name gets what it had, and nothing moves.
    pub name: *const c_char,
    /// How long a partition that is to move may still be worked on. Then it is taken away: it is lost. Unless told: 30,000.
    pub drain_ms: i64,
}

impl SelfSized for zkr_partitioner_options {
    const INIT: &'static str = "ZKR_PARTITIONER_OPTIONS_INIT";
    const LEAST: usize = size_of::<zkr_partitioner_options>();
    const NAMED_OTHERWISE: &'static [(&'static str, &'static str)] = &[("drain", "drain_ms")];

    fn defaults() -> zkr_partitioner_options {
        zkr_partitioner_options {
            size: size_of::<zkr_partitioner_options>(),
            weight: 1,
            reserved: 0,
            name: std::ptr::null(),
            drain_ms: 30_000,
        }
    }

    fn reserved(&self) -> Vec<u8> {
        [&self.reserved.to_ne_bytes()[..]].concat()
    }
}

impl zkr_partitioner_options {
    pub(crate) fn convert(&self) -> Result<zkrecipes::PartitionerOptions> {
        let mut options = zkrecipes::PartitionerOptions::default();
        options.weight = self.weight;
        options.name = input::optional_text("name", self.name)?;
        options.drain = input::millis("drain_ms", self.drain_ms)?;

        Ok(options)
    }
}
/// Makes a handle of a member of those who share partitions. Their names are partitions, count of them; NULL names them
/// "0", "1" and so on. All members have to name the same. Validates, but sends nothing. options may be NULL for the
/// defaults. On success *partitioner belongs to the caller: free it with zkr_partitioner_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_new(
    client: *mut zkr_client,
    path: *const c_char,
    partitions: *const *const c_char,
    count: usize,
    options: *const zkr_partitioner_options,
    partitioner: *mut *mut zkr_partitioner,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("partitioner", partitioner),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let partitions = input::partitions("partitions", partitions, count)?;
            let options = options::read(options)?.convert()?;
            let core = it.core.partitioner(&path, partitions, options)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees a partitioner. It leaves in the background as soon as none of its partitions is around any more. Calls in
/// progress on it go on. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_free(partitioner: *mut zkr_partitioner) {
    verbs::free(partitioner, |_: &PartitionerHandle| {});
}

/// Where the partitions are shared; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_path(partitioner: *const zkr_partitioner) -> *const c_char {
    verbs::ask(partitioner, null(), |it: &PartitionerHandle| Some(it.path.as_ptr()))
}

/// The name of this member. On success *name belongs to the caller: free it with zkr_buffer_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_name(
    partitioner: *const zkr_partitioner,
    name: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        partitioner,
        error,
        || HandlePlace::required("name", name),
        |it: &PartitionerHandle| Ok(it.core.name().to_owned()),
    )
}

/// Waits up to timeout_ms for the next partition that this member wins: 0 is one look, any negative is for ever. The
/// first call joins the others. The partition is the caller's until it lets go of it or loses it; zkr_held_name says
/// which it is.
///
/// zkr_held_on_revoke tells that it is to move: finish, then release. After the time for draining it is lost. What was
/// released unasked comes again, after a pause.
///
/// ZKR_TIMEOUT if none is won; it stays a member. ZKR_MISMATCH if the others share other partitions, ZKR_CANCELLED if
/// this handle leaves meanwhile. partition may not be NULL; *partition belongs to the caller: free it with
/// zkr_held_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_next(
    partitioner: *mut zkr_partitioner,
    timeout_ms: i64,
    partition: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_partitioner_next_cancellable(partitioner, timeout_ms, null_mut(), partition, error)
}

/// zkr_partitioner_next that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_next_cancellable(
    partitioner: *mut zkr_partitioner,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    partition: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    partitioner_next(
        partitioner,
        timeout_ms,
        Way::Waits { token, error, place: &|| HandlePlace::required("partition", partition) },
    )
}

/// zkr_partitioner_next in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_next_async(
    partitioner: *mut zkr_partitioner,
    timeout_ms: i64,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_partitioner_next_cancellable_async(partitioner, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_partitioner_next_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_next_cancellable_async(
    partitioner: *mut zkr_partitioner,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    partitioner_next(partitioner, timeout_ms, Way::Starts { token, callback, user_data })
}

fn partitioner_next(
    partitioner: *const zkr_partitioner,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_held>, zkr_held_callback>,
) -> zkr_status {
    verbs::call(partitioner, way, |it: &PartitionerHandle| {
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::next_partition(&it.core, timeout_ms))
    })
}

/// Works on all partitions that this member wins: calls back with each one, as soon as it is won, which joins the
/// others first.
///
/// The partition belongs to the callback, which hands it to whoever does the work and returns: like every callback it
/// must not block. zkr_held_on_revoke tells that it is to move: finish, then release. After the time for draining it is
/// lost; zkr_held_on_lost tells of a loss. What was released or freed unasked comes again, after a pause, as long as it
/// is this member's.
///
/// zkr_partitioner_leave ends it, as does closing the client, and so does what trying again cannot help: a last call
/// says why, ZKR_CANCELLED, ZKR_CLOSED, ZKR_MISMATCH and the like, with no partition. subscription may be NULL;
/// otherwise zkr_subscription_free ends it as well, without that last call, and leaves in the background.
/// zkr_partitioner_free does not end it.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_run(
    partitioner: *mut zkr_partitioner,
    callback: zkr_held_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::stream(partitioner, callback, user_data, subscription, error, |it: &PartitionerHandle| {
        Ok(drive::partitions(&it.core))
    })
}

/// Takes part no more: what it has is asked for, and taken from it after the time for draining. Returns when all is let
/// go of. ZKR_NOT_HELD if it is no member.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_leave(
    partitioner: *mut zkr_partitioner,
    error: *mut *mut zkr_error,
) -> zkr_status {
    partitioner_leave(partitioner, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_partitioner_leave in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_leave_async(
    partitioner: *mut zkr_partitioner,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    partitioner_leave(partitioner, Way::Starts { token: null(), callback, user_data })
}

fn partitioner_leave(partitioner: *const zkr_partitioner, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(partitioner, way, |it: &PartitionerHandle| {
        let core = it.core.clone();
        Ok(async move { core.leave().await })
    })
}

/// Who has which partition now, no older than this call: an entry for each, with the identity of its owner, or with
/// data that is NULL where nobody has it. On success *owners belongs to the caller: free it with zkr_entries_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_owners(
    partitioner: *mut zkr_partitioner,
    owners: *mut *mut zkr_entries,
    error: *mut *mut zkr_error,
) -> zkr_status {
    partitioner_owners(
        partitioner,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("owners", owners) },
    )
}

/// zkr_partitioner_owners in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_owners_async(
    partitioner: *mut zkr_partitioner,
    callback: zkr_entries_callback,
    user_data: *mut c_void,
) -> zkr_status {
    partitioner_owners(partitioner, Way::Starts { token: null(), callback, user_data })
}

fn partitioner_owners(
    partitioner: *const zkr_partitioner,
    way: Way<'_, HandlePlace<zkr_entries>, zkr_entries_callback>,
) -> zkr_status {
    verbs::call(partitioner, way, |it: &PartitionerHandle| {
        let core = it.core.clone();
        Ok(async move { core.owners().await })
    })
}

/// Tells who has which partition, now and whenever one has another owner: always the latest, as zkr_partitioner_owners
/// does. A change costs one or two requests, however many partitions there are. The entries belong to the callback:
/// free them with zkr_entries_free. subscription and the end are as for zkr_config_watch.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_watch(
    partitioner: *mut zkr_partitioner,
    callback: zkr_entries_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::stream(partitioner, callback, user_data, subscription, error, |it: &PartitionerHandle| {
        Ok(it.core.watch())
    })
}

/// Who shares the partitions now, no older than this call: an entry for each by name, with its weight as a decimal
/// number for data. On success *members belongs to the caller: free it with zkr_entries_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_members(
    partitioner: *mut zkr_partitioner,
    members: *mut *mut zkr_entries,
    error: *mut *mut zkr_error,
) -> zkr_status {
    partitioner_members(
        partitioner,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("members", members) },
    )
}

/// zkr_partitioner_members in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_partitioner_members_async(
    partitioner: *mut zkr_partitioner,
    callback: zkr_entries_callback,
    user_data: *mut c_void,
) -> zkr_status {
    partitioner_members(partitioner, Way::Starts { token: null(), callback, user_data })
}

fn partitioner_members(
    partitioner: *const zkr_partitioner,
    way: Way<'_, HandlePlace<zkr_entries>, zkr_entries_callback>,
) -> zkr_status {
    verbs::call(partitioner, way, |it: &PartitionerHandle| {
        let core = it.core.clone();
        Ok(async move { core.members().await })
    })
}
