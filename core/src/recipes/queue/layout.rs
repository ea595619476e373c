//! The nodes of a queue: where they are, how they are named, and what their data means.
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
//! Most peers take every child of P for an item. So what is ours alone stands beside it, in containers: claims, pauses and
//! marks in `P-__queue__`, dead letters in `P-__dead__`. Where the items are further below, it is below P: in `P/__queue__`
//! and `P/__dead__`. That is so in kazoo's layout `locking`, and in a queue that is spread over several nodes, which is for ours
//! alone. Its items are below `P/0`, `P/1` and so on. Each of these has claims, pauses and marks of its own, in
//! `P/0-__queue__` and so on; the keys in `P/__queue__` and the dead letters they have in common.
//!
//! Whether an item of a delay queue is due, and whether a pause is over, goes by the clock of the client that looks.

use super::dead_letter_header::DeadLetterHeader;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};
use crate::options::{Naming, QueueLayout};
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Moment;
use crate::session::wire::{CreateMode, Write};

/// The name of the node below which is what is ours alone, behind the path of the queue and `-` or `/`.
pub(crate) const OWN: &str = "__queue__";
/// The same of the dead letters.
pub(crate) const DEAD: &str = "__dead__";

/// The data of the parent of items where we have made it: it stays when it is empty. See `items_parent`.
pub(crate) const STAYS: &[u8] = b"queue";

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
enum NamePrefix {
    Qn,
    Queue,
    Entry,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeLayout {
    /// The path of the queue, or of one of the nodes over which it is spread.
    pub(super) path: String,
    /// The path of the queue, whichever of those this is.
    pub(super) root: String,
    /// The parent of the items.
    pub(super) items: String,
    /// The parent of what is ours alone.
    own: String,
    /// The parent of the claims.
    pub(super) claims: String,
    /// The parent of the marks.
    pub(super) marks: String,
    /// The parent of what remembers keys of puts. Shards have it together.
    pub(super) keys: String,
    /// Where the dead letters are.
    dead: String,
    pub(super) order: Order,
    names: NamePrefix,
    /// Whether the data of a node is Curator's encoding of items.
    is_encoded: bool,
    /// Whether these are dead letters, which keep more than the data of an item.
    pub(super) is_dead: bool,
    /// Whether peers claim by a node that we heed. Else only we claim, and that raises the version of the item.
    pub(super) has_claims_of_peers: bool,
}

impl NodeLayout {
    pub(super) fn new(path: &str, order: Order, naming: Naming, layout: QueueLayout) -> Result<NodeLayout> {
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
            (Order::Due, _) => NamePrefix::Queue,
            (_, _) if is_kazoo => NamePrefix::Entry,
            (Order::Arrival, QueueLayout::Simple) => NamePrefix::Qn,
            _ => NamePrefix::Queue,
        };
        let beside = NodeLayout {
            path: path.to_owned(),
            root: path.to_owned(),
            items: path.to_owned(),
            claims: String::new(),
            marks: String::new(),
            own: String::new(),
            keys: String::new(),
            dead: format!("{path}-{DEAD}"),
            order,
            names,
            is_encoded: names == NamePrefix::Queue,
            is_dead: false,
            has_claims_of_peers: false,
        };
        let beside = beside.with_own(format!("{path}-{OWN}"));
        let beside = NodeLayout { keys: beside.own("keys"), ..beside };
        Ok(match layout {
            QueueLayout::Locking => NodeLayout {
                items: path::join(path, "entries"),
                claims: path::join(path, "taken"),
                has_claims_of_peers: true,
                ..beside.with_own_below()
            },
            _ => beside,
        })
    }

    /// With all that is ours alone below the path.
    pub(super) fn with_own_below(self) -> NodeLayout {
        let below = self.with_own(path::join(&self.path, OWN));
        NodeLayout { keys: below.own("keys"), dead: path::join(&self.path, DEAD), ..below }
    }

    fn with_own(&self, own: String) -> NodeLayout {
        NodeLayout {
            claims: path::join(&own, "claims"),
            marks: path::join(&own, "marks"),
            own,
            ..self.clone()
        }
    }

    /// The path of something that is ours alone.
    pub(super) fn own(&self, name: &str) -> String {
        path::join(&self.own, name)
    }

    /// Where the dead letters of this queue are.
    pub(super) fn dead(&self) -> NodeLayout {
        let layout = self.at(self.dead.clone());
        NodeLayout {
            dead: format!("{}-{DEAD}", self.dead),
            is_dead: true,
            has_claims_of_peers: false,
            ..layout
        }
    }

    /// One of the nodes over which this queue is spread. They have their dead letters together.
    pub(super) fn shard(&self, number: usize) -> NodeLayout {
        self.at(path::join(&self.path, &number.to_string()))
    }

    /// The same elsewhere, with what is ours beside it.
    fn at(&self, path: String) -> NodeLayout {
        NodeLayout { items: path.clone(), path: path.clone(), ..self.with_own(format!("{path}-{OWN}")) }
    }

    /// The path of a new item of that priority, or due then, to which the server appends a number.
    pub(super) fn fresh(&self, key: i64) -> Result<String> {
        let name = match (self.names, self.order) {
            (NamePrefix::Qn, _) => "qn-".to_owned(),
            (NamePrefix::Queue, Order::Arrival) => "queue-".to_owned(),
            (NamePrefix::Queue, Order::Priority) => {
                format!("queue-{}{:08X}", i32::from(key >= 0), key as u32)
            }
            (NamePrefix::Queue, Order::Due) => format!("queue-|{key:08X}|"),
            (NamePrefix::Entry, Order::Priority) if !(0..=999).contains(&key) => {
                return Err(Error::invalid(
                    "priority",
                    format!("{key} is not between 0 and 999, as kazoo has it"),
                ));
            }
            (NamePrefix::Entry, Order::Priority) => format!("entry-{key:03}-"),
            (NamePrefix::Entry, _) => "entry-100-".to_owned(),
        };
        Ok(path::join(&self.items, &name))
    }

    /// The path that an item's would be made from anew, in the items of `other`.
    pub(super) fn again(&self, name: &ItemName, other: &NodeLayout) -> String {
        path::join(&other.items, &name.text[..name.number])
    }

    /// What proves that nobody has claimed an item: it makes the node of a claim and deletes it again.
    pub(super) fn proof_of_no_claim(&self, session: &Session, item: &str) -> [Write; 2] {
        let (path, data) = (path::join(&self.claims, item), session.identity().as_bytes().to_vec());
        let claim = Write::Create { path: path.clone(), data, mode: CreateMode::Ephemeral, acl: None };
        [claim, Write::Delete { path, version: None }]
    }

    /// What is an item, in order.
    pub(super) fn sort<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> Vec<ItemName> {
        let mut sorted: Vec<_> = names.into_iter().filter_map(|name| self.recognise(name)).collect();
        sorted.sort_unstable();
        sorted
    }

    pub(super) fn recognise(&self, text: &str) -> Option<ItemName> {
        let rest = text.strip_prefix(match self.names {
            NamePrefix::Qn => "qn-",
            NamePrefix::Queue => "queue-",
            NamePrefix::Entry => "entry-",
        })?;
        let (key, number) = match (self.names, self.order) {
            (NamePrefix::Qn, _) | (NamePrefix::Queue, Order::Arrival) => (0, rest),
            (NamePrefix::Queue, Order::Priority) => {
                let (key, number) = (rest.get(1..9)?, rest.get(9..)?);
                (i64::from(u32::from_str_radix(key, 16).ok()? as i32), number)
            }
            (NamePrefix::Queue, Order::Due) => {
                let (key, number) = rest.strip_prefix('|')?.split_once('|')?;
                (i64::from_str_radix(key, 16).ok()?, number)
            }
            (NamePrefix::Entry, _) => {
                let (key, number) = rest.split_once('-')?;
                (key.parse().ok()?, number)
            }
        };
        let sequence: i32 = number.parse().ok()?;
        Some(ItemName { key, sequence, number: text.len() - number.len(), text: text.to_owned() })
    }

    /// Whether it is not due yet, `now` being milliseconds since 1970.
    pub(super) fn is_early(&self, name: &ItemName, now: i64) -> bool {
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
        let bytes = if self.is_dead { DeadLetterHeader::split(bytes).1 } else { bytes };
        if !self.is_encoded {
            return Ok((bytes.to_vec(), None));
        }
        first_of(bytes).ok_or_else(|| {
            Error::new(
                ErrorKind::Mismatch,
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

impl NodeLayout {
    /// What says that there is a pause of an item.
    fn mark_of_pause(&self, item: &str) -> String {
        path::join(&self.claims, &format!("{item}{PAUSE_SIGN}"))
    }

    /// What says how many claims of an item nobody was given.
    pub(super) fn unseen(&self, item: &str) -> String {
        path::join(&self.claims, &format!("{item}{PAUSE_SIGN}{UNSEEN}"))
    }

    /// What begins a pause.
    pub(super) fn pause(&self, item: &str, pause: &ItemPause) -> [Write; 2] {
        let create = |path| Write::Create { path, data: Vec::new(), mode: CreateMode::Persistent, acl: None };
        [create(self.mark_of_pause(item)), create(path::join(&self.claims, &pause.node))]
    }

    /// What ends the pause of an item of that version that is taken: the one that is known, or else the proof that there is none.
    pub(super) fn end_of_pause(&self, item: &str, known: Option<&str>, version: i32) -> Vec<Write> {
        let mark = self.mark_of_pause(item);
        let delete = |path| Write::Delete { path, version: None };
        match known {
            Some(node) => vec![delete(path::join(&self.claims, node)), delete(mark)],
            // Nobody has given it back yet.
            None if version == 0 => Vec::new(),
            None => {
                let (path, data) = (mark.clone(), Vec::new());
                vec![Write::Create { path, data, mode: CreateMode::Ephemeral, acl: None }, delete(mark)]
            }
        }
    }
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
pub(super) struct ItemName {
    pub(super) text: String,
    /// Its priority, or when it is due.
    pub(super) key: i64,
    pub(super) sequence: i32,
    /// Where its number begins.
    number: usize,
}

impl Ord for ItemName {
    fn cmp(&self, other: &ItemName) -> Ordering {
        // The server's counter stops at its end, and pipelined creates may pass it into the negatives.
        let rank =
            |name: &ItemName| (name.key, name.sequence == i32::MAX || name.sequence < 0, name.sequence);
        rank(self).cmp(&rank(other)).then_with(|| self.text.cmp(&other.text))
    }
}

impl PartialOrd for ItemName {
    fn partial_cmp(&self, other: &ItemName) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Between an item's name and what is said of its pause. Two persistent nodes beside the claims say it. They are made by the
/// transaction that gives the item back, and deleted by that of the next claim:
///
/// 1. `ITEM~DUE-LENGTHms`: until when, in milliseconds since 1970, and for how long. Whoever lists the claims learns it by
///    the name, and reads nothing.
/// 2. `ITEM~`: that there is a pause. Whoever knows of none and takes an item that was claimed before makes this node and
///    deletes it in the same transaction, which is refused if there is one: so an old list leads nobody past a pause.
const PAUSE_SIGN: char = '~';

/// Behind that sign, where it is no pause: see `unseen_claims`.
const UNSEEN: &str = "unseen";

/// Whether a node among the claims is about a pause, or about claims of before.
pub(crate) fn is_pause(name: &str) -> bool {
    name.contains(PAUSE_SIGN)
}

/// A thousand years in milliseconds.
pub(super) const LONGEST_DELAY: i64 = 1000 * 365 * 24 * 3600 * 1000;

/// A pause as the name of its node tells it. The clock of who gave the item back may differ from ours. So a pause lasts no
/// longer than its length after we first saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ItemPause {
    pub(super) node: String,
    due: i64,
    length: Duration,
}

impl ItemPause {
    /// One that begins `now`, in milliseconds since 1970.
    pub(super) fn new(item: &str, now: i64, length: Duration) -> ItemPause {
        // Rounded up, and less than any clock will see.
        let millis = i64::try_from(length.as_micros().div_ceil(1000)).unwrap_or(i64::MAX).min(LONGEST_DELAY);
        let due = now.saturating_add(millis);
        let length = Duration::from_millis(millis as u64);
        ItemPause { node: format!("{item}{PAUSE_SIGN}{due}-{millis}ms"), due, length }
    }

    fn parse(node: &str, said: &str) -> Option<ItemPause> {
        let (due, millis) = said.strip_suffix("ms")?.split_once('-')?;
        let length = Duration::from_millis(millis.parse().ok()?);
        Some(ItemPause { node: node.to_owned(), due: due.parse().ok()?, length })
    }

    /// When it is over, for who sees it for the first time.
    pub(super) fn until(&self, now: Moment, wall: i64) -> Moment {
        let left = u64::try_from(self.due.saturating_sub(wall)).unwrap_or(0);
        now + Duration::from_millis(left).min(self.length)
    }
}

/// An item that nobody has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FreeItem {
    pub(super) name: ItemName,
    pub(super) pause: Option<ItemPause>,
}

/// The nodes of a pause that pauses nothing any more, or what was written down of an item that is gone. Of two the first has a name that no other one will have: who deletes them
/// together deletes no part of the next pause.
pub(super) type StrayPause = Vec<String>;

/// The items that nobody has claimed, in order; and what pauses nothing any more. Where it is not certain that the items were
/// listed behind what stands beside them, that may be of one that is to come.
pub(super) fn free(
    layout: &NodeLayout,
    names: &[String],
    beside: &[String],
    are_items_newer: bool,
) -> (Vec<FreeItem>, Vec<StrayPause>) {
    let mut claimed = HashSet::new();
    let (mut pauses, mut marked, mut unseen) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    let mut strays = Vec::new();
    for node in beside {
        match node.split_once(PAUSE_SIGN) {
            None => drop(claimed.insert(&**node)),
            Some((item, "")) => drop(marked.insert(item)),
            Some((item, UNSEEN)) => drop(unseen.insert(item)),
            Some((item, said)) => pauses.extend(ItemPause::parse(node, said).map(|pause| (item, pause))),
        }
    }
    // One without the other was left by a hand: nobody could end such a pause.
    for item in &marked {
        if !pauses.contains_key(item) {
            strays.push(vec![format!("{item}{PAUSE_SIGN}")]);
        }
    }
    pauses.retain(|item, pause| {
        let is_whole = marked.contains(item);
        if !is_whole {
            strays.push(vec![pause.node.clone()]);
        }
        is_whole
    });
    let mut free = Vec::new();
    for name in layout.sort(names) {
        let pause = pauses.remove(&*name.text);
        unseen.remove(&*name.text);
        if !claimed.contains(&*name.text) {
            free.push(FreeItem { name, pause });
        }
    }
    // Others take items without a look at what stands beside them, and the next of that name is not to be paused.
    if are_items_newer {
        strays
            .extend(pauses.into_iter().map(|(item, pause)| vec![pause.node, format!("{item}{PAUSE_SIGN}")]));
        strays.extend(unseen.into_iter().map(|item| vec![format!("{item}{PAUSE_SIGN}{UNSEEN}")]));
    }
    (free, strays)
}

/// Makes the parent of the items, which stays when it is empty: numbers would begin anew with another one, and a request that was
/// lost could mean the next item of its name. What is above it is made as everywhere.
pub(super) async fn make_items(
    session: &Arc<Session>,
    call: &mut Call,
    verb: &str,
    items: &str,
) -> Result<()> {
    if path::parent(items) != "/" {
        make_parent(call, verb, path::parent(items), session.parents()).await?;
    }
    let server_session = call.server_session(verb).await?;
    call.make_path_with(verb, &server_session, items, STAYS, CreateMode::Persistent).await.map(drop)
}

/// Makes the parent of the claims, which peers may count on where they claim, too.
pub(super) async fn make_claims(
    session: &Arc<Session>,
    call: &mut Call,
    verb: &str,
    layout: &NodeLayout,
) -> Result<()> {
    let mode = if layout.has_claims_of_peers { session.parents() } else { CreateMode::Container };
    make_parent(call, verb, &layout.claims, mode).await
}

/// Asks once; the caller tries again what it was for.
pub(super) async fn make_parent(call: &mut Call, verb: &str, path: &str, mode: CreateMode) -> Result<()> {
    let server_session = call.server_session(verb).await?;
    call.make_path(verb, &server_session, path, mode).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(order: Order, naming: Naming) -> NodeLayout {
        NodeLayout::new("/q", order, naming, QueueLayout::Simple).expect("valid")
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
            NodeLayout::new("/q", Order::Arrival, Naming::Curator, QueueLayout::Distributed).expect("valid");
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

    #[test]
    fn a_list_of_claims_tells_who_is_paused_and_what_pauses_nothing() {
        let layout =
            NodeLayout::new("/q", Order::Arrival, Naming::Curator, QueueLayout::Simple).expect("valid");
        let name = |number: u32| format!("qn-{number:010}");
        let pause = |number, due: i64| ItemPause::new(&name(number), due - 1000, Duration::from_secs(1)).node;
        let mark = |number| format!("{}~", name(number));
        let items: Vec<_> = (1..=6).map(name).collect();
        let gone = (mark(8), pause(8, 5000));
        let beside = [
            name(1),
            mark(2),
            pause(2, 9000),
            mark(4),
            pause(5, 9000),
            mark(7),
            pause(7, 9000),
            gone.0.clone(),
            gone.1.clone(),
            "qn-0000000006~what".to_owned(),
            "qn-0000000006~unseen".to_owned(),
            "qn-0000000009~unseen".to_owned(),
        ];
        let (found, mut strays) = free(&layout, &items, &beside, true);
        let found: Vec<_> =
            found.iter().map(|free| (&*free.name.text, free.pause.as_ref().map(|p| p.due))).collect();
        let (two, three, four, five, six) = (name(2), name(3), name(4), name(5), name(6));
        assert_eq!(
            found,
            [(&*two, Some(9000)), (&*three, None), (&*four, None), (&*five, None), (&*six, None)],
            "one is claimed, two is paused"
        );
        let halves = [vec![mark(4)], vec![pause(5, 9000)]];
        let of_items_that_are_gone =
            [vec![gone.1, gone.0], vec![pause(7, 9000), mark(7)], vec!["qn-0000000009~unseen".to_owned()]];
        let mut expected = [&halves[..], &of_items_that_are_gone].concat();
        strays.sort();
        expected.sort();
        assert_eq!(strays, expected);
        let (_, mut strays) = free(&layout, &items, &beside, false);
        strays.sort();
        assert_eq!(strays, halves, "the others may be of a newer item");
    }
}
