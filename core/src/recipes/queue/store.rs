//! What one handle of a queue works with: what all handles of its client share, and its own options.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::sync::{Arc, Mutex, Weak};

use super::keys;
use super::layout::NodeLayout;
use super::listing::ItemListing;
use super::next_item::SharedQueue;
use super::put::Puts;
use super::put_answer::PutAnswer;
use crate::error::Result;
use crate::mutex::lock;
use crate::options::QueueOptions;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::wire::{CreateMode, Write};

/// The same for one handle, with its options.
pub(super) struct Store {
    shared: Arc<SharedQueue>,
    pub(super) puts: Arc<Puts>,
    pub(super) options: QueueOptions,
    /// Where the stores of other queues are to be found.
    pub(super) stores: Arc<Stores>,
}

/// What the handles of one client share, by queue.
#[derive(Default)]
pub(super) struct Stores(Mutex<BTreeMap<Arc<NodeLayout>, KnownQueue>>);

/// What of a queue is in use. What is handed out may outlast the handles.
type KnownQueue = (Weak<SharedQueue>, Weak<ItemListing>);

impl Deref for Store {
    type Target = Arc<SharedQueue>;

    fn deref(&self) -> &Arc<SharedQueue> {
        &self.shared
    }
}

impl Store {
    pub(super) fn of(stores: &Arc<Stores>, layout: NodeLayout, options: QueueOptions) -> Arc<Store> {
        let mut known = lock(&stores.0);
        let shared = known.get(&layout).and_then(|(shared, _)| shared.upgrade()).unwrap_or_else(|| {
            known.retain(|_, (_, listing)| listing.strong_count() > 0);
            let listing = known.get(&layout).and_then(|(_, listing)| listing.upgrade());
            let listing = listing.unwrap_or_else(|| ItemListing::new(Arc::new(layout)));
            let shared = Arc::new(SharedQueue::new(listing));
            let known_again = (Arc::downgrade(&shared), Arc::downgrade(&shared.listing));
            known.insert(shared.layout.clone(), known_again);
            shared
        });
        let puts = shared.puts(options.max_items);
        Arc::new(Store { shared, puts, options, stores: stores.clone() })
    }

    /// Puts items of that priority, or due then, in order, behind what was to be put before.
    pub(super) fn begin_put(&self, call: &Call, items: Vec<Vec<u8>>, key: i64) -> Result<PutAnswer> {
        self.check_sizes(call.session(), &items, key)?;
        let path = self.layout.fresh(key)?;
        let writes: VecDeque<_> = items.iter().map(|item| self.write(path.clone(), item)).collect();
        Ok(self.puts.begin(call, writes, None))
    }

    /// The same of one item, once for what makes the node of its key.
    pub(super) fn begin_put_once(
        &self,
        call: &Call,
        item: &[u8],
        key: i64,
        once: Box<Write>,
    ) -> Result<PutAnswer> {
        let write = self.write(self.layout.fresh(key)?, item);
        self.puts.check_size(call.session(), &write, Some(&once))?;
        self.puts.check_room_for_keys(call.session())?;
        Ok(self.puts.begin(call, VecDeque::from([write]), Some(once)))
    }

    /// What makes the node of a key.
    pub(super) fn write_of_key(&self, key: &str) -> Result<Write> {
        keys::write_of(&self.layout.keys, key, self.options.key_window)
    }

    /// Whether a put with this key is done, where it might have to wait for room. Only then is it worth a request.
    pub(super) async fn is_put_without_waiting(&self, call: &mut Call, key: &str) -> bool {
        // Without an answer the put itself will tell.
        self.options.max_items.is_some() && self.puts.is_taken(call, key).await.unwrap_or(false)
    }

    /// TooLarge if one of them goes into no transaction.
    pub(super) fn check_sizes(&self, session: &Session, items: &[Vec<u8>], key: i64) -> Result<()> {
        let Some(largest) = items.iter().max_by_key(|item| item.len()) else { return Ok(()) };
        self.puts.check_size(session, &self.write(self.layout.fresh(key)?, largest), None)
    }

    fn write(&self, path: String, item: &[u8]) -> Write {
        let mode = match self.options.ephemeral {
            true => CreateMode::EphemeralSequential,
            false => CreateMode::PersistentSequential,
        };
        Write::Create { path, data: self.layout.encode(item), mode, acl: None }
    }
}
