//! What was held must not stay so for a session timeout because JavaScript ended without letting go.
//!
//! - An environment that is taken apart, a worker's or the main thread's whose event loop has nothing left to do, runs its
//!   clean-up hooks: its own sessions end, and no others.
//! - A process that exits before that, by `process.exit` or an uncaught error, runs no clean-up hook of the main thread
//!   (measured with Node 20), but what C's `exit` runs: all sessions of the process end.
//!
//! In neither does any JavaScript run any more.

use std::sync::{Arc, Once};
use std::time::Duration;

use napi::Env;
use zkrecipes::drive::{self, Sessions};

use crate::event_loop::quietly;

/// How long servers are waited for: nobody wants a process that does not exit because one of them is out of reach.
const LIMIT: Duration = Duration::from_millis(900);

unsafe extern "C" {
    fn atexit(handler: extern "C" fn()) -> std::ffi::c_int;
}

/// The sessions that end with this environment, or with the process if that is sooner.
pub fn sessions_of(env: &Env) -> napi::Result<Arc<Sessions>> {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the addon stays loaded to the end, and the handler lets no panic out.
        let _ = unsafe { atexit(end_all) };
    });
    let sessions = Arc::new(Sessions::default());
    let ending = sessions.clone();
    env.add_env_cleanup_hook((), move |()| quietly(|| ending.end(LIMIT)))?;
    Ok(sessions)
}

extern "C" fn end_all() {
    quietly(|| drive::end_sessions(LIMIT));
}
