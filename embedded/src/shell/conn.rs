//! One client's socket, with what is on its way in and out.

use crate::faults::Verdict;
use crate::log::Head;
use mio::net::TcpStream;
use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

/// A request on its way in that a fault, or one ahead of it, holds back.
pub(crate) struct HeldRequest {
    pub release: Duration,
    pub frame: Vec<u8>,
    pub head: Head,
    pub verdict: Verdict,
}

pub(crate) struct Conn {
    stream: TcpStream,
    inbuf: Vec<u8>,
    out: Vec<u8>,
    out_sent: usize,
    pub held_in: VecDeque<HeldRequest>,
    pub held_out: VecDeque<(Duration, Vec<u8>)>,
    held_bytes: usize,
    /// Nothing more goes in or out, but what is queued is still sent.
    pub closing: bool,
    /// The handshake has been seen: from now on, frames only.
    pub greeted: bool,
    pub writable_wanted: bool,
    /// How much of what it has to send is in the sum of all.
    pub counted: usize,
}

/// What one round of reading brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Got {
    /// There is nothing more for now.
    All,
    /// There may be more.
    Some,
    /// The client has gone.
    End,
}

/// With this much unsent, a client's requests wait until it reads.
const OUT_HIGH: usize = 4 << 20;
/// A client that lets this much pile up is dropped.
const OUT_LIMIT: usize = 256 << 20;
/// Empty buffers up to this size are kept.
const KEEP: usize = 4 << 10;

impl Conn {
    pub fn new(stream: TcpStream) -> Self {
        Conn {
            stream,
            inbuf: Vec::new(),
            out: Vec::new(),
            out_sent: 0,
            held_in: VecDeque::new(),
            held_out: VecDeque::new(),
            held_bytes: 0,
            closing: false,
            greeted: false,
            writable_wanted: false,
            counted: 0,
        }
    }

    pub fn stream_mut(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Reads what is there, up to the size of `scratch`.
    pub fn read(&mut self, scratch: &mut [u8]) -> Got {
        let mut filled = 0;
        let got = loop {
            if filled == scratch.len() {
                break Got::Some;
            }
            match self.stream.read(&mut scratch[filled..]) {
                Ok(0) => break Got::End,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break Got::All,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break Got::End,
            }
        };
        if !self.closing {
            self.inbuf.extend_from_slice(&scratch[..filled]);
        }
        got
    }

    pub fn take_inbuf(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.inbuf)
    }

    /// Puts back what follows the frames that were handled.
    pub fn put_back(&mut self, mut inbuf: Vec<u8>, used: usize) {
        inbuf.drain(..used);
        if inbuf.is_empty() && inbuf.capacity() > KEEP {
            inbuf = Vec::new();
        }
        self.inbuf = inbuf;
    }

    /// Queues bytes, behind any that are held back.
    pub fn enqueue(&mut self, bytes: Vec<u8>, now: Duration, delay: Duration) {
        if self.held_out.is_empty() && delay.is_zero() {
            self.out.extend_from_slice(&bytes);
        } else {
            let after = self.held_out.back().map_or(Duration::ZERO, |(release, _)| *release);
            self.held_bytes += bytes.len();
            self.held_out.push_back(((now + delay).max(after), bytes));
        }
    }

    /// Lets go what was held back long enough.
    pub fn release_out(&mut self, now: Duration) {
        while self.held_out.front().is_some_and(|(release, _)| *release <= now) {
            if let Some((_, bytes)) = self.held_out.pop_front() {
                self.held_bytes -= bytes.len();
                self.out.extend_from_slice(&bytes);
            }
        }
    }

    /// Sends what it can. False if the client has gone.
    pub fn flush(&mut self) -> bool {
        while self.out_sent < self.out.len() {
            match self.stream.write(&self.out[self.out_sent..]) {
                Ok(0) => return false,
                Ok(n) => self.out_sent += n,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => break,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
        if self.out_sent == self.out.len() {
            self.out_sent = 0;
            if self.out.capacity() > KEEP { self.out = Vec::new() } else { self.out.clear() }
        } else if self.out_sent > OUT_HIGH {
            self.out.drain(..self.out_sent);
            self.out_sent = 0;
        }
        self.unsent() <= OUT_LIMIT
    }

    pub fn unsent(&self) -> usize {
        self.out.len() - self.out_sent
    }

    /// The same with what is held back.
    pub fn waiting(&self) -> usize {
        self.unsent() + self.held_bytes
    }

    /// Whether the client must read before more of its requests are handled.
    pub fn is_choked(&self) -> bool {
        self.unsent() > OUT_HIGH
    }

    pub fn is_drained(&self) -> bool {
        self.unsent() == 0 && self.held_out.is_empty()
    }

    pub fn has_held(&self) -> bool {
        !self.held_in.is_empty() || !self.held_out.is_empty()
    }

    /// When something held back is due.
    pub fn next_release(&self) -> Option<Duration> {
        let request = self.held_in.front().map(|h| h.release);
        let reply = self.held_out.front().map(|(release, _)| *release);
        [request, reply].into_iter().flatten().min()
    }

    pub fn shutdown(&self) {
        // Fails if the client was faster; nothing to do then.
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
