//! Contenders of another naming: we wait for them, but they may not wait for us.
//!
//! kazoo's lock looks for its own names only, and so do the recipes that ship with ZooKeeper: on a path where ours
//! has Curator's names, they hold at the same time as we do, and nobody hears of it. Nothing that we do can stop them,
//! but we can warn the people who run them.

use super::order::Contenders;
use super::place::{Place, TurnRequest};
use crate::options::Naming;
use crate::session::server_session::shared_lists::SharedNames;

/// Says once per path that somebody in the line goes by other names than ours.
pub(super) fn warn(request: &TurnRequest<'_>, place: &Place, names: &SharedNames) {
    let Some(own) = place.node() else { return };
    let mut beside = Contenders::of(names).iter().filter(|other| other.kind.queues_with(own.entry.kind));
    let Some(foreign) = beside.find(|other| !waits_for(other.naming, own.entry.naming)) else { return };
    if request.session.is_first_time(request.path) {
        tracing::warn!(
            target: "zkrecipes",
            event = "other_naming",
            path = request.path,
            node = foreign.name,
            "a contender that goes by {} names is in the line, and ours go by {} names: it may not wait for ours, so that both \
             hold at once; let everybody on the path use the same names (option naming)",
            name_of(foreign.naming),
            name_of(own.entry.naming)
        );
    }
}

/// Whether an unmodified contender with the names of `theirs` waits for one that has the names of `ours`.
fn waits_for(theirs: Naming, ours: Naming) -> bool {
    // The recipes that ship with ZooKeeper count whatever ends in a number behind a dash.
    theirs == ours || (theirs, ours) == (Naming::Zookeeper, Naming::Curator)
}

fn name_of(naming: Naming) -> &'static str {
    match naming {
        Naming::Curator => "curator",
        Naming::Kazoo => "kazoo",
        Naming::Zookeeper => "zookeeper",
    }
}
