//! The value of a counter as the data of its node.
//!
//! | | data | range |
//! |---|---|---|
//! | Curator `DistributedAtomicLong` | 8 bytes, big endian | 64 bits |
//! | Curator `SharedCount` | 4 bytes, big endian | 32 bits |
//! | kazoo `Counter` | decimal digits | 64 bits with us |
//!
//! No data is 0: that is how kazoo creates a counter, and how Curator reads an empty one.

use std::ops::RangeInclusive;

use crate::error::{Error, ErrorKind, Result};
use crate::options::{CounterLayout, Naming};

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Encoding {
    Long,
    Int,
    Decimal,
}

impl Encoding {
    /// The recipes that ship with ZooKeeper have no counter; with their names we use Curator's.
    pub(super) fn of(naming: Naming, layout: CounterLayout) -> Encoding {
        match (naming, layout) {
            (Naming::Kazoo, _) => Encoding::Decimal,
            (Naming::Curator | Naming::Zookeeper, CounterLayout::Atomic) => Encoding::Long,
            (Naming::Curator | Naming::Zookeeper, CounterLayout::Shared) => Encoding::Int,
        }
    }

    pub(super) fn range(self) -> RangeInclusive<i64> {
        match self {
            Encoding::Int => i64::from(i32::MIN)..=i64::from(i32::MAX),
            Encoding::Long | Encoding::Decimal => i64::MIN..=i64::MAX,
        }
    }

    /// `value` is in the range.
    pub(super) fn encode(self, value: i64) -> Vec<u8> {
        match self {
            Encoding::Long => value.to_be_bytes().to_vec(),
            Encoding::Int => (value as i32).to_be_bytes().to_vec(),
            Encoding::Decimal => value.to_string().into_bytes(),
        }
    }

    pub(super) fn decode(self, data: &[u8]) -> Result<i64> {
        let value = match self {
            _ if data.is_empty() => Some(0),
            Encoding::Long => data.try_into().ok().map(i64::from_be_bytes),
            Encoding::Int => data.try_into().ok().map(|data| i64::from(i32::from_be_bytes(data))),
            Encoding::Decimal => std::str::from_utf8(data).ok().and_then(|digits| digits.trim().parse().ok()),
        };
        value.ok_or_else(|| {
            let expected = match self {
                Encoding::Long => "8 bytes, as of Curator's DistributedAtomicLong",
                Encoding::Int => "4 bytes, as of Curator's SharedCount",
                Encoding::Decimal => "a whole number of at most 64 bits in digits, as of kazoo's Counter",
            };
            Error::new(
                ErrorKind::Mismatch,
                format!(
                    "the node holds {} bytes that are not {expected}; make all participants agree on layout and naming, or \
                     choose another path",
                    data.len()
                ),
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_comes_back_as_it_was_written() {
        for encoding in [Encoding::Long, Encoding::Int, Encoding::Decimal] {
            let range = encoding.range();
            for value in [*range.start(), -1, 0, 1, *range.end()] {
                assert_eq!(encoding.decode(&encoding.encode(value)), Ok(value), "{encoding:?}");
            }
            assert_eq!(encoding.decode(b""), Ok(0), "{encoding:?}");
        }
    }

    #[test]
    fn the_bytes_are_those_of_the_peers() {
        assert_eq!(Encoding::Long.encode(258), [0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(Encoding::Int.encode(-2), [0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(Encoding::Decimal.encode(-7), b"-7");
    }

    #[test]
    fn data_of_another_layout_is_refused() {
        for (encoding, data) in [
            (Encoding::Long, &[0, 0, 0, 1][..]),
            (Encoding::Int, &[0; 8][..]),
            (Encoding::Decimal, b"1.5"),
            (Encoding::Decimal, b"99999999999999999999"),
        ] {
            assert_eq!(encoding.decode(data).unwrap_err().kind(), ErrorKind::Mismatch);
        }
    }
}
