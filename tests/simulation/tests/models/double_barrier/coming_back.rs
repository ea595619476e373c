//! Steps of `coming_back.rs`.

use super::{At, Barrier, ROUNDS, Round, Server, Steps, World};
use crate::explorer::Step;

type To = Result<World, &'static str>;

impl Barrier {
    /// `may_have_been_on`.
    pub(super) fn may_have_been_on(&self, world: &World, member: usize, own: u8) -> bool {
        let later = match world.now.ready {
            Some(_) => 0,
            None => world.now.numbers().filter(|number| *number > own).count(),
        };
        world.now.version as usize >= world.came[member] as usize + 2 + later
    }

    /// Has read `ready`, after the names.
    pub(super) fn read(
        &self,
        view: &Server,
        after: World,
        member: usize,
        (own, stands, version, declared): (u8, bool, u8, Option<bool>),
    ) -> To {
        let knows = declared.is_some();
        if !self.rules.comes_back {
            // It deletes its node when it comes again.
            return self.come_again(after, member, own, true);
        }
        match view.ready {
            Some(round) if round.chosen & (1 << own) != 0 => Ok(match stands {
                true => after.with(member, At::TakingOver(own, round, knows)),
                false => told_lost(after, member),
            }),
            _ if stands => Ok(after.with(member, At::Removing(own, version, knows))),
            _ if declared == Some(true) && self.rules.sees_declarations => Ok(told_lost(after, member)),
            _ => self.come_again(after, member, own, knows),
        }
    }

    pub(super) fn take_over(
        &self,
        world: &World,
        member: usize,
        (own, round, knows): (u8, Round, bool),
        steps: &mut Steps,
    ) {
        let mut next = *world;
        let what = "take_over";
        if !world.now.stands(own) {
            next.sees(member);
            let to = Ok(next.with(member, At::Returning(own, knows)));
            return steps.push(Step { who: member, what: "take_over, gone", to });
        }
        next.write(Some(member), |server| {
            server.forsaken &= !(1 << own);
            server.taken_over |= 1 << own;
            server.version += 1;
        });
        let is_on = world.now.is_on(&round);
        let to = if is_on {
            Ok(next.with(member, At::Inside(own, round)))
        } else {
            Err("in a round that is over")
        };
        steps.push(Step { who: member, what, to });
        if world.mishaps > 0 {
            next.mishaps -= 1;
            let to = Ok(next.with(member, At::Returning(own, knows)));
            steps.push(Step { who: member, what: "take_over, and no answer", to });
        }
    }

    pub(super) fn remove(&self, world: &World, member: usize, (own, version, knows): (u8, u8, bool)) -> To {
        let mut next = *world;
        let is_as_seen = version == world.now.version || !self.rules.removes_by_version;
        if !is_as_seen || !world.now.stands(own) {
            next.sees(member);
            return Ok(next.with(member, At::Returning(own, knows)));
        }
        next.write(Some(member), |server| server.delete(own));
        self.come_again(next, member, own, true)
    }

    /// It waits on, with a new node. Of one that came without an answer and is not seen any more, nobody can tell.
    fn come_again(&self, world: World, member: usize, own: u8, knows: bool) -> To {
        match knows && world.now.counted & (1 << own) != 0 {
            true => Err("waits on, and a round was declared with it"),
            false => Ok(world.with(member, At::Outside)),
        }
    }
}

fn told_lost(mut world: World, member: usize) -> World {
    let (at, rounds) = &mut world.members[member];
    *rounds += 1;
    *at = if *rounds >= ROUNDS { At::Done } else { At::Outside };
    world
}
