//! The TCP connections of `async-net`, as far as `zookeeper-client` uses them, over tokio. ../README.md says why.

use std::cell::Cell;
use std::io::{Error, ErrorKind, IoSlice, Result};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, ready};
use std::thread::{self, LocalKey};

use futures_io::{AsyncRead, AsyncWrite};
use tokio::io::{AsyncRead as Read, AsyncWrite as Write, ReadBuf};
use tokio::net::TcpStream as Stream;
use tokio::sync::oneshot;

/// How whoever polls says that it polls once more at once, so that what is written meanwhile may be held back and sent together:
/// `Some` while that is so; `true` once something is held back.
type Holding = LocalKey<Cell<Option<bool>>>;

static HOLDING: OnceLock<&'static Holding> = OnceLock::new();

/// More is not held back.
const MOST: usize = 64 << 10;
/// So much room stays when all was sent.
const KEPT: usize = 8 << 10;

/// A connection on which nothing that is written waits for an answer to what was written before.
#[derive(Debug)]
pub struct TcpStream {
    stream: Stream,
    /// What is held back, from `sent` on.
    held: Vec<u8>,
    sent: usize,
}

impl TcpStream {
    /// Connects to the first address of the host that accepts.
    pub async fn connect((host, port): (&str, u16)) -> Result<TcpStream> {
        let stream = match host.parse::<IpAddr>() {
            Ok(address) => Stream::connect((address, port)).await?,
            Err(_) => Stream::connect(&*addresses(host.to_owned(), port).await?).await?,
        };
        stream.set_nodelay(true)?;
        Ok(TcpStream { stream, held: Vec::new(), sent: 0 })
    }

    fn of(&mut self) -> Pin<&mut Stream> {
        Pin::new(&mut self.stream)
    }

    fn has_held(&self) -> bool {
        self.sent < self.held.len()
    }

    /// Whether nothing is to leave now; whoever polls is told that it must poll once more if something is held back.
    fn holds(&self) -> bool {
        let Some(holding) = HOLDING.get() else { return false };
        let is_on = holding.get().is_some();
        if is_on && self.has_held() {
            holding.set(Some(true));
        }
        is_on
    }

    /// Holds as much back as there is room for, if that is to be; `None`: write it.
    fn hold(&mut self, data: &[IoSlice<'_>]) -> Option<usize> {
        let room = MOST - (self.held.len() - self.sent);
        if !self.holds() || data.iter().map(|slice| slice.len()).sum::<usize>() > room {
            return None;
        }
        self.held.drain(..std::mem::take(&mut self.sent));
        let before = self.held.len();
        data.iter().for_each(|slice| self.held.extend_from_slice(slice));
        self.holds();
        Some(self.held.len() - before)
    }

    /// Sends what is held back.
    fn poll_send(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        while self.has_held() {
            match ready!(Pin::new(&mut self.stream).poll_write(context, &self.held[self.sent..]))? {
                0 => return Poll::Ready(Err(ErrorKind::WriteZero.into())),
                more => self.sent += more,
            }
        }
        self.held.clear();
        self.sent = 0;
        self.held.shrink_to(KEPT);
        Poll::Ready(Ok(()))
    }
}

/// Asked of the system on a thread that ends with the answer. The runtime's pool for what blocks would keep one.
async fn addresses(host: String, port: u16) -> Result<Vec<SocketAddr>> {
    let (answer, answered) = oneshot::channel();
    let ask = move || _ = answer.send((host, port).to_socket_addrs().map(Iterator::collect));
    thread::Builder::new().name("zkrecipes-names".to_owned()).spawn(ask)?;
    answered.await.map_err(Error::other)?
}

/// Tokio's: by this the library tells these connections from those of the registry.
impl AsRef<Stream> for TcpStream {
    fn as_ref(&self) -> &Stream {
        &self.stream
    }
}

/// Makes no connection: it is how the library, which also has to do with the registry's, says where it will tell that it polls
/// once more.
impl TryFrom<&'static Holding> for TcpStream {
    type Error = &'static Holding;

    fn try_from(holding: &'static Holding) -> std::result::Result<TcpStream, &'static Holding> {
        Err(HOLDING.get_or_init(|| holding))
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        if self.of().poll_read(context, &mut buffer)?.is_pending() {
            // Whoever only waits for answers sends what they are to.
            if !self.holds()
                && let Poll::Ready(Err(error)) = self.poll_send(context)
            {
                return Poll::Ready(Err(error));
            }
            return Poll::Pending;
        }
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<Result<usize>> {
        if let Some(held) = self.hold(&[IoSlice::new(data)]) {
            return Poll::Ready(Ok(held));
        }
        ready!(self.poll_send(context))?;
        self.of().poll_write(context, data)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        if let Some(held) = self.hold(data) {
            return Poll::Ready(Ok(held));
        }
        ready!(self.poll_send(context))?;
        self.of().poll_write_vectored(context, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        if self.has_held() && self.holds() {
            return Poll::Pending;
        }
        ready!(self.poll_send(context))?;
        self.of().poll_flush(context)
    }

    fn poll_close(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        ready!(self.as_mut().poll_flush(context))?;
        self.of().poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::task::Waker;
    use std::time::Duration;

    use futures_util::{AsyncReadExt, AsyncWriteExt, future};
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// A connection as the client has it, and the server's end of it.
    async fn pair() -> Result<(TcpStream, Stream)> {
        pair_by("127.0.0.1").await
    }

    async fn pair_by(host: &str) -> Result<(TcpStream, Stream)> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let port = listener.local_addr()?.port();
        let connected = TcpStream::connect((host, port)).await?;
        Ok((connected, listener.accept().await?.0))
    }

    #[tokio::test]
    async fn what_is_written_arrives_and_is_answered() -> Result<()> {
        let (mut client, mut server) = pair().await?;
        assert!(client.as_ref().nodelay()?);
        let slices = [IoSlice::new(b"one "), IoSlice::new(b"two")];
        assert_eq!(AsyncWriteExt::write_vectored(&mut client, &slices).await?, 7);
        AsyncWriteExt::flush(&mut client).await?;
        let mut heard = [0; 7];
        server.read_exact(&mut heard).await?;
        assert_eq!(&heard, b"one two");

        server.write_all(b"three").await?;
        let mut answer = [0; 16];
        assert_eq!(AsyncReadExt::read(&mut client, &mut answer).await?, 5);
        assert_eq!(&answer[..5], b"three");
        Ok(())
    }

    #[tokio::test]
    async fn who_closes_is_heard_and_still_hears() -> Result<()> {
        let (mut client, mut server) = pair().await?;
        AsyncWriteExt::close(&mut client).await?;
        assert_eq!(server.read(&mut [0; 1]).await?, 0);
        server.write_all(b"bye").await?;
        drop(server);
        let mut rest = Vec::new();
        AsyncReadExt::read_to_end(&mut client, &mut rest).await?;
        assert_eq!(rest, b"bye");
        Ok(())
    }

    #[tokio::test]
    async fn a_host_has_a_name_or_an_address() -> Result<()> {
        let (named, _) = pair_by("localhost").await?;
        assert!(named.as_ref().peer_addr()?.ip().is_loopback());
        assert!(TcpStream::connect(("no such host", 1)).await.is_err());
        Ok(())
    }

    #[tokio::test]
    async fn nobody_there_is_an_error() -> Result<()> {
        let free = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
        assert!(TcpStream::connect(("127.0.0.1", free)).await.is_err());
        Ok(())
    }

    #[test]
    fn a_connection_is_dropped_on_any_thread() -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let (client, mut server) = runtime.block_on(pair())?;
        std::thread::spawn(move || drop(client)).join().expect("no panic");
        assert_eq!(runtime.block_on(server.read(&mut [0; 1]))?, 0);
        Ok(())
    }

    /// One that is never done fails, and holds up nobody.
    async fn soon<T>(waiting: impl Future<Output = T>) -> T {
        tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("in time")
    }

    thread_local! {
        static POLLS_AGAIN: Cell<Option<bool>> = const { Cell::new(None) };
    }

    /// Polls as one who polls once more afterwards; whether it was told that it must.
    fn holding<T>(poll: impl FnOnce(&mut Context<'_>) -> T) -> (T, bool) {
        assert!(TcpStream::try_from(&POLLS_AGAIN).is_err());
        POLLS_AGAIN.set(Some(false));
        let polled = poll(&mut Context::from_waker(Waker::noop()));
        (polled, POLLS_AGAIN.replace(None) == Some(true))
    }

    fn write(client: &mut TcpStream, data: &[u8]) -> (Poll<Option<usize>>, bool) {
        holding(|context| Pin::new(client).poll_write(context, data).map(Result::ok))
    }

    /// Whether there is nothing to read, while what is written is held back.
    fn reads_nothing(client: &mut TcpStream) -> (bool, bool) {
        holding(|context| Pin::new(client).poll_read(context, &mut [0; 8]).is_pending())
    }

    /// The second poll.
    fn read(client: &mut TcpStream) -> Poll<Result<usize>> {
        Pin::new(client).poll_read(&mut Context::from_waker(Waker::noop()), &mut [0; 8])
    }

    const HELD: Poll<Option<usize>> = Poll::Ready(Some(3));

    #[tokio::test]
    async fn what_is_written_in_one_go_leaves_in_one_piece() -> Result<()> {
        let (mut client, mut server) = pair().await?;
        let mut heard = [0; 16];
        for _ in 0..20 {
            assert_eq!(write(&mut client, b"one"), (HELD, true));
            let both = [IoSlice::new(b"tw"), IoSlice::new(b"o")];
            let written =
                holding(|context| Pin::new(&mut client).poll_write_vectored(context, &both).map(Result::ok));
            assert_eq!(written, (HELD, true));
            assert_eq!(reads_nothing(&mut client), (true, true));
            let flushing = holding(|context| Pin::new(&mut client).poll_flush(context).is_pending());
            assert_eq!(flushing, (true, true));
            assert_eq!(server.try_read(&mut heard).map_err(|error| error.kind()), Err(ErrorKind::WouldBlock));

            assert!(read(&mut client).is_pending());
            assert_eq!(soon(server.read(&mut heard)).await?, 6);
            assert_eq!(&heard[..6], b"onetwo");
            assert_eq!(reads_nothing(&mut client), (true, false), "nothing is left");
        }
        Ok(())
    }

    #[tokio::test]
    async fn what_was_held_back_goes_ahead_of_what_comes_later() -> Result<()> {
        let (mut client, mut server) = pair().await?;
        assert_eq!(write(&mut client, b"one"), (HELD, true));
        assert_eq!(AsyncWriteExt::write(&mut client, b"two").await?, 3);
        assert_eq!(write(&mut client, b"six"), (HELD, true));
        AsyncWriteExt::flush(&mut client).await?;
        assert_eq!(write(&mut client, b"end"), (HELD, true));
        AsyncWriteExt::close(&mut client).await?;
        let mut heard = Vec::new();
        soon(server.read_to_end(&mut heard)).await?;
        assert_eq!(heard, b"onetwosixend");
        Ok(())
    }

    #[tokio::test]
    async fn what_has_come_is_read_first() -> Result<()> {
        let (mut client, mut server) = pair().await?;
        server.write_all(b"news").await?;
        client.as_ref().readable().await?;
        assert_eq!(write(&mut client, b"one"), (HELD, true));
        let read = holding(|context| Pin::new(&mut client).poll_read(context, &mut [0; 8]).map(Result::ok));
        assert_eq!(read.0, Poll::Ready(Some(4)));
        AsyncWriteExt::flush(&mut client).await
    }

    /// No more is taken than there is room for, and nothing is lost.
    #[tokio::test]
    async fn who_does_not_read_holds_up_who_writes() -> Result<()> {
        let (mut client, mut server) = pair().await?;
        let (mut sent, piece): (Vec<u8>, _) = (Vec::new(), [7; 1000]);
        loop {
            let data = [&sent.len().to_be_bytes()[..], &piece].concat();
            match write(&mut client, &data).0 {
                Poll::Ready(taken) => sent.extend(&data[..taken.expect("connected")]),
                Poll::Pending => break,
            }
            assert!(read(&mut client).is_pending());
            assert!(client.held.capacity() <= 2 * MOST);
            assert!(sent.len() < 100 << 20, "it takes everything");
        }
        let begun = sent.len();
        let mut heard = vec![0; begun];
        let both = future::try_join(AsyncWriteExt::flush(&mut client), server.read_exact(&mut heard));
        assert_eq!(soon(both).await?, ((), begun));
        assert!(heard == sent);
        assert!(client.held.capacity() <= KEPT, "the room is given back");
        Ok(())
    }

    #[tokio::test]
    async fn more_than_there_is_room_for_is_not_held_back() -> Result<()> {
        let (mut client, mut server) = pair().await?;
        assert_eq!(write(&mut client, b"one"), (HELD, true));
        let (Poll::Ready(Some(taken)), _) = write(&mut client, &[7; MOST]) else {
            panic!("it fits into the socket")
        };
        let mut heard = vec![0; 3 + taken];
        soon(server.read_exact(&mut heard)).await?;
        assert_eq!(&heard[..4], b"one\x07");
        Ok(())
    }

    /// What could not be sent is told where its answer is waited for.
    #[tokio::test]
    async fn whoever_reads_is_told_that_it_could_not_be_sent() -> Result<()> {
        let (mut client, server) = pair().await?;
        assert_eq!(write(&mut client, b"one"), (HELD, true));
        // From here on it cannot write, and still could read.
        poll_fn(|context| client.of().poll_shutdown(context)).await?;
        let told = soon(poll_fn(|context| Pin::new(&mut client).poll_read(context, &mut [0; 8]))).await;
        assert_eq!(told.map_err(|error| error.kind()), Err(ErrorKind::BrokenPipe));
        assert!(AsyncWriteExt::flush(&mut client).await.is_err());
        drop(server);
        Ok(())
    }
}
