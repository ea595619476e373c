//! Steps of `leaving.rs`.

use super::{At, Barrier, Ending, Listed, NOBODY, ROUNDS, Round, Server, Steps, World};
use crate::explorer::Step;

impl Barrier {
    pub(super) fn leave(&self, world: &World, member: usize, own: u8, round: Round) -> World {
        // One that has taken the place of the anchor's node is called otherwise.
        if round.anchor == own && world.now.taken_over & (1 << own) == 0 {
            return world.with(member, At::Over(Ending { own: Some(own), round, enters: false }));
        }
        let mut next = *world;
        next.write(Some(member), |server| server.delete(own));
        next.with(member, At::Left(round))
    }

    /// The round is over for this member; it comes again, or has been in as many as it wanted.
    pub(super) fn finish(
        &self,
        mut world: World,
        member: usize,
        ending: &Ending,
    ) -> Result<World, &'static str> {
        let is_in = |own: u8| !ending.enters && ending.round.chosen & (1 << own) != 0;
        for (at, _) in &world.members {
            match at {
                At::Finding(own)
                | At::Listing(own)
                | At::Declaring(own, _)
                | At::Waiting(own, _)
                | At::Comparing(own, ..)
                | At::Correcting(own, ..)
                | At::Refused(own)
                | At::Checking(own, _)
                | At::GivingUp(own, _)
                | At::Looking(own, ..)
                | At::Deleting(own, ..)
                | At::Inside(own, _)
                    if is_in(*own) =>
                {
                    return Err("let out early: not all have left");
                }
                _ => {}
            }
        }
        let (at, rounds) = &mut world.members[member];
        *rounds += u8::from(!ending.enters);
        *at = if *rounds >= ROUNDS { At::Done } else { At::Outside };
        Ok(world)
    }

    pub(super) fn count(
        &self,
        view: &Server,
        world: World,
        member: usize,
        ending: Ending,
        version: u8,
    ) -> Result<World, &'static str> {
        let is_on = view.is_on(&ending.round);
        match ending.own {
            None if !is_on => return self.finish(world, member, &ending),
            // The last transaction had no answer.
            Some(own) if !view.stands(own) => return self.finish(world, member, &ending),
            _ => {}
        }
        let others = |number: &u8| {
            self.includes(&ending.round, view, *number)
                && *number <= ending.round.last
                && Some(*number) != ending.own
        };
        let others = view.numbers().filter(others).fold(0, |mask, number| mask | 1 << number);
        Ok(match others {
            1.. if self.rules.waits_for_others => {
                let listed = Listed { version, taken_over: view.taken_over };
                world.with(member, At::Watching(ending, others, is_on, listed))
            }
            _ if ending.own.is_some() => world.with(member, At::Closing(ending, NOBODY, is_on)),
            _ => world.with(member, At::Closing(ending, version, is_on)),
        })
    }

    /// The last transaction of `over`.
    pub(super) fn close(
        &self,
        world: &World,
        member: usize,
        ending: Ending,
        version: u8,
        is_on: bool,
        steps: &mut Steps,
    ) {
        let is_current = match ending.own {
            Some(_) => {
                version == NOBODY || version == world.now.version || !self.rules.ends_unlisted_by_version
            }
            None => version == world.now.version || !self.rules.ends_by_version,
        };
        if !is_current || (is_on && world.now.ready.is_none()) {
            let mut next = *world;
            next.sees(member);
            steps.push(Step {
                who: member,
                what: "over, once more",
                to: Ok(next.with(member, At::Over(ending))),
            });
            return;
        }
        let mut next = *world;
        next.write(Some(member), |server| {
            ending.own.into_iter().for_each(|own| server.delete(own));
            server.ready = server.ready.filter(|_| !is_on);
        });
        let taken = world.now.ready.filter(|_| is_on);
        let is_needed =
            taken.is_some_and(|ready| next.now.numbers().any(|number| ready.chosen & (1 << number) != 0));
        let to = match is_needed {
            true => Err("`ready` is taken back from under a member"),
            false => self.finish(next, member, &ending),
        };
        steps.push(Step { who: member, what: "over, the last", to });
        if world.mishaps > 0 && !is_needed {
            next.mishaps -= 1;
            let to = Ok(next.with(member, At::Over(ending)));
            steps.push(Step { who: member, what: "over, the last, and no answer", to });
        }
    }
}
