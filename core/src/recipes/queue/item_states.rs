//! How the items of a queue stand, one by one, for people who look, and who take the claim of one away.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::dead_letters::date;
use super::layout::{self, ItemName};
use super::looking;
use super::store::Store;
use crate::error::Result;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::wire::{WireError, Write};

const VERB: &str = "ls";
const BREAK: &str = "break";

/// An item, and how it stands.
#[derive(Clone, Debug)]
pub struct ListedItem {
    /// The path of its node.
    pub path: String,
    pub state: ListedState,
    /// How often it was claimed, its claim included, and claims that ended before anybody was given them. `None` if it may not be
    /// read, as for its data, or beyond two billion.
    pub attempts: Option<u32>,
    pub data: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
pub enum ListedState {
    /// It can be taken.
    Ready,
    /// It steps aside, or is not due, for so long.
    Delayed(Duration),
    /// Somebody works on it; `None` if it may not be read who.
    Claimed(Option<ListedClaim>),
}

#[derive(Clone, Debug)]
pub struct ListedClaim {
    pub identity: String,
    pub session_id: i64,
    pub since: SystemTime,
}

/// The first of a store's items in order, so many at most, with their data.
pub(super) async fn list(store: &Store, session: &Arc<Session>, most: usize) -> Result<Vec<ListedItem>> {
    let (layout, mut call) = (&store.layout, session.call(None).reading());
    let (names, beside, are_items_newer) = store.list_names(&mut call, VERB, true).await?;
    let (now, wall) = (session.now(), session.clock().wall());
    let (free, _) = layout::free(layout, &names, &beside, are_items_newer);
    let free: HashMap<String, Duration> = free
        .into_iter()
        .map(|item| {
            let early = u64::try_from(item.name.key.saturating_sub(wall)).unwrap_or(0);
            let until_due = if layout.is_early(&item.name, wall) { early } else { 0 };
            let left = store.listing.pause_left(&item, now, wall).max(Duration::from_millis(until_due));
            (item.name.text, left)
        })
        .collect();
    let mut names = layout.sort(&names);
    names.truncate(most);

    let mut claims = HashMap::new();
    let claimed: Vec<ItemName> =
        names.iter().filter(|name| !free.contains_key(&name.text)).cloned().collect();
    looking::each(&layout.claims, &mut call, VERB, &claimed, |name, read| {
        let claim = read.ok().map(|(identity, stat)| ListedClaim {
            identity: who_claims(&identity),
            session_id: stat.ephemeral_owner,
            since: date(&stat),
        });
        claims.insert(name.text.clone(), claim);
    })
    .await?;

    let mut listed = Vec::new();
    looking::each(&layout.items, &mut call, VERB, &names, |name, read| {
        let state = match (free.get(&name.text), claims.get(&name.text)) {
            (Some(left), _) if !left.is_zero() => ListedState::Delayed(*left),
            (None, Some(claim)) => ListedState::Claimed(claim.clone()),
            // Also one whose claim was gone by the time that it was looked at.
            _ => ListedState::Ready,
        };
        let (data, attempts) = match read {
            Ok((bytes, stat)) => (Some(bytes), u32::try_from(stat.version).ok()),
            Err(_) => (None, None),
        };
        let data = data.map(|bytes| layout.decode(&bytes).map_or(bytes, |(data, _)| data));
        let path = path::join(&layout.items, &name.text);
        listed.push(ListedItem { path, state, attempts, data });
    })
    .await?;
    Ok(listed)
}

/// Who has a claim that says this: behind the identity ours have a mark that tells one claim from another.
pub(in crate::recipes) fn who_claims(said: &[u8]) -> String {
    let said = String::from_utf8_lossy(said);
    let is_mark = |mark: &str| mark.len() == 32 && mark.bytes().all(|byte| byte.is_ascii_hexdigit());
    match said.rsplit_once(' ') {
        Some((who, mark)) if is_mark(mark) => who.to_owned(),
        _ => said.into_owned(),
    }
}

/// Takes the claim of the item at that path away; answers who had it, and `None` if nobody has. Not that of one of ours who claims it
/// meanwhile: each claim raises the version of the item. kazoo's claims do not, and no request can tell one of them from the next.
pub(super) async fn break_claim(store: &Store, call: &mut Call, item: &str) -> Result<Option<String>> {
    let claim = path::join(&store.layout.claims, path::name(item));
    let Some(stat) = looking::stat(call, BREAK, item).await? else { return Ok(None) };
    let said = looking::now(call, BREAK, &claim, |server| server.get_data(&claim)).await?;
    let Some((said, _)) = said else { return Ok(None) };
    let who = || who_claims(&said);
    let writes = [
        Write::Check { path: item.to_owned(), version: Some(stat.version) },
        Write::Delete { path: claim.clone(), version: None },
    ];
    let mut is_in_doubt = false;
    loop {
        let server_session = call.server_session(BREAK).await?;
        match call.receive(BREAK, server_session.multi(&writes)).await? {
            Ok(_) => return Ok(Some(who())),
            // Its work is done.
            Err(WireError::Part { index: 0, error }) if *error == WireError::NoNode => return Ok(None),
            Err(WireError::Part { error, .. })
                if matches!(*error, WireError::NoNode | WireError::BadVersion) =>
            {
                return Ok(is_in_doubt.then(who));
            }
            Err(error) => {
                is_in_doubt = true;
                call.retry_or_refuse(error, BREAK, &claim).await?;
            }
        }
    }
}
