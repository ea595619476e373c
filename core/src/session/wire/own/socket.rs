//! A socket with a server, in plain text or under TLS. Nothing here blocks.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::ClientConnection;
use tokio::net::TcpStream;

use super::Channel;

pub(super) struct Socket {
    attempt: u64,
    pub(super) stream: Arc<TcpStream>,
    tls: Option<Box<ClientConnection>>,
    /// What is sent as it is: what TLS has made of the rest.
    raw: Vec<u8>,
}

/// Under TLS no more than so much is made ready ahead of the socket.
const MOST_READY: usize = 256 << 10;

impl Channel for Socket {
    fn attempt(&self) -> u64 {
        self.attempt
    }

    fn send(&mut self, bytes: &mut Vec<u8>) -> io::Result<bool> {
        let Some(tls) = &mut self.tls else { return write(&self.stream, bytes) };
        loop {
            if self.raw.len() < MOST_READY && !bytes.is_empty() {
                let taken = tls.writer().write(bytes)?;
                bytes.drain(..taken);
            }
            while tls.wants_write() && self.raw.len() < MOST_READY {
                tls.write_tls(&mut self.raw)?;
            }
            if !write(&self.stream, &mut self.raw)? {
                return Ok(false);
            }
            if bytes.is_empty() && !tls.wants_write() {
                return Ok(true);
            }
        }
    }
}

impl Socket {
    pub(super) fn new(attempt: u64, stream: TcpStream, tls: Option<ClientConnection>) -> Socket {
        Socket { attempt, stream: Arc::new(stream), tls: tls.map(Box::new), raw: Vec::new() }
    }

    /// Reads what is there, at most about the size of `space`, and hands it over in pieces; false at the end of the stream.
    pub(super) fn receive(&mut self, space: &mut [u8], mut piece: impl FnMut(&[u8])) -> io::Result<bool> {
        let length = match self.stream.try_read(space) {
            Ok(0) => return Ok(false),
            Ok(length) => length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(error) => return Err(error),
        };
        let Some(tls) = &mut self.tls else {
            piece(&space[..length]);
            return Ok(true);
        };
        let mut raw = &space[..length];
        let mut plain = Vec::new();
        while !raw.is_empty() {
            tls.read_tls(&mut raw)?;
            let state =
                tls.process_new_packets().map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            plain.resize(state.plaintext_bytes_to_read(), 0);
            tls.reader().read_exact(&mut plain)?;
            if !plain.is_empty() {
                piece(&plain);
            }
        }
        Ok(true)
    }
}

fn write(stream: &TcpStream, bytes: &mut Vec<u8>) -> io::Result<bool> {
    let mut sent = 0;
    let outcome = loop {
        if sent == bytes.len() {
            break Ok(true);
        }
        match stream.try_write(&bytes[sent..]) {
            Ok(length) => sent += length,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break Ok(false),
            Err(error) => break Err(error),
        }
    };
    bytes.drain(..sent);
    outcome
}
