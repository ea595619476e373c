//! One call of one verb: its deadline, its retry budget, and the ways in which it may end early.
//!
//! The caller's deadline, a cancel and the closing of the client end every wait. The budget, `retry.give_up_after`, ends
//! only waits for a server, with ConnectionLost: when this call has heard nothing from any for so long.
//!
//! | word | waits for | and its budget counts from |
//! |---|---|---|
//! | `receive` | the answer to a request | the last answer to this call, or when it began to ask |
//! | `ask` | the same; asks again when the answer got lost | the same |
//! | `server_session` | a session that has not ended | the same |
//! | `until` | what the session's own requests bring about | a single attempt's: the last answer to any of them; else it has none |
//! | `comes_behind` | the end of earlier calls of this client | the last answer to the session |
//! | `wait_for` | what others do | it has none, and others' time is no silence: the budget begins anew |
//!
//! A caller that has queued, or only watches, waits through an outage: after `outlast_outages` there is no budget any more. So does a
//! wait without a limit, whenever it began: see `waiting`. A caller that gave no time at all waits for no server either: while
//! there is no connection, that ends with ConnectionLost at once.

use std::borrow::Cow;
use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_util::FutureExt;

use super::call_order::{MayQueue, QueueingTurn};
use super::clock::{Deadline, Later, Moment};
use super::contenders_ahead::ContendersAhead;
use super::refusal::{Failure, refusal};
use super::server_session::{ConnectionId, ServerSession};
use super::waiting_calls::WaitingCall;
use super::wire::{CreateMode, LinkState, WireError};
use super::withdrawal::Withdrawal;
use super::{GRACE, Session, State};
use crate::error::{Error, ErrorKind, Result, Unanswered};
use crate::futures::{polled, unless};
use crate::log;

/// How long who waits for a node's end goes without news before it looks at it. Servers do not tell of a node whose access list
/// was changed meanwhile so that the waiter may not read it. For five thousand waiters that is 170 reads a second.
pub(crate) const LOOK_AFTER: Duration = Duration::from_secs(30);

/// So many calls were ever made.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// One deadline for the whole call, however many requests and wake-ups it takes. Requests are also limited by the
/// retry budget; waiting for others is not.
pub(crate) struct Call {
    session: Arc<Session>,
    /// Rises from call to call; parts of one have that of the call.
    number: u64,
    deadline: Deadline,
    /// When a server last answered this call, or when there last was nothing to be heard.
    heard: Moment,
    outlasts_outages: bool,
    /// Whether only the end of the client ends it, and not that it begins to close.
    outlasts: bool,
    pause: Duration,
    /// When the last pause was over.
    resumed: Moment,
    withdrawn: Option<Withdrawal>,
    single_attempt: bool,
    /// The caller gave no time at all.
    is_instant: bool,
    /// Rings when an instant call has waited for a connection for as long as one takes that is made again at once.
    absence: Option<Later<()>>,
    /// How things stand when the time is over.
    subject: &'static str,
    /// How they stand when no server answers.
    unanswered: Unanswered,
    /// How much time was given.
    limit: Option<Duration>,
    /// Where a wait for a turn notes who is ahead.
    contenders_ahead: Option<Arc<ContendersAhead>>,
    /// Its place among the calls that are going to queue at the same path, then its turn to do so.
    queueing_turn: Option<QueueingTurn>,
    may_queue: Option<MayQueue>,
    /// While it waits at a path, where it may have to queue again.
    waits: Option<WaitingCall>,
    /// Looks out for what ends the call, from its first wait on, and what that was.
    ending: Option<Later<CallEnd>>,
    ended: Option<CallEnd>,
    /// Rings when the budget is used up, or before that.
    budget_timer: Option<Later<()>>,
    /// The end of the budget before which a session was tried for once more.
    tried_before: Moment,
    /// What came instead of an answer, since the call last had a look at its server session.
    missing: Option<Box<WireError>>,
}

/// What ends a call, whatever it waits for.
#[derive(Copy, Clone)]
enum CallEnd {
    Closed,
    Withdrawn,
    OutOfTime,
}

impl Call {
    pub(crate) fn new(session: Arc<Session>, limit: Option<Duration>) -> Call {
        let now = session.now();
        let pause = session.options().retry.base;
        // A limit of zero means: ask once, and do not wait for others. Asking is still limited by the budget.
        let is_instant = limit == Some(Duration::ZERO);
        let single_attempt = is_instant;
        let limit = limit.filter(|_| !single_attempt);
        Call {
            number: CALLS.fetch_add(1, Ordering::Relaxed),
            deadline: Deadline::after(now, limit),
            heard: now,
            outlasts_outages: false,
            outlasts: false,
            pause,
            resumed: now,
            withdrawn: None,
            single_attempt,
            is_instant,
            absence: None,
            subject: "not acquired",
            unanswered: Unanswered::Writing,
            limit,
            contenders_ahead: None,
            queueing_turn: None,
            may_queue: None,
            waits: None,
            ending: None,
            ended: None,
            budget_timer: None,
            tried_before: Moment::START,
            missing: None,
            session,
        }
    }

    /// How things stand, for the error when its time is over.
    pub(crate) fn timeout_says(mut self, subject: &'static str) -> Call {
        self.subject = subject;
        self
    }

    /// For a verb that writes nothing.
    pub(crate) fn reading(self) -> Call {
        Call { unanswered: Unanswered::Reading, ..self }
    }

    /// For a verb that leaves nothing when it fails.
    pub(crate) fn acquiring(self) -> Call {
        Call { unanswered: Unanswered::Acquiring, ..self }
    }

    /// For a verb that waits for others: without a limit it outlasts every outage, also one in which it begins.
    pub(crate) fn waiting(mut self) -> Call {
        if self.limit.is_none() {
            self.outlast_outages();
        }
        self
    }

    /// Notes in `contenders_ahead` who is ahead while it waits for a turn.
    pub(crate) fn tells(&mut self, contenders_ahead: &Arc<ContendersAhead>) {
        self.contenders_ahead = Some(contenders_ahead.clone());
    }

    /// It queues when `queueing_turn` comes.
    pub(crate) fn queues_behind(&mut self, queueing_turn: QueueingTurn) {
        self.queueing_turn = Some(queueing_turn);
    }

    /// Whether it may queue at once, as no call that came before has yet to.
    pub(crate) fn may_queue_at_once(&mut self) -> bool {
        match self.queueing_turn.take().map(QueueingTurn::now) {
            None => true,
            Some(Ok(may_queue)) => {
                self.may_queue = Some(may_queue);
                self.is_polled();
                if !self.single_attempt {
                    self.waits_for_nobody();
                }
                true
            }
            Some(Err(behind)) => {
                self.queueing_turn = Some(behind);
                false
            }
        }
    }

    /// Waits until the calls that came before have queued.
    pub(crate) async fn until_those_before_have_queued(&mut self) -> Result<()> {
        let Some(queueing_turn) = self.queueing_turn.take() else { return Ok(()) };
        let turn = queueing_turn.turn(self.session.clone());
        // One that has no time waits for nobody who waits for a connection.
        self.may_queue = Some(self.until("acquire", turn).await?);
        Ok(())
    }

    /// The same for what waits for nobody else, as long as the session is answered; those behind wait until this call ends.
    pub(crate) async fn comes_behind(&mut self, what: &str, queueing_turn: QueueingTurn) -> Result<()> {
        self.may_queue = Some(match queueing_turn.now() {
            Ok(may_queue) => may_queue,
            // In a box, as all that is rare.
            Err(behind) => {
                let turn = behind.turn_to_change(self.session.clone());
                let heard = Box::pin(self.while_heard(what, turn)).await;
                let is_connected = self.session.server_session().connection().is_some();
                heard.map_err(|error| match error.kind() {
                    ErrorKind::ConnectionLost => Error::not_sent(what, is_connected),
                    _ => error,
                })?
            }
        });
        Ok(())
    }

    /// So those behind do not pass this call now.
    fn is_polled(&self) {
        if self.queueing_turn.is_some() || self.may_queue.is_some() || self.waits.is_some() {
            self.is_seen(self.now());
        }
    }

    /// Those behind do not pass this call before that.
    fn is_seen(&self, until: Moment) {
        self.queueing_turn.iter().for_each(|queueing_turn| queueing_turn.is_seen(until));
        self.may_queue.iter().for_each(|may_queue| may_queue.is_seen(until));
        self.waits.iter().for_each(|waits| waits.is_seen(until));
    }

    /// The turn, for what goes on when the call has ended: those behind may queue when it is dropped.
    pub(crate) fn hand_over_turn(&mut self) -> Option<MayQueue> {
        self.may_queue.take()
    }

    /// Those behind may queue now.
    pub(crate) fn has_queued(&mut self) {
        self.may_queue = None;
    }

    /// It has queued in that server session, and those behind may.
    pub(crate) fn has_queued_in(&mut self, path: &str, server_session: &Arc<ServerSession>) {
        self.has_queued();
        if let Some(waits) = self.waits.as_ref().filter(|waits| waits.is_at(path)) {
            waits.has_queued_in(server_session);
        }
    }

    /// It waits at `path`, where it has queued in that server session.
    pub(crate) fn waits_at(&mut self, path: &str, server_session: &Arc<ServerSession>) {
        if !self.waits.as_ref().is_some_and(|waits| waits.is_at(path)) {
            let waits = WaitingCall::at(&self.session, path, self.number);
            waits.has_queued_in(server_session);
            self.waits = Some(waits);
        }
    }

    /// Waits until the calls that wait at `path`, and were made before this one, have queued in that server session.
    pub(crate) async fn until_those_who_wait_have_queued(
        &mut self,
        path: &str,
        server_session: &Arc<ServerSession>,
    ) -> Result<()> {
        if self.single_attempt || !self.session.has_calls_before(path, self.number, server_session) {
            return Ok(());
        }
        let waits = self.waits.take().filter(|waits| waits.is_at(path));
        let waits = waits.unwrap_or_else(|| WaitingCall::at(&self.session, path, self.number));
        let turn = waits.turn(server_session);
        self.waits = Some(waits);
        Box::pin(self.wait_for(turn)).await
    }

    pub(crate) fn contenders_ahead(&self) -> Option<&Arc<ContendersAhead>> {
        self.contenders_ahead.as_ref()
    }

    /// Ends with Cancelled when `withdrawal` comes.
    pub(crate) fn withdrawable(mut self, withdrawal: Withdrawal) -> Call {
        (self.withdrawn, self.ending) = (Some(withdrawal), None);
        self
    }

    /// For what has to be settled, however long that takes and even while the client closes, which has to wait for it.
    pub(crate) fn outlasting(self) -> Call {
        let mut call = self.through_closing();
        call.outlast_outages();
        call
    }

    /// For what is under way and cannot be called back: that the client begins to close does not end it.
    pub(crate) fn through_closing(mut self) -> Call {
        (self.outlasts, self.ending) = (true, None);
        self
    }

    /// The same call, for a part of it that has a limit of its own.
    pub(crate) fn within(&self, limit: Duration) -> Call {
        let part = Call::new(self.session.clone(), Some(limit));
        Call {
            number: self.number,
            withdrawn: self.withdrawn.clone(),
            subject: self.subject,
            unanswered: self.unanswered,
            ..part
        }
    }

    /// The same call, for a part of it that does not wait for others.
    pub(crate) fn attempt(&self) -> Call {
        Call { single_attempt: true, ..self.beside() }
    }

    /// The same call, for a part of it that goes on beside others.
    pub(crate) fn beside(&self) -> Call {
        let part = Call::new(self.session.clone(), None);
        let (deadline, limit, withdrawn) = (self.deadline, self.limit, self.withdrawn.clone());
        Call {
            number: self.number,
            deadline,
            limit,
            withdrawn,
            unanswered: self.unanswered,
            outlasts_outages: self.outlasts_outages,
            single_attempt: self.single_attempt,
            is_instant: self.is_instant,
            ..part
        }
    }

    /// The call that was made later has the greater one.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub(crate) fn now(&self) -> Moment {
        self.session.now()
    }

    /// Whether the caller gave no time to wait for others.
    pub(crate) fn is_single_attempt(&self) -> bool {
        self.single_attempt
    }

    /// Whether the caller gave a time limit, or no time at all.
    pub(crate) fn has_limit(&self) -> bool {
        self.single_attempt || self.limit.is_some()
    }

    /// From here on there is no budget: a caller that has queued waits through an outage. A single attempt keeps its
    /// budget, for it has no deadline of its own; one that is a part of a call has that of the call.
    pub(crate) fn outlast_outages(&mut self) {
        self.outlasts_outages |= !self.single_attempt;
    }

    /// Why it has to end now, if it has to.
    pub(crate) fn end_reason(&mut self) -> Option<Error> {
        polled(pending::<()>(), |event, context| self.poll_unless_over(event, context))
            .now_or_never()
            .and_then(Result::err)
    }

    /// Waits for what others do. The server is not silent in that time, so the budget begins again afterwards.
    pub(crate) fn wait_for<T>(&mut self, event: impl Future<Output = T>) -> impl Future<Output = Result<T>> {
        self.budget_timer = None;
        polled(event, |event, context| {
            let outcome = ready!(self.poll_unless_over(event, context));
            self.heard = self.session.now();
            Poll::Ready(outcome)
        })
    }

    /// What it would have waited for was there.
    pub(crate) fn waits_for_nobody(&mut self) {
        self.budget_timer = None;
        self.heard = self.session.now();
    }

    /// As [`Call::wait_for`], and `None` after so long.
    pub(crate) async fn wait_at_most<T>(
        &mut self,
        moment: Duration,
        event: impl Future<Output = T>,
    ) -> Result<Option<T>> {
        let session = self.session.clone();
        let until = self.now() + moment;
        let late = session.clock().sleep_until(until);
        self.wait_for(unless(event, late)).await
    }

    /// Waits for the answer to a request.
    pub(crate) fn receive<T>(
        &mut self,
        what: &str,
        answer: impl Future<Output = Result<T, WireError>>,
    ) -> impl Future<Output = Result<Result<T, WireError>>> {
        polled(answer, move |answer, context| {
            let answer = ready!(self.poll_in_budget(what, answer, context));
            match &answer {
                Err(_) => {}
                Ok(Err(error)) if error.is_unanswered() => self.missing = Some(Box::new(error.clone())),
                Ok(_) => self.heard = self.session.now(),
            }
            Poll::Ready(answer)
        })
    }

    /// Waits for what others do for this call; a caller that gave no time at all only while there is a connection.
    pub(crate) async fn within_reach<T>(&mut self, what: &str, event: impl Future<Output = T>) -> Result<T> {
        if !self.is_instant {
            return self.wait_for(event).await;
        }
        polled(event, |event, context| {
            if let Poll::Ready(value) = event.poll(context) {
                return Poll::Ready(Ok(value));
            }
            if self.poll_absence(context).is_ready() {
                return Poll::Ready(Err(Error::out_of_touch(what)));
            }
            self.poll_end(context).map(Err)
        })
        .await
    }

    /// Waits for what the session's own requests bring about, such as certainty: a single attempt as long as any of them
    /// is answered within the budget, everybody else patiently.
    pub(crate) async fn until<T>(&mut self, what: &str, event: impl Future<Output = T>) -> Result<T> {
        if !self.single_attempt {
            return self.wait_for(event).await;
        }
        self.while_heard(what, event).await
    }

    /// Waits as long as any request of the session is answered within the budget, which counts from the last such answer.
    pub(crate) async fn while_heard<T>(&mut self, what: &str, event: impl Future<Output = T>) -> Result<T> {
        let mut event = pin!(event);
        self.heard = self.heard.max(self.session.server_session().heard());
        loop {
            let heard = self.heard;
            let outcome = self.in_budget(what, event.as_mut()).await;
            self.heard = heard.max(self.session.server_session().heard());
            match outcome {
                Err(_) if self.heard > heard => {}
                outcome => return outcome,
            }
        }
    }

    /// A server session that has not ended, within the budget.
    pub(crate) async fn server_session(&mut self, what: &str) -> Result<Arc<ServerSession>> {
        if self.session.state() == State::Closed || (self.session.is_closing() && !self.outlasts) {
            return Err(Error::closed("client"));
        }
        self.missing = None;
        let current = self.session.server_session();
        if !current.has_ended() && !self.is_instant {
            return Ok(current);
        }
        // In a box, as all that is rare: else every call has room for it.
        Box::pin(self.next_server_session(what)).await
    }

    async fn next_server_session(&mut self, what: &str) -> Result<Arc<ServerSession>> {
        let (session, is_instant) = (self.session.clone(), self.is_instant);
        let is_new = session.server_session().has_ended();
        let ready = async {
            let server_session = session.ready().await?;
            if is_instant {
                // What is asked for now would be asked whenever there is a connection.
                server_session.until_up().await;
            }
            Ok::<_, Error>(server_session)
        };
        let server_session = self.in_budget(what, ready).await??;
        if is_new {
            // Opening a session is an answer, too.
            self.heard = self.session.now();
        }
        Ok(server_session)
    }

    /// A connection, within the budget. What leaves while there is none waits in the transport, and nobody tells what it
    /// means by the time it arrives.
    pub(crate) async fn connection(&mut self, what: &str) -> Result<(Arc<ServerSession>, ConnectionId)> {
        loop {
            let server_session = self.server_session(what).await?;
            let link = server_session.link();
            if let Some(connection) = server_session.connection() {
                return Ok((server_session, connection));
            }
            // No answer of a server, which the budget waits for.
            let changed = async {
                server_session.link_changed(link).await;
                Err::<(), _>(WireError::ConnectionLoss)
            };
            let _ = self.receive(what, changed).await?;
        }
    }

    /// The next pause after a broken connection is no longer.
    pub(crate) fn pause_at_most(&mut self, longest: Duration) {
        self.pause = self.pause.min(longest);
    }

    /// After a broken connection: a pause, then the caller tries again. It doubles as long as one loss follows another.
    pub(crate) async fn retry_after_loss(&mut self, what: &str) -> Result<()> {
        let (now, retry) = (self.session.now(), &self.session.options().retry);
        if now.since(self.resumed) > retry.max {
            self.pause = retry.base;
        }
        let until = now + self.pause;
        self.session.counters.retries.one();
        let missing = self.missing.take();
        log::retry(what, self.pause, || self.cause(missing));
        self.resumed = until;
        self.pause = (self.pause * 2).min(retry.max);
        // Nobody polls it meanwhile.
        self.is_seen(until);
        let pause = self.session.clock().sleep_until(until);
        self.in_budget(what, pause).await
    }

    /// After an answer that the caller has no use for: if none came, a pause, and the caller tries again. A refusal is the
    /// user's error.
    pub(crate) async fn retry_or_refuse(&mut self, error: WireError, what: &str, path: &str) -> Result<()> {
        match error.is_unanswered() {
            true => self.retry_after_loss(what).await,
            false => Err(refusal(error, what, path)),
        }
    }

    /// Makes a path that is missing, with all that is missing above it. False if no answer came: then there was a pause, and
    /// the caller looks whether it is there.
    pub(crate) async fn make_path(
        &mut self,
        what: &str,
        server_session: &Arc<ServerSession>,
        path: &str,
        mode: CreateMode,
    ) -> Result<bool> {
        self.make_path_with(what, server_session, path, b"", mode).await
    }

    /// The same with data.
    pub(crate) async fn make_path_with(
        &mut self,
        what: &str,
        server_session: &Arc<ServerSession>,
        path: &str,
        data: &'static [u8],
        mode: CreateMode,
    ) -> Result<bool> {
        let session = self.session.clone();
        match self.receive(what, session.ensure_with(server_session, path, data, mode)).await? {
            Ok(()) => Ok(true),
            Err(error) => self.retry_or_refuse(error, what, path).await.map(|()| false),
        }
    }

    /// Why the answer was of no use; `missing` is what came instead of one.
    fn cause(&self, missing: Option<Box<WireError>>) -> Cow<'static, str> {
        let server_session = self.session.server_session();
        let is_broken = || server_session.link().state != LinkState::Up;
        match missing.map(|missing| *missing) {
            Some(WireError::SessionEnded) => "the session ended before the answer came".into(),
            None if server_session.has_ended() => "the session has ended".into(),
            None if !is_broken() => {
                "the answers do not belong together: the connection, or a node, changed in between".into()
            }
            _ => match server_session.cause() {
                Some(cause) => format!("the connection broke before the answer came: {cause}").into(),
                None => "the connection broke before the answer came".into(),
            },
        }
    }

    /// Deletes the node that stands there now, and no other that has its name later; false if there is none. Of a request that
    /// was lost it is looked what became of it.
    pub(crate) async fn delete_this(&mut self, what: &str, path: &str) -> Result<bool> {
        let mut asked = None;
        loop {
            let (server_session, on) = self.connection(what).await?;
            let (deletion, czxid) = match asked {
                // What is there now came later.
                Some(None) => return Ok(true),
                Some(Some(czxid)) => (server_session.delete_again(path, czxid, None), Some(czxid)),
                None => {
                    // A server that lags may not know it yet, or another one that had its name.
                    let (sync, look) = (server_session.sync(path), server_session.exists(path));
                    let looked = async {
                        sync.await?;
                        look.await
                    };
                    match self.receive(what, looked).await? {
                        Ok(stat) => (server_session.delete_on(on, path, None), stat.map(|stat| stat.czxid)),
                        Err(error) => {
                            self.retry_or_refuse(error, what, path).await?;
                            continue;
                        }
                    }
                }
            };
            match self.receive(what, deletion).await? {
                Ok(()) => return Ok(true),
                Err(WireError::NoNode) => return Ok(asked.is_some()),
                // It has not left, and never will.
                Err(WireError::NotSent) => {}
                Err(error) => {
                    asked = Some(czxid);
                    self.retry_or_refuse(error, what, path).await?;
                }
            }
        }
    }

    /// Ends early when the server has been silent for as long as the budget says.
    fn in_budget<T>(
        &mut self,
        what: &str,
        event: impl Future<Output = T>,
    ) -> impl Future<Output = Result<T>> {
        polled(event, move |event, context| self.poll_in_budget(what, event, context))
    }

    fn poll_in_budget<T>(
        &mut self,
        what: &str,
        event: Pin<&mut impl Future<Output = T>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T>> {
        self.is_polled();
        if let Poll::Ready(value) = event.poll(context) {
            return Poll::Ready(Ok(value));
        }
        if !self.outlasts_outages && self.poll_budget(context).is_ready() {
            return Poll::Ready(Err(Error::unanswered(what, self.unanswered)));
        }
        if self.is_instant && self.poll_absence(context).is_ready() {
            return Poll::Ready(Err(Error::out_of_touch(what)));
        }
        self.poll_end(context).map(Err)
    }

    /// Ends early with the call: withdrawn, out of time, or closed.
    fn poll_unless_over<T>(
        &mut self,
        event: Pin<&mut impl Future<Output = T>>,
        context: &mut Context<'_>,
    ) -> Poll<Result<T>> {
        self.is_polled();
        match event.poll(context) {
            Poll::Ready(value) => Poll::Ready(Ok(value)),
            Poll::Pending => self.poll_end(context).map(Err),
        }
    }

    /// One timer serves for many requests: it rings when the budget would be used up if nothing were heard, and is set
    /// again if something was. A little before, a session that is being opened is tried for at once: a server that is back is
    /// not to be missed because of a pause.
    fn poll_budget(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            let give_up = self.heard + self.session.options().give_up_after();
            let has_tried = self.tried_before == give_up;
            let next = if has_tried { give_up } else { give_up - GRACE };
            let clock = self.session.clock();
            let budget_timer = self.budget_timer.get_or_insert_with(|| clock.sleep_until(next));
            ready!(budget_timer.as_mut().poll(cx));
            self.budget_timer = None;
            let now = self.session.now();
            if now >= give_up {
                return Poll::Ready(());
            }
            if now >= next && !has_tried {
                self.tried_before = give_up;
                self.session.attempt_now();
            }
        }
    }

    /// There is no connection, and none that is made again at once.
    fn poll_absence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.session.server_session().link().state == LinkState::Up {
            self.absence = None;
            return Poll::Pending;
        }
        let session = &self.session;
        let since = session.out_of_touch_since().unwrap_or_else(|| session.now());
        let absence = self.absence.get_or_insert_with(|| session.clock().sleep_until(since + GRACE));
        ready!(absence.as_mut().poll(cx));
        self.absence = None;
        Poll::Ready(())
    }

    /// The error of a call that has to end.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        let end = match self.ended {
            Some(end) => end,
            None => {
                let mut ending = self.ending.take().unwrap_or_else(|| self.end());
                let Poll::Ready(end) = ending.as_mut().poll(cx) else {
                    self.ending = Some(ending);
                    return Poll::Pending;
                };
                *self.ended.insert(end)
            }
        };
        Poll::Ready(match end {
            CallEnd::Closed => Error::closed("client"),
            CallEnd::Withdrawn => Error::cancelled(),
            CallEnd::OutOfTime => Error::timeout_after(self.subject, self.limit),
        })
    }

    /// What will end it.
    fn end(&self) -> Later<CallEnd> {
        let (session, outlasts, withdrawn) = (self.session.clone(), self.outlasts, self.withdrawn.clone());
        let mut over = self.deadline.at().map(|at| session.clock().sleep_until(at));
        Box::pin(async move {
            let end = if outlasts { &session.closed } else { &session.closing };
            let mut closing = pin!(end.until_set());
            let mut withdrawn = pin!(withdrawn.as_ref().map(Withdrawal::comes));
            poll_fn(|context| {
                if closing.as_mut().poll(context).is_ready() {
                    return Poll::Ready(CallEnd::Closed);
                }
                if withdrawn.as_mut().as_pin_mut().is_some_and(|comes| comes.poll(context).is_ready()) {
                    return Poll::Ready(CallEnd::Withdrawn);
                }
                match &mut over {
                    Some(over) => over.as_mut().poll(context).map(|()| CallEnd::OutOfTime),
                    None => Poll::Pending,
                }
            })
            .await
        })
    }

    /// Repeats a request that changes nothing, or nothing more the second time, until it is answered.
    pub(crate) fn ask<'a, T: 'a, F>(
        &'a mut self,
        what: &'a str,
        request: impl Fn(&Arc<ServerSession>) -> F + Send + 'a,
    ) -> impl Future<Output = Result<T, Failure>> + 'a
    where
        F: Future<Output = Result<T, WireError>> + Send + 'a,
    {
        self.ask_any(what, Box::new(move |server_session| Box::pin(request(server_session))))
    }

    /// The same without the type of the request. There are a hundred of them, and few of answers.
    async fn ask_any<T>(&mut self, what: &str, request: AnyRequest<'_, T>) -> Result<T, Failure> {
        loop {
            let server_session = self.server_session(what).await?;
            let answer = self.receive(what, request(&server_session)).await?;
            match answer {
                Err(error) if error.is_unanswered() => self.retry_after_loss(what).await?,
                answer => return answer.map_err(Failure::Refused),
            }
        }
    }
}

/// What can be asked again.
type AnyRequest<'a, T> = Box<dyn Fn(&Arc<ServerSession>) -> AnyFlight<'a, T> + Send + 'a>;
type AnyFlight<'a, T> = Pin<Box<dyn Future<Output = Result<T, WireError>> + Send + 'a>>;
