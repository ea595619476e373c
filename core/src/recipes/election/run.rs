//! The terms of one candidate, one after the other.
//!
//! A term ends at the latest some time (`drain`) after somebody has asked for it, or the candidate was found not healthy: until then
//! the work may finish, and resign by that. If it has not, the leadership is lost. Who is not healthy does not stand.

use std::fmt::Display;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

use super::leadership::resign;
use super::{Election, Leadership};
use crate::error::{Error, ErrorKind, Result};
use crate::feed::{Feed, Source};
use crate::futures::unless;
use crate::runtime;
use crate::session::Session;
use crate::session::growing_pause::GrowingPause;
use crate::turn::hold::{Hold, Tenure};

/// What [`Election::run`] does between the terms, for faces in which the work is no future.
pub struct Terms {
    pub(super) election: Election,
    pub(super) session: Arc<Session>,
    pub(super) stops: watch::Receiver<u64>,
    pub(super) health: watch::Receiver<bool>,
    pub(super) pause: GrowingPause,
    /// Whether to wait before the next campaign.
    pub(super) is_paused: bool,
}

impl Terms {
    /// Campaigns, however often it takes; `None` when it was cancelled.
    pub async fn next(&mut self) -> Result<Option<Leadership>> {
        self.session.process().check()?;
        loop {
            if std::mem::take(&mut self.is_paused) {
                let until = self.session.now() + self.pause.next();
                let paused = self.session.clock().sleep_until(until);
                unless(unless(paused, self.stopped()), self.session.until_closing()).await;
            }
            let healthy = until(self.health.clone(), true);
            unless(unless(healthy, self.stopped()), self.session.until_closing()).await;
            // Looked at first: who was cancelled asks the server for nothing more.
            let won = tokio::select! {
                biased;
                () = self.stopped() => return Ok(None),
                // Dropped, the campaign leaves nothing behind. Of a client that closes it says so.
                () = until(self.health.clone(), false), if !self.session.is_closing() => continue,
                won = self.election.campaign() => won,
            };
            match won {
                Ok(leadership) => {
                    self.tend(&leadership);
                    return Ok(Some(leadership).filter(|won| self.begins(won)));
                }
                Err(error) if error.kind() == ErrorKind::Cancelled => return Ok(None),
                // There may be a server again.
                Err(error) if error.kind() == ErrorKind::ConnectionLost => self.is_paused = true,
                // As a membership it goes on: an access list that is changed, or a server that refuses for a while, ends no run that
                // has worked before.
                Err(error) if error.kind() == ErrorKind::Denied && self.election.has_stood() => {
                    let path = self.election.path();
                    tracing::warn!(target: "zkrecipes", event = "campaign_denied", path, %error, "not allowed to stand; trying again");
                    self.is_paused = true;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Sees to it that a term ends some time after somebody has asked for it.
    fn tend(&self, leadership: &Leadership) {
        let (hold, health) = (leadership.hold().clone(), self.health.clone());
        let (clock, drain) = (self.session.clock().clone(), self.election.drain);
        self.session.clock().spawn(Box::pin(async move {
            let asked = async {
                tokio::select! {
                    biased;
                    () = hold.asked_for() => {}
                    () = until(health, false) => hold.ask_for_it(),
                }
            };
            if unless(asked, hold.ended().map(drop)).await.is_none() {
                return;
            }
            let drained = clock.sleep_until(clock.now() + drain);
            if unless(drained, hold.ended().map(drop)).await.is_some() {
                hold.take_away();
            }
        }));
    }

    /// Whether a term that was won is to begin: else it was cancelled meanwhile, and is let go. A face asks once more when
    /// nothing lies between that and the work.
    pub fn begins(&self, leadership: &Leadership) -> bool {
        if self.is_stopped() {
            // Lost or resigned, there is nothing to do.
            let _ = leadership.release_in_background();
        }
        !self.is_stopped()
    }

    /// For work that nothing can take its thread from: once all is cancelled, `is_held` of its leadership is false, so that it
    /// returns. Nobody else leads before it has.
    pub fn tells(&self, leadership: &Leadership) {
        leadership.ends_with(self.stops.clone());
    }

    /// The work of a term is done.
    pub fn succeeded(&mut self) {
        self.pause.restart();
    }

    /// The work of a term failed, which was let go since. What fails because the leadership was lost needs no pause: there is
    /// a server, and the work can be done again.
    pub fn failed(&mut self, leadership: &Leadership, error: &dyn Display) {
        self.failed_in(leadership.epoch(), error);
        if let Tenure::Lost(_) = leadership.hold().tenure() {
            self.is_paused = false;
            self.succeeded();
        }
    }

    fn failed_in(&mut self, epoch: u64, error: &dyn Display) {
        let path = self.election.path();
        tracing::warn!(target: "zkrecipes", event = "leader_failed", path, epoch, %error, "a leader failed; the candidate stands again");
        self.is_paused = true;
    }

    /// Resolves when a term is over: it was lost or resigned, or all was cancelled.
    pub fn over(&self, leadership: &Leadership) -> impl Future<Output = ()> + Send + use<> {
        let (stopped, hold) = (self.stopped(), leadership.hold().clone());
        async move {
            unless(hold.ended(), stopped).await;
        }
    }

    fn is_stopped(&self) -> bool {
        self.stops.has_changed().is_ok_and(|stopped| stopped)
    }

    /// Resolves when it was cancelled.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut stops = self.stops.clone();
        async move {
            // The sender lives as long as the election; without it nobody can cancel.
            if stops.changed().await.is_err() {
                std::future::pending().await
            }
        }
    }
}

/// Resolves when it is `wanted`; while nobody says how it is, it stays as it was.
async fn until(mut health: watch::Receiver<bool>, wanted: bool) {
    if health.wait_for(|healthy| *healthy == wanted).await.is_err() {
        std::future::pending().await
    }
}

impl Terms {
    /// The terms for a face that hands them out: each lasts until its owner lets go of it or it is lost, and the next item
    /// is the next term. The feed ends with Cancelled when it was cancelled. The end of the feed is the end of the term,
    /// also of one that has not reached its owner yet.
    ///
    /// An owner that has let go of a term when the next item is asked for has failed.
    pub fn feed(self) -> Feed<Leadership> {
        Feed::new(HandedOut { terms: self, term: None })
    }
}

/// Terms that belong to others.
struct HandedOut {
    terms: Terms,
    term: Option<Term>,
}

/// A term that somebody else has. Dropping it resigns.
struct Term {
    hold: Arc<Hold>,
    resigned: JoinHandle<()>,
    /// Goes with this.
    _wanted: oneshot::Sender<()>,
}

impl Term {
    fn of(terms: &Terms, leadership: &Leadership) -> Term {
        let (wanted, unwanted) = oneshot::channel::<()>();
        let (over, ours) = (terms.over(leadership), leadership.weak());
        // On its own: a term is over when it is cancelled, whether or not anybody asks for the next one.
        let resigned = runtime::spawn_task(async move {
            unless(over, async { drop(unwanted.await) }).await;
            if let Some(held) = ours.upgrade() {
                resign(&held).await;
            }
        });
        Term { hold: leadership.hold().clone(), resigned, _wanted: wanted }
    }
}

impl Source<Leadership> for HandedOut {
    async fn next(&mut self) -> Result<Leadership> {
        if let Some(mut term) = self.term.take() {
            match term.hold.tenure() {
                Tenure::Released if !self.terms.is_stopped() => {
                    self.terms.failed_in(term.hold.node().token() as u64, &"its owner let go of it at once");
                }
                _ => self.terms.succeeded(),
            }
            // Its end is awaited and not looked for: nothing of it can fail.
            let _ = (&mut term.resigned).await;
        }
        let leadership = self.terms.next().await?.ok_or_else(Error::cancelled)?;
        self.term = Some(Term::of(&self.terms, &leadership));
        Ok(leadership)
    }
}

impl std::fmt::Debug for Terms {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terms").field("path", &self.election.path()).finish_non_exhaustive()
    }
}
