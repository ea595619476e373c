//! Who comes before whom, and who waits for whom. Nobody chooses who is woken: each waiter watches the closest one ahead
//! that keeps it waiting, so all readers behind one writer wake together.
//!
//! The numbers tell, as far as their range goes, and czxids beyond it. A list of children is read and sorted once for all who
//! share it: where five thousand acquire at once, each of them doing that would be twenty-five million names.

use std::cmp::Ordering;

use super::name::{ContenderName, Kind};
use crate::session::server_session::shared_lists::Listed;
use crate::sort;

impl Kind {
    /// Whether one of this kind and one of `other` stand in one line: candidates and locks of one path have a line each.
    pub(crate) fn queues_with(self, other: Kind) -> bool {
        let line = |kind| match kind {
            Kind::Lock | Kind::Read | Kind::Write => Kind::Lock,
            Kind::Latch | Kind::Permit => kind,
        };
        line(self) == line(other)
    }

    /// Whether a contender of this kind, further ahead, keeps one of `other` waiting.
    pub(crate) fn excludes(self, other: Kind) -> bool {
        self.queues_with(other) && !(self == Kind::Read && other == Kind::Read)
    }

    /// Whether everybody waits for everybody ahead.
    pub(crate) fn is_plain(self) -> bool {
        matches!(self, Kind::Lock | Kind::Latch)
    }
}

impl ContenderName {
    /// At the end of the range the server's counter stops, and pipelined creates may pass it into the negatives: those
    /// numbers say nothing about the order, which is then by czxid alone, behind all others.
    pub(crate) fn is_late(&self) -> bool {
        self.sequence == i32::MAX || self.sequence < 0
    }

    /// Whether this comes before `other`; `None` when only their czxids can tell.
    pub(crate) fn precedes(&self, other: &ContenderName) -> Option<bool> {
        match (self.is_late(), other.is_late()) {
            (true, true) => None,
            (late, false) if late => Some(false),
            (_, true) => Some(true),
            _ => Some((self.sequence, &self.name) < (other.sequence, &other.name)),
        }
    }
}

/// The contenders that a list has.
#[derive(Default)]
pub(crate) struct Contenders {
    /// Locks, readers and writers, in order.
    locks: Vec<ContenderName>,
    /// Candidates, in order.
    latches: Vec<ContenderName>,
    /// Those past the end of the range, of which the list does not tell the order.
    late: Vec<ContenderName>,
    /// The lowest priority of candidates of ours.
    lowest: Option<i32>,
}

/// Those before one of the contenders for whom it waits, as far as the list tells.
pub(crate) struct Before<'a> {
    earlier: &'a [ContenderName],
    /// Of those with its own number: a writer and the reader that it became have the same one.
    same: &'a [ContenderName],
    own: &'a ContenderName,
}

impl Contenders {
    pub(crate) fn of(list: &Listed) -> &Contenders {
        list.read_once(Contenders::read)
    }

    pub(crate) fn read(names: &[String]) -> Contenders {
        #[cfg(test)]
        tests::READ.with(|read| read.set(read.get() + 1));
        let mut all = Contenders::default();
        for entry in names.iter().filter_map(|name| ContenderName::recognise(name)) {
            let line = match entry.kind {
                _ if entry.is_late() => &mut all.late,
                Kind::Latch => &mut all.latches,
                _ => &mut all.locks,
            };
            let lowest = [all.lowest, entry.priority].into_iter().flatten().min();
            line.push(entry);
            all.lowest = lowest;
        }
        for line in [&mut all.locks, &mut all.latches] {
            line.sort_unstable_by(in_order);
        }
        all
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &ContenderName> {
        self.locks.iter().chain(&self.latches).chain(&self.late)
    }

    pub(crate) fn count(&self) -> usize {
        self.locks.len() + self.latches.len() + self.late.len()
    }

    pub(crate) fn has(&self, entry: &ContenderName) -> bool {
        if entry.is_late() {
            return self.late.iter().any(|late| late.name == entry.name);
        }
        let line = self.line(entry.kind);
        line.binary_search_by(|other| in_order(other, entry)).is_ok()
    }

    pub(crate) fn before<'a>(&'a self, own: &'a ContenderName) -> Before<'a> {
        let line = self.line(own.kind);
        if own.is_late() {
            return Before { earlier: line, same: &[], own };
        }
        let (earlier, rest) = line.split_at(line.partition_point(|other| other.sequence < own.sequence));
        let same = &rest[..rest.partition_point(|other| other.sequence == own.sequence)];
        Before { earlier, same, own }
    }

    /// The candidates of ours before `own` that it may ask to move behind it, the highest first, so that they come in that order:
    /// those of a lower priority. What stands before one as high as it is that one's to ask.
    pub(crate) fn lower(&self, own: &ContenderName) -> Vec<ContenderName> {
        // Where nobody is lower nobody is looked at.
        let Some(priority) = own.priority.filter(|own| self.lowest.is_some_and(|lowest| lowest < *own))
        else {
            return Vec::new();
        };
        let before = self.before(own);
        let since = before.iter().rev().take_while(|one| one.priority.is_none_or(|other| other < priority));
        let mut lower: Vec<_> = since.filter(|one| one.priority.is_some()).cloned().collect();
        sort::by_key(&mut lower, |one| std::cmp::Reverse(one.priority));
        lower
    }

    /// Those past the end of the range for whom `own` may have to wait.
    pub(crate) fn late_beside(&self, own: &ContenderName) -> Vec<ContenderName> {
        let is_other = |late: &&ContenderName| late.name != own.name && late.kind.excludes(own.kind);
        self.late.iter().filter(|_| own.is_late()).filter(is_other).cloned().collect()
    }

    fn line(&self, kind: Kind) -> &[ContenderName] {
        if kind == Kind::Latch { &self.latches } else { &self.locks }
    }
}

impl Before<'_> {
    pub(crate) fn count(&self) -> usize {
        match self.own.kind {
            Kind::Read => self.iter().count(),
            // Everybody in the line keeps the others waiting.
            _ => {
                self.earlier.len()
                    + self.iter().rev().take_while(|other| other.sequence == self.own.sequence).count()
            }
        }
    }

    /// The closest last.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &ContenderName> {
        let same = self.same.iter().filter(|other| other.precedes(self.own) == Some(true));
        self.earlier.iter().chain(same).filter(|other| other.kind.excludes(self.own.kind))
    }
}

/// A writer and its own reader have one number, and the writer goes first.
fn in_order(a: &ContenderName, b: &ContenderName) -> Ordering {
    // As one number, and names only where those are the same: a list of five thousand is sorted whenever one lets go.
    let place_of =
        |entry: &ContenderName| (i64::from(entry.sequence) << 1) | i64::from(entry.kind == Kind::Read);
    place_of(a).cmp(&place_of(b)).then_with(|| a.name.cmp(&b.name))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::future::join_all;
    use zkrecipes_embedded::Server;

    use super::*;
    use crate::Client;

    thread_local! {
        /// How many lists were read on this thread.
        pub(super) static READ: Cell<usize> = const { Cell::new(0) };
    }

    #[tokio::test]
    async fn a_list_is_read_once_however_many_queue() {
        let server = Server::start().expect("a free port");
        let client = Client::connect(&server.connect_string(), Default::default()).await.expect("connected");
        let all = (0..300).map(|_| client.lock("/locks/crowd", Default::default()).expect("valid"));
        let served = join_all(all.map(|lock| async move { lock.acquire().await?.release().await })).await;
        assert_eq!(served.len(), served.iter().filter(|served| served.is_ok()).count());
        let lists = server.log().iter().filter(|entry| entry.op.starts_with("getChildren")).count();
        let read = READ.get();
        assert!((1..=lists).contains(&read), "{read} of {lists} lists");
    }

    fn entry(name: &str) -> ContenderName {
        ContenderName::recognise(name).expect("a contender")
    }

    #[test]
    fn each_is_behind_those_that_it_waits_for() {
        let names = [
            "_c_d-__READ__0000000007",
            "_c_b-__READ__0000000003",
            "_c_z-__WRIT__0000000003",
            "_c_a-__WRIT__0000000010",
            "_c_c-latch-0000000001",
            "_c_f-lock-2147483647",
            "_c_e-lock--000000005",
            "readme",
        ];
        let all = Contenders::read(&names.map(str::to_owned));
        assert_eq!(all.count(), 7);
        for (own, ahead) in [
            ("_c_a-__WRIT__0000000010", vec![2, 1, 0]),
            ("_c_d-__READ__0000000007", vec![2]),
            ("_c_z-__WRIT__0000000003", vec![1]),
            ("_c_b-__READ__0000000003", vec![]),
            ("_c_c-latch-0000000001", vec![]),
            ("_c_f-lock-2147483647", vec![2, 1, 0, 3]),
        ] {
            let own = entry(own);
            assert!(all.has(&own));
            let before = all.before(&own);
            let found: Vec<_> = before.iter().map(|entry| entry.name.as_str()).collect();
            assert_eq!(found, ahead.iter().map(|at| names[*at]).collect::<Vec<_>>(), "{}", own.name);
            assert_eq!(before.count(), found.len());
        }
        assert!(all.lower(&entry(names[0])).is_empty());
        assert_eq!(all.late_beside(&entry(names[5])), [entry(names[6])]);
        assert_eq!(all.late_beside(&entry(names[3])), []);
        assert!(!all.has(&entry("_c_a-__WRIT__0000000011")));
    }

    #[test]
    fn a_lock_and_a_candidate_do_not_wait_for_each_other() {
        for (ahead, behind, waits) in [
            (Kind::Lock, Kind::Latch, false),
            (Kind::Latch, Kind::Lock, false),
            (Kind::Latch, Kind::Read, false),
            (Kind::Latch, Kind::Latch, true),
            (Kind::Lock, Kind::Read, true),
            (Kind::Read, Kind::Read, false),
        ] {
            assert_eq!(ahead.excludes(behind), waits, "{ahead:?} before {behind:?}");
        }
    }

    #[test]
    fn the_end_of_the_range_is_one_class_behind_all_others() {
        let early = entry("_c_a-lock-2147483646");
        let last = entry("_c_b-lock-2147483647");
        let wrapped = entry("_c_c-lock--2147483648");
        assert_eq!(early.precedes(&last), Some(true));
        assert_eq!(early.precedes(&wrapped), Some(true));
        assert_eq!(wrapped.precedes(&early), Some(false));
        assert_eq!(last.precedes(&wrapped), None);
        assert_eq!(last.precedes(&last.clone()), None);
    }
}
