//! The one thread of a server or proxy: waits for sockets and for time.

use super::{LISTENERS, Shared, Shell, State, WAKER};
use mio::{Events, Poll};
use std::io;
use std::time::Duration;

/// How long after there was no descriptor for a client it is tried again.
const TAKE_AGAIN: Duration = Duration::from_millis(50);

pub(super) fn run<S: Shell>(mut poll: Poll, shared: &Shared<S>) {
    let mut events = Events::with_capacity(256);
    let mut sleep = None;
    loop {
        if let Err(e) = poll.poll(&mut events, sleep)
            && e.kind() != io::ErrorKind::Interrupted
        {
            return;
        }
        let mut shell = shared.lock();
        if shell.desk().state == State::Gone {
            return;
        }
        for event in &events {
            match event.token() {
                WAKER => {}
                token if LISTENERS.contains(&token.0) => {
                    if shell.desk().state == State::Running {
                        shell.accept();
                    }
                }
                token => shell.ready(token.0 as u64, event.is_readable() || event.is_error()),
            }
        }
        if shell.desk().state == State::Running && std::mem::take(&mut shell.desk_mut().clients_wait) {
            shell.accept();
        }
        let before = shell.desk().log.end();
        let again = shell.turn();
        if shell.desk().waiters > 0 && shell.desk().log.end() != before {
            shared.tell();
        }
        sleep = if again { Some(Duration::ZERO) } else { shell.sleep() };
        if shell.desk().clients_wait {
            sleep = Some(sleep.map_or(TAKE_AGAIN, |sleep| sleep.min(TAKE_AGAIN)));
        }
    }
}
