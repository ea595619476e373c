//! One look at the inbox of a site: the list, and what is read of the entries in it.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use super::layout::{Key, TransactionLayout};
use super::nodes::{AT_ONCE, ReadNode, all_of, is_there, node};
use super::told::ToldEntries;
use crate::error::Result;
use crate::mutex::lock;
use crate::runtime::Later;
use crate::session::call::Call;
use crate::session::clock::Moment;
use crate::session::refusal::Failure;
use crate::session::wire::{Flight, Watch, WireError};

pub(super) const NEXT: &str = "next";

/// A look at the inbox: what is new there, and the watch that tells of more. A call that runs out of time leaves it to the next one,
/// or who has little time and a slow network would begin again and again.
pub(super) struct InboxLook {
    pub(super) looking: Later<Result<(Vec<ReadEntry>, Watch)>>,
    /// When a call last waited for it. What was read long ago is not the present.
    pub(super) waited: Moment,
    /// Changes when something is to be told again of which it may not know.
    pub(super) again: watch::Receiver<u64>,
}

/// What was read of an entry.
pub(super) struct ReadEntry {
    pub(super) key: Key,
    pub(super) whole: ReadNode,
    pub(super) vote: ReadNode,
    pub(super) is_open: bool,
}

pub(super) async fn look_at_inbox(
    layout: TransactionLayout,
    site: String,
    told: Arc<Mutex<ToldEntries>>,
    mut call: Call,
) -> Result<(Vec<ReadEntry>, Watch)> {
    let list = {
        let mut told = lock(&told);
        told.look_again_in_time(call.now());
        told.begin_list()
    };
    let (entries, news) = watch_inbox(&layout, &site, &mut call).await?;
    let new = lock(&told).take_new(list, entries);
    Ok((read_entries(&layout, &site, &mut call, &new).await?, news))
}

pub(super) async fn watch_inbox(
    layout: &TransactionLayout,
    site: &str,
    call: &mut Call,
) -> Result<(Vec<String>, Watch)> {
    let inbox = layout.inbox(site);
    loop {
        match call.ask(NEXT, |server| server.watch_children(&inbox)).await {
            Ok((entries, _, watch)) => return Ok((entries, watch)),
            Err(Failure::Refused(WireError::NoNode)) => {
                let asked = call.ask(NEXT, |server| server.watch_exists(&inbox)).await;
                if let (None, watch) = asked.map_err(|failure| failure.about(NEXT, &inbox))? {
                    return Ok((Vec::new(), watch));
                }
            }
            Err(failure) => return Err(failure.about(NEXT, &inbox)),
        }
    }
}

pub(super) async fn read_entries(
    layout: &TransactionLayout,
    site: &str,
    call: &mut Call,
    entries: &[String],
) -> Result<Vec<ReadEntry>> {
    // What is none of ours stays.
    let keys: Vec<_> = entries.iter().filter_map(|entry| Key::of_entry(entry)).collect();
    let mut all = Vec::new();
    for keys in keys.chunks(AT_ONCE) {
        let asked = call.ask(NEXT, |server| {
            // Behind a `sync`: of what a server has not heard yet, nobody has been done with.
            let sync = server.catch_up(&layout.root);
            let flights = keys.iter().map(|key| {
                let (whole, vote) = (layout.transaction(&key.id), layout.vote(key, site));
                let (whole, vote) = (node(server.get_data(&whole)), node(server.get_data(&vote)));
                let (key, open) = (key.clone(), is_there(server.exists(&layout.open(key))));
                let read: Flight<_> = Box::pin(async move {
                    let (whole, vote, is_open) = (whole.await?, vote.await?, open.await?);
                    Ok(ReadEntry { key, whole, vote, is_open })
                });
                read
            });
            let flights = flights.collect();
            async move {
                sync.await?;
                all_of(flights).await
            }
        });
        all.extend(asked.await.map_err(|failure| failure.about(NEXT, &layout.inbox(site)))?);
    }
    Ok(all)
}
