//! What asks a contender to let go: a word in the data of its node.
//!
//! 1. The word takes the place of what the node says of its owner. A holder that listens hears it, and writes that there again.
//! 2. A leader that `campaign` has won may listen to nothing, and is to be known all the same. So whoever asks a candidate of ours
//!    reads its node first, and what that says goes behind the word and a NUL. Nobody else reads more: a leader that is never
//!    asked costs nothing, and the participants of others are asked by the word alone, which is all that they know.

use super::name::ContenderName;
use crate::path;
use crate::session::call::Call;
use crate::session::refusal::Failure;
use crate::session::wire::{Stat, WireError};

/// Curator's word.
pub(crate) const REVOKE: &[u8] = b"__REVOKE__";

/// What is longer might not fit into a request together with the word.
const MOST: usize = 512 * 1024;

/// Whether a node that says `data` was asked.
pub(crate) fn is_request(data: &[u8]) -> bool {
    data == REVOKE || behind_the_word(data).is_some()
}

/// What a node says of its owner, whether or not it was asked. The word alone, if nobody knows any more.
pub(crate) fn said(data: &[u8]) -> &[u8] {
    behind_the_word(data).unwrap_or(data)
}

/// What asks the candidate whose node says `data`.
pub(super) fn request(data: &[u8]) -> Vec<u8> {
    match said(data) {
        said if said == REVOKE || said.len() > MOST => REVOKE.to_vec(),
        said => [REVOKE, b"\0", said].concat(),
    }
}

fn behind_the_word(data: &[u8]) -> Option<&[u8]> {
    data.strip_prefix(REVOKE)?.strip_prefix(b"\0")
}

/// Asks the contender at `node`. Asking twice asks once.
pub(crate) async fn ask(call: &mut Call, verb: &'static str, node: &str) -> Result<Stat, Failure> {
    let entry = ContenderName::recognise(path::name(node));
    let is_candidate = entry.is_some_and(|entry| entry.priority.is_some());
    let word = match is_candidate {
        false => REVOKE.to_vec(),
        true => match call.ask(verb, |server| server.get_data(node)).await {
            Ok((data, _)) => request(&data),
            Err(Failure::Refused(WireError::NoAuth)) => REVOKE.to_vec(),
            Err(failure) => return Err(failure),
        },
    };
    call.ask(verb, |server| server.set_data(node, &word, None)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_asked_is_still_known() {
        for data in [&b"host:1"[..], b"host:1\0at port 80", b"", b"\0data"] {
            assert!(!is_request(data));
            let asked = request(data);
            assert!(is_request(&asked));
            assert_eq!(said(&asked), data);
            assert_eq!(request(&asked), asked, "by two");
        }
        assert!(is_request(REVOKE));
        assert_eq!(said(REVOKE), REVOKE);
        assert_eq!(request(REVOKE), REVOKE, "nobody knows any more");
        assert_eq!(request(&vec![0; MOST + 1]), REVOKE);
        assert!(!is_request(b"__REVOKE__R"));
    }
}
