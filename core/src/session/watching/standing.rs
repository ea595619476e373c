//! Whether what was told last still stands, without asking anybody for that.
//!
//! A server tells of a change before it answers what was asked later, and it answers a contact of the session (see
//! `lease`) only when it has come as far as the leader had then. So a watch that has told nothing says how it was when the
//! contact left that was answered last. On another connection the watch is set again before anything else is asked.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use futures_util::FutureExt;
use futures_util::future::WeakShared;

use super::StateId;
use crate::mutex::lock;
use crate::runtime::Later;
use crate::session::Session;
use crate::session::clock::Moment;
use crate::session::wire::{Event, Watch};

/// What one follower was answered last, and its watch.
#[derive(Default)]
pub(crate) struct Standing(Mutex<Option<LastAnswer>>);

struct LastAnswer {
    mark: Option<StateId>,
    session_id: u64,
    watch: WeakShared<Later<Event>>,
}

impl Standing {
    fn answered(&self) -> MutexGuard<'_, Option<LastAnswer>> {
        lock(&self.0)
    }

    pub(super) fn enter(&self, mark: Option<StateId>, session_id: u64, watch: Watch) -> Watch {
        let (watch, told) = watch.shared();
        *self.answered() = told.map(|watch| LastAnswer { mark, session_id, watch });
        watch
    }

    /// The last moment at which a state with that mark is known to have stood; `None` if nothing is known.
    fn stood(&self, session: &Session, mark: Option<StateId>) -> Option<Moment> {
        let server_session = session.server_session();
        // Before the watch is looked at: what it had not told by then had not happened.
        let contact = server_session.last_contact();
        let answered = self.answered();
        let of_it =
            answered.as_ref().filter(|it| it.mark == mark && it.session_id == server_session.session_id())?;
        let watch = of_it.watch.upgrade()?;
        drop(answered);
        watch.now_or_never().is_none().then_some(contact)
    }
}

/// Those who follow a state for one handle.
#[derive(Default)]
pub(crate) struct Standings(Mutex<Vec<Weak<Standing>>>);

impl Standings {
    fn all(&self) -> MutexGuard<'_, Vec<Weak<Standing>>> {
        lock(&self.0)
    }

    /// One more; it is forgotten with what is answered.
    pub(crate) fn add(&self) -> Arc<Standing> {
        let standing = Arc::new(Standing::default());
        let mut all = self.all();
        all.retain(|one| one.strong_count() > 0);
        all.push(Arc::downgrade(&standing));
        standing
    }

    /// The last moment at which a state with that mark is known to have stood; `None` if nobody follows it.
    pub(crate) fn stood(&self, session: &Session, mark: Option<StateId>) -> Option<Moment> {
        let all: Vec<_> = self.all().iter().filter_map(Weak::upgrade).collect();
        all.iter().filter_map(|one| one.stood(session, mark)).max()
    }
}
