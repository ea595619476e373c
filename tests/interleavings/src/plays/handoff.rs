//! Turns that are passed on between the owners of one node.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use futures_util::FutureExt;
use shuttle::future::block_on;
use shuttle::rand::{Rng, thread_rng};
use shuttle::thread;

use crate::happened;
use crate::session::Session;
use crate::session::call::Call;
use crate::turn::local_handoff;
use crate::turn::place::TurnRequest;

const PATH: &str = "/locks/one";
/// How often a turn may be passed on.
const LIMIT: u32 = 1;

/// Whether there is a node.
#[derive(Default)]
struct Server(Arc<AtomicBool>);

/// The turn is won, until this is dropped: the node is deleted then.
pub(crate) struct Won(Arc<AtomicBool>);

impl Drop for Won {
    fn drop(&mut self) {
        assert!(self.0.swap(false, Relaxed), "it is deleted twice");
    }
}

pub(crate) async fn win(session: &Session) -> Won {
    let node = session.extensions.of::<Server>().0.clone();
    assert!(!node.swap(true, Relaxed), "one of this client has it");
    Won(node)
}

fn takes_a_turn(session: &Arc<Session>, holders: &AtomicUsize) {
    let request = TurnRequest::of(session, PATH, None);
    let taken = block_on(local_handoff::take(LIMIT, &request, &mut Call));
    let mut grant = taken.expect("it has time");
    let guard = grant.handoff.take().expect("it may be passed on");
    assert_eq!(holders.fetch_add(1, Relaxed), 0, "two hold it");
    assert!(guard.passes() <= LIMIT, "others come first");
    if guard.passes() > 0 {
        happened("taken over");
    }
    thread::yield_now();
    holders.fetch_sub(1, Relaxed);
    // As a hold lets go.
    match guard.is_wanted() {
        true => {
            happened("passed on");
            guard.pass(grant);
        }
        false => drop((grant, guard)),
    }
}

pub fn a_turn_that_is_passed_on_is_taken_or_given_back() {
    let (session, holders) = (Session::new(), Arc::new(AtomicUsize::new(0)));
    let mut threads: Vec<_> = (0..3)
        .map(|_| {
            let (session, holders) = (session.clone(), holders.clone());
            thread::spawn(move || takes_a_turn(&session, &holders))
        })
        .collect();
    for _ in 0..thread_rng().gen_range(0..3) {
        let session = session.clone();
        // It is withdrawn: as soon as it waits, or later.
        threads.push(thread::spawn(move || {
            let (request, mut call) = (TurnRequest::of(&session, PATH, None), Call);
            let mut taking = Box::pin(local_handoff::take(LIMIT, &request, &mut call));
            drop((&mut taking).now_or_never());
            thread::yield_now();
        }));
    }
    for thread in threads {
        thread.join().expect("it has its turn");
    }
    assert!(!session.extensions.of::<Server>().0.load(Relaxed), "nobody has it, and nobody gives it back");
}
