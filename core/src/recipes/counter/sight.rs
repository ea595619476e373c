//! Looking at the counter, and making it where it is missing.

use std::sync::Arc;

use super::VERB;
use super::line::Line;
use crate::error::Result;
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::open_parents;
use crate::session::wire::{CreateMode, WireError};

/// Which state of a node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct At {
    pub(super) czxid: i64,
    pub(super) version: i32,
}

/// The counter as it was read.
pub(super) struct Seen {
    pub(super) value: i64,
    /// `None` while it does not exist.
    pub(super) at: Option<At>,
    pub(super) children: i32,
    /// The change that made it so; 0 where nobody asks.
    pub(super) mzxid: i64,
    /// Whether it was so after it was asked for; otherwise only a write can tell.
    pub(super) is_current: bool,
}

impl Line {
    /// Reads the counter; if wanted, no older than now.
    pub(super) async fn look(&self, call: &mut Call, is_current: bool) -> Result<Seen> {
        loop {
            let epoch = call.epoch(VERB).await?;
            let link = epoch.link();
            // In one flight: the server answers the read after it has caught up.
            let sync = is_current.then(|| epoch.sync(&self.path));
            let read = epoch.get_data(&self.path);
            if let Some(sync) = sync {
                match call.briefly(VERB, sync).await? {
                    Err(error) if error.is_unanswered() => {
                        call.retry_after_loss(VERB).await?;
                        continue;
                    }
                    answer => answer.map_err(|error| refusal(error, VERB, &self.path))?,
                }
            }
            let read = call.briefly(VERB, read).await?;
            let is_one_connection = !is_current || epoch.link() == link;
            match read {
                Ok((data, stat)) if is_one_connection => {
                    let at = Some(At { czxid: stat.czxid, version: stat.version });
                    let value = self.encoding.decode(&data)?;
                    return Ok(Seen {
                        value,
                        at,
                        children: stat.num_children,
                        mzxid: stat.mzxid,
                        is_current,
                    });
                }
                Err(WireError::NoNode) if is_one_connection => {
                    return Ok(Seen { value: 0, at: None, children: 0, mzxid: 0, is_current });
                }
                Err(error) if !error.is_unanswered() && error != WireError::NoNode => {
                    return Err(refusal(error, VERB, &self.path));
                }
                _ => call.retry_after_loss(VERB).await?,
            }
        }
    }
}

/// Creates the counter, and what is missing above it, as 0; an error to look again, which says whether somebody else has.
pub(super) async fn create(line: &Line, session: &Arc<Session>, call: &mut Call) -> Result<Result<At, bool>> {
    let epoch = call.epoch(VERB).await?;
    let zero = line.encoding.encode(0);
    open_parents::look(session, &epoch, call, VERB, path::parent(&line.path)).await?;
    let created = match call.briefly(VERB, epoch.create(&line.path, &zero, CreateMode::Persistent)).await? {
        Err(WireError::NoNode) => {
            let parents = session.ensure(&epoch, path::parent(&line.path), session.parents());
            call.briefly(VERB, parents).await?
        }
        Ok(created) => return Ok(Ok(At { czxid: created.czxid, version: 0 })),
        Err(WireError::NodeExists) => return Ok(Err(true)),
        Err(error) => Err(error),
    };
    match created {
        Err(error) if error.is_unanswered() => call.retry_after_loss(VERB).await?,
        created => created.map_err(|error| refusal(error, VERB, &line.path))?,
    }
    Ok(Err(false))
}
