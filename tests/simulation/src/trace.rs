//! What happened, line by line: the last lines are kept for people, all of them for a hash that tells two schedules
//! apart.

use std::collections::VecDeque;
use std::fmt::Write;

use crate::standing::{Kind, parse};

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
        // The oldest line makes room, and lends its memory.
        let oldest = if self.last.len() == KEPT { self.last.pop_front() } else { None };
        let mut line = oldest.unwrap_or_default();
        line.clear();
        _ = write!(line, "{:>14.6} {text}", now as f64 / 1e9);
        self.mix(line.as_bytes());
        if self.aloud {
            println!("{line}");
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

/// A path as the trace shows it: contenders by their number alone, if they have one, with a letter for what they want
/// and, where there are several queues, with the queue.
pub fn short(path: &str) -> String {
    let (Some((_, mark, after)), Some((parent, name))) = (split(path), path.rsplit_once('/')) else {
        return path.to_owned();
    };
    let queue = parent.rsplit('/').next().filter(|queue| queue.len() == 1).unwrap_or_default();
    if name.len() == 32 || after.starts_with("-lease-") {
        return format!("permit {}{after}", &mark[..4]);
    }
    if let Some((_, number)) = after.strip_prefix("-of-").and_then(|rest| rest.split_once('-')) {
        return format!("member {number}");
    }
    let (kind, number) = parse(name);
    let kind = match kind {
        Kind::Read => "r",
        Kind::Write => "w",
        _ => "",
    };
    match number {
        // Past the end of the range they all have the same.
        Some(i32::MAX | ..0) => format!("{queue}{kind}#late-{}", &mark[..4]),
        Some(number) => format!("{queue}{kind}#{number}"),
        None => format!("{queue}{kind}#new"),
    }
}

/// What stands before, in and after the part of a node's name that is like no other, in everybody's way to name nodes:
/// `_c_<guid>-…`, `x-<32 hex>-…`, `<32 hex>__…`, and `<28 hex><number>` of which several are made at once.
fn split(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.rfind('/').map_or(0, |slash| slash + 1);
    let name = &text[start..];
    let (skipped, length) = match name.strip_prefix("_c_") {
        Some(_) => (3, 36),
        None if name.len() == 32 => (0, 28),
        None => (if name.starts_with("x-") { 2 } else { 0 }, 32),
    };
    let mark = name.get(skipped..skipped + length)?;
    let is_unique = mark.bytes().all(|byte| byte.is_ascii_hexdigit() || length == 36 && byte == b'-');
    let (from, to) = (start + skipped, start + skipped + length);
    is_unique.then(|| (&text[..from], &text[from..to], &text[to..]))
}
