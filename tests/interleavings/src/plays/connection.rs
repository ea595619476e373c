//! How one comes into the lock of a session, and what those do who find it taken.

use std::io;
use std::sync::{Arc, Mutex};

use shuttle::thread;

use crate::happened;
use crate::session::wire::LinkState;
use crate::session::wire::own::{self, Channel, Connection, ask};

/// A channel that takes everything, and never answers.
struct Deaf;

impl Channel for Deaf {
    fn attempt(&self) -> u64 {
        1
    }

    fn send(&mut self, bytes: &mut Vec<u8>) -> io::Result<bool> {
        bytes.clear();
        Ok(true)
    }
}

pub fn what_is_handed_over_is_done() {
    let connection: Arc<Connection<Deaf>> = own::connection();
    let done = Arc::new(Mutex::new(Vec::new()));
    let threads = [0, 1, 2].map(|thread| {
        let (connection, done) = (connection.clone(), done.clone());
        thread::spawn(move || {
            for number in 0..2 {
                let (done, asks) = (done.clone(), thread::current().id());
                own::post(&connection, move || {
                    if thread::current().id() != asks {
                        happened("done by somebody else");
                    }
                    done.lock().expect("no panic").push((thread, number));
                });
            }
        })
    });
    for thread in threads {
        thread.join().expect("nobody waits to ask");
    }
    let done = done.lock().expect("no panic").clone();
    for thread in 0..3 {
        let of_it: Vec<_> = done.iter().filter(|(of, _)| *of == thread).map(|(_, number)| *number).collect();
        assert_eq!(of_it, [0, 1], "what thread {thread} has asked");
    }
}

pub fn who_found_the_lock_taken_is_called() {
    let connection: Arc<Connection<Deaf>> = own::connection();
    let task = {
        let connection = connection.clone();
        // It has come in and has seen that the session is over, or it waits for ever.
        thread::spawn(move || own::until_over(&connection))
    };
    let thread = {
        let connection = connection.clone();
        thread::spawn(move || drop(ask(&connection, 1)))
    };
    connection.give_up();
    thread.join().expect("asked");
    task.join().expect("called");
}

pub fn who_sees_a_connection_sees_whose_it_is() {
    let connection: Arc<Connection<Deaf>> = own::connection();
    let looking = {
        let connection = connection.clone();
        thread::spawn(move || {
            let link = connection.link();
            let (session, timeout) = own::whose(&connection);
            if link.state == LinkState::Up {
                assert_eq!((session, timeout), (7, 1));
                happened("seen up");
            } else {
                happened("seen down");
            }
        })
    };
    let attempt = connection.look().dial.expect("it wants to connect").0;
    connection.connected(attempt, Ok(Deaf));
    looking.join().expect("it has looked");
}
