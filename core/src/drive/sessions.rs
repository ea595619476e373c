//! Sessions that end together: those of a process, or of one JavaScript environment, that will run no more code.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use crate::client::Client;
use crate::drive;
use crate::mutex::lock;
use crate::session::Session;

/// Sessions that end together. They are known without being kept: a client that nobody has any more closes by itself.
#[derive(Default)]
pub struct Sessions(Mutex<Vec<Weak<Session>>>);

impl Sessions {
    /// The session of `client` is one of them.
    pub fn add(&self, client: &Client) {
        if let Ok(session) = client.session() {
            let mut known = lock(&self.0);
            known.retain(|session| session.strong_count() > 0);
            known.push(Arc::downgrade(&session));
        }
    }

    /// Ends them, all at once, and waits for at most `limit` until the servers have confirmed it. Deletions that are under way are not
    /// waited for: with the session goes all that was held and all that waits. What would not go with it is done before, such as
    /// to put back an item that was taken for nobody.
    ///
    /// It blocks, and does nothing where [`drive::wait`] refuses.
    pub fn end(&self, limit: Duration) {
        let known = std::mem::take(&mut *lock(&self.0));
        let sessions: Vec<_> = known.iter().filter_map(Weak::upgrade).collect();
        if sessions.is_empty() || drive::check_may_wait().is_err() {
            return;
        }
        let ending = async move {
            sessions.iter().for_each(|session| session.end(limit, None));
            let each = sessions.iter().map(|session| session.close(Some(limit)));
            futures_util::future::join_all(each).await;
            Ok(())
        };
        let _ = drive::wait(ending, None, None);
    }
}

impl std::fmt::Debug for Sessions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sessions")
    }
}
