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

    /// Resolves when something has come, and answers whether it is to be read until nothing is there: what comes after a short
    /// read is told again, but not that the stream is at its end.
    pub(super) async fn until(&self, _is_blocked: bool) -> bool {
        match self.told.readable().await {
            // First here, then there: what comes in between is told again.
            Ok(mut ready) => {
                ready.clear_ready();
                self.stream.watch.heard()
            }
            // The runtime is at its end.
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;

    /// Nothing else would tell of it: the end of a stream makes no second edge.
    #[tokio::test]
    async fn the_end_of_a_stream_is_told_with_what_came_before_it_and_alone() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        for comes_together in [true, false] {
            let tcp = tokio::net::TcpStream::connect(address).await.expect("it listens");
            let stream = Arc::new(Stream::new(tcp).expect("a stream"));
            let ready = Ready::new(&stream).expect("watched");
            let (mut peer, _) = listener.accept().expect("it has come");
            let mut space = [0; 16];
            peer.write_all(b"abc").expect("sent");
            if comes_together {
                drop(peer);
                tokio::time::sleep(Duration::from_millis(50)).await;
            } else {
                assert!(!ready.until(false).await, "there may be more later");
                assert_eq!(stream.try_read(&mut space).expect("it has come"), 3);
                drop(peer);
            }
            let told = tokio::time::timeout(Duration::from_secs(5), ready.until(false)).await;
            assert_eq!(told, Ok(true), "together: {comes_together}");
        }
    }
}
