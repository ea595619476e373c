//! The node of a counter: how the value is its data, how it is read, created and set.
//!
//! | | data | range |
//! |---|---|---|
//! | Curator `DistributedAtomicLong` | 8 bytes, big endian | 64 bits |
//! | Curator `SharedCount` | 4 bytes, big endian | 32 bits |
//! | kazoo `Counter` | decimal digits | 64 bits with us |
//! | our latch | `latch 2 0`: how many are left, how often it was opened | two numbers of 31 bits |
//!
//! No data is 0: that is how kazoo creates a counter, and how Curator reads an empty one. For a latch it is what the handle was
//! made with. Data that is no number of the layout
//! is a Mismatch. A change that would leave the range changes nothing.
//!
//! A write is guarded by the version of the node. After 2147483647 versions go on at -2147483648, and so come to -1, which a
//! write takes for any version: it would guard nothing. So no version of ours is -1: the transaction that begins at -2 writes
//! twice. Others write once, so it may be met all the same. There whoever writes creates a node that is named after the change
//! which led there, in the same transaction; it can be created once, and so only one of ours writes. (Others guard nothing
//! there, and that we cannot do for them.)

use std::ops::RangeInclusive;
use std::sync::Arc;

use super::latch_value::LatchValue;
use crate::error::{Error, ErrorKind, Result};
use crate::options::{CounterLayout, Naming};
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::once::mark::first_of_all;
use crate::session::once::sweep::Swept;
use crate::session::open_parents;
use crate::session::refusal::refusal;
use crate::session::wire::{CreateMode, Stat, WireError, Write};

pub(super) const VERB: &str = "counting";
/// The version that a write takes for any.
const ANY: i32 = -1;

#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::recipes) enum Encoding {
    Long,
    Int,
    Decimal,
    /// Of a latch, which begins with so many.
    Latch(u32),
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
            Encoding::Long | Encoding::Decimal | Encoding::Latch(_) => i64::MIN..=i64::MAX,
        }
    }

    /// What it is called.
    pub(super) fn noun(self) -> &'static str {
        match self {
            Encoding::Latch(_) => "latch",
            _ => "counter",
        }
    }

    /// Whether a change makes the node in any case: without it, others who say another number would know nothing of the change.
    pub(super) fn has_to_stand(self) -> bool {
        matches!(self, Encoding::Latch(_))
    }

    /// The value as long as there is none.
    pub(super) fn first(self) -> i64 {
        match self {
            Encoding::Latch(count) => LatchValue::first(count).packed(),
            _ => 0,
        }
    }

    /// `value` is in the range.
    pub(super) fn encode(self, value: i64) -> Vec<u8> {
        match self {
            Encoding::Long => value.to_be_bytes().to_vec(),
            Encoding::Int => (value as i32).to_be_bytes().to_vec(),
            Encoding::Decimal => value.to_string().into_bytes(),
            Encoding::Latch(_) => LatchValue::of(value).to_string().into_bytes(),
        }
    }

    pub(in crate::recipes) fn decode(self, data: &[u8]) -> Result<i64> {
        let value = match self {
            _ if data.is_empty() => Some(self.first()),
            Encoding::Long => data.try_into().ok().map(i64::from_be_bytes),
            Encoding::Int => data.try_into().ok().map(|data| i64::from(i32::from_be_bytes(data))),
            Encoding::Decimal => std::str::from_utf8(data).ok().and_then(|digits| digits.trim().parse().ok()),
            Encoding::Latch(_) => LatchValue::parse(data).map(LatchValue::packed),
        };
        value.ok_or_else(|| {
            let expected = match self {
                Encoding::Long => "8 bytes, as of Curator's DistributedAtomicLong",
                Encoding::Int => "4 bytes, as of Curator's SharedCount",
                Encoding::Decimal => "a whole number of at most 64 bits in digits, as of kazoo's Counter",
                Encoding::Latch(_) => "what a latch says, which is such as \"latch 2 0\"",
            };
            let advice = match self {
                Encoding::Latch(_) => "something else is kept there: delete it",
                _ => "make all participants agree on layout and naming",
            };
            let held = match data.len() {
                1 => "1 byte".to_owned(),
                bytes => format!("{bytes} bytes"),
            };
            Error::new(
                ErrorKind::Mismatch,
                format!("the node holds {held}, and not {expected}; {advice}, or choose another path"),
            )
        })
    }
}

/// Which state of the node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::recipes) struct NodeVersion {
    pub(in crate::recipes) czxid: i64,
    pub(super) version: i32,
}

/// The counter as it was read.
pub(in crate::recipes) struct Reading {
    pub(in crate::recipes) value: i64,
    /// `None` while it does not exist.
    pub(in crate::recipes) at: Option<NodeVersion>,
    pub(super) children: i32,
    /// Whether it says no value of its own.
    pub(super) is_empty: bool,
    /// The change that made it so; 0 where nobody asks.
    pub(super) mzxid: i64,
    /// Whether it was read after it was asked for; otherwise only a write can tell.
    pub(super) is_current: bool,
}

/// Where the counter is, and what all who change it there have in common.
pub(in crate::recipes) struct CounterNode {
    pub(in crate::recipes) path: String,
    pub(in crate::recipes) encoding: Encoding,
    /// Where the marks of others are looked after.
    pub(super) swept: Arc<Swept>,
}

impl CounterNode {
    pub(super) fn new(path: &str, encoding: Encoding) -> CounterNode {
        CounterNode { path: path.to_owned(), encoding, swept: Swept::new(path) }
    }

    /// While there is none.
    pub(super) fn missing(&self, is_current: bool) -> Reading {
        let value = self.encoding.first();
        Reading { value, at: None, is_empty: true, children: 0, mzxid: 0, is_current }
    }

    /// What a server answered.
    pub(super) fn parse(&self, data: &[u8], stat: &Stat, is_current: bool) -> Result<Reading> {
        Ok(Reading {
            value: self.encoding.decode(data)?,
            at: Some(NodeVersion { czxid: stat.czxid, version: stat.version }),
            is_empty: data.is_empty(),
            children: stat.num_children,
            mzxid: stat.mzxid,
            is_current,
        })
    }

    /// Reads the counter; if wanted, no older than now.
    pub(in crate::recipes) async fn read(&self, call: &mut Call, is_current: bool) -> Result<Reading> {
        loop {
            let server_session = call.server_session(VERB).await?;
            let link = server_session.link();
            // In one flight: the server answers the read after it has caught up.
            let sync = is_current.then(|| server_session.sync(&self.path));
            let read = server_session.get_data(&self.path);
            if let Some(sync) = sync {
                match call.receive(VERB, sync).await? {
                    Err(error) if error.is_unanswered() => {
                        call.retry_after_loss(VERB).await?;
                        continue;
                    }
                    answer => answer.map_err(|error| refusal(error, VERB, &self.path))?,
                }
            }
            let read = call.receive(VERB, read).await?;
            let is_one_connection = !is_current || server_session.link() == link;
            match read {
                Ok((data, stat)) if is_one_connection => return self.parse(&data, &stat, is_current),
                Err(WireError::NoNode) if is_one_connection => {
                    return Ok(self.missing(is_current));
                }
                Err(error) if !error.is_unanswered() && error != WireError::NoNode => {
                    return Err(refusal(error, VERB, &self.path));
                }
                _ => call.retry_after_loss(VERB).await?,
            }
        }
    }

    /// Creates the counter, and what is missing above it, as 0; an error to look again, which says whether somebody else has.
    pub(super) async fn create(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
    ) -> Result<Result<NodeVersion, bool>> {
        let server_session = call.server_session(VERB).await?;
        let zero = self.encoding.encode(0);
        self.look_at_parent(session, call).await?;
        let failed =
            match call.receive(VERB, server_session.create(&self.path, &zero, CreateMode::Persistent)).await?
            {
                Err(WireError::NoNode) => return self.make_parent(session, call).await.map(|()| Err(false)),
                Ok(created) => return Ok(Ok(NodeVersion { czxid: created.czxid, version: 0 })),
                Err(WireError::NodeExists) => return Ok(Err(true)),
                Err(error) => error,
            };
        call.retry_or_refuse(failed, VERB, &self.path).await?;
        Ok(Err(false))
    }

    /// What creates it with that value.
    pub(super) fn creation(&self, value: i64) -> Write {
        let data = self.encoding.encode(value);
        Write::Create { path: self.path.clone(), data, mode: CreateMode::Persistent, acl: None }
    }

    /// Whether others may delete what is made there.
    pub(super) async fn look_at_parent(&self, session: &Arc<Session>, call: &mut Call) -> Result<()> {
        let server_session = call.server_session(VERB).await?;
        open_parents::look(session, &server_session, call, VERB, path::parent(&self.path)).await
    }

    /// The same of a counter that stands: as long as it does, the parent is the same.
    pub(super) async fn look_at_parent_once(&self, session: &Arc<Session>, call: &mut Call) -> Result<()> {
        let server_session = call.server_session(VERB).await?;
        open_parents::look_once(session, &server_session, call, VERB, path::parent(&self.path)).await
    }

    pub(super) async fn make_parent(&self, session: &Arc<Session>, call: &mut Call) -> Result<()> {
        let server_session = call.server_session(VERB).await?;
        let parents = session.ensure(&server_session, path::parent(&self.path), session.parents());
        match call.receive(VERB, parents).await? {
            Ok(_) => Ok(()),
            Err(error) => call.retry_or_refuse(error, VERB, &self.path).await,
        }
    }

    /// What sets the counter, if it is still at `at`, where the change `mzxid` has led. The first part is refused otherwise.
    pub(super) fn set_if_unchanged(&self, value: i64, at: NodeVersion, mzxid: i64) -> Vec<Write> {
        let (path, data) = (&*self.path, self.encoding.encode(value));
        let set = |version| Write::Set { path: path.to_owned(), data: data.clone(), version: Some(version) };
        match at.version {
            ANY => vec![first_of_all(path, (at.czxid, mzxid)), set(ANY)],
            -2 => vec![set(-2), set(ANY)],
            version => vec![set(version)],
        }
    }
}

/// Whether the first part was refused because the counter is not as it was read.
pub(super) fn has_changed(error: &WireError) -> bool {
    matches!(error, WireError::BadVersion | WireError::NoNode | WireError::NodeExists)
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
        let said = |data: &[u8]| Encoding::Long.decode(data).unwrap_err().to_string();
        assert!(said(b"1").starts_with("the node holds 1 byte, and not 8 bytes,"), "{}", said(b"1"));
        assert!(said(b"12").starts_with("the node holds 2 bytes, and not 8"), "{}", said(b"12"));
    }
}
