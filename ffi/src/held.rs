//! One acquisition.

use std::ffi::{CString, c_char, c_void};
use std::sync::OnceLock;

use zkrecipes::{Client, Held, Result, drive};

use crate::answers::Tell;
use crate::error::{zkr_error, zkr_status};
use crate::events::Listener;
use crate::handle::{self, Object};
use crate::input::to_c;
use crate::verbs::{self, Holder};

#[path = "generated/held.rs"]
mod generated;

/// One acquisition: what it says never comes to mean another one. It is held until it is released, or until both it
/// and the lock that it came from are freed.
pub struct zkr_held {
    _opaque: [u8; 0],
}

/// The end of acquiring, and each partition of zkr_partitioner_run. On ZKR_OK the zkr_held belongs to the callback, otherwise it is NULL; the error is only lent.
pub type zkr_held_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        held: *mut zkr_held,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

type OfHeld = unsafe extern "C" fn(zkr_status, *mut zkr_held, *const zkr_error, *mut c_void);

impl Tell<Result<Held>> for OfHeld {
    fn tell(listener: Listener<Self>, told: Result<Held>) {
        listener.report(
            told,
            |held| handle::publish(HeldHandle::new(drive::client_of(&held).clone(), held)),
            // SAFETY: a function of this type, as the caller gave it.
            |function, status, held, error, data| unsafe {
                function(status, held.unwrap_or(std::ptr::null_mut()), error, data);
            },
        );
    }
}

pub(crate) struct HeldHandle {
    client: Client,
    core: Held,
    texts: Texts,
}

/// What an acquisition says in texts, for as long as the caller has it. Each is taken when it is asked for: who has given its
/// node away lets go more slowly.
#[derive(Default)]
pub(crate) struct Texts {
    path: OnceLock<CString>,
    name: OnceLock<CString>,
    node: OnceLock<CString>,
    sequencer: OnceLock<CString>,
}

impl Texts {
    pub(crate) fn path(&self, held: &Held) -> *const c_char {
        self.path.get_or_init(|| to_c(held.path())).as_ptr()
    }

    pub(crate) fn name(&self, held: &Held) -> *const c_char {
        self.name.get_or_init(|| to_c(held.name())).as_ptr()
    }

    pub(crate) fn node(&self, held: &Held) -> *const c_char {
        self.node.get_or_init(|| to_c(held.node())).as_ptr()
    }

    pub(crate) fn sequencer(&self, held: &Held) -> *const c_char {
        self.sequencer.get_or_init(|| to_c(&held.sequencer())).as_ptr()
    }
}

impl Object for HeldHandle {
    type Opaque = zkr_held;
    const NAME: &'static str = "zkr_held";
}

impl Holder for HeldHandle {
    fn client(&self) -> &Client {
        &self.client
    }
}

impl HeldHandle {
    pub(crate) fn new(client: Client, core: Held) -> HeldHandle {
        HeldHandle { client, core, texts: Texts::default() }
    }
}

/// Copies tokens to C as far as there is room, and says how many there are.
pub(crate) fn copy_tokens(found: &[u64], tokens: *mut u64, room: usize) -> usize {
    if !tokens.is_null() {
        // SAFETY: the header asks for room for that many; no more is written.
        unsafe { std::ptr::copy_nonoverlapping(found.as_ptr(), tokens, found.len().min(room)) };
    }
    found.len()
}

/// The fencing tokens of everything that is held together: several for a zkr_multi_lock, in the order of its paths.
/// Writes as many as there is room for and returns how many there are; tokens may be NULL to ask for that alone. 0 for
/// a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_fencing_tokens(held: *const zkr_held, tokens: *mut u64, room: usize) -> usize {
    verbs::ask(held, 0, |it: &HeldHandle| Some(copy_tokens(&it.core.fencing_tokens(), tokens, room)))
}
