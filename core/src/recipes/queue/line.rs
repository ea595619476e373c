//! The line of the clients that wait for items. Only the first few of it watch the items, so that a put does not wake a
//! thousand. Each of the others watches as many as that right ahead of it, and looks where it stands when one of them has got
//! something: so whoever has come to the front is always told.
//!
//! The line stops nobody from taking an item: a client that finds one takes it, whether or not it stands in the line.
//!
//! Those who wait for room in a full queue stand in another line of this kind: see `room`.

use std::sync::Arc;

use futures_util::future::select_all;

use crate::error::{ErrorKind, Result};
use crate::options::Naming;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::epoch::looks::Names;
use crate::session::watching::{Children, Watching};
use crate::session::wire::{CreateMode, Watch, WireError};
use crate::turn::name::{Entry, Kind};
use crate::turn::order::Contenders;
use crate::turn::place::{Listing, Place, Queue};

/// How many watch the items.
const FRONT: usize = 4;
const VERB: &str = "waiting in line";

/// Our place in the line.
pub(super) struct Spot {
    place: Place,
    /// Those right ahead of us, and what tells when they go; nobody in the front.
    ahead: Vec<(String, Watch)>,
    /// Whether everybody in the line was in its front when we looked last.
    is_short: bool,
    /// Who stands in the line, for one who keeps a place and does not wait.
    line: Option<Watching<Children>>,
}

impl Spot {
    /// Goes to the end of the line at that path; `None` where we may not.
    pub(super) async fn enter(
        waiting: &str,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &'static str,
    ) -> Result<Option<Spot>> {
        let line = Queue {
            naming: Naming::Curator,
            mode: CreateMode::Container,
            verb,
            ..Queue::of(session, waiting, Kind::Lock)
        };
        let (place, names) = match Place::enter(&line, call).await {
            Ok(entered) => entered,
            Err(error) if error.kind() == ErrorKind::Denied => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut spot = Spot { place, ahead: Vec::new(), is_short: false, line: None };
        match spot.move_up(&names, call, verb).await? {
            true => Ok(Some(spot)),
            false if spot.look(call, verb).await? => Ok(Some(spot)),
            // The session has ended, or our node was deleted: whoever is awake needs no line.
            false => Ok(None),
        }
    }

    pub(super) fn is_in_front(&self) -> bool {
        self.ahead.is_empty()
    }

    /// Whether nobody waits for us to go, as far as we know.
    pub(super) fn is_harmless(&self) -> bool {
        self.is_in_front() && self.is_short
    }

    /// Resolves when somebody does.
    pub(super) async fn until_in_the_way(&mut self, session: &Arc<Session>) {
        let line = self.line.get_or_insert_with(|| session.watch_children(VERB, &self.place.parent));
        while let Ok(Children(Some((names, _)))) = line.next().await {
            if !is_short(&names) {
                return;
            }
        }
    }

    /// Resolves when it is time to look again.
    pub(super) async fn changed(&mut self) {
        let ended = self.place.epoch.until_ended();
        if self.ahead.is_empty() {
            return ended.await;
        }
        let gone = tokio::select! {
            biased;
            () = ended => return,
            (_, gone, _) = select_all(self.ahead.iter_mut().map(|(_, watch)| watch)) => gone,
        };
        self.ahead.swap_remove(gone);
    }

    /// Looks where we stand now; false when we do not any more.
    pub(super) async fn look(&mut self, call: &mut Call, verb: &'static str) -> Result<bool> {
        loop {
            match self.place.list(call, verb).await? {
                Listing::Gone => return Ok(false),
                Listing::Names(names) => {
                    if self.move_up(&names, call, verb).await? {
                        return Ok(true);
                    }
                }
            }
        }
    }

    /// Watches those right ahead; false when one is gone already.
    async fn move_up(&mut self, names: &Names, call: &mut Call, verb: &'static str) -> Result<bool> {
        let Some(own) = self.place.node() else { return Ok(true) };
        let line = Contenders::of(names);
        self.is_short = line.count() <= FRONT;
        let mut nearest: Vec<_> =
            line.before(&own.entry).iter().rev().take(FRONT).map(|entry| entry.name.clone()).collect();
        if nearest.len() < FRONT {
            self.ahead.clear();
            return Ok(true);
        }
        nearest.reverse();
        self.ahead.retain(|(name, _)| nearest.contains(name));
        let is_new = |name: &String| self.ahead.iter().all(|(other, _)| other != name);
        let new: Vec<_> = nearest.into_iter().filter(is_new).collect();
        let epoch = self.place.epoch.clone();
        let watch = |name: &String| epoch.watch_data(&path::join(&self.place.parent, name));
        // In one flight.
        let flights: Vec<_> = new.iter().map(watch).collect();
        for (name, flight) in new.into_iter().zip(flights) {
            match call.briefly(verb, flight).await? {
                Ok((_, _, watch)) => self.ahead.push((name, watch)),
                Err(WireError::NoNode) => return Ok(false),
                // We may not read it: then we watch the items.
                Err(WireError::NoAuth) => {
                    self.ahead.clear();
                    break;
                }
                Err(error) if error.is_unanswered() => {
                    if !epoch.has_ended() {
                        call.retry_after_loss(verb).await?;
                    }
                    return Ok(false);
                }
                Err(error) => return Err(crate::session::call::refusal(error, verb, &name)),
            }
        }
        Ok(true)
    }
}

/// Whether all who stand in the line are in its front.
fn is_short(names: &[String]) -> bool {
    names.iter().filter(|name| Entry::recognise(name).is_some()).count() <= FRONT
}
