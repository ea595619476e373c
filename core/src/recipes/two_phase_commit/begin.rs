//! Beginning a transaction.
//!
//! 1. It is one write, and so is there as a whole or not at all. In the same session a lost answer is easily resolved:
//!    if the write was applied, its node stands, because nobody takes over from a coordinator that is there.
//! 2. The write depends on a node of the session. In another session that node is deleted first: then what was asked
//!    in the earlier one has been applied, or never will be. It was applied if its node stands, or if its outcome does,
//!    which a coordinator has left that took it over.
//! 3. A transaction whose caller gives up, or learns in no time whether it began, is withdrawn: the abort is decided in the background,
//!    as soon as it is certain that the transaction stands. If all sites have voted by then, somebody may have committed it.
//!    Then it stays as it is, in nobody's hand, and `recover` answers it, also if another coordinator has taken it over and is
//!    done with it; that waits for the background. (A commit could be made to
//!    depend on a second write of the coordinator. That would be one more for each transaction, and votes would wait for it.)

use std::sync::Arc;
use std::time::Duration;

use super::coordinator::CommitTransaction;
use super::kept_outcomes::OUTCOME_STANDS;
use super::layout::{Decision, Header, Key, Outcome, TransactionLayout, check_name};
use super::nodes::{create, if_there};
use super::ownership::{Commits, Hand};
use super::transaction::{KnownTransaction, abort_unless_committed};
use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Moment;
use crate::session::open_parents;
use crate::session::random;
use crate::session::refusal::{Failure, refusal};
use crate::session::server_session::ServerSession;
use crate::session::wire::{WireError, Write};

const BEGIN: &str = "begin";

pub(super) async fn begin(
    commits: &Arc<Commits>,
    id: &str,
    sites: &[&str],
    payload: &[u8],
    timeout: Duration,
) -> Result<CommitTransaction> {
    let layout = &commits.layout;
    check_name(layout, "id", id)?;
    check_sites(layout, sites)?;
    if timeout.is_zero() {
        return Err(Error::invalid("timeout", "is zero, so that nobody could vote"));
    }
    let session = commits.client.session()?;
    commits.wait_until_told(&mut session.call(None), BEGIN).await?;
    let coordinator = commits.alive(&session, BEGIN).await?;
    commits.room.admit(layout, &mut session.call(None), sites).await?;
    // Its budget begins when the others have used theirs.
    let mut call = session.call(None);
    let key = Key::new(id, random::guid());
    let header = Header {
        mode: commits.mode,
        timeout,
        nonce: key.nonce.clone(),
        sites: sites.iter().map(|site| (*site).to_owned()).collect(),
        payload: payload.to_vec(),
    };
    let Some(hand) = commits.take_in_hand(&key.nonce, 0) else { unreachable!("nobody else has that nonce") };
    let beginning = BeginAttempt {
        commits: commits.clone(),
        session,
        coordinator,
        key,
        header,
        asked: None,
        since: None,
        hand: Some(hand),
    };
    beginning.begin(&mut call).await
}

fn check_sites(layout: &TransactionLayout, sites: &[&str]) -> Result<()> {
    if sites.is_empty() {
        return Err(Error::invalid("sites", "are none; name those who vote"));
    }
    for (n, site) in sites.iter().enumerate() {
        check_name(layout, "sites", site)?;
        if sites[..n].contains(site) {
            return Err(Error::invalid("sites", format!("{site} is named twice")));
        }
    }
    Ok(())
}

/// A transaction on its way. Given up, it is withdrawn.
struct BeginAttempt {
    commits: Arc<Commits>,
    session: Arc<Session>,
    coordinator: String,
    key: Key,
    header: Header,
    /// In which session an attempt was made of which nobody knows what came, and the node on which it depends.
    asked: Option<LostAttempt>,
    /// When the first attempt was made: it did not begin before.
    since: Option<Moment>,
    /// There until it is begun or withdrawn.
    hand: Option<Hand>,
}

#[derive(Clone)]
struct LostAttempt {
    session: u64,
    depends_on: String,
}

/// What is found of it in another session.
enum BegunBefore {
    Standing,
    Over(Decision),
    Nothing,
}

impl BeginAttempt {
    async fn begin(mut self, call: &mut Call) -> Result<CommitTransaction> {
        let begun = self.write(call).await;
        begun.map_err(|error| {
            let node = self.commits.layout.transaction(&self.key.id);
            match &self.asked {
                Some(_) => describe_doubt(error, &self.key.id),
                None => error,
            }
            .with_path(node)
        })
    }

    async fn write(&mut self, call: &mut Call) -> Result<CommitTransaction> {
        let node = self.commits.layout.transaction(&self.key.id);
        let mut looked_in = None;
        loop {
            let server_session = call.server_session(BEGIN).await?;
            if looked_in != Some(server_session.session_id()) {
                self.look_at_parents(&server_session, call).await?;
                looked_in = Some(server_session.session_id());
            }
            if let Some(asked) = self.asked.clone() {
                if self.since.is_some_and(|since| nobody_can_know(call.now(), since)) {
                    return Err(Error::connection_lost(BEGIN));
                }
                match find_begun(&self.commits.layout, &server_session, call, &self.key, &asked).await? {
                    Some(BegunBefore::Standing) => return Ok(self.begun(None)),
                    Some(BegunBefore::Over(decision)) => return Ok(self.begun(Some(decision))),
                    Some(BegunBefore::Nothing) => self.asked = None,
                    None => call.retry_after_loss(BEGIN).await?,
                }
                continue;
            }
            let Some(depends_on) = self.commits.session_node(&server_session, call, BEGIN).await? else {
                continue;
            };
            let writes = self.writes(&depends_on);
            self.asked = Some(LostAttempt { session: server_session.session_id(), depends_on });
            let is_first = self.since.is_none();
            self.since.get_or_insert(call.now());
            match call.receive(BEGIN, server_session.multi(&writes)).await? {
                Ok(_) => {
                    if is_first {
                        self.since = None;
                    }
                    return Ok(self.begun(None));
                }
                Err(error) if error.is_unanswered() => call.retry_after_loss(BEGIN).await?,
                Err(WireError::Part { index, error }) if *error == WireError::NoNode => {
                    self.asked = None;
                    match index {
                        // Ours, and they come back.
                        0 | 1 => {
                            self.commits.forget_session_node(call).await?;
                            call.retry_after_loss(BEGIN).await?;
                        }
                        _ => {
                            self.make_folders(&server_session, call).await?;
                            // Others may have made them.
                            looked_in = None;
                        }
                    }
                }
                Err(WireError::Part { index, error }) if *error == WireError::NodeExists => {
                    self.asked = None;
                    return Err(refusal(WireError::NodeExists, BEGIN, writes[index].path()));
                }
                Err(error) => {
                    self.asked = None;
                    return Err(refusal(error, BEGIN, &node));
                }
            }
        }
    }

    /// Who may delete below them decides what sites hear of, and what is told of an outcome.
    async fn look_at_parents(&self, server_session: &Arc<ServerSession>, call: &mut Call) -> Result<()> {
        let layout = &self.commits.layout;
        let inboxes = self.header.sites.iter().map(|site| layout.inbox(site));
        let parents: Vec<_> = [layout.transactions(), layout.outcomes()].into_iter().chain(inboxes).collect();
        let parents: Vec<_> = parents.iter().map(String::as_str).collect();
        open_parents::look_below(&self.session, server_session, call, BEGIN, &layout.root, &parents).await
    }

    fn writes(&self, depends_on: &str) -> Vec<Write> {
        let (layout, key) = (&self.commits.layout, &self.key);
        let check = |path: String| Write::Check { path, version: None };
        let mut writes = vec![
            check(depends_on.to_owned()),
            // Or somebody takes it over at once.
            check(layout.presence(&self.coordinator)),
            create(layout.transaction(&key.id), self.header.encode()),
            create(layout.open(key), Vec::new()),
            create(layout.coordinator(key), self.coordinator.as_bytes().to_vec()),
        ];
        writes.extend(self.header.sites.iter().map(|site| create(layout.entry(site, key), Vec::new())));
        writes
    }

    /// It is the caller's from now on.
    fn begun(&mut self, known: Option<Decision>) -> CommitTransaction {
        self.asked = None;
        let (now, timeout) = (self.session.now(), self.header.timeout);
        // When it was in doubt, it may have begun long ago.
        let age = self.since.map_or(Duration::ZERO, |since| now.since(since));
        let deadline = now + timeout.saturating_sub(age).max(timeout / 2);
        let transaction = KnownTransaction::new(self.key.clone(), self.header.clone(), deadline);
        if let Some(known) = known {
            transaction.learn(known);
        }
        let Some(hand) = self.hand.take() else { unreachable!("it is begun once") };
        CommitTransaction::new(hand, Arc::new(transaction))
    }

    async fn make_folders(&self, server_session: &Arc<ServerSession>, call: &mut Call) -> Result<()> {
        let (layout, parents) = (&self.commits.layout, self.session.parents());
        let inboxes = self.header.sites.iter().map(|site| layout.inbox(site));
        for folder in std::iter::once(layout.transactions()).chain(inboxes) {
            if !call.make_path(BEGIN, server_session, &folder, parents).await? {
                break;
            }
        }
        Ok(())
    }
}

impl Drop for BeginAttempt {
    fn drop(&mut self) {
        // A forked child has no session.
        let Some(asked) = self.asked.take().filter(|_| self.session.process().is_present()) else { return };
        let (commits, session, hand) = (self.commits.clone(), self.session.clone(), self.hand.take());
        let (key, header, ending) = (self.key.clone(), self.header.clone(), commits.ending());
        let since = self.since.unwrap_or_else(|| session.now());
        drop(self.session.in_background(async move {
            match abort_if_begun(&commits, &session, &key, &header.sites, asked, since).await {
                Ok(Some(Outcome::Commit)) => commits.is_committed(key, header),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(target: "zkrecipes", event = "transaction_left", id = key.id, %error, "a transaction that was given up is left to `recover`");
                }
            }
            // In this order: who waits for it finds it in nobody's hand.
            drop(hand);
            drop(ending);
        }));
    }
}

/// Whether what others have left of a transaction that was begun then may be gone as well.
fn nobody_can_know(now: Moment, since: Moment) -> bool {
    now.since(since) > OUTCOME_STANDS / 2
}

/// The error of a begin of which nobody knows whether it has begun.
fn describe_doubt(error: Error, id: &str) -> Error {
    let why = match error.kind() {
        ErrorKind::ConnectionLost => "no ZooKeeper server answered within the retry budget".to_owned(),
        _ => error.message(),
    };
    let message = format!(
        "it is not known whether {id:?} has begun: {why}. It is aborted in the background, unless all its sites have voted before \
         that arrives. To find out, call recover of the same handle, which waits for that: it answers {id:?} if it was \
         committed, and if it does not, it was aborted or has never begun; only if no server answers for half a day nobody can know, and \
         the log says so (transaction_left)"
    );
    Error::new(error.kind(), message)
}

/// Whether the node of the transaction stands.
async fn is_begun(layout: &TransactionLayout, call: &mut Call, key: &Key) -> Result<bool> {
    let node = layout.transaction(&key.id);
    let asked = call.ask(BEGIN, |server| if_there(server.get_data(&node))).await;
    let found = asked.map_err(|failure| failure.about(BEGIN, &node))?;
    Ok(found.is_some_and(|(data, _)| Header::parse(&data).is_some_and(|found| found.nonce == key.nonce)))
}

/// What came of an attempt whose answer got lost; `None`: ask again. It may be over and cleared away by others already, and
/// nothing then keeps the same transaction from beginning a second time.
async fn find_begun(
    layout: &TransactionLayout,
    server_session: &Arc<ServerSession>,
    call: &mut Call,
    key: &Key,
    asked: &LostAttempt,
) -> Result<Option<BegunBefore>> {
    if server_session.session_id() == asked.session {
        // What was asked before in this session has been decided when this is answered.
        match call.receive(BEGIN, server_session.settle(&layout.root)).await? {
            Err(error) if error.is_unanswered() => return Ok(None),
            _ => {}
        }
    } else {
        let node = &asked.depends_on;
        // What is read behind it is not older: the server has answered it in turn.
        match call.ask(BEGIN, |server| server.delete(node, None)).await {
            Ok(()) | Err(Failure::Refused(WireError::NoNode)) => {}
            Err(failure) => return Err(failure.about(BEGIN, node)),
        }
    }
    if is_begun(layout, call, key).await? {
        return Ok(Some(BegunBefore::Standing));
    }
    let noted = layout.noted(key);
    let asked = call.ask(BEGIN, |server| if_there(server.get_data(&noted))).await;
    let outcome = asked.map_err(|failure| failure.about(BEGIN, &noted))?;
    let over = outcome.map(|(data, _)| BegunBefore::Over(Decision::parse(&data)));
    Ok(Some(over.unwrap_or(BegunBefore::Nothing)))
}

/// What may have begun is aborted, so that no site waits for its deadline, and nobody commits it after this. Answers what it
/// came to; `None`: it has not begun.
async fn abort_if_begun(
    commits: &Arc<Commits>,
    session: &Arc<Session>,
    key: &Key,
    sites: &[String],
    asked: LostAttempt,
    since: Moment,
) -> Result<Option<Outcome>> {
    let layout = &commits.layout;
    let mut call = session.call(None).outlasting();
    loop {
        let server_session = call.server_session(BEGIN).await?;
        match find_begun(layout, &server_session, &mut call, key, &asked).await? {
            None => call.retry_after_loss(BEGIN).await?,
            Some(BegunBefore::Nothing) if nobody_can_know(call.now(), since) => {
                return Err(Error::connection_lost(BEGIN));
            }
            Some(BegunBefore::Nothing) => return Ok(None),
            Some(BegunBefore::Over(decision)) => return Ok(Some(decision.outcome)),
            Some(BegunBefore::Standing) => {
                return abort_unless_committed(layout, &mut call, key, sites).await.map(Some);
            }
        }
    }
}
