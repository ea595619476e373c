//! What a dead letter keeps besides the data of its item, and how long a reason may be.

/// Of a reason the beginning is kept.
const LONGEST_REASON: usize = 4096;
const HEAD: &[u8] = b"\0zkrecipes dead letter ";

/// What a dead letter keeps besides the data of its item. It stands before that data, in one node, so that it is there exactly
/// if the letter is. A letter without it is from before there were any, or was too long with it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DeadLetterHeader {
    pub(super) attempts: u32,
    pub(super) reason: Option<String>,
}

impl DeadLetterHeader {
    /// The data of a letter about an item with that data.
    pub(super) fn join(&self, data: &[u8]) -> Vec<u8> {
        let reason = self.reason.as_deref().map(shortened);
        let length = reason.map_or("-".to_owned(), |reason| reason.len().to_string());
        let mut bytes = HEAD.to_vec();
        bytes.extend_from_slice(format!("{} {length}\n", self.attempts).as_bytes());
        bytes.extend_from_slice(reason.unwrap_or_default().as_bytes());
        bytes.extend_from_slice(data);
        bytes
    }

    /// What a letter keeps, and the data of its item.
    pub(super) fn split(bytes: &[u8]) -> (DeadLetterHeader, &[u8]) {
        DeadLetterHeader::parse(bytes).unwrap_or_else(|| (DeadLetterHeader::default(), bytes))
    }

    fn parse(bytes: &[u8]) -> Option<(DeadLetterHeader, &[u8])> {
        let rest = bytes.strip_prefix(HEAD)?;
        let line = rest.iter().position(|byte| *byte == b'\n')?;
        let (attempts, length) = std::str::from_utf8(&rest[..line]).ok()?.split_once(' ')?;
        let (attempts, rest) = (attempts.parse().ok()?, &rest[line + 1..]);
        if length == "-" {
            return Some((DeadLetterHeader { attempts, reason: None }, rest));
        }
        let (reason, data) = rest.split_at_checked(length.parse().ok()?)?;
        Some((
            DeadLetterHeader { attempts, reason: Some(String::from_utf8_lossy(reason).into_owned()) },
            data,
        ))
    }
}

fn shortened(reason: &str) -> &str {
    let end = (0..=LONGEST_REASON.min(reason.len())).rev().find(|at| reason.is_char_boundary(*at));
    &reason[..end.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_keeps_what_it_was_given() {
        for reason in [None, Some(""), Some("no such user"), Some("ä\nö")] {
            for data in [&b""[..], b"tea", HEAD, &[0, 255, 10]] {
                let header = DeadLetterHeader { attempts: 16, reason: reason.map(str::to_owned) };
                assert_eq!(DeadLetterHeader::split(&header.join(data)), (header, data));
            }
        }
    }

    #[test]
    fn what_is_no_letter_of_this_kind_is_data() {
        for data in
            [&b"tea"[..], b"", HEAD, b"\0zkrecipes dead letter 1 99\nshort", b"\0zkrecipes dead letter x -\n"]
        {
            assert_eq!(DeadLetterHeader::split(data), (DeadLetterHeader::default(), data));
        }
    }

    #[test]
    fn of_a_long_reason_the_beginning_is_kept() {
        let reason = format!("a{}", "ü".repeat(LONGEST_REASON));
        let header = DeadLetterHeader { attempts: 1, reason: Some(reason.clone()) };
        let bytes = header.join(b"tea");
        let (opened, data) = DeadLetterHeader::split(&bytes);
        let kept = opened.reason.expect("there is one");
        assert_eq!(data, b"tea");
        assert!(reason.starts_with(&kept) && kept.len() == LONGEST_REASON - 1, "{}", kept.len());
    }
}
