//! The TCP connections of `async-net`, as far as `zookeeper-client` uses them, over tokio. ../README.md says why.

use std::io::{Error, IoSlice, Result};
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::thread;

use futures_io::{AsyncRead, AsyncWrite};
use tokio::io::{AsyncRead as Read, AsyncWrite as Write, ReadBuf};
use tokio::net::TcpStream as Stream;
use tokio::sync::oneshot;

/// A connection on which nothing that is written waits for an answer to what was written before.
#[derive(Debug)]
pub struct TcpStream(Stream);

impl TcpStream {
    /// Connects to the first address of the host that accepts.
    pub async fn connect((host, port): (&str, u16)) -> Result<TcpStream> {
        let stream = match host.parse::<IpAddr>() {
            Ok(address) => Stream::connect((address, port)).await?,
            Err(_) => Stream::connect(&*addresses(host.to_owned(), port).await?).await?,
        };
        stream.set_nodelay(true)?;
        Ok(TcpStream(stream))
    }

    fn of(self: Pin<&mut Self>) -> Pin<&mut Stream> {
        Pin::new(&mut self.get_mut().0)
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
        &self.0
    }
}

impl AsyncRead for TcpStream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut [u8]) -> Poll<Result<usize>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(self.of().poll_read(context, &mut buffer))?;
        Poll::Ready(Ok(buffer.filled().len()))
    }
}

impl AsyncWrite for TcpStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, data: &[u8]) -> Poll<Result<usize>> {
        self.of().poll_write(context, data)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        data: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        self.of().poll_write_vectored(context, data)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.of().poll_flush(context)
    }

    fn poll_close(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.of().poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{AsyncReadExt, AsyncWriteExt};
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
}
