//! Keys of a queue where nobody puts with keys any more: who takes items looks after them.
//!
//! 1. Once in a key window, and first when it has taken items for as long as one, a client lists the buckets, unless it puts with keys
//!    itself. Nobody waits for that.
//! 2. Where there are some it looks at a few of them, anywhere, and deletes what has passed there, as who puts does.

use std::sync::Arc;
use std::time::Duration;

use super::keys::{MOST_BUCKETS, MOST_PUTS, PutKeys, READ_PER_PUT, UnderUpkeep};
use super::room::VERB;
use super::store::Store;
use crate::error::Result;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Moment;
use crate::session::random;
use crate::session::refusal::Failure;
use crate::session::wire::WireError;

impl Store {
    /// Somebody takes items.
    pub(super) fn look_after_keys(&self, session: &Arc<Session>) {
        let Some(looking) = self.puts.keys.begin_sweep(session.now(), self.options.key_window) else {
            return;
        };
        let about = session.clone();
        drop(session.server_session().in_background(async move {
            let mut call = about.call(None).outlasting();
            // What could not be looked at is looked at another time.
            let _ = looking.0.sweep(&about, &mut call).await;
        }));
    }
}

impl PutKeys {
    async fn sweep(&self, session: &Arc<Session>, call: &mut Call) -> Result<()> {
        let mut buckets = match call.ask(VERB, |server| server.children(&self.root)).await {
            Ok(buckets) => buckets,
            Err(Failure::Refused(WireError::NoNode)) => return Ok(()),
            Err(failure) => return Err(failure.about(VERB, &self.root)),
        };
        if buckets.is_empty() {
            return Ok(());
        }
        let first = random::below(buckets.len());
        buckets.rotate_left(first);
        let (mut to_read, mut now) = (MOST_PUTS * READ_PER_PUT, None);
        for bucket in buckets.iter().take(MOST_BUCKETS) {
            let bucket = path::join(&self.root, bucket);
            let (_, read) = self.look_at(session, call, &bucket, to_read, &mut now).await?;
            to_read -= read;
            if to_read == 0 {
                break;
            }
        }
        Ok(())
    }
}

impl PutKeys {
    /// If it is time for one.
    fn begin_sweep(self: &Arc<Self>, now: Moment, window: Duration) -> Option<UnderUpkeep> {
        let mut upkeep = self.upkeep();
        let since = *upkeep.swept.get_or_insert(now);
        let since = upkeep.looked.map_or(since, |looked| looked.max(since));
        if upkeep.is_under_way || now.since(since) < window {
            return None;
        }
        (upkeep.swept, upkeep.is_under_way) = (Some(now), true);
        Some(UnderUpkeep(self.clone()))
    }
}
