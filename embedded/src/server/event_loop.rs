//! The one thread of a server: waits for sockets and for time.

use super::Shared;
use super::world::{LISTENER, State, WAKER};
use mio::{Events, Poll};
use std::io;
use std::time::Duration;

pub(super) fn run(mut poll: Poll, shared: &Shared) {
    let mut events = Events::with_capacity(256);
    let mut sleep = None;
    loop {
        if let Err(e) = poll.poll(&mut events, sleep)
            && e.kind() != io::ErrorKind::Interrupted
        {
            return;
        }
        let mut world = shared.lock();
        if world.state == State::Gone {
            return;
        }
        for event in &events {
            match event.token() {
                LISTENER if world.state == State::Running => world.accept(),
                LISTENER | WAKER => {}
                token => world.ready(token.0 as u64, event.is_readable() || event.is_error()),
            }
        }
        let before = world.log.end();
        let again = world.turn();
        if world.waiters > 0 && world.log.end() != before {
            shared.logged.notify_all();
        }
        sleep = if again { Some(Duration::ZERO) } else { world.sleep() };
    }
}
