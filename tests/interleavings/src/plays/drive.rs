//! A call that nobody blocks on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::task::{Poll, Waker};

use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use crate::mutex::{lock, unpoisoned};
use crate::{drive, happened};

/// What the call waits for: so many tokens, each of which somebody puts and then wakes it.
#[derive(Default)]
struct Tokens {
    there: usize,
    waker: Option<Waker>,
}

pub fn who_is_woken_is_polled_again() {
    let (tokens, was_woken) = (Arc::new(Mutex::new(Tokens::default())), Arc::new(AtomicBool::new(false)));
    let putting = [(); 2].map(|()| {
        let (tokens, was_woken) = (tokens.clone(), was_woken.clone());
        thread::spawn(move || {
            let mut tokens = lock(&tokens);
            tokens.there += 1;
            let waker = tokens.waker.clone();
            drop(tokens);
            if let Some(waker) = waker {
                // A waker that is woken once more does no harm.
                waker.wake_by_ref();
                was_woken.store(true, Relaxed);
                waker.wake();
            }
        })
    });
    let (inside, ended) = (AtomicUsize::new(0), Arc::new((Mutex::new(0), Condvar::new())));
    let (begins, end, mut polls, mut taken) = (thread::current().id(), ended.clone(), 0, 0);
    drive::begin(Box::pin(std::future::poll_fn(move |context| {
        assert_eq!(inside.fetch_add(1, Relaxed), 0, "two threads poll it");
        polls += 1;
        assert!(
            (thread::current().id() == begins) == (polls == 1),
            "the first part runs there, and no other"
        );
        if polls == 2 {
            happened("polled by the runtime");
        }
        let mut tokens = lock(&tokens);
        taken += std::mem::take(&mut tokens.there);
        tokens.waker = Some(context.waker().clone());
        drop(tokens);
        thread::yield_now();
        if polls == 1 && was_woken.load(Relaxed) {
            happened("woken at once");
        }
        inside.fetch_sub(1, Relaxed);
        if taken < 2 {
            return Poll::Pending;
        }
        *lock(&end.0) += 1;
        end.1.notify_all();
        Poll::Ready(())
    })));
    for thread in putting {
        thread.join().expect("put");
    }
    let times = unpoisoned(ended.1.wait_while(lock(&ended.0), |times| *times == 0));
    assert_eq!(*times, 1);
}
