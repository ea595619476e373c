//! Calls that queue again, in another server session.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use shuttle::future::block_on;
use shuttle::thread;

use crate::happened;
use crate::session::server_session::ServerSession;
use crate::session::{Session, Waits};

const PATH: &str = "/locks/one";

pub fn calls_queue_again_in_their_order() {
    let (session, next) = (Session::new(), ServerSession::new());
    let queued = Arc::new(Mutex::new(Vec::new()));
    // One that gives up is somewhere among them.
    let threads = [1, 2, 3, 4].map(|number| {
        let (waits, next, queued) = (Waits::at(&session, PATH, number), next.clone(), queued.clone());
        thread::spawn(move || {
            if number == 2 {
                // As a call that is withdrawn while it waits.
                let _ = waits.turn(&next).now_or_never();
                return None;
            }
            if waits.turn(&next).now_or_never().is_none() {
                happened("waited");
                block_on(waits.turn(&next));
            }
            queued.lock().expect("no panic").push(number);
            waits.has_queued_in(&next);
            // It goes on waiting.
            Some(waits)
        })
    });
    let waiting = threads.map(|thread| thread.join().expect("its turn comes"));
    assert_eq!(*queued.lock().expect("no panic"), [1, 3, 4]);
    drop(waiting);
}
