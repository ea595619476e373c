//! A process that exits leaves no session behind, which would keep others out until its timeout.

use std::sync::Once;
use std::time::Duration;

use zkrecipes::drive;

/// How long an exit may be held up by servers that do not answer.
const LIMIT: Duration = Duration::from_millis(900);

/// Ends the sessions that are open when main returns or exit is called; the first call decides.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: a plain function that lives as long as the library, which is never unmapped. Should there be no room
        // for it, sessions are left to their timeout, as a kill leaves them.
        unsafe { libc::atexit(end_sessions) };
    });
}

extern "C" fn end_sessions() {
    drive::end_sessions(LIMIT);
    // A signal's handler may have called exit amid our code.
    drive::sanitizer::set_ours(false);
}
