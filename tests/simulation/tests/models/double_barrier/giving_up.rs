//! Steps of `giving_up.rs`.

use super::{At, Barrier, Ending, ROUNDS, Round, World};
use crate::explorer::Step;

impl Barrier {
    pub(super) fn tidy(&self, world: &World, member: usize) -> Option<World> {
        let is_own = |number: &u8| world.now.owners[*number as usize] as usize == member;
        let old: Vec<_> = world.now.numbers().filter(is_own).collect();
        if old.is_empty() || !self.rules.tidies {
            return None;
        }
        let mut next = *world;
        next.write(Some(member), |server| old.iter().for_each(|number| server.delete(*number)));
        Some(next)
    }

    pub(super) fn last_look(
        &self,
        world: &World,
        member: usize,
        (own, version, late): (u8, u8, Option<Round>),
    ) -> Step<World> {
        let mut next = *world;
        if self.rules.gives_up_by_version && version != world.now.version {
            next.sees(member);
            let to = Ok(next.with(member, At::GivingUp(own, late)));
            return Step { who: member, what: "last_look once more", to };
        }
        next.write(Some(member), |server| server.delete(own));
        let is_counted = world.now.ready.is_some_and(|round| round.chosen & (1 << own) != 0);
        let to = match late {
            None if is_counted => Err("told that its time is over, and counted"),
            Some(_) if is_counted => Err("late for one round, and not in the next one that counts it"),
            Some(round) => Ok(next.with(member, At::Over(Ending { own: None, round, enters: true }))),
            None => {
                let has_ended = next.members[member].1 >= ROUNDS;
                Ok(next.with(member, if has_ended { At::Done } else { At::Outside }))
            }
        };
        Step { who: member, what: "last_look deletes", to }
    }
}
