//! Callbacks, and the threads that run them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use shuttle::future::block_on;
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use crate::happened;
use crate::pool;
use crate::session::delivery::{Delivery, Live, Subscription};
use crate::session::flag::Flag;
use crate::session::withdrawal::Withdrawals;

pub fn nothing_is_told_after_unsubscribe() {
    let live = Live::default();
    let (is_over, running) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let telling = [(); 2].map(|()| {
        let (live, is_over, running) = (live.clone(), is_over.clone(), running.clone());
        thread::spawn(move || {
            for _ in 0..2 {
                let mut was_called = false;
                live.pass(|| {
                    was_called = true;
                    running.fetch_add(1, Relaxed);
                    assert!(!is_over.load(Relaxed), "it begins");
                    thread::yield_now();
                    assert!(!is_over.load(Relaxed), "it goes on");
                    running.fetch_sub(1, Relaxed);
                });
                if !was_called {
                    happened("a callback was refused");
                }
            }
        })
    });
    let subscription = Subscription::new(live, || {});
    let ending = {
        let (subscription, is_over) = (subscription.clone(), is_over.clone());
        thread::spawn(move || {
            subscription.unsubscribe();
            is_over.store(true, Relaxed);
        })
    };
    if running.load(Relaxed) > 0 {
        happened("a callback was running");
    }
    subscription.unsubscribe();
    is_over.store(true, Relaxed);
    ending.join().expect("nobody is waited for for ever");
    for thread in telling {
        thread.join().expect("told");
    }
}

pub fn notices_are_told_in_order() {
    let delivery = Arc::new(Delivery::default());
    let (told, inside) = (Arc::new(std::sync::Mutex::new(Vec::new())), Arc::new(AtomicUsize::new(0)));
    let teller = Arc::new(std::sync::Mutex::new(None));
    let noticing = [0, 1].map(|thread| {
        let (delivery, told, inside, teller) =
            (delivery.clone(), told.clone(), inside.clone(), teller.clone());
        thread::spawn(move || {
            for number in 0..2 {
                let (told, inside, teller) = (told.clone(), inside.clone(), teller.clone());
                delivery.notice(Box::new(move || {
                    assert_eq!(inside.fetch_add(1, Relaxed), 0, "two at a time");
                    let here = thread::current().id();
                    if teller.lock().expect("no panic").replace(here).is_some_and(|before| before != here) {
                        happened("told by another thread than the one before");
                    }
                    thread::yield_now();
                    told.lock().expect("no panic").push((thread, number));
                    inside.fetch_sub(1, Relaxed);
                }));
            }
        })
    });
    for thread in noticing {
        thread.join().expect("noticed");
    }
    block_on(delivery.pending_callbacks.nothing());
    let told = told.lock().expect("no panic").clone();
    for thread in 0..2 {
        let of_it: Vec<_> = told.iter().filter(|(of, _)| *of == thread).map(|(_, number)| *number).collect();
        assert_eq!(of_it, [0, 1], "what thread {thread} has noticed");
    }
    // Its threads end.
    std::mem::forget(pool::ending());
}

/// The callback of a notice ends when the loss has been told.
pub fn a_loss_waits_for_no_callback() {
    let delivery = Arc::new(Delivery::default());
    let heard = Arc::new((Mutex::new(0), Condvar::new()));
    let hear = |heard: &(Mutex<u32>, Condvar)| {
        *heard.0.lock().expect("no panic") += 1;
        heard.1.notify_all();
    };
    let notices = Arc::new(std::sync::OnceLock::new());
    let losing = {
        let (delivery, heard, notices) = (delivery.clone(), heard.clone(), notices.clone());
        thread::spawn(move || {
            for _ in 0..2 {
                let (heard, notices) = (heard.clone(), notices.clone());
                delivery.loss(Box::new(move || {
                    if notices.get().is_some_and(|thread| *thread != thread::current().id()) {
                        happened("told beside a notice");
                    }
                    hear(&heard);
                }));
            }
        })
    };
    let waits = heard.clone();
    delivery.notice(Box::new(move || {
        let _ = notices.set(thread::current().id());
        let told = waits.1.wait_while(waits.0.lock().expect("no panic"), |told| *told < 2);
        drop(told.expect("no panic"));
    }));
    losing.join().expect("lost");
    block_on(delivery.pending_callbacks.nothing());
    std::mem::forget(pool::ending());
}

pub fn who_waits_for_a_flag_hears_of_it() {
    let (flag, withdrawals) = (Arc::new(Flag::default()), Withdrawals::default());
    let withdrawal = withdrawals.next();
    let waiting = {
        let (flag, withdrawal) = (flag.clone(), withdrawal.clone());
        thread::spawn(move || {
            if !flag.is_set() {
                happened("waited");
            }
            block_on(flag.until_set());
            block_on(withdrawal.comes());
        })
    };
    let other = {
        let flag = flag.clone();
        thread::spawn(move || {
            block_on(withdrawal.comes());
            block_on(flag.until_set());
        })
    };
    withdrawals.withdraw();
    assert!(!flag.set());
    waiting.join().expect("heard");
    other.join().expect("heard");
}
