//! What a leader does. Who is to have what is computed by the code itself.

use super::{Assigned, MEMBERS, MOST, NOBODY, Sharing, World};

#[path = "../../../../../core/src/recipes/partitioner/assignment.rs"]
#[allow(dead_code)]
mod assignment;

use assignment::{Assignment, Weights};

impl Sharing {
    fn among(&self, last: Option<Assigned>, there: u8) -> Assigned {
        if let Some(computed) = self.computed.borrow().get(&(last, there)) {
            return *computed;
        }
        let computed = self.compute(last, there);
        self.computed.borrow_mut().insert((last, there), computed);
        computed
    }

    fn compute(&self, last: Option<Assigned>, there: u8) -> Assigned {
        let name = |member: usize| ["a", "b", "c"][member].to_owned();
        let partitions: Vec<String> = (0..self.partitions).map(|partition| partition.to_string()).collect();
        let text = |assigned: Assigned| {
            let places = (0..self.partitions).map(|partition| match assigned[partition] {
                NOBODY => "-".to_owned(),
                member => member.to_string(),
            });
            format!("zkrecipes partitions 1 x\na\nb\nc\n\n{}\n", places.collect::<Vec<_>>().join(" "))
        };
        let last = last.map_or_else(Assignment::default, |last| {
            Assignment::parse(text(last).as_bytes(), "x", self.partitions).expect("as it is written")
        });
        let is_there = |member: &usize| there & (1 << member) != 0;
        let weights: Weights = (0..MEMBERS).filter(is_there).map(|member| (name(member), 1)).collect();
        let next = last.among(&weights, &partitions);
        let mut assigned = [NOBODY; MOST];
        for (partition, whose) in assigned.iter_mut().enumerate().take(self.partitions) {
            let member = (0..MEMBERS).find(|member| next.member(partition) == Some(&name(*member)));
            *whose = member.map_or(NOBODY, |member| member as u8);
        }
        assigned
    }

    fn moves(&self, before: Assigned, after: Assigned) -> usize {
        before.iter().zip(after).filter(|(before, after)| **before != *after).count()
    }

    /// `assign`.
    pub(super) fn lead(
        &self,
        world: &World,
        who: usize,
        epoch: u8,
        tell: &mut dyn FnMut(&'static str, Result<World, &'static str>),
    ) {
        let one = &world.members[who];
        if let Some(saying) = one.saying {
            let mut next = *world;
            let leader = &mut next.members[who];
            (leader.saying, leader.said) = (None, Some(saying));
            next.record = Some((epoch, saying));
            let looked = one.looked.unwrap_or_default();
            let last = world.record.map_or([NOBODY; MOST], |(_, last)| last);
            let least = self.moves(last, self.among(Some(last), looked));
            let to = match self.moves(last, saying) > least && self.rules.forgets_who_is_gone {
                true => Err("more moves than has to"),
                false => Ok(next),
            };
            tell("assign: acknowledge", to);
        } else if one.looked != Some(world.there) {
            let mut next = *world;
            let leader = &mut next.members[who];
            let recorded = world.record.map(|(_, last)| last).filter(|_| self.rules.begins_with_the_last);
            let last = one.said.or(recorded).or(one.read);
            let mut there = world.there;
            if !self.rules.forgets_who_is_gone {
                last.iter().flatten().filter(|one| **one != NOBODY).for_each(|one| there |= 1 << one);
            }
            let assigned = self.among(last, there);
            leader.looked = Some(world.there);
            leader.saying = Some(assigned).filter(|_| leader.said != Some(assigned));
            tell("assign: looks who is there", Ok(next));
        }
    }
}
