//! What stands below the path of a double barrier: `ready` while a round is on, and one node for each member.
//!
//! Curator and kazoo take every other child for a member, whatever its name is. So the name of ours can say more: for
//! how many its owner waits, and the number that the server gave it tells who came first.

use std::sync::LazyLock;

use crate::path;
use crate::session::wire::frame::Measure;
use crate::session::wire::{CreateMode, Stat, Write};

pub(crate) const READY: &str = "ready";
pub(super) const OF: &str = "-of-";
/// Between the numbers of a round and the czxid of the barrier's node, which gave them.
const AT: char = '@';

/// Where a round is declared.
pub(super) fn ready(barrier: &str) -> String {
    path::join(barrier, READY)
}

/// What the name of a member's node begins with; the server appends the number.
pub(super) fn prefix(guid: &str, parties: usize) -> String {
    format!("{guid}{OF}{parties}-")
}

/// The numbers of a round where they take most. Every handle measures them.
static LONGEST: LazyLock<String> =
    LazyLock::new(|| Numbers::Exactly(vec![(SPENT, SPENT); MOST_RANGES]).to_string());

/// What declaring a round of so many of ours takes at most; peers have shorter names.
pub(super) fn largest_declaration(measure: &Measure, barrier: &str, parties: usize) -> usize {
    let name = format!("{}{}", prefix(&uuid::Uuid::nil().simple().to_string(), parties), i32::MIN);
    let data = format!("{}{AT}{} {name}", *LONGEST, i64::MIN).into_bytes();
    let (mode, says) = (CreateMode::Persistent, parties.to_string().into_bytes());
    let rest = [
        Write::Create { path: ready(barrier), data, mode, acl: None },
        Write::Set { path: barrier.to_owned(), data: says.clone(), version: None },
        Write::Set { path: barrier.to_owned(), data: says, version: None },
    ];
    measure.multi(&rest) + parties * measure.check(&path::join(barrier, &name))
}

/// The number at the end of all numbers.
pub(super) const SPENT: i32 = i32::MAX;

/// A member, by the name of its node.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Member<'a> {
    pub(super) name: &'a str,
    /// For how many it waits, and its number; `None` for a peer's, which does not say. At the end of the server's
    /// numbers all are the same, [`SPENT`].
    pub(super) says: Option<(usize, i32)>,
}

impl Member<'_> {
    pub(super) fn of(name: &str) -> Member<'_> {
        let says = name.split_once(OF).and_then(|(_, rest)| {
            let (parties, number) = rest.split_once('-')?;
            let number: i32 = number.parse().ok()?;
            // Creates that overtake each other there get negative ones.
            Some((parties.parse().ok()?, if number < 0 { SPENT } else { number }))
        });
        Member { name, says }
    }
}

/// The members among the children.
pub(super) fn members(names: &[String]) -> impl Iterator<Item = Member<'_>> {
    names.iter().filter(|name| *name != READY).map(|name| Member::of(name))
}

/// One round: from the moment when all were there until all have left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Round {
    /// When `ready` was created.
    pub(super) generation: i64,
    /// The numbers of ours that belong to it; `None` where a peer has declared it, who lets in whoever comes.
    numbers: Option<Numbers>,
    /// The czxid of the barrier's node that gave these numbers, where it is told: of the next one they begin anew.
    barrier: Option<i64>,
    /// The member that leaves last.
    pub(super) anchor: Option<String>,
}

/// The numbers of the members of a round: they came one after the other, so these are few ranges as a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Numbers {
    /// From and to, in order, and nobody else.
    Exactly(Vec<(i32, i32)>),
    /// Those of them that stand.
    UpTo(i32),
}

/// Everybody reads them.
const MOST_RANGES: usize = 8;

impl Numbers {
    /// Of numbers in order.
    fn of(numbers: &[i32]) -> Numbers {
        let mut ranges: Vec<(i32, i32)> = Vec::new();
        for number in numbers {
            match ranges.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(*number) => *last = *number,
                _ => ranges.push((*number, *number)),
            }
        }
        match numbers.last() {
            Some(last) if *last < SPENT && ranges.len() <= MOST_RANGES => Numbers::Exactly(ranges),
            last => Numbers::UpTo(last.copied().unwrap_or_default()),
        }
    }

    fn parse(text: &str) -> Option<Numbers> {
        if let Some(last) = text.strip_prefix("..") {
            return last.parse().ok().map(Numbers::UpTo);
        }
        let range = |range: &str| {
            let (first, last) = range.split_once("..")?;
            Some((first.parse().ok()?, last.parse().ok()?))
        };
        text.split(',').map(range).collect::<Option<_>>().map(Numbers::Exactly)
    }

    fn last(&self) -> i32 {
        match self {
            Numbers::Exactly(ranges) => ranges.last().map_or(0, |(_, last)| *last),
            Numbers::UpTo(last) => *last,
        }
    }
}

impl std::fmt::Display for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Numbers::Exactly(ranges) => {
                let ranges: Vec<_> = ranges.iter().map(|(first, last)| format!("{first}..{last}")).collect();
                f.write_str(&ranges.join(","))
            }
            Numbers::UpTo(last) => write!(f, "..{last}"),
        }
    }
}

impl Round {
    /// What `ready` says of a round of these members, and only these, at the barrier's node of that czxid.
    pub(super) fn declaration(members: &[Member<'_>], barrier: Option<i64>) -> Vec<u8> {
        let mut numbers: Vec<_> =
            members.iter().filter_map(|member| member.says).map(|(_, number)| number).collect();
        numbers.sort_unstable();
        // The lowest name, which is who stays to the last where peers leave, too.
        let anchor = members.iter().map(|member| member.name).min().unwrap_or_default();
        let at = barrier.map_or_else(String::new, |czxid| format!("{AT}{czxid}"));
        format!("{}{at} {anchor}", Numbers::of(&numbers)).into_bytes()
    }

    pub(super) fn of(data: &[u8], stat: &Stat) -> Round {
        let said = std::str::from_utf8(data).ok().and_then(|text| {
            let (numbers, anchor) = text.split_once(' ')?;
            let (numbers, at) = numbers.split_once(AT).unwrap_or((numbers, ""));
            Some(((Numbers::parse(numbers)?, at.parse().ok()), anchor.to_owned()))
        });
        let (said, anchor) = said.unzip();
        let (numbers, barrier) = said.unzip();
        Round { generation: stat.czxid, numbers, barrier: barrier.flatten(), anchor }
    }

    /// A peer's that has taken its `ready` back already.
    pub(super) fn unseen() -> Round {
        Round { generation: -1, numbers: None, barrier: None, anchor: None }
    }

    /// For how many it is; `None` where only peers tell.
    pub(super) fn parties(&self) -> Option<usize> {
        let anchor = self.anchor.as_deref()?;
        Member::of(anchor).says.map(|(parties, _)| parties)
    }

    /// Whether it is for another number than the member waits for. Those may have come in between, and belong to no round
    /// but their own.
    fn disagrees(&self, member: &Member<'_>) -> bool {
        let theirs = member.says.map(|(parties, _)| parties);
        self.parties().zip(theirs).is_some_and(|(ours, theirs)| ours != theirs)
    }

    /// Whether the member, whose node stands, belongs to it, as far as its name tells.
    pub(super) fn includes(&self, member: &Member<'_>) -> bool {
        match (&self.numbers, member.says) {
            _ if self.disagrees(member) => false,
            (Some(numbers), Some((_, number))) => number <= numbers.last(),
            _ => true,
        }
    }

    /// Whether it was declared with the node of that name, where `ready` tells: then the node stood at that moment. A node that
    /// another one of the barrier had given its number is in no round of this one.
    pub(super) fn tells_of(&self, name: &str, barrier: Option<i64>) -> Option<bool> {
        match (&self.numbers, Member::of(name).says) {
            (Some(Numbers::Exactly(ranges)), Some((_, number))) => {
                let is_of_this = self.barrier? == barrier?;
                Some(is_of_this && ranges.iter().any(|(first, last)| (*first..=*last).contains(&number)))
            }
            _ => None,
        }
    }

    /// The same of our own node while it stands, of which it is known when it was created. Where numbers do not tell,
    /// whoever came before `ready` belongs to it: peers declare a round like that, and at the end of the numbers there
    /// may be one too many.
    pub(super) fn includes_own(&self, name: &str, own: &Stat) -> bool {
        let member = Member::of(name);
        match (&self.numbers, member.says) {
            _ if self.disagrees(&member) => false,
            (Some(numbers), Some((_, number))) if number < SPENT => number <= numbers.last(),
            _ => own.czxid < self.generation,
        }
    }

    /// Whether the member of that name is the first to look whether the anchor has died: it has the highest number,
    /// or the highest but the anchor's own.
    pub(super) fn has_as_deputy(&self, name: &str) -> bool {
        let Some(Numbers::Exactly(ranges)) = &self.numbers else { return false };
        let number = |name: &str| Member::of(name).says.map(|(_, number)| number);
        let anchors = self.anchor.as_deref().and_then(number);
        let mut highest_first = ranges.iter().rev().flat_map(|(first, last)| (*first..=*last).rev());
        let deputys = highest_first.find(|number| Some(*number) != anchors);
        deputys.is_some() && deputys == number(name)
    }

    /// Whether it is this round that `ready` stands for.
    pub(super) fn is_on(&self, ready: Option<&Stat>) -> bool {
        ready.is_some_and(|stat| stat.czxid == self.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_for_how_many_and_which() {
        let name = format!("{}0000000012", prefix("0123456789abcdef", 3));
        assert_eq!(Member::of(&name).says, Some((3, 12)));
        for spent in ["a-of-3-2147483647", "a-of-3--2147483648", "a-of-3--000000001"] {
            assert_eq!(Member::of(spent).says, Some((3, SPENT)), "{spent}");
        }
        for foreign in ["0123456789abcdef", "f3e1b9a0-58f5-4a0d-9d52-3c0f35f9f1d1", "a-of-b-c", "x-of-3"] {
            assert_eq!(Member::of(foreign).says, None, "{foreign}");
        }
        let names = ["a-of-2-0000000001".to_owned(), READY.to_owned()];
        assert_eq!(members(&names).count(), 1, "ready is no member");
    }

    #[test]
    fn a_round_is_of_those_who_were_there() {
        let members = ["b-of-2-0000000007", "a-of-2-0000000009"].map(Member::of);
        let stat = Stat { czxid: 50, ..Stat::default() };
        let round = Round::of(&Round::declaration(&members, Some(7)), &stat);
        assert_eq!((round.generation, round.anchor.as_deref()), (50, Some("a-of-2-0000000009")));
        assert!(members.iter().all(|member| round.includes(member)));
        assert_eq!(round.tells_of(members[0].name, Some(7)), Some(true));
        assert_eq!(
            round.tells_of(members[0].name, Some(6)),
            Some(false),
            "of an earlier node of the barrier"
        );
        assert_eq!(round.tells_of(members[0].name, None), None, "its creation got no answer");
        assert!(!round.includes(&Member::of("0-of-2-0000000010")));
        let deputies = [7, 8, 9, 10].map(|number| round.has_as_deputy(&format!("c-of-2-{number:010}")));
        assert_eq!(deputies, [true, false, false, false], "the anchor is none, whatever its number is");
        let other = ["a-of-2-0000000007", "b-of-2-0000000008"].map(Member::of);
        let other = Round::of(&Round::declaration(&other, None), &stat);
        assert!(other.has_as_deputy("b-of-2-0000000008") && !other.has_as_deputy("a-of-2-0000000007"));
        // Who waits for another number is in none of theirs, wherever it came.
        assert_eq!(round.parties(), Some(2));
        assert!(!round.includes(&Member::of("0-of-3-0000000008")));
        assert!(!round.includes_own("0-of-3-0000000008", &Stat { czxid: 49, ..Stat::default() }));
        let peers = Round::of(b"10.0.0.7", &stat);
        assert!(peers.includes_own("c-of-2-0000000003", &Stat { czxid: 49, ..Stat::default() }));
        assert!(!peers.includes_own("c-of-2-0000000003", &Stat { czxid: 51, ..Stat::default() }));
        let spent = ["b-of-2-2147483647", "a-of-2--2147483648"].map(Member::of);
        let last = Round::of(&Round::declaration(&spent, Some(7)), &stat);
        let came = |name: &str, czxid| last.includes_own(name, &Stat { czxid, ..Stat::default() });
        assert!(came(spent[0].name, 48) && came(spent[1].name, 49) && came("a-of-2-0000000009", 47));
        assert!(!came("c-of-2-2147483647", 51) && !came("c-of-2--2147483647", 51), "came when it was on");
        assert!(round.is_on(Some(&stat)) && !round.is_on(None) && !peers.is_on(Some(&Stat::default())));
    }
}
