//! The differences between the releases that a machine can behave like.

/// A release of ZooKeeper, as far as clients can tell it apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    pub(super) version: (u32, u32, u32),
    /// Events carry the zxid of their transaction, from 3.9.0.
    pub(super) events_carry_zxid: bool,
    /// `exists` needs READ, and events go only to those who may read the node, from 3.8.4 and 3.9.2.
    pub(super) guards_reads: bool,
    /// Persistent watches can be removed by their kind, from 3.9.0.
    pub(super) removes_persistent: bool,
    /// A connection may hold several watches of different kinds on one path, from 3.9.0; before, the last one counts.
    pub(super) keeps_every_watch: bool,
    /// A create2 inside a multi answers as create2, with a stat, from 3.8.2 and 3.9.0.
    pub(super) multi_answers_create2: bool,
}

impl Default for Profile {
    fn default() -> Self {
        Profile::of((3, 9, 5))
    }
}

impl Profile {
    /// `"3.9"`, `"3.8"`, or a patch release such as `"3.8.4"`.
    ///
    /// Without a patch number, the last release of the line: 3.8.6 and 3.9.5.
    pub fn parse(version: &str) -> Option<Profile> {
        let mut parts = version.trim().split('.').map(str::parse::<u32>);
        let (major, minor) = (parts.next()?.ok()?, parts.next()?.ok()?);
        let patch = match (parts.next(), minor) {
            (Some(patch), _) => patch.ok()?,
            (None, 8) => 6,
            (None, _) => 5,
        };
        let known = major == 3 && matches!(minor, 8 | 9) && parts.next().is_none();
        known.then(|| Profile::of((major, minor, patch)))
    }

    fn of(version: (u32, u32, u32)) -> Profile {
        Profile {
            version,
            events_carry_zxid: version >= (3, 9, 0),
            guards_reads: version >= (3, 9, 2) || ((3, 8, 4)..(3, 9, 0)).contains(&version),
            removes_persistent: version >= (3, 9, 0),
            keeps_every_watch: version >= (3, 9, 0),
            multi_answers_create2: version >= (3, 8, 2),
        }
    }
}
