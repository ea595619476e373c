//! How much may be left undone. A begin is refused when one of its sites has too much in its inbox: that site is gone for long, or
//! never acknowledges; and when there are too many transactions, because nobody asks for the outcomes of what was committed. Neither
//! can be deleted without asking: the site may have voted for a commit, and the coordinator is to find it.
//!
//! The counts are looked at now and then, and not in the write: so those that begin at the same time may pass them, by as many
//! as are begun between two looks.

use std::collections::HashMap;
use std::sync::Mutex;

use super::layout::TransactionLayout;
use super::nodes::{all_of, children_of};
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::session::call::Call;

const BEGIN: &str = "begin";
/// How many nodes an inbox may have, and the folder of the transactions. The names of so many are a list that fits into a packet,
/// with ids of up to 65 letters.
const MOST: usize = 10_000;
/// How many a handle begins between two looks, at most.
const BETWEEN: usize = 100;
/// Of how many folders it is remembered how many may still begin. With more, all are looked at again.
const MOST_FOLDERS: usize = 1000;

/// By folder, how many more may begin before it is looked at.
#[derive(Default)]
pub(super) struct InboxRoom(Mutex<HashMap<String, usize>>);

impl InboxRoom {
    /// One more is to begin with these sites. TooLarge: it may not.
    pub(super) async fn admit(
        &self,
        layout: &TransactionLayout,
        call: &mut Call,
        sites: &[&str],
    ) -> Result<()> {
        let inboxes = sites.iter().map(|site| (layout.inbox(site), Some(*site)));
        let folders: Vec<_> = std::iter::once((layout.transactions(), None)).chain(inboxes).collect();
        let unknown: Vec<_> = {
            let mut known = lock(&self.0);
            if known.len() > MOST_FOLDERS {
                known.clear();
            }
            let is_used_up = |(folder, _): &&(String, Option<&str>)| match known.get_mut(folder) {
                None | Some(0) => true,
                Some(left) => {
                    *left -= 1;
                    false
                }
            };
            folders.iter().filter(is_used_up).collect()
        };
        if unknown.is_empty() {
            return Ok(());
        }
        let asked = call.ask(BEGIN, |server| {
            all_of(unknown.iter().map(|(folder, _)| children_of(server.exists(folder))).collect())
        });
        let counts = asked.await.map_err(|failure| failure.about(BEGIN, &layout.root))?;
        for ((folder, site), there) in unknown.into_iter().zip(counts) {
            let left = MOST.saturating_sub(there);
            if left == 0 {
                return Err(too_many(there, *site).with_path(&**folder));
            }
            // This one is to begin, too.
            lock(&self.0).insert(folder.clone(), left.min(BETWEEN) - 1);
        }
        Ok(())
    }
}

fn too_many(there: usize, site: Option<&str>) -> Error {
    let message = match site {
        Some(site) => format!(
            "too large: the inbox of site {site:?} has {there} transactions that it has not acknowledged, and nothing more begins \
             with it at {MOST}. Let it come back, or let somebody join by its name, and acknowledge what pending answers; and ask \
             what recover answers for its outcome"
        ),
        None => format!(
            "too large: {there} transactions are not over, and nothing more begins at {MOST}. Ask those that were begun for \
             their outcome, and what recover answers; and let sites acknowledge. What was aborted goes by itself within a minute, once \
             its sites have acknowledged. history says what each waits for"
        ),
    };
    Error::new(ErrorKind::TooLarge, message)
}
