//! What candidates and leaders write down for others to read.
//!
//! A candidate's node says its identity, as the peers' do, and behind a NUL its data, if there is any. A leader that has
//! begun its work says so in the data of the election's own node, which no peer uses: under the candidates it would be
//! taken for one.

use crate::turn::revocation;

/// The data of a candidate's node.
pub(super) fn of_candidate(identity: &str, data: &[u8]) -> Vec<u8> {
    let mut statement = identity.as_bytes().to_vec();
    if !data.is_empty() {
        statement.push(0);
        statement.extend_from_slice(data);
    }
    statement
}

/// Identity and data of a candidate, ours or a peer's.
pub(super) fn parse_candidate(statement: &[u8]) -> (String, Vec<u8>) {
    // Of one that was asked to let go it stands behind the word.
    let statement = revocation::said(statement);
    let end = statement.iter().position(|byte| *byte == 0);
    let (identity, data) = match end {
        Some(end) => (&statement[..end], &statement[end + 1..]),
        None => (statement, &[][..]),
    };
    (String::from_utf8_lossy(identity).into_owned(), data.to_vec())
}

/// What a leader says that has begun its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Acknowledgement {
    pub(super) epoch: u64,
    pub(super) identity: String,
    pub(super) data: Vec<u8>,
}

const WORD: &str = "leader ";

impl Acknowledgement {
    /// `leader`, the epoch, and behind the end of the line what a candidate says.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{WORD}{}\n", self.epoch).into_bytes();
        bytes.extend(of_candidate(&self.identity, &self.data));
        bytes
    }

    /// `None` for what somebody else wrote there, or nobody.
    pub(super) fn parse(bytes: &[u8]) -> Option<Acknowledgement> {
        let rest = bytes.strip_prefix(WORD.as_bytes())?;
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let epoch = std::str::from_utf8(&rest[..end]).ok()?.parse().ok()?;
        let (identity, data) = parse_candidate(&rest[end + 1..]);
        Some(Acknowledgement { epoch, identity, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_candidate_is_read_as_it_was_written() {
        for (identity, data) in
            [("host:1", &b""[..]), ("host:1", b"at port 80"), ("", b"\0\n"), ("a\nb", b"c")]
        {
            let statement = of_candidate(identity, data);
            assert_eq!(parse_candidate(&statement), (identity.to_owned(), data.to_vec()));
        }
        assert_eq!(of_candidate("a-peer", b""), b"a-peer", "as a peer writes it");
    }

    #[test]
    fn an_acknowledgement_is_read_as_it_was_written() {
        for data in [&b""[..], b"ready", b"\0leader 3\n"] {
            let said = Acknowledgement { epoch: 1 << 40, identity: "host:1".into(), data: data.to_vec() };
            assert_eq!(Acknowledgement::parse(&said.to_bytes()), Some(said));
        }
        for foreign in [&b""[..], b"leader", b"leader x\n", b"5", b"leader 5"] {
            assert_eq!(Acknowledgement::parse(foreign), None);
        }
    }
}
