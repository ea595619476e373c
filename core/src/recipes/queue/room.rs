//! How many items may go into a queue.
//!
//! 1. Where there may be only so many (`max_items`), a put also sets the node `P-__queue__/puts` at the version that
//!    was read before the items were counted. So two producers cannot both take the last place: all of ours set it,
//!    and a consumer only makes room. A full queue is waited for with a watch on the items.
//! 2. Nobody can list a queue whose names take more than a packet. So a put is refused long before that. That is
//!    looked at now and then: after a small part of the room that was left, because others put, too.
//! 3. The server numbers the items, up to 2^31. Behind that it gives numbers twice, and negative ones in between, which tell
//!    nothing of the order. So a put is refused before that as well.

use std::sync::Arc;

use super::puts::{Batch, VERB, make_as};
use crate::error::{Error, ErrorKind, Result};
use crate::path::{self, PACKET_LIMIT};
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::watching::{Children, Watching};
use crate::session::wire::{CreateMode, Stat, WireError, Write};

/// What a name takes in a list besides itself, with the number that the server appends.
const AROUND: usize = 14;
/// How many one client puts at least and at most between two looks at the room, and which part of the room that was left.
const FEWEST: usize = 10;
const MOST: usize = 1000;
const PART: usize = 50;
/// How many of those are left for later. The margin of a fifth of a packet is enough for some fifty clients of which each has
/// looked before the others put.
const MOST_LATER: usize = 250;
/// How many numbers are left over: for those who have looked before the others put, and for what goes back to the end.
const NUMBERS_LEFT_OVER: u32 = 100_000;

pub(super) struct Room {
    items: String,
    /// The node that is set by every put into a queue with a bound.
    puts: String,
    /// How many items there may be.
    bound: Option<usize>,
    /// How many may still be put before the room is looked at.
    unlooked: usize,
    /// While the queue is full.
    watching: Option<Watching<Children>>,
}

pub(super) enum Admission {
    /// So many may go in, together with that write.
    Some { many: usize, guard: Option<Write> },
    /// None, until somebody takes something.
    Full,
}

impl Room {
    pub(super) fn new(items: &str, bound: Option<usize>) -> Room {
        let puts = format!("{items}-__queue__/puts");
        Room { items: items.to_owned(), puts, bound, unlooked: 0, watching: None }
    }

    pub(super) fn went_in(&mut self, many: usize) {
        self.unlooked = self.unlooked.saturating_sub(many).min(MOST_LATER);
    }

    /// How many of `wanted` may go in.
    pub(super) async fn admit(
        &mut self,
        session: &Arc<Session>,
        call: &mut Call,
        first: &Batch,
        wanted: usize,
    ) -> Result<Admission> {
        if self.unlooked == 0 {
            self.look(call, first).await?;
        }
        let wanted = wanted.min(self.unlooked);
        let Some(bound) = self.bound else { return Ok(Admission::Some { many: wanted, guard: None }) };
        let (version, there) = count(&self.items, &self.puts, session, call).await?;
        let many = wanted.min(bound.saturating_sub(there));
        if many == 0 {
            return Ok(Admission::Full);
        }
        self.watching = None;
        let guard = Write::Set { path: self.puts.clone(), data: Vec::new(), version: Some(version) };
        Ok(Admission::Some { many, guard: Some(guard) })
    }

    /// Waits until the items have changed, for as long as that takes.
    pub(super) async fn changed(&mut self, session: &Arc<Session>, call: &mut Call) -> Result<()> {
        let watching = self.watching.get_or_insert_with(|| session.watch_children(VERB, &self.items));
        call.patiently(watching.next()).await?.map(drop)
    }

    /// Nobody waits any more.
    pub(super) fn give_up(&mut self) {
        self.watching = None;
    }

    /// How many more names a list could carry; TooLarge if it is too many already, Exists if no number is left for more.
    async fn look(&mut self, call: &mut Call, first: &Batch) -> Result<()> {
        let stat = match call.ask(VERB, |epoch| epoch.exists(&self.items)).await {
            Ok(stat) => stat,
            Err(failure) => return Err(failure.about(VERB, &self.items)),
        };
        if stat.as_ref().is_some_and(|stat| next_number(stat) > i32::MAX as u32 - NUMBERS_LEFT_OVER) {
            return Err(used_up());
        }
        let there = stat.map_or(0, |stat| usize::try_from(stat.num_children).unwrap_or(0));
        let name = first.writes.front().map_or(0, |write| path::name(write.path()).len()) + AROUND;
        let most = PACKET_LIMIT / 10 * 8 / name;
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
        Ok(())
    }
}

/// Which number the next child gets. What is told as `cversion` is how many were made and how many went, modulo 2^32.
fn next_number(parent: &Stat) -> u32 {
    (parent.cversion as u32).wrapping_add(parent.num_children as u32) / 2
}

pub(super) fn used_up() -> Error {
    Error::new(
        ErrorKind::Exists,
        "the numbers of the items are used up: the server numbers them, and its counter has come to its end (2147483647) or \
         nearly so, or somebody makes items with numbers of their own; take all items and delete the queue's node, and the \
         numbers begin anew",
    )
}

/// The version of the node that every put sets, and how many items there are no earlier than it had that version.
async fn count(items: &str, puts: &str, session: &Arc<Session>, call: &mut Call) -> Result<(i32, usize)> {
    loop {
        let epoch = call.epoch(VERB).await?;
        let link = epoch.link();
        // In one flight, and in this order.
        let (guard, listed) = (epoch.exists(puts), epoch.exists(items));
        let guard = call.briefly(VERB, guard).await?;
        let listed = call.briefly(VERB, listed).await?;
        match (guard, listed) {
            (Ok(Some(guard)), Ok(listed)) if epoch.link() == link => {
                let there = listed.map_or(0, |stat| usize::try_from(stat.num_children).unwrap_or(0));
                return Ok((guard.version, there));
            }
            (Ok(None), Ok(_)) => {
                let beside = path::parent(puts);
                make_as(session, call, VERB, beside, CreateMode::Container).await?;
                match call.briefly(VERB, epoch.create(puts, b"", CreateMode::Persistent)).await? {
                    Ok(_) | Err(WireError::NodeExists | WireError::NoNode) => {}
                    Err(error) if error.is_unanswered() => call.retry_after_loss(VERB).await?,
                    Err(error) => return Err(refusal(error, VERB, puts)),
                }
            }
            (Err(error), _) | (_, Err(error)) if !error.is_unanswered() => {
                return Err(refusal(error, VERB, items));
            }
            _ => call.retry_after_loss(VERB).await?,
        }
    }
}
