//! The world of the model, and who may do what next.

use crate::explorer::{Model, Step, explore};

const SITES: usize = 2;
const MOST_LIVES: usize = 2;
const COORDINATOR: usize = SITES;
/// What the coordinator does in the background for each transaction.
const DUTIES: usize = MOST_LIVES;
/// Another coordinator, which takes over what the first one has while that is cut off.
const HEIR: usize = SITES + 1 + DUTIES;
const MEMBERS: usize = HEIR + 1;
/// The name of the heir; that of a coordinator that came back is another number.
const HEIRS: u8 = u8::MAX;

/// The node of the transaction, and what stands below it.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct Whole {
    nonce: u8,
    open: bool,
    /// Which coordinator's it is: one that died comes back with another name.
    mark: Option<u8>,
    decision: Option<bool>,
    votes: [Option<bool>; SITES],
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub enum At {
    /// A site that waits to be asked, or a coordinator that is to begin or to recover.
    Idle,
    Beginning(u8),
    Asked(u8),
    Voting(u8, bool),
    /// Its vote was refused; and what it read of it.
    Refused(u8, bool),
    Compared(u8, bool, Option<bool>),
    Waiting(u8),
    Committing(u8),
    Aborting(u8),
    /// Nothing is open any more.
    Reading(u8),
    Told(u8, bool),
    /// Has done what was decided.
    Acknowledging(u8),
    /// Which of its nodes it has seen, and whether it seemed to be the last.
    Clearing(u8, bool, bool, bool),
    Collecting(u8),
    Removing(u8),
    Dismissing(u8),
    /// A duty that has found nothing of its transaction any more.
    Over,
    /// A duty that has ended an abort of which nobody was told. It knows it still.
    Ended(u8),
    Dead,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct World {
    whole: Option<Whole>,
    /// For each site the transactions in its inbox.
    inboxes: [u8; SITES],
    /// Sites, then the coordinator's caller, then its duties, then the heir.
    members: [At; MEMBERS],
    /// The session of the coordinator has ended, and it has no other yet: what it has in hand it keeps.
    is_cut_off: bool,
    /// The outcomes that the heir has left.
    noted: [Option<bool>; MOST_LIVES],
    /// The name of the coordinator, and its next transaction.
    coordinator: u8,
    next: u8,
    mishaps: u8,
    /// What each site has promised to be able to do, and what each transaction came to: only the promises look at
    /// these.
    prepared: [u8; SITES],
    outcomes: [Option<bool>; MOST_LIVES],
}

/// What the recipe rests on. Each can be taken out, to see that something breaks.
#[derive(Copy, Clone)]
pub struct Rules {
    /// `commit`: the transaction checks every vote.
    pub checks_votes: bool,
    /// `collect`: while anybody's vote or mark stands, the transaction does.
    pub waits_for_all: bool,
    /// `Key`: names say which transaction of an id they belong to.
    pub says_nonce: bool,
    /// `end`: the coordinator's mark stands until it knows.
    pub waits_for_coordinator: bool,
    /// `stands`: a vote that is refused is compared with what stands there.
    pub compares: bool,
    /// `decide`: the decision takes the place of `open`, so that a caller, the duty and the sites decide once together.
    pub decides_once: bool,
    /// `delete_and_note`: who ends a transaction that another has begun leaves its outcome.
    pub leaves_outcome: bool,
}

pub const CODE: Rules = Rules {
    checks_votes: true,
    waits_for_all: true,
    says_nonce: true,
    waits_for_coordinator: true,
    compares: true,
    decides_once: true,
    leaves_outcome: true,
};

pub struct Commits {
    pub rules: Rules,
    /// How many transactions there are with that id.
    pub lives: u8,
    /// Whether the coordinator sees to them in the background, too, and its caller may let go.
    pub has_duty: bool,
    /// Whether the coordinator may be cut off, and another takes over meanwhile.
    pub has_heir: bool,
    pub mishaps: u8,
}

type Steps = Vec<Step<World>>;
type Told = Result<World, &'static str>;

impl Whole {
    fn children(&self) -> usize {
        let own = [self.open, self.mark.is_some(), self.decision.is_some()];
        own.into_iter().chain(self.votes.map(|vote| vote.is_some())).filter(|stands| *stands).count()
    }
}

fn duty(nonce: u8) -> usize {
    COORDINATOR + 1 + nonce as usize
}

impl World {
    /// The coordinator is gone, and what it did in the background.
    fn dies(mut self, member: usize) -> World {
        if member == COORDINATOR {
            self.members[COORDINATOR + 1..HEIR].fill(At::Idle);
        }
        self.with(member, At::Dead)
    }

    fn with(mut self, member: usize, at: At) -> World {
        self.members[member] = at;
        self
    }

    /// Somebody was told an outcome, or it was written down.
    fn comes_to(mut self, nonce: u8, outcome: bool) -> Told {
        match self.outcomes[nonce as usize].replace(outcome) {
            Some(before) if before != outcome => Err("a transaction has two outcomes"),
            _ => Ok(self),
        }
    }
}

impl Commits {
    /// What stands of this transaction.
    fn whole(&self, world: &World, nonce: u8) -> Option<Whole> {
        world.whole.filter(|whole| whole.nonce == nonce || !self.rules.says_nonce)
    }

    fn entry(&self, nonce: u8) -> u8 {
        if self.rules.says_nonce { 1 << nonce } else { 1 }
    }

    fn begin(&self, world: &World, nonce: u8) -> Option<World> {
        let taken = world.inboxes.iter().any(|inbox| inbox & self.entry(nonce) != 0);
        if world.whole.is_some() || taken {
            return None;
        }
        let (votes, mark) = ([None; SITES], Some(world.coordinator));
        let mut next = *world;
        next.whole = Some(Whole { nonce, open: true, mark, decision: None, votes });
        next.inboxes.iter_mut().for_each(|inbox| *inbox |= self.entry(nonce));
        Some(next)
    }

    /// `decide`: the decision takes the place of `open`; `None`: what it depends on is not there.
    fn decide(&self, world: &World, member: usize, nonce: u8, outcome: bool) -> Option<Told> {
        let Some(mut whole) = self.whole(world, nonce).filter(|whole| whole.open || !self.rules.decides_once)
        else {
            return Some(Ok(world.with(member, At::Reading(nonce))));
        };
        if outcome && self.rules.checks_votes && whole.votes != [Some(true); SITES] {
            return None;
        }
        (whole.open, whole.decision) = (false, Some(outcome));
        let have_prepared = world.prepared.iter().all(|prepared| prepared & (1 << whole.nonce) != 0);
        if outcome && !(have_prepared && whole.votes == [Some(true); SITES]) {
            return Some(Err("committed without a site's vote on just that"));
        }
        let next = World { whole: Some(whole), ..*world }.with(member, At::Told(nonce, outcome));
        Some(next.comes_to(whole.nonce, outcome))
    }

    /// `vote`.
    fn vote(&self, world: &World, site: usize, nonce: u8, vote: bool) -> Told {
        let refused = Ok(world.with(site, At::Refused(nonce, vote)));
        let Some(mut whole) = self.whole(world, nonce) else { return refused };
        if !whole.open || whole.votes[site].is_some() {
            return refused;
        }
        whole.votes[site] = Some(vote);
        if !vote {
            (whole.open, whole.decision) = (false, Some(false));
        }
        let next = World { whole: Some(whole), ..*world };
        match vote {
            true => Ok(next.with(site, At::Waiting(nonce))),
            false => next.with(site, At::Told(nonce, false)).comes_to(whole.nonce, false),
        }
    }

    /// `stands`: the vote was read before, and now the decision.
    fn compare(&self, world: &World, site: usize, nonce: u8, vote: bool, voted: Option<bool>) -> Told {
        let decided = self.whole(world, nonce).and_then(|whole| whole.decision);
        match voted {
            Some(_) if !self.rules.compares => world.with(site, At::Told(nonce, vote)).comes_to(nonce, vote),
            // Voted before, maybe otherwise: that one stands.
            Some(_) => Ok(world.with(site, At::Waiting(nonce))),
            None => match decided.map_or_else(|| self.outcome_of_what_is_gone(world, site, nonce), Ok) {
                Ok(outcome) => world.with(site, At::Told(nonce, outcome)).comes_to(nonce, outcome),
                // Dismissed meanwhile: without its vote there was no commit.
                Err(_) => Ok(world.with(site, At::Idle)),
            },
        }
    }

    fn outcome_of_what_is_gone(&self, world: &World, site: usize, nonce: u8) -> Result<bool, &'static str> {
        match world.inboxes[site] & self.entry(nonce) {
            0 => Err("a site that has not acknowledged cannot learn the outcome"),
            _ => Ok(false),
        }
    }

    /// `look` and `read_decision`; `None`: open.
    fn look(&self, world: &World, member: usize, nonce: u8) -> Option<Told> {
        let outcome = match self.whole(world, nonce) {
            Some(Whole { decision: Some(outcome), .. }) => Ok(outcome),
            Some(Whole { open: true, .. }) => return None,
            _ if member >= COORDINATOR => match (world.noted[nonce as usize], member) {
                (Some(outcome), _) => Ok(outcome),
                (None, COORDINATOR) if world.members[duty(nonce)] == At::Ended(nonce) => Ok(false),
                (None, COORDINATOR) => Err("the coordinator cannot learn the outcome"),
                (None, _) => return Some(Ok(world.with(member, At::Over))),
            },
            _ => self.outcome_of_what_is_gone(world, member, nonce),
        };
        Some(
            outcome.and_then(|outcome| world.with(member, At::Told(nonce, outcome)).comes_to(nonce, outcome)),
        )
    }

    /// `removal`, which the server refuses while other children stand.
    fn remove(&self, world: &mut World, nonce: u8) -> bool {
        let is_last =
            |whole: &Whole| whole.decision.is_some() && (whole.children() == 1 || !self.rules.waits_for_all);
        let goes = self.whole(world, nonce).is_some_and(|whole| is_last(&whole));
        if goes {
            world.whole = None;
        }
        goes
    }

    /// `acknowledge`: what it has seen of its own goes, and the transaction with it if it was the last.
    fn clear(
        &self,
        world: &World,
        site: usize,
        nonce: u8,
        voted: bool,
        entered: bool,
        is_last: bool,
    ) -> World {
        let mut next = *world;
        let has_vote = self.whole(world, nonce).is_some_and(|whole| whole.votes[site].is_some());
        let has_entry = world.inboxes[site] & self.entry(nonce) != 0;
        let again = world.with(site, At::Acknowledging(nonce));
        if (voted && !has_vote) || (entered && !has_entry) {
            return again;
        }
        if voted && let Some(whole) = &mut next.whole {
            whole.votes[site] = None;
        }
        if entered {
            next.inboxes[site] &= !self.entry(nonce);
        }
        if is_last && !self.remove(&mut next, nonce) {
            return again;
        }
        next.with(site, At::Collecting(nonce))
    }

    /// A write that was answered; and if there may be a mishap, one that was not, and is made once more.
    fn write(&self, world: &World, member: usize, what: &'static str, to: Told, steps: &mut Steps) {
        steps.push(Step { who: member, what, to });
        if let Ok(next) = to
            && world.mishaps > 0
        {
            let lost = World { mishaps: next.mishaps - 1, ..next };
            let to = Ok(lost.with(member, world.members[member]));
            steps.push(Step { who: member, what: "writes, and gets no answer", to });
        }
    }

    fn coordinator(&self, world: &World, steps: &mut Steps) {
        let mut tell = |what, to| steps.push(Step { who: COORDINATOR, what, to: Ok(to) });
        match world.members[COORDINATOR] {
            At::Idle => {
                if let Some(mut whole) = world.whole {
                    let is_own = whole.mark == Some(world.coordinator);
                    if whole.mark == Some(HEIRS) {
                        // Which is there.
                    } else if whole.mark.is_none() {
                        tell("take_over, none", world.with(COORDINATOR, At::Collecting(whole.nonce)));
                    } else {
                        // Also what a caller has let go of.
                        whole.mark = Some(world.coordinator);
                        let next = World { whole: Some(whole), ..*world };
                        let what = if is_own { "recover, its own" } else { "take_over" };
                        tell(what, next.with(COORDINATOR, At::Waiting(whole.nonce)));
                    }
                } else if world.next < self.lives {
                    let next = World { next: world.next + 1, ..*world };
                    tell("begin", next.with(COORDINATOR, At::Beginning(world.next)));
                }
            }
            At::Beginning(nonce) if world.noted[nonce as usize].is_some() => {
                let outcome = world.noted[nonce as usize] == Some(true);
                tell("begin, find it over", world.with(COORDINATOR, At::Told(nonce, outcome)));
            }
            At::Beginning(nonce) => match self.begin(world, nonce) {
                Some(next) => {
                    let to = Ok(next.with(COORDINATOR, At::Waiting(nonce)));
                    self.write(world, COORDINATOR, "begin, write", to, steps);
                }
                None if world.whole.is_some_and(|whole| whole.nonce == nonce) => {
                    tell("begin, find", world.with(COORDINATOR, At::Waiting(nonce)));
                    // Given up meanwhile.
                    tell("withdraw, undo", world.with(COORDINATOR, At::Aborting(nonce)));
                }
                None => tell(
                    "begin, another is there",
                    World { next: nonce, ..*world }.with(COORDINATOR, At::Idle),
                ),
            },
            At::Waiting(nonce) => {
                match world.members[duty(nonce)] {
                    At::Idle if self.has_duty => tell("attend", world.with(duty(nonce), At::Waiting(nonce))),
                    At::Told(_, outcome) => {
                        tell("outcome, known", world.with(COORDINATOR, At::Told(nonce, outcome)));
                    }
                    At::Ended(_) => tell("outcome, known", world.with(COORDINATOR, At::Told(nonce, false))),
                    _ => {}
                }
                if world.mishaps > 0 && self.has_duty {
                    let next = World { mishaps: world.mishaps - 1, ..*world };
                    tell("lets go of it", next.with(COORDINATOR, At::Idle));
                }
            }
            At::Told(nonce, _) => {
                let mut next = world.with(COORDINATOR, At::Collecting(nonce));
                if let Some(whole) = &mut next.whole
                    && (whole.nonce == nonce || !self.rules.says_nonce)
                    && whole.mark != Some(HEIRS)
                {
                    whole.mark = None;
                }
                self.write(world, COORDINATOR, "end, delete the mark", Ok(next), steps);
            }
            _ => {}
        }
    }

    fn heir(&self, world: &World, steps: &mut Steps) {
        match (world.members[HEIR], world.whole) {
            (At::Idle, Some(mut whole)) if world.is_cut_off && whole.mark == Some(world.coordinator) => {
                whole.mark = Some(HEIRS);
                let next = World { whole: Some(whole), ..*world }.with(HEIR, At::Waiting(whole.nonce));
                steps.push(Step { who: HEIR, what: "take_over", to: Ok(next) });
            }
            (At::Told(nonce, outcome), whole) => {
                let mut next = world.with(HEIR, At::Collecting(nonce));
                if let Some(whole) = whole.filter(|whole| whole.mark == Some(HEIRS)) {
                    next.whole = Some(Whole { mark: None, ..whole });
                    next.noted[nonce as usize] = self.rules.leaves_outcome.then_some(outcome);
                }
                self.write(world, HEIR, "end, delete the mark and leave the outcome", Ok(next), steps);
            }
            _ => {}
        }
    }

    fn site(&self, world: &World, site: usize, steps: &mut Steps) {
        let mut tell = |what, to| steps.push(Step { who: site, what, to });
        let inbox = world.inboxes[site];
        match world.members[site] {
            At::Idle => {
                for nonce in (0..self.lives).filter(|nonce| inbox & self.entry(*nonce) != 0) {
                    // An entry that does not say leads to whatever stands there.
                    let whole = self.whole(world, nonce);
                    let nonce = whole.map_or(nonce, |whole| whole.nonce);
                    let at = match whole {
                        Some(whole) if whole.votes[site].is_some() => At::Waiting(nonce),
                        // Also what was decided without it.
                        Some(_) => At::Asked(nonce),
                        None => At::Dismissing(nonce),
                    };
                    tell("look_at", Ok(world.with(site, at)));
                }
            }
            At::Asked(nonce) => {
                if self.whole(world, nonce).is_none() && inbox & self.entry(nonce) != 0 {
                    // Another call of the same site looks, too.
                    let mut next = *world;
                    next.inboxes[site] &= !self.entry(nonce);
                    tell("look_at, dismiss", Ok(next));
                }
                let mut next = world.with(site, At::Voting(nonce, true));
                next.prepared[site] |= 1 << nonce;
                tell("vote_commit", Ok(next));
                tell("vote_abort", Ok(world.with(site, At::Voting(nonce, false))));
            }
            At::Voting(nonce, vote) => {
                let to = self.vote(world, site, nonce, vote);
                self.write(world, site, "vote", to, steps);
            }
            At::Refused(nonce, vote) => {
                let voted = self.whole(world, nonce).and_then(|whole| whole.votes[site]);
                tell("stands", Ok(world.with(site, At::Compared(nonce, vote, voted))));
            }
            At::Compared(nonce, vote, voted) => {
                tell("stands, read_decision", self.compare(world, site, nonce, vote, voted));
            }
            At::Told(nonce, _) => tell("does it", Ok(world.with(site, At::Acknowledging(nonce)))),
            At::Acknowledging(nonce) => {
                let whole = self.whole(world, nonce);
                let voted = whole.is_some_and(|whole| whole.votes[site].is_some());
                let entered = inbox & self.entry(nonce) != 0;
                let is_last = whole.is_some_and(|whole| whole.children() == 1 + usize::from(voted));
                let at = match voted || entered {
                    true => At::Clearing(nonce, voted, entered, is_last),
                    false => At::Collecting(nonce),
                };
                tell("acknowledge, look", Ok(world.with(site, at)));
            }
            At::Clearing(nonce, voted, entered, is_last) => {
                let to = Ok(self.clear(world, site, nonce, voted, entered, is_last));
                self.write(world, site, "acknowledge", to, steps);
            }
            At::Dismissing(nonce) => {
                let mut next = world.with(site, At::Idle);
                next.inboxes[site] &= !self.entry(nonce);
                tell("dismiss", Ok(next));
            }
            _ => {}
        }
    }

    /// What the coordinator does in the background once it knows the outcome.
    fn duty(&self, world: &World, member: usize, steps: &mut Steps) {
        match world.members[member] {
            At::Told(nonce, false) => {
                let mut next = world.with(member, At::Ended(nonce));
                let own = next.whole.as_mut().filter(|whole| whole.nonce == nonce);
                if let Some(whole) = own.filter(|whole| whole.mark == Some(world.coordinator)) {
                    whole.mark = None;
                }
                self.write(world, member, "end, asked or not", Ok(next), steps);
            }
            At::Ended(nonce) => {
                let mut next = *world;
                if self.whole(world, nonce).is_some_and(|whole| whole.nonce == nonce)
                    && self.remove(&mut next, nonce)
                {
                    self.write(world, member, "collect", Ok(next), steps);
                }
            }
            _ => {}
        }
    }

    /// What the coordinator and the sites do alike.
    fn both(&self, world: &World, member: usize, steps: &mut Steps) {
        match world.members[member] {
            At::Waiting(nonce) => match self.look(world, member, nonce) {
                Some(to) => steps.push(Step { who: member, what: "decide, look", to }),
                None => {
                    // All votes are seen, or the time is over.
                    let to = Ok(world.with(member, At::Committing(nonce)));
                    steps.push(Step { who: member, what: "decide, its time is over or all have voted", to });
                }
            },
            At::Committing(nonce) => match self.decide(world, member, nonce, true) {
                Some(to) => self.write(world, member, "decide the commit", to, steps),
                None => {
                    let to = Ok(world.with(member, At::Aborting(nonce)));
                    steps.push(Step {
                        who: member,
                        what: "decide, votes are missing and its time is over",
                        to,
                    });
                    let to = Ok(world.with(member, At::Waiting(nonce)));
                    steps.push(Step { who: member, what: "decide, votes are missing", to });
                }
            },
            At::Aborting(nonce) => {
                let to = self.decide(world, member, nonce, false).expect("depends on nothing");
                self.write(world, member, "decide the abort", to, steps);
            }
            At::Reading(nonce) => {
                let to =
                    self.look(world, member, nonce).unwrap_or(Ok(world.with(member, At::Waiting(nonce))));
                steps.push(Step { who: member, what: "read_decision", to });
            }
            At::Collecting(nonce) => {
                let is_alone = |whole: &Whole| {
                    let children = whole.children()
                        - usize::from(!self.rules.waits_for_coordinator && whole.mark.is_some());
                    whole.decision.is_some() && (children == 1 || !self.rules.waits_for_all)
                };
                let at = match self.whole(world, nonce).filter(is_alone) {
                    Some(_) => At::Removing(nonce),
                    None => At::Idle,
                };
                steps.push(Step { who: member, what: "collect, look", to: Ok(world.with(member, at)) });
            }
            At::Removing(nonce) => {
                let mut next = world.with(member, At::Idle);
                if !self.rules.waits_for_coordinator
                    && let Some(whole) = &mut next.whole
                {
                    whole.mark = None;
                }
                self.remove(&mut next, nonce);
                self.write(world, member, "collect", Ok(next), steps);
            }
            At::Dead => {
                let mut next = world.with(member, At::Idle);
                next.coordinator += u8::from(member == COORDINATOR);
                steps.push(Step { who: member, what: "comes back", to: Ok(next) });
            }
            _ => {}
        }
        let is_busy = |at: &At| !matches!(at, At::Dead | At::Idle | At::Over | At::Ended(_));
        let is_on = match member {
            COORDINATOR => world.members[COORDINATOR..HEIR].iter().any(is_busy),
            _ => member < COORDINATOR && is_busy(&world.members[member]),
        };
        if world.mishaps > 0 && is_on && world.members[member] != At::Dead {
            let next = World { mishaps: world.mishaps - 1, ..*world };
            steps.push(Step { who: member, what: "dies", to: Ok(next.dies(member)) });
        }
    }
}

impl Model for Commits {
    type State = World;

    fn steps(&self, world: &World) -> Steps {
        let mut steps = Vec::new();
        let own = COORDINATOR..HEIR;
        if self.has_heir {
            let is_at_it = |at: &At| matches!(at, At::Beginning(_) | At::Waiting(_) | At::Committing(_));
            if world.is_cut_off {
                let to = Ok(World { is_cut_off: false, ..*world });
                steps.push(Step { who: COORDINATOR, what: "is back", to });
            } else if is_at_it(&world.members[COORDINATOR]) {
                let to = Ok(World { is_cut_off: true, ..*world });
                steps.push(Step { who: COORDINATOR, what: "is cut off", to });
            }
            self.heir(world, &mut steps);
        }
        if !world.is_cut_off {
            self.coordinator(world, &mut steps);
        }
        (0..SITES).for_each(|site| self.site(world, site, &mut steps));
        let duties = own.clone().filter(|member| *member != COORDINATOR && !world.is_cut_off);
        duties.for_each(|member| self.duty(world, member, &mut steps));
        let goes_on = |member: &usize| !(world.is_cut_off && own.contains(member));
        (0..MEMBERS).filter(goes_on).for_each(|member| self.both(world, member, &mut steps));
        steps
    }

    fn at_rest(&self, world: &World) -> Result<(), &'static str> {
        let (members, others) = world.members.split_at(COORDINATOR + 1);
        let (duties, heir) = others.split_at(DUTIES);
        let is_done = |at: &At| matches!(at, At::Idle | At::Told(..) | At::Over | At::Ended(_));
        if members.iter().chain(heir).any(|at| *at != At::Idle) || !duties.iter().all(is_done) {
            return Err("somebody hangs");
        }
        if world.whole.is_some() || world.inboxes != [0; SITES] {
            return Err("something is left");
        }
        Ok(())
    }
}

impl Commits {
    pub fn run(&self) -> Result<usize, String> {
        let start = World {
            whole: None,
            inboxes: [0; SITES],
            members: [At::Idle; MEMBERS],
            is_cut_off: false,
            noted: [None; MOST_LIVES],
            coordinator: 0,
            next: 0,
            mishaps: self.mishaps,
            prepared: [0; SITES],
            outcomes: [None; MOST_LIVES],
        };
        explore(self, start)
    }
}
