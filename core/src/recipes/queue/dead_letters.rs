//! Dead letters: items that were claimed as often as is allowed, or that nobody can read. They are a queue of their own, beside that
//! which they come from, with the same names, so that they can be put back as what they were. The data of one begins with how
//! often it was claimed and why it is there.
//!
//! An item goes there with its last `nack` (`claim`), or when whoever reads it next finds that its last claimer has crashed.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::dead_letter_header::DeadLetterHeader;
use super::layout::{ItemName, NodeLayout, make_claims, make_items};
use super::listing::{HandedOutItem, ReadItem};
use super::looking;
use super::store::Store;
use super::unseen_claims::UnseenClaims;
use crate::error::{Error, ErrorKind, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::once::AppliedOnce;
use crate::session::open_parents;
use crate::session::refusal::refusal;
use crate::session::server_session::catching_up::Beginning;
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::{CreateMode, Stat, WireError, Write};

const VERB: &str = "moving an item to the dead letters";
pub(super) const REPLAY: &str = "replay";
const PURGE: &str = "purge";
/// How many go in one transaction.
const PURGED_AT_ONCE: usize = 100;
const UNSETTLED: &str = "whoever claimed it last did not acknowledge it";
const UNREADABLE: &str = "its data is not in the encoding of this queue";

impl Store {
    /// Whether an item that was claimed so often has been claimed as often as is allowed.
    pub(super) fn has_no_attempt_left(&self, claims: i32) -> bool {
        let most = self.options.max_attempts;
        most > 0 && u32::try_from(claims).is_ok_and(|claims| claims >= most)
    }

    /// What makes a dead letter of an item, and the same without what does not fit into a packet with its data.
    pub(super) fn dead_letter_writes(
        &self,
        name: &ItemName,
        header: DeadLetterHeader,
        data: &[u8],
    ) -> [Write; 3] {
        let layout = &self.layout;
        let without_reason = DeadLetterHeader { reason: None, ..header };
        [header.join(data), without_reason.join(data), data.to_vec()].map(|data| {
            let path = layout.again(name, &layout.dead());
            Write::Create { path, data, mode: CreateMode::PersistentSequential, acl: None }
        })
    }

    /// The item with its data and what is left for others in its node; `None` if it was moved, because it was claimed as
    /// often as is allowed, or because nobody can read it. Where none may be moved, the latter is skipped, and
    /// the log names it once.
    pub(super) async fn move_if_dead(
        &self,
        call: &mut Call,
        verb: &str,
        out: HandedOutItem,
        seen: &ReadItem,
    ) -> Result<Option<(HandedOutItem, Vec<u8>, Option<Vec<u8>>)>> {
        let (bytes, version, session) = (&*seen.bytes, seen.stat.version, &call.session().clone());
        let unseen = match self.has_no_attempt_left(version) {
            true => self.unseen_claims(call, verb, &out.name.text, seen.stat.czxid).await?,
            false => UnseenClaims::default(),
        };
        let is_alive = !self.has_no_attempt_left(version - unseen.count);
        let (reason, data, rest) = match self.layout.decode(bytes) {
            Ok((data, rest)) if is_alive => return Ok(Some((out, data, rest))),
            Err(_) if self.options.max_attempts == 0 => {
                session.skip(&out.path(), Flaw::Encoding);
                out.mark_unreadable();
                return Ok(None);
            }
            Ok((data, Some(rest))) => (UNSETTLED, self.layout.encode(&data), Some(rest)),
            Ok((_, None)) => (UNSETTLED, bytes.to_vec(), None),
            Err(_) => (UNREADABLE, bytes.to_vec(), None),
        };
        let header = DeadLetterHeader { attempts: version as u32, reason: Some(reason.to_owned()) };
        let node = out.path();
        // It stands in nobody's way also where nobody can move it.
        let name = out.name.text.clone();
        // All of it is one transaction, so it may be left alone when the caller's time is over.
        let moved = self.move_to_dead_letters(session, out, header, &data, rest, (seen, unseen.end));
        match call.wait_for(moved).await? {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::Denied
                        | ErrorKind::TooLarge
                        | ErrorKind::Invalid
                        | ErrorKind::Exists
                        | ErrorKind::NotEmpty
                ) =>
            {
                let path = &self.layout.path;
                if self.listing.set_unburied_aside(session, &name) {
                    tracing::warn!(target: "zkrecipes", event = "item_not_buried", path, node, %error, "an item that is over cannot go to the dead letters; it is skipped, and tried again every half a minute");
                }
            }
            buried => buried?,
        }
        Ok(None)
    }

    /// Takes an item out of the node at `path`. What is left goes to the end, where attempts count: they are counted by
    /// node, and nobody has tried these.
    pub(super) fn removal_of(
        &self,
        name: &ItemName,
        path: String,
        rest: Option<Vec<u8>>,
        version: i32,
    ) -> (Vec<Write>, bool) {
        let (layout, version) = (&self.layout, Some(version));
        match rest {
            None => (vec![Write::Delete { path, version }], true),
            Some(data) if self.options.max_attempts == 0 => (vec![Write::Set { path, data, version }], false),
            Some(data) => {
                let (end, mode) = (layout.again(name, layout), CreateMode::PersistentSequential);
                let rest = Write::Create { path: end, data, mode, acl: None };
                // In this order: if the parent is gone, the answer is that the item is.
                (vec![Write::Delete { path, version }, rest], true)
            }
        }
    }

    pub(super) async fn make_dead_parent(&self, session: &Arc<Session>) -> Result<()> {
        make_items(session, &mut session.call(None), VERB, &self.layout.dead().items).await
    }

    /// Who may delete the dead letters decides what becomes of them.
    pub(super) async fn look_at_dead_parent(&self, session: &Arc<Session>, call: &mut Call) -> Result<()> {
        let (server_session, items) = (call.server_session(VERB).await?, self.layout.dead().items);
        open_parents::look(session, &server_session, call, VERB, &items).await
    }

    /// Moves an item whose last claimer has crashed. If somebody claims it just now, it is theirs.
    async fn move_to_dead_letters(
        &self,
        session: &Arc<Session>,
        out: HandedOutItem,
        header: DeadLetterHeader,
        data: &[u8],
        rest: Option<Vec<u8>>,
        (seen, end_of_unseen): (&ReadItem, Vec<Write>),
    ) -> Result<()> {
        let layout = &self.layout;
        let mut letters = self.dead_letter_writes(&out.name, header, data).into_iter();
        let mut writes = layout.proof_of_no_claim(session, &out.name.text).to_vec();
        writes.extend(letters.next());
        writes.extend(self.removal_of(&out.name, out.path(), rest, seen.stat.version).0);
        writes.extend(layout.end_of_pause(&out.name.text, out.pause.as_deref(), seen.stat.version));
        writes.extend(end_of_unseen);
        let about_item = writes.len();
        writes.extend(seen.same_parent.clone());
        let mut call = session.call(None);
        self.look_at_dead_parent(session, &mut call).await?;
        loop {
            let outcome = match self.marks.apply_seen(session, &mut call, VERB, &writes, seen.on).await {
                Err(error) if error.kind() == ErrorKind::TooLarge => match letters.next() {
                    Some(shorter) => {
                        writes[2] = shorter;
                        continue;
                    }
                    None => return Err(error),
                },
                outcome => outcome?,
            };
            match outcome {
                Some(AppliedOnce::Refused(0, WireError::NoNode)) => {
                    make_claims(session, &mut call, VERB, layout).await?;
                }
                Some(AppliedOnce::Refused(2, WireError::NoNode)) => self.make_dead_parent(session).await?,
                Some(AppliedOnce::Applied) => {
                    session.counters.dead_letters.one();
                    out.mark_removed();
                    return Ok(());
                }
                // The server names them.
                Some(AppliedOnce::Refused(2, WireError::NodeExists)) => {
                    let message = "the server's numbers for the dead letters are used up; replay or take them all, and delete \
                                   their node: then the numbers begin anew";
                    return Err(Error::new(ErrorKind::Exists, message).with_path(layout.dead().items));
                }
                Some(AppliedOnce::Refused(part, WireError::BadVersion | WireError::NoNode))
                    if part == about_item =>
                {
                    out.mark_moved();
                    return Ok(());
                }
                // Claimed and given back since it was read, or to be read again.
                None | Some(AppliedOnce::Refused(_, WireError::BadVersion)) => return Ok(()),
                Some(AppliedOnce::Refused(_, WireError::NoNode | WireError::NodeExists)) => {
                    out.mark_gone();
                    return Ok(());
                }
                Some(AppliedOnce::Refused(_, error)) => return Err(refusal(error, VERB, &layout.path)),
            }
        }
    }

    /// Puts a dead letter back as it is no earlier than that beginning, in a transaction that is applied once; false when somebody else
    /// has it or works on it, or nobody may read it.
    pub(super) async fn replay_one(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        name: &ItemName,
        beginning: &Beginning,
    ) -> Result<bool> {
        let (layout, dead, verb) = (&self.layout, self.layout.dead(), REPLAY);
        let node = path::join(&dead.items, &name.text);
        loop {
            let (server_session, on) = call.connection(verb).await?;
            let read = server_session.since(beginning, &node, || server_session.get_data(&node));
            let (data, stat) = match call.receive(verb, read).await? {
                Ok(read) => read,
                Err(WireError::NoNode) => return Ok(false),
                Err(WireError::NoAuth) => {
                    session.skip(&node, Flaw::Denied);
                    return Ok(false);
                }
                Err(error) => {
                    call.retry_or_refuse(error, verb, &node).await?;
                    continue;
                }
            };
            let mut writes = removal_of_letter(session, &dead, name, Some(stat.version));
            let (end, mode) = (dead.again(name, layout), CreateMode::PersistentSequential);
            let data = DeadLetterHeader::split(&data).1.to_vec();
            writes.push(Write::Create { path: end, data, mode, acl: None });
            let item = writes.len() - 1;
            match self.marks.apply_seen(session, call, verb, &writes, on).await? {
                Some(AppliedOnce::Applied) => return Ok(true),
                Some(AppliedOnce::Refused(at, WireError::NoNode)) if at == item => {
                    make_items(session, call, verb, &layout.items).await?;
                }
                Some(AppliedOnce::Refused(at, WireError::NoNode)) if is_create(&writes[at]) => {
                    make_claims(session, call, verb, &dead).await?;
                }
                Some(AppliedOnce::Refused(at, error)) if at < item && is_anothers(&error) => {
                    return Ok(false);
                }
                Some(AppliedOnce::Refused(_, error)) => return Err(refusal(error, verb, &layout.path)),
                None => {}
            }
        }
    }

    /// Deletes the dead letters that have been there for so long; answers how many. Those that somebody has claimed stay.
    pub(super) async fn purge(&self, session: &Arc<Session>, older_than: Duration) -> Result<usize> {
        let (mut call, dead) = (session.call(None), self.layout.dead());
        let age = i64::try_from(older_than.as_millis()).unwrap_or(i64::MAX);
        // All of them, whatever the clock of the server says.
        let latest = if age == 0 { i64::MAX } else { session.clock().wall().saturating_sub(age) };
        let mut purged = 0;
        for letters in looking::list(&dead, &mut call, PURGE).await?.chunks(PURGED_AT_ONCE) {
            purged += self.purge_some(session, &mut call, &dead, letters.to_vec(), latest).await?;
        }
        Ok(purged)
    }

    /// The same for these, in one transaction, but for those that somebody else has by then.
    async fn purge_some(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        dead: &NodeLayout,
        mut letters: Vec<ItemName>,
        latest: i64,
    ) -> Result<usize> {
        loop {
            let (server_session, on) = call.connection(PURGE).await?;
            let nodes: Vec<_> = letters.iter().map(|letter| path::join(&dead.items, &letter.text)).collect();
            let looks: Vec<_> = nodes.iter().map(|node| server_session.exists(node)).collect();
            // Each write with the letter that it is about.
            let (mut writes, mut about, mut old) = (Vec::new(), Vec::new(), 0);
            for (at, look) in looks.into_iter().enumerate() {
                match call.receive(PURGE, look).await? {
                    Ok(Some(stat)) if stat.ctime <= latest => {
                        let letter = removal_of_letter(session, dead, &letters[at], Some(stat.version));
                        about.extend(letter.iter().map(|_| at));
                        writes.extend(letter);
                        old += 1;
                    }
                    Ok(_) => {}
                    // Some servers tell nothing of one that may not be read. Where all are to go its date does not matter.
                    Err(WireError::NoAuth) if latest == i64::MAX => {
                        let letter = removal_of_letter(session, dead, &letters[at], None);
                        about.extend(letter.iter().map(|_| at));
                        writes.extend(letter);
                        old += 1;
                    }
                    Err(WireError::NoAuth) => session.skip(&nodes[at], Flaw::Denied),
                    Err(error) if error.is_unanswered() => {}
                    Err(error) => return Err(refusal(error, PURGE, &nodes[at])),
                }
            }
            if server_session.connection() != Some(on) {
                call.retry_after_loss(PURGE).await?;
                continue;
            }
            if old == 0 {
                return Ok(0);
            }
            match self.marks.apply_seen(session, call, PURGE, &writes, on).await? {
                Some(AppliedOnce::Applied) => return Ok(old),
                Some(AppliedOnce::Refused(at, WireError::NoNode)) if is_create(&writes[at]) => {
                    make_claims(session, call, PURGE, dead).await?;
                }
                Some(AppliedOnce::Refused(at, error)) if is_anothers(&error) => {
                    drop(letters.remove(about[at]))
                }
                Some(AppliedOnce::Refused(at, error)) => {
                    return Err(refusal(error, PURGE, &nodes[about[at]]));
                }
                None => {}
            }
        }
    }
}

/// What removes a dead letter of this version, if one is known, and if nobody works on it.
fn removal_of_letter(
    session: &Session,
    dead: &NodeLayout,
    letter: &ItemName,
    version: Option<i32>,
) -> Vec<Write> {
    let mut writes = Vec::new();
    if version != Some(0) || dead.has_claims_of_peers {
        writes.extend(dead.proof_of_no_claim(session, &letter.text));
    }
    writes.push(Write::Delete { path: path::join(&dead.items, &letter.text), version });
    writes
}

fn is_create(write: &Write) -> bool {
    matches!(write, Write::Create { .. })
}

/// Whether it says that somebody else has a letter, or has put something below it.
fn is_anothers(error: &WireError) -> bool {
    matches!(error, WireError::NoNode | WireError::BadVersion | WireError::NodeExists | WireError::NotEmpty)
}

/// An item that is over: [`DeadLetters::items`](crate::DeadLetters::items).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// The name of its node among the dead letters.
    pub id: String,
    /// What was put; of a letter with a `problem` what stands in its node.
    pub data: Vec<u8>,
    /// What was said with the last `nack`, or what the library knows of it.
    pub reason: Option<String>,
    /// How often it was claimed; zero if that is not known.
    pub attempts: u32,
    /// When it came to the dead letters, by the clock of the server. Of one that may not be read servers from 3.8.4 and 3.9.2 on do
    /// not tell it: then this is the beginning of 1970.
    pub died_at: SystemTime,
    /// Why it cannot be read, if so. It stands in nobody's way, and nobody takes it.
    pub problem: Option<String>,
}

impl DeadLetter {
    pub(super) fn new(id: &str, bytes: &[u8], stat: &Stat) -> DeadLetter {
        let (DeadLetterHeader { attempts, reason }, data) = DeadLetterHeader::split(bytes);
        let died_at = date(stat);
        DeadLetter { id: id.to_owned(), data: data.to_vec(), reason, attempts, died_at, problem: None }
    }

    /// One that may not be read. When it came is asked for by itself.
    fn unread(id: &str, problem: &Error) -> DeadLetter {
        let (data, died_at) = (Vec::new(), SystemTime::UNIX_EPOCH);
        let problem = Some(problem.to_string());
        DeadLetter { id: id.to_owned(), data, reason: None, attempts: 0, died_at, problem }
    }
}

/// When a node was made.
pub(super) fn date(stat: &Stat) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(stat.ctime).unwrap_or(0))
}

/// All dead letters, in order; also those that cannot be read, which say so.
pub(super) async fn letters(layout: &NodeLayout, session: &Arc<Session>) -> Result<Vec<DeadLetter>> {
    let (mut call, verb) = (session.call(None).reading(), "items");
    let names = looking::list(layout, &mut call, verb).await?;
    let (mut letters, mut unread) = (Vec::new(), Vec::new());
    looking::each(&layout.items, &mut call, verb, &names, |name, read| {
        let node = path::join(&layout.items, &name.text);
        match read {
            Ok((bytes, stat)) => {
                let mut letter = DeadLetter::new(&name.text, &bytes, &stat);
                if let Err(error) = layout.decode(&bytes).map(|(data, _)| letter.data = data) {
                    session.skip(&node, Flaw::Encoding);
                    letter.problem = Some(error.to_string());
                }
                letters.push(letter);
            }
            Err(error) => {
                session.skip(&node, Flaw::Denied);
                unread.push((letters.len(), node));
                letters.push(DeadLetter::unread(&name.text, &error));
            }
        }
    })
    .await?;
    for (at, node) in unread {
        match call.ask(verb, |server| server.exists(&node)).await {
            Ok(Some(stat)) => letters[at].died_at = date(&stat),
            // Gone meanwhile.
            Ok(None) => {}
            // From 3.8.4 and 3.9.2 servers want the right to read for this as well, and there is none to have.
            Err(failure) if failure.is(&WireError::NoAuth) => break,
            Err(failure) => return Err(failure.about(verb, &node)),
        }
    }
    Ok(letters)
}
