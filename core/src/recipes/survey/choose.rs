//! Which nodes a survey looks at, by their names.

use std::collections::{BTreeMap, BTreeSet};

use crate::path;
use crate::recipes::contenders::sort_names;
use crate::recipes::{double_barrier, queue};
use crate::session::watching::tree::NodePart;
use crate::sort;
use crate::turn::name::{ContenderName, Kind};

/// Of a line, of permits, of claims and of members no more than this are read; the others are counted.
pub(super) const READ_OF_EACH: usize = 100;

/// What the name of a child says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// In the line of a lock or of an election.
    Contender(ContenderName),
    /// A permit of a semaphore, Curator's or kazoo's.
    Permit,
    /// An item of a queue.
    Item,
    /// The claim of an item, which has the item's name.
    Claim,
    /// At a double barrier, with the parties that it waits for.
    Party(usize),
    /// A declaration that a round of a double barrier is on.
    Ready,
    /// What a queue keeps beside it and only queues read.
    Mark,
    /// What only a look tells.
    Unknown,
}

/// The role of a child of `parent`.
pub(super) fn role(parent: &str, name: &str) -> Role {
    // Of keys there may be very many.
    let is_keys = name == "keys" && queue_that_has(parent, queue::OWN).is_some();
    if is_folder_of_queue(parent, "marks") || is_keys {
        return Role::Mark;
    }
    if (is_folder_of_queue(parent, "claims") || path::name(parent) == "taken") && queue::is_pause(name) {
        return Role::Mark;
    }
    if is_folder_of_queue(parent, "claims") {
        return Role::Claim;
    }
    if queue::is_item(name) {
        return if path::name(parent) == "taken" { Role::Claim } else { Role::Item };
    }
    if name == double_barrier::READY {
        return Role::Ready;
    }
    if is_kazoos_permit(name) || (path::name(parent) == "leases" && name.contains("-lease-")) {
        return Role::Permit;
    }
    if let Some(parties) = double_barrier::parties(name) {
        return Role::Party(parties);
    }
    match ContenderName::recognise(name) {
        Some(entry) => Role::Contender(entry),
        None => Role::Unknown,
    }
}

fn is_folder_of_queue(path: &str, folder: &str) -> bool {
    path::name(path) == folder && queue_that_has(path::parent(path), queue::OWN).is_some()
}

/// The path of the queue whose own node of that name this is, which stands beside the queue or below it.
pub(super) fn queue_that_has<'a>(path: &'a str, own: &str) -> Option<&'a str> {
    path.strip_suffix(own)?.strip_suffix(['-', '/'])
}

/// The names of kazoo's permits are nothing but a UUID.
fn is_kazoos_permit(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The entries of one line among the children of `parent`, in order as far as their names tell.
pub(super) fn line(parent: &str, names: &BTreeSet<String>, kind: Kind) -> Vec<ContenderName> {
    let in_line = |name: &String| match role(parent, name) {
        Role::Contender(entry) if entry.kind.queues_with(kind) => Some(entry),
        _ => None,
    };
    let mut line: Vec<ContenderName> = names.iter().filter_map(in_line).collect();
    sort::by(&mut line, sort_names);
    line
}

pub(super) fn choose(parent: &str, names: &BTreeSet<String>) -> BTreeMap<String, NodePart> {
    let mut chosen = BTreeMap::new();
    let (mut claims, mut permits, mut parties) = (0, 0, 0);
    let is_among_the_first = |count: &mut usize| {
        *count += 1;
        *count <= READ_OF_EACH
    };
    for name in names {
        let what = match role(parent, name) {
            Role::Contender(_) | Role::Item | Role::Mark => None,
            Role::Claim => is_among_the_first(&mut claims).then_some(NodePart::Data),
            // One called so may be a folder.
            Role::Permit if !name.contains('-') => {
                is_among_the_first(&mut permits).then_some(NodePart::DataAndChildren)
            }
            Role::Permit => is_among_the_first(&mut permits).then_some(NodePart::Data),
            Role::Party(_) => is_among_the_first(&mut parties).then_some(NodePart::Data),
            Role::Ready => Some(NodePart::Data),
            // ZooKeeper's own nodes are no recipes.
            Role::Unknown if parent == "/" && name == "zookeeper" => None,
            Role::Unknown => Some(NodePart::DataAndChildren),
        };
        chosen.extend(what.map(|what| (name.clone(), what)));
    }
    for kind in [Kind::Lock, Kind::Latch] {
        let first = line(parent, names, kind).into_iter().take(READ_OF_EACH);
        chosen.extend(first.map(|entry| (entry.name, NodePart::Data)));
    }
    chosen
}
