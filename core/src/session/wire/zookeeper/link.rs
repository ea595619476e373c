//! How the connection stands, as the crate tells it: up, down, denied or at its end.

use futures_util::FutureExt;
use zookeeper_client as zk;

use super::service::Service;
use super::{FIRST_CONNECTION, Later, Link, LinkState};

/// The crate publishes a change before it fails what was in flight and before it reconnects, so whoever drains its
/// watcher at the moment an answer or an event arrives sees every change that came before it.
pub(super) struct WatchedLink {
    next: NextState,
    service: Service,
    /// A session of a server that has lost its quorum is known to that server alone: it ends with the connection, and the
    /// crate goes on with another one, whose id it does not tell.
    is_local: bool,
    link: Link,
}

/// The next change, and the watcher for the one after it. Whoever looks polls it once and leaves it where it is: `asyncs-sync`
/// 0.4, which the crate tells changes through, lets a wait that is dropped while a change is being told write into the stack of
/// the thread that tells it. **Look with a wait of its own each time when that is mended.**
type NextState = Later<(zk::StateWatcher, zk::SessionState)>;

fn next_state(mut watcher: zk::StateWatcher) -> NextState {
    Box::pin(async move {
        let state = watcher.changed().await;
        (watcher, state)
    })
}

impl WatchedLink {
    /// Of a client that has just connected.
    pub(super) fn of(client: &zk::Client, service: &Service) -> WatchedLink {
        let watcher = client.state_watcher();
        let link = Link { generation: FIRST_CONNECTION, state: link_state(watcher.peek_state()) };
        let is_local = client.session().is_readonly();
        WatchedLink { next: next_state(watcher), service: service.clone(), is_local, link }
    }

    /// How it stands now.
    pub(super) fn drain(&mut self) -> Link {
        // Looked at first: what the task still told is seen below.
        let is_over = self.service.is_over();
        // After the last change nobody waits for another.
        while self.may_change()
            && let Some((watcher, state)) = (&mut self.next).now_or_never()
        {
            self.next = next_state(watcher);
            self.enter(link_state(state));
        }
        if is_over && self.may_change() {
            self.enter(LinkState::Ended);
        }
        self.link
    }

    fn may_change(&self) -> bool {
        matches!(self.link.state, LinkState::Up | LinkState::Down)
    }

    fn enter(&mut self, state: LinkState) {
        if self.link.state == LinkState::Ended {
            return;
        }
        let state = match state {
            LinkState::Up | LinkState::Down if self.is_local => LinkState::Ended,
            state => state,
        };
        self.link = Link { generation: self.link.generation + 1, state };
    }
}

pub(super) fn link_state(state: zk::SessionState) -> LinkState {
    match state {
        zk::SessionState::SyncConnected | zk::SessionState::ConnectedReadOnly => LinkState::Up,
        zk::SessionState::Disconnected => LinkState::Down,
        zk::SessionState::AuthFailed => LinkState::Denied,
        // A `Closed` that nobody asked for is the end of the session like an expiry.
        zk::SessionState::Expired | zk::SessionState::Closed => LinkState::Ended,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use zkrecipes_embedded::Server;

    use super::super::ZooKeeper;
    use super::super::service::attended;
    use super::*;
    use crate::drive;
    use crate::options::ClientOptions;

    /// A wait that is dropped while a change is being told writes into memory that belongs to others by then.
    #[test]
    fn a_look_at_the_connection_drops_no_wait_for_its_next_change() {
        let server = Server::start().expect("a free port");
        let looking = async move {
            let connector = ZooKeeper::connector(&ClientOptions::default()).expect("no TLS to read");
            let (client, service) =
                attended(connector, server.connect_string(), false).await.expect("a session");
            let kept = Arc::new(());
            let waiting = kept.clone();
            let next: NextState = Box::pin(async move {
                let _waiting = waiting;
                std::future::pending().await
            });
            let link = Link { generation: 1, state: LinkState::Up };
            let mut watched = WatchedLink { next, service, is_local: false, link };
            assert_eq!(watched.drain(), link);
            assert_eq!(Arc::strong_count(&kept), 2, "it still waits");
            drop(client);
            Ok(())
        };
        drive::wait(looking, None, None).expect("looked");
    }
}
