//! Generated from api/leader.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use crate::election::{LeaderHandle, zkr_leader};
use crate::verbs;

/// Who it says it is: the identity option of its client. NULL for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leader_identity(leader: *const zkr_leader) -> *const c_char {
    verbs::ask(leader, null(), |it: &LeaderHandle| Some(it.identity.as_ptr()))
}

/// What it says: as a candidate, or, once it has begun its work, when it said so. A NUL that does not count follows;
/// NULL for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leader_data(leader: *const zkr_leader) -> *const c_void {
    verbs::ask(leader, null(), |it: &LeaderHandle| Some(it.data.as_ptr().cast()))
}

/// How many bytes of data there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leader_size(leader: *const zkr_leader) -> usize {
    verbs::ask(leader, 0, |it: &LeaderHandle| Some(it.data.len() - 1))
}

/// Rises from one leader to the next; 0, which is never one, for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leader_epoch(leader: *const zkr_leader) -> u64 {
    verbs::ask(leader, 0, |it: &LeaderHandle| Some(it.core.epoch))
}

/// Whether it has begun its work: zkr_leadership_acknowledge.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leader_acknowledged(leader: *const zkr_leader) -> bool {
    verbs::ask(leader, false, |it: &LeaderHandle| Some(it.core.acknowledged))
}

/// Frees a leader. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leader_free(leader: *mut zkr_leader) {
    verbs::free(leader, |_: &LeaderHandle| {});
}
