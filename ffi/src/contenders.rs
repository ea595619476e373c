//! Who holds and who waits, as C sees it.

use std::ffi::c_char;
use std::time::SystemTime;

use zkrecipes::Contender;

use crate::collections::List;
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

fn since_1970(time: SystemTime) -> i64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
