//! Who is connected to the page. There is room for a few; who has not yet asked for anything with the token makes room for
//! somebody new, so that connections that say nothing lock nobody out.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::Duration;

#[derive(Default)]
pub(super) struct Guests {
    inside: Mutex<Inside>,
    left: Condvar,
}

/// By the order in which they came.
#[derive(Default)]
struct Inside {
    next: u64,
    /// `None` for whoever has shown the token, and may stay.
    guests: BTreeMap<u64, Option<TcpStream>>,
}

impl Guests {
    /// `None` if there is no room, and nobody who can be sent away leaves within that time.
    pub(super) fn enter(&self, stream: &TcpStream, most: usize, patience: Duration) -> Option<u64> {
        // Another descriptor of the same connection, which ends it for the thread that reads.
        let own = stream.try_clone().ok()?;
        let mut inside = self.lock();
        if inside.guests.len() >= most {
            // The one that has been silent for the longest time.
            let silent = inside.guests.values().flatten().next()?;
            let _ = silent.shutdown(Shutdown::Both);
            let wait = self.left.wait_timeout_while(inside, patience, |inside| inside.guests.len() >= most);
            inside = wait.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
            if inside.guests.len() >= most {
                return None;
            }
        }
        let guest = inside.next;
        inside.next += 1;
        inside.guests.insert(guest, Some(own));
        Some(guest)
    }

    /// This one has shown the token.
    pub(super) fn is_known(&self, guest: u64) {
        self.lock().guests.insert(guest, None);
    }

    pub(super) fn leave(&self, guest: u64) {
        self.lock().guests.remove(&guest);
        self.left.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn who_is_silent_makes_room_and_who_is_known_stays() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let connect = || {
            let far = TcpStream::connect(listener.local_addr().expect("a port")).expect("it listens");
            (far, listener.accept().expect("somebody").0)
        };
        let (guests, soon) = (Guests::default(), Duration::from_millis(50));
        let (_first, known) = connect();
        let (_second, mut silent) = connect();
        let (_third, new) = connect();
        silent.set_read_timeout(Some(Duration::from_secs(30))).expect("a socket");
        let first = guests.enter(&known, 2, soon).expect("room");
        guests.is_known(first);
        let second = guests.enter(&silent, 2, soon).expect("room");
        let third = std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(silent.read(&mut [0]).expect("its end"), 0);
                guests.leave(second);
            });
            guests.enter(&new, 2, Duration::from_secs(30)).expect("the silent one has left")
        });
        guests.is_known(third);
        let (_fourth, late) = connect();
        assert_eq!(guests.enter(&late, 2, soon), None, "nobody is sent away who has shown the token");
    }
}
