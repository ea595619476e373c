//! How many bytes an answer took on the wire, for the metrics. What a server says of its own accord is not counted.

use zookeeper_client::PersistentWatcher;

use super::{Applied, Created, Read, Stat, Watch, WireError};
use crate::options::AclEntry;

/// Length, number of the request, zxid, error.
const HEADER: usize = 20;
const INT: usize = 4;
const STAT: usize = 68;
/// Before each part of a transaction, and once behind the last.
const PART: usize = 9;

/// What a server answers.
pub(super) trait Answer: Send + 'static {
    /// Without the header.
    fn bytes(&self) -> usize;
}

/// The bytes of an answer; none when it never came.
pub(super) fn bytes<T: Answer>(answer: &Result<T, WireError>) -> usize {
    match answer {
        Ok(answer) => HEADER + answer.bytes(),
        Err(error) if error.is_unanswered() => 0,
        Err(_) => HEADER,
    }
}

impl Answer for () {
    fn bytes(&self) -> usize {
        0
    }
}

impl Answer for bool {
    fn bytes(&self) -> usize {
        STAT
    }
}

impl Answer for Stat {
    fn bytes(&self) -> usize {
        STAT
    }
}

impl Answer for Watch {
    fn bytes(&self) -> usize {
        0
    }
}

impl Answer for PersistentWatcher {
    fn bytes(&self) -> usize {
        0
    }
}

impl Answer for Created {
    fn bytes(&self) -> usize {
        INT + self.path.len() + STAT
    }
}

impl Answer for Applied {
    fn bytes(&self) -> usize {
        PART + match self {
            Applied::Checked | Applied::Deleted => 0,
            Applied::Created(created) => created.bytes(),
            Applied::Set(stat) => stat.bytes(),
        }
    }
}

impl Answer for Read {
    fn bytes(&self) -> usize {
        PART + self.as_ref().map_or(INT, Answer::bytes)
    }
}

impl Answer for Vec<Read> {
    fn bytes(&self) -> usize {
        PART + self.iter().map(Answer::bytes).sum::<usize>()
    }
}

impl Answer for Vec<Applied> {
    fn bytes(&self) -> usize {
        PART + self.iter().map(Answer::bytes).sum::<usize>()
    }
}

impl Answer for Vec<AclEntry> {
    fn bytes(&self) -> usize {
        let text = |entry: &AclEntry| entry.scheme.len() + entry.id.len();
        STAT + self.iter().map(|entry| 3 * INT + text(entry)).sum::<usize>()
    }
}

impl Answer for Vec<u8> {
    fn bytes(&self) -> usize {
        INT + self.len()
    }
}

impl Answer for Vec<String> {
    fn bytes(&self) -> usize {
        INT + self.iter().map(|name| INT + name.len()).sum::<usize>()
    }
}

impl<T: Answer> Answer for Option<T> {
    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, Answer::bytes)
    }
}

impl<A: Answer, B: Answer> Answer for (A, B) {
    fn bytes(&self) -> usize {
        self.0.bytes() + self.1.bytes()
    }
}

impl<A: Answer, B: Answer, C: Answer> Answer for (A, B, C) {
    fn bytes(&self) -> usize {
        self.0.bytes() + self.1.bytes() + self.2.bytes()
    }
}
