//! What a dead letter keeps besides the data of its item: why it died, and how often it was claimed.
//!
//! It stands before the data, in one node, so that it is there exactly if the letter is. A letter without it is one from before
//! there were any, or one that was too long with it.

use std::time::{Duration, SystemTime};

use crate::session::wire::Stat;

/// An item that is over: [`DeadLetters::items`](crate::DeadLetters::items).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The name of its node among the dead letters.
    pub id: String,
    /// What was put; of a letter with a `problem` what stands in its node.
    pub data: Vec<u8>,
    /// What was said with the last `nack`, or what the library knows of it.
    pub reason: Option<String>,
    /// How often it was claimed; zero if that is not known.
    pub attempts: u32,
    /// When it came to the dead letters, by the clock of the server.
    pub died_at: SystemTime,
    /// Why it cannot be read, if so. It stands in nobody's way, and nobody takes it.
    pub problem: Option<String>,
}

/// Of a reason the beginning is kept.
const LONGEST_REASON: usize = 4096;
const HEAD: &[u8] = b"\0zkrecipes dead letter ";

/// What is known of a letter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Obituary {
    pub(super) attempts: u32,
    pub(super) reason: Option<String>,
}

/// The data of a letter about an item with that data.
pub(super) fn sealed(obituary: &Obituary, data: &[u8]) -> Vec<u8> {
    let reason = obituary.reason.as_deref().map(shortened);
    let length = reason.map_or("-".to_owned(), |reason| reason.len().to_string());
    let mut bytes = HEAD.to_vec();
    bytes.extend_from_slice(format!("{} {length}\n", obituary.attempts).as_bytes());
    bytes.extend_from_slice(reason.unwrap_or_default().as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn shortened(reason: &str) -> &str {
    let end = (0..=LONGEST_REASON.min(reason.len())).rev().find(|at| reason.is_char_boundary(*at));
    &reason[..end.unwrap_or(0)]
}

/// What a letter keeps, and the data of its item.
pub(super) fn opened(bytes: &[u8]) -> (Obituary, &[u8]) {
    parse(bytes).unwrap_or_else(|| (Obituary::default(), bytes))
}

fn parse(bytes: &[u8]) -> Option<(Obituary, &[u8])> {
    let rest = bytes.strip_prefix(HEAD)?;
    let line = rest.iter().position(|byte| *byte == b'\n')?;
    let (attempts, length) = std::str::from_utf8(&rest[..line]).ok()?.split_once(' ')?;
    let (attempts, rest) = (attempts.parse().ok()?, &rest[line + 1..]);
    if length == "-" {
        return Some((Obituary { attempts, reason: None }, rest));
    }
    let (reason, data) = rest.split_at_checked(length.parse().ok()?)?;
    Some((Obituary { attempts, reason: Some(String::from_utf8_lossy(reason).into_owned()) }, data))
}

impl DeadLetter {
    pub(super) fn new(id: &str, bytes: &[u8], stat: &Stat) -> DeadLetter {
        let (Obituary { attempts, reason }, data) = opened(bytes);
        let died_at = SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(stat.ctime).unwrap_or(0));
        DeadLetter { id: id.to_owned(), data: data.to_vec(), reason, attempts, died_at, problem: None }
    }

    /// One of which nothing but the name is known.
    pub(super) fn unread(id: &str) -> DeadLetter {
        let (data, died_at) = (Vec::new(), SystemTime::UNIX_EPOCH);
        DeadLetter { id: id.to_owned(), data, reason: None, attempts: 0, died_at, problem: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_keeps_what_it_was_given() {
        for reason in [None, Some(""), Some("no such user"), Some("ä\nö")] {
            for data in [&b""[..], b"tea", HEAD, &[0, 255, 10]] {
                let obituary = Obituary { attempts: 16, reason: reason.map(str::to_owned) };
                assert_eq!(opened(&sealed(&obituary, data)), (obituary, data));
            }
        }
    }

    #[test]
    fn what_is_no_letter_of_this_kind_is_data() {
        for data in
            [&b"tea"[..], b"", HEAD, b"\0zkrecipes dead letter 1 99\nshort", b"\0zkrecipes dead letter x -\n"]
        {
            assert_eq!(opened(data), (Obituary::default(), data));
        }
    }

    #[test]
    fn of_a_long_reason_the_beginning_is_kept() {
        let reason = format!("a{}", "ü".repeat(LONGEST_REASON));
        let obituary = Obituary { attempts: 1, reason: Some(reason.clone()) };
        let bytes = sealed(&obituary, b"tea");
        let (opened, data) = opened(&bytes);
        let kept = opened.reason.expect("there is one");
        assert_eq!(data, b"tea");
        assert!(reason.starts_with(&kept) && kept.len() == LONGEST_REASON - 1, "{}", kept.len());
    }
}
