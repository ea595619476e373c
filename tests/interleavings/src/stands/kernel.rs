//! What the kernel offers to whoever reads a socket: streams of bytes, a watch of each that tells the I/O thread once that there is
//! something, and a wait for several.

use std::io;
use std::task::{Poll, Waker};
use std::time::Duration;

use crate::mutex::{lock, unpoisoned};
use crate::process::PerProcess;
use crate::sync::{Condvar, Mutex, thread_local};

static KERNEL: PerProcess<Kernel> = PerProcess::new();

#[derive(Default)]
struct Kernel {
    streams: Mutex<Vec<Described>>,
    changed: Condvar,
}

/// What a descriptor stands for.
#[derive(Default)]
struct Described {
    /// What was sent to the peer, and what has come from there.
    sent: Vec<u8>,
    unread: Vec<u8>,
    is_at_its_end: bool,
    /// The I/O thread wants to be told when it can be read; and it was, and has not come yet.
    is_armed: bool,
    is_told: bool,
    wakers: Vec<Waker>,
    /// How many threads wait for it.
    polled: usize,
    most_polled: usize,
}

impl Described {
    fn is_ready(&self) -> bool {
        !self.unread.is_empty() || self.is_at_its_end
    }
}

thread_local! {
    /// This thread has no processor after it has waited, until that is over.
    static IS_STOPPED: std::cell::RefCell<Option<Stop>> = std::cell::RefCell::new(None);
}

/// Stops a thread, and lets it go on.
#[derive(Clone, Default)]
pub(crate) struct Stop(std::sync::Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// The calling thread will be stopped.
    pub(crate) fn this_thread(&self) {
        IS_STOPPED.with(|stop| *stop.borrow_mut() = Some(self.clone()));
    }

    fn stand_still(&self) {
        crate::happened("a thread stood still");
        drop(unpoisoned(self.0.1.wait_while(lock(&self.0.0), |goes_on| !*goes_on)));
    }

    pub(crate) fn goes_on(&self) {
        *lock(&self.0.0) = true;
        self.0.1.notify_all();
    }
}

/// A descriptor.
pub(super) type Fd = usize;

fn described<T>(fd: Fd, change: impl FnOnce(&mut Described) -> T) -> T {
    let mut streams = lock(&KERNEL.streams);
    let one = &mut streams[fd];
    let answer = change(one);
    let wakers = std::mem::take(&mut one.wakers);
    drop(streams);
    KERNEL.changed.notify_all();
    wakers.into_iter().for_each(Waker::wake);
    answer
}

fn open() -> Fd {
    let mut streams = lock(&KERNEL.streams);
    streams.push(Described::default());
    streams.len() - 1
}

/// One of its ends; the other one is the play's.
pub(crate) struct Stream(Fd);

impl Stream {
    pub(super) fn new() -> Stream {
        let fd = open();
        described(fd, |one| one.is_armed = true);
        Stream(fd)
    }

    pub(super) fn as_fd(&self) -> Fd {
        self.0
    }

    /// At most so much; nothing at its end, `None` if nothing is there yet.
    pub(super) fn read(&self, most: usize) -> Option<Vec<u8>> {
        described(self.0, |one| {
            let length = one.unread.len().min(most);
            (one.is_ready()).then(|| one.unread.drain(..length).collect())
        })
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        if !bytes.is_empty() {
            described(self.0, |one| one.sent.append(bytes));
        }
    }

    /// Tells at once if something is there.
    pub(super) fn arm(&self, reads: bool, _writes: bool) {
        described(self.0, |one| (one.is_armed, one.is_told) = (reads, reads && one.is_ready()));
    }

    /// For the I/O thread: resolves when it is told that something is there.
    pub(super) async fn until_told(&self) {
        self.until(|one| std::mem::take(&mut one.is_told)).await;
    }

    /// Resolves when something is there that nobody has read.
    pub(super) async fn until_unread(&self) {
        self.until(|one| one.is_ready()).await;
    }

    async fn until(&self, is_so: impl Fn(&mut Described) -> bool) {
        std::future::poll_fn(|context| {
            let mut streams = lock(&KERNEL.streams);
            let one = &mut streams[self.0];
            if is_so(one) {
                return Poll::Ready(());
            }
            one.wakers.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// For the peer: what was sent, once something was; `None` at the end.
    pub(crate) fn hear(&self) -> Option<Vec<u8>> {
        let mut streams = lock(&KERNEL.streams);
        loop {
            let one = &mut streams[self.0];
            if !one.sent.is_empty() {
                return Some(std::mem::take(&mut one.sent));
            }
            if one.is_at_its_end {
                return None;
            }
            streams = unpoisoned(KERNEL.changed.wait(streams));
        }
    }

    /// The peer says something.
    pub(crate) fn say(&self, byte: u8) {
        described(self.0, |one| {
            one.unread.push(byte);
            one.is_told |= one.is_armed;
        });
    }

    /// Nothing more is heard or said.
    pub(crate) fn close(&self) {
        described(self.0, |one| {
            one.is_at_its_end = true;
            one.is_told |= one.is_armed;
        });
    }

    /// How many threads have waited for it at one time.
    pub(crate) fn most_polled(&self) -> usize {
        lock(&KERNEL.streams)[self.0].most_polled
    }
}

/// Wakes whoever waits for it in [`poll`].
pub(super) struct Wakeup(Fd);

impl Wakeup {
    pub(super) fn new() -> io::Result<Wakeup> {
        Ok(Wakeup(open()))
    }

    pub(super) fn wake(&self) {
        described(self.0, |one| one.unread.push(1));
    }

    pub(super) fn calm(&self) {
        described(self.0, |one| one.unread.clear());
    }

    pub(super) fn as_fd(&self) -> Fd {
        self.0
    }
}

/// Which of several descriptors are ready.
pub(super) struct ReadySet(Vec<bool>);

impl ReadySet {
    pub(super) fn has(&self, at: usize) -> bool {
        self.0[at]
    }
}

/// Waits until one of them can be read.
pub(super) fn poll(descriptors: impl Iterator<Item = Fd>, limit: Option<Duration>) -> io::Result<ReadySet> {
    assert!(limit.is_none(), "nobody has a limit here");
    let polled: Vec<Fd> = descriptors.collect();
    let mut streams = lock(&KERNEL.streams);
    for fd in &polled {
        let one = &mut streams[*fd];
        one.polled += 1;
        one.most_polled = one.most_polled.max(one.polled);
    }
    let ready = loop {
        let ready: Vec<bool> = polled.iter().map(|fd| streams[*fd].is_ready()).collect();
        if ready.contains(&true) {
            break ready;
        }
        streams = unpoisoned(KERNEL.changed.wait(streams));
    };
    for fd in &polled {
        streams[*fd].polled -= 1;
    }
    drop(streams);
    if polled.len() > 1 {
        crate::happened("a thread drove");
    }
    let stop = IS_STOPPED.with(|stop| stop.borrow_mut().take());
    stop.inspect(Stop::stand_still);
    Ok(ReadySet(ready))
}
