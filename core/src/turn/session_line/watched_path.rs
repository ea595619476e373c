//! The path of a line, watched on one connection.
//!
//! The server numbers the children of a path as they are created, whoever creates them. So who gets the number behind one of
//! ours stands right behind it, and no list has to tell that: as long as the path is the same node. One that was removed and
//! made again begins anew at zero. So it is watched: on one connection the server tells that it was removed before it answers
//! a create that came after that. After a reconnection a list decides as always.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::unconstrained;

use crate::session::clock::Moment;
use crate::session::server_session::ServerSession;
use crate::session::wire::{Flight, Stat, Watch};

/// How often in a row number must have followed number before the path is watched: to set the watch and to give it back is two
/// requests, and where so many came as many again may come.
const WORTH_A_WATCH: u32 = 6;
/// Who comes again within this comes soon.
pub(super) const SOON: Duration = Duration::from_secs(1);
/// How many paths one session watches for this: each costs memory of the server, and is set again behind each reconnection.
const MOST_WATCHED: usize = 200;

/// How much lower the number may be of one that is heard of late, as so many of one client may be on their way at once. What is
/// lower yet comes from a path that was made anew.
const OUT_OF_ORDER: i32 = 10_000;

/// What tells whether the path is the node that it was.
enum Telling {
    /// It left ahead of a create: once that is answered, this is, too.
    Asked(Flight<(Option<Stat>, Watch)>),
    Armed(Watch),
    /// It has told something.
    Over,
}

struct WatchedNode {
    telling: Telling,
    generation: u64,
    /// One of those that the session has for this.
    _room: Arc<()>,
}

/// Whether numbers prove anything, and since when.
#[derive(Default)]
pub(super) struct WatchedPath {
    watched: Option<WatchedNode>,
    /// The numbers of one era come from one and the same node. There is none while the path is not watched.
    era: u32,
    /// The highest number of ours.
    highest: i32,
    came: Option<Moment>,
    /// How often in a row a number of ours was soon followed by the next one.
    in_a_row: u32,
}

impl WatchedPath {
    /// The era of a create that leaves now, behind a watch of the path if that is worth it by now; zero if there is none.
    pub(super) fn era_of_create(&mut self, server_session: &Arc<ServerSession>, path: &str) -> u32 {
        if self.in_a_row < WORTH_A_WATCH {
            return 0;
        }
        if self.stands(server_session) {
            return self.era;
        }
        let room = server_session.watched_paths.clone();
        if Arc::strong_count(&room) > MOST_WATCHED {
            return 0;
        }
        let (generation, asked) = (server_session.link().generation, server_session.watch_exists(path));
        self.watched = Some(WatchedNode { telling: Telling::Asked(asked), generation, _room: room });
        self.era += 1;
        self.era
    }

    /// Whether a create of that era was certainly numbered by the node that is there.
    pub(super) fn proves(&mut self, server_session: &ServerSession, era: u32) -> bool {
        era != 0 && era == self.era && self.stands(server_session)
    }

    fn stands(&mut self, server_session: &ServerSession) -> bool {
        let Some(watched) = &mut self.watched else { return false };
        if let Telling::Asked(asked) = &mut watched.telling
            && let Some(answer) = unconstrained(asked).now_or_never()
        {
            watched.telling = answer.map_or(Telling::Over, |(_, watch)| Telling::Armed(watch));
        }
        // What has told something is not asked again.
        let stands = match &mut watched.telling {
            Telling::Armed(watch) => unconstrained(watch).now_or_never().is_none(),
            Telling::Asked(_) => true,
            Telling::Over => false,
        };
        let stands = stands && server_session.link().generation == watched.generation;
        if !stands {
            self.watched = None;
        }
        stands
    }

    /// One of ours has come; `on_the_way` others may still come with lower numbers.
    pub(super) fn comes(&mut self, number: i32, on_the_way: usize, now: Moment) {
        let on_the_way = i32::try_from(on_the_way).unwrap_or(i32::MAX);
        let highest = self.highest.saturating_add(1).saturating_add(on_the_way);
        let follows = (self.highest.saturating_sub(OUT_OF_ORDER)..=highest).contains(&number);
        let is_soon = self.is_soon(now);
        self.in_a_row = if follows && is_soon { self.in_a_row.saturating_add(1) } else { 0 };
        (self.highest, self.came) = (if follows { self.highest.max(number) } else { number }, Some(now));
    }

    fn is_soon(&self, now: Moment) -> bool {
        self.came.is_some_and(|came| now.since(came) < SOON)
    }

    /// Gives the watch back if nobody comes any more, to be dropped where nothing is locked; and whether there is none then.
    pub(super) fn is_given_back(&mut self, now: Moment) -> (bool, Option<impl Sized + use<>>) {
        let is_over = !self.is_soon(now);
        if is_over {
            self.in_a_row = 0;
        }
        let given_back = self.watched.take_if(|_| is_over);
        (self.watched.is_none(), given_back)
    }
}
