//! The world of the model, and who may do what next.

mod assigning;

use std::cell::RefCell;
use std::collections::HashMap;

use crate::explorer::{Model, Step, explore};

pub const MEMBERS: usize = 3;
pub const MOST: usize = 3;
const NOBODY: u8 = MEMBERS as u8;

/// By partition, whose it is to be.
type Assigned = [u8; MOST];

/// What a member does with one partition: `tend`.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Tended {
    Idle,
    Queued,
    Held,
    /// It was asked to let go, and has the time for draining.
    Asked,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum At {
    Away,
    There,
    /// It has left the election, and then the members, and lets go of what it has.
    Leaving,
    LettingGo,
    Dead,
}

/// As far as its session goes.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Reach {
    Connected,
    Cut,
    /// Its lease has run out: it holds nothing for certain.
    Uncertain,
    /// Its session has ended, which it has not heard.
    Ended,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Member {
    at: At,
    reach: Reach,
    /// The assignment that it has read last.
    read: Option<Assigned>,
    /// While it leads: who was there when it looked last; what it is about to say, and has said.
    looked: Option<u8>,
    saying: Option<Assigned>,
    said: Option<Assigned>,
    tended: [Tended; MOST],
    joins: u8,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct World {
    members: [Member; MEMBERS],
    /// What stands at the server: whose member nodes, the candidates in order with their epochs, what was said last by whom, and
    /// for each partition its line.
    there: u8,
    candidates: [(u8, u8); MEMBERS],
    next_epoch: u8,
    record: Option<(u8, Assigned)>,
    lines: [[u8; MEMBERS]; MOST],
    mishaps: u8,
}

/// What the recipe rests on. Each can be taken out, to see that something breaks.
#[derive(Copy, Clone)]
pub struct Rules {
    /// `tend`: a partition is a turn of its own, whatever is assigned.
    pub takes_turns: bool,
    /// `tend`: who has what is another's is asked to let go.
    pub asks_the_owner: bool,
    /// `tend`: what is not let go of in time is taken away.
    pub takes_away: bool,
    /// `assign`: those have partitions who are there now.
    pub forgets_who_is_gone: bool,
    /// `assign`: a leader begins with what was said last.
    pub begins_with_the_last: bool,
    /// `declare`: a member is one in the next session, too.
    pub declares_again: bool,
}

pub const CODE: Rules = Rules {
    takes_turns: true,
    asks_the_owner: true,
    takes_away: true,
    forgets_who_is_gone: true,
    begins_with_the_last: true,
    declares_again: true,
};

pub struct Sharing {
    pub rules: Rules,
    pub members: usize,
    pub partitions: usize,
    /// How often each member joins.
    pub joins: u8,
    pub mishaps: u8,
    /// Whether no owner lets go by itself.
    pub is_stubborn: bool,
    /// What was computed before: of which assignment, among whom.
    pub computed: RefCell<HashMap<(Option<Assigned>, u8), Assigned>>,
}

type Steps = Vec<Step<World>>;

fn without<T: Copy + PartialEq, const N: usize>(line: &mut [T; N], gone: impl Fn(&T) -> bool, nothing: T) {
    let mut kept = [nothing; N];
    let stay = line.iter().filter(|one| **one != nothing && !gone(one));
    kept.iter_mut().zip(stay).for_each(|(place, one)| *place = *one);
    *line = kept;
}

fn append<T: Copy + PartialEq, const N: usize>(line: &mut [T; N], one: T, nothing: T) {
    let free = line.iter_mut().find(|place| **place == nothing);
    *free.expect("room for all") = one;
}

const NO_CANDIDATE: (u8, u8) = (NOBODY, 0);

impl World {
    fn stands(&self, member: usize) -> Option<u8> {
        self.candidates.iter().find(|(who, _)| usize::from(*who) == member).map(|(_, epoch)| *epoch)
    }

    /// The epoch of the one that leads.
    fn epoch(&self) -> Option<u8> {
        Some(self.candidates[0].1).filter(|_| self.candidates[0] != NO_CANDIDATE)
    }

    fn leaves_election(&mut self, member: usize) {
        without(&mut self.candidates, |(who, _)| usize::from(*who) == member, NO_CANDIDATE);
        let one = &mut self.members[member];
        (one.looked, one.saying, one.said) = (None, None, None);
    }

    fn leaves_line(&mut self, member: usize, partition: usize) {
        without(&mut self.lines[partition], |who| usize::from(*who) == member, NOBODY);
    }

    /// The server has ended its session: all its nodes are gone.
    fn session_ends(&mut self, member: usize) {
        self.there &= !(1 << member);
        without(&mut self.candidates, |(who, _)| usize::from(*who) == member, NO_CANDIDATE);
        (0..MOST).for_each(|partition| self.leaves_line(member, partition));
    }
}

impl Sharing {
    /// It holds a partition from now on.
    fn holds(&self, mut world: World, member: usize, partition: usize) -> Result<World, &'static str> {
        let has = |other: &Member| matches!(other.tended[partition], Tended::Held | Tended::Asked);
        if world.members.iter().any(has) {
            return Err("a partition has two owners");
        }
        world.members[member].tended[partition] = Tended::Held;
        Ok(world)
    }

    fn step(&self, world: &World, who: usize, steps: &mut Steps) {
        let one = &world.members[who];
        let mut tell = |what, to| steps.push(Step { who, what, to });
        let change = |change: &dyn Fn(&mut World)| {
            let mut next = *world;
            change(&mut next);
            Ok(next)
        };
        match one.reach {
            Reach::Connected => {}
            Reach::Cut => {
                tell("is back", change(&|next| next.members[who].reach = Reach::Connected));
                let lost = change(&|next| {
                    let one = &mut next.members[who];
                    one.reach = Reach::Uncertain;
                    // What was held is lost; its nodes stand as long as the session.
                    let held = one.tended.iter_mut().filter(|at| matches!(at, Tended::Held | Tended::Asked));
                    held.for_each(|at| *at = Tended::Idle);
                });
                tell("its lease runs out", lost);
            }
            Reach::Uncertain => {
                tell(
                    "is back, and has lost all",
                    change(&|next| {
                        next.members[who].reach = Reach::Connected;
                        next.leaves_election(who);
                        for partition in 0..self.partitions {
                            if one.tended[partition] == Tended::Idle {
                                next.leaves_line(who, partition);
                            }
                        }
                    }),
                );
                tell(
                    "its session ends",
                    change(&|next| {
                        next.members[who].reach = Reach::Ended;
                        next.session_ends(who);
                    }),
                );
            }
            Reach::Ended => tell(
                "is back in a new session",
                change(&|next| {
                    next.leaves_election(who);
                    let one = &mut next.members[who];
                    one.reach = Reach::Connected;
                    one.tended
                        .iter_mut()
                        .filter(|at| **at == Tended::Queued)
                        .for_each(|at| *at = Tended::Idle);
                    if one.at == At::There && self.rules.declares_again {
                        next.there |= 1 << who;
                    }
                }),
            ),
        }
        let may_ask = one.reach == Reach::Connected;
        match one.at {
            At::Away if one.joins < self.joins => tell(
                "join",
                change(&|next| {
                    let one = &mut next.members[who];
                    (one.at, one.joins, one.read) = (At::There, one.joins + 1, None);
                    next.there |= 1 << who;
                }),
            ),
            At::Dead
                if world.there & (1 << who) != 0
                    || world.lines.iter().flatten().any(|one| usize::from(*one) == who)
                    || world.stands(who).is_some() =>
            {
                tell("its session ends", change(&|next| next.session_ends(who)));
            }
            At::There if may_ask => {
                match world.stands(who) {
                    None => tell(
                        "stands",
                        change(&|next| {
                            next.next_epoch += 1;
                            append(&mut next.candidates, (who as u8, next.next_epoch), NO_CANDIDATE);
                        }),
                    ),
                    Some(epoch) if world.epoch() == Some(epoch) => self.lead(world, who, epoch, &mut tell),
                    Some(_) => {}
                }
                if let Some((epoch, assigned)) = world.record
                    && world.epoch() == Some(epoch)
                    && one.read != Some(assigned)
                {
                    tell("reads the assignment", change(&|next| next.members[who].read = Some(assigned)));
                }
            }
            At::Leaving if may_ask => tell(
                "leaves the members",
                change(&|next| {
                    next.there &= !(1 << who);
                    next.members[who].at = At::LettingGo;
                }),
            ),
            At::LettingGo if one.tended == [Tended::Idle; MOST] && may_ask => {
                tell(
                    "has left",
                    change(&|next| {
                        let one = &mut next.members[who];
                        (one.at, one.read) = (At::Away, None);
                    }),
                );
            }
            _ => {}
        }
        if matches!(one.at, At::There | At::Leaving | At::LettingGo) {
            for partition in 0..self.partitions {
                self.tend(world, who, partition, steps);
            }
        }
    }

    fn tend(&self, world: &World, who: usize, partition: usize, steps: &mut Steps) {
        let one = &world.members[who];
        let mut tell = |what, to| steps.push(Step { who, what, to });
        let is_ours =
            one.at != At::LettingGo && one.read.is_some_and(|read| usize::from(read[partition]) == who);
        let may_ask = one.reach == Reach::Connected;
        let mut next = *world;
        match one.tended[partition] {
            Tended::Idle if is_ours && may_ask && !self.rules.takes_turns => {
                append(&mut next.lines[partition], who as u8, NOBODY);
                tell("begins", self.holds(next, who, partition));
            }
            Tended::Idle if is_ours && may_ask => {
                append(&mut next.lines[partition], who as u8, NOBODY);
                next.members[who].tended[partition] = Tended::Queued;
                tell("tend: queues", Ok(next));
            }
            Tended::Queued if !is_ours && may_ask => {
                next.leaves_line(who, partition);
                next.members[who].tended[partition] = Tended::Idle;
                tell("tend: queues no more", Ok(next));
            }
            Tended::Queued if may_ask && usize::from(world.lines[partition][0]) == who => {
                tell("tend: has the turn", self.holds(next, who, partition));
            }
            Tended::Held => {
                let whose = one.read.map_or(NOBODY, |read| read[partition]);
                let is_asked = match self.rules.asks_the_owner {
                    true => !is_ours,
                    false => !is_ours && usize::from(whose) == who,
                };
                if is_asked {
                    next.members[who].tended[partition] = Tended::Asked;
                    tell("tend: is asked", Ok(next));
                }
                if world.mishaps > 0 && may_ask {
                    let mut next = *world;
                    next.mishaps -= 1;
                    next.leaves_line(who, partition);
                    next.members[who].tended[partition] = Tended::Idle;
                    tell("lets go unasked", Ok(next));
                }
            }
            Tended::Asked if may_ask => {
                next.leaves_line(who, partition);
                next.members[who].tended[partition] = Tended::Idle;
                if !self.is_stubborn {
                    tell("lets go", Ok(next));
                }
                if self.rules.takes_away {
                    tell("tend: its time is over, and it is taken away", Ok(next));
                }
            }
            _ => {}
        }
    }

    fn mishaps(&self, world: &World, who: usize, steps: &mut Steps) {
        let one = &world.members[who];
        let mut tell = |what, to| steps.push(Step { who, what, to });
        if matches!(one.at, At::Away | At::Dead) || world.mishaps == 0 {
            return;
        }
        let mut next = World { mishaps: world.mishaps - 1, ..*world };
        let member = &mut next.members[who];
        (member.at, member.tended, member.read, member.reach) =
            (At::Dead, [Tended::Idle; MOST], None, Reach::Connected);
        (member.looked, member.saying, member.said) = (None, None, None);
        tell("dies", Ok(next));
        if one.reach == Reach::Connected {
            let mut next = World { mishaps: world.mishaps - 1, ..*world };
            next.members[who].reach = Reach::Cut;
            tell("is cut off", Ok(next));
            if one.at == At::There {
                let mut next = World { mishaps: world.mishaps - 1, ..*world };
                next.members[who].at = At::Leaving;
                next.leaves_election(who);
                tell("leave", Ok(next));
            }
        }
    }
}

impl Model for Sharing {
    type State = World;

    fn steps(&self, world: &World) -> Steps {
        let mut steps = Vec::new();
        for who in 0..self.members {
            self.step(world, who, &mut steps);
        }
        for who in 0..self.members {
            self.mishaps(world, who, &mut steps);
        }
        steps
    }

    fn at_rest(&self, world: &World) -> Result<(), &'static str> {
        let is_there = |member: &usize| world.members[*member].at == At::There;
        let there = (0..MEMBERS).filter(is_there).fold(0, |there, member| there | 1 << member);
        if world.there != there {
            return Err("who is there is not known");
        }
        for partition in 0..self.partitions {
            let has = |member: &usize| world.members[*member].tended[partition] == Tended::Held;
            let owner = (0..MEMBERS).find(has);
            if there != 0 && owner.is_none() {
                return Err("nobody has a partition");
            }
            let assigned = world.record.map(|(_, assigned)| usize::from(assigned[partition]));
            if there != 0 && owner != assigned {
                return Err("a partition is not whose it is to be");
            }
        }
        if there == 0 && world.lines != [[NOBODY; MEMBERS]; MOST] {
            return Err("somebody is left in a line");
        }
        Ok(())
    }
}

impl Sharing {
    pub fn run(&self) -> Result<usize, String> {
        let member = Member {
            at: At::Away,
            reach: Reach::Connected,
            read: None,
            looked: None,
            saying: None,
            said: None,
            tended: [Tended::Idle; MOST],
            joins: 0,
        };
        let start = World {
            members: [member; MEMBERS],
            there: 0,
            candidates: [NO_CANDIDATE; MEMBERS],
            next_epoch: 0,
            record: None,
            lines: [[NOBODY; MEMBERS]; MOST],
            mishaps: self.mishaps,
        };
        explore(self, start)
    }
}
