//! The latest state of a node, or of its children, for as long as somebody wants to know: over connections and server sessions,
//! through deletion and re-creation.
//!
//! 1. Ask with a watch. What is told is what differs from what was told before; the first answer always is.
//! 2. A follower that asks again waits for the watch. Nothing is requested while nobody asks, so a slow follower sees
//!    the latest state and not every state.
//! 3. A reconnection asks nothing: the transport sets the watch again, and the server then tells what was missed.
//! 4. A new server session asks again. Its server may lag behind what was told: an answer that differs counts only behind a `sync`,
//!    which all who follow something on that connection share.
//! 5. A server may lag behind what the caller knows already: where that matters, the first answer counts only behind a `sync`
//!    that left after the call. See [`Watching::current`].
//! 6. A missing node is a state, and is watched for its creation.
//! 7. Servers do not tell what happens to a node that we may not read any more. Where nothing else tells that, it is looked at
//!    without news, too: one `exists` after `LOOK_AFTER`, or after what its tree says.
//!
//! [`tree`] does the same for many nodes together.

pub(crate) mod outstanding;
pub(crate) mod standing;
pub(crate) mod tree;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use self::outstanding::{Outstanding, OutstandingAnswer};
use self::standing::Standing;
use super::Session;
use super::call::LOOK_AFTER;
use super::clock::Moment;
use super::growing_pause::GrowingPause;
use super::refusal::refusal;
use super::server_session::ServerSession;
use super::server_session::catching_up::Beginning;
use super::wire::{Event, Flight, Stat, Watch, WireError};
use crate::error::{Error, Result};

/// What tells one state of a node, or of its children, from another.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct StateId {
    /// When it was created.
    czxid: i64,
    /// When it was last changed.
    changed: i64,
    /// How often, as far as that is counted. Some servers tell of a child that has gone by this alone: they do not raise `pzxid`.
    changes: i32,
}

impl StateId {
    fn of_data(stat: &Stat) -> StateId {
        StateId { czxid: stat.czxid, changed: stat.mzxid, changes: stat.version }
    }

    fn of_children(stat: &Stat) -> StateId {
        StateId { czxid: stat.czxid, changed: stat.pzxid, changes: stat.cversion }
    }
}

/// Something of a node that can be asked for together with a watch on it.
pub(crate) trait Watchable: Sized + Send + 'static {
    /// What tells one state from another, by the metadata of the node.
    const MARK: fn(&Stat) -> StateId;
    /// The metadata of the node; `None` if there is nothing.
    fn stat(&self) -> Option<&Stat>;
    /// What tells this state from another; `None` if there is nothing.
    fn mark(&self) -> Option<StateId> {
        self.stat().map(Self::MARK)
    }
    /// Asks for it; the request leaves now. `last` is what the watch before this one told.
    fn look(server_session: &Arc<ServerSession>, path: &str, last: Option<Event>) -> Flight<(Self, Watch)>;
}

/// The data of a node that may be missing.
pub(crate) struct Data(pub(crate) Option<(Vec<u8>, Stat)>);

impl Watchable for Data {
    const MARK: fn(&Stat) -> StateId = StateId::of_data;

    fn stat(&self) -> Option<&Stat> {
        self.0.as_ref().map(|(_, stat)| stat)
    }

    fn look(server_session: &Arc<ServerSession>, path: &str, last: Option<Event>) -> Flight<(Data, Watch)> {
        let (server_session, path) = (server_session.clone(), path.to_owned());
        // Sent now, whichever it is.
        let (read, missing) = match last {
            Some(Event::Deleted) => (None, Some(server_session.watch_exists(&path))),
            _ => (Some(server_session.watch_data(&path)), None),
        };
        Box::pin(async move {
            let (mut read, mut missing) = (read, missing);
            loop {
                if let Some(read) = read.take() {
                    match read.await {
                        Ok((data, stat, watch)) => return Ok((Data(Some((data, stat))), watch)),
                        Err(WireError::NoNode) => {}
                        Err(error) => return Err(error),
                    }
                }
                match missing.take().unwrap_or_else(|| server_session.watch_exists(&path)).await? {
                    (None, watch) => return Ok((Data(None), watch)),
                    // Created in between.
                    (Some(_), _) => read = Some(server_session.watch_data(&path)),
                }
            }
        })
    }
}

/// The names of the children of a node that may be missing, with its metadata.
pub(crate) struct Children(pub(crate) Option<(Vec<String>, Stat)>);

impl Watchable for Children {
    const MARK: fn(&Stat) -> StateId = StateId::of_children;

    fn stat(&self) -> Option<&Stat> {
        self.0.as_ref().map(|(_, stat)| stat)
    }

    fn look(
        server_session: &Arc<ServerSession>,
        path: &str,
        last: Option<Event>,
    ) -> Flight<(Children, Watch)> {
        let (server_session, path) = (server_session.clone(), path.to_owned());
        let (list, missing) = match last {
            Some(Event::Deleted) => (None, Some(server_session.watch_exists(&path))),
            _ => (Some(server_session.watch_children(&path)), None),
        };
        Box::pin(async move {
            let (mut list, mut missing) = (list, missing);
            loop {
                if let Some(list) = list.take() {
                    match list.await {
                        Ok((names, stat, watch)) => return Ok((Children(Some((names, stat))), watch)),
                        Err(WireError::NoNode) => {}
                        Err(error) => return Err(error),
                    }
                }
                match missing.take().unwrap_or_else(|| server_session.watch_exists(&path)).await? {
                    (None, watch) => return Ok((Children(None), watch)),
                    (Some(_), _) => list = Some(server_session.watch_children(&path)),
                }
            }
        })
    }
}

/// The data of a node of which somebody else tells whether it is there: its parent's children.
pub(crate) struct ChildData(pub(crate) Option<(Vec<u8>, Stat)>);

impl Watchable for ChildData {
    const MARK: fn(&Stat) -> StateId = StateId::of_data;

    fn stat(&self) -> Option<&Stat> {
        self.0.as_ref().map(|(_, stat)| stat)
    }

    fn look(
        server_session: &Arc<ServerSession>,
        path: &str,
        last: Option<Event>,
    ) -> Flight<(ChildData, Watch)> {
        unless_gone(
            last,
            || server_session.watch_data(path),
            |(data, stat, watch)| (Some((data, stat)), watch),
            ChildData,
        )
    }
}

/// The same of its children.
pub(crate) struct ChildList(pub(crate) Option<(Vec<String>, Stat)>);

impl Watchable for ChildList {
    const MARK: fn(&Stat) -> StateId = StateId::of_children;

    fn stat(&self) -> Option<&Stat> {
        self.0.as_ref().map(|(_, stat)| stat)
    }

    fn look(
        server_session: &Arc<ServerSession>,
        path: &str,
        last: Option<Event>,
    ) -> Flight<(ChildList, Watch)> {
        let list = || server_session.watch_children(path);
        unless_gone(last, list, |(names, stat, watch)| (Some((names, stat)), watch), ChildList)
    }
}

/// What is gone is not asked for, nor watched.
fn unless_gone<A: Send + 'static, T: Send + 'static, S: Send + 'static>(
    last: Option<Event>,
    ask: impl FnOnce() -> Flight<A>,
    seen: impl FnOnce(A) -> (Option<T>, Watch) + Send + 'static,
    sight: impl FnOnce(Option<T>) -> S + Send + 'static,
) -> Flight<(S, Watch)> {
    let answer = (last != Some(Event::Deleted)).then(ask);
    Box::pin(async move {
        let answer = match answer {
            Some(answer) => answer.await,
            None => Err(WireError::NoNode),
        };
        let (found, watch) = match answer {
            Ok(answer) => seen(answer),
            Err(WireError::NoNode) => (None, Watch::new(Box::pin(std::future::pending()))),
            Err(error) => return Err(error),
        };
        Ok((sight(found), watch))
    })
}

impl Session {
    /// Watches the data of a node that may be missing.
    pub(crate) fn watch_node(self: &Arc<Self>, verb: &'static str, path: &str) -> Watching<Data> {
        Watching::new(self, verb, path).looking()
    }

    /// Watches the children of a node that may be missing.
    pub(crate) fn watch_children(self: &Arc<Self>, verb: &'static str, path: &str) -> Watching<Children> {
        Watching::new(self, verb, path).looking()
    }
}

/// Follows one node. Whatever it waits for is kept when a wait is given up, so nothing is asked twice for that but the look without
/// news.
pub(crate) struct Watching<S: Watchable> {
    session: Arc<Session>,
    verb: &'static str,
    path: String,
    step: WatchStep<S>,
    last: Option<Event>,
    told: Option<ToldState>,
    /// When the node was created that is known to be gone. Only an event has told so, and the next server need not have come
    /// as far.
    gone: Option<i64>,
    pause: GrowingPause,
    /// When the request left whose answer was the last.
    asked: Moment,
    /// Nothing but the watch tells what happens to the node: it is looked at without news, too.
    looks: bool,
    /// How long it goes without news before that.
    rest: Duration,
    /// When it was looked at last, or there was news.
    looked: Moment,
    /// Who wants to know whether that answer still stands.
    standing: Option<Arc<Standing>>,
    /// What is told first is no older.
    beginning: Option<Arc<Beginning>>,
    /// Where those are counted who have no answer yet, and this one while it has none.
    outstanding: Option<Outstanding>,
    unanswered: Option<OutstandingAnswer>,
}

struct ToldState {
    mark: Option<StateId>,
    /// The session whose server is known to have come as far as what was told.
    session_id: u64,
}

enum WatchStep<S> {
    Look {
        behind_sync: bool,
    },
    Asked {
        session_id: u64,
        behind_sync: bool,
        /// On which connection.
        generation: u64,
        answer: Flight<(S, Watch)>,
    },
    /// No answer came: time for the server to recover.
    Pausing {
        until: Moment,
    },
    Armed(Watch),
}

impl<S: Watchable> Watching<S> {
    pub(crate) fn new(session: &Arc<Session>, verb: &'static str, path: &str) -> Watching<S> {
        let retry = &session.options().retry;
        Watching {
            verb,
            path: path.to_owned(),
            step: WatchStep::Look { behind_sync: false },
            last: None,
            told: None,
            gone: None,
            pause: GrowingPause::new(retry.base, retry.max),
            asked: session.now(),
            looks: false,
            rest: LOOK_AFTER,
            looked: session.now(),
            standing: None,
            beginning: None,
            outstanding: None,
            unanswered: None,
            session: session.clone(),
        }
    }

    /// For a node of which no list tells that it is gone.
    pub(crate) fn looking(mut self) -> Watching<S> {
        self.looks = true;
        self
    }

    /// The same after so long without news.
    fn looking_after(mut self, rest: Duration) -> Watching<S> {
        (self.looks, self.rest) = (true, rest);
        self
    }

    /// Says there whether what it was answered last still stands.
    pub(crate) fn standing(mut self, standing: Arc<Standing>) -> Watching<S> {
        self.standing = Some(standing);
        self
    }

    /// What it tells first is no older than this call.
    pub(crate) fn current(self) -> Watching<S> {
        self.since(&Arc::default())
    }

    /// What it tells first is no older than that.
    pub(crate) fn since(mut self, beginning: &Arc<Beginning>) -> Watching<S> {
        self.beginning = Some(beginning.clone());
        self
    }

    /// Counts there while it has no answer.
    fn counted(mut self, outstanding: &Outstanding) -> Watching<S> {
        self.unanswered = Some(outstanding.one());
        self.outstanding = Some(outstanding.clone());
        self
    }

    /// The watch has told something, or has missed it.
    fn look_again(&mut self, event: Option<Event>) {
        (self.last, self.step) = (event, WatchStep::Look { behind_sync: false });
        self.unanswered = self.outstanding.as_ref().map(Outstanding::one);
    }

    /// The node that was created then is gone.
    fn after(mut self, gone: Option<i64>) -> Watching<S> {
        self.gone = gone;
        self
    }

    /// The state at first, later what differs from what was told. Waits through everything but the end of the client
    /// (Closed) and a refusal.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<S> {
        self.session.process().check()?;
        let session = self.session.clone();
        tokio::select! {
            biased;
            () = session.until_closing() => Err(Error::closed("client")),
            state = self.advance() => state,
        }
    }

    /// What has changed since the last state by what the server has told until now; `None` if nothing has. Waits for
    /// answers, but for no change.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub(crate) async fn latest(&mut self) -> Result<Option<S>> {
        self.session.process().check()?;
        let session = self.session.clone();
        if let WatchStep::Armed(watch) = &mut self.step {
            let event = watch.now_or_never();
            if event.is_some() {
                self.look_again(event);
            }
        }
        tokio::select! {
            biased;
            () = session.until_closing() => Err(Error::closed("client")),
            state = self.look() => state,
        }
    }

    /// Whether it has asked and has no answer yet.
    pub(crate) fn is_asking(&self) -> bool {
        matches!(self.step, WatchStep::Asked { .. })
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Since when what was told last is known to have been so.
    pub(crate) fn asked(&self) -> Moment {
        self.asked
    }

    async fn advance(&mut self) -> Result<S> {
        loop {
            if let Some(state) = self.look().await? {
                return Ok(state);
            }
            self.until_news().await;
        }
    }

    /// Waits for the watch, or until there is what it has not told.
    async fn until_news(&mut self) {
        while let WatchStep::Armed(watch) = &mut self.step {
            let (session, looks, due) = (&self.session, self.looks, self.looked + self.rest);
            let found = async {
                if !looks {
                    return std::future::pending().await;
                }
                session.clock().sleep_until(due).await;
                session.server_session().exists(&self.path).await
            };
            let (event, found) = tokio::select! {
                biased;
                event = watch => (Some(event), Ok(None)),
                found = found => (None, found),
            };
            self.looked = self.session.now();
            let is_as_told = match found {
                _ if event.is_some() => false,
                Ok(stat) => self.told.as_ref().is_none_or(|told| told.mark == stat.as_ref().map(S::MARK)),
                Err(error) => error.is_unanswered(),
            };
            if !is_as_told {
                self.look_again(event);
            }
        }
    }

    /// What is there now, if that is news; watched from then on.
    async fn look(&mut self) -> Result<Option<S>> {
        loop {
            match &mut self.step {
                WatchStep::Look { behind_sync } => {
                    let behind_sync = *behind_sync;
                    let beginning = self.beginning.clone().filter(|_| self.told.is_none());
                    let server_session = self.session.ready().await?;
                    if beginning.is_some() {
                        // What is asked for on no connection leaves on one of which nothing is known.
                        server_session.until_up().await;
                    }
                    let generation = server_session.link().generation;
                    self.asked = self.session.now();
                    // They leave now, in this order.
                    let sync = match &beginning {
                        Some(beginning) => Some(beginning.behind(&server_session, &self.path)),
                        None => behind_sync.then(|| server_session.catch_up(&self.path)),
                    };
                    let behind_sync = sync.is_some();
                    let is_first = beginning.is_some();
                    let look = S::look(&server_session, &self.path, self.last.take());
                    let answer: Flight<(S, Watch)> = match sync {
                        None => look,
                        Some(sync) => Box::pin(async move {
                            match sync.await {
                                Ok(()) => {}
                                // Without a quorum nobody can tell more, and a client that is here wants to read all the same.
                                Err(WireError::ReadOnly) if is_first => {}
                                // Whatever it was refused for, the answer behind it does not count.
                                Err(_) => return Err(WireError::ConnectionLoss),
                            }
                            look.await
                        }),
                    };
                    let session_id = server_session.session_id();
                    self.step = WatchStep::Asked { session_id, behind_sync, generation, answer };
                }
                WatchStep::Asked { session_id, behind_sync, generation, answer } => {
                    let answer = answer.await;
                    let (session_id, behind_sync, generation) = (*session_id, *behind_sync, *generation);
                    let server_session = self.session.server_session();
                    let is_where_asked = server_session.session_id() == session_id
                        && server_session.link().generation == generation;
                    match answer {
                        // The one may have gone out on that connection, the other on the next.
                        Ok(_) if behind_sync && !is_where_asked => {
                            self.step = WatchStep::Look { behind_sync };
                        }
                        Ok((state, watch)) => {
                            let mark = state.mark();
                            let is_of_the_past = mark.is_some_and(|mark| Some(mark.czxid) <= self.gone);
                            let (is_news, may_lag) = match &self.told {
                                Some(told) => (told.mark != mark, told.session_id != session_id),
                                None => (true, false),
                            };
                            let may_lag = may_lag || is_of_the_past;
                            if is_news && may_lag && !behind_sync {
                                self.step = WatchStep::Look { behind_sync: true };
                                continue;
                            }
                            // Only now: a `sync` that is refused again and again is not asked at once each time.
                            self.pause.restart();
                            self.looked = self.session.now();
                            self.unanswered = None;
                            self.step = WatchStep::Armed(match &self.standing {
                                Some(standing) => standing.enter(mark, session_id, watch),
                                None => watch,
                            });
                            // That a node is missing was so more than once, it may be: a server that says so, too, may
                            // still lag, and its next news would be old.
                            let has_come_as_far = behind_sync || !may_lag || mark.is_some();
                            match &mut self.told {
                                Some(_) if !has_come_as_far => {}
                                told => *told = Some(ToldState { mark, session_id }),
                            }
                            if mark.is_some() {
                                // What comes after it cannot be of the past.
                                self.gone = None;
                            }
                            if is_news {
                                return Ok(Some(state));
                            }
                        }
                        Err(error) if error.is_unanswered() => {
                            self.step = WatchStep::Pausing { until: self.session.now() + self.pause.next() };
                        }
                        Err(error) => {
                            self.step = WatchStep::Look { behind_sync: false };
                            return Err(refusal(error, self.verb, &self.path));
                        }
                    }
                }
                WatchStep::Pausing { until } => {
                    self.session.clock().sleep_until(*until).await;
                    self.session.server_session().until_up().await;
                    self.step = WatchStep::Look { behind_sync: false };
                }
                WatchStep::Armed(_) => return Ok(None),
            }
        }
    }
}
