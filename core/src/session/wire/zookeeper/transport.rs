//! What the crate's timers and sockets stand on: on the library's runtime, if the crates of `patch/` are in place; else on
//! a reactor that the whole process shares, which no forked child can use and which leaves Nagle's algorithm on.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::thread::LocalKey;

use crate::error::{Error, ErrorKind};

/// Whether they are tokio's.
pub(crate) const IS_TOKIO: bool = Made::<async_io::Timer>::TIMES && Made::<async_net::TcpStream>::CONNECTS;

/// The process that connected first. With the crates of the registry no child of it can: what times and wakes them is one thread,
/// which stayed there, and in the child they would only wait.
pub(super) static REACTOR: Reactor = Reactor(AtomicU32::new(0));

pub(super) struct Reactor(AtomicU32);

impl Reactor {
    /// This process connects. Forked: it cannot.
    pub(super) fn enter(&self, is_tokio: bool) -> Result<(), Error> {
        let own = std::process::id();
        // No lock: a thread that stayed with the parent may have had it.
        let first = self.0.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire);
        match first {
            Err(first) if first != own && !is_tokio => Err(Error::new(
                ErrorKind::Forked,
                "the process that forked this one had connected before, and this program is built without the crates of \
                 zkrecipes' patch/, so only that one can; connect in children alone, start them by exec, or build with \
                 these crates",
            )),
            _ => Ok(()),
        }
    }
}

thread_local! {
    /// `Some` while sockets may hold back what is written, for they are polled once more at once; `true` if one has.
    static HOLDING: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Ends what it stands for, be it by a panic.
struct Holds;

impl Drop for Holds {
    fn drop(&mut self) {
        HOLDING.set(None);
    }
}

/// Polls twice where that lets several requests leave together: sockets hold back what is written at first. Those of the
/// registry cannot, and each request leaves by itself.
pub(super) fn polled_in_one<T>(
    context: &mut Context<'_>,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<T>,
) -> Poll<T> {
    static TOLD: Once = Once::new();
    TOLD.call_once(|| Made::<async_net::TcpStream>::told_where(&HOLDING));
    HOLDING.set(Some(false));
    let holds = Holds;
    let first = poll(context);
    let has_held = HOLDING.get() == Some(true);
    drop(holds);
    match first {
        Poll::Pending if has_held => poll(context),
        first => first,
    }
}

/// Asks a type whether it has a trait: what `Made` says of it by itself goes before what is said of every type.
struct Made<T>(PhantomData<T>);

/// Where both are tokio's nobody asks it.
#[allow(dead_code)]
trait Otherwise {
    const TIMES: bool = false;
    const CONNECTS: bool = false;
    fn told_where(_: &'static LocalKey<Cell<Option<bool>>>) {}
}

impl<T> Otherwise for Made<T> {}

impl<T: From<tokio::time::Sleep>> Made<T> {
    const TIMES: bool = true;
}

impl<T: AsRef<tokio::net::TcpStream>> Made<T> {
    const CONNECTS: bool = true;
}

impl<T: TryFrom<&'static LocalKey<Cell<Option<bool>>>>> Made<T> {
    fn told_where(holding: &'static LocalKey<Cell<Option<bool>>>) {
        let _ = T::try_from(holding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it answers in a forked child, where 1 is Forked.
    fn in_child(reactor: &Reactor, is_tokio: bool) -> i32 {
        // SAFETY: the child only asks, takes no lock, and leaves by _exit.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_forked = reactor.enter(is_tokio).is_err_and(|error| error.kind() == ErrorKind::Forked);
            unsafe { libc::_exit(is_forked.into()) };
        }
        let mut status = 0;
        // SAFETY: the child is ours.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        libc::WEXITSTATUS(status)
    }

    #[test]
    fn without_our_crates_a_child_of_who_has_connected_is_told_at_once_that_it_cannot() {
        let reactor = Reactor(AtomicU32::new(0));
        assert_eq!(in_child(&reactor, false), 0, "nobody has connected");
        assert!(reactor.enter(false).is_ok() && reactor.enter(false).is_ok());
        assert_eq!(in_child(&reactor, false), 1);
        assert_eq!(in_child(&reactor, true), 0, "ours run in every process");
    }
}
