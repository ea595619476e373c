//! The world of the model, and who may do what next.

mod contenders;
mod line;
mod requests;

use crate::explorer::{Model, Step, explore};

pub const MOST: usize = 5;
pub const SESSIONS: usize = 3;
/// More requests than one session has under way at once.
const MOST_REQUESTS: usize = 10;
const NOWHERE: u8 = u8::MAX;

/// What a session has sent and the server has not decided. One session's requests are decided in their order, and a decision is
/// its answer.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Request {
    Nothing,
    Create(u8),
    List(u8),
    Watch(u8),
    Write(u8),
    Delete(u8),
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum At {
    Outside,
    Creating,
    /// It has not heard the answer yet: each hears it in its own time.
    Created,
    /// Its create is in doubt.
    Finding,
    Listing,
    /// The same of a list, by which somebody was closest ahead, and was the only one or was not.
    Listed(Option<Closest>),
    InMemory,
    /// Is about to watch it.
    Arming(Closest),
    /// And whether it is still the connection on which it watches.
    Watching(Closest, bool),
    /// First, and its session is in doubt.
    Doubting,
    Holding,
    /// Holds what was deleted by force, and neither hears of it nor lets go.
    Asleep,
    Done,
}

/// What a list told that left with the create, before that was heard of.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Early {
    Nothing,
    Listed(Option<Closest>),
    Gone,
}

/// Whose node it is, and which of them, and whether nobody else was ahead.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Closest {
    whose: u8,
    number: u8,
    made: u8,
    is_only: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Behind {
    Stranger,
    Previous,
    Arriving(Expected),
}

/// One with a number, or by its name: whose it is, and which of them.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Expected {
    Number(u8),
    Name(u8, u8),
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum News {
    Nothing,
    Turn,
    Look,
}

/// What is known of a guarded write.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Guarded {
    Known,
    Pending,
    Unknown,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Contender {
    at: At,
    number: u8,
    made: u8,
    serial: u8,
    /// Its create left on a connection before this one, so that nobody waits for it.
    left_before: bool,
    early: Early,
    era: u8,
    behind: Behind,
    news: News,
    is_in_line: bool,
    has_turn: bool,
    is_written: bool,
    /// Its line has heard that its node is gone.
    is_gone: bool,
    /// An attempt was made of which nobody knew what became: it is in no line.
    was_in_doubt: bool,
    /// It has let go of a turn, so that the line hears what becomes of the deletion.
    passed: bool,
    /// The deletion of its node got no answer, or was refused.
    is_unanswered: bool,
    is_refused: bool,
    guarded: Guarded,
    has_written: bool,
    /// The line watches its node.
    is_watched: bool,
    /// Events that are on their way to it: its own node is gone, and the closest.
    own_gone: bool,
    closest_gone: bool,
    /// The same to its line.
    line_hears: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
struct Session {
    requests: [Request; MOST_REQUESTS],
    /// The lease has not run out.
    is_firm: bool,
    /// Of `WatchedPath`: the era, and whether the path is watched, or about to be.
    era: u8,
    path: Telling,
    /// Of `LineInner`.
    next_serial: u8,
    turn_from: u8,
    is_open: bool,
    is_refused: bool,
    tail: Option<(u8, u8)>,
    /// How many of its contenders have come: one after the other, as they are all alike.
    came: u8,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
enum Telling {
    Over,
    Asked,
    Armed,
}

#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub struct World {
    contenders: [Contender; MOST],
    sessions: [Session; SESSIONS],
    /// What stands at the server: by contender the number of its node.
    nodes: [u8; MOST],
    /// Which one of its owner's it is, so that no other is taken for it.
    made: [u8; MOST],
    path_stands: bool,
    next: u8,
    /// A guarded write that a server has which its session has left.
    late_write: u8,
    mishaps: u8,
}

/// What the line rests on. Each can be taken out, to see that something breaks.
#[derive(Copy, Clone)]
pub struct Rules {
    /// `WatchedPath::proves`: numbers prove something only of one and the same path.
    pub asks_for_path: bool,
    /// `Passed::is_refused`: behind a node that stays, nothing is passed on.
    pub heeds_refusals: bool,
    /// `Position::is_listed`: who waits in memory waits for one that is in the line.
    pub asks_for_line: bool,
    /// `Line::look_after`: the node of whom the foremost waits for is watched.
    pub looks_after: bool,
    /// `Position::drop`: who was passed the turn, or has lost it, leaves the line.
    pub tells_when_cancelled: bool,
    /// `Hold::leave_lines`: nothing is passed on while a guarded write may yet be applied.
    pub waits_for_writes: bool,
    /// `Arrival::joins`: a create that left ahead of the deletion of who let go has the turn only if that was passed on.
    pub asks_when_it_left: bool,
    /// `LineInner::is_joined`: who has come is the one that was expected, and not one of its number of another path.
    pub asks_who_has_come: bool,
    /// `Line::leave`: the turn is passed on to who stands right behind, by number or by a list.
    pub asks_who_is_between: bool,
    /// `Wait::wait_in_memory`: who is passed the turn has it only while the session is certain.
    pub asks_for_lease: bool,
}

pub const CODE: Rules = Rules {
    asks_for_path: true,
    heeds_refusals: true,
    asks_for_line: true,
    looks_after: true,
    tells_when_cancelled: true,
    waits_for_writes: true,
    asks_when_it_left: true,
    asks_who_has_come: true,
    asks_who_is_between: true,
    asks_for_lease: true,
};

/// What may happen besides.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Mishap {
    /// Answers get lost, with the connection.
    Disconnection,
    /// The lease runs out, and the session may end.
    Expiry,
    Cancellation,
    /// Somebody deletes one node.
    Deletion,
    /// Somebody deletes the path with all below it, or it is empty and collected.
    Collection,
    /// Whose node was deleted does not wake.
    Sleep,
    /// Somebody asks one that waits to let go.
    Revocation,
    /// Nobody may delete anything for a moment.
    Refusal,
}

pub struct Lines {
    pub rules: Rules,
    /// How many contenders each session has. The last session has no line: it is a foreign client.
    pub sizes: [usize; SESSIONS],
    pub mishaps: u8,
    /// Which there are.
    pub of: &'static [Mishap],
    /// Whether so many come that the path is watched.
    pub path_is_watched: bool,
    /// Whether the first contender writes under its guard.
    pub writes: bool,
}

type Steps = Vec<Step<World>>;
type Told = Result<World, &'static str>;

impl Session {
    fn send(&mut self, request: Request) {
        let at = self.requests.iter().position(|other| *other == Request::Nothing);
        self.requests[at.expect("room for all requests")] = request;
    }

    fn take(&mut self, at: usize) -> Request {
        let request = self.requests[at];
        self.requests.copy_within(at + 1.., at);
        self.requests[MOST_REQUESTS - 1] = Request::Nothing;
        request
    }

    fn withdraw(&mut self, request: Request) {
        if let Some(at) = self.requests.iter().position(|other| *other == request) {
            self.take(at);
        }
    }
}

impl Lines {
    fn session(&self, contender: usize) -> usize {
        let (first, second) = (self.sizes[0], self.sizes[0] + self.sizes[1]);
        usize::from(contender >= first) + usize::from(contender >= second)
    }

    fn contenders(&self) -> std::ops::Range<usize> {
        0..self.sizes.iter().sum()
    }

    fn of_session(&self, session: usize) -> std::ops::Range<usize> {
        let first = self.sizes[..session].iter().sum();
        first..first + self.sizes[session]
    }

    fn may(&self, world: &World, mishap: Mishap) -> Option<World> {
        let is_left = world.mishaps > 0 && self.of.contains(&mishap);
        is_left.then(|| World { mishaps: world.mishaps - 1, ..*world })
    }

    /// It has the turn from now on, and holds.
    fn holds(&self, mut world: World, contender: usize) -> Told {
        let own = world.nodes[contender];
        let is_over = |at: At| matches!(at, At::Done | At::Asleep);
        // A deletion by force leaves a holder without a node, which only a guarded write would tell.
        if own != NOWHERE {
            for other in self.contenders().filter(|other| *other != contender) {
                let (at, number) = (world.contenders[other].at, world.nodes[other]);
                match at {
                    _ if number == NOWHERE => {}
                    At::Holding => return Err("two hold"),
                    _ if number < own && !is_over(at) => return Err("one is overtaken that came before"),
                    _ => {}
                }
            }
        }
        let one = &mut world.contenders[contender];
        (one.at, one.has_turn) = (At::Holding, true);
        Ok(world)
    }

    /// A node is gone, whoever deleted it: who watches it is told, in time.
    fn delete(&self, world: &mut World, gone: usize) {
        if std::mem::replace(&mut world.nodes[gone], NOWHERE) == NOWHERE {
            return;
        }
        for contender in self.contenders() {
            let one = &mut world.contenders[contender];
            if let At::Watching(closest, _) = one.at {
                one.own_gone |= contender == gone;
                one.closest_gone |= usize::from(closest.whose) == gone;
            }
        }
        world.contenders[gone].line_hears = std::mem::take(&mut world.contenders[gone].is_watched);
    }

    /// What may befall a session.
    fn session_steps(&self, world: &World, session: usize, steps: &mut Steps) {
        let who = MOST + session;
        let mut tell = |what, to| steps.push(Step { who, what, to });
        let of = self.of_session(session);
        if of.is_empty() {
            return;
        }
        if !world.sessions[session].is_firm {
            let mut next = *world;
            next.sessions[session].is_firm = true;
            tell("is certain again", Ok(next));
            let mut next = *world;
            let to = self.session_ends(&mut next, session);
            tell("ends", to.map(|()| next));
        } else if let Some(mut next) = self.may(world, Mishap::Expiry) {
            next.sessions[session].is_firm = false;
            for contender in of.clone().filter(|one| world.contenders[*one].at == At::Holding) {
                next.contenders[contender].at = At::Done;
                next.sessions[session].send(Request::Delete(contender as u8));
                self.leave(&mut next, contender, None).expect("nothing is passed on");
            }
            tell("its lease runs out", Ok(next));
        }
        // Behind the events that are on their way to it.
        let is_told = |one: &usize| world.contenders[*one].own_gone || world.contenders[*one].closest_gone;
        if !of.clone().any(|one| is_told(&one)) {
            self.decide(world, session, steps);
        }
        if let Some(next) = self.may(world, Mishap::Disconnection) {
            self.disconnects(&next, session, steps);
        }
        if self.rules.looks_after && self.of.contains(&Mishap::Sleep) && session + 1 < SESSIONS {
            self.looks_after(world, session, steps);
        }
    }
}

impl Model for Lines {
    type State = World;

    fn steps(&self, world: &World) -> Steps {
        let mut steps = Vec::new();
        for contender in self.contenders() {
            self.step(world, contender, &mut steps);
        }
        for session in 0..SESSIONS {
            self.session_steps(world, session, &mut steps);
        }
        if world.late_write != NOWHERE {
            let next = World { late_write: NOWHERE, ..*world };
            let to = self.writes(next, usize::from(world.late_write));
            steps.push(Step { who: world.late_write.into(), what: "its write is decided late", to });
        }
        if steps.is_empty() {
            return steps;
        }
        for contender in self.contenders() {
            self.mishaps(world, contender, &mut steps);
        }
        if let Some(mut next) = self.may(world, Mishap::Collection).filter(|_| world.path_stands) {
            self.contenders().for_each(|contender| self.delete(&mut next, contender));
            next.path_stands = false;
            next.paths_change();
            steps.push(Step { who: MOST + SESSIONS, what: "the path is deleted", to: Ok(next) });
        }
        steps.iter_mut().filter_map(|step| step.to.as_mut().ok()).for_each(World::forgets);
        steps
    }

    fn at_rest(&self, world: &World) -> Result<(), &'static str> {
        let is_over = |one: &Contender| matches!(one.at, At::Done | At::Asleep);
        if !world.contenders[self.contenders()].iter().all(is_over) {
            return Err("somebody sleeps for ever");
        }
        if world.nodes != [NOWHERE; MOST] {
            return Err("a node is left");
        }
        Ok(())
    }
}

impl World {
    /// What makes no difference any more is the same in all states.
    fn forgets(&mut self) {
        for one in &mut self.contenders {
            if !matches!(one.at, At::Creating | At::Created) {
                one.left_before = false;
            }
            match one.at {
                At::Done | At::Asleep if !one.is_in_line => {
                    (one.number, one.made, one.serial, one.era) = (NOWHERE, 0, 0, 0);
                    (one.behind, one.news, one.early) = (Behind::Stranger, News::Nothing, Early::Nothing);
                    (one.has_turn, one.is_written, one.is_gone, one.was_in_doubt) =
                        (false, false, false, false);
                    (one.is_watched, one.line_hears) = (false, false);
                }
                At::Holding => (one.serial, one.made) = (0, 0),
                _ => {}
            }
        }
    }

    /// The path has come or gone: who watches it is told, ahead of all later answers.
    fn paths_change(&mut self) {
        for session in self.sessions.iter_mut().filter(|session| session.path == Telling::Armed) {
            session.path = Telling::Over;
        }
    }
}

impl Lines {
    pub fn run(&self) -> Result<usize, String> {
        let contender = Contender {
            at: At::Outside,
            number: NOWHERE,
            made: 0,
            serial: 0,
            left_before: false,
            early: Early::Nothing,
            era: 0,
            behind: Behind::Stranger,
            news: News::Nothing,
            is_in_line: false,
            has_turn: false,
            is_written: false,
            is_gone: false,
            was_in_doubt: false,
            passed: false,
            is_unanswered: false,
            is_refused: false,
            guarded: Guarded::Known,
            has_written: false,
            is_watched: false,
            own_gone: false,
            closest_gone: false,
            line_hears: false,
        };
        let start = World {
            contenders: [contender; MOST],
            sessions: [self.new_session(0); SESSIONS],
            nodes: [NOWHERE; MOST],
            made: [0; MOST],
            path_stands: true,
            next: 0,
            late_write: NOWHERE,
            mishaps: self.mishaps,
        };
        explore(self, start)
    }
}
