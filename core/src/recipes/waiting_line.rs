//! A line of clients that wait for the same thing. Only the first few of it watch that thing, so that one change does not
//! wake a thousand. Each of the others watches as many as that right ahead of it, and looks where it stands when one of them
//! has gone: so whoever has come to the front is always told.
//!
//! The line stops nobody: a client that finds what it waits for takes it, whether or not it stands in the line.
//!
//! Those who wait for the items of a queue stand in such a line, and those who wait for room in it in another one.

use std::sync::Arc;

use futures_util::future::select_all;

use crate::error::{ErrorKind, Result};
use crate::futures::CompiledOnce;
use crate::options::Naming;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::refusal::refusal;
use crate::session::server_session::shared_lists::SharedNames;
use crate::session::watching::{Children, Watching};
use crate::session::wire::{CreateMode, Watch, WireError};
use crate::turn::name::{ContenderName, Kind};
use crate::turn::order::Contenders;
use crate::turn::place::{Entered, Listing, Place, TurnRequest};

/// How many are in the front. So one put among twelve who wait costs at most 13 lists, as `one_put_wakes_a_few_of_many`
/// of the tests of queues counts.
const FRONT: usize = 4;
const VERB: &str = "waiting in line";

/// A line, and our place in it once we have one.
#[derive(Default)]
pub(crate) struct WaitingLine {
    place: Option<PlaceInLine>,
    /// Whether we cannot stand there.
    needs_no_place: bool,
}

struct PlaceInLine {
    place: Place,
    /// Those right ahead of us, and what tells when they go; nobody in the front.
    ahead: Vec<(String, Watch)>,
    /// Whether everybody in the line was in its front when we looked last.
    is_short: bool,
    /// Who stands in the line, for one who keeps a place and does not wait.
    line: Option<Watching<Children>>,
}

impl WaitingLine {
    /// Goes to the end of the line at that path, unless we stand in it already or may not.
    pub(crate) async fn enter(
        &mut self,
        path: &str,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &'static str,
    ) -> Result<()> {
        if self.needs_place() {
            self.place = entered(path, session, call, verb).await?;
            self.needs_no_place = self.place.is_none();
        }
        Ok(())
    }

    pub(crate) fn needs_place(&self) -> bool {
        self.place.is_none() && !self.needs_no_place
    }

    pub(crate) fn is_in_front(&self) -> bool {
        self.place.as_ref().is_none_or(|place| place.ahead.is_empty())
    }

    /// Whether nobody waits for us to go, as far as we know.
    pub(crate) fn is_harmless(&self) -> bool {
        self.place.as_ref().is_none_or(|place| place.ahead.is_empty() && place.is_short)
    }

    /// Resolves when somebody does.
    pub(crate) async fn until_others_wait(&mut self, session: &Arc<Session>) {
        let Some(PlaceInLine { place, line, .. }) = &mut self.place else {
            return std::future::pending().await;
        };
        let line = line.get_or_insert_with(|| session.watch_children(VERB, place.parent()));
        while let Ok(Children(Some((names, _)))) = line.next().await {
            if names.iter().filter(|name| ContenderName::recognise(name).is_some()).count() > FRONT {
                return;
            }
        }
    }

    /// Resolves when it is time to look again.
    pub(crate) async fn changed(&mut self) {
        match &mut self.place {
            Some(place) => place.changed().await,
            None => std::future::pending().await,
        }
    }

    /// Looks where we stand now.
    pub(crate) async fn look(&mut self, call: &mut Call, verb: &'static str) -> Result<()> {
        // Taken out first: if this is dropped while it looks, the next one makes a new place, since the old one would not
        // be woken a second time.
        if let Some(mut place) = self.place.take()
            && looked(&mut place, call, verb).await?
        {
            self.place = Some(place);
        }
        Ok(())
    }
}

fn entered<'a>(
    path: &'a str,
    session: &'a Arc<Session>,
    call: &'a mut Call,
    verb: &'static str,
) -> CompiledOnce<'a, Result<Option<PlaceInLine>>> {
    Box::pin(PlaceInLine::enter(path, session, call, verb))
}

fn looked<'a>(
    place: &'a mut PlaceInLine,
    call: &'a mut Call,
    verb: &'static str,
) -> CompiledOnce<'a, Result<bool>> {
    Box::pin(place.look(call, verb))
}

impl PlaceInLine {
    /// `None` where we may not stand.
    async fn enter(
        path: &str,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &'static str,
    ) -> Result<Option<PlaceInLine>> {
        let line = TurnRequest {
            naming: Naming::Curator,
            mode: CreateMode::Container,
            stands_in_line: false,
            verb,
            ..TurnRequest::of(session, path, Kind::Lock)
        };
        let (place, names) = match Place::enter(&line, call).await {
            Ok((place, Entered::Listed(names))) => (place, names),
            Ok(_) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::Denied => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut place = PlaceInLine { place, ahead: Vec::new(), is_short: false, line: None };
        // If not, the session has ended, or our node was deleted: whoever is awake needs no line.
        let stands = place.move_up(&names, call, verb).await? || place.look(call, verb).await?;
        Ok(stands.then_some(place))
    }

    async fn changed(&mut self) {
        let ended = self.place.server_session.until_ended();
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

    /// False when we do not stand there any more.
    async fn look(&mut self, call: &mut Call, verb: &'static str) -> Result<bool> {
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
    async fn move_up(&mut self, names: &SharedNames, call: &mut Call, verb: &'static str) -> Result<bool> {
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
        let server_session = self.place.server_session.clone();
        let watch = |name: &String| server_session.watch_data(&path::join(self.place.parent(), name));
        // In one flight.
        let flights: Vec<_> = new.iter().map(watch).collect();
        for (name, flight) in new.into_iter().zip(flights) {
            match call.receive(verb, flight).await? {
                Ok((_, _, watch)) => self.ahead.push((name, watch)),
                Err(WireError::NoNode) => return Ok(false),
                // We may not read it: then we watch the items.
                Err(WireError::NoAuth) => {
                    self.ahead.clear();
                    break;
                }
                Err(error) if error.is_unanswered() => {
                    if !server_session.has_ended() {
                        call.retry_after_loss(verb).await?;
                    }
                    return Ok(false);
                }
                Err(error) => return Err(refusal(error, verb, &name)),
            }
        }
        Ok(true)
    }
}
