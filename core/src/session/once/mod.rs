//! Applying a transaction once, whatever gets lost.
//!
//! 1. The first part of the transaction is about a mark of our own (see `mark`): the first time it creates it, later it sets
//!    it at the version that the last change left. So a transaction that was applied is refused when it is sent again.
//! 2. So a lost answer is easily resolved: the transaction is sent again, on whatever connection and in whatever session.
//!    Refused for the mark, it was applied before; else its answer is the outcome.
//! 3. One mark serves one transaction at a time, and those that come meanwhile have other marks; or it serves several in a
//!    row that are sent at once. Each sets it at the version that the one before leaves. So none is applied without those
//!    before it, and whatever gets lost, they can be sent again one after the other.
//! 4. What says the names of nodes is not sent again, since they may be other nodes' then: see `seen`.
//! 5. A mark goes when it has not been used for a while, and with the client: one in use not before it has told what closing waits
//!    for. Those of clients that crashed are swept.

pub(crate) mod combined;
pub(crate) mod mark;
mod seen;
pub(crate) mod sweep;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use self::mark::Mark;
use self::sweep::Swept;
use super::Session;
use super::call::Call;
use super::clock::Moment;
use super::open_parents;
use super::refusal::refusal;
use super::server_session::ServerSession;
use super::wire::{Applied, CreateMode, WireError, Write};
use crate::error::{Error, ErrorKind, Result};
use crate::futures::unless;
use crate::mutex::lock;

/// How long a mark stays for the next change.
const IDLE: Duration = Duration::from_secs(1);
/// Between two looks for marks of others, while there are none.
const LOOK: Duration = Duration::from_secs(5);

/// The marks of one client at one place.
pub(crate) struct Marks {
    root: String,
    parent: String,
    idle: Mutex<Idle>,
    swept: Arc<Swept>,
    /// When marks of others were last looked for.
    looked: Mutex<Option<Moment>>,
}

#[derive(Default)]
struct Idle {
    /// Those used last are the last.
    marks: Vec<(Moment, Mark)>,
    is_tended: bool,
}

/// What became of a transaction.
pub(crate) enum AppliedOnce {
    Applied,
    /// It was not and never will be, because of the part of that number.
    Refused(usize, WireError),
}

impl Marks {
    /// Marks are children of `parent`, which is made if it is missing. It is of the recipe at `root`.
    pub(crate) fn at(root: &str, parent: String) -> Arc<Marks> {
        let (root, swept) = (root.to_owned(), Swept::new(&parent));
        Arc::new(Marks { root, parent, idle: Mutex::default(), swept, looked: Mutex::default() })
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        lock(&self.idle)
    }

    /// Applies `writes` in one transaction, once. ConnectionLost says that nobody knows whether it was applied.
    ///
    /// Must not be dropped before it is done: then nobody knows, either.
    pub(crate) async fn apply(
        self: &Arc<Self>,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &str,
        writes: &[Write],
    ) -> Result<AppliedOnce> {
        self.apply_row(session, call, verb, &[writes], |_, _| {}).await
    }

    /// The same with several transactions, in this order. Tells of each that was applied as soon as that is known, with what
    /// became of its parts unless that answer got lost, and answers what became of the first that was not; of the last, if
    /// there is none.
    pub(crate) async fn apply_row(
        self: &Arc<Self>,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &str,
        row: &[&[Write]],
        mut tell: impl FnMut(&[Write], Option<Vec<Applied>>) + Send,
    ) -> Result<AppliedOnce> {
        let used = &mut self.take(session)?;
        let (mut applied, mut is_sent) = (0, false);
        while applied < row.len() {
            let rest = &row[applied..];
            let mut go_on = |made: Option<Vec<Applied>>| {
                tell(row[applied], made);
                applied += 1;
            };
            // The first with a mark makes it; what comes behind needs that.
            let outcome = if rest.len() > 1 && used.mark().made > 0 && !std::mem::replace(&mut is_sent, true)
            {
                self.attempt_all(used, session, call, verb, rest, &mut go_on).await
            } else {
                self.attempt(used, session, call, verb, rest[0], &mut go_on).await
            };
            match outcome {
                Ok(Some(refused)) => return Ok(refused),
                Ok(None) => {}
                Err(error) if used.is_in_doubt() => return Err(in_doubt(error, verb)),
                Err(error) => return Err(error),
            }
        }
        Ok(AppliedOnce::Applied)
    }

    /// Sends all of `row` before the first is answered; `None` to go on with those that were not applied, one by one.
    async fn attempt_all(
        &self,
        used: &mut Used,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &str,
        row: &[&[Write]],
        go_on: GoOn<'_>,
    ) -> Result<Option<AppliedOnce>> {
        let server_session = call.server_session(verb).await?;
        let sent = session.now();
        let first = used.mark().made;
        let mut flights = Vec::new();
        for (made, writes) in (first..).zip(row) {
            let mut parts = vec![used.mark().write_once_after(made)];
            parts.extend_from_slice(writes);
            flights.push(used.mark().send(session, &server_session, &parts)?);
            used.doubt(sent, made + 1);
        }
        let mut flights = flights.into_iter();
        while let Some(flight) = flights.next() {
            match call.receive(verb, flight).await? {
                Ok(made) => {
                    used.done();
                    go_on(Some(of_the_writes(made)));
                }
                Err(error) if error.is_unanswered() => {
                    call.retry_after_loss(verb).await?;
                    return Ok(None);
                }
                // Those behind it need it, and are refused as well. A caller that has not heard this of all makes nothing more
                // with this mark: see `undoubt`.
                Err(error) => {
                    let mut is_settled = true;
                    for flight in flights {
                        let answer = call.receive(verb, flight).await?;
                        if answer.is_ok() {
                            return Err(beyond(
                                "of several in a row one was applied without the one before it",
                            ));
                        }
                        is_settled &= !answer.is_err_and(|error| error.is_unanswered());
                    }
                    used.in_doubt.take_if(|_| is_settled);
                    return match error {
                        WireError::Part { index: 0, .. } if !is_settled => {
                            Err(beyond("somebody has touched the node that would tell"))
                        }
                        WireError::Part { index: 0, .. } => Ok(None),
                        WireError::Part { index, error } => Ok(Some(AppliedOnce::Refused(index - 1, *error))),
                        error => Err(refusal(error, verb, &self.parent)),
                    };
                }
            }
        }
        Ok(None)
    }

    /// Sends it once more; `None` to go on.
    async fn attempt(
        &self,
        used: &mut Used,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &str,
        writes: &[Write],
        go_on: GoOn<'_>,
    ) -> Result<Option<AppliedOnce>> {
        let server_session = call.server_session(verb).await?;
        let is_new = used.mark().made == 0 && !used.is_in_doubt();
        if is_new {
            self.look_at_parent(session, &server_session, call, verb).await?;
        }
        let sent = session.now();
        used.still_tells(sent)?;
        let mark = used.mark();
        let mut parts = vec![mark.write_once_after(mark.made)];
        parts.extend_from_slice(writes);
        let flight = mark.send(session, &server_session, &parts)?;
        let is_first = mark.made == 0;
        used.in_flight = Some(sent);
        let answer = call.receive(verb, flight).await?;
        used.in_flight = None;
        match answer {
            Ok(mut made) => {
                if is_first
                    && let Some(Applied::Created(created)) = made.first_mut()
                    && created.czxid <= 0
                {
                    let asked = call.receive(verb, server_session.exists(&used.mark().node)).await?;
                    created.czxid = asked.ok().flatten().map_or(-1, |stat| stat.czxid);
                }
                used.done();
                go_on(Some(of_the_writes(made)));
            }
            Err(error) if error.is_unanswered() => {
                let next = used.mark().made + 1;
                used.doubt(sent, next);
                call.retry_after_loss(verb).await?;
            }
            Err(WireError::Part { index: 0, error }) => match *error {
                // A parent that is missing: this one is answered by the quorum, so none before it was applied.
                WireError::NoNode if is_first => {
                    server_session.forget_deletions_below(&self.parent);
                    call.make_path(verb, &server_session, &self.parent, CreateMode::Container).await?;
                }
                WireError::NodeExists | WireError::BadVersion if used.is_in_doubt() => {
                    used.done();
                    go_on(None);
                }
                WireError::NodeExists | WireError::BadVersion | WireError::NoNode if !used.is_in_doubt() => {
                    // Somebody has touched it. Nothing is in doubt, so another one will do.
                    used.replace(&self.parent);
                }
                WireError::NoNode => return Err(beyond("the node that would tell was deleted")),
                error => return Err(refusal(error, verb, &self.parent)),
            },
            // The quorum has decided it, and whatever was sent before it.
            Err(WireError::Part { index, error }) => {
                used.undoubt();
                return Ok(Some(AppliedOnce::Refused(index - 1, *error)));
            }
            Err(error) => return Err(refusal(error, verb, &self.parent)),
        }
        Ok(None)
    }

    /// Who may delete marks decides what a lost answer is taken for.
    async fn look_at_parent(
        &self,
        session: &Arc<Session>,
        server_session: &Arc<ServerSession>,
        call: &mut Call,
        verb: &str,
    ) -> Result<()> {
        open_parents::look_once_below(session, server_session, call, verb, &self.root, &self.parent).await
    }

    /// What the servers' clock shows, in milliseconds since 1970: a mark that is set now says so.
    pub(crate) async fn servers_time(
        self: &Arc<Self>,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &str,
    ) -> Result<i64> {
        let mut used = self.take(session)?;
        loop {
            let mut is_set = false;
            self.attempt(&mut used, session, call, verb, &[], &mut |_| is_set = true).await?;
            if !is_set {
                continue;
            }
            let node = &used.mark().node;
            match call.ask(verb, |server| server.exists(node)).await {
                Ok(Some(stat)) => return Ok(stat.mtime),
                // Somebody has deleted it.
                Ok(None) => {}
                Err(failure) => return Err(failure.about(verb, node)),
            }
        }
    }

    /// A mark for what begins now: Closed if the client closes.
    pub(crate) fn take(self: &Arc<Self>, session: &Arc<Session>) -> Result<Used> {
        match session.is_closing() {
            true => Err(Error::closed("client")),
            false => Ok(self.take_through_closing(session)),
        }
    }

    /// The same for what closing waits for.
    pub(crate) fn take_through_closing(self: &Arc<Self>, session: &Arc<Session>) -> Used {
        // Also one that was made in an earlier server session, and without another look at its parent: while it stands, that has a
        // child, and so is the node that was looked at. If it does not, what sets it is refused, and the mark that takes its place
        // looks.
        let idle = self.idle().marks.pop().map(|(_, mark)| mark);
        // One that goes with a closing client tells nothing.
        let mark = idle.filter(|mark| session.use_temporary(&mark.node)).unwrap_or_else(|| {
            self.look_after(session);
            Mark::new_in_use(&self.parent, session)
        });
        Used {
            marks: self.clone(),
            session: session.clone(),
            mark: Some(mark),
            in_doubt: None,
            in_flight: None,
        }
    }

    /// Looks for marks that clients have left which crashed, unless that was done just now.
    pub(crate) fn look_after(&self, session: &Arc<Session>) {
        let mut looked = lock(&self.looked);
        let now = session.now();
        if looked.is_none_or(|last| now.since(last) >= LOOK) {
            *looked = Some(now);
            sweep::begin(&self.swept, session);
        }
    }

    /// Looks after the idle marks until there are none.
    async fn tend(self: Arc<Self>, session: Arc<Session>) {
        loop {
            unless(session.clock().sleep_until(session.now() + IDLE), session.until_closing()).await;
            let is_kept = session.server_session().may_delete_below(&self.parent) == Some(false);
            let mut idle = self.idle();
            let due = idle.marks.partition_point(|(since, _)| session.now().since(*since) >= IDLE);
            let due: Vec<_> = if is_kept { Vec::new() } else { idle.marks.drain(..due).collect() };
            if idle.marks.is_empty() || session.is_closing() || is_kept {
                idle.is_tended = false;
                drop(idle);
                due.into_iter().for_each(|(_, mark)| session.delete_temporary(mark.node));
                return;
            }
            drop(idle);
            due.into_iter().for_each(|(_, mark)| session.delete_temporary(mark.node));
        }
    }
}

/// Told that the next one was applied, and what became of its parts if that was answered.
type GoOn<'a> = &'a mut (dyn FnMut(Option<Vec<Applied>>) + Send);

/// What became of the parts behind that of the mark.
fn of_the_writes(mut made: Vec<Applied>) -> Vec<Applied> {
    let zxid = match made.drain(..1.min(made.len())).next() {
        Some(Applied::Created(mark)) => mark.czxid,
        Some(Applied::Set(mark)) => mark.mzxid,
        _ => -1,
    };
    for part in &mut made {
        // Servers before 3.8.2 do not tell it of what was created. All that one transaction does has one.
        if let Applied::Created(node) = part
            && node.czxid <= 0
        {
            node.czxid = zxid;
        }
    }
    made
}

/// A mark while a transaction is made with it.
pub(crate) struct Used {
    marks: Arc<Marks>,
    session: Arc<Session>,
    /// Always there, until it is given back.
    mark: Option<Mark>,
    in_doubt: Option<Doubt>,
    /// When what is not answered yet was sent.
    in_flight: Option<Moment>,
}

/// Transactions of which nobody knows what became.
struct Doubt {
    /// When the first attempt left.
    since: Moment,
    /// What the mark says when the last of them was made.
    last: u64,
}

impl Used {
    fn mark(&self) -> &Mark {
        self.mark.as_ref().expect("it is in use")
    }

    fn is_in_doubt(&self) -> bool {
        self.in_doubt.is_some()
    }

    /// Whether what was sent may be applied, or may have been.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.is_in_doubt() || self.in_flight.is_some()
    }

    /// An error if nobody can know any more what became of what is in doubt.
    fn still_tells(&self, now: Moment) -> Result<()> {
        let mark = self.mark();
        match &self.in_doubt {
            Some(doubt) if mark.made == 0 && !mark.is_safe(now.since(doubt.since)) => {
                Err(beyond("the node that would tell may have been collected since"))
            }
            _ => Ok(()),
        }
    }

    /// Nobody waited for the last answer.
    fn doubt_what_was_left(&mut self) {
        if let Some(sent) = self.in_flight.take() {
            let next = self.mark().made + 1;
            self.doubt(sent, next);
        }
    }

    /// Of the transactions up to that number nobody knows what becomes.
    fn doubt(&mut self, since: Moment, last: u64) {
        let doubt = self.in_doubt.get_or_insert(Doubt { since, last });
        doubt.last = doubt.last.max(last);
    }

    /// The next one was not made. Of those behind it one may still be under way, which is refused as long as nothing more is
    /// made with this mark.
    fn undoubt(&mut self) {
        let next = self.mark().made + 1;
        self.in_doubt.take_if(|doubt| doubt.last <= next);
    }

    fn done(&mut self) {
        if let Some(mark) = &mut self.mark {
            mark.made += 1;
            self.in_doubt.take_if(|doubt| doubt.last <= mark.made);
        }
    }

    fn replace(&mut self, parent: &str) {
        let fresh = Mark::new_in_use(parent, &self.session);
        if let Some(old) = self.mark.replace(fresh) {
            self.session.delete_temporary(old.node);
        }
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        let Some(mark) = self.mark.take().filter(|_| self.session.process().is_present()) else { return };
        if self.is_unsettled() || mark.is_used_up() {
            // What it stands for is not known, or it has no number left: it serves for nothing more.
            self.session.delete_temporary(mark.node);
            return;
        }
        if !self.session.put_down_temporary(&mark.node) {
            return;
        }
        let (marks, session) = (self.marks.clone(), self.session.clone());
        let mut idle = marks.idle();
        idle.marks.push((session.now(), mark));
        if !std::mem::replace(&mut idle.is_tended, true) {
            drop(idle);
            session.clock().clone().spawn(Box::pin(marks.tend(session)));
        }
    }
}

/// Nobody knows whether the transaction was applied.
fn in_doubt(error: Error, verb: &str) -> Error {
    unknown(error, &format!("{verb} was applied"), "Look before you do it again")
}

/// What is known no more.
pub(crate) fn beyond(why: &str) -> Error {
    Error::new(ErrorKind::ConnectionLost, why)
}

/// Nobody can know `what` any more, for this error that came after the lost answer; and what to do.
pub(crate) fn unknown(error: Error, what: &str, advice: &str) -> Error {
    let (kind, why) = match error.kind() {
        ErrorKind::Closed => (ErrorKind::Closed, "the client was closed".to_owned()),
        ErrorKind::ConnectionLost => (ErrorKind::ConnectionLost, error.to_string()),
        _ => (ErrorKind::ConnectionLost, format!("what came next was refused ({error})")),
    };
    Error::new(kind, format!("whether {what} cannot be known: the answer got lost, and then {why}. {advice}"))
}
