//! Generated from api/group.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::Result;
use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::client::{ClientHandle, zkr_client};
use crate::error::zkr_error;
use crate::events::{zkr_done_callback, zkr_subscription};
use crate::followed::zkr_group_callback;
use crate::handle::Object;
use crate::input;
use crate::input::{HandlePlace, to_c};
use crate::lists::{zkr_entries, zkr_entries_callback};
use crate::options;
use crate::options::choice;
use crate::sized::{Flag, SelfSized};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// A group of members that know each other by name. A handle is one member, once it has joined.
pub struct zkr_group {
    _opaque: [u8; 0],
}

pub(crate) type GroupHandle = Recipe<zkrecipes::Group>;

impl Object for GroupHandle {
    type Opaque = zkr_group;
    const NAME: &'static str = "zkr_group";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// How a group keeps its members.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_group_layout {
    /// As the naming of the client has it: ZKR_GROUP_LAYOUT_PARTY for kazoo's, else ZKR_GROUP_LAYOUT_MEMBER.
    ZKR_GROUP_LAYOUT_DEFAULT = 0,
    /// Curator's GroupMember: the node has the name of the member.
    ZKR_GROUP_LAYOUT_MEMBER = 1,
    /// kazoo's Party: the name of the member is the data of its node, so it has no other data.
    ZKR_GROUP_LAYOUT_PARTY = 2,
    /// kazoo's ShallowParty: the name of the member is in that of its node, so it has no other data.
    ZKR_GROUP_LAYOUT_SHALLOW_PARTY = 3,
}

/// A zkr_group_layout from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenGroupLayout(i32);

/// How a group behaves. Start from ZKR_GROUP_OPTIONS_INIT, which has the defaults.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_group_options {
    /// sizeof(zkr_group_options), as ZKR_GROUP_OPTIONS_INIT sets it.
    pub size: usize,
    /// Whose group it takes part in: Curator's GroupMember (ZKR_GROUP_LAYOUT_MEMBER), kazoo's Party
    /// (ZKR_GROUP_LAYOUT_PARTY) or ShallowParty (ZKR_GROUP_LAYOUT_SHALLOW_PARTY). By default ZKR_GROUP_LAYOUT_PARTY where
    /// naming is kazoo's, else ZKR_GROUP_LAYOUT_MEMBER.
    pub layout: GivenGroupLayout,
    /// Zero.
    pub reserved: u32,
    /// Whether join takes its name at once from a member that has it, such as the one that this process was before it
    /// crashed, which would keep the name until its session timeout. Of two processes that are both there the one that
    /// joins last is the member.
    pub replace: Flag,
    /// Zero.
    pub reserved_2: [u8; 7],
}

impl SelfSized for zkr_group_options {
    const INIT: &'static str = "ZKR_GROUP_OPTIONS_INIT";
    const LEAST: usize = std::mem::offset_of!(zkr_group_options, reserved) + size_of::<u32>();

    fn defaults() -> zkr_group_options {
        zkr_group_options {
            size: size_of::<zkr_group_options>(),
            layout: GivenGroupLayout(0),
            reserved: 0,
            replace: Flag(0),
            reserved_2: [0; 7],
        }
    }

    fn reserved(&self) -> Vec<u8> {
        [&self.reserved.to_ne_bytes()[..], &self.reserved_2[..]].concat()
    }
}

impl zkr_group_options {
    pub(crate) fn convert(&self) -> Result<zkrecipes::GroupOptions> {
        let mut options = zkrecipes::GroupOptions::default();
        options.layout = match choice(
            "layout",
            self.layout.0,
            &[
                zkr_group_layout::ZKR_GROUP_LAYOUT_DEFAULT,
                zkr_group_layout::ZKR_GROUP_LAYOUT_MEMBER,
                zkr_group_layout::ZKR_GROUP_LAYOUT_PARTY,
                zkr_group_layout::ZKR_GROUP_LAYOUT_SHALLOW_PARTY,
            ],
        )? {
            zkr_group_layout::ZKR_GROUP_LAYOUT_DEFAULT => None,
            zkr_group_layout::ZKR_GROUP_LAYOUT_MEMBER => Some(zkrecipes::GroupLayout::Member),
            zkr_group_layout::ZKR_GROUP_LAYOUT_PARTY => Some(zkrecipes::GroupLayout::Party),
            zkr_group_layout::ZKR_GROUP_LAYOUT_SHALLOW_PARTY => Some(zkrecipes::GroupLayout::ShallowParty),
        };
        options.replace = self.replace.get("replace")?;

        Ok(options)
    }
}
/// Makes a handle of a group. Validates, but sends nothing. options may be NULL for the defaults. On success *group
/// belongs to the caller: free it with zkr_group_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_new(
    client: *mut zkr_client,
    path: *const c_char,
    options: *const zkr_group_options,
    group: *mut *mut zkr_group,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("group", group),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let options = options::read(options)?.convert()?;
            let core = it.core.group(&path, options)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees a group. A member leaves in the background. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_free(group: *mut zkr_group) {
    verbs::free(group, |_: &GroupHandle| {});
}

/// The path of the group; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_path(group: *const zkr_group) -> *const c_char {
    verbs::ask(group, null(), |it: &GroupHandle| Some(it.path.as_ptr()))
}

/// Becomes a member, and stays one over all sessions of the client until it leaves, the group is freed, or the client
/// is closed. ZKR_EXISTS if this handle has joined already, or another member has that name. (That may be the one that
/// a crashed process has left: its name is free after its session timeout, or at once with the option replace.)
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_join(
    group: *mut zkr_group,
    name: *const c_char,
    data: *const c_void,
    size: usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    group_join(group, name, data, size, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_group_join in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_join_async(
    group: *mut zkr_group,
    name: *const c_char,
    data: *const c_void,
    size: usize,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    group_join(group, name, data, size, Way::Starts { token: null(), callback, user_data })
}

fn group_join(
    group: *const zkr_group,
    name: *const c_char,
    data: *const c_void,
    size: usize,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(group, way, |it: &GroupHandle| {
        let core = it.core.clone();
        let name = input::text("name", name)?;
        let data = input::bytes("data", data, size)?;
        Ok(async move { core.join(&name, &data).await })
    })
}

/// Ends the membership. ZKR_NOT_HELD if there is none. ZKR_CONNECTION_LOST means unconfirmed, and the deletion goes on
/// in the background.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_leave(group: *mut zkr_group, error: *mut *mut zkr_error) -> zkr_status {
    group_leave(group, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_group_leave in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_leave_async(
    group: *mut zkr_group,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    group_leave(group, Way::Starts { token: null(), callback, user_data })
}

fn group_leave(group: *const zkr_group, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(group, way, |it: &GroupHandle| {
        let core = it.core.clone();
        Ok(async move { core.leave().await })
    })
}

/// Replaces what this member says of itself. ZKR_NOT_HELD if it has not joined. ZKR_CONNECTION_LOST means not yet, and
/// it goes on in the background.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_update(
    group: *mut zkr_group,
    data: *const c_void,
    size: usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    group_update(group, data, size, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_group_update in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_update_async(
    group: *mut zkr_group,
    data: *const c_void,
    size: usize,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    group_update(group, data, size, Way::Starts { token: null(), callback, user_data })
}

fn group_update(
    group: *const zkr_group,
    data: *const c_void,
    size: usize,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(group, way, |it: &GroupHandle| {
        let core = it.core.clone();
        let data = input::bytes("data", data, size)?;
        Ok(async move { core.update(&data).await })
    })
}

/// The members and what they say of themselves, sorted by name. One that may not be read is left out:
/// zkr_client_skipped names it. On success *members belongs to the caller: free it with zkr_entries_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_members(
    group: *mut zkr_group,
    members: *mut *mut zkr_entries,
    error: *mut *mut zkr_error,
) -> zkr_status {
    group_members(
        group,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("members", members) },
    )
}

/// zkr_group_members in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_members_async(
    group: *mut zkr_group,
    callback: zkr_entries_callback,
    user_data: *mut c_void,
) -> zkr_status {
    group_members(group, Way::Starts { token: null(), callback, user_data })
}

fn group_members(
    group: *const zkr_group,
    way: Way<'_, HandlePlace<zkr_entries>, zkr_entries_callback>,
) -> zkr_status {
    verbs::call(group, way, |it: &GroupHandle| {
        let core = it.core.clone();
        Ok(async move { core.members().await })
    })
}

/// Waits until there are at least n members, whoever they are, up to timeout_ms: 0 is one look, any negative is for
/// ever. On success *members belongs to the caller, and says who is there: free it with zkr_entries_free. ZKR_TIMEOUT
/// if they are fewer then.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_wait_for(
    group: *mut zkr_group,
    n: usize,
    timeout_ms: i64,
    members: *mut *mut zkr_entries,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_group_wait_for_cancellable(group, n, timeout_ms, null_mut(), members, error)
}

/// zkr_group_wait_for that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_wait_for_cancellable(
    group: *mut zkr_group,
    n: usize,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    members: *mut *mut zkr_entries,
    error: *mut *mut zkr_error,
) -> zkr_status {
    group_wait_for(
        group,
        n,
        timeout_ms,
        Way::Waits { token, error, place: &|| HandlePlace::required("members", members) },
    )
}

/// zkr_group_wait_for in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_wait_for_async(
    group: *mut zkr_group,
    n: usize,
    timeout_ms: i64,
    callback: zkr_entries_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_group_wait_for_cancellable_async(group, n, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_group_wait_for_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_wait_for_cancellable_async(
    group: *mut zkr_group,
    n: usize,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_entries_callback,
    user_data: *mut c_void,
) -> zkr_status {
    group_wait_for(group, n, timeout_ms, Way::Starts { token, callback, user_data })
}

fn group_wait_for(
    group: *const zkr_group,
    n: usize,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_entries>, zkr_entries_callback>,
) -> zkr_status {
    verbs::call(group, way, |it: &GroupHandle| {
        let core = it.core.clone();
        let n = input::count("n", n)?;
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(async move { core.wait_for(n, timeout_ms).await })
    })
}

/// Tells all members at first, then who joins, who leaves and whose data changes; after a gap, what differs. One that
/// may not be read is left out: zkr_client_skipped names it. The event is only lent for the callback. subscription and
/// the end are as for zkr_config_watch.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_group_watch(
    group: *mut zkr_group,
    callback: zkr_group_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::stream(group, callback, user_data, subscription, error, |it: &GroupHandle| Ok(it.core.watch()))
}
