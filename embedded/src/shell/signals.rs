//! Signals belong to the program: no thread of a server or of a proxy takes one, or a daemon that blocks SIGTERM in its
//! own threads would be killed through ours.

/// Runs `start`, which may start threads: they begin with every signal blocked that something outside of the thread may
/// cause. This thread has them blocked only meanwhile, so that a new one never runs with a signal open.
pub(crate) fn blocked<T>(start: impl FnOnce() -> T) -> T {
    let _mask = Mask::block();
    start()
}

/// What a thread brings upon itself: blocked, it would end the process without its handler.
#[cfg(unix)]
const OWN_FAULTS: [libc::c_int; 7] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGABRT, libc::SIGSYS];

#[cfg(unix)]
struct Mask {
    before: libc::sigset_t,
}

#[cfg(unix)]
impl Mask {
    fn block() -> Mask {
        // SAFETY: both sets are initialised before they are used, and only this thread's mask changes.
        unsafe {
            let (mut signals, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&mut signals);
            for fault in OWN_FAULTS {
                libc::sigdelset(&mut signals, fault);
            }
            libc::sigemptyset(&mut before);
            libc::pthread_sigmask(libc::SIG_BLOCK, &signals, &mut before);
            Mask { before }
        }
    }
}

#[cfg(unix)]
impl Drop for Mask {
    fn drop(&mut self) {
        // SAFETY: the set is the one that this thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

/// Elsewhere there are no signals that any thread could get.
#[cfg(not(unix))]
struct Mask;

#[cfg(not(unix))]
impl Mask {
    fn block() -> Mask {
        Mask
    }
}
