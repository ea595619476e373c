//! The parents of what recipes create.

use std::sync::Arc;

use super::Session;
use super::server_session::ServerSession;
use super::wire::{CreateMode, WireError};
use crate::options::Naming;
use crate::path;

impl Session {
    /// What a recipe's parents are created as: containers, unless others use the path who do not expect it to go. kazoo
    /// and the recipes that ship with ZooKeeper make a parent once and count on it.
    pub(crate) fn parents(&self) -> CreateMode {
        match self.options.naming {
            Naming::Curator => CreateMode::Container,
            Naming::Kazoo | Naming::Zookeeper => CreateMode::Persistent,
        }
    }

    /// Creates `path` and whatever is missing above it. Recipes ask for containers, so that nothing stays when the last
    /// child has gone; servers that refuse them, or hang up on them, get persistent nodes.
    pub(crate) async fn ensure(
        &self,
        server_session: &Arc<ServerSession>,
        path: &str,
        wanted: CreateMode,
    ) -> Result<(), WireError> {
        if path == "/" {
            return server_session.create_chroot().await;
        }
        let (mut missing, mut is_refused) = (vec![path], false);
        while let Some(top) = missing.last().copied() {
            let mode = match wanted {
                CreateMode::Container if is_refused || self.containers.is_absent() => CreateMode::Persistent,
                wanted => wanted,
            };
            let link = server_session.link();
            let created = server_session.create(top, b"", mode).await;
            if mode == CreateMode::Container {
                self.containers.learn(link, &created);
            } else if is_refused && matches!(created, Ok(_) | Err(WireError::NodeExists)) {
                // It was not for the path that the container was refused.
                self.containers.refused();
            }
            match created {
                Ok(_) => {
                    if self.options.access().lets_creators_delete() {
                        server_session.set_may_delete_below(top.to_owned(), true);
                    }
                    server_session.vouch_for(top);
                    missing.pop();
                }
                Err(WireError::NodeExists) => drop(missing.pop()),
                Err(WireError::NoNode) => match path::parent(top) {
                    "/" => server_session.create_chroot().await?,
                    parent => missing.push(parent),
                },
                Err(WireError::Unimplemented | WireError::BadRequest(_)) if mode == CreateMode::Container => {
                    is_refused = true;
                }
                // A client that may not create there may still use what exists. Reading is refused only where there is
                // a node.
                Err(WireError::NoAuth) => match server_session.exists(top).await {
                    Ok(Some(_)) | Err(WireError::NoAuth) => drop(missing.pop()),
                    Ok(None) => return Err(WireError::NoAuth),
                    Err(error) => return Err(error),
                },
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
