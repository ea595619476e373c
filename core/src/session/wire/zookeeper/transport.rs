//! What the crate's timers and sockets stand on: on the library's runtime, if the crates of `patch/` are in place; else on
//! a reactor that the whole process shares, which no forked child can use and which leaves Nagle's algorithm on.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::Once;
use std::task::{Context, Poll};
use std::thread::LocalKey;

/// Whether they are tokio's.
pub(crate) const IS_TOKIO: bool = Made::<async_io::Timer>::TIMES && Made::<async_net::TcpStream>::CONNECTS;

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
