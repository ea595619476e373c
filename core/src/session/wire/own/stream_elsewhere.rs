//! A socket that never blocks. Where this is used the I/O thread drives alone: tokio tells it when there is something to be
//! read or written.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;

pub(super) struct Stream(TcpStream);

impl Stream {
    pub(super) fn new(tcp: TcpStream) -> io::Result<Stream> {
        Ok(Stream(tcp))
    }

    pub(super) fn try_read(&self, space: &mut [u8]) -> io::Result<usize> {
        self.0.try_read(space)
    }

    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    /// Nobody else has it: it is closed at once.
    pub(super) fn shut(&self) {}

    pub(super) fn arm(&self, _reads: bool, _writes: bool) {}
}

pub(super) struct Ready {
    pub(super) stream: Arc<Stream>,
}

impl Ready {
    pub(super) fn new(stream: &Arc<Stream>) -> io::Result<Ready> {
        Ok(Ready { stream: stream.clone() })
    }

    /// Resolves when something has come, which is to be read until nothing is there.
    pub(super) async fn until(&self, is_blocked: bool) -> bool {
        let tcp = &self.stream.0;
        tokio::select! {
            _ = tcp.readable() => {}
            _ = tcp.writable(), if is_blocked => {}
        }
        true
    }
}
