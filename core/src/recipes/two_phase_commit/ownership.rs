//! Whose a transaction is: how others know that its coordinator is there, which transactions this handle has in hand, and that
//! they are decided in the background.
//!
//! A mark in the transaction says whose it is, by the name of a coordinator. An ephemeral node of that name says that it is
//! there. `recover` of `coordinator` takes over what nobody has who is there.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use tokio::sync::Notify;

use super::inbox_room::InboxRoom;
use super::layout::{CommitMode, Header, Key, TransactionLayout};
use super::servers_time::ServersTime;
use super::transaction::KnownTransaction;
use crate::client::Client;
use crate::error::Result;
use crate::mutex::lock;
use crate::recipes::declared::declare;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::random;
use crate::session::refusal::refusal;
use crate::session::registration::{KeptNode, StartingNode};
use crate::session::server_session::ServerSession;
use crate::session::wire::{CreateMode, WireError};

/// What all transactions of one handle have in common.
pub(super) struct Commits {
    pub(super) client: Client,
    pub(super) layout: TransactionLayout,
    pub(super) mode: CommitMode,
    /// That this coordinator is there, from its first transaction on, and by which name.
    alive: Arc<tokio::sync::Mutex<Option<Alive>>>,
    hands: Hands,
    attended: AttendedTransactions,
    pub(super) servers_time: ServersTime,
    pub(super) room: InboxRoom,
}

/// That a coordinator is there.
struct Alive {
    /// Under which transactions say that they are its own.
    name: String,
    _registration: KeptNode,
    /// A node of one session, and the only one with that name. What is begun depends on it, so once it is deleted, nothing
    /// that was begun in that session comes true any more.
    session_node: Option<SessionNode>,
}

struct SessionNode {
    server_session: Weak<ServerSession>,
    path: String,
    /// Otherwise it may.
    stands: bool,
}

impl Drop for Alive {
    fn drop(&mut self) {
        if let Some(node) = self.session_node.take()
            && let Some(server_session) = node.server_session.upgrade()
            // A forked child has no session.
            && server_session.process().is_present()
            && !server_session.has_ended()
        {
            drop(server_session.delete_in_background(node.path, 0));
        }
    }
}

/// What a handle is at.
#[derive(Default)]
struct Hands {
    /// By nonce, the transactions that somebody has a handle on, or begins, and the version of the mark that says whose it is.
    held: Mutex<HashMap<String, Arc<AtomicI32>>>,
    /// Those whose begin was given up and that were committed all the same, until somebody is told.
    committed: Mutex<Vec<(Key, Header)>>,
    /// Those that are done with, and the servers have not been told.
    endings: Mutex<Endings>,
    ended: Notify,
}

/// What is on its way to the servers, by numbers in the order in which it began.
#[derive(Default)]
struct Endings {
    next: u64,
    under_way: BTreeSet<u64>,
}

impl Hands {
    fn held(&self) -> MutexGuard<'_, HashMap<String, Arc<AtomicI32>>> {
        lock(&self.held)
    }
}

/// Somebody has this transaction in hand. Dropped before it is over, `recover` answers it.
pub(super) struct Hand {
    pub(super) commits: Arc<Commits>,
    nonce: String,
    mark: Arc<AtomicI32>,
}

impl Hand {
    /// The version of the mark that says whose the transaction is: what somebody else has taken over is theirs to end.
    pub(super) fn mark(&self) -> i32 {
        self.mark.load(Ordering::Acquire)
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        // A forked child: a thread that stayed with the parent may have had the lock.
        if self.commits.client.process().is_present() {
            self.commits.hands.held().remove(&self.nonce);
        }
    }
}

/// Something is on its way to the servers.
pub(super) struct TransactionEnding {
    commits: Arc<Commits>,
    number: u64,
}

impl Drop for TransactionEnding {
    fn drop(&mut self) {
        // A forked child: a thread that stayed with the parent may have had the lock.
        if !self.commits.client.process().is_present() {
            return;
        }
        let hands = &self.commits.hands;
        let is_oldest = {
            let mut endings = lock(&hands.endings);
            let is_oldest = endings.under_way.first() == Some(&self.number);
            endings.under_way.remove(&self.number);
            is_oldest
        };
        if is_oldest {
            hands.ended.notify_waiters();
        }
    }
}

/// By nonce, what this coordinator sees to.
#[derive(Default)]
struct AttendedTransactions(Mutex<HashMap<String, Weak<KnownTransaction>>>);

/// A coordinator is there.
pub(super) struct Presence {
    _alive: Arc<tokio::sync::Mutex<Option<Alive>>>,
}

impl Commits {
    pub(super) fn new(client: Client, layout: TransactionLayout, mode: CommitMode) -> Commits {
        Commits {
            client,
            layout,
            mode,
            alive: Arc::default(),
            hands: Hands::default(),
            attended: AttendedTransactions::default(),
            servers_time: ServersTime::default(),
            room: InboxRoom::default(),
        }
    }

    /// The name by which this coordinator is there.
    pub(super) async fn alive(&self, session: &Arc<Session>, verb: &'static str) -> Result<String> {
        let mut alive = session.behind_others(self.alive.lock()).await?;
        if let Some(alive) = &*alive {
            return Ok(alive.name.clone());
        }
        let name = random::guid().simple().to_string();
        let identity = session.identity().as_bytes();
        let node = self.layout.presence(&name);
        let registration =
            declare(session, verb, &self.layout.root, node, identity, StartingNode::Missing).await?;
        *alive = Some(Alive { name: name.clone(), _registration: registration, session_node: None });
        Ok(name)
    }

    /// The node of this session on which everything depends that is begun in it; `None`: ask again.
    pub(super) async fn session_node(
        &self,
        server_session: &Arc<ServerSession>,
        call: &mut Call,
        verb: &str,
    ) -> Result<Option<String>> {
        let mut alive = call.wait_for(self.alive.lock()).await?;
        let Some(alive) = alive.as_mut() else { return Ok(None) };
        let path = format!("{}.{:x}", self.layout.presence(&alive.name), server_session.session_id());
        let is_of_this =
            |node: &&mut SessionNode| std::ptr::eq(node.server_session.as_ptr(), &**server_session);
        let node = match alive.session_node.as_mut().filter(is_of_this) {
            Some(node) if node.stands => return Ok(Some(path)),
            Some(node) => node,
            None => {
                let (server_session, path) = (Arc::downgrade(server_session), path.clone());
                alive.session_node.insert(SessionNode { server_session, path, stands: false })
            }
        };
        match call.receive(verb, server_session.create(&path, b"", CreateMode::Ephemeral)).await? {
            Ok(_) | Err(WireError::NodeExists) => {
                node.stands = true;
                Ok(Some(path))
            }
            // Collected when the last session ended. The coordinator's own node makes it, too, but where that is refused nobody is told.
            Err(WireError::NoNode) => {
                let (folder, parents) = (self.layout.coordinators(), call.session().parents());
                call.make_path(verb, server_session, &folder, parents).await.map(|_| None)
            }
            Err(error) => call.retry_or_refuse(error, verb, &path).await.map(|()| None),
        }
    }

    /// Somebody has deleted it.
    pub(super) async fn forget_session_node(&self, call: &mut Call) -> Result<()> {
        let mut alive = call.wait_for(self.alive.lock()).await?;
        if let Some(node) = alive.as_mut().and_then(|alive| alive.session_node.as_mut()) {
            node.stands = false;
        }
        Ok(())
    }

    /// A transaction whose mark has that version. `None`: somebody has it already, and knows the version then: others may have taken
    /// it over meanwhile, and this handle from them.
    pub(super) fn take_in_hand(self: &Arc<Self>, nonce: &str, mark: i32) -> Option<Hand> {
        if let Some(attended) = self.attended(nonce) {
            attended.mark.fetch_max(mark, Ordering::AcqRel);
        }
        let mut held = self.hands.held();
        if let Some(known) = held.get(nonce) {
            known.fetch_max(mark, Ordering::AcqRel);
            return None;
        }
        let mark = Arc::new(AtomicI32::new(mark));
        held.insert(nonce.to_owned(), mark.clone());
        Some(Hand { commits: self.clone(), nonce: nonce.to_owned(), mark })
    }

    /// Whoever began it has given it up, and it was committed: `recover` tells.
    pub(super) fn is_committed(&self, key: Key, header: Header) {
        self.committed().push((key, header));
    }

    pub(super) fn committed(&self) -> MutexGuard<'_, Vec<(Key, Header)>> {
        lock(&self.hands.committed)
    }

    /// The servers are to be told of something, until that is dropped.
    pub(super) fn ending(self: &Arc<Self>) -> TransactionEnding {
        let mut endings = lock(&self.hands.endings);
        let number = endings.next;
        endings.next += 1;
        endings.under_way.insert(number);
        TransactionEnding { commits: self.clone(), number }
    }

    /// Waits until the servers have been told of everything that this handle is done with by now, or that was given up. What comes
    /// after that is not waited for: there may be no end of it.
    pub(super) async fn wait_until_told(&self, call: &mut Call, verb: &str) -> Result<()> {
        let told = async {
            let until = lock(&self.hands.endings).next;
            loop {
                let mut ended = std::pin::pin!(self.hands.ended.notified());
                ended.as_mut().enable();
                if lock(&self.hands.endings).under_way.first().is_none_or(|oldest| *oldest >= until) {
                    return Ok(());
                }
                ended.await;
            }
        };
        call.receive(verb, told).await?.map_err(|error: WireError| refusal(error, verb, &self.layout.root))
    }

    /// Somebody sees to this transaction from now on.
    pub(super) fn is_attended(&self, transaction: &Arc<KnownTransaction>) {
        let mut attended = lock(&self.attended.0);
        attended.retain(|_, transaction| transaction.strong_count() > 0);
        attended.insert(transaction.key.nonce.clone(), Arc::downgrade(transaction));
    }

    /// That this coordinator is there, for as long as that is kept.
    pub(super) fn presence(&self) -> Presence {
        Presence { _alive: self.alive.clone() }
    }

    /// The transaction of this nonce, if it is attended to.
    pub(super) fn attended(&self, nonce: &str) -> Option<Arc<KnownTransaction>> {
        lock(&self.attended.0).get(nonce).and_then(Weak::upgrade)
    }
}
