//! Steps of `entering.rs`.

use super::{At, Barrier, MEMBERS, NOBODY, Round, Server, Steps, World};
use crate::explorer::Step;

impl Barrier {
    pub(super) fn come(&self, world: &World, member: usize, steps: &mut Steps) {
        let own = world.now.next;
        if own as usize == self.most_nodes {
            return;
        }
        let mut next = *world;
        next.write(Some(member), |server| {
            server.owners[own as usize] = member as u8;
            server.next += 1;
            server.version += 1;
            server.word = self.group(member);
        });
        let count = next.now.numbers().count() + usize::from(next.now.ready.is_some());
        next.came[member] = next.now.version + self.parties_of(member).saturating_sub(count) as u8;
        if self.others > 0 {
            next.said[member] = next.now.version;
        }
        let needed = count >= self.parties_of(member);
        let at = if needed { At::Listing(own) } else { At::Waiting(own, false) };
        steps.push(Step { who: member, what: "come", to: Ok(next.with(member, at)) });
        if world.mishaps > 0 {
            next.mishaps -= 1;
            next.said[member] = NOBODY;
            let to = Ok(next.with(member, At::Finding(own)));
            steps.push(Step { who: member, what: "come, and no answer", to });
        }
    }

    pub(super) fn list(&self, view: &Server, member: usize, own: u8) -> At {
        let (group, parties) = (self.group(member), self.parties_of(member));
        if view.ready.is_none() && self.first(view).is_some_and(|first| first != group) {
            return At::Refused(own);
        }
        let is_ours = |number: &u8| self.group_of(view, *number) == group || !self.rules.asks_for_parties;
        let all: Vec<u8> = view.numbers().filter(is_ours).collect();
        match view.ready {
            Some(_) => At::Waiting(own, true),
            None if all.len() < parties => At::Waiting(own, false),
            None => At::Declaring(own, all.iter().take(parties).fold(0, |mask, number| mask | 1 << number)),
        }
    }

    /// For how many the first of those who are there waits.
    pub(super) fn first(&self, view: &Server) -> Option<u8> {
        view.numbers().next().map(|number| self.group_of(view, number))
    }

    /// What the path says; `None`: nothing new.
    pub(super) fn look_again(
        &self,
        view: &Server,
        after: World,
        member: usize,
        own: u8,
        declares: bool,
    ) -> Option<World> {
        let was_last = after.said[member] == view.version;
        if self.others == 0 || (view.word == self.group(member) && !was_last) {
            return None;
        }
        let mut next = after.with(member, At::Comparing(own, declares, view.version, view.word));
        next.said[member] = NOBODY;
        Some(next)
    }

    /// Has the path say what is right, unless it has changed.
    pub(super) fn correct(
        &self,
        world: &World,
        member: usize,
        own: u8,
        declares: bool,
        version: u8,
        right: u8,
    ) -> World {
        let is_right = right == self.group(member);
        let mut next =
            world.with(member, if is_right { At::Waiting(own, declares) } else { At::Refused(own) });
        if self.rules.corrects && version == world.now.version {
            next.write(Some(member), |server| {
                server.version += 1;
                server.word = right;
            });
        }
        next.sees(member);
        next
    }

    pub(super) fn declare(&self, world: &World, member: usize, own: u8, chosen: u8, steps: &mut Steps) {
        let mut next = *world;
        let stand = (0..world.now.next).filter(|number| chosen & (1 << number) != 0);
        let (all_stand, owners) =
            stand.fold((true, 0u8), |(all, owners), number| match world.now.stands(number) {
                true => (all, owners | 1 << world.now.owners[number as usize]),
                false => (false, owners),
            });
        if self.rules.checks_members && !all_stand {
            next.sees(member);
            steps.push(Step {
                who: member,
                what: "declare, too few",
                to: Ok(next.with(member, At::Listing(own))),
            });
            return;
        }
        if world.now.ready.is_some() {
            next.sees(member);
            let to = Ok(next.with(member, At::Waiting(own, true)));
            steps.push(Step { who: member, what: "declare, too late", to });
            return;
        }
        let group = self.group(member);
        let are_ours = (0..MEMBERS).all(|other| owners & (1 << other) == 0 || self.group(other) == group);
        if owners.count_ones() as usize != self.parties_of(member) || !are_ours {
            steps.push(Step { who: member, what: "declare", to: Err("let in early: not all are there") });
            return;
        }
        next.write(Some(member), |server| {
            let (lowest, last) = (chosen.trailing_zeros() as u8, 7 - chosen.leading_zeros() as u8);
            let anchor = if self.lowest_stays { lowest } else { last };
            server.rounds += 1;
            server.counted |= chosen;
            server.version += 2;
            server.word = group;
            server.ready = Some(Round { generation: server.rounds, last, anchor, chosen, group });
        });
        steps.push(Step { who: member, what: "declare", to: Ok(next.with(member, At::Waiting(own, true))) });
        if world.mishaps > 0 {
            next.mishaps -= 1;
            let to = Ok(next.with(member, At::Listing(own)));
            steps.push(Step { who: member, what: "declare, and no answer", to });
        }
    }

    /// By the numbers that `ready` lists.
    fn tells_of(&self, round: &Round, own: u8) -> bool {
        round.chosen & (1 << own) != 0 || !self.rules.asks_for_numbers
    }

    /// By the last of them, and for how many its owner waits: enough for a node that stands.
    pub(super) fn includes(&self, round: &Round, view: &Server, own: u8) -> bool {
        let agrees = !view.stands(own) || self.group_of(view, own) == round.group;
        (own <= round.last && agrees) || !self.rules.asks_for_numbers
    }

    /// It learns that it is in, or that it is not.
    pub(super) fn learn(&self, round: Round, own: u8, is_ours: bool) -> Result<At, &'static str> {
        match is_ours {
            true if round.chosen & (1 << own) == 0 => Err("let in by a round that it does not belong to"),
            true => Ok(At::Inside(own, round)),
            false => Ok(At::GivingUp(own, Some(round))),
        }
    }

    /// `None`: waits to be woken.
    pub(super) fn take_part(
        &self,
        view: &Server,
        member: usize,
        own: u8,
        declares: bool,
    ) -> Option<Result<At, &'static str>> {
        match view.ready {
            Some(round) if round.group != self.group(member) => Some(Ok(At::Checking(own, round))),
            Some(round) => Some(self.learn(round, own, self.tells_of(&round, own))),
            None if declares && self.rules.declares_again => Some(Ok(At::Listing(own))),
            None => None,
        }
    }
}
