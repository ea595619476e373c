//! A process that exits leaves no session behind, which would keep others out until its timeout.

use std::sync::{Arc, Mutex, Once, Weak};
use std::time::Duration;

use zkrecipes::drive::{self, PerProcess};

use crate::events::{Queue, lock};
use crate::guard;
use crate::system::process;

/// How long an exit may be held up by servers that do not answer.
const LIMIT: Duration = Duration::from_millis(900);

/// Ends the sessions that are open when main returns or exit is called; the first call decides.
pub(crate) fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| process::at_exit(end_sessions));
}

/// Those of the clients that are dispatched.
static QUEUES: PerProcess<Mutex<Vec<Weak<Queue>>>> = PerProcess::new();

/// What waits in it when the process exits is never dispatched.
pub(crate) fn undispatched(queue: &Arc<Queue>) {
    let mut queues = lock(QUEUES.of_this_process());
    queues.retain(|queue| queue.strong_count() > 0);
    queues.push(Arc::downgrade(queue));
}

extern "C" fn end_sessions() {
    at_exit(|| {
        let queues = std::mem::take(&mut *lock(QUEUES.of_this_process()));
        // What was taken for nobody goes back, for which the sessions wait.
        queues.iter().filter_map(Weak::upgrade).for_each(|queue| queue.forget());
        drive::end_sessions(LIMIT);
    });
}

/// C calls this: a panic that left it would end the process by SIGABRT, whatever its exit status was to be.
fn at_exit(end: impl FnOnce()) {
    guard::quietly(end);
    // A signal's handler may have called exit amid our code.
    drive::sanitizer::set_ours(false);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_does_not_leave_what_c_calls_at_an_exit() {
        at_exit(|| panic!("on purpose"));
    }
}
