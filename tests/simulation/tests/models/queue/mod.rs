//! The world of the model, and who may do what next.

mod transactions;

use crate::explorer::{Model, Step, explore};

const MOST_ITEMS: usize = 2;
const NUMBERS: usize = 5;
const CONSUMERS: usize = 2;
const PRODUCER: usize = CONSUMERS;
const CLIENTS: usize = CONSUMERS + 1;

/// An item as it was read, by the name that is its number.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Seen {
    number: u8,
    version: u8,
    item: u8,
    parent: u8,
    is_paused: bool,
}

/// A claim: its item, at the version that it gave it, and what its node says, which is like no other.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Work {
    seen: Seen,
    attempts: u8,
    said: u8,
}

/// A transaction.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Transaction {
    Put(u8),
    Remove(Seen),
    PutBack(Seen),
    Claim(Work),
    Ack(Work),
    /// Gives it back with a pause, without one, or to the dead letters.
    Nack(Work),
    /// At the version at which it saw the item.
    Release(Work, u8),
    BuryOwn(Work),
    /// Whose last claimer has gone.
    Bury(Seen),
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum At {
    Idle,
    /// It was in a list and nobody had claimed it; and whether it was paused.
    Listed(u8, bool),
    Read(Seen),
    /// It is under way, with what the mark is to be.
    Sent(Transaction, u8),
    /// Its answer is lost.
    Doubting(Transaction, u8),
    Working(Work),
    /// What was to be written with its ack is refused, which it has not heard yet.
    Refused(Work),
    Done,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Client {
    at: At,
    /// How many changes were made with its mark, as far as it knows.
    made: u8,
    /// Nobody waits for what it gets.
    is_unheard: bool,
    /// It has heard, while its claim was ending, that the claim is gone.
    has_heard: bool,
    /// Its lease has run out.
    is_uncertain: bool,
    put: u8,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Item {
    item: u8,
    version: u8,
    is_paused: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct World {
    clients: [Client; CLIENTS],
    /// What stands at the server: by number the items and the claims, each by whom and with what it says.
    items: [Option<Item>; NUMBERS],
    claims: [Option<(u8, u8)>; NUMBERS],
    /// Which parent it is, or none, and its next number.
    parent: u8,
    parent_stands: bool,
    next: u8,
    /// By client the version of the mark, and what it says.
    marks: [(u8, u8); CLIENTS],
    /// What a server has that its client has left.
    late: Option<(u8, Transaction, u8)>,
    next_said: u8,
    /// How often each item was had, done, or buried. Only the promises look at it.
    ended: [u8; MOST_ITEMS],
    mishaps: u8,
}

/// What the recipe rests on. Each can be taken out, to see that something breaks.
#[derive(Copy, Clone)]
pub struct Rules {
    /// `Marks::apply`: a put sets the mark, and is applied once.
    pub puts_once: bool,
    /// `Marks::apply_seen`: so does what names an item, and it is not sent again.
    pub removes_once: bool,
    /// `Store::remove`: at the version that was read.
    pub removes_by_version: bool,
    /// `Store::remove`: what was claimed before is removed only if no claim stands.
    pub proves_no_claim: bool,
    /// `PendingClaim::recover`: the claim is ours only if it says so.
    pub asks_what_claim_says: bool,
    /// `Grant::guard`: a claim is deleted only while its item has the version that it gave it.
    pub guards_deletions: bool,
    /// `delete_again`: what is sent again is, if the claim is still there that it means.
    pub looks_before_deleting: bool,
    /// `make_items`: the parent is persistent, so that its numbers are not given again.
    pub keeps_parent: bool,
    /// `Finishing::end`: what was heard meanwhile is told.
    pub tells_what_was_heard: bool,
    /// `Got`: what nobody waits for is put back.
    pub puts_back: bool,
}

pub const CODE: Rules = Rules {
    puts_once: true,
    removes_once: true,
    removes_by_version: true,
    proves_no_claim: true,
    asks_what_claim_says: true,
    guards_deletions: true,
    looks_before_deleting: true,
    keeps_parent: true,
    tells_what_was_heard: true,
    puts_back: true,
};

pub struct Queue {
    pub rules: Rules,
    pub items: u8,
    /// Whether each consumer claims; else it gets.
    pub claims: [bool; CONSUMERS],
    pub most_attempts: u8,
    pub mishaps: u8,
    /// Whether the answer to a request may be lost that arrives late.
    pub is_late: bool,
}

type Steps = Vec<Step<World>>;
type Told = Result<World, &'static str>;

impl World {
    fn with(mut self, who: usize, at: At) -> World {
        self.clients[who].at = at;
        self
    }

    /// Somebody has had it, or it is done.
    fn ends(&mut self, item: u8) -> Result<(), &'static str> {
        self.ended[usize::from(item)] += 1;
        match self.ended[usize::from(item)] {
            1 => Ok(()),
            _ => Err("an item is had twice"),
        }
    }

    /// Whose claim stands of an item.
    fn works(&self, item: u8) -> Option<usize> {
        let works = |who: &usize| match self.clients[*who].at {
            At::Working(work)
            | At::Refused(work)
            | At::Sent(Transaction::Ack(work), _)
            | At::Doubting(Transaction::Ack(work), _) => {
                work.seen.item == item
                    && self.claims[usize::from(work.seen.number)] == Some((*who as u8, work.said))
            }
            _ => false,
        };
        (0..CONSUMERS).find(works)
    }

    fn append(&mut self, item: u8) {
        if !self.parent_stands {
            (self.parent_stands, self.parent, self.next) = (true, self.parent + 1, 0);
        }
        self.items[usize::from(self.next)] = Some(Item { item, version: 0, is_paused: false });
        self.next += 1;
    }
}

impl Queue {
    fn may(&self, world: &World) -> Option<World> {
        (world.mishaps > 0).then(|| World { mishaps: world.mishaps - 1, ..*world })
    }

    fn send(&self, world: &World, who: usize, transaction: Transaction) -> World {
        world.with(who, At::Sent(transaction, world.clients[who].made))
    }

    /// What its client does that hears what became of it.
    fn hears(&self, world: World, who: usize, sent: Transaction, is_applied: bool) -> Told {
        let mut next = world.with(who, At::Idle);
        let one = &mut next.clients[who];
        if is_applied && !matches!(sent, Transaction::Claim(_) | Transaction::Release(..)) {
            one.made += 1;
        }
        match sent {
            Transaction::Put(item) => {
                one.put = item + 1;
                if one.put == self.items {
                    one.at = At::Done;
                }
            }
            Transaction::Remove(seen) if is_applied => match std::mem::take(&mut one.is_unheard) {
                true if self.rules.puts_back => return Ok(self.send(&next, who, Transaction::PutBack(seen))),
                true => {}
                false => next.ends(seen.item)?,
            },
            Transaction::Claim(work) if is_applied && !one.is_uncertain => {
                if next.works(work.seen.item).is_some() {
                    return Err("two work on an item");
                }
                (next.clients[who].at, next.clients[who].has_heard) = (At::Working(work), false);
            }
            Transaction::Claim(work) if is_applied => {
                return Ok(self.send(&next, who, Transaction::Release(work, work.attempts)));
            }
            _ => one.has_heard = false,
        }
        Ok(next)
    }

    fn step(&self, world: &World, who: usize, steps: &mut Steps) {
        let one = &world.clients[who];
        let mut tell = |what, to| steps.push(Step { who, what, to });
        match one.at {
            At::Done => {}
            At::Idle if who == PRODUCER => {
                tell("put", Ok(self.send(world, who, Transaction::Put(one.put))));
            }
            At::Idle if one.is_uncertain => {}
            At::Idle => {
                for (number, item) in world.items.iter().enumerate() {
                    let Some(item) = item.filter(|_| world.claims[number].is_none()) else { continue };
                    tell("lists", Ok(world.with(who, At::Listed(number as u8, item.is_paused))));
                }
            }
            At::Listed(number, is_paused) => {
                let at =
                    world.items[usize::from(number)].map_or(At::Idle, |Item { item, version, .. }| {
                        At::Read(Seen { number, version, item, parent: world.parent, is_paused })
                    });
                tell("reads", Ok(world.with(who, at)));
            }
            At::Read(seen) => {
                let is_over = seen.version >= self.most_attempts;
                let mut next = *world;
                let transaction = match self.claims[who] {
                    _ if is_over => Transaction::Bury(seen),
                    true => {
                        next.next_said += 1;
                        Transaction::Claim(Work { seen, attempts: seen.version + 1, said: next.next_said })
                    }
                    false => Transaction::Remove(seen),
                };
                tell("sends it", Ok(self.send(&next, who, transaction)));
            }
            At::Sent(sent, made) => {
                let mut next = *world;
                let to = self.apply(&mut next, who, sent, made);
                tell("it is decided", to.and_then(|is_applied| self.answered(next, who, sent, is_applied)));
                self.loses_answers(world, who, sent, made, steps);
            }
            At::Doubting(sent, made) => self.settle(world, who, sent, made, steps),
            At::Refused(work) => {
                let is_lost = one.has_heard && self.rules.tells_what_was_heard;
                let at = if is_lost { At::Idle } else { At::Working(work) };
                let mut next = world.with(who, at);
                next.clients[who].has_heard &= !is_lost;
                tell("hears that its writes are refused", Ok(next));
            }
            At::Working(_) if one.has_heard => {
                tell("works on", Err("one works on that has heard that its claim is gone"));
            }
            At::Working(work) => {
                tell("ack", Ok(self.send(world, who, Transaction::Ack(work))));
                let is_last = work.attempts >= self.most_attempts;
                if let Some(next) = self.may(world) {
                    let nack = if is_last { Transaction::BuryOwn(work) } else { Transaction::Nack(work) };
                    tell("nack", Ok(self.send(&next, who, nack)));
                    tell("release", Ok(self.send(&next, who, Transaction::Release(work, work.attempts))));
                }
            }
        }
    }

    /// With nothing in doubt.
    fn answered(&self, world: World, who: usize, sent: Transaction, is_applied: bool) -> Told {
        match sent {
            // It is sent again, and refused for its mark.
            Transaction::Put(_) if self.rules.puts_once => self.hears(world, who, sent, true),
            _ => self.hears(world, who, sent, is_applied),
        }
    }

    fn loses_answers(&self, world: &World, who: usize, sent: Transaction, made: u8, steps: &mut Steps) {
        let mut tell = |what, to| steps.push(Step { who, what, to });
        let Some(next) = self.may(world) else { return };
        let lost = next.with(who, At::Doubting(sent, made));
        tell("it does not arrive", Ok(lost));
        let mut applied = lost;
        let to = self.apply(&mut applied, who, sent, made).map(|_| applied);
        tell("its answer is lost", to);
        if self.is_late && world.late.is_none() {
            tell("it is late", Ok(World { late: Some((who as u8, sent, made)), ..lost }));
        }
        if let Transaction::Ack(work) = sent
            && world.claims[usize::from(work.seen.number)].is_some()
        {
            // What else it writes is refused, and it goes on with the item.
            tell("its writes are refused", Ok(next.with(who, At::Refused(work))));
        }
    }

    fn mishaps(&self, world: &World, who: usize, steps: &mut Steps) {
        let one = &world.clients[who];
        let mut tell = |what, to| steps.push(Step { who, what, to });
        let claim = match one.at {
            At::Working(work)
            | At::Refused(work)
            | At::Sent(Transaction::Ack(work) | Transaction::Nack(work) | Transaction::BuryOwn(work), _)
            | At::Doubting(
                Transaction::Ack(work) | Transaction::Nack(work) | Transaction::BuryOwn(work),
                _,
            ) => Some(work),
            _ => None,
        };
        if let Some(work) = claim {
            let is_gone = world.claims[usize::from(work.seen.number)] != Some((who as u8, work.said));
            if is_gone && !one.has_heard {
                let mut next = *world;
                match one.at {
                    At::Working(_) => next.clients[who].at = At::Idle,
                    // Its own transaction may be why: it counts when that is answered.
                    _ => next.clients[who].has_heard = true,
                }
                tell("hears that its claim is gone", Ok(next));
            }
            if let Some(mut next) = self.may(world).filter(|_| !is_gone) {
                next.claims[usize::from(work.seen.number)] = None;
                tell("its claim is deleted by force", Ok(next));
            }
        }
        let Some(next) = self.may(world) else { return };
        if let At::Sent(Transaction::Remove(_), _) = one.at
            && !one.is_unheard
        {
            let mut next = next;
            next.clients[who].is_unheard = true;
            tell("its caller goes", Ok(next));
        }
        if who < CONSUMERS && !one.is_uncertain {
            let mut next = next;
            let client = &mut next.clients[who];
            client.is_uncertain = true;
            if let At::Working(work) = client.at {
                client.at = At::Sent(Transaction::Release(work, work.attempts), client.made);
            }
            tell("its lease runs out", Ok(next));
        }
    }

    fn session_ends(&self, world: &World, who: usize, steps: &mut Steps) {
        if !world.clients[who].is_uncertain {
            return;
        }
        let mut next = *world;
        let mine = |claim: &Option<(u8, u8)>| claim.is_some_and(|(whose, _)| usize::from(whose) == who);
        next.claims.iter_mut().filter(|claim| mine(claim)).for_each(|claim| *claim = None);
        let one = &mut next.clients[who];
        one.is_uncertain = false;
        if matches!(
            one.at,
            At::Sent(Transaction::Release(..) | Transaction::Claim(_), _)
                | At::Doubting(Transaction::Release(..) | Transaction::Claim(_), _)
        ) {
            one.at = At::Idle;
        }
        next.late = next.late.filter(|(of, sent, _)| {
            usize::from(*of) != who || !matches!(sent, Transaction::Release(..) | Transaction::Claim(_))
        });
        steps.push(Step { who, what: "its session ends", to: Ok(next) });
        let mut next = *world;
        next.clients[who].is_uncertain = false;
        steps.push(Step { who, what: "is certain again", to: Ok(next) });
    }
}

impl Model for Queue {
    type State = World;

    fn steps(&self, world: &World) -> Steps {
        let mut steps = Vec::new();
        for who in 0..CLIENTS {
            self.step(world, who, &mut steps);
            self.session_ends(world, who, &mut steps);
        }
        if let Some((who, sent, made)) = world.late {
            let mut next = World { late: None, ..*world };
            let to = self.apply(&mut next, who.into(), sent, made).map(|_| next);
            steps.push(Step { who: who.into(), what: "it is decided late", to });
        }
        let is_empty = world.items.iter().all(Option::is_none);
        if !self.rules.keeps_parent && world.parent_stands && is_empty && world.parent < 2 {
            let next = World { parent_stands: false, ..*world };
            steps.push(Step { who: CLIENTS, what: "the parent is collected", to: Ok(next) });
        }
        let is_over = steps.is_empty();
        (0..CLIENTS).filter(|_| !is_over).for_each(|who| self.mishaps(world, who, &mut steps));
        steps
    }

    fn at_rest(&self, world: &World) -> Result<(), &'static str> {
        if world.ended[..usize::from(self.items)].contains(&0) {
            return Err("an item is lost");
        }
        if world.items.iter().any(Option::is_some) || world.claims.iter().any(Option::is_some) {
            return Err("something is left");
        }
        Ok(())
    }
}

impl Queue {
    pub fn run(&self) -> Result<usize, String> {
        let client = Client {
            at: At::Idle,
            made: 0,
            is_unheard: false,
            has_heard: false,
            is_uncertain: false,
            put: 0,
        };
        let start = World {
            clients: [client; CLIENTS],
            items: [None; NUMBERS],
            claims: [None; NUMBERS],
            parent: 0,
            parent_stands: true,
            next: 0,
            marks: [(0, 0); CLIENTS],
            late: None,
            next_said: 0,
            ended: [0; MOST_ITEMS],
            mishaps: self.mishaps,
        };
        explore(self, start)
    }
}
