//! Names of contender nodes: ours, and everybody else's that we can recognise.
//!
//! The server appends a sequence number as `%010d`; what stands before it tells whose recipe made the node. We wait for
//! every contender we recognise, also for those that ignore us. Contenders that wait for each other are one line: locks,
//! readers and writers of a path are one, the candidates of an election another.
//!
//! The GUID of a candidate of ours carries its priority (see [`guid_of_priority`]): a list of the names tells who stands for
//! what and who can be asked to move behind, without a read of anybody, and whatever was written into the nodes. To everybody
//! else it is a GUID like any other; those of others are random, and say nothing.

use uuid::Uuid;

use crate::options::Naming;
use crate::session::random;

/// What a contender wants, as its name tells.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An exclusive lock.
    Lock,
    /// A reader of a read/write lock.
    Read,
    /// A writer of a read/write lock.
    Write,
    /// A candidate of an election.
    Latch,
    /// A permit of a semaphore, which waits for nobody.
    Permit,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Kind::Lock => "lock",
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Latch => "latch",
            Kind::Permit => "lease",
        }
    }
}

/// The marks that stand before the sequence number, and whose they are.
const MARKS: &[(&str, Kind, Naming)] = &[
    ("-lock-", Kind::Lock, Naming::Curator),
    ("-latch-", Kind::Latch, Naming::Curator),
    ("__lock__", Kind::Lock, Naming::Kazoo),
    ("__rlock__", Kind::Read, Naming::Kazoo),
    ("__READ__", Kind::Read, Naming::Curator),
    ("__WRIT__", Kind::Write, Naming::Curator),
];

/// The name of a new contender, without the sequence number, and the part of it that is like no other.
pub(crate) fn fresh(naming: Naming, kind: Kind) -> (String, String) {
    named_by(naming, kind, random::guid())
}

/// The same of a candidate with that priority.
pub(crate) fn fresh_candidate(naming: Naming, kind: Kind, priority: i32) -> (String, String) {
    named_by(naming, kind, guid_of_priority(priority))
}

fn named_by(naming: Naming, kind: Kind, id: Uuid) -> (String, String) {
    let (hyphenated, simple) = (id.hyphenated().to_string(), id.simple().to_string());
    match (naming, kind) {
        (_, Kind::Permit) => (format!("_c_{hyphenated}-lease-"), hyphenated),
        (Naming::Curator, Kind::Lock) => (format!("_c_{hyphenated}-lock-"), hyphenated),
        (Naming::Curator | Naming::Zookeeper, Kind::Latch) => (format!("_c_{hyphenated}-latch-"), hyphenated),
        (Naming::Curator, Kind::Read) => (format!("_c_{hyphenated}-__READ__"), hyphenated),
        (Naming::Curator, Kind::Write) => (format!("_c_{hyphenated}-__WRIT__"), hyphenated),
        // kazoo's writers and candidates are its locks.
        (Naming::Kazoo, Kind::Lock | Kind::Write | Kind::Latch) => (format!("{simple}__lock__"), simple),
        (Naming::Kazoo, Kind::Read) => (format!("{simple}__rlock__"), simple),
        // The recipes that ship with ZooKeeper have no read/write lock; these names are ours alone there.
        (Naming::Zookeeper, Kind::Lock) => (format!("x-{simple}-"), simple),
        (Naming::Zookeeper, Kind::Read) => (format!("_c_{hyphenated}-__READ__"), hyphenated),
        (Naming::Zookeeper, Kind::Write) => (format!("_c_{hyphenated}-__WRIT__"), hyphenated),
    }
}

/// What says that a GUID of version 8, whose bits are for everybody to define, is a candidate's of ours.
const CANDIDATE: [u8; 2] = *b"zr";

/// A GUID of version 8: the priority, the word above, and 74 bits that are random.
fn guid_of_priority(priority: i32) -> Uuid {
    let mut bytes = random::guid().into_bytes();
    bytes[..4].copy_from_slice(&priority.to_be_bytes());
    bytes[4..6].copy_from_slice(&CANDIDATE);
    bytes[6] = 0x80 | (bytes[6] & 0x0f);
    bytes[8] = 0x80 | (bytes[8] & 0x3f);
    Uuid::from_bytes(bytes)
}

/// The priority in the GUID of a name.
fn priority_in(name: &str) -> Option<i32> {
    let guid = ["_c_", "x-"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name).as_bytes();
    let (length, version) = if guid.get(8) == Some(&b'-') { (36, 14) } else { (32, 12) };
    // One look is enough for all that are random.
    if guid.get(version) != Some(&b'8') {
        return None;
    }
    let bytes = Uuid::try_parse_ascii(guid.get(..length)?).ok()?.into_bytes();
    let [a, b, c, d, rest @ ..] = bytes;
    rest.starts_with(&CANDIDATE).then(|| i32::from_be_bytes([a, b, c, d]))
}

/// A node that takes part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ContenderName {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) sequence: i32,
    /// Whose names it goes by.
    pub(crate) naming: Naming,
    /// That of a candidate of ours, which moves behind when it is asked to; `None` of everybody else.
    pub(crate) priority: Option<i32>,
}

impl ContenderName {
    /// `None` for a node that is no contender of any recipe we know.
    pub(crate) fn recognise(name: &str) -> Option<ContenderName> {
        let (kind, sequence, naming) = parse(name)?;
        Some(ContenderName { name: name.to_owned(), kind, sequence, naming, priority: priority_in(name) })
    }

    /// A permit of ours. Permits have no order, so the number does not matter, nor whose name it is.
    pub(crate) fn permit(name: &str) -> ContenderName {
        let (kind, sequence, naming, priority) = (Kind::Permit, 0, Naming::Curator, None);
        ContenderName { name: name.to_owned(), kind, sequence, naming, priority }
    }
}

fn parse(name: &str) -> Option<(Kind, i32, Naming)> {
    let marked =
        MARKS.iter().find_map(|(mark, kind, naming)| Some((name.rsplit_once(mark)?.1, *kind, *naming)));
    let (suffix, kind, naming) = match marked {
        Some(found) => found,
        // The recipes that ship with ZooKeeper: x-<session>-N, where N may be negative.
        None => {
            let rest = name.strip_prefix("x-")?;
            let dash = rest.rfind('-')?;
            // The session may be negative too, so look from the end; a second dash is the number's sign.
            let sign = usize::from(rest[..dash].ends_with('-'));
            (&rest[dash + 1 - sign..], Kind::Lock, Naming::Zookeeper)
        }
    };
    Some((kind, sequence(suffix)?, naming))
}

/// Exactly what `%010d` prints for a 32 bit number.
fn sequence(suffix: &str) -> Option<i32> {
    let digits = suffix.strip_prefix('-').unwrap_or(suffix);
    let width = if digits.len() == suffix.len() { 10 } else { 9 };
    // −2147483648 needs all ten digits behind its sign.
    let fits = digits.len() == width || (width == 9 && digits.len() == 10 && !digits.starts_with('0'));
    if !fits || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    suffix.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> ContenderName {
        ContenderName::recognise(name).unwrap_or_else(|| panic!("{name} is a contender"))
    }

    #[test]
    fn everybodys_contenders_are_recognised() {
        let guid = "8a3c7a5e-58f5-4a0d-9d52-3c0f35f9f1d1";
        for (name, kind, sequence) in [
            (format!("_c_{guid}-lock-0000000007"), Kind::Lock, 7),
            ("lock-0000000001".replace("lock-", "x-lock-"), Kind::Lock, 1),
            ("7f1b2c3d4e5f60718293a4b5c6d7e8f9__lock__0000000012".into(), Kind::Lock, 12),
            ("7f1b2c3d4e5f60718293a4b5c6d7e8f9__rlock__0000000013".into(), Kind::Read, 13),
            (format!("_c_{guid}-latch-0000000005"), Kind::Latch, 5),
            (format!("_c_{guid}-__READ__0000000003"), Kind::Read, 3),
            (format!("_c_{guid}-__WRIT__0000000004"), Kind::Write, 4),
            ("x-72057594037927936-0000000009".into(), Kind::Lock, 9),
            ("x-0100000000000000--000000003".into(), Kind::Lock, -3),
            ("x--8646911284551352320-0000000001".into(), Kind::Lock, 1),
            (format!("_c_{guid}-lock--000000003"), Kind::Lock, -3),
            (format!("_c_{guid}-lock--2147483648"), Kind::Lock, i32::MIN),
        ] {
            assert_eq!((entry(&name).kind, entry(&name).sequence), (kind, sequence), "{name}");
        }
    }

    #[test]
    fn what_is_no_contender_is_left_alone() {
        for name in [
            "readme",
            "_c_x-lock-",
            "_c_x-lock-12",
            "_c_x-lock-00000000071",
            "x-1",
            "x-5-abc",
            "lease-0000000001",
        ] {
            assert_eq!(ContenderName::recognise(name), None, "{name}");
        }
    }

    #[test]
    fn our_own_names_are_recognised_and_carry_their_guid() {
        for naming in [Naming::Curator, Naming::Kazoo, Naming::Zookeeper] {
            for kind in [Kind::Lock, Kind::Read, Kind::Write] {
                let (prefix, guid) = fresh(naming, kind);
                assert!(prefix.contains(&guid));
                let entry = entry(&format!("{prefix}0000000042"));
                assert_eq!(entry.sequence, 42);
                assert_eq!(entry.kind.excludes(Kind::Read), kind != Kind::Read);
            }
        }
    }

    #[test]
    fn the_name_of_a_candidate_carries_its_priority() {
        for naming in [Naming::Curator, Naming::Kazoo, Naming::Zookeeper] {
            for kind in [Kind::Lock, Kind::Latch] {
                for priority in [0, 1, -1, 100, i32::MIN, i32::MAX] {
                    let (prefix, guid) = fresh_candidate(naming, kind, priority);
                    assert!(prefix.contains(&guid));
                    assert_eq!(entry(&format!("{prefix}0000000042")).priority, Some(priority));
                    assert_eq!(entry(&format!("{prefix}0000000042")).sequence, 42);
                }
                let (prefix, _) = fresh(naming, kind);
                assert_eq!(entry(&format!("{prefix}0000000042")).priority, None);
            }
        }
        let id = guid_of_priority(7);
        assert_eq!((id.get_version_num(), id.get_variant()), (8, uuid::Variant::RFC4122));
        for foreign in [
            "_c_00000007-7a72-4a0d-9d52-3c0f35f9f1d1-latch-0000000005",
            "_c_00000007-7a73-8a0d-9d52-3c0f35f9f1d1-latch-0000000005",
            "_c_0000000x-7a72-8a0d-9d52-3c0f35f9f1d1-latch-0000000005",
            "_c_00000007-7a72-8-latch-0000000005",
        ] {
            assert_eq!(entry(foreign).priority, None, "{foreign}");
        }
    }
}
