//! How many items may go into a queue.
//!
//! 1. Where there may be only so many (`max_items`), a put also sets the node `P-__queue__/puts` at the version that
//!    was read before the items were counted. So two producers cannot both take the last place: all of ours set it,
//!    and a consumer only makes room. Those who wait for it stand in a line, and only the first few are told that items came or
//!    went, without a list of them: so a removal costs the same, however long the queue and that line are.
//! 2. Nobody can list a queue whose names take more than a packet. So a put is refused long before that. That is
//!    looked at now and then: after a small part of the room that was left, because others put, too.
//! 3. The server numbers the items, up to 2^31. Before that end a put waits until all items are gone: see [`numbers`](super::numbers).

use std::collections::VecDeque;
use std::sync::Arc;

use super::layout::{NodeLayout, Order, make_parent};
use super::numbers::ItemNumbers;
use crate::error::{Error, ErrorKind, Result};
use crate::path::{self, PACKET_LIMIT};
use crate::recipes::waiting_line::WaitingLine;
use crate::session::Session;
use crate::session::call::{Call, LOOK_AFTER};
use crate::session::clock::{Later, Moment};
use crate::session::refusal::refusal;
use crate::session::server_session::ServerSession;
use crate::session::watching::{Children, Watching};
use crate::session::wire::{CreateMode, Following, WireError, Write};

pub(super) const VERB: &str = "put";
/// What a name takes in a list besides itself, with the number that the server appends.
const AROUND: usize = 14;
/// How many one client puts at least and at most between two looks at the room, and which part of the room that was left.
const FEWEST: usize = 10;
const MOST: usize = 1000;
const PART: usize = 50;
/// How many of those are left for later. The margin of a fifth of a packet is enough for some fifty clients of which each has
/// looked before the others put.
const MOST_LATER: usize = 250;
/// The version that a write takes for any.
const ANY: i32 = -1;

pub(super) struct QueueRoom {
    items: String,
    /// The node that is set by every put into a queue with a bound.
    puts: String,
    /// How many items there may be.
    bound: Option<usize>,
    /// How many may still be put before the room is looked at.
    unlooked: usize,
    pub(super) numbers: ItemNumbers,
    /// When it was last looked who may delete its items, beside a put.
    pub(super) looked_for_strangers: Option<Moment>,
    /// The same for the parent of what keeps the bound.
    bound_looked: Option<Moment>,
    /// The `pzxid` of the items' parent when it was counted last.
    counted: Option<i64>,
    /// Where the line of those stands who wait for room.
    waiting_at: String,
    /// While the queue is full.
    waiting: RoomWait,
}

/// What a wait for room has.
#[derive(Default)]
struct RoomWait {
    line: WaitingLine,
    news: Option<RoomNews>,
}

/// What tells that there may be room.
enum RoomNews {
    /// In that session. The next change is listened for before one counts: what comes meanwhile is not missed.
    Told { server_session: Arc<ServerSession>, following: Following, next: Later<bool> },
    /// Where servers know no watch that stays: once, of what has changed since the items were counted.
    Once(Later<RoomTold>),
    /// Where no server tells it without a list.
    Listed(Box<Watching<Children>>),
}

/// How the next change is to be listened for.
enum RoomTold {
    InTheSameWay,
    Anew,
    WithLists,
}

impl RoomNews {
    fn of(session: &Arc<Session>, items: &str, counted: Option<i64>) -> RoomNews {
        let server_session = session.server_session();
        if let Some(mut following) = server_session.follow_children(items) {
            return RoomNews::Told { server_session, next: following(), following };
        }
        let Some(counted) = counted else { return RoomNews::listed(session, items) };
        let watch = server_session.watch_children_since(items, counted);
        RoomNews::Once(Box::pin(async move {
            match watch.await {
                Ok(watch) => {
                    watch.await;
                    RoomTold::Anew
                }
                Err(error) if error.is_unanswered() => RoomTold::Anew,
                Err(_) => RoomTold::WithLists,
            }
        }))
    }

    fn listed(session: &Arc<Session>, items: &str) -> RoomNews {
        RoomNews::Listed(Box::new(session.watch_children(VERB, items)))
    }

    /// The next change.
    async fn next(&mut self) -> Result<RoomTold> {
        match self {
            RoomNews::Told { server_session, following, next } => {
                let is_told = next.as_mut().await;
                *next = following();
                let goes_on = is_told && !server_session.has_ended();
                Ok(if goes_on { RoomTold::InTheSameWay } else { RoomTold::Anew })
            }
            RoomNews::Once(next) => Ok(next.as_mut().await),
            RoomNews::Listed(watching) => watching.next().await.map(|_| RoomTold::InTheSameWay),
        }
    }
}

pub(super) enum Admission {
    /// So many may go in, together with that write.
    Some { many: usize, guard: Option<Write> },
    /// None, until somebody takes something.
    Full,
}

/// How many items a list can carry at most if their names are so long, with what the server appends.
pub(super) fn most_listed(name: usize) -> usize {
    PACKET_LIMIT / 10 * 8 / (name + AROUND)
}

/// The same for the items of a queue.
pub(super) fn most(layout: &NodeLayout) -> usize {
    // The names of a delay queue say when; in some hundred years they are one letter longer.
    let key = if layout.order == Order::Due { 1 << 44 } else { 0 };
    layout.fresh(key).map_or(0, |fresh| most_listed(path::name(&fresh).len()))
}

impl QueueRoom {
    pub(super) fn new(layout: &NodeLayout, bound: Option<usize>) -> QueueRoom {
        QueueRoom {
            items: layout.items.clone(),
            puts: layout.own("puts"),
            waiting_at: layout.own("room"),
            bound,
            unlooked: 0,
            numbers: ItemNumbers::new(layout),
            looked_for_strangers: None,
            bound_looked: None,
            counted: None,
            waiting: RoomWait::default(),
        }
    }

    pub(super) fn went_in(&mut self, many: usize, newest: Option<i32>) {
        if many > 0 {
            self.give_up();
        }
        let most_later = if self.numbers.went_in(newest) { 0 } else { MOST_LATER };
        self.unlooked = self.unlooked.saturating_sub(many).min(most_later);
    }

    /// With `max_items`: where that stands which every put sets, and when that was last looked at for who may delete there.
    pub(super) fn bound_kept_below(&mut self) -> Option<(&str, &mut Option<Moment>)> {
        self.bound.map(|_| (path::parent(&self.puts), &mut self.bound_looked))
    }

    /// How many of `wanted` may go in.
    pub(super) async fn admit(
        &mut self,
        session: &Arc<Session>,
        call: &mut Call,
        first: &VecDeque<Write>,
        has_begun: bool,
        wanted: usize,
    ) -> Result<Admission> {
        // What cannot go in as a whole is refused before anything of it is sent, unless it may wait for room.
        let is_long = self.bound.is_none() && !has_begun && first.len() > self.unlooked;
        if self.unlooked == 0 || is_long {
            let unlooked = self.unlooked;
            let Some(left) = self.look(session, call, first).await? else { return Ok(Admission::Full) };
            if unlooked > 0 {
                self.unlooked = unlooked;
            }
            if is_long && first.len() > left {
                return Err(too_many(first.len(), left));
            }
        }
        let wanted = wanted.min(self.unlooked);
        let Some(bound) = self.bound else { return Ok(Admission::Some { many: wanted, guard: None }) };
        let (version, there, counted) = count(&self.items, &self.puts, call).await?;
        self.counted = counted;
        let many = wanted.min(bound.saturating_sub(there));
        if many == 0 {
            return Ok(Admission::Full);
        }
        let guard = Write::Set { path: self.puts.clone(), data: Vec::new(), version: Some(version) };
        Ok(Admission::Some { many, guard: Some(guard) })
    }

    /// Returns when there may be room, for as long as that takes. The first time it is to be counted once more: what has changed
    /// before is not told.
    pub(super) async fn changed(&mut self, session: &Arc<Session>) -> Result<()> {
        let mut call = session.call(None);
        call.outlast_outages();
        loop {
            let RoomWait { line, news } = &mut self.waiting;
            line.enter(&self.waiting_at, session, &mut call, VERB).await?;
            let told = match news {
                _ if !line.is_in_front() => None,
                None => {
                    let listens = news.insert(RoomNews::of(session, &self.items, self.counted));
                    match listens {
                        // It tells of all that has changed since they were counted.
                        RoomNews::Once(_) => Some(listens),
                        RoomNews::Told { .. } | RoomNews::Listed(_) => return Ok(()),
                    }
                }
                Some(news) => Some(news),
            };
            tokio::select! {
                biased;
                told = next(told) => {
                    match told? {
                        RoomTold::InTheSameWay => {}
                        RoomTold::Anew => *news = None,
                        RoomTold::WithLists => *news = Some(RoomNews::listed(session, &self.items)),
                    }
                    return Ok(());
                }
                () = line.changed() => {}
                // Servers do not tell of it who may not read it any more.
                () = session.clock().sleep_until(session.now() + LOOK_AFTER) => {
                    if line.is_in_front() {
                        return Ok(());
                    }
                }
            }
            line.look(&mut call, VERB).await?;
        }
    }

    /// Nobody waits any more.
    pub(super) fn give_up(&mut self) {
        self.waiting = RoomWait::default();
    }

    /// How many more names a list could carry; TooLarge if it is too many already, `None` as long as no number is left for more.
    async fn look(
        &mut self,
        session: &Arc<Session>,
        call: &mut Call,
        first: &VecDeque<Write>,
    ) -> Result<Option<usize>> {
        let stat = loop {
            let (stat, is_nearly_used_up) = self.numbers.look(call).await?;
            self.counted = stat.as_ref().map(|parent| parent.pzxid);
            let Some(parent) = stat.filter(|_| is_nearly_used_up) else { break stat };
            if parent.num_children > 0 || !self.numbers.begin_anew(call).await? {
                if session.is_first_time(&format!("numbers of {}", self.items)) {
                    let path = &self.items;
                    tracing::warn!(
                        target: "zkrecipes",
                        event = "queue_numbers_used_up",
                        path,
                        items = parent.num_children,
                        "the server's numbers for the items are nearly used up: puts wait until all items are gone, and then they begin anew"
                    );
                }
                return Ok(None);
            }
        };
        let there = stat.map_or(0, |stat| usize::try_from(stat.num_children).unwrap_or(0));
        let most = most_listed(first.front().map_or(0, |write| path::name(write.path()).len()));
        let left = most.saturating_sub(there);
        if left == 0 {
            return Err(Error::new(
                ErrorKind::TooLarge,
                format!(
                    "too large: the queue has {there} items, and with more than {most} nobody could list it any more, as a \
                     server answers at most {PACKET_LIMIT} bytes; take items first. For more of them, spread a plain queue \
                     over several nodes with shards, or use several queues; max_items makes producers wait instead"
                ),
            ));
        }
        self.unlooked = (left / PART).clamp(FEWEST, MOST).min(left);
        Ok(Some(left))
    }
}

/// TooLarge unless so many items go into the queue, as it is now, without waiting. Names are as long as that of `first`.
pub(super) async fn check(items: &str, call: &mut Call, wanted: usize, first: &str) -> Result<()> {
    let stat =
        call.ask(VERB, |server| server.exists(items)).await.map_err(|failure| failure.about(VERB, items))?;
    let there = stat.map_or(0, |stat| usize::try_from(stat.num_children).unwrap_or(0));
    let left = most_listed(path::name(first).len()).saturating_sub(there);
    if wanted > left { Err(too_many(wanted, left)) } else { Ok(()) }
}

async fn next(news: Option<&mut RoomNews>) -> Result<RoomTold> {
    match news {
        Some(news) => news.next().await,
        None => std::future::pending().await,
    }
}

fn too_many(wanted: usize, left: usize) -> Error {
    Error::new(
        ErrorKind::TooLarge,
        format!(
            "too large: {wanted} items at once, and the queue has room for {left} more, because nobody could list it with more \
             of them; none was put. Put fewer and let consumers take some, spread a plain queue over several nodes with shards, \
             or give max_items, which makes the put wait for room"
        ),
    )
}

/// The version of the node that every put sets, how many items there are no earlier than it had that version, and the `pzxid` that
/// says so.
async fn count(items: &str, puts: &str, call: &mut Call) -> Result<(i32, usize, Option<i64>)> {
    loop {
        let server_session = call.server_session(VERB).await?;
        let link = server_session.link();
        // In one flight, and in this order.
        let (guard, listed) = (server_session.exists(puts), server_session.exists(items));
        let guard = call.receive(VERB, guard).await?;
        let listed = call.receive(VERB, listed).await?;
        match (guard, listed) {
            // A write would take it for any version, and guard nothing.
            (Ok(Some(guard)), Ok(_)) if guard.version == ANY => {
                if let Err(error) = call.receive(VERB, server_session.set_data(puts, b"", None)).await? {
                    call.retry_or_refuse(error, VERB, puts).await?;
                }
            }
            (Ok(Some(guard)), Ok(listed)) if server_session.link() == link => {
                let there = listed.as_ref().map_or(0, |stat| usize::try_from(stat.num_children).unwrap_or(0));
                return Ok((guard.version, there, listed.map(|stat| stat.pzxid)));
            }
            (Ok(None), Ok(_)) => {
                let beside = path::parent(puts);
                make_parent(call, VERB, beside, CreateMode::Container).await?;
                match call.receive(VERB, server_session.create(puts, b"", CreateMode::Persistent)).await? {
                    Ok(_) | Err(WireError::NodeExists | WireError::NoNode) => {}
                    Err(error) => call.retry_or_refuse(error, VERB, puts).await?,
                }
            }
            (Err(error), _) | (_, Err(error)) if !error.is_unanswered() => {
                return Err(refusal(error, VERB, items));
            }
            _ => call.retry_after_loss(VERB).await?,
        }
    }
}
