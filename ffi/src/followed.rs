//! What is told of what many share: entries, the events of a group, the state of a node.

use std::collections::BTreeMap;
use std::ffi::{c_char, c_void};
use std::ptr::null;

use zkrecipes::{Client, GroupEvent, NodeState, Result, Stat};

use crate::answers::{Handed, Tell};
use crate::collections::{Buffer, List, Strings, zkr_buffer, zkr_strings};
use crate::error::{zkr_error, zkr_status};
use crate::events::Listener;
use crate::handle::{self, Object};
use crate::input::to_c;
use crate::lists::{Entries, zkr_entries};
use crate::nodes::{zkr_stat, zkr_watch_kind};

/// A name and its data.
#[repr(C)]
pub struct zkr_entry {
    /// The name; of a node, its path.
    pub name: *const c_char,
    /// The data, followed by a NUL that does not count; never NULL.
    pub data: *const c_void,
    pub size: usize,
    /// Of a node that zkr_nodes_watch tells of, what the server knows about it; else zeros.
    pub stat: zkr_stat,
}

/// What happened in a group.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum zkr_group_event_kind {
    // --- generated from api: values of GroupEventKind
    /// All members, at first.
    ZKR_GROUP_EVENT_SNAPSHOT = 0,
    /// Somebody came.
    ZKR_GROUP_EVENT_JOINED = 1,
    /// Somebody has gone.
    ZKR_GROUP_EVENT_LEFT = 2,
    /// A member says something else of itself.
    ZKR_GROUP_EVENT_CHANGED = 3,
    // --- end of generated
}

/// An event of a group.
#[repr(C)]
pub struct zkr_group_event {
    /// All members, for ZKR_GROUP_EVENT_SNAPSHOT; else NULL.
    pub members: *const zkr_entries,
    /// Who, for the others; else NULL.
    pub name: *const c_char,
    /// What they say of themselves, followed by a NUL that does not count; NULL for a snapshot and for who left.
    pub data: *const c_void,
    pub size: usize,
    /// What happened.
    pub kind: zkr_group_event_kind,
}

/// An event of a group. A status other than ZKR_OK is the end: the event is NULL, and the error says why. Both are only
/// lent for the callback.
pub type zkr_group_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        event: *const zkr_group_event,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// How what is followed stands. A missing node is a state, too.
#[repr(C)]
pub struct zkr_node_state {
    /// The data, for ZKR_WATCH_KIND_DATA; NULL while there is no such node.
    pub data: *const zkr_buffer,
    /// The names of the children, sorted, for ZKR_WATCH_KIND_CHILDREN; NULL while there is no such node.
    pub children: *const zkr_strings,
    /// The node and all that is below it, sorted by path, for ZKR_WATCH_KIND_SUBTREE; empty while there is no such node.
    pub subtree: *const zkr_entries,
    /// What the server knows about the node, beside data.
    pub stat: zkr_stat,
    /// What is followed.
    pub kind: zkr_watch_kind,
}

/// The state of a node. A status other than ZKR_OK is the end: the state is NULL, and the error says why. Both are only
/// lent for the callback.
pub type zkr_node_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        state: *const zkr_node_state,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

fn entries<'a>(all: impl Iterator<Item = (&'a String, &'a Vec<u8>, Option<Stat>)>) -> Entries {
    List::new(&all.collect::<Vec<_>>(), |(name, data, stat), texts| zkr_entry {
        name: texts.keep(name),
        data: texts.keep_bytes(data),
        size: data.len(),
        stat: stat.map(zkr_stat::from).unwrap_or_default(),
    })
}

/// Of partitions, the identities of those who have them.
impl Handed for BTreeMap<String, Option<String>> {
    type Object = Entries;

    fn object(self, _: &Client) -> Entries {
        owners(&self)
    }
}

fn owners(all: &BTreeMap<String, Option<String>>) -> Entries {
    List::new(&all.iter().collect::<Vec<_>>(), |(name, owner), texts| zkr_entry {
        name: texts.keep(name),
        data: owner.as_ref().map_or(null(), |owner| texts.keep_bytes(owner.as_bytes())),
        size: owner.as_ref().map_or(0, String::len),
        stat: zkr_stat::default(),
    })
}

/// Of members, their weights.
impl Handed for BTreeMap<String, u32> {
    type Object = Entries;

    fn object(self, _: &Client) -> Entries {
        let weights: Vec<_> =
            self.iter().map(|(name, weight)| (name, weight.to_string().into_bytes())).collect();
        entries(weights.iter().map(|(name, weight)| (*name, weight, None)))
    }
}

/// Of nodes that were skipped, why.
impl Handed for BTreeMap<String, String> {
    type Object = Entries;

    fn object(self, _: &Client) -> Entries {
        let causes: Vec<_> = self.into_iter().map(|(path, cause)| (path, cause.into_bytes())).collect();
        entries(causes.iter().map(|(path, cause)| (path, cause, None)))
    }
}

impl Handed for BTreeMap<String, Vec<u8>> {
    type Object = Entries;

    fn object(self, _: &Client) -> Entries {
        entries(self.iter().map(|(name, data)| (name, data, None)))
    }
}

impl Tell<Result<BTreeMap<String, Option<String>>>>
    for unsafe extern "C" fn(zkr_status, *mut zkr_entries, *const zkr_error, *mut c_void)
{
    fn tell(listener: Listener<Self>, told: Result<BTreeMap<String, Option<String>>>) {
        listener.report(
            told,
            |all| handle::publish(owners(&all)),
            // SAFETY: a function of this type, as the caller gave it.
            |function, status, all, error, data| unsafe {
                function(status, all.unwrap_or(std::ptr::null_mut()), error, data);
            },
        );
    }
}

impl Tell<Result<BTreeMap<String, Vec<u8>>>>
    for unsafe extern "C" fn(zkr_status, *mut zkr_entries, *const zkr_error, *mut c_void)
{
    fn tell(listener: Listener<Self>, told: Result<BTreeMap<String, Vec<u8>>>) {
        listener.report(
            told,
            |all| handle::publish(entries(all.iter().map(|(name, data)| (name, data, None)))),
            // SAFETY: a function of this type, as the caller gave it.
            |function, status, all, error, data| unsafe {
                function(status, all.unwrap_or(std::ptr::null_mut()), error, data);
            },
        );
    }
}

/// A handle that is only lent.
struct Lent<T: Object>(*mut T::Opaque);

impl<T: Object> Lent<T> {
    fn of(object: T) -> Result<Lent<T>> {
        handle::publish(object).map(Lent)
    }
}

impl<T: Object> Drop for Lent<T> {
    fn drop(&mut self) {
        drop(handle::take::<T>(self.0));
    }
}

fn place<T: Object>(lent: Option<&Lent<T>>) -> *const T::Opaque {
    lent.map_or(null(), |lent| lent.0.cast_const())
}

type OfGroup = unsafe extern "C" fn(zkr_status, *const zkr_group_event, *const zkr_error, *mut c_void);

impl Tell<Result<GroupEvent>> for OfGroup {
    fn tell(listener: Listener<Self>, told: Result<GroupEvent>) {
        listener.report(
            told,
            |event| {
                let (kind, members, name, data) = match event {
                    GroupEvent::Joined { name, data } => {
                        (zkr_group_event_kind::ZKR_GROUP_EVENT_JOINED, None, Some(name), Some(data))
                    }
                    GroupEvent::Left { name } => {
                        (zkr_group_event_kind::ZKR_GROUP_EVENT_LEFT, None, Some(name), None)
                    }
                    GroupEvent::Changed { name, data } => {
                        (zkr_group_event_kind::ZKR_GROUP_EVENT_CHANGED, None, Some(name), Some(data))
                    }
                    GroupEvent::Snapshot(members) => {
                        let members = entries(members.iter().map(|(name, data)| (name, data, None)));
                        (zkr_group_event_kind::ZKR_GROUP_EVENT_SNAPSHOT, Some(Lent::of(members)?), None, None)
                    }
                    unknown => unreachable!("an event that this face was not told of: {unknown:?}"),
                };
                let size = data.as_ref().map_or(0, Vec::len);
                Ok((kind, members, name.map(|name| to_c(&name)), size, data.map(Buffer::new)))
            },
            |function, status, told, error, user_data| {
                let event = told.as_ref().map(|(kind, members, name, size, data)| zkr_group_event {
                    members: place(members.as_ref()),
                    name: name.as_ref().map_or(null(), |name| name.as_ptr()),
                    data: data.as_ref().map_or(null(), Buffer::as_ptr),
                    size: *size,
                    kind: *kind,
                });
                // SAFETY: a function of this type, as the caller gave it; the event outlives the call.
                unsafe {
                    function(status, event.as_ref().map_or(null(), std::ptr::from_ref), error, user_data)
                };
            },
        );
    }
}

type OfNode = unsafe extern "C" fn(zkr_status, *const zkr_node_state, *const zkr_error, *mut c_void);

impl Tell<Result<NodeState>> for OfNode {
    fn tell(listener: Listener<Self>, told: Result<NodeState>) {
        listener.report(
            told,
            |state| {
                let (mut data, mut children, mut subtree, mut of_node) = (None, None, None, None);
                let kind = match state {
                    NodeState::Data(found) => {
                        if let Some((bytes, stat)) = found {
                            (data, of_node) = (Some(Lent::of(Buffer::new(bytes))?), Some(stat));
                        }
                        zkr_watch_kind::ZKR_WATCH_KIND_DATA
                    }
                    NodeState::Children(found) => {
                        children = found.map(|names| Lent::of(Strings::new(names))).transpose()?;
                        zkr_watch_kind::ZKR_WATCH_KIND_CHILDREN
                    }
                    NodeState::Subtree(all) => {
                        let all = all.iter().map(|(path, (data, stat))| (path, data, Some(*stat)));
                        subtree = Some(Lent::of(entries(all))?);
                        zkr_watch_kind::ZKR_WATCH_KIND_SUBTREE
                    }
                };
                Ok((kind, data, children, subtree, of_node))
            },
            |function, status, told, error, user_data| {
                let state = told.as_ref().map(|(kind, data, children, subtree, stat)| zkr_node_state {
                    data: place(data.as_ref()),
                    children: place(children.as_ref()),
                    subtree: place(subtree.as_ref()),
                    stat: stat.map(zkr_stat::from).unwrap_or_default(),
                    kind: *kind,
                });
                // SAFETY: a function of this type, as the caller gave it; the state outlives the call.
                unsafe {
                    function(status, state.as_ref().map_or(null(), std::ptr::from_ref), error, user_data)
                };
            },
        );
    }
}
