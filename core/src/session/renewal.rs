//! Renewing a client's session: following the connection, and opening a new server session when one has ended.

use std::sync::Arc;
use std::time::Duration;

use super::clock::{Later, Moment};
use super::server_session::ServerSession;
use super::state::State;
use super::wire::{FIRST_CONNECTION, LinkState, Noted};
use super::{Session, opening};
use crate::error::LostReason;
use crate::futures::unless;
use crate::log::{self, Peer, SessionEnd};
use crate::mutex::lock;

/// Far more than can end within the longest session timeout.
const MOST_SESSIONS_REMEMBERED: usize = 100;
/// How long closing waits for a session that is just being opened.
const DIAL_GRACE: Duration = Duration::from_secs(1);
/// How long a session that was given up is left alone at most once there is another one: who was counted by its node then, or had a
/// name by it, has to replace that node, and not to find it gone. It is an eighth of the session timeout below eight seconds.
const LONGEST_BEFORE_CLOSING: Duration = Duration::from_secs(1);

impl Session {
    pub(super) async fn renew(self: Arc<Self>, first: Arc<ServerSession>) {
        self.renew_server_sessions(first).await;
        self.renewal_has_ended.send_replace(true);
    }

    /// Follows the connection, tells subscribers, opens new server sessions. Ends when the client is closed.
    async fn renew_server_sessions(self: &Arc<Self>, mut server_session: Arc<ServerSession>) {
        loop {
            let Some(broke_at) = self.follow(&server_session).await else {
                // Closing. Nobody may hold anything any more when its node goes.
                let mut losses_are_told = self.losses_are_told.subscribe();
                // The sender lives in `self`, so this cannot fail.
                let _ = losses_are_told.wait_for(|are_told| *are_told).await;
                // The one who closes may have seen the server session before this one.
                self.until_tidy(&server_session).await;
                return server_session.close().await;
            };
            server_session.lose_all(LostReason::Session);
            self.remember(server_session.session_id());
            self.enter(State::Lost);
            let Some(next) = self.reopen(|| self.until_closing()).await else { return };
            let old_is_closed = self.close_outliving(&server_session, &next);
            server_session = next;
            if self.is_closing() {
                // Too late for anybody to use it, so nobody else will close it.
                self.delete_temporary_in(&server_session);
                server_session.close().await;
                return old_is_closed.await;
            }
            self.go_on_in(&server_session, broke_at);
        }
    }

    fn go_on_in(&self, next: &Arc<ServerSession>, broke_at: Moment) {
        self.clock.spawn(Box::pin(next.clone().keep()));
        let after = self.clock.now().since(broke_at);
        log::session_renewed(next.peer(), self.server_session().session_id(), after);
        let ended = std::mem::replace(&mut *lock(&self.current), next.clone());
        // There may be other servers since it was asked for.
        next.update_hosts(&lock(&self.hosts));
        self.renewed.notify_waiters();
        drop(ended);
    }

    /// Opens another server session for what is left to do, once renewal has ended. False if no server opens one for as long as a call
    /// would wait.
    pub(super) async fn reopen_while_closing(self: &Arc<Self>) -> bool {
        let began = self.clock.now();
        let until = began + self.options.give_up_after();
        let Some(next) = self.reopen(|| self.clock.sleep_until(until)).await else { return false };
        drop(self.close_outliving(&self.server_session(), &next));
        self.go_on_in(&next, began);
        true
    }

    /// Has a server end what has ended for us alone: by itself it does so a session timeout after it is back, and until then everybody
    /// waits for nodes of nobody, we too. Whoever held anything has been told before. A close of the client waits for it a moment.
    fn close_outliving(self: &Arc<Self>, ended: &Arc<ServerSession>, next: &Arc<ServerSession>) -> Later<()> {
        if ended.link().state != LinkState::Unheard {
            return Box::pin(std::future::ready(()));
        }
        let (session, ended, near) = (self.clone(), ended.clone(), next.peer().server);
        next.in_background(async move {
            let Some(identity) = ended.outlives_us().await else { return };
            let pause = (session.options.session_timeout / 8).min(LONGEST_BEFORE_CLOSING);
            tokio::select! {
                biased;
                () = session.clock.sleep_until(session.clock.now() + pause) => {}
                () = session.until_closing() => {}
            }
            let hosts = lock(&session.hosts).clone();
            let closed = session.dial.close_outliving(&hosts, &session.options, identity, near);
            // It goes on by itself: who closes the client needs not wait for a server that takes no second connection.
            let too_long = async {
                session.until_closing().await;
                session.clock.sleep_until(session.clock.now() + DIAL_GRACE).await;
            };
            unless(closed, too_long).await;
        })
    }

    /// Nodes of this session may stand for a while yet.
    fn remember(&self, session_id: u64) {
        let mut past = lock(&self.past);
        if past.len() >= MOST_SESSIONS_REMEMBERED {
            past.remove(0);
        }
        past.push(session_id);
    }

    /// Until the server session has ended: answers since when we have been out of touch. `None` when the client is being closed.
    async fn follow(&self, server_session: &Arc<ServerSession>) -> Option<Moment> {
        let mut down_since = None;
        // Not the connection that is found now: the first one may have broken, and another one come, before this began.
        let mut up = Some(FIRST_CONNECTION);
        let mut is_lost = false;
        // By the time we look, the session may be at another one.
        let mut last = server_session.peer();
        loop {
            let link = server_session.link();
            match link.state {
                LinkState::Up => {
                    if up.replace(link.generation).is_some_and(|before| before < link.generation) {
                        // It broke and was mended before we looked; who follows the state hears of it all the same.
                        self.enter(State::Connected);
                        self.suspend(server_session, &last);
                        down_since = Some(self.clock.now());
                    }
                    if let Some(since) = down_since.take() {
                        self.counters.reconnections.one();
                        last = server_session.peer();
                        log::reconnected(last.clone(), self.clock.now().since(since));
                    }
                    is_lost = false;
                    self.enter(State::Connected);
                }
                LinkState::Down => {
                    up = None;
                    if down_since.is_none() {
                        down_since = Some(self.clock.now());
                        self.suspend(server_session, &last);
                    }
                }
                // The end that a close asked for is no loss.
                _ if self.is_closing() => return None,
                state => {
                    let end = match state {
                        LinkState::Denied => SessionEnd::Denied,
                        LinkState::Unheard => SessionEnd::OutOfTouch,
                        _ => SessionEnd::Expired,
                    };
                    if !is_lost {
                        self.count_loss(server_session, end, down_since);
                    }
                    return Some(down_since.unwrap_or_else(|| self.clock.now()));
                }
            }
            // Out of touch for a whole session timeout: the server may have given the session up.
            let presumed_lost = async {
                match down_since {
                    Some(since) => self.clock.sleep_until(since + server_session.session_timeout()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = server_session.link_changed(link) => {}
                () = presumed_lost => {
                    is_lost = true;
                    self.count_loss(server_session, SessionEnd::OutOfTouch, down_since);
                    self.enter(State::Lost);
                    tokio::select! {
                        biased;
                        () = server_session.link_changed(link) => {}
                        () = self.until_closing() => return None,
                    }
                }
                () = self.until_closing() => return None,
            }
        }
    }

    fn suspend(&self, server_session: &ServerSession, last: &Peer) {
        self.counters.suspensions.one();
        log::suspended(last.clone(), server_session.cause(), server_session.lease_remaining());
        self.enter(State::Suspended);
    }

    fn count_loss(&self, server_session: &ServerSession, end: SessionEnd, down_since: Option<Moment>) {
        self.counters.sessions_lost.one();
        let after = down_since.map(|since| self.clock.now().since(since));
        log::session_lost(server_session.session_id(), end, after, server_session.has_lost_tenants());
    }

    /// Has the next attempt to open a session made at once, if one is being opened.
    pub(super) fn attempt_now(&self) {
        let noted = lock(&self.noted).clone();
        noted.want_session();
    }

    /// A new server session, unless it is given up before.
    async fn reopen<F: Future<Output = ()>>(
        &self,
        is_given_up: impl Fn() -> F,
    ) -> Option<Arc<ServerSession>> {
        let mut pause = self.options.retry.base;
        let noted = Arc::<Noted>::default();
        *lock(&self.noted) = noted.clone();
        loop {
            let mut changed = std::pin::pin!(self.hosts_changed.notified());
            // Listen first, look second.
            changed.as_mut().enable();
            let hosts = lock(&self.hosts).clone();
            let (options, clock) = (&self.options, &self.clock);
            let dialling = opening::once(&hosts, options, clock, &*self.dial, &self.counters, &noted);
            let mut dialling = Box::pin(dialling);
            let dialled = tokio::select! {
                biased;
                dialled = &mut dialling => dialled,
                () = changed => continue,
                () = is_given_up() => {
                    // The server may have opened the session already, and it would stay there until its timeout.
                    let grace = self.clock.sleep_until(self.clock.now() + DIAL_GRACE);
                    return unless(dialling, grace).await?.ok();
                }
            };
            match dialled {
                Ok(server_session) => {
                    *lock(&self.refusal) = None;
                    return Some(server_session);
                }
                Err(failure) => match opening::final_refusal(&failure) {
                    Some(refusal) => {
                        *lock(&self.refusal) = Some(refusal);
                        // Callers that wait for a session are told.
                        self.renewed.notify_waiters();
                    }
                    None => log::connect_failed(failure.cause(), pause),
                },
            }
            tokio::select! {
                biased;
                () = self.clock.sleep_until(self.clock.now() + pause) => {}
                () = is_given_up() => return None,
            }
            pause = (pause * 2).min(self.options.retry.max);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::super::system_clock::SystemClock;
    use super::super::wire::scripted::{Script, Scripted};
    use super::super::wire::{Dial, Flight, Link, Noted, Wire};
    use super::*;
    use crate::drive;
    use crate::options::ClientOptions;

    /// Its first connection broke, and a second one was there, before anybody looked.
    struct Mended;

    impl Script for Mended {
        fn link(&self) -> Link {
            Link { generation: FIRST_CONNECTION + 2, state: LinkState::Up }
        }
        fn sync(&self) -> Flight<()> {
            Box::pin(pending())
        }
    }

    impl Dial for Mended {
        fn dial(&self, _: &str, _: &ClientOptions, _: &Arc<Noted>) -> Flight<Box<dyn Wire>> {
            Box::pin(ready(Ok(Box::new(Scripted(Mended)) as Box<dyn Wire>)))
        }
    }

    #[test]
    fn a_first_connection_that_broke_before_anybody_looked_is_told_of() {
        let looking = async {
            let clock = Arc::new(SystemClock);
            let session = Session::open(
                "a:1".to_owned(),
                ClientOptions::default(),
                clock,
                Box::new(Mended),
                Arc::default(),
            )
            .await?;
            let until = session.now() + Duration::from_secs(20);
            while session.counters.snapshot().reconnections == 0 {
                assert!(session.now() < until, "nobody is told");
                session.clock.sleep_until(session.now() + Duration::from_millis(1)).await;
            }
            let counted = session.counters.snapshot();
            assert_eq!((counted.suspensions, counted.reconnections), (1, 1));
            assert_eq!(session.state(), State::Connected);
            Ok(())
        };
        drive::wait(looking, None, None).expect("looked");
    }
}
