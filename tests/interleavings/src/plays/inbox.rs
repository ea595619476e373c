//! Outcomes on their way to an event loop of Python.

use std::sync::Arc;

use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use crate::happened;
use crate::inbox::letters::{Destination, Letters, Slot, Wakes};
use crate::inbox::means;
use crate::mutex::{lock, unpoisoned};
use crate::pool;

/// A byte in a pipe.
#[derive(Default)]
struct Pipe {
    has_byte: Mutex<bool>,
    changed: Condvar,
}

impl Wakes for Pipe {
    fn wake(&self) {
        *lock(&self.has_byte) = true;
        self.changed.notify_all();
    }

    fn calm(&self) {
        *lock(&self.has_byte) = false;
    }
}

impl Pipe {
    fn until_woken(&self) {
        drop(unpoisoned(self.changed.wait_while(lock(&self.has_byte), |has_byte| !*has_byte)));
    }
}

/// How often the outcome of each call has come, whichever way.
#[derive(Default)]
struct Came {
    times: Mutex<[usize; CALLS]>,
    changed: Condvar,
}

const CALLS: usize = 4;

impl Came {
    fn comes(&self, call: usize) {
        lock(&self.times)[call] += 1;
        self.changed.notify_all();
    }

    fn until_all_came(&self) -> [usize; CALLS] {
        *unpoisoned(self.changed.wait_while(lock(&self.times), |times| times.contains(&0)))
    }
}

#[derive(Clone)]
struct Address {
    call: usize,
    slot: Arc<Slot<usize>>,
    came: Arc<Came>,
}

impl Destination for Address {
    type Outcome = usize;

    fn slot(&self) -> &Slot<usize> {
        &self.slot
    }

    fn hand_over(&self, outcome: usize) {
        happened("handed over");
        self.came.comes(outcome);
    }
}

pub fn each_outcome_comes_once() {
    // Without that nobody comes but the loop: no wake-up may be lost.
    if thread_rng().gen_bool(0.5) {
        means::is_late();
    }
    let letters = Arc::new(Letters::<Address, Pipe>::new(Pipe::default()));
    let came = Arc::<Came>::default();
    let calls: Vec<Address> =
        (0..CALLS).map(|call| Address { call, slot: Arc::default(), came: came.clone() }).collect();
    let is_over = Arc::new(Mutex::new(false));
    let the_loop = {
        let (letters, is_over, came) = (letters.clone(), is_over.clone(), came.clone());
        thread::spawn(move || {
            while !*lock(&is_over) {
                letters.wakeup.until_woken();
                for (address, outcome) in letters.take() {
                    assert_eq!(address.call, outcome);
                    happened("taken by the loop");
                    came.comes(outcome);
                }
            }
        })
    };
    let mut threads: Vec<_> = calls
        .chunks(2)
        .map(|calls| {
            let (letters, calls) = (letters.clone(), calls.to_vec());
            thread::spawn(move || {
                for address in calls {
                    let call = address.call;
                    letters.post(address, call);
                }
            })
        })
        .collect();
    if thread_rng().gen_bool(0.5) {
        let address = calls[1].clone();
        threads.push(thread::spawn(move || {
            if let Some(call) = address.slot.withdraw() {
                happened("withdrawn with its outcome");
                address.came.comes(call);
            }
        }));
    }
    for thread in threads {
        thread.join().expect("posted");
    }
    came.until_all_came();
    *lock(&is_over) = true;
    letters.wakeup.wake();
    the_loop.join().expect("it ends");
    std::mem::forget(pool::ending());
    assert_eq!(came.until_all_came(), [1; CALLS]);
}
