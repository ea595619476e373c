//! What the crate's timers and sockets stand on: on the library's runtime, if the crates of `patch/` are in place; else on
//! a reactor that the whole process shares, which no forked child can use and which leaves Nagle's algorithm on.

use std::marker::PhantomData;

/// Whether they are tokio's.
pub(crate) const IS_TOKIO: bool = Made::<async_io::Timer>::TIMES && Made::<async_net::TcpStream>::CONNECTS;

/// Asks a type whether it has a trait: what `Made` says of it by itself goes before what is said of every type.
struct Made<T>(PhantomData<T>);

/// Where both are tokio's nobody asks it.
#[allow(dead_code)]
trait Otherwise {
    const TIMES: bool = false;
    const CONNECTS: bool = false;
}

impl<T> Otherwise for Made<T> {}

impl<T: From<tokio::time::Sleep>> Made<T> {
    const TIMES: bool = true;
}

impl<T: AsRef<tokio::net::TcpStream>> Made<T> {
    const CONNECTS: bool = true;
}
