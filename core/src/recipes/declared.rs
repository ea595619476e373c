//! A membership or a binding on its way to whoever declared it.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use crate::error::Result;
use crate::process::UnlessForked;
use crate::session::Session;
use crate::session::open_parents;
use crate::session::registration::Registration;
use crate::turn::deletable;

/// Declares an ephemeral node below `parent`, which is made if it is missing. Denied if it could not be undone.
pub(super) async fn declare(
    session: &Arc<Session>,
    verb: &'static str,
    parent: &str,
    node: String,
    data: &[u8],
) -> Result<Registration> {
    // Until it stands, others of this client that declare the same wait behind it.
    let mut call = session.call(None);
    call.comes_behind(verb, session.take_queueing_turn(&node))
        .await
        .map_err(|error| error.with_path(&node))?;
    let server_session = loop {
        let server_session = call.server_session(verb).await.map_err(|error| error.with_path(&node))?;
        open_parents::look(session, &server_session, &mut call, verb, parent).await?;
        if deletable::check(session, &server_session, &mut call, verb, parent).await? {
            break server_session;
        }
        call.make_path(verb, &server_session, parent, session.parents()).await?;
    };
    let registration = Registration::declare(session, verb, node, data, session.parents()).await?;
    deletable::settle(&server_session, parent);
    Ok(registration)
}

/// Dropped before its owner has it, it is undone in the background.
#[must_use = "dropping it undoes it"]
#[derive(Default)]
pub struct Declared {
    registration: Option<Registration>,
    /// Where it goes, locked until it is there: nobody else declares or undoes something meanwhile.
    place: UnlessForked<Option<OwnedMutexGuard<Option<Registration>>>>,
}

impl Declared {
    pub(super) fn to(place: OwnedMutexGuard<Option<Registration>>, registration: Registration) -> Declared {
        Declared { registration: Some(registration), place: UnlessForked::new(Some(place)) }
    }

    /// It lasts as long as the client.
    pub(super) fn of_the_client(registration: Registration) -> Declared {
        Declared { registration: Some(registration), place: UnlessForked::default() }
    }

    /// Its owner has it, and it lasts as long as the client, whatever becomes of the handle: for languages in which nobody
    /// says when a handle is dropped.
    pub fn receive_for_good(mut self) {
        self.registration = self.registration.take().map(Registration::stays_with_the_client);
        self.receive();
    }

    /// Its owner has it.
    pub fn receive(mut self) {
        match (self.registration.take(), &mut *self.place) {
            (registration, Some(place)) => **place = registration,
            (Some(registration), None) => drop(registration.stays_with_the_client()),
            (None, None) => {}
        }
    }
}

impl std::fmt::Debug for Declared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Declared").finish_non_exhaustive()
    }
}
