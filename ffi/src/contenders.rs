//! Who holds and who waits, as C sees it.

use std::ffi::{c_char, c_void};
use std::ptr::null;
use std::time::SystemTime;

use zkrecipes::{Contender, WaitProgress};

use crate::answers::Tell;
use crate::collections::List;
use crate::events::Listener;
use crate::input::to_c;
use crate::lists::Contenders;

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

/// How a wait stands that goes on. It is lent for the callback; a later version may add members at its end.
#[repr(C)]
pub struct zkr_wait_progress {
    /// What is waited for.
    pub path: *const c_char,
    /// How long already.
    pub waited_ms: i64,
    /// How many are waited for: in a line those ahead, when it was looked last; at a double barrier those who have yet to come,
    /// or to leave. -1 if nobody counts them: it waits for its own handle, for permits, for an item.
    pub ahead: i64,
    /// Who holds, or one of them; of a barrier, who has put it up. NULL if that is not known at the moment.
    pub holder: *const zkr_contender,
}

/// A wait goes on.
pub type zkr_wait_callback =
    Option<unsafe extern "C" fn(progress: *const zkr_wait_progress, user_data: *mut c_void)>;

impl Tell<WaitProgress> for unsafe extern "C" fn(*const zkr_wait_progress, *mut c_void) {
    fn tell(listener: Listener<Self>, told: WaitProgress) {
        let path = to_c(&told.path);
        let texts = told
            .holder
            .as_ref()
            .map(|holder| [to_c(&holder.node), to_c(&holder.identity), to_c(&holder.kind)]);
        let holder =
            told.holder.as_ref().zip(texts.as_ref()).map(|(holder, [node, identity, kind])| zkr_contender {
                node: node.as_ptr(),
                identity: identity.as_ptr(),
                kind: kind.as_ptr(),
                session_id: holder.session_id,
                since_ms: since_1970(holder.since),
                holds: holder.holds,
            });
        let progress = zkr_wait_progress {
            path: path.as_ptr(),
            waited_ms: i64::try_from(told.waited.as_millis()).unwrap_or(i64::MAX),
            ahead: told.ahead.map_or(-1, |ahead| i64::try_from(ahead).unwrap_or(i64::MAX)),
            holder: holder.as_ref().map_or(null(), std::ptr::from_ref),
        };
        // SAFETY: a function of this type, as the caller gave it.
        listener.call(|function, data| unsafe { function(&progress, data) });
    }
}

impl Contenders {
    pub(crate) fn of(found: &[Contender]) -> Contenders {
        List::new(found, |contender, texts| zkr_contender {
            node: texts.keep(&contender.node),
            identity: texts.keep(&contender.identity),
            kind: texts.keep(&contender.kind),
            session_id: contender.session_id,
            since_ms: since_1970(contender.since),
            holds: contender.holds,
        })
    }
}

pub(crate) fn since_1970(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
