//! Who holds and who waits, as C sees it.

use std::ffi::{CString, c_char, c_void};
use std::time::SystemTime;

use zkrecipes::{Contender, Result};

use crate::error::{zkr_error, zkr_status};
use crate::events::Listener;
use crate::guard;
use crate::handle::{self, Object};
use crate::input::to_c;

/// Somebody who holds or waits.
#[repr(C)]
pub struct zkr_contender {
    /// Its node: the path below that of the recipe, or the whole path for a zkr_multi_lock. It can be given to the
    /// revoke verb of the handle that the list is from.
    pub node: *const c_char,
    /// Who it says it is: the identity option of its client.
    pub identity: *const c_char,
    /// What it wants: "lock", "read", "write" or "lease", which is a permit of a semaphore.
    pub kind: *const c_char,
    /// The session that its node belongs to.
    pub session_id: u64,
    /// Since when it contends, in milliseconds since 1970 by the server's clock.
    pub since_ms: i64,
    /// Whether it holds.
    pub holds: bool,
}

/// The end of zkr_lock_contenders_async and the like. On ZKR_OK the list belongs to the callback, otherwise it is NULL;
/// the error is only lent.
pub type zkr_contenders_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        contenders: *mut zkr_contenders,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

/// A list of those who hold and wait.
pub struct zkr_contenders {
    _opaque: [u8; 0],
}

pub(crate) struct Contenders {
    entries: Vec<zkr_contender>,
    // What the entries point into.
    _texts: Vec<CString>,
}

// SAFETY: the pointers lead into the texts beside them, which never change.
unsafe impl Send for Contenders {}
unsafe impl Sync for Contenders {}

impl Object for Contenders {
    type Opaque = zkr_contenders;
    const NAME: &'static str = "zkr_contenders";
}

impl Contenders {
    pub(crate) fn new(found: &[Contender]) -> Contenders {
        let mut texts = Vec::with_capacity(found.len() * 3);
        let mut keep = |text: &str| {
            texts.push(to_c(text));
            texts[texts.len() - 1].as_ptr()
        };
        let entries = found
            .iter()
            .map(|contender| zkr_contender {
                node: keep(&contender.node),
                identity: keep(&contender.identity),
                kind: keep(&contender.kind),
                session_id: contender.session_id,
                since_ms: since_1970(contender.since),
                holds: contender.holds,
            })
            .collect();
        Contenders { entries, _texts: texts }
    }
}

fn since_1970(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

type Listed = unsafe extern "C" fn(zkr_status, *mut zkr_contenders, *const zkr_error, *mut c_void);

pub(crate) fn report(listener: Listener<Listed>, outcome: Result<Vec<Contender>>) {
    listener.report(
        outcome,
        |found| handle::publish(Contenders::new(&found)),
        // SAFETY: a function of this type, as the caller gave it.
        |function, status, contenders, error, data| unsafe {
            function(status, contenders.unwrap_or(std::ptr::null_mut()), error, data);
        },
    );
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_contenders_count(contenders: *const zkr_contenders) -> usize {
    guard::answer(0, || handle::get_anywhere::<Contenders>(contenders).map(|list| list.entries.len()))
}

/// One of them, or NULL past the end. Valid until the list is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_contenders_get(
    contenders: *const zkr_contenders,
    index: usize,
) -> *const zkr_contender {
    guard::answer(std::ptr::null(), || {
        handle::get_anywhere::<Contenders>(contenders)?.entries.get(index).map(std::ptr::from_ref)
    })
}

/// Frees a list. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_contenders_free(contenders: *mut zkr_contenders) {
    guard::quietly(|| drop(handle::take::<Contenders>(contenders)));
}
