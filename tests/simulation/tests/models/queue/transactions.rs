//! What the server does with a transaction, and what is done where its answer is lost.

use super::{At, Item, Queue, Seen, Steps, Told, Transaction, World};
use crate::explorer::Step;

impl Queue {
    /// The server decides it: whether it is applied.
    pub(super) fn apply(
        &self,
        world: &mut World,
        who: usize,
        sent: Transaction,
        made: u8,
    ) -> Result<bool, &'static str> {
        let has_mark = match sent {
            Transaction::Claim(_) | Transaction::Release(..) => false,
            Transaction::Put(_) => self.rules.puts_once,
            _ => self.rules.removes_once,
        };
        if has_mark && world.marks[who].0 != made {
            return Ok(false);
        }
        let found = |world: &World, seen: &Seen, version: u8| {
            let item = world.items[usize::from(seen.number)];
            item.filter(|item| item.version == version || !self.rules.removes_by_version)
        };
        match sent {
            Transaction::Put(item) => world.append(item),
            Transaction::Remove(seen) | Transaction::Bury(seen) => {
                let at = usize::from(seen.number);
                let Some(item) = found(world, &seen, seen.version) else { return Ok(false) };
                let asks = seen.version > 0 && self.rules.proves_no_claim;
                if asks && (world.claims[at].is_some() || item.is_paused != seen.is_paused) {
                    return Ok(false);
                }
                if item.item != seen.item {
                    return Err("an item is removed that nobody has read");
                }
                if world.works(item.item).is_some() {
                    return Err("an item is taken that somebody works on");
                }
                world.items[at] = None;
                if let Transaction::Bury(_) = sent {
                    world.ends(item.item)?;
                }
            }
            Transaction::PutBack(seen) => {
                let at = usize::from(seen.number);
                match world.parent_stands && world.parent == seen.parent && world.items[at].is_none() {
                    true => world.items[at] = Some(Item { item: seen.item, version: 0, is_paused: false }),
                    false => world.append(seen.item),
                }
            }
            Transaction::Claim(work) => {
                let at = usize::from(work.seen.number);
                let Some(mut item) = found(world, &work.seen, work.seen.version) else { return Ok(false) };
                if world.claims[at].is_some() || item.is_paused != work.seen.is_paused {
                    return Ok(false);
                }
                (item.version, item.is_paused) = (work.attempts, false);
                world.items[at] = Some(item);
                world.claims[at] = Some((who as u8, work.said));
            }
            Transaction::Ack(work) | Transaction::BuryOwn(work) | Transaction::Nack(work) => {
                let at = usize::from(work.seen.number);
                let Some(mut item) = found(world, &work.seen, work.attempts) else { return Ok(false) };
                if world.claims[at].is_none() {
                    return Ok(false);
                }
                if world.claims[at] != Some((who as u8, work.said)) {
                    return Err("a claim is ended that is another one's");
                }
                world.claims[at] = None;
                item.is_paused = true;
                world.items[at] = Some(item).filter(|_| matches!(sent, Transaction::Nack(_)));
                if world.items[at].is_none() {
                    world.ends(item.item)?;
                }
            }
            Transaction::Release(work, version) => {
                let at = usize::from(work.seen.number);
                let stands = world.items[at].is_some_and(|item| item.version == version);
                if world.claims[at].is_none() || (!stands && self.rules.guards_deletions) {
                    return Ok(false);
                }
                if world.claims[at] != Some((who as u8, work.said)) {
                    return Err("a claim is deleted that is another one's");
                }
                world.claims[at] = None;
            }
        }
        if has_mark {
            world.marks[who] = (made + 1, made + 1);
        }
        Ok(true)
    }

    /// After a lost answer.
    pub(super) fn settle(&self, world: &World, who: usize, sent: Transaction, made: u8, steps: &mut Steps) {
        let mut tell = |what, to| steps.push(Step { who, what, to });
        let mut next = *world;
        match sent {
            Transaction::Put(_) => tell("again", Ok(next.with(who, At::Sent(sent, made)))),
            // A write goes ahead, behind all that this session has sent.
            Transaction::Release(..) | Transaction::Claim(_)
                if world.late.is_some_and(|(of, ..)| usize::from(of) == who) => {}
            Transaction::Release(work, _) => {
                let at = usize::from(work.seen.number);
                let is_own = world.claims[at] == Some((who as u8, work.said));
                let version = world.items[at].map(|item| item.version);
                let again = version.filter(|_| is_own || !self.rules.looks_before_deleting);
                let to = match again {
                    Some(version) => self.send(world, who, Transaction::Release(work, version)),
                    None => world.with(who, At::Idle),
                };
                tell("delete_again, looks", Ok(to));
            }
            Transaction::Claim(work) => {
                let claim = world.claims[usize::from(work.seen.number)];
                let is_ours = match self.rules.asks_what_claim_says {
                    true => claim == Some((who as u8, work.said)),
                    false => claim.is_some(),
                };
                tell("recover", self.hears(next, who, sent, is_ours));
            }
            _ if !self.rules.removes_once => {
                // It goes again, by the name, and what is not there any more was its own.
                let to = self.apply(&mut next, who, sent, made);
                tell("again", to.and_then(|_| self.hears(next, who, sent, true)));
            }
            _ => {
                let (version, said) = world.marks[who];
                let is_applied = version != made && said == made + 1;
                if version == made {
                    next.marks[who] = (made + 1, made);
                }
                let to = match is_applied {
                    true => self.hears(next, who, sent, true),
                    false => {
                        next.clients[who].made += 1;
                        self.was_not_applied(next, who, sent)
                    }
                };
                tell("settle", to);
            }
        }
    }

    fn was_not_applied(&self, world: World, who: usize, sent: Transaction) -> Told {
        match sent {
            Transaction::Ack(work) | Transaction::Nack(work) | Transaction::BuryOwn(work) => {
                // It looks whether its nodes stand.
                let at = usize::from(work.seen.number);
                match world.claims[at] == Some((who as u8, work.said)) {
                    true => Ok(self.send(&world, who, sent)),
                    false => self.hears(world, who, sent, false),
                }
            }
            Transaction::PutBack(_) => Ok(self.send(&world, who, sent)),
            _ => self.hears(world, who, sent, false),
        }
    }
}
