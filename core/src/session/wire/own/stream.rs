//! A socket that never blocks, and what has the I/O thread come to it. It is read there, or by a thread that waits for an
//! answer. SIGPIPE comes of neither: what is sent by the standard library is sent with MSG_NOSIGNAL.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::Arc;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::system::ReadinessWatch;

pub(super) struct Stream {
    tcp: TcpStream,
    pub(super) watch: ReadinessWatch,
    /// What a test does whenever it is armed.
    #[cfg(test)]
    pub(super) on_arming: std::sync::Mutex<Option<Box<dyn Fn() + Send>>>,
}

impl Stream {
    pub(super) fn new(tcp: tokio::net::TcpStream) -> io::Result<Stream> {
        let tcp = tcp.into_std()?;
        Ok(Stream {
            watch: ReadinessWatch::new(&tcp)?,
            tcp,
            #[cfg(test)]
            on_arming: Default::default(),
        })
    }

    pub(super) fn try_read(&self, space: &mut [u8]) -> io::Result<usize> {
        (&self.tcp).read(space)
    }

    pub(super) fn try_write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.tcp).write(bytes)
    }

    pub(super) fn shut(&self) {
        let _ = self.tcp.shutdown(Shutdown::Both);
    }

    pub(super) fn arm(&self, reads: bool, writes: bool) {
        #[cfg(test)]
        if let Some(on_arming) = &*self.on_arming.lock().expect("no panic") {
            on_arming();
        }
        self.watch.arm(&self.tcp, reads, writes);
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.tcp.as_fd()
    }
}

/// Tells the I/O thread what its stream is armed for.
pub(super) struct Ready {
    /// Dropped before the descriptor that it is told of.
    told: AsyncFd<RawFd>,
    pub(super) stream: Arc<Stream>,
}

impl Ready {
    #[allow(
        deprecated,
        reason = "only the newest tokio has its successor; the descriptor lives as long as this"
    )]
    pub(super) fn new(stream: &Arc<Stream>) -> io::Result<Ready> {
        let told = AsyncFd::with_interest(stream.watch.as_fd().as_raw_fd(), Interest::READABLE)?;
        Ok(Ready { told, stream: stream.clone() })
    }

    /// Resolves when something has come, to be read until nothing is there.
    pub(super) async fn until(&self, _is_blocked: bool) {
        match self.told.readable().await {
            // First here, then there: what comes in between is told again.
            Ok(mut ready) => {
                ready.clear_ready();
                self.stream.watch.heard();
            }
            // The runtime is at its end.
            Err(_) => std::future::pending().await,
        }
    }
}
