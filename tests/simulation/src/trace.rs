//! What happened, line by line: the last lines are kept for people, all of them for a hash that tells two schedules
//! apart.

use std::collections::VecDeque;

/// How many lines a failure shows.
const KEPT: usize = 200;

#[derive(Debug)]
pub struct Trace {
    hash: u64,
    last: VecDeque<String>,
    /// Print every line as it comes.
    aloud: bool,
}

impl Trace {
    pub fn new(aloud: bool) -> Trace {
        Trace { hash: 0xcbf2_9ce4_8422_2325, last: VecDeque::with_capacity(KEPT), aloud }
    }

    /// Something that belongs to the schedule but is not worth a line.
    pub fn note(&mut self, what: u64) {
        self.mix(&what.to_le_bytes());
    }

    pub fn line(&mut self, now: u64, text: std::fmt::Arguments) {
        let line = format!("{:>14.6} {text}", now as f64 / 1e9);
        self.mix(line.as_bytes());
        if self.aloud {
            println!("{line}");
        }
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(line);
    }

    /// FNV-1a: the point is to notice a difference, not to hide one.
    fn mix(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub fn hash(&self) -> u64 {
        self.hash
    }

    pub fn last(&self) -> impl Iterator<Item = &str> {
        self.last.iter().map(String::as_str)
    }
}
