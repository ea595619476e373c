//! The world of the model, and who may do what next.

mod coming_back;
mod entering;
mod giving_up;
mod leaving;

use crate::explorer::{Model, Step, explore};

pub const ROUNDS: u8 = 2;
/// A member that is late or gives up comes again: no more nodes than this in all.
pub const MOST_NODES: usize = 7;
pub const NOBODY: u8 = u8::MAX;
pub const MEMBERS: usize = 3;

/// What stands below the path.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct Server {
    /// Of each number, whose node it is.
    pub owners: [u8; MOST_NODES],
    /// Nodes that nobody knows of any more; they go with their session, or are found when their owner comes again.
    pub forsaken: u8,
    pub next: u8,
    pub ready: Option<Round>,
    /// Of the path: rises when a member comes, and when a round is declared.
    pub version: u8,
    /// What the path says: for how many it is, as `group` has it.
    pub word: u8,
    pub rounds: u8,
    /// Numbers with which a round was declared; only the promises look at it.
    pub counted: u8,
    /// Numbers of which another node has taken the place of the first.
    pub taken_over: u8,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Round {
    pub generation: u8,
    pub last: u8,
    pub anchor: u8,
    /// With whom it was declared; only the promises look at it.
    pub chosen: u8,
    /// For how many it is, which the name of its anchor tells.
    pub group: u8,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub enum At {
    Outside,
    /// Has come, and does not know.
    Finding(u8),
    /// Was one of those who are needed, and looks who there is.
    Listing(u8),
    Declaring(u8, u8),
    /// And whether it has seen the `ready` of another round that may be gone.
    Waiting(u8, bool),
    /// Looks whether others wait for another number: has read the path, its version and what it says; and then what is right.
    Comparing(u8, bool, u8, u8),
    Correcting(u8, bool, u8, u8),
    /// Is told that others wait for another number.
    Refused(u8),
    /// A round for another number is on.
    Checking(u8, Round),
    /// Its time is over; or it is late for that round.
    GivingUp(u8, Option<Round>),
    /// Has read the version of the path.
    Looking(u8, u8, Option<Round>),
    Deleting(u8, u8, Option<Round>),
    /// Its session has ended while it waited; whether it knows how the path was when it came.
    Returning(u8, bool),
    /// Has listed the names: whether its own stands, and the version of the path; and whether a round may have been declared since.
    Reading(u8, bool, u8, Option<bool>),
    TakingOver(u8, Round, bool),
    Removing(u8, u8, bool),
    Inside(u8, Round),
    /// Has left, and waits for the anchor.
    Left(Round),
    Over(Ending),
    Counting(Ending, u8),
    /// The others that were there, as a set, and whether the round was on.
    Watching(Ending, u8, bool, Listed),
    Closing(Ending, u8, bool),
    Dead,
    Done,
}

/// The path when the others were listed: its version, and which nodes had taken the place of another.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct Listed {
    pub version: u8,
    pub taken_over: u8,
}

/// Waits until the round is over; its own node stands until then, if it has one.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct Ending {
    pub own: Option<u8>,
    pub round: Round,
    /// It came too late for the round.
    pub enters: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct World {
    pub now: Server,
    /// Before the last write: what a server says that lags by one.
    pub before: Server,
    /// Who has seen the last write; and for whom that makes no difference.
    pub seen: u8,
    pub up_to_date: u8,
    pub members: [(At, u8); MEMBERS],
    pub mishaps: u8,
    /// Of each member that may have been the last to come, the version with its own word on it: `Came::said`.
    pub said: [u8; MEMBERS],
    /// The version that the path has at least when all who were missing have come behind a member that waits.
    pub came: [u8; MEMBERS],
    /// Whether a member is lost, so that `ready` may be left.
    pub lost: bool,
}

/// What the recipe rests on. Each can be taken out, to see that something breaks.
#[derive(Copy, Clone)]
pub struct Rules {
    /// `declare`: the transaction checks that all members stand.
    pub checks_members: bool,
    /// `Round::tells_of` and `includes_own`: by number.
    pub asks_for_numbers: bool,
    /// `tidy` goes ahead of `come`.
    pub tidies: bool,
    /// `last_look`: the version goes with the deletion.
    pub gives_up_by_version: bool,
    /// `delete_unless_declared`: who is late looks whether the next round was declared with it.
    pub looks_when_late: bool,
    /// `over`: the version goes with the deletion of `ready`.
    pub ends_by_version: bool,
    /// `over`: it waits until no other member of the round stands.
    pub waits_for_others: bool,
    /// `take_part`: who has seen the `ready` of another round declares again when it is gone.
    pub declares_again: bool,
    /// `look_again`: who finds another number there has the path say the right one.
    pub corrects: bool,
    /// `declare`: who waits for another number is no member.
    pub asks_for_parties: bool,
    /// `come_back`: who was counted by the node of its old session takes that over, or hears that it is lost.
    pub comes_back: bool,
    /// `come_back`: the version goes with the deletion.
    pub removes_by_version: bool,
    /// `may_have_been_on`: the version of the path tells whether a round can have been declared meanwhile.
    pub sees_declarations: bool,
    /// `over`: who has waited for all others and does not list them again has the version go with the end.
    pub ends_unlisted_by_version: bool,
}

pub const CODE: Rules = Rules {
    checks_members: true,
    asks_for_numbers: true,
    tidies: true,
    gives_up_by_version: true,
    looks_when_late: true,
    ends_by_version: true,
    waits_for_others: true,
    declares_again: true,
    corrects: true,
    asks_for_parties: true,
    comes_back: true,
    removes_by_version: true,
    sees_declarations: true,
    ends_unlisted_by_version: true,
};

pub struct Barrier {
    pub rules: Rules,
    pub parties: usize,
    pub members: usize,
    pub mishaps: u8,
    pub lags: bool,
    pub most_nodes: usize,
    /// So many of the members, the last, wait for one more, and have not asked what the others say.
    pub others: usize,
    /// Who keeps its node to the last: the lowest or the highest number, for names are random.
    pub lowest_stays: bool,
}

impl Server {
    pub fn stands(&self, number: u8) -> bool {
        self.owners[number as usize] != NOBODY
    }

    pub fn delete(&mut self, number: u8) {
        self.owners[number as usize] = NOBODY;
        self.forsaken &= !(1 << number);
    }

    pub fn numbers(&self) -> impl DoubleEndedIterator<Item = u8> + '_ {
        (0..self.next).filter(|number| self.stands(*number))
    }

    /// Whether the very node stands that did when so many had been taken over: its end is told though another has its number.
    pub fn has(&self, number: u8, taken_over: u8) -> bool {
        self.stands(number) && (self.taken_over & !taken_over) & (1 << number) == 0
    }

    pub fn is_on(&self, round: &Round) -> bool {
        self.ready.is_some_and(|ready| ready.generation == round.generation)
    }
}

impl World {
    /// What a member may be told, and the world after that: the truth, or what was true before the last write.
    pub fn views(&self, member: usize, lags: bool) -> Vec<(Server, World)> {
        let mut after = *self;
        after.sees(member);
        let mut views = vec![(self.now, after)];
        if lags && self.seen & (1 << member) == 0 {
            views.push((self.before, *self));
        }
        views
    }

    pub fn sees(&mut self, member: usize) {
        self.seen |= 1 << member;
        self.catch_up();
    }

    /// Where all have seen it, no server lags that matters.
    pub fn catch_up(&mut self) {
        if self.seen == 0b111 {
            self.before = self.now;
        }
    }

    /// A write of a member, or of nobody; who asks for one has seen all before it.
    pub fn write(&mut self, member: Option<usize>, change: impl FnOnce(&mut Server)) {
        let before = self.now;
        change(&mut self.now);
        if self.now != before {
            (self.before, self.seen) = (before, self.up_to_date);
        }
        self.seen |= member.map_or(0, |member| 1 << member);
        self.catch_up();
    }

    pub fn with(mut self, member: usize, at: At) -> World {
        self.members[member].0 = at;
        if matches!(at, At::Outside | At::Inside(..) | At::Left(_) | At::Over(_) | At::Dead | At::Done) {
            self.came[member] = 0;
        }
        self
    }
}

pub type Steps = Vec<Step<World>>;

impl Barrier {
    /// For how many a member waits: 0 are `parties`, 1 is one more.
    pub fn group(&self, member: usize) -> u8 {
        u8::from(member + self.others >= self.members)
    }

    pub fn parties_of(&self, member: usize) -> usize {
        self.parties + usize::from(self.group(member))
    }

    pub fn group_of(&self, server: &Server, number: u8) -> u8 {
        self.group(server.owners[number as usize].into())
    }

    fn step(&self, world: &World, member: usize, steps: &mut Steps) {
        let at = world.members[member].0;
        let mut tell = |what, to| steps.push(Step { who: member, what, to });
        let told = world.views(member, self.lags);
        match at {
            At::Dead | At::Done => {}
            At::Outside => match self.tidy(world, member) {
                Some(next) => tell("tidy", Ok(next)),
                None => self.come(world, member, steps),
            },
            // Behind a write of the quorum: it sees all.
            At::Finding(own) => {
                let count = world.now.numbers().count() + usize::from(world.now.ready.is_some());
                let at =
                    if count >= self.parties_of(member) { At::Listing(own) } else { At::Waiting(own, false) };
                let mut next = *world;
                next.sees(member);
                tell("come, find", Ok(next.with(member, at)));
            }
            At::Listing(own) => {
                told.iter().for_each(|(view, after)| {
                    tell("declare, list", Ok(after.with(member, self.list(view, member, own))))
                });
            }
            At::Declaring(own, chosen) => self.declare(world, member, own, chosen, steps),
            At::Waiting(own, declares) => {
                for (view, after) in &told {
                    if let Some(at) = self.take_part(view, member, own, declares) {
                        tell("take_part", at.map(|at| after.with(member, at)));
                    }
                }
                for (view, after) in told {
                    if let Some(next) = self.look_again(&view, after, member, own, declares) {
                        tell("look_again", Ok(next));
                    }
                }
            }
            At::Comparing(own, declares, version, word) => {
                for (view, after) in told {
                    let at = match self.first(&view) {
                        Some(right) if right != word => At::Correcting(own, declares, version, right),
                        Some(right) if right != self.group(member) => At::Refused(own),
                        _ => At::Waiting(own, declares),
                    };
                    tell("look_again, list", Ok(after.with(member, at)));
                }
            }
            At::Correcting(own, declares, version, right) => {
                tell("look_again, set", Ok(self.correct(world, member, own, declares, version, right)));
            }
            At::Refused(own) => {
                // It gives up as one whose time is over, and does not come again.
                let mut next = world.with(member, At::GivingUp(own, None));
                next.members[member].1 = ROUNDS;
                tell("mismatch", Ok(next));
            }
            At::Checking(own, round) => {
                for (view, after) in told {
                    let came_first = self.first(&view) == Some(self.group(member));
                    let late = At::GivingUp(own, Some(round));
                    let at = if came_first { late } else { At::Refused(own) };
                    tell("take_part, list", Ok(after.with(member, at)));
                }
            }
            At::GivingUp(own, late @ Some(_)) if !self.rules.looks_when_late => {
                steps.push(self.last_look(world, member, (own, world.now.version, late)));
            }
            At::GivingUp(own, late) => {
                for (view, after) in told {
                    let at = At::Looking(own, view.version, late);
                    tell("last_look, version", Ok(after.with(member, at)));
                }
            }
            At::Looking(own, version, late) => {
                for (view, after) in told {
                    let declared = view.ready.filter(|round| self.includes(round, &view, own));
                    let deleting = At::Deleting(own, version, late);
                    let at = declared.map_or(Ok(deleting), |round| self.learn(round, own, true));
                    tell("last_look, ready", at.map(|at| after.with(member, at)));
                }
            }
            At::Deleting(own, version, late) => {
                steps.push(self.last_look(world, member, (own, version, late)))
            }
            // Behind a write of the quorum: it sees all.
            At::Returning(own, knows) => {
                let mut next = *world;
                next.sees(member);
                let declared = knows.then(|| self.may_have_been_on(world, member, own));
                let at = At::Reading(own, world.now.stands(own), world.now.version, declared);
                tell("come_back, list", Ok(next.with(member, at)));
            }
            At::Reading(own, stands, version, declared) => {
                for (view, after) in told {
                    let to = self.read(&view, after, member, (own, stands, version, declared));
                    tell("come_back, ready", to);
                }
            }
            At::TakingOver(own, round, knows) => self.take_over(world, member, (own, round, knows), steps),
            At::Removing(own, version, knows) => {
                tell("come_back, delete", self.remove(world, member, (own, version, knows)));
            }
            At::Inside(own, round) => tell("leave", Ok(self.leave(world, member, own, round))),
            At::Left(round) => {
                let ending = Ending { own: None, round, enters: false };
                for (_, after) in told.iter().filter(|(view, _)| !view.is_on(&round)) {
                    tell("leave, told", self.finish(*after, member, &ending));
                }
                for (_, after) in told.into_iter().filter(|(view, _)| !view.has(round.anchor, 0)) {
                    tell("until_gone", Ok(after.with(member, At::Over(ending))));
                }
            }
            At::Over(ending) => {
                for (view, after) in told {
                    let is_over = ending.own.is_none() && !view.is_on(&ending.round);
                    let at = after.with(member, At::Counting(ending, view.version));
                    tell("over", if is_over { self.finish(after, member, &ending) } else { Ok(at) });
                }
            }
            At::Counting(ending, version) => {
                for (view, after) in told {
                    tell("over, list", self.count(&view, after, member, ending, version));
                }
            }
            At::Watching(ending, others, is_on, listed) => {
                let highest = 7 - others.leading_zeros() as u8;
                for (view, after) in told {
                    if !view.has(highest, listed.taken_over) {
                        tell("over, until_gone", Ok(after.with(member, At::Over(ending))));
                    }
                    // Who waits with its own node needs no further look.
                    let awaited = (0..view.next).filter(|number| others & (1 << number) != 0);
                    let all_gone = awaited.into_iter().all(|number| !view.has(number, listed.taken_over));
                    if ending.own.is_some() && all_gone {
                        let closing = At::Closing(ending, listed.version, is_on);
                        tell("over, until_all_gone", Ok(after.with(member, closing)));
                    }
                }
            }
            At::Closing(ending, version, is_on) => self.close(world, member, ending, version, is_on, steps),
        }
    }

    /// What may befall a member at any moment.
    fn mishaps(&self, world: &World, member: usize, steps: &mut Steps) {
        let (at, rounds) = world.members[member];
        let (own, is_in) = match at {
            At::Dead | At::Done => return,
            At::Finding(own)
            | At::Listing(own)
            | At::Declaring(own, _)
            | At::Waiting(own, _)
            | At::Comparing(own, ..)
            | At::Correcting(own, ..)
            | At::GivingUp(own, Some(_))
            | At::Looking(own, _, Some(_))
            | At::Deleting(own, _, Some(_)) => (Some(own), false),
            At::Inside(own, _) => (Some(own), true),
            _ => (None, false),
        };
        let mut next = World { mishaps: world.mishaps - 1, ..*world };
        let is_own = |number: &u8| next.now.owners[*number as usize] as usize == member;
        let mask = next.now.numbers().filter(is_own).fold(0, |mask, number| mask | 1 << number);
        next.lost = true;
        next.write(None, |server| server.forsaken |= mask);
        steps.push(Step { who: member, what: "dies", to: Ok(next.with(member, At::Dead)) });
        let Some(own) = own else { return };
        next.members[member].1 = rounds + u8::from(is_in);
        let at = if next.members[member].1 >= ROUNDS { At::Done } else { At::Outside };
        steps.push(Step {
            who: member,
            what: "loses its session, or is dropped",
            to: Ok(next.with(member, at)),
        });
        if !is_in {
            let knows = !matches!(world.members[member].0, At::Finding(_));
            let returning = next.with(member, At::Returning(own, knows));
            steps.push(Step { who: member, what: "loses its session while it waits", to: Ok(returning) });
            let over = World { mishaps: world.mishaps - 1, ..*world };
            steps.push(Step {
                who: member,
                what: "runs out of time",
                to: Ok(over.with(member, At::GivingUp(own, None))),
            });
        }
    }
}

impl Model for Barrier {
    type State = World;

    fn steps(&self, world: &World) -> Steps {
        let mut steps = Vec::new();
        for member in 0..self.members {
            self.step(world, member, &mut steps);
            if world.mishaps > 0 && !steps.is_empty() {
                self.mishaps(world, member, &mut steps);
            }
        }
        for number in world.now.numbers().filter(|number| world.now.forsaken & (1 << number) != 0) {
            let mut next = *world;
            next.write(None, |server| server.delete(number));
            steps.push(Step { who: usize::from(number), what: "goes with its session", to: Ok(next) });
        }
        steps
    }

    fn at_rest(&self, world: &World) -> Result<(), &'static str> {
        let members = &world.members[..self.members];
        if members.iter().any(|(at, _)| *at == At::Outside) {
            // As far as this model goes.
            return Ok(());
        }
        let waiting = members.iter().filter(|(at, _)| matches!(at, At::Waiting(..))).count();
        let others = members.iter().filter(|(at, _)| matches!(at, At::Dead | At::Done)).count();
        if waiting + others < members.len() {
            return Err("somebody hangs who does not wait for others to come");
        }
        let waits = |group: u8| {
            let waits = |(member, (at, _)): &(usize, &(At, u8))| {
                matches!(at, At::Waiting(..)) && self.group(*member) == group
            };
            members.iter().enumerate().filter(waits).count()
        };
        if waits(0) >= self.parties || waits(1) > self.parties {
            return Err("all that are needed are there, and nobody enters");
        }
        if waits(0) > 0 && waits(1) > 0 {
            return Err("they wait for each other with different numbers");
        }
        if world.now.ready.is_some() && !world.lost {
            return Err("`ready` is left");
        }
        Ok(())
    }
}

impl Barrier {
    pub fn run(&self) -> Result<usize, String> {
        let now = Server {
            owners: [NOBODY; MOST_NODES],
            forsaken: 0,
            next: 0,
            ready: None,
            version: 0,
            word: 0,
            rounds: 0,
            counted: 0,
            taken_over: 0,
        };
        let members = [(At::Outside, 0); MEMBERS];
        let up_to_date = if self.lags { 0b111 << self.members & 0b111 } else { 0b111 };
        let (before, mishaps, lost, said) = (now, self.mishaps, false, [NOBODY; MEMBERS]);
        let came = [0; MEMBERS];
        explore(self, World { now, before, seen: 0b111, up_to_date, members, mishaps, said, came, lost })
    }
}
