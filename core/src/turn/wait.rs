//! Waiting for one's turn behind others: what is watched, and what each event means.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt;

use super::ahead::{Ahead, ahead_of};
use super::asking::MoveRequests;
use super::name::{ContenderName, Kind};
use super::order::Contenders;
use super::place::{Entered, Listing, Node, Place, TurnRequest};
use super::revocation::is_request;
use super::session_line::{Departure, Position, TurnNews};
use crate::error::{Error, Result};
use crate::path;
use crate::session::call::{Call, LOOK_AFTER};
use crate::session::clock::{Clock, Moment};
use crate::session::refusal::refusal;
use crate::session::server_session::Interest;
use crate::session::server_session::shared_lists::SharedNames;
use crate::session::wire::{Event, Link, Watch, WireError};

/// How a wait ends.
pub(super) enum WaitOutcome {
    Ours(Won),
    Gone,
    /// Somebody else is to come before us.
    Asked,
}

/// The turn that a wait has come to.
pub(super) struct Won {
    pub(super) interest: Interest,
    /// Whether somebody was ahead of us.
    pub(super) has_waited: bool,
    /// Whether somebody has asked us to let go, before we even hold.
    pub(super) is_revoked: bool,
    pub(super) own: Option<Armed>,
}

/// A watch, and the connection on which it was armed.
pub(super) struct Armed {
    name: String,
    pub(super) watch: Watch,
    generation: u64,
}

impl Armed {
    fn on(generation: u64, name: &str, watch: Watch) -> Armed {
        Armed { name: name.to_owned(), watch, generation }
    }
}

struct Wait<'a> {
    place: &'a Place,
    kind: Kind,
    /// Of a candidate: whom it asks to move behind it.
    asking: Option<MoveRequests>,
    clock: Arc<dyn Clock>,
    is_revoked: bool,
    has_waited: bool,
    own: Option<Armed>,
    closest: Option<Armed>,
    second: Option<Armed>,
    /// The parent's children, where we may not read the contender ahead.
    siblings: Option<Watch>,
    leads_late: bool,
}

/// What became of setting watches.
enum Arming {
    Armed,
    /// The list is out of date.
    Stale,
    /// We are to move.
    Asked,
    /// Some got no answer.
    Unanswered,
}

/// How a wait in memory ends.
enum InMemory {
    /// The turn was passed on to us.
    Ours(Interest),
    /// We are to look for ourselves.
    Look,
    /// The same, as something has happened to our own node.
    OwnNode,
}

/// Why a waiter woke.
enum Wake {
    Own(Event),
    Closest(Event),
    Second,
    Siblings,
    /// It is time to ask others.
    Settled,
    Connection,
    /// It went by itself, or cannot be read any more.
    Untold,
}

/// Waits until `place` has the turn. Who waits in memory, as thousands may, has no room for what it takes to look.
pub(super) fn wait<'a>(
    place: &'a Place,
    request: &'a TurnRequest<'_>,
    call: &'a mut Call,
    mut entered: Entered,
) -> impl Future<Output = Result<WaitOutcome>> + Send {
    let (stands_since, waits_in_memory) = (call.now(), place.position().is_some_and(Position::waits));
    // Not an `async fn`, which has room for what it is given and for what it makes of that.
    async move {
        if waits_in_memory {
            // Each of a thousand waiters would else keep a thousand names.
            drop(entered);
            if let InMemory::Ours(interest) = wait_in_memory(place, request, call, None).await? {
                return Ok(WaitOutcome::Ours(Won {
                    interest,
                    has_waited: true,
                    is_revoked: false,
                    own: None,
                }));
            }
            let Some(names) = list(place, call, request.verb).await? else { return Ok(WaitOutcome::Gone) };
            entered = Entered::Listed(names);
        }
        let looking = async {
            let mut wait = Wait {
                place,
                kind: request.kind,
                asking: request.priority.map(|_| MoveRequests::new(stands_since)),
                clock: request.session.clock().clone(),
                is_revoked: false,
                has_waited: waits_in_memory && !call.is_single_attempt(),
                own: None,
                closest: None,
                second: None,
                siblings: None,
                leads_late: false,
            };
            wait.run(request, call, entered).await
        };
        Box::pin(looking).await
    }
}

/// Behind another one of this session.
async fn wait_in_memory(
    place: &Place,
    request: &TurnRequest<'_>,
    call: &mut Call,
    own: Option<&mut Watch>,
) -> Result<InMemory> {
    let (Some(position), Some(node)) = (place.position(), place.node()) else {
        return Ok(InMemory::Look);
    };
    let server_session = &place.server_session;
    if call.is_single_attempt() && position.is_unlinked() {
        position.leaves_memory();
        return Ok(InMemory::Look);
    }
    if call.is_single_attempt() {
        return Err(Error::timeout("not acquired"));
    }
    call.waits_at(request.path, server_session);
    request.session.counters.queue(position.ahead());
    if let Some(contenders_ahead) = call.contenders_ahead() {
        position.tells(contenders_ahead);
    }
    match call.wait_for(news_in_memory(position, own)).await? {
        Some(TurnNews::Turn) => {}
        Some(TurnNews::Look) => return Ok(InMemory::Look),
        None => {
            position.leaves_memory();
            return Ok(InMemory::OwnNode);
        }
    }
    let interest = server_session.interest(&node.path);
    // We may have been slow to hear of it.
    let is_certain = server_session.is_firm() && position.stands(server_session);
    Ok(if is_certain { InMemory::Ours(interest) } else { InMemory::Look })
}

/// `None` when something has happened to our own node: one that has looked before may be told of that.
fn news_in_memory(
    position: &Position,
    mut own: Option<&mut Watch>,
) -> impl Future<Output = Option<TurnNews>> {
    poll_fn(move |context| {
        let told = own.as_mut().is_some_and(|own| own.poll_unpin(context).is_ready());
        if told { Poll::Ready(None) } else { position.poll_news(context).map(Some) }
    })
}

/// Who stands there now; `None` if we do not.
async fn list(place: &Place, call: &mut Call, verb: &str) -> Result<Option<SharedNames>> {
    let asked = Departure::now(&place.server_session, call.now());
    let listing = Box::pin(place.list(call, verb)).await?;
    let Listing::Names(names) = listing else { return Ok(None) };
    if let Some(position) = place.position() {
        position.lists(&names, asked);
        place.waits_behind(&names, asked);
    }
    Ok(Some(names))
}

impl Wait<'_> {
    fn won(&mut self, interest: Interest) -> WaitOutcome {
        let (has_waited, is_revoked) = (self.has_waited, self.is_revoked);
        WaitOutcome::Ours(Won { interest, has_waited, is_revoked, own: self.own.take() })
    }

    async fn run(
        &mut self,
        request: &TurnRequest<'_>,
        call: &mut Call,
        entered: Entered,
    ) -> Result<WaitOutcome> {
        let Some(node) = self.place.node() else { return Ok(WaitOutcome::Gone) };
        let server_session = &self.place.server_session;
        // Until it is looked at. Each of a thousand waiters would else keep a thousand names.
        let mut names = None;
        let (mut ahead, mut interest, mut first_since) = (Ahead::default(), None, None);
        match entered {
            Entered::Listed(listed) => names = Some(listed),
            // Who was slow to hear of it looks.
            Entered::Turn => {
                let stands = self.place.position().is_some_and(|position| position.stands(server_session));
                interest = stands.then(|| server_session.interest(&node.path));
            }
            Entered::InMemory => {}
        }
        'look: loop {
            if self.place.position().is_some_and(Position::waits) {
                drop(names.take());
                self.has_waited |= !call.is_single_attempt();
                let own = self.own.as_mut().map(|armed| &mut armed.watch);
                match wait_in_memory(self.place, request, call, own).await? {
                    InMemory::Ours(interest) => return Ok(self.won(interest)),
                    InMemory::Look => {}
                    InMemory::OwnNode => self.own = None,
                }
                names = list(self.place, call, request.verb).await?;
                if names.is_none() {
                    return Ok(WaitOutcome::Gone);
                }
                continue;
            }
            if let Some(listed) = &names {
                let found = ahead_of(self.place, call, request.verb, node, listed, &mut self.leads_late);
                let Some(found) = found.await? else {
                    names = list(self.place, call, request.verb).await?;
                    if names.is_none() {
                        return Ok(WaitOutcome::Gone);
                    }
                    continue;
                };
                ahead = found;
                if let Some(asking) = &mut self.asking {
                    asking.sees(Contenders::of(listed), &node.entry, ahead.first.as_deref(), ahead.count);
                }
                // Past the end of the range it is looked at again: that tells which of those ahead have gone.
                names.take_if(|_| !node.entry.is_late());
                self.tell(request, call, &ahead);
                interest = self.needs_certainty(&ahead).then(|| server_session.interest(&node.path));
            }
            if ahead.count == 0 {
                let since = *first_since.get_or_insert_with(|| call.now());
                let is_firm = server_session.is_firm_enough(since);
                if let Some(interest) = interest.take_if(|_| is_firm && self.own_stands()) {
                    return Ok(self.won(interest));
                }
                // First in line, but the session is in doubt, or our node is: once it is certain again, look again,
                // for somebody may have deleted our node meanwhile.
                Box::pin(call.until(request.verb, server_session.until_firm_or_soon())).await?;
                names = list(self.place, call, request.verb).await?;
                if names.is_none() {
                    return Ok(WaitOutcome::Gone);
                }
                continue;
            }
            if call.is_single_attempt() {
                return Err(Error::timeout("not acquired"));
            }
            let link = server_session.link();
            let is_armed = loop {
                match Box::pin(self.arm(call, request.verb, node, &ahead.nearest)).await? {
                    Arming::Armed => break true,
                    Arming::Stale => break false,
                    Arming::Asked => return Ok(WaitOutcome::Asked),
                    _ if server_session.has_ended() => return Ok(WaitOutcome::Gone),
                    // What was armed stays armed over a reconnection; only what got no answer is asked for again.
                    Arming::Unanswered => call.retry_after_loss(request.verb).await?,
                }
            };
            if is_armed {
                self.has_waited = true;
                call.waits_at(request.path, server_session);
                if let Some(asking) = self.asking.as_mut().filter(|asking| asking.is_due(call.now())) {
                    Box::pin(asking.act(self.place, call, request.verb)).await?;
                    interest = interest.filter(|_| self.needs_certainty(&ahead));
                }
                // In a box, as who waits in memory needs none.
                match Box::pin(self.news(call, request.verb, link)).await? {
                    Wake::Own(Event::Deleted | Event::SessionEnded) => return Ok(WaitOutcome::Gone),
                    Wake::Own(_) | Wake::Settled => continue 'look,
                    Wake::Closest(Event::DataChanged) => continue 'look,
                    Wake::Closest(Event::Deleted) if ahead.count == 1 && self.is_ours_without_a_read() => {
                        if let Some(interest) = interest.take() {
                            return Ok(self.won(interest));
                        }
                    }
                    Wake::Closest(_) => self.closest = None,
                    Wake::Connection if server_session.has_ended() => return Ok(WaitOutcome::Gone),
                    Wake::Second | Wake::Siblings | Wake::Connection | Wake::Untold => {}
                }
            }
            names = list(self.place, call, request.verb).await?;
            if names.is_none() {
                return Ok(WaitOutcome::Gone);
            }
        }
    }

    /// Of who stands further back the session need not be certain, unless it is to ask others to move.
    fn needs_certainty(&self, ahead: &Ahead) -> bool {
        ahead.count <= 1 || self.asking.as_ref().is_some_and(|asking| asking.due().is_some())
    }

    /// Says who is first and how many are ahead, for those who ask how the wait stands.
    fn tell(&self, request: &TurnRequest<'_>, call: &Call, ahead: &Ahead) {
        request.session.counters.queue(ahead.count);
        let Some(contenders_ahead) = call.contenders_ahead() else { return };
        self.place.position().into_iter().for_each(|position| position.tells(contenders_ahead));
        match &ahead.first {
            // The first writer ahead of a reader may wait itself.
            Some(first) if self.kind != Kind::Read => {
                contenders_ahead.saw(self.place.parent(), first, ahead.count);
            }
            _ => contenders_ahead.forget(),
        }
    }

    /// The contender closest ahead was the only one, and it was deleted. The turn is ours without asking, for the
    /// plain mutex, if that news cannot be stale: it came over the connection on which the watch was armed, our own
    /// node has been watched since before and still stands, and the session is certain. Otherwise: somebody may have
    /// deleted our node and a later contender may own; Curator's downgrade may have slipped a reader in below the
    /// writer it then deletes; or we may be reading a buffered event after our session expired.
    fn is_ours_without_a_read(&mut self) -> bool {
        if !self.kind.is_plain() {
            // A reader's last writer ahead may go while an earlier one holds, and a writer may leave a reader behind.
            return false;
        }
        let now = self.place.server_session.link().generation;
        let closest =
            self.closest.take().is_some_and(|armed| armed.generation == now && !armed.name.contains("__"));
        let own = self.own.as_ref().is_some_and(|own| own.generation == now);
        closest && own && self.own_stands() && self.place.server_session.is_firm()
    }

    /// Whether nothing has been heard of our own node. What was heard is not heard a second time.
    fn own_stands(&mut self) -> bool {
        let told = |own: &mut Armed| tokio::task::unconstrained(&mut own.watch).now_or_never().is_some();
        let heard = self.own.as_mut().is_some_and(told);
        if heard {
            self.own = None;
        }
        !heard
    }

    /// Watches the closest, the second closest and our own node, in one flight, as far as that is not done yet.
    async fn arm(
        &mut self,
        call: &mut Call,
        verb: &str,
        node: &Node,
        ahead: &[ContenderName],
    ) -> Result<Arming> {
        let server_session = self.place.server_session.clone();
        let closest = &ahead[ahead.len() - 1].name;
        let second = ahead.len().checked_sub(2).map(|at| &ahead[at].name);
        let generation = server_session.link().generation;
        // The second closest may have become the closest.
        if self.second.as_ref().is_some_and(|armed| armed.name == *closest) {
            self.closest = self.second.take();
        }
        self.closest.take_if(|armed| armed.name != *closest);
        self.second.take_if(|armed| Some(&armed.name) != second);

        let watch = |name: &str| server_session.watch_data(&path::join(self.place.parent(), name));
        let closest_flight = (self.closest.is_none() && self.siblings.is_none()).then(|| watch(closest));
        let own_flight = self.own.is_none().then(|| server_session.watch_data(&node.path));
        let second_flight = second.filter(|_| self.second.is_none()).map(|name| (name, watch(name)));

        let mut arming = Arming::Armed;
        if let Some(flight) = own_flight {
            match call.receive(verb, flight).await? {
                Ok((data, _, _)) if is_request(&data) && self.asking.is_some() => return Ok(Arming::Asked),
                Ok((data, _, watch)) => {
                    self.is_revoked |= is_request(&data);
                    self.own = Some(Armed::on(generation, &node.entry.name, watch));
                }
                Err(error) if error.is_unanswered() => arming = Arming::Unanswered,
                // Gone: the list will tell. Not readable even for us: the parent's children tell enough.
                Err(WireError::NoNode) => return Ok(Arming::Stale),
                Err(WireError::NoAuth) => {}
                Err(error) => return Err(refusal(error, verb, &node.path)),
            }
        }
        if let Some(flight) = closest_flight {
            match call.receive(verb, flight).await? {
                Ok((data, stat, watch)) => {
                    self.closest = Some(Armed::on(generation, closest, watch));
                    if let Some(contenders_ahead) = call.contenders_ahead() {
                        contenders_ahead.read(closest, data, stat);
                    }
                }
                Err(WireError::NoNode) => return Ok(Arming::Stale),
                Err(WireError::NoAuth) => match self.watch_siblings(call, verb, closest).await? {
                    Arming::Armed => {}
                    other => return Ok(other),
                },
                Err(error) if error.is_unanswered() => arming = Arming::Unanswered,
                Err(error) => return Err(refusal(error, verb, self.place.parent())),
            }
        }
        if let Some((name, flight)) = second_flight {
            match call.receive(verb, flight).await? {
                Ok((_, _, watch)) => self.second = Some(Armed::on(generation, name, watch)),
                // Gone: we may be next in line already.
                Err(WireError::NoNode) => return Ok(Arming::Stale),
                Err(error) if error.is_unanswered() => arming = Arming::Unanswered,
                // Without this watch the hand-off costs a list more.
                Err(_) => {}
            }
        }
        Ok(arming)
    }

    /// A contender of another identity whose node we may not read: its coming and going shows among the children.
    async fn watch_siblings(&mut self, call: &mut Call, verb: &str, closest: &str) -> Result<Arming> {
        match call.receive(verb, self.place.server_session.watch_children(self.place.parent())).await? {
            Ok((names, _, watch)) => {
                self.siblings = Some(watch);
                let stands = names.iter().any(|name| name == closest);
                Ok(if stands { Arming::Armed } else { Arming::Stale })
            }
            Err(error) if error.is_unanswered() => Ok(Arming::Unanswered),
            Err(WireError::NoNode) => Ok(Arming::Stale),
            Err(error) => Err(refusal(error, verb, self.place.parent())),
        }
    }

    /// What there is to act on. A reconnection is not: the transport sets the watches again on the next connection, and the
    /// server then tells what happened to the nodes meanwhile. A thousand waiters must not ask for what they are told.
    async fn news(&mut self, call: &mut Call, verb: &str, mut link: Link) -> Result<Wake> {
        loop {
            match call.wait_at_most(LOOK_AFTER, self.wake(link)).await? {
                Some(Wake::Connection) if !self.place.server_session.has_ended() => {
                    link = self.place.server_session.link()
                }
                Some(wake) => return Ok(wake),
                None if Box::pin(self.closest_stands(call, verb)).await? => {}
                None => {
                    self.closest = None;
                    return Ok(Wake::Untold);
                }
            }
        }
    }

    /// Whether the contender ahead stands and its watch will tell when it goes, as far as that is known.
    async fn closest_stands(&mut self, call: &mut Call, verb: &str) -> Result<bool> {
        let Some(closest) = &self.closest else { return Ok(true) };
        let node = path::join(self.place.parent(), &closest.name);
        let read = call.receive(verb, self.place.server_session.get_data(&node)).await?;
        Ok(!matches!(read, Err(WireError::NoNode | WireError::NoAuth)))
    }

    async fn wake(&mut self, link: Link) -> Wake {
        let wake = {
            let own = next(self.own.as_mut().map(|armed| &mut armed.watch));
            let closest = next(self.closest.as_mut().map(|armed| &mut armed.watch));
            let second = next(self.second.as_mut().map(|armed| &mut armed.watch));
            let siblings = next(self.siblings.as_mut());
            let settled = settled(&self.clock, self.asking.as_ref().and_then(MoveRequests::due));
            tokio::select! {
                biased;
                event = own => Wake::Own(event),
                event = closest => Wake::Closest(event),
                _ = second => Wake::Second,
                _ = siblings => Wake::Siblings,
                () = settled => Wake::Settled,
                () = self.place.server_session.link_changed(link) => Wake::Connection,
            }
        };
        // A watch tells one thing, once.
        match &wake {
            Wake::Own(_) => self.own = None,
            Wake::Closest(Event::Deleted) => {}
            Wake::Closest(_) => self.closest = None,
            Wake::Second => self.second = None,
            Wake::Siblings => self.siblings = None,
            Wake::Settled | Wake::Connection | Wake::Untold => {}
        }
        wake
    }
}

async fn settled(clock: &Arc<dyn Clock>, due: Option<Moment>) {
    match due {
        Some(due) => clock.sleep_until(due).await,
        None => std::future::pending().await,
    }
}

async fn next(watch: Option<&mut Watch>) -> Event {
    match watch {
        Some(watch) => watch.await,
        None => std::future::pending().await,
    }
}
