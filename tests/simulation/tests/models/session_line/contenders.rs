//! Steps of contenders, and what may befall one.

use super::{At, Closest, Guarded, Lines, Mishap, NOWHERE, News, Request, SESSIONS, Steps, World};
use crate::explorer::Step;

impl Lines {
    pub(super) fn step(&self, world: &World, contender: usize, steps: &mut Steps) {
        let (one, session) = (&world.contenders[contender], self.session(contender));
        let is_firm = world.sessions[session].is_firm;
        let mut tell = |what, to| steps.push(Step { who: contender, what, to });
        if one.own_gone {
            let mut next = *world;
            next.contenders[contender].own_gone = false;
            self.comes_again(&mut next, contender);
            tell("wait: its own node is gone", Ok(next));
        }
        if one.closest_gone {
            let mut next = *world;
            next.contenders[contender].closest_gone = false;
            let to = match one.at {
                At::Watching(Closest { is_only: true, .. }, true)
                    if is_firm && !one.own_gone && session + 1 < SESSIONS =>
                {
                    self.holds(next, contender)
                }
                _ => {
                    self.lists(&mut next, contender);
                    Ok(next)
                }
            };
            tell("wait: the closest is gone", to);
        }
        if one.line_hears {
            let mut next = *world;
            self.line_hears(&mut next, contender);
            tell("line: hears that its node is gone", Ok(next));
        }
        if one.is_refused {
            let mut next = *world;
            next.contenders[contender].is_refused = false;
            next.sessions[session].send(Request::Delete(contender as u8));
            tell("delete_when_allowed", Ok(next));
        }
        if one.is_unanswered {
            let mut next = *world;
            next.contenders[contender].is_unanswered = false;
            next.sessions[session].send(Request::Delete(contender as u8));
            tell("deletion: again", Ok(next));
        }
        match one.at {
            At::Outside => {
                let of = self.of_session(session);
                let came = usize::from(world.sessions[session].came);
                if contender <= of.start + came {
                    let mut next = *world;
                    next.sessions[session].came = came.max(contender + 1 - of.start) as u8;
                    self.arrives(&mut next, contender);
                    tell("enter: create", Ok(next));
                }
            }
            At::Created => tell("enter: hears of its create", self.joins(*world, contender)),
            At::Listed(closest) => {
                tell("wait: hears of its list", self.hears_list(*world, contender, closest))
            }
            At::Finding => {
                let mut next = *world;
                match world.nodes[contender] {
                    NOWHERE => {
                        next.contenders[contender].at = At::Creating;
                        next.sessions[session].send(Request::Create(contender as u8));
                        next.sessions[session].send(Request::List(contender as u8));
                    }
                    number => {
                        let one = &mut next.contenders[contender];
                        (one.number, one.made) = (number, world.made[contender]);
                        self.lists(&mut next, contender);
                    }
                }
                tell("recover", Ok(next));
            }
            At::InMemory if one.news != News::Nothing => {
                let mut next = *world;
                let news = std::mem::replace(&mut next.contenders[contender].news, News::Nothing);
                match news {
                    News::Turn if is_firm || !self.rules.asks_for_lease => {
                        tell("wait_in_memory: the turn", self.holds(next, contender));
                    }
                    _ => {
                        self.lists(&mut next, contender);
                        tell("wait_in_memory: look", Ok(next));
                    }
                }
            }
            At::Doubting if is_firm => {
                let mut next = *world;
                self.lists(&mut next, contender);
                tell("wait: certain again", Ok(next));
            }
            At::Holding => self.hold(world, contender, steps),
            _ => {}
        }
    }

    fn hold(&self, world: &World, contender: usize, steps: &mut Steps) {
        let (one, session) = (&world.contenders[contender], self.session(contender));
        let mut tell = |what, to| steps.push(Step { who: contender, what, to });
        if world.nodes[contender] == NOWHERE {
            let mut next = *world;
            next.contenders[contender].at = At::Done;
            self.leave(&mut next, contender, None).expect("nothing is passed on");
            tell("lose: its node is gone", Ok(next));
        }
        if self.writes && contender == 0 && !one.has_written {
            let mut next = *world;
            let own = &mut next.contenders[contender];
            (own.guarded, own.has_written) = (Guarded::Pending, true);
            next.sessions[session].send(Request::Write(0));
            tell("write_guarded", Ok(next));
        }
        let may_pass = one.guarded == Guarded::Known || !self.rules.waits_for_writes;
        for may_pass in [Some(false), may_pass.then_some(true)].into_iter().flatten() {
            let mut next = *world;
            let own = &mut next.contenders[contender];
            (own.at, own.passed) = (At::Done, own.is_in_line);
            next.sessions[session].send(Request::Delete(contender as u8));
            let told = self.leave(&mut next, contender, Some(may_pass));
            // Without: somebody has asked for it, or who comes next was not seen to stand of late.
            tell(if may_pass { "let_go, and passes" } else { "let_go" }, told.map(|()| next));
        }
    }

    /// What may befall a contender at any moment.
    pub(super) fn mishaps(&self, world: &World, contender: usize, steps: &mut Steps) {
        let one = &world.contenders[contender];
        let mut tell = |what, to| steps.push(Step { who: contender, what, to });
        let waits = !matches!(one.at, At::Outside | At::Holding | At::Asleep | At::Done);
        if let Some(mut next) = self.may(world, Mishap::Cancellation).filter(|_| waits) {
            self.withdraws(&mut next, contender);
            tell("is cancelled", Ok(next));
        }
        if let Some(mut next) = self.may(world, Mishap::Deletion)
            && world.nodes[contender] != NOWHERE
        {
            self.delete(&mut next, contender);
            tell("its node is deleted by force", Ok(next));
        }
        if let Some(mut next) = self.may(world, Mishap::Sleep).filter(|_| one.at == At::Holding) {
            next.contenders[contender].at = At::Asleep;
            self.delete(&mut next, contender);
            tell("its node is deleted by force, and it sleeps", Ok(next));
        }
        let is_in_memory = one.at == At::InMemory && one.news == News::Nothing && !one.has_turn;
        if let Some(mut next) = self.may(world, Mishap::Revocation).filter(|_| is_in_memory) {
            let own = &mut next.contenders[contender];
            own.is_written = true;
            self.looks(&mut next, contender);
            tell("is asked to let go", Ok(next));
        }
    }
}
