//! A call that nobody blocks on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use crate::drive;

/// What the call waits for: so many tokens, each of which somebody puts and then wakes it.
#[derive(Default)]
struct Tokens {
    there: usize,
    waker: Option<std::task::Waker>,
}

pub fn who_is_woken_is_polled_again() {
    let tokens = Arc::new(Mutex::new(Tokens::default()));
    let putting = [(); 2].map(|()| {
        let tokens = tokens.clone();
        thread::spawn(move || {
            let mut tokens = tokens.lock().expect("no panic");
            tokens.there += 1;
            let waker = tokens.waker.clone();
            drop(tokens);
            // A waker that is woken once more does no harm.
            waker.into_iter().for_each(|waker| {
                waker.wake_by_ref();
                waker.wake();
            });
        })
    });
    let (inside, ended) = (AtomicUsize::new(0), Arc::new((Mutex::new(0), Condvar::new())));
    let (end, mut taken) = (ended.clone(), 0);
    drive::begin(Box::pin(std::future::poll_fn(move |context| {
        assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0, "two threads poll it");
        let mut tokens = tokens.lock().expect("no panic");
        taken += std::mem::take(&mut tokens.there);
        tokens.waker = Some(context.waker().clone());
        drop(tokens);
        inside.fetch_sub(1, Ordering::Relaxed);
        if taken < 2 {
            return Poll::Pending;
        }
        *end.0.lock().expect("no panic") += 1;
        end.1.notify_all();
        Poll::Ready(())
    })));
    for thread in putting {
        thread.join().expect("put");
    }
    let times = ended.1.wait_while(ended.0.lock().expect("no panic"), |times| *times == 0);
    assert_eq!(*times.expect("no panic"), 1);
}
