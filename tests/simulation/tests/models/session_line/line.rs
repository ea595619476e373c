//! Steps of `session_line/`, which take no request.

use super::{
    At, Behind, Closest, Contender, Early, Expected, Guarded, Lines, MOST_REQUESTS, NOWHERE, News, Request,
    SESSIONS, Session, Steps, Telling, Told, World,
};
use crate::explorer::Step;

/// Before this many nothing is on its way.
const LAST: u8 = u8::MAX;

impl Contender {
    /// Whether it waits in memory.
    fn waits(&self) -> bool {
        self.is_in_line && !self.has_turn && self.behind != Behind::Stranger
    }

    fn is_arriving(&self) -> bool {
        matches!(self.at, At::Creating | At::Created) && !self.was_in_doubt
    }
}

impl Lines {
    /// Its contenders that are in the line, in the order of their numbers.
    fn line(&self, world: &World, session: usize) -> Vec<usize> {
        let is_in_line = |one: &usize| world.contenders[*one].is_in_line;
        let mut line: Vec<usize> = self.of_session(session).filter(is_in_line).collect();
        line.sort_by_key(|one| world.contenders[*one].number);
        line
    }

    fn first_arriving(&self, world: &World, session: usize) -> u8 {
        let of = self.of_session(session).map(|one| &world.contenders[one]);
        of.filter(|one| one.is_arriving() && !one.left_before).map(|one| one.serial).min().unwrap_or(LAST)
    }

    fn proves(&self, session: &Session, era: u8) -> bool {
        let is_same = era == session.era && session.path != Telling::Over;
        self.path_is_watched && (is_same || !self.rules.asks_for_path)
    }

    /// `arrive`, and what leaves with the create.
    pub(super) fn arrives(&self, world: &mut World, contender: usize) {
        let number = self.session(contender);
        let has_line = number + 1 < SESSIONS;
        let arriving = self.of_session(number).filter(|one| world.contenders[*one].is_arriving()).count();
        let last = self.line(world, number).last().map(|last| world.contenders[*last].era);
        let session = &mut world.sessions[number];
        let one = &mut world.contenders[contender];
        (one.at, one.left_before, one.was_in_doubt) = (At::Creating, false, !has_line);
        session.send(Request::Create(contender as u8));
        let mut needs_list = true;
        if has_line {
            if self.path_is_watched && session.path == Telling::Over {
                (session.path, session.era) = (Telling::Asked, session.era + 1);
            }
            (one.serial, one.era) = (session.next_serial, session.era);
            session.next_serial += 1;
            let is_known = match last {
                Some(era) => era == one.era,
                None => session.tail.is_some_and(|(era, _)| era == one.era) || arriving > 0,
            };
            let era = one.era;
            needs_list = !(is_known && self.proves(&world.sessions[number], era));
        }
        if needs_list {
            world.sessions[number].send(Request::List(contender as u8));
        }
    }

    /// `joins`: its node was created.
    pub(super) fn joins(&self, mut world: World, contender: usize) -> Told {
        let number = self.session(contender);
        let line = self.line(&world, number);
        let (own, serial, era) = {
            let one = &world.contenders[contender];
            (one.number, one.serial, one.era)
        };
        let at = line.iter().position(|other| world.contenders[*other].number >= own).unwrap_or(line.len());
        if line.get(at).is_some_and(|other| world.contenders[*other].number == own) {
            // One of the two is of a path that was made anew.
            world.contenders[contender].at = At::Listing;
            self.links_arrived(&mut world, number);
            return self.lists_first(world, contender);
        }
        let proves = self.proves(&world.sessions[number], era);
        let before = own.checked_sub(1);
        let is_of =
            |(other, it): (u8, u8)| it == own.wrapping_sub(1) && (other == era || !self.rules.asks_for_path);
        let is_ours = world.sessions[number].tail.is_some_and(is_of)
            || line.iter().any(|other| {
                let other = &world.contenders[*other];
                is_of((other.era, other.number))
            });
        let is_next = before.is_some() && is_ours && proves;
        world.contenders[contender].at = At::InMemory;
        let are_arriving = self.first_arriving(&world, number) < serial;
        let session = &world.sessions[number];
        let may_have = (session.is_open || serial >= session.turn_from || !self.rules.asks_when_it_left)
            && (!session.is_refused || !self.rules.heeds_refusals);
        let closest = at.checked_sub(1).map(|at| line[at]);
        let is_linked = |closest: usize| !world.contenders[closest].is_gone;
        let (behind, has_turn) = match (is_next, closest) {
            (true, None) if may_have => (Behind::Stranger, true),
            (true, Some(closest)) if is_linked(closest) => (Behind::Previous, false),
            (false, _) if are_arriving && proves => {
                (Behind::Arriving(Expected::Number(own.wrapping_sub(1))), false)
            }
            (false, Some(_)) if !self.rules.asks_who_is_between => (Behind::Previous, false),
            _ => (Behind::Stranger, false),
        };
        let one = &mut world.contenders[contender];
        (one.is_in_line, one.behind, one.has_turn) = (true, behind, has_turn);
        if let Some(next) = line.get(at)
            && self.is_expected(&world, contender, &world.contenders[*next])
        {
            world.contenders[*next].behind = Behind::Previous;
        }
        self.links_arrived(&mut world, number);
        let one = &mut world.contenders[contender];
        if has_turn {
            one.early = Early::Nothing;
            world.sessions[number].withdraw(Request::List(contender as u8));
            // It takes it in a step of its own.
            one.news = News::Turn;
            return self.stays(&world, number).map(|()| world);
        }
        if one.waits() || one.news != News::Nothing {
            one.early = Early::Nothing;
            world.sessions[number].withdraw(Request::List(contender as u8));
            return Ok(world);
        }
        one.at = At::Listing;
        self.lists_first(world, contender)
    }

    fn is_expected(&self, world: &World, contender: usize, next: &Contender) -> bool {
        let come = &world.contenders[contender];
        match next.behind {
            Behind::Arriving(Expected::Number(number)) => {
                number == come.number && (come.era == next.era || !self.rules.asks_who_has_come)
            }
            Behind::Arriving(Expected::Name(whose, made)) => {
                usize::from(whose) == contender && made == come.made
            }
            _ => false,
        }
    }

    /// By the list that left with the create, if one did.
    fn lists_first(&self, mut world: World, contender: usize) -> Told {
        match std::mem::replace(&mut world.contenders[contender].early, Early::Nothing) {
            Early::Listed(closest) => return self.hears_list(world, contender, closest),
            Early::Gone => self.lists(&mut world, contender),
            Early::Nothing => {
                let session = &mut world.sessions[self.session(contender)];
                let list = Request::List(contender as u8);
                if !session.requests.contains(&list) {
                    session.send(list);
                }
            }
        }
        Ok(world)
    }

    /// Who waited for one that was arriving looks, if that was not the one right ahead of it.
    pub(super) fn links_arrived(&self, world: &mut World, session: usize) {
        let first = self.first_arriving(world, session);
        for contender in self.of_session(session) {
            let one = &world.contenders[contender];
            if one.waits() && matches!(one.behind, Behind::Arriving(_)) && one.serial <= first {
                self.looks(world, contender);
            }
        }
    }

    pub(super) fn looks(&self, world: &mut World, contender: usize) {
        let one = &mut world.contenders[contender];
        (one.behind, one.news) = (Behind::Stranger, News::Look);
    }

    pub(super) fn lists(&self, world: &mut World, contender: usize) {
        let one = &mut world.contenders[contender];
        // The list will tell all that its watches would.
        (one.at, one.own_gone, one.closest_gone) = (At::Listing, false, false);
        world.sessions[self.session(contender)].send(Request::List(contender as u8));
    }

    /// `is_listed`: whether it waits in memory, by a list that says who is closest ahead.
    pub(super) fn is_listed(&self, world: &mut World, contender: usize, closest: Option<Closest>) -> bool {
        let number = self.session(contender);
        let one = world.contenders[contender];
        if !one.is_in_line || one.has_turn || one.is_written {
            return false;
        }
        let line = self.line(world, number);
        let at = line.iter().position(|other| *other == contender).expect("in the line");
        let before = at.checked_sub(1).map(|at| line[at]);
        // By name: which is no other's, and no other of the same owner's.
        let is_it = |one: usize, closest: Closest| {
            one == usize::from(closest.whose) && world.contenders[one].made == closest.made
        };
        let is_ours = closest.is_some_and(|closest| match self.rules.asks_for_line {
            true => before.is_some_and(|before| is_it(before, closest)),
            false => self.session(closest.whose.into()) == number,
        });
        let is_late = self.first_arriving(world, number) < one.serial;
        let behind = match closest {
            Some(_) if is_ours => Behind::Previous,
            Some(closest) if is_late && self.rules.asks_who_has_come => {
                Behind::Arriving(Expected::Name(closest.whose, closest.made))
            }
            Some(closest) if is_late => Behind::Arriving(Expected::Number(closest.number)),
            _ => Behind::Stranger,
        };
        let one = &mut world.contenders[contender];
        one.behind = behind;
        let waits = one.waits();
        if waits {
            (one.at, one.news) = (At::InMemory, News::Nothing);
        }
        waits
    }

    /// `Line::leave`.
    pub(super) fn leave(
        &self,
        world: &mut World,
        contender: usize,
        lets_go: Option<bool>,
    ) -> Result<(), &'static str> {
        let number = self.session(contender);
        let gone = world.contenders[contender];
        if !gone.is_in_line {
            return Ok(());
        }
        let line = self.line(world, number);
        let at = line.iter().position(|other| *other == contender).expect("in the line");
        let one = &mut world.contenders[contender];
        (one.is_in_line, one.behind, one.news) = (false, Behind::Stranger, News::Nothing);
        if lets_go.is_none() && gone.has_turn && !self.rules.tells_when_cancelled {
            return Ok(());
        }
        let is_linked = match gone.has_turn {
            true => lets_go.is_some(),
            false => gone.behind == Behind::Previous && at > 0,
        };
        let session = &mut world.sessions[number];
        session.tail = session.tail.max(Some((gone.era, gone.number))).filter(|_| is_linked);
        let is_refused = session.is_refused && self.rules.heeds_refusals;
        let can_pass = lets_go == Some(true) && gone.has_turn && !is_refused && session.is_firm;
        let mut is_passed = can_pass;
        let next = line.get(at + 1).copied();
        if let Some(next) = next.filter(|next| {
            let next = &world.contenders[*next];
            !next.has_turn && next.behind == Behind::Previous && (gone.has_turn || !is_linked)
        }) {
            is_passed = can_pass;
            if is_passed {
                let next = &mut world.contenders[next];
                (next.has_turn, next.news) = (true, News::Turn);
                self.stays(world, number)?;
            } else {
                self.looks(world, next);
            }
        }
        if gone.has_turn {
            let session = &mut world.sessions[number];
            (session.turn_from, session.is_open) = (session.next_serial, is_passed);
        }
        Ok(())
    }

    /// What is passed on in memory is passed on behind deletions that are on their way, and behind nothing that stays.
    fn stays(&self, world: &World, session: usize) -> Result<(), &'static str> {
        let stays = |one: usize| world.contenders[one].is_refused && world.nodes[one] != NOWHERE;
        match self.of_session(session).any(stays) {
            true => Err("passed on behind a node that stays"),
            false => Ok(()),
        }
    }

    /// Its place is dropped: it is deleted, and leaves the line behind that.
    pub(super) fn withdraws(&self, world: &mut World, contender: usize) {
        let number = self.session(contender);
        let was = world.contenders[contender];
        let session = &mut world.sessions[number];
        session.withdraw(Request::List(contender as u8));
        session.withdraw(Request::Watch(contender as u8));
        session.send(Request::Delete(contender as u8));
        let one = &mut world.contenders[contender];
        (one.at, one.own_gone, one.closest_gone) = (At::Done, false, false);
        if was.is_arriving() {
            self.links_arrived(world, number);
        }
        self.leave(world, contender, None).expect("nothing is passed on");
    }

    /// Its node is gone: it leaves the line, and queues again.
    pub(super) fn comes_again(&self, world: &mut World, contender: usize) {
        self.leave(world, contender, None).expect("nothing is passed on");
        let one = &mut world.contenders[contender];
        (one.at, one.number, one.serial, one.era) = (At::Outside, NOWHERE, 0, 0);
        (one.was_in_doubt, one.has_turn, one.is_written, one.is_gone) = (false, false, false, false);
        (one.is_watched, one.own_gone, one.closest_gone, one.line_hears) = (false, false, false, false);
        (one.behind, one.news, one.early) = (Behind::Stranger, News::Nothing, Early::Nothing);
    }

    /// `look_after`: the foremost that waits in memory is watched, and for whom it waits.
    pub(super) fn looks_after(&self, world: &World, session: usize, steps: &mut Steps) {
        let line = self.line(world, session);
        let Some(at) = line.iter().position(|one| world.contenders[*one].waits()) else { return };
        for contender in &line[at.saturating_sub(1)..=at] {
            let one = &world.contenders[*contender];
            if one.is_watched || one.line_hears || one.is_gone {
                continue;
            }
            let mut next = *world;
            let own = &mut next.contenders[*contender];
            (own.is_watched, own.line_hears) = match world.nodes[*contender] {
                NOWHERE => (false, true),
                _ => (true, false),
            };
            steps.push(Step { who: *contender, what: "look_after: watched", to: Ok(next) });
        }
    }

    /// `hears`: a node of the line is gone that it watches.
    pub(super) fn line_hears(&self, world: &mut World, contender: usize) {
        let one = &mut world.contenders[contender];
        one.line_hears = false;
        if !one.is_in_line {
            return;
        }
        one.is_gone = true;
        let waits = one.waits();
        let line = self.line(world, self.session(contender));
        let at = line.iter().position(|other| *other == contender).expect("in the line");
        let looks = if waits { Some(contender) } else { line.get(at + 1).copied() };
        if let Some(looks) = looks.filter(|looks| world.contenders[*looks].waits()) {
            self.looks(world, looks);
        }
    }

    pub(super) fn new_session(&self, came: u8) -> Session {
        Session {
            requests: [Request::Nothing; MOST_REQUESTS],
            is_firm: true,
            era: 0,
            path: Telling::Over,
            next_serial: 0,
            turn_from: 0,
            is_open: false,
            is_refused: false,
            tail: None,
            came,
        }
    }

    /// The server has ended it, and all its nodes are gone. What waits queues again in the next one, which has a new line.
    pub(super) fn session_ends(&self, world: &mut World, session: usize) -> Result<(), &'static str> {
        let of = self.of_session(session);
        if of.clone().any(|one| world.contenders[one].at == At::Holding) {
            return Err("one holds, and its session has ended");
        }
        of.clone().for_each(|contender| self.delete(world, contender));
        world.sessions[session] = self.new_session(world.sessions[session].came);
        for contender in of.clone() {
            let one = &mut world.contenders[contender];
            one.is_in_line = false;
            (one.is_unanswered, one.is_refused, one.passed) = (false, false, false);
            one.guarded = Guarded::Known;
            if one.at != At::Done && one.at != At::Asleep {
                self.comes_again(world, contender);
            } else {
                (one.is_watched, one.line_hears) = (false, false);
            }
        }
        if of.contains(&usize::from(world.late_write)) {
            world.late_write = NOWHERE;
        }
        Ok(())
    }
}
