//! What the standard library does not offer of Linux: to wait for several descriptors, to be woken from that, and a
//! descriptor that watches another one.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd};

/// Wakes whoever waits for it in [`poll`].
pub(super) struct Wakeup(File);

impl Wakeup {
    pub(super) fn new() -> io::Result<Wakeup> {
        Ok(Wakeup(File::from(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    pub(super) fn wake(&self) {
        // It only fails if it has been woken very often, and is not calm anyhow.
        let _ = (&self.0).write(&1u64.to_ne_bytes());
    }

    pub(super) fn calm(&self) {
        let _ = (&self.0).read(&mut [0; 8]);
    }
}

impl AsFd for Wakeup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// A descriptor that can be read while another one is ready for what it is armed for.
pub(super) struct ReadinessWatch(OwnedFd);

impl ReadinessWatch {
    /// Of `of`, armed for reading.
    pub(super) fn new(of: impl AsFd) -> io::Result<ReadinessWatch> {
        let watch = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&watch, of, EventData::new_u64(0), EventFlags::IN | EventFlags::RDHUP | EventFlags::ET)?;
        Ok(ReadinessWatch(watch))
    }

    /// Arms it for reading, writing, both or neither. That tells at once if `of` is ready already, provided that what was told
    /// before has been taken by [`ReadinessWatch::heard`] or still will be.
    pub(super) fn arm(&self, of: impl AsFd, reads: bool, writes: bool) {
        let reads = if reads { EventFlags::IN | EventFlags::RDHUP } else { EventFlags::empty() };
        let writes = if writes { EventFlags::OUT } else { EventFlags::empty() };
        // Each change is told once. `of` was added, and lives: that cannot fail.
        let _ = epoll::modify(&self.0, of, EventData::new_u64(0), reads | writes | EventFlags::ET);
    }

    /// Takes what it has told, without waiting, and answers whether `of` is at its end. What is not taken stays on the kernel's list
    /// of what is ready, and then an arming tells nothing.
    pub(super) fn heard(&self) -> bool {
        let mut told = [epoll::Event { flags: EventFlags::empty(), data: EventData::new_u64(0) }];
        let _ = epoll::wait(&self.0, &mut told[..], Some(&Timespec::default()));
        // A copy: the struct is packed.
        let flags = told[0].flags;
        flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR)
    }
}

impl AsFd for ReadinessWatch {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Which of several descriptors are ready: a bit for each. Those for which there is none may be.
#[derive(Copy, Clone)]
pub(super) struct ReadySet(u64);

impl ReadySet {
    pub(super) fn has(self, at: usize) -> bool {
        at >= 64 || self.0 & 1 << at != 0
    }
}

/// Waits until one of them can be read or is at its end, for `limit` at most. Answers which are; Interrupted if a signal came.
pub(super) fn poll<'a>(
    descriptors: impl Iterator<Item = BorrowedFd<'a>>,
    limit: Option<Duration>,
) -> io::Result<ReadySet> {
    let mut polled: Vec<_> = descriptors.map(|one| PollFd::from_borrowed_fd(one, PollFlags::IN)).collect();
    // What is too long for it has no end.
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    rustix::event::poll(&mut polled, limit.as_ref())?;
    let ready = polled.iter().take(64).enumerate().filter(|(_, one)| !one.revents().is_empty());
    Ok(ReadySet(ready.fold(0, |set, (at, _)| set | 1 << at)))
}
