//! Leading: what was won, until it is resigned or lost. `acknowledge` writes that the work has begun; when its answer is lost,
//! the node is read.

use std::ops::Deref;

use super::statement::Acknowledgement;
use crate::error::{Error, ErrorKind, Result};
use crate::futures::unless;
use crate::recipes::held::Held;
use crate::session::refusal::refusal;
use crate::session::wire::{WireError, Write};

/// One term of a leader: a [`Held`], with the verbs of one. Dropping it resigns in the background.
///
/// ```
/// # zkrecipes::doctest(async {
/// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
/// let election = client.election("/leader", b"", Default::default())?;
/// let leadership = election.campaign().await?;
/// assert!(leadership.is_held());
/// leadership.acknowledge(b"serving at 10.0.0.7:80").await?;
/// leadership.release().await?;
/// # Ok(()) });
/// ```
#[must_use = "dropping a Leadership resigns at once; keep it for as long as the work takes"]
#[derive(Clone)]
pub struct Leadership {
    held: Held,
}

impl Deref for Leadership {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

/// How a term ended.
pub(super) enum Fate<T> {
    /// The work is done.
    Done(T),
    /// Lost, resigned or cancelled.
    Ended,
}

const VERB: &str = "acknowledge";

/// Resigns, and waits for the confirmation as long as there is a server to give it. Unconfirmed, it goes on in the
/// background; lost or resigned, there is nothing to do.
pub(super) async fn resign(held: &Held) {
    let server_session = held.hold().server_session().clone();
    let _ = unless(held.release(), server_session.until_down()).await;
}

impl Leadership {
    pub(crate) fn of(held: Held) -> Leadership {
        Leadership { held }
    }

    /// Rises strictly from one leader to the next: the [`Held::fencing_token`].
    pub fn epoch(&self) -> u64 {
        self.held.fencing_token()
    }

    /// Resolves when the work is to end, whatever the reason: somebody asks for the leadership, it is lost or resigned, or its run was
    /// cancelled. Asked for it, a leader in a run may finish what it does for as long as
    /// [`ElectionOptions::drain`](crate::ElectionOptions::drain), then it is lost. [`Held::lost`] is for a loss alone.
    ///
    /// # Cancel safety
    /// Dropping the future does nothing else.
    pub fn signal(&self) -> impl Future<Output = ()> + Send + use<> {
        let (hold, called_off) = (self.held.hold().clone(), self.held.called_off());
        async move {
            tokio::select! {
                biased;
                () = called_off => {}
                _ = hold.ended() => {}
                () = hold.asked_for() => {}
            }
        }
    }

    /// Tells everybody that this leader has begun its work, and `data`: [`Leader::acknowledged`](super::Leader). The
    /// server refuses it once we lead no more: NotHeld. Doing it again replaces the data. An answer that gets lost is
    /// looked for; ConnectionLost says that it could not be.
    pub async fn acknowledge(&self, data: &[u8]) -> Result<()> {
        let hold = self.held.hold();
        let (path, session) = (hold.path(), hold.session());
        let identity = session.identity().to_owned();
        let said = Acknowledgement { epoch: self.epoch(), identity, data: data.to_vec() };
        let bytes = said.to_bytes();
        let mut call = session.call(None);
        // Each reads before it writes: what was said last has to be written last.
        let turn = call.comes_behind(VERB, session.take_queueing_turn(path)).await;
        turn.map_err(|error| error.with_path(path))?;
        loop {
            if !self.held.is_certain() {
                return Err(if self.held.is_released() {
                    Error::not_held("it was resigned before")
                } else {
                    hold.not_held()
                }
                .with_path(path));
            }
            let (before, stat) = match call.receive(VERB, hold.server_session().get_data(path)).await? {
                Ok(found) => found,
                Err(error) if error.is_unanswered() => {
                    call.retry_after_loss(VERB).await.map_err(|error| error.with_path(path))?;
                    continue;
                }
                // With our node below it the path stands: this server may lag, and the write will tell.
                Err(WireError::NoNode) => {
                    self.held.verify().await?;
                    continue;
                }
                Err(error) => return Err(refusal(error, VERB, path)),
            };
            match Acknowledgement::parse(&before) {
                Some(before) if before == said => return Ok(()),
                // The epoch never falls: somebody leads after us, or what is written there is no leader's.
                Some(before) if before.epoch > said.epoch => self.held.verify().await?,
                _ => {}
            }
            let set = Write::Set { path: path.to_owned(), data: bytes.clone(), version: Some(stat.version) };
            match hold.write_guarded(&[set]).await {
                Ok(_) => return Ok(()),
                // Somebody wrote there meanwhile, or nobody knows whether we did: look again.
                Err(error) if error.kind() == ErrorKind::BadVersion => {}
                Err(error) if error.kind() == ErrorKind::ConnectionLost => {
                    call.retry_after_loss(VERB).await.map_err(|error| error.with_path(path))?;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// What was said last by whoever had begun its work, this leader or one before it: no older than the call. `None` if nobody has.
    pub(crate) async fn said_last(&self) -> Result<Option<Vec<u8>>> {
        let hold = self.held.hold();
        let (path, mut call) = (hold.path(), hold.session().call(None).reading());
        let asked = call.ask(VERB, |server| {
            let server = server.clone();
            async move { server.as_of_now(path, || server.get_data(path)).await }
        });
        match asked.await {
            Ok((bytes, _)) => Ok(Acknowledgement::parse(&bytes).map(|said| said.data)),
            Err(failure) if failure.is(&WireError::NoNode) => Ok(None),
            Err(failure) => Err(failure.about(VERB, path)),
        }
    }

    /// Lets `work` work until it is done, we lead no more, or `stop` is. Then it is gone, and we have resigned.
    pub(super) async fn serve<T>(
        &self,
        work: impl Future<Output = T>,
        stop: impl Future<Output = ()>,
    ) -> Fate<T> {
        // In a block, so that the work has ended before anybody else leads.
        let fate = {
            tokio::select! {
                biased;
                () = stop => Fate::Ended,
                _ = self.held.hold().ended() => Fate::Ended,
                result = work => Fate::Done(result),
            }
        };
        resign(&self.held).await;
        fate
    }
}

impl std::fmt::Debug for Leadership {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leadership").field("node", &self.node()).field("epoch", &self.epoch()).finish()
    }
}
