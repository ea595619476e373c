//! What a partitioner's member wins, blocking.

use std::fmt::Display;
use std::thread;
use std::time::Duration;

use super::{Held, Partitioner};
use crate::drive::{check_may_wait, partition_failed, wait};
use crate::error::{ErrorKind, Result};

impl Partitioner {
    /// See [`crate::Partitioner::next`].
    pub fn next(&self, limit: Option<Duration>) -> Result<Held> {
        let core = self.core.clone();
        wait(self.cancels.heed(async move { core.next(limit).await }), None, None).map(Held::of)
    }

    /// As [`crate::Partitioner::run`], with a thread for each partition. Nothing can take a thread away from its work: it has to
    /// look at [`Held::is_held`], and return when that is false, or when it is asked for the partition
    /// ([`Held::on_revoke`]). It ends when this member leaves, or by [`Partitioner::cancel`], which makes it leave; and when all
    /// threads have returned.
    pub fn run<E: Display>(&self, work: impl Fn(Held) -> Result<(), E> + Sync) -> Result<()> {
        check_may_wait()?;
        // Also one that comes while a thread is started, and nobody waits.
        let cancelled = self.cancels.next();
        let next = || {
            cancelled.check()?;
            let core = self.core.clone();
            wait(cancelled.heed(async move { core.next(None).await }), None, None).map(Held::of)
        };
        thread::scope(|threads| {
            let end = loop {
                match next() {
                    Ok(partition) => drop(threads.spawn(|| {
                        let held = partition.core.clone();
                        if let Err(error) = work(partition)
                            && held.is_held()
                        {
                            partition_failed(&held, &error);
                        }
                        // Unconfirmed, it goes on in the background; lost or released, there is nothing to do.
                        let _ = wait(held.release(), None, None);
                    })),
                    Err(error) if error.kind() == ErrorKind::Cancelled => break Ok(()),
                    Err(error) => break Err(error),
                }
            };
            // It may have left.
            let _ = self.leave();
            end
        })
    }
}
