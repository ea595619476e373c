//! A socket in plain text.

use std::io;
use std::sync::Arc;

use super::system::Stream;
use super::trust::Trust;
use super::{Channel, Connection, driving};
use crate::metrics::Counters;

/// How much is read at once: so little that there is more at times.
pub(super) const SPACE: usize = 2;

pub(crate) struct Socket {
    pub(super) attempt: u64,
    pub(super) stream: Arc<Stream>,
    pub(super) trust: Option<Arc<Trust>>,
    pub(super) counters: Counters,
}

impl Socket {
    pub(super) fn new(attempt: u64, stream: Arc<Stream>) -> Socket {
        Socket { attempt, stream, trust: None, counters: Counters::default() }
    }

    pub(super) fn receive(&mut self, mut piece: impl FnMut(&[u8])) -> io::Result<Option<usize>> {
        let bytes = self.stream.read(SPACE);
        if let Some(bytes) = bytes.as_ref().filter(|bytes| !bytes.is_empty()) {
            piece(bytes);
        }
        Ok(bytes.map(|bytes| bytes.len()))
    }
}

impl Channel for Socket {
    fn attempt(&self) -> u64 {
        self.attempt
    }

    fn send(&mut self, bytes: &mut Vec<u8>) -> io::Result<bool> {
        self.stream.write(bytes);
        Ok(true)
    }

    fn arm(&self, reads: bool, writes: bool) {
        self.stream.arm(reads, writes);
    }

    fn is_awaited(connection: &Arc<Connection<Socket>>) {
        driving::note(connection);
    }
}
