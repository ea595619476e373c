//! What the server decides, and what becomes of that.

use super::{
    At, Closest, Early, Guarded, Lines, MOST, Mishap, NOWHERE, Request, Steps, Telling, Told, World,
};
use crate::explorer::Step;

impl Lines {
    /// The first request of a session that is not decided.
    pub(super) fn decide(&self, world: &World, session: usize, steps: &mut Steps) {
        let mut next = *world;
        let request = next.sessions[session].take(0);
        let (what, to) = match request {
            Request::Nothing => return,
            Request::Create(contender) => ("create", self.create(next, contender.into())),
            Request::List(contender) => ("list", self.list(next, contender.into())),
            Request::Watch(contender) => {
                self.watch(&mut next, contender.into());
                ("watch", Ok(next))
            }
            Request::Write(contender) => {
                next.contenders[usize::from(contender)].guarded = Guarded::Known;
                ("the guarded write", self.writes(next, contender.into()))
            }
            Request::Delete(contender) => {
                let contender = usize::from(contender);
                if let Some(mut next) = self.may(&next, Mishap::Refusal)
                    && world.nodes[contender] != NOWHERE
                {
                    let one = &mut next.contenders[contender];
                    one.is_refused = true;
                    next.sessions[session].is_refused |= one.passed;
                    steps.push(Step { who: contender, what: "the server: delete, refused", to: Ok(next) });
                }
                self.delete(&mut next, contender);
                ("delete", Ok(next))
            }
        };
        let who = match request {
            Request::Nothing => session,
            Request::Create(who) | Request::List(who) | Request::Watch(who) => who.into(),
            Request::Write(who) | Request::Delete(who) => who.into(),
        };
        steps.push(Step { who, what, to });
    }

    fn create(&self, mut world: World, contender: usize) -> Told {
        let session = self.session(contender);
        let is_cancelled = world.contenders[contender].at != At::Creating;
        if world.sessions[session].path == Telling::Asked {
            world.sessions[session].path = Telling::Armed;
        }
        if !world.path_stands {
            world.sessions[session].withdraw(Request::List(contender as u8));
            if !is_cancelled {
                // It makes the path, and tries again.
                (world.path_stands, world.next) = (true, 0);
                world.paths_change();
                world.contenders[contender].at = At::Outside;
                self.links_arrived(&mut world, session);
                self.comes_again(&mut world, contender);
            }
            return Ok(world);
        }
        let number = self.numbers(&mut world, contender);
        if is_cancelled {
            return Ok(world);
        }
        let one = &mut world.contenders[contender];
        one.made = world.made[contender];
        (one.number, one.at) = (number, if one.was_in_doubt { At::Listing } else { At::Created });
        Ok(world)
    }

    /// The server makes its node.
    fn numbers(&self, world: &mut World, contender: usize) -> u8 {
        let number = world.next;
        world.next += 1;
        (world.nodes[contender], world.made[contender]) = (number, (world.made[contender] + 1) % 4);
        number
    }

    fn list(&self, mut world: World, contender: usize) -> Told {
        let is_early = world.contenders[contender].at == At::Created;
        if world.nodes[contender] == NOWHERE {
            match is_early {
                true => world.contenders[contender].early = Early::Gone,
                false => self.comes_again(&mut world, contender),
            }
            return Ok(world);
        }
        let ahead = |one: &usize| world.nodes[*one] < world.nodes[contender];
        let ahead: Vec<usize> = (0..MOST).filter(ahead).collect();
        let closest = ahead.iter().copied().max_by_key(|one| world.nodes[*one]);
        let closest = closest.map(|whose| Closest {
            whose: whose as u8,
            number: world.nodes[whose],
            made: world.made[whose],
            is_only: ahead.len() == 1,
        });
        let one = &mut world.contenders[contender];
        match is_early {
            true => one.early = Early::Listed(closest),
            false => one.at = At::Listed(closest),
        }
        Ok(world)
    }

    /// What a contender does that hears who is closest ahead.
    pub(super) fn hears_list(&self, mut world: World, contender: usize, closest: Option<Closest>) -> Told {
        if self.is_listed(&mut world, contender, closest) {
            return Ok(world);
        }
        let session = self.session(contender);
        let Some(closest) = closest else {
            if world.sessions[session].is_firm {
                return self.holds(world, contender);
            }
            world.contenders[contender].at = At::Doubting;
            return Ok(world);
        };
        world.contenders[contender].at = At::Arming(closest);
        world.sessions[session].send(Request::Watch(contender as u8));
        Ok(world)
    }

    fn watch(&self, world: &mut World, contender: usize) {
        let At::Arming(closest) = world.contenders[contender].at else { return };
        let whose = usize::from(closest.whose);
        let stands = world.made[whose] == closest.made && world.nodes[whose] != NOWHERE;
        if world.nodes[contender] == NOWHERE || !stands {
            return self.lists(world, contender);
        }
        world.contenders[contender].at = At::Watching(closest, true);
    }

    /// A guarded write is decided: it is applied if the node stands.
    pub(super) fn writes(&self, world: World, contender: usize) -> Told {
        let holds = |one: usize| world.contenders[one].at == At::Holding && world.nodes[one] != NOWHERE;
        let is_late = self.contenders().any(|one| one != contender && holds(one));
        match world.nodes[contender] != NOWHERE && is_late {
            true => Err("a guarded write is applied while the next one holds"),
            false => Ok(world),
        }
    }

    /// The connection breaks. Some of what was sent is decided, and no answer comes.
    pub(super) fn disconnects(&self, world: &World, session: usize, steps: &mut Steps) {
        let all = world.sessions[session].requests;
        let sent = all.iter().filter(|request| **request != Request::Nothing).count();
        for decided in 0..=sent {
            let mut next = *world;
            let mut to = Ok(());
            let here = &mut next.sessions[session];
            (here.requests, here.path) = ([Request::Nothing; super::MOST_REQUESTS], Telling::Over);
            for request in &all[..decided] {
                match *request {
                    Request::Create(contender) if next.path_stands => {
                        self.numbers(&mut next, contender.into());
                    }
                    Request::Write(contender) => to = to.and(self.writes(next, contender.into()).map(drop)),
                    Request::Delete(contender) => self.delete(&mut next, contender.into()),
                    _ => {}
                }
            }
            for request in &all[decided..sent] {
                if let Request::Write(contender) = *request {
                    next.late_write = contender;
                }
            }
            for request in &all[..sent] {
                self.is_unanswered(&mut next, *request);
            }
            for contender in self.of_session(session) {
                next.contenders[contender].left_before = true;
                match &mut next.contenders[contender].at {
                    At::Watching(_, is_here) => *is_here = false,
                    At::Listing => self.lists(&mut next, contender),
                    At::Arming(..) => next.sessions[session].send(Request::Watch(contender as u8)),
                    _ => {}
                }
            }
            let what = "its connection breaks";
            steps.push(Step { who: MOST + session, what, to: to.map(|()| next) });
        }
    }

    fn is_unanswered(&self, world: &mut World, request: Request) {
        match request {
            Request::Create(contender) => {
                let one = &mut world.contenders[usize::from(contender)];
                if one.at == At::Creating {
                    (one.at, one.was_in_doubt) = (At::Finding, true);
                    self.links_arrived(world, self.session(contender.into()));
                }
            }
            Request::Write(contender) => {
                world.contenders[usize::from(contender)].guarded = Guarded::Unknown;
            }
            Request::Delete(contender) => {
                let one = &mut world.contenders[usize::from(contender)];
                one.is_unanswered = true;
                if one.passed {
                    let session = &mut world.sessions[self.session(contender.into())];
                    (session.tail, session.is_open) = (None, false);
                }
            }
            _ => {}
        }
    }
}
