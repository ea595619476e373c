//! The parents of what recipes create.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::Session;
use super::clock::Later;
use super::server_session::ServerSession;
use super::wire::{CreateMode, WireError};
use crate::options::{AclChoice, Naming};
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
    pub(crate) fn ensure(
        self: &Arc<Self>,
        server_session: &Arc<ServerSession>,
        path: &str,
        wanted: CreateMode,
    ) -> Making {
        self.ensure_with(server_session, path, b"", wanted)
    }

    /// The same with data, if it is missing.
    pub(crate) fn ensure_with(
        self: &Arc<Self>,
        server_session: &Arc<ServerSession>,
        path: &str,
        data: &'static [u8],
        wanted: CreateMode,
    ) -> Making {
        let (session, about, at) = (self.clone(), server_session.clone(), path.to_owned());
        let making: Later<_> =
            Box::pin(async move { session.create_missing(&about, &at, data, wanted).await });
        Making {
            making: Some(making),
            has_begun: false,
            server_session: server_session.clone(),
            path: path.to_owned(),
        }
    }

    /// Answers whether `path` is a container that this has made.
    async fn create_missing(
        &self,
        server_session: &Arc<ServerSession>,
        path: &str,
        data: &[u8],
        wanted: CreateMode,
    ) -> Result<bool, WireError> {
        if path == "/" {
            return server_session.create_chroot().await.map(|()| false);
        }
        let (mut missing, mut is_refused, mut is_ours) = (vec![path], false, false);
        while let Some(top) = missing.last().copied() {
            let mode = match wanted {
                CreateMode::Container if is_refused || self.containers.is_absent() => CreateMode::Persistent,
                wanted => wanted,
            };
            let link = server_session.link();
            let created = server_session.create(top, if top == path { data } else { b"" }, mode).await;
            is_ours = created.is_ok() && mode == CreateMode::Container;
            if mode == CreateMode::Container {
                self.containers.learn(server_session.session_id(), link, &created);
            } else if is_refused && matches!(created, Ok(_) | Err(WireError::NodeExists)) {
                // It was not for the path that the container was refused.
                self.containers.refused();
            }
            match created {
                Ok(created) => {
                    if self.options.access().lets_creators_delete() {
                        server_session.set_may_delete_below(top.to_owned(), true);
                    }
                    if self.options.access() != AclChoice::Open {
                        server_session.vouch_for(top, Some(created.czxid));
                    }
                    missing.pop();
                }
                Err(WireError::NodeExists) => drop(missing.pop()),
                Err(WireError::NoNode) => match path::parent(top) {
                    "/" => server_session.create_chroot().await?,
                    parent => missing.push(parent),
                },
                Err(WireError::Unimplemented | WireError::BadRequest(_) | WireError::Other(_))
                    if mode == CreateMode::Container =>
                {
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
        Ok(is_ours)
    }
}

/// A path on its way. Whoever drops it midway makes no child there, and servers collect no container that never had one: so it
/// is made all the same, and deleted if nobody has anything there.
pub(crate) struct Making {
    making: Option<Later<Result<bool, WireError>>>,
    has_begun: bool,
    server_session: Arc<ServerSession>,
    path: String,
}

impl Future for Making {
    type Output = Result<(), WireError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.has_begun = true;
        let Some(making) = &mut self.making else { return Poll::Pending };
        let made = ready!(making.as_mut().poll(cx));
        self.making = None;
        Poll::Ready(made.map(drop))
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        let is_under_way = self.has_begun && self.server_session.process().is_present();
        let Some(making) = self.making.take().filter(|_| is_under_way) else { return };
        let (server_session, path) = (self.server_session.clone(), std::mem::take(&mut self.path));
        drop(self.server_session.in_background(async move {
            if let Ok(true) = making.await {
                let _ = server_session.delete(&path, Some(0)).await;
            }
        }));
    }
}
