//! One transaction: deciding it, once, and learning what was decided. It is collected when every site has acknowledged and the
//! mark of its coordinator is gone: by whoever was the last, or later by whoever recovers.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use tokio::sync::watch;

use super::layout::{CommitMode, Decision, Header, Key, Outcome, TransactionLayout};
use super::nodes::{all_of, children_of, create, if_there, is_there};
use crate::error::{Error, ErrorKind, Result};
use crate::futures::CompiledOnce;
use crate::session::Session;
use crate::session::call::{Call, LOOK_AFTER};
use crate::session::clock::Moment;
use crate::session::refusal::Failure;
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::{Flight, LinkState, Watch, WireError, Write};

const VERB: &str = "outcome";
pub(super) const DECIDING: &str = "nothing was decided";

/// How long whose vote was the last has to decide it itself.
const MOMENT: Duration = Duration::from_millis(100);

/// Who waits for the outcome.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum OutcomeWaiter {
    Site,
    /// A caller at the coordinator's.
    Coordinator,
    /// The coordinator itself, in the background.
    Background,
}

/// What is known of a transaction.
pub(super) struct KnownTransaction {
    pub(super) key: Key,
    pub(super) header: Header,
    /// From then on whoever waits decides.
    pub(super) deadline: Moment,
    /// What it came to, once that is known here: later it may have been collected. See `learn`.
    known: OnceLock<Decision>,
    /// The vote of the site whose it is, once that is known here.
    pub(super) voted: OnceLock<Outcome>,
    /// When all votes had been seen here.
    complete: OnceLock<Moment>,
    /// Whether its coordinator sees to it in the background.
    pub(super) is_attended: watch::Sender<bool>,
    /// The newest version of the coordinator's mark that is ours, while it is attended to: hands come and go.
    pub(super) mark: AtomicI32,
    /// The version of the coordinator's mark that is on its way out.
    ended: AtomicI32,
}

impl KnownTransaction {
    pub(super) fn new(key: Key, header: Header, deadline: Moment) -> KnownTransaction {
        KnownTransaction {
            key,
            header,
            deadline,
            known: OnceLock::new(),
            voted: OnceLock::new(),
            complete: OnceLock::new(),
            is_attended: watch::Sender::new(false),
            mark: AtomicI32::new(0),
            ended: AtomicI32::new(-1),
        }
    }

    /// What it came to, and why, once that is known here.
    pub(super) fn known(&self) -> Option<&Decision> {
        self.known.get()
    }

    pub(super) fn outcome(&self) -> Option<Outcome> {
        self.known().map(|known| known.outcome)
    }

    /// That is known now, or something was before. Answers what it came to.
    pub(super) fn learn(&self, decision: Decision) -> Outcome {
        self.known.get_or_init(|| decision).outcome
    }

    /// Why it was aborted; empty of a commit, and as long as that is not known here.
    pub(super) fn reason(&self) -> &str {
        self.known().map_or("", |known| &known.reason)
    }

    /// The mark of that version is to go. False: it is on its way already.
    pub(super) fn is_first_to_end(&self, version: i32) -> bool {
        self.ended.swap(version, Ordering::AcqRel) != version
    }

    /// Waits until it is decided, or decides. `None`: there is no such transaction any more. Timeout: nothing is decided yet;
    /// ConnectionLost: no server answers, so that this is not known.
    pub(super) async fn wait_for_outcome(
        &self,
        layout: &TransactionLayout,
        session: &Session,
        call: &mut Call,
        waiter: OutcomeWaiter,
    ) -> Result<Option<Outcome>> {
        let decided = self.learn_outcome(layout, session, call, waiter).await;
        let is_out_of_time = matches!(&decided, Err(error) if error.kind() == ErrorKind::Timeout);
        let server_session = session.server_session();
        if is_out_of_time && (server_session.has_ended() || server_session.link().state != LinkState::Up) {
            return Err(Error::new(
                ErrorKind::ConnectionLost,
                "no ZooKeeper server answers, so it is not known whether it is decided; ask again, or allow more time",
            ));
        }
        decided
    }

    async fn learn_outcome(
        &self,
        layout: &TransactionLayout,
        session: &Session,
        call: &mut Call,
        waiter: OutcomeWaiter,
    ) -> Result<Option<Outcome>> {
        if self.outcome().is_none() && waiter == OutcomeWaiter::Coordinator && !call.is_single_attempt() {
            // What is seen to in the background is not asked for a second time.
            let mut is_attended = self.is_attended.subscribe();
            let unattended = async {
                // The sender lives in `self`, so this cannot fail.
                let _ = is_attended.wait_for(|is_attended| !is_attended).await;
            };
            call.wait_for(unattended).await?;
        }
        if let Some(known) = self.outcome() {
            return Ok(Some(known));
        }
        let decision = self.wait_for_decision(layout, session, call, waiter).await?;
        // Somebody else may know it by now.
        Ok(match decision {
            Some(decision) => Some(self.learn(decision)),
            None => self.outcome(),
        })
    }

    /// Waits until somebody has decided, and decides itself as soon as that is its turn.
    fn wait_for_decision<'a>(
        &'a self,
        layout: &'a TransactionLayout,
        session: &'a Session,
        call: &'a mut Call,
        waiter: OutcomeWaiter,
    ) -> CompiledOnce<'a, Result<Option<Decision>>> {
        Box::pin(self.wait_or_decide(layout, session, call, waiter))
    }

    async fn wait_or_decide(
        &self,
        layout: &TransactionLayout,
        session: &Session,
        call: &mut Call,
        waiter: OutcomeWaiter,
    ) -> Result<Option<Decision>> {
        let is_peers = self.header.mode == CommitMode::Peer;
        let collects_votes = is_peers || waiter != OutcomeWaiter::Site;
        let all = self.header.sites.len();
        let mut votes = 0;
        // When one of them was found that we may not read. Then the commit is not ours to write.
        let mut denied: Option<Moment> = None;
        'look: loop {
            let mut decided = match self.read_state(layout, call).await? {
                TransactionState::Decided(decision) => return Ok(Some(decision)),
                TransactionState::Gone => match self.read_state_behind_sync(layout, call).await? {
                    Some(TransactionState::Decided(decision)) => return Ok(Some(decision)),
                    Some(_) => return Ok(None),
                    None => {
                        call.retry_after_loss(VERB).await?;
                        continue 'look;
                    }
                },
                TransactionState::Open(watch) => watch,
            };
            // Servers do not tell when it may be read.
            denied = denied.filter(|at| session.now() < *at + LOOK_AFTER);
            if is_peers && denied.is_none() && self.have_all_voted(layout, call).await? {
                votes = all;
            }
            loop {
                let mut vote = None;
                while collects_votes && denied.is_none() && vote.is_none() && votes < all {
                    let node = layout.vote(&self.key, &self.header.sites[votes]);
                    match call.ask(VERB, |server| server.watch_exists(&node)).await {
                        Ok((Some(_), _)) => votes += 1,
                        Ok((None, watch)) => vote = Some(watch),
                        Err(failure) if failure.is(&WireError::NoAuth) => {
                            session.skip(&node, Flaw::Denied);
                            denied = Some(session.now());
                        }
                        Err(failure) => return Err(failure.about(VERB, &node)),
                    }
                }
                let now = session.now();
                let (is_over, have_all_voted) = (now >= self.deadline, collects_votes && votes == all);
                let mut until = denied.map_or(self.deadline, |at| self.deadline.min(at + LOOK_AFTER));
                if have_all_voted && is_peers && !call.is_single_attempt() {
                    // Whose vote was the last decides, unless it has died.
                    until = until.min(*self.complete.get_or_init(|| now) + MOMENT);
                }
                let is_due =
                    is_over || (have_all_voted && (now >= until || !is_peers || call.is_single_attempt()));
                if is_due {
                    let mut why = "not all had voted in time";
                    match self.write_commit(layout, call).await? {
                        WrittenDecision::Decided(decision) => return Ok(Some(decision)),
                        WrittenDecision::Missing => {}
                        // Who may read it can commit until then.
                        WrittenDecision::Denied => {
                            denied = Some(now);
                            why = "a vote may not be read by who decided when the time was over";
                        }
                    }
                    votes = 0;
                    if is_over {
                        let aborted = Decision::abort(why);
                        let written = write_decision(layout, call, &self.key, aborted, Vec::new());
                        if let WrittenDecision::Decided(decision) = written.await? {
                            return Ok(Some(decision));
                        }
                    }
                    // Collected just now, or somebody has taken a part of it away by hand: look again in a while.
                    call.retry_after_loss(VERB).await?;
                    continue 'look;
                }
                if call.is_single_attempt() {
                    return Err(Error::timeout(DECIDING));
                }
                call.outlast_outages();
                let over = session.clock().sleep_until(until);
                if call.wait_for(wait_for_news(&mut decided, vote, over)).await? || denied.is_some() {
                    continue 'look;
                }
            }
        }
    }

    async fn read_state(&self, layout: &TransactionLayout, call: &mut Call) -> Result<TransactionState> {
        let (open, decision) = (layout.open(&self.key), layout.decision(&self.key));
        let asked = call.ask(VERB, |server| {
            // In this order: the one takes the place of the other.
            let (open, decided) = (server.exists(&open), server.watch_exists(&decision));
            async move { Ok((open.await?, decided.await?)) }
        });
        let (open, (decided, watch)) = asked.await.map_err(|failure| failure.about(VERB, &open))?;
        if decided.is_some() {
            // Collected in between, it was known to everybody who voted.
            return Ok(read_decision(layout, call, &self.key)
                .await?
                .map_or(TransactionState::Gone, TransactionState::Decided));
        }
        Ok(open.map_or(TransactionState::Gone, |_| TransactionState::Open(watch)))
    }

    /// Behind a `sync`, and where its outcome is left when it has been collected: a server that lags knows of neither yet.
    /// `None`: it is there after all.
    async fn read_state_behind_sync(
        &self,
        layout: &TransactionLayout,
        call: &mut Call,
    ) -> Result<Option<TransactionState>> {
        let (open, decision, noted) =
            (layout.open(&self.key), layout.decision(&self.key), layout.noted(&self.key));
        let asked = call.ask(VERB, |server| {
            let sync = server.sync(&layout.root);
            // In this order: each is there when the one before is not.
            let (open, decided) = (server.exists(&open), if_there(server.get_data(&decision)));
            let noted = if_there(server.get_data(&noted));
            async move {
                sync.await?;
                Ok((open.await?, decided.await?, noted.await?))
            }
        });
        let (open, decided, noted) = asked.await.map_err(|failure| failure.about(VERB, &noted))?;
        if open.is_some() {
            return Ok(None);
        }
        let decision = decided.or(noted).map(|(data, _)| Decision::parse(&data));
        Ok(Some(decision.map_or(TransactionState::Gone, TransactionState::Decided)))
    }

    /// As far as can be told in one look.
    pub(super) async fn have_all_voted(&self, layout: &TransactionLayout, call: &mut Call) -> Result<bool> {
        let node = layout.transaction(&self.key.id);
        let found = call.ask(VERB, |server| server.exists(&node)).await;
        let children =
            found.map_err(|failure| failure.about(VERB, &node))?.map_or(0, |stat| stat.num_children);
        // Beside the votes there are `open` and the coordinator's mark.
        Ok(children as usize >= self.header.sites.len() + 2)
    }

    /// Writes the commit if all have voted, as far as we may know.
    pub(super) async fn write_commit(
        &self,
        layout: &TransactionLayout,
        call: &mut Call,
    ) -> Result<WrittenDecision> {
        let check = |site: &String| Write::Check { path: layout.vote(&self.key, site), version: Some(0) };
        let votes = self.header.sites.iter().map(check).collect();
        write_decision(layout, call, &self.key, Decision::commit(), votes).await
    }
}

/// How far it is.
enum TransactionState {
    Decided(Decision),
    Open(Watch),
    Gone,
}

/// Answers whether there is news of the decision.
async fn wait_for_news(decided: &mut Watch, vote: Option<Watch>, over: impl Future<Output = ()>) -> bool {
    let voted = async {
        match vote {
            Some(vote) => drop(vote.await),
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        _ = decided => true,
        () = voted => false,
        () = over => false,
    }
}

/// What came of writing a decision.
pub(super) enum WrittenDecision {
    /// That is what is decided, by us or before.
    Decided(Decision),
    /// What it depends on, or the transaction itself, is not there.
    Missing,
    /// We may not read something on which it depends.
    Denied,
}

/// Writes the decision, unless there is one.
pub(super) async fn write_decision(
    layout: &TransactionLayout,
    call: &mut Call,
    key: &Key,
    decision: Decision,
    depends_on: Vec<Write>,
) -> Result<WrittenDecision> {
    let node = layout.decision(key);
    let mut writes = vec![Write::Delete { path: layout.open(key), version: None }];
    writes.extend(depends_on);
    writes.push(create(node.clone(), decision.encode()));
    loop {
        let server_session = call.server_session(VERB).await?;
        match call.receive(VERB, server_session.multi(&writes)).await? {
            Ok(_) => return Ok(WrittenDecision::Decided(decision)),
            // Asked again after a lost answer, it may be our own.
            Err(WireError::Part { index: 0, error }) if *error == WireError::NoNode => {
                let decided = read_decision(layout, call, key).await?;
                return Ok(decided.map_or(WrittenDecision::Missing, WrittenDecision::Decided));
            }
            Err(WireError::Part { error, .. })
                if matches!(*error, WireError::NoNode | WireError::BadVersion) =>
            {
                return Ok(WrittenDecision::Missing);
            }
            // A vote. Nothing else is checked, and what may not be written is the user's error.
            Err(WireError::Part { index, error })
                if *error == WireError::NoAuth && matches!(writes.get(index), Some(Write::Check { .. })) =>
            {
                call.session().skip(writes[index].path(), Flaw::Denied);
                return Ok(WrittenDecision::Denied);
            }
            Err(error) => call.retry_or_refuse(error, VERB, &node).await?,
        }
    }
}

/// What was decided; `None` if nothing is.
pub(super) async fn read_decision(
    layout: &TransactionLayout,
    call: &mut Call,
    key: &Key,
) -> Result<Option<Decision>> {
    let node = layout.decision(key);
    let asked = call.ask(VERB, |server| if_there(server.get_data(&node))).await;
    let found = asked.map_err(|failure| failure.about(VERB, &node))?;
    Ok(found.map(|(data, _)| Decision::parse(&data)))
}

/// What removes a transaction of which only the decision is left.
pub(super) fn removal(layout: &TransactionLayout, key: &Key) -> [Write; 2] {
    [layout.decision(key), layout.transaction(&key.id)].map(|path| Write::Delete { path, version: None })
}

/// Removes the transaction if everybody is done with it. These are its sites.
pub(super) fn collect<'a>(
    layout: &'a TransactionLayout,
    call: &'a mut Call,
    key: &'a Key,
    sites: &'a [String],
) -> CompiledOnce<'a, Result<()>> {
    Box::pin(collect_if_done(layout, call, key, sites))
}

async fn collect_if_done(
    layout: &TransactionLayout,
    call: &mut Call,
    key: &Key,
    sites: &[String],
) -> Result<()> {
    let (node, decision) = (layout.transaction(&key.id), layout.decision(key));
    let mut clears_inboxes = true;
    loop {
        let asked = call.ask(VERB, |server| {
            let (whole, decided) = (server.exists(&node), if_there(server.get_data(&decision)));
            async move { Ok((whole.await?, decided.await?)) }
        });
        let (whole, decided) = asked.await.map_err(|failure| failure.about(VERB, &node))?;
        // While a vote or the coordinator's mark stands, somebody may have to know.
        let Some((decided, _)) = decided else { return Ok(()) };
        if whole.is_none_or(|stat| stat.num_children > 1) {
            return Ok(());
        }
        let mut writes = removal(layout, key).to_vec();
        let own = writes.len();
        if clears_inboxes && Decision::parse(&decided).outcome == Outcome::Abort {
            let spare = surplus(layout, call, key, sites).await?;
            writes.extend(spare.into_iter().map(|path| Write::Delete { path, version: None }));
        }
        match call.ask(VERB, |server| server.multi(&writes)).await {
            // That site has come back meanwhile, or we may not delete what it is asked: then that stays.
            Err(Failure::Refused(WireError::Part { index, error })) if index >= own => {
                clears_inboxes = *error == WireError::NoNode;
            }
            // Somebody else has.
            Ok(_) | Err(Failure::Refused(WireError::Part { .. })) => return Ok(()),
            Err(failure) => return Err(failure.about(VERB, &node)),
        }
    }
}

/// How many transactions that were aborted without it stay in the inbox of a site that is not there.
const MOST_KEPT: usize = 1000;

/// The entries of sites that have not voted, are not there, and have so much to catch up with already: without a vote of
/// theirs there is nothing that they have to know. Where we may not look at an inbox, or ask for a site, nothing is.
async fn surplus(
    layout: &TransactionLayout,
    call: &mut Call,
    key: &Key,
    sites: &[String],
) -> Result<Vec<String>> {
    let asked = call.ask(VERB, |server| {
        let flights = sites.iter().map(|site| {
            let entered = is_there(server.exists(&layout.entry(site, key)));
            let kept = children_of(server.exists(&layout.inbox(site)));
            let is_present = is_there(server.exists(&layout.site(site)));
            let is_surplus: Flight<bool> = Box::pin(async move {
                let (entered, kept, is_present) = (entered.await?, kept.await?, is_present.await?);
                Ok(entered && kept > MOST_KEPT && !is_present)
            });
            is_surplus
        });
        all_of(flights.collect())
    });
    let found = asked.await.map_err(|failure| failure.about(VERB, &layout.root))?;
    let entries = sites.iter().zip(found).filter(|(_, is_surplus)| *is_surplus);
    Ok(entries.map(|(site, _)| layout.entry(site, key)).collect())
}

/// Aborts what began and is done with it, unless it is committed already. Answers what it came to.
pub(super) async fn abort_unless_committed(
    layout: &TransactionLayout,
    call: &mut Call,
    key: &Key,
    sites: &[String],
) -> Result<Outcome> {
    let mark = layout.coordinator(key);
    let ours = Write::Delete { path: mark.clone(), version: Some(0) };
    let why = || Decision::abort("begin was given up");
    let written = write_decision(layout, call, key, why(), vec![ours]).await?;
    let WrittenDecision::Decided(decided) = written else {
        // Somebody has taken it over, who is told, too. Collected by now, its outcome was left.
        let written = write_decision(layout, call, key, why(), Vec::new()).await?;
        if let WrittenDecision::Decided(decided) = written {
            return Ok(decided.outcome);
        }
        let noted = layout.noted(key);
        let asked = call.ask("begin", |server| if_there(server.get_data(&noted))).await;
        let outcome = asked.map_err(|failure| failure.about("begin", &noted))?;
        return Ok(outcome.map_or(Outcome::Abort, |(data, _)| Decision::parse(&data).outcome));
    };
    if decided.outcome == Outcome::Commit {
        // Its mark stays, and its caller is to find it.
        return Ok(Outcome::Commit);
    }
    // Where it was decided before, the mark is there.
    match call.ask("begin", |server| server.delete(&mark, Some(0))).await {
        Ok(()) | Err(Failure::Refused(WireError::NoNode | WireError::BadVersion)) => {}
        Err(failure) => return Err(failure.about("begin", &mark)),
    }
    collect(layout, call, key, sites).await.map(|()| Outcome::Abort)
}

/// The error for a transaction that there is not.
pub(super) fn missing(path: &str) -> Error {
    Error::new(ErrorKind::NoNode, "no such transaction; it was never begun, or everybody is done with it")
        .with_path(path)
}
