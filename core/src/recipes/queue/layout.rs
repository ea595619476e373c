//! Where the items of a queue are, how they are named, and what stands beside them.
//!
//! | naming | queue | item | data |
//! |---|---|---|---|
//! | Curator, ZooKeeper | simple | `P/qn-N` | raw |
//! | Curator, ZooKeeper | distributed | `P/queue-N` | Curator's encoding |
//! | Curator, ZooKeeper | priority | `P/queue-` `1` or `0` (below zero) `%08X` `N` | Curator's encoding |
//! | kazoo | simple | `P/entry-100-N` | raw |
//! | kazoo | locking | `P/entries/entry-100-N`, claimed by `P/taken/<item>` | raw |
//! | kazoo | priority | `P/entry-%03d-N` | raw |
//! | all | delay | `P/queue-\|%08X\|N`, milliseconds since 1970 | Curator's encoding |
//!
//! Some peers take every child of P for an item. So what is ours alone stands beside it, in containers: claims and marks in
//! `P-__queue__`, dead letters in `P-__dead__` (see `letter`). A queue that is spread over several nodes is for ours alone: the items are
//! below `P/0`, `P/1` and so on.

use std::cmp::Ordering;

use super::letter;
use crate::error::{Error, Result};
use crate::options::{Naming, QueueLayout};
use crate::path;

/// In which order items are taken.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Order {
    /// As they came.
    Arrival,
    /// The lowest number first.
    Priority,
    /// What is due first, and nothing before that.
    Due,
}

/// What of a number of an item goes before the sequence number of its name.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Names {
    Qn,
    Queue,
    Entry,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Layout {
    /// The path of the queue.
    pub(super) path: String,
    /// The parent of the items.
    pub(super) items: String,
    /// The parent of the claims.
    pub(super) claims: String,
    /// The parent of the marks.
    pub(super) marks: String,
    /// Where the dead letters are.
    dead: String,
    pub(super) order: Order,
    names: Names,
    /// Whether the data of a node is Curator's encoding of items.
    is_encoded: bool,
    /// Whether these are dead letters, which keep more than the data of an item.
    pub(super) is_dead: bool,
    /// Whether peers claim by a node that we heed. Else only we claim, and that raises the version of the item.
    pub(super) has_claims_of_peers: bool,
}

impl Layout {
    pub(super) fn new(path: &str, order: Order, naming: Naming, layout: QueueLayout) -> Result<Layout> {
        let refused = |why: &str| Err(Error::invalid("layout", why));
        let is_kazoo = naming == Naming::Kazoo;
        let names = match (order, layout) {
            (Order::Priority | Order::Due, QueueLayout::Distributed | QueueLayout::Locking) => {
                return refused("is for plain queues; priority and delay queues have one layout each");
            }
            (_, QueueLayout::Locking) if !is_kazoo => {
                return refused("locking is kazoo's; connect with naming kazoo, or leave the layout out");
            }
            (_, QueueLayout::Distributed) if is_kazoo => {
                return refused(
                    "distributed is Curator's; connect with naming curator, or leave the layout out",
                );
            }
            (Order::Due, _) => Names::Queue,
            (_, _) if is_kazoo => Names::Entry,
            (Order::Arrival, QueueLayout::Simple) => Names::Qn,
            _ => Names::Queue,
        };
        let is_locking = layout == QueueLayout::Locking;
        let beside = format!("{path}-__queue__");
        Ok(Layout {
            path: path.to_owned(),
            items: if is_locking { path::join(path, "entries") } else { path.to_owned() },
            claims: if is_locking { path::join(path, "taken") } else { path::join(&beside, "claims") },
            marks: path::join(&beside, "marks"),
            dead: format!("{path}-__dead__"),
            order,
            names,
            is_encoded: names == Names::Queue,
            is_dead: false,
            has_claims_of_peers: is_locking,
        })
    }

    /// Where the dead letters of this queue are.
    pub(super) fn dead(&self) -> Layout {
        let layout = self.at(self.dead.clone());
        Layout {
            dead: format!("{}-__dead__", self.dead),
            is_dead: true,
            has_claims_of_peers: false,
            ..layout
        }
    }

    /// One of the nodes over which this queue is spread. They have their dead letters together.
    pub(super) fn shard(&self, number: usize) -> Layout {
        self.at(path::join(&self.path, &number.to_string()))
    }

    /// The same elsewhere, with what is ours beside it.
    fn at(&self, path: String) -> Layout {
        let beside = format!("{path}-__queue__");
        Layout {
            items: path.clone(),
            claims: path::join(&beside, "claims"),
            marks: path::join(&beside, "marks"),
            path,
            ..self.clone()
        }
    }

    /// The path of a new item of that priority, or due then, to which the server appends a number.
    pub(super) fn fresh(&self, key: i64) -> Result<String> {
        let name = match (self.names, self.order) {
            (Names::Qn, _) => "qn-".to_owned(),
            (Names::Queue, Order::Arrival) => "queue-".to_owned(),
            (Names::Queue, Order::Priority) => {
                format!("queue-{}{:08X}", i32::from(key >= 0), key as u32)
            }
            (Names::Queue, Order::Due) => format!("queue-|{key:08X}|"),
            (Names::Entry, Order::Priority) if !(0..=999).contains(&key) => {
                return Err(Error::invalid(
                    "priority",
                    format!("{key} is not between 0 and 999, as kazoo has it"),
                ));
            }
            (Names::Entry, Order::Priority) => format!("entry-{key:03}-"),
            (Names::Entry, _) => "entry-100-".to_owned(),
        };
        Ok(path::join(&self.items, &name))
    }

    /// The path that an item's would be made from anew, in the items of `other`.
    pub(super) fn again(&self, name: &Name, other: &Layout) -> String {
        path::join(&other.items, &name.text[..name.number])
    }

    /// What is an item, in order.
    pub(super) fn sort<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Vec<Name> {
        let mut sorted: Vec<_> = names.into_iter().filter_map(|name| self.recognise(name)).collect();
        sorted.sort_unstable();
        sorted
    }

    pub(super) fn recognise(&self, text: &str) -> Option<Name> {
        let rest = text.strip_prefix(match self.names {
            Names::Qn => "qn-",
            Names::Queue => "queue-",
            Names::Entry => "entry-",
        })?;
        let (key, number) = match (self.names, self.order) {
            (Names::Qn, _) | (Names::Queue, Order::Arrival) => (0, rest),
            (Names::Queue, Order::Priority) => {
                let (key, number) = (rest.get(1..9)?, rest.get(9..)?);
                (i64::from(u32::from_str_radix(key, 16).ok()? as i32), number)
            }
            (Names::Queue, Order::Due) => {
                let (key, number) = rest.strip_prefix('|')?.split_once('|')?;
                (i64::from_str_radix(key, 16).ok()?, number)
            }
            (Names::Entry, _) => {
                let (key, number) = rest.split_once('-')?;
                (key.parse().ok()?, number)
            }
        };
        let sequence: i32 = number.parse().ok()?;
        Some(Name { key, sequence, number: text.len() - number.len(), text: text.to_owned() })
    }

    /// Whether it is not due yet, `now` being milliseconds since 1970.
    pub(super) fn is_early(&self, name: &Name, now: i64) -> bool {
        self.order == Order::Due && name.key > now
    }

    pub(super) fn encode(&self, data: &[u8]) -> Vec<u8> {
        if !self.is_encoded {
            return data.to_vec();
        }
        let mut bytes = Vec::with_capacity(data.len() + 10);
        bytes.extend_from_slice(&VERSION);
        bytes.push(ITEM);
        bytes.extend_from_slice(&(data.len() as u32).to_be_bytes());
        bytes.extend_from_slice(data);
        bytes.push(END);
        bytes
    }

    /// The first item of a node, and what is left for the others in it, if there are any. Curator puts several into one.
    pub(super) fn decode(&self, bytes: &[u8]) -> Result<(Vec<u8>, Option<Vec<u8>>)> {
        let bytes = if self.is_dead { letter::opened(bytes).1 } else { bytes };
        if !self.is_encoded {
            return Ok((bytes.to_vec(), None));
        }
        first_of(bytes).ok_or_else(|| {
            Error::new(
                crate::error::ErrorKind::Mismatch,
                "the data of the item is not in Curator's encoding; make all who put agree on the layout, or choose another path",
            )
        })
    }
}

/// Whether an item of some queue may be called so.
pub(crate) fn is_item(name: &str) -> bool {
    let rest = ["qn-", "queue-", "entry-"].iter().find_map(|prefix| name.strip_prefix(prefix));
    // A number of the server's has ten digits, or nine behind its sign.
    rest.is_some_and(|rest| rest.bytes().rev().take_while(u8::is_ascii_digit).count() >= 9)
}

const VERSION: [u8; 4] = [0, 1, 0, 1];
const ITEM: u8 = 1;
const END: u8 = 2;

fn first_of(bytes: &[u8]) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let rest = bytes.strip_prefix(&VERSION)?.strip_prefix(&[ITEM])?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let (data, rest) = (rest.get(..length)?, rest.get(length..)?);
    match *rest.first()? {
        END => Some((data.to_vec(), None)),
        ITEM => Some((data.to_vec(), Some([&VERSION[..], rest].concat()))),
        _ => None,
    }
}

/// The name of an item. They are ordered as they are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) text: String,
    /// Its priority, or when it is due.
    pub(super) key: i64,
    sequence: i32,
    /// Where its number begins.
    number: usize,
}

impl Ord for Name {
    fn cmp(&self, other: &Name) -> Ordering {
        // The server's counter stops at its end, and pipelined creates may pass it into the negatives.
        let rank = |name: &Name| (name.key, name.sequence == i32::MAX || name.sequence < 0, name.sequence);
        rank(self).cmp(&rank(other)).then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Name) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(order: Order, naming: Naming) -> Layout {
        Layout::new("/q", order, naming, QueueLayout::Simple).expect("valid")
    }

    #[test]
    fn names_are_those_of_the_peers_and_keep_their_order() {
        let curator = layout(Order::Priority, Naming::Curator);
        for (key, name) in [(5, "/q/queue-100000005"), (-1, "/q/queue-0FFFFFFFF"), (0, "/q/queue-100000000")]
        {
            assert_eq!(curator.fresh(key).as_deref(), Ok(name));
        }
        let due = layout(Order::Due, Naming::Kazoo);
        assert_eq!(due.fresh(0x1234).as_deref(), Ok("/q/queue-|00001234|"));
        assert_eq!(layout(Order::Priority, Naming::Kazoo).fresh(7).as_deref(), Ok("/q/entry-007-"));
        for layout in [curator, due] {
            let names = [9, -3, 0, 7].map(|key: i64| {
                let key = if layout.order == Order::Due { key + 100 } else { key };
                path::name(&layout.fresh(key).expect("valid")).to_owned() + "0000000001"
            });
            let sorted: Vec<_> = layout.sort(&names).into_iter().map(|name| name.key).collect();
            assert!(sorted.is_sorted() && sorted.len() == 4, "{sorted:?}");
        }
    }

    #[test]
    fn the_end_of_the_range_comes_last() {
        let plain = layout(Order::Arrival, Naming::Curator);
        let names = ["qn-2147483647", "qn--2147483648", "qn-2147483646", "other"].map(str::to_owned);
        let sorted: Vec<_> = plain.sort(&names).into_iter().map(|name| name.text).collect();
        assert_eq!(sorted, ["qn-2147483646", "qn--2147483648", "qn-2147483647"]);
    }

    #[test]
    fn items_are_encoded_as_curator_does() {
        let distributed =
            Layout::new("/q", Order::Arrival, Naming::Curator, QueueLayout::Distributed).expect("valid");
        let one = distributed.encode(b"ab");
        assert_eq!(one, [0, 1, 0, 1, 1, 0, 0, 0, 2, b'a', b'b', 2]);
        assert_eq!(distributed.decode(&one), Ok((b"ab".to_vec(), None)));
        let two = [&one[..one.len() - 1], &[1, 0, 0, 0, 1, b'c', 2]].concat();
        let (first, rest) = distributed.decode(&two).expect("encoded");
        assert_eq!((first, rest), (b"ab".to_vec(), Some(distributed.encode(b"c"))));
        for bad in [&one[..7], b"plain", &[0, 1, 0, 1, 1, 255, 255, 255, 255, 2]] {
            assert!(distributed.decode(bad).is_err());
        }
    }
}
