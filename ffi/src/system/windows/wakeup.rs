//! What an event loop waits for: a socket, as select and WSAPoll know nothing else.

use std::ffi::c_int;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::windows::io::AsRawSocket;

/// A socket that is readable from `raise` until `lower`: connected with itself, it takes what it has sent and nothing else.
pub(crate) struct Wakeup(UdpSocket);

impl Wakeup {
    pub(crate) fn new() -> io::Result<Wakeup> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.connect(socket.local_addr()?)?;
        socket.set_nonblocking(true)?;
        Ok(Wakeup(socket))
    }

    /// What C gets: of a handle the system uses 32 bits.
    pub(crate) fn number(&self) -> c_int {
        self.0.as_raw_socket() as c_int
    }

    pub(crate) fn raise(&self) {
        let _ = self.0.send(&[1]);
    }

    pub(crate) fn lower(&self) {
        while self.0.recv(&mut [0; 8]).is_ok() {}
    }
}
