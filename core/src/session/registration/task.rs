//! The task that keeps one node.
//!
//! 1. It makes the node, then watches it as a parent of children, which an ephemeral node never is: so only its deletion
//!    wakes it. Where we may not read the node, it watches whether it is there.
//! 2. A lost answer to the create is resolved by the node's owner: this very session, then it is ours. A node that an older
//!    session of ours has left is deleted and made again, never adopted.
//! 3. Somebody may put a node of their own in the place of ours before we hear of it. So what we write or delete has been
//!    looked at just before, and the request names the version that our node had then. That leaves one case open: somebody
//!    replaces our node within that one round trip, and theirs has the very version that ours had. ZooKeeper has nothing
//!    against it: the only conditions of a write, alone or in a transaction, are that a node is there and its version; none
//!    names its owner or when it was created, and an ephemeral node has no children that could be checked in its place.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use super::owner::{Owner, is_of, look};
use super::{RegistrationState, Registrations, Wish, taken};
use crate::error::{Error, Result};
use crate::futures::unless;
use crate::mutex::lock;
use crate::path;
use crate::session::Session;
use crate::session::clock::Later;
use crate::session::growing_pause::GrowingPause;
use crate::session::refusal::refusal;
use crate::session::server_session::{ConnectionId, ServerSession};
use crate::session::wire::{CreateMode, Event, Stat, Watch, WireError, Write};

pub(super) struct Task {
    pub(super) session: Arc<Session>,
    pub(super) path: String,
    /// It was made before it was declared, in the server session that comes first.
    pub(super) is_made: AtomicBool,
    /// An ephemeral node of somebody else gives way to it at first.
    pub(super) replaces: bool,
    pub(super) wish: watch::Sender<Wish>,
    pub(super) stands: watch::Sender<RegistrationState>,
}

/// How it ended, in one server session.
enum RegistrationEnd {
    ServerSession,
    Unwanted,
}

/// What became of one attempt to have the node as it is wished for.
enum Attempt {
    Done,
    /// Ours is not there, or not as it was: time for the next attempt.
    Again,
    /// Somebody else's stands there; time to look again when this resolves.
    Taken {
        watch: Watch,
        is_ephemeral: bool,
    },
    Refused(Error),
    Unanswered,
}

impl Task {
    pub(super) fn unregister(&self) {
        self.wish.send_modify(|wish| wish.is_wanted = false);
    }

    /// A wish is decided once.
    fn is_decided(&self, number: u64) -> bool {
        let stands = self.stands.borrow();
        stands.fulfilled >= Some(number) || stands.has_refused(number)
    }

    fn fulfil(&self, fulfilled: &Wish) {
        if self.is_decided(fulfilled.number) {
            return;
        }
        self.wish.send_if_modified(|wish| {
            wish.before = Some(fulfilled.data.clone());
            false
        });
        self.stands.send_modify(|stands| stands.fulfilled = Some(fulfilled.number));
    }

    /// Whether that node of somebody else gives way to ours: only until ours has stood, or who declared it was told that it does not.
    fn may_replace(&self, theirs: &Stat) -> bool {
        self.replaces && theirs.ephemeral_owner != 0 && !self.is_decided(0)
    }

    /// Who wished for it is told, so it must not come true later: what stood before is what is wished for again.
    fn refuse(&self, number: u64, error: Error) {
        if self.is_decided(number) {
            return;
        }
        self.wish.send_if_modified(|wish| {
            if wish.number == number
                && let Some(before) = &wish.before
            {
                wish.data = before.clone();
            }
            false
        });
        self.stands.send_modify(|stands| stands.refused = Some((number, error)));
    }

    pub(super) async fn until(
        &self,
        verb: &'static str,
        is_so: impl Fn(&RegistrationState) -> bool,
    ) -> Result<()> {
        let mut call = self.session.call(None);
        let mut stands = self.stands.subscribe();
        let waited = async {
            // The sender lives in `self`, so this cannot fail.
            let _ = stands.wait_for(|stands| is_so(stands)).await;
            Ok(())
        };
        let answer = call.receive(verb, waited).await.map_err(|error| error.with_path(&self.path))?;
        answer.map_err(|error| refusal(error, verb, &self.path))
    }

    fn pause(&self) -> GrowingPause {
        let retry = &self.session.options().retry;
        GrowingPause::new(retry.base, retry.max)
    }

    pub(super) fn begin(self: Arc<Self>) {
        self.session.clock().clone().spawn(Box::pin(self.run()));
    }

    async fn run(self: Arc<Self>) {
        // Nothing stands any more when the client is closed: it goes with the session.
        let _ = unless(self.register_in_every_server_session(), self.session.until_closing()).await;
        let registrations = self.session.extensions.of::<Registrations>();
        let mut all = lock(&registrations.0);
        if all.get(&self.path).is_some_and(|task| std::ptr::eq(task.as_ptr(), &*self)) {
            all.remove(&self.path);
        }
        drop(all);
        self.stands.send_modify(|stands| stands.has_ended = true);
    }

    async fn register_in_every_server_session(self: &Arc<Self>) {
        let mut wishes = self.wish.subscribe();
        let mut pause = self.pause();
        loop {
            let ready = tokio::select! {
                biased;
                // What was made before is undone also where nobody wanted it any more when this began.
                _ = wishes.wait_for(|wish| !wish.is_wanted), if !self.is_made.load(Ordering::Relaxed) => return,
                ready = self.session.ready() => ready,
            };
            match ready {
                Ok(server_session) => {
                    pause.restart();
                    if let RegistrationEnd::Unwanted = Attempts::of(self, &server_session).run().await {
                        return;
                    }
                }
                Err(error) => {
                    let number = self.wish.borrow().number;
                    self.refuse(number, error);
                    pause.pass(self.session.clock()).await;
                }
            }
        }
    }
}

/// Keeping the node in one server session.
struct Attempts<'a> {
    task: &'a Arc<Task>,
    server_session: &'a Arc<ServerSession>,
    pause: GrowingPause,
    /// Our node is there, as far as its watch has told.
    stands: bool,
    /// One of ours may be there, because the answer to a create was lost, or it was made before it was declared.
    in_doubt: bool,
    /// The wish whose data it has.
    written: Option<u64>,
    /// Set while our node stands.
    watch: Option<Watch>,
}

impl<'a> Attempts<'a> {
    fn of(task: &'a Arc<Task>, server_session: &'a Arc<ServerSession>) -> Attempts<'a> {
        let (pause, in_doubt) = (task.pause(), task.is_made.swap(false, Ordering::Relaxed));
        Attempts { task, server_session, pause, stands: false, in_doubt, written: None, watch: None }
    }

    async fn run(mut self) -> RegistrationEnd {
        let mut wishes = self.task.wish.subscribe();
        loop {
            let wish = wishes.borrow_and_update().clone();
            if !wish.is_wanted {
                if self.stands || self.in_doubt {
                    self.undo().await;
                }
                return RegistrationEnd::Unwanted;
            }
            if self.server_session.has_ended() {
                return RegistrationEnd::ServerSession;
            }
            let attempt = self.attempt(&wish).await;
            let Some(mut event) = self.concluded(attempt, &wish).await else { continue };
            tokio::select! {
                biased;
                event = &mut event => match event {
                    Event::Deleted => self.stands = false,
                    Event::SessionEnded => return RegistrationEnd::ServerSession,
                    _ => {}
                },
                // The watch stands as long as the node does.
                _ = wishes.changed() => {
                    self.watch = Some(event).filter(|event| self.stands && event.is_armed());
                }
            }
        }
    }

    async fn attempt(&mut self, wish: &Wish) -> Attempt {
        if !self.stands {
            let attempt = self.make(wish).await;
            self.stands = matches!(attempt, Attempt::Done);
            // One that was in doubt may have the data of an older wish.
            self.written = (self.stands && !self.in_doubt).then_some(wish.number);
            self.in_doubt = matches!(attempt, Attempt::Unanswered) || (self.in_doubt && !self.stands);
            self.watch = None;
            return attempt;
        }
        if self.written == Some(wish.number) {
            return Attempt::Done;
        }
        let attempt = self.write(wish).await;
        // What was refused is not tried again.
        if matches!(attempt, Attempt::Done | Attempt::Refused(_)) {
            self.written = Some(wish.number);
        }
        attempt
    }

    /// Tells those who wait for the wish. Answers what to wait for, beside a change of the wish; `None` is to try again at
    /// once.
    async fn concluded(&mut self, attempt: Attempt, wish: &Wish) -> Option<Watch> {
        match attempt {
            Attempt::Again => None,
            Attempt::Done if self.written != Some(wish.number) => None,
            Attempt::Done => {
                self.task.fulfil(wish);
                self.watched().await
            }
            Attempt::Taken { watch, is_ephemeral } => {
                self.task.refuse(wish.number, taken(wish.verb, &self.task.path, is_ephemeral));
                Some(watch)
            }
            Attempt::Refused(error) => {
                let (verb, path) = (wish.verb, &self.task.path);
                if self.task.session.is_first_time(&format!("{verb} {path}")) {
                    tracing::warn!(target: "zkrecipes", event = "kept_astray", path, %error, "a node of ours is not as it should be");
                }
                self.task.refuse(wish.number, error);
                Some(Watch::unarmed(self.later()))
            }
            Attempt::Unanswered => Some(Watch::unarmed(self.later())),
        }
    }

    /// The watch on our node; `None` when the node is gone.
    async fn watched(&mut self) -> Option<Watch> {
        let watch = match self.watch.take() {
            Some(watch) => watch,
            None => match self.set_watch().await {
                Ok(Some(armed)) => armed,
                Ok(None) => {
                    self.stands = false;
                    return None;
                }
                Err(_) => Watch::unarmed(self.later()),
            },
        };
        if watch.is_armed() {
            self.pause.restart();
        }
        Some(watch)
    }

    fn later(&mut self) -> Later<()> {
        let session = &self.task.session;
        session.clock().sleep_until(session.now() + self.pause.next())
    }

    fn refused(&self, wish: &Wish, error: WireError) -> Attempt {
        match error.is_unanswered() {
            true => Attempt::Unanswered,
            false => Attempt::Refused(refusal(error, wish.verb, &self.task.path)),
        }
    }

    async fn make(&mut self, wish: &Wish) -> Attempt {
        let (task, server_session) = (self.task, self.server_session);
        loop {
            match server_session.create(&task.path, &wish.data, CreateMode::Ephemeral).await {
                Ok(_) => return Attempt::Done,
                Err(WireError::NoNode) => {
                    let parent = path::parent(&task.path);
                    if let Err(error) =
                        task.session.ensure(server_session, parent, task.session.parents()).await
                    {
                        return self.refused(wish, error);
                    }
                }
                Err(WireError::NodeExists) => {
                    if let Some(attempt) = self.taken(wish).await {
                        return attempt;
                    }
                }
                Err(error) => return self.refused(wish, error),
            }
        }
    }

    /// A node is there already. `None`: not any more.
    async fn taken(&mut self, wish: &Wish) -> Option<Attempt> {
        let (task, server_session) = (self.task, self.server_session);
        // What is done about the node that is seen leaves on this connection: on a later one it may be another.
        let Some(on) = server_session.connection() else { return Some(Attempt::Again) };
        match server_session.watch_exists(&task.path).await {
            Ok((None, _)) => None,
            Ok((Some(stat), _)) if is_of(server_session, &stat) && self.in_doubt => Some(Attempt::Done),
            Ok((Some(stat), _)) if task.may_replace(&stat) => self.replace(wish, stat.version, on).await,
            Ok((Some(stat), watch)) if !task.session.was_ours(stat.ephemeral_owner as u64) => {
                Some(Attempt::Taken { watch, is_ephemeral: stat.ephemeral_owner != 0 })
            }
            // Left behind by a session that is over for us, if not yet for the server.
            Ok((Some(stat), _)) => match server_session.delete_on(on, &task.path, Some(stat.version)).await {
                Ok(()) | Err(WireError::NoNode | WireError::BadVersion) => None,
                Err(error) => Some(self.refused(wish, error)),
            },
            Err(WireError::NoAuth) if self.in_doubt => Some(match look(server_session, &task.path).await {
                Ok(Owner::Ours(_)) => Attempt::Done,
                Ok(_) => self.refused(wish, WireError::NoAuth),
                Err(error) => self.refused(wish, error),
            }),
            Err(error) => Some(self.refused(wish, error)),
        }
    }

    /// Makes our node in the place of one with that version; `None` where that is not there any more.
    async fn replace(&mut self, wish: &Wish, version: i32, seen_on: ConnectionId) -> Option<Attempt> {
        let path = self.task.path.clone();
        let (data, mode) = (wish.data.clone(), CreateMode::Ephemeral);
        let writes = [
            Write::Delete { path: path.clone(), version: Some(version) },
            Write::Create { path, data, mode, acl: None },
        ];
        match self.server_session.multi_on(seen_on, &writes).await {
            Ok(_) => Some(Attempt::Done),
            Err(WireError::Part { error, .. }) => match *error {
                WireError::NoNode | WireError::BadVersion => None,
                error => Some(self.refused(wish, error)),
            },
            Err(error) => Some(self.refused(wish, error)),
        }
    }

    /// Replaces the data of our node.
    async fn write(&mut self, wish: &Wish) -> Attempt {
        let (path, server_session) = (&self.task.path, self.server_session);
        let Some(on) = server_session.connection() else {
            server_session.until_up().await;
            return Attempt::Again;
        };
        let written = match look(server_session, path).await {
            Ok(Owner::Ours(version)) => server_session.set_data_on(on, path, &wish.data, version).await,
            Ok(Owner::Theirs | Owner::Nothing) => Err(WireError::NoNode),
            Err(error) => Err(error),
        };
        match written {
            Ok(stat) if is_of(server_session, &stat) => Attempt::Done,
            // Another one stands in its place, or none.
            Ok(_) | Err(WireError::NoNode) => {
                self.stands = false;
                Attempt::Again
            }
            // Somebody has written into it, or put another one in its place.
            Err(WireError::BadVersion) => Attempt::Again,
            Err(error) => self.refused(wish, error),
        }
    }

    /// Sets a watch on our node; `None` when it is gone, or somebody has put a node of their own in its place.
    async fn set_watch(&mut self) -> Result<Option<Watch>, WireError> {
        let answer = match self.server_session.watch_children(&self.task.path).await {
            Ok((_, stat, watch)) => Some((stat, watch)),
            Err(WireError::NoNode) => None,
            Err(WireError::NoAuth) => match self.server_session.watch_exists(&self.task.path).await {
                Ok((stat, watch)) => stat.map(|stat| (stat, watch)),
                // Newer servers refuse that, too: we are not told of its deletion, but of the end of the session.
                Err(WireError::NoAuth) => {
                    let server_session = self.server_session.clone();
                    return Ok(Some(Watch::new(Box::pin(async move {
                        server_session.until_ended().await;
                        Event::SessionEnded
                    }))));
                }
                Err(error) => return Err(error),
            },
            Err(error) => return Err(error),
        };
        Ok(answer.and_then(|(stat, watch)| is_of(self.server_session, &stat).then_some(watch)))
    }

    /// Deletes our node, and nobody else's, until that is confirmed or the session has ended.
    async fn undo(self) {
        let (task, server_session, mut pause) =
            (self.task.clone(), self.server_session.clone(), self.task.pause());
        let undoing = async move {
            while !server_session.has_ended() {
                let Some(on) = server_session.connection() else {
                    server_session.until_up().await;
                    continue;
                };
                // What was asked before has been decided when this is answered, and the look sees it.
                let (settled, look) = (server_session.settle(&task.path), look(&server_session, &task.path));
                let (settled, look) = (settled.await, look.await);
                let answer = match look {
                    Ok(Owner::Ours(version)) => server_session.delete_on(on, &task.path, version).await,
                    Ok(_) if settled.as_ref().is_err_and(WireError::is_unanswered) => settled,
                    Ok(Owner::Nothing) => Ok(()),
                    Ok(Owner::Theirs) => return,
                    Err(error) => Err(error),
                };
                match answer {
                    Ok(()) | Err(WireError::NoNode) => {
                        return task.stands.send_modify(|stands| stands.is_free = true);
                    }
                    // Nobody will let us; the node goes with the session.
                    Err(WireError::NoAuth) => {
                        return task.stands.send_modify(|stands| stands.is_left_over = true);
                    }
                    Err(_) => pause.pass(task.session.clock()).await,
                }
            }
        };
        self.server_session.in_background(undoing).await;
    }
}

impl Session {
    /// Whether this is a session that this client had before.
    fn was_ours(&self, session_id: u64) -> bool {
        lock(&self.past).contains(&session_id)
    }
}
