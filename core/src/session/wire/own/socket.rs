//! A socket with a server, in plain text or under TLS. Nothing here blocks.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::ClientConnection;

use super::Channel;
use super::stream::Stream;
use super::trust::Trust;
use crate::metrics::Counters;
use crate::process::Process;

/// How much is read at once.
pub(super) const SPACE: usize = 64 << 10;

pub(super) struct Socket {
    pub(super) attempt: u64,
    pub(super) stream: Arc<Stream>,
    tls: Option<Box<ClientConnection>>,
    pub(super) trust: Option<Arc<Trust>>,
    /// What is sent as it is: what TLS has made of the rest.
    raw: Vec<u8>,
    space: Vec<u8>,
    pub(super) counters: Arc<Counters>,
    process: Process,
}

/// Under TLS no more than so much is made ready ahead of the socket.
const MOST_READY: usize = 256 << 10;

impl Channel for Socket {
    fn attempt(&self) -> u64 {
        self.attempt
    }

    fn arm(&self, reads: bool, writes: bool) {
        self.stream.arm(reads, writes);
    }

    #[cfg(target_os = "linux")]
    fn is_awaited(connection: &Arc<super::Connection<Socket>>) {
        super::driving::note(connection);
    }

    fn send(&mut self, bytes: &mut Vec<u8>) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else { return write(&self.stream, bytes) };
        loop {
            let mut is_full = false;
            if self.raw.len() < MOST_READY && !bytes.is_empty() {
                let taken = tls.writer().write(bytes)?;
                bytes.drain(..taken);
                is_full = taken == 0;
            }
            while tls.wants_write() && self.raw.len() < MOST_READY {
                tls.write_tls(&mut self.raw)?;
            }
            if !write(&self.stream, &mut self.raw)? {
                return Ok(false);
            }
            // As long as the handshake goes on it takes no more than it has room for: what comes of reading goes on.
            if (bytes.is_empty() || is_full) && !tls.wants_write() {
                return Ok(true);
            }
        }
    }
}

/// A thread may still poll the descriptor. Shut down, it is at its end there, and so it is for the server; it is closed, and
/// its number somebody's else, when that thread has let go of it.
impl Drop for Socket {
    fn drop(&mut self) {
        // A forked child would end its parent's.
        if self.process.is_present() {
            self.stream.shut();
        }
    }
}

impl Socket {
    pub(super) fn new(
        attempt: u64,
        stream: tokio::net::TcpStream,
        tls: Option<ClientConnection>,
        trust: Option<Arc<Trust>>,
        counters: Arc<Counters>,
    ) -> io::Result<Socket> {
        Ok(Socket {
            attempt,
            stream: Arc::new(Stream::new(stream)?),
            tls: tls.map(Box::new),
            trust,
            raw: Vec::new(),
            space: vec![0; SPACE],
            counters,
            process: Process::present(),
        })
    }

    /// Reads what is there, at most about [`SPACE`], and hands all of it over in pieces. Answers how much that was: nothing at
    /// the end of the stream, `None` if there is nothing yet.
    pub(super) fn receive(&mut self, mut piece: impl FnMut(&[u8])) -> io::Result<Option<usize>> {
        let length = match self.stream.try_read(&mut self.space) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let Some(tls) = &mut self.tls else {
            if length > 0 {
                piece(&self.space[..length]);
            }
            return Ok(Some(length));
        };
        let mut raw = &self.space[..length];
        let mut plain = Vec::new();
        while !raw.is_empty() {
            if tls.read_tls(&mut raw)? == 0 {
                // The server has taken leave, and what follows is no part of it.
                return Ok(Some(0));
            }
            let state =
                tls.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            plain.resize(state.plaintext_bytes_to_read(), 0);
            tls.reader().read_exact(&mut plain)?;
            if !plain.is_empty() {
                piece(&plain);
            }
        }
        Ok(Some(length))
    }
}

fn write(stream: &Stream, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let mut sent = 0;
    let outcome = loop {
        if sent == bytes.len() {
            break Ok(true);
        }
        match stream.try_write(&bytes[sent..]) {
            Ok(length) => sent += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(false),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => break Err(error),
        }
    };
    bytes.drain(..sent);
    outcome
}
