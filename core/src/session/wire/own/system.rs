//! What the standard library does not offer of Linux: to wait for several descriptors, to be woken from that, and a
//! descriptor that watches another one. All of this crate's wire that is unsafe is here.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

/// Wakes whoever waits for it in [`poll`].
pub(super) struct Wakeup(File);

impl Wakeup {
    pub(super) fn new() -> io::Result<Wakeup> {
        // SAFETY: it has no arguments that could be wrong, and what it answers is ours alone.
        let made = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        Ok(Wakeup(File::from(owned(made)?)))
    }

    pub(super) fn wake(&self) {
        // It only fails if it has been woken very often, and is not calm anyhow.
        let _ = (&self.0).write(&1u64.to_ne_bytes());
    }

    pub(super) fn calm(&self) {
        let _ = (&self.0).read(&mut [0; 8]);
    }
}

impl AsRawFd for Wakeup {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// A descriptor that can be read while another one is ready for what it is armed for.
pub(super) struct Watch(OwnedFd);

impl Watch {
    /// Of `of`, armed for reading.
    pub(super) fn new(of: &impl AsRawFd) -> io::Result<Watch> {
        // SAFETY: as above.
        let watch = Watch(owned(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?);
        watch.control(libc::EPOLL_CTL_ADD, of, libc::EPOLLIN)?;
        Ok(watch)
    }

    /// Arms it for reading, writing, both or neither. That tells at once if `of` is ready already, provided that what was told
    /// before has been taken by [`Watch::heard`] or still will be.
    pub(super) fn arm(&self, of: &impl AsRawFd, reads: bool, writes: bool) {
        let reads = if reads { libc::EPOLLIN | libc::EPOLLRDHUP } else { 0 };
        let writes = if writes { libc::EPOLLOUT } else { 0 };
        // `of` was added, and lives: that cannot fail.
        let _ = self.control(libc::EPOLL_CTL_MOD, of, reads | writes);
    }

    /// Takes what it has told. What is not taken stays on the kernel's list of what is ready, and then an arming tells nothing.
    pub(super) fn heard(&self) {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: the descriptor is ours, and there is room for the one event it is told of. It does not wait.
        unsafe { libc::epoll_wait(self.0.as_raw_fd(), &mut event, 1, 0) };
    }

    fn control(&self, operation: i32, of: &impl AsRawFd, events: i32) -> io::Result<()> {
        // Each change is told once.
        let events = (events | libc::EPOLLET) as u32;
        let mut event = libc::epoll_event { events, u64: 0 };
        // SAFETY: both descriptors are open, as we borrow their owners, and the event is valid.
        let done = unsafe { libc::epoll_ctl(self.0.as_raw_fd(), operation, of.as_raw_fd(), &mut event) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl AsRawFd for Watch {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Waits until one of them can be read or is at its end, for `limit` at most. Answers what became of each; Interrupted if a
/// signal came.
pub(super) fn poll(descriptors: &[&dyn AsRawFd], limit: Option<Duration>) -> io::Result<Vec<bool>> {
    let mut polled: Vec<_> = descriptors
        .iter()
        .map(|one| libc::pollfd { fd: one.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    // Never too early: whoever waits for a moment would come again and again.
    let limit =
        limit.map_or(-1, |limit| i32::try_from(limit.as_nanos().div_ceil(1_000_000)).unwrap_or(i32::MAX));
    // SAFETY: they are as many as it is told, and open, as we borrow their owners.
    match unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, limit) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(polled.iter().map(|one| one.revents != 0).collect()),
    }
}

/// How much of its stack this thread has left; `None` if it is not on the stack that it was started with.
pub(super) fn stack_left() -> Option<usize> {
    thread_local! {
        static STACK: std::cell::Cell<Option<(usize, usize)>> = const { std::cell::Cell::new(None) };
    }
    let stack = STACK.get().or_else(|| {
        let mut attributes = std::mem::MaybeUninit::uninit();
        let (mut lowest, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the attributes are this thread's, filled in before they are read, and destroyed once.
        unsafe {
            if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
                return None;
            }
            let found = libc::pthread_attr_getstack(attributes.as_ptr(), &mut lowest, &mut size);
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
            (found == 0).then_some((lowest.addr(), size))
        }
    });
    STACK.set(stack);
    let (lowest, size) = stack?;
    let here = std::ptr::from_ref(&size).addr();
    here.checked_sub(lowest).filter(|left| *left < size)
}

fn owned(made: RawFd) -> io::Result<OwnedFd> {
    match made {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: it was opened just now, and nobody else knows it.
        made => Ok(unsafe { OwnedFd::from_raw_fd(made) }),
    }
}
